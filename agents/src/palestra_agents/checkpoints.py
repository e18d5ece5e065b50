"""Checkpoints of training: files that may be a stranger's, so everything in them is checked.

Reading one runs no code and takes memory in proportion to the file. What it holds is compared with
what a fresh run holds: names, types, shapes, ranges, and that numbers are finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import torch
from palestra import InvalidOption, PalestraError
from palestra.kernel.errors import cause, show
from torch import Tensor, nn

T = TypeVar("T")
COUNT_LIMIT = 2**53
Count = Annotated[int, msgspec.Meta(ge=0, lt=COUNT_LIMIT)]
SPARE = 1024  # values beyond the size of a file


def read_checkpoint_file(path: Path, what: str, expected: str) -> dict[str, Any]:
    """The dictionary in a file of `torch.save` whose "format" is the expected one.

    what: what the file should be, for errors. Raises `InvalidOption`.
    """
    try:
        # mapped, so that no tensor reaches beyond the file; copied, so that it can be replaced
        kept = torch.load(path, weights_only=True, mmap=True, map_location="cpu")
        kept = _Copy(path.stat().st_size + SPARE).of(kept, "it")
    except InvalidOption as error:
        raise InvalidOption(f"{path} is not {what}: {error}") from error
    except Exception as error:
        raise InvalidOption(f"{path} is not {what}: {cause(error)}") from error
    if not isinstance(kept, dict) or kept.get("format") != expected:
        found = kept.get("format") if isinstance(kept, dict) else type(kept).__name__
        raise InvalidOption(
            f"{path}: format {show(found)}; this version reads {expected!r}. Train into another "
            "--out"
        )
    return kept


class _Copy:
    """Copies nested plain data of limited size; a file can hold one part a billion times."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def of(self, value: Any, where: str) -> Any:
        self.left -= 1 + (value.nbytes if isinstance(value, Tensor) else 0)
        if self.left < 0:
            raise InvalidOption("it holds more than its size allows")
        if isinstance(value, Tensor):
            return _plain_tensor(value, where)
        if isinstance(value, Mapping):
            return {name: self.of(part, f"{where}[{name!r:.40}]") for name, part in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.of(part, where) for part in value)
        return value


def _plain_tensor(value: Tensor, where: str) -> Tensor:
    if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu":
        raise InvalidOption(f"{where} is no plain tensor")
    if not value.is_contiguous():
        raise InvalidOption(f"{where} is a tensor with gaps or overlaps")
    if not value.isfinite().all():
        raise InvalidOption(f"{where} holds a number that is not finite")
    return value.detach().clone()


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Name the file in errors about what it holds, and what to do."""
    advice = "it is damaged or was changed; train into another --out"
    try:
        yield
    except PalestraError as error:
        said = str(error)
        raise InvalidOption(said if str(path) in said else f"{path}: {said}; {advice}") from error
    except Exception as error:
        raise InvalidOption(f"{path} cannot be used ({cause(error)}); {advice}") from error


def converted(kept: Mapping[str, Any], kind: type[T]) -> T:
    """The fields of a struct, checked against its annotations."""
    try:
        return msgspec.convert(kept, kind)
    except msgspec.ValidationError as error:
        raise InvalidOption(str(error)) from error


def require_room(settings: Mapping[str, Any], path: Path) -> None:
    """Raise `InvalidOption` for settings of networks and lanes that the file is too small for."""
    size = path.stat().st_size
    names = ("num_envs", "hidden", "mixing", "population", "ensemble", "message", "embedding")
    known = {name: settings[name] for name in names if type(settings.get(name)) is int}
    copies = max(known.get("population", 1), known.get("ensemble", 1))
    if max([*known.values(), known.get("hidden", 0) ** 2 * copies]) > size // 4:
        listed = ", ".join(f"{name}={show(value)}" for name, value in known.items())
        raise InvalidOption(f"the file is too small for a run with {listed}")


def require_tensor(
    name: str,
    value: Any,
    shape: tuple[int, ...],
    kind: torch.dtype,
    limits: tuple[float, float] | None = None,
) -> Tensor:
    """A tensor of this shape and type with values within limits; else raises `InvalidOption`."""
    if not isinstance(value, Tensor):
        raise InvalidOption(f"{name} must be a tensor, not {type(value).__name__}")
    if value.shape != shape or value.dtype != kind:
        raise InvalidOption(
            f"{name} must be {kind} of shape {shape}, not {value.dtype} of {tuple(value.shape)}"
        )
    if limits and value.numel() and not (limits[0] <= value.min() and value.max() <= limits[1]):
        raise InvalidOption(f"{name} must be from {limits[0]} to {limits[1]}")
    return value


def require_count(name: str, value: Any) -> int:
    """A whole number from 0; else raises `InvalidOption`."""
    if type(value) is not int or not 0 <= value < COUNT_LIMIT:
        raise InvalidOption(f"{name} must be a whole number from 0, not {show(value)}")
    return value


def require_names(name: str, value: Any, names: Any) -> dict[Any, Any]:
    """A dictionary with exactly these names; else raises `InvalidOption`."""
    if not isinstance(value, dict) or value.keys() != set(names):
        found = list(value) if isinstance(value, dict) else type(value).__name__
        raise InvalidOption(f"{name} must have {show(list(names))}, not {show(found)}")
    return value


def load_weights(network: nn.Module, kept: Any, name: str = "network") -> None:
    """Load what `state_dict` gave for a network of the same form."""
    own = network.state_dict()
    for part, value in require_names(name, kept, own).items():
        require_tensor(f"{name}.{part}", value, tuple(own[part].shape), own[part].dtype)
    for part, buffer in network.named_buffers():
        if not torch.equal(buffer, kept[part]):
            raise InvalidOption(f"{name}.{part} is not that of this environment")
    network.load_state_dict(kept)


def load_optimizer(optimizer: torch.optim.Optimizer, kept: Any, name: str = "optimizer") -> None:
    """Load the moments of what `state_dict` gave; everything else must be as in this optimiser."""
    require_names(name, kept, ("state", "param_groups"))
    groups = _groups(kept["param_groups"], optimizer.state_dict()["param_groups"], name)
    learnt = [weight for group in optimizer.param_groups for weight in group["params"]]
    if not isinstance(kept["state"], dict) or not kept["state"].keys() <= set(range(len(learnt))):
        raise InvalidOption(f"{name} has moments of other weights than this run's")
    for number, moments in kept["state"].items():
        where, weight = f"{name}.{number}", learnt[number]
        require_names(where, moments, ("step", "exp_avg", "exp_avg_sq"))
        shape, kind = tuple(weight.shape), weight.dtype
        require_tensor(f"{where}.step", moments["step"], (), torch.float32, (1, math.inf))
        require_tensor(f"{where}.exp_avg", moments["exp_avg"], shape, kind)
        require_tensor(f"{where}.exp_avg_sq", moments["exp_avg_sq"], shape, kind, (0, math.inf))
    optimizer.load_state_dict({"state": kept["state"], "param_groups": groups})


def _groups(kept: Any, own: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """An optimiser's own groups with the learning rates kept, which fall during a run."""
    if not isinstance(kept, list) or len(kept) != len(own):
        raise InvalidOption(f"{name} must have {len(own)} param_groups")
    found = []
    for group, mine in zip(kept, own, strict=True):
        rate = require_names(f"{name} of a group", group, mine)["lr"]
        if type(rate) is not float or not 0 < rate < math.inf:
            raise InvalidOption(f"{name} has the learning rate {show(rate)}, which is not above 0")
        if group != {**mine, "lr": rate}:
            raise InvalidOption(f"{name} has other param_groups than this run")
        found.append({**mine, "lr": rate})
    return found


def load_generator(generator: torch.Generator, kept: Any, name: str = "generator") -> None:
    """Load what `get_state` gave."""
    own = generator.get_state()
    require_tensor(name, kept, tuple(own.shape), own.dtype)
    try:
        generator.set_state(kept)
    except RuntimeError as error:
        raise InvalidOption(f"{name} is no state of a generator") from error


def require_all_finite(state: Any) -> None:
    """As `require_finite`, for all tensors of a state that is to replace a good checkpoint."""
    if isinstance(state, Tensor):
        require_finite(state)
    elif isinstance(state, Mapping | list | tuple):
        for part in state.values() if isinstance(state, Mapping) else state:
            require_all_finite(part)


def require_finite(numbers: Tensor | float) -> None:
    """Raise `PalestraError` where training or a policy gives numbers that are not finite."""
    good = numbers.isfinite().all() if isinstance(numbers, Tensor) else math.isfinite(numbers)
    if not good:
        raise PalestraError(
            "the network's numbers are no longer finite: training has diverged, or the file of its "
            "weights was changed. Train into another --out, perhaps with a lower learning_rate"
        )
