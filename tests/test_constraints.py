"""The versions that are installed and tested: names and versions alone, within published ranges."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from distributions import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOME = ROOT / "constraints"
FILES = sorted(HOME.rglob("*.txt"))
LINE = re.compile(r"[a-z0-9][a-z0-9.-]*==[0-9][0-9a-z.!]*( ; [a-z_ 0-9.'<>=!*()]+)?")
WORKSPACE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECTS = [*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]


def versions(python: str) -> dict[str, str]:
    """The version of each package that is tested under a Python."""
    lines = (HOME / "development.txt").read_text("utf-8").splitlines()[1:]
    pins = [Requirement(line) for line in lines]
    place = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    return {
        pin.name: str(pin.specifier).removeprefix("==")
        for pin in pins
        if pin.marker is None or pin.marker.evaluate(place)
    }


def requirements() -> Iterator[Requirement]:
    """What the packages of the workspace ask for, and what is needed to work on them."""
    for file in PROJECTS:
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        for line in project.get("dependencies", []):
            yield Requirement(line)
        for lines in project.get("optional-dependencies", {}).values():
            yield from map(Requirement, lines)
    for lines in WORKSPACE["dependency-groups"].values():
        yield from map(Requirement, lines)


def elsewhere() -> set[str]:
    """Packages that have no place in this environment: ours, and those with one of their own."""
    ours = {tomllib.loads(file.read_text("utf-8"))["project"]["name"] for file in PROJECTS}
    return ours | {
        Requirement(line).name for line in WORKSPACE["tool"]["uv"]["override-dependencies"]
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_has_names_and_versions_alone(file: Path) -> None:
    heading, *lines = file.read_text("utf-8").splitlines()
    assert "make upgrade" in heading
    assert [line for line in lines if not LINE.fullmatch(line)] == []


def test_every_environment_has_its_file() -> None:
    asked = {path.stem for path in (ROOT / "tests" / "clients" / "requirements").glob("*.txt")}
    assert {path.stem for path in (HOME / "clients").glob("*.txt")} == asked - {"overrides"}
    assert {path.stem for path in HOME.glob("*.txt")} == {"development", "vllm"}


@pytest.mark.parametrize("python", ["3.11.4", "3.11.9", "3.12.1", "3.13.0", "3.14.0"])
def test_published_ranges_admit_what_is_tested(python: str) -> None:
    tested, without = versions(python), elsewhere()
    place = {"python_version": python.rpartition(".")[0]}
    for requirement in requirements():
        if requirement.marker and not requirement.marker.evaluate(place):
            continue
        if (name := canonicalize_name(requirement.name)) not in without:
            assert requirement.specifier.contains(tested[name]), f"{requirement} is asked for"


@pytest.mark.skipif("PALESTRA_NEWEST" in os.environ, reason="make newest tests other versions")
def test_what_is_installed_is_what_is_listed() -> None:
    tested = versions(".".join(map(str, sys.version_info[:3])))
    found = {canonicalize_name(one.name): one.version.partition("+")[0] for one in distributions()}
    shared = found.keys() & tested.keys()
    assert len(shared) > 200
    assert {name: found[name] for name in shared} == {name: tested[name] for name in shared}
