"""Renew the versions of other people's packages that this repository is tested with.

    python scripts/upgrade.py                       every file of constraints/ (`make upgrade`)
    python scripts/upgrade.py development verl      these

Each file lists one version a package, or one for each range of Pythons from 3.11 on: the newest
that the requirements admit. `make play`, `make test` and `make docs` install the versions in
development.txt, scripts/vllm_cpu.sh those in vllm.txt, and scripts/client_env.py those in a
client's file. Packages that come with CUDA's builds of torch are left out: those builds name their
versions themselves.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import defaultdict

import client_env
from client_env import ROOT

HOME = ROOT / "constraints"
PROJECTS = sorted(
    path.parent for path in (*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml"))
)
PINNED = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.!]+)(?:\+\w+)?(?: ; (?P<marker>.+))?")
WITH_CUDA = re.compile(r"(nvidia|cuda)-|triton$")
HEADING = (
    "# Made by scripts/upgrade.py: what is installed and tested. Change it with `make upgrade`.\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="development, vllm or a client; default: all")
    asked = parser.parse_args()
    clients = sorted(path.stem for path in client_env.REQUIREMENTS.glob("*.txt"))
    clients.remove("overrides")
    for name in asked.name or ["development", "vllm", *clients]:
        if name == "development":
            found, file = development(), HOME / "development.txt"
        elif name == "vllm":
            found, file = vllm(), HOME / "vllm.txt"
        else:
            found, file = client(name), HOME / "clients" / f"{name}.txt"
        file.write_text(HEADING + constraints(found), "utf-8")
        print(f"{file.relative_to(ROOT)}: {len(file.read_text('utf-8').splitlines()) - 1} versions")


def development() -> str:
    """What the workspace needs, with every extra and group."""
    projects = [str(project / "pyproject.toml") for project in PROJECTS]
    groups = [part for group in ("dev", "docs", "model", "release") for part in ("--group", group)]
    return resolve(*projects, "--all-extras", *groups)


def vllm() -> str:
    """What the environment of scripts/vllm_cpu.sh needs."""
    folder = ROOT / "agents" / "tests" / "vllm"
    ours = [str(project / "pyproject.toml") for project in PROJECTS]
    overrides = ("--override", str(folder / "overrides.txt"))
    return resolve(str(folder / "requirements.txt"), *ours, *overrides, "--no-config")


def client(name: str) -> str:
    """What the environment of a client needs."""
    ours = [f"--editable {ROOT / project}" for project in client_env.projects(name)]
    return resolve(
        *("-", str(client_env.requirements(name)), "--override", str(client_env.OVERRIDES)),
        "--no-config",
        python=client_env.PYTHONS.get(name, "3.11"),
        stdin="\n".join(["pytest", *ours]),
    )


def resolve(*arguments: str, python: str = "3.11", stdin: str = "") -> str:
    """The newest versions that satisfy requirements for a Python and all later ones."""
    wheels = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")
    command = (sys.executable, "-m", "uv", "pip", "compile", "--universal", "--quiet")
    bare = ("--no-header", "--no-annotate", "--upgrade", "--python-version", python)
    done = subprocess.run(
        [*command, *bare, *arguments],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "UV_FIND_LINKS": wheels},
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def constraints(resolved: str) -> str:
    """The lines of a constraints file: names and versions, with markers where versions differ."""
    versions: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in resolved.splitlines():
        found = PINNED.fullmatch(line)
        if found and not WITH_CUDA.match(found["name"]) and "'never'" not in line:
            versions[found["name"]].setdefault(found["version"], found["marker"] or "")
    lines = []
    for name, markers in sorted(versions.items()):
        several = len(markers) > 1
        lines += [f"{name}=={v}" + f" ; {markers[v]}" * several for v in sorted(markers)]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
