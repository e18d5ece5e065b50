"""People, households and workplaces as arrays, fixed for a whole episode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from palestra.kernel.rng import Rng

from palestra_markets.draws import uniforms

AGES = ("young", "adult", "old")
AGE_SHARES = (0.25, 0.55, 0.20)
REMOTE = 0.4  # of adults with a job that can be done at home
HOUSEHOLD_SIZES = (0.28, 0.35, 0.15, 0.13, 0.09)  # shares of households of 1 to 5 people
WORKPLACE_SIZE = 12
SEXES = ("women", "men")
AREAS = ("north", "middle", "south")
BY_JOB = ("the young", "adults who work at home", "adults who work in place", "the old")
BY_SEX = tuple(
    name.replace("adults", sex) if "adults" in name else f"{name.removeprefix('the ')} {sex}"
    for name in BY_JOB
    for sex in SEXES
)
MOST_ARCHETYPES = len(BY_SEX) * len(AREAS)
ARCHETYPES = {
    1: ("everybody",),
    3: ("the young", "adults", "the old"),
    4: BY_JOB,
    8: BY_SEX,
    MOST_ARCHETYPES: tuple(f"{name} in the {area}" for name in BY_SEX for area in AREAS),
}

Codes = NDArray[np.int8]  # by person
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Town:
    """The people of a town: arrays by person, except `sizes`, which is by archetype."""

    age: NDArray[np.int8]  # an index of AGES
    job: NDArray[np.int8]  # 0 where it can be done at home, else 1
    household: NDArray[np.int32]
    workplace: NDArray[np.int32]  # -1: none
    archetype: NDArray[np.int8]  # the group that decides for the person
    area: NDArray[np.int8]  # an index of AREAS, the same for a household
    sizes: NDArray[np.intp]  # people by archetype
    households: int
    workplaces: int

    @property
    def people(self) -> int:
        return len(self.age)


@dataclass(frozen=True, slots=True)
class Census:
    """What is known of a town that is drawn again."""

    sizes: tuple[int, ...]  # people by archetype
    adults: int


@lru_cache(maxsize=8)
def build_town(people: int, archetypes: int, seed: int, census: Census | None = None) -> Town:
    """A town of `people` in 1, 3, 4, 8 or 24 `archetypes`; households and workplaces are drawn.

    Only adults have a workplace. Archetypes are by age (3), by age and job (4), also by sex (8) and
    by area (24); half of the people are women, and each area has a third of the households. With a
    `census`, everybody is drawn such that it is right, and people live in the areas that it names.
    """
    rng = Rng.seeded(seed, stream=6)
    drawn = uniforms(rng, 3, people)
    age = np.searchsorted(np.cumsum(AGE_SHARES)[:-1], drawn[0], side="right").astype(np.int8)
    job = (drawn[1] >= REMOTE).astype(np.int8)
    sizes = 1 + np.searchsorted(
        np.cumsum(HOUSEHOLD_SIZES)[:-1], uniforms(rng, people), side="right"
    )
    homes = np.repeat(np.arange(people, dtype=np.int32), sizes)[:people]
    sex = (uniforms(Rng.seeded(seed, stream=7), people) >= 0.5).astype(np.int8)
    area = (homes.astype(np.int64) * len(AREAS) // (int(homes[-1]) + 1)).astype(np.int8)
    if census is not None:
        luck = Rng.seeded(seed, stream=8)
        if archetypes == MOST_ARCHETYPES:
            homes, area = settle(sizes, np.array(census.sizes).reshape(-1, len(AREAS)).sum(axis=0))
        age, job, sex = counted(census, age, job, sex, area, luck)
    works = age == AGES.index("adult")
    workplaces = max(1, int(works.sum()) // WORKPLACE_SIZE)
    workplace = np.where(works, (drawn[2] * workplaces).astype(np.int32), np.int32(-1))
    by_job = np.array([0, 1, 3], np.int8)[age] + (works & (job == 1))
    by_sex = (by_job * len(SEXES) + sex).astype(np.int8)
    by_area = (by_sex * len(AREAS) + area).astype(np.int8)
    everybody = np.zeros(people, np.int8)
    group = {1: everybody, 3: age, 4: by_job, 8: by_sex, MOST_ARCHETYPES: by_area}[archetypes]
    counts = np.bincount(group, minlength=archetypes)
    return Town(
        age,
        job,
        np.ascontiguousarray(homes),
        workplace.astype(np.int32),
        np.ascontiguousarray(group.astype(np.int8)),
        area,
        counts,
        int(homes[-1]) + 1,
        workplaces,
    )


def settle(households: Ints, people: Ints) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """The household and the area of each person, where so many people live in each area.

    households: how many people live in each, of which the last of an area may have fewer.
    """
    homes, first = [], 0
    for count in people.tolist():
        last = first + int(np.searchsorted(np.cumsum(households[first:]), count)) + 1
        numbers = np.arange(first, last, dtype=np.int32)
        homes.append(np.repeat(numbers, households[first:last])[:count])
        first = int(homes[-1][-1]) + 1 if count else first
    area = np.repeat(np.arange(len(people), dtype=np.int8), people)
    return np.concatenate(homes), area


def counted(
    census: Census, age: Codes, job: Codes, sex: Codes, area: Codes, rng: Rng
) -> tuple[Codes, Codes, Codes]:
    """Age, job and sex of each person, such that the census is right; what it leaves open stays."""
    sizes, people = np.array(census.sizes), len(age)
    if len(sizes) == 1:
        adult = shuffled(np.array([people - census.adults, census.adults]), rng)
        young = uniforms(rng, people) < AGE_SHARES[0] / (AGE_SHARES[0] + AGE_SHARES[2])
        return np.where(adult == 1, 1, np.where(young, 0, 2)).astype(np.int8), job, sex
    if len(sizes) == len(AGES):
        return shuffled(sizes, rng), job, sex
    if len(sizes) == len(BY_JOB):
        by_job = shuffled(sizes, rng)
    else:
        by_sex = np.empty(people, np.int8)
        places = sizes.reshape(len(BY_SEX), -1)
        for place in range(places.shape[1]):
            there = area == place if places.shape[1] > 1 else np.ones(people, bool)
            by_sex[there] = shuffled(places[:, place], rng)
        by_job, sex = by_sex // len(SEXES), by_sex % len(SEXES)
    age = np.array([0, 1, 1, 2], np.int8)[by_job]
    return age, np.where(age == 1, by_job == 2, job).astype(np.int8), sex


def shuffled(sizes: Ints, rng: Rng) -> Codes:
    """So many people of each kind, in random order."""
    kinds = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
    return kinds[np.argsort(uniforms(rng, len(kinds)), kind="stable")]
