"""Make the environment of one client in tests/clients, and print the path of its Python.

    python scripts/client_env.py tianshou            (.venv-clients/tianshou)

It holds what tests/clients/requirements/tianshou.txt asks for in the versions that
constraints/clients/tianshou.txt lists, pytest, and the core, the reference environments and the
games of this repository; for trainers of language models also what trains; for the clients of the
match server nothing of ours. A client of npm is installed beside them. The environment is made
again where its requirements, their versions, a `pyproject.toml` or the interpreter have changed;
--fresh makes it again in any case. Where the variable PALESTRA_NEWEST is set, it holds the newest
releases that the requirements admit. PyPI's builds of torch carry CUDA: where a folder named in
PIP_FIND_LINKS or UV_FIND_LINKS holds one for the CPU, that is taken.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import other_pythons

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-clients"
REQUIREMENTS = ROOT / "tests" / "clients" / "requirements"
OVERRIDES = REQUIREMENTS / "overrides.txt"
CONSTRAINTS = ROOT / "constraints" / "clients"
PROJECTS = ("core[numba]", "envs", "plugins/games")
REMOTE = ("openenv", "openenv_core", "nemo_gym", "verifiers_server", "inspector")
NPM = {"inspector": ("@modelcontextprotocol/inspector", "2.12.0")}  # its npm is in PyPI's Node.js
PYTHONS = {"nemo_gym": "3.12", "skyrl": "3.12"}  # what they need, where it is not ours
LEARNING = ("agents", "plugins/rewards", "plugins/training")
BRIDGED = (  # agent frameworks
    *("pydantic_ai", "langgraph", "openai_agents", "smolagents", "autogen", "dspy", "crewai"),
    *("ag2", "ag2_classic"),
)
MORE = {
    "trl": LEARNING,
    "verifiers": LEARNING,
    "inspect": (*LEARNING, "plugins/arena"),
    "tinker": LEARNING,
    "verl": LEARNING,
    "lightning": LEARNING,
    "art": LEARNING,
    "skyrl": LEARNING,
    "ray_serve": ("agents", "plugins/server"),
    "deployed": ("agents", "plugins/server[postgresql]"),
    **dict.fromkeys(BRIDGED, ("agents",)),
}


def environment(client: str, *, fresh: bool = False) -> Path:
    """The Python of a client's environment, which is made first where there is none."""
    folder = HOME / client
    made, wanted = folder / "made.txt", fingerprint(client)
    HOME.mkdir(exist_ok=True)
    with (HOME / f"{client}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test process may be making it
        if fresh or not made.exists() or made.read_text("utf-8") != wanted:
            make(client, folder)
            made.write_text(wanted, "utf-8")
    return folder / "bin" / "python"


def fingerprint(client: str) -> str:
    """What an environment was made from, as one hash."""
    files = [requirements(client), CONSTRAINTS / f"{client}.txt", OVERRIDES, Path(__file__)]
    files += [ROOT / project.partition("[")[0] / "pyproject.toml" for project in projects(client)]
    digest = hashlib.sha256(repr((sys.version, other_pythons.tested(f"clients/{client}"))).encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def projects(client: str) -> tuple[str, ...]:
    """The folders of this repository that a client's environment holds."""
    return () if client in REMOTE else PROJECTS + MORE.get(client, ())


def requirements(client: str) -> Path:
    file = REQUIREMENTS / f"{client}.txt"
    if not file.exists():
        known = sorted(path.stem for path in REQUIREMENTS.glob("*.txt") if path.stem != "overrides")
        raise SystemExit(f"no client {client!r}; choose from: {', '.join(known)}")
    return file


def make(client: str, folder: Path) -> None:
    version = PYTHONS.get(client)
    uv(
        "venv",
        "--clear",
        "--python",
        interpreter(version) if version else sys.executable,
        str(folder),
    )
    ours = [part for project in projects(client) for part in ("--editable", str(ROOT / project))]
    uv(
        *("pip", "install", "--upgrade", "--python", str(folder / "bin" / "python")),
        *("--override", str(OVERRIDES), *other_pythons.tested(f"clients/{client}")),
        *("--requirements", str(requirements(client)), "pytest", *ours),
    )
    if client in NPM:
        npm(folder, *NPM[client])


def npm(folder: Path, package: str, version: str) -> None:
    """Install a package of npm into an environment that has a Node.js; its scripts do not run."""
    wanted = "latest" if os.environ.get("PALESTRA_NEWEST") else version
    places = os.pathsep.join((str(folder / "bin"), os.environ["PATH"]))
    subprocess.run(
        [
            *(str(folder / "bin" / "npm"), "install", "--prefix", str(folder)),
            *("--ignore-scripts", "--no-audit", "--no-fund", "--silent", f"{package}@{wanted}"),
        ],
        check=True,
        env={**os.environ, "PATH": places},
    )


def interpreter(version: str) -> str:
    found = other_pythons.find(version)
    if found is None:
        raise SystemExit(f"Python {version} is not on this machine; install it first")
    return found


def uv(*arguments: str) -> None:
    wheels = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS", "")
    subprocess.run(
        [sys.executable, "-m", "uv", *arguments, "--quiet"],
        check=True,
        # the workspace's overrides leave trainers out, which are what is wanted here
        env={**os.environ, "UV_FIND_LINKS": wheels, "UV_NO_CONFIG": "1"},
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("--fresh", action="store_true", help="make it again in any case")
    chosen = parser.parse_args()
    print(environment(chosen.client, fresh=chosen.fresh))
