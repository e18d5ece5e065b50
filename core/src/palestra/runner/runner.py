"""Playing many episodes with agents: waiting turns are grouped, each agent is called once."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from types import MappingProxyType
from typing import Any

import msgspec

from palestra.agents.agent import Agent, Decision, Turn, decision_problem
from palestra.agents.budget import Budget, Ledger, Usage
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, cause
from palestra.kernel.game import Game
from palestra.kernel.plugins import Listeners
from palestra.kernel.policy import InvalidMovePolicy
from palestra.kernel.specs import EnvSpec
from palestra.records.record import (
    Attempt,
    EpisodeRecord,
    TurnNote,
    failed_record,
    go_on,
    record_episode,
)
from palestra.runner.running import PendingTurn, RunningEpisode
from palestra.shaping import open_episode

MAX_LIVE = 256
MOST_FAILURES = 32  # episodes that end in an error, none having finished, before a run gives up


class Runner:
    """Steps all live episodes of one game until `episodes` are done.

    Episode i starts from `seed + i`. `invalid` is the policy for moves that are illegal or cannot
    be read: "retry:n" asks again with the error in `Turn.error`. An agent whose budget is spent
    forfeits, or the episode is truncated where it is not zero-sum.

    What an agent, the game or a listener raises ends that episode, with the traceback in
    `EpisodeRecord.error`; the others go on. Where no episode has finished, the first such
    exception is raised at the end, or after `MOST_FAILURES` of them.
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
        self._policy = InvalidMovePolicy.read(invalid)
        self.ledger = Ledger(budgets)
        self._rewards, self._gamma = rewards, gamma
        self._hooks = listeners or Listeners()
        self._live, self._max_steps = live, max_steps
        self._running: list[RunningEpisode] = []
        self._finished = 0
        self.failures: list[Exception] = []

    def run(
        self, numbers: Iterable[int], begun: Mapping[int, EpisodeRecord] = MappingProxyType({})
    ) -> Iterator[EpisodeRecord]:
        """Play the episodes with these numbers; yields each record as it is finished.

        An episode in `begun` goes on from where its record stops.
        """
        queue = iter(numbers)
        try:
            while True:
                while len(self._running) < self._live:
                    number = next(queue, None)
                    if number is None:
                        break
                    self._running.append(self._start(number, begun.get(number)))
                if not self._running:
                    break
                over = self.step(self._running)
                if over:
                    self._running = [r for r in self._running if r.episode.to_act]
                for running in over:
                    yield self.finish(running)
                if len(self.failures) >= MOST_FAILURES and not self._finished:
                    break
            if self.failures and not self._finished:
                raise self.failures[0]
        finally:
            for agent in dict.fromkeys(self.agents):
                agent.close()

    def unfinished(self) -> list[EpisodeRecord]:
        """Records of the episodes that are still being played, as far as they have come."""
        return [self._record(r) for r in self._running if r.episode.turn and not r.error]

    def _start(self, number: int, begun: EpisodeRecord | None = None) -> RunningEpisode:
        # the runner asks again by itself: it has the other seats' answers to keep
        invalid = "raise" if self._policy.kind == "retry" else self.invalid
        episode = open_episode(
            self.game,
            self.seed + number,
            rewards=self._rewards,
            gamma=self._gamma,
            spec=self.spec,
            invalid=invalid,
        )
        if begun is not None:
            go_on(episode, begun)
        running = RunningEpisode(number, episode, [0] * self.game.num_players)
        if self._hooks.episode_started:
            names = tuple(agent.name for agent in self.agents)
            self._notify(running, self._hooks.episode_started, episode=episode, agents=names)
        return running

    def step(self, episodes: Sequence[RunningEpisode]) -> list[RunningEpisode]:
        """Ask everybody who waits, agent by agent, and play where all have answered.

        Returns the episodes that are over now.
        """
        by_agent: dict[Agent, list[PendingTurn]] = {}
        for running in episodes:
            for pending in self._waiting(running):
                by_agent.setdefault(pending.agent, []).append(pending)
        for agent, waiting in by_agent.items():
            self._ask(agent, [p for p in waiting if not p.running.error])
        over = []
        for running in episodes:
            if running.actions and not running.error:
                self._play(running)
            if not running.episode.to_act:
                over.append(running)
        return over

    def _waiting(self, running: RunningEpisode) -> list[PendingTurn]:
        """Turns of the seats whose answer is not there yet."""
        episode, waiting = running.episode, []
        for seat in episode.to_act:
            if seat in running.actions:
                continue
            agent = self.agents[seat]
            account = self.ledger.account(agent.name)
            spent = account.exhausted() if account.limited else None
            if spent:
                self._stop(episode, seat, f"budget of {spent} is spent")
                return []
            refused = running.refused.get(seat)
            turn = Turn(
                episode,
                seat,
                since=running.since[seat],
                account=account,
                error=refused[-1].error if refused else "",
                tries=len(refused) if refused else 0,
                sibling=running.sibling,
            )
            if self._hooks.turn_ready:
                self._notify(running, self._hooks.turn_ready, turn=turn)
            waiting.append(PendingTurn(running, turn, agent, account))
        return waiting

    def _stop(self, episode: Episode, seat: int, why: str) -> None:
        if self.game.payoffs == "zero-sum":
            episode.forfeit(seat, why)
        else:
            episode.truncate(f"{self.game.players[seat]}'s {why}")

    def _ask(self, agent: Agent, waiting: list[PendingTurn]) -> None:
        """Put an agent all the turns that wait for it, and sort its answers into the episodes."""
        if not waiting:
            return
        started = perf_counter()
        decisions = self._decisions(agent, waiting)
        share = Usage(seconds=(perf_counter() - started) / len(waiting))
        for pending, decision in zip(waiting, decisions, strict=True):
            if decision is None:
                continue
            if not decision.usage.seconds:
                decision.usage = decision.usage + share
            pending.account.spend(decision.usage)
            running = pending.running
            if self._hooks.action_chosen:
                turn = pending.turn
                self._notify(running, self._hooks.action_chosen, turn=turn, decision=decision)
            if not running.episode.over:
                self._accept(running, pending.turn.seat, decision)

    def _decisions(self, agent: Agent, waiting: list[PendingTurn]) -> Sequence[Decision | None]:
        """An agent's answers; None where it failed, which ends only that turn's episode."""
        try:
            return _answers(agent, [pending.turn for pending in waiting])
        except InvalidAction:
            raise
        except Exception as error:
            if len(waiting) == 1:
                self._fail(waiting[0].running, error)
                return [None]
        # one request may have spoilt the whole call: put the turns one by one
        return [self._decisions(agent, [pending])[0] for pending in waiting]

    def _accept(self, running: RunningEpisode, seat: int, decision: Decision) -> None:
        """Keep an answer until all seats have answered; a refused one goes through the policy."""
        episode = running.episode
        refused = running.refused.get(seat)
        note = TurnNote(decision, refused or (), "retried" if refused else "ok")
        try:
            if decision.text is not None and decision.action is None:
                action = episode.parse(seat, decision.text)
                running.since[seat] = len(episode.transcript(seat))
            else:
                action = decision.action
                episode.check(seat, action)
        except InvalidAction as error:
            episode.count_mistake(seat)
            refused = note.refused = running.refused.setdefault(seat, [])
            refused.append(Attempt.of(decision, str(error)))
            self._repair(running, seat, note, error)
        else:
            running.actions[seat], running.notes[seat] = action, note

    def _repair(
        self, running: RunningEpisode, seat: int, note: TurnNote, error: InvalidAction
    ) -> None:
        """Apply the invalid-move policy to an answer that cannot be played."""
        episode = running.episode
        repair = self._policy.repair(episode, seat, len(note.refused))
        if repair.what == "raise":
            raise error
        if repair.what == "ask":
            return
        said = note.decision
        note.decision = msgspec.structs.replace(said, usage=Usage())  # counted as refused
        if repair.what == "forfeit":
            episode.forfeit(seat, f"illegal move: {error.why or error}", {seat: note})
            running.actions.clear()
            return
        note.status = "replaced"
        running.actions[seat], running.notes[seat] = repair.action, note

    def _play(self, running: RunningEpisode) -> None:
        """Play a step whose answers are all there."""
        episode = running.episode
        if len(running.actions) < len(episode.to_act):
            return
        try:
            episode.act(running.actions, running.notes)
        except Exception as error:
            self._not_played(running, error)
            return
        running.actions, running.notes = {}, {}
        if running.refused:
            running.refused = {}
        if self._max_steps and episode.turn >= self._max_steps:
            episode.truncate(f"{self._max_steps} steps played")
        if self._hooks.stepped:
            self._notify(running, self._hooks.stepped, episode=episode)

    def _not_played(self, running: RunningEpisode, raised: Exception) -> None:
        """The game failed on what it had called legal: the mistake of the seat, if it is one seat.

        With several seats, or under the policy "raise", it ends the episode.
        """
        if len(running.actions) > 1 or self._policy.kind == "raise":
            self._fail(running, raised)
            return
        seat, note = next(iter(running.notes.items()))
        why = f"the game cannot play it ({cause(raised)})"
        error = InvalidAction(running.actions[seat], running.episode.legal_text(seat), why=why)
        running.episode.count_mistake(seat)
        running.actions, running.notes = {}, {}
        refused = running.refused.setdefault(seat, [])
        refused.append(Attempt.of(note.decision or Decision(), str(error)))
        self._repair(running, seat, TurnNote(note.decision, refused), error)

    def _notify(self, running: RunningEpisode, hook: Any, **arguments: Any) -> None:
        try:
            hook(**arguments)
        except Exception as error:
            self._fail(running, error)

    def _fail(self, running: RunningEpisode, error: Exception) -> None:
        """End an episode because something failed, and keep the traceback for its record."""
        if running.error:
            return
        running.error = "".join(traceback.format_exception(error))
        self.failures.append(error)
        running.actions, running.notes = {}, {}
        running.episode.truncate(f"error: {cause(error)}")

    def finish(self, running: RunningEpisode) -> EpisodeRecord:
        """The record of an episode that is over; its agents forget it."""
        record = self._record(running)
        for agent in dict.fromkeys(self.agents):
            agent.forget(id(running.episode))
        if self._hooks.episode_finished:
            hook = self._hooks.episode_finished
            self._notify(running, hook, episode=running.episode, record=record)
            record.error = running.error
        self._finished += not record.error
        return record

    def _record(self, running: RunningEpisode) -> EpisodeRecord:
        names = [agent.name for agent in self.agents]
        try:
            return record_episode(
                running.episode, names, number=running.number, error=running.error
            )
        except Exception as error:
            self._fail(running, error)
            return failed_record(running.episode, names, number=running.number, error=running.error)


def _answers(agent: Agent, turns: Sequence[Turn]) -> Sequence[Decision]:
    """An agent's decisions, one a turn; raises `InvalidOption` for anything else."""
    decisions = agent.act(turns)
    if len(decisions) != len(turns):
        raise InvalidOption(
            f"agent {agent.name!r} gave {len(decisions)} decisions for {len(turns)} turns"
        )
    for decision in decisions:
        problem = decision_problem(decision)
        if problem:
            raise InvalidOption(f"agent {agent.name!r}: {problem}")
    return decisions
