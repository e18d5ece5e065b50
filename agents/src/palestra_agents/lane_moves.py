"""Episodes in progress as seeds and moves, so that a file restores them and holds no raw state.

Compiled rules trust a state's numbers as indices: a lane from a file could make them read and write
anywhere. Moves are replayed through the rules instead, each after a check that it is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from palestra import InvalidOption
from palestra.engine.batch import Batch
from torch import Tensor

from palestra_agents.checkpoints import require_tensor

Array = NDArray[Any]
WORD = 2**32
KINDS = (np.uint8, np.int16, np.int32)  # of an action's number; the smallest that holds all


class LaneMoves:
    """The moves of the episode that each lane of a batch is playing.

    The batch starts finished lanes anew itself or by `reset`, with `autoreset="disabled"`, and
    all of its seats are played from outside.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch, seats = batch, batch.game.num_players
        most = int(batch.game.num_actions) - 1
        kind = next(kind for kind in KINDS if most <= np.iinfo(kind).max)
        self._lanes = np.arange(batch.num_envs)
        self._played = np.zeros((batch.num_envs, 16, seats), kind)

    def add(self, actions: Array) -> None:
        """Record the actions (N, P) of the batch's next step."""
        lengths = self.batch.lanes["length"]
        if lengths.max() >= self._played.shape[1]:
            self._played = np.concatenate([self._played, np.zeros_like(self._played)], 1)
        self._played[self._lanes, lengths] = actions

    def state(self) -> dict[str, Tensor]:
        """Each lane's seed (N, 2), number of the episode and moves so far (N,), and all moves."""
        lanes = self.batch.lanes
        filled = np.arange(self._played.shape[1]) < lanes["length"][:, None]
        return {
            "seeds": torch.from_numpy(lanes["seed"].copy()),
            "episodes": torch.from_numpy(lanes["episodes"].copy()),
            "lengths": torch.from_numpy(lanes["length"].copy()),
            "moves": torch.from_numpy(self._played[filled]),
        }

    def replay(self, state: Any) -> None:
        """Bring the batch to what `state` returned. Raises `InvalidOption` for anything else."""
        words, numbers, lengths, moves = self._checked(state)
        batch = self.batch
        batch.reset([low | high << 32 for low, high in words.tolist()])
        batch.lanes["episodes"] = numbers - 1
        batch.reset()
        places = np.cumsum(lengths) - lengths  # of each lane's first move
        for number in range(int(lengths.max())):
            going = np.flatnonzero(lengths > number)
            actions = np.zeros((batch.num_envs, moves.shape[1]), np.int64)
            actions[going] = moves[places[going] + number]
            self._require_legal(going, actions[going], number)
            self.add(actions)
            batch.step(actions, going)

    def _require_legal(self, going: Array, actions: Array, number: int) -> None:
        """Raise `InvalidOption` unless these lanes are to be moved, and by these actions (K, P)."""
        masks, acting = self.batch.masks[going], self.batch.acting[going]
        legal = np.take_along_axis(masks, actions[..., None], -1)[..., 0] != 0
        wrong = (acting & ~legal).any(1) | ~acting.any(1) | self.batch.finished[going]
        if wrong.any():
            lane = going[wrong.argmax()]
            raise InvalidOption(f"move {number} of environment {lane} is illegal in its episode")

    def _checked(self, state: Any) -> tuple[Array, Array, Array, Array]:
        names = ("seeds", "episodes", "lengths", "moves")
        if not isinstance(state, Mapping) or sorted(state) != sorted(names):
            raise InvalidOption(f"lanes must have {', '.join(names)}")
        lanes, seats, kind = self._played.shape[0], self._played.shape[2], self._played.dtype
        whole = torch.int64
        words = require_tensor("seeds", state["seeds"], (lanes, 2), whole, (0, WORD - 1))
        numbers = require_tensor("episodes", state["episodes"], (lanes,), whole, (1, WORD))
        lengths = require_tensor("lengths", state["lengths"], (lanes,), whole, (0, WORD))
        shape = (int(lengths.sum()), seats)
        most = int(self.batch.game.num_actions) - 1
        known = torch.from_numpy(np.zeros(0, kind)).dtype
        moves = require_tensor("moves", state["moves"], shape, known, (0, most))
        return words.numpy(), numbers.numpy(), lengths.numpy(), moves.numpy()
