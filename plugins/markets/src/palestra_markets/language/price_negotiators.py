"""Reference players of `markets/PriceNegotiation-v0`: subgame-perfect, and a fair price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Turn, agent

from palestra_markets.language.bargaining import Accept, Reject
from palestra_markets.language.price_negotiation import SELLER, Offer, PriceNegotiation, Walk


@dataclass(frozen=True, slots=True)
class Position:
    """What a negotiator sees; `theirs` is None where it is not told, `last` where no end is known.

    `named` is the other's price, None where it is one's own turn to name one.
    """

    seat: int
    round: int
    last: int | None
    own: int
    theirs: int | None
    outside: int
    their_outside: int
    named: int | None

    @property
    def left(self) -> int:
        """Rounds to go, this one included; without a known end there is always another."""
        return 2 if self.last is None else self.last - self.round

    def gain(self, price: int) -> int:
        """What a sale at `price` pays."""
        return price - self.own if self.seat == SELLER else self.own - price


def read(turn: Turn) -> tuple[PriceNegotiation, Position]:
    """The game and the player's array view."""
    if not isinstance(turn.game, PriceNegotiation):
        raise InvalidOption(f"this player is for markets/PriceNegotiation-v0, not {turn.env}")
    seen = [int(number) for number in np.asarray(turn.observation)]
    seat, at, last, own, theirs, outside, their_outside, stands, price = seen
    return turn.game, Position(
        seat,
        at,
        last or None,
        own,
        None if theirs < 0 else theirs,
        outside,
        their_outside,
        price if stands == 2 else None,
    )


def pressed_price(position: Position, their_value: int) -> int:
    """The price that leaves the other just his outside option."""
    if position.seat == SELLER:
        return their_value - position.their_outside
    return their_value + position.their_outside


def has_last_word(position: Position) -> bool:
    """Whether this seat names the price in the last round."""
    assert position.last is not None
    return (position.last - 1) % 2 == position.seat


def take_it_or_leave_it(game: PriceNegotiation, position: Position) -> tuple[int, float]:
    """The best single price against a value that is drawn, and what it gains in the mean.

    The other takes it where it leaves him his outside option; otherwise the talks end and one
    gets one's own.
    """
    drawn = game.drawn_values()
    best = (-1, float(position.outside))
    for value in sorted(set(drawn)):
        price = pressed_price(position, value)
        if not 0 <= price <= game.max_price:
            continue
        would = [v >= value if position.seat == SELLER else v <= value for v in drawn]
        chance = sum(would) / len(drawn)
        gain = chance * position.gain(price) + (1 - chance) * position.outside
        if gain > best[1]:
            best = price, gain
    return best


@agent(
    "haggler",
    kind="solver",
    plays=("markets/PriceNegotiation-v0",),
    needs=("array",),
    summary="Names and accepts prices as in the subgame-perfect equilibrium.",
)
class Haggler(Agent):
    """Plays the subgame-perfect equilibrium where both values are known.

    Nothing is lost by waiting, so whoever names the last price leaves the other his outside
    option, in the last round and so in every one before; with no gain from trade he walks. With no
    known end the surplus over both outside options is split in halves (Nash). Against a hidden
    value he names the price that is best if it is the last, and waits for no less.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(*read(turn))) for turn in turns]

    def _choose(self, game: PriceNegotiation, position: Position) -> Any:
        price, worth = self._plan(game, position)
        if position.named is None:
            return Offer(price) if price >= 0 else Walk()
        if position.gain(position.named) >= worth:
            return Accept()
        if worth > position.outside and position.left > 1:
            return Reject()
        return Walk() if position.outside > 0 or position.left == 1 else Reject()

    def _plan(self, game: PriceNegotiation, position: Position) -> tuple[int, float]:
        """The price to name (-1: none) and what one may expect."""
        if position.theirs is None:
            return self._against_hidden(game, position)
        price = self._agreed(game, position, position.theirs)
        gain = position.gain(price) if price >= 0 else position.outside
        return (price, gain) if gain >= position.outside else (-1, position.outside)

    def _against_hidden(self, game: PriceNegotiation, position: Position) -> tuple[int, float]:
        """Who answers in the last round can expect no more than his outside option."""
        price, gain = take_it_or_leave_it(game, position)
        last = position.left == 1 and position.named is not None and position.last is not None
        return price, float(position.outside) if last else gain

    def _agreed(self, game: PriceNegotiation, position: Position, theirs: int) -> int:
        """The equilibrium price, -1 where there is none."""
        mine = pressed_price(position, theirs)
        sign = 1 if position.seat == SELLER else -1
        least = position.own + sign * position.outside
        if (mine - least) * sign < 0:
            return -1
        if position.last is None:
            price = (mine + least) // 2
        else:
            price = mine if has_last_word(position) else least
        return price if 0 <= price <= game.max_price else -1


@agent(
    "fair-price",
    plays=("markets/PriceNegotiation-v0",),
    needs=("array",),
    summary="Names the price halfway between both values and accepts nothing worse.",
)
class FairPrice(Agent):
    """Names the price halfway between both values, and accepts nothing worse.

    Against a hidden value he asks for a tenth over his own and accepts whatever gains something and
    is no worse than his outside option.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(*read(turn))) for turn in turns]

    def _choose(self, game: PriceNegotiation, position: Position) -> Any:
        fair = self._fair(game, position)
        if position.gain(fair) < position.outside:
            return Walk()
        if position.named is None:
            return Offer(fair)
        good = position.gain(position.named) >= self._least(position, fair)
        return Accept() if good else Reject()

    def _least(self, position: Position, fair: int) -> int:
        known = position.theirs is not None
        return position.gain(fair) if known else max(1, position.outside)

    def _fair(self, game: PriceNegotiation, position: Position) -> int:
        if position.theirs is not None:
            return (position.own + position.theirs) // 2
        tenth = max(1, position.own // 10)
        price = position.own + tenth if position.seat == SELLER else position.own - tenth
        return min(max(0, price), game.max_price)
