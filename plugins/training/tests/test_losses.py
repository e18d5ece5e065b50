"""Losses against formulas worked out by hand, and against torch's own gradients."""

import pytest
import torch
from palestra import UnknownName
from palestra_training.losses import AVERAGES, policy_loss, token_logprobs

LOGPROBS = torch.tensor([[-0.5, -1.0, -2.0], [-0.1, -0.3, -9.0]])
OLD = torch.tensor([[-0.7, -0.5, -2.0], [-0.1, -0.8, -9.0]])
ADVANTAGES = torch.tensor([[1.0, 1.0, -2.0], [-0.5, -0.5, 3.0]])
SAMPLED = torch.tensor([[True, True, True], [True, True, False]])


def each_token(clip=0.2):
    """The clipped surrogate, token by token, without tensors."""
    import math

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
    assert {*expected, "reinforce"} == set(AVERAGES)
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
