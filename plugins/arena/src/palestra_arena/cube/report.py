"""A cube of agents as tables: one for each environment, one for each axis, one of effects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from palestra import Interval, InvalidOption, Usage
from rich.console import Console
from rich.table import Table

from palestra_arena.axes import Axes
from palestra_arena.cube.effects import effects_of
from palestra_arena.cube.scores import Key, Means, Scores
from palestra_arena.ratings.contests import Floats
from palestra_arena.report.leaderboard import share_refused
from palestra_arena.report.table import fitted, percent, row_table, spread

AXES = ("model", "scaffold", "level", "environment")


@dataclass(frozen=True, slots=True)
class CubeRow:
    """One cell, or one level of an axis: the mean of its cells, and what all their games took."""

    name: str
    score: Interval
    effect: Interval | None
    cells: int
    games: int
    usage: Usage
    refused: float | None
    forfeits: float


@dataclass(frozen=True, slots=True)
class Cube:
    """Cells by environment, levels by axis, the shares of axes and of pairs of them.

    `worse` is how often a cell was below its neighbour of a lower level, of how many pairs.
    `missing` are the cells without games.
    """

    cells: dict[str, list[CubeRow]]
    axes: dict[str, list[CubeRow]]
    shares: dict[str, Interval]
    worse: tuple[int, int]
    missing: list[Key]


def cube_of(scores: Mapping[Key, Scores], means: Means, agents: Mapping[str, Axes]) -> Cube:
    """The cube of `agents`; scores and means of other agents are not part of it.

    Raises `InvalidOption` if none of the agents has played.
    """
    environments = sorted({label for _, label in means.cells})
    keys = [(a, e) for a in agents for e in environments if (a, e) in means.cells]
    if not keys:
        raise InvalidOption("no game of a crossed agent counts; play some, or see the leaderboard")
    places = [asdict(agents[agent]) | {"environment": label} for agent, label in keys]
    table = np.array([means.cells[key] for key in keys])
    effects = effects_of(places, table)
    axes = {}
    for axis in dict.fromkeys(axis for axis, _ in effects.levels):
        order = [name for of, name in effects.levels if of == axis]
        axes[axis] = [
            _row(
                name,
                means,
                scores,
                [key for key, place in zip(keys, places, strict=True) if place[axis] == name],
                effects.levels[axis, name],
            )
            for name in order
        ]
    cells = {
        label: [_row(a, means, scores, [(a, label)]) for a, here in keys if here == label]
        for label in environments
    }
    return Cube(
        cells,
        axes,
        {" × ".join(term): means.interval(share) for term, share in effects.shares.items()},
        _worse(means, agents, environments),
        [(a, e) for a in agents for e in environments if (a, e) not in means.cells],
    )


def _row(
    name: str,
    means: Means,
    scores: Mapping[Key, Scores],
    keys: Sequence[Key],
    effect: Floats | None = None,
) -> CubeRow:
    total = Scores({})
    for key in keys:
        total = total.plus(scores[key])
    blocks = sum(len(scores[key].by_seed) for key in keys)
    return CubeRow(
        name,
        means.interval(np.mean([means.cells[key] for key in keys], axis=0), blocks),
        None if effect is None else means.interval(effect),
        len(keys),
        total.games,
        total.usage,
        share_refused(total.refused, total.answers),
        total.forfeits / total.games,
    )


def _worse(
    means: Means, agents: Mapping[str, Axes], environments: Sequence[str]
) -> tuple[int, int]:
    """How many cells are below the same cell one level lower, and how many have one."""
    named = {axes: agent for agent, axes in agents.items()}
    levels = list(dict.fromkeys(axes.level for axes in named))
    worse = pairs = 0
    for axes in named:
        at = levels.index(axes.level)
        for label in environments if at else ():
            more = means.cells.get((named[axes], label))
            less = means.cells.get((named[replace(axes, level=levels[at - 1])], label))
            if more is not None and less is not None:
                pairs, worse = pairs + 1, worse + bool(more[0] < less[0])
    return worse, pairs


def cube_tables(cube: Cube, console: Console) -> Iterator[Table]:
    """The tables in the order in which they are read: environments, axes, shares.

    They have as many columns as the console is wide.
    """
    for label, rows in cube.cells.items():
        yield _fitted(label, rows, console)
    for axis, rows in cube.axes.items():
        yield _fitted(f"by {axis}", rows, console)
    shares = [(term, {"share": spread(share, 2)}) for term, share in cube.shares.items()]
    yield row_table("of the variance between cells", ["share"], shares)


def _fitted(title: str, rows: Sequence[CubeRow], console: Console) -> Table:
    left_out = {
        "effect": not any(row.effect for row in rows),
        "money": not any(row.usage.cost for row in rows),
    }
    names = [name for name in _cells(rows[0]) if not left_out.get(name)]
    cells = [(row.name or "(none)", _cells(row)) for row in rows]
    dropped = ("games", "seconds", "tokens")
    return fitted(console, names, dropped, lambda names: row_table(title, names, cells))


def _cells(row: CubeRow) -> dict[str, str]:
    """Every column of a row as text; what was spent is a game's mean."""
    used, games = row.usage, row.games
    return {
        "score": spread(row.score, 2),
        "effect": _effect(row.effect),
        "refused": percent(row.refused),
        "forfeits": percent(row.forfeits),
        "tokens": f"{used.tokens / games:,.0f}",
        "money": f"{used.cost / games:.4f}",
        "seconds": f"{used.seconds / games:.2g}",
        "games": f"{games:,}",
    }


def _effect(effect: Interval | None) -> str:
    return spread(effect, 2) if effect is not None and math.isfinite(effect.value) else "–"
