"""Plays every ArrayGame on the CPU and in numba's CUDA simulator, row for row.

Run by test_cuda.py in a process of its own: the simulator is chosen when numba is imported.
`cuda_in_simulator.py 1 4` takes every fourth game from the second on.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import palestra
from palestra import ArrayGame
from palestra.kernel.registry import load_game

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "grid/Foraging-v0": [{}, {"num_players": 3, "sight": 2, "scripted_seats": [2]}],
    "grid/Kitchen-v0": [{}, {"layout": "random", "sight": 1, "num_players": 3, "max_steps": 9}],
    "grid/Pursuit-v0": [{}, {"map": "random", "rows": 8, "columns": 8, "num_evaders": 5}],
    "grid/Harvest-v0": [{}, {"map": "random"}],
    "grid/CleanUp-v0": [{}, {"map": "random"}],
    "games/ConnectFour-v0": [{}, {"rows": 4, "columns": 5, "scripted_seats": [1]}],
    "games/TicTacToe-v0": [{}, {"scripted_seats": [0]}],
}
ROWS, STEPS = 4, 24


def differing(one: Any, other: Any, path: str = "") -> list[str]:
    """Fields that differ, bit for bit; padding between them does not count."""
    if one.dtype.names:
        parts = ((n, one[n], other[n]) for n in one.dtype.names)
        return [name for n, a, b in parts for name in differing(a, b, f"{path}.{n}")]
    return [] if one.tobytes() == other.tobytes() else [path]


def compare(env: str, options: dict[str, Any], mode: str) -> None:
    where = f"{env} {options} {mode}"
    settings = {"num_envs": ROWS, "seed": 3, "autoreset": mode, **options}
    cpu = palestra.make(env, view="batch", **settings)
    gpu = palestra.make(env, view="batch", device="cuda", **settings)
    cpu.reset()
    gpu.reset()
    for step in range(STEPS):
        cpu.random_actions()
        if step % 2:
            gpu.random_actions()
            gpu.step()
        else:
            rows = gpu.save()  # the CPU has drawn its noise; let the other know
            rows["random_bits"] = cpu.lanes["random_bits"]
            gpu.load(rows)
            gpu.step(cpu.actions.copy())
        cpu.step()
        found = differing(cpu.lanes, gpu.save())
        assert not found, f"{where}, step {step}: {found} differ"
    for name in ("observations", "masks", "rewards", "terminations", "acting"):
        here, there = getattr(cpu, name), getattr(gpu, name).copy_to_host()
        assert np.array_equal(here, there), f"{where}: {name}"
    kept = gpu.save([1])
    gpu.load(kept, [0, 2])
    gpu.reset(lanes=[3])
    cpu.load(cpu.save([1]), [0, 2])
    cpu.reset(lanes=[3])
    found = differing(cpu.lanes, gpu.save())
    assert not found, f"{where}, after load and reset: {found} differ"


def take_turns() -> None:
    """The simulator's threads one after another, for kernels that never wait for each other.

    Its own way watches them in a loop that takes most of the interpreter's time.
    """
    from numba.cuda.simulator import kernel

    def run(self: Any, grid_point: Any, *args: Any) -> None:
        for block_point in np.ndindex(*self._block_dim):
            thread = kernel.BlockThread(
                lambda: self._f(*args), self, grid_point, block_point, self._debug
            )
            thread.start()
            thread.join()
            if thread.exception:
                raise thread.exception[0].with_traceback(thread.exception[1])

    kernel.BlockManager.run = run


def main(part: int, parts: int) -> None:
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        take_turns()
    played = 0
    arrays = [spec for spec in palestra.specs() if isinstance(load_game(spec, {}), ArrayGame)]
    for spec in arrays[part::parts]:
        for options in VARIANTS.get(spec.id, [{}]):
            for mode in ("next_step", "same_step"):
                compare(spec.id, options, mode)
                played += 1
    print(f"{played} comparisons, all equal")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
