"""Teachers: by turns, by what is weak or weighs most, and by a plan of all orders to come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.worlds.course_beliefs import Beliefs, beliefs_of
from palestra_tasks.worlds.courses import TOPICS, Syllabus
from palestra_tasks.worlds.teacher import DataTeacher, Teach

WAYS = 5000  # in which a course may be
DRAWS = 100  # of these by their chances, on which orders are compared


@agent("teacher-weakest", kind="scripted")
class WeakestFirst(ScriptedAgent[DataTeacher]):
    """Teaches the skill with the lowest known accuracy, an unknown one first; fewer examples win
    ties."""

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        seen = turn.observation.tolist()
        return Teach(min(range(turn.game.number), key=lambda s: (seen[2 * s], seen[2 * s + 1])))


@agent("teacher-uniform", kind="scripted")
class Uniform(ScriptedAgent[DataTeacher]):
    """Teaches all skills in turn."""

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        return Teach(turn.steps_played % turn.game.number)


@agent("teacher-weighing", kind="scripted")
class WeightiestFirst(WeakestFirst):
    """Teaches the skill with the most wrong answers, weighted by its share of the test.

    In a plain course it does as `teacher-weakest`.
    """

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        if turn.game.course == "plain":
            return super().choose(turn)
        seen, skills = turn.observation.tolist(), turn.game.number
        shares = seen[2 * skills + 2 :]
        return Teach(max(range(skills), key=lambda s: shares[s] * (1 - seen[2 * s])))


@agent("teacher-planning", kind="solver")
class Planning(WeakestFirst):
    """Plans all orders to come for the test at the end, and gives the most frequent one.

    It weighs ways drawn from the chances of courses by what was read, and plans anew in each turn.
    In a plain course it does as `teacher-weakest`.
    """

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        if turn.game.course == "plain":
            return super().choose(turn)
        heard = read_position(turn.position)
        beliefs = beliefs_of(heard.syllabus, WAYS)
        chances = np.cumsum(beliefs.weights(heard.orders, heard.readings)[:-1])
        ways = np.searchsorted(chances, [self.rng.random() for _ in range(DRAWS)])
        taught = [one for one in heard.orders if one >= 0]
        left = turn.game.turns - len(heard.orders)
        return Teach(int(np.argmax(planned_orders(beliefs, ways, taught, left))))


def planned_orders(
    beliefs: Beliefs, ways: NDArray[np.int64], taught: list[int], left: int
) -> NDArray[np.int64]:
    """How many of the `left` orders each skill gets: the expected test accuracy at the end is best.

    From all orders of the best one skill, orders are moved from skill to skill while it helps,
    half of them at once and then fewer.
    """
    given = np.bincount(np.array(taught, np.int64), minlength=len(beliefs.syllabus.shares))
    unit = np.eye(len(given), dtype=np.int64)
    tried = left * unit
    values = beliefs.on_test(given + tried, ways)
    best, value = tried[values.argmax()], float(values.max())
    moved = max(1, left // 2)
    while moved:
        tried = np.array(list(_moves(best, unit, moved)))
        values = beliefs.on_test(given + tried, ways)
        if values.max() > value + 1e-9:
            best, value = tried[values.argmax()], float(values.max())
        else:
            moved //= 2
    return best


def _moves(
    counts: NDArray[np.int64], unit: NDArray[np.int64], moved: int
) -> Iterator[NDArray[np.int64]]:
    """Orders by skill after at most `moved` of one skill went to another."""
    for source in np.flatnonzero(counts):
        number = min(moved, int(counts[source]))
        for target in range(len(counts)):
            if target != source:
                yield counts + number * (unit[target] - unit[source])


@dataclass(frozen=True, slots=True)
class Heard:
    """What a position says of a drawn course."""

    syllabus: Syllabus
    orders: tuple[int, ...]
    readings: tuple[tuple[int, ...], ...]


def read_position(text: str) -> Heard:
    told = re.findall(r"- \d+: (\w+); topics ([\w, ]+); (\d+) % of the test; (\d+) ex", text)
    names, topics, shares, known = zip(*told, strict=True)
    syllabus = Syllabus(
        names,
        tuple(tuple(TOPICS.index(one) for one in mine.split(", ")) for mine in topics),
        tuple(map(int, shares)),
        tuple(map(int, known)),
    )
    rounds = re.findall(r"Rounds so far: (.*)\.", text)[0].split(", ")
    orders = [names.index(one) if one in names else -1 for one in rounds if one != "none"]
    rows = [row.split() for row in re.findall(r"- \w+: ([\d? ]+)$", text, re.MULTILINE)]
    readings = zip(*([-1 if one == "?" else int(one) for one in row] for row in rows), strict=True)
    return Heard(syllabus, tuple(orders), tuple(readings))
