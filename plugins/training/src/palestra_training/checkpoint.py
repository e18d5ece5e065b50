"""The folder of a run, and its checkpoint, checked before use: it may be damaged or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile, ZipFile

import msgspec
import torch
from palestra import InvalidOption, PalestraError
from palestra.files import UNREADABLE, CannotWrite, read_json, remove_drafts, writable
from palestra.kernel.errors import cause, show
from safetensors import SafetensorError

from palestra_training.plan import TrainPlan

PLAN, STATE, CURVE, MODEL, PICTURE = "plan.json", "state.pt", "curve.csv", "model", "curve.png"
CHANGEABLE = (
    "rounds",
    "evaluation",
    "save_every",
    "learning_rate",
    "minibatch",
    "micro_batch_tokens",
    "gradient_checkpointing",
    "ray",
)  # of a run that is resumed
Count = Annotated[int, msgspec.Meta(ge=0)]
Weights = dict[str, torch.Tensor]


class PoolState(msgspec.Struct):
    """What `Pool.state` gives."""

    names: list[str]
    past: dict[str, Any]
    points: dict[str, tuple[float, float]]
    table: dict[str, dict[str, float]]


class State(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that the next round depends on; see `Trainer`."""

    round: Count
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    weights: list[dict[str, Any]]
    optimisers: list[dict[str, Any]]
    credit: dict[str, Any]
    pool: dict[str, Any]
    starts: list[Count]
    reference: list[dict[str, Any]]
    behind: tuple[list[dict[str, Any]], list[Count], dict[str, Any]] | None
    versions: list[Count]
    curve: list[list[Any]]
    software: dict[str, str]


def admit(plan: TrainPlan, out: Path, *, resume: bool) -> None:
    """Refuse a folder that holds another run, or this run if it is not to be resumed."""
    kept = out / PLAN
    if kept.exists() and not resume:
        raise InvalidOption(
            f"{out} holds a run already; continue it with --resume, or choose another folder"
        )
    if kept.exists():
        try:
            was = read_json(kept, TrainPlan)
        except (OSError, *UNREADABLE) as error:
            raise InvalidOption(f"{kept} cannot be read: {error}; restore a copy") from error
        for name in TrainPlan.__struct_fields__:
            if name not in CHANGEABLE and getattr(was, name) != getattr(plan, name):
                raise InvalidOption(
                    f"{out} was started with {name} = {getattr(was, name)!r}, not "
                    f"{getattr(plan, name)!r}; resume it unchanged, or choose another "
                    "folder"
                )
    elif (out / STATE).exists():
        raise InvalidOption(
            f"{out} holds a checkpoint, and {PLAN} that says of which run is missing; restore a "
            "copy of it, or choose another folder"
        )
    if kept.exists() and (out / CURVE).exists() and not (out / STATE).exists():
        raise InvalidOption(
            f"{out / STATE} is missing, and the run cannot be resumed without; restore a copy of "
            "it, or choose another folder"
        )
    with writable(out):
        out.mkdir(parents=True, exist_ok=True)
        models = [file.name for file in out.glob(f"{MODEL}-*")]  # of seats
        for name in (PLAN, STATE, CURVE, MODEL, *models, PICTURE):
            remove_drafts(out / name)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what torch, safetensors and the system raise on a full disk into `CannotWrite`."""
    with writable(path):
        try:
            yield
        except (SafetensorError, RuntimeError) as error:
            if isinstance(error, PalestraError):
                raise
            raise CannotWrite(
                f"cannot write {path}: {cause(error)}; free some room or choose a folder that can "
                "be written"
            ) from error


@contextmanager
def blaming(file: Path) -> Iterator[None]:
    """Name the file in errors about what it holds, and what to do."""
    try:
        yield
    except Exception as error:
        said = str(error) if isinstance(error, InvalidOption) else cause(error)
        raise InvalidOption(
            f"{file} is no checkpoint of this run ({said}); it is damaged or was changed: start in "
            "another folder"
        ) from error


def _require_sums(file: Path) -> None:
    """Raise `BadZipFile` if a part of a file of `torch.save` differs from its sum (CRC-32).

    torch writes the sums and does not compare them, so that a changed weight would be learned from.
    """
    with ZipFile(file) as kept:
        changed = kept.testzip()
    if changed is not None:
        raise BadZipFile(f"{changed} was changed after it was written")


def read_state(file: Path, device: torch.device) -> State:
    """The state in a file of `torch.save`; raises `InvalidOption`, and runs no code of the file."""
    try:
        _require_sums(file)
        # mapped, so that no tensor reaches beyond the file, which is replaced and never rewritten
        kept = torch.load(file, map_location=device, weights_only=True, mmap=True)
    except Exception as error:
        raise InvalidOption(f"{file} cannot be read: {error}; start in another folder") from error
    with blaming(file):
        state = msgspec.convert(kept, State)
        for pool in [state.pool, *([state.behind[-1]] if state.behind else [])]:
            msgspec.convert(pool, PoolState)
    return state


def require_same_form(kept: Mapping[str, Any], own: Mapping[str, torch.Tensor], what: str) -> None:
    """Raise `InvalidOption` unless weights have the names, shapes and kinds of others, finite."""
    if kept.keys() != own.keys():
        raise InvalidOption(f"{what} must have {show(list(own))}, not {show(list(kept))}")
    for name, value in kept.items():
        form = own[name].shape, own[name].dtype
        if not isinstance(value, torch.Tensor) or (value.shape, value.dtype) != form:
            raise InvalidOption(f"{what}.{name} must be {form[1]} of shape {tuple(form[0])}")
        if not value.isfinite().all():
            raise InvalidOption(f"{what}.{name} holds a number that is not finite")


def require_moments(kept: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise `InvalidOption` unless the state of an optimiser belongs to the same weights.

    own: the state of a fresh optimiser, whose groups are those of the run.
    """
    groups = [[group.get("params") for group in one["param_groups"]] for one in (kept, own)]
    if groups[0] != groups[1]:
        raise InvalidOption("an optimiser has moments of other weights than this run's")
    for number, moments in kept["state"].items():
        for name, value in moments.items():
            if isinstance(value, torch.Tensor) and not value.isfinite().all():
                raise InvalidOption(f"{name} of weight {number} is not finite")
