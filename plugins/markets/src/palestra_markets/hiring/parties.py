"""Reference principals and experts for `markets/Hiring-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from palestra import InvalidOption, Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.hiring.hiring import (
    DECISION,
    EFFORT,
    PAY_STEPS,
    PRINCIPAL,
    Decide,
    Exert,
    Hiring,
    Offer,
    Optimal,
    Report,
    profile_digits,
)
from palestra_markets.hiring.information import Mechanism, joint, scoring_mechanism
from palestra_markets.reading import event_data, observed_numbers


def read_turn(turn: Turn[Hiring]) -> tuple[Hiring, list[int]]:
    """The game, and the observation in whole numbers."""
    return turn.game, [int(number) for number in observed_numbers(turn)]


def last_data(turn: Turn, kind: str) -> Mapping[str, Any]:
    """The data of the last event of a kind."""
    return next(event.data for event in reversed(turn.transcript) if event.kind == kind)


@agent(
    "rational-expert",
    kind="solver",
    needs=("array",),
)
class RationalExpert(ScriptedAgent[Hiring]):
    """Chooses the effort and report that pay best if the others obey and tell the truth.

    It obeys and tells the truth unless a deviation gains at least one unit.
    """

    def choose(self, turn: Turn[Hiring]) -> TextAction:
        game, seen = read_turn(turn)
        if turn.seat == PRINCIPAL:
            raise InvalidOption("rational-expert takes an expert's seat, not the principal's")
        expert, known = turn.seat - 1, game.information
        advised, level, signal = seen[7:10]
        offered = mechanism_seen_by(expert, last_data(turn, "advice"))
        if seen[0] == EFFORT:
            costs = seen[13 : 13 + known.levels]
            best, gain = offered.best_answer(known, expert, advised, costs)
            return Exert(best if gain >= 1 else advised)
        pays = offered.expected(known, expert, advised, level)[signal] * known.states
        best = int(pays.argmax())
        return Report(best if pays[best] - pays[signal] >= 1 else signal)


def mechanism_seen_by(expert: int, advice: Mapping[str, Any]) -> Mechanism:
    """The part of a mechanism that an expert knows: their own pay under their advice."""
    pays = tuple(
        tuple(np.array(table) if place == expert else None for place in range(len(profile)))
        for profile, table in zip(advice["profiles"], advice["pays"], strict=True)
    )
    return Mechanism(tuple(map(tuple, advice["profiles"])), tuple(advice["chances"]), pays)


class Principal(ScriptedAgent[Hiring]):
    """Decides on the state that is most likely if the experts obey and report truthfully."""

    def choose(self, turn: Turn[Hiring]) -> TextAction:
        game, seen = read_turn(turn)
        if turn.seat != PRINCIPAL:
            raise InvalidOption("principals take the first seat; experts play rational-expert")
        if seen[0] != DECISION:
            return self.offer(game, turn)
        profile = tuple(last_data(turn, "profile")["profile"])
        reports = tuple(last_data(turn, "reports")["reports"])
        return Decide(int(joint(game.information, profile)[reports].argmax()))

    @abstractmethod
    def offer(self, game: Hiring, turn: Turn[Hiring]) -> TextAction:
        """The offer to make in this round."""


@agent("programme-principal", kind="solver", needs=("array",))
class ProgrammePrincipal(Principal):
    """Offers the best mechanism by linear programming."""

    def offer(self, game: Hiring, turn: Turn[Hiring]) -> TextAction:
        if not game.known:
            raise InvalidOption("programme-principal must know the costs: set known=True")
        return Optimal()


@agent("scoring-principal", kind="solver", needs=("array",))
class ScoringPrincipal(Principal):
    """Offers the best profile under one scoring rule, at the lowest pay at which experts obey."""

    def __init__(
        self,
        rule: Annotated[
            Literal["quadratic", "logarithmic", "spherical"],
            Meta(description="the scoring rule it pays by"),
        ] = "quadratic",
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._rule = rule
        self._offers: dict[tuple[Hiring, tuple[tuple[int, ...], ...]], Offer] = {}

    def offer(self, game: Hiring, turn: Turn[Hiring]) -> TextAction:
        if not game.known:
            raise InvalidOption("scoring-principal must know the costs: set known=True")
        costs = tuple(tuple(data["costs"]) for data in event_data(turn.transcript, "costs"))
        key = game, costs
        if key not in self._offers:
            self._offers[key] = self._best(game, costs)
        return self._offers[key]

    def _best(self, game: Hiring, costs: Sequence[Sequence[int]]) -> Offer:
        offers = (self._least_offer(game, costs, p) for p in game.information.profiles)
        return max((pair for pair in offers if pair), key=lambda pair: pair[0])[1]

    def _least_offer(
        self, game: Hiring, costs: Sequence[Sequence[int]], profile: tuple[int, ...]
    ) -> tuple[float, Offer] | None:
        """The lowest pay at which experts obey a profile, by bisection, and the principal's gain.

        Returns None if they obey at no level of pay. Bisection works because higher pay scales the
        scores and makes obedience more profitable.
        """

        def obeyed_mechanism(pay: int) -> Mechanism | None:
            tried = scoring_mechanism(game.information, profile, self._rule, pay, game.verified)
            for expert, level in enumerate(profile):
                if tried.best_answer(game.information, expert, level, costs[expert])[1] > 0:
                    return None
            return tried

        low, high = -1, game.most_paid
        if obeyed_mechanism(high) is None:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if obeyed_mechanism(middle) else (middle, high)
        mechanism = obeyed_mechanism(high)
        assert mechanism is not None
        value = mechanism.principal_value(game.information, game.value)
        return value, Offer(self._rule, high, profile_digits(profile))


@dataclass(slots=True)
class Trials:
    """What every offer has gained so far, in one episode."""

    sums: list[float]
    counts: list[int] = field(default_factory=list)
    current: int = -1
    rounds: int = 0
    read: int = 0  # events


@agent(
    "exploring-principal",
    needs=("array",),
)
class ExploringPrincipal(Principal):
    """Tries simple offers for T^(2/3) of T rounds, then commits to the one that gained most.

    It does not need to know the experts' costs. It tries the offers of `simple_offers` in turn.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self._trials: dict[int, Trials] = {}

    def forget(self, episode_key: int) -> None:
        self._trials.pop(episode_key, None)

    def offer(self, game: Hiring, turn: Turn[Hiring]) -> TextAction:
        offers = simple_offers(game)
        if turn.episode_key not in self._trials:
            self._trials[turn.episode_key] = Trials([0.0] * len(offers), [0] * len(offers))
        trials = self._trials[turn.episode_key]
        events = turn.transcript[trials.read :]
        trials.read += len(events)
        past = [event.data for event in events if "gained" in event.data]
        trials.rounds += len(past)
        if past and trials.current >= 0:
            trials.sums[trials.current] += past[-1]["gained"] - sum(past[-1]["paid"])
            trials.counts[trials.current] += 1
        explore = max(len(offers), round(game.rounds ** (2 / 3)))
        if trials.rounds < explore:
            trials.current = trials.rounds % len(offers)
        else:
            means = (s / max(1, n) for s, n in zip(trials.sums, trials.counts, strict=True))
            trials.current = int(np.argmax(list(means)))
        return offers[trials.current]


def simple_offers(game: Hiring) -> list[Offer]:
    """Offers to no expert, then to the first one, two, … at one level, at several payments."""
    pays = [max(1, game.most_paid * percent // 100) for percent in PAY_STEPS]
    offers = [Offer("quadratic", 0, "0" * game.experts)]
    for level, count in product(range(1, len(game.accuracies)), range(1, game.experts + 1)):
        efforts = str(level) * count + "0" * (game.experts - count)
        offers += [Offer("quadratic", pay, efforts) for pay in pays]
    return offers
