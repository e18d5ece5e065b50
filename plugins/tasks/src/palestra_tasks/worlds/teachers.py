"""Teachers: by turns, by what is weak or weighs most, and by what orders are expected to gain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.worlds.course_beliefs import beliefs_of
from palestra_tasks.worlds.courses import TOPICS, Syllabus
from palestra_tasks.worlds.teacher import DataTeacher, Teach

WAYS = 5000  # in which a course may be
DRAWS = 300  # of these by their chances, on which orders are compared


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
    """Teaches what gains most in the next round, on ways in which the course may be.

    It weighs ways drawn from the chances of courses by what was read. In a plain course it does as
    `teacher-weakest`.
    """

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        if turn.game.course == "plain":
            return super().choose(turn)
        heard = read_position(turn.position)
        beliefs = beliefs_of(heard.syllabus, WAYS)
        chances = np.cumsum(beliefs.weights(heard.orders, heard.readings)[:-1])
        ways = np.searchsorted(chances, [self.rng.random() for _ in range(DRAWS)])
        taught = [one for one in heard.orders if one >= 0]
        shares = np.array(heard.syllabus.shares)
        gains = [
            float((beliefs.expected([*taught, skill], ways) @ shares).mean())
            for skill in range(len(shares))
        ]
        return Teach(int(np.argmax(gains)))


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
