"""Reference players of `markets/Persuasion-v0`: a seller and a buyer of known strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from palestra import Agent, Decision, InvalidOption, Turn, agent
from palestra.kernel.rng import Rng

from palestra_markets.language.persuasion import FACTORS, Buy, Pass, Persuasion, Recommend

POLICIES = ("honest", "always", "commit", "patient")
BELIEFS = ("grim", "prior", "learn", "obey")


@dataclass(frozen=True, slots=True)
class Sight:
    """The array view by name; see the module of the game."""

    seat: int
    round: int
    last_round: int
    worth: int
    good: int
    advised: int
    goods: int
    lies: int
    sold: int
    goods_sold: int
    last_advised: int
    last_good: int


def read(turn: Turn) -> tuple[Persuasion, Sight]:
    if not isinstance(turn.game, Persuasion):
        raise InvalidOption(f"this player is for markets/Persuasion-v0, not {turn.env}")
    return turn.game, Sight(*(int(number) for number in np.asarray(turn.observation)))


def buys_blindly(game: Persuasion, worth: int) -> bool:
    """Whether the mean product is worth its price."""
    mean = game.good_chance * worth + (1 - game.good_chance) * game.bad_worth
    return mean >= game.price


def committed_lies(game: Persuasion, worth: int) -> float:
    """How often a seller who could commit himself recommends bad products (Kamenica and Gentzkow).

    Just so often that a recommended product is worth its price in the mean.
    """
    gain, loss = worth - game.price, game.price - game.bad_worth
    bad = 1 - game.good_chance
    if loss * bad <= game.good_chance * gain:
        return 1.0
    return game.good_chance * gain / (bad * loss)


@agent(
    "persuader",
    plays=("markets/Persuasion-v0",),
    needs=("array",),
    summary="The seller; policy=honest, always, commit (Kamenica and Gentzkow) or patient.",
)
class Persuader(Agent):
    """The seller. `policy` is one of:

    honest      recommends good products only
    always      recommends everything, the only outcome of a single round
    commit      lies as often as a seller who could commit himself would
    patient     honest up to the last round, where there is one: the best answer to a grim buyer
    """

    def __init__(self, policy: str = "commit") -> None:
        if policy not in POLICIES:
            raise InvalidOption(f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        self._policy = policy
        self._rng = Rng.seeded(0)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(Recommend(self._recommends(*read(turn)))) for turn in turns]

    def _recommends(self, game: Persuasion, sight: Sight) -> bool:
        if sight.good or self._policy == "always":
            return True
        if self._policy == "patient":
            return sight.round + 1 == sight.last_round
        if self._policy == "commit":
            worth = sight.worth if sight.worth >= 0 else round(min(FACTORS) * game.price)
            return self._rng.random() < committed_lies(game, worth)
        return False


@agent(
    "shopper",
    plays=("markets/Persuasion-v0",),
    needs=("array",),
    summary="The buyer; belief=learn, grim (until the first lie), prior (no advice) or obey.",
)
class Shopper(Agent):
    """The buyer. `belief` is one of:

    grim        trusts the advice until the first lie, and then never again
    prior       takes no notice of advice
    learn       expects lies as often as there were any among bad products, from a uniform prior
    obey        follows the advice
    """

    def __init__(self, belief: str = "learn") -> None:
        if belief not in BELIEFS:
            raise InvalidOption(f"belief must be one of {', '.join(BELIEFS)}, not {belief!r}")
        self._belief = belief

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(Buy() if self._buys(*read(turn)) else Pass()) for turn in turns]

    def _buys(self, game: Persuasion, sight: Sight) -> bool:
        if self._belief == "prior" or (self._belief == "grim" and sight.lies):
            return buys_blindly(game, sight.worth)
        if self._belief != "learn" or not sight.advised:
            return bool(sight.advised)
        lies = (1 + sight.lies) / (2 + sight.round - sight.goods)
        good = game.good_chance / (game.good_chance + (1 - game.good_chance) * lies)
        return good * sight.worth + (1 - good) * game.bad_worth >= game.price
