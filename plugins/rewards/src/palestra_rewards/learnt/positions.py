"""AgentRM's explicit reward model: the value of a position, learnt from a search's returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from palestra import Episode, EpisodeRecord, InvalidOption
from palestra.records.record import retrace

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.estimators.tree import prefix_tree
from palestra_rewards.group import Group
from palestra_rewards.learnt.features import SIZE, Features, made_features
from palestra_rewards.learnt.networks import (
    descend,
    hashed_words,
    load_weights,
    network,
    predict_rows,
    tensor,
    weights_of,
)


class Position(Protocol):
    """A position of a search, as passed to the scorers of the search adapters."""

    @property
    def episode(self) -> Episode: ...

    @property
    def seat(self) -> int: ...


class PositionModel:
    """Predicts a seat's return by a small network over what the seat sees of a position.

    It is fitted to the value of every position in the tree of its records (`prefix_tree`: the mean
    return of the rollouts through it), or to `values`, one per turn, such as those of a search, and
    to the returns at the ends. It is then a scorer of positions, which `bestof` and `beam` take as
    `scorer=model`, and a reward model of records: `shape("agentrm", records, scores=model)`. Scores
    of positions are scaled to 0..1 between the least and the greatest value it was fitted to.
    `features` are those of `Group.of`.
    """

    def __init__(
        self,
        *,
        features: str | Features = "words",
        hidden: int = 32,
        steps: int = 400,
        rate: float = 0.02,
        seed: int = 0,
    ) -> None:
        self._sees = made_features(features)
        self.hidden, self.steps, self.rate, self.seed = hidden, steps, rate, seed
        self.net: Any = None
        self.low, self.high = 0.0, 1.0

    def fit(
        self, records: Sequence[EpisodeRecord], values: Sequence[float] | None = None
    ) -> PositionModel:
        group = Group.of(records)
        targets = floats(prefix_tree(group).value_before(group) if values is None else values)
        if targets.shape != (group.size,):
            raise InvalidOption(
                f"values must be one for each of {group.size} turns, not {targets.shape}"
            )
        ends = [self._ends(record) for record in records]
        rows = np.array([row for record in records for row in self._position_rows(record)])
        rows = np.array([*rows, *(row for some in ends for row, _ in some)])
        targets = np.array([*targets, *(paid for some in ends for _, paid in some)])
        self.low, self.high = float(targets.min()), float(targets.max())
        self.net = network(rows.shape[1], 1, hidden=self.hidden, seed=self.seed)
        seen, wanted = tensor(rows), tensor(targets - self.low)
        descend(
            [self.net],
            lambda _: ((self.net(seen)[:, 0] - wanted) ** 2).mean(),
            steps=self.steps,
            rate=self.rate,
            fade=True,
        )
        return self

    def _position_rows(self, record: EpisodeRecord) -> list[Floats]:
        """A row for the position that each turn after the branch faced."""
        places = enumerate(zip(retrace(record), record.steps, strict=False))
        return [
            self._row(episode, turn.seat)
            for number, (episode, step) in places
            if number >= record.branched_at
            for turn in step.turns
        ]

    def _ends(self, record: EpisodeRecord) -> list[tuple[Floats, float]]:
        """Features of the end as each seat sees it, and the seat's return; empty if truncated."""
        if record.outcome is None or "truncated" in record.outcome.results:
            return []
        *_, last = retrace(record)
        seats = sorted({turn.seat for turn in record.own_turns})
        return [(self._row(last, seat), record.returns[seat]) for seat in seats]

    def _row(self, episode: Episode, seat: int) -> Floats:
        seen = self._sees(episode.game, episode.state, seat)
        return hashed_words([seen], SIZE)[0] if isinstance(seen, str) else floats(seen).ravel()

    def worth(self, rows: Any) -> Floats:
        if self.net is None:
            raise InvalidOption("this model is not fitted yet; call fit(records) first")
        return self.low + predict_rows(self.net, rows)[:, 0]

    def __call__(self, of: Any) -> Any:
        """The score of a position, from 0 to 1; for a record, the value after each turn."""
        if isinstance(of, EpisodeRecord):
            return self.worth(np.array(list(self._led_to(of))))
        value = float(self.worth([self._row(of.episode, of.seat)])[0])
        span = self.high - self.low
        return min(1.0, max(0.0, (value - self.low) / span)) if span else 0.5

    def _led_to(self, record: EpisodeRecord) -> Iterator[Floats]:
        """For every turn, features of its seat's next position, or of the end."""
        found: list[Floats | None] = []
        latest: dict[int, int] = {}
        for episode, step in zip(retrace(record), [*record.steps, None], strict=False):
            turns = [] if step is None else step.turns
            for turn in turns:
                if turn.seat in latest:
                    found[latest[turn.seat]] = self._row(episode, turn.seat)
                latest[turn.seat] = len(found)
                found.append(None)
            last = episode
        ends = {place: seat for seat, place in latest.items()}
        for place, row in enumerate(found):
            yield self._row(last, ends[place]) if row is None else row

    def state(self) -> dict[str, Any]:
        return {"bounds": [self.low, self.high], "weights": weights_of(self.net)}

    def load(self, state: Mapping[str, Any]) -> PositionModel:
        """Continue from the `state` of a model with the same options."""
        self.low, self.high = map(float, state["bounds"])
        inputs = np.shape(state["weights"][0])[1]
        self.net = network(inputs, 1, hidden=self.hidden, seed=self.seed)
        load_weights(self.net, state["weights"])
        return self
