"""vLLM in this process, with a tiny random model: what holds for it holds for any model."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import palestra
import pytest
from common import ENGINE, Listening, play
from palestra import InvalidOption, ModelError
from palestra.agents.models import Message, Request
from palestra_agents.llm import LLMAgent
from palestra_agents.models.vllm import VLLMModel
from tiny_model import make_tiny_model

TURNS = int(os.environ.get("PALESTRA_VLLM_TURNS", "1000"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> VLLMModel:
    return VLLMModel(target=str(folder), **ENGINE)


@pytest.mark.parametrize("mode", ["free", "choice", "score"])
@pytest.mark.parametrize("env", ["games/ConnectFour-v0", "games/KuhnPoker-v0"])
def test_records_of_a_model_replay_without_it(tiny: VLLMModel, env: str, mode: str) -> None:
    records = play(env, tiny, 2, mode, episodes=3, invalid="random", max_episode_steps=12)
    for record in records:
        palestra.replay(record)
        for turn in record.turns:
            assert turn.spent.tokens_in > 0
            assert turn.sampling["mode"] == mode
            assert turn.model == tiny.name
            assert mode == "free" or turn.status == "ok"


def test_a_constrained_model_never_makes_an_illegal_move(
    tiny: VLLMModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # uncompiled: vLLM brings a numba of its own, for which all games would be compiled once more
    # to play four moves; the conformance kit compares compiled rules with these
    monkeypatch.setattr("palestra.engine.compiled.compiles_by_default", lambda: False)
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
                episodes=2,
                seed=1000 * rounds,
                invalid="raise",
                max_episode_steps=4,
            )
            turns[spec.id] += sum(len(record.turns) for record in records)
            assert not any(sum(record.mistakes) for record in records), spec.id
        rounds += 1
    assert len(turns) == len(specs)
    print(f"{sum(turns.values())} turns in {len(specs)} environments, none illegal")


def test_prompts_grow_token_by_token_and_come_from_the_cache(tiny: VLLMModel) -> None:
    model = Listening(tiny)
    agent = LLMAgent(model=model, mode="choice", keep_tokens=True)
    palestra.play("games/ConnectFour-v0", agents=[agent, "random"], episodes=1)
    prompts = [reply.tokens.prompt for reply in model.replies]
    for earlier, later in pairwise(prompts):
        assert later[: len(earlier)] == earlier
    assert all(reply.usage.tokens_cached for reply in model.replies[1:])


def test_tokens_are_the_engines_own(tiny: VLLMModel) -> None:
    messages = (Message("user", "Say something."),)
    reply = tiny.chat([Request(messages, max_tokens=9, tokens=True)])[0]
    engine = tiny._claim.loaded.llm
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


def test_a_full_context_is_said_and_not_cut_silently(tiny: VLLMModel) -> None:
    replies = tiny.chat(
        [Request((Message("user", "word " * 5000),)), Request((Message("user", "word"),))]
    )
    assert [reply.overflow for reply in replies] == [True, False]


def test_what_is_not_there_is_named(tiny: VLLMModel, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model folder \./nowhere"):
        VLLMModel(target="./nowhere")
    with pytest.raises(InvalidOption, match="enable_lora=true"):
        tiny.chat([Request((Message("user", "hello"),), adapter=str(tmp_path))])
