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


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


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
