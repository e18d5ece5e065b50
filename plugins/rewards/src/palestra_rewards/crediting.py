"""Advantages by seat and step, for trainers that do not use groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from palestra import EpisodeRecord

from palestra_rewards.chain import estimator
from palestra_rewards.group import Group


class TurnCredit:
    """A chain of estimators with the interface of the hook `palestra_credit`."""

    def __init__(self, names: str) -> None:
        self._chain = estimator(names)

    def credit(
        self, records: Sequence[EpisodeRecord], agents: Collection[str]
    ) -> list[dict[tuple[int, int], float]]:
        """For each record the advantages of the turns of these agents, by (seat, step)."""
        features = self._chain.features
        found = self._chain(Group.of(records, agents=agents, features=features))
        group = found.group
        credited: list[dict[tuple[int, int], float]] = [{} for _ in records]
        for episode, seat, turn, value in zip(
            group.episode, group.seat, group.turn, found.values, strict=True
        ):
            credited[int(episode)][int(seat), int(turn)] = float(value)
        return credited

    def state(self) -> dict[str, Any]:
        return self._chain.state()

    def load(self, state: Mapping[str, Any]) -> None:
        self._chain.load(state)
