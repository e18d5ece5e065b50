"""Models fitted to records: the value of an episode so far, and how expert-like a turn is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from zlib import crc32

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.judged import step_scores
from palestra_rewards.episodes.progress import ProgressModel
from palestra_rewards.episodes.turns import Scores, fitting, lines_of, scores_of, tag_of
from palestra_rewards.judges.scale import Scale
from palestra_rewards.judges.service import Judge, open_judge
from palestra_rewards.reading import turn_rewards

HOPE = Scale("Will the task be done well, going on from here?", ("no", "maybe", "yes"))


class ValueModel(ProgressModel):
    """What a seat's episode will pay, estimated from the hashed words of its turns so far.

    Ridge regression on the words of every prefix; targets are `values` (one per turn, such as a
    tree search's), or else the seat's total reward.
    """

    def fit(self, records: Sequence[EpisodeRecord], values: Scores | None = None) -> ValueModel:
        rows, targets = [], []
        for record in records:
            table, paid = so_far(record, self.features(record)), turn_rewards(record)
            given = None if values is None else fitting(values(record), record, "values")
            for turns in lines_of(record):
                rows.append(table[turns])
                whole = np.full(turns.size, paid[turns].sum())
                targets.append(whole if given is None else given[turns])
        prefixes = np.concatenate(rows)
        gram = prefixes @ prefixes.T + self.ridge * np.eye(len(prefixes))
        self.weights = floats(prefixes.T @ np.linalg.solve(gram, np.concatenate(targets)))
        return self

    def __call__(self, record: EpisodeRecord) -> Floats:
        return floats(so_far(record, self.features(record)) @ self.weights)


def so_far(record: EpisodeRecord, values: Floats) -> Floats:
    """Running sums over each seat's turns."""
    summed = np.empty_like(values)
    for turns in lines_of(record):
        summed[turns] = values[turns].cumsum(axis=0)
    return summed


@reward(
    "agentrm",
    shape="episode",
    needs=("reward model",),
    paper="AgentRM: Enhancing Agent Generalization with Reward Modeling (2025)",
    check="test_reward_models_of_three_kinds_pick_the_best_of_n",
)
def agentrm(
    record: EpisodeRecord,
    *,
    scores: Annotated[
        Scores | Judge | str | None,
        Meta(description="a reward model or a judge; without it, the tag implicit"),
    ] = None,
) -> Floats:
    """The value of the episode so far, by a fitted, an implicit or a judging model.

    One score per turn: the reward model's score of the episode up to that turn.

    `scores` is the explicit model (a fitted `ValueModel`, a `PositionModel` that was fitted to a
    search's returns and scores its positions too, or any function), a judge or its URI, or
    None for the implicit one: the tag "implicit", `beta * log(pi / pi_ref)` of each turn, summed so
    far. "AgentRM: Enhancing Agent Generalization with Reward Modeling" (2025).
    """
    if scores is None:
        return so_far(record, scores_of(record, _implicit, "agentrm"))
    if isinstance(scores, Judge | str):
        return step_scores(record, judge=open_judge(scores), scale=HOPE)
    return scores_of(record, scores, "agentrm")


def _implicit(record: EpisodeRecord) -> Any:
    return tag_of(record, "implicit", "agentrm", "implicit rewards")


def best_of(
    records: Sequence[EpisodeRecord], scores: Scores | Judge | str | None = None, *, seat: int = 0
) -> int:
    """Index of the record whose seat ends with the best score; ties go to the first."""
    last = [_last(agentrm(record, scores=scores), record, seat) for record in records]
    return int(np.argmax(last))


def _last(found: Floats, record: EpisodeRecord, seat: int) -> float:
    own = [place for place, turn in enumerate(record.turns) if turn.seat == seat]
    if not own:
        raise InvalidOption(f"seat {seat} has no turn in a record")
    return float(found[own[-1]])


class Likeness:
    """How much a turn looks like the expert's rather than the agent's: log-odds of a classifier.

    Logistic regression on which decision was made where (anchor, action), with equal weight
    on both sides. With `gamma` it learns Q with the reward `Q(s, a) - gamma * Q(s', a')`, as
    InversePRM does; without, the reward itself, as StepAgent's inverse form does. If both play
    with known probabilities, the log-odds are the log of their ratio. `state` is plain JSON.
    """

    def __init__(self, *, gamma: float = 0.0, buckets: int = 4096, ridge: float = 1e-4) -> None:
        if not 0 <= gamma <= 1 or buckets < 1 or ridge <= 0:
            raise InvalidOption(
                f"gamma must be from 0 to 1, buckets and ridge above 0; not {gamma}, {buckets} and "
                f"{ridge}"
            )
        self.gamma, self.buckets, self.ridge = gamma, buckets, ridge
        self.quality: dict[int, float] = {}

    def fit(self, expert: Sequence[EpisodeRecord], agent: Sequence[EpisodeRecord]) -> Likeness:
        """Fit from scratch; call it again with the agent's new records as it learns."""
        if not expert or not agent:
            raise InvalidOption("fit needs records of the expert and of the agent")
        from scipy.optimize import minimize

        sides = [
            np.concatenate([self._cells(record) for record in side]) for side in (expert, agent)
        ]
        used, places = np.unique(np.concatenate(sides), return_inverse=True)
        now, then = places.reshape(-1, 2).T
        real = (used != self.buckets).astype(np.float64)  # the end's Q is 0
        sign = np.repeat([1.0, -1.0], [len(side) for side in sides])
        weight = np.repeat([0.5 / len(side) for side in sides], [len(side) for side in sides])

        def loss(quality: Floats) -> tuple[float, Floats]:
            held = quality * real
            odds = sign * (held[now] - self.gamma * held[then])
            pull = -weight * sign / (1 + np.exp(np.clip(odds, -500, 500)))
            back = self.gamma * np.bincount(then, pull, used.size)
            slope = np.bincount(now, pull, used.size) - back
            total = weight @ np.logaddexp(0, -odds) + self.ridge * quality @ quality / 2
            return float(total), slope * real + self.ridge * quality

        found = minimize(loss, np.zeros(used.size), jac=True, method="L-BFGS-B").x * real
        self.quality = dict(zip(used.tolist(), found.tolist(), strict=True))
        return self

    def _cells(self, record: EpisodeRecord) -> Any:
        """The cell of every turn and of the seat's next one: shape (turns, 2)."""
        named = [f"{t.seat}:{t.anchor or t.state_key}:{t.action}".encode() for t in record.turns]
        cell = np.array([crc32(name) % self.buckets for name in named], dtype=np.int64)
        after = np.full(cell.size, self.buckets)
        for turns in lines_of(record):
            after[turns[:-1]] = cell[turns[1:]]
        return np.stack([cell, after], axis=1)

    def __call__(self, record: EpisodeRecord) -> Floats:
        """The log-odds of every turn; a decision that neither side made has Q = 0."""
        cells = self._cells(record).tolist()
        worth = [[self.quality.get(cell, 0.0) for cell in pair] for pair in cells]
        return floats([now - self.gamma * then for now, then in worth])

    def state(self) -> dict[str, Any]:
        quality = {str(cell): value for cell, value in self.quality.items()}
        return {"buckets": self.buckets, "quality": quality}

    def load(self, state: Mapping[str, Any]) -> None:
        self.buckets = int(state["buckets"])
        self.quality = {int(cell): float(value) for cell, value in state["quality"].items()}


@reward(
    "stepagent-inverse",
    shape="episode",
    needs=("likeness",),
    paper="From Novice to Expert: Policy Optimization via Step-wise RL (2024); Choudhury (2025)",
    check="test_the_odds_of_known_players_are_the_ratio_of_their_chances",
)
def expert_odds(
    record: EpisodeRecord,
    *,
    scores: Annotated[
        Likeness, Meta(description="a fitted model of how much a step is like an expert's")
    ],
) -> Floats:
    """Log-odds that the turn is the expert's, by a classifier; with a discount, InversePRM.

    A fitted `Likeness` scores each turn: above 0 if the expert is likelier to make that decision.
    """
    return scores(record)
