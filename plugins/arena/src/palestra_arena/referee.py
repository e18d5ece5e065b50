"""Plays matches in this process; a game always ends with a result, whatever an agent does."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
from palestra import (
    Agent,
    Decision,
    Episode,
    EpisodeRecord,
    Game,
    Rng,
    Runner,
    Turn,
    hookimpl,
    make_agent,
    record_episode,
)
from palestra.agents.agent import (
    PartialDecisions,
    decision_problem,
    plain_decision,
)
from palestra.agents.answers import WrongAnswer
from palestra.agents.asking import Asking
from palestra.agents.fitting import check_agents
from palestra.agents.naming import parse_agent
from palestra.code_names import code_name, file_of
from palestra.isolation.seating import seat_agent
from palestra.kernel.errors import cause
from palestra.kernel.registry import load_game, registry
from palestra.kernel.specs import EnvSpec
from palestra.records.record import unrecorded_attempts
from palestra.runner.calls import Calls
from palestra.runner.faults import as_exception, is_stop
from palestra.runner.listeners import Listeners
from palestra.runner.watching import joined_watch
from palestra.time_limit import TimeUp, can_interrupt, time_limit

from palestra_arena.match import Match
from palestra_arena.result import GameResult, failed_result, summarise, void
from palestra_arena.settings import Environment, Settings
from palestra_arena.trust.evidence import Evidence
from palestra_arena.trust.faults import Faults
from palestra_arena.trust.held_out import TrainedOn, seeds_trained_on, seen_before

Factories = Mapping[str, Any]
STARTED, ASKED = 0, 1  # of a clock: when the games began (0: none), which seat thinks (-1: none)
ATTEMPTS = 2  # to make an agent; then it forfeits, and no game waits for it
AGENT_STREAM = 0x5EA7  # separates agents' random numbers from the game's


class FinishedGame(NamedTuple):
    """A finished game, and its `EpisodeRecord` as JSON where records are kept."""

    result: GameResult
    record: bytes | None


class AgentFailed(Exception):
    """An agent raised, or returned something that is not a decision."""

    def __init__(self, seat: int, why: str) -> None:
        super().__init__(why)
        self.seat, self.why = seat, why


class SeenBefore(Exception):
    """An agent was trained on the seed it would be scored on."""


class Watch:
    """Keeps the episodes in progress by seed."""

    def __init__(self) -> None:
        self.episodes: dict[int, Episode] = {}

    @hookimpl
    def palestra_episode_started(self, episode: Episode) -> None:
        self.episodes[episode.seed] = episode


class Thinking:
    """The seats that are asked now; the clock shows the one that was asked first.

    A seat that was asked when time was up stays until the next game begins.
    """

    def __init__(self, clock: MutableSequence[float]) -> None:
        self._clock, self._seats = clock, list[int]()

    def clear(self) -> None:
        self._seats.clear()
        self._clock[ASKED] = -1

    def begin(self, seat: int) -> None:
        self._seats.append(seat)
        self._clock[ASKED] = self._seats[0]

    def end(self, seat: int) -> None:
        self._seats.remove(seat)
        self._clock[ASKED] = self._seats[0] if self._seats else -1


class Guard(Agent):
    """An agent in a match: its exceptions name its seat, and it stays open between games."""

    def __init__(self, name: str, agent: Agent, thinking: Thinking) -> None:
        self.name, self._agent, self._thinking = name, agent, thinking
        self._warned = False

    def deliberate(self, turn: Turn) -> Asking | None:
        try:
            asking = self._agent.deliberate(turn)
        except BaseException as error:
            if is_stop(error):
                raise
            raise _failed_with(turn.seat, error) from error
        return None if asking is None else self._deliberate(turn, asking)

    def _deliberate(self, turn: Turn, asking: Asking) -> Asking:
        self._thinking.begin(turn.seat)
        answer: object
        try:
            answer = yield from asking
        except GeneratorExit:
            raise
        except BaseException as error:
            if is_stop(error):
                raise
            answer = as_exception(error)
        self._thinking.end(turn.seat)
        checked = _check_answer(turn, answer)
        if isinstance(checked, AgentFailed):
            self._warn_of(checked)
            raise checked
        return checked

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        seat = turns[0].seat
        self._thinking.begin(seat)
        try:
            answers = self._answers(turns)
        except AgentFailed as failure:
            self._thinking.end(seat)
            if len(turns) == 1:  # of several turns, the runner puts each again by itself
                self._warn_of(failure)
            raise
        self._thinking.end(seat)
        decisions = [answer for answer in answers if isinstance(answer, Decision)]
        if len(decisions) == len(turns):
            return decisions
        for answer in answers:
            if isinstance(answer, AgentFailed):
                self._warn_of(answer)
        raise PartialDecisions(turns, answers)

    def _warn_of(self, failure: AgentFailed) -> None:
        """Warn once of an agent whose answers are of a wrong type."""
        if WrongAnswer.__name__ in failure.why and not self._warned:
            self._warned = True
            warnings.warn(f"{self.name} forfeits: {failure.why}", RuntimeWarning, stacklevel=2)

    def _answers(self, turns: Sequence[Turn]) -> list[Decision | AgentFailed]:
        """One answer per turn: a decision, or how the agent failed."""
        seat = turns[0].seat
        given: Sequence[object]
        try:
            given = list(self._agent.act(turns))
        except PartialDecisions as some:
            if list(map(id, some.turns)) != list(map(id, turns)):
                raise _failed_with(seat, some) from some
            given = some.answers
        except BaseException as error:
            if is_stop(error):
                raise
            raise _failed_with(seat, error) from error
        if len(given) != len(turns):
            raise AgentFailed(seat, f"the agent gave {len(given)} decisions for {len(turns)} turns")
        return [_check_answer(turn, answer) for turn, answer in zip(turns, given, strict=True)]

    def reseed(self, seed: int) -> None:
        self._agent.reseed(seed)

    def forget(self, episode_key: int) -> None:
        self._agent.forget(episode_key)

    def leave(self) -> None:
        """Close the agent for good."""
        self._agent.close()


def _failed_with(seat: int, error: BaseException, what: str = "failed") -> AgentFailed:
    return AgentFailed(seat, f"the agent {what} ({cause(error)})")


def _check_answer(turn: Turn, answer: object) -> Decision | AgentFailed:
    """Check the type of an answer; the game checks its legality."""
    if isinstance(answer, Exception):
        return _failed_with(turn.seat, answer)
    if not isinstance(answer, Decision):
        return AgentFailed(turn.seat, f"the agent answered {type(answer).__name__}")
    try:
        plain = plain_decision(answer)
        problem = decision_problem(plain) or _action_problem(turn, plain)
    except Exception as error:  # of an unusual object
        return _failed_with(turn.seat, error)
    return AgentFailed(turn.seat, problem) if problem else plain


def _action_problem(turn: Turn, decision: Decision) -> str:
    action = decision.action
    if action is None:
        return (
            "" if decision.text is not None else "the agent answered with neither action nor text"
        )
    kinds = getattr(turn.game, "action_types", None)
    good = isinstance(action, tuple(kinds)) if kinds else hasattr(type(action), "__index__")
    return "" if good else f"the agent played a {type(action).__name__}"


class Referee:
    """Plays matches one after another; games and agents stay loaded between them.

    `factories` are agents that have no name of their own, or functions without arguments that make
    them. `clock` has two numbers, which another
    process may read: see `STARTED` and `ASKED`.
    """

    def __init__(
        self,
        settings: Settings,
        factories: Factories | None = None,
        clock: MutableSequence[float] | None = None,
    ) -> None:
        self._settings = settings
        self._factories = factories or {}
        self._clock = [0.0, -1.0] if clock is None else clock
        self._games: dict[bytes, tuple[EnvSpec, Game[Any, Any]]] = {}
        self._thinking = Thinking(self._clock)
        self._agents: dict[str, Guard] = {}
        self._not_made: defaultdict[str, list[str]] = defaultdict(list)
        self._watch = Watch()
        self._trained: list[TrainedOn] = list(settings.trained)
        self._evidence = Evidence() if settings.evidence else None
        keeper = [self._evidence] if self._evidence else []
        faults = [Faults(settings.faults)] if settings.faults else []
        page = joined_watch()
        pages = [] if page is None else [page]
        self._listeners = Listeners([self._watch, *keeper, *faults, *pages])

    def play(self, matches: Sequence[Match]) -> list[FinishedGame]:
        """Play matches of one line-up side by side, or one by one if all of them fail."""
        if len(matches) > 1:
            try:
                return self._play_together(matches)
            except KeyboardInterrupt:
                raise
            except BaseException:
                return [self._play_one(match) for match in matches]
        return [self._play_one(matches[0])]

    def close(self) -> None:
        """Close all agents; exceptions are ignored."""
        for agent in self._agents.values():
            try:
                agent.leave()
            except BaseException as error:
                if is_stop(error):
                    raise

    def _play_together(self, matches: Sequence[Match]) -> list[FinishedGame]:
        """Play matches side by side; an agent or a game that fails ends its own match only."""
        by_seed = {match.seed: match for match in matches}
        self._watch.episodes.clear()
        runner = self._runner(matches[0], len(matches))
        with self._limit():
            started = time.perf_counter()
            records = _records(runner, by_seed)
            seconds = (time.perf_counter() - started) / len(matches)
        return [self._settle_match(by_seed[record.number], record, seconds) for record in records]

    def _play_one(self, match: Match) -> FinishedGame:
        started = time.perf_counter()
        try:
            return self._play_together([match])[0]
        except SeenBefore as seen:
            return FinishedGame(void(match, str(seen)), None)
        except AgentFailed as failure:  # it cannot be made or reseeded: there is no episode
            record = self._forfeit_record(match, None, failure.seat, failure.why)
        except TimeUp:
            record = self._timed_out(match)
            episode = self._watch.episodes.get(match.seed)
            if self._evidence and episode:
                self._evidence.close(episode, record)
        except BaseException as error:
            if is_stop(error):
                raise
            why = f"the environment failed ({cause(error)})"
            return FinishedGame(failed_result(match, why, time.perf_counter() - started), None)
        return self._written(match, record, time.perf_counter() - started)

    def _settle_match(self, match: Match, record: EpisodeRecord, seconds: float) -> FinishedGame:
        """The result of a match that the runner has ended, in any way."""
        if record.error:
            why = f"the environment failed ({record.error.strip().splitlines()[-1]})"
            for kind, agent, *_, what in record.tags.get("findings", []):
                why += f"; {kind} by {agent or 'an unknown agent'}: {what}"
            return FinishedGame(failed_result(match, why, seconds), None)
        return self._written(match, record, seconds)

    def _runner(self, match: Match, live: int) -> Runner:
        spec, game = self.game(match.environment, len(match.agents))
        seats = [self._agent(name, seat) for seat, name in enumerate(match.agents)]
        self._check_held_out(match)
        invalid = self._settings.invalid
        for seat, name in reversed(list(enumerate(match.agents))):
            stream = Rng.seeded(match.seed, stream=AGENT_STREAM + seat)
            try:
                self._agents[name].reseed(stream.key)
            except BaseException as error:
                if is_stop(error):
                    raise
                raise _failed_with(seat, error) from error
        return Runner(
            game,
            seats,
            spec=spec,
            invalid="forfeit" if invalid == "raise" else invalid,  # the tournament continues
            listeners=self._listeners,
            live=live,
            forfeits=(AgentFailed,),
            max_episode_steps=self._settings.max_episode_steps,
            calls=Calls() if self._settings.asynchronous else None,
        )

    def _check_held_out(self, match: Match) -> None:
        entry = seen_before(self._trained, match.environment.id, match.agents, match.seed)
        if entry and not self._settings.allow_seen:
            raise SeenBefore(f"{entry}, and is not scored on seed {match.seed}")

    def game(self, environment: Environment, seats: int) -> tuple[EnvSpec, Game[Any, Any]]:
        """The rules of an environment, compiled before any clock runs."""
        key = msgspec.json.encode((environment, seats), order="deterministic")
        if key not in self._games:
            spec = registry().environment(environment.id)
            game = load_game(spec, environment.options, environment.players or seats)
            Episode(game, 0, spec=spec)
            self._games[key] = spec, game
        return self._games[key]

    def _agent(self, name: str, seat: int) -> Guard:
        if name not in self._agents:
            make, failures = self._factories.get(name), self._not_made[name]
            if len(failures) == ATTEMPTS:  # one that hangs would cost its time in every game
                why = f"the agent could not be made in {ATTEMPTS} games before ({failures[-1]})"
                raise AgentFailed(seat, why)
            try:
                agent = self._made(name, make)
                trained = seeds_trained_on(name, agent)
            except BaseException as error:
                if is_stop(error):
                    raise
                failures.append(cause(error))
                raise _failed_with(seat, error, "cannot be made") from error
            self._agents[name] = Guard(name, agent, self._thinking)
            self._trained += trained
        return self._agents[name]

    def _made(self, name: str, make: Any) -> Agent:
        chosen = self._settings
        if not (chosen.isolate or file_of(name)):
            return make_agent(name if make is None else make)
        limits = {"memory": chosen.agent_memory, "seconds": chosen.agent_seconds}
        agent = seat_agent(make or name, isolate=True, **limits)
        agent.name = name
        return agent

    def _forfeit_record(
        self, match: Match, episode: Episode | None, seat: int, why: str
    ) -> EpisodeRecord:
        """The record of a match that a seat forfeits after the moves of `episode`, or at once."""
        if episode is None:
            spec, game = self.game(match.environment, len(match.agents))
            episode = Episode(game, match.seed, spec=spec)
        episode.forfeit(seat, why, unrecorded_attempts(episode))
        return record_episode(episode, match.agents, number=match.seed)

    def _timed_out(self, match: Match) -> EpisodeRecord:
        episode = self._watch.episodes.get(match.seed)
        asked = int(self._clock[ASKED])
        why = f"the game took more than {self._settings.game_seconds:g} seconds"
        if asked >= 0 or episode is None:
            return self._forfeit_record(match, episode, max(asked, 0), why)
        episode.truncate(why, unrecorded_attempts(episode))
        return record_episode(episode, match.agents, number=match.seed)

    def abandoned(self, match: Match, seat: int, why: str) -> FinishedGame:
        """The result of a game whose process, and with it its moves, was lost.

        The seat to move forfeits; if there was none, the game ends in an error.
        """
        if seat < 0:
            return FinishedGame(failed_result(match, why), None)
        return self._written(match, self._forfeit_record(match, None, seat, why), 0.0)

    def _written(self, match: Match, record: EpisodeRecord, seconds: float) -> FinishedGame:
        body = msgspec.json.encode(record) if self._settings.keep_records else None
        return FinishedGame(summarise(match, record, seconds), body)

    @contextmanager
    def _limit(self) -> Iterator[None]:
        """Raise `TimeUp` in here when the wall time of a game is over."""
        self._thinking.clear()
        self._clock[STARTED] = time.monotonic()
        try:
            with time_limit(self._settings.game_seconds if can_interrupt() else None):
                yield
        finally:
            self._clock[STARTED] = 0


def _records(runner: Runner, numbers: Iterable[int]) -> list[EpisodeRecord]:
    """Records of all episodes, those that ended in an error too; raises if some were not played."""
    wanted, records = list(numbers), list[EpisodeRecord]()
    try:
        for record in runner.run(wanted):
            records.append(record)
    except Exception:
        if len(records) < len(wanted):
            raise
    return records


def check_field(settings: Settings, factories: Factories) -> None:
    """Raise for an unknown environment, or an agent that cannot play one, before any game."""
    agents = (*settings.agents, *getattr(settings.schedule, "partners", ()))
    named = [agent for agent in agents if agent not in factories]
    if settings.unfit == "leave-out":
        for agent in named:
            if not code_name(agent, registry().agents):
                registry().agent(parse_agent(agent)[0])
        return
    for environment in settings.environments:
        spec = registry().environment(environment.id)
        check_agents(named, load_game(spec, environment.options, environment.players or 1), spec)
