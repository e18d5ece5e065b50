"""Build every distribution into dist/ and check it: `make release`.

    python scripts/release.py                 # build, check, install, play
    python scripts/release.py --python 3.13   # install under that Python, repeatable
    python scripts/release.py --tag v0.2.0    # also compare the tag with version and changelog

Each wheel and source distribution must satisfy twine, carry its licence and its type marker,
and nothing of tests. All wheels together must install into an empty environment from
wheels alone, and play a game there. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], help="for example 3.13")
    parser.add_argument("--tag", help="for example v0.2.0")
    asked = parser.parse_args()
    if asked.tag and (why := unreleased(asked.tag)):
        sys.exit(why)
    shutil.rmtree(DIST, ignore_errors=True)
    run("uv", "build", "--all-packages", "--out-dir", str(DIST))
    files = sorted(map(str, [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]))
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    problems = [problem for wheel in sorted(DIST.glob("*.whl")) for problem in contents(wheel)]
    if problems:
        sys.exit("\n".join(problems))
    for version in asked.python or [sys.executable]:
        installs(version)
    print(f"{len(files)} files in {DIST.name}/ are ready")


def run(*command: str) -> None:
    program, *arguments = command
    own = Path(sys.executable).parent / program
    print(">", program, *arguments[:4], flush=True)
    subprocess.run([str(own) if own.exists() else program, *arguments], cwd=ROOT, check=True)


def contents(wheel: Path) -> list[str]:
    """What is wrong with the files of a wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ("/__init__.py", "/py.typed", "licenses/LICENSE")
    missing = [end for end in wanted if not any(name.endswith(end) for name in names)]
    strays = [name for name in names if "/tests/" in name or "__pycache__" in name]
    said = [f"{wheel.name} lacks *{end}" for end in missing]
    return [*said, *(f"{wheel.name} carries {name}" for name in strays)]


def unreleased(tag: str) -> str:
    """Why a tag is not what this commit releases; empty if it is."""
    project = tomllib.loads((ROOT / "core" / "pyproject.toml").read_text("utf-8"))["project"]
    version = project["version"]
    if tag != f"v{version}":
        return f"the tag is {tag}, the version {version}; see scripts/set_version.py"
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (first, *_) = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    if not re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", first):
        return f"CHANGELOG.md begins with {first!r}, not with '{version} - YEAR-MONTH-DAY'"
    return ""


def installs(version: str) -> None:
    """Install all wheels into an empty environment, without any source, and play there."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        run("uv", "venv", "--quiet", "--python", version, str(python.parents[1]))
        only = ("--only-binary", ":all:", "--find-links", str(DIST), "--python", str(python))
        run("uv", "pip", "install", "--quiet", *only, "palestra[all]")
        # without PyTorch, which it needs and which takes gigabytes
        run("uv", "pip", "install", "--quiet", *only, "--no-deps", "palestra-training")
        palestra = (str(python), "-m", "palestra")
        game = ("play", "games/TicTacToe-v0", "--agents", "random", "--pause", "0")
        for command in ((*game, "--out", f"{folder}/run"), ("plugins",)):
            subprocess.run(
                [*palestra, *command],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PALESTRA_STRICT": "1"},
            )


if __name__ == "__main__":
    main()
