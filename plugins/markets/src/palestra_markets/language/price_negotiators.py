"""Reference players for `markets/PriceNegotiation-v0`: subgame-perfect, and a fair price."""

from __future__ import annotations

from dataclasses import dataclass

from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_markets.language.bargaining import Accept, Reject
from palestra_markets.language.price_negotiation import SELLER, Offer, PriceNegotiation, Walk
from palestra_markets.reading import observed_numbers


@dataclass(frozen=True, slots=True)
class Position:
    """What a negotiator observes."""

    seat: int
    round: int
    last: int | None  # the last round; None where it is not known
    own: int  # value
    theirs: int | None  # the other's value; None where it is not known
    outside: int
    their_outside: int
    named: int | None  # the other's price; None where it is the own turn to name one

    @property
    def left(self) -> int:
        """Rounds to go, including this one; 2 if the last round is not known."""
        return 2 if self.last is None else self.last - self.round

    def gain(self, price: int) -> int:
        """What a sale at `price` pays."""
        return price - self.own if self.seat == SELLER else self.own - price


def read_turn(turn: Turn[PriceNegotiation]) -> tuple[PriceNegotiation, Position]:
    """The game and the position of a turn."""
    seen = map(int, observed_numbers(turn))
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
    """The price that leaves the other exactly their outside option."""
    if position.seat == SELLER:
        return their_value - position.their_outside
    return their_value + position.their_outside


def has_last_word(position: Position) -> bool:
    """Whether this seat names the price in the last round."""
    assert position.last is not None
    return (position.last - 1) % 2 == position.seat


def take_it_or_leave_it(game: PriceNegotiation, position: Position) -> tuple[int, float]:
    """The best single price against a drawn value, and its average gain.

    The other accepts it if it leaves them at least their outside option; otherwise both are paid
    their outside options.
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


@agent("haggler", kind="solver", needs=("array",))
class Haggler(ScriptedAgent[PriceNegotiation]):
    """Names and accepts prices as in the subgame-perfect equilibrium of known values.

    Waiting costs nothing, so the player who names the last price leaves the other exactly their
    outside option, in the last round and therefore in every earlier one. Without a gain from trade
    it walks away. If no last round is known, it splits the surplus over both outside options in
    half (Nash). Against a hidden value it names the best take-it-or-leave-it price, and accepts no
    less.
    """

    def choose(self, turn: Turn[PriceNegotiation]) -> TextAction:
        game, position = read_turn(turn)
        price, worth = self._plan(game, position)
        if position.named is None:
            return Offer(price) if price >= 0 else Walk()
        if position.gain(position.named) >= worth:
            return Accept()
        if worth > position.outside and position.left > 1:
            return Reject()
        return Walk() if position.outside > 0 or position.left == 1 else Reject()

    def _plan(self, game: PriceNegotiation, position: Position) -> tuple[int, float]:
        """The price to name (-1: none) and the gain to expect."""
        if position.theirs is None:
            return self._against_hidden(game, position)
        price = self._equilibrium_price(game, position, position.theirs)
        gain = position.gain(price) if price >= 0 else position.outside
        return (price, gain) if gain >= position.outside else (-1, position.outside)

    def _against_hidden(self, game: PriceNegotiation, position: Position) -> tuple[int, float]:
        """The plan against a hidden value; an answer in the last round gains the outside option."""
        price, gain = take_it_or_leave_it(game, position)
        last = position.left == 1 and position.named is not None and position.last is not None
        return price, float(position.outside) if last else gain

    def _equilibrium_price(self, game: PriceNegotiation, position: Position, theirs: int) -> int:
        """The equilibrium price; -1 where there is none."""
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


@agent("fair-price", needs=("array",))
class FairPrice(ScriptedAgent[PriceNegotiation]):
    """Names the price halfway between both values, and accepts nothing worse.

    Against a hidden value it asks for a tenth more than its own and accepts any price that gains
    something and is no worse than its outside option.
    """

    def choose(self, turn: Turn[PriceNegotiation]) -> TextAction:
        game, position = read_turn(turn)
        fair = self._fair_price(game, position)
        if position.gain(fair) < position.outside:
            return Walk()
        if position.named is None:
            return Offer(fair)
        good = position.gain(position.named) >= self._least_gain(position, fair)
        return Accept() if good else Reject()

    def _least_gain(self, position: Position, fair: int) -> int:
        """The least gain that it accepts."""
        known = position.theirs is not None
        return position.gain(fair) if known else max(1, position.outside)

    def _fair_price(self, game: PriceNegotiation, position: Position) -> int:
        if position.theirs is not None:
            return (position.own + position.theirs) // 2
        tenth = max(1, position.own // 10)
        price = position.own + tenth if position.seat == SELLER else position.own - tenth
        return min(max(0, price), game.max_price)
