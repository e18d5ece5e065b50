"""RewardDance: a judge's probability of "yes" as the reward, compared with a reference.

Wu et al., "RewardDance: Reward Scaling in Visual Generation" (2025), applied to texts. One context
holds the question, the instructions and examples; the reward is the model's probability of "yes".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Annotated

from palestra import EpisodeRecord, InvalidOption, Meta, reward
from palestra.agents.models import Message, Model, Request

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last
from palestra_rewards.judges.service import Judge, JudgeModel, open_judge
from palestra_rewards.judges.showing import as_text

ANSWERS = ("yes", "no")
ASK = "Is the second attempt better at the task than the first? Answer yes or no."
SHOWN = (
    "{instructions}Task: {task}\n\nFirst attempt:\n{reference}\n\nSecond attempt:\n{text}\n\n{ask}"
)


def chance_of_yes(judge: Judge | str, texts: Sequence[str]) -> list[float]:
    """A model's P(yes) / (P(yes) + P(no)) for each question; all are asked in one batch.

    Raises `InvalidOption` for a model without `score` in its abilities, which cannot score
    continuations.
    """
    model: Model = open_judge(judge).model
    if "score" not in model.abilities:
        raise InvalidOption(
            f"{model.name} cannot say how likely a word is; use local: or vllm:, or step-judge"
        )
    requests = [Request((Message("user", text),), score=ANSWERS) for text in texts]
    found = []
    for reply in model.chat(requests):
        yes, no = (one.logprob for one in reply.scores)
        found.append(1 / (1 + exp(min(no - yes, 500.0))))
    return found


@reward(
    "rewarddance",
    shape="episode",
    needs=("model judge",),
    paper="RewardDance: Reward Scaling in Visual Generation (2025)",
    check="test_the_reward_is_the_chance_of_yes_beside_a_reference",
    cost="one judgement",
)
def rewarddance(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    task: Annotated[str, Meta(description="what had to be done")],
    reference: Annotated[str, Meta(description="the attempt it is compared with, as text")],
    instructions: Annotated[
        str, Meta(description="criteria and examples that the judge reads first")
    ] = "",
) -> Floats:
    """A model's probability that the episode is better than a reference, from 0 to 1.

    It is paid on the last turn of each seat. `reference` is another episode as text
    (`judges.as_text`), such as the best of the group so far. Wu et al., "RewardDance" (2025).
    """
    first = f"{instructions}\n\n" if instructions else ""
    text = SHOWN.format(
        instructions=first, task=task, reference=reference, text=as_text(record), ask=ASK
    )
    (chance,) = chance_of_yes(judge, [text])
    return at_last(record, lambda _: chance)
