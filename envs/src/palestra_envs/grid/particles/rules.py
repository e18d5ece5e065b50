"""How particles move, touch, see and steer: what the rules of all scenarios share.

Plain functions over the state record; they compile, see `palestra.kernel.array_game`. Players come
first among the things, then landmarks. Where numbers could differ in their last bit from one
machine to another they are rounded to 2**-30, so that a CPU and a GPU play the same episode.
"""

from __future__ import annotations

import math
from typing import Any

from palestra.rules import truncate

from palestra_envs.grid.particles.options import ParticlesOptions, ParticlesState

DISTANCE, CONTACTS, BOUNDS = range(3)  # reward terms
STILL, WESTWARD, EASTWARDS, SOUTHWARDS, NORTHWARD = range(5)
STEP, DAMPING, STIFFNESS, SOFTNESS = 0.1, 0.25, 100.0, 0.001
GRAIN = 1073741824.0  # 2**30
DEEP = 40.0  # where exp no longer matters


def to_grain(number: float) -> float:
    """Round a number to the resolution of all positions and velocities."""
    return math.floor(number * GRAIN + 0.5) / GRAIN


def gap(state: ParticlesState, one: int, other: int) -> float:
    """The distance between the middles of two things."""
    east = state.place[one, 0] - state.place[other, 0]
    north = state.place[one, 1] - state.place[other, 1]
    return to_grain(math.sqrt(east * east + north * north))


def in_sight(config: ParticlesOptions, state: ParticlesState, seat: int, thing: int) -> bool:
    """Whether a player sees where a thing is; those who know the goal may see it from anywhere."""
    if config.sight == 0:
        return True
    if config.goal_is_known and seat > 0 and thing == config.num_players + state.goal:
        return True
    return gap(state, seat, thing) <= config.sight


def touch(config: ParticlesOptions, state: ParticlesState, one: int, other: int) -> bool:
    """Whether two things touch."""
    return gap(state, one, other) < config.sizes[one] + config.sizes[other]


def overlap(config: ParticlesOptions, state: ParticlesState, one: int, other: int) -> float:
    """The softened overlap of two things: k log(1 + exp(depth / k))."""
    depth = (config.sizes[one] + config.sizes[other] - gap(state, one, other)) / SOFTNESS
    if depth > -DEEP and depth <= DEEP:
        depth = math.log1p(math.exp(depth))
    return float(max(0.0, depth * SOFTNESS))


def push(
    config: ParticlesOptions, state: ParticlesState, actions: Any, seat: int, axis: int
) -> float:
    """The force on a player along an axis: their own, and those of things they touch."""
    action, force = actions[seat], 0.0
    if config.speakers <= seat:
        if action == WESTWARD + 2 * axis:
            force = -config.pulls[seat]
        elif action == EASTWARDS + 2 * axis:
            force = config.pulls[seat]
    for other in range(config.solid):
        far = gap(state, seat, other)
        if other != seat and far > 0:
            along = state.place[seat, axis] - state.place[other, axis]
            force += STIFFNESS * along / far * overlap(config, state, seat, other)
    return force


def drift(config: ParticlesOptions, state: ParticlesState, actions: Any) -> None:
    """Move all players by their velocities, which then change by damping and force."""
    speed, force = state.speed, state.force
    for seat in range(config.speakers, config.num_players):
        for axis in range(2):
            force[seat, axis] = push(config, state, actions, seat, axis)
    for seat in range(config.speakers, config.num_players):
        for axis in range(2):
            moved = state.place[seat, axis] + speed[seat, axis] * STEP
            state.place[seat, axis] = to_grain(moved)
            slowed = speed[seat, axis] * (1 - DAMPING) + force[seat, axis] * STEP
            speed[seat, axis] = to_grain(slowed)
            force[seat, axis] = 0.0
        east, north, top = speed[seat, 0], speed[seat, 1], config.tops[seat]
        swift = math.sqrt(east * east + north * north)
        if top > 0 and swift > top:
            speed[seat, 0] = to_grain(east / swift * top)
            speed[seat, 1] = to_grain(north / swift * top)


def end_step(config: ParticlesOptions, state: ParticlesState, out: Any) -> None:
    """Add up what players earned, and end the episode when time is up."""
    for seat in range(config.num_players):
        for term in range(BOUNDS + 1):
            state.earned[seat] += out.rewards[seat, term]
    if state.turn + 1 >= config.max_steps:
        truncate(state)


def write_motion(state: ParticlesState, seat: int, obs: Any) -> None:
    """Write a player's velocity and place into the first four numbers."""
    obs[0], obs[1] = state.speed[seat, 0], state.speed[seat, 1]
    obs[2], obs[3] = state.place[seat, 0], state.place[seat, 1]


def write_places(
    config: ParticlesOptions, state: ParticlesState, seat: int, obs: Any, at: int
) -> int:
    """Write where landmarks, then other players, are from a player; returns the next position."""
    place = state.place
    for turn in range(config.shown):
        thing = (turn + config.num_players) % config.things  # landmarks first
        if thing != seat:
            if in_sight(config, state, seat, thing):
                obs[at] = place[thing, 0] - place[seat, 0]
                obs[at + 1] = place[thing, 1] - place[seat, 1]
            at += 2
    return at


def write_marks(
    config: ParticlesOptions, state: ParticlesState, seat: int, obs: Any, at: int
) -> None:
    """Write, where sight is limited, which of the things of `write_places` are seen."""
    if config.sight > 0:
        for turn in range(config.shown):
            thing = (turn + config.num_players) % config.things
            if thing != seat:
                obs[at] = in_sight(config, state, seat, thing)
                at += 1


def steer(east: float, north: float) -> int:
    """The push along the axis with the larger distance; none if both are small."""
    if max(abs(east), abs(north)) < 0.05:
        return STILL
    if abs(east) >= abs(north):
        return EASTWARDS if east > 0 else WESTWARD
    return NORTHWARD if north > 0 else SOUTHWARDS


def approach(
    config: ParticlesOptions, state: ParticlesState, seat: int, thing: int, brake: float
) -> int:
    """Push towards a thing, or against one's velocity `brake` time units ahead of it.

    Returns -1, any move, if the thing is not seen.
    """
    if not in_sight(config, state, seat, thing):
        return -1
    east = state.place[thing, 0] - state.place[seat, 0] - brake * state.speed[seat, 0]
    north = state.place[thing, 1] - state.place[seat, 1] - brake * state.speed[seat, 1]
    return steer(east, north)
