"""Who is ill and who is out of work in a town of which a player knows numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from palestra.kernel.rng import Rng

from palestra_markets.draws import uniforms
from palestra_markets.population.epidemic import EXPOSED, INFECTIOUS, RECOVERED, SUSCEPTIBLE, Mask
from palestra_markets.population.town import Town


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of an epidemic."""

    counts: Sequence[int]  # people by stage
    caught: Sequence[int]  # people who fell ill since the beginning, by group
    area: int = -1  # of which a player reads the news; -1 for none
    ill_there: int = 0  # infectious people in that area


def draw_stages(town: Town, known: Figures, rng: Rng) -> NDArray[np.int8]:
    """The stage of each person, as the figures say.

    Those who caught it are random members of their groups. Who was infectious at the beginning is a
    random person, but there are as many in an area as its news need.
    """
    here = town.area == known.area
    luck = uniforms(rng, 2, town.people)
    fell = first_of_groups(town.archetype, known.caught, luck[0])
    others = sum(known.counts) - known.counts[SUSCEPTIBLE] - int(fell.sum())
    ill_elsewhere = known.counts[INFECTIOUS] - known.ill_there
    touched = fell.copy()  # everybody who is not susceptible
    for place, ill in ((here, known.ill_there), (~here, ill_elsewhere)):
        missing = max(0, ill - int((fell & place).sum()))
        touched |= first_of(place & ~touched, missing, luck[0])
        others -= missing
    touched |= first_of(~touched, others, luck[0])
    sick = first_of(touched & here, known.ill_there, luck[1])
    sick |= first_of(touched & ~here, ill_elsewhere, luck[1])
    exposed = first_of(touched & ~sick, known.counts[EXPOSED], luck[1])
    stage = np.where(touched, np.int8(RECOVERED), np.int8(SUSCEPTIBLE))
    stage[exposed], stage[sick] = EXPOSED, INFECTIOUS
    return stage


def draw_jobs(town: Town, jobless: int, rng: Rng) -> Mask | None:
    """Who is employed, where so many are not: adults who work in place.

    None where there are not so many of them.
    """
    works = town.workplace >= 0
    in_place = works & (town.job == 1)
    if int(in_place.sum()) < jobless:
        return None
    employed: Mask = works & ~first_of(in_place, jobless, uniforms(rng, town.people))
    return employed


def first_of(among: Mask, count: int, order: NDArray[np.float64]) -> Mask:
    """The first people of some, in an order."""
    found, chosen = np.zeros(len(among), bool), np.flatnonzero(among)
    found[chosen[np.argsort(order[chosen], kind="stable")[:count]]] = True
    return found


def first_of_groups(
    group: NDArray[np.int8], counts: Sequence[int], order: NDArray[np.float64]
) -> Mask:
    """The first people of every group, so many of each."""
    found, by_group = np.zeros(len(group), bool), np.lexsort((order, group))
    sizes = np.bincount(group, minlength=len(counts))
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found[by_group] = place < np.repeat(np.asarray(counts), sizes)
    return found
