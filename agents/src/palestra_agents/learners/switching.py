"""MANSA: a third learner decides in which states the team is worth learning and acting together.

Mguni et al., "MANSA: Learning Fast and Slow in Multi-Agent Systems", ICML 2023. Players act by
independent values of their own observations, except in the states in which the switcher calls the
central values of everybody's observations and actions. A call costs `cost` and at most `calls` are
made in an episode, so that the switcher's values have the number of calls that are left as part of
their state. All three learners learn from every step (Q-learning is off-policy) and are tables:
observations are keys, and central values have one entry for every combination of actions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from palestra import ArrayGame, InvalidOption, Meta, Rng
from torch import Tensor

from palestra_agents.checkpoints import require_finite, require_tensor
from palestra_agents.learners.field import Field, anneal, rules_of
from palestra_agents.settings import (
    Checked,
    Discount,
    Explore,
    ExploreShare,
    Lanes,
    LearningRate,
    Seed,
    read_settings,
)

STREAM = 0x3A25A  # keeps its random numbers apart from those of the game
MOST = 4096  # entries of a central value
Array = NDArray[Any]


@dataclass(frozen=True)
class SwitchingSettings(Checked):
    """`calls` in an episode at most, each of which costs the switcher `cost`."""

    num_envs: Lanes = 16
    learning_rate: LearningRate = 0.2
    gamma: Discount = 0.95
    cost: Annotated[float, Meta(ge=0, description="what a call costs the switcher")] = 0.02
    calls: Annotated[int, Meta(ge=0, description="calls in an episode at most")] = 1_000_000
    explore_start: Explore = 1.0
    explore_end: Explore = 0.05
    explore_share: ExploreShare = 0.7
    control: Annotated[
        Literal["switched", "central", "independent"],
        Meta(description="who chooses: a switcher decides, always the centre, always the seats"),
    ] = "switched"
    seed: Seed = 0


class Table:
    """Values of actions by key; unseen keys are worth 0."""

    changing = ("written",)

    def __init__(self, actions: int) -> None:
        self.actions = actions
        self.rows: dict[bytes, Array] = defaultdict(lambda: np.zeros(actions))

    @property
    def written(self) -> dict[str, Tensor]:
        """The rows by key in hexadecimal digits, in order."""
        return {key.hex(): torch.from_numpy(self.rows[key].copy()) for key in sorted(self.rows)}

    @written.setter
    def written(self, rows: Mapping[str, Tensor]) -> None:
        for key, row in rows.items():
            known = require_tensor("a table's row", row, (self.actions,), torch.float64)
            self.rows[bytes.fromhex(key)] = known.numpy().copy()

    def best(self, key: bytes, legal: Array) -> int:
        """The best legal action."""
        row = self.rows.get(key)
        return int(np.flatnonzero(legal)[0]) if row is None else int(best_of(row, legal))

    def worth(self, key: bytes, legal: Array) -> float:
        """The value of the best legal action."""
        row = self.rows.get(key)
        return 0.0 if row is None else float(row[best_of(row, legal)])

    def learn(self, key: bytes, action: int, goal: float, rate: float) -> None:
        require_finite(goal)
        row = self.rows[key]
        row[action] += rate * (goal - row[action])


def best_of(row: Array, legal: Array) -> int:
    """The number of the greatest value among legal ones."""
    return int(np.where(legal, row, -np.inf).argmax())


class Switching:
    """Trains the team's tables and the switcher; `calls_share` is how often it has called."""

    kind = SwitchingSettings
    sees_all = True
    changing = (
        "steps",
        "field",
        "independent",
        "central",
        "switcher",
        "left",
        "draws",
        "called",
        "decided",
    )
    algo = "mansa"

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(SwitchingSettings, settings, "mansa")
        chosen = self.settings
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        seats, actions = self.field.seats, self.field.actions
        if actions**seats > MOST:
            raise InvalidOption(
                f"{actions} actions of {seats} players are {actions**seats:,} combinations; tables "
                f"of the team's values have at most {MOST:,}. Use fewer players, or --algo qmix"
            )
        self.together = np.array(list(product(range(actions), repeat=seats)))  # (J, P)
        self.place = {tuple(row): i for i, row in enumerate(self.together.tolist())}
        self.independent = [Table(actions) for _ in range(seats)]
        self.central = Table(len(self.together))
        self.switcher = Table(2)
        self.left = np.full(chosen.num_envs, chosen.calls)
        self.rng = Rng.seeded(chosen.seed, STREAM)
        self.steps = 0
        self.called = self.decided = 0

    # Playing

    def decide(self, seen: Array, masks: Array, left: int, chance: float) -> tuple[Array, bool]:
        """The actions (P,) of one lane, and whether the central values were called."""
        call = self.calls(seen, left, chance)
        if self.rng.random() < chance:
            picked = [self.rng.choice(np.flatnonzero(legal_row(row)).tolist()) for row in masks]
            return np.array(picked), call
        if call:
            return self.together[self.central.best(key_of(seen), self.legal(masks))], True
        each = zip(self.independent, seen, masks, strict=True)
        return np.array([t.best(key_of(own), legal_row(row)) for t, own, row in each]), False

    def calls(self, seen: Array, left: int, chance: float = 0.0) -> bool:
        """Whether the central values decide in a state, with so many calls left."""
        if self.settings.control != "switched":
            return self.settings.control == "central"
        if left < 1:
            return False
        if self.rng.random() < chance:
            return self.rng.random() < 0.5
        return self.switcher.best(self.switch_key(seen, left), np.ones(2, bool)) == 1

    def switch_key(self, seen: Array, left: int) -> bytes:
        """The switcher's state: what everybody sees and, if they are limited, the calls left."""
        limited = self.settings.calls < SwitchingSettings.calls
        return key_of(seen) + (left.to_bytes(4, "little") if limited else b"")

    def legal(self, masks: Array) -> Array:
        """Which combinations of actions are legal, of shape (J,)."""
        seats = range(len(masks))
        rows = [legal_row(masks[seat])[self.together[:, seat]] for seat in seats]
        return np.logical_and.reduce(rows)

    def update(self, progress: float = 0.0) -> list[Array]:
        """Play one step in every lane and learn; returns the returns of finished episodes."""
        chosen = self.settings
        share = progress / chosen.explore_share if chosen.explore_share else 1.0
        chance = anneal(chosen.explore_start, chosen.explore_end, share)
        seen, masks = (part.numpy() for part in self.field.view())
        lanes = range(chosen.num_envs)
        picked = [self.decide(seen[i], masks[i], int(self.left[i]), chance) for i in lanes]
        step = self.field.step(torch.from_numpy(np.array([actions for actions, _ in picked])))
        after, masks_after = step.after.numpy(), step.masks_after.numpy()
        for i in lanes:
            actions, call = picked[i]
            rows = (step.rewards[i].numpy(), after[i], masks_after[i], bool(step.ended[i]))
            self.learn(seen[i], actions, call, int(self.left[i]), *rows)
            self.left[i] = chosen.calls if self.field.fresh[i] else self.left[i] - call
            self.called += call
        self.steps += chosen.num_envs
        self.decided += chosen.num_envs
        return self.field.returns

    @property
    def calls_share(self) -> float:
        """The share of decisions with a call since `called` and `decided` were last set to 0."""
        return self.called / max(1, self.decided)

    # Learning

    def learn(
        self,
        seen: Array,
        actions: Array,
        call: bool,
        left: int,
        rewards: Array,
        after: Array,
        masks: Array,
        ended: bool,
    ) -> None:
        """Learn all three tables from one step of one lane; everybody learns the team's reward."""
        chosen, paid = self.settings, float(rewards.sum())
        gamma = 0.0 if ended else chosen.gamma
        for seat, table in enumerate(self.independent):
            later = table.worth(key_of(after[seat]), legal_row(masks[seat])) if gamma else 0.0
            goal = paid + gamma * later
            table.learn(key_of(seen[seat]), int(actions[seat]), goal, chosen.learning_rate)
        later = self.central.worth(key_of(after), self.legal(masks)) if gamma else 0.0
        place = self.place[tuple(actions.tolist())]
        self.central.learn(key_of(seen), place, paid + gamma * later, chosen.learning_rate)
        if chosen.control == "switched" and left > 0:
            self.learn_switch(seen, call, left, paid, after, gamma)

    def learn_switch(
        self, seen: Array, call: bool, left: int, paid: float, after: Array, gamma: float
    ) -> None:
        """The switcher is paid the team's reward less the price of its call."""
        remain = left - call
        legal = np.array([True, remain > 0])
        later = self.switcher.worth(self.switch_key(after, remain), legal) if gamma else 0.0
        goal = paid - self.settings.cost * call + gamma * later
        key = self.switch_key(seen, left)
        self.switcher.learn(key, int(call), goal, self.settings.learning_rate)

    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The actions (M, P) without exploration, with all calls left."""
        pairs = zip(seen.numpy(), masks.numpy(), strict=True)
        found = [self.decide(own, legal, self.settings.calls, 0.0)[0] for own, legal in pairs]
        return torch.from_numpy(np.array(found))

    # Keeping

    def check(self) -> None:
        if not ((self.left >= 0) & (self.left <= self.settings.calls)).all():
            raise InvalidOption(f"calls left must be from 0 to {self.settings.calls}")

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        tables = [*self.independent, self.central, self.switcher]
        return {"tables": [table.written for table in tables]}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        tables = [*self.independent, self.central, self.switcher]
        for table, rows in zip(tables, kept["tables"], strict=True):
            table.written = rows

    @property
    def draws(self) -> int:
        """How far its random numbers have come."""
        return self.rng.counter

    @draws.setter
    def draws(self, count: int) -> None:
        self.rng.counter = count


def key_of(seen: Array) -> bytes:
    return seen.tobytes()


def legal_row(mask: Array) -> Array:
    """A mask; all of it where nothing is legal, as for a player who is out."""
    return mask if mask.any() else np.ones_like(mask)
