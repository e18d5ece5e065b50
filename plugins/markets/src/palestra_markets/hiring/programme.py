"""The principal's best mechanism by linear programming.

Unknown are the chance of every profile of recommended levels, and that chance times what each
expert is paid under it by all reports and the state. The principal's gain is linear in them, and so
is what keeps an expert from every other level with every way of reporting: he knows his own advice
only, so that his constraints pool the profiles that give it. That is why mechanisms that correlate
efforts can be better than any single profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from palestra import InvalidOption
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, lil_matrix, vstack

from palestra_markets.hiring.information import Information, Mechanism, decision_value, joint

MARGIN = 2.0
"""Units by which obedience and truth must pay better, so that they do in whole units too."""


@lru_cache(maxsize=256)
def optimal_mechanism(
    known: Information,
    costs: tuple[tuple[int, ...], ...],
    value: int,
    most: int,
    verified: bool = True,
    only: tuple[tuple[int, ...], ...] = (),
) -> tuple[Mechanism, float]:
    """The best mechanism with payments of 0 to `most` units, and what it is worth to the principal.

    `costs` are by expert and level. `only` limits the profiles that may be recommended. The worth
    is the optimum of the programme, before payments are rounded up to whole units. InvalidOption
    where no payments make experts obey.
    """
    profiles = only or known.profiles
    cells = known.states ** (known.experts + 1)
    width = len(profiles) * (1 + known.experts * cells)
    gain = np.zeros(width)
    for place, profile in enumerate(profiles):
        gain[place] = value * decision_value(known, profile)
        for expert in range(known.experts):
            gain[_block(profiles, cells, expert, place)] = -joint(known, profile).ravel()
    rules, right = _obedience(known, costs, profiles, width)
    bounded = _bounds(known, profiles, cells, width, most)
    equal, zero = _unverified(known, profiles, cells, width, verified)
    solved = linprog(
        -gain,
        A_ub=_stack(rules, bounded),
        b_ub=np.concatenate([right, np.zeros(bounded.shape[0])]),
        A_eq=_stack(equal, _whole(profiles, width)),
        b_eq=np.concatenate([zero, [1.0]]),
        bounds=(0, None),
    )
    if solved.x is None:
        raise InvalidOption(f"no payments from 0 to {most} make experts obey in {profiles}")
    return _read(known, profiles, cells, solved.x, most), -float(solved.fun)


def _block(profiles: Sequence[Any], cells: int, expert: int, place: int) -> slice:
    start = len(profiles) * (1 + expert * cells) + place * cells
    return slice(start, start + cells)


def _obedience(
    known: Information,
    costs: Sequence[Sequence[int]],
    profiles: Sequence[tuple[int, ...]],
    width: int,
) -> tuple[Any, Any]:
    """For every expert, advice, level and way of reporting: deviating pays no better."""
    rows = []
    maps = list(product(range(known.states), repeat=known.states))
    truth = tuple(range(known.states))
    cells = known.states ** (known.experts + 1)
    for expert in range(known.experts):
        for advised, level in product(range(known.levels), repeat=2):
            for told in maps:
                if (level, told) == (advised, truth):
                    continue
                lies = sum(said != seen for seen, said in enumerate(told)) / known.states
                informed = known.accuracies[level] > 1 / known.states + 1e-9
                margin = MARGIN if level != advised else lies * MARGIN * informed
                row = np.zeros(width)
                for place, profile in enumerate(profiles):
                    if profile[expert] != advised:
                        continue
                    chosen = (*profile[:expert], level, *profile[expert + 1 :])
                    moved = np.zeros((known.states,) * (known.experts + 1))
                    # signals seen at the other level end up in the cells of what is reported
                    np.add.at(
                        np.moveaxis(moved, expert, 0),
                        list(told),
                        np.moveaxis(joint(known, chosen), expert, 0),
                    )
                    row[_block(profiles, cells, expert, place)] = (
                        moved - joint(known, profile)
                    ).ravel()
                    row[place] = costs[expert][advised] - costs[expert][level] + margin
                if row.any():
                    rows.append(row)
    return csr_matrix(np.array(rows)), np.zeros(len(rows))


def _bounds(known: Information, profiles: Sequence[Any], cells: int, width: int, most: int) -> Any:
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


def _unverified(
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


def _whole(profiles: Sequence[Any], width: int) -> Any:
    row = np.zeros((1, width))
    row[0, : len(profiles)] = 1
    return csr_matrix(row)


def _stack(*tables: Any) -> Any:
    return vstack(tables, format="csr")


def _read(
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
