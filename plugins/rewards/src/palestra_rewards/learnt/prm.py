"""AgentPRM: a process reward model fitted to what rollouts earned after each decision.

Choudhury, "Process Reward Models for LLM Agents: Practical Framework and Directions" (2025): the
target of a decision is its mean discounted return over rollouts with the same history, and the
model is fitted to these soft targets by binary cross-entropy. Rollouts, targets, model and policy
alternate: `fit` again with the records of the newest policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.estimators.process import agentprm
from palestra_rewards.group import Group
from palestra_rewards.learnt.features import ACTION, STATE, Features, feature_facts
from palestra_rewards.learnt.networks import (
    descend,
    load_weights,
    network,
    predict_rows,
    tensor,
    torch_module,
    weights_of,
)


class ProcessRewardModel:
    """Q of every decision, by a small network with a sigmoid, between `low` and `high`.

    low, high: bounds of discounted returns, which become the labels 0 and 1. gamma: discount once
    per own turn. features: what the network sees of a state, as in `Group.of`; an action is its
    hashed words. Calls return one value per turn, so that a fitted model is passed as `scores=`:
    `shape("agentrm", records, scores=model)`, `best_of(records, model)`. The same records and
    `seed` give the same numbers; `state` is plain JSON.
    """

    def __init__(
        self,
        *,
        low: float = 0.0,
        high: float = 1.0,
        gamma: float = 1.0,
        features: str | Features = "words",
        hidden: int = 32,
        steps: int = 300,
        rate: float = 0.02,
        seed: int = 0,
    ) -> None:
        if not low < high:
            raise InvalidOption(f"low must be below high, not {low} and {high}")
        self.low, self.high, self.gamma, self.features = low, high, gamma, features
        self.hidden, self.steps, self.rate, self.seed = hidden, steps, rate, seed
        self.net: Any = None
        self.loss = float("nan")  # mean cross-entropy at the end of the last fit, in nats

    def targets(self, records: Sequence[EpisodeRecord]) -> Floats:
        """The label of every turn after the branch, from 0 to 1; raises `InvalidOption` outside."""
        earned = agentprm(Group.of(records), gamma=self.gamma)
        label = (earned - self.low) / (self.high - self.low)
        if label.min() < -1e-9 or label.max() > 1 + 1e-9:
            raise InvalidOption(
                f"these rollouts earn from {earned.min():g} to {earned.max():g}, outside "
                f"{self.low:g} to {self.high:g}; pass low= and high= that hold all returns"
            )
        return floats(np.clip(label, 0.0, 1.0))

    def fit(self, records: Sequence[EpisodeRecord]) -> ProcessRewardModel:
        """Continue from the last fit; the first one draws the weights from `seed`."""
        label, rows = tensor(self.targets(records)), tensor(self._rows(records))
        if self.net is None:
            self.net = network(rows.shape[1], 1, hidden=self.hidden, seed=self.seed)
        entropy = torch_module().nn.functional.binary_cross_entropy_with_logits
        self.loss = descend(
            [self.net],
            lambda _: entropy(self.net(rows)[:, 0], label),
            steps=self.steps,
            rate=self.rate,
            fade=True,
        )
        return self

    def __call__(self, record: EpisodeRecord) -> Floats:
        """Q of every turn; 0 for turns before the branch, which siblings share."""
        if self.net is None:
            raise InvalidOption("this model is not fitted yet; call fit(records) first")
        logits = predict_rows(self.net, self._rows([record]))[:, 0]
        chance = 1 / (1 + np.exp(-np.clip(logits, -500, 500)))
        found = np.zeros(len(record.turns))
        found[len(found) - len(chance) :] = self.low + (self.high - self.low) * chance
        return found

    def _rows(self, records: Sequence[EpisodeRecord]) -> Floats:
        facts = feature_facts(records, self.features)
        return np.concatenate([facts[STATE], facts[ACTION]], axis=1)

    def state(self) -> dict[str, Any]:
        return {"weights": [] if self.net is None else weights_of(self.net)}

    def load(self, state: Mapping[str, Any]) -> ProcessRewardModel:
        """Continue from what `state` of a model with the same options returned."""
        weights = state["weights"]
        if weights:
            self.net = network(len(weights[0][0]), 1, hidden=self.hidden, seed=self.seed)
            load_weights(self.net, weights)
        return self
