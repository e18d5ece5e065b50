"""Models stay loaded between runs: shared, bounded, and freed when that is asked for."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra.agents.models import Message, Request
from palestra_agents.models import local
from palestra_agents.models.local import WEIGHTS, LocalModel
from tiny_model import make_tiny_model

SPOKEN = Request((Message("user", "Say something."),), max_tokens=12)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    home = tmp_path_factory.mktemp("models")
    return [str(make_tiny_model(home / name, context=2048)) for name in "abc"]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the folders from which weights are loaded, in order."""
    palestra.release()
    done: list[str] = []
    load = local._Weights

    def counted(folder: Path) -> Any:
        done.append(folder.name)
        return load(folder)

    monkeypatch.setattr(local, "_Weights", counted)
    yield done
    palestra.release()


def play(*agents: str) -> list[palestra.EpisodeRecord]:
    return palestra.play("games/KuhnPoker-v0", agents=list(agents), episodes=3, seed=5)


def test_runs_and_seats_share_the_weights_of_a_folder(folders: list[str], loads: list[str]) -> None:
    one = f"llm:local:{folders[0]},mode=choice,temperature=1.0"
    first = play(one, f"{one},context=1024,seed=2")
    weights = WEIGHTS.targets
    again = play(one, f"{one},context=1024,seed=2")
    assert loads == ["a"]
    assert weights == WEIGHTS.targets == [folders[0]]
    assert sum(len(record.turns) for record in first) >= 6
    # nothing that the first run left behind is found by the second
    for before, after in zip(first, again, strict=True):
        for turn, same in zip(before.turns, after.turns, strict=True):
            assert (turn.action, turn.logprob) == (same.action, same.logprob)
            assert turn.usage.tokens_cached == same.usage.tokens_cached


@pytest.mark.slow
def test_the_two_that_were_used_last_stay(folders: list[str], loads: list[str]) -> None:
    a, b, c = (f"llm:local:{folder},mode=choice" for folder in folders)
    for agent in (a, b, a, c, a, c):
        play(agent, "random")
    assert loads == ["a", "b", "c"]
    play(b, "random")
    assert loads == ["a", "b", "c", "b"]
    assert WEIGHTS.targets == folders[1:]


@pytest.mark.slow
def test_what_is_open_stays_however_many_they_are(folders: list[str], loads: list[str]) -> None:
    models = [LocalModel(target=folder) for folder in folders]
    for _ in range(2):
        for model in models:
            assert model.chat([SPOKEN])[0].text
    assert loads == ["a", "b", "c"]
    models[2].close()
    models[0].close()
    assert WEIGHTS.targets == folders[:2]  # the first of those that nobody uses has left
    del models[1]
    gc.collect()
    play(f"llm:local:{folders[2]},mode=choice", "random")
    assert WEIGHTS.targets == [folders[0], folders[2]]  # a model that is gone claims nothing


def test_release_frees_all_and_an_open_model_loads_again(
    folders: list[str], loads: list[str]
) -> None:
    model, other = (LocalModel(target=folder) for folder in folders[:2])
    said = model.chat([SPOKEN])[0].text
    nets = [weakref.ref(m._claim.loaded.net) for m in (model, other)]
    palestra.release()
    assert [net() for net in nets] == [None, None]
    assert WEIGHTS.targets == []
    assert model.chat([SPOKEN])[0].text == said
    assert loads == ["a", "b", "a"]
    other.close()
    other.close()
    palestra.release()
    assert loads == ["a", "b", "a"]


def test_a_model_that_was_trained_further_is_loaded_anew(
    folders: list[str], loads: list[str], tmp_path: Path
) -> None:
    folder = make_tiny_model(tmp_path / "tuned", context=2048)
    model = LocalModel(target=str(folder))
    said, net = model.chat([SPOKEN])[0].logprob, weakref.ref(model._claim.loaded.net)
    model.close()
    tuned = local.transformers.AutoModelForCausalLM.from_pretrained(folder)
    for part in tuned.parameters():
        part.data *= 1.5
    tuned.save_pretrained(folder)
    again = LocalModel(target=str(folder))
    assert again.chat([SPOKEN])[0].logprob != pytest.approx(said)
    assert net() is None
    assert loads == ["tuned", "tuned"]


def test_threads_take_turns_with_the_weights(folders: list[str], loads: list[str]) -> None:
    asked = [
        Request((Message("user", f"Count to {n}."),), max_tokens=8, temperature=1.0, seed=n)
        for n in range(4)
    ]
    alone = [LocalModel(target=folders[0]).chat([request])[0].text for request in asked]

    def answer(request: Request) -> str:
        return LocalModel(target=folders[0]).chat([request])[0].text

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(answer, asked)) == alone
    assert loads == ["a"]


ENDING = """
import os, sys
import palestra
from palestra_agents.models.local import WEIGHTS
agents = ["llm:local:" + sys.argv[1] + ",mode=choice", "random"]
palestra.play("games/KuhnPoker-v0", agents=agents)
child = os.fork()
if not child:
    print("child", WEIGHTS.targets, flush=True)
    sys.exit()
_, code = os.waitpid(child, 0)
print("parent", len(WEIGHTS.targets), code)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes fork on POSIX systems")
def test_a_process_ends_quietly_and_a_forked_one_has_none(folders: list[str]) -> None:
    command = [sys.executable, "-W", "ignore", "-c", ENDING, folders[0]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["child []", "parent 1 0"]
    assert done.stderr == ""
