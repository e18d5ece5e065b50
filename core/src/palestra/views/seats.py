"""The base of both PettingZoo views: named seats, spaces, reading actions, drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.registry import renderer
from palestra.kernel.specs import EnvSpec
from palestra.shaping import Shaper, open_episode
from palestra.views.opening import (
    MASKS,
    RENDER_MODES,
    Unreadable,
    check_obs,
    check_render_mode,
    check_render_options,
    check_settings,
    count_choices,
    open_for,
    read_action,
)
from palestra.views.spaces import AnyText, Padding, TextObservation, with_mask


class SeatsView:
    """An episode seen by all its seats, under PettingZoo's agent names.

    masks: where legal actions are given: "obs" (observations are {"observation", "action_mask"}),
    "info" (`infos[agent]["action_mask"]`) or "off". By default, `default_masks`.
    max_cycles: truncate the episode after this many steps. pad_spaces: all seats have the same
    spaces, for clients that ask for it: see `Padding`. An action that pads is illegal.
    """

    default_masks: ClassVar[str]

    metadata: dict[str, Any]
    agents: list[str]
    possible_agents: list[str]

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        *,
        obs: str | None = None,
        masks: str | None = None,
        max_cycles: int | None = None,
        pad_spaces: bool = False,
        invalid: str = "forfeit",
        compiled: bool | None = None,
        rewards: Sequence[str | Shaper] | None = None,
        gamma: float = 1.0,
        render_mode: str | None = None,
        render_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        check_settings(max_cycles=max_cycles, compiled=compiled, rewards=rewards, gamma=gamma)
        spec, game = open_for(type(self), env, options)
        self.game, self.obs = game, check_obs(obs, game)
        self._choices = count_choices(game, self.obs)
        self._padding = self._pad() if pad_spaces and self.obs != "text" else None
        self.render_mode = check_render_mode(render_mode)
        self._render_options = check_render_options(render_mode, render_options)
        masks = self.default_masks if masks is None else masks
        if not isinstance(masks, str) or masks not in MASKS:
            raise UnknownName("place for masks", masks, MASKS)
        self.masks, self.max_cycles, self._shaped = masks, max_cycles, rewards is not None
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
        self._wrappers_rng: tuple[int, Any] | None = None
        self.observation_spaces: dict[str, Any] = {}
        self.action_spaces: dict[str, Any] = {}
        for player, seat in self._seat.items():
            if self.obs == "text":
                self.action_spaces[player] = AnyText(10_000)
                self.observation_spaces[player] = AnyText()
            else:
                actions = game.action_space(seat)
                seen = deepcopy(game.observation_space(seat))  # each with its own generator
                count = int(actions.n)
                if self._padding is not None:
                    seen = deepcopy(self._padding.observation_space)
                    count = self._padding.choices
                actions = type(actions)(count)
                self.action_spaces[player] = actions
                self.observation_spaces[player] = (
                    with_mask(seen, actions) if masks == "obs" else seen
                )

    @property
    def episode(self) -> Episode:
        """The episode behind this environment: state, forks, log, record."""
        return self._episode

    @property
    def np_random(self) -> Any:
        """A numpy generator for wrappers, new in every episode; the game draws from its state."""
        if self._wrappers_rng is None or self._wrappers_rng[0] != self._episode.seed:
            seed = self._episode.seed
            self._wrappers_rng = (seed, seeding.np_random(seed)[0])
        return self._wrappers_rng[1]

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def observe(self, agent: str) -> Any:
        """What one agent sees: an array, with its mask if masks="obs", or a text."""
        seat, episode = self._seat[agent], self._episode
        if self.obs == "text":
            return TextObservation(episode.prompt(seat, self._since[seat]))
        seen = episode.observation(seat)
        if self._padding is not None:
            seen = self._padding.observation(seen)
        return (
            {"observation": seen, "action_mask": self._mask(seat)} if self.masks == "obs" else seen
        )

    def _mask(self, seat: int) -> NDArray[Any]:
        mask = self._episode.action_mask(seat)
        return mask.copy() if self._padding is None else self._padding.mask(mask)

    def _pad(self) -> Padding:
        seats = range(self.game.num_players)
        return Padding([self.game.observation_space(seat) for seat in seats], self._choices)

    def _mask_info(self, seat: int) -> dict[str, Any]:
        """Entries of infos about the person at the seat and, if requested, the legal actions."""
        info: dict[str, Any] = {}
        if self.game.has_newcomers:
            info["life"] = self._episode.life(seat)
        if self.masks == "info" and self.obs != "text":
            info["action_mask"] = self._mask(seat)
        return info

    def _cut(self) -> None:
        """Truncate an episode that has lasted `max_cycles` steps."""
        if self.max_cycles is not None and self._episode.steps_played >= self.max_cycles:
            self._episode.truncate(f"{self.max_cycles} steps played")

    @property
    def state_space(self) -> spaces.Box:
        """The space of `state()`; only with obs="array"."""
        if self.obs == "text":
            raise InvalidOption("a state is an array: there is none with obs='text'")
        seen = [self.game.observation_space(seat) for seat in range(self.game.num_players)]
        low, high = (_together([getattr(s, edge) for s in seen]) for edge in ("low", "high"))
        return spaces.Box(low, high, dtype=low.dtype)

    def state(self) -> NDArray[Any]:
        """The observations of all seats together, for centralised critics.

        Its shape is (seats, *observation), or one row if the seats' observations differ in shape.
        """
        if self.obs == "text":
            raise InvalidOption("a state is an array: there is none with obs='text'")
        seats = range(self.game.num_players)
        return _together([self._episode.observation(seat) for seat in seats])

    def _read(self, seat: int, action: Any) -> Any:
        if self.obs == "text":
            self._since[seat] = self._episode.cursor(seat)
        elif self._padding is not None and self._pads(seat, action):
            return Unreadable(str(action))
        return read_action(self._episode, seat, action, self._choices[seat])

    def _pads(self, seat: int, action: Any) -> bool:
        """Whether an action is in the seat's space, but not one that the seat has."""
        space = self.action_spaces[self.possible_agents[seat]]
        return bool(space.contains(action)) and int(action) >= self._choices[seat]

    def render(self) -> Any:
        """A frame (rgb_array: HxWx3 uint8), a text picture (ansi), or None (human)."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer = renderer(self._episode.spec, self.render_mode)(**self._render_options)
        return self._renderer.draw(self._episode, None)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: a renderer, which may hold a window, is opened again."""
        return {**vars(self), "_renderer": None}

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __str__(self) -> str:
        return str(self.metadata["name"])


def _together(seen: list[NDArray[Any]]) -> NDArray[Any]:
    """The arrays of all seats as one: stacked if their shapes agree, otherwise concatenated."""
    if all(one.shape == seen[0].shape for one in seen):
        return np.stack(seen)
    return np.concatenate([one.ravel() for one in seen])
