"""Tasks of finding the right thing and pressing it."""

from __future__ import annotations

from palestra import Rng

from palestra_web.pages import (
    Element,
    action,
    button,
    checkbox,
    deed,
    form,
    group,
    heading,
    link,
    listing,
    paragraph,
    radio,
    table,
)
from palestra_web.widgets.card import DONE, Card, answer, choices, some, task
from palestra_web.widgets.words import COLOURS, LOREM, NAMES, SYMBOLS, SYNONYMS, WORDS


def blurb(rng: Rng, count: int = 12) -> str:
    """A few words that mean nothing."""
    return " ".join(some(rng, LOREM, count)).capitalize() + "."


@task
def click_test(rng: Rng) -> Card:
    """Press the only button."""
    return Card("Click the button.", choices(["Click Me!"]), {"choice": "Click Me!"})


@task
def click_test_2(rng: Rng) -> Card:
    """Press one of two buttons."""
    names = some(rng, ("ONE", "TWO"), 2)
    return Card("Click button ONE.", choices(names), {"choice": "ONE"})


@task
def click_button(rng: Rng) -> Card:
    """Press the button of a name."""
    names = some(rng, WORDS, 6)
    wanted = rng.choice(names)
    return Card(f'Click on the "{wanted}" button.', choices(names), {"choice": wanted})


@task
def click_button_sequence(rng: Rng) -> Card:
    """Press two buttons, one after the other."""
    names = some(rng, ("ONE", "TWO"), 2)
    words = "Click button ONE, then click button TWO."
    return Card(words, choices(names), {"choice": "ONE"}, ({"choice": "TWO"},))


@task
def ascending_numbers(rng: Rng) -> Card:
    """Press numbers from the smallest to the largest."""
    numbers = some(rng, range(1, 100), 5)
    first, *others = [{"choice": str(number)} for number in sorted(numbers)]
    return Card("Click on the numbers in ascending order.", choices(numbers), first, tuple(others))


@task
def click_link(rng: Rng) -> Card:
    """Follow the link of a name among words."""
    names = some(rng, WORDS, 5)
    wanted = rng.choice(names)
    parts = [
        part for name in names for part in (paragraph(blurb(rng)), deed(name, DONE, choice=name))
    ]
    return Card(f'Click on the link "{wanted}".', tuple(parts), {"choice": wanted})


@task
def click_dialog(rng: Rng) -> Card:
    """Close a dialogue box by its x."""
    title, *others = some(rng, WORDS, 4)
    box = group(title, paragraph(blurb(rng)), *choices(["x"]))
    words = 'Close the dialog box by clicking the "x".'
    return Card(words, (*choices(others), box), {"choice": "x"})


@task
def click_dialog_2(rng: Rng) -> Card:
    """Press a button of a dialogue box."""
    names = ["Cancel", "OK", "x"]
    wanted = rng.choice(names)
    words = f'Click the button in the dialog box labeled "{wanted}".'
    box = group(rng.choice(WORDS), paragraph(blurb(rng)), *choices(some(rng, names, 3)))
    return Card(words, (box,), {"choice": wanted})


def _boxes(rng: Rng, low: int, high: int, least: int) -> Card:
    names = some(rng, WORDS, rng.between(low, high))
    wanted = some(rng, names, rng.between(least, len(names) - 1))
    boxes = [checkbox(name, name) for name in names]
    words = f"Select {', '.join(wanted)} and click Submit."
    return Card(words, (answer(*boxes),), dict.fromkeys(wanted, "on"))


@task
def click_checkboxes(rng: Rng) -> Card:
    """Tick the boxes of some names and no others."""
    return _boxes(rng, 3, 6, 1)


@task
def click_checkboxes_large(rng: Rng) -> Card:
    """The same with up to twenty boxes, at least five to tick."""
    return _boxes(rng, 12, 20, 5)


@task
def click_checkboxes_soft(rng: Rng) -> Card:
    """Tick the boxes whose words mean what other words mean."""
    pairs = some(rng, SYNONYMS, 6)
    wanted = some(rng, pairs, rng.between(1, 4))
    boxes = [checkbox(word, word) for _, word in pairs]
    words = f"Select words similar to {', '.join(word for word, _ in wanted)} and click Submit."
    return Card(words, (answer(*boxes),), {word: "on" for _, word in wanted})


@task
def click_option(rng: Rng) -> Card:
    """Pick one of several options."""
    names = some(rng, WORDS, rng.between(3, 6))
    wanted = rng.choice(names)
    options = [radio(name, "option", name) for name in names]
    return Card(f"Select {wanted} and click Submit.", (answer(*options),), {"option": wanted})


@task
def click_tab(rng: Rng) -> Card:
    """Open the tab of a number."""
    names = [f"Tab #{number}" for number in range(1, rng.between(3, 5) + 1)]
    wanted = rng.choice(names)
    tabs = [deed(name, DONE, choice=name) for name in names]
    return Card(f"Click on {wanted}.", (*tabs, paragraph(blurb(rng))), {"choice": wanted})


@task
def click_tab_2(rng: Rng) -> Card:
    """Find a link in one of three tabs."""
    tabs = ("/tab-1", "/tab-2", "/tab-3")
    names = some(rng, WORDS, 9)
    wanted = rng.choice(names)
    bar = [link(f"Tab #{number}", tab) for number, tab in enumerate(tabs, start=1)]
    pages = {
        tab: (*bar, *(deed(name, DONE, choice=name) for name in names[3 * index : 3 * index + 3]))
        for index, tab in enumerate(tabs)
    }
    words = f'Switch between the tabs to find and click on the link "{wanted}".'
    return Card(words, tuple(bar), {"choice": wanted}, pages=pages, hidden=tabs)


@task
def click_collapsible(rng: Rng) -> Card:
    """Expand a section; sent before, the form is wrong."""
    shown = (link("Section", "/"), paragraph(blurb(rng)))
    body = (link("Section", "/open"), form(DONE, button("Submit", "section", "shut"), changes=True))
    opened = (*shown, form(DONE, button("Submit", "section", "open"), changes=True))
    words = "Expand the section below and click Submit."
    return Card(words, body, {"section": "open"}, pages={"/open": opened})


@task
def click_collapsible_2(rng: Rng) -> Card:
    """Find a link in one of several sections."""
    sections = tuple([f"/section-{number}" for number in range(1, rng.between(3, 5) + 1)])
    names = some(rng, WORDS, 2 * len(sections))
    wanted = rng.choice(names)
    pages = {}
    for index, opened in enumerate(sections):
        inside = [deed(n, DONE, choice=n) for n in names[2 * index : 2 * index + 2]]
        pages[opened] = (*_sections(sections), paragraph(blurb(rng)), *inside)
    words = f'Expand the sections below, to find and click on the link "{wanted}".'
    body = _sections(sections)
    return Card(words, body, {"choice": wanted}, pages=pages, hidden=sections)


def _sections(addresses: tuple[str, ...]) -> tuple[Element, ...]:
    return tuple([link(f"Section #{n}", to) for n, to in enumerate(addresses, start=1)])


@task
def click_menu(rng: Rng) -> Card:
    """Go down a menu of three levels."""
    names = iter(some(rng, NAMES, 3 + 6 + 12))
    pages, paths = {}, []
    top = [next(names) for _ in range(3)]
    menu = tuple([link(name, f"/{name}") for name in top])
    for name in top:
        under = [next(names) for _ in range(2)]
        pages[f"/{name}"] = (*menu, group(name, *(link(n, f"/{name}/{n}") for n in under)))
        for second in under:
            leaves = [next(names) for _ in range(2)]
            ends = [deed(leaf, DONE, choice=leaf) for leaf in leaves]
            pages[f"/{name}/{second}"] = (*pages[f"/{name}"], group(second, *ends))
            paths += [(name, second, leaf) for leaf in leaves]
    path = rng.choice(paths)
    return Card(f"Select {' > '.join(path)}.", menu, {"choice": path[-1]}, pages=pages)


@task
def navigate_tree(rng: Rng) -> Card:
    """Find a file or folder in a tree of folders."""
    names = some(rng, NAMES, 12)
    folders, files = names[:3], names[3:]
    addresses = tuple([f"/folder-{number}" for number in (1, 2, 3)])
    top = [
        (link(f"Open {name}", to), deed(name, DONE, choice=name))
        for name, to in zip(folders, addresses, strict=True)
    ]
    pages = {}
    for index, to in enumerate(addresses):
        inside = [deed(name, DONE, choice=name) for name in files[3 * index : 3 * index + 3]]
        opened = (*top[index], listing(*inside))
        pages[to] = (listing(*top[:index], opened, *top[index + 1 :]),)
    wanted = rng.choice(names)
    words = (
        f'Navigate through the file tree. Find and click on the folder or file named "{wanted}".'
    )
    return Card(words, (listing(*top),), {"choice": wanted}, pages=pages, hidden=addresses)


@task
def click_widget(rng: Rng) -> Card:
    """Use a widget of a kind."""
    wanted = rng.choice(("checkbox", "radio", "button", "link"))
    fields = some(rng, (checkbox("", "checkbox"), radio("", "radio", "on")), 2)
    parts = some(rng, (answer(*fields), deed("link", DONE, choice="link")), 2)
    ticked = wanted in ("checkbox", "radio")
    right = {wanted: "on"} if ticked else {"choice": "link"} if wanted == "link" else {}
    words = f'Click on a "{wanted}" widget{" and submit" * ticked}.'
    return Card(words, tuple(parts), right)


@task
def click_color(rng: Rng) -> Card:
    """Press the box of a colour."""
    names = some(rng, COLOURS, 4)
    wanted = rng.choice(names)
    return Card(f"Click on the {wanted} colored box.", choices(names), {"choice": wanted})


@task
def unicode_test(rng: Rng) -> Card:
    """Press the button of a symbol."""
    names = some(rng, SYMBOLS, 5)
    wanted = rng.choice(names)
    return Card(f'Click on the "{wanted}" button.', choices(names), {"choice": wanted})


@task
def grid_coordinate(rng: Rng) -> Card:
    """Press the crossing of a grid that has given coordinates."""
    span = range(-2, 3)
    x, y = rng.choice(span), rng.choice(span)
    rows: list[list[str | Element]] = [
        [str(b), *(action("+", DONE, choice=f"{a},{b}") for a in span)] for b in reversed(span)
    ]
    grid = table(("", *map(str, span)), rows)
    return Card(f"Click on the grid coordinate ({x},{y}).", (grid,), {"choice": f"{x},{y}"})


@task
def sign_agreement(rng: Rng) -> Card:
    """Say yes or no to a long text."""
    wanted = rng.choice(("Agree", "Cancel"))
    terms = [paragraph(blurb(rng, 25)) for _ in range(8)]
    words = f'Scroll to the end of the agreement and click "{wanted}".'
    body = (heading("Agreement"), *terms, *choices(some(rng, ("Agree", "Cancel"), 2)))
    return Card(words, body, {"choice": wanted})
