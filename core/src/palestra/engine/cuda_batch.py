"""The batch on a GPU: the same lanes and the same rules, one CUDA thread a lane."""

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

from palestra.engine import batch_driver, cuda_driver
from palestra.engine.compiled import fingerprint, lane_functions, load_template
from palestra.engine.cuda_rounding import KERNELS, round_products
from palestra.engine.lanes import AUTORESET, check_actions, lane_dtype, make_shared, write_seeds
from palestra.engine.rule_functions import device_functions
from palestra.kernel.array_game import ArrayGame, Out
from palestra.kernel.errors import (
    InvalidAction,
    InvalidOption,
    MissingExtra,
    OutOfTurn,
    UnknownName,
)

Array = NDArray[Any]
THREADS = 128  # in a block
LANE_FUNCTIONS = ("begin_lane", "flag_lane", "step_lane", "autoreset_lane", "observe_lane", "pick")


@dataclass(slots=True)
class Kernels:
    """The functions of `palestra.engine.cuda_driver` for one game."""

    begin: Any
    step: Any
    observe: Any
    act_randomly: Any
    take_actions: Any
    switch: Any


def open_cuda() -> Any:
    """numba's CUDA target; raises an error if there is neither a GPU nor the simulator."""
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
    # optimised at link time, they would be contracted there; the simulator links nothing
    simulated: bool = importlib.import_module("numba").config.ENABLE_CUDASIM
    settings = {} if simulated else {"lto": False}
    return Kernels(**{name: cuda.jit(function, **settings) for name, function in functions.items()})


def kernel_functions(
    game: ArrayGame, cuda: Any, compile_device: Callable[[FunctionType], Any]
) -> dict[str, FunctionType]:
    """The kernels as plain functions over device functions that `compile_device` made."""
    round_products()
    name = f"palestra_lanes_{fingerprint(game)}"
    names = {"CONFIG": game.config, "Out": Out, **lane_functions(game)}
    lanes = load_template(name, Path(batch_driver.__file__), names)
    sys.modules[name] = lanes  # numba looks the module of a function up by name
    devices = device_functions({n: getattr(lanes, n) for n in LANE_FUNCTIONS}, compile_device)
    name = f"{KERNELS}{fingerprint(game)}"
    module = load_template(name, Path(cuda_driver.__file__), {"cuda": cuda, **devices})
    sys.modules[name] = module
    return {field.name: getattr(module, field.name) for field in fields(Kernels)}


class DeviceView:
    """One field of all lanes in device memory: anything that reads `__cuda_array_interface__` can
    use it without a copy (torch.as_tensor, CuPy); `copy_to_host()` returns a numpy array.
    """

    def __init__(self, batch: CudaBatch, *path: str, flag: bool = False) -> None:
        self._batch, self._path = batch, path
        sample: Array = np.zeros(1, batch.lane_dtype)
        base = sample.__array_interface__["data"][0]
        for name in path:
            sample = sample[name]
        self._offset = sample.__array_interface__["data"][0] - base
        self.shape = (batch.num_envs, *sample.shape[1:])
        self.strides = (batch.lane_dtype.itemsize, *sample.strides[1:])
        self.dtype = np.dtype(np.bool_) if flag else sample.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        lanes = self._batch.lanes.__cuda_array_interface__
        return {
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "data": (lanes["data"][0] + self._offset, False),
            "version": 3,
        }

    def copy_to_host(self) -> Array:
        """The field's values now."""
        found: Array = self._batch.lanes.copy_to_host()
        for name in self._path:
            found = found[name]
        return np.ascontiguousarray(found).view(self.dtype)


class CudaBatch:
    """`Batch` with its lanes in a GPU's memory; results are the same bit for bit.

    Where rules call functions such as `math.exp`, a GPU may give another last bit.

    `observations`, `masks`, `rewards`, … are `DeviceView`s of the lanes, which every step rewrites;
    `torch()` returns them as tensors. `step` takes an (N, P) array of integers from the host, which
    is checked, or any array on the device, of which only shape and type are checked: there an
    action out of range forfeits like any illegal one.
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
        max_steps: int | None = None,
    ) -> None:
        if num_envs < 1:
            raise InvalidOption(f"num_envs must be positive, not {num_envs}")
        if max_steps is not None and max_steps < 1:
            raise InvalidOption(f"max_steps must be at least 1, not {max_steps}")
        if autoreset not in AUTORESET:
            raise UnknownName("auto-reset mode", autoreset, AUTORESET)
        self._cuda = open_cuda()
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self.lane_dtype = lane_dtype(game)
        self._mode, self._seed, self._started = AUTORESET[autoreset], seed, False
        self._kernels = kernels_for(game)
        self._grid = ((num_envs + THREADS - 1) // THREADS, min(THREADS, num_envs))
        send = self._cuda.to_device
        host = np.zeros(num_envs, self.lane_dtype)
        host["active"] = 1
        self.lanes = send(host)
        self._shared = send(make_shared(game, random_seats, scripted_seats, max_steps))
        kept = num_envs if autoreset == "same_step" else 1
        self._finals = send(np.zeros(kept, game.timestep_dtype))
        self.observations = DeviceView(self, "timestep", "observations")
        self.masks = DeviceView(self, "timestep", "mask")
        self.rewards = DeviceView(self, "reward")
        self.returns = DeviceView(self, "timestep", "returns")
        self.mistakes = DeviceView(self, "mistakes")
        self.acting = DeviceView(self, "acting", flag=True)
        self.terminations = DeviceView(self, "terminated", flag=True)
        self.truncations = DeviceView(self, "truncated", flag=True)
        self.finished = DeviceView(self, "finished", flag=True)
        self._final = {
            "returns": DeviceView(self, "final_returns"),
            "length": DeviceView(self, "final_length"),
            "results": DeviceView(self, "final_results"),
            "_finished": self.finished,
        }

    def statistics(self) -> dict[str, DeviceView]:
        """Returns (N, P), length (N,) and result codes (N, P) of lanes finished in this step.

        `_finished` says which lanes those are, as Gymnasium's vector infos do.
        """
        return self._final

    def _launch(self, name: str, *arguments: Any) -> None:
        getattr(self._kernels, name)[self._grid](self.lanes, *arguments)

    # Playing

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        lanes: Sequence[int] | Array | None = None,
    ) -> Any:
        """Reset all lanes, or only `lanes`; `seed` is the first lane's seed, or one per lane.

        Lanes that are not named keep their seeds.
        """
        if seed is not None or not self._started:
            host = self.lanes.copy_to_host()
            if not self._started:
                write_seeds(host, self._seed)
            if seed is not None:
                write_seeds(host, seed, lanes)
            self.lanes.copy_to_device(host)
        self._only(lanes, "begin", self._shared)
        self._started = True
        return self.observations

    def _only(self, lanes: Sequence[int] | Array | None, kernel: str, *arguments: Any) -> None:
        """Launch a kernel over some lanes and leave the others unchanged."""
        if lanes is None:
            self._launch(kernel, *arguments)
            return
        active = np.zeros(self.num_envs, np.uint8)
        active[np.asarray(lanes)] = 1
        self._launch("switch", self._cuda.to_device(active))
        try:
            self._launch(kernel, *arguments)
        finally:
            self._launch("switch", self._cuda.to_device(np.ones(self.num_envs, np.uint8)))

    def step(
        self, actions: Any = None, lanes: Sequence[int] | Array | None = None
    ) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step every lane; return observations, rewards, terminations, truncations and infos.

        None plays the actions that `random_actions` or an earlier call left in the lanes.
        """
        if not self._started:
            raise OutOfTurn("call reset() before step()")
        if actions is not None:
            self._launch("take_actions", self._on_device(actions))
        self._only(lanes, "step", self._finals, self._shared, self._mode)
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": self.statistics()}
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
                f"integers of shape {shape}: one action number for every environment and seat",
            )
        return self._cuda.as_cuda_array(actions)

    def random_actions(self) -> None:
        """Write a random legal action for every acting seat into the lanes, for `step(None)`."""
        self._launch("act_randomly")

    # States as values

    def save(self, lanes: Sequence[int] | Array | slice = slice(None)) -> Array:
        """A copy of some lanes on the host, which `Batch.load` takes too."""
        return self.lanes.copy_to_host()[lanes].copy()

    def load(self, saved: Array, lanes: Sequence[int] | Array | slice = slice(None)) -> None:
        """Load saved lanes into these lanes: one for each, or a single one into all."""
        host = self.lanes.copy_to_host()
        host[lanes] = saved
        self.lanes.copy_to_device(host)
        self._started = True

    def torch(self) -> dict[str, Any]:
        """The arrays as torch tensors on the device that share the lanes' memory."""
        import torch

        views = {name: view for name, view in vars(self).items() if isinstance(view, DeviceView)}
        return {name: torch.as_tensor(view, device="cuda") for name, view in views.items()}

    def close(self) -> None:
        """Do nothing: memory is freed with the last view."""
