"""One seat learns, the others are agents: an episode as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from palestra.agents.agent import Agent, Turn, decided_action, memory_keys
from palestra.agents.fitting import check_agents
from palestra.agents.making import AgentLike, make_agent
from palestra.engine.rivals import NONE, Rivals, open_rivals
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, OutOfTurn
from palestra.kernel.game import Game
from palestra.kernel.policy import InvalidMovePolicy
from palestra.kernel.registry import renderer
from palestra.kernel.specs import EnvSpec
from palestra.shaping import Shaper, open_episode
from palestra.views.opening import (
    RENDER_MODES,
    check_member,
    check_obs,
    check_render_mode,
    check_render_options,
    check_seat,
    check_settings,
    count_choices,
    open_for,
    read_action,
)
from palestra.views.spaces import AnyText

SEEDS = 64  # drawn at once


class GymView(gymnasium.Env[Any, Any]):
    """`seat` is played from outside; `opponents` is one agent for all other seats, or a list.

    In array games the opponents "random" and "scripted" play inside the compiled rules, which is
    many times faster than calling an agent; the seed still decides what they draw. obs="array" (the
    default where actions have numbers): observations of `game.observation_space`, actions by
    number, the mask in `info["action_mask"]` and `action_masks()`. obs="text": observations and
    actions are strings. `invalid` is the policy for illegal moves (see `Episode`); it ends the
    episode by default, as PettingZoo's classic games do. `info["invalid"]` counts the seat's
    illegal moves. `rewards` names step shapers to pay ("env": the game's own terms) under the
    learner's discount `gamma`. `info["reward_terms"]` is the step's reward by name.
    infos="arrays" leaves `turn` and `action_mask` alone, always of one shape, for clients that make
    tensors of all infos; "all" has words and counts too.
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
        obs: str | None = None,
        invalid: str = "forfeit",
        compiled: bool | None = None,
        rewards: Sequence[str | Shaper] | None = None,
        gamma: float = 1.0,
        render_mode: str | None = None,
        render_options: Mapping[str, Any] | None = None,
        infos: str = "all",
        **options: Any,
    ) -> None:
        check_settings(compiled=compiled, rewards=rewards, gamma=gamma, infos=infos)
        self._all_infos = infos == "all"
        spec, game = open_for(GymView, env, options)
        self.game, self.seat = game, check_seat(seat, game)
        self.render_mode = check_render_mode(render_mode)
        self._render_options = check_render_options(render_mode, render_options)
        self.obs = check_obs(obs, game)
        self._choices = count_choices(game, self.obs)[seat]
        self._episode = open_episode(
            game,
            0,
            rewards=rewards,
            gamma=gamma,
            invalid=invalid,
            compiled=compiled,
            spec=spec,
        )
        self._policy = InvalidMovePolicy.read(invalid)
        self._fresh = False  # whether reset() has been called
        self._rivals = _rivals(game, spec, seat, opponents)
        self._forgotten: list[int] | None = None  # while the opponents are to begin the episode
        self._seeds: list[int] = []
        self._seeds_of: Any = None
        self._since = [0] * game.num_players
        # a single term of the game's own needs no summing, which would slow every step down
        self._named: dict[str, float] | None = {}
        if rewards is None and len(game.reward_terms) == 1:
            self._named, self._term = None, game.reward_terms[0]
        self._inside: Rivals | None = None
        if self.obs == "array" and rewards is None:
            self._inside = open_rivals(game, seat, opponents)
            self._played_inside(NONE)  # compiles what a step needs
        self._renderer: Any = None
        if self.obs == "array":
            self.observation_space = deepcopy(game.observation_space(seat))  # own generators
            self.action_space = deepcopy(game.action_space(seat))
        else:
            self.observation_space, self.action_space = AnyText(), AnyText(10_000)

    @property
    def episode(self) -> Episode:
        """The episode behind this environment: state, forks, log, record."""
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; without a seed, its seed follows from the last one given."""
        super().reset(seed=seed)
        if seed is None:
            seed = self._next_seed()
        episode = self._episode
        self._forgotten = memory_keys(episode)
        episode.reset(seed)
        self._fresh = True
        self._moved, self._paid = False, 0.0
        self._named = None if self._named is None else {}
        self._since = [0] * self.game.num_players
        if self._inside is not None:
            self._inside.reseed(seed)
        else:
            self._begin_rivals()
        if self.seat not in episode.to_act and not self._played_inside(NONE):
            self._let_others_play()
        self._render_human()
        info = self._info()
        if self.obs == "text" and self._all_infos:
            info["rules"] = self.game.rules_for(self.seat)
        return self._observation(), info

    def _next_seed(self) -> int:
        """The next seed that follows from the last one given; drawing one by one takes longer."""
        if not self._seeds or self._seeds_of is not self.np_random:
            self._seeds_of = self.np_random
            self._seeds = self.np_random.integers(2**31, size=SEEDS).tolist()[::-1]
        return self._seeds.pop()

    def _begin_rivals(self) -> None:
        """Let the opponents forget the last episode and seed them for this one, once in each."""
        forgotten, self._forgotten = self._forgotten, None
        if forgotten is None:
            return
        for agent in set(self._rivals.values()):
            for key in forgotten:
                agent.forget(key)
            agent.reseed(self._episode.seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one action of the learning seat, then all others up to its next turn.

        If the others end an episode before this seat has had a turn, the first step reports the
        end, whatever the action.
        """
        if not self._fresh:
            raise OutOfTurn("call reset() before step()")
        episode, moved = self._episode, self._moved
        if not episode.to_act:
            if moved:
                raise OutOfTurn("the episode is over; call reset()")
            self._moved = True
            return self._outcome_of_step()
        action = read_action(episode, self.seat, action, self._choices)
        self._moved = True
        try:
            if not self._played_inside(action):
                self._play({self.seat: action})
        except InvalidAction as error:  # policy "raise" or a retry that is still open
            if episode.invalid == "raise":
                raise
            return self._observation(), 0.0, False, False, self._info(error=str(error))
        self._render_human()
        return self._outcome_of_step()

    def _outcome_of_step(self) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What `step` returns; the reward is everything not yet returned."""
        episode, seat = self._episode, self.seat
        done = seat not in episode.to_act and seat not in episode.present
        cut = done and episode.truncated
        total = episode.returns[seat]
        reward = float(total - self._paid)
        self._paid = total
        info = self._info(reward_terms=self._terms_of(reward))
        return self._observation(), reward, done and not cut, cut, info

    def _terms_of(self, reward: float) -> dict[str, float]:
        """The reward of a step by name."""
        episode = self._episode
        if self._named is not None:
            named, self._named = self._named, {}
            return named
        term = self._term
        if episode.to_act:
            return {term: reward}
        lost = episode.forfeited(self.seat)
        return {term: reward - lost, "forfeit": lost} if lost else {term: reward}

    def _add_terms(self) -> None:
        """Add the seat's rewards of the episode's last step by name."""
        if self._named is not None:
            for name, value in self._episode.step.rewards.get(self.seat, {}).items():
                self._named[name] = self._named.get(name, 0.0) + value

    def check_action(self, action: Any) -> None:
        """Raise `InvalidAction` for an action that is no member of `action_space`."""
        check_member(action, self._choices)

    def _play(self, own: dict[int, Any]) -> None:
        """Play the seat's action with those of simultaneous movers, then the others'."""
        episode = self._episode
        if len(episode.to_act) > 1:
            others, lost = self._ask([p for p in episode.to_act if p != self.seat])
            if lost:
                self._forfeit(lost | self._lost_by(own[self.seat]))
                return
            own |= others
        if self.obs == "text":
            self._since[self.seat] = episode.cursor(self.seat)
        episode.act(own)
        self._add_terms()
        self._let_others_play()

    def _played_inside(self, action: int) -> bool:
        """Play an action and the opponents' inside the compiled rules; False if that is impossible.

        It is impossible if the action is illegal (then the policy applies), if opponents are
        agents, or if the event log is being read.
        """
        inside = self._inside
        if inside is None:
            return False
        inside.action = action
        if not self._episode.play_through(inside):
            return False
        if self._named is not None:
            for name, value in inside.paid.items():
                self._named[name] = self._named.get(name, 0.0) + value
        return True

    def _let_others_play(self) -> None:
        episode, seat = self._episode, self.seat
        while episode.to_act and seat not in episode.to_act:
            if seat not in episode.present:
                break
            actions, lost = self._ask(episode.to_act)
            if lost:
                self._forfeit(lost)
            else:
                episode.act(actions)
                self._add_terms()

    def _forfeit(self, lost: Mapping[int, str]) -> None:
        self._episode.forfeit(lost)
        self._add_terms()

    def _lost_by(self, action: Any) -> dict[int, str]:
        """Why the learning seat forfeits by an action, in a step in which an opponent does."""
        error = self._episode._mistake(self.seat, action)
        if error is None:
            return {}
        repair = self._policy.repair(self._episode, self.seat, 1)
        if repair.what == "raise":
            raise error
        self._episode.count_mistake(self.seat)
        return (
            {self.seat: f"illegal move: {error.why or error}"} if repair.what == "forfeit" else {}
        )

    def _ask(self, seats: Sequence[int]) -> tuple[dict[int, Any], dict[int, str]]:
        """The opponents' actions, and why those forfeit whose answers the policy gives up on.

        Under "raise", which is about the learning seat, an opponent forfeits.
        """
        self._begin_rivals()  # those that play inside the rules may not have been asked so far
        actions, lost = {}, {}
        for seat in seats:
            try:
                actions[seat] = self._answer(seat)
            except InvalidAction as error:
                lost[seat] = f"illegal move: {error.why or error}"
        return actions, lost

    def _answer(self, seat: int) -> Any:
        """One opponent's legal action; raises `InvalidAction` when the policy gives up on it."""
        episode, refused, error = self._episode, 0, ""
        while True:
            turn = Turn(episode, seat, since=self._since[seat], error=error, tries=refused)
            decision = self._rivals[seat].act([turn])[0]
            try:
                return decided_action(episode, seat, decision)
            except InvalidAction as problem:
                refused, error = refused + 1, str(problem)
                episode.count_mistake(seat)
                repair = self._policy.repair(episode, seat, refused)
                if repair.what == "play":
                    return repair.action
                if repair.what != "ask":
                    raise

    def _observation(self) -> Any:
        if self.obs == "array":
            return self._episode.observation(self.seat)
        return self._episode.prompt(self.seat, self._since[self.seat])

    def _info(self, **more: Any) -> dict[str, Any]:
        episode = self._episode
        info: dict[str, Any] = {"turn": episode.steps_played}
        if self._all_infos:
            info["outcome"] = info["reason"] = ""
            info |= more
        if self.obs == "array":
            info["action_mask"] = episode.action_mask(self.seat).copy()
        if not self._all_infos:
            return info
        if self.game.has_newcomers:
            info["life"] = episode.life(self.seat)
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
            self._renderer = renderer(self._episode.spec, self.render_mode)(**self._render_options)
        viewer = None if self.game.perfect_information else self.seat
        return self._renderer.draw(self._episode, viewer)

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: a renderer, which may hold a window, is opened again."""
        return {**vars(self), "_renderer": None}

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        keys = {*(self._forgotten or ()), *memory_keys(self._episode)}
        for agent in set(self._rivals.values()):
            for key in sorted(keys):  # an agent of the caller's may play on elsewhere
                agent.forget(key)
            agent.close()


def _rivals(
    game: Game[Any, Any],
    spec: EnvSpec | None,
    seat: int,
    opponents: AgentLike | Sequence[AgentLike],
) -> dict[int, Agent]:
    others = [s for s in range(game.num_players) if s != seat]
    if not isinstance(opponents, list | tuple):
        check_agents([opponents] if others else [], game, spec)
        return dict.fromkeys(others, make_agent(opponents)) if others else {}
    check_agents(opponents, game, spec)
    if len(opponents) != len(others):
        raise InvalidOption(
            f"{len(others)} opponents are needed for seats {others}, got {len(opponents)}"
        )
    return {p: make_agent(agent) for p, agent in zip(others, opponents, strict=True)}


make = GymView
