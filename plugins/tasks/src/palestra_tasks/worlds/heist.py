"""Heist: a maze with coloured locks, their keys, and a gem at the end.

The student walks in a maze drawn from the seed. Locks lie on the way from the start to the gem, and
the key of each lies before it. Walking onto a key takes it, walking into a lock opens it if the
key is in hand. Each key, each lock and the gem are an achievement, paid once an episode, which ends
at the gem.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec
from palestra import Rng

LOCKS = 2  # of the original world
SKILLS = ("first key", "first lock", "second key", "second lock", "gem")
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
STEPS = 80  # of an episode


class HeistConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A maze to train in: its side, how many locks it has, how many keys are in hand at first."""

    size: int = 8
    locks: int = LOCKS
    keys: int = 0

    def problem(self) -> str:
        """Why it is no world; empty if it is."""
        if not 3 <= self.size <= 9:
            return "size must be from 3 to 9"
        if not 0 <= self.locks <= LOCKS:
            return f"locks must be from 0 to {LOCKS}"
        return "" if 0 <= self.keys <= self.locks else "keys must be from 0 to the number of locks"

    def open(self, rng: Rng) -> Heist:
        """An episode in such a world."""
        return Heist(self, rng)


@dataclass
class Heist:
    """An episode in a maze. Locks are numbered in the order of the way to the gem."""

    actions: ClassVar[int] = len(MOVES)
    steps: ClassVar[int] = STEPS
    rate: ClassVar[float] = 0.03  # low: what is seen says where things are and not how far
    discount: ClassVar[float] = 0.7

    config: HeistConfig
    rng: Rng
    here: int = 0
    gem: int = 0
    locks: dict[int, int] = field(default_factory=dict)  # lock by the cell that it closes
    keys: dict[int, int] = field(default_factory=dict)  # key by its cell
    held: set[int] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    passages: list[list[int]] = field(default_factory=list)  # cells that a cell leads to

    def __post_init__(self) -> None:
        self._dig()
        self.here = self.rng.below(self.config.size**2)
        distance = self.distances(self.here, closed=set())
        self.gem = max(distance, key=lambda cell: (distance[cell], cell))
        if self.config.locks:
            self._lock(distance)

    def _dig(self) -> None:
        """A tree of passages over all cells, by a random walk that goes back where it is stuck."""
        cells = self.config.size**2
        self.passages = [[] for _ in range(cells)]
        stack, seen = [self.rng.below(cells)], set[int]()
        seen.add(stack[0])
        while stack:
            fresh = [cell for cell in self.neighbours(stack[-1]) if cell not in seen]
            if not fresh:
                stack.pop()
                continue
            cell = self.rng.choice(fresh)
            self.passages[stack[-1]].append(cell)
            self.passages[cell].append(stack[-1])
            seen.add(cell)
            stack.append(cell)

    def neighbours(self, cell: int) -> Iterator[int]:
        """Cells beside a cell, walls or not, in the order of moves."""
        side = self.config.size
        row, column = divmod(cell, side)
        for down, right in MOVES:
            if 0 <= row + down < side and 0 <= column + right < side:
                yield (row + down) * side + column + right

    def distances(self, start: int, closed: set[int]) -> dict[int, int]:
        """Steps to every cell that can be reached without entering closed cells."""
        found, queue = {start: 0}, deque([start])
        while queue:
            cell = queue.popleft()
            for near in self.passages[cell]:
                if near not in found and near not in closed:
                    found[near] = found[cell] + 1
                    queue.append(near)
        return found

    def _lock(self, distance: dict[int, int]) -> None:
        """Close cells on the way to the gem, and put each key where it can be reached before."""
        way = [self.gem]
        while way[-1] != self.here:
            way.append(min(self.passages[way[-1]], key=distance.__getitem__))
        inner = way[-2:0:-1] or [self.gem]  # from the start, without start and gem
        count = min(self.config.locks, len(inner))
        places = [inner[(n + 1) * len(inner) // (count + 1)] for n in range(count)]
        if len(set(places)) < count:
            places = inner[:count]
        for number in range(count):
            free = self.distances(self.here, closed=set(places[number:]))
            taken = {self.here, *self.keys}
            cells = sorted(set(free) - taken) or [self.here]
            if number < self.config.keys:
                self.held.add(number)
            else:
                self.keys[self.rng.choice(cells)] = number
        self.locks = {place: number for number, place in enumerate(places)}

    @property
    def over(self) -> bool:
        """Whether the gem is taken."""
        return "gem" in self.done

    def seen(self) -> tuple[int, ...]:
        """What the student sees: which thing is next, and where it is.

        First which it is (0 a lock whose key is in hand, 1 the next key, 2 the gem), its number,
        and the move that leads nearer.
        """
        lock = min(self.locks, key=self.locks.__getitem__, default=-1)
        key = min(self.keys, key=self.keys.__getitem__, default=-1)
        closed = set(self.locks)
        if lock >= 0 and self.locks[lock] in self.held:
            return 0, self.locks[lock], self.first_moves(closed - {lock}).get(lock, 0)
        if lock >= 0:
            return 1, self.locks[lock], self.first_moves(closed).get(key, 0)
        return 2, 0, self.first_moves(closed).get(self.gem, 0)

    def first_moves(self, closed: set[int]) -> dict[int, int]:
        """For each cell that can be reached, the move to start with, counted from 1."""
        near = {cell: move for move, cell in self.beside(self.here) if cell not in closed}
        found, queue = dict(near), deque(near)
        while queue:
            cell = queue.popleft()
            for other in self.passages[cell]:
                if other not in found and other not in closed and other != self.here:
                    found[other] = found[cell]
                    queue.append(other)
        return found

    def beside(self, cell: int) -> Iterator[tuple[int, int]]:
        """Moves, counted from 1, and the cells that they lead to through no wall."""
        side = self.config.size
        for move, (down, right) in enumerate(MOVES, 1):
            there = cell + down * side + right
            if there in self.passages[cell]:
                yield move, there

    def act(self, action: int) -> float:
        """Walk; 1 for each new achievement."""
        ahead = dict(self.beside(self.here)).get(action + 1)
        if ahead is None:
            return 0.0
        if ahead in self.locks:
            number = self.locks[ahead]
            if number not in self.held:
                return 0.0
            self.held.discard(number)
            del self.locks[ahead]
            return self._achieve(("first lock", "second lock")[number])
        self.here = ahead
        if ahead in self.keys:
            number = self.keys.pop(ahead)
            self.held.add(number)
            return self._achieve(("first key", "second key")[number])
        return self._achieve("gem") if ahead == self.gem else 0.0

    def _achieve(self, skill: str) -> float:
        fresh = skill not in self.done
        self.done.add(skill)
        return float(fresh)


ORIGINAL = HeistConfig()
# One world for each skill in order, each with what comes before it done already
LESSONS = (
    HeistConfig(size=4, locks=1),
    HeistConfig(size=4, locks=1, keys=1),
    HeistConfig(size=4, locks=2, keys=1),
    HeistConfig(size=4, locks=2, keys=2),
    HeistConfig(size=4, locks=0),
)
# The original world; for each skill all lessons and its own once more; and the lessons alone
PRESETS = (
    (ORIGINAL,),
    *((*LESSONS, lesson) for lesson in LESSONS),
    LESSONS,
)
