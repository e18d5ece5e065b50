"""What the documents say is there, and what they show runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from palestra.catalogue.build import stale
from palestra.cli.pages import catalogue_page

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("**/src/*/catalogue.json"))
README = (ROOT / "README.md").read_text("utf-8")


def test_the_catalogue_page_says_what_is_installed() -> None:
    kept = (ROOT / "docs" / "catalogue.md").read_text("utf-8")
    command = "palestra catalogue --page docs/catalogue.md"
    assert kept == catalogue_page(), f"out of date; write it with: {command}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_catalogue_says_what_its_package_declares(package: str) -> None:
    assert not stale(package)


def test_the_python_of_the_readme_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code.replace("episodes=20", "episodes=1"), "README.md", "exec"), {})


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
