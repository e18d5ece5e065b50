"""Drawn courses of `tasks/DataTeacher-v0`: skills that share topics, and so help or harm others.

A topic is a direction in a few features of its own. A question of a skill is a point in the
features of the skill's topics, and its label is the side on which the point lies of a plane: the
sum of the topics' directions, some of them reversed. Examples of a skill teach its topics to every
skill that has them, and mislead those that have them the other way around. A share of the labels of
a skill's examples is wrong. The student is a ridge regression on all examples, and knows no skills.

Questions are normal, so that the accuracy of a student on a skill is exact: 1 less the angle
between its plane and the skill's, divided by pi. A test counts the skills by shares, some of them
not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import Any

import numpy as np
from palestra import Rng

from palestra_tasks.draws import binomial
from palestra_tasks.worlds.student import NAMES, Array

TOPICS = ("A", "B", "C", "D", "E", "F")
FEATURES = 5  # of a topic
BATCH = 20  # examples of a round
ASKED = 100  # validation questions of each skill after each round
RIDGE = 1.0  # penalty on squared weights of the student
NOISY = (0.3, 0.45)  # shares of wrong labels of a skill that is tested
CLEAN = (0.0, 0.1, 0.3)  # of another one
KNOWN = (0, 5, 15)  # examples at the start, of a skill that is not tested
LEAST = 0.05  # reachable gain that pays in full; a smaller one pays in part
REVERSED = 35  # percent of topics of a skill


@dataclass(frozen=True, slots=True)
class Size:
    """How large a course is."""

    skills: int
    topics: int
    tested: int
    rounds: int


SIZES = {
    "small": Size(5, 4, 2, 8),
    "medium": Size(6, 5, 3, 12),
    "large": Size(8, 6, 3, 16),
}


@dataclass(frozen=True, slots=True)
class Syllabus:
    """What the teacher is told, by skill: its name, topics, percent of the test, examples known."""

    names: tuple[str, ...]
    topics: tuple[tuple[int, ...], ...]
    shares: tuple[int, ...]
    known: tuple[int, ...]

    @property
    def told(self) -> str:
        """A line for each skill."""
        columns = zip(self.names, self.topics, self.shares, self.known, strict=True)
        return "\n".join(
            f"- {number}: {name}; topics {', '.join(TOPICS[topic] for topic in topics)}; "
            f"{share} % of the test; {known} examples known"
            for number, (name, topics, share, known) in enumerate(columns)
        )


@dataclass(frozen=True)
class DrawnCourse:
    """A syllabus with what is hidden: which topics are reversed, wrong labels, all examples."""

    syllabus: Syllabus
    signs: tuple[tuple[int, ...], ...]  # by skill, 1 or -1 for each of its topics
    noise: tuple[float, ...]  # by skill, the share of wrong labels
    word: int  # seeds directions and examples

    @cached_property
    def planes(self) -> Array:
        """A row for each skill: its plane's direction in all features, 0 outside its topics."""
        rng = Rng.seeded(self.word, 61)
        drawn = _normals(rng, len(TOPICS) * FEATURES).reshape(len(TOPICS), FEATURES)
        ways = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        planes = np.zeros((len(self.signs), len(TOPICS), FEATURES))
        for skill, topics in enumerate(self.syllabus.topics):
            signs = np.array(self.signs[skill]) / math.sqrt(len(topics))
            planes[skill, list(topics)] = signs[:, None] * ways[list(topics)]
        return planes.reshape(len(self.signs), -1)

    @cached_property
    def shares(self) -> Array:
        return np.array(self.syllabus.shares) / 100.0


def _normals(rng: Rng, number: int) -> Array:
    """Normal draws, by Box and Muller's method."""
    drawn = np.array([rng.random() for _ in range(2 * number)])
    return np.sqrt(-2.0 * np.log1p(-drawn[:number])) * np.cos(2.0 * np.pi * drawn[number:])


# The student


def examples_of(course: DrawnCourse, skill: int, batch: int, number: int) -> tuple[Array, Array]:
    """Features of all topics and labels (1 or -1) of a skill's batch of examples."""
    rng = Rng.seeded(course.word, 100 + 1000 * skill + batch)
    plane, topics = course.planes[skill], list(course.syllabus.topics[skill])
    table = np.zeros((number, len(TOPICS), FEATURES))
    drawn = _normals(rng, number * len(topics) * FEATURES)
    table[:, topics] = drawn.reshape(number, len(topics), FEATURES)
    points = table.reshape(number, len(TOPICS) * FEATURES)
    wrong = np.array([rng.random() < course.noise[skill] for _ in range(number)])
    return points, np.where((points @ plane > 0) != wrong, 1.0, -1.0)


@lru_cache(maxsize=8192)
def _sums(course: DrawnCourse, skill: int, batch: int) -> Array:
    """The sums of a batch that a regression needs: products of features, then with the label.

    Batch 0 is what the student knows of the skill at the start.
    """
    number = BATCH if batch else course.syllabus.known[skill]
    points, labels = examples_of(course, skill, batch, number)
    return np.column_stack([points.T @ points, points.T @ labels])


def accuracies_of(course: DrawnCourse, sums: Array) -> Array:
    """The accuracy on each skill of the student of each sum, in rows."""
    width = sums.shape[-2]
    weights = np.linalg.solve(sums[..., :width] + RIDGE * np.eye(width), sums[..., width, None])[
        ..., 0
    ]
    inside = (course.planes != 0) * weights[..., None, :]
    length = np.linalg.norm(inside, axis=-1)
    along = (course.planes * weights[..., None, :]).sum(axis=-1)
    cosine = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
    right: Array = 1.0 - np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi
    return right


def sums_after(course: DrawnCourse, orders: Sequence[int]) -> Array:
    """The sums of all that a student has after some orders."""
    skills = range(len(course.signs))
    total = sum((_sums(course, skill, 0) for skill in skills), np.zeros(()))
    for skill in skills:
        for batch in range(1, orders.count(skill) + 1):
            total = total + _sums(course, skill, batch)
    return total


@lru_cache(maxsize=4096)
def accuracies(course: DrawnCourse, orders: tuple[int, ...]) -> tuple[float, ...]:
    """The student's accuracy on each skill after some orders, over all possible questions."""
    return tuple(accuracies_of(course, sums_after(course, orders)).tolist())


def accuracy_on_test(course: DrawnCourse, orders: tuple[int, ...]) -> float:
    return float(course.shares @ np.array(accuracies(course, orders)))


@lru_cache(maxsize=512)
def best_orders(course: DrawnCourse, rounds: int) -> tuple[int, ...]:
    """The best orders known, sorted: by moving orders from skill to skill while it helps.

    A move takes any number of one skill's orders to another. The search starts from all orders of
    one skill, for each skill, and from equal ones.
    """
    skills = len(course.signs)
    sums = _running_sums(course, rounds)
    equal = np.bincount(np.arange(rounds) % skills, minlength=skills)
    ends = [_climb(course, sums, start) for start in (*np.eye(skills, dtype=int) * rounds, equal)]
    _, best = max((value, tuple(counts.tolist())) for value, counts in ends)
    return tuple(skill for skill, number in enumerate(best) for _ in range(number))


def _running_sums(course: DrawnCourse, rounds: int) -> Array:
    """By skill and number of orders, the sums of their examples, the start's included."""
    batches = [
        [_sums(course, skill, batch) for batch in range(rounds + 1)]
        for skill in range(len(course.signs))
    ]
    running: Array = np.cumsum(batches, axis=1)
    return running


def _climb(course: DrawnCourse, sums: Array, counts: Any) -> tuple[float, Any]:
    """The test accuracy and the orders by skill that no move makes better."""
    value = -1.0
    while True:
        found = np.array([counts, *_moves(counts)])
        total = sums[np.arange(len(counts)), found].sum(axis=1)
        values = accuracies_of(course, total) @ course.shares
        best = int(values.argmax())
        if values[best] <= value + 1e-9:
            return value, counts
        value, counts = float(values[best]), found[best]


def _moves(counts: Any) -> Iterator[Any]:
    """All orders by skill after a move."""
    unit = np.eye(len(counts), dtype=int)
    for source, number in enumerate(counts):
        for moved in range(1, number + 1):
            for target in range(len(counts)):
                if target != source:
                    yield counts + moved * (unit[target] - unit[source])


def read_student(course: DrawnCourse, orders: tuple[int, ...], rng: Rng) -> tuple[int, ...]:
    """How many of `ASKED` new validation questions of each skill the student answers right."""
    return tuple(binomial(rng, ASKED, right) for right in accuracies(course, orders))


def share_of_gain(course: DrawnCourse, orders: tuple[int, ...], rounds: int) -> float:
    """The gain of some orders over none, as a share of that of the best orders known; 0 to 1."""
    start = accuracy_on_test(course, ())
    reachable = accuracy_on_test(course, best_orders(course, rounds)) - start
    gain = accuracy_on_test(course, orders) - start
    return min(1.0, max(0.0, gain / max(reachable, LEAST)))


# Drawing


def draw_syllabus(rng: Rng, size: Size, overlaps: str) -> Syllabus:
    """A syllabus whose skills and topics make a forest (overlaps "common"), or a ring ("rare")."""
    names = list(NAMES)
    rng.shuffle(names)
    topics = next(
        topics
        for _ in count()
        for topics in [_draw_topics(rng, size, ring=overlaps == "rare")]
        if topics
    )
    shares = _draw_shares(rng, size)
    known = tuple(0 if share else rng.choice(KNOWN) for share in shares)
    return Syllabus(tuple(names[: size.skills]), topics, shares, known)


def _draw_topics(rng: Rng, size: Size, *, ring: bool) -> tuple[tuple[int, ...], ...]:
    """Topics of each skill, one to three; nothing if one is unused, or no ring where asked."""
    part = list(range(size.topics))  # of topics, by the skills drawn so far
    closed, drawn = False, []
    for _ in range(size.skills):
        mine: list[int] = []
        wanted, free = rng.between(1, 3), list(range(size.topics))
        rng.shuffle(free)
        for topic in free:
            again = part[topic] in {part[one] for one in mine}
            if len(mine) < wanted and (ring or not again):
                closed |= again
                mine.append(topic)
        old, part_of = {part[one] for one in mine}, part[mine[0]]
        part = [part_of if one in old else one for one in part]
        drawn.append(tuple(sorted(mine)))
    used = set(chain.from_iterable(drawn)) == set(range(size.topics))
    return tuple(drawn) if used and closed == ring else ()


def _draw_shares(rng: Rng, size: Size) -> tuple[int, ...]:
    """Percent of the test by skill: some are tested, unequally, the others not."""
    cuts = {2: (70, 30), 3: (50, 30, 20)}[size.tested]
    order = list(range(size.skills))
    rng.shuffle(order)
    shares = [0] * size.skills
    for skill, share in zip(order, cuts, strict=False):
        shares[skill] = share
    return tuple(shares)


def noise_of(share: int) -> tuple[float, ...]:
    """The shares of wrong labels that a skill with a share of the test may have."""
    return NOISY if share else CLEAN


def draw_hidden(rng: Rng, syllabus: Syllabus) -> DrawnCourse:
    """A course of a syllabus: which topics are reversed, wrong labels and examples."""
    signs = tuple(
        tuple(-1 if rng.below(100) < REVERSED else 1 for _ in topics) for topics in syllabus.topics
    )
    noise = tuple(rng.choice(noise_of(share)) for share in syllabus.shares)
    return DrawnCourse(syllabus, signs, noise, rng.word())
