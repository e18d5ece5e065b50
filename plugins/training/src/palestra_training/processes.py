"""Data parallelism: several processes of `torchrun` train one run together, over gloo.

Each plays a share of a round's groups and computes a share of each step's gradient. All else is
computed by every process alike, from the same weights. The first process alone writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from palestra import InvalidOption
from torch import distributed

from palestra_training.plan import TrainPlan

T = TypeVar("T")
PATIENCE = timedelta(days=1)  # for the others, which may be in a long evaluation


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run, and which of them this is; by default it is alone."""

    rank: int = 0
    count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def led(self, make: Callable[[], T]) -> T:
        """What the first process makes, in every process."""
        if self.count == 1:
            return make()
        made: list[Any] = [make() if self.leads else None]
        distributed.broadcast_object_list(made)
        found: T = made[0]
        return found

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """The part of a list that this process works on; the parts of all are the list in order."""
        first, end = self.bounds(len(items))
        return items[first:end]

    def bounds(self, size: int) -> tuple[int, int]:
        """The places of its share of a list of some length: the first, and the one after."""
        return size * self.rank // self.count, size * (self.rank + 1) // self.count

    def gather(self, own: T) -> list[T]:
        """What each process has, in their order."""
        if self.count == 1:
            return [own]
        found: list[Any] = [None] * self.count
        distributed.all_gather_object(found, own)
        return found

    def add_up(self, values: Iterable[torch.Tensor]) -> None:
        """Replace tensors by their sums over all processes."""
        if self.count > 1:
            for value in values:
                distributed.all_reduce(value)


ALONE = Processes()


def refuse_for_several(plan: TrainPlan, processes: Processes) -> None:
    """Raise `InvalidOption` for what several processes cannot do."""
    if processes.count > 1 and plan.ray.workers:
        raise InvalidOption(
            f"{processes.count} processes share their rollouts already; leave [ray] or torchrun out"
        )
    if processes.count > 1 and (plan.ahead or plan.engine != "transformers"):
        raise InvalidOption(
            f"{processes.count} processes play with the models that they train, and not ahead; set "
            'ahead = 0 and engine = "transformers", or leave torchrun out'
        )


@contextmanager
def open_processes() -> Iterator[Processes]:
    """The processes that torchrun started, connected; one alone without torchrun."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ALONE
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    distributed.init_process_group("gloo", timeout=PATIENCE)
    yield Processes(distributed.get_rank(), count)
    distributed.destroy_process_group()
