"""Threads that share one engine: each has its own replies, as soon as they are there."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from common import ENGINE
from palestra import ModelError
from palestra.agents.models import Message, Request
from palestra_agents.llm import LLMAgent
from palestra_agents.models.vllm import VLLMModel
from tiny_model import make_adapter, make_tiny_model

LONG = 120.0
CACHED = re.compile(rb'"(seconds|tokens_cached)":[^,}]*,?')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def adapters(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str | None]:
    place = tmp_path_factory.mktemp("adapters")
    return [None, str(make_adapter(folder, place / "a"))]


@pytest.fixture
def tiny(folder: Path) -> VLLMModel:
    return VLLMModel(target=str(folder), enable_lora=True, **ENGINE)


def say(text: str, tokens: int, **more: Any) -> Request:
    return Request((Message("user", text),), max_tokens=tokens, **more)


def in_threads(calls: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


def test_threads_get_the_replies_of_one_call(tiny: VLLMModel, adapters: list[str | None]) -> None:
    asked = [say(f"Say {n}.", 1 + 7 * (n % 5), adapter=adapters[n % 2]) for n in range(24)]
    expected = [reply.text for reply in tiny.chat(asked)]
    assert len(set(expected)) > 12
    found: dict[int, str] = {}

    def ask(number: int) -> None:
        found[number] = tiny.chat([asked[number]])[0].text

    in_threads([lambda number=n: ask(number) for n in range(24)])
    assert [found[number] for number in range(24)] == expected


class Stepping:
    """Stops the engine before its second step until it may go on."""

    def __init__(self, model: VLLMModel, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = model._claim.weights.llm.llm_engine
        self.steps, self.began, self.may_go_on = 0, threading.Event(), threading.Event()
        self.error: BaseException | None = None
        self._step = engine.step
        monkeypatch.setattr(engine, "step", self.step)

    def step(self) -> Any:
        self.steps += 1
        if self.steps == 2:
            self.began.set()
            assert self.may_go_on.wait(LONG)
            if self.error is not None:
                raise self.error
        return self._step()


def beside(
    stepping: Stepping, tiny: VLLMModel, meanwhile: Callable[[], None]
) -> tuple[list[str], list[Exception]]:
    """Which of a long call and a later short one ended first, and what they raised."""
    ended: list[str] = []
    raised: list[Exception] = []

    def ask(name: str, tokens: int) -> None:
        try:
            tiny.chat([say(f"A {name} story.", tokens)])
        except Exception as error:
            raised.append(error)
        ended.append(name)

    long = threading.Thread(target=ask, args=("long", 200), daemon=True)
    long.start()
    assert stepping.began.wait(LONG)
    short = threading.Thread(target=ask, args=("short", 2), daemon=True)
    short.start()
    steps = tiny._claim.weights.steps
    while not steps.waits:  # until it stands in line
        pass
    meanwhile()
    stepping.may_go_on.set()
    for thread in (long, short):
        thread.join(LONG)
        assert not thread.is_alive()
    return ended, raised


def test_a_short_reply_does_not_wait_for_a_long_one(
    tiny: VLLMModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepping = Stepping(tiny, monkeypatch)
    ended, raised = beside(stepping, tiny, lambda: None)
    assert ended == ["short", "long"]
    assert not raised
    assert stepping.steps > 100


def test_an_engine_that_fails_fails_all_calls_and_goes_on(
    tiny: VLLMModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tiny.chat([say("Hello.", 8)])[0].text
    stepping = Stepping(tiny, monkeypatch)
    stepping.error = RuntimeError("out of memory")
    _, raised = beside(stepping, tiny, lambda: None)
    assert sorted(type(error).__name__ for error in raised) == ["ModelError", "RuntimeError"]
    assert all("out of memory" in str(error) for error in raised)
    assert tiny.chat([say("Hello.", 8)])[0].text == before


def test_a_prompt_that_breaks_the_engine_leaves_nobody_waiting(
    tiny: VLLMModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tiny.chat([say("Hello.", 8)])[0].text
    stepping = Stepping(tiny, monkeypatch)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken pipe")

    with monkeypatch.context() as patched:
        engine = tiny._claim.weights.llm.llm_engine
        _, raised = beside(stepping, tiny, lambda: patched.setattr(engine, "add_request", broken))
    assert sorted(type(error).__name__ for error in raised) == ["ModelError", "RuntimeError"]
    assert all("broken pipe" in str(error) for error in raised)
    assert tiny.chat([say("Hello.", 8)])[0].text == before


def test_a_closed_model_ends_its_calls_and_no_others(
    folder: Path, tiny: VLLMModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = VLLMModel(target=str(folder), enable_lora=True, **ENGINE)
    said = other.chat([say("Still here?", 12)])[0].text
    stepping = Stepping(tiny, monkeypatch)
    heard: list[str] = []
    third = threading.Thread(
        target=lambda: heard.append(other.chat([say("Still here?", 12)])[0].text), daemon=True
    )

    def close() -> None:
        third.start()
        tiny.close()

    _, raised = beside(stepping, tiny, close)
    assert len(raised) == 2
    assert all("closed before" in str(error) for error in raised)
    third.join(LONG)
    assert heard == [said]


def test_a_prompt_that_is_refused_fails_its_own_call(tiny: VLLMModel) -> None:
    failed: list[ModelError] = []
    heard: list[str] = []

    def refused() -> None:
        try:
            tiny.chat([say("Nothing.", 4, pattern="(")])
        except ModelError as error:
            failed.append(error)

    in_threads([refused, lambda: heard.append(tiny.chat([say("Something.", 40)])[0].text)] * 4)
    assert len(failed) == 4
    assert "refused" in str(failed[0])
    assert len(heard) == 4
    assert len(set(heard)) == 1


def test_an_asynchronous_run_plays_the_same_episodes(tiny: VLLMModel) -> None:
    def play(**settings: Any) -> list[bytes]:
        agent = LLMAgent(model=tiny, mode="choice", keep_tokens=True)
        records = palestra.play(
            "games/LiarsDice-v0", agents=[agent, "random", agent], episodes=6, **settings
        )
        ordered = sorted(records, key=lambda record: record.number)
        return [CACHED.sub(b"", msgspec.json.encode(record)) for record in ordered]

    assert play(asynchronous=True) == play()
