"""Rewards that depend on others: a human's gain, and beliefs about a user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, retrace, reward
from palestra.kernel.game import Game
from palestra.kernel.specs import load_entry_point

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import at_last, tag_of
from palestra_rewards.facts import fact
from palestra_rewards.options import Discount, Weight
from palestra_rewards.reading import turn_rewards

Goal = Callable[[Any, Any, int], bool]


class Goals:
    """What a person wants of an episode, as predicates over states; pass it as `goals=`.

    goals: for each name a function of (game, state, seat) that says whether the goal is reached,
    or its name "module:function". A goal counts once, when it is first reached after a step.
    weights: how much each matters to the person, 1 by default. game: for records without an
    environment id. The records' environments must be installed, because episodes are replayed.
    """

    def __init__(
        self,
        goals: Mapping[str, str | Goal],
        weights: Mapping[str, float] | None = None,
        *,
        game: Game[Any, Any] | None = None,
    ) -> None:
        unknown = sorted(set(weights or {}) - set(goals))
        if not goals or unknown:
            what = f"no goal is named {unknown[0]!r}" if unknown else "there are no goals"
            raise InvalidOption(f"{what}; the goals are {', '.join(goals) or 'none'}")
        self._goals: dict[str, Goal] = {
            name: load_entry_point(of) if isinstance(of, str) else of for name, of in goals.items()
        }
        self.weights = {name: (weights or {}).get(name, 1.0) for name in goals}
        self._game = game

    def reached(self, record: EpisodeRecord, seat: int) -> dict[str, int]:
        """The step, from 0, after which each goal that was reached first held."""
        found: dict[str, int] = {}
        for number, episode in enumerate(retrace(record, self._game)):
            for name in self._goals.keys() - found.keys() if number else ():
                if self._goals[name](episode.game, episode.state, seat):
                    found[name] = number - 1
        return found

    def __call__(self, record: EpisodeRecord, seat: int) -> float:
        """The sum of the weights of the goals that the seat reached."""
        return sum(self.weights[name] for name in self.reached(record, seat))


class UnaidedReturn:
    """A human's return beside partners who do nothing: the paper's primitive value.

    For a given record, the mean return of the human's seat over the records with the same start
    (the human's first `state_key`), or over all of them if none has it. records: episodes in which
    the human, or a stand-in for one, played beside passive partners. goals: what the human wants,
    whose reached weights then count in place of the return.
    """

    def __init__(
        self, records: Sequence[EpisodeRecord], human: int, goals: Goals | None = None
    ) -> None:
        if not records:
            raise InvalidOption("UnaidedReturn needs one record or more")
        self.human = human
        self._returns: dict[str, list[float]] = {}
        earned = [
            record.returns[human] if goals is None else goals(record, human) for record in records
        ]
        for record, value in zip(records, earned, strict=True):
            self._returns.setdefault(self._start(record), []).append(value)
        self.mean = float(np.mean(earned))

    def _start(self, record: EpisodeRecord) -> str:
        return next((t.state_key for t in record.turns if t.seat == self.human), "")

    def __call__(self, record: EpisodeRecord) -> float:
        own = self._returns.get(self._start(record))
        return float(np.mean(own)) if own else self.mean


@reward(
    "human-gain",
    shape="episode",
    needs=("unaided return",),
    paper=(
        "Enhancing Human Experience in Human-Agent Collaboration: A Human-Centered "
        "Modeling Approach Based on Positive Human Gain (2024)"
    ),
    check="test_a_partner_who_adds_nothing_gains_nothing",
)
def human_gain(
    record: EpisodeRecord,
    *,
    human: Annotated[int, Meta(ge=0, description="the human's seat")],
    unaided: Annotated[
        float | Callable[[EpisodeRecord], float],
        Meta(description="the human's return beside a passive partner, or an UnaidedReturn"),
    ],
    goals: Annotated[
        Goals | None, Meta(description="what the human wants, in place of the return")
    ] = None,
    weight: Annotated[float, Meta(description="weight of what the human gained")] = 1.0,
) -> Floats:
    """Own rewards plus what the human gained over playing unaided.

    Adds `weight` times the rise of the human's return above the unaided one to the last turn of
    every other seat. `human` is the seat and `unaided` its return beside a partner who does
    nothing, or an `UnaidedReturn` that estimates it from records. With `goals`, both count the
    weights of the goals that the human reached. A lower return takes nothing off, and the human's
    own turns keep their rewards. "Positive Human Gain" (2024).
    """
    if not 0 <= human < len(record.players):
        raise InvalidOption(f"human must be a seat from 0 to {len(record.players) - 1}")
    alone = unaided(record) if callable(unaided) else unaided
    helped = record.returns[human] if goals is None else goals(record, human)
    gain = max(0.0, helped - alone)
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
