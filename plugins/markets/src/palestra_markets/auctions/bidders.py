"""Reference bidders for sealed-bid auctions of one item and of positions on a page."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Annotated, Any

from palestra import Meta, ScriptedAgent, Turn, agent

from palestra_markets.auctions.content_auction import Bid, ContentAuction
from palestra_markets.auctions.position_auction import GSP, MECHANISMS, PositionAuction
from palestra_markets.auctions.sealed_auction import ALL_PAY, FORMATS, SECOND_PRICE, SealedAuction
from palestra_markets.reading import observed_numbers

NEAR = 1e-9


def equilibrium_bid(game: SealedAuction, value: float) -> float:
    """The symmetric equilibrium bid for values drawn uniformly from 0 to `max_value`.

    For n bidders, the highest value M and the reserve price r: v with second prices;
    v - (v^n - r^n) / (n v^(n-1)) with first prices; and with all-pay r + (n - 1) / n * (v^n - w^n)
    / M^(n-1) from the break-even value w, w^n = r M^(n-1). Lower values bid 0.
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
    needs=("array",),
)
class EquilibriumBidder(ScriptedAgent[SealedAuction]):
    """Bids as in the symmetric equilibrium for values drawn uniformly, rounded down."""

    def choose(self, turn: Turn[SealedAuction]) -> int:
        game = turn.game
        return floor(equilibrium_bid(game, observed_numbers(turn)[0]) + NEAR)


@agent("truthful-bidder", needs=("array",))
class TruthfulBidder(ScriptedAgent[SealedAuction | PositionAuction | ContentAuction]):
    """Bids a share of its value, by default all of it."""

    def __init__(
        self,
        share: Annotated[
            float, Meta(ge=0, le=1, description="fraction of its value that it bids")
        ] = 1.0,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._share = share

    def choose(self, turn: Turn[SealedAuction | PositionAuction | ContentAuction]) -> Any:
        amount = floor(self._share * observed_numbers(turn)[0] + NEAR)
        return Bid(amount) if isinstance(turn.game, ContentAuction) else amount


@agent("balanced-bidder", needs=("array",))
class BalancedBidder(ScriptedAgent[PositionAuction]):
    """Bids the best response to the last bids that settles as VCG would: balanced bidding.

    With generalised second prices it aims at the position that would have paid it most, and bids
    the amount at which it is indifferent to swapping with the bidder above (Cary et al., "Greedy
    Bidding Strategies for Keyword Auctions", EC 2007). It revises its bid in some of the rounds and
    otherwise repeats it. Its first bid, and every bid under VCG, is its value.
    """

    stream = 3

    def __init__(
        self,
        revise: Annotated[
            float, Meta(gt=0, le=1, description="chance per round that the bid is revised")
        ] = 0.5,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._revise = revise

    def choose(self, turn: Turn[PositionAuction]) -> int:
        game = turn.game
        seen = observed_numbers(turn)
        value, last = int(seen[0]), [int(bid) for bid in seen[7 : 7 + game.num_players]]
        if last[0] < 0 or MECHANISMS.index(game.mechanism) != GSP:
            return value
        if self.rng.random() >= self._revise:
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
