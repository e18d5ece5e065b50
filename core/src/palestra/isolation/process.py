"""The agent's side: run as `python -m palestra.isolation.process NUMBER` with a socket's number.

Everything in here is the agent's to change once its code is imported: the kernel keeps it in, and
the other side believes nothing but decisions.
"""

from __future__ import annotations

import pickle
import socket
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import PurePath
from sysconfig import get_paths
from typing import Any

import msgspec
import numpy as np

from palestra.agents.agent import Agent, Decision, Turn, decision_problem, plain_decision
from palestra.agents.answers import LateAnswer
from palestra.agents.making import make_agent
from palestra.agents.models import Model, Reply, Request
from palestra.isolation.messages import (
    VALUES,
    Answers,
    Ask,
    Channel,
    Chat,
    Done,
    Message,
    OpenModel,
    Ready,
    say,
)
from palestra.isolation.wall import enclose
from palestra.kernel.episode import Episode
from palestra.kernel.errors import PalestraError, cause
from palestra.kernel.registry import registry
from palestra.kernel.rng import Rng
from palestra.plain import plain_action
from palestra.runner.runner import answers_of

LIBRARIES = (PurePath(__file__).parents[1], *{PurePath(path) for path in get_paths().values()})


class Window:
    """What an agent sees of an episode: the answers of the other side, for one turn."""

    def __init__(self, process: Process, game: Any, turn: int, life: int) -> None:
        self.process, self.game, self.turn = process, game, turn
        self.lives = life
        self.known: dict[str, Any] = {}

    def life(self, seat: int) -> int:
        return self.lives

    def value(self, name: str) -> Any:
        self.process.used.add(name)
        if name not in self.known:
            self.known[name] = self.process.ask(Ask(self.turn, name))
        known = self.known[name]
        return known.copy() if isinstance(known, np.ndarray | list) else known

    def ask(self, name: str, **given: Any) -> Any:
        return self.process.ask(Ask(self.turn, name, **given))


def _value(name: str) -> property:
    return property(lambda turn: turn._episode.value(name))


class SeenTurn(Turn, frozen=True):
    """A turn whose episode is in the process that asks."""

    def rng(self, seed: int, stream: int) -> Rng:
        return Rng(*self._window.ask("rng", numbers=(seed, stream)))

    def action_text(self, action: Any) -> str:
        told: str = self._window.ask("action_text", action=plain_action(action))
        return told

    def parse(self, text: str) -> Any:
        return self._window.ask("parse", text=text)

    def state_key(self) -> bytes:
        return bytes(self._window.value("state_key"))

    def anchor(self) -> bytes:
        return bytes(self._window.value("anchor"))

    def scripted_action(self) -> int:
        return int(self._window.value("scripted_action"))

    def sample(self, rng: Rng) -> Any:
        action, rng.counter = self._window.ask("sample", numbers=(rng.key, rng.counter))
        return action

    def fork(self, rng: Rng) -> Episode:
        window = self._window
        state, seed, spec, invalid, rng.counter = window.ask("fork", numbers=(rng.key, rng.counter))
        twin = window.process.episode(window.game, spec, invalid)
        twin.load(state)
        twin.seed = seed
        return twin

    @property
    def _window(self) -> Any:
        return self._episode


for _name in VALUES:
    setattr(SeenTurn, _name, _value(_name))


class ModelElsewhere(Model):
    """A language model that the other side asks; this one has no network and no key."""

    def __init__(self, process: Process, uri: str, options: dict[str, Any]) -> None:
        self._process = process
        self._number, self.name, abilities = process.ask(OpenModel(uri, options))
        self.abilities = abilities  # type: ignore[misc]  # of the model that was opened

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies: Sequence[Reply] = self._process.ask(Chat(self._number, list(requests)))
        return replies


class Process:
    """Does what it is told, one order after the other, and asks for what it wants to know."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.used: set[str] = set()
        self.games: dict[int, Any] = {}
        self.agent: Agent
        self._fresh: dict[tuple[int, str], Episode] = {}

    def ask(self, message: Message) -> Any:
        """What the other side answers, or the exception that it raises."""
        say(self.channel, message)
        good, answer = pickle.loads(self.channel.receive())
        if good:
            return answer
        raise answer

    def episode(self, game: Any, spec: Any, invalid: str) -> Episode:
        """An episode of a game, to be loaded."""
        key = id(game), invalid
        if key not in self._fresh:
            self._fresh[key] = Episode(game, 0, invalid=invalid, spec=spec)
        return self._fresh[key].fork()

    def run(self) -> None:
        """Follow orders until the channel is closed."""
        while True:
            order, *given = pickle.loads(self.channel.receive())
            say(self.channel, getattr(self, f"do_{order}")(*given))

    def do_make(self, what: Any, name: str) -> Done:
        def first(hook: str, **arguments: Any) -> Any:
            if hook == "palestra_models":
                return ModelElsewhere(self, arguments["uri"], arguments["options"])
            return known(hook, **arguments)

        known = registry().plugins.first
        registry().plugins.first = first  # type: ignore[method-assign]

        def make() -> None:
            if isinstance(what, tuple):
                module, made = what
                self.agent = make_agent(attrgetter(made)(import_module(module)))
            else:
                self.agent = make_agent(what)
                self.agent.name = name  # the file as the caller names it

        done = _tried(make)
        trained = getattr(getattr(self, "agent", None), "trained_on", ())
        return done if done.error else Done(trained_on=[tuple(entry) for entry in trained])

    def do_game(self, number: int, game: Any) -> Done:
        self.games[number] = game
        return Done()

    def do_reseed(self, seed: int) -> Done:
        return _tried(lambda: self.agent.reseed(seed))

    def do_forget(self, key: int) -> Done:
        return _tried(lambda: self.agent.forget(key))

    def do_close(self) -> Done:
        return _tried(self.agent.close)

    def do_act(self, given: Sequence[tuple[Any, ...]]) -> Answers:
        turns: list[Turn] = []
        windows = []
        self.used = set()
        for number, game, known, *fields, life, seconds in given:
            window = Window(self, self.games[game], number, life)
            window.known = known
            windows.append(window)
            turns.append(SeenTurn(window, *fields, life, seconds))  # type: ignore[arg-type,call-arg]
        try:
            answers = answers_of(self.agent, turns)
        except LateAnswer as error:
            answers = [error] * len(turns)
        except BaseException as error:
            return Answers([], [], raised=_why(error))
        finally:
            for window in windows:
                window.known = {}  # what was true at this turn
        told = [_told(answer) for answer in answers]
        return Answers(
            [decision for decision, _ in told],
            [why for _, why in told],
            sorted(self.used & VALUES),
            late=[place for place, a in enumerate(answers) if isinstance(a, LateAnswer)],
        )


def _told(answer: Any) -> tuple[Decision | None, str]:
    """A decision that can be sent, or why there is none."""
    if not isinstance(answer, Decision):
        return None, _why(answer)
    try:
        plain = plain_decision(answer)
        plain.action = plain_action(plain.action)
        if why := decision_problem(plain):
            return None, why
        if not isinstance(plain.action, int | msgspec.Struct | None):
            return None, f"the agent played a {type(plain.action).__name__}"
        msgspec.json.encode(plain)
    except Exception as error:
        return None, cause(error)
    return plain, ""


def _tried(call: Callable[[], Any]) -> Done:
    try:
        call()
    except BaseException as error:
        return Done(_why(error))
    return Done()


def _why(error: BaseException) -> str:
    """What an agent raised, and where outside Python's and the project's own code."""
    if isinstance(error, PalestraError):
        return str(error)
    place, trace = "", error.__traceback__
    while trace is not None:
        path = PurePath(trace.tb_frame.f_code.co_filename)
        if not any(path.is_relative_to(folder) for folder in LIBRARIES):
            place = f" ({path.name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return cause(error) + place


def main() -> None:
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    readable, memory, sys.path[:] = pickle.loads(channel.receive())
    say(channel, Ready(*enclose(readable, memory)))
    Process(channel).run()


if __name__ == "__main__":
    main()
