"""Pages as static HTML documents: no script, and no link to another site."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from itertools import count

from markupsafe import Markup
from palestra.html import render_page

from palestra_web.pages import Drafts, Page


def to_html(page: Page, drafts: Drafts | None = None) -> str:
    """A whole document; `drafts` are the contents of fields that a visitor has changed."""
    return render_page(
        "palestra_web",
        "site.html",
        page=page,
        drafts=drafts or {},
        number=partial(next, count(1)),
        style=Markup(files("palestra_web").joinpath("page.css").read_text("utf-8")),
    )
