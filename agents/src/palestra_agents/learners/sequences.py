"""Whole episodes from which recurrent learners of values learn."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from palestra import InvalidOption
from torch import Tensor

from palestra_agents.checkpoints import require_tensor
from palestra_agents.learners.field import Field, Memory

MARKS = ("begins", "over")  # whether a lane's episode begins with a step, and whether it ends


class Sequences(Memory):
    """The last steps of all lanes, one row a step, from which whole episodes are drawn.

    size: steps of all lanes that are kept; `lanes` of them make a row.
    """

    def __init__(self, size: int, lanes: int, generator: torch.Generator) -> None:
        super().__init__(max(1, size // lanes), generator)

    def add_step(self, rows: Mapping[str, Tensor], begins: Tensor, over: Tensor) -> None:
        """Keep one step of all lanes: its rows (N, …), and the marks of each lane (N,)."""
        kept = {**rows, "begins": begins, "over": over}
        self.add({name: row.unsqueeze(0) for name, row in kept.items()})

    def episodes(self, count: int) -> tuple[dict[str, Tensor], Tensor]:
        """Rows (T, count, …) of finished episodes drawn with replacement, and (T, count): theirs.

        T is the length of the longest; rows after the end of a shorter one are those of others.
        Raises `InvalidOption` if no whole episode is kept.
        """
        times = (torch.arange(self.filled) + (self.next if self.filled == self.size else 0)) % (
            self.size
        )
        begins, over = self.kept["begins"][times], self.kept["over"][times]
        numbers = torch.arange(self.filled).unsqueeze(1)
        ends = torch.where(over, numbers, self.filled)  # of the step's episode, once cumulated
        ends = ends.flip(0).cummin(0).values.flip(0)
        starts, lanes = (begins & (ends < self.filled)).nonzero(as_tuple=True)
        if not len(starts):
            raise InvalidOption(
                f"no whole episode is among the last {self.size} steps of every lane; choose a "
                "larger memory, or smaller num_envs"
            )
        drawn = torch.randint(len(starts), (count,), generator=self.generator)
        starts, lanes = starts[drawn], lanes[drawn]
        ends = ends[starts, lanes]
        steps = starts + torch.arange(int((ends - starts).max()) + 1).unsqueeze(1)
        places = times[steps.clamp(max=self.filled - 1)]
        rows = {name: kept[places, lanes] for name, kept in self.kept.items()}
        return {name: row for name, row in rows.items() if name not in MARKS}, steps <= ends

    def check_with(self, field: Field) -> None:
        """Raise `InvalidOption` unless the kept rows are such as `add_step` keeps."""
        rows = self.rows
        if not rows:
            return
        lanes = field.batch.num_envs
        for name in MARKS:
            require_tensor(name, rows.pop(name, None), (self.filled, lanes), torch.bool)
        for name, row in rows.items():
            if row.shape[1:2] != (lanes,):
                raise InvalidOption(f"{name} must have {lanes} lanes")
        field.check_rows({name: row.flatten(0, 1) for name, row in rows.items()})
