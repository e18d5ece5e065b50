"""The wheels in a clean environment: the core alone, a generated plugin, then everything."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from distributions import CleanEnvironment, uv

pytestmark = pytest.mark.slow


def test_every_wheel_carries_its_code_and_licence(wheels: Path) -> None:
    built = sorted(wheels.glob("*.whl"))
    assert len(built) >= 5
    for wheel in built:
        names = zipfile.ZipFile(wheel).namelist()
        assert any(name.endswith("/__init__.py") for name in names), wheel.name
        assert any(name.endswith("licenses/LICENSE") for name in names), wheel.name


def test_the_core_alone_says_what_to_install(clean: CleanEnvironment) -> None:
    assert "palestra[all]" in clean.run("-m", "palestra", "plugins")
    done = clean.attempt("-m", "palestra", "info", "games/ConnectFour-v0")
    assert done.returncode == 2
    assert "pip install palestra-games" in done.stderr


def test_a_generated_plugin_installs_and_passes_its_tests(
    clean: CleanEnvironment, tmp_path: Path
) -> None:
    clean.run("-m", "palestra", "new", "plugin", "atoll-games", "--folder", str(tmp_path))
    source = tmp_path / "palestra-atoll-games"
    uv("build", "--wheel", "--out-dir", str(tmp_path / "dist"), str(source))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    installed = tmp_path / "installed"
    clean.install(str(wheel), target=installed)
    assert "atoll/Subtraction-v0" in clean.run("-m", "palestra", "list", extra=(installed,))
    # the kit needs the checkers of the libraries it checks for, all of them light but SB3
    done = clean.attempt(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(source / "tests"),
        extra=(installed,),
        cwd=source,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.mark.parametrize("name", ["Atoll", "atoll games", "../atoll", ""])
def test_a_bad_plugin_name_writes_nothing(
    name: str, clean: CleanEnvironment, tmp_path: Path
) -> None:
    done = clean.attempt("-m", "palestra", "new", "plugin", name, "--folder", str(tmp_path))
    assert done.returncode == 2
    assert "island-games" in done.stderr
    assert not list(tmp_path.iterdir())


def test_everything_installs_from_wheels_and_plays(
    clean: CleanEnvironment, wheels: Path, tmp_path: Path
) -> None:
    everything = tmp_path / "all"
    clean.install(*map(str, sorted(wheels.glob("palestra_*.whl"))), target=everything)
    clean.install("pygame", "pillow", target=everything)
    listed = clean.run("-m", "palestra", "list", extra=(everything,))
    assert "games/ConnectFour-v0" in listed
    out = tmp_path / "run"
    clean.run(
        *("-m", "palestra", "play", "games/TicTacToe-v0", "--agents", "minimax,mcts"),
        *("--out", str(out), "--pause", "0"),
        extra=(everything,),
    )
    assert sorted(path.name for path in out.iterdir()) == [
        ".lock",
        "episode.jsonl",
        "replay.gif",
        "replay.html",
        "run.json",
    ]
