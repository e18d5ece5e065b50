"""What the two PettingZoo views share: named seats, spaces, reading actions, drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game, renderer
from palestra.kernel.specs import EnvSpec
from palestra.shaping import open_episode
from palestra.views.opening import MASKS, RENDER_MODES, check_obs, check_render_mode, read_action
from palestra.views.spaces import AnyText, TextObservation, masked


class SeatsView:
    """An episode seen by all its seats, under PettingZoo's names for them.

    masks: where legal actions are given: "obs" (observations are {"observation", "action_mask"}, as
    in PettingZoo's classic games), "info" (`infos[agent]["action_mask"]`) or "off".
    max_cycles: truncate the episode after so many steps.
    """

    metadata: dict[str, Any]
    agents: list[str]
    possible_agents: list[str]

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        *,
        obs: str | None = None,
        masks: str = "obs",
        max_cycles: int | None = None,
        invalid: str = "forfeit",
        compiled: bool | None = None,
        rewards: Sequence[str] | None = None,
        gamma: float = 1.0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        spec, game = open_game(env, options)
        self.game, self.obs = game, check_obs(obs, game)
        self.render_mode = check_render_mode(render_mode)
        if masks not in MASKS:
            raise UnknownName("place for masks", masks, MASKS)
        if max_cycles is not None and max_cycles < 1:
            raise InvalidOption(f"max_cycles must be at least 1, not {max_cycles}")
        self.masks, self.max_cycles = masks, max_cycles
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
            if self.obs == "text":
                self.action_spaces[player] = AnyText(10_000)
                self.observation_spaces[player] = AnyText()
            else:
                actions = game.action_space(seat)
                self.action_spaces[player] = type(actions)(actions.n)  # each its own generator
                seen = game.observation_space(seat)
                self.observation_spaces[player] = masked(seen, actions) if masks == "obs" else seen

    @property
    def episode(self) -> Episode:
        """The episode behind this environment: state, forks, log, record."""
        return self._episode

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def observe(self, agent: str) -> Any:
        """What one agent sees: an array, with its mask where masks="obs", or a text."""
        seat, episode = self._seat[agent], self._episode
        if self.obs == "text":
            return TextObservation(episode.prompt(seat, self._since[seat]))
        if self.masks != "obs":
            return episode.observation(seat)
        return {
            "observation": episode.observation(seat),
            "action_mask": episode.action_mask(seat).copy(),
        }

    def _mask_info(self, seat: int) -> dict[str, Any]:
        """What infos hold besides: the legal actions, where they were asked for there."""
        if self.masks != "info" or self.obs == "text":
            return {}
        return {"action_mask": self._episode.action_mask(seat).copy()}

    def _cut(self) -> None:
        """Truncate an episode that has gone on for `max_cycles` steps."""
        if self.max_cycles is not None and self._episode.turn >= self.max_cycles:
            self._episode.truncate(f"{self.max_cycles} steps played")

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state()`; only with obs="array"."""
        seen = self.game.observation_space(0)
        if self.obs == "text" or not isinstance(seen, spaces.Box):
            raise InvalidOption("a state is an array: there is none with obs='text'")
        seats = self.game.num_players
        low, high = (np.repeat(edge[None], seats, axis=0) for edge in (seen.low, seen.high))
        return spaces.Box(low, high, dtype=seen.dtype)

    def state(self) -> NDArray[Any]:
        """What all seats see together, for critics that may know it: (seats, *observation)."""
        space = self.state_space
        return np.stack([self._episode.observation(s) for s in range(space.shape[0])])

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
