"""What may be hidden in a drawn course, and how likely it is after the student's readings.

Many ways in which a course may be are drawn from its chances: which topics are reversed, and how
often labels are wrong. For each, the student's accuracies are expected in closed form: a topic's
weight is the pull of all its examples over their number, and what single examples add at random
counts by its variance. The closed form leaves out which examples came; `SLACK` stands for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from palestra import Rng

from palestra_tasks.worlds.courses import (
    ASKED,
    BATCH,
    FEATURES,
    REVERSED,
    RIDGE,
    TOPICS,
    DrawnCourse,
    Syllabus,
    noise_of,
)
from palestra_tasks.worlds.student import Array

SLACK = 0.1  # standard deviation of an accuracy around what is expected, over random orders
KEPT = 0.85  # of that from one reading to the next: its correlation
ASKING = 0.25 / ASKED  # variance of a reading around the accuracy
FRESH = SLACK**2 + ASKING
CHANGED = SLACK**2 * (1 - KEPT**2) + ASKING * (1 + KEPT**2)
PULL = math.sqrt(2 / math.pi)  # of an example with a right label on its plane's weight


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """Ways in which a course may be."""

    syllabus: Syllabus
    signs: NDArray[np.int64]  # by way, skill and topic: 1, -1, or 0 where a skill lacks the topic
    noise: Array  # by way and skill: the share of wrong labels

    def expected(
        self, taught: Sequence[int], ways: NDArray[np.int64] | slice = slice(None)
    ) -> Array:
        """The accuracies expected after some orders, by way and skill."""
        orders = np.bincount(np.array(taught, np.int64), minlength=len(self.noise[0]))
        skills = np.arange(len(orders))
        right: Array = self._expected(orders[None], ways, skills)[:, 0]
        return right

    def on_test(self, orders: NDArray[np.int64], ways: NDArray[np.int64]) -> Array:
        """The accuracy on the test that is expected after each row of orders by skill.

        It is the mean over ways of `expected`, weighted by the shares, of many orders at once.
        """
        tested = np.flatnonzero(self.syllabus.shares)
        right = self._expected(orders, ways, tested).mean(axis=0)
        found: Array = right @ np.array(self.syllabus.shares)[tested] / 100
        return found

    def _expected(
        self,
        orders: NDArray[np.int64],
        ways: NDArray[np.int64] | slice,
        skills: NDArray[np.int64],
    ) -> Array:
        """The accuracies of some skills, by way, row of orders by skill, and skill."""
        has = (self.signs[0] != 0).astype(np.float64)
        planes = self.signs[ways] / np.sqrt(has.sum(axis=1))[:, None]
        given = np.array(self.syllabus.known) + BATCH * orders
        seen = given @ has + RIDGE  # examples of each topic, and the ridge's
        pulls = given * (PULL * (1 - 2 * self.noise[ways]))[:, None, :]
        weights = pulls @ planes / seen  # by way, row and topic
        spread = FEATURES * (seen - RIDGE) / seen**2
        along = weights @ planes[:, skills].swapaxes(1, 2)
        length = np.sqrt((weights**2 + spread) @ has[skills].T)
        cosine = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
        right: Array = 1.0 - np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi
        return right

    def weights(self, orders: Sequence[int], readings: Sequence[Sequence[int]]) -> Array:
        """How likely each way is, given readings before each order and after the last.

        An order of -1 taught nothing; a reading of -1 was not shown.
        """
        likely = np.zeros(len(self.signs))
        before = np.zeros((len(self.signs), len(self.noise[0])))
        known = np.zeros(len(self.noise[0]), bool)
        for number, reading in enumerate(readings):
            taught = tuple(sorted(one for one in orders[:number] if one >= 0))
            shown = np.array(reading) >= 0
            misses = np.where(shown, np.array(reading) / ASKED - _expected(self, taught), 0.0)
            news = np.where(shown, misses - KEPT * before, 0.0)
            likely -= (news**2 / np.where(known, CHANGED, FRESH)).sum(axis=1) / 2
            before, known = misses, shown
        chances: Array = np.exp(likely - likely.max())
        return chances / chances.sum()


@lru_cache(maxsize=64)
def _expected(beliefs: Beliefs, taught: tuple[int, ...]) -> Array:
    """What is expected after some orders; each turn asks again for all turns before."""
    return beliefs.expected(taught)


@lru_cache(maxsize=16)
def beliefs_of(syllabus: Syllabus, number: int) -> Beliefs:
    """So many ways in which a course may be; always the same ones for a syllabus."""
    rng = Rng.seeded(0, 62)
    has = np.zeros((len(syllabus.topics), len(TOPICS)), np.int64)
    for skill, topics in enumerate(syllabus.topics):
        has[skill, list(topics)] = 1
    drawn = _uniform(rng, number, has.size).reshape(number, *has.shape)
    signs = has * np.where(drawn < REVERSED / 100, -1, 1)
    shares = [np.array(noise_of(share)) for share in syllabus.shares]
    chosen = _uniform(rng, number, len(has))
    noise = [
        kinds[(len(kinds) * one).astype(int)] for kinds, one in zip(shares, chosen.T, strict=True)
    ]
    return Beliefs(syllabus, signs, np.column_stack(noise))


def _uniform(rng: Rng, number: int, width: int) -> Array:
    return np.array([rng.random() for _ in range(number * width)]).reshape(number, width)


def imagine_course(
    syllabus: Syllabus,
    orders: Sequence[int],
    readings: Sequence[Sequence[int]],
    rng: Rng,
) -> DrawnCourse:
    """A course drawn given what was read; its directions and examples are new ones."""
    beliefs = beliefs_of(syllabus, 500)
    way = rng.weighted(beliefs.weights(orders, readings).tolist())
    signs = tuple(
        tuple(int(beliefs.signs[way, skill, topic]) for topic in topics)
        for skill, topics in enumerate(syllabus.topics)
    )
    return DrawnCourse(syllabus, signs, tuple(beliefs.noise[way].tolist()), rng.word())
