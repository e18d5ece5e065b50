"""One outcome for the whole rollout, and what re-weights it."""

from typing import Any

import numpy as np
import palestra
import pytest
import torch
from palestra import InvalidOption, Rng
from palestra_rewards import Group, Lacking, estimate, estimator
from palestra_rewards.estimators.asymmetry import a_grae
from palestra_rewards.estimators.sampling import peer_values, replaced_tasks
from palestra_rewards.estimators.zones import nearness, zone
from reward_rollouts import drawn, outcomes


def batch(seed: int, tasks: int = 5, each: int = 8) -> Group:
    """`each` rollouts of every task, one turn each, in the order TRL keeps them."""
    returns = np.random.default_rng(seed).normal(size=tasks * each)
    return outcomes(*returns, task=np.repeat(np.arange(tasks), each))


def test_reinforce_is_the_discounted_reward_to_go() -> None:
    group = Group.from_arrays(episode=[0, 0, 0, 1], rewards=[1.0, 2.0, 4.0, 3.0])
    assert estimate("reinforce:gamma=0.5", group).values.tolist() == [3.0, 4.0, 4.0, 3.0]
    with_mean = estimate("reinforce:baseline=mean", group).values
    assert with_mean.sum() == pytest.approx(0)


def test_grpo_equals_trl() -> None:
    """TRL 0.2x, GRPOTrainer: rewards.view(-1, n).mean/std(dim=1), divided by std + 1e-4."""
    group = batch(0)
    rewards = torch.tensor(group.returns)
    mean = rewards.view(-1, 8).mean(dim=1).repeat_interleave(8)
    std = rewards.view(-1, 8).std(dim=1).repeat_interleave(8)
    expected = (rewards - mean) / (std + 1e-4)
    found = estimate("grpo:ddof=1,epsilon=1e-4", group)
    np.testing.assert_allclose(found.values, expected.numpy(), atol=1e-6)


def test_rloo_equals_trl() -> None:
    """TRL 0.1x, RLOOTrainer: baseline = (sum over the k samples - own) / (k - 1)."""
    group = batch(1)
    rewards = torch.tensor(group.returns).view(-1, 8).T
    expected = (rewards - (rewards.sum(0) - rewards) / 7).T.reshape(-1)
    for name in ("rloo", "loop"):
        np.testing.assert_allclose(estimate(name, group).values, expected.numpy(), atol=1e-6)


def test_dr_grpo_is_grpo_times_the_spread() -> None:
    group = batch(2, tasks=1)
    spread = group.returns.std()
    found = estimate("grpo", group).values * spread
    np.testing.assert_allclose(estimate("dr-grpo", group).values, found, atol=1e-12)


@pytest.mark.parametrize(("right", "wrong"), [(1, 7), (3, 5), (4, 4)])
def test_grpo_weighs_right_and_wrong_equally(right: int, wrong: int) -> None:
    """Implicit advantage symmetry: both sides come to n sqrt(p(1-p)), together 2n sqrt(p(1-p))."""
    n, p = right + wrong, right / (right + wrong)
    values = estimate("grpo", outcomes(*[1.0] * right, *[0.0] * wrong)).values
    assert values[values > 0].sum() == pytest.approx(-values[values < 0].sum())
    assert np.abs(values).sum() == pytest.approx(2 * n * np.sqrt(p * (1 - p)))


def test_flow_grpo_trains_the_planner_only() -> None:
    roles = ["planner", "executor", "planner", "planner", "executor", "planner"]
    group = Group.from_arrays(episode=[0, 0, 0, 1, 1, 1], rewards=[0, 0, 1.0, 0, 0, 0], role=roles)
    assert estimate("flow-grpo", group).values.tolist() == [1, 1, 1, -1, -1, -1]
    kept = estimate("flow-grpo", group, planners=("planner",)).values
    assert kept.tolist() == [1, 0, 1, -1, 0, -1]


def test_a_grae_defaults_reproduce_grpo() -> None:
    group = batch(3)
    expected = estimate("grpo", group).values
    np.testing.assert_array_equal(estimate("a-grae", group).values, expected)


@pytest.mark.parametrize(
    ("returns", "factor"), [((1, 0, 0, 0), 0.25 + 0.75 / 4), ((1, 1, 1, 0), 0.25 + 0.75 * 3 / 4)]
)
def test_a_grae_damps_less_as_the_batch_comes_to_succeed(returns: Any, factor: float) -> None:
    """From one quarter at a mean return of 0 to 1 at 1, evenly."""
    group = outcomes(*returns)
    plain = estimate("grpo", group).values
    found = estimate("a-grae:positive=0.25,late=1.0", group).values
    np.testing.assert_allclose(found, np.where(plain > 0, factor * plain, plain))


def test_a_grae_damps_right_rollouts() -> None:
    values = estimate("a-grae:positive=0.25", outcomes(1, 1, 0, 0)).values
    assert values.tolist() == [0.25, 0.25, -1, -1]


@pytest.mark.parametrize(("level", "favoured"), [(0.2, "easy"), (0.8, "hard")])
def test_a_grae_leans_to_easy_tasks_early_and_to_hard_ones_late(
    level: float, favoured: str
) -> None:
    rates = np.array([level - 0.2, level + 0.2])
    returns = np.concatenate([np.arange(10) < 10 * rate for rate in rates.round(1)])
    group = outcomes(*returns.astype(float), task=np.repeat([0, 1], 10))
    weights = a_grae(group, np.ones(20), lean=1.0)
    hard, easy = weights[0], weights[-1]
    assert (easy > hard) == (favoured == "easy")


@pytest.mark.parametrize("metric", ["turns", "tokens", "cost", "seconds", "entropy", "progress"])
def test_canon_at_one_half_is_the_group_centred_return(metric: str) -> None:
    group = drawn(6, seats=1, parent=None)
    found = estimate(f"canon:metric={metric},mu=0.5", group).values
    np.testing.assert_allclose(found, estimate("dr-grpo", group).values, atol=1e-12)


def test_canon_compares_across_and_within_halves() -> None:
    group = outcomes(1, 2, 3, 10, facts={"size": [1, 2, 3, 4]})
    across = estimate("canon:metric=size,mu=1", group).values
    within = estimate("canon:metric=size,mu=0", group).values
    assert across.tolist() == [1 - 6.5, 2 - 6.5, 3 - 1.5, 10 - 1.5]
    assert within.tolist() == [-0.5, 0.5, -3.5, 3.5]


def test_canon_says_what_a_metric_needs() -> None:
    with pytest.raises(Lacking, match="token counts"):
        estimate("canon:metric=tokens", outcomes(1, 2))
    with pytest.raises(InvalidOption, match="metric must be"):
        estimate("canon:metric=colour", outcomes(1, 2))


@pytest.mark.parametrize("base", ["grpo", "gigpo", "rloo", "mars"])
def test_adora_weight_one_leaves_any_estimator_untouched(base: str) -> None:
    group = drawn(7)
    expected = estimate(base, group).values
    np.testing.assert_array_equal(estimate(f"{base}+adora", group).values, expected)


def test_adora_amplifies_hard_tasks_whose_right_answers_are_longer() -> None:
    group = outcomes(
        *[1, 0, 0, 0, 1, 0, 0, 0],
        task=[0] * 4 + [1] * 4,
        success=[1, 0, 0, 0, 1, 0, 0, 0],
        tokens=[9, 1, 1, 1, 1, 9, 9, 9],
    )
    found = estimate("adora:useful=2.0,other=0.5", group).values
    plain = estimate("grpo", group).values
    np.testing.assert_allclose(found / plain, [2.0] * 4 + [0.5] * 4)


def test_hc_grpo_ranks_cheap_successes_over_dear_ones() -> None:
    group = outcomes(1, 1, 0, 0, success=[1, 1, 0, 0], cost=[0.1, 0.4, 0.1, 0.4])
    cheap, dear, cheap_failure, dear_failure = estimate("hc-grpo", group).values
    assert cheap > dear > cheap_failure > dear_failure
    free = estimate("hc-grpo:price=0", group).values
    np.testing.assert_allclose(free, estimate("grpo", group).values)


def test_a2fm_pays_less_for_a_heavy_mode_on_an_easy_task() -> None:
    modes = ["instant", "instant", "agentic", "agentic"]
    easy = outcomes(0, 0, 0, 0, success=[1, 0, 1, 0], facts={"mode": modes})
    instant, _, agentic, _ = estimate("a2fm:tau=0.5,alpha=1", easy).values
    assert instant > agentic > 0  # paid 1 and 1 - p = 0.5
    hard = outcomes(0, 0, 0, 0, success=[0, 0, 1, 0], facts={"mode": modes})
    plain = estimate("grpo", outcomes(0, 0, 1, 0)).values
    np.testing.assert_allclose(estimate("a2fm", hard).values, plain)
    formed = hard.with_facts(format=[1.0, 1.0, 0.5, 1.0])
    scores = np.array([0, 0, 0.5, 0])  # half of the format, half of the score
    expected = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(estimate("a2fm", formed).values, expected)
    np.testing.assert_allclose(estimate("a2fm", hard.with_facts(format=[0.0] * 4)).values, 0)


def surely(turn: palestra.Turn) -> palestra.Decision:
    """Plays at random, and says how sure it is of that."""
    rng = turn.rng(0, 9)
    return palestra.Decision(turn.sample(rng), logprob=-rng.random())


def test_r3_ranks_a_learners_failures_against_an_opponent_without_log_probs() -> None:
    """The learner's own turns have theirs; failures are ranked by them, the surest first."""
    seated = [surely, "scripted"]
    records = palestra.rollouts("games/TicTacToe-v0", agents=seated, n=20, seed=1)
    lost = [record for record in records if record.returns[0] < 0]
    assert len(lost) > 2
    with pytest.raises(Lacking, match="log-probs"):
        estimate("r3", Group.of(lost))
    group = Group.of(lost, agents=["surely"])
    values = [values[0] for values in estimate("r3:rank=0.5", group).per_line()]
    unsure = [-np.mean([t.logprob for t in r.turns if t.seat == 0]) for r in lost]
    np.testing.assert_array_equal(np.argsort(values), np.argsort(unsure)[::-1])


def test_vspo_replaces_tasks_without_spread() -> None:
    success = [1, 1, 0, 0, 1, 0, 1, 1]
    group = outcomes(*success, success=success, task=[0, 0, 1, 1, 2, 2, 3, 3])
    assert peer_values(group).tolist() == [0, 0, 1, 0]
    assert replaced_tasks(group, Rng.seeded(0)).tolist() == [2, 2, 2, 2]
    idle = outcomes(1, 1, success=[1, 1])
    assert replaced_tasks(idle, Rng.seeded(0)).tolist() == [0]


def test_vspo_leaves_equally_valuable_tasks_as_they_are() -> None:
    success = [1, 0, 0, 1]
    group = outcomes(*success, success=success, task=[0, 0, 1, 1])
    expected = estimate("grpo", group).values
    np.testing.assert_allclose(estimate("vspo", group).values, expected)


def test_one_zone_is_the_binary_reward() -> None:
    progress = np.array([0.0, 0.3, 0.99, 1.0])
    assert zone(progress, 1).tolist() == [0, 0, 0, 1]
    group = outcomes(0, 0, 0, 0, facts={"progress": progress})
    binary = estimate("grpo", outcomes(0, 0, 0, 1)).values
    np.testing.assert_allclose(estimate("ssl:zones=1", group).values, binary)


def test_zones_keep_the_order_of_progress() -> None:
    progress = np.linspace(0, 1, 41)
    for zones in (2, 4, 7):
        assert (np.diff(zone(progress, zones)) >= 0).all()
        assert set(zone(progress, zones)) == {k / zones for k in range(zones + 1)}


def test_zones_tell_more_than_a_binary_reward() -> None:
    """Signal to noise of the policy gradient on a bandit whose arms reach further and further."""
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 4, 4096)
    progress = np.clip(arms / 4 + rng.random(4096) * 0.3, 0, 1)

    def clarity(score: np.ndarray) -> float:
        gradient = np.array([(score - score.mean()) * (arms == arm) for arm in range(4)])
        return float(np.abs(gradient.mean(axis=1)).mean() / gradient.std(axis=1).mean())

    assert clarity(zone(progress, 4)) > clarity(zone(progress, 1))


def test_nearness_is_one_at_the_goal_and_falls_with_distance() -> None:
    assert nearness([0.0, 1.0, 2.0], radius=1.0) == pytest.approx([1, np.exp(-0.5), np.exp(-2)])


def test_rae_follows_the_published_recursion() -> None:
    """SPIRAL: b <- alpha b + (1 - alpha) R, then A = R - b, for each role of each game."""
    chain, baselines = estimator("rae:alpha=0.9"), [0.0, 0.0]
    rng = np.random.default_rng(3)
    for _ in range(20):
        won = rng.normal()
        group = Group.from_arrays(episode=[0, 0], seat=[0, 1], rewards=[won, -won])
        for seat, outcome in enumerate((won, -won)):
            baselines[seat] = 0.9 * baselines[seat] + 0.1 * outcome
        expected = [won - baselines[0], -won - baselines[1]]
        np.testing.assert_allclose(chain(group).values, expected)


def test_rae_as_released_reads_the_baseline_before_each_rollout_moves_it() -> None:
    """SPIRAL's code: A = R - b, then b <- alpha b + (1 - alpha) R, rollout after rollout."""
    chain, baselines = estimator("rae:alpha=0.9,each=true"), {"x": 0.0, "y": 0.0, "z": 0.0}
    rng = np.random.default_rng(4)
    for _ in range(5):
        seats = [(episode, seat) for episode in range(6) for seat in range(2 + episode % 2)]
        paid = rng.normal(size=len(seats))
        roles = ["xyz"[(seat + episode) % 3] for episode, seat in seats]
        episode, seat = zip(*seats, strict=True)
        group = Group.from_arrays(episode=episode, seat=seat, rewards=paid, role=roles)
        expected = []
        for role, won in zip(roles, paid, strict=True):
            expected.append(won - baselines[role])
            baselines[role] = 0.9 * baselines[role] + 0.1 * won
        np.testing.assert_allclose(chain(group).values, expected)


def test_rae_follows_roles_through_seat_swaps() -> None:
    chain = estimator("rae:alpha=0.5")
    for swap in (False, True):
        roles = ["b", "a"] if swap else ["a", "b"]
        paid = [-1.0, 1.0] if swap else [1.0, -1.0]
        chain(Group.from_arrays(episode=[0, 0], seat=[0, 1], rewards=paid, role=roles))
    assert chain.state()["0:rae"]["baselines"] == {"a": 0.75, "b": -0.75}


def test_r3_is_grpo_where_there_is_a_gap() -> None:
    group = batch(4)
    group = group.replace(success=(group.returns > 0) * 1.0, logprob=np.zeros(group.size))
    np.testing.assert_allclose(estimate("r3", group).values, estimate("grpo", group).values)


def test_r3_replays_a_stored_success_where_all_failed() -> None:
    def group(*returns: float) -> Group:
        return outcomes(*returns, success=returns, logprob=[-0.1, -0.2, -0.3])

    chain = estimator("r3")
    chain(group(1, 0, 0))
    with_stored = estimate("grpo", outcomes(0, 0, 0, 1)).values[:3]
    np.testing.assert_allclose(chain(group(0, 0, 0)).values, with_stored)


def test_r3_ranks_failures_by_sureness_where_nothing_is_stored() -> None:
    group = outcomes(0, 0, 0, success=[0, 0, 0], logprob=[-0.1, -0.2, -0.3])
    values = estimate("r3:rank=0.1", group).values
    assert values[0] > values[1] > values[2]
    assert values.sum() == pytest.approx(0)
    assert np.sqrt((values**2).mean()) == pytest.approx(0.1)
