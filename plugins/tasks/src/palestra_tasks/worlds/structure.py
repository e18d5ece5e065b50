"""The structure of a planning world, whatever its objects, facts and operators are called."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from palestra_tasks.worlds.planning import Action, PlannedWorld

Steps = frozenset[tuple[frozenset[str], frozenset[str], frozenset[str]]]  # needs, adds, deletes


def structure(planned: PlannedWorld) -> str:
    """A digest that is equal for worlds that differ only in names and in what never matters.

    Facts and ground actions are the nodes of a graph whose colours are refined by those of their
    neighbours until no more can be told apart (Weisfeiler and Leman). What cannot come true, always
    holds, or has no part in reaching the goal is left out. Few different worlds have one digest.
    """
    steps = steps_that_matter(planned)
    facts = planned.goal.union(*(part for step in steps for part in step))
    colours = {f: _digest((f in planned.start, f in planned.goal)) for f in sorted(facts)}
    told_apart = 0
    while len(set(colours.values())) > told_apart:
        told_apart = len(set(colours.values()))
        colours = _refined(colours, steps)
    return _digest(sorted(colours.values()))


def _refined(colours: dict[str, str], steps: Steps) -> dict[str, str]:
    """The colours of facts after one look at the actions in which they occur."""
    around: dict[str, list[str]] = {fact: [] for fact in colours}
    for step in steps:
        own = _digest([sorted(colours[fact] for fact in part) for part in step])
        for role, part in enumerate(step):
            for fact in part:
                around[fact].append(f"{role} {own}")
    return {fact: _digest((colours[fact], sorted(around[fact]))) for fact in colours}


def steps_that_matter(planned: PlannedWorld) -> Steps:
    """What different ground actions do that can be carried out and have a part in some plan."""
    actions = _possible(planned)
    ever_deleted = frozenset[str]().union(*(action.deletes for action in actions))
    always = planned.start - ever_deleted
    wanted, grown = planned.goal, True
    while grown:
        helping = [action for action in actions if action.adds & wanted - always]
        more = wanted.union(*(action.needs - always for action in helping))
        grown, wanted = more != wanted, more
    return frozenset((a.needs - always, a.adds & wanted, a.deletes & wanted) for a in helping)


def _possible(planned: PlannedWorld) -> list[Action]:
    """The actions whose needs can come true if nothing is ever deleted."""
    reached, left = planned.start, list(planned.actions)
    found: list[Action] = []
    while new := [action for action in left if action.needs <= reached]:
        found += new
        left = [action for action in left if not action.needs <= reached]
        reached = reached.union(*(action.adds for action in new))
    return found


def _digest(value: Iterable[object]) -> str:
    return blake2b(repr(value).encode(), digest_size=12).hexdigest()
