"""Counting move sequences, level by level, on the batch."""

from __future__ import annotations

import numpy as np

from palestra.array_game import ArrayGame
from palestra.batch import Array, Batch


def perft(game: ArrayGame, depth: int) -> list[int]:
    """The number of move sequences of length 1, 2, … `depth` in a sequential game."""
    batch = Batch(game, 1, autoreset="disabled")
    batch.reset(0)
    level, counts = batch.save(), []
    while True:
        masks = level["frame"]["mask"].min(axis=1) * (level["over"] == 0)[:, None]
        counts.append(int(masks.sum()))
        if len(counts) == depth or not counts[-1]:
            return counts
        moves = range(masks.shape[1])
        level = np.concatenate([children(game, level[masks[:, a] == 1], a) for a in moves])


def children(game: ArrayGame, rows: Array, action: int) -> Array:
    """The rows after `action` in every one of them."""
    if not len(rows):
        return rows
    batch = Batch(game, len(rows), autoreset="disabled")
    batch.load(rows)
    batch.step(np.full((len(rows), game.num_players), action))
    return batch.save()
