"""Objectives with their own discounts, as one reward whose weights the learner can see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import gymnasium
import numpy as np
from palestra import InvalidOption, Meta, Transition, reward

from palestra_rewards.arrays import Floats, floats

Numbers = Annotated[
    str | Mapping[str, float],
    Meta(description="a number for each named term, as in home=0.9+effort=0.5"),
]


def read_numbers(text: str | Mapping[str, float]) -> dict[str, float]:
    """The numbers in `home=0.9+effort=0.5` by term; empty for an empty text."""
    if not isinstance(text, str):
        return {str(name): float(value) for name, value in text.items()}
    found: dict[str, float] = {}
    for part in filter(None, text.split("+")):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError as error:
            raise InvalidOption(f"write term=number, joined by +, not {text!r}") from error
    return found


@reward(
    "diverse-discounts",
    shape="step",
    needs=("discounts",),
    paper=(
        "Consistent Aggregation of Objectives with Diverse Time Preferences Requires Non-"
        "Markovian Rewards (2023)"
    ),
    check="test_rewards_sum_to_individually_discounted_returns_while_playing",
)
class DiverseDiscounts:
    """The game's named terms, each with a discount of its own, paid step by step.

    Term i weighs `y_i`: `weights` at first, then `gamma_i / gamma` times as much after every turn
    of the seat. The return under the learner's `gamma` is then the sum of the terms' own returns.
    The weights depend on time, so a learner must see them to value a state: `VisibleWeights` adds
    them to Gymnasium's observations. It replaces the game's own rewards, so leave out `env`.
    Terms that are not named keep their weight 1. Pitis (2023).
    """

    by_person = True

    def __init__(
        self,
        *,
        gammas: Numbers,
        weights: Numbers = "",
        gamma: Annotated[float, Meta(gt=0, le=1, description="the learner's discount")] = 0.99,
    ) -> None:
        self.gammas, self.weights, self.gamma = read_numbers(gammas), read_numbers(weights), gamma
        if not self.gammas:
            raise InvalidOption("diverse-discounts needs gammas=term=number, joined by +")
        if not 0 < gamma <= 1 or not all(0 <= one <= 1 for one in self.gammas.values()):
            raise InvalidOption("discounts must be from 0 to 1, and the learner's above 0")
        self.turns: dict[int, int] = {}

    def begin(self) -> DiverseDiscounts:
        return DiverseDiscounts(gammas=self.gammas, weights=self.weights, gamma=self.gamma)

    def copy(self) -> DiverseDiscounts:
        twin = self.begin()
        twin.turns = dict(self.turns)
        return twin

    def weight(self, term: str, turn: int) -> float:
        """The weight of a term for what is paid from a seat's turn, from 0, until its next."""
        ratio = self.gammas.get(term, self.gamma) / self.gamma
        return self.weights.get(term, 1.0) * ratio**turn

    def __call__(self, step: Transition) -> dict[str, float]:
        if step.paid is None:
            return {}
        turns = self.turns.get(step.seat, 0) + (step.seat in step.actions)
        self.turns[step.seat] = turns
        if step.over:
            self.turns[step.seat] = 0  # whoever takes the seat now starts anew
        turn = max(turns - 1, 0)
        return {name: self.weight(name, turn) * value for name, value in step.paid.items()}


class VisibleWeights(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds the weights of `diverse-discounts` at the seat's turn to its observation.

    env: a Gymnasium environment whose observations are vectors, made with that shaper. The weights
    of the named terms, in alphabetical order, follow the observation's own numbers, so that the
    rewards are Markov again (Pitis, 2023). After an episode's last turn they are the weights of the
    turn that would follow.
    """

    def __init__(self, env: Any, shaper: DiverseDiscounts) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise InvalidOption(f"VisibleWeights needs observations that are vectors, not {space}")
        self.shaper, self.terms = shaper, sorted(shaper.gammas)
        highest = [
            np.inf if shaper.gammas[t] > shaper.gamma else abs(shaper.weights.get(t, 1.0))
            for t in self.terms
        ]
        self.observation_space = gymnasium.spaces.Box(
            np.concatenate([space.low, -floats(highest)]).astype(np.float32),
            np.concatenate([space.high, highest]).astype(np.float32),
            dtype=np.float32,
        )
        self._turn = 0

    def reset(self, **options: Any) -> Any:
        observation, info = self.env.reset(**options)
        self._turn = 0
        return self._seen(observation), info

    def step(self, action: Any) -> Any:
        observation, paid, terminated, truncated, info = self.env.step(action)
        self._turn += 1
        return self._seen(observation), paid, terminated, truncated, info

    def _seen(self, observation: Any) -> Any:
        held: Floats = floats([self.shaper.weight(term, self._turn) for term in self.terms])
        return np.concatenate([np.asarray(observation, np.float32), held.astype(np.float32)])
