"""Answers that were refused as illegal, as a price on the turns that gave them."""

from __future__ import annotations

from typing import Annotated

from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.reading import refused_answers, turn_rewards


@reward(
    "invalid-penalty",
    shape="episode",
    paper="Feng et al. (2025), Group-in-Group Policy Optimization for LLM Agent Training",
    check="test_illegal_answers_are_paid_for",
)
def invalid_penalty(
    record: EpisodeRecord,
    *,
    price: Annotated[float, Meta(ge=0, description="taken off for each refused answer")] = 0.1,
) -> Floats:
    """A turn's own reward less a price for each of its answers that was refused as illegal.

    With `group.replace(rewards=…)` every estimator learns from it. The price is that of the
    training code of Feng et al., "Group-in-Group Policy Optimization" (2025).
    """
    return turn_rewards(record) - price * floats(refused_answers(record))
