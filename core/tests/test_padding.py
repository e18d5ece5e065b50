"""Spaces that are made equal for all seats, by numpy's own padding."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from palestra.views.spaces import Padding

SHAPES = [
    ((3, 4), (2, 6)),
    ((5,), (2, 2), (7,)),
    ((2, 3, 1), (4,)),
    ((3,), (3,)),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_what_a_seat_sees_stands_at_the_beginning_of_the_padded_space(
    shapes: tuple[tuple[int, ...], ...],
) -> None:
    seen = [spaces.Box(-1 - n, 2 + n, shape, np.float32) for n, shape in enumerate(shapes)]
    padding = Padding(seen, [2, 5, 3][: len(shapes)])
    flat = len({len(shape) for shape in shapes}) > 1
    if flat:
        expected: tuple[int, ...] = (max(int(np.prod(shape)) for shape in shapes),)
    else:
        expected = tuple(max(axis) for axis in zip(*shapes, strict=True))
    assert padding.observation_space.shape == expected
    assert (padding.observation_space.low == -len(shapes)).all()
    for number, shape in enumerate(shapes):
        before = seen[number].sample()
        array = before.ravel() if flat else before
        more = [(0, wide - had) for wide, had in zip(expected, array.shape, strict=True)]
        after = padding.observation(before)
        np.testing.assert_array_equal(after, np.pad(array, more))
        assert after in padding.observation_space
        assert shape == before.shape
    assert padding.mask(np.ones(2, np.int8)).tolist() == [1, 1, 0, 0, 0]
