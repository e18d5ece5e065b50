"""Novelty by distillation: how badly a trained network predicts a random one's outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from palestra import Meta, Transition, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.learnt.features import made_features
from palestra_rewards.learnt.networks import (
    Hidden,
    Rate,
    Seed,
    descend,
    hashed_words,
    load_weights,
    network,
    predict_rows,
    tensor,
    weights_of,
)
from palestra_rewards.options import Weight

OUTPUTS = 8  # of the random network
WORDS = 128  # columns that words are hashed to


@reward(
    "rnd",
    shape="step",
    paper="Burda et al. (2019), Exploration by RND; Zhang et al. (2021), NovelD",
    check="test_the_bonus_is_the_error_of_a_linear_prediction",
    cost="a gradient step of a small network",
)
class RandomDistillation:
    """Pays for states on which a network cannot yet predict a random one; NovelD with `rise`.

    The error of a state is the mean squared difference between a fixed random network and a trained
    one. The trained one takes one gradient step at every visit over the lifetime of the shaper, so
    rewards depend on earlier play-throughs, not only on the seed and the moves. Pays `weight *
    error` of the state a step leads to. With `rise` that is `max(error(after) - rise *
    error(before), 0)`, and with `first` only the first visit of a play-through is paid: both
    together are NovelD's bonus. Burda et al. (2019) and Zhang et al. (2021), as compared by Henaff
    et al. (2023); inputs and bonuses are not normalised here.
    """

    def __init__(
        self,
        *,
        weight: Weight = 1.0,
        rise: Annotated[
            float, Meta(ge=0, description="share of the previous state's error that is taken off")
        ] = 0.0,
        first: Annotated[
            bool, Meta(description="whether only a play-through's first visit of a state is paid")
        ] = False,
        features: Annotated[
            str, Meta(description="what networks see: observation, words, or a function's")
        ] = "observation",
        hidden: Hidden = 32,
        rate: Rate = 0.01,
        seed: Seed = 0,
    ) -> None:
        self.weight, self.rise, self.first = weight, rise, first
        self.hidden, self.rate, self.seed = hidden, rate, seed
        self.sees = made_features(features)
        self.nets: list[Any] = []  # the random and the trained one
        self.visited: set[tuple[int, bytes]] = set()

    def begin(self) -> RandomDistillation:
        twin = self.copy()
        twin.visited = set()
        return twin

    def copy(self) -> RandomDistillation:
        """A copy with its own visits; the networks are shared."""
        twin: RandomDistillation = RandomDistillation.__new__(RandomDistillation)
        twin.__dict__.update(self.__dict__)
        twin.visited = set(self.visited)
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        row = self._row(step.game, step.after, step.seat)
        bonus = self.error(row)
        if self.rise:
            before = self.error(self._row(step.game, step.before, step.seat))
            bonus = max(bonus - self.rise * before, 0.0)
        self.learn(row)
        key = step.seat, step.game.anchor(step.after, step.seat)
        if self.first and key in self.visited:
            bonus = 0.0
        self.visited.add(key)
        return {"rnd": self.weight * bonus}

    def error(self, row: Floats) -> float:
        """Mean squared difference between the trained network and the random one."""
        self._open(row.size)
        wanted, found = (predict_rows(net, row[None]) for net in self.nets)
        return float(((wanted - found) ** 2).mean())

    def learn(self, row: Floats) -> None:
        """Take one gradient step of the trained network towards the random one."""
        self._open(row.size)
        seen, wanted = tensor(row[None]), tensor(predict_rows(self.nets[0], row[None]))
        descend(
            [self.nets[1]],
            lambda _: ((self.nets[1](seen) - wanted) ** 2).mean(),
            steps=1,
            rate=self.rate,
        )

    def _row(self, game: Any, state: Any, seat: int) -> Floats:
        seen = self.sees(game, state, seat)
        if isinstance(seen, str):
            return np.asarray(hashed_words([seen], WORDS)[0])
        return np.asarray(seen, dtype=np.float64).ravel()

    def _open(self, inputs: int) -> None:
        if not self.nets:
            made = (
                network(inputs, OUTPUTS, hidden=self.hidden, seed=2 * self.seed + place)
                for place in range(2)
            )
            self.nets.extend(made)

    def state(self) -> dict[str, Any]:
        return {"weights": [weights_of(net) for net in self.nets]}

    def load(self, state: Mapping[str, Any]) -> None:
        self.nets.clear()
        if state["weights"]:
            self._open(np.shape(state["weights"][0][0])[1])
            for net, kept in zip(self.nets, state["weights"], strict=True):
                load_weights(net, kept)
