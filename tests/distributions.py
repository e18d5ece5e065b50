"""Environments apart from this one, and the commands that build and install into them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = str(ROOT / "constraints" / "development.txt")
TESTED = () if os.environ.get("PALESTRA_NEWEST") else ("--constraints", CONSTRAINTS)


@dataclass(frozen=True)
class CleanEnvironment:
    """A virtual environment of its own; `extra` folders come first on its path."""

    python: Path
    wheels: Path
    cache: Path

    def run(self, *arguments: str, extra: tuple[Path, ...] = (), **variables: str) -> str:
        """Run its Python; returns stdout and stderr together, and fails on an exit code."""
        done = self.attempt(*arguments, extra=extra, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def attempt(
        self, *arguments: str, extra: tuple[Path, ...] = (), cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        hidden = ("PYTHON", "PALESTRA", "VIRTUAL_ENV", "COV", "PYTEST")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        path = os.pathsep.join(map(str, extra))
        clean |= {"PALESTRA_CACHE": str(self.cache), "COLUMNS": "200", "PYTHONPATH": path} | more
        return subprocess.run(
            [str(self.python), *arguments],
            capture_output=True,
            text=True,
            env=clean,
            cwd=cwd or self.cache,
            check=False,
        )

    def install(self, *what: str, target: Path | None = None) -> None:
        """Install distributions, into a folder of their own if `target` is given."""
        place = ["--target", str(target), "--no-deps"] if target else []
        uv("pip", "install", "--python", str(self.python), *TESTED, *place, *what)


def uv(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "uv", *arguments, "--quiet"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
