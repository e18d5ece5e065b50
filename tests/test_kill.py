"""A run that is killed between any two things it writes is resumed to the same end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("mortal.py")


SUBJECTS = [
    ("play", 30),
    ("tournament", 60),
    ("train", 30),
    ("train-llm", 60),
    ("serve", 40),
    ("ablate", 60),
    ("probe", 20),
]
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


@pytest.mark.slow
@FORKS
@pytest.mark.parametrize(("subject", "fewest"), SUBJECTS)
@pytest.mark.essential
def test_killed_at_some_boundaries_it_is_resumed_to_the_same_end(
    subject: str, fewest: int, tmp_path: Path
) -> None:
    ends_as_it_would_have(subject, fewest, tmp_path, most=3)


@pytest.mark.slow
@pytest.mark.exhaustive
@FORKS
@pytest.mark.parametrize(("subject", "fewest"), SUBJECTS)
def test_killed_at_every_boundary_it_is_resumed_to_the_same_end(
    subject: str, fewest: int, tmp_path: Path
) -> None:
    ends_as_it_would_have(subject, fewest, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD is Linux's")
@pytest.mark.parametrize(("subject", "fewest"), [("serve", 200), ("tournament", 150)])
def test_killed_within_any_write_of_its_database_it_is_resumed_to_the_same_end(
    subject: str, fewest: int, tmp_path: Path
) -> None:
    compiler, library = shutil.which("cc"), tmp_path / "mortal.so"
    if compiler is None:
        pytest.skip("no C compiler")
    flags = ["-O1", "-shared", "-fPIC", "-o", str(library)]
    source = SCRIPT.with_suffix(".c")
    subprocess.run([compiler, *flags, str(source), "-ldl"], check=True, capture_output=True)
    ends_as_it_would_have(subject, fewest, tmp_path, LD_PRELOAD=str(library))


def ends_as_it_would_have(
    subject: str, fewest: int, folder: Path, *, most: int = 0, **environment: str
) -> None:
    """Kill a run at `most` of its boundaries, or at each; there are at least `fewest`."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), subject, str(folder), str(most)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["boundaries"] >= fewest
    assert not outcome["problems"], done.stderr[-2000:]
