"""Matches as data: who sits where, by name, and from which seed; any process can play a part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace
from palestra import EpisodeRecord, Game
from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.runner.listeners import Listeners

from palestra_training.curriculum import horizon_at
from palestra_training.evaluation import HELD_OUT
from palestra_training.hints import play_hinted
from palestra_training.learner import Engine, Learner
from palestra_training.plan import TrainPlan
from palestra_training.play import open_env, play_groups, seat_learner
from palestra_training.pool import Pool

Held = dict[tuple[int, ...], list[int]]
Played = tuple[list[EpisodeRecord], list[Held]]  # episodes, and what could be said in them
Kind = Literal["learning", "choosing", "comparing", "evaluation"]


class Matches(NamedTuple):
    """Starts that are played in one round.

    kind: "learning", rollouts to learn from; "choosing", of candidates for starts; "comparing", of
    rivals against one another; or "evaluation". number: of the round, from 0. line_ups: the name
    in each seat, for each start: of a policy, of a saved version, or of an agent. earlier: how
    often each seed was played before; empty for never.
    """

    kind: Kind
    number: int
    line_ups: Sequence[Sequence[str]]
    seeds: Sequence[int]
    earlier: Sequence[int] = ()

    def part(self, first: int, end: int) -> Matches:
        """Those from a place on, up to another."""
        chosen = slice(first, end)
        return self._replace(
            line_ups=self.line_ups[chosen],
            seeds=self.seeds[chosen],
            earlier=self.earlier[chosen],
        )

    def rollouts(self, plan: TrainPlan) -> int:
        """How many episodes are played from each start."""
        return {"learning": plan.group_size, "choosing": plan.tasks.episodes}.get(self.kind, 1)


class Seating:
    """Seats policies, saved versions and agents by name, and plays.

    engines: who generates for each policy. pool: has the weights of saved versions.
    """

    def __init__(
        self,
        plan: TrainPlan,
        table: tuple[Any, Game[Any, Any]],
        learners: Sequence[Learner],
        engines: Sequence[Engine],
        pool: Pool,
        listeners: Listeners | None = None,
    ) -> None:
        self.plan, self.table, self.pool, self.listeners = plan, table, pool, listeners
        self.learners, self.engines = learners, engines
        self.names = frozenset(learner.name for learner in learners)
        self._seated: dict[str, list[Agent]] = {}
        self._until: tuple[Any, ...] = ()

    @property
    def seats(self) -> range:
        """The seats of the game."""
        return range(self.table[1].num_players)

    def policies(self) -> list[str]:
        """The name of the policy of every seat."""
        return [self.learners[seat % len(self.learners)].name for seat in self.seats]

    def play(self, matches: Matches) -> list[EpisodeRecord]:
        """The episodes of every start, in order.

        Rollouts to learn from are as long as the round's horizon, and after hints if there are any.
        """
        plan, (spec, game) = self.plan, self.table
        line_ups, seeds = self._line_ups(matches), matches.seeds
        if matches.kind == "evaluation":
            spec, game = self._judged
        if matches.kind != "learning":
            size = matches.rollouts(plan)
            return play_groups(game, spec, plan, line_ups, seeds, size, matches.earlier)
        plan = replace(plan, max_episode_steps=horizon_at(plan, matches.number))
        games, earlier = (game, spec, plan, line_ups, seeds), matches.earlier
        if not plan.hints.agent:
            return play_groups(*games, plan.group_size, earlier, self.listeners)
        expert = make_agent(plan.hints.agent)
        expert.reseed(plan.seed + matches.number)
        return play_hinted(*games, earlier, expert, self.names, self.listeners)

    @cached_property
    def _judged(self) -> tuple[Any, Game[Any, Any]]:
        """The held-out environment."""
        held_out = self.plan.evaluation
        return open_env(self.plan, held_out.split, **held_out.options)

    def _line_ups(self, matches: Matches) -> list[list[Agent]]:
        """The agents of each start; a name's agents are made once a round, and for each kind."""
        now = matches.kind, matches.number, [learner.version for learner in self.learners]
        if self._until != now:
            self.release()
            self._until = now
        for engine in self.engines:
            engine.refresh()
        for name in sorted({name for names in matches.line_ups for name in names}):
            if name not in self._seated:
                self._seated[name] = self._agents(name, matches)
        return [
            [self._seated[name][seat] for seat, name in enumerate(names)]
            for names in matches.line_ups
        ]

    def release(self) -> None:
        """Forget who was seated, with the weights of saved versions among them."""
        self._until = ()
        self._seated.clear()

    def _agents(self, name: str, matches: Matches) -> list[Agent]:
        """What plays each seat under a name; seats that share a policy share an agent."""
        judging = matches.kind == "evaluation"
        if name in self.names:
            heat = self.plan.evaluation.temperature if judging else self.plan.temperature
            keep = matches.kind == "learning"
            (own,) = (engine for engine in self.engines if engine.name == name)
            return [seat_learner(own, self.plan, heat, keep=keep)] * len(self.seats)
        if name in self.pool.past:
            was = [
                learner.copy(weights, name)
                for learner, weights in zip(self.learners, self.pool.past[name], strict=True)
            ]
            players = [
                seat_learner(one, self.plan, self.plan.temperature, keep=False) for one in was
            ]
            return [players[seat % len(players)] for seat in self.seats]
        agent = make_agent(name)
        agent.reseed(HELD_OUT if judging else self.plan.seed + matches.number)
        return [agent] * len(self.seats)
