"""A trained policy as an agent: `ppo:runs/…`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Meta, MissingExtra, Turn, agent
from palestra.kernel.rng import check_seed

try:
    import torch

    from palestra_agents.checkpoints import require_finite
    from palestra_agents.ppo.network import one_step
    from palestra_agents.ppo.policy import read_policy
    from palestra_agents.recurrence import Memories
except ModuleNotFoundError as error:
    raise MissingExtra(f"{error.name} (for ppo:)", "palestra-agents[torch]") from error

RARE = 1e-3  # lowest probability of an action that is reported
STREAM = 7  # random stream, separate from other agents of the same seed


@agent(
    "ppo",
    kind="learned",
    needs=("array",),
    summary="A policy trained by palestra train: ppo:<folder>[,greedy=true].",
)
class PPOAgent(Agent):
    """Samples from the policy in the folder `target`, or with `greedy` plays the likeliest action.

    Reports the facts `value`, from its critic, and `strategy`, the actions with a probability of at
    least one in a thousand.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="folder of the trained policy")] = "",
        greedy: Annotated[
            bool, Meta(description="whether to play the likeliest action instead of sampling")
        ] = False,
        seed: int | None = None,
    ) -> None:
        if not target:
            raise InvalidOption("name the folder of a trained policy, as in ppo:runs/foraging")
        policy = read_policy(Path(target))
        self._env, self._greedy, self._network = policy.env, greedy, policy.network
        space: Any = policy.game.observation_space(0)
        self._space = space
        self._seed, self._memories = check_seed(seed), Memories()

    def forget(self, episode_key: int) -> None:
        self._memories.forget(episode_key)

    def reseed(self, seed: int) -> None:
        self._seed = check_seed(seed)

    @torch.no_grad()
    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        for turn in turns:
            given = turn.game.observation_space(turn.seat).shape
            if given != self._space.shape:
                raise InvalidOption(
                    f"this policy was trained on {self._env} and sees arrays of shape "
                    f"{self._space.shape}; {turn.env} shows arrays of shape {given}"
                )
        seen = torch.from_numpy(np.stack([turn.observation for turn in turns]).astype(np.float32))
        masks = torch.from_numpy(np.stack([turn.mask for turn in turns]))
        *found, after = one_step(self._network, seen, masks, self._before(turns))
        require_finite(found[0])
        if self._network.memory:
            for turn, kept in zip(turns, after, strict=True):
                self._memories.keep(turn, kept)
        logprobs, values = (part.numpy() for part in found)
        return [self._decide(*row) for row in zip(turns, logprobs, values, strict=True)]

    def _before(self, turns: Sequence[Turn]) -> torch.Tensor:
        """What a recurrent policy remembers before each turn."""
        blank = torch.zeros(self._network.memory_shape)
        rows = (self._memories.before(turn) for turn in turns)
        return torch.stack([blank if row is None else row for row in rows])

    def _decide(self, turn: Turn, logprobs: np.ndarray, value: float) -> Decision:
        chances = np.exp(logprobs).tolist()
        chosen = (
            int(logprobs.argmax())
            if self._greedy
            else turn.rng(self._seed, STREAM).weighted(chances)
        )
        strategy = {
            turn.action_text(turn.game.action_of(number)): chances[number]
            for number in np.flatnonzero(np.exp(logprobs) >= RARE).tolist()
        }
        facts = {"value": float(value), "strategy": strategy}
        return Decision(chosen, logprob=float(logprobs[chosen]), facts=facts)
