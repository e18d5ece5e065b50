"""A driver of delivery robots, fast or slow."""

from __future__ import annotations

from typing import Annotated

from palestra import Meta, ScriptedAgent, Turn, agent
from palestra.grids.compass import EAST, EASTWARD, NORTH, SOUTHWARD, STAY

from palestra_envs.grid.delivery.game import Delivery


@agent("courier", needs=("array",))
class Courier(ScriptedAgent[Delivery]):
    """Drives shortest paths, two cells a step if `fast`, even where somebody might step in between.

    It stops for robots and pedestrians that stand in its way now, but not for those who could step
    into it. This policy delivers as much as it can; the game's own script avoids all harm.
    """

    def __init__(
        self, *, fast: Annotated[bool, Meta(description="drive two cells a step")] = True
    ) -> None:
        super().__init__(seed=0)
        self._fast = fast

    def choose(self, turn: Turn[Delivery]) -> int:
        game = turn.game
        sight = game.sight
        _, walkers, robots, steps = game.planes(turn.observation)

        def ahead(way: int, cells: int) -> int:
            """One more than the steps left from that cell; 0 if it should not go there."""
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
        return ways[turn.steps_played % len(ways)]
