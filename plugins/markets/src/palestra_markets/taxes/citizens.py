"""Reference workers and planners of `markets/TaxEconomy-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from palestra import Agent, Decision, Event, InvalidOption, TextAction, Turn, agent

from palestra_markets.taxes.economy import RATES, SPEAK, VOTE, Rates, Speak, TaxEconomy, Vote, Work
from palestra_markets.taxes.households import skill_behind, stackelberg
from palestra_markets.taxes.schedule import FEDERAL, saez_rates, shares, tax


def economy_of(turn: Turn) -> TaxEconomy:
    if not isinstance(turn.game, TaxEconomy):
        raise InvalidOption(f"this agent is for markets/TaxEconomy-v0, not {turn.env}")
    return turn.game


def last(events: Sequence[Event], kind: str) -> Mapping[str, Any] | None:
    """The data of the last event of a kind."""
    return next((e.data for e in reversed(events) if e.kind == kind), None)


@agent(
    "rational-worker",
    plays=("markets/TaxEconomy-v0",),
    needs=("array",),
    summary="Works the hours that serve it best, votes and, once elected, taxes for itself.",
)
class RationalWorker(Agent):
    """Works the hours that serve him best, the others' taxes being those of the last step.

    Elected, he sets the rates that pay him most at the last incomes. He votes for whoever sat
    while his utility rose, else for himself, and says nothing.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = economy_of(turn)
        phase = int(np.asarray(turn.observation)[0])
        if phase == SPEAK:
            return Speak()
        if phase == VOTE:
            return Vote(game.players[self._favourite(game, turn)])
        if phase == RATES:
            return self._rates(game, turn)
        return Work(self._hours(game, turn))

    def _hours(self, game: TaxEconomy, turn: Turn) -> int:
        events = turn.transcript
        skill, rates = last(events, "worker"), last(events, "rates")
        slip, books = last(events, "slip"), last(events, "reveal")
        if skill is None or rates is None:
            return 0
        others = (books["taxes"] - slip["tax"]) / game.num_workers if slip and books else 0.0
        back = 1 / game.num_workers
        return int(game.tastes.best_hours(skill["skill"], rates["rates"], others, back))

    def _favourite(self, game: TaxEconomy, turn: Turn) -> int:
        slips = [e.data["utility"] for e in turn.transcript if e.kind == "slip"]
        sat, steps = last(turn.transcript, "elected"), game.steps
        years = [sum(slips[at : at + steps]) for at in range(0, len(slips), steps)]
        if sat is not None and len(years) > 1 and years[-1] >= years[-2]:
            return int(sat["player"])
        return turn.seat

    def _rates(self, game: TaxEconomy, turn: Turn) -> TextAction:
        known = last(turn.transcript, "returns")
        if known is None:
            return Rates(*FEDERAL)
        incomes, own = known["incomes"], game.worker_of(turn.seat)

        def keeps(rates: Sequence[int]) -> int:
            owed = tax(incomes, rates)
            return int(sum(owed)) // len(incomes) - int(owed[own])

        seen = [int(rate) for rate in np.asarray(turn.observation)[7:14]]
        best = list(seen)
        for place in range(len(best)):
            tries = [[*best[:place], rate, *best[place + 1 :]] for rate in range(0, 91, 10)]
            best = max([best, *tries], key=keeps)
        return Rates(*best)


class Planner(Agent):
    """Sets the rates of a year from the incomes of the last step."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(Rates(*self._decide(turn))) for turn in turns]

    def _decide(self, turn: Turn) -> Sequence[int]:
        game, known = economy_of(turn), last(turn.transcript, "returns")
        if int(np.asarray(turn.observation)[0]) != RATES:
            raise InvalidOption("planners take the planner's seat; workers play rational-worker")
        return self.rates(game, turn, known["incomes"] if known else None)

    @abstractmethod
    def rates(self, game: TaxEconomy, turn: Turn, incomes: Sequence[int] | None) -> Sequence[int]:
        """Seven rates in percent, from the last incomes in cents where there are any."""


@agent(
    "fixed-planner",
    plays=("markets/TaxEconomy-v0",),
    needs=("array",),
    summary="The same rates always: rate=20 in all brackets, or the federal ones.",
)
class FixedPlanner(Planner):
    """The same rates in all years: one `rate` in all brackets, or below 0 the federal ones."""

    def __init__(self, rate: int = -1) -> None:
        if not -1 <= rate <= 100:
            raise InvalidOption(f"fixed-planner: rate must be from 0 to 100, or -1, not {rate}")
        self._rate = rate

    def rates(self, game: TaxEconomy, turn: Turn, incomes: Sequence[int] | None) -> Sequence[int]:
        return FEDERAL if self._rate < 0 else [self._rate] * len(FEDERAL)


@agent(
    "saez-planner",
    kind="solver",
    plays=("markets/TaxEconomy-v0",),
    needs=("array",),
    summary="Saez's optimal rates from the last incomes.",
)
class SaezPlanner(Planner):
    """Saez's rates with the marginal utilities of a utilitarian, and the model's elasticity."""

    def rates(self, game: TaxEconomy, turn: Turn, incomes: Sequence[int] | None) -> Sequence[int]:
        if incomes is None:
            return FEDERAL
        owed = tax(incomes, [int(rate) for rate in np.asarray(turn.observation)[7:14]])
        spent = np.asarray(incomes) - owed + shares(int(owed.sum()), len(incomes))
        weights = game.tastes.weight(spent)
        found = saez_rates([cents / 100 for cents in incomes], weights, game.tastes.elasticity)
        return [round(100 * rate) for rate in found]


@agent(
    "stackelberg-planner",
    kind="solver",
    plays=("markets/TaxEconomy-v0",),
    needs=("array",),
    summary="The best rates of a grid of step=10 percents, by the workers' best answers.",
)
class StackelbergPlanner(Planner):
    """The rates of a grid of `step` percents that lead to the most welfare when workers answer.

    Skills are those that would have led to the last incomes as best answers.
    """

    def __init__(self, step: int = 10) -> None:
        if not 1 <= step <= 50:
            raise InvalidOption(f"stackelberg-planner: step must be from 1 to 50, not {step}")
        self._step = step

    def rates(self, game: TaxEconomy, turn: Turn, incomes: Sequence[int] | None) -> Sequence[int]:
        if incomes is None:
            return FEDERAL
        seen = [int(rate) for rate in np.asarray(turn.observation)[7:14]]
        rebate = int(tax(incomes, seen).sum()) // len(incomes)
        skills = [skill_behind(game.tastes, income, seen, rebate) for income in incomes]
        return stackelberg(game.tastes, skills, seen, self._step)
