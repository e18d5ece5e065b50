"""HTML pages, rendered from a package's Jinja2 templates with every value escaped.

A template of a page begins with `{% extends "palestra/page.html" %}` and fills its blocks `title`,
`style` and `body`. The page is self-contained: its content security policy forbids running or
loading anything, unless the template's block `policy` says otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined


def render_page(package: str, template: str, **values: Any) -> str:
    """Render a template from the folder `templates` of a package with `values`.

    Text is escaped; pass HTML as `markupsafe.Markup`. Raises `jinja2.UndefinedError` if the
    template names a value that is not given.
    """
    return _environment(package).get_template(template).render(values)


@cache
def _environment(package: str) -> Environment:
    ours = PrefixLoader({"palestra": PackageLoader("palestra")})
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), ours]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
