"""What a spectator reads beside the picture of a task."""

from __future__ import annotations

from dataclasses import replace

from palestra import Scene
from palestra.scene import Lines, Part, Saying, Talk

LAST = 2  # sayings: an action and its answer
LETTERS = 200  # of a saying


def spectated(scene: Scene, seat: int | None, caption: str, task: str = "") -> Scene:
    """A task's scene, in which a spectator (`seat` is None) reads the last exchange alone.

    The statement and the notes, which a player needs, would leave a spectator's picture no space.
    `caption` says in a line how far it has come, `task` in a few words what it is.
    """
    if seat is not None:
        return replace(scene, caption=caption)
    parts: list[Part] = []
    for part in scene.parts:
        if isinstance(part, Talk):
            part = Talk(tuple(map(_opening, part.sayings[-LAST:])))
        if not isinstance(part, Lines):
            parts.append(part)
    words = (Lines((task,)),) if task else ()
    return Scene(caption, parts=(*parts, *words), colours=scene.colours)


def _opening(saying: Saying) -> Saying:
    """A saying, or its opening with a sign that more follows; programs as they are."""
    if saying.code or len(saying.text) <= LETTERS:
        return saying
    return replace(saying, text=f"{saying.text[:LETTERS]} …")
