"""The games of docs/writing-a-game.md, put into a new plugin as that page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from palestra.cli.scaffold import create_plugin

PAGE = Path(__file__).parents[1] / "docs" / "writing-a-game.md"
PACKAGE = "palestra_island_games"
pytestmark = pytest.mark.slow


def source_of(game: str) -> str:
    (code,) = (
        code
        for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        if f"class {game}(" in code
    )
    return str(code)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scaffold with the page's games in it, found on the path as if it were installed."""
    folder = create_plugin("island-games", tmp_path_factory.mktemp("stranger"))
    installed = folder / "src" / f"{PACKAGE}-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text(f"[palestra]\nisland = {PACKAGE}.plugin\n")
    for game in ("Tricks", "Paint", "Spy"):
        (folder / "src" / PACKAGE / f"{game.lower()}.py").write_text(source_of(game), "utf-8")
    done = run(folder, "-m", "palestra", "catalogue", PACKAGE)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "MYPYPATH": str(folder / "src"),
        "COLUMNS": "200",
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("game", ["Tricks", "Paint", "Spy"])
def test_a_game_of_the_page_conforms(plugin: Path, game: str) -> None:
    done = run(plugin, "-m", "palestra", "check", f"island/{game}-v0")
    assert done.returncode == 0, done.stdout
    assert f"island/{game}-v0 conforms" in done.stdout


@pytest.mark.parametrize(
    ("game", "option", "meaning"),
    [
        ("Tricks", "hand", "cards dealt to each player"),
        ("Paint", "turns", "turns until cells"),
        ("Spy", "rounds", "times that each"),
    ],
)
def test_its_options_are_explained(plugin: Path, game: str, option: str, meaning: str) -> None:
    done = run(plugin, "-m", "palestra", "info", f"island/{game}-v0")
    assert re.search(rf"^{option} .*{meaning}", done.stdout, re.MULTILINE)


@pytest.mark.exhaustive
def test_mypy_accepts_it_and_finds_misspelt_fields_and_options(plugin: Path) -> None:
    assert run(plugin, "-m", "mypy").returncode == 0, run(plugin, "-m", "mypy").stdout
    path = plugin / "src" / PACKAGE / "tricks.py"
    right = path.read_text("utf-8")
    wrong = right.replace("state.held[seat, card] = 0", "state.hanf[seat, card] = 0")
    path.write_text(wrong.replace("2 * config.hand", "2 * config.hndd"), "utf-8")
    try:
        found = run(plugin, "-m", "mypy").stdout
    finally:
        path.write_text(right, "utf-8")
    assert '"TricksState" has no attribute "hanf"' in found
    assert '"Tricks" has no attribute "hndd"' in found
