"""The bare episode by id: fork, snapshot, record."""

from __future__ import annotations

from typing import Any

from palestra.episode import Episode
from palestra.game import Game
from palestra.specs import EnvSpec
from palestra.views.opening import open_game


def make(
    env: str | EnvSpec | Game[Any, Any],
    *,
    seed: int | None = None,
    invalid: str = "raise",
    compiled: bool | None = None,
    **options: Any,
) -> Episode:
    """Open an episode; `options` go to the game."""
    spec, game = open_game(env, options)
    return Episode(game, seed, invalid=invalid, compiled=compiled, spec=spec)
