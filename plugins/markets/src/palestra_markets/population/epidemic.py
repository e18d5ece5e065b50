"""One day of an epidemic over households, workplaces and the streets, in numpy.

Everybody is susceptible, exposed, infectious or recovered (SEIR), and stays at home or goes out.
A susceptible person is exposed with chance 1 - exp(-force). The force on a person is the
transmission times the sum of four parts, each with a weight of its own:

- at home: the number of infectious members of the household, at home or not;
- at work, for people who are there: the share of those present who are infectious;
- outside, for people who go out: the number of infectious people who do, divided by all people;
- given contacts, for people who go out: the number of infectious contacts who do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from palestra.kernel.rng import Rng

from palestra_markets.draws import below
from palestra_markets.population.town import Town

SUSCEPTIBLE, EXPOSED, INFECTIOUS, RECOVERED = range(4)
STAGES = ("susceptible", "exposed", "infectious", "recovered")

Mask = NDArray[np.bool_]  # by person
Pairs = NDArray[np.int32]  # of people, shape (2, n)


@dataclass(frozen=True, slots=True)
class Disease:
    """How an illness spreads and how long it lasts."""

    transmission: float  # a day
    latent: float  # mean days from exposure to infectiousness
    infectious: float  # mean days for which a person is infectious
    home: float  # weights of the places
    work: float
    outside: float
    contact: float = 1.0  # weight of the given contacts


def spread(
    town: Town,
    disease: Disease,
    stage: NDArray[np.int8],
    home: Mask,
    at_work: Mask,
    rng: Rng,
    meetings: Pairs | None = None,
) -> int:
    """Play one day, changing `stage` in place; return the number of people newly exposed.

    home, at_work: who stays at home, and who is at a workplace.
    """
    ill = stage == INFECTIOUS
    force = force_of(town, disease, ill, home, at_work, meetings)
    at_risk = np.flatnonzero((stage == SUSCEPTIBLE) & (force > 0))
    caught = at_risk[below(rng, -np.expm1(-force[at_risk]))]
    waiting, sick = np.flatnonzero(stage == EXPOSED), np.flatnonzero(ill)
    breaking = waiting[below(rng, np.full(len(waiting), 1 / disease.latent))]
    healed = sick[below(rng, np.full(len(sick), 1 / disease.infectious))]
    stage[caught], stage[breaking], stage[healed] = EXPOSED, INFECTIOUS, RECOVERED
    return len(caught)


def force_of(
    town: Town,
    disease: Disease,
    ill: Mask,
    home: Mask,
    at_work: Mask,
    meetings: Pairs | None = None,
) -> NDArray[np.float64]:
    """The force of infection on every person; `ill` marks the infectious."""
    sick = np.flatnonzero(ill)
    force = np.zeros(town.people)
    if disease.home:
        living = np.bincount(town.household[sick], minlength=town.households)
        force += disease.home * living[town.household]
    if disease.work:
        there = np.flatnonzero(at_work)
        place = town.workplace[there]
        present = np.bincount(place, minlength=town.workplaces)
        bringing = np.bincount(place[ill[there]], minlength=town.workplaces)
        force[there] += disease.work * (bringing / np.maximum(1, present))[place]
    if disease.outside:
        walking = int((~home[sick]).sum())
        force += disease.outside * walking / town.people * ~home
    if meetings is not None:
        walkers = ill & ~home
        met = np.zeros(town.people)
        for one, other in (meetings, meetings[::-1]):
            met += np.bincount(other[walkers[one]], minlength=town.people)
        force += disease.contact * met * ~home
    force *= disease.transmission
    return force
