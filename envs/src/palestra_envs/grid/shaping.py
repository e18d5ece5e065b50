"""Rewards for foragers on their way: they speed up learning and leave the best policy as it is."""

from __future__ import annotations

from typing import Any

from palestra import InvalidOption, Transition, reward

from palestra_envs.grid.foraging.game import Foraging
from palestra_envs.grid.foraging.rules import place_of


def distance_potential(game: Foraging, state: Any, seat: int) -> float:
    """Minus the cells to the nearest food left, over rows + columns; 0 once it is over.

    Distances are Manhattan and know the whole grid, whatever the player sees.
    """
    if state.over:
        return 0.0
    row, column = place_of(state, seat)
    distances = [abs(r - row) + abs(c - column) for r, c, _ in game.foods(state)]
    return -min(distances, default=0) / (game.rows + game.columns)


@reward(
    "food-distance",
    shape="step",
    paper="Ng, Harada and Russell (1999), Policy invariance under reward transformations",
    summary="Potential-based: pays for coming nearer to the nearest food.",
)
def food_distance(step: Transition) -> dict[str, float]:
    """Pay for coming nearer to food: {"food-distance": gamma * phi(after) - phi(before)}.

    phi is `distance_potential`. Discounted and summed over an episode this comes to -phi of its
    first state whatever was played, so no policy gains on another by it (Ng, Harada and Russell,
    "Policy invariance under reward transformations", ICML 1999).
    """
    if not isinstance(step.game, Foraging):
        name = type(step.game).__name__
        raise InvalidOption(f"food-distance shapes grid/Foraging-v0, not {name}")
    before = distance_potential(step.game, step.before, step.seat)
    after = distance_potential(step.game, step.after, step.seat)
    return {"food-distance": step.gamma * after - before}
