"""Rewards found on tables: against linear algebra, finite differences and what they promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra_rewards.tabular import (
    Mdp,
    advise,
    blend,
    constraint_costs,
    design_rewards,
    learnt_rewards,
    self_design,
)
from palestra_rewards.tabular.blend import true_return
from test_episodes import kuhn

STATES, ACTIONS, GAMMA = 8, 3, 0.9


def drawn(seed: int, states: int = STATES, gamma: float = GAMMA) -> tuple[Mdp, np.ndarray]:
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(states, 0.3), (states, ACTIONS))
    return Mdp(moves, np.full(states, 1 / states), gamma), rng.normal(size=(states, ACTIONS))


def grid(width: int, height: int, goal: int) -> Mdp:
    """Cells in rows, four moves (left, right, up, down); walls hold, the goal's moves end it."""
    cells = width * height
    moves = np.zeros((cells, 4, cells))
    for cell in range(cells):
        row, column = divmod(cell, width)
        to = (
            (row, max(column - 1, 0)),
            (row, min(column + 1, width - 1)),
            (max(row - 1, 0), column),
            (min(row + 1, height - 1), column),
        )
        for action, (y, x) in enumerate(to):
            moves[cell, action, y * width + x] = float(cell != goal)
    return Mdp(moves, np.eye(cells)[0], GAMMA)


@pytest.mark.parametrize("seed", range(5))
def test_values_of_policies_satisfy_their_equations(seed: int) -> None:
    mdp, rewards = drawn(seed)
    policy, worth = mdp.best(rewards)
    values = worth.max(axis=1)
    np.testing.assert_allclose(worth, rewards + mdp.ahead(values), atol=1e-9)  # Bellman
    visits = mdp.visits(policy)
    assert visits.sum() == pytest.approx(1 / (1 - GAMMA))
    assert (visits * rewards).sum() == pytest.approx(mdp.start @ values)
    cold, soft = mdp.soft(rewards, 1e-3)
    np.testing.assert_allclose(soft, values, atol=0.02)
    np.testing.assert_allclose(cold, policy, atol=1e-3)


def test_tables_are_read_from_records_and_paid_while_playing(tmp_path: Path) -> None:
    records = kuhn(200)
    mdp = Mdp.seen(records, seat=0)
    paid = [
        sum(mdp.rewards[s, a] * n for a, n in enumerate(row)) for s, row in enumerate(mdp.counts)
    ]
    assert sum(paid) == pytest.approx(sum(record.returns[0] for record in records))
    assert mdp.counts.sum() == sum(t.seat == 0 for record in records for t in record.turns)
    assert (mdp.moves.sum(axis=2) <= 1 + 1e-12).all()
    path = tmp_path / "table.json"
    table = mdp.table(mdp.rewards)
    path.write_text(json.dumps(table))
    shaped = palestra.play(
        "games/KuhnPoker-v0",
        agents=["random", "random"],
        episodes=5,
        rewards=[f"self-design:table={path},weight=2"],
    )
    for record in shaped:
        for step in record.steps:
            for turn in step.turns:
                expected = 2 * table[f"{turn.state_key} {turn.action}"] if turn.seat == 0 else 0.0
                if turn.seat == 0:
                    assert step.rewards[0]["table"] == pytest.approx(expected)
    with pytest.raises(palestra.InvalidOption, match="no turns of seat 5"):
        Mdp.seen(records, seat=5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("learnt", [False, True])
def test_designed_rewards_keep_the_teachers_policy_and_tell_more(seed: int, learnt: bool) -> None:
    """ExpRD: few states, the same optimal policy by the same margin, and larger one-step gaps."""
    mdp, noise = drawn(seed)
    rewards = np.zeros_like(noise)
    rewards[0] = np.abs(noise[0])
    policy, worth = mdp.best(rewards)
    learner = mdp.soft(rewards, 5.0)[0] if learnt else None
    found = design_rewards(mdp, rewards, extra=2, learner=learner)
    assert found.any(axis=1).sum() <= 3
    assert np.abs(found).max() <= np.abs(rewards).max() + 1e-9
    again, worth_there = mdp.best(found)
    np.testing.assert_array_equal(again, policy)

    def gaps(of: np.ndarray) -> np.ndarray:
        """What the best action is above the second best."""
        best = np.sort(of, axis=1)
        return best[:, -1] - best[:, -2]

    assert (gaps(worth_there) >= gaps(worth) - 1e-6).all()
    assert gaps(worth_there).sum() > gaps(worth).sum()


def test_designed_rewards_are_the_original_where_there_is_nothing_to_tell() -> None:
    mdp = Mdp(np.zeros((2, 2, 2)), np.array([0.5, 0.5]), GAMMA)  # every move ends it
    rewards = np.array([[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(design_rewards(mdp, rewards, extra=0, horizons=(1,)), rewards)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_of_a_blend_is_that_of_finite_differences(seed: int) -> None:
    mdp, true = drawn(seed)
    rng = np.random.default_rng(seed)
    parts, weights = rng.normal(size=(*true.shape, 3)), rng.normal(size=3)
    _, slope = true_return(mdp, true, parts, weights, 0.5)
    for part, nudge in enumerate(np.eye(3) * 1e-5):
        up, down = (true_return(mdp, true, parts, weights + n, 0.5)[0] for n in (nudge, -nudge))
        assert slope[part] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-6)


def test_barfi_drops_what_harms_and_keeps_what_helps() -> None:
    """BARFI: a harmful auxiliary reward gets no weight upwards; a helpful one raises the return."""
    mdp = grid(5, 5, goal=24)
    cells = np.arange(25)
    true = np.where((cells == 24)[:, None], 1.0, -0.02) * np.ones((25, 4))
    distance = (4 - cells % 5) + (4 - cells // 5)
    nearer = (mdp.moves @ -distance) + distance[:, None] * mdp.moves.sum(axis=2)
    helpful, harmful = 0.1 * nearer, np.where((cells == 4)[:, None], 0.5, 0.0) * np.ones((25, 4))

    def earned(parts: list[np.ndarray], weights: np.ndarray) -> float:
        return true_return(mdp, true, np.stack(parts, axis=2), weights, 0.02)[0]

    alone = earned([true], np.ones(1))
    assert earned([true, harmful], np.ones(2)) < alone - 0.1
    weights = blend(mdp, true, np.stack([true, harmful], axis=2), temperature=0.02)
    assert weights[1] < 0.05
    assert earned([true, harmful], weights) >= alone
    weights = blend(mdp, true, np.stack([true, helpful], axis=2), temperature=0.02)
    assert weights[1] > 0.05
    assert earned([true, helpful], weights) > alone + 0.01


def test_self_designed_rewards_raise_the_true_return() -> None:
    """ExploRS: who learns from them gets more of the reward that counts."""
    mdp = grid(4, 4, goal=15)
    true = np.zeros((16, 4))
    true[15] = 1.0
    found = self_design(mdp, true, temperature=0.1)

    def earned(rewards: np.ndarray) -> float:
        return true_return(mdp, true, rewards[:, :, None], np.ones(1), 0.1)[0]

    assert earned(found) > earned(true) + 0.05
    counted = Mdp(mdp.moves, mdp.start, GAMMA, counts=np.full((16, 4), 4.0))
    with_bonus = self_design(counted, true, temperature=0.1, novelty=1.0)
    np.testing.assert_allclose(with_bonus - found, 0.5)


def test_constraint_costs_are_met_as_often_as_the_expert_meets_them() -> None:
    """MCE-ICRL: complementary slackness of the dual, and a forbidden cell that is found."""
    mdp = grid(4, 3, goal=3)
    reward = np.full((12, 4), -0.1)
    reward[3] = 1.0
    true = np.zeros((12, 4))
    true[1] = 1.0  # on the straight way to the goal
    expert = mdp.visits(mdp.soft(reward - 2.0 * true, 0.1)[0])
    features = np.repeat(np.eye(12)[:, None, [1, 5, 6, 9]], 4, axis=1)
    weights = constraint_costs(mdp, reward, features, expert, temperature=0.1)
    assert weights[0] == pytest.approx(2.0, abs=0.02)
    assert weights[1:] == pytest.approx([0, 0, 0], abs=0.02)
    agent = mdp.visits(mdp.soft(reward - features @ weights, 0.1)[0])
    np.testing.assert_allclose(agent, expert, atol=0.01)
    moved = Mdp(mdp.moves, np.eye(12)[9], GAMMA)  # costs go with the learner to another start
    free = moved.visits(moved.soft(reward, 0.1)[0])[1].sum()
    held = moved.visits(moved.soft(reward - features @ weights, 0.1)[0])[1].sum()
    assert held < free / 2


@pytest.mark.parametrize("seed", range(3))
def test_learnt_rewards_lead_back_to_the_demonstrators_play(seed: int) -> None:
    """MAMQL: in a game of two, who learns from the rewards read off play plays as was shown.

    Each agent's world is the game with the other's policy averaged in, as Q is.
    """
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(5, 0.5), (5, 2, 2))
    paid = rng.normal(size=(2, 5, 2, 2))
    play = [np.full((5, 2), 0.5), np.full((5, 2), 0.5)]
    start = np.full(5, 0.2)

    def world(agent: int) -> tuple[Mdp, np.ndarray]:
        if agent == 0:
            moves, own = np.einsum("sabt,sb->sat", joint, play[1]), paid[0]
            return Mdp(moves, start, 0.8), np.einsum("sab,sb->sa", own, play[1])
        moves = np.einsum("sabt,sa->sbt", joint, play[0])
        return Mdp(moves, start, 0.8), np.einsum("sab,sa->sb", paid[1], play[0])

    for _ in range(200):  # a logit equilibrium, by damped soft replies
        replies = [mdp.soft(reward, 1.0)[0] for mdp, reward in map(world, (0, 1))]
        play = [(p + q) / 2 for p, q in zip(play, replies, strict=True)]
    for agent in (0, 1):
        mdp, reward = world(agent)
        found = learnt_rewards(mdp, mdp.visits(play[agent]), keep=1e4)
        again, _ = mdp.soft(found, 1.0)
        np.testing.assert_allclose(again, play[agent], atol=2e-3)
        blind = mdp.evaluate(np.full((5, 2), 0.5), reward)[0].mean()
        assert mdp.evaluate(again, reward)[0].mean() > blind


@pytest.mark.parametrize("seed", range(5))
def test_empathic_advisors_sum_to_the_optimal_values(seed: int) -> None:
    """Laroche et al. (2017): empathic is optimal, agnostic that of chance, egocentric above."""
    mdp, rewards = drawn(seed)
    parts = np.stack([rewards, np.random.default_rng(seed).normal(size=rewards.shape)], axis=2)
    best = mdp.best(parts.sum(axis=2))[1]
    sums: dict[str, Any] = {
        planning: advise(mdp, parts, planning=planning).sum(axis=2)
        for planning in ("empathic", "egocentric", "agnostic")
    }
    np.testing.assert_allclose(sums["empathic"], best, atol=1e-9)
    assert (sums["egocentric"] >= best - 1e-9).all()
    even = np.full(rewards.shape, 1 / ACTIONS)
    np.testing.assert_allclose(sums["agnostic"], mdp.evaluate(even, parts.sum(axis=2))[1])
    alone = advise(mdp, rewards[:, :, None], planning="egocentric")[:, :, 0]
    np.testing.assert_allclose(alone, mdp.best(rewards)[1])


def test_what_does_not_fit_a_table_is_refused() -> None:
    mdp, rewards = drawn(0)
    for call in (
        lambda: Mdp(np.zeros((2, 3, 4)), np.zeros(2)),
        lambda: Mdp(mdp.moves, mdp.start, 1.0),
        lambda: mdp.soft(rewards, 0.0),
        lambda: advise(mdp, rewards),
        lambda: advise(mdp, rewards[:, :, None], planning="lucky"),
        lambda: blend(mdp, rewards, rewards),
        lambda: design_rewards(mdp, rewards[:2]),
        lambda: learnt_rewards(mdp, np.zeros_like(rewards)),
        lambda: constraint_costs(mdp, rewards, rewards, rewards),
    ):
        with pytest.raises(palestra.InvalidOption):
            call()
