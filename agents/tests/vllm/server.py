"""vLLM's own OpenAI-compatible server on loopback, and the client that talks to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import palestra
import pytest
from palestra import ModelError
from palestra.agents.models import Message, Request
from palestra.records.trace import trace_seats
from palestra_agents.models.openai import OpenAIModel
from tiny_model import make_tiny_model

SMALL = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM's own OpenAI-compatible server on loopback, with a key."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")
    log = tmp_path_factory.mktemp("server") / "log"
    words = f"--model {folder} --served-model-name tiny --host 127.0.0.1 --port {port}"
    words += " --max-model-len 2048 --max-num-seqs 16 --enforce-eager --api-key secret"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words.split()]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | SMALL)
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.5)
    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")


@pytest.mark.parametrize("structured", ["vllm", "schema"])
def test_games_over_a_real_server(
    server: str, monkeypatch: pytest.MonkeyPatch, structured: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    agent = f"llm:openai:tiny@{server},mode=choice,structured={structured},key=OPENAI_API_KEY"
    agent += ",temperature=1.0,token_ids=true,keep_tokens=true"
    records = palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=4)
    for record in records:
        assert structured == "schema" or not sum(record.mistakes)
        assert all(turn.spent.tokens_in and turn.spent.tokens_out for turn in record.turns)
        assert all(turn.logprob is not None and turn.logprob < 0 for turn in record.turns)
        answers = [answer for turn in record.turns for answer in (*turn.refused, turn)]
        kept = [answer for answer in answers if answer.tokens is not None]
        assert len(kept) == sum(answer.usage.calls for answer in answers) > 0
        for answer in kept:
            assert len(answer.tokens.prompt) == answer.usage.tokens_in
            assert len(answer.tokens.reply) == answer.usage.tokens_out
            assert sum(answer.tokens.logprobs) == pytest.approx(answer.logprob)
        traced = sum(len(trace.turns) for trace in trace_seats(record))
        assert traced == len(kept)


def test_what_a_real_server_refuses_is_said(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    model = OpenAIModel(target=f"tiny@{server}", key="OPENAI_API_KEY")
    with pytest.raises(ModelError, match="refused the key; check OPENAI_API_KEY"):
        model.chat([Request((Message("user", "hello"),))])
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    model = OpenAIModel(target=f"tiny@{server}", key="OPENAI_API_KEY")
    assert model.chat([Request((Message("user", "word " * 3000),))])[0].overflow
