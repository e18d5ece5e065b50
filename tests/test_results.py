"""Published results: every command of the page prints what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "examples" / "results"
SHARED = {"shown", "stages"}
SHOWN = dict(
    re.findall(
        r"```shell\npython examples/results/(\w+)\.py\n```\n\n```text\n(.*?)```",
        (ROOT / "docs" / "results.md").read_text("utf-8"),
        re.DOTALL,
    )
)
NETWORKS = {"values": 1.0}  # how far numbers may differ where a network learns
NUMBER = re.compile(r"-?\d+\.\d+|-?\d+")


def test_every_script_is_on_the_page() -> None:
    assert set(SHOWN) == {path.stem for path in SCRIPTS.glob("*.py")} - SHARED


@pytest.mark.slow
@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_result_is_what_the_page_shows(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if name not in NETWORKS:
        assert done.stdout == SHOWN[name]
        return
    assert NUMBER.sub("", done.stdout).split() == NUMBER.sub("", SHOWN[name]).split()
    for found, shown in zip(NUMBER.findall(done.stdout), NUMBER.findall(SHOWN[name]), strict=True):
        assert float(found) == pytest.approx(float(shown), abs=NETWORKS[name])
