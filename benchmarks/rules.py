"""Batches of games whose rules are long, each beside the rate that is wanted of it.

1,024 lanes, random legal moves drawn inside the loop, observations, masks and resets included; per
second of processor time of one core.
"""

from __future__ import annotations

import statistics
from functools import partial
from time import process_time

from batch import ROWS, our_batch
from timing import REPEATS, Row, Work

WANTED = {
    "games/Chess-v0": 1.5e6,
    "games/Hanabi-v0": 4e6,
    "games/Sudoku-v0": 2e6,
    "games/Minesweeper-v0": 2e6,
    "games/Hex-v0": 6e6,
    "games/Gomoku-v0": 6e6,
    "grid/Harvest-v0": 6e6,
    "grid/CleanUp-v0": 6e6,
}


def rules(env: str, wanted: float) -> Row:
    """Steps of all seats that act, a second."""
    play = our_batch(env)
    play()
    found = statistics.median(rate(play) for _ in range(REPEATS))
    name = f"{env}, batch of {ROWS}"
    return Row(name, found, wanted, found / wanted, 1.0, "agent steps/s", "its bound")


def rate(work: Work) -> float:
    started = process_time()
    done = work()
    return done / (process_time() - started)


MEASURES = tuple(partial(rules, env, wanted) for env, wanted in WANTED.items())
