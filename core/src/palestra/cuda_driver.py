"""Kernels over many rows of one game, one thread a row; a template, like `palestra.driver`.

Everything a row does is in `palestra.batch_driver`; here a thread only finds its row.
"""

from __future__ import annotations

from typing import Any

cuda: Any
deal_row: Any
flag_row: Any
step_row: Any
deal_again: Any
see_row: Any
pick: Any

SAME_STEP = 1


def begin(rows: Any, tables: Any) -> None:
    """Deal every active row."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        row = rows[i]
        if row.active:
            deal_row(row, tables[0])
            flag_row(row)
            row.finished = 0


def step(rows: Any, finals: Any, tables: Any, mode: int) -> None:
    """Step every active row."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        row = rows[i]
        if step_row(row, tables[0], mode) and mode == SAME_STEP:
            finals[i] = row.frame
            deal_again(row, tables[0])


def see(rows: Any) -> None:
    """Bring active rows in line with states that were written from outside."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        row = rows[i]
        if row.active:
            see_row(row)
            flag_row(row)


def act_randomly(rows: Any) -> None:
    """Write a random legal action for every seat that acts."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        row = rows[i]
        for player in range(len(row.acting)):
            if row.acting[player]:
                row.frame.actions[player] = pick(row, row.frame.mask[player])


def take_actions(rows: Any, actions: Any) -> None:
    """Copy an (N, P) array of action numbers into the rows."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        for player in range(actions.shape[1]):
            rows[i].frame.actions[player] = actions[i, player]


def switch(rows: Any, active: Any) -> None:
    """Say which rows the next kernels touch."""
    i = cuda.grid(1)
    if i < rows.shape[0]:
        rows[i].active = active[i]
