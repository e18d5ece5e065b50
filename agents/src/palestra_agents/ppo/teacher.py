"""Kickstarting: a policy also learns the moves of others that are trained already, less and less.

Schmitt et al., "Kickstarting Deep Reinforcement Learning", 2018. The loss has a further term for
each teacher, the cross-entropy from the teacher's policy to the learner's where the learner has
been. Its weight falls to 0 during the run, so that the learner may become better than its teachers.
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import torch
from palestra import ArrayGame, InvalidOption
from torch import Tensor

from palestra_agents.ppo.network import PolicyValue
from palestra_agents.ppo.policy import Settings, read_policy


class Teacher:
    """The policies in the folders `settings.teacher`, whose arrays must be those of `rules`.

    Cross-entropy is linear in the policy that it is taken from. So the terms of several teachers,
    each with its weight, are one term: that of their mean by weight, times the sum of weights.
    """

    def __init__(self, rules: ArrayGame[Any], settings: Settings) -> None:
        folders = [folder.strip() for folder in settings.teacher.split("|")]
        self._seen = rules.observation_space(0).shape
        self._networks = [self._network(rules, folder) for folder in folders]
        self._shares = torch.tensor(weights_of(settings.teacher_weights, len(folders)))
        self._size = int(np.prod(self._seen))
        self._weight = settings.teacher_weight * float(self._shares.sum())
        self._share = settings.teacher_share

    def _network(self, rules: ArrayGame[Any], folder: str) -> PolicyValue:
        policy = read_policy(Path(folder))
        theirs = policy.game.observation_space(0).shape
        if (theirs, policy.game.num_actions) != (self._seen, rules.num_actions):
            raise InvalidOption(
                f"the teacher in {folder} was trained on {policy.env}: it sees arrays of shape "
                f"{theirs} and has {policy.game.num_actions} actions; here they have shape "
                f"{self._seen}, and there are {rules.num_actions}"
            )
        if policy.network.memory:
            raise InvalidOption(f"the teacher in {folder} is recurrent; choose another")
        return policy.network

    def weight(self, progress: float) -> float:
        """The weight of `distance` at a point of the run from 0 to 1, of all teachers together."""
        return self._weight * max(0.0, 1.0 - progress / self._share)

    def chances(self, observations: Tensor, masks: Tensor) -> Tensor:
        """The teachers' mean probabilities (M, A) for observations (M, …) of seats to move."""
        with torch.no_grad():
            own = observations.flatten(1)[:, : self._size]  # everybody's may follow
            each = [network(own, masks)[0].exp() for network in self._networks]
            if len(each) == 1:
                return each[0]
            mean: Tensor = torch.tensordot(self._shares / self._shares.sum(), torch.stack(each), 1)
        return mean


def weights_of(text: str, count: int) -> list[float]:
    """The weights of `count` teachers: numbers joined by `|`, or 1 for each if `text` is empty.

    Raises `InvalidOption` if there is not one for each, or they are not above 0.
    """
    if not text:
        return [1.0] * count
    try:
        found = [float(part) for part in text.split("|")]
    except ValueError:
        found = []
    if len(found) != count or not all(isfinite(weight) and weight > 0 for weight in found):
        raise InvalidOption(
            f"teacher_weights={text!r} must be numbers above 0 joined by |, one for each of the "
            f"{count} teachers"
        )
    return found


def distance(chances: Tensor, logprobs: Tensor) -> Tensor:
    """The mean cross-entropy in nats from a teacher's policy (M, A) to a learner's."""
    return -(chances * logprobs).sum(1).mean()
