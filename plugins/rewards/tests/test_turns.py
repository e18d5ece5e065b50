"""Which turn of a rollout earned it: shared states, shared beginnings, critics, durations."""

from __future__ import annotations

from itertools import product

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra_rewards import Group, Lacking, estimate, estimator
from palestra_rewards.estimators.backwards import turn_batches
from palestra_rewards.estimators.gigpo import step_part
from palestra_rewards.estimators.tree import prefix_tree, step_pairs
from reward_rollouts import drawn, outcomes


def test_gigpo_step_part_is_zero_when_all_states_differ() -> None:
    group = drawn(0, state=np.arange(drawn(0).size))
    assert (step_part(group) == 0).all()
    np.testing.assert_array_equal(estimate("gigpo", group).values, estimate("grpo", group).values)


def test_gigpo_of_identical_rollouts_is_zero() -> None:
    group = Group.from_arrays(
        episode=np.repeat(np.arange(4), 3),
        rewards=np.tile([0.1, 0.0, 1.0], 4),
        state=np.tile([0, 1, 2], 4),
    )
    np.testing.assert_allclose(estimate("gigpo", group).values, 0, atol=1e-12)


def gigpo_in_loops(group: Group, gamma: float, weight: float) -> list[float]:
    """The paper's two formulas, rollout by rollout and state by state."""
    found = []
    for turn in range(group.size):
        task, seat = group.turn_task[turn], group.seat[turn]
        line_seat = group.seat[group.line_first]
        peers = [
            group.returns[i]
            for i in range(group.lines)
            if group.line_task[i] == task and line_seat[i] == seat
        ]
        episode = (group.returns[group.line[turn]] - np.mean(peers)) / (np.std(peers) or 1)

        def to_go(start: int) -> float:
            own = [t for t in range(start, group.size) if group.line[t] == group.line[start]]
            return sum(gamma**k * group.rewards[t] for k, t in enumerate(own))

        bucket = [
            to_go(t)
            for t in range(group.size)
            if (group.turn_task[t], group.seat[t], group.state[t])
            == (task, seat, group.state[turn])
        ]
        step = (to_go(turn) - np.mean(bucket)) / (np.std(bucket) or 1)
        found.append(episode + weight * step)
    return found


def test_gigpo_equals_its_formulas_in_plain_loops() -> None:
    group = drawn(3)
    expected = gigpo_in_loops(group, gamma=0.9, weight=0.7)
    found = estimate("gigpo:gamma=0.9,weight=0.7", group).values
    np.testing.assert_allclose(found, expected, atol=1e-9)


def two_paths() -> Group:
    """Two rollouts that share two steps; then one wins and one loses."""
    return Group.from_arrays(
        episode=[0, 0, 0, 1, 1, 1],
        rewards=[0, 0, 1.0, 0, 0, 0],
        state=["s", "t", "u", "s", "t", "u"],
        action=["a", "b", "win", "a", "b", "lose"],
    )


def test_salt_conserves_the_sum_and_zeroes_a_shared_prefix() -> None:
    assert estimate("salt", two_paths()).values.tolist() == [0, 0, 1, 0, 0, -1]
    group = drawn(2)
    before, after = estimate("gigpo", group).values, estimate("gigpo+salt", group).values
    assert after.sum() == pytest.approx(before.sum())


def test_salt_asks_for_the_history_that_edges_must_share() -> None:
    group = Group.from_arrays(
        episode=[0, 0, 1, 1], rewards=[0, 1.0, 0, 0], state=[0, 9, 1, 9], action=[0, 5, 0, 5]
    )
    assert estimate("salt:history=0", group).values.tolist() == [1, 0, -1, 0]
    assert estimate("salt:history=1", group).values.tolist() == [1, 1, -1, -1]


def test_segment_advantages_telescope() -> None:
    group = drawn(5, seats=1, parent=None, facts={})
    tree = prefix_tree(group)
    start = tree.value[group.line_task, 0]
    summed = group.line_sum(estimate("segment-tree", group).values)
    np.testing.assert_allclose(summed, group.returns - start)


def test_segment_values_of_a_known_tree() -> None:
    group = two_paths()
    assert estimate("segment-tree", group).values.tolist() == [0, 0, 0.5, 0, 0, -0.5]


def random_walks(count: int, seed: int) -> Group:
    """Walks of three fair steps paid by how many went right; actions are the steps."""
    steps = np.random.default_rng(seed).integers(0, 2, (count, 3))
    place = np.concatenate([np.zeros((count, 1), int), steps.cumsum(axis=1)[:, :2]], axis=1)
    return Group.from_arrays(
        episode=np.repeat(np.arange(count), 3),
        rewards=steps.ravel(),
        state=(place + 10 * np.arange(3)).ravel(),
        action=steps.ravel(),
    )


def test_segment_values_converge_to_the_exact_ones() -> None:
    """A fair step right is worth exactly +1/2, a step left -1/2, wherever it is made."""
    group = random_walks(20_000, seed=0)
    values = estimate("segment-tree", group).values
    np.testing.assert_allclose(values, group.rewards - 0.5, atol=0.03)


def test_a_node_is_worth_the_mean_of_the_rollouts_through_it() -> None:
    """Nine rollouts of `a`, paid 0, and one of `b`, paid 1: the root is worth 0.1, not 0.5."""
    group = outcomes(*[0.0] * 9, 1.0, state=["s"] * 10, action=["a"] * 9 + ["b"])
    assert prefix_tree(group).value[0] == pytest.approx(0.1)
    np.testing.assert_allclose(
        estimate("segment-tree", group).values, [-0.1] * 9 + [0.9], atol=1e-12
    )


def weighted_walks() -> Group:
    """Three steps, each right with probability 0.9: 1000 walks, every path at its exact share."""
    paths = np.array(list(product((0, 1), repeat=3)))
    often = np.prod(np.where(paths == 1, 9, 1), axis=1)
    steps = np.repeat(paths, often, axis=0)
    place = np.concatenate([np.zeros((1000, 1), int), steps.cumsum(axis=1)[:, :2]], axis=1)
    return Group.from_arrays(
        episode=np.repeat(np.arange(1000), 3),
        rewards=steps.ravel(),
        state=(place + 10 * np.arange(3)).ravel(),
        action=steps.ravel(),
    )


def test_values_of_unequally_visited_branches_are_exact() -> None:
    group = weighted_walks()
    assert prefix_tree(group).value[0] == pytest.approx(2.7)
    values = estimate("segment-tree", group).values
    np.testing.assert_allclose(values, np.where(group.rewards == 1, 0.1, -0.9), atol=1e-12)


def test_the_better_decision_is_told_apart_under_unequal_visits() -> None:
    """`good` is followed by a coin of 9 in 10, `bad` by one of 1 in 2; a rare path misleads."""
    seconds = [1] * 9 + [0] + [1] * 5 + [0] * 5
    group = Group.from_arrays(
        episode=np.repeat(np.arange(20), 2),
        rewards=[paid for last in seconds for paid in (0, last)],
        state=[key for i in range(20) for key in ("s", "t" if i < 10 else "u")],
        action=[key for i, s in enumerate(seconds) for key in ("good" if i < 10 else "bad", s)],
    )
    firsts = estimate("step-q", group).values[::2]
    assert firsts.tolist() == [1] * 10 + [-1] * 10


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), lean=st.floats(0.05, 0.95), seats=st.integers(1, 3))
def test_tree_values_equal_means_over_shared_beginnings(seed: int, lean: float, seats: int) -> None:
    """Plain loops over rollouts that are drawn unequally, with different agents on the seats."""
    rng = np.random.default_rng(seed)
    episodes, length = 25, 2 * seats
    action = (rng.random(episodes * length) < lean).astype(int)
    agent = rng.integers(0, 2, (episodes, seats))
    seat = np.tile(np.arange(length) % seats, episodes)
    episode = np.repeat(np.arange(episodes), length)
    group = Group.from_arrays(
        episode=episode,
        seat=seat,
        rewards=rng.normal(size=episode.size),
        state=np.tile(np.arange(length), episodes),
        action=action,
        agent=agent[episode, seat],
    )
    tree, moves = prefix_tree(group), action.reshape(episodes, length)
    returns = group.returns.reshape(episodes, seats)
    for turn in range(group.size):
        one, place, mine = turn // length, turn % length, turn % length % seats
        same = agent[:, mine] == agent[one, mine]
        for shared, value in (
            (place, tree.value_before(group)),
            (place + 1, tree.value_after(group)),
        ):
            through = same & (moves[:, :shared] == moves[one, :shared]).all(axis=1)
            assert value[turn] == pytest.approx(returns[through, mine].mean())


def joint_play() -> Group:
    """Two seats decide at once, twice; each is paid 3 for the other's 1, less 1 for its own.

    The second step of seat 1 follows what seat 0 did. Ten rollouts, visits unequal.
    """
    first = [(0, 0)] * 4 + [(0, 1)] * 1 + [(1, 0)] * 2 + [(1, 1)] * 3
    second = [(n % 2, int(n > 6)) for n in range(10)]
    acts = np.array([[a, b] for a, b in zip(first, second, strict=True)])  # rollout, step, seat
    pay = 3 * acts[:, :, ::-1] - acts
    return Group.from_arrays(
        episode=np.repeat(np.arange(10), 4),
        seat=np.tile([0, 1], 20),
        turn=np.tile([0, 0, 1, 1], 10),
        rewards=pay.ravel(),
        state=[k for a in acts for k in ("s", "s", f"t{a[0]}", f"t{a[0]}")],
        action=acts.ravel(),
    )


def test_who_decides_together_starts_from_one_node_and_does_not_see_the_other() -> None:
    group = joint_play()
    acts = np.asarray(group.action).reshape(10, 2, 2)
    returns = group.returns.reshape(10, 2)
    tree = prefix_tree(group)
    before, after = tree.value_before(group), tree.value_after(group)
    for turn in range(group.size):
        one, step, seat = turn // 4, turn // 2 % 2, turn % 2
        shared = (acts[:, :step] == acts[one, :step]).all(axis=(1, 2))
        assert before[turn] == pytest.approx(returns[shared, seat].mean())
        shared &= acts[:, step, seat] == acts[one, step, seat]
        assert after[turn] == pytest.approx(returns[shared, seat].mean())


def test_decisions_in_different_states_are_not_compared_by_step_q() -> None:
    """One decision leads by chance to a rich or a poor state; in each, `a` is better than `b`."""
    group = Group.from_arrays(
        episode=np.repeat(np.arange(4), 2),
        rewards=[0, 10, 0, 8, 0, 2, 0, 1],
        state=["s", "rich", "s", "rich", "s", "poor", "s", "poor"],
        action=["go", "a", "go", "b"] * 2,
    )
    assert estimate("step-q", group).values.tolist() == [0, 1, 0, -1] * 2
    assert step_pairs(group) == [(1, 3), (5, 7)]
    backed_up = estimate("qlass:normal=false", group).values
    assert backed_up.tolist() == [6, 10, 6, 8, 6, 2, 6, 1]  # the mean of the best of each state


def test_segment_chain_telescopes_over_its_cuts() -> None:
    """Trunk 0 with four turns, cut at steps 1 and 3; continuations from there are worth 2 and 5."""
    group = Group.from_arrays(
        episode=[0, 0, 0, 0, 1, 2, 3, 4],
        rewards=[0, 0, 0, 7.0, 1.0, 3.0, 4.0, 6.0],
        turn=[0, 1, 2, 3, 1, 1, 3, 3],
        parent=[-1, 0, 0, 0, 0],
        facts={"branched_at": [0, 1, 1, 3, 3]},
    )
    values = estimate("segment-chain", group).values
    assert values.tolist() == [2 - 7, 5 - 2, 5 - 2, 7 - 5, 0, 0, 0, 0]
    segments = values[[0, 1, 3]]
    assert segments.sum() == group.returns[0] - 7  # the only trunk is its own start value


def malt_tree(leaves: np.ndarray) -> Group:
    """Generator x verifier x refiner, three samples each; a leaf's correctness pays the refiner."""
    width = 3
    count = width**3
    choice = np.array(np.unravel_index(np.arange(count), (width,) * 3)).T
    rewards = np.zeros((count, 3))
    rewards[:, :] = leaves.reshape(-1, 1)
    return Group.from_arrays(
        episode=np.repeat(np.arange(count), 3),
        seat=np.tile([0, 1, 2], count),
        rewards=rewards.ravel(),
        state=np.tile([0, 1, 2], count),
        action=choice.ravel(),
    )


def test_malt_root_value_is_the_leaf_average() -> None:
    leaves = np.random.default_rng(0).integers(0, 2, 27).astype(float)
    group = malt_tree(leaves)
    tree = prefix_tree(group)
    assert tree.value[0] == pytest.approx([leaves.mean()] * 3)
    labels = estimate("malt", group).values
    for generator in range(3):
        below = leaves.reshape(3, 3, 3)[generator]
        first = labels[27 * generator]
        assert first == (1 if below.mean() > 0.5 else -1)


def test_malt_on_a_single_branch_is_the_outcome() -> None:
    group = Group.from_arrays(
        episode=[0] * 3, seat=[0, 1, 2], rewards=[1.0] * 3, state=[0, 1, 2], action=[0, 0, 0]
    )
    assert estimate("malt:soft=true,threshold=0", group).values.tolist() == [1, 1, 1]


def test_dual_level_without_process_rewards_is_grpo() -> None:
    group = drawn(4)
    same = group.with_facts(process=np.full(group.size, 0.0))
    np.testing.assert_allclose(
        estimate("dual-level", same).values, estimate("grpo", group).values, atol=1e-12
    )
    zero = estimate("dual-level:weight=0", group).values
    np.testing.assert_array_equal(zero, estimate("grpo", group).values)


def gae_in_loops(
    rewards: list[float], values: list[float], gamma: float, lam: float
) -> list[float]:
    """Generalised advantage estimation of a finished rollout, from its end."""
    found, running = [], 0.0
    for t in reversed(range(len(rewards))):
        after = values[t + 1] if t + 1 < len(values) else 0.0
        running = rewards[t] + gamma * after - values[t] + gamma * lam * running
        found.append(running)
    return found[::-1]


def test_egae_is_gae_on_finished_rollouts() -> None:
    group = drawn(6, truncated=np.zeros(12))
    found = estimate("egae:gamma=0.9,lam=0.8", group)
    for line, values in enumerate(found.per_line()):
        turns = np.flatnonzero(group.line == line)
        rewards, critic = group.rewards[turns], group.turn_fact("values")[turns]
        expected = gae_in_loops(rewards.tolist(), critic.tolist(), 0.9, 0.8)
        np.testing.assert_allclose(values, expected)


def test_egae_goes_on_from_its_last_value_where_it_was_cut() -> None:
    group = outcomes(0.0, turns=2, truncated=[1], facts={"values": [0.5, 0.8]})
    expected = [0.8 - 0.5, 0.8 - 0.8]
    np.testing.assert_allclose(estimate("egae:gamma=1,lam=0", group).values, expected)


def test_seeupo_with_unit_ratios_is_the_group_centred_return() -> None:
    group = drawn(7)
    group = group.with_facts(ratio=np.ones(group.size))
    expected = estimate("dr-grpo", group).values
    np.testing.assert_array_equal(estimate("seeupo", group).values, expected)


def test_seeupo_judges_a_turn_by_what_later_turns_do_now() -> None:
    group = outcomes(1.0, -1.0, turns=3, facts={"ratio": [9.0, 2.0, 3.0, 9.0, 1.0, 0.5]})
    assert estimate("seeupo", group).values.tolist() == [6, 3, 1, -0.5, -0.5, -1]


def test_turn_batches_go_from_the_last_turn_to_the_first() -> None:
    group = Group.from_arrays(episode=[0, 0, 1, 1, 1], rewards=np.zeros(5))
    assert [batch.tolist() for batch in turn_batches(group)] == [[4], [1, 3], [0, 2]]


def test_turn_relative_removes_what_siblings_share() -> None:
    group = outcomes(1, 2, 6, turns=2)
    shifted = group.replace(rewards=group.rewards + np.tile([5.0, 7.0], 3))
    np.testing.assert_allclose(
        estimate("turn-relative", shifted).values, estimate("turn-relative", group).values
    )


def test_equally_good_actions_of_any_length_have_equal_expected_updates() -> None:
    """Side by side workers finish short actions more often, by the inverse of their duration."""
    seconds = np.array([1.0] * 30 + [3.0] * 10)
    kinds = np.array([0] * 30 + [1] * 10)
    group = outcomes(*np.zeros(40), seconds=seconds)
    from palestra_rewards.estimators.duration import duration

    updates = np.bincount(kinds, duration(group, np.ones(40)))
    assert updates[0] == pytest.approx(updates[1])


def test_durations_all_alike_change_nothing() -> None:
    group = outcomes(1, 0, 3, seconds=[2.0, 2.0, 2.0])
    np.testing.assert_allclose(estimate("duration", group).values, estimate("grpo", group).values)


PAYOFFS = np.array([[-1.0, -3.0], [0.0, -2.0]])  # rows: mine; 0 cooperates


def learn_dilemma(
    names: str, *, rounds: int = 16, rate: float = 0.5, **options: float
) -> np.ndarray:
    """Two tabular learners with memory one; probability to cooperate by what both last played.

    Columns: the first round, then (mine, theirs) = CC, CD, DC, DD.
    """
    rng, rows = np.random.default_rng(0), 64
    chain = estimator(names, gamma=0.9, **options)
    logits = rng.normal(0, 0.1, (2, 5))
    index = {
        "episode": np.repeat(np.arange(rows), 2 * rounds),
        "turn": np.tile(np.repeat(np.arange(rounds), 2), rows),
        "seat": np.tile([0, 1], rows * rounds),
    }
    for _ in range(400):
        chance = 1 / (1 + np.exp(-logits))
        seen, played = np.zeros((2, rows, rounds, 2), dtype=int)
        now = np.zeros((rows, 2), dtype=int)
        for t in range(rounds):
            seen[:, t] = now
            moves = rng.random((rows, 2)) > chance[[0, 1], now]
            played[:, t] = moves
            now = 1 + 2 * moves + moves[:, ::-1]
        paid = PAYOFFS[played, played[..., ::-1]]
        values = chain(Group.from_arrays(rewards=paid.ravel(), **index)).values
        values = values.reshape(rows, rounds, 2)
        for seat in (0, 1):
            slope = (played[..., seat] == 0) - chance[seat][seen[..., seat]]
            gain = (slope * values[..., seat]).ravel()
            logits[seat] += rate * np.bincount(seen[..., seat].ravel(), gain, minlength=5) / rows
    return 1 / (1 + np.exp(-logits))


def test_naive_learners_of_the_dilemma_defect() -> None:
    chances = learn_dilemma("turn-relative")
    assert (chances[:, 0] < 0.1).all()
    assert (chances[:, 4] < 0.1).all()


def test_advantage_alignment_turns_defectors_into_reciprocators() -> None:
    """Both open and answer with cooperation, and answer defection with defection."""
    chances = learn_dilemma("turn-relative+advantage-alignment", beta=3.0)
    assert (chances[:, [0, 1]] > 0.6).all()
    assert (chances[:, [2, 4]] < 0.1).all()


def test_alignment_refuses_seats_that_move_in_turn() -> None:
    records = palestra.play("games/TicTacToe-v0", agents=["random", "random"], episodes=2)
    with pytest.raises(Lacking, match="seats move in turn"):
        estimate("advantage-alignment", records)


def test_alignment_without_others_advantage_changes_nothing() -> None:
    records = palestra.play(
        "games/PrisonersDilemma-v0", agents=["random", "random"], episodes=3, seed=0
    )
    plain = estimate("turn-relative", records).values
    zero = estimate("turn-relative+advantage-alignment:beta=0", records).values
    np.testing.assert_array_equal(zero, plain)
