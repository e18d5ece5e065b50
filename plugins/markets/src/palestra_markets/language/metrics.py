"""GLEE's numbers over a record of bargaining."""

from __future__ import annotations

from palestra import EpisodeRecord


def deal_efficiency(record: EpisodeRecord) -> float:
    """What both got, over the sum to divide: 1 for a deal at once, 0 without one."""
    return sum(record.returns) / float(record.options["total"])


def deal_fairness(record: EpisodeRecord) -> float:
    """1 - 4 (p - 1/2)^2, where p is the first player's part of what both got; 1 without a deal."""
    total = sum(record.returns)
    return 1 - 4 * (record.returns[0] / total - 0.5) ** 2 if total else 1.0


def first_seat_gain(record: EpisodeRecord) -> float:
    """What the first player got, over the sum."""
    return record.returns[0] / float(record.options["total"])
