"""The environment under test, and the moves that test it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from palestra.kernel.actions import Grammar
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.game import Game
from palestra.kernel.registry import load_game
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec

MAX_STEPS = 150  # of an episode that a check looks at
LONGEST = 2_000  # steps of an episode that is played to its end
CAREFUL = 60  # steps for which a careful player puts the end off
MOVES = 13  # the stream of random moves, which no game draws from


class Failed(AssertionError):
    """The environment breaks the contract; the message says where and how.

    Failures of the same `cause`, where one is given, are reported once.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class Skipped(Exception):
    """The check does not apply, or needs something that is not installed."""


@dataclass(eq=False)
class Subject:
    """One registered environment with its options, and where its golden transcript is kept."""

    spec: EnvSpec
    options: dict[str, Any] = field(default_factory=dict)
    golden: Path | None = None
    causes: dict[str, str] = field(default_factory=dict)  # of failures: the check that told first

    @cached_property
    def game(self) -> Game[Any, Any]:
        """The game with the subject's options."""
        return load_game(self.spec, self.options)

    @property
    def has_array_view(self) -> bool:
        """Whether the environment has observations as arrays."""
        return "array" in self.spec.observations

    @cached_property
    def unplayed(self) -> Episode:
        """An episode to fork, and to load a state into."""
        return self.episode(0)

    def episode(self, seed: int = 0, **more: Any) -> Episode:
        """A new episode of the environment; `more` are further arguments of `Episode`."""
        # the kit plays interpreted what is not about speed, so that it does not wait for compilers
        compiled = False if isinstance(self.game, ArrayGame) else None
        return Episode(self.game, seed, spec=self.spec, **{"compiled": compiled, **more})


def random_actions(episode: Episode, rng: Rng) -> dict[int, Any]:
    """A random legal action for everybody who is to act; fails where somebody has none.

    They are drawn apart from what the game draws, where the episode's seed is that of `rng` too.
    """
    for seat in episode.to_act if isinstance(episode.game, ArrayGame) else ():
        require(
            bool(episode.action_mask(seat).any()),
            f"seed {episode.seed}, step {episode.steps_played}: player {seat} is to act and has no "
            "legal move",
            "somebody is to act and has no legal move",
        )
    apart = Rng.seeded(rng.word(), stream=MOVES)
    return {seat: episode.sample(seat, apart) for seat in episode.to_act}


def play_on(
    episode: Episode, rng: Rng, steps: int = MAX_STEPS, *, careful: bool = False
) -> Iterator[tuple[int, dict[int, Any]]]:
    """Play random legal moves to the end; yields each step's number and actions, after it.

    Random moves end many games within a few steps. Whoever is `careful` looks, for the first
    `CAREFUL` steps, whether their moves end the game, and if so, tries others.
    """
    for number in range(steps):
        if episode.over:
            return
        actions = random_actions(episode, rng)
        if careful and number < CAREFUL:
            actions = _not_the_end(episode, rng, actions)
        episode.act(actions)
        somebody_looks(episode, number)
        yield number, actions


def somebody_looks(episode: Episode, number: int) -> None:
    """Let the seats look in turn: rules that write outside an observation raise at their step."""
    if isinstance(episode.game, ArrayGame):
        episode.observation(number % episode.game.num_players)


def play_long(
    episode: Episode, rng: Rng, *, careful: bool = False
) -> Iterator[tuple[int, dict[int, Any]]]:
    """Play as `play_on` does to the very end, however far it is."""
    yield from play_on(episode, rng, LONGEST, careful=careful)


def _not_the_end(episode: Episode, rng: Rng, actions: dict[int, Any]) -> dict[int, Any]:
    """These moves, or others if they end the game: random ones, one seat's, then nobody's."""
    for _ in range(5):
        if not _ends(episode, actions):
            return actions
        actions = random_actions(episode, rng)
    idle = {seat: episode.noop(seat) for seat in episode.to_act}
    if None in idle.values():
        return actions
    for _ in range(3):
        seat = rng.choice(sorted(idle))
        some = {**idle, seat: episode.sample(seat, rng)}
        if not _ends(episode, some):
            return some
    return actions if _ends(episode, idle) else idle


def _ends(episode: Episode, actions: dict[int, Any]) -> bool:
    ahead = episode.fork()
    ahead.act(actions)
    return ahead.over


def same(one: Any, other: Any) -> bool:
    """Deep equality that knows arrays."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def plain(value: Any) -> Any:
    """A value whose repr says all that is in it: arrays as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def require(condition: bool, message: str, cause: str = "") -> None:
    """Fail with a message; see `Failed` for the cause."""
    if not condition:
        raise Failed(message, cause)


def sight(episode: Episode, seat: int, *, array: bool) -> dict[str, Any]:
    """Everything one seat can learn through any view, for comparison."""
    seen: dict[str, Any] = {
        "describe": episode.describe(seat),
        "prompt": episode.prompt(seat),
        "events": [(e.kind, e.text, dict(e.data)) for e in episode.transcript(seat)],
        "key": episode.game.state_key(episode.state, seat),
        "to_act": episode.to_act,
        "rules": episode.game.rules_for(seat),
        "scene": episode.scene(seat),
    }
    acting = seat in episode.to_act
    seen["anchor"] = episode.game.anchor(episode.state, seat) if acting else None
    legal = episode.legal(seat) if acting else None
    seen["legal"] = legal if isinstance(legal, Grammar) else None  # with its examples
    if array:
        seen["observation"] = episode.observation(seat)
        seen["mask"] = episode.action_mask(seat).copy()
    return seen
