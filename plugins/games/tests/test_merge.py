"""Merging: best times by exhaustive search, crash rates in closed form, a game of chicken."""

from __future__ import annotations

from math import ceil
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra_games.dilemmas.merge import SPEEDS, Merge

ENV = "games/Merge-v0"


def returns(first: float, second: float, **options: Any) -> tuple[float, ...]:
    agents = [f"driver:yields={first}", f"driver:yields={second}"]
    (record,) = palestra.play(ENV, agents=agents, **options)
    return tuple(record.returns)


def best_total(merge: int, length: int) -> int:
    """The fewest steps of both cars together, by breadth over all pairs of cells; no crash."""
    layer, spent, best = {(0, 0): 0}, 0, 10**6
    while layer and spent < length:
        spent += 1
        following: dict[tuple[int, int], int] = {}
        for (a, b), cost in layer.items():
            for v in range(3) if a < length else (0,):
                for w in range(3) if b < length else (0,):
                    c, d = a + v, b + w
                    meet = max(a, b) < length and min(c, d) >= merge
                    passed = min(a, b) >= merge and (a - b) * (c - d) < 0
                    if meet and (c == d or passed):
                        continue
                    total = cost + (a < length) + (b < length)
                    end = min(c, length), min(d, length)
                    if end == (length, length):
                        best = min(best, total)
                    elif total < following.get(end, best):
                        following[end] = total
        layer = following
    return best


@pytest.mark.parametrize(("merge", "length"), [(6, 10), (5, 10), (4, 9), (7, 8), (1, 4), (2, 11)])
def test_one_that_yields_costs_one_step(merge: int, length: int) -> None:
    first = ceil(length / 2)
    options = {"merge": merge, "length": length}
    assert returns(0, 1, **options) == (-first, -first - 1)
    assert returns(1, 0, **options) == (-first - 1, -first)
    assert best_total(merge, length) == 2 * first + (length % 2 == 0)  # odd roads leave slack


@pytest.mark.parametrize("merge", [1, 2, 3, 6, 7])
def test_two_that_do_not_yield_crash_at_the_merge(merge: int) -> None:
    game = Merge(merge=merge, length=12, crash=30)
    paid = -30 - ceil(merge / 2)
    assert returns(0, 0, merge=merge, length=12, crash=30) == (paid, paid)
    episode = Episode(game, 0)
    while not episode.over:
        episode.act({0: 2, 1: 2})
    assert episode.outcome.reason == "the cars crashed"


def test_two_that_always_yield_wait_until_time_is_up() -> None:
    assert returns(1, 1, steps=17) == (-17, -17)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("chance", [0.2, 0.5, 0.8])
def test_crash_rate_is_that_of_the_closed_form(chance: float) -> None:
    """The first time that not both yield decides: (1 - y)² / ((1 - y)² + 2 y (1 - y))."""
    episodes, rate = 400, (1 - chance) / (1 + chance)
    records = palestra.play(
        ENV, agents=[f"driver:yields={chance}"] * 2, episodes=episodes, seed=0, steps=200
    )
    crashes = sum("crashed" in record.outcome.reason for record in records)
    error = (rate * (1 - rate) / episodes) ** 0.5
    assert crashes / episodes == pytest.approx(rate, abs=4 * error)


def test_going_and_yielding_are_a_game_of_chicken() -> None:
    go, swerve = returns(0, 1)
    both_go, both_wait = returns(0, 0)[0], returns(1, 1)[0]
    assert go > swerve > max(both_go, both_wait)


@pytest.mark.parametrize(
    ("cells", "speeds", "crash"),
    [
        ((5, 5), ("fast", "slow"), False),  # 7 and 6: both enter, apart
        ((5, 4), ("slow", "fast"), True),  # both on 6
        ((7, 6), ("wait", "fast"), True),  # passed
        ((7, 6), ("wait", "slow"), True),  # run into
        ((7, 6), ("slow", "slow"), False),
        ((6, 4), ("wait", "slow"), False),
        ((5, 4), ("wait", "slow"), False),  # side by side in lanes of their own
        ((9, 8), ("slow", "fast"), True),  # both at the end of the road at once
        ((9, 8), ("fast", "fast"), False),
    ],
)
def test_what_is_a_crash(cells: tuple[int, int], speeds: tuple[str, str], crash: bool) -> None:
    for swap in (1, -1):
        episode = Episode(Merge(), 0, compiled=False)
        state = episode.state
        state.cars[:] = cells[::swap]
        episode.load(state)
        episode.act({seat: SPEEDS.index(speed) for seat, speed in enumerate(speeds[::swap])})
        assert bool(episode.state.crashed) == crash
        assert episode.rewards[0] == (-51 if crash else -1)


def test_a_car_that_is_out_is_asked_no_more_and_pays_no_more() -> None:
    episode = Episode(Merge(merge=1, length=2), 0, compiled=False)
    episode.act({0: 2, 1: 0})
    assert episode.to_act == (1,)
    episode.act({1: 2})
    assert tuple(episode.returns) == (-1, -2)
    assert episode.outcome.reason == "both cars are out"


@pytest.mark.parametrize(
    ("options", "said"),
    [({"merge": 10}, "merge"), ({"crash": -1}, "crash"), ({"steps": 0}, "steps")],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Merge(**options)
