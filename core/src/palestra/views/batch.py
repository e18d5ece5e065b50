"""N episodes in arrays, all seats: the batch view."""

from __future__ import annotations

from typing import Any

from palestra.array_game import ArrayGame
from palestra.batch import Batch
from palestra.errors import InvalidOption, MissingExtra, UnknownName
from palestra.game import Game
from palestra.specs import EnvSpec
from palestra.text_batch import TextBatch
from palestra.views.opening import open_game

DEVICES = ("cpu", "cuda")


def make(
    env: str | EnvSpec | Game[Any, Any],
    *,
    num_envs: int,
    device: str = "cpu",
    seed: int | None = None,
    autoreset: str = "next_step",
    threads: int = 1,
    compiled: bool | None = None,
    **options: Any,
) -> Batch | TextBatch:
    """Open the batch view; `options` go to the game.

    An ArrayGame runs in compiled loops over `threads` threads, any other game with an array view
    in a plain loop with the same interface.
    """
    if device not in DEVICES:
        raise UnknownName("device", device, DEVICES)
    if device == "cuda":
        raise MissingExtra("the CUDA batch", "palestra[cuda]")
    _, game = open_game(env, options)
    if isinstance(game, ArrayGame):
        return Batch(
            game, num_envs, seed=seed, autoreset=autoreset, threads=threads, compiled=compiled
        )
    if threads != 1 or compiled:
        raise InvalidOption(f"{type(game).__name__} is not an ArrayGame: it runs in one plain loop")
    return TextBatch(game, num_envs, seed=seed, autoreset=autoreset)
