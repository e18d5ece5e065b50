"""Agents and listeners that fail at one call: the other episodes go on, and nothing is lost."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from palestra.agents.agent import Agent, Decision, Turn
from palestra.agents.budget import Budget
from palestra.kernel.hooks import hookimpl
from palestra.kernel.registry import registry
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec
from palestra.records.record import EpisodeRecord
from palestra.records.verify import verify
from palestra.testing.fuzzing.case import Case
from palestra.testing.fuzzing.options import is_installed
from palestra.testing.fuzzing.values import value_of
from palestra.testing.subject import Subject, require

EPISODES = 3
STEPS = 8  # of each
PATIENCE = 0.02  # seconds an agent may take before its budget is spent

ANSWERS = (  # what an agent gives in place of its decisions
    *("None", "'x'", "[]", "[None] * n", "['x'] * n", "[Decision()] * (n + 1)", "iter(())", "1"),
    *("[Decision(text=5)] * n", "[Decision(text='\\ud83d')] * n", "[Decision(action=Shy())] * n"),
    *("[Decision(text='x' * 100_000)] * n", "[Decision(action=nan)] * n", "[Shy()] * n"),
    *("[Decision(text='\\0', thought='\\ud83d', model='\\ud83d')] * n", "[Decision()] * n"),
    *("[Decision(text='x', logprob=nan)] * n", "[Decision(text='x', usage=None)] * n"),
    *("[Decision(text='x', sampling={'t': Shy()})] * n", "[Decision(text='x', tokens=1)] * n"),
    *("[Decision(text='x', thought=None)] * n", "[Decision(action=[[]] * 99)] * n"),
)
RAISED = (
    "raise RuntimeError",
    "raise MemoryError",
    "raise RecursionError",
    "raise Shy",
    "raise Odd",
    "hang",
)
HOOKS = ("episode_started", "turn_ready", "action_chosen", "stepped", "episode_finished")
CALLS = ("forget", "close", "reseed")


def draw_faults(spec: EnvSpec, rng: random.Random) -> Iterator[Case]:
    """Yield a case for every fault, each at a random call."""
    faults = [*RAISED, *(f"answer {a}" for a in ANSWERS), *(f"hook {h}" for h in HOOKS)]
    faults += [f"call {name}" for name in CALLS]
    while True:
        rng.shuffle(faults)
        for fault in faults:
            yield Case(
                spec.id, "faults", rng.randrange(1_000), STEPS, fault=fault, at=rng.randint(1, 12)
            )


class Unwritable(Exception):
    """An exception that cannot be written down."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Faulty(Agent):
    """Plays random legal moves, and fails at one call."""

    name = "faulty"

    def __init__(self, case: Case) -> None:
        self.case, self.calls = case, 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self.calls += 1
        kind, _, rest = self.case.fault.partition(" ")
        if self.calls == self.case.at:
            if kind == "raise":
                raise _error(rest)
            if kind == "answer":
                given: Any = value_of(rest, {"n": len(turns), "Decision": Decision})
                return given
            if kind == "hang":
                time.sleep(2 * PATIENCE)
        return [Decision(turn.sample(turn.rng(self.case.seed, 7))) for turn in turns]

    def _count_call(self, name: str) -> None:
        if self.case.fault == f"call {name}":
            self.calls += 1
            if self.calls == self.case.at:
                raise RuntimeError(f"{name} fails")

    def reseed(self, seed: int) -> None:
        self._count_call("reseed")

    def forget(self, episode_key: int) -> None:
        self._count_call("forget")

    def close(self) -> None:
        self._count_call("close")


def _error(name: str) -> Exception:
    if name == "Shy":
        return Unwritable()
    if name == "Odd":
        return RuntimeError("half a pair: \ud83d")
    kinds: dict[str, type[Exception]] = {
        "MemoryError": MemoryError,
        "RecursionError": RecursionError,
    }
    return kinds.get(name, RuntimeError)("the agent fell over")


def _listener(case: Case) -> Any:
    """A listener that raises at call number `at` of the hook that the fault names."""
    calls = 0

    class Listener:
        pass

    def fail(self: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == case.at:
            raise OSError("no space left on device")

    name = case.fault.removeprefix("hook ")
    setattr(Listener, f"palestra_{name}", hookimpl(fail))
    return Listener()


def try_faults(spec: EnvSpec, case: Case) -> None:
    """Play a few episodes with the fault; every episode is recorded and can be verified."""
    from palestra.runner.play import play

    options = {name: value_of(value) for name, value in case.options.items()}
    game = Subject(spec, options).game
    env: Any = spec if is_installed(spec) else game
    faulty = Faulty(case)
    hooks = [_listener(case)] if case.fault.startswith("hook ") else []
    budgets = {"faulty": Budget(seconds=PATIENCE)} if case.fault == "hang" else None
    agents: list[Any] = [faulty, *[_steady] * (game.num_players - 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            records = play(
                env,
                agents=agents,
                episodes=EPISODES,
                seed=case.seed,
                max_episode_steps=case.steps,
                live=1 + case.seed % 2,
                hooks=hooks,
                budgets=budgets,
                **(options if env is spec else {}),
            )
        except (RuntimeError, MemoryError) as error:
            # before the first episode, or after the last: nothing is lost
            require(case.fault in ("call close", "call reseed"), f"the run ended: {error!r}")
            return
    _nothing_is_lost(records, case, game)


def _steady(turn: Turn) -> Any:
    return turn.sample(Rng(turn.steps_played))


def _nothing_is_lost(records: Sequence[EpisodeRecord], case: Case, game: Any) -> None:
    numbers = [record.number for record in records]
    require(numbers == list(range(EPISODES)), f"episodes {numbers} of {EPISODES} were kept")
    failed = [record for record in records if record.error]
    at_once = 2 if case.fault.startswith("answer ") else 1  # answers for two turns may be wrong
    require(len(failed) <= at_once, f"one fault ended {len(failed)} episodes")
    for record in records:
        written = msgspec.json.encode(record)
        read = msgspec.json.decode(written, type=EpisodeRecord)
        require(bool(read.error or read.outcome is not None), "an episode without an end")
        if not read.error:
            verify(read, None if read.env in registry().environments else game)
