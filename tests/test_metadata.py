"""What is published about the distributions: one version, and facts that a package index shows."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from typing import Any

import pytest
from distributions import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

PROJECTS: dict[str, dict[str, Any]] = {
    project["name"]: project
    for path in (*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml"))
    for project in [tomllib.loads(path.read_text("utf-8"))["project"]]
}
VERSION = Version(PROJECTS["palestra"]["version"])


def test_all_distributions_have_one_version() -> None:
    assert len(PROJECTS) == 13
    assert {project["version"] for project in PROJECTS.values()} == {str(VERSION)}
    for name in ("CITATION.cff", "deploy/kubernetes.yaml", "docs/deploying.md"):
        text = (ROOT / name).read_text("utf-8")
        found = re.findall(r"^version: (\S+)$|/palestra:([\d.]+\d)", text, re.MULTILINE)
        assert {"".join(either) for either in found} == {str(VERSION)}, name


def test_the_changelog_begins_with_this_version_until_the_next_is_begun() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *others = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert first == "Unreleased" or re.fullmatch(rf"{VERSION} - \d{{4}}-\d\d-\d\d", first)
    numbers = [Version(heading.partition(" ")[0]) for heading in others]
    assert numbers == sorted(set(numbers), reverse=True)
    assert all(number <= VERSION for number in numbers)


@pytest.mark.parametrize("name", sorted(PROJECTS))
def test_distributions_ask_for_each_other_at_this_minor_release(name: str) -> None:
    project = PROJECTS[name]
    lines = [*project["dependencies"], *chain(*project.get("optional-dependencies", {}).values())]
    ours = [needed for line in lines if (needed := Requirement(line)).name in PROJECTS]
    later = Version(f"{VERSION.major}.{VERSION.minor + 1}.0")
    for needed in ours:
        if needed.name == name:
            assert not needed.specifier  # another extra of its own
        else:
            assert VERSION in needed.specifier, needed
            assert later not in needed.specifier, needed


@pytest.mark.parametrize("name", sorted(PROJECTS))
def test_an_index_shows_whose_it_is_and_where_to_look(name: str) -> None:
    project = PROJECTS[name]
    core = PROJECTS["palestra"]
    assert project["authors"]
    assert len(project["keywords"]) == len(set(project["keywords"])) > 3
    assert project["urls"] == core["urls"]
    assert set(project["urls"]) >= {"Repository", "Documentation", "Issues", "Changelog"}
    assert project["urls"]["Repository"] in (ROOT / "core" / "README.md").read_text("utf-8")
    assert project["classifiers"] == core["classifiers"]
    pythons = [line for line in core["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert [line.rpartition(" ")[2] for line in pythons] == ["3.11", "3.12", "3.13", "3.14"]


def test_pytorch_comes_only_where_it_is_asked_for() -> None:
    """Its build for Linux on the index brings CUDA with it, which takes gigabytes."""
    for extra in ("standard", "all"):
        assert "torch" not in brought("palestra", {extra})
    assert "torch" in brought("palestra", {"torch"})


def brought(name: str, extras: set[str]) -> set[str]:
    """The names that installing one of our distributions asks for, directly or through ours."""
    project = PROJECTS[name]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    found = set()
    for needed in map(Requirement, lines):
        found.add(needed.name)
        if needed.name in PROJECTS:
            found |= brought(needed.name, needed.extras)
    return found
