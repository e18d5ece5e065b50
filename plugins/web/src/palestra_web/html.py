"""Pages as HTML documents.

Every tag is written by `tag`, which escapes its attributes, and every text is escaped. Nothing
runs: there is no script and no link to another site. The number of an element is its attribute
`data-number`, by which `chromium.py` finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files

from palestra_web.pages import Drafts, Element, Page

CONTAINERS = {"list": "ul", "listitem": "li", "table": "table", "row": "tr"}
TEXTS = {"paragraph": "p", "cell": "td", "columnheader": "th"}
VOID = frozenset(("input", "link", "meta"))  # tags that are never closed

Attributes = Mapping[str, str | int | bool]


def tag(name: str, attributes: Attributes, inside: str = "") -> str:
    """One element; `inside` is HTML already.

    An attribute that is True is written without a value; one that is False is left out.
    """
    written = "".join([_attribute(key, value) for key, value in attributes.items()])
    opened = f"<{name}{written}>"
    return opened if name in VOID else f"{opened}{inside}</{name}>"


def _attribute(name: str, value: str | int | bool) -> str:
    if isinstance(value, bool):
        return f" {name}" if value else ""
    return f' {name}="{escape(str(value))}"'


def to_html(page: Page, drafts: Drafts | None = None) -> str:
    """A whole document; `drafts` are the contents of fields that a visitor has changed."""
    style = files("palestra_web").joinpath("page.css").read_text("utf-8")
    head = (
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"name": "viewport", "content": "width=device-width"}),
        tag("link", {"rel": "icon", "href": "data:,"}),
        tag("title", {}, escape(page.title)),
        tag("style", {}, style),
    )
    writer = _Writer(page, drafts or {})
    body = "".join([writer.write(element) for element in page.body])
    return "<!doctype html>" + tag(
        "html", {"lang": "en"}, tag("head", {}, "".join(head)) + tag("body", {}, body)
    )


class _Writer:
    """Writes elements in document order and counts those that have numbers."""

    def __init__(self, page: Page, drafts: Drafts) -> None:
        self.page, self.drafts = page, drafts
        self.number = 0

    def write(self, element: Element) -> str:
        role = element.role
        if role in CONTAINERS:
            return tag(CONTAINERS[role], {}, self._inside(element))
        if role in TEXTS:
            return tag(TEXTS[role], {}, escape(element.name) + self._inside(element))
        written: str = getattr(self, f"_{role}")(element)
        return written

    def _inside(self, element: Element) -> str:
        return "".join([self.write(child) for child in element.children])

    def _heading(self, element: Element) -> str:
        return tag(f"h{element.level}", {}, escape(element.name))

    def _img(self, element: Element) -> str:
        return tag("span", {"role": "img", "aria-label": element.name, "title": element.name})

    def _region(self, element: Element) -> str:
        return tag("section", {"aria-label": element.name}, self._inside(element))

    def _form(self, element: Element) -> str:
        method = "post" if element.changes else "get"
        attributes = {"action": element.to, "method": method, "autocomplete": "off"}
        return tag("form", attributes, self._inside(element))

    # What has a number

    def _next(self) -> dict[str, str | int | bool]:
        self.number += 1
        return {"data-number": self.number}

    def _link(self, element: Element) -> str:
        if element.changes:  # without a script only a form can change anything
            button = self._button(element, role="link")
            return tag("form", {"action": element.to, "method": "post"}, button)
        return tag("a", self._next() | {"href": element.to}, escape(element.name))

    def _button(self, element: Element, *, role: str = "") -> str:
        attributes = self._next() | ({"role": role} if role else {})
        if element.field:
            attributes |= {"name": element.field, "value": element.value}
        return tag("button", attributes, escape(element.name))

    def _textbox(self, element: Element) -> str:
        attributes = self._next() | {"name": element.field}
        value = self.drafts.get(self.number, element.value)
        if element.lines > 1:  # the first line break of a text area is not part of its text
            area = tag("textarea", attributes | {"rows": element.lines}, f"\n{escape(value)}")
            return tag("label", {}, f"{escape(element.name)} {area}")
        box = tag("input", attributes | {"value": value})
        return tag("label", {}, f"{escape(element.name)} {box}")

    def _checkbox(self, element: Element) -> str:
        return self._tick(element)

    def _radio(self, element: Element) -> str:
        return self._tick(element)

    def _tick(self, element: Element) -> str:
        attributes = {"type": element.role} | self._next()
        attributes |= {"name": element.field, "value": element.value}
        first = element.value if element.chosen else ""
        attributes["checked"] = bool(self.drafts.get(self.number, first))
        return tag("label", {}, f"{tag('input', attributes)} {escape(element.name)}")

    def _combobox(self, element: Element) -> str:
        attributes = self._next() | {"name": element.field}
        select = tag("select", attributes, self._inside(element))
        return tag("label", {}, f"{escape(element.name)} {select}")

    def _option(self, element: Element) -> str:
        attributes = self._next()
        attributes["selected"] = self.page.is_picked(self.number, self.drafts)
        return tag("option", attributes, escape(element.name))
