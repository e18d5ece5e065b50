"""A clean environment with this repository's wheels in it, built once a run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from distributions import CleanEnvironment, uv


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every distribution of the workspace as a wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    uv("build", "--all-packages", "--wheel", "--out-dir", str(folder))
    return folder


@pytest.fixture(scope="session")
def clean(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """An environment with nothing but the core, its test extra and what they need."""
    folder = tmp_path_factory.mktemp("clean")
    uv("venv", "--python", sys.executable, str(folder / "venv"))
    cache = folder / "cache"
    cache.mkdir()
    environment = CleanEnvironment(folder / "venv" / "bin" / "python", wheels, cache)
    (core,) = wheels.glob("palestra-[0-9]*.whl")
    environment.install(f"palestra[testing] @ {core.as_uri()}")
    return environment
