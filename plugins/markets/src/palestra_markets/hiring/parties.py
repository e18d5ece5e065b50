"""Reference principals and experts of `markets/Hiring-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

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
    written,
)
from palestra_markets.hiring.information import RULES, Mechanism, joint, scoring_mechanism


def read(turn: Turn) -> tuple[Hiring, list[int]]:
    """The game, and the array view in whole numbers."""
    if not isinstance(turn.game, Hiring):
        raise InvalidOption(f"this agent is for markets/Hiring-v0, not {turn.env}")
    return turn.game, [int(number) for number in np.asarray(turn.observation)]


def last(turn: Turn, kind: str) -> Mapping[str, Any]:
    """The data of the last event of a kind."""
    return next(event.data for event in reversed(turn.transcript) if event.kind == kind)


@agent(
    "rational-expert",
    kind="solver",
    plays=("markets/Hiring-v0",),
    needs=("array",),
    summary="Works and reports what pays best, as recommended and truly among equals.",
)
class RationalExpert(Agent):
    """Works and reports what pays best if the others obey and tell the truth.

    Among equals, and for less than a unit, he does as recommended and tells the truth.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game, seen = read(turn)
        if turn.seat == PRINCIPAL:
            raise InvalidOption("rational-expert takes an expert's seat, not the principal's")
        expert, known = turn.seat - 1, game.information
        advised, level, signal = seen[7:10]
        offered = offered_to(expert, last(turn, "advice"))
        if seen[0] == EFFORT:
            costs = seen[13 : 13 + known.levels]
            best, gain = offered.best_answer(known, expert, advised, costs)
            return Exert(best if gain >= 1 else advised)
        pays = offered.expected(known, expert, advised, level)[signal] * known.states
        best = int(pays.argmax())
        return Report(best if pays[best] - pays[signal] >= 1 else signal)


def offered_to(expert: int, advice: Mapping[str, Any]) -> Mechanism:
    """The part of a mechanism that an expert has been told: his own pay for his advice."""
    pays = tuple(
        tuple(np.array(table) if place == expert else None for place in range(len(profile)))
        for profile, table in zip(advice["profiles"], advice["pays"], strict=True)
    )
    return Mechanism(tuple(map(tuple, advice["profiles"])), tuple(advice["chances"]), pays)


class Principal(Agent):
    """Offers, and decides for what true reports of obedient experts make most likely."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game, seen = read(turn)
        if turn.seat != PRINCIPAL:
            raise InvalidOption("principals take the first seat; experts play rational-expert")
        if seen[0] != DECISION:
            return self.offer(game, turn)
        profile = tuple(last(turn, "profile")["profile"])
        reports = tuple(last(turn, "reports")["reports"])
        return Decide(int(joint(game.information, profile)[reports].argmax()))

    @abstractmethod
    def offer(self, game: Hiring, turn: Turn) -> TextAction:
        """What is offered in a round."""


@agent(
    "programme-principal",
    kind="solver",
    plays=("markets/Hiring-v0",),
    needs=("array",),
    summary="Offers the best mechanism by linear programming.",
)
class ProgrammePrincipal(Principal):
    """Offers the best mechanism by linear programming."""

    def offer(self, game: Hiring, turn: Turn) -> TextAction:
        if not game.known:
            raise InvalidOption("programme-principal must know the costs: set known=True")
        return Optimal()


@agent(
    "scoring-principal",
    kind="solver",
    plays=("markets/Hiring-v0",),
    needs=("array",),
    summary="The least pay by one rule=quadratic, logarithmic or spherical that is obeyed.",
)
class ScoringPrincipal(Principal):
    """The profile that serves him best at the least pay by one `rule` that makes experts obey."""

    def __init__(self, rule: str = "quadratic") -> None:
        if rule not in RULES[:3]:
            raise InvalidOption(
                f"scoring-principal: rule must be one of {', '.join(RULES[:3])}, not {rule!r}"
            )
        self._rule = rule
        self._offers: dict[tuple[Hiring, tuple[tuple[int, ...], ...]], Offer] = {}

    def offer(self, game: Hiring, turn: Turn) -> TextAction:
        if not game.known:
            raise InvalidOption("scoring-principal must know the costs: set known=True")
        told = (event.data["costs"] for event in turn.transcript if event.kind == "costs")
        costs = tuple(map(tuple, told))
        key = game, costs
        if key not in self._offers:
            self._offers[key] = self._best(game, costs)
        return self._offers[key]

    def _best(self, game: Hiring, costs: Sequence[Sequence[int]]) -> Offer:
        found = (self._least(game, costs, p) for p in game.information.profiles)
        return max((pair for pair in found if pair), key=lambda pair: pair[0])[1]

    def _least(
        self, game: Hiring, costs: Sequence[Sequence[int]], profile: tuple[int, ...]
    ) -> tuple[float, Offer] | None:
        """By bisection: a score that is stretched makes obedience pay more."""

        def obeyed(pay: int) -> Mechanism | None:
            tried = scoring_mechanism(game.information, profile, self._rule, pay, game.verified)
            for expert, level in enumerate(profile):
                if tried.best_answer(game.information, expert, level, costs[expert])[1] > 0:
                    return None
            return tried

        low, high = -1, game.most_paid
        if obeyed(high) is None:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if obeyed(middle) else (middle, high)
        mechanism = obeyed(high)
        assert mechanism is not None
        value = mechanism.principal_value(game.information, game.value)
        return value, Offer(self._rule, high, written(profile))


@dataclass(slots=True)
class Trials:
    """What every offer brought so far, in one episode."""

    sums: list[float]
    counts: list[int] = field(default_factory=list)
    current: int = -1


@agent(
    "exploring-principal",
    plays=("markets/Hiring-v0",),
    needs=("array",),
    summary="Tries offers for T^(2/3) rounds, then commits to the best.",
)
class ExploringPrincipal(Principal):
    """Explores for T^(2/3) rounds and commits to the offer that brought most, unknown the experts.

    The offers are those of `simple_offers`, in turn.
    """

    def __init__(self) -> None:
        self._trials: dict[int, Trials] = {}

    def forget(self, episode_key: int) -> None:
        self._trials.pop(episode_key, None)

    def offer(self, game: Hiring, turn: Turn) -> TextAction:
        offers = simple_offers(game)
        if turn.episode_key not in self._trials:
            self._trials[turn.episode_key] = Trials([0.0] * len(offers), [0] * len(offers))
        trials = self._trials[turn.episode_key]
        past = [event.data for event in turn.transcript if "gained" in event.data]
        if past and trials.current >= 0:
            trials.sums[trials.current] += past[-1]["gained"] - sum(past[-1]["paid"])
            trials.counts[trials.current] += 1
        explore = max(len(offers), round(game.rounds ** (2 / 3)))
        if len(past) < explore:
            trials.current = len(past) % len(offers)
        else:
            means = (s / max(1, n) for s, n in zip(trials.sums, trials.counts, strict=True))
            trials.current = int(np.argmax(list(means)))
        return offers[trials.current]


def simple_offers(game: Hiring) -> list[Offer]:
    """Doing without experts; the first one, two, … at the same level, at some pays."""
    pays = [max(1, game.most_paid * percent // 100) for percent in PAY_STEPS]
    found = [Offer("quadratic", 0, "0" * game.experts)]
    for level, count in product(range(1, len(game.accuracies)), range(1, game.experts + 1)):
        efforts = str(level) * count + "0" * (game.experts - count)
        found += [Offer("quadratic", pay, efforts) for pay in pays]
    return found
