"""Rewards that depend on others: a human's gain, and beliefs about a user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import at_last, tag_of
from palestra_rewards.facts import fact
from palestra_rewards.options import Discount, Weight
from palestra_rewards.reading import turn_rewards


class Unaided:
    """A human's return beside partners who do nothing: the paper's primitive value.

    For a given record, the mean return of the human's seat over the records with the same start
    (the human's first `state_key`), or over all of them if none has it. records: episodes in which
    the human, or a stand-in for one, played beside passive partners.
    """

    def __init__(self, records: Sequence[EpisodeRecord], human: int) -> None:
        if not records:
            raise InvalidOption("Unaided needs one record or more")
        self.human = human
        self._returns: dict[str, list[float]] = {}
        for record in records:
            self._returns.setdefault(self._start(record), []).append(record.returns[human])
        self.mean = float(np.mean([record.returns[human] for record in records]))

    def _start(self, record: EpisodeRecord) -> str:
        return next((t.state_key for t in record.turns if t.seat == self.human), "")

    def __call__(self, record: EpisodeRecord) -> float:
        own = self._returns.get(self._start(record))
        return float(np.mean(own)) if own else self.mean


@reward(
    "human-gain",
    shape="episode",
    needs=("unaided return",),
    paper="Human-Centered Modeling Based on Positive Human Gain (2024)",
    check="test_a_partner_who_adds_nothing_gains_nothing",
)
def human_gain(
    record: EpisodeRecord,
    *,
    human: Annotated[int, Meta(ge=0, description="the human's seat")],
    unaided: Annotated[
        float | Callable[[EpisodeRecord], float],
        Meta(description="the human's return beside a passive partner, or an Unaided"),
    ],
    weight: Annotated[float, Meta(description="weight of what the human gained")] = 1.0,
) -> Floats:
    """Own rewards plus what the human gained over playing unaided.

    Adds `weight` times the rise of the human's return above the unaided one to the last turn of
    every other seat. `human` is the seat and `unaided` its return beside a partner who does
    nothing, or an `Unaided` that estimates it from records. A lower return takes nothing off, and
    the human's own turns keep their rewards. "Positive Human Gain" (2024).
    """
    if not 0 <= human < len(record.players):
        raise InvalidOption(f"human must be a seat from 0 to {len(record.players) - 1}")
    alone = unaided(record) if callable(unaided) else unaided
    gain = max(0.0, record.returns[human] - alone)
    return turn_rewards(record) + at_last(
        record, lambda person: weight * gain if person.seat != human else 0.0
    )


@reward(
    "curiosity",
    shape="episode",
    needs=("beliefs",),
    paper="Enhancing Personalized Multi-Turn Dialogue with Curiosity Reward (2025)",
    check="test_curiosity_telescopes_to_what_was_learnt",
)
def curiosity(
    record: EpisodeRecord,
    *,
    measure: Annotated[
        Literal["probability", "log", "entropy"],
        Meta(description="how a belief about the user's type is scored"),
    ] = "probability",
    gamma: Discount = 1.0,
    weight: Weight = 1.0,
) -> Floats:
    """What a turn taught about the user's type.

    Each turn is paid `gamma * f(belief after) - f(belief before)`. The tag "belief" lists the user
    model's probabilities of types before the first turn and after each; `f` is the probability or
    log-probability of the tag "type", or minus the entropy. "Enhancing Personalized Multi-Turn
    Dialogue with Curiosity Reward" (2025).
    """
    beliefs = floats(tag_of(record, "belief", "curiosity", "beliefs"))
    if beliefs.ndim != 2 or len(beliefs) != len(record.turns) + 1:
        raise InvalidOption(
            f"belief has one row before the first turn and one after each: {len(record.turns) + 1} "
            f"rows of probabilities, not shape {beliefs.shape}"
        )
    known = sureness(beliefs, measure, fact(record, "type"))
    return weight * (gamma * known[1:] - known[:-1])


def sureness(beliefs: Floats, measure: str, true: int | None) -> Floats:
    """The measure's score of each belief, shape (beliefs,)."""
    if measure == "entropy":
        return floats((beliefs * np.log(np.maximum(beliefs, 1e-12))).sum(axis=1))
    if true is None:
        raise InvalidOption(f"measure={measure} needs the tag 'type', the user's true type")
    chance = beliefs[:, int(true)]
    return chance if measure == "probability" else np.log(np.maximum(chance, 1e-12))
