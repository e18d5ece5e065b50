"""Results for readers: a table, a page, a Parquet file."""

from palestra_arena.report.costs import Costs, costs_table, make_costs, margins_table
from palestra_arena.report.files import write_json, write_markdown
from palestra_arena.report.generality import generality_of, generality_table
from palestra_arena.report.html import write_page
from palestra_arena.report.leaderboard import (
    Leaderboard,
    LeaderboardRow,
    leaderboard_of,
    make_leaderboard,
)
from palestra_arena.report.parquet import write_parquet
from palestra_arena.report.table import leaderboard_table

__all__ = [
    "Costs",
    "Leaderboard",
    "LeaderboardRow",
    "costs_table",
    "generality_of",
    "generality_table",
    "leaderboard_of",
    "leaderboard_table",
    "make_costs",
    "make_leaderboard",
    "margins_table",
    "write_json",
    "write_markdown",
    "write_page",
    "write_parquet",
]
