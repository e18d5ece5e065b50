"""Players of Catan that weigh positions: by a value function, by alpha-beta, or moves at random.

They are the baselines of "Agents of Change: Self-Evolving LLM Agents for Strategic Planning"
(2025), with weights of our own. None of them makes offers; they answer those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf
from typing import Any

from palestra import Agent, Decision, InvalidOption, Rng, TextAction, Turn, agent

from palestra_games.board.catan.board import CORNERS, DESERT, HEXES_AT, KINDS, RESOURCES, ROADS_AT
from palestra_games.board.catan.game import Catan
from palestra_games.board.catan.offers import OfferOption
from palestra_games.board.catan.players import missing, pips
from palestra_games.board.catan.rules import (
    ANSWER,
    CITY_COST,
    FULL_HAND,
    OVER,
    POINT,
    ROLL,
    SETTLEMENT_COST,
    Accept,
    Buy,
    City,
    Decline,
    Discard,
    Settle,
    Table,
    Trade,
    free_corners,
    holds,
    is_city,
    open_points,
    owner,
)

# What a position is worth, in units of a card in hand
WIN = 1e6
POINTS, YIELD, KIND = 120.0, 9.0, 15.0  # a yield is in cards per 36 rolls
PLACE, ROAD, ARMY, UNPLAYED = 30.0, 1.0, 12.0, 8.0
NEAR, EXCESS = 18.0, 4.0  # a settlement or city half paid, and cards that a 7 would take
LIKELY: dict[type[TextAction], float] = {City: 10_000, Settle: 1_000, Buy: 100}


def choices(game: Catan, table: Table, seat: int) -> list[TextAction]:
    """Every legal move but offers and counter-offers."""
    found: list[TextAction] = []
    for option in game.legal(table, seat):
        if not isinstance(option, OfferOption):
            names = list(option.fields)
            ways = product(*(field.values for field in option.fields.values()))  # type: ignore[attr-defined]
            found += [option.action(**dict(zip(names, way, strict=True))) for way in ways]
    return found


def worth(table: Table, player: int) -> float:
    """The value of a position: one's own side of it less the best rival's."""
    if table.phase == OVER:
        return WIN if table.winner == player else -WIN
    yields = yields_of(table)
    sides = [side(table, seat, yields[seat]) for seat in table.players]
    own = sides.pop(player)
    return own - max(sides)


def side(table: Table, seat: int, yields: Sequence[int]) -> float:
    """What a player has on the board and in hand."""
    hand = table.hands[seat]
    points = open_points(table, seat) + table.developments[seat].count(POINT)
    value = POINTS * points + YIELD * sum(yields) + KIND * sum(n > 0 for n in yields)
    value += PLACE * min(3, reachable(table, seat)) + ROAD * table.lengths[seat]
    value += ARMY * table.knights[seat] + UNPLAYED * len(table.developments[seat])
    value += sum(hand) - EXCESS * max(0, sum(hand) - FULL_HAND)
    return value + NEAR * sum(paid(hand, cost) for cost in (CITY_COST, SETTLEMENT_COST))


def yields_of(table: Table) -> list[list[int]]:
    """Cards of each resource in 36 rolls, by seat."""
    found = [[0] * KINDS for _ in table.players]
    for corner in range(CORNERS):
        if table.corners[corner]:
            own = found[owner(table, corner)]
            for place in HEXES_AT[corner]:
                if table.terrain[place] != DESERT and place != table.robber:
                    own[table.terrain[place]] += pips(table, place) * (1 + is_city(table, corner))
    return found


def reachable(table: Table, seat: int) -> float:
    """How many corners could be settled at once, each by a tenth of its yield in 36 rolls."""
    return sum(
        sum(pips(table, place) for place in HEXES_AT[corner]) / 10
        for corner in free_corners(table)
        if any(table.roads[road] == seat for road in ROADS_AT[corner])
    )


def paid(hand: Sequence[int], cost: Sequence[int]) -> float:
    """The share of a cost that is in hand."""
    return 1 - sum(missing(hand, tuple(cost))) / sum(cost)


@agent(
    "catan-value",
    kind="search",
    plays=("games/Catan-v0",),
    needs=("array",),
    summary="Plays the move of Catan whose outcome a value function likes best.",
)
class CatanValue(Agent):
    """Plays the move after which the position is worth most to it."""

    def __init__(self, *, seed: int | None = None) -> None:
        self._rng = Rng.seeded(seed, stream=11)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=11)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = turn.game
        if not isinstance(game, Catan):
            raise InvalidOption(f"{self.name or 'this agent'} plays games/Catan-v0, not {turn.env}")
        table = turn.fork(self._rng).state
        moves = choices(game, table, turn.seat)
        return moves[0] if len(moves) == 1 else self._best(game, table, turn.seat, moves)

    def _best(self, game: Catan, table: Table, seat: int, moves: list[TextAction]) -> TextAction:
        return max(moves, key=lambda move: worth(after(game, table, seat, move), seat))


@agent(
    "catan-alphabeta",
    kind="search",
    plays=("games/Catan-v0",),
    needs=("array",),
    summary="Looks depth moves of Catan ahead with the same value function.",
)
class CatanAlphaBeta(CatanValue):
    """Looks `depth` moves ahead, no further than the next roll, whose mean is in the value.

    Moves of others before that, such as discards, are taken to be the worst for it. Of the moves of
    a position the `width` best by value are looked into. What is hidden or drawn is drawn once a
    decision, the same for all moves.
    """

    def __init__(self, *, depth: int = 3, width: int = 8, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        for name, value, most in (("depth", depth, 6), ("width", width, 100)):
            if not 1 <= value <= most:
                raise InvalidOption(
                    f"catan-alphabeta: {name} must be from 1 to {most}, not {value}"
                )
        self._depth, self._width = depth, width

    def _best(self, game: Catan, table: Table, seat: int, moves: list[TextAction]) -> TextAction:
        best, lower = moves[0], -inf
        for move, child in self._ordered(game, table, seat, seat):
            value = self._value(game, child, seat, self._depth - 1, lower, inf)
            if value > lower:
                best, lower = move, value
        return best

    def _ordered(
        self, game: Catan, table: Table, mover: int, seat: int
    ) -> list[tuple[TextAction, Table]]:
        """Moves and where they lead, the best for the mover by `seat`'s value first."""
        children = [(m, after(game, table, mover, m)) for m in choices(game, table, mover)]
        children.sort(key=lambda pair: worth(pair[1], seat), reverse=mover == seat)
        return children[: self._width]

    def _value(
        self, game: Catan, table: Table, seat: int, depth: int, lower: float, upper: float
    ) -> float:
        if depth == 0 or table.phase in (ROLL, OVER):
            return worth(table, seat)
        mover = game.to_act(table)[0]
        sign = 1 if mover == seat else -1
        best = -inf
        for _, child in self._ordered(game, table, mover, seat):
            value = sign * self._value(game, child, seat, depth - 1, lower, upper)
            best = max(best, value)
            if sign > 0:
                lower = max(lower, value)
            else:
                upper = min(upper, -value)
            if lower >= upper:
                break
        return sign * best


@agent(
    "catan-weighted",
    plays=("games/Catan-v0",),
    needs=("array",),
    summary="Plays Catan at random, but builds what it can far more likely.",
)
class CatanWeighted(CatanValue):
    """Plays at random, but builds cities, settlements and cards far more likely than the rest."""

    def _best(self, game: Catan, table: Table, seat: int, moves: list[TextAction]) -> TextAction:
        return moves[self._rng.weighted([LIKELY.get(type(move), 1) for move in moves])]


def after(game: Catan, table: Table, seat: int, move: TextAction) -> Table:
    """The table after a move, and after the trade that it agrees to.

    Others who act at the same time decline, or discard what they have most of.
    """
    child = game.clone(table)
    actions: dict[int, Any] = {seat: move}
    for other in game.to_act(table):
        if other != seat:
            actions[other] = Decline() if table.phase == ANSWER else most_held(table, other)
    game.step(child, actions)
    if isinstance(move, Accept) and holds(child.hands[child.turn], child.offer.gives):
        game.step(child, {child.turn: Trade(game.players[seat])})
    return child


def most_held(table: Table, seat: int) -> Discard:
    hand = table.hands[seat]
    return Discard(RESOURCES[hand.index(max(hand))])
