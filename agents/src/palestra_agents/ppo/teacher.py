"""Kickstarting: a policy also learns the moves of one that is trained already, less and less.

Schmitt et al., "Kickstarting Deep Reinforcement Learning", 2018. The loss has a further term, the
cross-entropy from the teacher's policy to the learner's where the learner has been. Its weight
falls to 0 during the run, so that the learner may become better than its teacher.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from palestra import ArrayGame, InvalidOption
from torch import Tensor

from palestra_agents.ppo.policy import Settings, read_policy


class Teacher:
    """The policy in the folder `settings.teacher`, whose arrays must be those of `rules`."""

    def __init__(self, rules: ArrayGame[Any], settings: Settings) -> None:
        policy = read_policy(Path(settings.teacher))
        seen, theirs = (one.observation_space(0).shape for one in (rules, policy.game))
        if (theirs, policy.game.num_actions) != (seen, rules.num_actions):
            raise InvalidOption(
                f"the teacher in {settings.teacher} was trained on {policy.env}: it sees arrays of "
                f"shape {theirs} and has {policy.game.num_actions} actions; here they have shape "
                f"{seen}, and there are {rules.num_actions}"
            )
        if policy.network.memory:
            raise InvalidOption(f"the teacher in {settings.teacher} is recurrent; choose another")
        self._network, self._size = policy.network, int(np.prod(seen))
        self._weight, self._share = settings.teacher_weight, settings.teacher_share

    def weight(self, progress: float) -> float:
        """The weight of `distance` at a point of the run from 0 to 1."""
        return self._weight * max(0.0, 1.0 - progress / self._share)

    def chances(self, observations: Tensor, masks: Tensor) -> Tensor:
        """The teacher's probabilities (M, A) for observations (M, …) of seats to move."""
        with torch.no_grad():
            own = observations.flatten(1)[:, : self._size]  # everybody's may follow
            chances: Tensor = self._network(own, masks)[0].exp()
        return chances


def distance(chances: Tensor, logprobs: Tensor) -> Tensor:
    """The mean cross-entropy in nats from a teacher's policy (M, A) to a learner's."""
    return -(chances * logprobs).sum(1).mean()
