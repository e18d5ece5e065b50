"""The bare episode by id: fork, snapshot, record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.shaping import Shaper, open_episode
from palestra.views.opening import check_settings, open_for


def make(
    env: str | EnvSpec | Game[Any, Any],
    *,
    seed: int | None = None,
    invalid: str = "raise",
    compiled: bool | None = None,
    rewards: Sequence[str | Shaper] | None = None,
    gamma: float = 1.0,
    **options: Any,
) -> Episode:
    """Open an episode; `rewards` names step shapers, `options` go to the game."""
    check_settings(compiled=compiled, rewards=rewards, gamma=gamma)
    spec, game = open_for(make, env, options)
    return open_episode(
        game, seed, rewards=rewards, gamma=gamma, invalid=invalid, compiled=compiled, spec=spec
    )
