"""One day of an epidemic over households, workplaces and the streets, in numpy.

Everybody is susceptible, exposed, infectious or recovered (SEIR), and stays at home or goes out.
A susceptible is exposed with chance 1 - exp(-force). The force adds up, times the transmission:
at home, the infectious of the household, whether they stay in or not; at work, for who goes there,
the part of those present who are infectious; outside, for who goes out, the infectious who do over
all people; of one's own contacts, for who goes out, the infectious who do. A weight stands before
each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra.kernel.rng import Rng

from palestra_markets.draws import below
from palestra_markets.population.town import Town

SUSCEPTIBLE, EXPOSED, INFECTIOUS, RECOVERED = range(4)
STAGES = ("susceptible", "exposed", "infectious", "recovered")


@dataclass(frozen=True, slots=True)
class Disease:
    """Transmission a day, mean days exposed and infectious, weights of places and contacts."""

    transmission: float
    latent: float
    infectious: float
    home: float
    work: float
    outside: float
    contact: float = 1.0


def spread(
    town: Town,
    disease: Disease,
    stage: Any,
    home: Any,
    at_work: Any,
    rng: Rng,
    meetings: Any = None,
) -> int:
    """One day, `stage` in place; `home` and `at_work` are masks, `meetings` pairs, shape (2, n).

    Returns how many were exposed.
    """
    ill = stage == INFECTIOUS
    force = force_of(town, disease, ill, home, at_work, meetings)
    open_to = np.flatnonzero((stage == SUSCEPTIBLE) & (force > 0))
    caught = open_to[below(rng, -np.expm1(-force[open_to]))]
    waiting, sick = np.flatnonzero(stage == EXPOSED), np.flatnonzero(ill)
    breaking = waiting[below(rng, np.full(len(waiting), 1 / disease.latent))]
    healed = sick[below(rng, np.full(len(sick), 1 / disease.infectious))]
    stage[caught], stage[breaking], stage[healed] = EXPOSED, INFECTIOUS, RECOVERED
    return len(caught)


def force_of(
    town: Town, disease: Disease, ill: Any, home: Any, at_work: Any, meetings: Any = None
) -> Any:
    """The force of infection on everybody."""
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
        walking = ill & ~home
        met = np.zeros(town.people)
        for one, other in (meetings, meetings[::-1]):
            met += np.bincount(other[walking[one]], minlength=town.people)
        force += disease.contact * met * ~home
    force *= disease.transmission
    return force
