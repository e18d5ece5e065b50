"""What is under test, and the moves that test it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.game import Game
from palestra.kernel.registry import load_game
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec

MAX_STEPS = 150  # of an episode that a check looks at


class Failed(AssertionError):
    """The environment breaks the contract; the message says where and how."""


class Skipped(Exception):
    """The check does not apply, or needs something that is not installed."""


@dataclass
class Subject:
    """One registered environment with its options, and where its golden transcript is kept."""

    spec: EnvSpec
    options: dict[str, Any] = field(default_factory=dict)
    golden: Path | None = None

    @cached_property
    def game(self) -> Game[Any, Any]:
        return load_game(self.spec, self.options)

    @property
    def has_array_view(self) -> bool:
        return "array" in self.spec.observations

    def episode(self, seed: int = 0, **more: Any) -> Episode:
        # the kit plays interpreted what is not about speed, so that it does not wait for compilers
        compiled = False if isinstance(self.game, ArrayGame) else None
        return Episode(self.game, seed, spec=self.spec, **{"compiled": compiled, **more})


def random_actions(episode: Episode, rng: Rng) -> dict[int, Any]:
    """A random legal action for everybody who is to act."""
    state = episode.state
    return {seat: episode.game.sample(state, seat, rng) for seat in episode.to_act}


def play_on(
    episode: Episode, rng: Rng, steps: int = MAX_STEPS
) -> Iterator[tuple[int, dict[int, Any]]]:
    """Play random legal moves to the end; yields each step's number and actions, after it."""
    for number in range(steps):
        if episode.over:
            return
        actions = random_actions(episode, rng)
        episode.act(actions)
        yield number, actions


def same(one: Any, other: Any) -> bool:
    """Deep equality that knows arrays."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def require(condition: bool, message: str) -> None:
    """Fail with a message."""
    if not condition:
        raise Failed(message)


def sight(episode: Episode, seat: int, *, array: bool) -> dict[str, Any]:
    """Everything one seat can learn through any view, to compare."""
    seen: dict[str, Any] = {
        "describe": episode.describe(seat),
        "prompt": episode.prompt(seat),
        "events": [(e.kind, e.text, dict(e.data)) for e in episode.transcript(seat)],
        "key": episode.game.state_key(episode.state, seat),
        "to_act": episode.to_act,
    }
    if array:
        seen["observation"] = episode.observation(seat)
        seen["mask"] = episode.action_mask(seat).copy()
    return seen
