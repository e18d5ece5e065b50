"""A penalty on turns for answers that were refused as illegal."""

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
    """Each turn's own reward minus a price for each of its answers refused as illegal.

    Pass it to `group.replace(rewards=…)` to use it with any estimator. The default price is that
    of the training code of Feng et al., "Group-in-Group Policy Optimization" (2025).
    """
    return turn_rewards(record) - price * floats(refused_answers(record))
