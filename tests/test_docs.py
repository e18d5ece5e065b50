"""What the documents say is there, and what they show runs."""

from __future__ import annotations

import re
from pathlib import Path

import palestra
import pytest
from palestra.kernel.registry import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_every_environment_is_in_the_readme(env: str) -> None:
    assert f"`{env}`" in README


def test_every_agent_is_in_the_readme() -> None:
    missing = [name for name in registry().agents if not re.search(rf"`{name}[`:]", README)]
    assert not missing


def test_the_readme_names_nothing_that_is_not_there() -> None:
    named = set(re.findall(r"`((?:games|grid|markets|text|web)/\w+-v\d+)`", README))
    assert named == {spec.id for spec in palestra.specs()}


def test_the_python_of_the_readme_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code.replace("episodes=20", "episodes=1"), "README.md", "exec"), {})


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
