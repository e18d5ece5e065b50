"""Policies by seat, replies held to legal moves, play ahead of learning, and honest evaluation."""

from itertools import product

import palestra
import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra.agents.making import make_agent
from palestra.agents.models import Message, Model, Reply, Request
from palestra.llm.tokens import allowed_tokens, read_prompt
from palestra_training.batch import token_batch
from palestra_training.evaluation import scores
from palestra_training.losses import chosen_logprobs
from palestra_training.plan import Evaluation, Lora, TinyModel, TrainPlan
from palestra_training.trainer import Trainer
from palestra_training.update import logprobs_of

HELD = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=3,
    groups=4,
    group_size=3,
    mode="choice",
    tiny=TinyModel(kind="gpt2", layers=1, width=32, heads=2, context=128, spread=0.1),
    evaluation=Evaluation(every=3, episodes=6),
)


def state(trainer):
    return [learner.weights() for learner in trainer.learners]


def same(one, other):
    return all(
        torch.equal(mine[name], theirs[name])
        for mine, theirs in zip(one, other, strict=True)
        for name in mine
    )


def test_held_replies_are_legal_and_learned_from_as_they_were_drawn(tmp_path):
    trainer = Trainer(HELD, tmp_path / "run")
    records = trainer.rollouts()
    assert not any(sum(record.mistakes) for record in records)
    batch = token_batch(trainer.credited(records))
    with torch.no_grad():
        found, entropy = logprobs_of(trainer.model, batch, 1.0)
    marks = batch.sampled[:, 1:]
    assert float((found - batch.logprobs[:, 1:])[marks].abs().max()) < 1e-5
    assert float(entropy[marks].max()) <= 0.6932  # of two legal moves


def test_words_that_could_not_be_drawn_have_no_share():
    logits = torch.tensor([[[1.0, 2.0, 3.0]]])
    allowed = torch.tensor([[[True, False, True]]])
    found, entropy = chosen_logprobs(logits, torch.tensor([[2]]), 1.0, allowed)
    share = 1 / (1 + torch.exp(torch.tensor(-2.0)))
    assert float(found) == pytest.approx(float(share.log()), abs=1e-6)
    rest = 1 - share
    assert float(entropy) == pytest.approx(
        float(-share * share.log() - rest * rest.log()), abs=1e-6
    )


def test_a_strategy_is_what_is_drawn(tmp_path):
    model = Trainer(HELD, tmp_path / "run").model
    choices = (" bet", " pass", " bet pass")
    ask = Request((Message("user", "Move:"),), raw=True, choices=choices, max_tokens=6)
    found = model.strategy(ask)
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)
    asked = [
        Request(ask.messages, raw=True, choices=choices, max_tokens=6, temperature=1.0, seed=seed)
        for seed in range(2000)
    ]
    drawn = [reply.text for reply in model.chat(asked)]
    for text, chance in found.items():
        assert drawn.count(text) / 2000 == pytest.approx(chance, abs=0.04)


def one_token_at_a_time(model, request):
    """What a model says if it reads all again for each token, and the log-probabilities."""
    said, chances = [], []
    prompt, listed = read_prompt(model.tokenizer, request, model.name), model.choices_of(request)
    source = torch.Generator().manual_seed(request.seed or 0)
    drawn = torch.rand(request.max_tokens, generator=source, dtype=torch.float64)
    while len(said) < request.max_tokens and not (said and said[-1] in model.end):
        logits = model.net(torch.tensor([[*prompt, *said]])).logits[0, -1].float()
        if listed is not None:
            if listed.count(said) and not any(
                len(c) > len(said) and c[: len(said)] == said for c in listed
            ):
                break
            barred = torch.ones_like(logits, dtype=torch.bool)
            barred[allowed_tokens(listed, said, model.end)] = False
            logits = logits.masked_fill(barred, -torch.inf)
        shares = torch.softmax(logits / (request.temperature or 1), -1)
        ends = shares.double().cumsum(-1)
        place = torch.searchsorted(ends, drawn[len(said)] * ends[-1], right=True)
        token = int(place if request.temperature else logits.argmax())
        said.append(token)
        chances.append(float(shares[token].log()))
    return said, chances


def test_tokens_that_choices_leave_no_choice_are_read_with_the_next(tmp_path, monkeypatch):
    model = Trainer(HELD, tmp_path / "run").model
    asks = [Message("user", "Move:" + " pass" * count) for count in (0, 3, 1)]
    lists = [
        (" bet bet bet pass pass", " bet bet bet bet bet"),
        (" bet bet bet pass bet", " bet bet bet bet pass", " bet bet bet pass"),
        (" pass bet bet bet bet", " pass bet pass bet bet"),
        (" pass pass bet",),
        None,
    ]
    every = [
        Request((ask,), raw=True, choices=choices, max_tokens=7, temperature=heat, seed=seed)
        for seed, (ask, choices, heat) in enumerate(product(asks, lists, (0.0, 1.0, 0.7)))
    ]
    read, forward = [], model.net.forward
    monkeypatch.setattr(model.net, "forward", lambda *a, **k: read.append(1) or forward(*a, **k))
    for requests, reads in (
        ([one for one in every if one.choices in lists[:2]], None),
        ([one for one in every if one.choices == lists[0]], 1),
        ([one for one in every if one.choices == lists[3]], 0),
        (every, None),
    ):
        read.clear()
        replies = model.chat(requests)
        assert reads in (None, len(read))
        with torch.no_grad():
            known = [one_token_at_a_time(model, request) for request in requests]
        for reply, (said, chances) in zip(replies, known, strict=True):
            assert list(reply.tokens.reply) == said
            assert reply.tokens.logprobs == pytest.approx(chances, abs=1e-5)


def test_every_seat_has_a_policy_of_its_own(tmp_path):
    trainer = Trainer(replace(HELD, policies="seat"), tmp_path / "run")
    before = state(trainer)
    assert same(before[:1], before[1:])
    assert {record.agents for record in trainer.rollouts()} == {("learner-0", "learner-1")}
    trainer.run()
    after = state(trainer)
    assert not same(before, after)
    assert not same(after[:1], after[1:])
    assert (trainer.out / "model-1" / "config.json").exists()
    again = Trainer(replace(HELD, policies="seat"), tmp_path / "run", resume=True)
    assert same(state(again), after)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("matching", ["pfsp", "nash"])
def test_a_resumed_run_that_plays_ahead_is_the_run_that_never_stopped(tmp_path, matching):
    plan = replace(
        HELD, ahead=1, self_play=0.3, opponents=("random",), past=2, past_every=1, rounds=4
    )
    plan = replace(plan, matching=matching)
    whole = Trainer(plan, tmp_path / "whole")
    whole.run()
    Trainer(replace(plan, rounds=2), tmp_path / "cut").run()
    again = Trainer(plan, tmp_path / "cut", resume=True)
    again.run()
    assert same(state(again), state(whole))
    assert again.pool.names == ["random", "past:3", "past:4"]
    played = {name for line in whole.rollouts() for name in line.agents}
    assert played & set(again.pool.names)


def test_play_ahead_is_one_step_behind(tmp_path):
    trainer = Trainer(replace(HELD, ahead=1, learning_rate=1e-2), tmp_path / "run")
    trainer._learn()
    trainer.round += 1
    records = trainer.play.records(trainer.round)
    versions = {turn.tokens.policy for record in records for turn in record.turns}
    assert trainer.model.version == 1
    assert versions == {"0"}


@pytest.mark.parametrize("policies", ["shared", "seat"])
def test_play_ahead_keeps_its_policy_versions_when_it_is_resumed(tmp_path, policies):
    plan = replace(HELD, ahead=1, policies=policies)
    Trainer(replace(plan, rounds=2), tmp_path / "run").run()
    again = Trainer(plan, tmp_path / "run", resume=True)
    assert [learner.version for learner in again.learners] == [2] * len(again.learners)
    records = again.play.records(again.round)
    assert {turn.tokens.policy for record in records for turn in record.turns} == {"1"}


class Nonsense(Model):
    name, abilities = "nonsense", frozenset({"raw"})

    def chat(self, requests):
        return [Reply("castle") for _ in requests]


def test_a_game_lost_by_forfeit_is_lost():
    agent = make_agent("llm", model=Nonsense(), prompt="raw", history="bare")
    records = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "random"], episodes=1, invalid="forfeit"
    )
    found = scores(palestra.game("games/TicTacToe-v0"), records)
    assert found["unlost"] == found["won"] == 0


def test_a_curve_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    Trainer(HELD, tmp_path / "run").run()
    assert (tmp_path / "run" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_lora_without_peft_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "peft", None)
    with pytest.raises(InvalidOption, match=r"palestra-training\[lora\]"):
        Trainer(replace(HELD, lora=Lora(rank=2)), tmp_path / "run")


@pytest.mark.parametrize("policies", ["shared", "seat"])
@pytest.mark.essential
def test_adapters_are_learned_and_the_model_stays(tmp_path, policies):
    pytest.importorskip("peft")
    plan = replace(
        HELD,
        lora=Lora(rank=2),
        policies=policies,
        tiny=TinyModel(layers=1, width=32, heads=2, context=128),
    )
    trainer = Trainer(plan, tmp_path / "run")
    frozen = {n: v.clone() for n, v in trainer.model.net.named_parameters() if "lora" not in n}
    before = state(trainer)
    trainer.run()
    assert not same(before, state(trainer))
    assert all("lora" in name for learned in before for name in learned)
    now = dict(trainer.model.net.named_parameters())
    assert all(torch.equal(value, now[name]) for name, value in frozen.items())
    again = Trainer(plan, tmp_path / "run", resume=True)
    assert same(state(again), state(trainer))
    folder = "model" if policies == "shared" else "model-1"
    assert (trainer.out / folder / "adapter_config.json").exists()
