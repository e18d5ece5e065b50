"""What every view does first: find the game and check the options."""

from __future__ import annotations

from typing import Any

from palestra.errors import InvalidOption, UnknownName
from palestra.game import Game
from palestra.registry import load_game, registry
from palestra.specs import EnvSpec

OBSERVATIONS = ("array", "text")
RENDER_MODES = ["human", "rgb_array", "ansi"]


def open_game(
    env: str | EnvSpec | Game[Any, Any], options: dict[str, Any]
) -> tuple[EnvSpec | None, Game[Any, Any]]:
    """The spec (None for a bare game) and the game itself."""
    if isinstance(env, Game):
        if options:
            raise InvalidOption(f"{env!r} is already made; it takes no options {sorted(options)}")
        return None, env
    spec = env if isinstance(env, EnvSpec) else registry().environment(env)
    return spec, load_game(spec, options)


def check_obs(obs: str) -> str:
    if obs not in OBSERVATIONS:
        raise UnknownName("observation kind", obs, OBSERVATIONS)
    return obs
