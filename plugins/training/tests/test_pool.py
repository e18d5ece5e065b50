"""Who is drawn from a pool, against weights worked out by hand."""

import numpy as np
import pytest
from palestra.kernel.rng import Rng
from palestra_training.pool import Pool, nash_weights, pfsp_weights


def test_hard_rivals_come_often():
    """AlphaStar's (1 - p)²: 0.25, 0.0625 and 1 of 1.3125."""
    found = pfsp_weights([0.5, 0.75, 0.0])
    assert found == pytest.approx([0.25 / 1.3125, 0.0625 / 1.3125, 1 / 1.3125])
    assert pfsp_weights([1.0, 1.0]) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("payoffs", "mix"),
    [
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], [1 / 3, 1 / 3, 1 / 3]),
        # rock beats scissors by 2: each is played in proportion to what the other pair is worth
        ([[0, -1, 2], [1, 0, -1], [-2, 1, 0]], [1 / 4, 1 / 2, 1 / 4]),
        ([[0, 1], [-1, 0]], [1, 0]),
    ],
)
def test_a_nash_mix_is_the_known_one(payoffs, mix):
    assert nash_weights(tuple(map(tuple, payoffs))) == pytest.approx(mix, abs=0.01)


def test_a_pool_remembers_results_and_meetings():
    pool = Pool(["random"], "pfsp")
    pool.tell("random", [1, 0.5, 0, 0])
    assert pool.score("random") == pytest.approx(1.5 / 4)
    pool.tell("random", [1])
    assert pool.score("random") == pytest.approx((0.9 * 1.5 + 1) / (0.9 * 4 + 1))
    pool.remember("past:1", {}, most=1)
    assert pool.unmet("past:1") == ["random"]
    pool.met("past:1", "random", 0.75)
    pool.remember("past:2", {}, most=1)
    assert pool.names == ["random", "past:2"]
    again = Pool((), "pfsp")
    again.load(pool.state())
    assert again.state() == pool.state()


def test_rivals_are_drawn_in_their_shares():
    pool = Pool(["hard", "easy"], "pfsp")
    pool.tell("hard", [0, 1])
    pool.tell("easy", [1, 1, 1, 0])
    rng = Rng.seeded(1, stream=1)
    drawn = [pool.draw(rng) for _ in range(4000)]
    assert drawn.count("hard") / 4000 == pytest.approx(0.8, abs=0.03)


def test_the_stronger_of_two_pasts_is_drawn_under_nash():
    pool = Pool(["a", "b"], "nash")
    pool.met("a", "b", 0.9)
    assert np.argmax(pool.weights()) == 0
    assert pool.weights()[0] > 0.97
