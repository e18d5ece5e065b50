"""How cars and the ball move: functions for the rules of car-ball, in whole numbers.

Places are counted in ticks, `TICKS` to a cell, from the north-west corner; speeds in ticks a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palestra import Out

if TYPE_CHECKING:
    from palestra_envs.grid.car_ball.game import CarBall, CarBallState

TICKS = 8
TOP = 10  # fastest speed of a car along an axis
BALL_TOP = 24
TOUCH = 6  # ticks along both axes at which a car touches the ball
GOAL, CHASE, ADVANCE, HIT = range(4)  # columns of rewards
NOBODY = -1


def drive(config: CarBall, state: CarBallState, seat: int, south: int, east: int) -> None:
    """Change a car's speed by its push, slow it down without one, and move it within the walls."""
    ends = config.rows * TICKS - 1, config.columns * TICKS - 1
    for axis in range(2):
        push = south if axis == 0 else east
        speed = state.speed[seat, axis]
        if push == 0:
            speed -= sign(speed)
        speed = min(TOP, max(-TOP, speed + 2 * push))
        place = state.place[seat, axis] + speed
        if place < 0 or place > ends[axis]:
            place = 0 if place < 0 else ends[axis]
            speed = 0
        state.place[seat, axis], state.speed[seat, axis] = place, speed


def meets(config: CarBall, state: CarBallState, seat: int) -> bool:
    """Whether a car touches the ball and nears it."""
    ball = config.num_players
    nearing = 0
    for axis in range(2):
        apart = state.place[ball, axis] - state.place[seat, axis]
        if abs(apart) > TOUCH:
            return False
        nearing += apart * (state.speed[ball, axis] - state.speed[seat, axis])
    return bool(nearing <= 0)


def bounce(config: CarBall, state: CarBallState) -> None:
    """Bounce the ball off the cars that meet it, as off bodies of infinite mass; `hits` says which.

    Where several meet it at once, it gets the mean of the speeds that each would give it.
    """
    ball, count = config.num_players, 0
    for seat in range(config.num_players):
        state.hits[seat] = meets(config, state, seat)
        count += state.hits[seat]
    if count == 0:
        return
    for axis in range(2):
        total = 0
        for seat in range(config.num_players):
            if state.hits[seat]:
                total += 2 * state.speed[seat, axis] - state.speed[ball, axis]
        speed = sign(total) * (abs(total) // count)
        state.speed[ball, axis] = min(BALL_TOP, max(-BALL_TOP, speed))


def roll(config: CarBall, state: CarBallState) -> int:
    """Move the ball, which walls reflect and every fourth step slows; returns who scored."""
    ball = config.num_players
    ends = config.rows * TICKS - 1, config.columns * TICKS - 1
    team = NOBODY
    for axis in range(2):
        place = state.place[ball, axis] + state.speed[ball, axis]
        if place < 0 or place > ends[axis]:
            if axis == 1 and in_goal(config, state.place[ball, 0]):
                team = 0 if place > 0 else 1
            place = -place if place < 0 else 2 * ends[axis] - place
            state.speed[ball, axis] = -state.speed[ball, axis]
        state.place[ball, axis] = place
        if state.turn % 4 == 3:
            state.speed[ball, axis] -= sign(state.speed[ball, axis])
    return team


def in_goal(config: CarBall, south: int) -> bool:
    """Whether a place along the side lies between the goal's posts."""
    middle = config.rows * TICKS // 2
    return bool(abs(2 * south + 1 - 2 * middle) <= config.goal_width * TICKS)


def sign(number: int) -> int:
    return int(number > 0) - int(number < 0)


def far(state: CarBallState, one: int, south: int, east: int) -> int:
    """The larger of the distances along the axes from a thing to a place, in ticks."""
    return int(max(abs(state.place[one, 0] - south), abs(state.place[one, 1] - east)))


def pay_progress(config: CarBall, state: CarBallState, seat: int, before: Any, out: Out) -> None:
    """Pay a car for nearing the ball and for the ball's way towards the goal it attacks.

    before: ticks from the car to the ball, and the ball's place along the pitch, before the step.
    """
    ball = config.num_players
    near = far(state, seat, state.place[ball, 0], state.place[ball, 1])
    out.rewards[seat, CHASE] = config.chase_reward * (before[0] - near) / TICKS
    moved = state.place[ball, 1] - before[1]
    if seat >= config.num_players // 2:
        moved = -moved
    out.rewards[seat, ADVANCE] = config.advance_reward * moved / TICKS
