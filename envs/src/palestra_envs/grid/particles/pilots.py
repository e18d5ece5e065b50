"""A pilot of particles: it comes to rest where it should be, or hits what moves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import Agent, Decision, InvalidOption, Turn, agent
from scipy.optimize import linear_sum_assignment

from palestra_envs.grid.particles.game import WORDS, Particles
from palestra_envs.grid.particles.rules import (
    ADVERSARY,
    DAMPING,
    SPEAKER,
    SPREAD,
    STEP,
    TAG,
)

Vector = NDArray[np.float64]  # east and north
COAST = STEP / DAMPING  # how far a velocity of 1 carries who pushes no more
PUSHES = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)], np.float64)  # by action
PLANS = np.array(list(product(range(len(PUSHES)), repeat=2)))  # of who flees: a push, and the next
HELD = (3, 5)  # for how many steps
SURE = 0.15  # by how much nearer an agent must be for the adversary to believe it e times as much


@dataclass(slots=True)
class Sight:
    """An array view, read. None: not seen, or not told."""

    velocity: Vector | None
    place: Vector | None
    goal: Vector | None  # from oneself, as are landmarks and other players
    landmarks: list[Vector | None]
    others: dict[int, Vector | None]
    velocities: dict[int, Vector | None]  # of other prey
    heard: int | None


def look(game: Particles, player: int, view: NDArray[Any]) -> Sight:
    """Take apart an array view of `Particles`, which see."""
    numbers = np.asarray(view, np.float64)
    pairs = iter(numbers[: len(numbers) // 2 * 2].reshape(-1, 2))
    kind, prey = game.kind, range(game.num_players - game.num_prey, game.num_players)
    velocity = next(pairs) if kind != ADVERSARY else None
    place = next(pairs) if kind in (SPREAD, TAG) else None
    goal = next(pairs) if kind == ADVERSARY and player > 0 else None
    landmarks: list[Vector | None] = [next(pairs) for _ in range(game.landmarks)]
    seats = [seat for seat in range(game.num_players) if seat != player and kind != SPEAKER]
    others: dict[int, Vector | None] = {seat: next(pairs) for seat in seats}
    velocities: dict[int, Vector | None] = {
        seat: next(pairs) for seat in seats if kind == TAG and seat in prey
    }
    known = sum(part is not None for part in (velocity, place, goal))
    at, heard = 2 * (known + len(landmarks) + len(others) + len(velocities)), None
    if kind == SPEAKER:
        words = numbers[at : at + len(WORDS)]
        heard, at = int(words.argmax()) if words.any() else None, at + len(WORDS)
    if game.sight:
        marks = iter(numbers[at:])
        landmarks = [where if next(marks) else None for where in landmarks]
        others = {seat: where if next(marks) else None for seat, where in others.items()}
        velocities = {s: v if others[s] is not None else None for s, v in velocities.items()}
    return Sight(velocity, place, goal, landmarks, others, velocities, heard)


@dataclass(slots=True)
class Memory:
    """Where things were, counted from the middle or, for who is not told, from his own start."""

    place: Vector
    velocity: Vector
    landmarks: list[Vector | None]
    others: dict[int, tuple[int, Vector, Vector]] = field(default_factory=dict)  # turn, where, how
    goal: Vector | None = None
    heard: int | None = None
    tour: Iterator[Vector] | None = None
    waypoint: Vector | None = None


@agent(
    "particle-pilot",
    plays=("grid/Particles-v0",),
    needs=("array",),
    summary="Comes to rest where it is needed, heads off prey, flees, speaks and listens.",
)
class ParticlePilot(Agent):
    """Plays `grid/Particles-v0` from its own array view alone, and what it remembers of it.

    A push moves the point where a disc will come to rest by a fixed length; the pilot pushes until
    that point is nearest to where it wants to be. In `spread` players take the landmarks whose
    summed distances are least, in `adversary` too, the goal first; the adversary goes where its
    expected distance is least if agents stand where the goal is likely. Predators go to where the
    prey will be when they arrive; prey tries pushes ahead. A speaker says the goal; a listener
    waits in the middle of all landmarks and goes to the one he heard of. Whoever misses something
    looks for it on a square spiral.
    """

    def __init__(self) -> None:
        self._memories: dict[tuple[int, int], Memory] = {}

    def forget(self, episode_key: int) -> None:
        self._memories = {k: memory for k, memory in self._memories.items() if k[0] != episode_key}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game, seat, view = turn.game, turn.seat, turn.observation
        if not isinstance(game, Particles):
            raise InvalidOption(f"the particle pilot plays grid/Particles-v0, not {turn.env}")
        role = game.seats[seat].role
        if role == "speaker":
            return int(view[:3].argmax())
        key = (turn.episode_key, seat)
        if turn.turn == 0 or key not in self._memories:
            self._memories[key] = Memory(np.zeros(2), np.zeros(2), [None] * game.landmarks)
        memory = self._memories[key]
        remember(game, memory, look(game, seat, view), turn.turn)
        if role == "prey":
            action = flee(game, seat, memory, turn.turn)
        else:
            goal = wanted(game, seat, memory, turn.turn)
            if goal is None:
                goal = explore(game, memory)
            stops = role != "predator"
            action = halt(game, seat, memory, goal) if stops else chase(game, memory, goal)
        drift(game, seat, memory, action)
        return action


def remember(game: Particles, memory: Memory, seen: Sight, now: int) -> None:
    """Take in what is seen: all from one point, velocities of others from how they moved."""
    if seen.place is not None:
        memory.place = seen.place
    if seen.velocity is not None:
        memory.velocity = seen.velocity
    for number, where in enumerate(seen.landmarks):
        if where is not None:
            memory.landmarks[number] = memory.place + where
    for seat, where in seen.others.items():
        if where is None:
            continue
        place, velocity = memory.place + where, seen.velocities.get(seat)
        if velocity is None:
            last, there, _ = memory.others.get(seat, (now, place, place))
            velocity = (place - there) / (STEP * max(1, now - last))
        memory.others[seat] = now, place, velocity
    if seen.goal is not None:
        memory.goal = memory.place + seen.goal
    if seen.heard is not None:
        memory.heard = seen.heard


def drift(game: Particles, seat: int, memory: Memory, action: int) -> None:
    """Where the pilot will be and how fast, if it touches nobody; a view that tells it is used."""
    force = game.config.pulls[seat] * PUSHES[action]
    memory.place = memory.place + STEP * memory.velocity
    memory.velocity = (1 - DAMPING) * memory.velocity + STEP * force


def halt(game: Particles, seat: int, memory: Memory, goal: Vector) -> int:
    """The push after which the pilot would come to rest nearest to a place."""
    rest = memory.place + COAST * memory.velocity
    reach = COAST * STEP * game.config.pulls[seat]
    return int(np.hypot(*(rest + reach * PUSHES - goal).T).argmin())


# Where to go


def wanted(game: Particles, seat: int, memory: Memory, now: int) -> Vector | None:
    """Where a player should be; None if it has not seen enough to know."""
    known = [place for place in memory.landmarks if place is not None]
    if game.kind == SPEAKER:
        if memory.heard is not None:
            return memory.landmarks[memory.heard]
        return np.mean(known, axis=0) if known else memory.place
    if game.kind == TAG:
        return ambush(game, memory, now)
    if game.kind == ADVERSARY and seat == 0:
        return suspect(memory, known)
    return share(game, seat, memory, known)


def share(game: Particles, player: int, memory: Memory, known: list[Vector]) -> Vector | None:
    """The landmark a player is to cover, of those known; its own place if it is not needed."""
    team = {seat: where for seat, (_, where, _) in memory.others.items()}
    team[player] = memory.place
    if game.kind == ADVERSARY:
        team.pop(0, None)
    seats = sorted(team)
    first = None
    if memory.goal is not None:
        first = int(np.argmin([math.dist(place, memory.goal) for place in known]))
    mine = assign([team[seat] for seat in seats], known, first)[seats.index(player)]
    if mine is not None:
        return known[mine]
    return memory.place if len(known) == game.landmarks else None


def assign(
    players: Sequence[Vector], landmarks: Sequence[Vector], first: int | None = None
) -> list[int | None]:
    """A landmark for each player, so that the sum of distances is least; None for who is left over.

    The landmark `first` is never left out.
    """
    found: list[int | None] = [None] * len(players)
    if landmarks:
        far = np.hypot(*(np.array(players)[:, None] - np.array(landmarks)[None]).transpose(2, 0, 1))
        if first is not None:
            far[:, first] -= 1e6
        for seat, landmark in zip(*linear_sum_assignment(far), strict=True):
            found[int(seat)] = int(landmark)
    return found


def suspect(memory: Memory, landmarks: list[Vector]) -> Vector | None:
    """Where the adversary's expected distance from the goal is least, by where agents stand."""
    agents = [where + COAST * velocity for _, where, velocity in memory.others.values()]
    if not landmarks or not agents:
        return None
    near = np.array([min(math.dist(place, agent) for agent in agents) for place in landmarks])
    return median(np.array(landmarks), np.exp((near.min() - near) / SURE))


def median(places: Vector, weights: Vector) -> Vector:
    """The place with the least weighted sum of distances, by Weiszfeld's steps (1937)."""
    here: Vector = np.average(places, axis=0, weights=weights)
    for _ in range(30):
        pull = weights / np.maximum(np.hypot(*(places - here).T), 1e-6)
        here = pull @ places / pull.sum()
    return here


def explore(game: Particles, memory: Memory) -> Vector:
    """The next point of a square spiral about where the search began, within the square."""
    pitch = max(0.2, 1.5 * game.sight)
    if memory.tour is None:
        memory.tour = spiral(memory.place, pitch)
    told = game.kind in (SPREAD, TAG)
    while memory.waypoint is None or math.dist(memory.waypoint, memory.place) < pitch / 2:
        memory.waypoint = next(memory.tour)
        if told and np.abs(memory.waypoint).max() > 1:
            memory.waypoint = np.clip(memory.waypoint, -0.9, 0.9)
    return memory.waypoint


def spiral(start: Vector, pitch: float) -> Iterator[Vector]:
    """The corners and all points a pitch apart on a square spiral that never ends."""
    here, ways = start, np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.float64)
    side = 0
    while True:
        for _ in range(side // 2 + 1):
            here = here + pitch * ways[side % 4]
            yield here
        side += 1


# Hunting


def ambush(game: Particles, memory: Memory, now: int) -> Vector | None:
    """Where a predator could meet the prey that it meets first."""
    first = game.num_players - game.num_prey
    best, soonest = None, math.inf
    for seat, (last, where, velocity) in memory.others.items():
        if seat < first or now - last > 5:
            continue
        place, wait = where, 0.0
        for _ in range(4):  # the time it takes and the place depend on one another
            wait = math.dist(memory.place, place) / game.config.tops[0]
            ahead = min(wait, 0.6) + STEP * (now - last)
            place = np.clip(where + ahead * velocity, -1.0, 1.0)
        if wait < soonest:
            best, soonest = place, wait
    return best


def chase(game: Particles, memory: Memory, goal: Vector) -> int:
    """The push that brings the velocity nearest to full speed towards a place."""
    way = goal - memory.place
    ideal = way / max(1e-9, float(np.hypot(*way))) * game.config.tops[0]
    after = (1 - DAMPING) * memory.velocity + STEP * game.config.pulls[0] * PUSHES
    return int(np.hypot(*(after - ideal).T).argmin())


def flee(game: Particles, player: int, memory: Memory, now: int) -> int:
    """The first push of the best of all plans of two, against predators who come straight on."""
    hunters = np.array(
        [
            where
            for seat, (last, where, _) in memory.others.items()
            if seat < game.num_players - game.num_prey and now - last < 5
        ]
    ).reshape(-1, 2)
    marks = np.array([place for place in memory.landmarks if place is not None]).reshape(-1, 2)
    count, config = len(PLANS), game.config
    place, speed = np.tile(memory.place, (count, 1)), np.tile(memory.velocity, (count, 1))
    chasing, cost = np.tile(hunters, (count, 1, 1)), np.zeros(count)
    for step in range(sum(HELD)):
        pushes = PUSHES[PLANS[:, int(step >= HELD[0])]]
        place = place + STEP * speed
        speed = (1 - DAMPING) * speed + STEP * config.pulls[player] * pushes
        swift = np.maximum(np.hypot(*speed.T), 1e-9)
        speed = speed * np.minimum(1, config.tops[player] / swift)[:, None]
        way = place[:, None] - chasing
        far = np.maximum(np.hypot(*way.transpose(2, 0, 1)), 1e-9)
        chasing = chasing + way / far[..., None] * np.minimum(far, STEP * config.tops[0])[..., None]
        cost += np.exp(-(far - 0.125) / 0.1).sum(axis=1)
        rocks = np.hypot(*(place[:, None] - marks).transpose(2, 0, 1)) - 0.25
        cost += 10 * np.maximum(0, -rocks).sum(axis=1)
        cost += np.maximum(0, np.abs(place) - 0.9).sum(axis=1) * 10
    return int(PLANS[cost.argmin(), 0])
