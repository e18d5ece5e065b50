"""What the learners train on: many episodes of a simultaneous game, as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from palestra import ArrayGame, InvalidOption, game
from palestra.engine.batch import Batch
from palestra.kernel.errors import show
from torch import Tensor

from palestra_agents.checkpoints import require_names, require_tensor
from palestra_agents.lane_moves import LaneMoves

T = TypeVar("T")


class Step(NamedTuple):
    """One step of all lanes: observations (N, P, O), masks (N, P, A), actions (N, P) and so on."""

    seen: Tensor
    masks: Tensor
    actions: Tensor
    rewards: Tensor  # (N, P)
    ended: Tensor  # (N,): terminated, so that nothing follows; not set where time was up
    after: Tensor  # observations after the step
    masks_after: Tensor

    def rows(self) -> dict[str, Tensor]:
        """Its tensors by name, for a `Memory`."""
        return self._asdict()


class Form:
    """The sizes and scales of a game in which all seats act at once."""

    batch: Batch | None = None  # the lanes that are played, if they are those of a batch

    def __init__(self, rules: ArrayGame[Any]) -> None:
        if not isinstance(rules, ArrayGame):
            raise InvalidOption(f"{type(rules).__name__} is not an array game; learners need one")
        if rules.order != "simultaneous":
            raise InvalidOption(
                f"{type(rules).__name__} is played in turns; these learners need a game in which "
                "all seats act in every step. palestra train --algo ppo learns games of turns"
            )
        self.game, self.seats = rules, rules.num_players
        space: Any = rules.observation_space(0)
        reach = np.maximum(np.abs(space.low), np.abs(space.high)).astype(np.float32).ravel()
        usable = np.isfinite(reach) & (reach > 0)
        self.scale = torch.from_numpy(np.where(usable, reach, 1.0).astype(np.float32))
        self.width, self.actions = len(reach), int(rules.num_actions)


class Field(Form):
    """Episodes of one game side by side; finished ones start anew.

    `returns` are those of the episodes that finished in the last `step`, summed over seats if
    `summed`.
    """

    changing = ("moves", "fresh")
    batch: Batch

    def __init__(self, rules: ArrayGame[Any], lanes: int, seed: int, compiled: bool | None) -> None:
        super().__init__(rules)
        self.batch = Batch(rules, lanes, autoreset="disabled", compiled=compiled)
        self.batch.reset(seed)
        self.moves = LaneMoves(self.batch)
        self.returns: list[np.ndarray[Any, Any]] = []  # (P,) each
        self.fresh = np.ones(lanes, bool)  # lanes whose episode has just begun

    def view(self) -> tuple[Tensor, Tensor]:
        """Copies of the scaled observations (N, P, O) and masks (N, P, A)."""
        seen = torch.from_numpy(self.batch.observations.astype(np.float32)).flatten(2)
        return seen / self.scale, torch.from_numpy(self.batch.masks.copy()).bool()

    def step(self, actions: Tensor) -> Step:
        """Play one step of every lane."""
        seen, masks = self.view()
        self.moves.add(actions.numpy())
        _, rewards, terminated, truncated, _ = self.batch.step(actions.numpy())
        ended = torch.from_numpy(terminated.all(1) & ~truncated.all(1))
        after, masks_after = self.view()
        paid = torch.from_numpy(rewards.astype(np.float32))
        self.returns, self.fresh = [], self.batch.finished.copy()
        if self.fresh.any():
            self.returns = list(self.batch.statistics()["returns"][self.fresh].copy())
            self.batch.reset(lanes=self.fresh)
        return Step(seen, masks, actions, paid, ended, after, masks_after)

    def check_rows(self, rows: Mapping[str, Tensor], **limits: int) -> None:
        """Raise `InvalidOption` unless kept rows are such as `step` returns.

        limits: names of further rows, whole numbers (M, P) below these limits.
        """
        if not rows:
            return
        counts = {"actions": self.actions, **limits}
        seen, legal, each = (self.seats, self.width), (self.seats, self.actions), (self.seats,)
        shapes = {"seen": seen, "masks": legal, "rewards": each, "ended": (), "after": seen}
        shapes |= {"masks_after": legal} | dict.fromkeys(counts, each)
        require_names("the kept steps", dict(rows), shapes)
        for name, shape in shapes.items():
            kind = torch.bool if name in ("masks", "ended", "masks_after") else torch.float32
            reach = (0, counts[name] - 1) if name in counts else None
            kind = torch.int64 if name in counts else kind
            require_tensor(name, rows[name], (len(rows[name]), *shape), kind, reach)


class Memory:
    """The last `size` steps of single lanes, from which batches are drawn."""

    changing = ("filled", "next", "rows")

    def __init__(self, size: int, generator: torch.Generator) -> None:
        self.size, self.generator = size, generator
        self.kept: dict[str, Tensor] = {}
        self.filled = self.next = 0

    @property
    def rows(self) -> dict[str, Tensor]:
        """The rows that are filled."""
        return {name: kept[: self.filled].clone() for name, kept in self.kept.items()}

    @rows.setter
    def rows(self, rows: Mapping[str, Tensor]) -> None:
        if self.filled > self.size or self.next >= max(1, self.size):
            raise InvalidOption(f"more than memory={self.size} steps are kept")
        if self.filled and not rows:
            raise InvalidOption(f"the {self.filled} kept steps are missing")
        for name, known in rows.items():
            if not isinstance(known, Tensor) or not known.ndim or len(known) != self.filled:
                raise InvalidOption(f"{show(name)} has not {self.filled} kept steps")
            self.kept[name] = torch.zeros((self.size, *known.shape[1:]), dtype=known.dtype)
            self.kept[name][: len(known)] = known

    def add(self, rows: Mapping[str, Tensor]) -> None:
        """Keep rows, one for each lane; the oldest are overwritten."""
        count = len(next(iter(rows.values())))
        if not self.kept:
            self.kept = {
                name: torch.zeros((self.size, *row.shape[1:]), dtype=row.dtype)
                for name, row in rows.items()
            }
        places = (self.next + torch.arange(count)) % self.size
        for name, row in rows.items():
            self.kept[name][places] = row
        self.next = (self.next + count) % self.size
        self.filled = min(self.size, self.filled + count)

    def sample(self, count: int) -> dict[str, Tensor]:
        """Rows drawn at random, with replacement."""
        drawn = torch.randint(self.filled, (count,), generator=self.generator)
        return {name: kept[drawn] for name, kept in self.kept.items()}


def explore(masks: Tensor, generator: torch.Generator) -> Tensor:
    """A random legal action of every seat (N, P); 0 where nothing is legal."""
    weights = masks.float().flatten(0, 1)
    weights = torch.where(weights.sum(1, keepdim=True) > 0, weights, torch.ones_like(weights))
    return torch.multinomial(weights, 1, generator=generator).reshape(masks.shape[:2])


def with_seats(seen: Tensor) -> Tensor:
    """Observations (N, P, O) with the seat's number as a one-hot vector: (N, P, O + P)."""
    lanes, seats = seen.shape[:2]
    return torch.cat([seen, torch.eye(seats).expand(lanes, seats, seats)], -1)


def anneal(start: float, end: float, share: float) -> float:
    """A number that falls in a straight line from `start` to `end` as `share` goes from 0 to 1."""
    return start + (end - start) * min(1.0, share)


def rules_of(env: str | ArrayGame[Any], options: Mapping[str, Any]) -> ArrayGame[Any]:
    """The game of an id, or the game itself."""
    return game(env, **options) if isinstance(env, str) else env  # type: ignore[return-value]
