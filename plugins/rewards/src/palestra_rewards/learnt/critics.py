"""Critics of whole turns: networks that value states and actions, fitted off-policy."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palestra_rewards.arrays import Bools, Floats, Ints, floats
from palestra_rewards.learnt.networks import (
    descend,
    load_weights,
    network,
    predict_rows,
    tensor,
    torch_module,
    weights_of,
)

COLUMNS = 512  # most columns of a one-hot key


@dataclass
class Transitions:
    """Turns of one seat and agent; `after` is the next state, all zeros after the last turn.

    `lasting` is 1 for a turn that has a next one. States and actions have shape (n, features),
    `paid` and `lasting` (n,).
    """

    state: Floats
    action: Floats
    paid: Floats
    after: Floats
    lasting: Floats

    @property
    def size(self) -> int:
        return self.paid.size

    def joined(self, other: Transitions, most: int) -> Transitions:
        """These turns and newer ones, of which the latest `most` are kept."""
        pairs = zip(self.columns(), other.columns(), strict=True)
        return Transitions(*(np.concatenate(pair)[-most:] for pair in pairs))

    def columns(self) -> tuple[Floats, ...]:
        return self.state, self.action, self.paid, self.after, self.lasting


@dataclass
class CriticSettings:
    gamma: float = 1.0
    hidden: int = 64
    steps: int = 1000
    rate: float = 0.01
    tau: float = 0.1
    expectile: float = 0.5
    replay: int = 10_000
    batch: int = 256
    seed: int = 0


@dataclass
class TurnCritic:
    """ArCHer's Q and V: each learns from the other's target copy, on turns from a replay buffer.

    The target of Q(s, a) is the turn's reward plus `gamma` times the target V of the next state;
    that of V(s) is the target Q of the action played there; an `expectile` above one half favours
    its higher values. Target copies (`slow`) move by `tau` towards the networks after each step.
    """

    settings: CriticSettings
    held: Transitions | None = None
    networks: list[Any] = field(default_factory=list)  # Q and V
    slow: list[Any] = field(default_factory=list)
    fits: int = 0

    def fit(self, fresh: Transitions) -> TurnCritic:
        """Add these turns to the replay buffer, and learn from all turns in it."""
        if not fresh.size:
            return self
        held = fresh if self.held is None else self.held.joined(fresh, self.settings.replay)
        self.held = held
        self._open(held.state.shape[1], held.action.shape[1])
        torch = torch_module()
        drawn = torch.Generator().manual_seed(1000 * self.settings.seed + self.fits)
        self.fits += 1
        columns = [tensor(column) for column in held.columns()]
        batch = min(self.settings.batch, held.size)

        def loss(step: int) -> Any:
            rows: Any = slice(None)
            if batch < held.size:
                rows = torch.randint(0, held.size, (batch,), generator=drawn)
            return self._loss(*(column[rows] for column in columns))

        descend(
            self.networks,
            loss,
            steps=self.settings.steps,
            rate=self.settings.rate,
            fade=True,
            after=self._follow,
        )
        return self

    def _loss(self, state: Any, action: Any, paid: Any, after: Any, lasting: Any) -> Any:
        torch, settings = torch_module(), self.settings
        both = torch.cat([state, action], dim=1)
        with torch.no_grad():
            ahead = paid + settings.gamma * lasting * self.slow[1](after)[:, 0]
            worth = self.slow[0](both)[:, 0]
        miss = worth - self.networks[1](state)[:, 0]
        share = torch.where(miss > 0, settings.expectile, 1 - settings.expectile)
        return ((self.networks[0](both)[:, 0] - ahead) ** 2).mean() + 2 * (share * miss**2).mean()

    def _follow(self) -> None:
        torch = torch_module()
        with torch.no_grad():
            for slow, quick in zip(self.slow, self.networks, strict=True):
                for one, other in zip(slow.parameters(), quick.parameters(), strict=True):
                    one.lerp_(other, self.settings.tau)

    def quality(self, state: Floats, action: Floats) -> Floats:
        return predict_rows(self.networks[0], np.concatenate([state, action], axis=1))[:, 0]

    def value(self, state: Floats) -> Floats:
        return predict_rows(self.networks[1], state)[:, 0]

    def _open(self, states: int, actions: int) -> None:
        if self.networks:
            return
        hidden, seed = self.settings.hidden, self.settings.seed
        self.networks = [
            network(states + actions, 1, hidden=hidden, seed=2 * seed),
            network(states, 1, hidden=hidden, seed=2 * seed + 1),
        ]
        self.slow = deepcopy(self.networks)

    def state(self) -> dict[str, Any]:
        held = [] if self.held is None else [column.tolist() for column in self.held.columns()]
        return {
            "held": held,
            "networks": [weights_of(one) for one in self.networks],
            "slow": [weights_of(one) for one in self.slow],
            "fits": self.fits,
        }

    def load(self, state: Mapping[str, Any]) -> TurnCritic:
        self.fits = int(state["fits"])
        if state["held"]:
            self.held = Transitions(*(floats(column) for column in state["held"]))
            self._open(self.held.state.shape[1], self.held.action.shape[1])
            for one, kept in zip(self.networks, state["networks"], strict=True):
                load_weights(one, kept)
            for one, kept in zip(self.slow, state["slow"], strict=True):
                load_weights(one, kept)
        return self


def one_hot(ids: Ints) -> Floats:
    """One-hot rows of the numbers, shape (n, columns); more than `COLUMNS` share columns."""
    rows = np.zeros((ids.size, min(int(ids.max(initial=-1)) + 1, COLUMNS)))
    rows[np.arange(ids.size), ids % COLUMNS] = 1.0
    return rows


def select_rows(columns: Transitions, keep: Bools) -> Transitions:
    return Transitions(*(column[keep] for column in columns.columns()))
