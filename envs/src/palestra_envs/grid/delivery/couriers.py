"""A driver of delivery robots, with or without haste."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Agent, Decision, InvalidOption, Turn, agent
from palestra.grids.moving import EAST, EASTWARD, NORTH, SOUTHWARD, STAY

from palestra_envs.grid.delivery.game import WINDOW, Delivery


@agent(
    "courier",
    plays=("grid/Delivery-v0",),
    needs=("array",),
    summary="Drives shortest ways, fast=true two cells a step, whoever might come in between.",
)
class Courier(Agent):
    """Plays `grid/Delivery-v0`: a shortest way to the address, two cells a step if `fast`.

    It stops for whoever stands in its way now, but not for who could step into it: a policy that
    delivers as much as it can, where the game's own script avoids all harm.
    """

    def __init__(self, *, fast: bool = True) -> None:
        self._fast = fast

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, Delivery):
            raise InvalidOption(f"the courier plays grid/Delivery-v0, not {turn.env}")
        sight, view = game.sight, turn.observation
        _, walkers, robots, steps = view[WINDOW:].reshape(4, game.side, game.side)

        def ahead(way: int, cells: int) -> int:
            """One more than the steps left from there; 0 where one cannot or should not go."""
            i, j = sight + cells * SOUTHWARD[way], sight + cells * EASTWARD[way]
            if not 0 <= min(i, j) <= max(i, j) < game.side or walkers[i, j] or robots[i, j]:
                return 0
            return int(steps[i, j])

        here = int(steps[sight, sight])
        ways = [way for way in range(NORTH, EAST + 1) if 0 < ahead(way, 1) < here]
        if not ways:
            return STAY
        if self._fast:
            for way in ways:
                if 0 < ahead(way, 2) < ahead(way, 1):
                    return way + EAST
        return ways[turn.turn % len(ways)]
