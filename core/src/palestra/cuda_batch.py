"""The batch on a GPU: the same rows and the same rules, one CUDA thread a row."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra import batch_driver, cuda_driver
from palestra.array_game import ArrayGame, Out
from palestra.compiled import device_functions, fingerprint, load_template, row_functions
from palestra.errors import InvalidAction, InvalidOption, MissingExtra, OutOfTurn, UnknownName
from palestra.rng import MASK
from palestra.rows import AUTORESET, check_actions, make_table, row_dtype, sow

Array = NDArray[Any]
THREADS = 128  # in a block
ROW_FUNCTIONS = ("deal_row", "flag_row", "step_row", "deal_again", "see_row", "pick")


@dataclass(slots=True)
class Kernels:
    """The functions of `palestra.cuda_driver` for one game."""

    begin: Any
    step: Any
    see: Any
    act_randomly: Any
    take_actions: Any
    switch: Any


def open_cuda() -> Any:
    """numba's CUDA target, once it is known that a GPU or the simulator is there."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise MissingExtra("numba-cuda, which runs array games on a GPU,", "palestra[cuda]")
    cuda: Any = importlib.import_module("numba.cuda")
    if not cuda.is_available():
        raise InvalidOption(
            'device="cuda": no CUDA GPU was found on this machine; use device="cpu"'
        )
    return cuda


@lru_cache(maxsize=64)
def kernels_for(game: ArrayGame) -> Kernels:
    """The kernels of one game with one configuration; compiled when they are first launched."""
    cuda = open_cuda()
    functions = kernel_functions(game, cuda, cuda.jit(device=True))
    return Kernels(**{name: cuda.jit(function) for name, function in functions.items()})


def kernel_functions(
    game: ArrayGame, cuda: Any, compile_device: Callable[[FunctionType], Any]
) -> dict[str, FunctionType]:
    """The kernels as plain functions over device functions that `compile_device` made."""
    name = f"palestra_rows_{fingerprint(game)}"
    names = {"CONFIG": game.config, "Out": Out, **row_functions(game)}
    rows = load_template(name, Path(batch_driver.__file__), names)
    sys.modules[name] = rows  # numba looks the module of a function up by name
    devices = device_functions({n: getattr(rows, n) for n in ROW_FUNCTIONS}, compile_device)
    name = f"palestra_kernels_{fingerprint(game)}"
    module = load_template(name, Path(cuda_driver.__file__), {"cuda": cuda, **devices})
    sys.modules[name] = module
    return {field.name: getattr(module, field.name) for field in fields(Kernels)}


class DeviceView:
    """One field of all rows where it lies: anything that reads `__cuda_array_interface__` can
    use it without a copy (torch.as_tensor, CuPy); `copy_to_host()` gives a numpy array.
    """

    def __init__(self, batch: CudaBatch, *path: str, flag: bool = False) -> None:
        self._batch, self._path = batch, path
        sample: Array = np.zeros(1, batch.row_dtype)
        base = sample.__array_interface__["data"][0]
        for name in path:
            sample = sample[name]
        self._offset = sample.__array_interface__["data"][0] - base
        self.shape = (batch.num_envs, *sample.shape[1:])
        self.strides = (batch.row_dtype.itemsize, *sample.strides[1:])
        self.dtype = np.dtype(np.bool_) if flag else sample.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        rows = self._batch.rows.__cuda_array_interface__
        return {
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "data": (rows["data"][0] + self._offset, False),
            "version": 3,
        }

    def copy_to_host(self) -> Array:
        """The field's values now."""
        found: Array = self._batch.rows.copy_to_host()
        for name in self._path:
            found = found[name]
        return np.ascontiguousarray(found).view(self.dtype)


class CudaBatch:
    """`Batch` with its rows in a GPU's memory; what is played is the same to the bit.

    `observations`, `masks`, `rewards`, … are `DeviceView`s of the rows, which every step rewrites;
    `torch()` gives them as tensors. `step` takes an (N, P) array of integers from the host, which
    is checked, or any array on the device, of which only shape and type are: there an action out
    of range forfeits like any illegal one.
    """

    def __init__(
        self,
        game: ArrayGame,
        num_envs: int,
        *,
        seed: int | None = None,
        autoreset: str = "next_step",
        random_seats: Sequence[int] = (),
        scripted_seats: Sequence[int] = (),
    ) -> None:
        if num_envs < 1:
            raise InvalidOption(f"num_envs must be positive, not {num_envs}")
        if autoreset not in AUTORESET:
            raise UnknownName("auto-reset mode", autoreset, AUTORESET)
        self._cuda = open_cuda()
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self.row_dtype = row_dtype(game)
        self._mode, self._seed, self._dealt = AUTORESET[autoreset], seed, False
        self._kernels = kernels_for(game)
        self._grid = ((num_envs + THREADS - 1) // THREADS, min(THREADS, num_envs))
        send = self._cuda.to_device
        host = np.zeros(num_envs, self.row_dtype)
        host["active"] = 1
        self.rows = send(host)
        self._table = send(make_table(game, random_seats, scripted_seats))
        kept = num_envs if autoreset == "same_step" else 1
        self._finals = send(np.zeros(kept, game.frame_dtype))
        self.observations = DeviceView(self, "frame", "sights")
        self.masks = DeviceView(self, "frame", "mask")
        self.rewards = DeviceView(self, "reward")
        self.returns = DeviceView(self, "frame", "returns")
        self.mistakes = DeviceView(self, "mistakes")
        self.acting = DeviceView(self, "acting", flag=True)
        self.terminations = DeviceView(self, "terminated", flag=True)
        self.truncations = DeviceView(self, "truncated", flag=True)
        self.finished = DeviceView(self, "finished", flag=True)

    def _launch(self, name: str, *arguments: Any) -> None:
        getattr(self._kernels, name)[self._grid](self.rows, *arguments)

    # Playing

    def reset(
        self, seed: int | Sequence[int] | None = None, rows: Sequence[int] | Array | None = None
    ) -> Any:
        """Deal all rows, or only those named; `seed` is the first row's, or one for every row."""
        if seed is not None or not self._dealt:
            self._sow(self._seed if seed is None else seed)
        self._only(rows, "begin", self._table)
        self._dealt = True
        return self.observations

    def _sow(self, seed: int | Sequence[int] | None) -> None:
        host, seeds = self.rows.copy_to_host(), sow(seed, self.num_envs)
        host["seed"][:, 0] = [s & MASK for s in seeds]
        host["seed"][:, 1] = [s >> 32 for s in seeds]
        host["noise"] = [(s * 2654435761 + 97) & 0x7FFFFFFF for s in seeds]
        host["episodes"] = 0
        self.rows.copy_to_device(host)

    def _only(self, rows: Sequence[int] | Array | None, kernel: str, *arguments: Any) -> None:
        """Launch a kernel over some rows, leaving the others alone."""
        if rows is None:
            self._launch(kernel, *arguments)
            return
        active = np.zeros(self.num_envs, np.uint8)
        active[np.asarray(rows)] = 1
        self._launch("switch", self._cuda.to_device(active))
        try:
            self._launch(kernel, *arguments)
        finally:
            self._launch("switch", self._cuda.to_device(np.ones(self.num_envs, np.uint8)))

    def step(
        self, actions: Any = None, rows: Sequence[int] | Array | None = None
    ) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after one step of every row.

        None plays the actions that `random_actions` or an earlier call left in the rows.
        """
        if not self._dealt:
            raise OutOfTurn("call reset() before step()")
        if actions is not None:
            self._launch("take_actions", self._on_device(actions))
        self._only(rows, "step", self._finals, self._table, self._mode)
        infos = {"action_mask": self.masks, "acting": self.acting}
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _on_device(self, actions: Any) -> Any:
        shape = (self.num_envs, self.game.num_players)
        if not hasattr(actions, "__cuda_array_interface__"):
            acting = self.acting.copy_to_host()
            checked = check_actions(actions, shape, self.game.num_actions, acting)
            return self._cuda.to_device(np.ascontiguousarray(checked))
        found = actions.__cuda_array_interface__
        if tuple(found["shape"]) != shape or found["typestr"][1] not in "iu":
            raise InvalidAction(
                f"device array of shape {found['shape']} and type {found['typestr']}",
                f"integers of shape {shape}: one action number for every row and seat",
            )
        return self._cuda.as_cuda_array(actions)

    def random_actions(self) -> None:
        """Write a random legal action for every acting seat into the rows, for `step(None)`."""
        self._launch("act_randomly")

    # States as values

    def save(self, rows: Sequence[int] | Array | slice = slice(None)) -> Array:
        """A copy of some rows on the host, which `Batch.load` takes too."""
        copied: Array = self.rows.copy_to_host()[rows].copy()
        return copied

    def load(self, saved: Array, rows: Sequence[int] | Array | slice = slice(None)) -> None:
        """Put saved rows into these rows: as many as were saved, or one into all."""
        host = self.rows.copy_to_host()
        host[rows] = saved
        self.rows.copy_to_device(host)
        self._dealt = True

    def torch(self) -> dict[str, Any]:
        """The arrays as torch tensors on the device that share the rows' memory."""
        import torch

        views = {name: view for name, view in vars(self).items() if isinstance(view, DeviceView)}
        return {name: torch.as_tensor(view, device="cuda") for name, view in views.items()}

    def close(self) -> None:
        """Memory goes back when the last view is gone."""
