"""Reference workers and planners for `markets/TaxEconomy-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from palestra import Event, InvalidOption, Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.taxes.economy import RATES, SPEAK, VOTE, Rates, Speak, TaxEconomy, Vote, Work
from palestra_markets.taxes.households import skill_behind, stackelberg
from palestra_markets.taxes.schedule import FEDERAL, saez_rates, shares, tax


def last(events: Sequence[Event], kind: str) -> Mapping[str, Any] | None:
    """The data of the last event of a kind that has any; None if there is none."""
    return next((e.data for e in reversed(events) if e.kind == kind and e.data), None)


def phase_of(turn: Turn) -> int:
    """SPEAK, VOTE, RATES or WORK."""
    return int(np.asarray(turn.observation)[0])


def rates_of(turn: Turn) -> list[int]:
    """The rates in force, in percent."""
    return [int(rate) for rate in np.asarray(turn.observation)[7:14]]


@agent("rational-worker", needs=("array",))
class RationalWorker(ScriptedAgent[TaxEconomy]):
    """Works the hours that maximise its own utility, if the others pay the taxes of the last step.

    Once elected, it sets the rates that leave it most of its last income. It votes for the last
    winner if its utility rose in that winner's year, otherwise for itself. It says nothing.
    """

    def choose(self, turn: Turn[TaxEconomy]) -> TextAction:
        game, phase = turn.game, phase_of(turn)
        if phase == SPEAK:
            return Speak()
        if phase == VOTE:
            return Vote(game.players[self._favourite(game, turn)])
        if phase == RATES:
            return self._rates(game, turn)
        return Work(self._hours(game, turn))

    def _hours(self, game: TaxEconomy, turn: Turn[TaxEconomy]) -> int:
        events = turn.transcript
        skill, rates = last(events, "worker"), last(events, "rates")
        slip, books = last(events, "slip"), last(events, "reveal")
        if skill is None or rates is None:
            return 0
        others = (books["taxes"] - slip["tax"]) / game.num_workers if slip and books else 0.0
        back = 1 / game.num_workers
        return int(game.tastes.best_hours(skill["skill"], rates["rates"], others, back))

    def _favourite(self, game: TaxEconomy, turn: Turn[TaxEconomy]) -> int:
        slips = [e.data["utility"] for e in turn.transcript if e.kind == "slip"]
        sat, steps = last(turn.transcript, "elected"), game.steps
        years = [sum(slips[at : at + steps]) for at in range(0, len(slips), steps)]
        if sat is not None and len(years) > 1 and years[-1] >= years[-2]:
            return int(sat["player"])
        return turn.seat

    def _rates(self, game: TaxEconomy, turn: Turn[TaxEconomy]) -> TextAction:
        known = last(turn.transcript, "returns")
        if known is None:
            return Rates(*FEDERAL)
        incomes, own = known["incomes"], game.worker_of(turn.seat)

        def kept(rates: Sequence[int]) -> int:
            owed = tax(incomes, rates)
            return int(sum(owed)) // len(incomes) - int(owed[own])

        best = rates_of(turn)
        for place in range(len(best)):
            tries = [[*best[:place], rate, *best[place + 1 :]] for rate in range(0, 91, 10)]
            best = max([best, *tries], key=kept)
        return Rates(*best)


class Planner(ScriptedAgent[TaxEconomy]):
    """Sets the rates of a year from the incomes of the last step."""

    def choose(self, turn: Turn[TaxEconomy]) -> TextAction:
        if phase_of(turn) != RATES:
            raise InvalidOption(
                f"agent {self.name!r} can take only the planner's seat; seat workers as "
                "'rational-worker'"
            )
        known = last(turn.transcript, "returns")
        incomes = known["incomes"] if known else None
        return Rates(*self.rates(turn.game, turn, incomes))

    @abstractmethod
    def rates(
        self, game: TaxEconomy, turn: Turn[TaxEconomy], incomes: Sequence[int] | None
    ) -> Sequence[int]:
        """Seven rates in percent, computed from the last incomes in cents if there are any."""


@agent("fixed-planner", needs=("array",))
class FixedPlanner(Planner):
    """A planner who sets the same rates every year, by default those of the United States."""

    def __init__(
        self,
        rate: Annotated[
            int, Meta(ge=-1, le=100, description="percent in all brackets; -1: the federal rates")
        ] = -1,
    ) -> None:
        super().__init__()
        self._rate = rate

    def rates(
        self, game: TaxEconomy, turn: Turn[TaxEconomy], incomes: Sequence[int] | None
    ) -> Sequence[int]:
        return FEDERAL if self._rate < 0 else [self._rate] * len(FEDERAL)


@agent("saez-planner", kind="solver", needs=("array",))
class SaezPlanner(Planner):
    """A planner who sets Saez's optimal rates, computed from the last incomes.

    Welfare weights are the marginal utilities of consumption; the elasticity is the model's.
    """

    def rates(
        self, game: TaxEconomy, turn: Turn[TaxEconomy], incomes: Sequence[int] | None
    ) -> Sequence[int]:
        if incomes is None:
            return FEDERAL
        owed = tax(incomes, rates_of(turn))
        spent = np.asarray(incomes) - owed + shares(int(owed.sum()), len(incomes))
        weights = game.tastes.weight(spent)
        found = saez_rates([cents / 100 for cents in incomes], weights, game.tastes.elasticity)
        return [round(100 * rate) for rate in found]


@agent("stackelberg-planner", kind="solver", needs=("array",))
class StackelbergPlanner(Planner):
    """A planner who sets the rates with the highest welfare when every worker best-responds.

    It infers the skills that would make the last incomes best responses.
    """

    def __init__(
        self,
        step: Annotated[
            int,
            Meta(ge=1, le=50, description="step between the rates it tries, in percentage points"),
        ] = 10,
    ) -> None:
        super().__init__()
        self._step = step

    def rates(
        self, game: TaxEconomy, turn: Turn[TaxEconomy], incomes: Sequence[int] | None
    ) -> Sequence[int]:
        if incomes is None:
            return FEDERAL
        rates = rates_of(turn)
        rebate = int(tax(incomes, rates).sum()) // len(incomes)
        skills = [skill_behind(game.tastes, income, rates, rebate) for income in incomes]
        return stackelberg(game.tastes, skills, rates, self._step)
