"""What a README shows after its install line works with what that line installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from palestra.kernel.registry import homes

ROOT = Path(__file__).parents[1]
PROJECTS = {
    tomllib.loads(path.read_text("utf-8"))["project"]["name"]: path
    for path in [*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]
}
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"(palestra(?:-[a-z]+)?)(?:\[([a-z,]+)\])?")
OWN = ("random", "first", "scripted", "open")  # the core's agents, and a seat for a client


def requirements(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The distributions of ours that a line or a list of requirements names, with their extras."""
    return [
        (name, tuple(extras.split(",")) if extras else ()) for name, extras in NAME.findall(text)
    ]


def brought(name: str, extras: tuple[str, ...], found: set[str]) -> set[str]:
    """All distributions of ours that installing one brings."""
    project = tomllib.loads(PROJECTS[name].read_text("utf-8"))["project"]
    found.add(name)
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    for requirement in wanted:
        for other, more in requirements(requirement):
            if other in PROJECTS and (other not in found or more):
                brought(other, more, found)
    return found


def used(block: str) -> set[tuple[str, str]]:
    """The namespaces, agents and commands that the commands and code of a block name."""
    found = {("namespaces", space) for space in re.findall(r"\b(\w+)/[A-Z]\w+-v\d", block)}
    found |= {
        ("commands", name) for name in re.findall(r"^palestra ([a-z-]+)", block, re.MULTILINE)
    }
    for listed in re.findall(r"--agents (\S+)", block):
        for agent in re.split(r",(?![a-z_]+=)", listed):
            found |= {("agents", part) for part in agent.split(":")[:1] if part not in OWN}
    return found


@pytest.mark.parametrize("name", sorted(PROJECTS))
def test_its_install_lines_bring_what_it_shows(name: str) -> None:
    readme = PROJECTS[name].with_name("README.md").read_text("utf-8")
    blocks = BLOCK.findall(readme)
    installed: set[str] = set()
    for line in re.findall(r"pip install ([^\n#]*)", "\n".join(blocks)):
        for distribution, extras in requirements(line):
            brought(distribution, extras, installed)
    assert name in installed
    for kind, shown in sorted({found for block in blocks for found in used(block)}):
        home = homes(kind).get(shown)
        assert home is None or home in installed, f"{shown} comes with {home}"
