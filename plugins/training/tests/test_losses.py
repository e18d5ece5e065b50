"""Losses against formulas worked out by hand, and against torch's own gradients."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from palestra import InvalidOption, UnknownName
from palestra_training.losses import (
    AVERAGES,
    policy_loss,
    score_dpo_loss,
    token_logprobs,
    truncated_weights,
)

LOGPROBS = torch.tensor([[-0.5, -1.0, -2.0], [-0.1, -0.3, -9.0]])
OLD = torch.tensor([[-0.7, -0.5, -2.0], [-0.1, -0.8, -9.0]])
ADVANTAGES = torch.tensor([[1.0, 1.0, -2.0], [-0.5, -0.5, 3.0]])
SAMPLED = torch.tensor([[True, True, True], [True, True, False]])


def each_token(clip=0.2):
    """The clipped surrogate, token by token, without tensors."""
    terms = []
    for row in range(2):
        terms.append([])
        for place in range(3):
            ratio = math.exp(float(LOGPROBS[row, place] - OLD[row, place]))
            advantage = float(ADVANTAGES[row, place])
            held = min(max(ratio, 1 - clip), 1 + clip)
            terms[-1].append(-min(ratio * advantage, held * advantage))
    return terms


def test_averages_are_those_of_the_papers():
    one, two = each_token()
    two = two[:2]
    expected = {
        "grpo": (sum(one) / 3 + sum(two) / 2) / 2,
        "bnpo": (sum(one) + sum(two)) / 5,
        "dr_grpo": (sum(one) + sum(two)) / (2 * 7),
        "dapo": (sum(one) + sum(two)) / 40,
    }
    for average, value in expected.items():
        found = policy_loss(
            LOGPROBS, OLD, ADVANTAGES, SAMPLED, average=average, most_tokens=7, tokens_in_step=40
        )
        assert float(found) == pytest.approx(value, rel=1e-6), average
    assert {*expected, "rloo", "reinforce"} == set(AVERAGES)
    with pytest.raises(UnknownName, match="unknown average 'mean'"):
        policy_loss(LOGPROBS, OLD, ADVANTAGES, SAMPLED, average="mean")


def test_the_penalty_for_leaving_a_reference_is_k3():
    reference = torch.full_like(LOGPROBS, -1.0)
    base = policy_loss(LOGPROBS, OLD, ADVANTAGES, SAMPLED, average="bnpo")
    found = policy_loss(
        LOGPROBS, OLD, ADVANTAGES, SAMPLED, average="bnpo", reference=reference, beta=0.5
    )
    apart = (reference - LOGPROBS)[SAMPLED]
    assert float(found - base) == pytest.approx(0.5 * float((apart.exp() - apart - 1).mean()))


def test_on_policy_the_gradient_is_that_of_reinforce():
    torch.manual_seed(0)
    logits = torch.randn(3, 6, 11, requires_grad=True)
    ids = torch.randint(11, (3, 6))
    sampled = torch.rand(3, 5) > 0.4
    advantages = torch.randn(3, 5)
    found, entropy = token_logprobs(logits, ids)
    loss = policy_loss(found, found.detach(), advantages, sampled, average="bnpo")
    (gradient,) = torch.autograd.grad(loss, logits, retain_graph=True)
    chances = torch.distributions.Categorical(logits=logits[:, :-1])
    plain = -(chances.log_prob(ids[:, 1:]) * advantages * sampled).sum() / sampled.sum()
    (expected,) = torch.autograd.grad(plain, logits)
    assert torch.allclose(gradient, expected, atol=1e-7)
    assert torch.allclose(entropy, chances.entropy(), atol=1e-6)


def test_a_ratio_beyond_the_clip_has_no_gradient():
    logprobs = torch.tensor([[0.5, -0.5]], requires_grad=True)
    loss = policy_loss(
        logprobs, torch.zeros(1, 2), torch.tensor([[1.0, -1.0]]), torch.ones(1, 2) > 0
    )
    loss.backward()
    assert logprobs.grad.tolist() == [[0.0, 0.0]]
    loss = policy_loss(
        logprobs, torch.zeros(1, 2), torch.tensor([[-1.0, 1.0]]), torch.ones(1, 2) > 0
    )
    loss.backward()
    assert (logprobs.grad != 0).all()


# What GRPOTrainer._compute_loss and RLOOTrainer._compute_loss of TRL 1.16.0 return for the batch
# below, by (beta, clip, clip_high); "rloo" has one advantage a stream.
TRL = {
    "grpo": {(0.0, 0.2, 0.2): 0.17899460516118318, (0.04, 0.1, 0.28): 0.18065241009093527},
    "bnpo": {(0.0, 0.2, 0.2): 0.2473815688395837, (0.04, 0.1, 0.28): 0.24909070363674612},
    "dr_grpo": {(0.0, 0.2, 0.2): 0.12094210032157425, (0.04, 0.1, 0.28): 0.12177767733352034},
    "dapo": {(0.0, 0.2, 0.2): 0.17556111337002714, (0.04, 0.1, 0.28): 0.17677404774220692},
    "rloo": {(0.0, 0.2, 0.2): 0.1927585289997072},
}


def wave(scale, phase):
    """Five streams of nine numbers, alike on every machine."""
    places = torch.arange(45, dtype=torch.float64)
    return (scale * torch.sin(1.7 * places + phase)).reshape(5, 9)


@pytest.mark.parametrize("average", TRL)
def test_losses_equal_those_of_trl(average):
    logprobs = -1.5 + wave(1.2, 0.3)
    old, reference = logprobs + wave(0.5, 1.1), logprobs + wave(0.4, 2.0)
    advantages = wave(1.5, 0.9)
    if average == "rloo":
        advantages = advantages[:, :1].expand(5, 9)
    sampled = torch.arange(9)[None] < torch.tensor([9, 4, 7, 1, 5])[:, None]
    sampled &= torch.arange(45).reshape(5, 9) % 6 != 2
    for (beta, clip, clip_high), value in TRL[average].items():
        found = policy_loss(
            logprobs,
            old,
            advantages,
            sampled,
            average=average,
            clip=clip,
            clip_high=clip_high,
            reference=reference,
            beta=beta,
            tokens_in_step=31.0,
            most_tokens=9,
        )
        assert float(found) == pytest.approx(value, abs=1e-6)


def by_hand(engine, trained, new, advantages, cap):
    """The loss over unequal streams in plain Python, and the number of weights that were cut."""
    total, tokens, cut = 0.0, 0, 0
    for rows in zip(engine, trained, new, advantages, strict=True):
        for drawn, before, now, advantage in zip(*rows, strict=True):
            weight, ratio = math.exp(before - drawn), math.exp(now - before)
            clipped = min(max(ratio, 0.8), 1.2)
            total -= min(weight, cap) * min(ratio * advantage, clipped * advantage)
            tokens, cut = tokens + 1, cut + (weight > cap)
    return total / tokens, cut


def padded(rows):
    return torch.tensor([row + [0.0] * (3 - len(row)) for row in rows], dtype=torch.float64)


@pytest.mark.parametrize(("cap", "cuts"), [(0.5, 4), (1.0, 3), (1.5, 2), (2.0, 1), (9.0, 0)])
def test_truncated_importance_weights_are_those_of_plain_python(cap, cuts):
    engine = [[-1.0, -0.2, -2.0], [-0.7], [-1.5, -0.4]]
    trained = [[-1.1, -0.9, -1.2], [-0.1], [-1.3, -2.4]]
    new = [[-0.8, -1.0, -1.25], [-0.5], [-1.31, -2.2]]
    advantages = [[1.0, 1.0, -0.5], [-2.0], [0.75, 0.75]]
    marks = torch.arange(3)[None] < torch.tensor([3, 1, 2])[:, None]
    weights, cut = truncated_weights(padded(trained), padded(engine), cap)
    found = policy_loss(
        padded(new), padded(trained), padded(advantages), marks, average="bnpo", weights=weights
    )
    expected, count = by_hand(engine, trained, new, advantages, cap)
    assert float(found) == pytest.approx(expected, abs=1e-9)
    assert int((cut & marks).sum()) == count == cuts


def pairs_of(seed, count=9):
    """Log-ratios of better and worse answers, and their scores, the better ones higher."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.random((count, 2)), axis=1)
    scores[0], scores[1] = (0.0, 1.0), (0.4, 0.4)
    return rng.normal(0, 8, count), rng.normal(0, 8, count), scores[:, 1], scores[:, 0]


@pytest.mark.parametrize("beta", [0.01, 0.5, 3.0])
def test_score_dpo_is_the_formula_pair_by_pair(beta):
    for seed in range(20):
        given = pairs_of(seed)
        expected = []
        for better, worse, high, low in zip(*given, strict=True):
            reward = high * beta * better
            against = (1 - low) * beta * worse
            expected.append(math.log1p(math.exp(-(reward - against))))
        found = score_dpo_loss(*map(torch.tensor, given), beta=beta)
        assert float(found) == pytest.approx(sum(expected) / len(expected), rel=1e-9, abs=1e-9)


def test_the_gradient_of_score_dpo_is_that_of_finite_differences():
    for seed in range(5):
        better, worse, high, low = map(torch.tensor, pairs_of(seed, count=6))
        better.requires_grad_(), worse.requires_grad_()
        found = torch.autograd.grad(score_dpo_loss(better, worse, high, low, beta=0.3), [better])
        step = 1e-5
        for place in range(6):
            ends = []
            for sign in (1, -1):
                moved = better.detach().clone()
                moved[place] += sign * step
                ends.append(float(score_dpo_loss(moved, worse.detach(), high, low, beta=0.3)))
            slope = (ends[0] - ends[1]) / (2 * step)
            assert float(found[0][place]) == pytest.approx(slope, rel=1e-5, abs=1e-9)
        check = partial(score_dpo_loss, beta=0.3)
        assert torch.autograd.gradcheck(check, (better, worse, high, low))


def test_a_pair_of_sure_scores_moves_more_than_one_of_unsure_scores():
    """The step on the better answer grows with its score, that on the worse as its score falls."""
    better = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    worse = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    high, low = torch.tensor([0.9, 0.6]), torch.tensor([0.2, 0.5])
    score_dpo_loss(better, worse, high.double(), low.double(), beta=1.0).backward()
    assert (better.grad / better.grad[1]).tolist() == pytest.approx([1.5, 1.0])
    assert (worse.grad / worse.grad[1]).tolist() == pytest.approx([1.6, 1.0])


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan])
def test_scores_out_of_range_are_refused(score):
    one = torch.ones(1)
    with pytest.raises(InvalidOption, match="from 0 to 1"):
        score_dpo_loss(one, one, one * score, one, beta=0.1)
    with pytest.raises(InvalidOption, match="from 0 to 1"):
        score_dpo_loss(one, one, one, one * score, beta=0.1)
