"""CoMAS: what the members of a discussion earn from one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import tag_of


@reward(
    "comas",
    shape="episode",
    needs=("discussion",),
    paper="CoMAS: Co-Evolving Multi-Agent Systems via Interaction Rewards (2025)",
    check="test_solver_and_evaluator_share_one_and_a_constant_scorer_teaches_nothing",
)
def comas(record: EpisodeRecord) -> Floats:
    """An answer earns its score s, its evaluation 1 - s, and a scorer who gives no score loses 1.

    A score of 1, 2 or 3 is worth s = 0, 1/2 or 1: the answer's turn is paid s, the evaluation's
    1 - s, and the scoring's 0. Where no score could be read, the scoring is paid -1 and the others
    0. The tag "discussion" lists the numbers of the turns of each answer, evaluation and scoring
    with the score, as the adapter `comas` writes it. The task's outcome is not used. Xue et al.,
    "CoMAS" (2025).
    """
    paid = np.zeros(len(record.turns))
    for one in tag_of(record, "discussion", "comas", "discussion"):
        score = one["score"]
        if score is None:
            paid[one["scoring"]] -= 1.0
            continue
        if score not in (1, 2, 3):
            raise InvalidOption(f"a score in the tag 'discussion' is 1, 2 or 3, not {score!r}")
        share = (score - 1) / 2
        paid[one["answer"]] += share
        paid[one["evaluation"]] += 1 - share
    return paid


def agreement(records: Sequence[EpisodeRecord]) -> dict[str, float]:
    """How well discussion scores agree with the truth, to detect members who praise each other.

    Takes settled discussions, whose tag "process" says what each answer was worth. Returns
    "scores", the number of readable scores; "spread", the standard deviation of their shares (0 if
    the scores carry no information); and "fit", the correlation of the shares with the answers'
    worths (nan if either is constant).
    """
    pairs: list[tuple[float, float]] = []
    for record in records:
        worths: Any = tag_of(record, "process", "agreement", "process rewards")
        pairs += [
            ((one["score"] - 1) / 2, worths[one["answer"]])
            for one in tag_of(record, "discussion", "agreement", "discussion")
            if one["score"] is not None
        ]
    if not pairs:
        raise InvalidOption("none of these discussions has a readable score")
    shares, worths = np.array(pairs).T
    apart = shares.std() > 0 and worths.std() > 0
    fit = float(np.corrcoef(shares, worths)[0, 1]) if apart else float("nan")
    return {"scores": float(len(pairs)), "spread": float(shares.std()), "fit": fit}
