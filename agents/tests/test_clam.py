"""CLAM: embeddings of opponents by contrast, from one's own observations alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import torch
from palestra import Episode, InvalidOption, Turn, make_agent
from palestra_agents.learners.clam import Clam, Played, gains_of, info_nce
from palestra_agents.learners.training import begin_team, read_learner
from palestra_agents.ppo.training import one_thread
from scipy.special import logsumexp

DILEMMA = "games/PrisonersDilemma-v0"
PLAIN = ("always-cooperate", "always-defect", "tit-for-tat")


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


def pool_of(*names: str) -> str:
    return ",".join(f"strategy:name={name}" for name in names)


def learner_of(names: tuple[str, ...] = PLAIN, rounds: int = 5, **settings: Any) -> Clam:
    chosen: dict[str, Any] = {"num_envs": 12, "hidden": 8, "pool": pool_of(*names), **settings}
    return Clam(DILEMMA, {"rounds": rounds}, compiled=False, **chosen)


@pytest.mark.parametrize("opponents", [[0, 1, 2, 3], [0, 0, 1, 2, 1], [2, 0, 0, 0, 0, 1, 0]])
def test_info_nce_is_its_formula(opponents: list[int]) -> None:
    """By loops: its own other view against those of episodes with other opponents."""
    count, generator = len(opponents), np.random.default_rng(len(opponents))
    one, other = generator.normal(size=(2, count, 3))
    losses = []
    for i in range(count):
        rivals = [j for j in range(count) if j == i or opponents[j] != opponents[i]]
        scores = np.array([one[i] @ other[j] / 0.3 for j in rivals])
        losses.append(logsumexp(scores) - scores[rivals.index(i)])
    found = info_nce(*map(torch.from_numpy, (one, other)), torch.tensor(opponents), 0.3)
    assert float(found) == pytest.approx(np.mean(losses))
    assert float(found) > 0


def test_episodes_against_one_opponent_are_not_told_apart() -> None:
    codes = torch.randn(5, 4)
    assert float(info_nce(codes, codes.flip(0), torch.zeros(5, dtype=torch.long), 0.2)) == 0.0


def test_advantages_are_discounted_errors_of_the_values() -> None:
    """Sums by definition, for episodes of 4 and 2 steps."""
    rewards = torch.tensor([[1.0, 0.0, 2.0, -1.0], [3.0, 1.0, 0.0, 0.0]])
    values = torch.tensor([[0.5, 1.5, -0.5, 2.0], [1.0, 0.25, 0.0, 0.0]])
    after = torch.cat([values[:, 1:], torch.zeros(2, 1)], 1)
    errors = rewards + 0.9 * after - values
    expected = [
        [sum((0.9 * 0.8) ** (u - t) * float(errors[n, u]) for u in range(t, 4)) for t in range(4)]
        for n in range(2)
    ]
    assert gains_of(rewards, values, 0.9, 0.8).numpy() == pytest.approx(np.array(expected))


def test_an_embedding_follows_from_earlier_observations_of_its_own_episode() -> None:
    learner = learner_of()
    played = learner.play(9)
    codes = learner.encoder(played.seen)[0]
    assert codes.norm(dim=-1).detach().numpy() == pytest.approx(np.ones((9, 5)), abs=1e-5)
    changed = played.seen.clone()
    changed[:, 3:] += 1.0
    changed[4] += 1.0
    after = learner.encoder(changed)[0]
    others = [n for n in range(9) if n != 4]
    assert torch.allclose(after[others, :3], codes[others, :3])
    assert not torch.allclose(after[others, 3:], codes[others, 3:])


def test_opponents_and_seats_are_drawn_and_play_their_rule() -> None:
    """What the learner sees of the other: nothing but cooperation, defection, or its own moves."""
    learner = learner_of(rounds=4, seed=2)
    played = learner.play(60)
    scale = learner.field.scale
    assert set(played.opponents.tolist()) == {0, 1, 2}
    for n, which in enumerate(played.opponents.tolist()):
        other = (played.seen[n] * scale)[1:, 2:4].argmax(-1).tolist()  # their last move
        mine = played.actions[n, :3].tolist()
        assert other == ([0] * 3, [1] * 3, [0, *mine[:2]])[which]
        table = ((3, 0), (5, 1))
        paid = [table[a][b] for a, b in zip(mine, other, strict=True)]
        assert played.rewards[n, :3].tolist() == paid


def test_play_remembers_the_episode_as_training_did(tmp_path: Path) -> None:
    """The agent's moves, turn by turn, are those that the whole episode at once gives."""
    run = begin_team("clam", DILEMMA, {"rounds": 6}, {"pool": pool_of(*PLAIN)}, tmp_path)
    run.learner.update()
    run.save(tmp_path)
    learner: Any = read_learner(tmp_path)[0]
    agent, episode = make_agent(f"marl:{tmp_path}"), Episode(palestra.game(DILEMMA, rounds=6), 0)
    seen, moves = [], []
    while not episode.over:
        seen.append(torch.from_numpy(episode.observation(1).copy()) / learner.field.scale)
        (decision,) = agent.act([Turn(episode, 1)])
        moves.append(decision.action)
        episode.act({0: len(moves) % 2, 1: decision.action})
    whole = torch.stack(seen).unsqueeze(0)
    inputs = learner.inputs(whole, learner.encoder(whole)[0])
    logprobs, _ = learner.local(inputs, torch.ones(1, 6, 2, dtype=torch.bool))
    assert logprobs.argmax(-1)[0].tolist() == moves


def centroid_accuracy(learner: Clam, count: int) -> float:
    """How often held-out episodes lie nearest to the centroid of their opponent's others."""
    known, held_out = learner.play(count), learner.play(count)

    def codes(played: Played) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = learner.encoder(played.seen)[0][:, -1]
        return found

    kinds = range(len(learner.pool))
    centres = torch.stack([codes(known)[known.opponents == kind].mean(0) for kind in kinds])
    nearest = torch.cdist(codes(held_out), centres).argmin(1)
    return float((nearest == held_out.opponents).float().mean())


@pytest.mark.slow
def test_the_embedding_tells_opponents_apart() -> None:
    """Chance is 1/2 of two opponents who differ from the first move."""
    for seed in range(3):
        learner = learner_of(("always-cooperate", "always-defect"), seed=seed, num_envs=16)
        for _ in range(15):
            learner.update()
        assert centroid_accuracy(learner, 40) > 0.95


def test_without_contrast_the_policy_is_plain_ppo() -> None:
    learner = learner_of(contrast=False)
    before = [part.clone() for part in learner.encoder.parameters()]
    learner.update()
    pairs = zip(before, learner.encoder.parameters(), strict=True)
    assert all(torch.equal(old, new) for old, new in pairs)
    seen, masks = torch.rand(3, 2, learner.field.width), torch.ones(3, 2, 2, dtype=torch.bool)
    one = learner.act(seen, masks)
    learner.going = torch.randn(1, 6, 8)
    assert torch.equal(learner.act(seen, masks), one)


def test_a_pool_names_agents_that_do_not_learn_and_no_code() -> None:
    for bad in ("mine.py:Mine", "marl:runs/qmix", "os:system", "nobody"):
        with pytest.raises(InvalidOption, match="cannot be in the pool"):
            learner_of(pool=bad)
    with pytest.raises(InvalidOption, match="needs opponents"):
        Clam(DILEMMA, compiled=False).update()
    with pytest.raises(InvalidOption, match="played in turns"):
        Clam("games/TicTacToe-v0", compiled=False)
