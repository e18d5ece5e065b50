"""vLLM after a compiled game, and one engine for all plays of a process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import palestra
import pytest
from common import ENGINE
from palestra import ModelError
from palestra.agents.models import Message, Request
from palestra.kernel.errors import UnknownOption
from palestra_agents.models.vllm import ENGINES, VLLMModel
from palestra_agents.models.weights import embedded_model
from tiny_model import make_adapter, make_tiny_model

OPTIONS = ",".join(f"{name}={value}" for name, value in ENGINE.items())
SPOKEN = (Message("user", "Say something."),)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def agent(folder: Path) -> str:
    return f"llm:vllm:{folder},mode=choice,{OPTIONS}"


def engine_of(target: Path, **options: object) -> object:
    model = VLLMModel(target=str(target), **options)
    found = model._claim.loaded
    model.close()
    return found


def test_vllm_opens_after_a_game_was_compiled_and_once_for_all_plays(
    agent: str, folder: Path
) -> None:
    palestra.play("games/TicTacToe-v0", agents="random")
    assert "llvmlite.binding.ffi" in sys.modules  # numba has compiled the game
    first = palestra.play("games/TicTacToe-v0", agents=[agent, "random"], seed=4)
    engine = engine_of(folder, **ENGINE)
    second = palestra.play("games/TicTacToe-v0", agents=["random", agent], seed=4)
    again = palestra.play("games/TicTacToe-v0", agents=[agent, "random"], seed=4)
    assert engine_of(folder, **ENGINE) is engine
    assert ENGINES.targets == [str(folder.resolve())]
    assert not sum(second[0].mistakes)
    # the prefix cache of the first run is not there for a later one
    for before, after in zip(first[0].turns, again[0].turns, strict=True):
        assert before.action == after.action
        assert before.usage.tokens_cached == after.usage.tokens_cached
    assert any(turn.usage.tokens_cached for turn in again[0].turns)


def test_engines_play_beside_each_other_and_release_frees_them(agent: str, folder: Path) -> None:
    small = {"max_model_len": 1024, "max_num_seqs": 4}
    other = VLLMModel(target=str(embedded_model()), **small)
    numbers = (Message("user", "1, 2, 3, 4, 5, 6, 7, 8, 9,"),)
    weighed = Request(numbers, raw=True, score=(" 4", " 10", " left"))
    before = other.chat([weighed])[0].scores
    palestra.play("games/KuhnPoker-v0", agents=[agent, "random"])
    assert other.chat([weighed])[0].scores == before
    assert max(before, key=lambda score: score.mean) is before[1]
    engines = [weakref.ref(loaded.weights) for loaded in ENGINES._loaded.values()]
    assert len(engines) == 2
    palestra.release()
    assert [engine() for engine in engines] == [None, None]
    assert other.chat([weighed])[0].scores == before  # an open model loads again
    other.close()
    palestra.release()


def test_a_wrong_name_is_met_with_near_ones_and_full_memory_with_advice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownOption, match="did you mean 'max_model_len'"):
        VLLMModel(target=str(folder), max_model_lenght=2048)
    with pytest.raises(UnknownOption, match="did you mean 'enable_lora'"):
        palestra.make_agent(f"llm:vllm:{folder},enable_loras=true")
    kept = VLLMModel(target=str(folder), **ENGINE)
    said = kept.chat([Request(SPOKEN)])[0].text
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1000000")  # GiB
    with pytest.raises(ModelError, match=r"Available memory .*palestra\.release\(\) frees .*tiny"):
        VLLMModel(target=str(folder), max_model_len=1024)
    monkeypatch.undo()
    assert kept.chat([Request(SPOKEN)])[0].text == said


def test_seats_play_by_adapters_and_one_trained_further_is_read_anew(
    folder: Path, tmp_path: Path
) -> None:
    palestra.release()
    tuned = make_adapter(folder, tmp_path / "lora")
    options = f"{OPTIONS},enable_lora=true,max_loras=2,mode=free,keep_tokens=true,max_tokens=8"
    seat = f"llm:vllm:{folder},{options}"
    agents = [seat, f"{seat},adapter={tuned}"]

    def said() -> list[list[tuple[int, ...]]]:
        """What the model of each seat said at its first turn, refused answers included."""
        (record,) = palestra.play("games/KuhnPoker-v0", agents=agents, invalid="random", seed=1)
        return [
            [answer.tokens.reply for answer in (*turn.refused, turn) if answer.tokens]
            for turn in record.turns[:2]
        ]

    bare, first = said()
    assert bare
    assert first
    assert bare != first
    assert said() == [bare, first]
    make_adapter(folder, tuned, seed=2)
    assert said()[0] == bare
    assert said()[1] != first
    assert len(ENGINES._loaded) == 1


def test_a_call_that_is_cut_off_leaves_nothing_for_the_next(folder: Path) -> None:
    palestra.release()
    model = VLLMModel(target=str(folder), **ENGINE)
    engine = model._claim.loaded
    short = [Request(SPOKEN, max_tokens=n, temperature=1.0, seed=n) for n in (3, 9, 5)]
    said = [reply.text for reply in model.chat(short)]
    never = [Request(SPOKEN, max_tokens=7000)] * 40
    known = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        with pytest.raises(TimeoutError):
            model.chat(never)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, known)
    assert [reply.text for reply in model.chat(short)] == said
    assert model._claim.loaded is engine


def interrupt(*_: object) -> None:
    raise TimeoutError


SERVED = """
import sys
from palestra_agents.models.vllm import VLLMModel
if __name__ == "__main__":
    model = VLLMModel(target=sys.argv[1], max_model_len=1024, tensor_parallel_size=2)
    print("open", flush=True)
    sys.stdin.read()
"""


def test_the_processes_of_an_engine_end_when_its_own_is_killed(
    folder: Path, tmp_path: Path
) -> None:
    script = tmp_path / "served.py"
    script.write_text(SERVED, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script), str(folder)]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        while parent.stdout.readline() != "open\n":
            assert parent.poll() is None
        workers = children(parent.pid)
        parent.kill()
    assert len(workers) >= 2
    until = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(alive, workers))


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in found for child in file.read_text("utf-8").split()]


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
