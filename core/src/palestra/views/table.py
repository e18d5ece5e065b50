"""What the two PettingZoo views share: named seats, spaces, reading actions, drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game, renderer
from palestra.kernel.specs import EnvSpec
from palestra.shaping import open_episode
from palestra.views.opening import RENDER_MODES, check_obs
from palestra.views.spaces import AnyText, masked


class Unreadable(str):
    """Text that named no legal move; never legal, so the invalid-move policy applies."""


def read_action(episode: Episode, seat: int, action: Any, obs: str) -> Any:
    """An outside action, a number or a text, as the game's own; legal or not."""
    if obs == "text":
        try:
            return episode.parse(seat, str(action))
        except InvalidAction:
            return Unreadable(action)
    if type(action) is not int:
        value = np.asarray(action)
        if value.size != 1 or value.dtype.kind not in "iu":
            return action
        action = int(value)
    try:
        return episode.game.action_of(action)
    except InvalidAction:
        return action


class TableView:
    """An episode seen by all its seats, under PettingZoo's names for them."""

    metadata: dict[str, Any]
    agents: list[str]
    possible_agents: list[str]

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        *,
        obs: str = "array",
        invalid: str = "forfeit",
        compiled: bool | None = None,
        rewards: Sequence[str] | None = None,
        gamma: float = 1.0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        spec, game = open_game(env, options)
        self.game, self.obs, self.render_mode = game, check_obs(obs), render_mode
        name = spec.id if spec else type(game).__name__
        self.metadata = {
            "name": name.replace("/", "_"),
            "render_modes": RENDER_MODES,
            "render_fps": 4,
            "is_parallelizable": game.order == "simultaneous",
        }
        self._episode = open_episode(
            game,
            0,
            rewards=rewards,
            gamma=gamma,
            invalid=invalid,
            compiled=compiled,
            spec=spec,
        )
        self.possible_agents = list(game.players)
        self.agents = []
        self._seat = {player: seat for seat, player in enumerate(game.players)}
        self._since = [0] * game.num_players
        self._renderer: Any = None
        self.observation_spaces: dict[str, Any] = {}
        self.action_spaces: dict[str, Any] = {}
        for player, seat in self._seat.items():
            if obs == "text":
                self.action_spaces[player] = AnyText(10_000)
                self.observation_spaces[player] = AnyText()
            else:
                actions = game.action_space(seat)
                self.action_spaces[player] = type(actions)(actions.n)  # each its own generator
                self.observation_spaces[player] = masked(game.observation_space(seat), actions)

    @property
    def episode(self) -> Episode:
        """The episode behind this environment: state, forks, log, record."""
        return self._episode

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def observe(self, agent: str) -> Any:
        """What one agent sees: {"observation", "action_mask"}, or a text."""
        seat, episode = self._seat[agent], self._episode
        if self.obs == "text":
            return episode.prompt(seat, self._since[seat])
        return {
            "observation": episode.observation(seat),
            "action_mask": episode.action_mask(seat).copy(),
        }

    def _read(self, seat: int, action: Any) -> Any:
        if self.obs == "text":
            self._since[seat] = len(self._episode.transcript(seat))
        return read_action(self._episode, seat, action, self.obs)

    def render(self) -> Any:
        """A frame (rgb_array: HxWx3 uint8), a text picture (ansi), or None (human)."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer = renderer(self._episode.spec, self.render_mode)()
        return self._renderer.draw(self._episode, None)

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __str__(self) -> str:
        return str(self.metadata["name"])
