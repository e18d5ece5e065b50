"""Python 3.12 to 3.14, where the machine has them: scripts/other_pythons.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "other_pythons.py"


def script() -> Any:
    spec = importlib.util.spec_from_file_location("other_pythons", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_the_core_plays_on_another_python(version: str) -> None:
    if sys.version.startswith(f"{version}."):
        pytest.skip(f"this is Python {version}: all other tests run on it")
    if script().find(version) is None:
        pytest.skip(f"Python {version} is not on this machine; install it for this test to run")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), version], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{version}: passed" in done.stdout


def test_a_python_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert script().main(["3.99"]) == 1
    assert "3.99: not on this machine" in capsys.readouterr().out
