"""Reward shaping for foragers that speeds up learning without changing the optimal policy."""

from __future__ import annotations

from palestra import InvalidOption, Transition, reward
from palestra.shaping import potential_based

from palestra_envs.grid.foraging.game import Foraging, ForagingState
from palestra_envs.grid.foraging.rules import place_of


def distance_potential(game: Foraging, state: ForagingState, seat: int) -> float:
    """Minus the distance to the nearest food, divided by rows + columns; 0 after the end.

    Distances are Manhattan distances on the whole grid, whatever the player sees.
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
)
@potential_based
def food_distance(step: Transition) -> dict[str, float]:
    """Potential-based: pays for coming nearer to the nearest food.

    Returns {"food-distance": gamma * phi(after) - phi(before)}, where phi is
    `distance_potential`. The discounted sum over an episode is -phi of its first state for every
    policy, so the order of policies does not change (Ng, Harada and Russell, "Policy invariance
    under reward transformations", ICML 1999).
    """
    if not isinstance(step.game, Foraging):
        name = type(step.game).__name__
        raise InvalidOption(f"food-distance shapes grid/Foraging-v0, not {name}")
    before = distance_potential(step.game, step.before, step.seat)
    after = 0.0 if step.over else distance_potential(step.game, step.after, step.seat)
    return {"food-distance": step.gamma * after - before}
