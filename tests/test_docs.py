"""What the documents say is there, and what they show runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from palestra.catalogue.build import stale
from palestra.cli.pages import catalogue_page

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("**/src/*/catalogue.json"))


def test_the_catalogue_page_says_what_is_installed() -> None:
    kept = (ROOT / "docs" / "catalogue.md").read_text("utf-8")
    command = "palestra catalogue --page docs/catalogue.md"
    assert kept == catalogue_page(), f"out of date; write it with: {command}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_catalogue_says_what_its_package_declares(package: str) -> None:
    assert not stale(package)


LINK = re.compile(r"\]\((?!http)([^)#\s]*)(?:#([^)\s]+))?\)")
LINKING = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
]


def places(page: Path) -> set[str]:
    """The anchors that the headings of a page define."""
    found = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, place in LINK.findall(page.read_text("utf-8")):
        path = (page.parent / target) if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if place and path.suffix == ".md":
            assert place in places(path), f"{page.name} links to {target}#{place}"


@pytest.mark.essential(whole=True)
@pytest.mark.parametrize("page", ["attacks.md", "faults.md"])
def test_every_row_of_a_table_names_tests_that_are_there(page: str) -> None:
    _, rows = re.split(r"\|(?:---\|)+\n", (ROOT / "docs" / page).read_text("utf-8"), maxsplit=1)
    written = {
        name
        for file in ROOT.glob("**/tests/**/test_*.py")
        if ".venv" not in file.parts
        for name in re.findall(r"(?m)^(?:def )?(test_\w+)(?:\(| = )", file.read_text("utf-8"))
    }
    for row in rows.split("\n\n")[0].splitlines():
        named = re.findall(r"`(test_\w+)", row)
        assert named, f"no test in: {row}"
        assert set(named) <= written, f"not there: {sorted(set(named) - written)}"
