"""HAMMER: private messages of a central agent to independent learners."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import torch
from learner_worlds import NextOne
from palestra import Episode, InvalidOption, Turn, make_agent
from palestra_agents.learners.hammer import Frame, Hammer, regularise
from palestra_agents.learners.training import begin_team
from palestra_agents.ppo.training import one_thread
from scipy.special import expit


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


def team(seats: int, **settings: object) -> Hammer:
    """An untrained team of some seats whose policies are no longer even."""
    options = {"num_players": seats, "max_steps": 6}
    learner = Hammer(
        "grid/Particles-v0", options, compiled=False, num_envs=3, horizon=4, hidden=8, **settings
    )  # fmt: skip
    with torch.no_grad():
        for part in learner.local.policy.parameters():
            part.normal_(0, 0.7)
    return learner


def test_messages_are_noisy_sigmoids_in_training_and_thresholds_in_play() -> None:
    generator = np.random.default_rng(3)
    sent, noise = generator.normal(0, 3, (4, 3, 5)), generator.normal(0, 2, (4, 3, 5))
    numbers = torch.from_numpy(sent)
    for channel in ("bits", "real"):
        found = regularise(numbers, torch.from_numpy(noise), channel)
        assert found.numpy() == pytest.approx(expit(sent + noise))
    assert regularise(numbers, None, "bits").tolist() == np.where(sent > 0, 1.0, 0.0).tolist()
    assert regularise(numbers, None, "real").numpy() == pytest.approx(expit(sent))


@pytest.mark.parametrize("seats", [2, 3, 5])
def test_a_seat_reads_its_own_observation_and_message_and_nothing_else(seats: int) -> None:
    learner = team(seats, message=2)
    seen, masks = learner.field.view()
    messages = torch.rand(3, seats, 2)
    before, value = learner.look(seen, masks, messages)
    for seat in range(seats):
        others = [other for other in range(seats) if other != seat]
        elsewhere, told = seen.clone(), messages.clone()
        elsewhere[:, others] += torch.randn(3, len(others), seen.shape[-1])
        told[:, others] = 1 - told[:, others]
        after, worth = learner.look(elsewhere, masks, told)
        assert torch.equal(after[:, seat], before[:, seat])
        assert torch.equal(worth[:, seat], value[:, seat])
        told = messages.clone()
        told[:, seat] = 1 - told[:, seat]
        assert not torch.allclose(learner.look(seen, masks, told)[0][:, seat], before[:, seat])


def test_two_bits_tell_a_seat_at_most_four_things() -> None:
    """However the others' observations vary, one seat's policy is one of four."""
    learner = team(3, message=2, seed=4)
    with torch.no_grad():
        for part in learner.central.parameters():
            part.normal_(0, 1)
    seen, masks = (part[:1].expand(200, *part.shape[1:]).clone() for part in learner.field.view())
    seen[:, 1:] = torch.randn(200, 2, seen.shape[-1], generator=torch.Generator().manual_seed(0))
    logprobs = learner.look(seen, masks, learner.messages(seen))[0][:, 0].detach()
    different = torch.unique((logprobs * 1e4).round(), dim=0)
    assert 1 < len(different) <= 4


def difference(
    learner: Hammer, frame: Frame, gains: torch.Tensor, ways: list[torch.Tensor]
) -> float:
    """The slope of the loss along a direction of the centre's weights, by central differences."""
    found, small = [], 1e-5
    with torch.no_grad():
        for step in (small, -2 * small):
            for weight, way in zip(learner.central.parameters(), ways, strict=True):
                weight += step * way
            found.append(float(learner.loss(frame, gains)))
        for weight, way in zip(learner.central.parameters(), ways, strict=True):
            weight += small * way
    return (found[0] - found[1]) / (2 * small)


@pytest.mark.parametrize(("seats", "channel"), [(2, "bits"), (3, "real"), (4, "bits")])
def test_the_centres_gradient_is_the_slope_of_the_seats_losses(seats: int, channel: str) -> None:
    """Central differences of the loss, in random directions of the central agent's weights."""
    learner = team(seats, message=3, channel=channel, seed=seats)
    with torch.no_grad():
        frame = learner._frame()
    wide = Frame(*(part.double() if part.is_floating_point() else part for part in frame))
    gains = torch.randn(3, seats, dtype=torch.float64)
    learner.local.double()
    learner.central.double()
    learner.loss(wide, gains).backward()  # type: ignore[no-untyped-call]
    weights = list(learner.central.parameters())
    for _ in range(4):
        ways = [torch.randn_like(weight) for weight in weights]
        pairs = zip(weights, ways, strict=True)
        slope = sum(float((w.grad * way).sum()) for w, way in pairs if w.grad is not None)
        assert abs(slope) > 1e-6
        assert slope == pytest.approx(difference(learner, wide, gains, ways), rel=1e-3)


def named(seed: int, *, seats: int, symbols: int, updates: int = 120, **settings: object) -> float:
    """The mean pay, after training, of players who have to name what only the next one sees."""
    learner = Hammer(
        NextOne(seats, symbols), compiled=True, num_envs=64, horizon=4, hidden=32, gamma=0.0,
        learning_rate=1e-2, entropy=0.05, epochs=8, minibatches=1, seed=seed, **settings,
    )  # fmt: skip
    for _ in range(updates):
        learner.update()
    paid = []
    for _ in range(8):
        seen, masks = learner.field.view()
        paid.append(learner.field.step(learner.act(seen, masks)).rewards.mean())
    return float(np.mean(paid))


@pytest.mark.slow
@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("seats", "symbols", "message", "channel", "best"),
    [(3, 3, 2, "bits", 1.0), (4, 3, 1, "real", 1.0), (3, 4, 1, "bits", 0.5)],
)
def test_who_cannot_see_what_pays_is_told_as_much_as_the_message_holds(
    seats: int, symbols: int, message: int, channel: str, best: float
) -> None:
    """One bit tells two of four equally likely symbols: 1/2. Without messages, 1/symbols."""
    how: dict[str, Any] = {"seats": seats, "symbols": symbols}
    told = [named(seed, message=message, channel=channel, **how) for seed in range(3)]
    assert max(told) < best + 0.06
    assert np.mean(told) > best - 0.1
    alone = named(0, message=0, updates=20, **how)
    assert alone == pytest.approx(1 / symbols, abs=0.06)


def test_a_team_plays_by_name_only_with_the_centre_that_tells_it(tmp_path: Path) -> None:
    options = {"num_players": 3, "max_steps": 4}
    for message in (0, 2):
        settings = {"num_envs": 2, "horizon": 3, "hidden": 8, "message": message}
        run = begin_team("hammer", "grid/Particles-v0", options, settings, tmp_path / str(message))
        run.learner.update()
        run.save(tmp_path / str(message))
    whole = f"marl:{tmp_path / '2'}"
    (record,) = palestra.play("grid/Particles-v0", agents=whole, seed=1, **options)
    assert len(record.returns) == 3
    mixed = [f"marl:{tmp_path / '0'}", "random", "random"]
    (record,) = palestra.play("grid/Particles-v0", agents=mixed, seed=1, **options)
    assert not record.error
    apart = make_agent(whole)
    episode = Episode(palestra.game("grid/Particles-v0", **options), 0, compiled=False)
    with pytest.raises(InvalidOption, match="what all seats see"):
        apart.act([Turn(episode, 0)])
