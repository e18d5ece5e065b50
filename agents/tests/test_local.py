"""The embedded model, through transformers: real weights, real tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import palestra
import pytest
from palestra import InvalidOption, ModelError
from palestra.agents.models import Message, Request
from tiny_model import make_tiny_model

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
