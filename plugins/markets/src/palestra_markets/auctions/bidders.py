"""Reference bidders of auctions by sealed bid: of one thing, of positions, of places on a page."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Rng, Turn, agent

from palestra_markets.auctions.content_auction import Bid, ContentAuction
from palestra_markets.auctions.position_auction import GSP, MECHANISMS, PositionAuction
from palestra_markets.auctions.sealed_auction import ALL_PAY, FORMATS, SECOND_PRICE, SealedAuction

NEAR = 1e-9


def seen_by(turn: Turn) -> list[float]:
    """The array view as numbers."""
    seen: list[float] = np.asarray(turn.observation).astype(float).tolist()
    return seen


def equilibrium_bid(game: SealedAuction, value: float) -> float:
    """The symmetric equilibrium bid for values drawn evenly from 0 to `max_value`.

    For n bidders, the most M and the reserve price r: v with second prices; v - (v^n - r^n) /
    (n v^(n-1)) with first prices; and where everybody pays, r + (n - 1) / n * (v^n - w^n) / M^(n-1)
    from the value w that just pays to enter, w^n = r M^(n-1). Below, 0.
    """
    n, most, reserve = int(game.num_players), float(game.max_value), float(game.reserve)
    kind = FORMATS.index(game.format)
    if kind == ALL_PAY:
        entry = reserve * most ** (n - 1)
        if value**n < entry:
            return 0.0
        return reserve + (n - 1) / n * (value**n - entry) / most ** (n - 1)
    if value < reserve:
        return 0.0
    if kind == SECOND_PRICE or value == 0:
        return value
    return value - (value**n - reserve**n) / (n * value ** (n - 1))


@agent(
    "equilibrium-bidder",
    kind="solver",
    plays=("markets/SealedAuction-v0",),
    needs=("array",),
    summary="Bids as in the symmetric equilibrium for values drawn evenly.",
)
class EquilibriumBidder(Agent):
    """Bids as in the symmetric equilibrium for values drawn evenly, rounded down."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._bid(turn)) for turn in turns]

    def _bid(self, turn: Turn) -> int:
        if not isinstance(turn.game, SealedAuction):
            raise InvalidOption(f"this bidder is for markets/SealedAuction-v0, not {turn.env}")
        return floor(equilibrium_bid(turn.game, seen_by(turn)[0]) + NEAR)


@agent(
    "truthful-bidder",
    plays=("markets/SealedAuction-v0", "markets/PositionAuction-v0", "markets/ContentAuction-v0"),
    needs=("array",),
    summary="Bids share=1.0 of what it is worth to him.",
)
class TruthfulBidder(Agent):
    """Bids `share` of what it is worth to him, by default all."""

    def __init__(self, share: float = 1.0) -> None:
        if not 0 <= share <= 1:
            raise InvalidOption(f"share must be from 0 to 1, not {share}")
        self._share = share

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._bid(turn)) for turn in turns]

    def _bid(self, turn: Turn) -> Any:
        if not isinstance(turn.game, SealedAuction | PositionAuction | ContentAuction):
            raise InvalidOption(f"this bidder is for auctions by sealed bid, not {turn.env}")
        amount = floor(self._share * seen_by(turn)[0] + NEAR)
        return Bid(amount) if isinstance(turn.game, ContentAuction) else amount


@agent(
    "balanced-bidder",
    plays=("markets/PositionAuction-v0",),
    needs=("array",),
    summary="Balanced bidding for positions; revises in revise=0.5 of the rounds.",
)
class BalancedBidder(Agent):
    """Balanced bidding, the best answer to the last bids that settles where VCG would.

    With generalised second prices he aims at the position that would have paid him most, and bids
    so high that he would not mind to swap with the one above at his bid (Cary et al., "Greedy
    Bidding Strategies for Keyword Auctions", EC 2007). He thinks again in `revise` of the rounds,
    else bids as before; his first bid, and any with VCG, is his value.
    """

    def __init__(self, revise: float = 0.5, *, seed: int | None = None) -> None:
        if not 0 < revise <= 1:
            raise InvalidOption(f"revise must be above 0 and at most 1, not {revise}")
        self._revise = revise
        self._rng = Rng.seeded(seed, stream=3)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=3)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._bid(turn)) for turn in turns]

    def _bid(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, PositionAuction):
            raise InvalidOption(f"this bidder is for markets/PositionAuction-v0, not {turn.env}")
        seen = seen_by(turn)
        value, last = int(seen[0]), [int(bid) for bid in seen[7 : 7 + game.num_players]]
        if last[0] < 0 or MECHANISMS.index(game.mechanism) != GSP:
            return value
        if self._rng.random() >= self._revise:
            return last[0]
        return balanced_bid(value, sorted(last[1:], reverse=True), game.click_rates)


def balanced_bid(value: int, others: Sequence[int], rates: Sequence[float]) -> int:
    """The balanced bid against the other bids, highest first; rounded to a whole number.

    At the target k with price p, it is b with rate[k] (value - p) = rate[k-1] (value - b); at the
    top, halfway between the value and the price.
    """
    prices = [*others, *[0] * len(rates)]
    gains = [rate * (value - price) for rate, price in zip(rates, prices, strict=False)]
    target = max(range(len(rates)), key=lambda k: gains[k])
    if gains[target] <= 0:
        return value
    if target == 0:
        return round((value + prices[0]) / 2)
    return round(value - gains[target] / rates[target - 1])
