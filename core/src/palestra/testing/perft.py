"""Counting move sequences, level by level, on the batch."""

from __future__ import annotations

import numpy as np

from palestra.engine.batch import Array, Batch
from palestra.kernel.array_game import ArrayGame


def perft(game: ArrayGame, depth: int) -> list[int]:
    """The number of move sequences of length 1, 2, … `depth` in a sequential game."""
    batch = Batch(game, 1, autoreset="disabled")
    batch.reset(0)
    level, counts = batch.save(), []
    while True:
        masks = level["timestep"]["mask"].min(axis=1) * (level["over"] == 0)[:, None]
        counts.append(int(masks.sum()))
        if len(counts) == depth or not counts[-1]:
            return counts
        moves = range(masks.shape[1])
        level = np.concatenate([children(game, level[masks[:, a] == 1], a) for a in moves])


def children(game: ArrayGame, lanes: Array, action: int) -> Array:
    """The lanes after `action` in every one of them."""
    if not len(lanes):
        return lanes
    batch = Batch(game, len(lanes), autoreset="disabled")
    batch.load(lanes)
    batch.step(np.full((len(lanes), game.num_players), action))
    return batch.save()
