"""The principal's best mechanism by linear programming.

The variables are the chance of every profile of recommended levels, and that chance times each
expert's payment under it for all reports and states. The principal's gain is linear in them, and so
are the constraints that keep an expert from every other level with every way of reporting. Experts
know only their own advice, so each constraint pools the profiles that give the same advice. This is
why mechanisms that correlate efforts can be better than any single profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from palestra import InvalidOption
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, lil_matrix, vstack

from palestra_markets.hiring.information import Information, Mechanism, decision_value, joint

MARGIN = 2.0
"""Units by which obedience and truth must pay better, so that rounded payments keep them."""


class Deviation(NamedTuple):
    """An expert who is advised one level, works at another, and reports `reports[signal]`."""

    expert: int
    advised: int
    level: int
    reports: tuple[int, ...]


@lru_cache(maxsize=256)
def optimal_mechanism(
    known: Information,
    costs: tuple[tuple[int, ...], ...],
    value: int,
    most: int,
    verified: bool = True,
    only: tuple[tuple[int, ...], ...] = (),
) -> tuple[Mechanism, float]:
    """The best mechanism with payments of 0 to `most` units, and the principal's gain under it.

    `costs` are by expert and level. `only` limits the profiles that may be recommended. The gain is
    the optimum of the linear program, before payments are rounded up to whole units. Raises
    `InvalidOption` if no payments make the experts obey.
    """
    profiles = only or known.profiles
    cells = known.states ** (known.experts + 1)
    width = len(profiles) * (1 + known.experts * cells)
    gain = _gain_row(known, profiles, cells, width, value)
    rules, right = _obedience_constraints(known, costs, profiles, width)
    bounded = _payment_bounds(known, profiles, cells, width, most)
    equal, zero = _equal_payments(known, profiles, cells, width, verified)
    solved = linprog(
        -gain,
        A_ub=_stack(rules, bounded),
        b_ub=np.concatenate([right, np.zeros(bounded.shape[0])]),
        A_eq=_stack(equal, _sum_of_chances(profiles, width)),
        b_eq=np.concatenate([zero, [1.0]]),
        bounds=(0, None),
    )
    if solved.x is None:
        raise InvalidOption(f"no payments from 0 to {most} make experts obey in {profiles}")
    return _mechanism_from(known, profiles, cells, solved.x, most), -float(solved.fun)


def _gain_row(
    known: Information, profiles: Sequence[tuple[int, ...]], cells: int, width: int, value: int
) -> Any:
    """The principal's gain, as coefficients."""
    row = np.zeros(width)
    for place, profile in enumerate(profiles):
        row[place] = value * decision_value(known, profile)
        for expert in range(known.experts):
            row[_block(profiles, cells, expert, place)] = -joint(known, profile).ravel()
    return row


def _block(profiles: Sequence[Any], cells: int, expert: int, place: int) -> slice:
    """The columns of an expert's payments under the profile at an index."""
    start = len(profiles) * (1 + expert * cells) + place * cells
    return slice(start, start + cells)


def _obedience_constraints(
    known: Information,
    costs: Sequence[Sequence[int]],
    profiles: Sequence[tuple[int, ...]],
    width: int,
) -> tuple[Any, Any]:
    """Constraint rows and right-hand sides: no deviation pays better than obedience."""
    reports = product(range(known.states), repeat=known.states)
    levels = range(known.levels)
    rows = []
    for parts in product(range(known.experts), levels, levels, reports):
        deviation = Deviation(*parts)
        obeys = deviation.level == deviation.advised
        if obeys and deviation.reports == tuple(range(known.states)):
            continue
        row = _deviation_row(known, costs[deviation.expert], profiles, width, deviation)
        if row.any():
            rows.append(row)
    return csr_matrix(np.array(rows)), np.zeros(len(rows))


def _deviation_row(
    known: Information,
    costs: Sequence[int],
    profiles: Sequence[tuple[int, ...]],
    width: int,
    deviation: Deviation,
) -> Any:
    """The gain of a deviation over obedience plus the margin, as coefficients."""
    expert, advised, level, reports = deviation
    cells = known.states ** (known.experts + 1)
    lies = sum(said != seen for seen, said in enumerate(reports)) / known.states
    informed = known.accuracies[level] > 1 / known.states + 1e-9
    margin = MARGIN if level != advised else lies * MARGIN * informed
    row = np.zeros(width)
    for place, profile in enumerate(profiles):
        if profile[expert] != advised:
            continue
        chosen = (*profile[:expert], level, *profile[expert + 1 :])
        moved = np.zeros((known.states,) * (known.experts + 1))
        # signals seen at the other level count in the cells of the reported signals
        signals = np.moveaxis(joint(known, chosen), expert, 0)
        np.add.at(np.moveaxis(moved, expert, 0), list(reports), signals)
        row[_block(profiles, cells, expert, place)] = (moved - joint(known, profile)).ravel()
        row[place] = costs[advised] - costs[level] + margin
    return row


def _payment_bounds(
    known: Information, profiles: Sequence[Any], cells: int, width: int, most: int
) -> Any:
    """No payment above `most`: chance times payment is at most chance times `most`."""
    table = lil_matrix((known.experts * len(profiles) * cells, width))
    row = 0
    for expert in range(known.experts):
        for place in range(len(profiles)):
            block = _block(profiles, cells, expert, place)
            for column in range(block.start, block.stop):
                table[row, column], table[row, place] = 1.0, -float(most)
                row += 1
    return table.tocsr()


def _equal_payments(
    known: Information, profiles: Sequence[Any], cells: int, width: int, verified: bool
) -> tuple[Any, Any]:
    """Where the state is not verified, payments are the same in every state."""
    if verified:
        return csr_matrix((0, width)), np.zeros(0)
    m, rows = known.states, []
    for expert in range(known.experts):
        for place in range(len(profiles)):
            start = _block(profiles, cells, expert, place).start
            for cell in range(0, cells, m):
                for state in range(1, m):
                    row = lil_matrix((1, width))
                    row[0, start + cell], row[0, start + cell + state] = 1.0, -1.0
                    rows.append(row.tocsr())
    return _stack(*rows), np.zeros(len(rows))


def _sum_of_chances(profiles: Sequence[Any], width: int) -> Any:
    """A row that adds up the chances of all profiles."""
    row = np.zeros((1, width))
    row[0, : len(profiles)] = 1
    return csr_matrix(row)


def _stack(*tables: Any) -> Any:
    return vstack(tables, format="csr")


def _mechanism_from(
    known: Information, profiles: Sequence[tuple[int, ...]], cells: int, found: Any, most: int
) -> Mechanism:
    """The mechanism behind a solution, payments rounded up to whole units."""
    shape = (known.states,) * (known.experts + 1)
    used = [place for place in range(len(profiles)) if found[place] > 1e-7]
    total = sum(found[place] for place in used)
    pays = []
    for place in used:
        tables = []
        for expert in range(known.experts):
            paid = found[_block(profiles, cells, expert, place)] / found[place]
            whole = np.ceil(np.clip(paid, 0, most) - 1e-6).astype(np.int64)
            tables.append(np.minimum(whole, most).reshape(shape))
        pays.append(tuple(tables))
    chances = tuple(float(found[place] / total) for place in used)
    return Mechanism(tuple(profiles[place] for place in used), chances, tuple(pays))
