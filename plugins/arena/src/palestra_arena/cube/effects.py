"""Main effects of axes and their interactions in a table of cells, which may have gaps.

An effect is the coefficient of a level in the additive least-squares model of the cells, with
effects that sum to zero on each axis; so a level is not favoured for the easy cells that it has.
The share of a term is its sum of squares of type II (given all terms that do not contain it) over
that of all cells.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from palestra import InvalidOption

from palestra_arena.ratings.contests import Floats

ALIKE = 1e-20  # of the squares of cells that differ by rounding alone
Term = tuple[str, ...]  # one axis, or two that interact


@dataclass(frozen=True, slots=True)
class Effects:
    """Of each level of each axis, and the share of each term; arrays follow those of the cells.

    Effects are not numbers where the cells do not connect all levels, as in a table of two blocks.
    """

    levels: dict[tuple[str, str], Floats]
    shares: dict[Term, Floats]


def effects_of(cells: Sequence[Mapping[str, str]], values: ArrayLike) -> Effects:
    """Effects in cells, each given by its level on every axis.

    values: (cells,) or (cells, resamples). An axis on which all cells are at one level is left out.
    """
    table = np.asarray(values, dtype=float)
    if len(table) != len(cells) or not cells:
        raise InvalidOption(f"{len(cells)} cells need as many values, not {table.shape}")
    found = {axis: list(dict.fromkeys(cell[axis] for cell in cells)) for axis in cells[0]}
    levels = {axis: names for axis, names in found.items() if len(names) > 1}
    mains: list[Term] = [(axis,) for axis in levels]
    terms = [*mains, *itertools.combinations(levels, 2)]
    columns = {term: _columns(cells, levels, term) for term in terms}
    effects = _coefficients([columns[term] for term in mains], table)
    table = table - table.mean(axis=0)  # whose squares round less
    spread = (table**2).sum(axis=0)
    varied = spread > ALIKE * (np.asarray(values, dtype=float) ** 2).sum(axis=0)
    shares = {}
    for term in terms:
        others = [columns[other] for other in terms if not set(term) <= set(other)]
        explained = _explained([*others, columns[term]], table) - _explained(others, table)
        shares[term] = np.divide(explained, spread, out=np.zeros_like(spread), where=varied)
    split = iter(effects)
    of_levels = {}
    for axis, names in levels.items():
        own = [next(split) for _ in names[:-1]]
        for name, effect in zip(names, [*own, -np.sum(own, axis=0)], strict=True):
            of_levels[axis, name] = effect
    return Effects(of_levels, shares)


def _columns(
    cells: Sequence[Mapping[str, str]], levels: Mapping[str, list[str]], term: Term
) -> Floats:
    """Sum-to-zero columns of a term, (cells, columns): products of those of its axes."""
    made = np.ones((len(cells), 1))
    for axis in term:
        names = levels[axis]
        coded = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])
        own = coded[[names.index(cell[axis]) for cell in cells]]
        made = (made[:, :, None] * own[:, None, :]).reshape(len(cells), -1)
    return made


def _design(columns: Sequence[Floats], cells: int) -> Floats:
    return np.hstack([np.ones((cells, 1)), *columns])


def _coefficients(columns: Sequence[Floats], table: Floats) -> Floats:
    """Coefficients but the mean; not numbers where the design does not determine them."""
    design = _design(columns, len(table))
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return np.full((design.shape[1] - 1, *table.shape[1:]), np.nan)
    found: Floats = np.linalg.pinv(design) @ table
    return found[1:]


def _explained(columns: Sequence[Floats], table: Floats) -> Floats:
    """The sum of squares of what a least-squares model predicts."""
    design = _design(columns, len(table))
    predicted: Floats = design @ (np.linalg.pinv(design) @ table)
    return np.asarray((predicted**2).sum(axis=0))
