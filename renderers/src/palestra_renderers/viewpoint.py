"""A scene as a person at the table sees it: their own place nearest, everybody by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import groupby
from typing import Any

from palestra import Grid, Scene
from palestra.scene import Cards, Dice, Graph, Hexes, Part, Plane, RoundTable

BOARDS = (Grid, Hexes, Graph, Plane)  # whose words may be the names of places in moves


def nearest(scene: Scene, player: str) -> Scene:
    """The scene with the player at the lower end of round tables, and their own row the lowest."""
    own = {player, "you"}

    def is_own(part: Part) -> bool:
        return isinstance(part, Cards | Dice) and part.owner in own

    parts: list[Part] = []
    for _, run in groupby(scene.all_parts(), lambda part: isinstance(part, Cards | Dice)):
        parts += sorted(run, key=is_own)
    return scene.with_parts([_seated(part, own) for part in parts])


def _seated(part: Part, own: set[str]) -> Part:
    """A round table with the viewer first, if they sit there; other parts as they are."""
    if not isinstance(part, RoundTable):
        return part
    count = len(part.people)
    first = next((n for n, person in enumerate(part.people) if person.name in own), 0)
    people = tuple(
        person if person.vote is None else replace(person, vote=(person.vote - first) % count)
        for person in (*part.people[first:], *part.people[:first])
    )
    links = tuple(
        replace(link, start=(link.start - first) % count, end=(link.end - first) % count)
        for link in part.links
    )
    return replace(part, people=people, links=links)


def with_names(scene: Scene, names: Mapping[str, str]) -> Scene:
    """The scene with what people are called in place of their players' names.

    Boards stay as they are.
    """
    if not names:
        return scene
    longest_first = sorted(names, key=len, reverse=True)
    player = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return player.sub(lambda found: names[found[0]], value)
        if isinstance(value, tuple):
            return tuple(map(renamed, value))
        if not is_dataclass(value) or isinstance(value, (*BOARDS, type)):
            return value
        return replace(value, **{f.name: renamed(getattr(value, f.name)) for f in fields(value)})

    shown = scene.with_parts([renamed(part) for part in scene.all_parts()])
    return replace(shown, caption=renamed(scene.caption))
