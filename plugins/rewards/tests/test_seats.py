"""Statistics kept per seat, agent, functional group and turn; nested episodes; teams."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Rng
from palestra.records.record import record_episode
from palestra_rewards import Group, Lacking, estimate
from palestra_rewards.estimators.nested import roots
from palestra_rewards.estimators.team import (
    agreement,
    gain,
    importance,
    interaction,
    sampled_shapley,
    shapley,
)
from reward_rollouts import drawn, outcomes

JACK, QUEEN, KING = range(3)


def best_play(card: int, line: list[int], bluff: bool, call: bool) -> int:
    """Kuhn's equilibrium whose first player never opens; a coin of 1/3 bluffs or calls."""
    facing_bet = bool(line) and line[-1] == 1
    if facing_bet:
        return int(card == KING or (card == QUEEN and call))
    if not line:
        return 0
    return int(card == KING or (card == JACK and bluff))


def kuhn_at_equilibrium() -> list[Any]:
    """Every deal with every outcome of both coins, each as likely as the others: 54 episodes."""
    records, episode = {}, palestra.make("games/KuhnPoker-v0", view="episode")
    seed = 0
    while len(records) < 6:
        episode.reset(seed)
        deal = tuple(int(card) for card in episode.state.deck[:2])
        if deal not in records:
            records[deal] = [
                played(episode, seed, deal, b, c) for b, c in product(range(3), repeat=2)
            ]
        seed += 1
    return [record for nine in records.values() for record in nine]


def played(episode: Any, seed: int, deal: tuple[int, ...], bluff: int, call: int) -> Any:
    episode.reset(seed)
    line: list[int] = []
    while episode.to_act:
        (seat,) = episode.to_act
        line.append(best_play(deal[seat], line, bluff == 0, call == 0))
        episode.act({seat: line[-1]})
    return record_episode(episode)


def test_seat_centring_removes_the_value_of_kuhn_poker() -> None:
    """Kuhn (1950): the first seat is worth -1/18; after seat-wise centring neither is worth any."""
    group = Group.of(kuhn_at_equilibrium(), compare_by=())
    group = group.replace(task=np.zeros(group.episodes, dtype=int))  # a deal is not a task here
    first = group.seat[group.line_first] == 0
    assert group.returns[first].mean() == pytest.approx(-1 / 18)
    assert group.returns[~first].mean() == pytest.approx(1 / 18)
    shared = estimate("dr-grpo", group).values[group.line_first]
    assert shared[first].mean() == pytest.approx(-1 / 18)
    for name in ("mars:divide=false", "mars", "dr-mas", "advevo"):
        values = estimate(name, group).values
        for seat in (0, 1):
            if name == "advevo":  # over rollouts; the others are centred over turns
                assert values[group.line_first][first == (seat == 0)].mean() == pytest.approx(0)
            else:
                assert values[group.seat == seat].mean() == pytest.approx(0)


def test_mars_standardises_reward_to_go_per_seat() -> None:
    group = drawn(1)
    values = estimate("mars:gamma=0.9", group).values
    for seat in (0, 1):
        own = values[group.seat == seat]
        to_go = group.to_go(gamma=0.9)[group.seat == seat]
        np.testing.assert_allclose(own, (to_go - to_go.mean()) / to_go.std())


def test_mars_keeps_games_of_one_batch_apart() -> None:
    """Two games whose pay differs by a factor of 100: each seat's numbers are those of its game."""
    group = Group.from_arrays(
        episode=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
        seat=[0, 1] * 5,
        rewards=[1, -1, 0, 2, 5, 3, 100, -100, 300, 0],
        facts={"env": ["a", "a", "a", "b", "b"]},
    )
    found = estimate("mars", group).values
    for seat, rows in ((0, [0, 2, 4]), (1, [1, 3, 5]), (0, [6, 8]), (1, [7, 9])):
        paid = group.rewards[rows]
        assert found[rows] == pytest.approx((paid - paid.mean()) / paid.std()), seat


def test_dr_mas_second_moment_under_shared_statistics() -> None:
    """Under shared statistics agent k's is (spread_k² + (mean_k - mean)²) / spread²; own: 1."""
    rng = np.random.default_rng(0)
    seat = np.tile([0, 1], 50)
    rewards = np.where(seat == 0, rng.normal(size=100), 5 + 10 * rng.normal(size=100))
    group = Group.from_arrays(episode=np.repeat(np.arange(50), 2), seat=seat, rewards=rewards)
    shared = estimate("grpo", group.replace(compare_by=())).values
    own = estimate("dr-mas", group).values
    for k in (0, 1):
        mine = rewards[seat == k]
        expected = (mine.var() + (mine.mean() - rewards.mean()) ** 2) / rewards.var()
        assert (shared[seat == k] ** 2).mean() == pytest.approx(expected)
        assert (own[seat == k] ** 2).mean() == pytest.approx(1)


def test_dr_mas_with_equal_agents_is_the_shared_version() -> None:
    rewards = np.array([1.0, 1.0, 4.0, 4.0, 2.0, 2.0])
    group = Group.from_arrays(episode=[0, 0, 1, 1, 2, 2], seat=[0, 1] * 3, rewards=rewards)
    shared = estimate("grpo", group.replace(compare_by=())).values
    np.testing.assert_allclose(estimate("dr-mas", group).values, shared)


def test_advevo_centres_each_functional_group() -> None:
    group = Group.from_arrays(
        episode=[0, 0, 0, 1, 1, 1],
        seat=[0, 1, 2] * 2,
        rewards=[3.0, 1.0, 2.0, -1.0, 5.0, 4.0],
        role=["attacker", "defender", "defender"] * 2,
    )
    assert estimate("advevo", group).values.tolist() == [2, -2, -1, -2, 2, 1]


def test_at_grpo_with_one_turn_and_role_is_grpo() -> None:
    group = outcomes(1, 0, 0, 5, task=[0, 0, 0, 0], state=[0, 0, 0, 0])
    np.testing.assert_allclose(estimate("at-grpo", group).values, estimate("grpo", group).values)


def test_matpo_workers_inherit_their_roots_advantage() -> None:
    group = Group.from_arrays(
        episode=range(6), rewards=[1.0, 0.0, 9.0, -9.0, 5.0, 7.0], parent=[-1, -1, 0, 1, 2, 3]
    )
    assert roots(group).tolist() == [0, 1, 0, 1, 0, 1]
    assert estimate("matpo", group).values.tolist() == [1, -1, 1, -1, 1, -1]


def test_parents_in_a_circle_are_refused() -> None:
    group = outcomes(1, 2, 3, parent=[-1, 2, 1])
    with pytest.raises(palestra.InvalidOption, match="circle"):
        estimate("matpo", group)


def glove(coalition: frozenset[int]) -> float:
    """One left glove (member 0) and two right ones (1, 2): a pair is worth 1."""
    return float(0 in coalition and len(coalition) > 1)


def test_shapley_values_sum_to_what_the_team_is_worth() -> None:
    """The glove game's values are 2/3, 1/6, 1/6; a dummy member adds nothing to it."""
    np.testing.assert_allclose(shapley(glove, 3), [2 / 3, 1 / 6, 1 / 6])
    with_dummy = shapley(lambda held: glove(held - {3}), 4)
    np.testing.assert_allclose(with_dummy, [2 / 3, 1 / 6, 1 / 6, 0], atol=1e-12)
    table = np.random.default_rng(0).normal(size=16)

    def worth(held: frozenset[int]) -> float:
        return float(table[sum(1 << member for member in held)])

    everybody = worth(frozenset(range(4))) - worth(frozenset())
    assert shapley(worth, 4).sum() == pytest.approx(everybody)
    sampled = sampled_shapley(worth, 4, Rng.seeded(0), orders=400)
    assert sampled.sum() == pytest.approx(everybody)
    np.testing.assert_allclose(sampled, shapley(worth, 4), atol=0.3)


def test_members_who_only_count_together_interact() -> None:
    found = interaction(lambda held: float({0, 1} <= held), 3)
    assert found[0, 1] == found[1, 0] == 1
    assert found[0, 2] == found[1, 2] == 0


def coalition_rollouts(worth: Any, members: int) -> Group:
    """One episode for every coalition that is not empty; its first member is paid the worth."""
    episodes, seats, rewards, tags = [], [], [], []
    for mask in range(1, 2**members):
        inside = [m for m in range(members) if mask >> m & 1]
        tags.append(inside)
        episodes += [mask - 1] * len(inside)
        seats += inside
        rewards += [worth(frozenset(inside)), *[0.0] * (len(inside) - 1)]
    return Group.from_arrays(
        episode=episodes, seat=seats, rewards=rewards, facts={"coalition": tags}
    )


def test_shapley_credit_reads_coalitions_from_rollouts() -> None:
    group = coalition_rollouts(glove, 3)
    values = estimate("shapley:team=sum", group).values
    expected = np.array([2 / 3, 1 / 6, 1 / 6])[group.seat]
    np.testing.assert_allclose(values, expected)


def test_absence_of_a_dummy_costs_nothing() -> None:
    group = coalition_rollouts(lambda held: glove(held - {3}), 4)
    values = estimate("counterfactual:team=sum", group).values
    np.testing.assert_allclose(values, np.array([1.0, 0.0, 0.0, 0.0])[group.seat])


def common_payoff(worth: Any, members: int) -> Group:
    """One episode for every coalition that is not empty; all of its members are paid its worth."""
    group = coalition_rollouts(worth, members)
    team = np.bincount(group.episode, group.rewards)
    return group.replace(rewards=team[group.episode])


def test_a_dummy_of_a_common_payoff_game_gets_nothing() -> None:
    """Whoever is with member 0 is paid the same 1: only member 0 earns it."""
    group = common_payoff(lambda held: float(0 in held), 2)
    for name in ("shapley", "counterfactual"):
        assert estimate(name, group).values.tolist() == [1, 0, 1, 0]


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), members=st.integers(2, 4), dummy=st.integers(0, 3))
def test_credit_in_common_payoff_games_is_that_of_the_coalitions_worth(
    seed: int, members: int, dummy: int
) -> None:
    rng, dummy = np.random.default_rng(seed), dummy % members
    table = np.concatenate(([0.0], rng.normal(size=2**members - 1)))

    def worth(held: frozenset[int]) -> float:
        return float(table[sum(1 << member for member in held - {dummy})])

    group = common_payoff(worth, members)
    values = estimate("shapley", group).values
    np.testing.assert_allclose(values, shapley(worth, members)[group.seat], atol=1e-12)
    for name in ("shapley", "counterfactual"):
        found = estimate(name, group).values
        np.testing.assert_allclose(found[group.seat == dummy], 0, atol=1e-12)


def test_members_who_are_paid_apart_are_no_common_payoff() -> None:
    with pytest.raises(
        palestra.InvalidOption, match=r"episode 2 pays \[1.0, 0.0\]; pass team='sum'"
    ):
        estimate("shapley", coalition_rollouts(glove, 3))


def test_a_missing_coalition_is_named() -> None:
    group = Group.from_arrays(
        episode=[0, 0], seat=[0, 1], rewards=[1.0, 1.0], facts={"coalition": [[0, 1]]}
    )
    with pytest.raises(Lacking, match=r"coalition \[0\]"):
        estimate("shapley", group)


def test_comam_gives_a_shuffled_agent_the_least_weight() -> None:
    rng = np.random.default_rng(0)
    weights = np.zeros(3)
    for _ in range(40):
        team = rng.normal(size=8)
        local = np.concatenate([team + 0.1 * rng.normal(size=8), team, rng.permutation(team)])
        weights += agreement(local, np.tile(team, 3), np.repeat([0, 1, 2], 8))
    assert weights.argmin() == 2
    assert weights[1] == pytest.approx(40)


def test_importance_of_every_layer_sums_to_one() -> None:
    ratings = np.random.default_rng(0).random((3, 4, 4))
    ratings[:, :, 2] = 0  # nobody rates the silent agent
    found = importance(ratings)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found[:-1, 2] == 0).all()


def test_importance_finds_the_agent_everybody_trusts() -> None:
    ratings = np.full((2, 3, 3), 0.1)
    ratings[:, :, 1] = 0.8
    assert importance(ratings).mean(axis=0).argmax() == 1


def test_gains_of_an_order_are_those_worked_by_hand() -> None:
    """The local order puts the gains (0, 2, 1) in places 1 to 3; the best order is (2, 1, 0)."""
    by_hand = (2 / np.log2(3) + 1 / 2) / (2 + 1 / np.log2(3))
    one = gain(np.array([3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0]), np.zeros(3, int))
    assert one.tolist() == pytest.approx([by_hand])
    ids = np.array([0, 0, 1, 1, 2, 2])
    same, turned, level = gain(
        np.array([1.0, 2.0, 2.0, 1.0, 5.0, 5.0]), np.array([0.0, 4.0, 0.0, 4.0, 0.0, 4.0]), ids
    )
    assert (same, turned) == pytest.approx((1.0, 1 / np.log2(3)))
    assert level == pytest.approx((1 + 1 / np.log2(3)) / 2)  # ties share their places
    assert gain(np.array([1.0, 2.0]), np.array([7.0, 7.0]), np.zeros(2, int)).tolist() == [0.5]


def test_comam_by_gain_gives_a_shuffled_agent_the_least_weight() -> None:
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(200):
        team = rng.normal(size=8)
        local = np.stack([team + 0.1, 2 * team, rng.permutation(team)], axis=1)
        group = Group.from_arrays(
            episode=np.repeat(np.arange(8), 3),
            seat=np.tile(np.arange(3), 8),
            rewards=np.repeat(team, 3),
            facts={"local": local.ravel()},
        )
        found = estimate("comam:by=gain", group).values.reshape(8, 3)
        centre = team - team.mean()
        own = local - local.mean(axis=0)
        shares.append(((found - own) / centre[:, None]).mean(axis=0))
    held = np.mean(shares, axis=0)
    assert np.sum(held) == pytest.approx(1)
    assert held[2] < held[0] - 0.05
    assert held[0] == pytest.approx(held[1])
