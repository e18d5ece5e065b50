"""A network that reads words in order learns what a model linear in words cannot."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from palestra import InvalidOption
from palestra_rewards.episodes.intents import TrajectoryScorer, Triplet
from palestra_rewards.learnt.texts import StoryNetwork, word_numbers

pytest.importorskip("torch")

THINGS = ("lamp", "rope", "coin", "map", "key", "bell", "book", "cup")
TASK = "use each thing after it was taken"


def ordered(pairs: list[tuple[str, str]]) -> list[Triplet]:
    """Taking before using is right; the same words in the other order are wrong."""
    right, wrong = "take {0} then use {0} near {1}", "use {0} then take {0} near {1}"
    return [Triplet(TASK, right.format(*pair), wrong.format(*pair)) for pair in pairs]


def both(pairs: list[tuple[str, str]]) -> list[Triplet]:
    """One of two lamps must be lit or warm, not both and not none: no sum of words has this."""
    found = []
    for one, other in pairs:
        ends = {
            (left, right): f"> see {one}\nred is {left} blue is {right}\n> leave {other}"
            for left, right in product(("lit", "dark"), ("warm", "cold"))
        }
        found += [
            Triplet("exactly one", ends[good], ends[bad])
            for good in (("lit", "cold"), ("dark", "warm"))
            for bad in (("lit", "warm"), ("dark", "cold"))
        ]
    return found


@pytest.mark.parametrize("kind", [ordered, both])
def test_a_network_learns_order_and_interaction_where_sums_of_words_cannot(
    kind: Callable[[list[tuple[str, str]]], list[Triplet]],
) -> None:
    pairs = list(permutations(THINGS, 2))
    order = np.random.default_rng(0).permutation(len(pairs))
    fitted, held_out = ([pairs[n] for n in part] for part in (order[:30], order[30:46]))
    network = StoryNetwork().fit(kind(fitted))
    assert network.accuracy(kind(held_out)) > 0.95
    assert TrajectoryScorer().fit(kind(fitted)).accuracy(kind(held_out)) <= 0.75
    assert network.accuracy([Triplet(e.intent, e.bad, e.good) for e in kind(held_out)]) < 0.05
    again = StoryNetwork(seed=3)
    again.load(network.state())
    one = kind(held_out)[0]
    assert again.score(one.intent, one.good) == network.score(one.intent, one.good)


def test_words_are_numbered_from_the_end() -> None:
    table = word_numbers(["a b c", "", "b\nc"], words=50, length=3)
    assert table[1].tolist() == [0, 0, 0]
    assert table[0, 1] == table[2, 0]  # b
    assert table[0, 2] == table[2, 2]  # c
    assert table.min() == 0
    assert table[0].min() > 0


def test_labels_become_chances() -> None:
    """Three of four equal texts are right, so the chance is 3/4."""
    network = StoryNetwork(steps=1)
    before = network.learn_labels([("", "go")] * 4, [1, 1, 1, 0], steps=150, rate=0.05)
    assert before == pytest.approx(0.69, abs=0.3)
    assert 1 / (1 + np.exp(-network.score("", "go"))) == pytest.approx(0.75, abs=0.01)
    with pytest.raises(InvalidOption, match="one example"):
        network.fit([])
    with pytest.raises(InvalidOption, match="3 words"):
        StoryNetwork(length=2)
