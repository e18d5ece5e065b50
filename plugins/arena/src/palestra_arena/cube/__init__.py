"""Models × scaffolds × environments: cells, pivots over each axis, effects, paired comparisons."""

from palestra_arena.cube.against import Change, changes_against, recovery_gaps
from palestra_arena.cube.effects import Effects, effects_of
from palestra_arena.cube.report import Cube, CubeRow, cube_of, cube_tables
from palestra_arena.cube.scores import Means, Scores, scores_of

__all__ = [
    "Change",
    "Cube",
    "CubeRow",
    "Effects",
    "Means",
    "Scores",
    "changes_against",
    "cube_of",
    "cube_tables",
    "effects_of",
    "recovery_gaps",
    "scores_of",
]
