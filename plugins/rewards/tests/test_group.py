import numpy as np
import palestra
import pytest
from palestra.records.record import retrace
from palestra_rewards import Group, Lacking, estimate
from palestra_rewards.arrays import number, ranks, standardise, together, without_self
from reward_games import place
from reward_rollouts import drawn, outcomes


def test_turns_keep_their_order_and_lines_are_episodes_by_seats() -> None:
    group = Group.from_arrays(
        episode=[0, 0, 0, 1, 1], seat=[0, 1, 0, 0, 1], rewards=[1, 2, 3, 4, 5]
    )
    assert group.line.tolist() == [0, 1, 0, 2, 3]
    assert group.returns.tolist() == [4, 2, 4, 5]
    assert group.ordinal.tolist() == [0, 0, 1, 0, 0]
    assert group.turn.tolist() == [0, 1, 2, 0, 1]


def test_reward_to_go_is_discounted_over_the_seats_own_turns() -> None:
    group = Group.from_arrays(episode=[0] * 4, seat=[0, 1, 0, 1], rewards=[1.0, 0.0, 4.0, 8.0])
    assert group.to_go(gamma=0.5).tolist() == [3.0, 4.0, 4.0, 8.0]


def test_returns_may_differ_from_the_sum_of_rewards() -> None:
    assert outcomes(1, 2, returns=[5, 6]).returns.tolist() == [5, 6]


def test_replaced_rewards_bring_their_own_returns() -> None:
    assert outcomes(1, 2).replace(rewards=[3.0, 4.0]).returns.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"state": ["a"]}, "state has 1 entries; there are 2 turns"),
        ({"colour": [1, 2]}, "no column 'colour'"),
        ({"task": [0, 1, 2]}, "task has 3 entries; there are 2 episodes"),
        ({"rewards": [1.0, float("nan")]}, "must be finite"),
        ({"returns": [1.0]}, r"returns must have shape \(2,\)"),
        ({"episode": [0.5, 1.0]}, "episode must hold whole numbers"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns: dict[str, object], message: str) -> None:
    with pytest.raises(palestra.InvalidOption, match=message):
        Group.from_arrays(**{"episode": [0, 1], "rewards": [1.0, 2.0]} | columns)


def test_numbers_are_equal_where_values_are() -> None:
    assert number([b"x", b"y", b"x"]).tolist() == [0, 1, 0]
    assert number([(0, (1, 2)), (0, 1), (0, (1, 2))]).tolist() == [0, 1, 0]
    assert number([10**12, 5, 10**12]).tolist() == [1, 0, 1]
    assert together((np.array([0, 0, 1]), np.array([1, 2, 1]))).tolist() == [0, 1, 2]


def test_equal_values_share_a_rank() -> None:
    found = ranks(np.array([3.0, 1.0, 3.0, 7.0]), np.array([0, 0, 0, 1]))
    assert found.tolist() == [1.5, 0.0, 1.5, 0.0]


def test_rounding_is_no_spread() -> None:
    values = np.full(3, 0.1) * np.array([1, 1, 1 + 1e-15])
    assert standardise(values, np.zeros(3, dtype=np.int64)).tolist() == [0, 0, 0]


def test_one_alone_is_its_own_others() -> None:
    assert without_self(np.array([5.0]), np.array([0])).tolist() == [5.0]


def test_records_become_columns() -> None:
    records = palestra.play("games/KuhnPoker-v0", agents=["random", "random"], episodes=8, seed=3)
    group = Group.of(records)
    turns = [turn for record in records for turn in record.turns]
    assert group.size == len(turns)
    assert group.seat.tolist() == [turn.seat for turn in turns]
    assert group.returns.tolist() == [value for record in records for value in record.returns]
    paid = np.bincount(group.line, group.rewards)
    assert paid.tolist() == group.returns.tolist()  # the last mover's payment reaches both
    assert group.state is not None
    for i, j in [(0, 1), (2, 5), (1, 3)]:
        same = turns[i].state_key == turns[j].state_key and turns[i].seat == turns[j].seat
        assert (group.state[i] == group.state[j]) == same
    assert group.success is not None
    assert group.success.tolist() == [
        float(result == "win") for record in records for result in record.outcome.results
    ]
    assert group.roles == ("player_0", "player_1")


def test_simultaneous_decisions_share_a_turn() -> None:
    records = palestra.play(
        "games/PrisonersDilemma-v0", agents=["random", "random"], episodes=2, seed=0
    )
    group = Group.of(records)
    assert (group.turn[0::2] == group.turn[1::2]).all()


def test_tags_become_facts_and_roles() -> None:
    records = palestra.play("games/KuhnPoker-v0", agents=["random", "random"], episodes=3)
    for record in records:
        record.tags = {"roles": ["bluffer", "caller"], "mode": "instant", "id": "x"}
        record.tags["process"] = [0.5] * len(record.turns)
    group = Group.of(records)
    assert group.roles == ("bluffer", "caller")
    assert group.fact("mode") == ["instant"] * 3
    assert group.turn_fact("process").tolist() == [0.5] * group.size
    assert "id" not in group.facts


def test_rollouts_of_one_start_are_one_task() -> None:
    several = [
        *palestra.rollouts("games/KuhnPoker-v0", agents=["random", "random"], seed=1, n=3),
        *palestra.rollouts("games/KuhnPoker-v0", agents=["random", "random"], seed=2, n=3),
    ]
    assert Group.of(several).task.tolist() == [0, 0, 0, 1, 1, 1]


def test_states_are_told_apart_by_the_anchor_that_is_asked_for() -> None:
    records = palestra.rollouts("grid/Foraging-v0", agents=["random"] * 2, seed=4, n=2)
    by_key, by_place = Group.of(records), Group.of(records, anchor="reward_games:place")
    assert by_place.repeats > 0.9 > by_key.repeats
    faced = [
        (seat, place(episode.game, episode.state, seat))
        for record in records
        for episode in retrace(record)
        for seat in episode.to_act
    ]
    np.testing.assert_array_equal(by_place.state, number(faced))


def test_a_tag_can_hold_the_anchors() -> None:
    records = palestra.play("games/KuhnPoker-v0", agents=["random", "random"], episodes=3)
    for record in records:
        record.tags["anchor"] = ["same"] * len(record.turns)
    group = Group.of(records)
    np.testing.assert_array_equal(group.state, group.seat)
    records[0].tags["anchor"] = ["same"]
    with pytest.raises(palestra.InvalidOption, match="tag 'anchor' has 1 entries"):
        Group.of(records)


@pytest.mark.parametrize(
    ("name", "column", "how"),
    [
        ("gigpo", "state", "state_key"),
        ("salt", "action", "action="),
        ("duration", "seconds", "seconds="),
        ("hc-grpo", "cost", "cost="),
        ("hc-grpo", "success", "'success'"),
        ("matpo", "parent", "record.parent"),
        ("r3", "logprob", "logprob="),
    ],
)
def test_what_is_lacking_is_named_with_how_to_record_it(name: str, column: str, how: str) -> None:
    group = drawn(0).replace(**{column: None})
    with pytest.raises(Lacking, match=f"'{name}' needs .*{how}"):
        estimate(name, group)


@pytest.mark.parametrize("name", ["egae", "dual-level", "a2fm", "ssl", "seeupo", "comam"])
def test_lacking_facts_are_named(name: str) -> None:
    with pytest.raises(Lacking, match="tag every record with"):
        estimate(name, drawn(0, facts={}))


def test_two_agents_are_asked_for_where_two_are_needed() -> None:
    with pytest.raises(Lacking, match="several agents"):
        estimate("advantage-alignment", outcomes(1, 2))


def pairs(n: int = 4) -> list[palestra.EpisodeRecord]:
    """Kuhn poker: most hands have one turn a seat, so that lists by seat could be lists by turn."""
    return palestra.rollouts("games/KuhnPoker-v0", agents=["random"] * 2, n=n, seed=0)


def test_a_tag_by_seat_is_read_for_every_line() -> None:
    records = pairs()
    for n, record in enumerate(records):
        record.tags["local"] = [float(n), 10.0 * n]
        record.tags["progress"] = n / 4  # one number holds for all seats
    group = Group.of(records)
    assert group.line_fact("local").tolist() == [0, 0, 1, 10, 2, 20, 3, 30]
    assert group.line_fact("progress").tolist() == [0, 0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
    assert np.isfinite(estimate("comam", group).values).all()
    records[1].tags["local"] = [1.0, 2.0, 3.0]
    with pytest.raises(palestra.InvalidOption, match="'local' has 3 entries; there are 2 seats"):
        Group.of(records)


def test_a_tag_of_coalitions_is_one_list_per_record_whatever_its_length() -> None:
    """One-shot games of two: as many members as turns, so that it could be a list by turn."""
    records = palestra.rollouts(
        "games/StagHunt-v0", agents=["random"] * 2, n=3, seed=1, max_episode_steps=1
    )
    worth = {(0,): 1.0, (1,): 2.0, (0, 1): 6.0}
    for record, members in zip(records, worth, strict=True):
        record.tags["coalition"] = [*members, *members][:2] if len(members) == 1 else list(members)
        record.returns = (worth[members],) * 2
    group = Group.of(records)
    assert [tuple(sorted(set(one))) for one in group.fact("coalition")] == list(worth)
    found = estimate("shapley", group).values.reshape(3, 2)
    assert found.tolist() == [[2.5, 0.0], [0.0, 3.5], [2.5, 3.5]]  # (1 + 4) / 2 and (2 + 5) / 2
