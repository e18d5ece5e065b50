"""Measures of board games."""

from __future__ import annotations

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of
from palestra.records.shared_measures import win as wins

BOARDS = (
    "games/Breakthrough-v0",
    "games/Chess-v0",
    "games/ConnectFour-v0",
    "games/Gomoku-v0",
    "games/Hex-v0",
    "games/Othello-v0",
    "games/TicTacToe-v0",
)


@metric("first-mover-score", measures=BOARDS, bounds=(0.0, 1.0))
def first_mover_score(record: EpisodeRecord) -> float | None:
    """1 if the player who began won, 1/2 for a draw, 0 if they lost; undefined if cut short."""
    found = wins(record)
    if found is None or record.outcome is None:
        return None
    return 0.5 if record.outcome.results[0] == "draw" else found[record.players[0]]


@metric("victory-points", measures=("games/Catan-v0",), unit="points", bounds=(0.0, None))
def victory_points(record: EpisodeRecord) -> dict[str, float]:
    """Points at the end, hidden ones included, by player; undefined if the game was cut short."""
    ends = [data["points"] for data in data_of(record, "reveal") if "points" in data]
    return dict(zip(record.players, map(float, ends[-1]), strict=True)) if ends else {}


@metric("offers-traded", measures=("games/Catan-v0",), bounds=(0.0, 1.0))
def offers_traded(record: EpisodeRecord) -> float | None:
    """The share of offers that led to a trade between players; undefined without offers."""
    offers = len(data_of(record, "offer"))
    return len(data_of(record, "trade")) / offers if offers else None
