"""Rewards for economy: no needless tool calls, and fewer tokens read."""

from __future__ import annotations

from typing import Annotated

from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import at_last, fitting, tag_of, won
from palestra_rewards.facts import fact


@reward(
    "smart",
    shape="episode",
    needs=("tool calls",),
    paper="SMART: Self-Aware Agent for Tool Overuse Mitigation (2025)",
    check="test_needless_calls_cost_more",
)
def smart(
    record: EpisodeRecord,
    *,
    price: Annotated[float, Meta(ge=0, description="taken off for each tool call")] = 0.05,
    waste: Annotated[
        float, Meta(ge=0, description="taken off in addition for each needless call")
    ] = 0.2,
) -> Floats:
    """Success minus a price for tool calls, and a higher one for needless calls.

    1 for success on the last turn, minus `price` per tool call and `waste` more if it is needless.

    Facts, one entry per turn: "calls" (a list, or a number) and, if known, "needless" (how many of
    them the context already answered). "SMART: Self-Aware Agent for Tool Overuse Mitigation"
    (2025).
    """
    made = tag_of(record, "calls", "smart", "tool calls")
    calls = fitting([n if isinstance(n, int | float) else len(n) for n in made], record, "calls")
    needless = fitting(fact(record, "needless") or [0] * calls.size, record, "needless")
    return (
        at_last(record, lambda person: float(won(record, person)))
        - price * calls
        - waste * needless
    )


def overuse(calls: Floats, needed: Floats) -> dict[str, float]:
    """How often a tool was called without need, and how often not called when needed.

    Both arrays have one number per sub-question: calls made, and calls needed.
    """
    used, need = floats(calls) > 0, floats(needed) > 0
    return {
        "overuse": float((used & ~need).sum() / max((~need).sum(), 1)),
        "underuse": float((~used & need).sum() / max(need.sum(), 1)),
    }


@reward(
    "agent-omit",
    shape="episode",
    needs=("full contexts",),
    paper=(
        "Agent-Omit: Training Efficient LLM Agents for Adaptive Thought and Observation "
        "Omission via Agentic Reinforcement Learning"
    ),
    check="test_saved_tokens_pay_on_success_only",
)
def agent_omit(
    record: EpisodeRecord,
    *,
    weight: Annotated[float, Meta(description="weight of the share of tokens saved")] = 0.5,
) -> Floats:
    """Success plus a share of the tokens saved, paid on success only.

    1 plus `weight` times the share saved, on the last turn of each seat. The tag "full tokens" has,
    for each turn, the size of the whole context; the tokens read come from the record's usage,
    refused answers included. "Agent-Omit".
    """
    full = fitting(
        tag_of(record, "full tokens", "agent-omit", "full contexts"), record, "full tokens"
    )
    read = floats([turn.spent.tokens_in for turn in record.turns])
    share = saved_share(full, read)
    return at_last(record, lambda person: (1 + weight * share) * won(record, person))


def saved_share(full: Floats, read: Floats) -> float:
    """Share of the full contexts' tokens that was not read, from 0 to 1."""
    return float(max(full.sum() - read.sum(), 0) / full.sum()) if full.sum() else 0.0
