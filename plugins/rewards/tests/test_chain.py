import json

import numpy as np
import palestra
import pytest
from palestra.kernel.registry import registry
from palestra_rewards import Group, entries, entry, estimate, estimator
from reward_rollouts import drawn, outcomes


def test_a_reweighting_estimator_brings_its_usual_base() -> None:
    group = drawn(1)
    alone, named = estimate("salt", group), estimate("grpo+salt", group)
    assert alone.name == named.name == "grpo+salt"
    np.testing.assert_array_equal(alone.values, named.values)


def test_links_apply_in_the_order_they_are_named() -> None:
    group = drawn(2)
    first = estimate(["grpo", "salt", "a-grae:positive=0.5"], group)
    other = estimate(["grpo", "a-grae:positive=0.5", "salt"], group)
    merged = estimate("grpo+salt", group).values
    np.testing.assert_allclose(first.values, np.where(merged > 0, 0.5, 1) * merged)
    assert np.abs(first.values - other.values).max() > 1e-6


def test_options_go_to_the_link_that_takes_them() -> None:
    group = drawn(3)
    np.testing.assert_array_equal(
        estimate("gigpo+a-grae", group, weight=0.0, positive=0.5).values,
        estimate("gigpo:weight=0+a-grae:positive=0.5", group).values,
    )


def test_an_option_nobody_takes_is_named() -> None:
    with pytest.raises(palestra.UnknownName, match=r"wieght.*weight"):
        estimate("gigpo", drawn(0), wieght=1)
    with pytest.raises(palestra.UnknownName, match="wieght"):
        estimate("gigpo:wieght=1", drawn(0))


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(palestra.UnknownName, match="gigpo"):
        estimate("gipgo", drawn(0))


def test_an_estimator_from_rewards_cannot_follow_another() -> None:
    with pytest.raises(palestra.InvalidOption, match="'rloo' starts from rewards"):
        estimate("grpo+rloo", drawn(0))


def test_records_arrays_and_groups_say_the_same() -> None:
    records = palestra.play("games/KuhnPoker-v0", agents=["random", "random"], episodes=6)
    np.testing.assert_array_equal(
        estimate("grpo", records).values, estimate("grpo", Group.of(records)).values
    )
    arrays = {"episode": [0, 1, 2], "rewards": [0.0, 1.0, 1.0]}
    assert estimate("dr-grpo", arrays).values.sum() == pytest.approx(0)


def test_a_stateful_link_goes_on_from_saved_state() -> None:
    first, second = estimator("rae:alpha=0.5"), estimator("rae:alpha=0.5")
    first(outcomes(4.0))
    second.load(json.loads(json.dumps(first.state())))
    np.testing.assert_array_equal(first(outcomes(4.0)).values, second(outcomes(4.0)).values)
    with pytest.raises(palestra.UnknownName):
        estimator("grpo").load(first.state())


def test_every_entry_is_registered_and_loads() -> None:
    from palestra.kernel.specs import load_entry_point

    for one in entries():
        assert registry().rewards[one.name] == one.spec
        assert callable(load_entry_point(one.entry_point))
        assert one.paper


def test_bases_of_reweighting_entries_start_from_rewards() -> None:
    for one in entries("group"):
        assert not one.onto or not entry(one.onto).onto


def test_a_group_estimator_cannot_pay_during_an_episode() -> None:
    with pytest.raises(palestra.InvalidOption, match="made for whole groups"):
        palestra.make("games/KuhnPoker-v0", view="episode", rewards=["env", "grpo"])
