"""`palestra package`: the folder that a hub of environments accepts."""

from __future__ import annotations

import json
import platform
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement
from palestra import InvalidOption
from palestra.cli.arguments import complete_id, read_options
from palestra.files import whole_folder
from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import load_game, registry
from palestra.kernel.specs import EnvSpec
from palestra.quoting import open_console

COMMON = {"Dockerfile": "Dockerfile.txt", "README.md": "README.md.txt"}
HUBS: dict[str, dict[str, str]] = {
    "docker": {},
    "openenv": {
        "openenv.yaml": "openenv.yaml.txt",
        "pyproject.toml": "openenv_pyproject.toml.txt",
        "__init__.py": "",
        "server/__init__.py": "",
        "server/app.py": "openenv_app.py.txt",
    },
    "nemo-gym": {
        "app.py": "nemo_gym_app.py.txt",
        "configs/{module}.yaml": "nemo_gym.yaml.txt",
    },
    "verifiers": {
        "pyproject.toml": "verifiers_pyproject.toml.txt",
        "{module}/__init__.py": "verifiers.py.txt",
    },
}
CLIENTS = {  # how each hub's client sends the token
    "docker": "`palestra.connect(URL, env=…, token=TOKEN)` sends it.",
    "openenv": "OpenEnv's client: "
    '`GenericEnvClient(base_url=URL, headers={"Authorization": "Bearer TOKEN"})`. '
    "`openenv validate --url` sends none, nor do containers that OpenEnv's client starts.",
    "nemo-gym": "NeMo Gym sends it where the server's `host` in the configuration is "
    '`":TOKEN@127.0.0.1"`; the server that NeMo Gym starts reads it there too. With another '
    "`host`, start NeMo Gym with `PALESTRA_NO_TOKEN=1`.",
    "verifiers": "The environment of this folder sends `PALESTRA_SERVER_TOKEN`, if it is set.",
}
EXAMPLES = 5  # rows of a data set that shows the form
NEEDED = ("palestra-server", "palestra", "palestra-agents", "numba")


@dataclass(frozen=True, slots=True)
class Packaging:
    """What is packaged: an environment, options, the hub, and who plays the other seats."""

    spec: EnvSpec
    hub: str
    options: dict[str, Any]
    split: str | None
    opponents: str

    @property
    def slug(self) -> str:
        """The package's name, as in `palestra-games-werewolf-v0`."""
        return "palestra-" + re.sub(r"[^a-z0-9]+", "-", self.spec.id.lower())

    @property
    def module(self) -> str:
        return self.slug.replace("-", "_")


def package_command(
    env: Annotated[str, typer.Argument(help="Environment.", autocompletion=complete_id)],
    hub: Annotated[
        str, typer.Option("--for", help="openenv, nemo-gym, verifiers or docker.")
    ] = "docker",
    out: Annotated[Path | None, typer.Option(help="The folder to write; it must be new.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="name=value, for the game.")] = None,
    split: Annotated[str, typer.Option(help="A named set of the environment's options.")] = "",
    opponents: Annotated[str, typer.Option(help="Agent of the other seats.")] = "random",
) -> None:
    """Write the folder with which a hub serves an environment, its versions pinned."""
    if hub not in HUBS:
        raise UnknownName("hub", hub, HUBS)
    spec = registry().environment(env)
    wanted = Packaging(spec, hub, read_options(option or []), split or None, opponents)
    folder = out or Path(wanted.module)
    for file in write_package(wanted, folder):
        open_console().print(str(file), soft_wrap=True, highlight=False)


def write_package(wanted: Packaging, folder: Path) -> list[Path]:
    """Write the folder; returns its files. Raises `InvalidOption` if there is something in it."""
    if folder.exists() and any(folder.iterdir()):
        raise InvalidOption(f"{folder} has files in it already; choose another --out")
    contents = package_files(wanted)
    with whole_folder(folder) as draft:
        for name, content in contents.items():
            file = draft / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, "utf-8")
    return [folder / name for name in contents]


def package_files(wanted: Packaging) -> dict[str, str]:
    """The files of a package by their names in its folder."""
    values = _values(wanted)
    found = {
        name.format(module=wanted.module): _fill_template(template, values)
        for name, template in (COMMON | HUBS[wanted.hub]).items()
    }
    settings = {
        "env": wanted.spec.id,
        "hub": wanted.hub,
        "options": wanted.options,
        "split": wanted.split,
        "opponents": wanted.opponents,
    }
    found["palestra.json"] = json.dumps(settings, indent=2) + "\n"
    found["requirements.txt"] = "".join(f"{pin}\n" for pin in pins(wanted.spec))
    if wanted.hub == "nemo-gym":
        found["requirements.txt"] += "nemo-gym\n"
        found["data/example.jsonl"] = _rows(wanted)
    return found


def _values(wanted: Packaging) -> dict[str, str]:
    spec = wanted.spec
    options = wanted.options | ({"split": wanted.split} if wanted.split else {})
    low, high = load_game(spec, options).payoff_bounds
    summary = spec.summary or f"{spec.id} of Palestra."
    return {
        "env": spec.id,
        "hub": wanted.hub,
        "slug": wanted.slug,
        "module": wanted.module,
        "summary": summary,
        "line": json.dumps(summary),
        "python": platform.python_version(),
        "low": repr(float(low)),
        "high": repr(float(high)),
        "tags": ", ".join(spec.tags or (spec.family,)),
        "pins": "".join(f'    "{pin}",\n' for pin in pins(spec)),
        "opponents": wanted.opponents,
        "client": CLIENTS[wanted.hub],
        "options": repr(options),
    }


def _fill_template(template: str, values: dict[str, str]) -> str:
    if not template:
        return ""
    text = files("palestra_server").joinpath("package_files", template).read_text("utf-8")
    return Template(text).substitute(values)


def _rows(wanted: Packaging) -> str:
    """A data set of a few matches, each with its seed."""
    rows = [
        {
            "responses_create_params": {"input": []},
            "palestra": {"env": wanted.spec.id, "seed": seed},
        }
        for seed in range(EXAMPLES)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def pins(spec: EnvSpec) -> list[str]:
    """Every distribution that serving an environment needs, at the version installed here."""
    top = spec.entry_point.partition(".")[0].replace("_", "-")
    waiting, seen, found = [*NEEDED, top], set[str](), dict[str, str]()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        name, _, extras = wanted.rstrip("]").partition("[")
        try:
            held = distribution(name)
        except PackageNotFoundError:
            continue  # it is for another system
        waiting += _requirements(held.requires or [], extras.split(","))
        found[re.sub(r"[-_.]+", "-", name)] = held.version
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def _requirements(lines: list[str], extras: list[str]) -> list[str]:
    """What a distribution requires on this system, with these extras of it."""
    found = []
    for line in lines:
        needed = Requirement(line)
        marker = needed.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            more = f"[{','.join(sorted(needed.extras))}]" if needed.extras else ""
            found.append(needed.name.lower() + more)
    return found
