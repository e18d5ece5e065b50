"""Pages of HTML, all made one way: from a package's Jinja2 template, with every value escaped.

A template of a page begins with `{% extends "palestra/page.html" %}` and fills its blocks `title`,
`style` and `body`. The page it makes stands alone: its content security policy lets nothing run
and nothing be loaded, unless the template's block `policy` says otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined


def render_page(package: str, template: str, **values: Any) -> str:
    """The page that a template in the folder `templates` of a package makes of `values`.

    Text is escaped; what is HTML already is passed as `markupsafe.Markup`. Raises
    `jinja2.UndefinedError` where the template names a value that is not given.
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
