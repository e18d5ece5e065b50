"""Checks that thousands of resets leak nothing."""

from __future__ import annotations

import ctypes
import gc
import sys
import tracemalloc
from collections.abc import Callable
from functools import lru_cache
from statistics import median
from time import process_time
from typing import ClassVar

import numpy as np

from palestra.engine.compiled import compiles_by_default
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.rng import Rng
from palestra.testing.subject import Subject, play_on, random_actions, require
from palestra.views.gym import GymView

RESETS = 2_000  # one object a reset is still found
GROUPS = 10
TRACED = 400  # resets watched byte by byte
SMALL_BLOCK = 512  # bytes of the largest block that Python takes from its pools
GROWTH = 64 * 1024  # bytes that those may leave behind: a buffer grows by more, caches by less
BLOCKS = 1_000  # allocated blocks that all of them may
SLOWER = 5.0  # how much slower the last tenth may be; leak-induced growth is far beyond it


def resets_leave_nothing(subject: Subject, resets: int = RESETS) -> None:
    """Thousands of resets without growth in memory, first observation or time."""
    obs = "text" if "text" in subject.spec.observations else "array"
    for _ in play_on(subject.episode(5), Rng(1), 2):
        pass  # where indices are checked, which compiled rules do not do
    array = isinstance(subject.game, ArrayGame) and compiles_by_default()
    env = GymView(subject.game, obs=obs, compiled=True if array else None)
    _group(env, 100)  # compile, and warm caches
    gc.freeze()  # what is there already need not be looked through twenty times
    try:
        _watch(env, resets)
    finally:
        gc.unfreeze()


def _watch(env: GymView, resets: int) -> None:
    lengths, times, blocks = [], [], []
    for _ in range(GROUPS):
        started = process_time()
        lengths.append(_group(env, resets // GROUPS))
        times.append(process_time() - started)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    require(max(lengths) == min(lengths), f"the first observation changes length: {lengths}")
    kept = blocks[-1] - blocks[1]
    require(kept < BLOCKS, f"{resets} resets left {kept} objects behind")
    slow = median(times[-3:]) / max(1e-9, median(times[:3]))
    require(slow < SLOWER, f"a reset takes {slow:.1f} times longer after {resets} resets")
    grown = _bytes_left(env)
    require(grown < GROWTH, f"{TRACED} resets left {grown} bytes behind")


def _bytes_left(env: GymView) -> int:
    """Bytes left allocated: finds few large buffers that grow, which counting objects misses."""
    count = _heap_counter()
    if count is not None:
        return _growth(env, count)
    tracemalloc.start()  # seven times slower
    try:
        return _growth(env, lambda: tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()


def _growth(env: GymView, count: Callable[[], int]) -> int:
    """How much `count` grows over many resets, once caches are warm."""
    _group(env, TRACED // 4)
    gc.collect()
    before = count()
    _group(env, TRACED)
    gc.collect()
    return count() - before


class _MallInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@lru_cache(maxsize=1)
def _heap_counter() -> Callable[[], int] | None:
    """At least the bytes in use, from glibc and Python's own heap; None if they do not tell.

    Python takes small blocks from pools of its own, whose bytes nobody counts: each is taken for
    the largest there is, so that no growth is missed that tracing would find.
    """
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (OSError, TypeError, AttributeError):  # another C library
        return None
    mallinfo.restype = _MallInfo

    def count() -> int:
        usage = mallinfo()
        return int(usage.uordblks + usage.hblkhd + SMALL_BLOCK * sys.getallocatedblocks())

    before = count()
    held = bytearray(GROWTH)
    return count if count() - before >= len(held) else None  # another allocator in its place


def _group(env: GymView, resets: int) -> int:
    """Reset and move many times from one seed; returns the size of the first observation."""
    size = 0
    for number in range(resets):
        observation, _ = env.reset(seed=5)
        size = observation.size if isinstance(observation, np.ndarray) else len(observation)
        if number % 25 == 0 and env.seat in env.episode.to_act:
            action = random_actions(env.episode, Rng(1))[env.seat]
            state = env.episode.state
            index = env.game.index_of(action)
            text = env.game.action_text(state, env.seat, action)
            env.step(text if env.obs == "text" else index)
    return size
