"""Workers choose their hours, a planner sets the tax on what they earn, year after year.

In a tax year the planner first sets the rates of seven brackets; then, step by step, all workers
choose their hours at once. Income is skill times hours. Taxes are collected in whole cents and paid
back at once, the same amount to everybody. A worker's utility rises with consumption, at a
decreasing rate, and falls with hours; what they are paid depends on their motive (see
`households`). The planner is paid the workers' mean utility. With `elections` there is no planner's
seat: before every year all workers speak and then vote. The worker with the most votes sets the
rates; ties are broken at random.

The design is that of S. Karten et al., "LLM Economist: Large Population Models and Mechanism Design
in Multi-Agent Generative Simulacra", 2025. Checked: taxes equal rebates to the cent;
without taxes, hours match the closed form; Saez's rates are in [0, 1], for a Pareto tail
1 / (1 + a e), and 73 percent with the figures of Diamond and Saez (2011); no rates on the grid give
a higher welfare than the Stackelberg planner's.

Left out: personas from census data: skills follow the paper's distribution, and a persona is a
clause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Seat,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Chart, Part, Series

from palestra_markets.chart import chart
from palestra_markets.money import dollars
from palestra_markets.taxes.households import (
    CARE,
    MOST_HOURS,
    MOST_SKILL,
    Tastes,
    Worker,
    draw_worker,
)
from palestra_markets.taxes.schedule import BRACKETS, FEDERAL, in_proportion, shares, tax

SPEAK, VOTE, RATES, WORK = range(4)
PHASES = ("speeches", "votes", "rates", "work")
SHIFTS = (-10, 10)  # percentage points by which a numbered action moves one bracket


class Speak(TextAction, frozen=True):
    """Say to all how you would tax."""

    text: str = ""


class Vote(TextAction, frozen=True):
    """Vote for who sets the rates."""

    player: str


class Rates(TextAction, frozen=True):
    """Set the seven rates in percent, lowest bracket first."""

    b1: int
    b2: int
    b3: int
    b4: int
    b5: int
    b6: int
    b7: int


class Shift(TextAction, frozen=True):
    """Move the rate of one bracket, from 1, by percentage points; 0 leaves all as they are."""

    bracket: int
    by: int


class Work(TextAction, frozen=True):
    """Work so many hours in this step."""

    hours: int


@dataclass(slots=True)
class TaxEconomyState:
    """An economy in mid-year; lists are by worker, money is in cents."""

    rng: Rng
    workers: tuple[Worker, ...]
    rates: tuple[int, ...]  # percent, by bracket
    phase: int  # SPEAK, VOTE, RATES or WORK
    planner: int  # the seat that sets the rates; -1: not elected yet
    year: int = 0  # years completed
    step: int = 0  # steps of this year completed
    hours: list[int] = field(default_factory=list)  # of the last step, as the next four
    incomes: list[int] = field(default_factory=list)
    taxes: list[int] = field(default_factory=list)
    rebates: list[int] = field(default_factory=list)
    utilities: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # paid so far, by seat
    history: list[tuple[float, float]] = field(default_factory=list)  # mean utility, mean income
    ended: bool = False


@environment(
    "markets/TaxEconomy-v0",
    family="market",
    tags=("taxes", "leader-follower", "hidden-information", "chance"),
    paper=(
        "Karten et al. (2025), LLM Economist: Large Population Models and Mechanism Design in "
        "Multi-Agent Generative Simulacra; Saez (2001), Using Elasticities to Derive Optimal "
        "Income Tax Rates"
    ),
    splits={
        "elections": {"elections": True},
        "hundred": {"num_players": 101},
        "mixed": {"num_players": 11, "altruists": 3, "adversaries": 1},
    },
)
@dataclass(frozen=True)
class TaxEconomy(Talking, TextGame[TaxEconomyState]):
    """Workers choose hours under a tax that a planner, or an elected worker, sets every year.

    Numbered actions are the hours (0 to 100), no change of the rates, changes of one bracket by 10
    percentage points, and with `elections` a vote for each player and a speech without words; all
    seven rates at once are written as text. Each step pays a worker the utility of what they
    consume and of their hours, mixed with the others' by motive, and the planner the mean utility.

    An observation is a float32 vector of 23 + n numbers for n workers:

        phase (0 speeches, 1 votes, 2 rates, 3 work), year, last year, step, last step of the year
        whether the seat sets the rates, the seat that does (-1: not yet known)
        the seven rates in percent
        own skill in dollars an hour (0: the planner), own weight of the others' utility
        last step: own hours, income, tax and consumption in thousand dollars, own utility
        last step, of all: mean income in thousand dollars, mean utility
        incomes of all workers in thousand dollars, for the seat that sets the rates (-1: hidden)
    """

    num_players: Annotated[
        int, Meta(ge=3, le=101, description="workers, and the planner unless there are elections")
    ] = 6
    years: Annotated[int, Meta(ge=1, le=100, description="tax years")] = 4
    steps: Annotated[int, Meta(ge=1, le=100, description="steps of work in a year")] = 5
    elections: Annotated[
        bool, Meta(description="whether the workers elect who sets the rates of each year")
    ] = False
    altruists: Annotated[
        int,
        Meta(
            ge=0,
            le=101,
            description="number of workers who also want the others' utility to be high",
        ),
    ] = 0
    adversaries: Annotated[
        int,
        Meta(
            ge=0,
            le=101,
            description="number of workers who also want the others' utility to be low",
        ),
    ] = 0
    aversion: Annotated[
        float,
        Meta(ge=0, le=10, description="r in c^(1-r) / (1-r), the utility of c thousand dollars"),
    ] = 0.5
    effort: Annotated[
        float, Meta(ge=1e-12, le=1e6, description="k in k h^d, the utility that h hours cost")
    ] = 1.5e-5
    toil: Annotated[
        float, Meta(ge=1.01, le=10, description="d in k h^d, the utility that h hours cost")
    ] = 3.0
    message_limit: Annotated[
        int, Meta(ge=1, le=1_000_000, description="most characters in a speech")
    ] = 300

    rules_text = """
        You live in an economy of workers whose income is taxed and paid back in equal parts.

        A worker chooses their hours in every step and earns their skill for each. Every year the
        planner sets the rates of seven tax brackets. A rate applies to the part of an income within
        its bracket. All taxes of a step are paid back at once, the same to everybody. What a worker
        can spend makes them happier, ever less the more it is; hours make them less happy, ever
        more the more they are. The planner wants the workers' mean happiness to be high. Write one
        of: Work(hours=40) to work, from 0 to 100 hours in this step;
        Rates(b1=10, b2=12, b3=22, b4=24, b5=32, b6=35, b7=37) to set all rates in percent;
        Shift(bracket=3, by=-10) to change one of them by percent points, and by=0 none;
        Speak(text='I would tax less.') to speak to all before an election, with or without words;
        Vote(player='player_2') to vote for who sets the rates of the next year.
    """
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("utility",)
    action_types = (Speak, Vote, Rates, Shift, Work)

    def validate(self) -> None:
        if self.altruists + self.adversaries > self.num_workers:
            raise InvalidOption(
                f"altruists={self.altruists} and adversaries={self.adversaries} are more than the "
                f"{self.num_workers} workers; lower one of them or raise num_players"
            )

    # Derived from the options

    @property
    def num_workers(self) -> int:
        return self.num_players if self.elections else self.num_players - 1

    @cached_property
    def tastes(self) -> Tastes:
        return Tastes(self.aversion, self.effort, self.toil)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = ["worker"] * self.num_players
        if not self.elections:
            roles[0] = "planner"
        return tuple(Seat(name, roles[i], i) for i, name in enumerate(self.players))

    def worker_of(self, seat: int) -> int:
        """The worker in a seat; -1 for the planner."""
        return seat if self.elections else seat - 1

    def seat_of(self, worker: int) -> int:
        """The seat of a worker."""
        return worker if self.elections else worker + 1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        low = float(self.tastes.utility(0, MOST_HOURS))
        high = float(self.tastes.utility(2 * MOST_SKILL * MOST_HOURS, 0))
        most = self.years * self.steps * (abs(low) + abs(high))
        return (-most, most)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """All hours, changes of one rate, votes and a speech without words, in this order."""
        shifts = (Shift(b, by) for b in range(1, len(BRACKETS) + 1) for by in SHIFTS)
        hours = (Work(h) for h in range(MOST_HOURS + 1))
        votes = (Vote(player) for player in self.players) if self.elections else ()
        speech = (Speak(),) if self.elections else ()
        return (*hours, Shift(1, 0), *shifts, *votes, *speech)

    # The rules

    def initial_state(self, seed: int | None = None) -> TaxEconomyState:
        rng = Rng.seeded(seed)
        motives = ["altruistic"] * self.altruists + ["adversarial"] * self.adversaries
        motives += ["selfish"] * (self.num_workers - len(motives))
        rng.shuffle(motives)
        workers = tuple(draw_worker(motive, rng) for motive in motives)
        count = len(workers)
        phase, planner = (SPEAK, -1) if self.elections else (RATES, 0)
        state = TaxEconomyState(rng, workers, FEDERAL, phase, planner)
        state.hours, state.incomes, state.taxes, state.rebates = ([0] * count for _ in range(4))
        state.utilities, state.scores = [0.0] * count, [0.0] * self.num_players
        return state

    def to_act(self, state: TaxEconomyState) -> tuple[int, ...]:
        if state.ended:
            return ()
        if state.phase == RATES:
            return (state.planner,)
        return tuple(self.seat_of(worker) for worker in range(self.num_workers))

    def legal(self, state: TaxEconomyState, seat: int) -> Grammar:
        if state.phase == WORK:
            return HOURS
        if state.phase == SPEAK:
            return self._speeches
        if state.phase == VOTE:
            return self._votes
        whole = {name: Integer(0, 100) for name in Rates.__struct_fields__}
        shifts = [
            Option(Shift, {"bracket": OneOf((place,)), "by": Integer(-rate, 100 - rate)})
            for place, rate in enumerate(state.rates, 1)
        ]
        return Grammar((Option(Rates, whole), *shifts))

    @cached_property
    def _speeches(self) -> Grammar:
        words = Text(self.message_limit, ("", "I would tax less.", "I would tax the rich."))
        return Grammar((Option(Speak, {"text": words}),))

    @cached_property
    def _votes(self) -> Grammar:
        return Grammar((Option(Vote, {"player": OneOf(self.players)}),))

    def step(self, state: TaxEconomyState, actions: Mapping[int, Any]) -> Step:
        if state.phase == SPEAK:
            state.phase = VOTE
            said = ((seat, speech.text) for seat, speech in sorted(actions.items()))
            return Step(events=[self._speech(seat, text) for seat, text in said if text])
        if state.phase == VOTE:
            return Step(events=self._elect(state, actions))
        if state.phase == RATES:
            ((_, action),) = actions.items()
            state.rates, state.phase = new_rates(state.rates, action), WORK
            text = f"The rates of year {state.year + 1} are {rates_text(state.rates)}."
            return Step(events=[Event("rates", text, {"rates": list(state.rates)})])
        return self._work(state, actions)

    def _speech(self, seat: int, text: str) -> Event:
        said = f"{self.players[seat]}: {self.quoted(text)}"
        return Event("speech", said, {"player": seat, "text": text})

    def _elect(self, state: TaxEconomyState, actions: Mapping[int, Vote]) -> list[Event]:
        """Elect the worker with the most votes (ties at random), and show them the incomes."""
        counts = [0] * self.num_players
        for vote in actions.values():
            counts[self.players.index(vote.player)] += 1
        tied = [seat for seat, count in enumerate(counts) if count == max(counts)]
        state.planner, state.phase = state.rng.choice(tied), RATES
        text = f"{self.players[state.planner]} is elected with {max(counts)} votes."
        data = {"player": state.planner, "votes": counts}
        returns = self._returns(state)  # what others earned
        shown = [Event("reveal", "", {}, only(state.planner))] if returns else []
        return [Event("elected", text, data), *shown, *returns]

    def _returns(self, state: TaxEconomyState) -> list[Event]:
        """The event that shows the last step's incomes to the seat that sets the rates."""
        if not state.history:
            return []
        listed = ", ".join(map(dollars, state.incomes))
        text = f"The last incomes of all workers were {listed}."
        return [Event("returns", text, {"incomes": list(state.incomes)}, only(state.planner))]

    def _work(self, state: TaxEconomyState, actions: Mapping[int, Work]) -> Step:
        """Pay incomes, collect taxes, pay them back, and reward the workers' utilities."""
        count = self.num_workers
        state.hours = [actions[self.seat_of(worker)].hours for worker in range(count)]
        pairs = zip(state.workers, state.hours, strict=True)
        state.incomes = [worker.skill * hours for worker, hours in pairs]
        state.taxes = tax(state.incomes, state.rates).tolist()
        state.rebates = shares(sum(state.taxes), count, state.rng.below(count))
        consumed = [self.consumption(state, worker) for worker in range(count)]
        state.utilities = self.tastes.utility(consumed, state.hours).tolist()
        mean = fsum(state.utilities) / count
        state.history.append((mean, sum(state.incomes) / count))
        paid = {self.seat_of(w): self._paid(state, w) for w in range(count)}
        if not self.elections:
            paid[0] = mean
        for seat, utility in paid.items():
            state.scores[seat] += utility
        events = [self._slip(state, worker) for worker in range(count)]
        events.append(self._books(state))
        self._advance(state)
        if state.phase == RATES and not state.ended:
            events += self._returns(state)
        return Step({seat: {"utility": value} for seat, value in paid.items()}, events=events)

    def consumption(self, state: TaxEconomyState, worker: int) -> int:
        """The cents a worker had to spend in the last step."""
        return state.incomes[worker] - state.taxes[worker] + state.rebates[worker]

    def _paid(self, state: TaxEconomyState, worker: int) -> float:
        care, own = CARE[state.workers[worker].motive], state.utilities[worker]
        others = (fsum(state.utilities) - own) / max(1, self.num_workers - 1)
        return (1 - abs(care)) * own + care * others

    def _advance(self, state: TaxEconomyState) -> None:
        state.step += 1
        if state.step < self.steps:
            return
        state.step, state.year = 0, state.year + 1
        state.phase = SPEAK if self.elections else RATES
        state.ended = state.year == self.years

    def _slip(self, state: TaxEconomyState, worker: int) -> Event:
        """The event with a worker's own figures for a step."""
        seat = self.seat_of(worker)
        hours, utility = state.hours[worker], state.utilities[worker]
        money = {
            "income": state.incomes[worker],
            "tax": state.taxes[worker],
            "rebate": state.rebates[worker],
        }
        listed = ", ".join(f"{name} {dollars(cents)}" for name, cents in money.items())
        text = f"{self.players[seat]}, you worked {hours} hours: {listed}, utility {utility:.3f}."
        data = {"hours": hours, **money, "utility": utility}
        return Event("slip", text, data, only(seat))

    def _books(self, state: TaxEconomyState) -> Event:
        """The public result of a step; a `reveal`, since it depends on hidden skills."""
        utility, mean = state.history[-1]
        total = sum(state.incomes)
        data = {
            "taxes": sum(state.taxes),
            "rebates": sum(state.rebates),
            "mean_income": mean,
            "welfare": utility,
            "gini": gini(state.incomes),
            "tax_share": sum(state.taxes) / total if total else 0.0,
        }
        text = (
            f"Year {state.year + 1}, step {state.step + 1}: the mean income is "
            f"{dollars(round(mean))}, taxes of {dollars(sum(state.taxes))} are paid back, the "
            f"mean utility is {utility:.3f}."
        )
        return Event("reveal", text, data)

    def opening(self, state: TaxEconomyState) -> Sequence[Event]:
        events = []
        for number, worker in enumerate(state.workers):
            seat = self.seat_of(number)
            text = f"{self.players[seat]}, {worker_text(worker)}"
            data = {"skill": worker.skill, "motive": worker.motive, "persona": worker.persona}
            events.append(Event("worker", text, data, only(seat)))
        return events

    def outcome(self, state: TaxEconomyState) -> Outcome | None:
        if not state.ended:
            return None
        mean = fsum(utility for utility, _ in state.history) / len(state.history)
        score: Result = "score"
        reason = f"the mean utility of a step was {mean:.3f}"
        return Outcome((score,) * self.num_players, tuple(state.scores), reason)

    def determinize(self, state: TaxEconomyState, seat: int, rng: Rng) -> TaxEconomyState:
        """Redraw the other workers and what they did, keeping what is published.

        Whom the odd cents of the last rebate went to is drawn from what fits one's own.
        """
        copy, own = self.clone(state), self.worker_of(seat)
        motives = sorted(w.motive for n, w in enumerate(state.workers) if n != own)
        rng.shuffle(motives)
        copy.workers = tuple(
            worker if number == own else draw_worker(motives.pop(), rng)
            for number, worker in enumerate(state.workers)
        )
        paid_back = [
            shares(sum(state.taxes), self.num_workers, first) for first in range(self.num_workers)
        ]
        fitting = [back for back in paid_back if own < 0 or back[own] == state.rebates[own]]
        copy.rebates = rng.choice(fitting)
        if state.history:
            self._redraw_last_step(copy, seat, rng)
        return copy

    def _redraw_last_step(self, state: TaxEconomyState, seat: int, rng: Rng) -> None:
        """Redraw the other workers' hours and money; their sums are published.

        Whoever sees the incomes keeps them, with the taxes that follow from them.
        """
        others = [worker for worker in range(self.num_workers) if worker != self.worker_of(seat)]
        hours = [rng.between(0, MOST_HOURS) for _ in others]
        if self._knows_incomes(state, seat):
            skills = [state.workers[worker].skill for worker in others]
            earned = [state.incomes[worker] for worker in others]
            hours = [min(MOST_HOURS, e // max(1, s)) for e, s in zip(earned, skills, strict=True)]
        else:
            weights = [state.workers[w].skill * h for w, h in zip(others, hours, strict=True)]
            for money in (state.incomes, state.taxes):
                parts = in_proportion(sum(money[worker] for worker in others), weights)
                for worker, part in zip(others, parts, strict=True):
                    money[worker] = part
        for worker, spent in zip(others, hours, strict=True):
            consumed = self.consumption(state, worker)
            state.hours[worker] = spent
            state.utilities[worker] = float(self.tastes.utility(consumed, spent))
        for worker in others:
            state.scores[self.seat_of(worker)] = self._paid(state, worker) * len(state.history)

    def _knows_incomes(self, state: TaxEconomyState, seat: int) -> bool:
        """Whether a seat that sets, or has set, the rates was told the last incomes."""
        told = state.phase == RATES or (state.phase == WORK and state.step == 0)
        return seat == state.planner and told and bool(state.history)

    # What a player sees

    def rules_for(self, seat: int) -> str:
        starts = ", ".join(f"{start:,}" for start in BRACKETS)
        tastes = f"spending c thousand dollars and working h hours is worth c^{1 - self.aversion:g}"
        if self.aversion == 1:
            tastes = "spending c thousand dollars and working h hours is worth log(c)"
        elif self.aversion:
            tastes += f" / {1 - self.aversion:g}"
        return (
            f"{super().rules_for(seat)}\nBrackets begin at {starts} dollars of income a step. "
            f"Precisely, {tastes} - {self.effort:g} h^{self.toil:g}. There are {self.years} years "
            f"of {self.steps} steps, and {self.num_workers} workers."
        )

    def describe(self, state: TaxEconomyState, seat: int) -> str:
        year, step = min(state.year + 1, self.years), state.step + 1
        lines = [
            f"You are {self.players[seat]}. Year {year} of {self.years}, step {step} of "
            f"{self.steps}: {PHASES[state.phase]}.",
            f"The rates are {rates_text(state.rates)}.",
        ]
        own = self.worker_of(seat)
        if own >= 0:
            text = worker_text(state.workers[own])
            lines.append(text[0].upper() + text[1:])
        if state.history:
            utility, mean = state.history[-1]
            if own >= 0:
                spent = dollars(self.consumption(state, own))
                lines.append(
                    f"In the last step you worked {state.hours[own]} hours, paid "
                    f"{dollars(state.taxes[own])} of {dollars(state.incomes[own])} in taxes, spent "
                    f"{spent} and had a utility of {state.utilities[own]:.3f}."
                )
            lines.append(
                f"The mean income was {dollars(round(mean))} and the mean utility {utility:.3f}."
            )
        if self._sees_incomes(state, seat):
            lines.append(f"Incomes were {', '.join(map(dollars, state.incomes))}.")
        return "\n".join(lines)

    def _sees_incomes(self, state: TaxEconomyState, seat: int) -> bool:
        """Whether a seat is setting the rates, and so sees the last incomes."""
        return seat == state.planner and state.phase == RATES and bool(state.history)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(-1e9, 1e9, (23 + self.num_workers,), np.float32)

    def observe(self, state: TaxEconomyState, seat: int) -> NDArray[np.float32]:
        """The observation vector; the class docstring gives the layout."""
        own = self.worker_of(seat)
        setting = state.phase == RATES and seat == state.planner
        seen: list[float] = [state.phase, state.year, self.years, state.step, self.steps]
        seen += [setting, state.planner, *state.rates]
        if own >= 0:
            worker = state.workers[own]
            money = state.incomes[own], state.taxes[own], self.consumption(state, own)
            seen += [worker.skill / 100, CARE[worker.motive], state.hours[own]]
            seen += [*(cents / 1e5 for cents in money), state.utilities[own]]
        else:
            seen += [0.0] * 7
        utility, mean = state.history[-1] if state.history else (0.0, 0.0)
        seen += [mean / 1e5, utility]
        shown = self._sees_incomes(state, seat)
        seen += [cents / 1e5 if shown else -1.0 for cents in state.incomes]
        return np.clip(np.array(seen), -1e9, 1e9).astype(np.float32)

    def scene(self, state: TaxEconomyState, seat: int | None = None) -> Scene:
        """The tax schedule as steps, mean utility over time, and a spectator's view of incomes."""
        starts = [start / 1000 for start in BRACKETS]
        steps = [(start, float(rate)) for start, rate in zip(starts, state.rates, strict=True)]
        steps.append((starts[-1] * 1.15, steps[-1][1]))
        rates = Series("", tuple(steps), "step", 1)
        schedule = Chart((rates,), "", "income in $1,000", "tax rate, in percent")
        year = min(state.year + 1, self.years)
        caption = f"Year {year} of {self.years}, step {state.step + 1}: {PHASES[state.phase]}"
        drawn = chart(
            {"": [utility for utility, _ in state.history]},
            "step",
            "the workers' mean utility",
        )
        parts: list[Part] = [schedule, drawn]
        if seat is None and state.history:
            earned = tuple((n + 1.0, cents / 100_000) for n, cents in enumerate(state.incomes))
            bars = Series("", earned, "bars", 2)
            parts.append(Chart((bars,), "", "worker", "income in $1,000"))
        return Scene(caption, parts=tuple(parts))


HOURS = Grammar((Option(Work, {"hours": Integer(0, MOST_HOURS)}),))


def new_rates(rates: Sequence[int], action: Rates | Shift) -> tuple[int, ...]:
    """The rates after setting all of them or changing one."""
    if isinstance(action, Rates):
        return tuple(getattr(action, name) for name in Rates.__struct_fields__)
    changed = list(rates)
    changed[action.bracket - 1] += action.by
    return tuple(changed)


def gini(incomes: Sequence[int]) -> float:
    """The Gini coefficient; 0 where nobody earns anything."""
    ordered = np.sort(np.asarray(incomes, float))
    count, total = len(ordered), ordered.sum()
    if total == 0:
        return 0.0
    return float((2 * np.arange(1, count + 1) - count - 1) @ ordered / (count * total))


def rates_text(rates: Sequence[int]) -> str:
    return ", ".join(map(str, rates)) + " percent"


def worker_text(worker: Worker) -> str:
    motives = {
        "selfish": "You want your own utility to be high.",
        "altruistic": "Half of what you want is the mean utility of the others.",
        "adversarial": "Half of what you want is that the mean utility of the others is low.",
    }
    return (
        f"you are {worker.persona}, and earn {dollars(worker.skill)} an hour. "
        f"{motives[worker.motive]}"
    )
