"""A run that is killed between any two things it writes is resumed to the same end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("mortal.py")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize(("subject", "fewest"), [("play", 30), ("tournament", 60), ("train", 30)])
def test_killed_at_every_boundary_it_is_resumed_to_the_same_end(
    subject: str, fewest: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), subject, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["boundaries"] >= fewest
    assert not outcome["problems"], done.stderr[-2000:]
