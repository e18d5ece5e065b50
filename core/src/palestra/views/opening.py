"""What views that may be asked for words or for pictures accept."""

from __future__ import annotations

from typing import Any

import numpy as np

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, UnknownName
from palestra.kernel.game import Game

OBSERVATIONS = ("array", "text")
MASKS = ("obs", "info", "off")
RENDER_MODES = ["human", "rgb_array", "ansi"]


def check_obs(obs: str | None, game: Game[Any, Any]) -> str:
    """The kind of observation asked for; by default arrays, or text where there is nothing else."""
    if obs is None:
        return "array" if game.has_numbers else "text"
    if obs not in OBSERVATIONS:
        raise UnknownName("observation kind", obs, OBSERVATIONS)
    if obs == "array" and not game.has_numbers:
        raise InvalidOption(
            f"{type(game).__name__} has no numbered actions; leave obs out, or use obs='text'"
        )
    return obs


def check_render_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in RENDER_MODES:
        raise UnknownName("render mode", mode, RENDER_MODES)
    return mode


class Unreadable(str):
    """Text that named no legal move; never legal, so the invalid-move policy applies."""


def read_action(episode: Episode, seat: int, action: Any, obs: str) -> Any:
    """An outside action, a number or a text, as the game's own; legal or not.

    Raises `InvalidAction` for what is of another type than the action space holds: that is a
    mistake of the program, not a move of the player.
    """
    if obs == "text":
        if not isinstance(action, str):
            raise InvalidAction(action, "a string", why="this view was made with obs='text'")
        try:
            return episode.parse(seat, action)
        except InvalidAction:
            return Unreadable(action)
    if type(action) is not int:
        value = np.asarray(action)
        if value.size != 1 or value.dtype.kind not in "iu":
            most = int(episode.game.action_space(seat).n) - 1
            raise InvalidAction(action, f"an integer from 0 to {most}", why="it is no integer")
        action = int(value.item())
    try:
        return episode.game.action_of(action)
    except InvalidAction:
        return action
