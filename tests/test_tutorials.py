"""Every tutorial runs: its commands in an empty folder, its Python as one script."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
PAGES = sorted(page for page in TUTORIALS.glob("*.md") if page.name != "README.md")
BLOCK = re.compile(r"^```(python|shell)\n(.*?)^```", re.DOTALL | re.MULTILINE)

pytestmark = [pytest.mark.slow, pytest.mark.late]


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text("utf-8"))
    return [text for kind, text in found if kind == language]


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", "SDL_VIDEODRIVER": "dummy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"


def test_every_tutorial_is_listed() -> None:
    listed = (TUTORIALS / "README.md").read_text("utf-8")
    assert all(f"({page.name})" in listed for page in PAGES)


@pytest.mark.exhaustive(sample=3)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_runs(page: Path, tmp_path: Path) -> None:
    for line in "".join(blocks(page, "shell")).splitlines():
        program, *arguments = shlex.split(line)
        assert program == "palestra", line
        run(tmp_path, "-m", "palestra", *arguments)
    script = tmp_path / "tutorial.py"
    script.write_text("\n\n".join(blocks(page, "python")), "utf-8")
    assert script.stat().st_size, "a tutorial has code"
    run(tmp_path, str(script))
