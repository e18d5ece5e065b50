"""Frontier-Eng: propose a design, read what the verifier says, propose a better one.

The player starts from a feasible design and has a fixed number of submissions. Each is answered
with its objective and, if it is infeasible, with the constraints that it breaks and by how much;
an infeasible design never counts. An improvement of the best feasible design is paid the logarithm
of the ratio of old and new objective, so that the return is log(start / best).

After "Frontier-Eng: Benchmarking Self-Evolving Agents on Real-World Engineering Tasks with
Generative Optimization", 2026, whose 47 tasks run engineers' own simulators. Here are thirteen
classic problems of structural, mechanical and thermal design and control. Loads and limits are
scaled by the seed; with `published=True` a problem has the published numbers and, for all but one,
a known best.

Checked: published best designs are feasible and have the published objective; a global search
finds no better one.

Left out: the authors' simulators, which run programs of engineers; here designs have formulas.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import EpisodeRecord, Meta, Option, Rng, Text, TextAction, environment, metric
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Part

from palestra_tasks.desk import FINISH, Final, Finish, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.engineering.designs import DESIGNS, Design
from palestra_tasks.pictures import tries_chart

FLOOR = 1e-15  # of an objective, whose logarithm is taken
SLACK = 1e-9  # by which a constraint may be broken
MOST = 40.0  # largest return
FAR = 3.0  # times the first objective: infeasible ones beyond it are not drawn
_EVALUATED = re.compile(r"Objective (\S+)\. (Feasible|Infeasible)")
DRAWN = 32  # loads and limits that a fork chooses from
NAMES = Literal[
    "cantilever",
    "corrugated-bulkhead",
    "disc-brake",
    "gear-train",
    "heat-exchangers",
    "i-beam",
    "pi-controller",
    "pressure-vessel",
    "speed-reducer",
    "tension-spring",
    "three-bar-truss",
    "tubular-column",
    "welded-beam",
]
LATER = ("disc-brake", "heat-exchangers", "i-beam")  # "any" keeps drawing what it drew before them


class Submit(TextAction, frozen=True):
    """Submit a design: a JSON list of its numbers, in the order of their names."""

    values: str


@dataclass(frozen=True, slots=True)
class DesignVerdict:
    """What the verifier says of a design."""

    objective: float = math.nan
    broken: tuple[tuple[str, float], ...] = ()
    problem: str = ""

    @property
    def feasible(self) -> bool:
        return not self.problem and not self.broken


def read_values(design: Design, text: str) -> tuple[float, ...]:
    """The numbers of a submission; raises ValueError with what is wrong."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not a JSON list of numbers: {error}") from None
    if not isinstance(values, list) or len(values) != len(design.names):
        raise ValueError(f"a list of {len(design.names)} numbers is needed")
    for name, value, low, high in zip(design.names, values, design.lows, design.highs, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} must be a number")
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low:g} to {high:g}, not {value!r:.40}")
    for at in design.whole:
        if values[at] != int(values[at]):
            raise ValueError(f"{design.names[at]} must be a whole number")
    return tuple(float(value) for value in values)


@lru_cache(maxsize=4096)
def verify(name: str, factors: tuple[float, ...], text: str) -> DesignVerdict:
    """Run the verifier on a submission."""
    design = DESIGNS[name]
    try:
        values = read_values(design, text)
        objective, limits = design.evaluate(values, factors)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
        return DesignVerdict(problem=f"the design cannot be evaluated: {error}")
    if isinstance(objective, complex) or not math.isfinite(objective):
        return DesignVerdict(problem="the design cannot be evaluated: its objective is not finite")
    broken = tuple(
        (limit, by)
        for limit, by in zip(design.limits, limits, strict=True)
        if isinstance(by, complex) or not by <= SLACK
    )
    return DesignVerdict(objective, broken)


@dataclass(slots=True, kw_only=True)
class BenchState(TaskState):
    """The state of a search for a design."""

    design: str
    factors: tuple[float, ...]
    first: float  # the objective at the start
    best: float
    best_values: str
    curve: tuple[float, ...] = ()  # the best feasible objective after each submission
    feasible: int = 0


@environment(
    "tasks/FrontierEng-v0",
    family="text",
    tags=("optimisation", "engineering", "hidden-information"),
    paper=(
        "Frontier-Eng: Benchmarking Self-Evolving Agents on Real-World Engineering Tasks with "
        "Generative Optimization (2026)"
    ),
    splits={"published": {"published": True}, "seeded": {"published": False}},
)
@dataclass(frozen=True)
class FrontierEng(TaskGame[BenchState]):
    """One player improves an engineering design within a budget of submissions.

    There are no numbered actions. The return is log(objective at the start / best feasible one).
    """

    design: Annotated[
        NAMES | Literal["any"],
        Meta(
            description="the problem; any: drawn from the seed, but for the disc brake, the heat "
            "exchangers and the I beam, which are asked for by name"
        ),
    ] = "any"
    published: Annotated[
        bool, Meta(description="whether the numbers are the published ones, not scaled by the seed")
    ] = False
    turns: Turns = 30

    rules_text = """
        You improve an engineering design. You know what is chosen and what it must withstand, but
        not the formulae; the verifier knows them.

        Submit a design with Submit(values='[1.5, 0.25]'), a JSON list of its numbers in the order
        given. You read its objective, which is to be as small as possible, and every constraint
        that it breaks, with the amount by which it does. Only feasible designs count. Each
        improvement of your best design is paid the logarithm of the ratio of the old objective and
        the new one. You have a fixed number of submissions; Finish() ends the search early.
    """
    reward_terms = ("improvement",)
    shown_past = 1
    pays_score = False
    payoff_bounds = (0.0, MOST)
    action_types = (Submit, Finish)

    def initial_state(self, seed: int | None = None) -> BenchState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(set(DESIGNS) - set(LATER)))
        design = DESIGNS[drawn if self.design == "any" else self.design]
        factors = self._draw_factors(design, rng)
        text = json.dumps(list(design.start))
        start = verify(design.name, factors, text)
        return BenchState(
            rng=rng,
            design=design.name,
            factors=factors,
            first=start.objective,
            best=start.objective,
            best_values=text,
        )

    def _draw_factors(self, design: Design, rng: Rng) -> tuple[float, ...]:
        scaled = tuple(round(0.8 + 0.2 * rng.random(), 4) for _ in design.factors)
        if self.published:
            return (1.0,) * len(design.factors)
        if design.name in ("three-bar-truss", "welded-beam"):
            return (scaled[0], 1.0)  # a weaker bar could not carry the start's load
        return scaled

    def statement(self, state: BenchState, seat: int) -> str:
        design = DESIGNS[state.design]
        lines = [design.task]
        for at, name in enumerate(design.names):
            kind = "a whole number " if at in design.whole else ""
            lines.append(f"- {name}: {kind}from {design.lows[at]:g} to {design.highs[at]:g}")
        if design.limits:
            lines.append(f"Constraints: {', '.join(design.limits)}.")
        return "\n".join(lines)

    def notes(self, state: BenchState, seat: int) -> tuple[str, ...]:
        return (f"Best feasible design: {state.best_values}, objective {state.best:.8g}.",)

    def told(self, state: BenchState, seat: int) -> str:
        """Without the ranges, which are drawn, and the names of the constraints."""
        return DESIGNS[state.design].task

    def noted(self, state: BenchState, seat: int | None) -> tuple[str, ...]:
        return ()  # the best objective is in the chart

    def options(self, state: BenchState, seat: int) -> tuple[Option, ...]:
        design = DESIGNS[state.design]
        values = json.loads(state.best_values)
        larger = [
            min(high, v + 1 if at in design.whole else v * 1.05)
            for at, (v, high) in enumerate(zip(values, design.highs, strict=True))
        ]
        smaller = [
            max(low, v - 1 if at in design.whole else v * 0.98)
            for at, (v, low) in enumerate(zip(values, design.lows, strict=True))
        ]
        samples = (json.dumps(larger), json.dumps(smaller), "[]", "[NaN]")
        return (Option(Submit, {"values": Text(1000, samples)}), FINISH)

    def respond(self, state: BenchState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The search is over.", kind="finish")
        found = verify(state.design, state.factors, action.values)
        pays = {}
        if found.feasible:
            state.feasible += 1
            gain = math.log(max(state.best, FLOOR) / max(found.objective, FLOOR))
            if gain > 0:
                pays = {"improvement": gain}
                state.best, state.best_values = found.objective, action.values
        state.curve = (*state.curve, state.best)
        facts = {"feasible": found.feasible, "improved": bool(pays), "best": state.best}
        return Reply(self._say(found, bool(pays)), facts, pays)

    def _say(self, found: DesignVerdict, improved: bool) -> str:
        if found.problem:
            return f"Refused: {found.problem}."
        text = f"Objective {found.objective:.8g}."
        if found.broken:
            broken = "; ".join(f"{name} by {by:.4g}" for name, by in found.broken)
            return f"{text} Infeasible: {broken}."
        return f"{text} Feasible{', and the best so far' if improved else ''}."

    def settle(self, state: BenchState) -> Final:
        design = DESIGNS[state.design]
        reason = f"Best feasible objective {state.best:.8g}."
        gap = state.best / design.best - 1 if self.published and design.best else None
        total = math.log(max(state.first, FLOOR) / max(state.best, FLOOR))
        return solo(total, reason, best=state.best, gap=gap)

    def determinize(self, state: BenchState, seat: int, rng: Rng) -> BenchState:
        """Draw loads and limits: of some, those that fit the known objectives best."""
        copy, design = self.copy_for(state, seat), DESIGNS[state.design]
        known = ((json.dumps(list(design.start)), state.first), (state.best_values, state.best))

        def misfit(factors: tuple[float, ...]) -> float:
            found = [verify(design.name, factors, text).objective for text, _ in known]
            return sum(abs(f - k) for f, (_, k) in zip(found, known, strict=True))

        drawn = [self._draw_factors(design, rng) for _ in range(DRAWN)]
        copy.factors = min(drawn, key=misfit)
        return copy

    def picture(self, state: BenchState, seat: int | None) -> tuple[Part, ...]:
        """Every objective that was read, and the design that was submitted last."""
        tried, shown, colour = [], state.best_values, "gold"
        for past in state.past:
            found = _EVALUATED.match(past.reply)
            if found:
                value, feasible = float(found[1]), found[2] == "Feasible"
                far = not feasible and abs(value) > FAR * abs(state.first)
                tried.append((math.nan if far else value, feasible))
                shown = past.action.values  # type: ignore[attr-defined]
                best = shown == state.best_values
                colour = "gold" if best else "blue" if tried[-1][1] else "red"
        design = DESIGNS[state.design]
        bars = tuple(
            Bar(name, value, high, colour)
            for name, value, high in zip(
                design.names, read_values(design, shown), design.highs, strict=True
            )
        )
        level = ("at the start", state.first)
        return tries_chart(tried, self.turns, "objective", level, most=False), Bars(bars)


@metric(
    "design-improvements",
    measures=("tasks/FrontierEng-v0",),
    bounds=(0.0, None),
    better="higher",
)
def improvements(record: EpisodeRecord) -> float:
    """How many submissions improved the best feasible design."""
    return float(sum(bool(event.data.get("improved")) for event in record.events))


@metric(
    "design-feasible",
    measures=("tasks/FrontierEng-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def feasible(record: EpisodeRecord) -> float | None:
    """The share of submissions that were feasible; None without any."""
    tried = [event.data["feasible"] for event in record.events if "feasible" in event.data]
    return sum(tried) / len(tried) if tried else None
