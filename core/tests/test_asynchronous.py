"""Turns that are awaited by themselves: the same episodes, and nobody waits for a slow reply."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from palestra import (
    Agent,
    Budget,
    Decision,
    EpisodeRecord,
    ModelError,
    Turn,
    Usage,
    make_agent,
)
from palestra.agents.asking import Question, deliberate_together
from palestra.agents.models import Model, PartialReplies, Reply, Request
from palestra.kernel.specs import AgentSpec
from palestra.testing.givers import one_seed_one_episode
from palestra.testing.subject import Failed

SECONDS = re.compile(rb'"seconds":[^,}]*')
LONG = 60.0  # seconds after which a test that hangs has failed


class Clerk(Model):
    """Answers with a number that follows from the question; counts the calls under way."""

    name = "clerk"

    def __init__(self, concurrency: int = 8) -> None:
        self.concurrency = concurrency
        self.sizes: list[int] = []
        self.most = self.now = 0
        self._lock = threading.Lock()

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.sizes.append(len(requests))
        try:
            return [self.reply(request) for request in requests]
        finally:
            with self._lock:
                self.now -= 1

    def reply(self, request: Request) -> Reply:
        said = sum(map(ord, request.messages[-1].content)) + (request.seed or 0)
        return Reply(str(said % 3 + 1), Usage(tokens_in=7, tokens_out=1, calls=1))


def played(records: Sequence[EpisodeRecord]) -> list[bytes]:
    """Records without the seconds that answers took."""
    ordered = sorted(records, key=lambda record: record.number)
    return [SECONDS.sub(b"", msgspec.json.encode(record)) for record in ordered]


@pytest.mark.parametrize(
    ("env", "seats"),
    [
        ("games/TicTacToe-v0", 2),
        ("games/PrisonersDilemma-v0", 2),
        ("games/KuhnPoker-v0", 2),
        ("games/LiarsDice-v0", 5),
        ("text/Commons-v0", 4),
        ("grid/Foraging-v0", 3),
        ("games/DonorGame-v0", 6),
    ],
)
@pytest.mark.parametrize("name", ["llm", "react"])
def test_episodes_are_those_of_a_run_that_asks_all_together(
    env: str, seats: int, name: str
) -> None:
    def play(**settings: Any) -> list[bytes]:
        thinker = make_agent(name, model=Clerk(), temperature=0.7, seed=3)
        rivals = [thinker, "random", *[thinker] * (seats - 2)]
        return played(
            palestra.play(
                env,
                agents=rivals,
                episodes=5,
                seed=11,
                invalid="retry:2",
                max_episode_steps=12,
                **settings,
            )
        )

    assert play(asynchronous=True) == play()


def test_coroutines_play_the_same_episodes() -> None:
    async def first(turn: Turn) -> str:
        await asyncio.sleep(0)
        return turn.legal_texts[turn.steps_played % len(turn.legal_texts)]

    async def thinking(turn: Turn) -> Any:
        yield "a thought"
        yield turn.legal_texts[-1]

    agents = [first, thinking, first]
    plain = palestra.play("games/LiarsDice-v0", agents=agents, episodes=6)
    alone = palestra.play("games/LiarsDice-v0", agents=agents, episodes=6, asynchronous=True)
    assert played(alone) == played(plain)


def test_rollouts_of_one_start_are_the_same() -> None:
    def group(**settings: Any) -> list[bytes]:
        agent = make_agent("llm", model=Clerk(), temperature=0.7, seed=3)
        agents = [agent, "random", agent]
        return played(palestra.rollouts("games/LiarsDice-v0", agents=agents, n=5, **settings))

    together = group()
    assert len(set(together)) > 1
    assert group(asynchronous=True) == together


class Gate(Clerk):
    """Does not answer the first question it is asked before the other episodes are over."""

    def __init__(self, others: int) -> None:
        super().__init__(concurrency=64)
        self.open = threading.Event()
        self._others, self._held = others, threading.Lock()

    def reply(self, request: Request) -> Reply:
        if self._held.acquire(blocking=False) and not self.open.wait(LONG):
            raise AssertionError("the others waited for this reply")
        return super().reply(request)

    @palestra.hookimpl
    def palestra_episode_finished(self) -> None:
        self._others -= 1
        if not self._others:
            self.open.set()


@pytest.mark.parametrize("name", ["llm", "react"])
def test_a_slow_reply_holds_up_its_own_episode_only(name: str) -> None:
    gate = Gate(others=7)
    agent = make_agent(name, model=gate)
    records = list(
        palestra.stream(
            "games/PrisonersDilemma-v0",
            agents=[agent, "random"],
            episodes=8,
            invalid="random",
            hooks=[gate],
            asynchronous=True,
        )
    )
    assert gate.open.is_set()
    assert records[-1].number == 0
    assert {r.number for r in records} == set(range(8))
    assert all(record.outcome and not record.error for record in records)


def test_a_model_is_called_in_as_many_threads_as_it_says() -> None:
    for concurrency in (1, 3):
        clerk = Clerk(concurrency)
        agent = make_agent("llm", model=clerk)
        palestra.play(
            "games/PrisonersDilemma-v0",
            agents=[agent, agent],
            episodes=20,
            invalid="random",
            asynchronous=True,
        )
        assert clerk.most <= concurrency
        assert (max(clerk.sizes) > 1) == (concurrency == 1)  # one call has all that wait


class Faulty(Clerk):
    def __init__(self, concurrency: int) -> None:
        super().__init__(concurrency)
        self._asked = 0

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies: list[Any] = list(super().chat(requests))
        for place in range(len(requests)):
            self._asked += 1
            if self._asked % 31 == 0:
                replies[place] = ModelError("busy")
        if any(isinstance(reply, ModelError) for reply in replies):
            raise PartialReplies(replies)
        return replies


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_failing_call_ends_its_own_episodes(concurrency: int) -> None:
    agent = make_agent("llm", model=Faulty(concurrency))
    with pytest.warns(RuntimeWarning, match="ended in an error, the first with .*busy"):
        records = palestra.play(
            "games/PrisonersDilemma-v0",
            agents=[agent, "random"],
            episodes=20,
            invalid="random",
            asynchronous=True,
        )
    failed = [record for record in records if record.error]
    assert 0 < len(failed) < 20
    assert all("busy" in record.error for record in failed)


def test_a_wrong_return_is_named() -> None:
    async def wrong(turn: Turn) -> Any:
        return {"move": 1}

    with pytest.raises(TypeError, match="return the number of a move"):
        palestra.play("games/TicTacToe-v0", agents=[wrong, "random"], asynchronous=True)


def test_replies_of_a_wrong_number_are_named() -> None:
    class Deaf(Clerk):
        def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
            return []

    agent = make_agent("llm", model=Deaf())
    with pytest.raises(ModelError, match="0 replies to 1 requests"):
        palestra.play("games/TicTacToe-v0", agents=[agent, "random"], asynchronous=True)


def test_a_late_seat_forfeits_and_the_other_games_go_on() -> None:
    never = threading.Event()

    class Asleep(Clerk):
        def reply(self, request: Request) -> Reply:
            never.wait(LONG)
            return super().reply(request)

    asleep = make_agent("llm", model=Asleep(64))
    try:
        records = palestra.play(
            "games/TicTacToe-v0",
            agents=["random", asleep],
            episodes=3,
            move_seconds=0.2,
            asynchronous=True,
        )
    finally:
        never.set()
    for record in records:
        assert record.outcome is not None
        assert record.outcome.results == ("win", "forfeit")
        assert not record.error


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("late", [0, 3])
def test_answers_beside_a_late_seat_are_on_record(late: int, asynchronous: bool) -> None:
    """All five move at once, and the game is not zero-sum: it is cut off by whoever is late."""
    asked = [0] * 5

    def seated(seat: int) -> palestra.FunctionAgent:
        async def answer(turn: Turn) -> Decision:
            asked[seat] += 1
            if seat == late and turn.steps_played == 1:
                await asyncio.sleep(LONG)
            return Decision(text="Harvest(amount=2)", usage=Usage(calls=1, tokens_in=seat + 1))

        return palestra.FunctionAgent(answer, name=f"seat-{seat}")

    (record,) = palestra.play(
        "text/Commons-v0",
        agents=[seated(seat) for seat in range(5)],
        num_players=5,
        talk=False,
        move_seconds=1,
        asynchronous=asynchronous,
    )
    assert record.outcome is not None
    assert "time of 1 s for a move is over" in record.outcome.reason
    assert "forfeit" not in record.outcome.results
    recorded = [
        *((turn.seat, turn.usage) for turn in record.turns),
        *(
            (s, attempt.usage)
            for step in record.steps
            for s, a in step.unplayed.items()
            for attempt in a
        ),
    ]
    counted = [sum(usage.calls for s, usage in recorded if s == seat) for seat in range(5)]
    assert asked == [2] * 5
    assert counted == [2 - (seat == late) for seat in range(5)]
    assert not record.error


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_coroutine_that_waits_for_its_place_spends_no_time(concurrency: int) -> None:
    now = most = 0

    async def counts(turn: Turn) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.04)
        now -= 1
        return turn.legal_actions[0]

    records = palestra.play(
        "games/TicTacToe-v0",
        agents=[palestra.FunctionAgent(counts, concurrency=concurrency), "first"],
        episodes=16,
        move_seconds=0.4,
        asynchronous=True,
    )
    assert most == concurrency
    assert [record.outcome and record.outcome.results for record in records] == [
        ("win", "loss")
    ] * 16
    took = [turn.usage.seconds for r in records for turn in r.turns if turn.seat == 0]
    assert min(took) >= 0.039
    assert sorted(took)[len(took) // 2] < 0.1


def test_a_reply_that_waits_for_a_connection_spends_no_time() -> None:
    """Of a turn that asks twice, each question waits by itself."""

    class Slow(Clerk):
        def reply(self, request: Request) -> Reply:
            threading.Event().wait(0.03)
            return Reply("1")

    clerk = Slow(2)

    class Twice(Agent):
        name = "twice"

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            return list(deliberate_together([self.deliberate(turn) for turn in turns]))

        def deliberate(self, turn: Turn) -> Any:
            for _ in range(2):
                yield [Question(clerk, Request(()))]
            return Decision(turn.legal_actions[0])

    records = palestra.play(
        "games/TicTacToe-v0",
        agents=[Twice(), "first"],
        episodes=12,
        move_seconds=0.6,
        asynchronous=True,
    )
    assert {r.outcome.results for r in records if r.outcome} == {("win", "loss")}
    took = [turn.usage.seconds for r in records for turn in r.turns if turn.seat == 0]
    assert min(took) >= 0.059
    assert sum(took) / len(took) < 0.15  # 12 games wait for two places


def test_a_budget_counts_all_that_is_under_way() -> None:
    clerk = Clerk()
    agent = make_agent("react", model=clerk)
    records = palestra.play(
        "games/PrisonersDilemma-v0",
        agents=[agent, "random"],
        episodes=4,
        invalid="random",
        budgets={agent.name: Budget(calls=10)},
        asynchronous=True,
    )
    assert 10 <= len(clerk.sizes) <= 10 + 4  # each game asks once more before it hears of it
    assert all(record.outcome and "budget" in record.outcome.reason for record in records)


def test_an_agent_that_only_acts_sits_beside_one_that_is_awaited() -> None:
    sizes: list[int] = []

    class Batches(Agent):
        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            sizes.append(len(turns))
            return [Decision(text=turn.legal_texts[0]) for turn in turns]

    clerk = make_agent("llm", model=Clerk())
    records = palestra.play(
        "games/PrisonersDilemma-v0",
        agents=[Batches(), clerk],
        episodes=5,
        invalid="random",
        asynchronous=True,
    )
    assert len(records) == 5
    assert max(sizes) == 5


def test_nothing_is_forgotten_while_somebody_thinks_of_it() -> None:
    """One seat spends its budget and ends the episode while the other is still asked."""
    forgotten: list[int] = []
    thinking: set[int] = set()

    class Slow(Agent):
        name = "slow"

        def __init__(self) -> None:
            self.clerk = Clerk()

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            raise AssertionError("it is awaited")

        def deliberate(self, turn: Turn) -> Any:
            thinking.add(turn.episode_key)
            for _ in range(30):
                yield [Question(self.clerk, Request(()))]
            thinking.discard(turn.episode_key)
            return Decision(text=turn.legal_texts[0])

        def forget(self, episode_key: int) -> None:
            assert episode_key not in thinking
            forgotten.append(episode_key)

    Clerk.reply, kept = (lambda self, request: Reply("1")), Clerk.reply  # type: ignore[method-assign]
    try:
        fast = make_agent("random")
        records = palestra.play(
            "games/PrisonersDilemma-v0",
            agents=[Slow(), fast],
            episodes=3,
            budgets={"random": Budget(steps=2)},
            asynchronous=True,
        )
    finally:
        Clerk.reply = kept  # type: ignore[method-assign]
    assert len(forgotten) == 3
    assert not any(record.error for record in records)


def test_lines_are_asked_in_rounds() -> None:
    class Counting(Clerk):
        def reply(self, request: Any) -> Any:
            return request * 2 if request != 3 else ModelError("no three")

        def chat(self, requests: Sequence[Any]) -> Sequence[Any]:
            self.sizes.append(len(requests))
            return [self.reply(request) for request in requests]

    model = Counting()

    def line(start: int, rounds: int) -> Any:
        for _ in range(rounds):
            (start,) = yield [Question(model, start)]
        return start

    found = deliberate_together([line(1, 3), line(5, 1), line(3, 2), line(7, 0)])
    assert found[:2] == [8, 10]
    assert found[3] == 7
    assert isinstance(found[2], ModelError)
    assert model.sizes == [3, 1, 1]


PROGRAM = """
import sys, time, palestra
from palestra.agents.models import Model, Reply
class Hangs(Model):
    name, concurrency = "hangs", 8
    def chat(self, requests):
        if self.asked > 20:
            sys.stdout.write("asked\\n")
            sys.stdout.flush()
            time.sleep(600)
        self.asked += 1
        return [Reply("1")]
    asked = 0
agent = palestra.make_agent("llm", model=Hangs())
palestra.play("games/PrisonersDilemma-v0", agents=[agent, "random"], episodes=4,
    invalid="random", asynchronous=True, out=sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_run_ends_at_once_and_keeps_what_was_played(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LONG)
    assert "KeyboardInterrupt" in said
    begun = (tmp_path / "run" / "unfinished.jsonl").read_text("utf-8").splitlines()
    assert begun
    agent = make_agent("llm", model=Clerk())
    agent.name = "llm"
    records = palestra.play(
        "games/PrisonersDilemma-v0",
        agents=[agent, "random"],
        episodes=4,
        invalid="random",
        asynchronous=True,
        out=tmp_path / "run",
        resume=True,
    )
    assert len(records) == 4
    assert all(record.outcome for record in records)


class TwoFaced(Agent):
    """Decides otherwise where it is awaited by itself."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(text=turn.legal_texts[0]) for turn in turns]

    def deliberate(self, turn: Turn) -> Any:
        yield [Question(self.model, Request(()))]
        return Decision(text=turn.legal_texts[-1])


def test_the_kit_finds_an_agent_that_decides_otherwise() -> None:
    spec = AgentSpec(
        name="two-faced", entry_point=f"{__name__}:TwoFaced", kind="llm", summary="Two faces."
    )
    with pytest.raises(Failed, match="deliberate decides otherwise than act"):
        one_seed_one_episode(spec, "games/TicTacToe-v0")
