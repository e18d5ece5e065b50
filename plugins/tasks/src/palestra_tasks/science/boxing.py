"""BoxingGym: design experiments on an unknown world, then predict, or explain it to a novice.

A world is a generative model whose unknowns are drawn from its prior. The scientist chooses
experiments within a budget and sees one outcome of each. Then outcomes of held-out designs are to
be predicted: by the scientist, or with two seats by a novice who has read the scientist's
explanation and nothing else.

Scores, after Gandhi, Li, Goodyear, Li, Bhaskar, Zaman and Goodman, "BoxingGym: Benchmarking
Progress in Automated Experimental Design and Model Discovery", 2025:
- the error of a prediction, squared and divided by its variance under the prior, so that whoever
  always predicts the prior's mean has an expected error of 1; each is cut at 4, and the reward is
  1 - mean error, from -1 to 1 (the mean is cut at 2);
- the expected information gain of every experiment, given those before it, and the regret against
  the best of ten random designs (metric `boxing-regret`);
- with two seats the novice's error, which both are paid for.
`story=False` tells the same world without its domain. Ten models after the paper's ten; their
priors are ours where the paper's are not known to us.

Checked: information gains against closed forms and quadrature; the Bayesian scientist's calibrated
posterior; the likelihood against SciPy's.

Left out: priors that the paper does not state; scientists who write statistical programs of their
own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from palestra import (
    EpisodeRecord,
    Meta,
    Option,
    Rng,
    Talking,
    Text,
    TextAction,
    environment,
    metric,
    only,
    quote,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Chart, Colour, Part, Plane, Series, Spot

from palestra_tasks.desk import FINISH, Final, Finish, Reply, TaskGame, TaskState, shared_end
from palestra_tasks.pictures import thinned
from palestra_tasks.science.information import Trial, information_gain, posterior
from palestra_tasks.science.models import MODELS, Array, Designs, Model

PARTICLES = 200
RIVALS = 10  # random designs that a design's gain is held against
WORST = 4.0  # of one prediction's error
CURVE = 40  # steps of a curve that is drawn
FARTHEST = 1e6  # of a prediction that is drawn
NAMES = Literal[
    "death-process",
    "dugongs",
    "emotion",
    "hyperbolic-discounting",
    "item-response",
    "location-finding",
    "moral-choice",
    "peregrines",
    "predator-prey",
    "survival",
]


class Experiment(TextAction, frozen=True):
    """Run an experiment: a JSON list of the design's numbers."""

    design: str


class Predict(TextAction, frozen=True):
    """Predict the expected outcome: a number."""

    value: str


class Explain(TextAction, frozen=True):
    """Explain the world to a novice, who will predict."""

    text: str


@lru_cache(maxsize=64)
def particles_of(name: str) -> Array:
    """Draws from a model's prior, the same in every episode; nobody changes them."""
    return MODELS[name].particles(PARTICLES, 0)


@lru_cache(maxsize=4096)
def spread(name: str, design: Designs) -> tuple[float, float]:
    """The mean and the variance of the expected outcome of a design under the prior."""
    expected = MODELS[name].expected(particles_of(name), design)
    return float(expected.mean()), max(1e-9, float(expected.var()))


def read_design(model: Model, text: str) -> Designs:
    """The numbers of a design; raises ValueError with what is wrong."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not a JSON list of numbers: {error}") from None
    if not isinstance(values, list) or len(values) != len(model.axes):
        raise ValueError(f"it must be a list of {len(model.axes)} numbers")
    for axis, value in zip(model.axes, values, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{axis.name} must be a number")
        if not axis.low <= value <= axis.high:
            raise ValueError(f"{axis.name} must be from {axis.low:g} to {axis.high:g}")
        if axis.whole and value != int(value):
            raise ValueError(f"{axis.name} must be a whole number")
    return tuple(float(value) for value in values)


@dataclass(slots=True, kw_only=True)
class LabState(TaskState):
    """The state of an investigation."""

    model: str
    theta: tuple[float, ...]
    queries: tuple[Designs, ...]
    trials: tuple[Trial, ...] = ()
    tried: int = 0
    stage: Literal["experiment", "explain", "predict"] = "experiment"
    explanation: str = ""
    errors: tuple[float, ...] = ()


@environment(
    "tasks/BoxingGym-v0",
    family="text",
    tags=("experiments", "hidden-information", "chance"),
    paper=(
        "Gandhi et al. (2025), BoxingGym: Benchmarking Progress in Automated Experimental Design "
        "and Model Discovery"
    ),
    splits={
        "story": {"story": True},
        "plain": {"story": False},
        "novice": {"num_players": 2},
    },
)
@dataclass(frozen=True)
class BoxingGym(Talking, TaskGame[LabState]):
    """A scientist experiments on an unknown world and predicts it, or explains it to a novice.

    There are no numbered actions. Every seat is paid 1 - mean error, -1 to 1, at the end.
    """

    model: Annotated[
        NAMES | Literal["any"], Meta(description="the world; any: drawn from the seed")
    ] = "any"
    budget: Annotated[int, Meta(ge=0, le=100, description="experiments")] = 10
    queries: Annotated[int, Meta(ge=1, le=50, description="held-out designs to predict")] = 5
    story: Annotated[bool, Meta(description="whether the world is told with its domain")] = True
    num_players: Annotated[
        int, Meta(ge=1, le=2, description="1: the scientist predicts; 2: a novice does")
    ] = 1

    rules_text = """
        You study an unknown world by experiments, within a budget. Each experiment is a design, a
        JSON list of numbers, as in Experiment(design='[1.5]'); you see one outcome of it, which is
        subject to chance. Finish() ends the experiments early.
    """
    payoffs = "common"
    shown_past = 1
    deterministic = False
    payoff_bounds = (-1.0, 1.0)
    action_types = (Experiment, Predict, Explain, Finish)

    def rules_for(self, seat: int) -> str:
        predict = (
            "Then you read designs that were not tried, one by one, and predict the expected "
            "outcome of each, as in Predict(value='0.7'): for outcomes of 0 or 1, the chance of 1. "
            "You are paid 1 minus the mean squared error, in units of what somebody errs who has "
            "seen no experiment."
        )
        if self.num_players == 1:
            return f"{super().rules_for(seat)}\n{predict}"
        if seat == 0:
            return (
                f"{super().rules_for(seat)}\nThen you explain the world to a novice, in up to 2000 "
                "characters, with Explain(text='…'). The novice knows the description of the world "
                "and your explanation, and predicts outcomes of designs that were not tried. Both "
                "of you are paid 1 minus the novice's mean squared error, in units of what "
                "somebody errs who has seen no experiment."
            )
        return f"A scientist has experimented on a world and explains it to you. {predict}"

    @property
    def turns(self) -> int:
        """Actions of an episode."""
        return self.budget + 1 + self.num_players + self.queries

    def initial_state(self, seed: int | None = None) -> LabState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(MODELS))
        model = MODELS[drawn if self.model == "any" else self.model]
        theta = tuple(model.prior(rng))
        queries = tuple(model.draw_design(rng) for _ in range(self.queries))
        stage = "experiment" if self.budget else self._after()
        return LabState(rng=rng, model=model.name, theta=theta, queries=queries, stage=stage)

    def _after(self) -> Literal["explain", "predict"]:
        return "explain" if self.num_players == 2 else "predict"

    def acting(self, state: LabState) -> int:
        return 1 if state.stage == "predict" and self.num_players == 2 else 0

    def statement(self, state: LabState, seat: int) -> str:
        model = MODELS[state.model]
        axes = [
            f"- {a.name if self.story else f'number {n + 1}'}: "
            f"{'a whole number ' if a.whole else ''}from {a.low:g} to {a.high:g}"
            for n, a in enumerate(model.axes)
        ]
        return "\n".join([model.story if self.story else model.plain, *axes])

    def notes(self, state: LabState, seat: int) -> tuple[str, ...]:
        lines = []
        if seat == 0:
            lines += [
                f"Experiment {n + 1}: {list(design)} gave {outcome:g}"
                for n, (design, outcome) in enumerate(state.trials)
            ]
        if state.stage == "experiment":
            return (*lines, f"Experiments left: {self.budget - state.tried} of {self.budget}.")
        if state.stage == "explain":
            return (*lines, "Explain the world now.")
        if self.num_players == 2 and state.explanation:
            lines.append(f"The scientist's explanation: {self.quoted(state.explanation)}")
        at = len(state.errors)
        if at < len(state.queries) and seat == self.acting(state):
            query = list(state.queries[at])
            lines.append(f"Query {at + 1} of {len(state.queries)}: the design {query}")
        return tuple(lines)

    def noted(self, state: LabState, seat: int | None) -> tuple[str, ...]:
        """Without the outcomes, which are drawn."""
        return tuple(n for n in super().noted(state, seat) if not n.startswith("Experiment "))

    def options(self, state: LabState, seat: int) -> tuple[Option, ...]:
        model = MODELS[state.model]
        if state.stage == "explain":
            texts = ("The outcome rises.", "It falls.", "It does not change.")
            return (Option(Explain, {"text": Text(2000, texts)}),)
        if state.stage == "predict":
            return (Option(Predict, {"value": Text(40, ("0", "0.5", "1", "10", "NaN"))}),)
        rng = Rng.seeded(state.tried, 24)
        samples = tuple(json.dumps(list(model.draw_design(rng))) for _ in range(4))
        return (Option(Experiment, {"design": Text(300, (*samples, "[]"))}), FINISH)

    def respond(self, state: LabState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.stage = self._after()
            return Reply("The experiments are over.")
        if isinstance(action, Explain):
            state.explanation, state.stage = action.text, "predict"
            said = f"The scientist explains: {self.quoted(action.text)}"
            return Reply(said, {"said": action.text})
        if isinstance(action, Predict):
            return self._predict(state, seat, action.value)
        return self._experiment(state, action.design)

    def _experiment(self, state: LabState, text: str) -> Reply:
        model = MODELS[state.model]
        state.tried += 1
        facts: dict[str, Any] = {}
        try:
            design = read_design(model, text)
        except ValueError as error:
            reply = f"No experiment was made: {error}. It counts as one."
        else:
            outcome = model.sample(np.array(state.theta), design, state.rng)
            facts = {"design": list(design), "outcome": outcome}
            state.trials = (*state.trials, (design, outcome))
            reply = f"The outcome is {outcome:g}."
        if state.tried >= self.budget:
            state.stage = self._after()
        return Reply(reply, facts, audience=only(0))

    def _predict(self, state: LabState, seat: int, text: str) -> Reply:
        query = state.queries[len(state.errors)]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        reply = f"You predict {value:g}."
        error = WORST
        if math.isfinite(value):
            true = float(MODELS[state.model].expected(np.array([state.theta]), query)[0])
            gap = value - true
            error = min(WORST, gap * gap / spread(state.model, query)[1])  # ** 2 may overflow
        else:
            reply = f"{quote(text[:40])} is not a finite number and counts as the worst prediction."
        state.errors = (*state.errors, error)
        state.closed = len(state.errors) == len(state.queries)
        return Reply(reply, {"predicted": text[:40]}, audience=only(seat))

    def settle(self, state: LabState) -> Final:
        missing = len(state.queries) - len(state.errors)
        errors = [*state.errors, *([WORST] * missing)]
        mean = sum(errors) / len(errors)
        score = max(-1.0, 1.0 - mean)
        trials = [[list(design), outcome] for design, outcome in state.trials]
        facts = {"error": mean, "model": state.model, "trials": trials}
        reason = f"The mean standardised error is {mean:.4f}."
        return shared_end(score, self.num_players, reason, facts)

    def determinize(self, state: LabState, seat: int, rng: Rng) -> LabState:
        """Draw the unknowns from the posterior, what the novice cannot know from the prior."""
        copy, model = self.copy_for(state, seat), MODELS[state.model]
        thetas = model.particles(PARTICLES, rng.word())
        weights = posterior(model, thetas, state.trials if seat == 0 else ())
        copy.theta = tuple(float(x) for x in thetas[rng.weighted(weights.tolist())])
        at = len(state.errors)
        known = at + 1 if state.stage == "predict" and self.acting(state) == seat else at
        known = known if seat == self.num_players - 1 else 0
        rest = (model.draw_design(rng) for _ in range(self.queries - known))
        copy.queries = (*state.queries[:known], *rest)
        if seat < self.num_players - 1:
            copy.errors = tuple(WORST * rng.random() for _ in state.errors)
        if seat == 1:
            copy.trials = tuple(
                (d, model.sample(np.array(copy.theta), d, rng)) for d, _ in state.trials
            )
        return copy

    def picture(self, state: LabState, seat: int | None) -> tuple[Part, ...]:
        """Outcomes and predictions by design; spectators see what is true, too."""
        budget = Bar("experiments", state.tried, max(1, self.budget), 0)
        told = Bar("predictions", len(state.errors), len(state.queries), 1)
        trials = () if seat == 1 else state.trials
        guesses = self._guesses(state, seat)
        known, model = seat is None, MODELS[state.model]
        if model.name == "location-finding":
            return self._plane(state, trials, guesses, known=known), Bars((budget, told))
        chart = self._map_chart if len(model.axes) > 1 else self._curve_chart
        drawn = chart(state, trials, guesses, known=known)
        return (*((drawn,) if drawn.series else ()), Bars((budget, told)))

    def _plane(
        self, state: LabState, trials: Sequence[Trial], guesses: Sequence[Trial], *, known: bool
    ) -> Plane:
        """Where was measured and predicted, larger for a stronger signal; and its sources."""
        axis = MODELS[state.model].axes[0]
        values = [value for _, value in (*trials, *guesses)]
        low, wide = min(values, default=0.0), max(values, default=0.0) - min(values, default=0.0)

        def spot(at: Sequence[float], radius: float, colour: Colour, label: str) -> Spot:
            across, down = ((one - axis.low) / (axis.high - axis.low) for one in (at[0], -at[1]))
            x, y = (min(1.0, max(0.0, one)) for one in (across, down))
            return Spot(x, y, radius, "", colour, label, landmark=label == "source")

        spots = [
            spot(design, 0.02 + 0.03 * (value - low) / (wide or 1.0), colour, f"{value:.3g}")
            for colour, some in ((0, trials), ("gold", guesses))
            for design, value in some
        ]
        sources = (state.theta[:2], state.theta[2:]) if known else ()
        spots += [spot(at, 0.05, "green", "source") for at in sources]
        return Plane(tuple(spots))

    def _guesses(self, state: LabState, seat: int | None) -> list[Trial]:
        """The designs for which a viewer has seen a prediction, and the prediction."""
        found = []
        told = [p.action for p in self.seen(state, seat) if isinstance(p.action, Predict)]
        for query, action in zip(state.queries, told, strict=False):
            try:
                value = float(action.value)
            except ValueError:
                continue
            if abs(value) < FARTHEST:
                found.append((query, value))
        return found

    def _curve_chart(
        self, state: LabState, trials: Sequence[Trial], guesses: Sequence[Trial], *, known: bool
    ) -> Chart:
        """What a single number of a design does to the outcome."""
        model = MODELS[state.model]
        axis, series = model.axes[0], list[Series]()
        if known:
            steps = [axis.low + (axis.high - axis.low) * n / CURVE for n in range(CURVE + 1)]
            true = tuple((x, self._true(state, (x,))) for x in steps)
            series.append(Series("true", true, "line", "green"))
        for name, colour, some in (("outcomes", 0, trials), ("predicted", "gold", guesses)):
            if some:
                points = tuple((design[0], value) for design, value in some)
                series.append(Series(name, points, "points", colour))
        return Chart(thinned(series), "outcome", self._axis_name(state))

    def _map_chart(
        self, state: LabState, trials: Sequence[Trial], guesses: Sequence[Trial], *, known: bool
    ) -> Chart:
        """Outcomes of designs of several numbers: beside the truth, or by the first of them."""
        series = list[Series]()
        for name, colour, some in (("outcomes", 0, trials), ("predicted", "gold", guesses)):
            if some:
                points = tuple(
                    (self._true(state, design) if known else design[0], value)
                    for design, value in some
                )
                series.append(Series(name, points, "points", colour))
        if known and series:
            ends = [x for one in series for x, _ in one.points]
            line = ((min(ends), min(ends)), (max(ends), max(ends)))
            series.insert(0, Series("right", line, "line", "green"))
        return Chart(
            tuple(series), "outcome", "expected outcome" if known else self._axis_name(state)
        )

    def _axis_name(self, state: LabState) -> str:
        """The first number of a design, as the statement names it."""
        return MODELS[state.model].axes[0].name if self.story else "number 1"

    def _true(self, state: LabState, design: Designs) -> float:
        """The expected outcome of a design."""
        return float(MODELS[state.model].expected(np.array([state.theta]), design)[0])


def _verdict(record: EpisodeRecord) -> dict[str, Any]:
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return dict(found[-1]) if found else {}


@metric("boxing-error", measures=("tasks/BoxingGym-v0",), bounds=(0.0, WORST), better="lower")
def standardised_error(record: EpisodeRecord) -> float | None:
    """The mean squared error in units of the prior's variance."""
    return _verdict(record).get("error")


@metric("boxing-regret", measures=("tasks/BoxingGym-v0",), bounds=(0.0, None), better="lower")
def regret(record: EpisodeRecord) -> float | None:
    """How much more information the best random design would have given, per experiment, in nats.

    None for an episode that has not ended or has no experiments.
    """
    found = _verdict(record)
    trials = tuple((tuple(design), outcome) for design, outcome in found.get("trials", ()))
    if not trials:
        return None
    name = found["model"]
    lost = [gain_and_regret(name, trials[:n], trial[0])[1] for n, trial in enumerate(trials)]
    return sum(lost) / len(lost)


def gain_and_regret(name: str, before: tuple[Trial, ...], design: Designs) -> tuple[float, float]:
    """The information gain of a design after some trials, and what the best rival has more.

    The rivals are 10 random designs.
    """
    model, thetas = MODELS[name], particles_of(name)
    weights = posterior(model, thetas, before)
    rng = Rng.seeded(len(before), 23)
    gain = information_gain(model, thetas, weights, design)
    rivals = [model.draw_design(rng) for _ in range(RIVALS)]
    best = max(information_gain(model, thetas, weights, rival) for rival in rivals)
    return gain, max(0.0, best - gain)
