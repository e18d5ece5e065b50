"""Writing a new plugin from the plain files in `templates`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import mkdtemp

from palestra.kernel.errors import InvalidOption
from palestra.kernel.plugins import OFFICIAL
from palestra.kernel.registry import homes, registry
from palestra.shaping import OWN
from palestra.version import __version__

# which template in `common` becomes which file of every new distribution
COMMON = {
    "pyproject.toml": "pyproject.toml",
    "LICENSE": "LICENSE",
    "gitignore": ".gitignore",
    "ci.yml": ".github/workflows/tests.yml",
    "init.py": "src/{package}/__init__.py",
}
# and which of its own
OWN_FILES = {
    "README.md": "README.md",
    "plugin.py": "src/{package}/plugin.py",
    "catalogue": "src/{package}/catalogue.json",
    "test_conformance.py": "tests/test_conformance.py",
}
_NAME = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
MODES = ("human", "rgb_array", "ansi", "terminal", "gif", "mp4", "strip", "html", "browser", "none")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of plugin to create: its folder of templates, their files and its dependencies."""

    folder: str
    title: str
    files: dict[str, str]
    dependencies: tuple[str, ...] = ("palestra",)  # our own; the version is added
    dev: tuple[str, ...] = ("palestra[testing]",)
    has_namespace: bool = False  # of ids; otherwise the whole name is the name of what it provides
    example: str = "careful"
    reserved: Collection[str] = field(default=())


PLAYED = ("palestra[numba,testing]", "palestra-games")  # what plugins without a game are tested on
KINDS = {
    "plugin": Kind(
        "plugin",
        "A game",
        {
            "subtraction.py": "src/{package}/subtraction.py",
            "test_rules.py": "tests/test_rules.py",
            "golden": "tests/golden/Subtraction-v0.txt",
        },
        dependencies=("palestra[numba]",),
        has_namespace=True,
        example="island-games",
    ),
    "agent": Kind(
        "agent",
        "An agent",
        {"agent.py": "src/{package}/agent.py", "test_agent.py": "tests/test_agent.py"},
        dev=PLAYED,
        reserved=("random", "first", "scripted", *homes("agents")),
    ),
    "reward": Kind(
        "reward",
        "A step shaper",
        {"reward.py": "src/{package}/reward.py", "test_reward.py": "tests/test_reward.py"},
        dev=PLAYED,
        example="mobility",
        reserved=(OWN, *homes("rewards")),
    ),
    "renderer": Kind(
        "renderer",
        "A renderer",
        {"renderer.py": "src/{package}/renderer.py", "test_renderer.py": "tests/test_renderer.py"},
        dev=PLAYED,
        example="markdown",
        reserved=MODES,
    ),
    "site": Kind(
        "site",
        "A website",
        {
            "site.py": "src/{package}/site.py",
            "test_site.py": "tests/test_site.py",
            "golden": "tests/golden/Lamps-v0.txt",
        },
        dependencies=("palestra", "palestra-web"),
        has_namespace=True,
        example="island-sites",
    ),
}


def create_plugin(
    name: str, folder: Path, kind: str = "plugin", reserved: Collection[str] = ()
) -> Path:
    """Write the distribution `palestra-NAME` under `folder` and return its path.

    kind: "plugin" (a game), "agent", "reward", "renderer" or "site". reserved: further names that
    it must not take, besides those reserved or in use. Either all files are written or none; an
    existing folder is never touched.
    """
    made = KINDS[kind]
    name = name.removeprefix("palestra-")
    if not _NAME.match(name):
        raise InvalidOption(
            f"the name {name!r} must be lower-case words joined by hyphens, as in {made.example}"
        )
    _refuse_taken(name, made, reserved)
    target = Path(folder) / f"palestra-{name}"
    if target.exists():
        raise InvalidOption(f"{target} exists already; choose another name or --folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=".palestra-", dir=target.parent))
    try:
        _write(draft, name, made)
        draft.chmod(0o755)  # mkdtemp's own mode keeps others out
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def _write(draft: Path, name: str, kind: Kind) -> None:
    words = _words(name, kind)
    folders = dict.fromkeys(COMMON, "common") | dict.fromkeys(OWN_FILES | kind.files, kind.folder)
    for template, place in (COMMON | OWN_FILES | kind.files).items():
        path = draft / place.format(package=words["package"])
        path.parent.mkdir(parents=True, exist_ok=True)
        source = files("palestra.cli").joinpath("templates", folders[template], f"{template}.txt")
        path.write_text(Template(source.read_text("utf-8")).substitute(words), "utf-8")


def _words(name: str, kind: Kind) -> dict[str, str]:
    """The values of the placeholders in the templates."""
    versions = f">={__version__},<{_next_minor(__version__)}"
    namespace = name.split("-", 1)[0]
    return {
        "name": name,
        "title": kind.title,
        "distribution": f"palestra-{name}",
        "package": f"palestra_{name.replace('-', '_')}",
        "namespace": namespace,
        "entry": namespace if kind.has_namespace else name,
        "dependencies": ", ".join(f'"{wanted}{versions}"' for wanted in kind.dependencies),
        "dev": ", ".join(f'"{wanted}"' for wanted in kind.dev),
        "year": str(date.today().year),
    }


def _refuse_taken(name: str, kind: Kind, reserved: Collection[str]) -> None:
    """Raise `InvalidOption` for a name that Palestra or an installed plugin uses."""
    if f"palestra-{name}" in OFFICIAL:
        raise InvalidOption(f"palestra-{name} is a distribution of Palestra's own")
    given = name.split("-", 1)[0] if kind.has_namespace else name
    what = "namespace" if kind.has_namespace else kind.folder
    taken = {*_taken_names(kind), *reserved}
    if given in taken:
        first = " (the name's first word)" if kind.has_namespace else ""
        raise InvalidOption(
            f"the {what} {given!r}{first} is taken, by Palestra or by an installed plugin; choose "
            f"another name, as {kind.example}"
        )


def _taken_names(kind: Kind) -> set[str]:
    """Names of this kind that are reserved or in use, and those of plugins."""
    known = registry()
    given = {
        "agent": known.agents,
        "reward": known.rewards,
        "renderer": [spec.mode for spec in known.renderers.values()],
    }.get(kind.folder, [*homes("namespaces"), *(s.namespace for s in known.environments.values())])
    plugins = {name for name in known.plugins.plugins if " " not in name}
    return {*kind.reserved, *given, *plugins, *homes("commands"), "palestra"}


def _next_minor(version: str) -> str:
    major, minor, *_ = version.split(".")
    return f"{major}.{int(minor) + 1}"
