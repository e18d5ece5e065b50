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
ARCHETYPES = {
    1: ("everybody",),
    3: ("the young", "adults", "the old"),
    4: BY_JOB,
    8: BY_SEX,
    24: tuple(f"{name} in the {area}" for name in BY_SEX for area in AREAS),
}


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


@lru_cache(maxsize=8)
def build_town(people: int, archetypes: int, seed: int) -> Town:
    """A town of `people` in 1, 3, 4, 8 or 24 `archetypes`; households and workplaces are drawn.

    Only adults have a workplace. Archetypes are by age (3), by age and job (4), also by sex (8) and
    by area (24); half of the people are women, and each area has a third of the households.
    """
    rng = Rng.seeded(seed, stream=6)
    drawn = uniforms(rng, 3, people)
    age = np.searchsorted(np.cumsum(AGE_SHARES)[:-1], drawn[0], side="right").astype(np.int8)
    job = (drawn[1] >= REMOTE).astype(np.int8)
    sizes = 1 + np.searchsorted(
        np.cumsum(HOUSEHOLD_SIZES)[:-1], uniforms(rng, people), side="right"
    )
    homes = np.repeat(np.arange(people, dtype=np.int32), sizes)[:people]
    works = age == AGES.index("adult")
    workplaces = max(1, int(works.sum()) // WORKPLACE_SIZE)
    workplace = np.where(works, (drawn[2] * workplaces).astype(np.int32), np.int32(-1))
    by_job = np.array([0, 1, 3], np.int8)[age] + ((age == AGES.index("adult")) & (job == 1))
    sex = (uniforms(Rng.seeded(seed, stream=7), people) >= 0.5).astype(np.int8)
    area = (homes.astype(np.int64) * len(AREAS) // (int(homes[-1]) + 1)).astype(np.int8)
    by_sex = (by_job * len(SEXES) + sex).astype(np.int8)
    by_area = (by_sex * len(AREAS) + area).astype(np.int8)
    everybody = np.zeros(people, np.int8)
    group = {1: everybody, 3: age, 4: by_job, 8: by_sex, 24: by_area}[archetypes]
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
