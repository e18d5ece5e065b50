"""A run survives its agents, its listeners and its own death; nothing finished is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import Agent, Decision, EpisodeRecord, InvalidOption, Turn, hookimpl, read_records
from palestra.agents.budget import Usage
from palestra.kernel.game import Step
from palestra.records.verify import verify

C4 = "games/ConnectFour-v0"
EPISODES = 4


class Failing(Agent):
    """Plays the first legal move, and fails at one decision of the run."""

    name = "failing"

    def __init__(self, at: int, error: type[Exception] = RuntimeError) -> None:
        self.at, self.asked, self.error = at, 0, error

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        answers = []
        for turn in turns:
            self.asked += 1
            if self.asked == self.at:
                raise self.error("the model fell over")
            answers.append(Decision(turn.legal_actions[0]))
        return answers


def play(agent: Agent, **settings: Any) -> list[EpisodeRecord]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return palestra.play(
            "games/TicTacToe-v0", agents=[agent, "first"], episodes=EPISODES, **settings
        )


@pytest.mark.parametrize("live", [1, 3])
def test_a_failure_at_any_decision_costs_at_most_its_own_episode(live: int) -> None:
    calls = Failing(-1)
    play(calls, live=live)
    for at in range(1, calls.asked + 1):
        # with several episodes at once the turns are put again, one by one, and the agent,
        # which fails once, then answers them all
        records = play(Failing(at), live=live)
        assert [record.number for record in records] == list(range(EPISODES))
        failed = [record for record in records if record.error]
        assert len(failed) <= 1
        for record in failed:
            assert "RuntimeError: the model fell over" in record.error
            assert record.outcome is not None
            assert set(record.outcome.results) == {"truncated"}
        assert all(r.outcome is not None for r in records)


def test_what_fails_always_is_raised() -> None:
    class Broken(Agent):
        name = "broken"

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            raise ZeroDivisionError("no brain")

    with pytest.raises(ZeroDivisionError, match="no brain"):
        palestra.play("games/TicTacToe-v0", agents=[Broken(), "first"], episodes=100)


@pytest.mark.parametrize("hook", ["episode_started", "turn_ready", "action_chosen", "stepped"])
def test_a_listener_that_fails_ends_that_episode_only(hook: str) -> None:
    calls = []

    class Listener:
        pass

    def fail(self: Any, **_: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise OSError("no space left on device")

    def started(self: Any, episode: Any) -> None:
        fail(self)

    def turned(self: Any, turn: Any) -> None:
        fail(self)

    made = {"episode_started": started, "stepped": started}.get(hook, turned)
    setattr(Listener, f"palestra_{hook}", hookimpl(made))
    records = play(Failing(-1), hooks=[Listener()], live=1)
    assert len(records) == EPISODES
    assert [bool(record.error) for record in records].count(True) == 1
    assert sum("no space left" in record.error for record in records) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Decision(text=5),  # type: ignore[arg-type]
        Decision(text="1", model=5),  # type: ignore[arg-type]
        Decision(text="1", logprob=float("nan")),
        Decision(text="1", usage=palestra.Usage(tokens_in=-34_000_000)),
        "no decision",
    ],
)
def test_answers_that_could_not_be_recorded_are_the_agents_failure(answer: Any) -> None:
    class Odd(Failing):
        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            self.asked += len(turns)
            return [answer] * len(turns) if self.asked == 3 else super().act(turns)

    records = play(Odd(-1), live=1)
    assert [bool(record.error) for record in records].count(True) == 1


@pytest.mark.parametrize(
    "text", ["\ud83d", "x" * 200_000, "0x" + "f" * 9000, "[" * 3000, "\0", "نعم"]
)
@pytest.mark.parametrize("env", ["games/TicTacToe-v0", "text/Negotiation-v0", "games/Werewolf-v0"])
def test_hostile_answers_are_mistakes_that_can_be_recorded(
    env: str, text: str, tmp_path: Path
) -> None:
    hostile = lambda turn: Decision(text=text, thought=text)  # noqa: E731
    seats = palestra.game(env).num_players
    palestra.play(env, agents=[hostile, *["random"] * (seats - 1)], out=tmp_path)
    (record,) = read_records(tmp_path / "episode.jsonl")
    assert not record.error
    assert record.mistakes[0] > 0
    assert record.turns[-1].status == "forfeit" or record.outcome is not None
    palestra.verify(record)


def test_a_game_that_fails_in_a_step_counts_it_as_the_movers_mistake() -> None:
    game = palestra.game("text/Negotiation-v0")
    failed = []

    class Fragile(type(game)):  # type: ignore[misc]
        def step(self, state: Any, actions: Any) -> Step:
            if len(failed) < 1 and state.rng.below(1) == 0 and len(actions) == 1:
                failed.append(1)
                raise KeyError("tool")
            return super().step(state, actions)

    (record,) = palestra.play(Fragile(), agents=["random", "random"])
    assert not record.error
    assert sum(record.mistakes) == 1
    assert "KeyError" in record.steps[0].turns[0].errors[0]


SCRIPT = """
import os, signal, sys
import palestra
from palestra import Decision
asked = 0
def mortal(turn):
    global asked
    asked += 1
    if asked == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return turn.legal_actions[asked % 2 and -1]
palestra.play("games/TicTacToe-v0", agents=["random", mortal], episodes=5, out=sys.argv[1],
              live=1, resume=sys.argv[3] == "resume")
"""


def run(folder: Path, at: int, how: str = "fresh") -> int:
    code = SCRIPT.replace("asked % 2 and -1", "turn.steps_played % 2 - 1")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(folder), str(at), how],
        env=os.environ | {"NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


@pytest.mark.slow
@pytest.mark.essential
def test_a_run_killed_anywhere_is_continued_to_the_same_end(tmp_path: Path) -> None:
    run(tmp_path / "whole", -1)
    whole = {r.number: r.steps for r in read_records(tmp_path / "whole" / "episode.jsonl")}
    for at in (1, 4, 5, 8, 11):
        folder = tmp_path / str(at)
        assert run(folder, at) == -signal.SIGKILL
        file = folder / "episode.jsonl"
        finished = len(read_records(file)) if file.exists() else 0
        run(folder, -1, "resume")
        records = {record.number: record for record in read_records(file)}
        assert len(records) == 5
        assert finished <= 5
        assert [r.turns[0].action for _, r in sorted(records.items())] == [
            steps[0].turns[0].action for _, steps in sorted(whole.items())
        ], "agents draw the same as in the uninterrupted run"
        assert {n: [s.turns[0].action for s in r.steps] for n, r in records.items()} == {
            n: [s.turns[0].action for s in steps] for n, steps in whole.items()
        }


def test_a_folder_belongs_to_one_run(tmp_path: Path) -> None:
    play(Failing(-1), out=tmp_path)
    with pytest.raises(InvalidOption, match=r"holds a run already; continue it with resume=True"):
        play(Failing(-1), out=tmp_path)
    with pytest.raises(InvalidOption, match="other rewards"):
        play(Failing(-1), out=tmp_path, resume=True, rewards=["env", "novelty"])
    with pytest.raises(InvalidOption, match="other gamma"):
        play(Failing(-1), out=tmp_path, resume=True, gamma=0.5)
    assert len(read_records(tmp_path / "episode.jsonl")) == EPISODES


def test_two_processes_cannot_write_in_one_folder(tmp_path: Path) -> None:
    records = palestra.stream(C4, agents=["random", "random"], episodes=3, out=tmp_path, live=1)
    next(records)
    code = (
        "import sys, palestra; palestra.play('games/ConnectFour-v0', agents=['random', 'random'],"
        f"episodes=3, out={str(tmp_path)!r}, resume=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "another process is writing" in done.stderr
    assert len(list(records)) == 2
    assert len(read_records(tmp_path / "episode.jsonl")) == 3


def test_errors_are_kept_apart_and_played_again(tmp_path: Path) -> None:
    play(Failing(3), out=tmp_path, live=1)
    (failed,) = read_records(tmp_path / "errors.jsonl")
    finished = [record.number for record in read_records(tmp_path / "episode.jsonl")]
    assert failed.number not in finished
    made = play(Failing(-1), out=tmp_path, live=1, resume=True)
    assert [record.number for record in made] == [failed.number]
    plan = json.loads((tmp_path / "run.json").read_text())
    assert plan["env"] == "games/TicTacToe-v0"


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    with pytest.raises(palestra.PalestraError, match=r"cannot write .*choose a folder"):
        play(Failing(-1), out=blocker / "run")


class NonsenseThenSleep(Agent):
    """Writes nonsense, which costs tokens, and then does not answer any more."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        if turns[0].error:
            time.sleep(5)
        return [Decision(text="nonsense", usage=Usage(tokens_out=7)) for _ in turns]


def test_a_refused_answer_stays_on_record_where_time_runs_out() -> None:
    agents = [NonsenseThenSleep(), "first"]
    (record,) = palestra.play("games/TicTacToe-v0", agents=agents, move_seconds=0.2)
    (turn,) = record.turns
    assert turn.status == "forfeit"
    assert record.mistakes == (1, 0)
    assert len(turn.errors) == 1
    assert turn.spent.tokens_out == 7
    assert "refused" in verify(record)


def test_a_record_that_stops_between_two_answers_verifies() -> None:
    agents = [NonsenseThenSleep(), NonsenseThenSleep()]
    (record,) = palestra.play("text/Negotiation-v0", agents=agents, move_seconds=0.2)
    assert record.outcome is not None
    assert record.outcome.results == ("truncated", "truncated")
    assert sum(record.mistakes) == 1
    verify(record)
