"""What views that may be asked for words or for pictures accept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, UnknownName, UnknownOption, show
from palestra.kernel.game import Game
from palestra.kernel.options import fit_option
from palestra.kernel.registry import open_game
from palestra.kernel.specs import EnvSpec

OBSERVATIONS = ("array", "text")
MASKS = ("obs", "info", "off")
RENDER_MODES = ["human", "rgb_array", "ansi"]

Count = Annotated[int, Meta(ge=1)]
SETTINGS: dict[str, Any] = {
    "num_envs": Count,
    "threads": Count,
    "max_cycles": Count | None,
    "max_episode_steps": Count | None,
    "compiled": bool | None,
    "rewards": str | Sequence[str | Callable[..., Any]] | None,
    "gamma": Annotated[float, Meta(ge=0, le=1)],
    "infos": Literal["all", "arrays"],
}


def check_settings(**given: Any) -> None:
    """Raise `InvalidOption` for a view's own setting whose type or range is wrong."""
    for name, value in given.items():
        fit_option(name, SETTINGS[name], value)


def check_seat(seat: Any, game: Game[Any, Any]) -> int:
    """The number of a seat of the game; raises `InvalidOption` for anything else."""
    allowed = Annotated[int, Meta(ge=0, le=game.num_players - 1)]
    return fit_option("seat", allowed, seat)


def open_for(
    view: Callable[..., Any], env: str | EnvSpec | Game[Any, Any], options: Mapping[str, Any]
) -> tuple[EnvSpec | None, Game[Any, Any]]:
    """`open_game` for a view; unknown options are also compared with the view's own settings."""
    try:
        return open_game(env, options)
    except UnknownOption as error:
        own = sorted(inspect.signature(view).parameters.keys() - {"env", "options"})
        near = UnknownOption(str(getattr(env, "id", env)), error.name, own)
        if error.close:
            raise
        if near.close:
            raise near from None
        taken = f"The view itself takes {', '.join(own)}."
        raise UnknownOption(f"{str(error).removesuffix('.')}. {taken}") from None


def check_obs(obs: str | None, game: Game[Any, Any]) -> str:
    """The kind of observation asked for; by default arrays, or text where there is nothing else."""
    if obs is None:
        return "array" if game.has_numbers else "text"
    if not isinstance(obs, str) or obs not in OBSERVATIONS:
        raise UnknownName("observation kind", obs, OBSERVATIONS)
    if obs == "array" and not game.has_numbers:
        raise InvalidOption(
            f"{type(game).__name__} has no numbered actions; leave obs out, or use obs='text'"
        )
    return obs


def check_render_mode(mode: str | None) -> str | None:
    if mode is not None and not (isinstance(mode, str) and mode in RENDER_MODES):
        raise UnknownName("render mode", mode, RENDER_MODES)
    return mode


SIDE = Annotated[int, Meta(ge=64, le=8192)]
RENDERING: dict[str, Any] = {"size": tuple[SIDE, SIDE], "theme": Literal["light", "dark"]}
DRAWING = ("human", "rgb_array")  # the modes that take them


def check_render_options(mode: str | None, given: Any) -> dict[str, Any]:
    """How a view draws: `size` (width, height) in pixels, and `theme`, "light" or "dark".

    Raises `InvalidOption` for a value that is not accepted, or where nothing is drawn, and
    `UnknownOption` for any other name.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidOption(
            f"render_options must be a dict such as {{'size': (640, 640), 'theme': 'dark'}}, "
            f"not {show(given)}"
        )
    if given and mode not in DRAWING:
        raise InvalidOption(
            f"render_options belong to the render modes {' and '.join(DRAWING)}, and this view has "
            f"render_mode={mode!r}; set one of them, or leave render_options out"
        )
    for name in given:
        if name not in RENDERING:
            raise UnknownOption("render_options", str(name), sorted(RENDERING))
    return {name: fit_option(name, RENDERING[name], value) for name, value in given.items()}


class Unreadable(str):
    """Text that named no legal move; never legal, so the invalid-move policy applies."""


def count_choices(game: Game[Any, Any], obs: str) -> tuple[int, ...]:
    """How many numbered actions each seat has; 0 where a view takes texts."""
    if obs == "text":
        return tuple(0 for _ in range(game.num_players))
    seats: range = range(game.num_players)
    return tuple(int(game.action_space(seat).n) for seat in seats)


def _whole_number(value: Any) -> int:
    """An integer, or that of an array or a tensor with one item; -1 for anything else."""
    if not isinstance(value, int) and not hasattr(value, "dtype"):  # a list, bytes
        return -1
    try:
        array = np.asarray(value)
    except Exception:  # an object that numpy cannot convert
        return -1
    return int(array.item()) if array.size == 1 and array.dtype.kind in "iu" else -1


def read_action(episode: Episode, seat: int, action: Any, choices: int) -> Any:
    """Turn an outside action, legal or not, into the game's own; `choices` 0 means text.

    Raises `InvalidAction` for an action outside the action space: that is an error in the program,
    not a move of the player.
    """
    if type(action) is np.int64:  # what spaces sample and policies answer
        action = int(action)
    if type(action) is not int or not 0 <= action < choices:
        check_member(action, choices)
    if choices:
        return episode.game.action_of(action if type(action) is int else _whole_number(action))
    try:
        return episode.parse(seat, action)
    except InvalidAction:
        return Unreadable(action)


def check_member(action: Any, choices: int) -> None:
    """Raise `InvalidAction` unless an outside action is in the space; `choices` 0 means text."""
    if not choices:
        if not isinstance(action, str):
            raise InvalidAction(action, "a string", why="this view was made with obs='text'")
        return
    number, why = action, "it is out of range"
    if type(action) is not int:
        number, why = _whole_number(action), "it is no integer"
    if not 0 <= number < choices:
        raise InvalidAction(action, f"an integer from 0 to {choices - 1}", why=why)
