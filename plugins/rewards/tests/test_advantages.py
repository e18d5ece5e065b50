import numpy as np
import palestra
import pytest
from palestra_rewards import Advantages, Group, estimate
from reward_rollouts import drawn


def two_seats(**more: object) -> Group:
    return Group.from_arrays(
        episode=[0, 0, 0, 1, 1], seat=[0, 1, 0, 0, 1], rewards=np.zeros(5), **more
    )


VALUES = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def test_values_split_by_episode_and_by_line() -> None:
    found = Advantages(VALUES, two_seats())
    assert [part.tolist() for part in found.per_episode()] == [[1, 2, 3], [4, 5]]
    assert [part.tolist() for part in found.per_line()] == [[1, 3], [2], [4], [5]]


def test_tokens_get_the_advantage_of_the_turn_that_sampled_them() -> None:
    found = Advantages(VALUES, two_seats(tokens=[2, 1, 1, 3, 1]))
    mask = np.array([[0, 1, 1, 0, 1], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]])
    expected = [[0, 1, 1, 0, 3], [0, 0, 2, 0, 0], [4, 4, 4, 0, 0], [0, 0, 0, 0, 5]]
    assert found.tokens(mask).tolist() == expected


def test_runs_of_the_mask_are_turns_where_tokens_were_not_counted() -> None:
    found = Advantages(VALUES, two_seats())
    mask = np.array([[1, 1, 0, 0, 1], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]])
    assert found.tokens(mask)[0].tolist() == [1, 1, 0, 0, 3]


def test_a_mask_that_does_not_fit_is_refused_by_row() -> None:
    found = Advantages(VALUES, two_seats(tokens=[2, 1, 1, 3, 1]))
    with pytest.raises(palestra.InvalidOption, match=r"row 1 .* has 2 sampled tokens.*need 1"):
        found.tokens(np.array([[0, 1, 1, 0, 1], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]]))
    with pytest.raises(palestra.InvalidOption, match="one row per line"):
        found.tokens(np.ones((2, 5)))


def test_tokens_of_a_turn_sum_to_the_turn_times_its_tokens() -> None:
    group = drawn(4)
    assert group.tokens is not None
    width = int(np.bincount(group.line, group.tokens).max())
    filled = np.bincount(group.line, group.tokens)[:, None] > np.arange(width)
    found = estimate("gigpo", group)
    assert found.tokens(filled).sum() == pytest.approx((found.values * group.tokens).sum())


def test_tensors_hold_what_arrays_do() -> None:
    torch = pytest.importorskip("torch")
    found = Advantages(VALUES, two_seats())
    mask = torch.eye(4, 5, dtype=torch.bool)
    mask[0, 2] = True
    tensor = found.to_torch(mask)
    assert tensor.dtype == torch.float32
    assert tensor.tolist() == found.tokens(mask.numpy()).tolist()
    assert found.to_torch().tolist() == VALUES.tolist()
