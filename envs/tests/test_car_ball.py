"""Car-ball: bounces and goals by hand, the mirrored episode, and its terms combined."""

from __future__ import annotations

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra_envs.grid.car_ball.game import CarBall, CarBallState
from palestra_envs.grid.car_ball.rules import TICKS

GAME = CarBall(num_players=2, chase_reward=0.5, advance_reward=0.25, hit_reward=1.0)
MIRROR = [0, 1, 2, 4, 3]  # west and east exchanged
MIDDLE = 9 * TICKS // 2


def pitch(
    car: tuple[int, int], ball: tuple[int, int], /, **speeds: tuple[int, int]
) -> CarBallState:
    """A car of the first team and the ball at these places; the other car in a corner."""
    state: CarBallState = GAME.clone(GAME.initial_state(0))
    state.place[:], state.speed[:] = [car, (0, 119), ball], 0
    for thing, speed in speeds.items():
        state.speed[{"car": 0, "ball": 2}[thing]] = speed
    return state


def paid(state: CarBallState, *actions: int) -> dict[str, float]:
    return dict(GAME.step(state, dict(enumerate(actions))).rewards.get(0, {}))


@pytest.mark.parametrize("ball", [(0, 0), (0, -5), (3, 2)])
def test_a_hit_turns_the_relative_speed_round(ball: tuple[int, int]) -> None:
    state = pitch((MIDDLE, 50), (MIDDLE, 60), car=(0, 6), ball=ball)
    terms = paid(state, 4, 0)
    assert state.speed[0].tolist() == [0, 8]
    assert state.speed[2].tolist() == [-ball[0], 16 - ball[1]]  # u + (u - v), both axes
    assert terms["hit"] == 1.0
    assert terms["advance"] == pytest.approx(0.25 * (16 - ball[1]) / TICKS)


def test_a_ball_that_flies_away_is_not_hit_twice() -> None:
    state = pitch((MIDDLE, 50), (MIDDLE, 60), car=(0, 6), ball=(0, 12))
    assert "hit" not in {name for name, value in paid(state, 4, 0).items() if value}
    assert state.speed[2].tolist() == [0, 12]


def test_goals_are_between_the_posts_and_walls_reflect() -> None:
    state = pitch((5, 5), (MIDDLE, 115), ball=(0, 9))
    terms = paid(state, 0, 0)
    assert (state.scorer, terms["goal"]) == (0, 1.0)
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert outcome.results == ("win", "loss")
    wide = pitch((5, 5), (10, 115), ball=(0, 9))
    paid(wide, 0, 0)
    assert (wide.scorer, wide.place[2].tolist(), wide.speed[2].tolist()) == (-1, [10, 114], [0, -9])
    own = pitch((5, 50), (MIDDLE, 3), ball=(0, -9))
    assert paid(own, 0, 0)["goal"] == -1.0


def test_the_mirrored_pitch_plays_the_mirrored_episode() -> None:
    game, rng = CarBall(num_players=4), np.random.default_rng(3)
    one = game.clone(game.initial_state(5))
    other = game.clone(one)
    swap = [2, 3, 0, 1]
    other.place[:4, 1] = 119 - one.place[swap, 1]
    one.place[4, 1], other.place[4, 1] = 60, 59
    for _ in range(60):
        moves = rng.integers(0, 5, 4)
        game.step(one, dict(enumerate(moves.tolist())))
        game.step(other, {seat: MIRROR[moves[swap[seat]]] for seat in range(4)})
        assert (other.place[swap][:, 0] == one.place[:4, 0]).all()
        assert (other.place[4] == [one.place[4, 0], 119 - one.place[4, 1]]).all()
        for seat in range(4):
            assert (game.observe(one, seat)[:8] == game.observe(other, swap[seat])[:8]).all()


def test_the_script_scores_against_chance() -> None:
    records = palestra.play(
        "grid/CarBall-v0", agents=["scripted", "random"], episodes=12, num_players=2
    )
    results = [record.outcome.results[0] for record in records if record.outcome]
    assert results.count("win") >= 2 * results.count("loss") + 4


def test_teams_of_unequal_size_are_refused() -> None:
    with pytest.raises(InvalidOption, match="must be even"):
        CarBall(num_players=3)
    with pytest.raises(InvalidOption, match="at most the 9 rows"):
        CarBall(goal_width=10)
