"""The side that runs the episodes: an agent that plays from a process of its own."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from palestra.agents.agent import Agent, Decision, PartialDecisions, Turn
from palestra.agents.answers import LateAnswer
from palestra.agents.making import MODELS_OWN, open_model
from palestra.agents.models import Model
from palestra.agents.naming import parse_agent
from palestra.code_names import code_name, file_of
from palestra.engine.compiled import cache_folder
from palestra.isolation.messages import (
    VALUES,
    Answers,
    Ask,
    Channel,
    ChannelClosed,
    Chat,
    Done,
    Message,
    OpenModel,
    Ready,
    give,
    hear,
)
from palestra.isolation.system import require_wall
from palestra.kernel.errors import InvalidOption, PalestraError, cause, show
from palestra.kernel.registry import registry
from palestra.kernel.rng import Rng
from palestra.quoting import one_line
from palestra.records.record import typed_action

SECONDS = 60.0  # for each turn
MEMORY = 4096  # MiB of address space
LONGEST_WHY = 500  # characters of how it says that it failed
STARTING = 60.0  # seconds that starting and making an agent may take
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PALESTRA_CACHE", "XDG_CACHE_HOME")
SETTINGS = ("PALESTRA_", "NUMBA_", "OMP_", "MKL_", "OPENBLAS_")  # beginnings of variables
SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")


class IsolatedAgentFailed(PalestraError):
    """An agent in a process of its own raised, took too long, or ended its process."""


class IsolatedAgent(Agent):
    """An agent in a process that the kernel keeps to deciding: see `wall.py`.

    agent: a name (`"mcts:simulations=200"`), an importable class or function of a module, or
    `"FILE.py:NAME"`, whose file only that process runs. memory: MiB of address space. seconds: for
    each turn, for drawing anew, forgetting and closing; then the process is ended, and the agent
    has failed.

    The same agent in the same process as the game decides the same. It is started when it is first
    needed, and again after it was ended. A model that its name names is opened and asked here, so
    that its process needs no network and sees no key.

    Raises `InvalidOption` where the kernel cannot shut a process in.
    """

    def __init__(self, agent: Any, *, memory: int = MEMORY, seconds: float = SECONDS) -> None:
        require_wall()
        self._what, self._reads, self._models_named = _found(agent)
        self.name = agent if isinstance(agent, str) else getattr(agent, "__name__", "function")
        self._memory, self._seconds = memory, seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel
        self.separate = False
        self._seed: int | None = None
        self._used: frozenset[str] = frozenset()
        self._models: list[Model] = []
        self._opened: dict[str, int] = {}  # the place of a model by what it was opened with
        self._forget_all()
        self.trained_on: list[tuple[str, int, int]] = []
        self._start()

    def _forget_all(self) -> None:
        self._games: dict[int, tuple[int, Any]] = {}
        self._turns: dict[int, Turn] = {}
        self._latest: dict[tuple[int, int], int] = {}  # the number of a seat's last turn
        self._known_as: dict[int, int] = {}  # what an address is called in the other process
        self._numbers = self._episodes = 0

    # Starting and ending

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-B",
                    "-m",
                    "palestra.isolation.process",
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._channel = Channel(ours)
        self._forget_all()
        with self._speaking(STARTING, "starting") as until:
            # of modules that Windows lacks
            from palestra.isolation.wall import modules_in, readable_paths

            path = [str(Path(entry).absolute()) for entry in sys.path]
            file = file_of(self._what)
            beside = modules_in(Path(file).parent) if file else []
            reads = readable_paths([*self._reads, *beside, str(cache_folder())])
            give(self._channel, (reads, self._memory, path), until)
            ready = hear(self._channel, until)
            if not isinstance(ready, Ready) or ready.missing:
                missing = getattr(ready, "missing", "")
                raise ChannelClosed(f"this kernel refuses {missing}, so that nothing shuts it in")
            self.separate = ready.separate
            made = self._order("make", self._what, self.name, until=until)
        self.trained_on = made.trained_on
        if self._seed is not None:
            self.reseed(self._seed)

    def _end(self) -> None:
        """End the process, and with it all of its namespace."""
        process, self._process = self._process, None
        if process is None:
            return
        self._channel.close()
        if process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, 9)
        process.kill()
        process.wait()

    @contextmanager
    def _speaking(self, seconds: float, doing: str) -> Iterator[float]:
        """A deadline; whatever is raised in here ends the process, which may be anywhere in it."""
        try:
            yield time.monotonic() + seconds
        except TimeoutError:
            self._end()
            raise IsolatedAgentFailed(f"{doing} took more than {seconds:g} s") from None
        except ChannelClosed as error:
            why = self._why_closed(error)
            self._end()
            raise IsolatedAgentFailed(f"{doing} ended: {why}") from None
        except IsolatedAgentFailed:  # it said so itself
            raise
        except BaseException:
            self._end()
            raise

    def _why_closed(self, error: ChannelClosed) -> str:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(0.2)
                how = f"signal {-code}" if code < 0 else f"code {code}"
                return f"its process ended with {how}"
        return str(error)

    # Orders

    def _order(self, *order: Any, until: float) -> Done:
        """Have something done that is answered by `Done`; raises what failed."""
        give(self._channel, order, until)
        done = self._answer_until(Done, until)
        if done.error:
            raise _failure(done.error)
        return done

    def _answer_until(self, kind: type[Any], until: float) -> Any:
        """Answer what the process asks until it sends a message of a kind."""
        while True:
            message = hear(self._channel, until)
            if isinstance(message, kind):
                return message
            try:
                answer = True, self._answer(message)
            except ChannelClosed:
                raise
            except Exception as error:  # of the game or a model: it is the agent's to handle
                answer = False, _portable(error)
            give(self._channel, answer, until)

    def _answer(self, message: Message) -> Any:
        match message:
            case Ask(turn=number) if number in self._turns:
                return self._told(self._turns[number], message)
            case OpenModel(uri=uri, options=options):
                return self._open_model(uri, options)
            case Chat(model=number, requests=requests) if 0 <= number < len(self._models):
                return self._models[number].chat(requests)
        raise ChannelClosed(f"it asked for what there is not: {show(message)}")

    def _told(self, turn: Turn, ask: Ask) -> Any:
        """What a turn tells; the names are those of its public values and methods."""
        if ask.name in VALUES:
            return self._value(turn, ask.name)
        match ask.name, ask.numbers:
            case (("state_key" | "anchor" | "scripted_action"), ()):
                return getattr(turn, ask.name)()
            case "action_text", ():
                return turn.action_text(_action(turn, ask.action))
            case "parse", ():
                return turn.parse(ask.text)
            case "rng", (seed, stream):
                rng = turn.rng(seed, stream)
                return rng.key, rng.counter
            case "sample", (key, counter):
                rng = Rng(key, counter)
                return turn.sample(rng), rng.counter
            case "fork", (key, counter):
                rng = Rng(key, counter)
                twin = turn.fork(rng)
                return twin.state, twin.seed, twin.spec, twin.invalid, rng.counter
        raise ChannelClosed(f"a turn has no {show(ask.name)}")

    def _value(self, turn: Turn, name: str) -> Any:
        value = getattr(turn, name)
        if name in ("episode_key", "episode_id"):  # addresses of this process
            if value not in self._known_as:
                self._episodes += 1  # a name for good: the agent keeps what it knows by it
                self._known_as[value] = self._episodes
            return self._known_as[value]
        return value

    def _open_model(self, uri: str, options: dict[str, Any]) -> Any:
        """Open a model that the agent's own name names, with the options that stand there."""
        bare, named = self._models_named
        if uri not in bare or not options.items() <= named.items():
            raise InvalidOption(f"the agent is named {self.name!r}, which names no model {uri!r}")
        wanted = f"{uri} {sorted(options.items())}"
        if wanted not in self._opened:
            self._models.append(open_model(uri, **options))
            self._opened[wanted] = len(self._models) - 1
        number = self._opened[wanted]
        model = self._models[number]
        return number, model.name, frozenset(model.abilities)

    # The agent

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        if self._process is None:
            self._start()
        with self._speaking(self._seconds * len(turns), "a move") as until:
            told = [self._described(turn, until) for turn in turns]
            give(self._channel, ("act", told), until)
            answers: Answers = self._answer_until(Answers, until)
            if answers.raised:
                raise _failure(answers.raised)
            if not len(answers.decisions) == len(answers.failures) == len(turns):
                raise ChannelClosed(f"it sent {len(answers.decisions)} decisions for {len(turns)}")
        self._used = VALUES.intersection(answers.used)  # each once: they are read before a move
        decided: list[Decision | Exception] = []
        given = zip(turns, answers.decisions, answers.failures, strict=True)
        for place, (turn, decision, why) in enumerate(given):
            if decision is None:
                failed = _failure(why or "it did not decide")
                decided.append(LateAnswer(str(failed)) if place in answers.late else failed)
                continue
            if decision.action is not None:
                decision.action = _action(turn, decision.action)
            decided.append(decision)
        if any(isinstance(one, Exception) for one in decided):
            raise PartialDecisions(turns, decided)
        return decided  # type: ignore[return-value]

    def _described(self, turn: Turn, until: float) -> tuple[Any, ...]:
        """A turn for the other process, with what the agent looked at the last time."""
        game = turn.game
        if id(game) not in self._games:
            self._games[id(game)] = len(self._games), game  # kept, or its address is another's
            self._order("game", self._games[id(game)][0], game, until=until)
        self._numbers += 1
        seat = turn.episode_key, turn.seat
        self._turns.pop(self._latest.pop(seat, 0), None)
        self._turns[self._numbers], self._latest[seat] = turn, self._numbers
        known = {}
        for name in sorted(self._used):
            with suppress(Exception):  # it is raised where the agent looks at it
                known[name] = self._value(turn, name)
        fields = turn.seat, turn.since, turn.account, turn.error, turn.tries, turn.sibling
        mine = *fields, turn.life, turn.move_seconds
        return self._numbers, self._games[id(game)][0], known, *mine

    def reseed(self, seed: int) -> None:
        self._seed = seed
        if self._process is None:
            self._start()
        else:
            with self._speaking(self._seconds, "drawing anew") as until:
                self._order("reseed", seed, until=until)

    def forget(self, episode_key: int) -> None:
        if self._process is not None and episode_key in self._known_as:
            with self._speaking(self._seconds, "forgetting an episode") as until:
                self._order("forget", self._known_as[episode_key], until=until)
        for seat in [seat for seat in self._latest if seat[0] == episode_key]:
            self._turns.pop(self._latest.pop(seat), None)
        self._known_as.pop(episode_key, None)

    def close(self) -> None:
        try:
            if self._process is not None:
                with self._speaking(self._seconds, "closing") as until:
                    self._order("close", until=until)
        finally:
            self._end()
            for model in self._models:
                model.close()
            self._models.clear()
            self._opened.clear()

    def __del__(self) -> None:
        with suppress(Exception):
            self._end()


def _failure(why: str) -> IsolatedAgentFailed:
    """The failure of an agent in its own words, which others read: short, and on one line."""
    return IsolatedAgentFailed(one_line(why[:LONGEST_WHY]))


def _found(agent: Any) -> tuple[Any, list[str], tuple[set[str], dict[str, Any]]]:
    """What the process makes, which files it may read, and which models it may ask for."""
    if not isinstance(agent, str):
        module, name = getattr(agent, "__module__", ""), getattr(agent, "__qualname__", "")
        if isinstance(agent, Agent) or not name or "<" in name or module in ("", "__main__"):
            raise InvalidOption(
                f"an isolated agent is a name, a class or function of a module that can be "
                f"imported, or 'FILE.py:NAME', not {show(agent)}"
            )
        return (module, name), [], (set(), {})
    if code := code_name(agent, registry().agents):
        if not code.is_file:
            return agent, [], (set(), {})
        path = Path(code.place).expanduser().absolute()
        if not path.is_file():
            raise InvalidOption(f"there is no file {code.place}")
        return f"{path}{agent[len(code.place) :]}", [str(path)], (set(), {})
    name, options, rest = parse_agent(agent)
    registry().agent(name)  # raises if there is none
    texts = [rest, *(value for value in options.values() if isinstance(value, str))]
    paths = [str(Path(text).absolute()) for text in texts if text and Path(text).exists()]
    own = {key.removeprefix(MODELS_OWN): value for key, value in options.items()}
    return agent, paths, (set(filter(None, texts)), own)


def _environment() -> dict[str, str]:
    """The variables of the agent's process: how to compute, and no key."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name in KEPT or name.startswith(SETTINGS)) and not any(word in name for word in SECRET)
    }
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    cache = os.environ.get("PALESTRA_CACHE") or str(cache_folder().parent)
    # numpy would start threads, and a process that has some cannot enter namespaces of its own
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    own = one | {"PALESTRA_CACHE": cache, "PALESTRA_CACHE_READ_ONLY": "1", "HOME": "/nonexistent"}
    return kept | own | {"PYTHONPATH": path}


def _action(turn: Turn, action: Any) -> Any:
    """An action as the game's own; what is none stays as it is, for the game to refuse."""
    if not isinstance(action, dict):
        return action
    with suppress(msgspec.ValidationError):
        return typed_action(turn.game, action)
    kinds = {kind.__name__: kind for kind in getattr(turn.game, "action_types", ())}
    fields = dict(action)
    with suppress(TypeError, KeyError):  # of the right name, with values that it cannot hold
        return kinds[fields.pop("type")](**fields)
    return action


def _portable(error: Exception) -> Exception:
    """An exception that the other process can read: itself, or one that says the same."""
    with suppress(Exception):
        if type(error).__module__.startswith(("palestra", "builtins")):
            pickle.loads(pickle.dumps(error))
            return error
    return PalestraError(cause(error))
