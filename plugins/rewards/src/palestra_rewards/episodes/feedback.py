"""EPO: turns an environment's feedback into preferences between decisions.

A reward model reads the environment's feedback and a decision, and scores how well they fit. It
is fitted where an expert's decisions are known; elsewhere it ranks the decisions that several
rollouts took at the same prompt, and the pairs train the policies of every level.
Zhao et al., "EPO: Hierarchical LLM Agents with Environment Preference Optimization" (2024), for
texts, where the paper also has pictures; `learnt.texts.StoryNetwork` is the model that it tunes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, retrace, reward
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.intents import Triplet
from palestra_rewards.learnt.texts import Scorer
from palestra_rewards.training_rows import Row, Rows, prompts_of, role_rows

if TYPE_CHECKING:
    from torch import Tensor

SHOWN = 4  # latest events that the model reads with a decision


def feedback(record: EpisodeRecord, game: Game[Any, Any] | None = None) -> list[str]:
    """Text of the last events and the position that each turn's seat saw before it decided."""
    found = []
    for episode, step in zip(retrace(record, game), record.steps, strict=False):
        for turn in step.turns:
            events = episode.transcript(turn.seat)[-SHOWN:]
            told = [event.text for event in events]
            found.append("\n".join([*told, episode.describe(turn.seat)]))
    return found


def expert_choices(
    records: Sequence[EpisodeRecord], *, seat: int = 0, game: Game[Any, Any] | None = None
) -> list[Triplet]:
    """An expert's decisions, each preferred to every other that was legal there.

    The action played counts as right and every other legal action as wrong. Only actions that the
    game lists are used, so a free-text game has none. Raises `InvalidOption` if there is no pair.
    """
    found = []
    for record in records:
        told = iter(feedback(record, game))
        for episode, step in zip(retrace(record, game), record.steps, strict=False):
            for turn in step.turns:
                text = next(told)
                others = episode.legal_texts(seat) if turn.seat == seat else []
                found += [Triplet(text, turn.text, one) for one in others if one != turn.text]
    if not found:
        raise InvalidOption(f"no record has a turn of seat {seat} with two or more listed actions")
    return found


@reward(
    "epo",
    shape="episode",
    needs=("feedback model",),
    paper="EPO: Hierarchical LLM Agents with Environment Preference Optimization (2024)",
    check="test_preferences_from_feedback_agree_with_the_expert_where_it_never_was",
)
def epo(
    record: EpisodeRecord,
    *,
    scores: Annotated[Scorer, Meta(description="a scorer that was fitted to expert choices")],
    game: Annotated[
        Game[Any, Any] | None, Meta(description="the game, if records name none")
    ] = None,
) -> Floats:
    """How well each decision fits what the environment said before it, by a fitted model.

    `scores` is a `StoryNetwork` or a linear `TrajectoryScorer`, fitted to `expert_choices`.
    `role_rows(records, shape("epo", records, …), threshold=-inf)` ranks the decisions of rollouts
    at the same prompt and returns the pairs of every role; train on them with `epo_loss`. Zhao et
    al., "EPO" (2024).
    """
    told = zip(feedback(record, game), record.turns, strict=True)
    return floats([scores.score(text, turn.text) for text, turn in told])


def preferences(
    records: Sequence[EpisodeRecord],
    scores: Scorer,
    *,
    gap: float = 0.0,
    game: Game[Any, Any] | None = None,
) -> dict[str, Rows]:
    """Preference pairs by role from unlabelled rollouts: EPO's data set for each level."""
    worth = np.concatenate([epo(record, scores=scores, game=game) for record in records])
    return role_rows(records, worth, threshold=-np.inf, gap=gap, game=game)


def refusals(records: Sequence[EpisodeRecord], *, game: Game[Any, Any] | None = None) -> list[Row]:
    """Preference pairs from refusals: the answer that was played over those that were refused.

    Here the environment's rule of what is legal is the reward model. A turn whose answer was
    replaced by the policy for invalid moves gives no pair, because no agent chose what was played.
    """
    rows: list[Row] = []
    for record in records:
        if not any(turn.status == "retried" for turn in record.turns):
            continue
        for turn, prompt in zip(record.turns, prompts_of(record, game), strict=True):
            if turn.status != "retried":
                continue
            chosen = [{"role": "assistant", "content": turn.raw or turn.text}]
            rows += [
                {
                    "prompt": prompt,
                    "chosen": chosen,
                    "rejected": [{"role": "assistant", "content": attempt.raw}],
                }
                for attempt in turn.refused
                if attempt.raw
            ]
    return rows


def epo_loss(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    tokens: Tensor,
    *,
    beta: float = 0.1,
    weight: float = 1.0,
) -> Tensor:
    """The loss of EPO: a preference term, and the likelihood per token of the chosen answer.

    The mean over pairs of `-log sigmoid(beta (gain of chosen - gain of rejected)) - weight *
    chosen / tokens`, where a gain is the log-probability minus that of the reference. Tensors have
    shape (pairs,): log-probabilities of answers under the policy and the reference, and the number
    of tokens of the chosen answers.
    """
    from torch.nn.functional import logsigmoid

    gains = (chosen - reference_chosen) - (rejected - reference_rejected)
    loss: Tensor = -logsigmoid(beta * gains) - weight * chosen / tokens
    return loss.mean()
