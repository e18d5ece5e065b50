"""StateFactory: a state as objects with attributes, and its similarity to a goal of that form."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import fitting, lines_of, tag_of

Objects = Mapping[str, Mapping[str, Any]]


@reward(
    "statefactory",
    shape="episode",
    needs=("objects",),
    paper="Reward Prediction with Factorized World States",
    check="test_a_state_is_as_near_as_its_objects_attributes",
    cost="assignment",
)
def statefactory(
    record: EpisodeRecord,
    *,
    rise: Annotated[bool, Meta(description="whether to pay the change in similarity")] = False,
) -> Floats:
    """How similar the state's objects are to the goal's, attribute by attribute.

    A turn gets the similarity after it, from 0 to 1; with `rise`, the change in similarity.

    The tag "objects" has, for each turn, the objects that exist after it, with their attributes
    (`{"door": {"open": true}}`); the tag "goal" has the same form. A seat's changes start from 0
    and sum to its last similarity. "Reward Prediction with Factorized World States".
    """
    states = tag_of(record, "objects", "statefactory", "objects")
    goal = tag_of(record, "goal", "statefactory", "objects")
    found = fitting([likeness(state, goal) for state in states], record, "objects")
    if not rise:
        return found
    paid = np.empty(found.size)
    for turns in lines_of(record):
        paid[turns] = np.diff(found[turns], prepend=0.0)
    return paid


def likeness(state: Objects, goal: Objects) -> float:
    """Mean over the goal's objects of how well the object matched to each has its attributes.

    Objects are matched one to one by their names. A missing attribute counts 0, and each object is
    weighted by how well its name matches.
    """
    from scipy.optimize import linear_sum_assignment

    if not goal:
        raise InvalidOption("a goal must name at least one object")
    if not state:
        return 0.0
    names, wanted = list(state), list(goal)
    alike = np.array([[_alike(have, want) for have in names] for want in wanted])
    rows, columns = linear_sum_assignment(alike, maximize=True)
    held = [
        alike[row, column] * _held(state[names[column]], goal[wanted[row]])
        for row, column in zip(rows, columns, strict=True)
    ]
    return float(sum(held) / len(wanted))


def _held(have: Mapping[str, Any], want: Mapping[str, Any]) -> float:
    if not want:
        return 1.0  # the goal asks only that the object exists
    shares = [_alike(have[name], value) for name, value in want.items() if name in have]
    return sum(shares) / len(want)


def _alike(one: Any, other: Any) -> float:
    """1 for equal values, closeness for numbers, character similarity for strings, else 0."""
    if type(one) is type(other) and one == other:
        return 1.0
    if isinstance(one, bool) or isinstance(other, bool):
        return float(one == other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return float(max(0.0, 1 - abs(one - other) / max(abs(one), abs(other), 1e-12)))
    if isinstance(one, str) and isinstance(other, str):
        return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
    return 0.0
