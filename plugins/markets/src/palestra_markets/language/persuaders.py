"""Reference players for `markets/Persuasion-v0`: a seller and a buyer with known strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.language.persuasion import FACTORS, Buy, Pass, Persuasion, Recommend
from palestra_markets.reading import observed_numbers


@dataclass(frozen=True, slots=True)
class Observation:
    """The observation by name; see the class of the game."""

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


def read_turn(turn: Turn[Persuasion]) -> tuple[Persuasion, Observation]:
    """The game and the observation of a turn."""
    return turn.game, Observation(*map(int, observed_numbers(turn)))


def buys_blindly(game: Persuasion, worth: int) -> bool:
    """Whether a product is worth its price on average."""
    mean = game.good_chance * worth + (1 - game.good_chance) * game.bad_worth
    return mean >= game.price


def committed_lies(game: Persuasion, worth: int) -> float:
    """How often a seller who can commit recommends bad products (Kamenica and Gentzkow).

    They lie as often as possible while a recommended product is still worth its price on average.
    """
    gain, loss = worth - game.price, game.price - game.bad_worth
    bad = 1 - game.good_chance
    if loss * bad <= game.good_chance * gain:
        return 1.0
    return game.good_chance * gain / (bad * loss)


@agent("persuader", needs=("array",))
class Persuader(ScriptedAgent[Persuasion]):
    """Recommends products as a seller with one of four policies.

    honest      recommends good products only
    always      recommends everything, the only outcome of a single round
    commit      lies as often as a seller who can commit (Kamenica and Gentzkow)
    patient     honest up to the last round, if there is one: the best response to a grim buyer
    """

    stream = 0

    def __init__(
        self,
        policy: Annotated[
            Literal["honest", "always", "commit", "patient"],
            Meta(description="which products it recommends"),
        ] = "commit",
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._policy = policy

    def choose(self, turn: Turn[Persuasion]) -> TextAction:
        return Recommend(self._recommends(*read_turn(turn)))

    def _recommends(self, game: Persuasion, seen: Observation) -> bool:
        if seen.good or self._policy == "always":
            return True
        if self._policy == "patient":
            return seen.round + 1 == seen.last_round
        if self._policy == "commit":
            worth = seen.worth if seen.worth >= 0 else round(min(FACTORS) * game.price)
            return self.rng.random() < committed_lies(game, worth)
        return False


@agent("shopper", needs=("array",))
class Shopper(ScriptedAgent[Persuasion]):
    """Buys products as a buyer with one of four beliefs about the advice.

    grim        trusts the advice until the first lie, and then never again
    prior       ignores the advice
    learn       estimates how often bad products are recommended, from a uniform prior
    obey        follows the advice
    """

    def __init__(
        self,
        belief: Annotated[
            Literal["grim", "prior", "learn", "obey"],
            Meta(description="what it makes of the advice"),
        ] = "learn",
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._belief = belief

    def choose(self, turn: Turn[Persuasion]) -> TextAction:
        return Buy() if self._buys(*read_turn(turn)) else Pass()

    def _buys(self, game: Persuasion, seen: Observation) -> bool:
        if self._belief == "prior" or (self._belief == "grim" and seen.lies):
            return buys_blindly(game, seen.worth)
        if self._belief != "learn" or not seen.advised:
            return bool(seen.advised)
        lies = (1 + seen.lies) / (2 + seen.round - seen.goods)
        good = game.good_chance / (game.good_chance + (1 - game.good_chance) * lies)
        return good * seen.worth + (1 - good) * game.bad_worth >= game.price
