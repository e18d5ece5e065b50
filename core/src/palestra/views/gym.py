"""One seat learns, the others are agents: an episode as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from palestra.agents.agent import Agent, Turn
from palestra.agents.making import AgentLike, make_agent
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, OutOfTurn
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game, renderer
from palestra.kernel.specs import EnvSpec
from palestra.shaping import open_episode
from palestra.views.opening import RENDER_MODES, check_obs
from palestra.views.spaces import AnyText
from palestra.views.table import read_action


class GymView(gymnasium.Env[Any, Any]):
    """`seat` is played from outside; `opponents` is one agent for all other seats, or a list.

    obs="array": observations of `game.observation_space`, actions by number, the mask in
    `info["action_mask"]` and `action_masks()`. obs="text": observations and actions are strings.
    `invalid` is the policy for illegal moves (see `Episode`); it ends the episode by default, as
    PettingZoo's classic games do. `info["invalid"]` counts the seat's illegal moves. `rewards`
    names step shapers to pay ("env": the game's own terms) under the learner's discount `gamma`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": RENDER_MODES,
        "render_fps": 4,
    }

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        *,
        seat: int = 0,
        opponents: AgentLike | Sequence[AgentLike] = "random",
        obs: str = "array",
        invalid: str = "forfeit",
        compiled: bool | None = None,
        rewards: Sequence[str] | None = None,
        gamma: float = 1.0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        spec, game = open_game(env, options)
        if not 0 <= seat < game.num_players:
            raise InvalidOption(f"seat must be from 0 to {game.num_players - 1}, not {seat}")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise InvalidOption(f"render_mode {render_mode!r}; choose from: {RENDER_MODES}")
        self.game, self.seat, self.render_mode = game, seat, render_mode
        self.obs = check_obs(obs)
        self._episode = open_episode(
            game,
            0,
            rewards=rewards,
            gamma=gamma,
            invalid=invalid,
            compiled=compiled,
            spec=spec,
        )
        self._fresh = False  # whether reset() has been called
        self._rivals = _rivals(game, seat, opponents)
        self._since = [0] * game.num_players
        self._renderer: Any = None
        if obs == "array":
            self.observation_space = game.observation_space(seat)
            self.action_space = game.action_space(seat)
        else:
            self.observation_space, self.action_space = AnyText(), AnyText(10_000)

    @property
    def episode(self) -> Episode:
        """The episode behind this environment: state, forks, log, record."""
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; without a seed the next one follows from the last given."""
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        self._episode.reset(seed)
        self._fresh = True
        self._moved, self._paid = False, 0.0
        self._since = [0] * self.game.num_players
        for agent in set(self._rivals.values()):
            agent.forget(id(self._episode))
            agent.reseed(seed)
        self._let_others_play()
        self._render_human()
        info = self._info()
        if self.obs == "text":
            info["rules"] = self.game.rules_for(self.seat)
        return self._observation(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one action of the learning seat, then all others up to its next turn.

        If the others end an episode before this seat has had a turn, the first step tells so,
        whatever the action.
        """
        if not self._fresh:
            raise OutOfTurn("call reset() before step()")
        episode = self._episode
        if episode.over and self._moved:
            raise OutOfTurn("the episode is over; call reset()")
        self._moved = True
        if episode.over:
            return self._told()
        try:
            self._play(self._read(action))
        except InvalidAction as error:  # policy "raise" or a retry that is still open
            if episode.invalid == "raise":
                raise
            return self._observation(), 0.0, False, False, self._info(error=str(error))
        self._render_human()
        return self._told()

    def _told(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What `step` returns: the reward is all that was not told before."""
        episode, seat = self._episode, self.seat
        done = episode.over or seat not in episode.present
        cut = done and episode.truncated
        reward = float(episode.returns[seat] - self._paid)
        self._paid = episode.returns[seat]
        return self._observation(), reward, done and not cut, cut, self._info()

    def _read(self, action: Any) -> dict[int, Any]:
        """The learning seat's action as {seat: action}, legal or not."""
        if self.obs == "text" and not isinstance(action, str):
            raise InvalidAction(action, "a string (this view was made with obs='text')")
        return {self.seat: read_action(self._episode, self.seat, action, self.obs)}

    def _play(self, own: dict[int, Any]) -> None:
        """Play the seat's action together with whoever moves at the same time, then the others."""
        episode = self._episode
        if len(episode.to_act) > 1:
            own |= self._ask([p for p in episode.to_act if p != self.seat])
        if self.obs == "text":
            self._since[self.seat] = len(episode.transcript(self.seat))
        episode.act(own)
        self._let_others_play()

    def _let_others_play(self) -> None:
        episode, seat = self._episode, self.seat
        while episode.to_act and seat not in episode.to_act:
            if seat not in episode.present:
                break
            episode.act(self._ask(episode.to_act))

    def _ask(self, seats: Sequence[int]) -> dict[int, Any]:
        actions = {}
        for seat in seats:
            turn = Turn(self._episode, seat, since=self._since[seat])
            decision = self._rivals[seat].act([turn])[0]
            actions[seat] = turn.parse(decision.text) if decision.text else decision.action
        return actions

    def _observation(self) -> Any:
        if self.obs == "array":
            return self._episode.observation(self.seat)
        return self._episode.prompt(self.seat, self._since[self.seat])

    def _info(self, **more: Any) -> dict[str, Any]:
        episode = self._episode
        info: dict[str, Any] = {"turn": episode.turn, **more}
        if self.obs == "array":
            info["action_mask"] = episode.action_mask(self.seat).copy()
        if episode._mistakes:
            info["invalid"] = episode.mistakes[self.seat]
        if not episode.to_act:
            outcome = episode.outcome
            if outcome is not None:
                info["outcome"] = outcome.results[self.seat]
                info["reason"] = outcome.reason
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions as booleans, sb3-contrib's convention."""
        return self._episode.action_mask(self.seat).astype(bool)

    def render(self) -> Any:
        """A frame (rgb_array: HxWx3 uint8), a text picture (ansi), or None (human)."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            self._renderer = renderer(self._episode.spec, self.render_mode)()
        viewer = None if self.game.perfect_information else self.seat
        return self._renderer.draw(self._episode, viewer)

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        for agent in set(self._rivals.values()):
            agent.close()


def _rivals(
    game: Game[Any, Any], seat: int, opponents: AgentLike | Sequence[AgentLike]
) -> dict[int, Agent]:
    others = [player for player in range(game.num_players) if player != seat]
    if not isinstance(opponents, list | tuple):
        agent = make_agent(opponents) if others else None
        return {player: agent for player in others if agent is not None}
    if len(opponents) != len(others):
        raise InvalidOption(
            f"{len(others)} opponents are needed for seats {others}, got {len(opponents)}"
        )
    return {p: make_agent(agent) for p, agent in zip(others, opponents, strict=True)}


make = GymView
