"""How particles move, touch and are paid: `Particles`' rules in parts.

Plain functions over its state record; they compile, see `palestra.kernel.array_game`. Players come first
among the things, then landmarks. Where numbers could differ in their last bit from one machine to
another they are rounded to 2**-30, so that a CPU and a GPU play the same episode.
"""

from __future__ import annotations

import math
from typing import Any

SPREAD, TAG, ADVERSARY, SPEAKER = range(4)  # scenarios
DISTANCE, CONTACTS, BOUNDS = range(3)  # reward terms
STILL, WESTWARD, EASTWARDS, SOUTHWARDS, NORTHWARD = range(5)
STEP, DAMPING, STIFFNESS, SOFTNESS = 0.1, 0.25, 100.0, 0.001
GRAIN = 1073741824.0  # 2**30
DEEP = 40.0  # where exp no longer matters


def rounded(number: float) -> float:
    return math.floor(number * GRAIN + 0.5) / GRAIN


def gap(state: Any, one: int, other: int) -> float:
    """The distance between the middles of two things."""
    east = state.place[one, 0] - state.place[other, 0]
    north = state.place[one, 1] - state.place[other, 1]
    return rounded(math.sqrt(east * east + north * north))


def in_sight(config: Any, state: Any, seat: int, thing: int) -> bool:
    """Whether a player sees where a thing is; who knows the goal sees it from anywhere."""
    if config.sight == 0:
        return True
    if config.kind == ADVERSARY and seat > 0 and thing == config.num_players + state.goal:
        return True
    near: bool = gap(state, seat, thing) <= config.sight
    return near


def touch(config: Any, state: Any, one: int, other: int) -> bool:
    together: bool = gap(state, one, other) < config.sizes[one] + config.sizes[other]
    return together


def overlap(config: Any, state: Any, one: int, other: int) -> float:
    """How deep two things are in one another, softened: k log(1 + exp(depth / k))."""
    depth = (config.sizes[one] + config.sizes[other] - gap(state, one, other)) / SOFTNESS
    if depth > -DEEP and depth <= DEEP:
        depth = math.log1p(math.exp(depth))
    return float(max(0.0, depth * SOFTNESS))


def push(config: Any, state: Any, actions: Any, seat: int, axis: int) -> float:
    """The force on a player along an axis: his own, and those of things he touches."""
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


def drift(config: Any, state: Any, actions: Any) -> None:
    """Move everybody by his velocity, which then changes by damping and force."""
    speed, force = state.speed, state.force
    for seat in range(config.speakers, config.num_players):
        for axis in range(2):
            force[seat, axis] = push(config, state, actions, seat, axis)
    for seat in range(config.speakers, config.num_players):
        for axis in range(2):
            moved = state.place[seat, axis] + speed[seat, axis] * STEP
            state.place[seat, axis] = rounded(moved)
            slowed = speed[seat, axis] * (1 - DAMPING) + force[seat, axis] * STEP
            speed[seat, axis] = rounded(slowed)
            force[seat, axis] = 0.0
        east, north, top = speed[seat, 0], speed[seat, 1], config.tops[seat]
        swift = math.sqrt(east * east + north * north)
        if top > 0 and swift > top:
            speed[seat, 0] = rounded(east / swift * top)
            speed[seat, 1] = rounded(north / swift * top)


def pay(config: Any, state: Any, out: Any) -> None:
    """Write what everybody is paid for where all are now."""
    if config.kind == SPREAD:
        pay_spread(config, state, out)
    elif config.kind == TAG:
        pay_tag(config, state, out)
    elif config.kind == ADVERSARY:
        rival, nearest = gap(state, 0, config.num_players + state.goal), 1e9
        for seat in range(1, config.num_players):
            nearest = min(nearest, gap(state, seat, config.num_players + state.goal))
        out.rewards[0, DISTANCE] = -rival
        for seat in range(1, config.num_players):
            out.rewards[seat, DISTANCE] = rival - nearest
    else:
        far = gap(state, 1, config.num_players + state.goal)
        for seat in range(config.num_players):
            out.rewards[seat, DISTANCE] = -rounded(far * far)


def pay_spread(config: Any, state: Any, out: Any) -> None:
    """Half the distances from each landmark to its nearest player, half one's own contacts."""
    uncovered = 0.0
    for landmark in range(config.num_players, config.things):
        nearest = 1e9
        for seat in range(config.num_players):
            nearest = min(nearest, gap(state, seat, landmark))
        uncovered += nearest
    for seat in range(config.num_players):
        out.rewards[seat, DISTANCE] = -rounded((1 - config.local_ratio) * uncovered)
        for other in range(config.num_players):
            if other != seat and touch(config, state, seat, other):
                out.rewards[seat, CONTACTS] -= config.local_ratio


def pay_tag(config: Any, state: Any, out: Any) -> None:
    """Every contact pays all predators 10 and costs the prey 10; so does leaving the square."""
    predators = config.num_players - config.num_prey
    for prey in range(predators, config.num_players):
        for predator in range(predators):
            if touch(config, state, prey, predator):
                out.rewards[prey, CONTACTS] -= 10.0
                for paid in range(predators):
                    out.rewards[paid, CONTACTS] += 10.0
        for axis in range(2):
            off = abs(state.place[prey, axis])
            if off >= 1.0:
                out.rewards[prey, BOUNDS] -= rounded(min(math.exp(2 * off - 2), 10.0))
            elif off >= 0.9:
                out.rewards[prey, BOUNDS] -= rounded((off - 0.9) * 10)


def steer(east: float, north: float) -> int:
    """The push along the axis on which more is wanted; none where little is."""
    if max(abs(east), abs(north)) < 0.05:
        return STILL
    if abs(east) >= abs(north):
        return EASTWARDS if east > 0 else WESTWARD
    return NORTHWARD if north > 0 else SOUTHWARDS


def approach(config: Any, state: Any, seat: int, thing: int) -> int:
    """Towards a thing; who sees his velocity brakes in time. -1, any move, if it is not seen."""
    if not in_sight(config, state, seat, thing):
        return -1
    brake = 0.0 if config.kind == ADVERSARY else 0.4
    east = state.place[thing, 0] - state.place[seat, 0] - brake * state.speed[seat, 0]
    north = state.place[thing, 1] - state.place[seat, 1] - brake * state.speed[seat, 1]
    return steer(east, north)


def nearest_of(config: Any, state: Any, seat: int, first: int, last: int) -> int:
    """The nearest of a range of things."""
    best, near = first, 1e9
    for thing in range(first, last):
        far = gap(state, seat, thing)
        if far < near:
            best, near = thing, far
    return best


def flee(config: Any, state: Any, seat: int) -> int:
    """Back to the middle from its edge, else away from the nearest predator."""
    place = state.place
    if max(abs(place[seat, 0]), abs(place[seat, 1])) > 0.8:
        return steer(-place[seat, 0], -place[seat, 1])
    hunter = nearest_of(config, state, seat, 0, config.num_players - config.num_prey)
    if not in_sight(config, state, seat, hunter):
        return STILL
    return steer(place[seat, 0] - place[hunter, 0], place[seat, 1] - place[hunter, 1])
