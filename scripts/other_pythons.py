"""Install the core, the reference environments and the games for other Pythons, and play there.

    python scripts/other_pythons.py                  every other one from 3.11 to 3.14 found here
    python scripts/other_pythons.py 3.12 3.13        these, or an error

Prints a line for each; those that the machine does not have are named, not passed over.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
PROJECTS = ("core[numba]", "envs", "plugins/games")
PLAYED = "tests/clients/on_any_python.py"


def find(version: str) -> str | None:
    """The interpreter of a version, uv's or pyenv's; nothing is downloaded."""
    command = [sys.executable, "-m", "uv", "python", "find", "--no-python-downloads", "--system"]
    done = subprocess.run([*command, version], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout.strip()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return next(map(str, sorted(pyenv.glob(f"{version}.*/bin/python"))), None)


def tested(name: str) -> tuple[str, ...]:
    """What holds an installation to the versions that were tested; nothing in `make newest`."""
    file = ROOT / "constraints" / f"{name}.txt"
    return () if os.environ.get("PALESTRA_NEWEST") else ("--constraints", str(file))


def play(version: str, interpreter: str) -> None:
    folder = ROOT / ".venv-pythons" / version
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run("-m", "uv", "venv", "--quiet", "--clear", "--python", interpreter, str(folder))
    ours = [part for project in PROJECTS for part in ("--editable", str(ROOT / project))]
    where = ("--quiet", "--python", str(python))
    run("-m", "uv", "pip", "install", *where, *tested("development"), "pytest", *ours)
    options = (
        "-q",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        "-W",
        "ignore::UserWarning",
    )
    run("-m", "pytest", *options, PLAYED, python=str(python))
    print(f"{version}: passed ({interpreter})")


def run(*arguments: str, python: str = sys.executable) -> None:
    subprocess.run([python, *arguments], cwd=ROOT, check=True, env={**os.environ, "NO_COLOR": "1"})


def main(asked: list[str]) -> int:
    missing = []
    for version in asked or SUPPORTED:
        interpreter = find(version)
        if interpreter is None:
            missing.append(version)
            print(f"{version}: not on this machine")
        elif asked or not sys.version.startswith(f"{version}."):
            play(version, interpreter)
    return 1 if asked and missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
