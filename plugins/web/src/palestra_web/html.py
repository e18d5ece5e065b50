"""Pages as HTML. Everything that comes from data is escaped, and nothing runs: no script, no link
to anywhere else. Numbers stand in `data-number`, where `chromium.py` finds them."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from palestra_web.pages import Drafts, Element, Page

BOXES = {"list": "ul", "listitem": "li", "table": "table", "row": "tr"}
NAMED = {"paragraph": "p", "cell": "td", "columnheader": "th"}


def to_html(page: Page, drafts: Drafts | None = None) -> str:
    """A whole document, with what has been put into the fields."""
    style = files("palestra_web").joinpath("page.css").read_text("utf-8")
    writer = _Writer(page, drafts or {})
    body = "".join([writer.write(element) for element in page.body])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(page.title)}</title><style>{style}</style></head>"
        f"<body>{body}</body></html>"
    )


class _Writer:
    """Writes elements in document order, counting those that have numbers."""

    def __init__(self, page: Page, drafts: Drafts) -> None:
        self.page, self.drafts = page, drafts
        self.number = 0

    def write(self, element: Element) -> str:
        role = element.role
        if role in BOXES:
            tag = BOXES[role]
            return f"<{tag}>{self._inside(element)}</{tag}>"
        if role in NAMED:
            tag = NAMED[role]
            return f"<{tag}>{escape(element.name)}{self._inside(element)}</{tag}>"
        written: str = getattr(self, f"_{role}")(element)
        return written

    def _inside(self, element: Element) -> str:
        return "".join([self.write(child) for child in element.children])

    def _heading(self, element: Element) -> str:
        return f"<h{element.level}>{escape(element.name)}</h{element.level}>"

    def _img(self, element: Element) -> str:
        name = escape(element.name)
        return f'<span role="img" aria-label="{name}" title="{name}"></span>'

    def _region(self, element: Element) -> str:
        inside = self._inside(element)
        return f'<section aria-label="{escape(element.name)}">{inside}</section>'

    def _form(self, element: Element) -> str:
        method = "post" if element.changes else "get"
        inside = self._inside(element)
        action = escape(element.to)
        return f'<form action="{action}" method="{method}" autocomplete="off">{inside}</form>'

    # What has a number

    def _next(self) -> str:
        self.number += 1
        return f'data-number="{self.number}"'

    def _link(self, element: Element) -> str:
        if element.changes:  # without a script only a form can change anything
            inside = self._button(element, ' role="link"')
            return f'<form action="{escape(element.to)}" method="post">{inside}</form>'
        return f'<a {self._next()} href="{escape(element.to)}">{escape(element.name)}</a>'

    def _button(self, element: Element, role: str = "") -> str:
        sent = f' name="{escape(element.field)}" value="{escape(element.value)}"'
        sent = sent if element.field else ""
        return f"<button {self._next()}{role}{sent}>{escape(element.name)}</button>"

    def _textbox(self, element: Element) -> str:
        number = self._next()
        value = escape(self.drafts.get(self.number, element.value))
        field, name = escape(element.field), escape(element.name)
        if element.lines > 1:  # the first line break of a text area is not part of its text
            area = f'<textarea {number} name="{field}" rows="{element.lines}">\n{value}</textarea>'
            return f"<label>{name} {area}</label>"
        return f'<label>{name} <input {number} name="{field}" value="{value}"></label>'

    def _checkbox(self, element: Element) -> str:
        return self._tick(element)

    def _radio(self, element: Element) -> str:
        return self._tick(element)

    def _tick(self, element: Element) -> str:
        number = self._next()
        first = element.value if element.chosen else ""
        chosen = " checked" if self.drafts.get(self.number, first) else ""
        field, value = escape(element.field), escape(element.value)
        box = f'<input type="{element.role}" {number} name="{field}" value="{value}"{chosen}>'
        return f"<label>{box} {escape(element.name)}</label>"

    def _combobox(self, element: Element) -> str:
        number = self._next()
        field, inside = escape(element.field), self._inside(element)
        select = f'<select {number} name="{field}">{inside}</select>'
        return f"<label>{escape(element.name)} {select}</label>"

    def _option(self, element: Element) -> str:
        number = self._next()
        chosen = " selected" if self.page.picked(self.number, self.drafts) else ""
        return f"<option {number}{chosen}>{escape(element.name)}</option>"
