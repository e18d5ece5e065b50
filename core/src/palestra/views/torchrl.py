"""The batch as a TorchRL `EnvBase`: many episodes, all seats, tensors that need no conversion.

Tested with TorchRL 0.14.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palestra.engine.batch import Batch
from palestra.engine.text_batch import TextBatch
from palestra.kernel.errors import MissingExtra
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.views import batch

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
    from torchrl.envs import EnvBase
except ImportError as error:
    raise MissingExtra("torchrl", "torchrl") from error

AGENTS = "agents"


class TorchRLEnv(EnvBase):
    """`num_envs` episodes side by side; the batch size is (num_envs,).

    Under "agents", over seats: `observation`, `action_mask`, `mask` (who is to act), `action` and
    `reward`. `done`, `terminated` and `truncated` are those of an episode. Actions of seats that
    are not acting are ignored, and their `action_mask` is all true, so that a masked distribution
    has something to choose from. An illegal action forfeits the episode. TorchRL resets episodes
    that are over. max_episode_steps truncates longer episodes. options: the game's own, and those
    of the batch view (`random_seats`, `scripted_seats`, `rewards`, `gamma`).
    """

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        num_envs: int,
        *,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        made = batch.make(env, num_envs=num_envs, seed=seed, autoreset="disabled", **options)
        assert isinstance(made, Batch | TextBatch)  # only device="cuda" gives another
        super().__init__(device="cpu", batch_size=[num_envs])
        self.batch = made
        self._seed: int | None = None
        self._make_specs()

    def _make_specs(self) -> None:
        lanes, game = self.batch.num_envs, self.batch.game
        seats = (lanes, game.num_players)
        box: Any = game.observation_space(0)
        dtype = torch.from_numpy(np.zeros(0, box.dtype)).dtype
        low, high = float(np.min(box.low)), float(np.max(box.high))
        shape = (*seats, *box.shape)
        choices = self.batch.masks.shape[-1]

        def group(**specs: Any) -> Any:
            return Composite({AGENTS: Composite(specs, shape=seats)}, shape=(lanes,))

        self.observation_spec = group(
            observation=Bounded(low, high, shape=shape, dtype=dtype),
            action_mask=Binary(choices, shape=(*seats, choices), dtype=torch.bool),
            mask=Binary(game.num_players, shape=seats, dtype=torch.bool),
        )
        self.action_spec = group(action=Categorical(choices, shape=seats, dtype=torch.int64))
        self.reward_spec = group(reward=Unbounded(shape=(*seats, 1), dtype=torch.float32))
        ends = ("done", "terminated", "truncated")
        flag = Binary(1, shape=(lanes, 1), dtype=torch.bool)
        self.done_spec = Composite({name: flag.clone() for name in ends}, shape=(lanes,))

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        chosen = None if tensordict is None else tensordict.get("_reset", None)
        lanes = None if chosen is None else chosen.reshape(-1).nonzero()[:, 0].numpy()
        if lanes is None or len(lanes):
            self.batch.reset(seed=self._seed, lanes=lanes)
        self._seed = None
        return self._made({}, self._ends())

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self.batch.step(tensordict[AGENTS, "action"].numpy())
        paid = torch.from_numpy(self.batch.rewards.astype(np.float32))[..., None]
        return self._made({"reward": paid}, self._ends())

    def _set_seed(self, seed: int | None) -> None:
        """The next reset of all episodes starts lane i from seed + i."""
        self._seed = seed

    def _ends(self) -> dict[str, torch.Tensor]:
        over = ~self.batch.acting.any(1, keepdims=True)
        cut = over & self.batch.truncations.any(1, keepdims=True)
        flags = {"done": over, "terminated": over & ~cut, "truncated": cut}
        return {name: torch.from_numpy(flag) for name, flag in flags.items()}

    def _made(self, paid: dict[str, torch.Tensor], ends: dict[str, torch.Tensor]) -> TensorDictBase:
        """What the seats see now, copied: the next step writes over the batch's arrays."""
        seats = self.batch.rewards.shape
        acting = self.batch.acting.copy()
        seen = {
            "observation": torch.from_numpy(self.batch.observations.copy()),
            "action_mask": torch.from_numpy(self.batch.masks.astype(bool) | ~acting[..., None]),
            "mask": torch.from_numpy(acting),
        }
        agents = TensorDict({**seen, **paid}, batch_size=seats)
        return TensorDict({AGENTS: agents, **ends}, batch_size=self.batch_size)
