"""Playing many episodes with agents: waiting turns are grouped, each agent is called once."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Any

import msgspec

from palestra.agents.agent import (
    Agent,
    Decision,
    PartialDecisions,
    Turn,
    decided_action,
    decision_problem,
    memory_keys,
    plain_decision,
)
from palestra.agents.answers import LateAnswer
from palestra.agents.budget import Budget, Ledger, Usage
from palestra.code_names import code_version
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, PalestraError, cause, show
from palestra.kernel.game import Game
from palestra.kernel.policy import InvalidMovePolicy
from palestra.kernel.specs import EnvSpec
from palestra.records.record import (
    Attempt,
    EpisodeRecord,
    TurnNote,
    failed_record,
    go_on,
    options_of,
    readable,
    record_episode,
)
from palestra.runner.calls import Calls
from palestra.runner.faults import as_exception, is_stop
from palestra.runner.listeners import Listeners
from palestra.runner.running import PendingTurn, RunningEpisode
from palestra.shaping import Shaper, open_episode
from palestra.time_limit import TimeUp, can_interrupt, time_limit

MAX_LIVE = 256
MOST_FAILURES = 32  # episodes that end in an error, none having finished, before a run gives up


class Runner:
    """Steps all live episodes of one game until the numbers of `run` are done.

    `palestra.play` and `palestra.stream` make one; use it where episodes are stepped by hand.

    game: the rules. agents: one for every seat. spec: the entry of the registry that records name.
    seed: episode i starts from `seed + i`.
    invalid: the policy for moves that are illegal or cannot be read: "retry:n" asks again with the
        error in `Turn.error`.
    budgets: limits, for every agent or by name. An agent whose budget is spent forfeits, or the
        episode is truncated if the game is not zero-sum.
    listeners: whose life-cycle hooks are called. live: episodes played side by side.
    max_episode_steps: truncate longer episodes; None for no limit.
    rewards, gamma: step shapers to pay, and the discount; see `palestra.play`.
    move_seconds: time for a move, as for a budget; a batch of turns has that much for each.
    root: an episode from which every one branches, instead of a new start.
    calls: where agents think about each turn in its own time, if they can; by default each agent is
        called with all its waiting turns.
    forfeits: an agent that raises one of these forfeits, once the others that act in the step have
        answered.

    An exception of an agent, the game or a listener ends that episode, with the traceback in
    `EpisodeRecord.error`; the others continue. If no episode has finished, the first such exception
    is raised at the end, or after `MOST_FAILURES` of them. Raises `InvalidOption` where there are
    not as many agents as seats, and for a policy, limit or shaper that cannot be used.

    Arguments of its methods: `running` is an episode in progress, `pending` and `waiting` are turns
    that wait in it, `decision` is the answer of a seat, `error` says why it was refused. `number`
    is that of the episode, and `begun` its record, if it was begun before.
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
        max_episode_steps: int | None = None,
        rewards: Sequence[str | Shaper] | None = None,
        gamma: float = 1.0,
        move_seconds: float | None = None,
        root: Episode | None = None,
        calls: Calls | None = None,
        forfeits: tuple[type[Exception], ...] = (),
    ) -> None:
        if len(agents) != game.num_players:
            raise InvalidOption(
                f"{type(game).__name__} has {game.num_players} seats; got {len(agents)} agents "
                f"({', '.join(a.name for a in agents)})"
            )
        if move_seconds is not None:
            _check_limit(move_seconds)
        if max_episode_steps is not None:
            _check_steps(max_episode_steps)
        self.game, self.agents, self.spec = game, list(agents), spec
        self._move_seconds, self._root, self._forfeits = move_seconds, root, forfeits
        self._calls = calls
        self.seed, self.invalid = seed, invalid
        self._policy = InvalidMovePolicy.read(invalid)
        self.ledger = Ledger(budgets)
        self._rewards, self._gamma = rewards, gamma
        self._hooks = listeners or Listeners()
        self._live, self._max_episode_steps = live, max_episode_steps
        self._running: list[RunningEpisode] = []
        self._finished = 0
        self.failures: list[Exception] = []
        self._files = {k: v for agent in agents for k, v in code_version(agent.name).items()}

    def run(
        self, numbers: Iterable[int], begun: Mapping[int, EpisodeRecord] = MappingProxyType({})
    ) -> Iterator[EpisodeRecord]:
        """Play the episodes with these numbers; yields each record as it is finished.

        An episode in `begun` resumes where its record stops.
        """
        queue = iter(numbers)
        try:
            while True:
                while len(self._running) < self._live:
                    number = next(queue, None)
                    if number is None:
                        break
                    try:
                        self._running.append(self.start(number, begun.get(number)))
                    except PalestraError:
                        raise
                    except BaseException as error:
                        if is_stop(error):
                            raise
                        yield self._not_started(number, error)
                        if self._hopeless:
                            break
                if not self._running:
                    break
                for over in self.step(self._running):
                    yield self.finish(over)  # while the caller keeps it, it counts as unfinished
                    self._running = [running for running in self._running if running is not over]
                if self._hopeless:
                    break
            if self.failures and not self._finished:
                raise self.failures[0]
        finally:
            if self._calls is not None:
                self._calls.close()
            for agent in dict.fromkeys(self.agents):
                for running in self._running:  # the run was stopped before their end
                    for key in memory_keys(running.episode):
                        _last_call(agent, "made to forget", partial(agent.forget, key))
                _last_call(agent, "closed", agent.close)

    @property
    def _hopeless(self) -> bool:
        return len(self.failures) >= MOST_FAILURES and not self._finished

    def _not_started(self, number: int, error: BaseException) -> EpisodeRecord:
        """The record of an episode that the game could not start."""
        self.failures.append(as_exception(error))
        return EpisodeRecord(
            env=self.spec.id if self.spec else type(self.game).__name__,
            seed=self.seed + number,
            players=self.game.players,
            agents=tuple(agent.name for agent in self.agents),
            options=options_of(self.game),
            number=number,
            error=_traceback(error),
        )

    def unfinished(self) -> list[EpisodeRecord]:
        """Partial records of the episodes that are still being played.

        The answers of a step that is being decided are not in them: resuming asks for them again.
        """
        live = [r for r in self._running if r.episode.steps_played and not r.error]
        return [running.without_pending(self._record(running)) for running in live]

    def start(self, number: int, begun: EpisodeRecord | None = None) -> RunningEpisode:
        """Open an episode, or resume one where its record stops."""
        # the runner asks again by itself: it has the other seats' answers to keep
        invalid = "raise" if self._policy.kind == "retry" else self.invalid
        episode = (
            self._root.fork()
            if self._root is not None
            else open_episode(
                self.game,
                self.seed + number,
                rewards=self._rewards,
                gamma=self._gamma,
                spec=self.spec,
                invalid=invalid,
            )
        )
        if begun is not None:
            go_on(episode, begun)
        running = RunningEpisode(number, episode, [0] * self.game.num_players)
        running.sibling = 0 if self._root is None else number
        if self._hooks.episode_started:
            names = tuple(agent.name for agent in self.agents)
            self._notify(running, self._hooks.episode_started, episode=episode, agents=names)
        return running

    def step(self, episodes: Sequence[RunningEpisode]) -> list[RunningEpisode]:
        """Put waiting turns to their agents, and play episodes whose answers are complete.

        Each agent is called once. With `calls`, turns are begun, and this waits for one that was
        begun before if there is nothing else to do. Returns the episodes that are over now.
        """
        by_agent: dict[Agent, list[PendingTurn]] = {}
        for running in episodes:
            for pending in self.waiting(running):
                if self._calls is None or not self._begin(self._calls, pending):
                    by_agent.setdefault(pending.agent, []).append(pending)
        for agent, waiting in by_agent.items():
            self._ask(agent, [p for p in waiting if not p.running.ended])
        if self._calls is not None:
            self._calls.hand_out(wait=not by_agent)
        over = []
        for running in episodes:
            if running.answered and not running.ended:
                self.play(running)
            if running.over:
                over.append(running)
        return over

    def _begin(self, calls: Calls, pending: PendingTurn) -> bool:
        """Let an agent think about a turn in its own time; False if it cannot."""
        running, seat = pending.running, pending.turn.seat

        def settled(answer: Any, seconds: float) -> None:
            running.asked.discard(seat)
            if isinstance(answer, BaseException):
                if is_stop(answer):
                    raise answer
                answer = as_exception(answer)
            decision = self._check_answer(pending, as_answer(pending.agent, answer))
            if decision is not None:
                self.settle(pending, decision, seconds)

        if running.ended:
            return True
        try:
            asking = pending.agent.deliberate(pending.turn)
        except BaseException as error:
            settled(error, 0.0)
            return True
        if asking is not None:
            running.asked.add(seat)
            calls.begin(asking, settled, self._move_seconds)
        return asking is not None

    def waiting(self, running: RunningEpisode) -> list[PendingTurn]:
        """Turns of the seats that have not answered yet."""
        seats = [seat for seat in running.episode.to_act if running.awaits(seat)]
        accounts = {seat: self.ledger.account(self.agents[seat].name) for seat in seats}
        spent = {
            seat: f"budget of {resource} is spent"
            for seat, account in accounts.items()
            if account.limited and (resource := account.exhausted())
        }
        if spent:
            if not running.asked:  # answers that are under way belong to the record
                self._stop_for(running, spent)
            return []
        waiting = []
        for seat in seats:
            pending = self.pending(running, seat)
            if self._hooks.turn_ready:
                self._notify(running, self._hooks.turn_ready, turn=pending.turn)
            waiting.append(pending)
        return waiting

    def pending(self, running: RunningEpisode, seat: int) -> PendingTurn:
        """The turn of one seat that is to act."""
        agent, refused = self.agents[seat], running.refused.get(seat)
        turn = Turn(
            running.episode,
            seat,
            since=running.since[seat],
            account=self.ledger.account(agent.name),
            error=refused[-1].error if refused else "",
            tries=len(refused) if refused else 0,
            sibling=running.sibling,
            move_seconds=self._move_seconds,
        )
        return PendingTurn(running, turn, agent)

    def _stop_for(
        self, running: RunningEpisode, spent: Mapping[int, str], forfeits: Mapping[int, str] = {}
    ) -> None:
        """End an episode in which some seats have spent their budget or time, or forfeited."""
        try:
            if self.game.payoffs == "zero-sum":
                running.episode.forfeit({**running.lost, **spent}, notes=running.unplayed())
            elif forfeits:
                running.episode.forfeit(forfeits, notes=running.unplayed())
            else:
                why = "; ".join(
                    f"{self.game.players[seat]}'s {what}" for seat, what in spent.items()
                )
                running.episode.truncate(why, running.unplayed())
        except BaseException as error:
            self._fail(running, error)
        running.clear()

    def _ask(self, agent: Agent, waiting: list[PendingTurn]) -> None:
        """Call an agent with all its waiting turns, and distribute its answers to the episodes."""
        if not waiting:
            return
        started = perf_counter()
        decisions = self.decisions(agent, waiting)
        seconds = (perf_counter() - started) / len(waiting)
        for pending, decision in zip(waiting, decisions, strict=True):
            if decision is not None:
                self.settle(pending, decision, seconds)

    def settle(self, pending: PendingTurn, decision: Decision, seconds: float) -> None:
        """Charge an answer, which took `seconds`, and accept or refuse it."""
        if seconds and not decision.usage.seconds:
            decision.usage = decision.usage + Usage(seconds=seconds)
        self.take(pending.running, pending.turn.seat, decision, pending.turn)

    def take(
        self, running: RunningEpisode, seat: int, decision: Decision, turn: Turn | None = None
    ) -> None:
        """Charge an answer to `turn`, by default the seat's, and accept or refuse it."""
        self.ledger.account(self.agents[seat].name).spend(decision.usage)
        if self._hooks.action_chosen:
            turn = turn or self.pending(running, seat).turn
            self._notify(running, self._hooks.action_chosen, turn=turn, decision=decision)
        if not running.episode.over:
            try:
                self._accept(running, seat, decision)
            except BaseException as error:
                self._broke_off(running, error)

    def decisions(self, agent: Agent, waiting: list[PendingTurn]) -> Sequence[Decision | None]:
        """An agent's answers; None for a turn on which it failed, whose episode ends."""
        try:
            with time_limit(self._move_seconds and self._move_seconds * len(waiting)):
                answers = answers_of(agent, [pending.turn for pending in waiting])
            return [self._check_answer(*pair) for pair in zip(waiting, answers, strict=True)]
        except TimeUp:
            if self._move_seconds is None:  # a limit of the caller's
                raise
            if len(waiting) == 1:
                self._time_out(waiting[0])
                return [None]
        except BaseException as error:
            if is_stop(error):
                raise
            if len(waiting) == 1:
                self._failed_on(waiting[0], error)
                return [None]
        # one turn may have made the whole call fail: call one by one
        return [self.decisions(agent, [pending])[0] for pending in waiting]

    def _check_answer(self, pending: PendingTurn, answer: Decision | Exception) -> Decision | None:
        """The answer if it can be recorded; otherwise None, and the turn's episode ends."""
        if isinstance(answer, Decision):
            try:
                plain = plain_decision(answer)
                problem = decision_problem(plain)
            except Exception as error:  # a mapping of the agent's own
                problem = cause(error)
            if not problem:
                return plain
            answer = InvalidOption(f"agent {pending.agent.name!r}: {problem}")
        self._failed_on(pending, answer)
        return None

    def _failed_on(self, pending: PendingTurn, error: BaseException) -> None:
        """End the episode of a turn that an agent failed to answer."""
        if isinstance(error, LateAnswer) and self._move_seconds is not None:
            self._time_out(pending)
        elif isinstance(error, self._forfeits):
            pending.running.lost[pending.turn.seat] = str(error)
        else:
            self._fail(pending.running, error)

    def _time_out(self, pending: PendingTurn) -> None:
        """Let a seat lose that took too long."""
        running, seat = pending.running, pending.turn.seat
        running.lost[seat] = f"time of {self._move_seconds:g} s for a move is over"
        running.late.add(seat)

    def _accept(self, running: RunningEpisode, seat: int, decision: Decision) -> None:
        """Keep an answer until all seats have answered; apply the policy to a refused one."""
        episode = running.episode
        refused = running.refused.get(seat)
        note = TurnNote(decision, refused or (), "retried" if refused else "ok")
        try:
            action = decided_action(episode, seat, decision)
            if decision.action is None:
                running.since[seat] = episode.cursor(seat)
        except InvalidAction as error:
            self.refuse(running, seat, decision, error)
        else:
            running.actions[seat], running.notes[seat] = action, note

    def refuse(
        self, running: RunningEpisode, seat: int, decision: Decision, error: InvalidAction
    ) -> None:
        """Count an answer that cannot be played as a mistake, and apply the invalid-move policy."""
        running.episode.count_mistake(seat)
        refused = running.refused.setdefault(seat, [])
        refused.append(Attempt.of(decision, str(error)))
        try:
            self._repair(running, seat, TurnNote(decision, refused, "retried"), error)
        except BaseException as raised:
            self._broke_off(running, raised)

    def _broke_off(self, running: RunningEpisode, error: BaseException) -> None:
        """End the episode that raised; under the policy "raise", an illegal move ends the run."""
        if self._policy.kind == "raise" and isinstance(error, InvalidAction):
            raise error
        self._fail(running, error)

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
        # its usage and its tokens are those of the last refused answer
        note.decision = msgspec.structs.replace(said, usage=Usage(), tokens=None, earlier=())
        if repair.what == "forfeit":
            running.notes[seat] = note
            running.lost[seat] = f"illegal move: {error.why or error}"
            return
        note.status = "replaced"
        running.actions[seat], running.notes[seat] = repair.action, note

    def play(self, running: RunningEpisode) -> None:
        """Play a step that is `answered`, or end the episode where seats lost in it."""
        episode = running.episode
        if running.lost:
            forfeits = {s: why for s, why in running.lost.items() if s not in running.late}
            self._stop_for(running, running.lost, forfeits)
            return
        turn = episode.steps_played
        try:
            episode.act(running.actions, running.notes)
        except BaseException as error:
            if is_stop(error):
                raise
            if episode.steps_played > turn:  # it was played: what failed pays for it
                running.clear()
                self._fail(running, error)
            else:
                self._not_played(running, error)
            return
        running.clear()
        if self._max_episode_steps and episode.steps_played >= self._max_episode_steps:
            try:
                episode.truncate(f"{self._max_episode_steps} steps played")
            except BaseException as error:
                self._fail(running, error)
        if self._hooks.stepped:
            self._notify(running, self._hooks.stepped, episode=episode)

    def _not_played(self, running: RunningEpisode, raised: BaseException) -> None:
        """Handle an exception on a legal action: a mistake of the seat, if only one acted.

        With several seats, or under the policy "raise", it ends the episode.
        """
        if len(running.actions) > 1 or self._policy.kind == "raise":
            self._fail(running, raised)
            return
        seat, note = next(iter(running.notes.items()))
        why = f"the game cannot play it ({cause(raised)})"
        error = InvalidAction(running.actions[seat], running.episode.legal_text(seat), why=why)
        running.actions, running.notes = {}, {}
        self.refuse(running, seat, note.decision or Decision(), error)
        if running.lost:
            self.play(running)

    def _notify(self, running: RunningEpisode, hook: Any, **arguments: Any) -> None:
        try:
            hook(**arguments)
        except BaseException as error:
            self._fail(running, error)

    def _fail(self, running: RunningEpisode, error: BaseException) -> None:
        """End an episode because something failed, and keep the traceback for its record.

        Ctrl-C and a time limit are raised again: they are nobody's failure.
        """
        if is_stop(error):
            raise error
        if running.error:
            return
        running.error = _traceback(error)
        self.failures.append(as_exception(error))
        try:
            running.episode.truncate(f"error: {cause(error)}", running.unplayed())
        except BaseException as again:  # shapers may fail again at the end
            if is_stop(again):
                raise
        running.clear()

    def finish(self, running: RunningEpisode) -> EpisodeRecord:
        """The record of an episode that is over; its agents forget it."""
        record = self._record(running)
        for agent in dict.fromkeys(self.agents):
            for key in memory_keys(running.episode):
                self._notify(running, partial(agent.forget, key))
        if self._hooks.episode_finished:
            hook = self._hooks.episode_finished
            self._notify(running, hook, episode=running.episode, record=record)
        record.error = running.error
        self._finished += not record.error
        return record

    def _record(self, running: RunningEpisode) -> EpisodeRecord:
        names = [agent.name for agent in self.agents]
        try:
            record = record_episode(
                running.episode, names, number=running.number, error=running.error
            )
            record.versions |= self._files
            return record
        except BaseException as error:
            self._fail(running, error)
            return failed_record(running.episode, names, number=running.number, error=running.error)


def _last_call(agent: Agent, done: str, call: Callable[[], None]) -> None:
    """Close an agent or let it forget; what it raises costs nothing that was played."""
    try:
        call()
    except BaseException as error:
        if is_stop(error):
            raise
        what = f"agent {agent.name!r} could not be {done}: {cause(error)}"
        warnings.warn(what, RuntimeWarning, stacklevel=2)


def _traceback(error: BaseException) -> str:
    return readable("".join(traceback.format_exception(error))) or ""


def answers_of(agent: Agent, turns: Sequence[Turn]) -> Sequence[Decision | Exception]:
    """An agent's answers, one per turn: a decision or an exception."""
    answers: Sequence[Decision | Exception]
    try:
        answers = agent.act(turns)
    except PartialDecisions as some:
        if list(map(id, some.turns)) != list(map(id, turns)):  # an agent within the agent failed
            raise
        answers = some.answers
    if len(answers) != len(turns):
        raise InvalidOption(
            f"agent {agent.name!r} gave {len(answers)} decisions for {len(turns)} turns"
        )
    return [as_answer(agent, answer) for answer in answers]


def as_answer(agent: Agent, answer: Any) -> Decision | Exception:
    """What an agent returned for one turn; the exception that says what is wrong with it."""
    if isinstance(answer, Decision | Exception):
        return answer
    return InvalidOption(f"agent {agent.name!r}: {decision_problem(answer)}")


def _check_steps(steps: Any) -> None:
    if not isinstance(steps, int) or isinstance(steps, bool) or not 0 < steps < 2**63:
        raise InvalidOption(
            f"max_episode_steps is a whole number from 1, or None, not {show(steps)}"
        )


def _check_limit(seconds: float) -> None:
    if not 0 < seconds < float("inf"):
        raise InvalidOption(f"move_seconds is a number of seconds above 0, not {seconds!r}")
    if not can_interrupt():
        raise InvalidOption("move_seconds can only be kept in the main thread, and not on Windows")
