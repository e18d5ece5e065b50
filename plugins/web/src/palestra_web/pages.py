"""Pages as trees of roles and names, the way an accessibility tree shows them.

A page is a value. Elements that can be acted on (links, buttons, fields, options) are numbered
from 1 in document order, and an agent names them by number. The same tree is written as lines for
a reader (here) and as HTML for a browser (`html.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

ACTS = frozenset(
    ("link", "button", "textbox", "checkbox", "radio", "combobox", "option")
)  # roles that have a number
FIELDS = frozenset(("textbox", "checkbox", "radio", "combobox"))  # roles that a form sends
LONGEST_LINE = 400  # characters of a name that a reader sees

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\s]+")


class Element(msgspec.Struct, frozen=True):
    """A node of a page: its ARIA role, its name and what it does.

    to: the address that a link opens, or that a form is sent to: by GET, or by POST if `changes`.
    field: the name of a field in its form.
    value: a field's initial text, or what a button, a checkbox or a radio button sends.
    chosen: whether it is ticked or picked initially.
    changes: whether a form changes the site. A link that does is a complete form (see `deed`).
    level: the level of a heading.
    lines: how many lines a textbox has; one of several lines is a text area.
    """

    role: str
    name: str = ""
    children: tuple[Element, ...] = ()
    to: str = ""
    field: str = ""
    value: str = ""
    chosen: bool = False
    changes: bool = False
    level: int = 0
    lines: int = 1

    def typed(self, text: str) -> str:
        """The content of the field after a text is entered."""
        if self.lines == 1:
            return clean(text)
        return "\n".join([clean(line) for line in text.replace("\r\n", "\n").split("\n")])


def clean(text: str) -> str:
    """Text as a browser shows it: one space for white space, and for control characters and those
    that turn the direction of text."""
    if text.isprintable() and "  " not in text:  # a shortcut, three times faster
        return text.strip()
    return _UNSEEN.sub(" ", text).strip()


def heading(name: str, level: int = 1) -> Element:
    """A heading of a level from 1, the page's own."""
    return Element("heading", clean(name), level=level)


def paragraph(text: str) -> Element:
    """A paragraph of text."""
    return Element("paragraph", clean(text))


def image(name: str) -> Element:
    """A picture, of which its name is shown."""
    return Element("img", clean(name))


def link(name: str, to: str) -> Element:
    """A link to an address of the site."""
    return Element("link", clean(name), to=to)


def deed(name: str, to: str, **fields: str) -> Element:
    """A link that changes the site when it is followed: deed("Tab #2", "/show", tab="2")."""
    field, value = _only_field(fields)
    return Element("link", clean(name), to=to, field=field, value=value, changes=True)


def form(to: str, *children: Element, changes: bool = False) -> Element:
    """Fields and buttons that are sent together; `changes` says whether they change the site."""
    return Element("form", children=children, to=to, changes=changes)


def button(name: str, field: str = "", value: str = "") -> Element:
    """A button that sends its form, with a field and a value if it has them."""
    return Element("button", clean(name), field=field, value=clean(value))


def action(name: str, to: str, **fields: str) -> Element:
    """A button that is a complete form and changes the site: action("Drop", "/drop", id="3")."""
    field, value = _only_field(fields)
    return form(to, button(name, field, value), changes=True)


def _only_field(fields: Mapping[str, str]) -> tuple[str, str]:
    """The name and the value of the one field that is sent; empty where there is none."""
    if len(fields) > 1:
        raise ValueError(f"a link or button sends at most one field, not {', '.join(fields)}")
    return next(iter(fields.items()), ("", ""))


def textbox(name: str, field: str, value: str = "", *, lines: int = 1) -> Element:
    """A field for text.

    name: its label. field: what the value is sent as. value: what it holds at first. lines: its
    height; more than one for text with line breaks.
    """
    box = Element("textbox", clean(name), field=field, lines=lines)
    return msgspec.structs.replace(box, value=box.typed(value))


def checkbox(name: str, field: str, value: str = "on", *, chosen: bool = False) -> Element:
    """A box that is sent as `field=value` if it is ticked."""
    return Element("checkbox", clean(name), field=field, value=clean(value) or "on", chosen=chosen)


def radio(name: str, field: str, value: str, *, chosen: bool = False) -> Element:
    """One of the choices that share a field; the chosen one is sent as `field=value`."""
    return Element("radio", clean(name), field=field, value=clean(value) or "on", chosen=chosen)


def combobox(name: str, field: str, options: Iterable[str], chosen: str = "") -> Element:
    """A field with several options; the first is picked where `chosen` is none of them."""
    names = [clean(option) for option in options]
    picked = chosen if chosen in names else names[0]
    children = tuple([Element("option", text, chosen=text == picked) for text in names])
    return Element("combobox", clean(name), children, field=field, value=picked)


def listing(*items: Element | tuple[Element, ...]) -> Element:
    """A list; each item is one element or a tuple of several."""
    rows = [item if isinstance(item, tuple) else (item,) for item in items]
    return Element("list", children=tuple([Element("listitem", children=row) for row in rows]))


def group(name: str, *children: Element) -> Element:
    """A part of a page that has its own name."""
    return Element("region", clean(name), children)


def table(columns: Iterable[str], rows: Iterable[Iterable[str | Element]]) -> Element:
    """A table with the names of its columns; cells are texts or elements."""
    head = Element("row", children=tuple([Element("columnheader", clean(c)) for c in columns]))
    return Element("table", children=(head, *(_row(cells) for cells in rows)))


def _row(cells: Iterable[str | Element]) -> Element:
    made = [
        Element("cell", children=(cell,))
        if isinstance(cell, Element)
        else Element("cell", clean(cell))
        for cell in cells
    ]
    return Element("row", children=tuple(made))


class PageLine(msgspec.Struct, frozen=True):
    """One element of a page and its depth; `number` is 0 if it cannot be acted on."""

    depth: int
    number: int
    element: Element


class ScreenLine(NamedTuple):
    """One line on the screen, in process or in a browser; `value` is the text of a field."""

    depth: int
    number: int
    role: str
    name: str
    value: str = ""
    chosen: bool = False

    @property
    def text(self) -> str:
        """The line as a reader sees it."""
        words = "  " * self.depth
        if self.number:
            words += f"[{self.number}] "
        words += self.role
        if self.name:
            words += f" {shorten(self.name)!r}"
        if self.role in ("textbox", "combobox"):
            words += f" value={shorten(self.value)!r}"
        return f"{words} (chosen)" if self.chosen else words


def shorten(text: str) -> str:
    """A text cut to the length of a line, with a note of how much is left out."""
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… ({len(text) - LONGEST_LINE} more characters)"


DRAFTED = ("textbox", "combobox", "checkbox", "radio", "option")  # may be changed on the page
Drafts = Mapping[int, str]  # the contents of changed fields by number; "" is not ticked


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """The page at an address: a title and a tree of elements."""

    url: str
    title: str
    body: tuple[Element, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", clean(self.title))

    def __repr__(self) -> str:
        return f"Page({self.digest.hex()})"

    @cached_property
    def digest(self) -> bytes:
        """Equal for pages with the same address, title and content."""
        return blake2b(msgspec.msgpack.encode((self.url, self.title, self.body))).digest()[:16]

    @cached_property
    def layout(self) -> Layout:
        """The page's elements in order, numbered where something can be done with them."""
        layout = Layout()
        for element in self.body:
            layout.add(element)
        return layout

    @cached_property
    def rows(self) -> dict[object, Any]:
        """Array rows of this page that `features.py` has computed."""
        return {}

    @cached_property
    def places(self) -> list[int]:
        """The line index of each numbered element."""
        return [place for place, line in enumerate(self.layout.lines) if line.number]

    @cached_property
    def boxes(self) -> list[bool]:
        """Whether each numbered element is a textbox."""
        return [element.role == "textbox" for element in self.layout.numbered]

    @property
    def lines(self) -> list[PageLine]:
        """Every element in document order, except forms, which have no line."""
        return self.layout.lines

    @property
    def numbered(self) -> list[Element]:
        """Elements that can be acted on: number n is at index n - 1."""
        return self.layout.numbered

    def element(self, number: int) -> Element:
        """The element with this number, as a page shows it, from 1."""
        return self.layout.numbered[number - 1]

    def form_of(self, number: int) -> Element | None:
        """The form that holds an element."""
        index = self.layout.form_of[number - 1]
        return self.layout.forms[index] if index >= 0 else None

    def same_form(self, number: int) -> Iterator[tuple[int, Element]]:
        """The numbered elements of the same form, except options."""
        forms = self.layout.form_of
        for index, element in enumerate(self.layout.numbered):
            if forms[index] == forms[number - 1] and element.role != "option":
                yield index + 1, element

    def text(self, drafts: Drafts, start: int = 0, stop: int | None = None) -> str:
        """The lines for a reader, with the contents of changed fields."""
        return "\n".join(self.texts(drafts, start, stop))

    def texts(self, drafts: Drafts, start: int = 0, stop: int | None = None) -> list[str]:
        """The lines for a reader; those that no draft can change are written once."""
        known, found = self._texts, []
        for place, line in enumerate(self.lines[start:stop], start):
            if drafts and line.element.role in DRAFTED:
                found.append(self._screen_line(line, drafts).text)
                continue
            if place not in known:
                known[place] = self._screen_line(line, drafts).text
            found.append(known[place])
        return found

    @cached_property
    def _texts(self) -> dict[int, str]:
        """Lines as a reader sees them before anything is changed, by place."""
        return {}

    def screen_lines(
        self, drafts: Drafts, start: int = 0, stop: int | None = None
    ) -> list[ScreenLine]:
        """The lines on the screen, with the contents of changed fields."""
        return [self._screen_line(line, drafts) for line in self.lines[start:stop]]

    def _screen_line(self, line: PageLine, drafts: Drafts) -> ScreenLine:
        depth, number, element = line.depth, line.number, line.element
        role = element.role
        value, chosen = "", False
        if role in ("textbox", "combobox"):
            value = drafts.get(number, element.value)
        elif role in ("checkbox", "radio"):
            chosen = bool(drafts[number]) if number in drafts else element.chosen
        elif role == "option":
            chosen = self.is_picked(number, drafts)
        return ScreenLine(depth, number, role, element.name, value, chosen)

    def is_picked(self, number: int, drafts: Drafts) -> bool:
        """Whether an option is the one that its combobox holds now."""
        holder = self.holder(number)
        return self.element(number).name == drafts.get(holder, self.element(holder).value)

    def holder(self, number: int) -> int:
        """The number of the combobox that an option belongs to."""
        while self.element(number).role != "combobox":
            number -= 1
        return number


class Layout:
    """A page's tree laid out in document order."""

    def __init__(self) -> None:
        self.lines: list[PageLine] = []
        self.numbered: list[Element] = []
        self.forms: list[Element] = []
        self.form_of: list[int] = []  # by number - 1: an index into forms, -1 outside any

    def add(self, element: Element, depth: int = 0, form: int = -1) -> None:
        """Lay an element out, and what is inside it, at a depth and in a form."""
        if element.role == "form":
            if form >= 0:
                raise ValueError(f"a form to {element.to} stands inside another form")
            form = len(self.forms)
            self.forms.append(element)
        else:
            if element.role == "link" and element.changes and form >= 0:
                raise ValueError(f"a link that changes {element.to} stands inside a form")
            number = 0
            if element.role in ACTS:
                self.numbered.append(element)
                self.form_of.append(form)
                number = len(self.numbered)
            self.lines.append(PageLine(depth, number, element))
            depth += 1
        for child in element.children:
            self.add(child, depth, form)
