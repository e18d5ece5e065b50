"""Tasks of reading, counting and computing."""

from __future__ import annotations

from palestra import Rng

from palestra_web.pages import group, heading, image, paragraph, table, textbox
from palestra_web.widgets.card import Card, answer, choices, some, task
from palestra_web.widgets.words import (
    COLOURS,
    COUNTRIES,
    LOREM,
    NAMES,
    SHAPES,
    SIZES,
    SURNAMES,
)

Items = list[tuple[str, str, str]]  # size, colour, shape


def nth(number: int) -> str:
    """1st, 2nd, 3rd, 4th."""
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number, 'th')}"


def figures(rng: Rng, count: int) -> Items:
    """Shapes of a size and a colour."""
    shapes = tuple(SHAPES)
    return [(rng.choice(SIZES), rng.choice(COLOURS), rng.choice(shapes)) for _ in range(count)]


@task
def simple_arithmetic(rng: Rng) -> Card:
    """Solve a sum, a difference or a product."""
    a, b = rng.between(0, 10), rng.between(0, 10)
    sign, result = rng.choice((("+", a + b), ("-", a - b), ("x", a * b)))
    body = (paragraph(f"{a} {sign} {b} ="), answer(textbox("", "result")))
    words = "Solve the math problem and type your answer into the textbox. Press submit when done."
    return Card(words, body, {"result": str(result)})


@task
def simple_algebra(rng: Rng) -> Card:
    """Solve for x."""
    x, a = rng.between(-9, 9), rng.between(1, 9)
    left, result = rng.choice(((f"x + {a}", x + a), (f"x - {a}", x - a), (f"{a} - x", a - x)))
    body = (paragraph(f"{left} = {result}"), answer(textbox("x =", "x")))
    words = "Solve for x and type your answer into the textbox. Press Submit when done."
    return Card(words, body, {"x": str(x)})


@task
def visual_addition(rng: Rng) -> Card:
    """Count two heaps of blocks and add them."""
    heaps = rng.between(1, 8), rng.between(1, 8)
    groups = [
        group(name, *[image("block")] * count)
        for name, count in zip(("First", "Second"), heaps, strict=True)
    ]
    words = "Type the total number of blocks into the textbox and press Submit."
    return Card(words, (*groups, answer(textbox("", "total"))), {"total": str(sum(heaps))})


@task
def count_shape(rng: Rng) -> Card:
    """Count the shapes of a size, a colour or a kind."""
    items = figures(rng, rng.between(4, 9))
    what = rng.choice(rng.choice(items))
    count = sum(what in item for item in items)
    near = list(range(max(0, count - 2), count + 3))
    body = (*(image(" ".join(item)) for item in items), *choices(near))
    words = f"How many {what} items are there?"
    return Card(words, body, {"choice": str(count)})


@task
def identify_shape(rng: Rng) -> Card:
    """Say what a shape is."""
    ((size, colour, shape),) = figures(rng, 1)
    words = "Click the button that best describes the figure below."
    return Card(
        words, (image(f"{size} {colour} {shape}"), *choices(list(SHAPES))), {"choice": shape}
    )


@task
def count_sides(rng: Rng) -> Card:
    """Say how many sides a shape has."""
    shape = rng.choice(tuple(SHAPES))
    words = "Press the button that correctly denotes how many sides the shape has."
    return Card(words, (image(shape), *choices(list(range(3, 9)))), {"choice": str(SHAPES[shape])})


@task
def find_word(rng: Rng) -> Card:
    """Find a word of a paragraph by its place."""
    words = [rng.choice(LOREM) for _ in range(rng.between(5, 12))]
    place = rng.between(1, len(words))
    asked = f"Find the {nth(place)} word in the paragraph, type that into the textbox and press"
    body = (paragraph(" ".join(words)), answer(textbox("", "word")))
    return Card(f'{asked} "Submit".', body, {"word": words[place - 1]})


def _person(rng: Rng) -> list[tuple[str, str]]:
    facts = [
        ("First name", rng.choice(NAMES)),
        ("Last name", rng.choice(SURNAMES)),
        ("Year of birth", str(rng.between(1940, 2005))),
        ("Country", rng.choice(COUNTRIES)),
        ("Favourite colour", rng.choice(COLOURS)),
        ("Favourite number", str(rng.between(2, 99))),
    ]
    return some(rng, facts, len(facts))


@task
def read_table(rng: Rng) -> Card:
    """Read one value of a table."""
    facts = _person(rng)
    wanted, value = rng.choice(facts)
    words = f"Enter the value of {wanted} into the text field and press Submit."
    body = (table(("", "Value"), facts), answer(textbox("", "value")))
    return Card(words, body, {"value": value})


@task
def read_table_2(rng: Rng) -> Card:
    """Read two values, into fields that say which."""
    facts = _person(rng)
    wanted = some(rng, facts, 2)
    fields = [textbox(f"{name}:", name) for name, _ in wanted]
    words = "Enter the value that corresponds with each label into the form and submit when done."
    return Card(words, (table(("", "Value"), facts), answer(*fields)), dict(wanted))


@task
def find_greatest(rng: Rng) -> Card:
    """Press the greatest number."""
    numbers = some(rng, range(-50, 100), 6)
    words = "Find and pick the card with the greatest number."
    body = (heading("Cards"), *choices(numbers))
    return Card(words, body, {"choice": str(max(numbers))})
