"""Rows of a data set for TRL: where rollouts start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from palestra import InvalidOption, MissingExtra
from palestra.kernel.registry import open_game

START = re.compile(r"seed=(\d+) seat=(\d+)$")


def start_rows(
    env: str,
    starts: int,
    *,
    seed: int = 0,
    seats: Sequence[int] | None = None,
    chat: bool = False,
    **options: Any,
) -> Any:
    """A `datasets.Dataset` of starts: seeds from `seed` on, each once for every learning seat.

    TRL compares the rollouts of one row with one another: those of one seed and one seat. chat:
    the prompt is a conversation without words, to which an environment adds what it shows;
    otherwise it is a line that `SeatRollouts` reads. options: the game's own.
    """
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtra("datasets", "palestra-training[trl]") from error
    _, game = open_game(env, options)
    chosen = range(game.num_players) if seats is None else seats
    for seat in chosen:
        if not 0 <= seat < game.num_players:
            raise InvalidOption(f"seats are from 0 to {game.num_players - 1}, not {seat}")
    rows = [
        {
            "prompt": [{"role": "user", "content": ""}]
            if chat
            else f"{env} seed={number} seat={seat}",
            "seed": number,
            "seat": seat,
        }
        for number in range(seed, seed + starts)
        for seat in chosen
    ]
    return Dataset.from_list(rows)


def read_start(prompt: Any) -> tuple[int, int]:
    """Seed and seat of a prompt that `start_rows` made."""
    text = prompt if isinstance(prompt, str) else str(prompt[-1]["content"])
    found = START.search(text)
    if found is None:
        raise InvalidOption(
            f"the prompt {text!r} names no start; make the data set by start_rows()"
        )
    return int(found[1]), int(found[2])
