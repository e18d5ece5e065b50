"""mypy reads the games of docs/writing-a-game.md, in the plugin that the page begins with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from page_output import blocks
from palestra.cli.scaffold import create_plugin

PAGE = Path(__file__).parents[1] / "docs" / "writing-a-game.md"


def run_mypy(plugin: Path) -> str:
    environment = {**os.environ, "MYPYPATH": str(plugin / "src")}
    command = [sys.executable, "-m", "mypy"]
    return subprocess.run(
        command, cwd=plugin, env=environment, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.slow
@pytest.mark.exhaustive
def test_mypy_accepts_them_and_finds_misspelt_fields_and_options(tmp_path: Path) -> None:
    plugin = create_plugin("island-games", tmp_path)
    games = {block.file: block.code for block in blocks(PAGE) if block.file}
    for file, code in games.items():
        (tmp_path / file).write_text(code, "utf-8")
    assert run_mypy(plugin).startswith("Success")
    (file,) = (file for file in games if file.endswith("tricks.py"))
    wrong = games[file].replace("state.held[seat, card] = 0", "state.hanf[seat, card] = 0")
    (tmp_path / file).write_text(wrong.replace("2 * config.hand", "2 * config.hndd"), "utf-8")
    found = run_mypy(plugin)
    assert '"TricksState" has no attribute "hanf"' in found
    assert '"Tricks" has no attribute "hndd"' in found
