"""DPO on pairs of play: against the formula one sequence at a time, and by what is learned."""

import math

import numpy as np
import palestra
import pytest
import torch
from palestra import InvalidOption
from palestra_training.learner import Learner
from palestra_training.losses import dpo_loss, score_dpo_loss
from palestra_training.preferring import log_likelihoods, prefer, read_sides
from palestra_training.text_rows import preference_rows, trajectories
from palestra_training.tiny import make_tiny

LAKE = {"num_players": 3, "rounds": 3, "talk": False}
PLAYED = {
    "games/TicTacToe-v0": ({}, ["random", "first"]),
    "text/Commons-v0": (LAKE, ["random", "first", "random"]),
}


def rows_of(env, n=8):
    options, agents = PLAYED[env]
    records = [
        record
        for seed in (5, 6)
        for record in palestra.rollouts(env, agents=agents, n=n, seed=seed, **options)
    ]
    played = trajectories(records, agents=["random"])
    return list(preference_rows(played, most=5))


def learner_of(folder, rows, seed=0):
    texts = [one["content"] for row in rows for s in SIDES for one in row[s]]
    sizes = {"layers": 1, "width": 16, "heads": 2, "context": 4096}
    texts.append("system : user : assistant :")
    model = Learner(make_tiny(folder, texts, spread=0.3, seed=seed, **sizes))
    model.tokenizer.chat_template = TEMPLATE
    return model


SIDES = ("prompt", "chosen", "rejected")
TEMPLATE = (
    "{% for one in messages %}{{ one.role }} : {{ one.content }} {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)


@pytest.mark.parametrize("beta", [0.01, 0.3, 2.0])
def test_dpo_is_the_formula_pair_by_pair(beta):
    rng = np.random.default_rng(1)
    better, worse = rng.normal(0, 5, 17), rng.normal(0, 5, 17)
    expected = np.mean(np.logaddexp(0, -beta * (better - worse)))
    found = dpo_loss(torch.tensor(better), torch.tensor(worse), beta=beta)
    assert float(found) == pytest.approx(expected, rel=1e-9)
    half = torch.full((17,), 0.5, dtype=torch.float64)
    scored = score_dpo_loss(torch.tensor(better), torch.tensor(worse), half, half, beta=2 * beta)
    assert float(scored) == pytest.approx(expected, rel=1e-9)
    assert torch.autograd.gradcheck(
        dpo_loss, (torch.tensor(better, requires_grad=True), torch.tensor(worse))
    )


def by_hand(model, row, side):
    """The log-probability of a side's answers: one by one, token by token, without padding."""
    before, total, answers = list(row["prompt"]), 0.0, 0
    for one in row[side]:
        if one["role"] == "assistant":
            asked = model.tokenizer.apply_chat_template(
                before, tokenize=False, add_generation_prompt=True
            )
            prompt = model.tokenizer.encode(asked, add_special_tokens=False)
            reply = model.tokenizer.encode(one["content"], add_special_tokens=False)
            ids = torch.tensor([[*prompt, *reply, *sorted(model.end)[:1]]])
            with torch.no_grad():
                scores = model.net(input_ids=ids).logits[0].double()
            for place in range(len(prompt), ids.shape[1]):
                row_scores = scores[place - 1].numpy()
                total += row_scores[ids[0, place]] - np.logaddexp.reduce(row_scores)
            answers += 1
        before.append(one)
    return total, answers


@pytest.mark.parametrize("env", PLAYED)
def test_a_side_is_as_likely_as_its_own_answers_together(env, tmp_path):
    rows = rows_of(env)
    model = learner_of(tmp_path / "model", rows)
    read = [read_sides(model, row) for row in rows]
    with torch.no_grad():
        found = log_likelihoods(model, read)
    answers = set()
    for place, row in enumerate(rows):
        for side, name in enumerate(("chosen", "rejected")):
            expected, count = by_hand(model, row, name)
            assert float(found[place, side]) == pytest.approx(expected, rel=1e-4)
            answers.add(count)
    assert len(answers) > 1  # trajectories of unequal lengths
    assert any(one["role"] != "assistant" for row in rows for one in row["chosen"])


@pytest.mark.parametrize("env", PLAYED)
def test_steps_raise_what_was_chosen_over_what_was_rejected(env, tmp_path):
    rows = rows_of(env)
    model, still = (learner_of(tmp_path / name, rows) for name in ("model", "still"))
    losses = prefer(model, rows, beta=0.1, epochs=6, pairs=3, learning_rate=3e-3, seed=2)
    assert losses[0] < math.log(2) + 0.1
    assert losses[-1] < losses[0] / 2
    assert model.version == 1
    read = [read_sides(model, row) for row in rows]
    with torch.no_grad():
        moved = log_likelihoods(model, read) - log_likelihoods(still, read)
    assert (moved[:, 0] > moved[:, 1]).all()


def test_the_first_loss_is_log_2_and_its_gradient_half_of_beta_times_the_margin_s(tmp_path):
    """At the reference d loss = -beta / 2 mean(d log p_w - d log p_l), whatever the pairs are."""
    rows = rows_of("games/TicTacToe-v0")[:4]
    model, other = (learner_of(tmp_path / name, rows) for name in ("a", "b"))
    (loss,) = prefer(model, rows, beta=0.4, pairs=len(rows), max_gradient=1e9)
    assert loss == pytest.approx(math.log(2), abs=1e-5)
    read = [read_sides(other, row) for row in rows]
    both = log_likelihoods(other, read)
    (-0.2 * (both[:, 0] - both[:, 1]).mean()).backward()
    kept = {name: value.grad for name, value in model.trained().items()}
    for name, value in other.trained().items():
        assert torch.allclose(kept[name], value.grad, rtol=1e-3, atol=1e-5), name


def test_rows_without_an_answer_are_refused(tmp_path):
    rows = rows_of("games/TicTacToe-v0")
    model = learner_of(tmp_path / "model", rows)
    with pytest.raises(InvalidOption, match="no pairs"):
        prefer(model, [])
    silent = {**rows[0], "rejected": [{"role": "user", "content": "X moves."}]}
    with pytest.raises(InvalidOption, match="'rejected' has no message of an assistant"):
        prefer(model, [silent])
