"""What stops a run, in one line that says what to change; its last checkpoint is intact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from palestra import PalestraError

LARGEST_WEIGHT = 1e6  # of a weight that is still one; those of trained models stay below 1e4
MEMORY_ERRORS = (
    "out of memory",
    "DefaultCPUAllocator",
    "can't allocate memory",
    "not enough memory",
    "Unable to allocate",
    "MemoryError",
)


class TrainingStopped(PalestraError):
    """Training cannot continue; the last checkpoint is intact, the message says what to do."""


def check_quantity(what: str, value: float, where: str, *, most: float = math.inf) -> None:
    """Raise `TrainingStopped` if a quantity of a gradient step is not finite or above `most`."""
    if not math.isfinite(value) or abs(value) > most:
        raise TrainingStopped(
            f"training diverged: the {what} is {value:.4g} at {where}; resume from the last "
            "checkpoint with a smaller learning_rate"
        )


@contextmanager
def memory_explained(where: str, advice: str) -> Iterator[None]:
    """Turn every error that memory ran out, on a GPU or a CPU, into a `TrainingStopped`."""
    try:
        yield
    except (MemoryError, RuntimeError, TrainingStopped) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(mark in str(error) for mark in MEMORY_ERRORS):
            raise
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise TrainingStopped(f"out of memory {where}; {advice}: {said[-1].strip()}") from error
