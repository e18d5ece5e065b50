"""The embedded model, through transformers: real weights, real tokens."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import palestra
import peft
import pytest
import transformers
from palestra import InvalidOption, MissingExtra, ModelError
from palestra.agents.models import Message, Request, Tokens
from tiny_model import make_adapter, make_tiny_model

pytestmark = pytest.mark.slow

ASK = (Message("user", "What is the capital of France? Answer in one word."),)


@pytest.fixture(scope="module")
def model() -> Iterator[palestra.Model]:
    made = palestra.open_model("local:", context=1024)
    yield made
    made.close()


def ask(model: palestra.Model, **options: object) -> palestra.agents.models.Reply:
    return model.chat([Request(ASK, **options)])[0]  # type: ignore[arg-type]


def test_it_speaks_and_counts_its_tokens(model: palestra.Model) -> None:
    reply = ask(model, tokens=True, max_tokens=12)
    assert "Paris" in reply.text
    assert reply.tokens is not None
    assert reply.usage.tokens_in == len(reply.tokens.prompt)
    assert reply.usage.tokens_out == len(reply.tokens.reply) == len(reply.tokens.logprobs)
    assert reply.logprob == pytest.approx(sum(reply.tokens.logprobs))
    assert max(reply.tokens.logprobs) < 0


def test_it_is_held_to_choices_and_patterns(model: palestra.Model) -> None:
    assert ask(model, choices=("London", "Paris", "Rome")).text == "Paris"
    held = ask(model, pattern=r"Propose\(price=[0-9]{2}\)", max_tokens=40, temperature=1.0, seed=3)
    assert held.text.startswith("Propose(price=")
    assert len(held.text) == len("Propose(price=10)")
    assert ask(model, choices=("1", "10"), temperature=1.0, seed=1).text in ("1", "10")


def test_it_weighs_a_certain_continuation_first(model: palestra.Model) -> None:
    start = (Message("user", "1, 2, 3, 4, 5, 6, 7, 8, 9,"),)
    scores = model.chat([Request(start, raw=True, score=(" 4", " 10", " left"))])[0].scores
    assert max(scores, key=lambda score: score.mean) is scores[1]


def test_what_was_read_is_not_read_again(model: palestra.Model) -> None:
    first = ask(model, max_tokens=4)
    grown = (*ASK, Message("assistant", first.text), Message("user", "And of Italy?"))
    alone = palestra.open_model("local:", context=1024)
    again = model.chat([Request(grown, max_tokens=8)])[0]
    fresh = alone.chat([Request(grown, max_tokens=8)])[0]
    assert again.usage.tokens_cached >= first.usage.tokens_in
    assert fresh.usage.tokens_cached == 0
    assert again.text == fresh.text
    alone.close()


def test_a_full_context_is_said(model: palestra.Model) -> None:
    assert model.chat([Request((Message("user", "word " * 2000),))])[0].overflow


@pytest.mark.essential
def test_the_same_seed_writes_the_same(model: palestra.Model) -> None:
    one, same, other = (
        ask(model, temperature=1.5, seed=seed, max_tokens=12).text for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_it_plays_a_game_from_demonstrations(tmp_path: Path) -> None:
    agent = "llm:local:,mode=choice,prompt=raw,examples=8,teacher=cfr,context=2048"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"], out=tmp_path)[0]
    own = [turn for turn in record.turns if turn.seat == 0]
    assert all(turn.usage.tokens_in > 100 and turn.logprob is not None for turn in own)
    assert not sum(record.mistakes)
    palestra.replay(palestra.read_records(tmp_path / "episode.jsonl")[0])


def test_a_base_model_wants_a_raw_prompt(tmp_path: Path) -> None:
    made = palestra.open_model(f"local:{make_tiny_model(tmp_path / 'base', template=False)}")
    with pytest.raises(InvalidOption, match="no chat template; say prompt=raw"):
        made.chat([Request(ASK)])
    assert made.chat([Request(ASK, raw=True)])[0].usage.tokens_out


def test_bad_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model: there is no config"):
        palestra.open_model(f"local:{tmp_path}")
    with pytest.raises(InvalidOption, match="mode=score weighs listed moves"):
        palestra.play("text/Negotiation-v0", agents=["llm:local:,mode=score", "random"])


def merge(base: Path, adapter: Path) -> Path:
    """The folder of a model that peft has merged with an adapter."""
    net = transformers.AutoModelForCausalLM.from_pretrained(base)
    folder = adapter.with_name(f"{adapter.name}-merged")
    peft.PeftModel.from_pretrained(net, adapter).merge_and_unload().save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    return folder


def test_each_request_has_its_own_adapter(tmp_path: Path) -> None:
    def told(where: palestra.Model | Path, adapter: Path | None, text: str) -> Tokens:
        if isinstance(where, Path):
            with closing(palestra.open_model(f"local:{where}")) as opened:
                return told(opened, adapter, text)
        words, named = (Message("user", text),), str(adapter) if adapter else None
        asked = Request(words, tokens=True, max_tokens=6, temperature=1.0, seed=4, adapter=named)
        tokens = where.chat([asked])[0].tokens
        assert tokens is not None
        return tokens

    base = make_tiny_model(tmp_path / "tiny")
    adapters = {seed: make_adapter(base, tmp_path / f"adapter{seed}", seed=seed) for seed in (1, 2)}
    merged = {seed: merge(base, folder) for seed, folder in adapters.items()}
    asked = [
        (seed, text)
        for seed in (0, 1, 2, 1, 0, 2)
        for text in ("You may play: left, right", "You may play: left, right, 1, 2, 3. Answer.")
    ]
    with closing(palestra.open_model(f"local:{base}")) as model:
        found = [told(model, adapters.get(seed), text) for seed, text in asked]
        with pytest.raises(
            ModelError, match=r"is not a LoRA adapter: no adapter_config\.json in it"
        ):
            told(model, tmp_path, "left")
        weights = adapters[1] / "adapter_model.safetensors"
        shutil.copy(adapters[2] / weights.name, weights)  # a run that goes on writes anew
        assert told(model, adapters[1], "left") == told(model, adapters[2], "left")
        weights.write_bytes(b"{}")
        for _ in range(2):
            with pytest.raises(ModelError, match=r"adapter1 is no adapter of .*tiny: "):
                told(model, adapters[1], "left")
        assert told(model, None, asked[0][1]) == found[0]
    assert len({tokens.logprobs for tokens in found}) == 6
    for (seed, text), tokens in zip(asked, found, strict=True):
        known = told(merged.get(seed, base), None, text)
        assert tokens.reply == known.reply
        assert tokens.logprobs == pytest.approx(known.logprobs, abs=1e-4)


def test_adapters_without_peft_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_tiny_model(tmp_path / "tiny")
    adapter = make_adapter(base, tmp_path / "adapter")
    monkeypatch.setitem(sys.modules, "peft", None)
    with (
        closing(palestra.open_model(f"local:{base}")) as model,
        pytest.raises(MissingExtra, match=r"palestra-training\[lora\]"),
    ):
        model.chat([Request(ASK, adapter=str(adapter))])
