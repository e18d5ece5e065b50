"""The student of `tasks/DataTeacher-v0`: logistic regression over skills, and what it must learn.

A skill is a kind of question: a point in the plane with a label, on which side of the skill's line
it lies, turned around now and then by label noise. The student has a part for each skill (the
features of a question are its skill's), and learns from examples alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from palestra import Rng

from palestra_tasks.draws import normal

Array = NDArray[np.float64]
NAMES = ("algebra", "angles", "clauses", "fractions", "graphs", "loops", "rhymes", "tenses")
VALIDATION, TEST = 30, 60  # questions a skill
START = 3  # examples of each skill that the student has at first


@dataclass(frozen=True, slots=True)
class Skill:
    """A line through the plane, and how often labels of examples are wrong."""

    name: str
    angle: float
    offset: float
    noise: float


@dataclass(frozen=True, slots=True)
class Course:
    """The skills of a course."""

    skills: tuple[Skill, ...]


Example = tuple[int, float, float, int]  # skill, x, y, label


@lru_cache(maxsize=256)
def draw_course(skills: int, seed: int) -> Course:
    rng = Rng.seeded(seed, 51)
    names = list(NAMES)
    rng.shuffle(names)
    return Course(
        tuple(
            Skill(
                name, 2 * math.pi * rng.random(), 2 * rng.random() - 1, rng.choice((0.0, 0.1, 0.25))
            )
            for name in names[:skills]
        )
    )


def examples(course: Course, skill: int, count: int, rng: Rng, *, clean: bool) -> list[Example]:
    """Labelled questions of a skill; `clean` ones have no wrong labels."""
    kind, drawn = course.skills[skill], []
    for _ in range(count):
        x, y = normal(rng), normal(rng)
        side = x * math.cos(kind.angle) + y * math.sin(kind.angle) > kind.offset
        wrong = not clean and rng.random() < kind.noise
        drawn.append((skill, x, y, int(side != wrong)))
    return drawn


@lru_cache(maxsize=256)
def questions(course: Course, seed: int, count: int) -> tuple[Example, ...]:
    """Clean questions of every skill, for validation or a test."""
    rng = Rng.seeded(seed, 52)
    return tuple(
        example
        for skill in range(len(course.skills))
        for example in examples(course, skill, count, rng, clean=True)
    )


def rows(course: Course, given: Sequence[Example]) -> Array:
    """The student's features: a constant, x and y in the place of the skill."""
    table = np.zeros((len(given), 3 * len(course.skills)))
    for n, (skill, x, y, _) in enumerate(given):
        table[n, 3 * skill : 3 * skill + 3] = 1.0, x, y
    return table


@lru_cache(maxsize=4096)
def answers(course: Course, learned: tuple[Example, ...], asked: tuple[Example, ...]) -> Array:
    """1 for each question that a student trained on `learned` answers right."""
    labels = [label for *_, label in learned]
    truth = np.array([label for *_, label in asked])
    if len(set(labels)) < 2:
        right: Array = (truth == (labels[0] if labels else 0)).astype(np.float64)
        return right
    from sklearn.linear_model import LogisticRegression  # a second or more, and no reset needs it

    student = LogisticRegression(C=10.0, max_iter=200).fit(rows(course, learned), labels)
    return (student.predict(rows(course, asked)) == truth).astype(np.float64)
