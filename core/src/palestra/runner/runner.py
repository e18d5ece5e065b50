"""Playing many episodes with agents: waiting turns are grouped, each agent is called once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import msgspec

from palestra.agents.agent import Agent, Decision, Turn
from palestra.agents.budget import Account, Budget, Ledger, Usage
from palestra.agents.making import AgentLike, make_agent
from palestra.kernel.episode import Episode, parse_policy
from palestra.kernel.errors import InvalidAction, InvalidOption
from palestra.kernel.game import Game
from palestra.kernel.plugins import Listeners
from palestra.kernel.registry import open_game
from palestra.kernel.specs import EnvSpec
from palestra.records.record import EpisodeRecord, TurnNote, go_on, record_episode
from palestra.runner.run_folder import RunFolder
from palestra.shaping import open_episode

MAX_LIVE = 256


@dataclass(slots=True)
class Live:
    """An episode in progress."""

    number: int
    episode: Episode
    since: list[int]
    errors: dict[int, list[str]] = field(default_factory=dict)  # refused answers of this step
    actions: dict[int, Any] = field(default_factory=dict)  # accepted answers of this step
    notes: dict[int, TurnNote] = field(default_factory=dict)


class Asked(msgspec.Struct, eq=False, gc=False):
    """One turn put to an agent."""

    live: Live
    turn: Turn
    agent: Agent
    account: Account


class Runner:
    """Steps all live episodes of one game until `episodes` are done.

    Episode i starts from `seed + i`. `invalid` is the policy for moves that are illegal or cannot
    be read: "retry:n" asks again with the error in `Turn.error`. An agent whose budget is spent
    forfeits, or the episode is truncated where it is not zero-sum.
    """

    def __init__(
        self,
        game: Game[Any, Any],
        agents: Sequence[Agent],
        *,
        spec: EnvSpec | None = None,
        seed: int = 0,
        invalid: str = "retry:2",
        budgets: dict[str, Budget] | Budget | None = None,
        listeners: Listeners | None = None,
        live: int = MAX_LIVE,
        max_steps: int | None = None,
        rewards: Sequence[str] | None = None,
        gamma: float = 1.0,
    ) -> None:
        if len(agents) != game.num_players:
            raise InvalidOption(
                f"{type(game).__name__} has {game.num_players} seats; got {len(agents)} agents "
                f"({', '.join(a.name for a in agents)})"
            )
        self.game, self.agents, self.spec = game, list(agents), spec
        self.seed, self.invalid = seed, invalid
        self._kind, self._tries = parse_policy(invalid)
        self.ledger = Ledger(budgets)
        self._rewards, self._gamma = rewards, gamma
        self._hooks = listeners or Listeners()
        self._live, self._max_steps = live, max_steps
        self._alive: list[Live] = []

    def run(
        self, numbers: Iterable[int], begun: Mapping[int, EpisodeRecord] = MappingProxyType({})
    ) -> Iterator[EpisodeRecord]:
        """Play the episodes with these numbers; yields each record as it is finished.

        An episode in `begun` goes on from where its record stops.
        """
        queue = iter(numbers)
        try:
            while True:
                while len(self._alive) < self._live:
                    number = next(queue, None)
                    if number is None:
                        break
                    self._alive.append(self._start(number, begun.get(number)))
                if not self._alive:
                    return
                over = self._round(self._alive)
                if over:
                    self._alive = [live for live in self._alive if live.episode.to_act]
                for live in over:
                    yield self._finish(live)
        finally:
            for agent in dict.fromkeys(self.agents):
                agent.close()

    def unfinished(self) -> list[EpisodeRecord]:
        """Records of the episodes that are still being played, as far as they have come."""
        return [self._record(live) for live in self._alive if live.episode.turn]

    def _start(self, number: int, begun: EpisodeRecord | None = None) -> Live:
        policy = "raise" if self._kind == "retry" else self.invalid
        episode = open_episode(
            self.game,
            self.seed + number,
            rewards=self._rewards,
            gamma=self._gamma,
            spec=self.spec,
            invalid=policy,
        )
        if begun is not None:
            go_on(episode, begun)
        if self._hooks.episode_started:
            names = tuple(agent.name for agent in self.agents)
            self._hooks.episode_started(episode=episode, agents=names)
        return Live(number, episode, [0] * self.game.num_players)

    def _round(self, alive: list[Live]) -> list[Live]:
        """Ask everybody who waits, agent by agent, and play where all have answered.

        Returns what is over by that.
        """
        by_agent: dict[Agent, list[Asked]] = {}
        for live in alive:
            for item in self._waiting(live):
                by_agent.setdefault(item.agent, []).append(item)
        for agent, asked in by_agent.items():
            self._ask(agent, asked)
        over = []
        for live in alive:
            if live.actions:
                self._play(live)
            if not live.episode.to_act:
                over.append(live)
        return over

    def _waiting(self, live: Live) -> list[Asked]:
        """Seats whose answer is not there yet."""
        episode, waiting = live.episode, []
        for seat in episode.to_act:
            if seat in live.actions:
                continue
            agent = self.agents[seat]
            account = self.ledger.account(agent.name)
            spent = account.exhausted() if account.limited else None
            if spent:
                self._stop(episode, seat, f"budget of {spent} is spent")
                return []
            errors = live.errors.get(seat)
            turn = Turn(
                episode,
                seat,
                since=live.since[seat],
                account=account,
                error=errors[-1] if errors else "",
                tries=len(errors) if errors else 0,
            )
            if self._hooks.turn_ready:
                self._hooks.turn_ready(turn=turn)
            waiting.append(Asked(live, turn, agent, account))
        return waiting

    def _stop(self, episode: Episode, seat: int, why: str) -> None:
        if self.game.payoffs == "zero-sum":
            episode.forfeit(seat, why)
        else:
            episode.truncate(f"{self.game.players[seat]}'s {why}")

    def _ask(self, agent: Agent, asked: list[Asked]) -> None:
        """Put an agent all the turns that wait for it, and sort its answers into the episodes."""
        started = perf_counter()
        decisions = agent.act([item.turn for item in asked])
        if len(decisions) != len(asked):
            raise InvalidOption(
                f"agent {agent.name!r} gave {len(decisions)} decisions for {len(asked)} turns"
            )
        share = Usage(seconds=(perf_counter() - started) / len(asked))
        for item, decision in zip(asked, decisions, strict=True):
            if not decision.usage.seconds:
                decision.usage = decision.usage + share
            item.account.spend(decision.usage)
            if self._hooks.action_chosen:
                self._hooks.action_chosen(turn=item.turn, decision=decision)
            if not item.live.episode.over:
                self._accept(item.live, item.turn.seat, decision)

    def _accept(self, live: Live, seat: int, decision: Decision) -> None:
        """Keep an answer until everybody has given his; a refused one goes through the policy."""
        episode = live.episode
        errors = live.errors.get(seat)
        note = TurnNote(decision, errors or (), "retried" if errors else "ok")
        try:
            if decision.text is not None and decision.action is None:
                action = episode.parse(seat, decision.text)
                live.since[seat] = len(episode.transcript(seat))
            else:
                action = decision.action
                episode.check(seat, action)
        except InvalidAction as error:
            episode.count_mistake(seat)
            refused = note.errors = live.errors.setdefault(seat, [])
            refused.append(str(error))
            self._repair(live, seat, note, error)
        else:
            live.actions[seat], live.notes[seat] = action, note

    def _repair(self, live: Live, seat: int, note: TurnNote, error: InvalidAction) -> None:
        """Apply the invalid-move policy to an answer that cannot be played."""
        episode = live.episode
        if self._kind == "raise":
            raise error
        if self._kind == "retry" and len(note.errors) <= self._tries:
            return
        if self._kind == "random":
            action = episode.sample(seat, episode.repair_rng)
        elif self._kind == "noop" and episode.noop(seat) is not None:
            action = episode.noop(seat)
        else:
            episode.forfeit(seat, f"illegal move: {error.why or error}", {seat: note})
            live.actions.clear()
            return
        note.status = "replaced"
        live.actions[seat], live.notes[seat] = action, note

    def _play(self, live: Live) -> None:
        """Play a step whose answers are all there."""
        episode = live.episode
        if len(live.actions) < len(episode.to_act):
            return
        episode.act(live.actions, live.notes)
        live.actions, live.notes = {}, {}
        if live.errors:
            live.errors = {}
        if self._max_steps and episode.turn >= self._max_steps:
            episode.truncate(f"{self._max_steps} steps played")
        if self._hooks.stepped:
            self._hooks.stepped(episode=episode)

    def _finish(self, live: Live) -> EpisodeRecord:
        record = self._record(live)
        for agent in dict.fromkeys(self.agents):
            agent.forget(id(live.episode))
        if self._hooks.episode_finished:
            self._hooks.episode_finished(episode=live.episode, record=record)
        return record

    def _record(self, live: Live) -> EpisodeRecord:
        return record_episode(live.episode, [a.name for a in self.agents], number=live.number)


def stream(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: AgentLike | Sequence[AgentLike],
    episodes: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    invalid: str = "retry:2",
    budgets: dict[str, Budget] | Budget | None = None,
    hooks: Iterable[object] = (),
    live: int = MAX_LIVE,
    max_steps: int | None = None,
    rewards: Sequence[str] | None = None,
    gamma: float = 1.0,
    **options: Any,
) -> Iterator[EpisodeRecord]:
    """Play episodes and yield each record as soon as it is finished; none is kept here.

    The arguments are those of `play`, which returns the same records as a list.
    """
    if isinstance(agents, str | Agent) or callable(agents):
        spec, game = open_game(env, options)
        agents = [agents] * game.num_players
    else:
        spec, game = open_game(env, options, len(agents))
    seated = _seat(agents, seed)
    runner = Runner(
        game,
        seated,
        spec=spec,
        seed=seed,
        invalid=invalid,
        budgets=budgets,
        listeners=Listeners(hooks),
        live=live,
        max_steps=max_steps,
        rewards=rewards,
        gamma=gamma,
    )
    if out is None:
        if resume:
            raise InvalidOption("resume=True goes on with a run in a folder; say which: out=…")
        yield from runner.run(range(episodes))
        return
    folder = RunFolder(out)
    finished, begun = folder.read(runner) if resume else (set(), {})
    numbers = (number for number in range(episodes) if number not in finished)
    try:
        for record in runner.run(numbers, begun):
            folder.add(record)
            folder.keep(runner)
            yield record
    finally:
        folder.keep(runner, now=True)


def play(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: AgentLike | Sequence[AgentLike],
    **settings: Any,
) -> list[EpisodeRecord]:
    """Play episodes and return their records, in order of episode.

    agents: one entry a seat, or one agent for every seat; naming one twice seats the same agent
    twice.
    episodes: how many (1). seed: episode i starts from seed + i (0).
    out: a folder whose `episode.jsonl` gets every record as soon as it is finished. A run that is
    interrupted leaves its unfinished episodes beside it, in `unfinished.jsonl`; resume=True goes
    on with both, and returns what is played now.
    invalid: the policy for illegal moves ("retry:2"). budgets: limits, for every agent or by name.
    hooks: objects with life-cycle hooks. live: episodes played side by side (256).
    max_steps: truncate longer episodes. rewards: names of step shapers to pay ("env": the game's
    own) under the discount gamma (1.0).
    Everything else goes to the game; num_players follows from `agents` if not given.
    """
    records = stream(env, agents=agents, **settings)
    return sorted(records, key=lambda record: record.number)


def _seat(agents: Sequence[AgentLike], seed: int) -> list[Agent]:
    """Open every agent once, with random numbers of its own."""
    made: dict[Any, Agent] = {}
    seated = []
    for seat, agent in enumerate(agents):
        key = agent if isinstance(agent, str) else id(agent)
        if key not in made:
            made[key] = make_agent(agent)
            made[key].reseed(seed + seat)
        seated.append(made[key])
    return seated


def rollouts(
    game: Game[Any, Any] | str,
    *,
    agents: Sequence[AgentLike],
    seed: int,
    n: int,
    start: Episode | None = None,
) -> list[EpisodeRecord]:
    """Play one start n times: a group of siblings that share seed and position.

    `start` is an episode to branch from; by default the beginning from `seed`. Agents draw their
    own random numbers, and so differ; chance inside the game is the same for all.
    """
    spec, rules = open_game(game, {}, len(agents))
    root = start or Episode(rules, seed, spec=spec)
    seated = [make_agent(agent) for agent in agents]
    runner = Runner(rules, seated, spec=spec, seed=seed)
    records = []
    for number in range(n):
        live = Live(number, root.fork(), [0] * rules.num_players)
        while not live.episode.over:
            runner._round([live])
        record = runner._finish(live)
        record.group, record.branched_at = f"{root.seed}@{root.turn}", root.turn
        records.append(record)
    return records
