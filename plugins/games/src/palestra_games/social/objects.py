"""Pictures of the objects that players refer to, such as a small green star."""

from __future__ import annotations

from palestra.scene import Card

SPRITES = {"circle": "ball", "square": "square", "star": "star", "heart": "heart"} | {
    shape: shape for shape in ("cross", "moon")
}


def object_card(name: str) -> Card:
    """A card with a picture of an object; its name says colour, shape and size in this order."""
    colour, *more = name.split()
    shape, size = (*more, "", "")[:2]
    return Card(size, colour=colour, label=name, sprite=SPRITES.get(shape, "square"))
