"""Playing many episodes with agents: waiting turns are grouped, each agent is called once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from palestra.agents import Agent, Decision, Turn
from palestra.budget import Budget, Ledger, Usage
from palestra.episode import Episode, parse_policy
from palestra.errors import InvalidAction, InvalidOption
from palestra.game import Game
from palestra.plugins import Listeners
from palestra.record import EpisodeRecord, TurnNote, record_episode, write_records
from palestra.registry import AgentLike, load_game, make_agent, registry
from palestra.shaping import open_episode
from palestra.specs import EnvSpec

MAX_LIVE = 256


@dataclass(slots=True)
class Live:
    """An episode in progress."""

    number: int
    episode: Episode
    since: list[int]
    errors: dict[int, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Asked:
    """One turn put to an agent, and what came of it."""

    live: Live
    turn: Turn
    agent: Agent
    decision: Decision | None = None


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

    def run(self, numbers: Iterable[int]) -> Iterator[EpisodeRecord]:
        """Play the episodes with these numbers; yields each record as it is finished."""
        queue = iter(numbers)
        alive: list[Live] = []
        try:
            while True:
                while len(alive) < self._live:
                    number = next(queue, None)
                    if number is None:
                        break
                    alive.append(self._start(number))
                if not alive:
                    return
                self._round(alive)
                for live in alive:
                    if live.episode.over:
                        yield self._finish(live)
                alive = [live for live in alive if not live.episode.over]
        finally:
            for agent in dict.fromkeys(self.agents):
                agent.close()

    def _start(self, number: int) -> Live:
        policy = "raise" if self._kind == "retry" else self.invalid
        episode = open_episode(
            self.game,
            self.seed + number,
            rewards=self._rewards,
            gamma=self._gamma,
            spec=self.spec,
            invalid=policy,
        )
        if self._hooks.episode_started:
            names = tuple(agent.name for agent in self.agents)
            self._hooks.episode_started(episode=episode, agents=names)
        return Live(number, episode, [0] * self.game.num_players)

    def _round(self, alive: list[Live]) -> None:
        """Ask everybody who waits, agent by agent, and play the answers."""
        asked = [a for live in alive for a in self._waiting(live)]
        for agent in dict.fromkeys(item.agent for item in asked):
            self._ask(agent, [item for item in asked if item.agent is agent])
        by_episode: dict[int, list[Asked]] = {}
        for item in asked:
            by_episode.setdefault(id(item.live), []).append(item)
        for items in by_episode.values():
            self._play(items)

    def _waiting(self, live: Live) -> list[Asked]:
        episode, waiting = live.episode, []
        for player in episode.to_act:
            agent = self.agents[player]
            account = self.ledger.account(agent.name)
            spent = account.exhausted()
            if spent:
                self._stop(episode, player, f"budget of {spent} is spent")
                return []
            errors = live.errors.get(player, [])
            turn = Turn(
                episode,
                player,
                since=live.since[player],
                account=account,
                error=errors[-1] if errors else "",
                tries=len(errors),
            )
            if self._hooks.turn_ready:
                self._hooks.turn_ready(turn=turn)
            waiting.append(Asked(live, turn, agent))
        return waiting

    def _stop(self, episode: Episode, player: int, why: str) -> None:
        if self.game.payoffs == "zero-sum":
            episode.forfeit(player, why)
        else:
            episode.truncate(f"{self.game.players[player]}'s {why}")

    def _ask(self, agent: Agent, items: list[Asked]) -> None:
        started = perf_counter()
        decisions = agent.act([item.turn for item in items])
        if len(decisions) != len(items):
            raise InvalidOption(
                f"agent {agent.name!r} gave {len(decisions)} decisions for {len(items)} turns"
            )
        share = (perf_counter() - started) / len(items)
        for item, decision in zip(items, decisions, strict=True):
            if not decision.usage.seconds:
                decision.usage = decision.usage + Usage(seconds=share)
            item.decision = decision
            self.ledger.account(agent.name).spend(decision.usage)
            if self._hooks.action_chosen:
                self._hooks.action_chosen(turn=item.turn, decision=decision)

    def _play(self, items: list[Asked]) -> None:
        live = items[0].live
        episode = live.episode
        actions: dict[int, Any] = {}
        notes: dict[int, TurnNote] = {}
        for item in items:
            player, decision = item.turn.player, item.decision
            assert decision is not None
            errors = live.errors.get(player, [])
            note = notes[player] = TurnNote(decision, errors, "retried" if errors else "ok")
            try:
                actions[player] = self._action(episode, player, decision)
            except InvalidAction as error:
                episode.count_mistake(player)
                errors = live.errors.setdefault(player, [])
                errors.append(str(error))
                note.errors = errors
                if not self._repair(episode, player, actions, note, error):
                    return
        for player in actions:
            live.since[player] = len(episode.transcript(player)) if self._reads(items) else 0
        episode.act(actions, notes)
        live.errors.clear()
        if self._max_steps and episode.turn >= self._max_steps:
            episode.truncate(f"{self._max_steps} steps played")
        if self._hooks.stepped:
            self._hooks.stepped(episode=episode)

    @staticmethod
    def _reads(items: list[Asked]) -> bool:
        """Whether anybody in this round answered in words, and so follows the transcript."""
        return any(item.decision is not None and item.decision.text is not None for item in items)

    @staticmethod
    def _action(episode: Episode, player: int, decision: Decision) -> Any:
        if decision.text is not None and decision.action is None:
            return episode.parse(player, decision.text)
        episode.game.check(episode._world.state, player, decision.action)
        return decision.action

    def _repair(
        self,
        episode: Episode,
        player: int,
        actions: dict[int, Any],
        note: TurnNote,
        error: InvalidAction,
    ) -> bool:
        """Apply the invalid-move policy; False if this round does not play in this episode."""
        state = episode._world.state
        if self._kind == "raise":
            raise error
        if self._kind == "retry" and len(note.errors) <= self._tries:
            return False
        if self._kind == "random":
            actions[player] = self.game.sample(state, player, episode.noise)
        elif self._kind == "noop" and self.game.noop(state, player) is not None:
            actions[player] = self.game.noop(state, player)
        else:
            episode.forfeit(player, f"illegal move: {error.why or error}", {player: note})
            return False
        note.status = "replaced"
        return True

    def _finish(self, live: Live) -> EpisodeRecord:
        names = [agent.name for agent in self.agents]
        record = record_episode(live.episode, names, number=live.number)
        for agent in dict.fromkeys(self.agents):
            agent.forget(id(live.episode))
        if self._hooks.episode_finished:
            self._hooks.episode_finished(episode=live.episode, record=record)
        return record


def play(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: Sequence[AgentLike],
    episodes: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    invalid: str = "retry:2",
    budgets: dict[str, Budget] | Budget | None = None,
    hooks: Iterable[object] = (),
    live: int = MAX_LIVE,
    max_steps: int | None = None,
    rewards: Sequence[str] | None = None,
    gamma: float = 1.0,
    **options: Any,
) -> list[EpisodeRecord]:
    """Play episodes and return their records, in order of episode.

    `agents` has one entry a seat; naming one twice seats the same agent twice. `out` is a folder
    whose `episode.jsonl` gets every record as soon as it is finished. `hooks` are objects with
    life-cycle hooks. `rewards` names step shapers to pay ("env": the game's own) under the
    discount `gamma`. `options` go to the game; `num_players` follows from `agents` if not given.
    """
    spec, game = _open(env, options, len(agents))
    made: dict[Any, Agent] = {}
    seated = []
    for seat, agent in enumerate(agents):
        key = agent if isinstance(agent, str) else id(agent)
        if key not in made:
            made[key] = make_agent(agent)
            made[key].reseed(seed + seat)
        seated.append(made[key])
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
    records = []
    for record in runner.run(range(episodes)):
        records.append(record)
        if out is not None:
            write_records(Path(out) / "episode.jsonl", [record])
    return sorted(records, key=lambda record: record.number)


def _open(
    env: str | EnvSpec | Game[Any, Any], options: Mapping[str, Any], agents: int
) -> tuple[EnvSpec | None, Game[Any, Any]]:
    if isinstance(env, Game):
        return None, env
    spec = env if isinstance(env, EnvSpec) else registry().environment(env)
    return spec, load_game(spec, options, agents)


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
    spec, rules = _open(game, {}, len(agents))
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
