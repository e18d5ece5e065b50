"""What `make play` does: a game with the language model, its page, and what to type next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.essential
def test_a_newcomer_sees_a_game_and_is_told_what_to_type(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "play.py")]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "player_1 win" in done.stdout or "draw" in done.stdout  # perfect play never loses
    page = tmp_path / "runs" / "play" / "replay.html"
    assert page.exists()
    assert page.resolve().as_uri() in done.stdout  # named, not opened: nobody is at a terminal
    told = [line for line in done.stdout.splitlines() if line.startswith("  palestra ")]
    assert len(told) == 3
    assert all(line.startswith("Unpacking ") for line in done.stderr.splitlines())
