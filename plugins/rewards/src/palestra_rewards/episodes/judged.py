"""Rewards from a judge's grades of episodes and turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward
from palestra.quoting import disarm

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import at_last, fitting, tag_of
from palestra_rewards.judges.metrics import Metric, rate
from palestra_rewards.judges.panel import judge_by
from palestra_rewards.judges.rubrics import Rubric
from palestra_rewards.judges.scale import Scale, grade, prefer
from palestra_rewards.judges.service import Judge, JudgeModel, open_judge
from palestra_rewards.judges.showing import as_text, turn_texts

WELL = Scale("Was the task done well?")
STEP = Scale("Was the last step good?")
PROVEN = Scale("Do these steps alone prove that the task is done?", ("no", "yes"))
BETTER = "Which of the two is the better next action?"


@reward(
    "judge",
    shape="episode",
    needs=("model judge",),
    paper=(
        "DialogGuard: Multi-Agent Psychosocial Safety Evaluation of Sensitive LLM Responses (2025)"
    ),
    check="test_a_vote_of_independent_judges_follows_the_binomial",
    cost="1 to 5 judgements",
)
def judge(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    scale: Annotated[
        Scale, Meta(description="the question that is asked, and the levels of its answers")
    ] = WELL,
    form: Annotated[
        Literal["single", "corrected", "debate", "vote"],
        Meta(description="how the judgement is made"),
    ] = "single",
    pays: Annotated[
        Literal["score", "product"],
        Meta(
            description="score: the judge's score; product: what the game paid times the score, "
            "in place of the game's own rewards"
        ),
    ] = "score",
) -> Floats:
    """A model's grade of the episode, by one judgement, a corrected one, a debate or a vote.

    The judge's score of the whole episode, from 0 to 1, on the last turn of each seat.

    `form` is "single", "corrected", "debate" or "vote": the pipelines of DialogGuard (2025).
    `pays="product"` is for games that do not read words themselves: pay then needs the game's
    rules and the judge's consent. A loss in the game stays as it is.
    """
    (found,) = judge_by(form, open_judge(judge), scale, [as_text(record)])
    if pays == "score":
        return at_last(record, lambda _: found.score)
    return at_last(record, lambda one: one.paid * found.score if one.paid > 0 else one.paid)


@reward(
    "step-judge",
    shape="episode",
    needs=("model judge",),
    paper="STEVE: A Step Verification Pipeline for Computer-use Agent Training (2025)",
    check="test_a_step_judge_sees_each_turn_and_none_after_it",
    cost="one judgement per turn",
)
def step_scores(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    scale: Annotated[
        Scale, Meta(description="the question that is asked, and the levels of its answers")
    ] = STEP,
) -> Floats:
    """A model's grade of every turn, which other shapers can take as `scores=`.

    Scores are from 0 to 1; the judge sees the episode up to each turn and the events after it.

    All turns are asked in one batch. Bind the judge to pass it as `scores=` to other shapers.
    """
    shown = [as_text(record, until=turn + 1) for turn in range(len(record.turns))]
    return floats([one.score for one in grade(open_judge(judge), scale, shown)])


@reward(
    "rubric",
    shape="episode",
    needs=("rubric",),
    paper="ARCANE: A Multi-Agent Framework for Interpretable and Configurable Alignment",
    check="test_weights_of_a_rubric_change_rewards_at_once_and_find_a_stakeholder",
    cost="one judgement per criterion",
)
def rubric(
    record: EpisodeRecord,
    *,
    rubric: Annotated[Rubric, Meta(description="the rubric that marks the record")],
) -> Floats:
    """Weighted criteria, judged by programs or a model; the weights can be changed.

    The rubric's weighted mean is paid on the last turn of each seat; see `judges.rubrics`.
    "ARCANE".
    """
    score = rubric.score(record)
    return at_last(record, lambda _: score)


@reward(
    "autolibra",
    shape="episode",
    needs=("model judge", "metrics"),
    paper="AutoLibra: Agent Metric Induction from Open-Ended Feedback (2025)",
    check="test_planted_behaviours_are_covered_whole",
    cost="one judgement per metric",
)
def autolibra(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    metrics: Annotated[Sequence[Metric], Meta(description="the metrics that the judge marks")],
) -> Floats:
    """Mean rating by metrics that were induced from free comments.

    The mean of the metrics' ratings (1, 0, -1) is paid on the last turn of each seat. "AutoLibra".
    """
    score = float(rate(open_judge(judge), metrics, [record]).mean())
    return at_last(record, lambda _: score)


@reward(
    "webarbiter",
    shape="episode",
    needs=("model judge", "candidates"),
    paper="WebArbiter: A Principle-Guided Reasoning Process Reward Model for Web Agents",
    check="test_an_arbiter_of_places_pays_one_half_and_a_true_one_what_was_beaten",
    cost="4 questions per candidate",
)
def webarbiter(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    task: Annotated[str, Meta(description="the question that the judge decides")] = BETTER,
) -> Floats:
    """Share of the proposed actions that the one played beats, judged by principles.

    The tag "candidates" lists, for each turn, actions that were proposed and not played; the judge
    sees what came before, writes principles and compares, in both orders. A turn without
    candidates is paid 1/2. "WebArbiter: A Principle-Guided Reasoning Process Reward Model for Web
    Agents".
    """
    others = tag_of(record, "candidates", "webarbiter", "candidates")
    fitting([0.0] * len(others), record, "candidates")
    pairs = [
        (f"{before}\n> {disarm(turn.text)}", f"{before}\n> {disarm(other)}")
        for place, turn in enumerate(record.turns)
        for before in [as_text(record, until=place)]
        for other in others[place]
    ]
    won = iter(prefer(open_judge(judge), task, pairs, principles=True))
    return floats([np.mean([next(won) for _ in row]) if row else 0.5 for row in others])


@reward(
    "smartsnap",
    shape="episode",
    needs=("model judge", "evidence"),
    paper="SmartSnap: Proactive Evidence Seeking for Self-Verifying Agents",
    check="test_irrelevant_evidence_fails_and_more_of_it_pays_less",
    cost="one judgement",
)
def smartsnap(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    task: Annotated[str, Meta(description="what had to be done")],
    most: Annotated[int, Meta(ge=1, description="turns that may be cited")] = 5,
    price: Annotated[
        float, Meta(ge=0, description="taken off for each cited turn beyond the first")
    ] = 0.05,
) -> Floats:
    """Success proven by the turns that an agent cites; fewer turns pay more.

    1 if the cited turns alone prove the task done, minus `price` for each beyond the first.

    The tag "evidence" lists the numbers of the turns that the agent cites. If it names no turn, an
    unknown turn, a turn twice, or more than `most` turns, nothing is judged or paid. "SmartSnap:
    Proactive Evidence Seeking for Self-Verifying Agents".
    """
    cited = tag_of(record, "evidence", "smartsnap", "evidence")
    turns = turn_texts(record)
    formed = 0 < len(cited) <= most and len(set(cited)) == len(cited)
    if not formed or any(one not in range(len(turns)) for one in cited):
        return np.zeros(len(turns))
    shown = "\n".join([f"Task: {task}", *(turns[one] for one in cited)])
    (found,) = grade(open_judge(judge), PROVEN, [shown])
    paid = found.score - price * (len(cited) - 1) if found.score else 0.0
    return at_last(record, lambda _: paid)


def compare_lines(judge: Judge | str, records: Sequence[EpisodeRecord], question: str) -> Floats:
    """Probability that one episode is better than another; pass it as `prefer=` or `judge=`.

    Shape (episodes, episodes), 1/2 on the diagonal. Only for records in which one seat decides,
    where a line is a whole episode. All pairs are asked in one batch, in both orders.
    """
    if any(len({turn.seat for turn in record.turns}) != 1 for record in records):
        raise InvalidOption("compare_lines takes only records in which exactly one seat decides")
    texts, size = [as_text(record) for record in records], len(records)
    above = list(zip(*np.triu_indices(size, 1), strict=True))
    table = np.full((size, size), 0.5)
    won = prefer(open_judge(judge), question, [(texts[i], texts[j]) for i, j in above])
    for (i, j), chance in zip(above, won, strict=True):
        table[i, j], table[j, i] = chance, 1 - chance
    return table
