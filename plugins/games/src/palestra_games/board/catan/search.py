"""Catan players: greedy by a value function, alpha-beta search, and weighted random.

They are the baselines of "Agents of Change: Self-Evolving LLM Agents for Strategic Planning"
(2025), with our own weights. They make no offers, but answer those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf
from typing import Annotated, Any

from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

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
    CatanState,
    City,
    Decline,
    Discard,
    Settle,
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


def choices(game: Catan, state: CatanState, seat: int) -> list[TextAction]:
    """Every legal move but offers and counter-offers."""
    found: list[TextAction] = []
    for option in game.legal(state, seat):
        if not isinstance(option, OfferOption):
            names = list(option.fields)
            ways = product(*(field.values for field in option.fields.values()))  # type: ignore[attr-defined]
            found += [option.action(**dict(zip(names, way, strict=True))) for way in ways]
    return found


def worth(state: CatanState, seat: int) -> float:
    """The value of a position for a seat: its own side of it less the best rival's."""
    if state.phase == OVER:
        return WIN if state.winner == seat else -WIN
    yields = yields_of(state)
    sides = [side(state, other, yields[other]) for other in state.seats]
    own = sides.pop(seat)
    return own - max(sides)


def side(state: CatanState, seat: int, yields: Sequence[int]) -> float:
    """The value of what a player has on the board and in hand."""
    hand = state.hands[seat]
    points = open_points(state, seat) + state.developments[seat].count(POINT)
    value = POINTS * points + YIELD * sum(yields) + KIND * sum(n > 0 for n in yields)
    value += PLACE * min(3, reachable(state, seat)) + ROAD * state.lengths[seat]
    value += ARMY * state.knights[seat] + UNPLAYED * len(state.developments[seat])
    value += sum(hand) - EXCESS * max(0, sum(hand) - FULL_HAND)
    return value + NEAR * sum(share_in_hand(hand, cost) for cost in (CITY_COST, SETTLEMENT_COST))


def yields_of(state: CatanState) -> list[list[int]]:
    """Cards of each resource in 36 rolls, by seat."""
    found = [[0] * KINDS for _ in state.seats]
    for corner in range(CORNERS):
        if state.corners[corner]:
            own = found[owner(state, corner)]
            for place in HEXES_AT[corner]:
                if state.terrain[place] != DESERT and place != state.robber:
                    own[state.terrain[place]] += pips(state, place) * (1 + is_city(state, corner))
    return found


def reachable(state: CatanState, seat: int) -> float:
    """The corners that could be settled now, each counted as a tenth of its yield in 36 rolls."""
    return sum(
        sum(pips(state, place) for place in HEXES_AT[corner]) / 10
        for corner in free_corners(state)
        if any(state.roads[road] == seat for road in ROADS_AT[corner])
    )


def share_in_hand(hand: Sequence[int], cost: Sequence[int]) -> float:
    """The share of a cost that is in hand."""
    return 1 - sum(missing(hand, tuple(cost))) / sum(cost)


@agent("catan-value", kind="search", needs=("array",))
class CatanValue(ScriptedAgent[Catan]):
    """Plays the move of Catan whose outcome a value function likes best."""

    stream = 11

    def choose(self, turn: Turn[Catan]) -> TextAction:
        game, state = turn.game, turn.fork(self.rng).state
        moves = choices(game, state, turn.seat)
        return moves[0] if len(moves) == 1 else self._best(game, state, turn.seat, moves)

    def _best(
        self, game: Catan, state: CatanState, seat: int, moves: list[TextAction]
    ) -> TextAction:
        return max(moves, key=lambda move: worth(after(game, state, seat, move), seat))


@agent("catan-alphabeta", kind="search", needs=("array",))
class CatanAlphaBeta(CatanValue):
    """Looks `depth` moves of Catan ahead with the value function of `catan-value`.

    It looks no further than the next roll, whose mean is in the value. Moves of others before that,
    such as discards, are taken to be the worst for it. Hidden and random outcomes are sampled once
    per decision, the same for all moves.
    """

    def __init__(
        self,
        *,
        depth: Annotated[int, Meta(ge=1, le=6, description="search depth, in moves")] = 3,
        width: Annotated[
            int,
            Meta(ge=1, le=100, description="moves searched per position, the best by value"),
        ] = 8,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._depth, self._width = depth, width

    def _best(
        self, game: Catan, state: CatanState, seat: int, moves: list[TextAction]
    ) -> TextAction:
        best, lower = moves[0], -inf
        for move, child in self._order_moves(game, state, seat, seat):
            value = self._value(game, child, seat, self._depth - 1, lower, inf)
            if value > lower:
                best, lower = move, value
        return best

    def _order_moves(
        self, game: Catan, state: CatanState, mover: int, seat: int
    ) -> list[tuple[TextAction, CatanState]]:
        """Moves and where they lead, the best for the mover by `seat`'s value first."""
        children = [(m, after(game, state, mover, m)) for m in choices(game, state, mover)]
        children.sort(key=lambda pair: worth(pair[1], seat), reverse=mover == seat)
        return children[: self._width]

    def _value(
        self, game: Catan, state: CatanState, seat: int, depth: int, lower: float, upper: float
    ) -> float:
        if depth == 0 or state.phase in (ROLL, OVER):
            return worth(state, seat)
        mover = game.to_act(state)[0]
        sign = 1 if mover == seat else -1
        best = -inf
        for _, child in self._order_moves(game, state, mover, seat):
            value = sign * self._value(game, child, seat, depth - 1, lower, upper)
            best = max(best, value)
            if sign > 0:
                lower = max(lower, value)
            else:
                upper = min(upper, -value)
            if lower >= upper:
                break
        return sign * best


@agent("catan-weighted", needs=("array",))
class CatanWeighted(CatanValue):
    """Plays Catan at random, but far more often builds a city or settlement or buys a card."""

    def _best(
        self, game: Catan, state: CatanState, seat: int, moves: list[TextAction]
    ) -> TextAction:
        return moves[self.rng.weighted([LIKELY.get(type(move), 1) for move in moves])]


def after(game: Catan, state: CatanState, seat: int, move: TextAction) -> CatanState:
    """The state after a move, and after the trade that it agrees to.

    Others who act at the same time decline, or discard what they have most of.
    """
    child = game.clone(state)
    actions: dict[int, Any] = {seat: move}
    for other in game.to_act(state):
        if other != seat:
            actions[other] = Decline() if state.phase == ANSWER else discard_most_held(state, other)
    game.step(child, actions)
    if isinstance(move, Accept) and holds(child.hands[child.turn], child.offer.gives):
        game.step(child, {child.turn: Trade(game.players[seat])})
    return child


def discard_most_held(state: CatanState, seat: int) -> Discard:
    """Discard a card of the resource that a seat has most of."""
    hand = state.hands[seat]
    return Discard(RESOURCES[hand.index(max(hand))])
