"""A scripted agent for all particle scenarios."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import MissingExtra, ScriptedAgent, Turn, agent

from palestra_envs.grid.particles.adversary import Adversary
from palestra_envs.grid.particles.game import Particles
from palestra_envs.grid.particles.rules import DAMPING, STEP
from palestra_envs.grid.particles.speaker_listener import WORDS, SpeakerListener
from palestra_envs.grid.particles.tag import Tag

Vector = NDArray[np.float64]  # east and north
COAST = STEP / DAMPING  # how far a velocity of 1 carries a player who pushes no more
PUSHES = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)], np.float64)  # by action
PLANS = np.array(list(product(range(len(PUSHES)), repeat=2)))  # for prey: a push, and the next
HELD = (3, 5)  # for how many steps each is held
SURE = 0.15  # distance that makes a goal e times as likely for the adversary


@dataclass(slots=True)
class ReadObservation:
    """A decoded array observation; None stands for what is not seen or not told."""

    velocity: Vector | None
    place: Vector | None
    goal: Vector | None  # relative to oneself, as are landmarks and other players
    landmarks: list[Vector | None]
    others: dict[int, Vector | None]
    velocities: dict[int, Vector | None]  # of other prey
    heard: int | None


def read_observation(game: Particles, own: int, obs: NDArray[Any]) -> ReadObservation:
    """Read the array observation of a seat that is no speaker."""
    numbers = np.asarray(obs, np.float64)
    pairs = iter(numbers[: len(numbers) // 2 * 2].reshape(-1, 2))
    velocity = None if isinstance(game, Adversary) else next(pairs)
    place = None if game.has_goal else next(pairs)
    goal = next(pairs) if game.knows_goal(own) else None
    landmarks: list[Vector | None] = [next(pairs) for _ in range(game.landmarks)]
    seats = [seat for seat in range(game.num_players) if seat != own and game.sees_players]
    others: dict[int, Vector | None] = {seat: next(pairs) for seat in seats}
    velocities: dict[int, Vector | None] = {
        seat: next(pairs) for seat in seats if is_prey(game, seat)
    }
    known = sum(part is not None for part in (velocity, place, goal))
    at, heard = 2 * (known + len(landmarks) + len(others) + len(velocities)), None
    if isinstance(game, SpeakerListener):
        words = numbers[at : at + len(WORDS)]
        heard, at = int(words.argmax()) if words.any() else None, at + len(WORDS)
    if game.sight:
        marks = iter(numbers[at:])
        landmarks = [where if next(marks) else None for where in landmarks]
        others = {seat: where if next(marks) else None for seat, where in others.items()}
        velocities = {s: v if others[s] is not None else None for s, v in velocities.items()}
    return ReadObservation(velocity, place, goal, landmarks, others, velocities, heard)


def is_prey(game: Particles, seat: int) -> bool:
    """Whether a player is hunted."""
    return game.seats[seat].role == "prey"


@dataclass(slots=True)
class Memory:
    """Where things were, from the middle or, for players who do not know it, their own start."""

    place: Vector
    velocity: Vector
    landmarks: list[Vector | None]
    # by seat: the turn they were last seen, their place and velocity
    others: dict[int, tuple[int, Vector, Vector]] = field(default_factory=dict)
    goal: Vector | None = None
    heard: int | None = None
    tour: Iterator[Vector] | None = None
    waypoint: Vector | None = None


@agent("particle-pilot", needs=("array",))
class ParticlePilot(ScriptedAgent[Particles]):
    """Comes to rest where it is needed, heads off prey, flees, speaks and listens.

    It reads only its own array observations and remembers them. A push moves the point where a disc
    will come to rest by a fixed length; the pilot pushes until that point is nearest to where it
    wants to be. In `spread` players take the landmarks whose summed distances are least, in
    `adversary` too, the goal first; the adversary goes where its expected distance is least if
    agents stand where the goal is likely. Predators go to where the prey will be when they arrive;
    prey looks two pushes ahead. A speaker says the goal; a listener waits in the middle of all
    landmarks and goes to the one it is told. A player who misses something looks for it on a square
    spiral.
    """

    def __init__(self) -> None:
        super().__init__(seed=0)  # it uses no randomness
        self._memories: dict[tuple[int, int], Memory] = {}

    def forget(self, episode_key: int) -> None:
        self._memories = {k: memory for k, memory in self._memories.items() if k[0] != episode_key}

    def choose(self, turn: Turn[Particles]) -> int:
        game = turn.game
        seat, obs = turn.seat, turn.observation
        if seat < game.speakers:
            return int(obs[:3].argmax())
        key = (turn.episode_key, seat)
        if turn.steps_played == 0 or key not in self._memories:
            self._memories[key] = Memory(np.zeros(2), np.zeros(2), [None] * game.landmarks)
        memory = self._memories[key]
        remember(memory, read_observation(game, seat, obs), turn.steps_played)
        if is_prey(game, seat):
            action = flee(game, seat, memory, turn.steps_played)
        else:
            goal = destination(game, seat, memory, turn.steps_played)
            if goal is None:
                goal = explore(game, memory)
            hunts = isinstance(game, Tag)
            action = chase(game, memory, goal) if hunts else halt(game, seat, memory, goal)
        drift(game, seat, memory, action)
        return action


def remember(memory: Memory, seen: ReadObservation, now: int) -> None:
    """Add what is seen to a memory; velocities of others follow from how they moved."""
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
    """Predict where the pilot will be and how fast, if it touches nobody."""
    force = game.config.pulls[seat] * PUSHES[action]
    memory.place = memory.place + STEP * memory.velocity
    memory.velocity = (1 - DAMPING) * memory.velocity + STEP * force


def halt(game: Particles, seat: int, memory: Memory, goal: Vector) -> int:
    """The push after which the pilot comes to rest nearest to a place."""
    rest = memory.place + COAST * memory.velocity
    reach = COAST * STEP * game.config.pulls[seat]
    return int(np.hypot(*(rest + reach * PUSHES - goal).T).argmin())


# Where to go


def destination(game: Particles, seat: int, memory: Memory, now: int) -> Vector | None:
    """The player's target; None if it has not seen enough to know."""
    known = [place for place in memory.landmarks if place is not None]
    if isinstance(game, SpeakerListener):
        if memory.heard is not None:
            return memory.landmarks[memory.heard]
        return np.mean(known, axis=0) if known else memory.place
    if isinstance(game, Tag):
        return ambush(game, memory, now)
    if isinstance(game, Adversary) and seat == 0:
        return suspect(memory, known)
    return share(game, seat, memory, known)


def share(game: Particles, own: int, memory: Memory, known: list[Vector]) -> Vector | None:
    """The landmark, of those known, that a player should cover; their own place if all are."""
    team = {seat: where for seat, (_, where, _) in memory.others.items()}
    team[own] = memory.place
    if isinstance(game, Adversary):
        team.pop(0, None)
    seats = sorted(team)
    first = None
    if memory.goal is not None:
        first = int(np.argmin([math.dist(place, memory.goal) for place in known]))
    mine = assign([team[seat] for seat in seats], known, first)[seats.index(own)]
    if mine is not None:
        return known[mine]
    return memory.place if len(known) == game.landmarks else None


def assign(
    players: Sequence[Vector], landmarks: Sequence[Vector], first: int | None = None
) -> list[int | None]:
    """A landmark for each player, so that the sum of distances is least.

    None is for players left over. The landmark `first` always gets a player. Raises `MissingExtra`
    without scipy.
    """
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtra("scipy, which shares landmarks out,", "palestra-envs[scipy]") from error
    found: list[int | None] = [None] * len(players)
    if landmarks:
        far = np.hypot(*(np.array(players)[:, None] - np.array(landmarks)[None]).transpose(2, 0, 1))
        if first is not None:
            far[:, first] -= 1e6
        for seat, landmark in zip(*linear_sum_assignment(far), strict=True):
            found[int(seat)] = int(landmark)
    return found


def suspect(memory: Memory, landmarks: list[Vector]) -> Vector | None:
    """Where the adversary expects the least distance from the goal, judging by where agents are."""
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
    knows_place = not game.has_goal
    while memory.waypoint is None or math.dist(memory.waypoint, memory.place) < pitch / 2:
        memory.waypoint = next(memory.tour)
        if knows_place and np.abs(memory.waypoint).max() > 1:
            memory.waypoint = np.clip(memory.waypoint, -0.9, 0.9)
    return memory.waypoint


def spiral(start: Vector, pitch: float) -> Iterator[Vector]:
    """Yield the points a pitch apart on a square spiral that never ends."""
    here, ways = start, np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.float64)
    side = 0
    while True:
        for _ in range(side // 2 + 1):
            here = here + pitch * ways[side % 4]
            yield here
        side += 1


# Hunting


def ambush(game: Particles, memory: Memory, now: int) -> Vector | None:
    """Where a predator can meet the prey that it meets first; None if it has seen none lately."""
    first = game.num_players - game.num_prey
    best, soonest = None, math.inf
    for seat, (last, where, velocity) in memory.others.items():
        if seat < first or now - last > 5:
            continue
        place, wait = where, 0.0
        for _ in range(4):  # the time it takes and the meeting place depend on each other
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


def flee(game: Particles, own: int, memory: Memory, now: int) -> int:
    """The first push of the best plan of two, against predators who come straight on."""
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
        speed = (1 - DAMPING) * speed + STEP * config.pulls[own] * pushes
        swift = np.maximum(np.hypot(*speed.T), 1e-9)
        speed = speed * np.minimum(1, config.tops[own] / swift)[:, None]
        way = place[:, None] - chasing
        far = np.maximum(np.hypot(*way.transpose(2, 0, 1)), 1e-9)
        chasing = chasing + way / far[..., None] * np.minimum(far, STEP * config.tops[0])[..., None]
        cost += np.exp(-(far - 0.125) / 0.1).sum(axis=1)
        rocks = np.hypot(*(place[:, None] - marks).transpose(2, 0, 1)) - 0.25
        cost += 10 * np.maximum(0, -rocks).sum(axis=1)
        cost += np.maximum(0, np.abs(place) - 0.9).sum(axis=1) * 10
    return int(PLANS[cost.argmin(), 0])
