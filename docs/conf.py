"""How the site is built: `make docs`, or `python scripts/site.py`.

Nothing is fetched while it is built or read. Pages of environments, agents, adapters, rewards and
public names are written by `scripts/site.py` before Sphinx runs, and are not committed.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "Palestra"
author = "the authors of Palestra"
copyright = f"{author}, MIT licence"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "measured", "pictures"]
html_theme = "furo"
html_title = "Palestra"
html_static_path = ["_static"]
html_css_files = ["palestra.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b57a4",
        "color-brand-content": "#0b57a4",
        "color-foreground-muted": "#555a60",
    },
    "dark_css_variables": {"color-brand-primary": "#8ec5ff", "color-brand-content": "#8ec5ff"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
highlight_language = "text"
copybutton_exclude = ".linenos, .gp, .go"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

default_role = "code"  # docstrings write `names` as Markdown does
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_preserve_defaults = True

# files outside this folder that are pages of the site
ELSEWHERE = {
    "../README.md": "index.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../SECURITY.md": "security.md",
    "../benchmarks/README.md": "benchmarks.md",
    "../examples/README.md": "examples.md",
}


def redirect(app: Sphinx, page: str, source: list[str]) -> None:
    """Lead links to files that are pages of the site to those pages."""
    up = "../" * page.count("/")
    source[0] = re.sub(
        r"\]\(((?:\.\./)+[A-Za-z/]+\.md)",
        lambda m: f"]({up}{ELSEWHERE[m[1]]}" if m[1] in ELSEWHERE else m[0],
        source[0],
    )


# pages with tables of names, and the folders in which what is named has a page
NAMED = {"catalogue": ("environments", "agents"), "rewards": ("credit",)}
FIRST_CELL = re.compile(r"^\| `([\w/.-]+)` \|", re.MULTILINE)


def link_names(app: Sphinx, page: str, source: list[str]) -> None:
    """Lead the names in tables to their generated pages, which list their options."""

    def linked(row: re.Match[str]) -> str:
        for folder in NAMED[page]:
            target = f"{folder}/{row[1].replace('/', '-')}.md"
            if (Path(app.srcdir) / target).exists():
                return f"| [`{row[1]}`]({target}) |"
        return row[0]

    if page in NAMED:
        named, heading, measures = source[0].partition("\n## Measures\n")
        source[0] = FIRST_CELL.sub(linked, named) + heading + measures


CODE = re.compile(r"`([^`\n]+)`(\w)?")
ARGUMENT = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (?=\S)")
NEXT_ARGUMENT = re.compile(r"(?<=[.;]) (?=[a-z_]+(?:, [a-z_]+)*: \S)")  # in the same line


def as_rst(
    app: Sphinx, kind: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Turn a docstring's `code` and its lines `argument: meaning` into reStructuredText."""
    if written_elsewhere(value):
        lines[:] = []
        return
    text = "\n".join(arguments_listed(lines)).replace("``", "`")
    lines[:] = CODE.sub(_literal, text).split("\n")


def written_elsewhere(value: object) -> bool:
    """Whether a method has the text of another library's class, which uses other markup."""
    if not inspect.isfunction(value) or value.__doc__:
        return False
    kind = getattr(sys.modules[value.__module__], value.__qualname__.partition(".")[0], None)
    own = [base for base in getattr(kind, "__mro__", ()) if base.__module__.startswith("palestra")]
    return not any(getattr(vars(base).get(value.__name__), "__doc__", "") for base in own)


def _literal(found: re.Match[str]) -> str:
    return f"``{found[1]}``" + (f"\\ {found[2]}" if found[2] else "")


def arguments_listed(lines: list[str]) -> list[str]:
    """The lines, with each `argument: meaning` as an item of a list."""
    found: list[str] = []
    item = ""  # of arguments, one after the other
    for line in [*lines, ""]:
        if item and (line.startswith("    ") or ARGUMENT.match(line)):
            item += f" {line.strip()}"
        elif ARGUMENT.match(line):
            found, item = [*found, ""], line
        else:
            if item:
                parts = NEXT_ARGUMENT.split(item)
                found += [*(ARGUMENT.sub(r"* `\1`: ", part) for part in parts), ""]
            found, item = [*found, line], ""
    return found


# what axe-core asks of the theme's markup: levels of headings, names of landmarks, and regions that
# scroll and can be reached with the keyboard
ACCESSIBLE = (
    ('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'),
    ('<aside class="sidebar-drawer"', '<aside aria-label="Site" class="sidebar-drawer"'),
    ('<aside class="toc-drawer', '<aside aria-label="This page" class="toc-drawer'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
)


def make_accessible(app: Sphinx, problem: Exception | None) -> None:
    """Complete the markup of every page."""
    for page in Path(app.outdir).rglob("*.html") if problem is None else ():
        text = page.read_text("utf-8")
        for found, completed in ACCESSIBLE:
            text = text.replace(found, completed)
        page.write_text(text, "utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", make_accessible)
    app.connect("autodoc-process-docstring", as_rst)
    app.connect("source-read", redirect)
    app.connect("source-read", link_names)
