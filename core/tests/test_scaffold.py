"""What `palestra new` writes, as the continuous integration that it writes beside it sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from palestra.cli.scaffold import KINDS, create_plugin


@pytest.mark.parametrize("name", ["b-c", "islands-of-very-long-names"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_new_plugin_passes_its_own_formatter_and_linter(
    kind: str, name: str, tmp_path: Path
) -> None:
    made = create_plugin(name, tmp_path, kind)
    workflow = (made / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    assert "ruff check . && ruff format --check ." in workflow
    for command in (("check",), ("format", "--check", "--diff")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
            cwd=made,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
