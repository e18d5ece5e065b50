"""Compiles the kernels of every ArrayGame for a GPU of compute capability 9.0, without having one.

They are optimised and assembled to that GPU's machine code, as they would be on it, and no product
of the rules is contracted with a sum.
Run by test_cuda.py in a process of its own: it tells numba's dispatcher of a device that is not
there, which is all that compiling asks a device for. `cuda_to_ptx.py 1 4` takes every fourth game
from the second on.
"""

from __future__ import annotations

import gc
import importlib
import re
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import palestra
from cuda.bindings import nvjitlink
from numba import cuda, from_dtype, int64, uint8
from palestra import ArrayGame
from palestra.engine.cuda_batch import kernel_functions
from palestra.engine.lanes import lane_dtype, shared_dtype
from palestra.engine.rule_functions import global_names, reachable_functions, rule_functions
from palestra.kernel.registry import load_game

CAPABILITY = (9, 0)
LIBDEVICE = {"exp", "log", "sin", "cos"}  # functions that multiply and add at once by themselves


def signatures(game: ArrayGame) -> dict[str, tuple[Any, ...]]:
    lanes = from_dtype(lane_dtype(game))[::1]
    timesteps = from_dtype(np.dtype(game.timestep_dtype))[::1]
    shared = from_dtype(shared_dtype(game))[::1]
    return {
        "begin": (lanes, shared),
        "step": (lanes, timesteps, shared, int64),
        "observe": (lanes,),
        "act_randomly": (lanes,),
        "take_actions": (lanes, int64[:, ::1]),
        "switch": (lanes, uint8[::1]),
    }


def assemble(ptx: str) -> bytes:
    """Machine code for a GPU, by the assembler that the driver uses."""
    linker = nvjitlink.create(1, [f"-arch=sm_{''.join(map(str, CAPABILITY))}"])
    source = ptx.encode()
    nvjitlink.add_data(linker, nvjitlink.InputType.PTX, source, len(source), "kernel")
    nvjitlink.complete(linker)
    code = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, code)
    nvjitlink.destroy(linker)
    return bytes(code)


def assert_products_are_rounded(ptx: str, game: ArrayGame) -> None:
    """Nothing may be contracted, here or by the assembler, except in libdevice's own functions."""
    free = re.findall(r"\b(?:mul|add|sub)\.(?:ftz\.)?f(?:32|64)\b", ptx)
    assert not free, (game, Counter(free))
    rules = reachable_functions(rule_functions(game).values())
    names = {name for rule in rules for name in global_names(rule.__code__)}
    if not names & LIBDEVICE:
        assert not re.findall(r"\bfma\.", ptx), game


def main(part: int, parts: int) -> None:
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)
    games = (load_game(spec, {}) for spec in palestra.specs())
    kinds = {type(game): game for game in games if isinstance(game, ArrayGame)}
    for number, game in enumerate(list(kinds.values())[part::parts]):
        kernels = kernel_functions(game, cuda, cuda.jit(device=True))
        # a step calls every function of a game; the other kernels differ in its sizes alone
        for name in signatures(game) if number == part == 0 else ["step"]:
            ptx, _ = cuda.compile_ptx(kernels[name], signatures(game)[name], cc=CAPABILITY)
            assert ".entry" in ptx, f"{type(game).__name__}.{name}"
            assert_products_are_rounded(ptx, game)
            assert assemble(ptx).startswith(b"\x7fELF"), f"{type(game).__name__}.{name}"
        print(type(game).__name__)


if __name__ == "__main__":
    gc.disable()  # compilers make many objects and little garbage
    main(int(sys.argv[1]), int(sys.argv[2]))
