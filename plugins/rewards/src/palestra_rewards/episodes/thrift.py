"""Doing without: tool calls that were not needed, and tokens that were not read."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import at_last, fitting, tag_of, won


def smart(record: EpisodeRecord, *, price: float = 0.05, waste: float = 0.2) -> Floats:
    """1 for success on the last turn, less `price` a tool call and `waste` more for a needless one.

    Tags, one entry a turn: "calls" (how many) and, if known, "needless" (how many of them the
    context already answered). "SMART: Self-Aware Agent for Tool Overuse Mitigation" (2025).
    """
    calls = fitting(tag_of(record, "calls", "smart", "tool calls"), record, "calls")
    needless = fitting(record.tags.get("needless", [0] * calls.size), record, "needless")
    return at_last(record, lambda seat: float(won(record, seat))) - price * calls - waste * needless


def overuse(calls: Floats, needed: Floats) -> dict[str, float]:
    """How often a tool was called without need, and not called where needed, over sub-questions."""
    used, need = floats(calls) > 0, floats(needed) > 0
    return {
        "overuse": float((used & ~need).sum() / max((~need).sum(), 1)),
        "underuse": float((~used & need).sum() / max(need.sum(), 1)),
    }


def agent_omit(record: EpisodeRecord, *, weight: float = 0.5) -> Floats:
    """1 for success plus `weight` times the share of tokens saved, granted on success only.

    The tag "full tokens" has, for each turn, what the whole context would have taken; what was
    read is in the record's usage. Paid on the last turn of each seat. "Agent-Omit".
    """
    full = fitting(
        tag_of(record, "full tokens", "agent-omit", "full contexts"), record, "full tokens"
    )
    read = floats([turn.usage.tokens_in for turn in record.turns])
    share = saved_share(full, read)
    return at_last(record, lambda seat: (1 + weight * share) * won(record, seat))


def saved_share(full: Floats, read: Floats) -> float:
    """Tokens not read over those of full contexts, from 0 to 1."""
    return float(max(full.sum() - read.sum(), 0) / full.sum()) if full.sum() else 0.0
