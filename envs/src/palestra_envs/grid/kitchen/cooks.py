"""A scripted cook: divides the next chores among all players and does its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Annotated

from palestra import Meta, ScriptedAgent, Turn, agent
from palestra.grids.paths import way

from palestra_envs.grid.kitchen.game import Kitchen
from palestra_envs.grid.kitchen.observations import FAR, SeenKitchen, read_observation
from palestra_envs.grid.kitchen.rules import (
    DISH,
    FULL,
    GO_NORTH,
    INTERACT,
    NOTHING,
    ONION,
    REST,
)
from palestra_envs.grid.layouts import COUNTER, DISHES, FLOOR, ONIONS, POT, SERVING

STOCK_ONIONS, STRAIGHT_ON = 0.75, 0.75  # probabilities, used if a cook does not see enough
DISPENSERS = {ONION: ONIONS, DISH: DISHES}


@agent("cook", needs=("array",))
class Cook(ScriptedAgent[Kitchen]):
    """Does the next chores by shortest paths and shares them with the others without communication.

    It reads only its own array observation. All players with empty hands are assigned something to
    fetch, the most urgent things first and each to the nearest player, so that cooks who see the
    same kitchen agree. A cook that cannot reach where a thing belongs puts it on a counter that a
    player who can reach it also reaches. A cook walks shortest paths around the others and steps
    aside when it has nothing to do. Random moves keep two cooks from blocking each other for ever.

    If it sees only a part of the kitchen, it plays with that part and remembers nothing: it takes
    onions and dishes for pots it does not see, and walks about if it sees nothing to do.
    """

    stream = 3

    def __init__(
        self,
        *,
        restless: Annotated[float, Meta(ge=0, le=1, description="chance of a random move")] = 0.05,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._restless = restless

    def choose(self, turn: Turn[Kitchen]) -> int:
        game = turn.game
        seen = read_observation(turn.observation, game.num_players, game.sight, turn.seat)
        if self.rng.random() < self._restless:
            return self._stray(seen)
        goals, ready = plan_next(seen, game.auto_cook)
        if not (goals or seen.pots or seen.hands[0].held or game.perfect_information):
            goals = self._stock_up(seen)
        others = {hand.cell for hand in seen.hands[1:]}
        action = step_towards(seen, goals, others)
        if action is not None and (ready or action != INTERACT):
            return action
        if action is None and not game.perfect_information:
            return self._explore(seen)
        if (goals and action is None) or in_the_way(seen):
            return self._stray(seen)
        return REST

    def _stock_up(self, seen: SeenKitchen) -> list[int]:
        """Sources of a thing for pots out of sight: mostly onions, as a soup takes three."""
        thing = ONION if self.rng.random() < STOCK_ONIONS else DISH
        lying = [cell for cell, found in seen.lying.items() if found == thing]
        return sources_of(seen, 0, lying + seen.plan.cells_of(DISPENSERS[thing]))

    def _explore(self, seen: SeenKitchen) -> int:
        """A step straight on if there is room, else a random one."""
        me, taken = seen.hands[0], {hand.cell for hand in seen.hands}
        front = seen.plan.ahead[me.cell][me.facing]
        free = front is not None and seen.plan.tiles[front] == FLOOR and front not in taken
        if free and self.rng.random() < STRAIGHT_ON:
            return me.facing
        return self._stray(seen)

    def _stray(self, seen: SeenKitchen) -> int:
        """A random step to a free cell, or no step."""
        me, taken = seen.hands[0].cell, {hand.cell for hand in seen.hands}
        free = [REST]
        for action in range(GO_NORTH, REST):
            cell = seen.plan.ahead[me][action]
            if cell is not None and seen.plan.tiles[cell] == FLOOR and cell not in taken:
                free.append(action)
        return self.rng.choice(free)


def plan_next(seen: SeenKitchen, auto_cook: bool) -> tuple[list[int], bool]:
    """The stations of which the first player should use one, and whether that is possible now."""
    held = seen.hands[0].held
    if held == NOTHING:
        return fetch(seen, auto_cook), True
    if held > DISH:
        return deliver(seen), True
    if held == ONION:
        return bring_onion(seen), True
    return bring_dish(seen)


def in_the_way(seen: SeenKitchen) -> bool:
    """Whether a player with a chore stands beside the first player, who is only waiting."""
    beside = set(seen.plan.around(seen.hands[0].cell))
    waits = seen.hands[0].held == DISH  # for a soup, at the pot
    return any(h.cell in beside and not (waits and h.held == NOTHING) for h in seen.hands[1:])


def deliver(seen: SeenKitchen) -> list[int]:
    """Where the first player should take a soup."""
    if seen.serves(0, SERVING):
        return seen.plan.cells_of(SERVING)
    return hand_over(seen, SERVING)


def bring_onion(seen: SeenKitchen) -> list[int]:
    """Where the first player should take an onion: to the fullest pot that takes one."""
    if not seen.serves(0, POT):
        return hand_over(seen, POT)
    pots = [p for p in seen.pots if p.left is None and p.onions < FULL and _near(seen, p.cell)]
    fullest = max((pot.onions for pot in pots), default=0)
    best = [pot.cell for pot in pots if pot.onions == fullest]
    return best or put_down(seen)


def bring_dish(seen: SeenKitchen) -> tuple[list[int], bool]:
    """Where the first player should take a dish, and whether it can be used there now.

    One holder of a dish goes to each pot, the pot that is ready first being served first.
    """
    if not seen.serves(0, POT):
        return hand_over(seen, POT), True
    holders = [who for who, hand in enumerate(seen.hands) if hand.held == DISH]
    soups = sorted((p for p in seen.pots if p.left is not None), key=lambda p: (p.left, p.cell))
    for pot in soups:
        best = min(holders, key=lambda who: _rank(seen, who, [pot.cell]), default=None)
        if best == 0 and _near(seen, pot.cell):
            return [pot.cell], pot.left == 0
        if best is not None:
            holders.remove(best)
    return put_down(seen), True


def hand_over(seen: SeenKitchen, tile: int) -> list[int]:
    """Free counters shared with a player who can reach a kind of station."""
    helpers = [who for who in range(1, len(seen.hands)) if seen.serves(who, tile)]
    return [c for c in free_counters(seen) if any(seen.walk(who, c) < FAR for who in helpers)]


def put_down(seen: SeenKitchen) -> list[int]:
    """Free counters, if possible those not needed to hand things over."""
    free, mine = free_counters(seen), seen.plan.regions[seen.hands[0].cell]
    others = [w for w, h in enumerate(seen.hands) if seen.plan.regions[h.cell] != mine]
    own = [cell for cell in free if all(seen.walk(who, cell) == FAR for who in others)]
    return own or free


def free_counters(seen: SeenKitchen) -> list[int]:
    """Counters within reach of the first player on which nothing lies."""
    return [c for c in seen.plan.cells_of(COUNTER) if c not in seen.lying and _near(seen, c)]


def _near(seen: SeenKitchen, cell: int) -> bool:
    """Whether the first player can get to a cell."""
    return seen.walk(0, cell) < FAR


def fetch(seen: SeenKitchen, auto_cook: bool) -> list[int]:
    """Where the first player, who holds nothing, should go: their share of the chores."""
    free = {who for who, hand in enumerate(seen.hands) if hand.held == NOTHING}
    for candidates, sources in chores(seen, auto_cook):
        able = {who: sources_of(seen, who, sources) for who in free & set(candidates)}
        able = {who: near for who, near in able.items() if near}
        if able:
            best = min(able, key=lambda who: _rank(seen, who, able[who]))
            if best == 0:
                return able[best]
            free.remove(best)
    return []


def sources_of(seen: SeenKitchen, who: int, sources: Iterable[int]) -> list[int]:
    """The sources that a player can reach."""
    return [cell for cell in sources if seen.walk(who, cell) < FAR]


def _rank(seen: SeenKitchen, who: int, stations: Iterable[int]) -> tuple[int, int]:
    """Steps from a player to the nearest of some stations; ties go to the lower own cell."""
    return min(seen.walk(who, cell) for cell in stations), seen.hands[who].cell


def chores(seen: SeenKitchen, auto_cook: bool) -> Iterable[tuple[Collection[int], list[int]]]:
    """Yield the chores, most urgent first: which players may do each, and at which cells."""
    everybody = range(len(seen.hands))
    near = [who for who in everybody if seen.serves(who, POT)]
    away = [who for who in everybody if who not in near]
    for cell, lying in seen.lying.items():
        if lying > DISH:
            yield everybody, [cell]
    if not auto_cook:
        for pot in seen.pots:
            if pot.left is None and pot.onions == FULL:
                yield near, [pot.cell]
    full = [pot for pot in seen.pots if pot.left is not None or pot.onions == FULL]
    onions = sum(FULL - pot.onions for pot in seen.pots if pot not in full)
    for thing, wanted in ((DISH, len(full)), (ONION, onions)):
        lying_here = [cell for cell, lying in seen.lying.items() if lying == thing]
        dispensers = seen.plan.cells_of(DISPENSERS[thing])
        wanted -= sum(seen.hands[who].held == thing for who in near)
        for _ in range(wanted):
            yield near, lying_here + dispensers
        wanted -= sum(seen.hands[who].held == thing for who in away)
        wanted -= sum(any(seen.walk(who, cell) < FAR for who in near) for cell in lying_here)
        for _ in range(wanted):
            yield away, dispensers


def step_towards(seen: SeenKitchen, goals: Collection[int], taken: Collection[int]) -> int | None:
    """The first action of a shortest way to use one of some stations; None if there is no way."""
    me, plan = seen.hands[0], seen.plan

    def steps(cell: int) -> Iterator[tuple[int, int]]:
        if cell in goals:
            return
        # straight on first: a player who faces a station already needs no turn
        for action in (me.facing, *range(GO_NORTH, REST)):
            there = plan.ahead[cell][action]
            if there is None:
                continue
            if there in goals or (plan.tiles[there] == FLOOR and there not in taken):
                yield action, there

    moves = way(me.cell, goals, steps)
    if not moves:
        return None
    return INTERACT if len(moves) == 1 and moves[0] == me.facing else moves[0]
