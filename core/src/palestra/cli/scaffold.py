"""Writing a new plugin, or a part of one, from the plain files in `templates`."""

from __future__ import annotations

import keyword
import re
import shutil
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import mkdtemp

import msgspec

from palestra.catalogue.build import catalogue_text
from palestra.catalogue.read import Catalogue, catalogue_in
from palestra.files import write_text
from palestra.kernel.errors import InvalidOption
from palestra.kernel.plugins import OFFICIAL
from palestra.kernel.registry import homes, registry
from palestra.shaping import OWN
from palestra.version import __version__

# which template in `common` becomes which file of every new distribution
COMMON = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "LICENSE": "LICENSE",
    "gitignore": ".gitignore",
    "ci.yml": ".github/workflows/tests.yml",
    "init.py": "src/{package}/__init__.py",
    "plugin.py": "src/{package}/plugin.py",
}
CONFORMANCE = "tests/test_{kind}_conformance.py"  # one file for all agents of a plugin
CATALOGUE = "src/{package}/catalogue.json"
SORTED_BY = {"environments": "id", "agents": "name", "rewards": "name", "renderers": "mode"}
_NAME = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
MODES = ("human", "rgb_array", "ansi", "terminal", "gif", "mp4", "strip", "html", "browser", "none")


MODULE, MODULE_TEST = "src/{package}/{module}.py", "tests/test_{module}.py"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of plugin to create: its folder of templates, their files and its dependencies."""

    folder: str
    title: str
    hook: str  # the function of plugin.py that gives it
    files: dict[str, str]
    dependencies: tuple[str, ...] = ("palestra",)  # our own; the version is added
    has_namespace: bool = False  # of ids; otherwise the whole name is the name of what it provides
    example: str = "careful"
    reserved: Collection[str] = field(default=())
    is_a: str = ""  # the kind whose names and conformance tests it shares, if not its own

    @property
    def noun(self) -> str:
        return self.is_a or self.folder


PLAYED = "palestra-games"  # what is tested on the games of another plugin
AGENTS = ("random", "first", "scripted", *homes("agents"))
KINDS = {
    "plugin": Kind(
        "plugin",
        "A game",
        "palestra_environments",
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
        "palestra_agents",
        {"agent.py": MODULE, "test_agent.py": MODULE_TEST},
        reserved=AGENTS,
    ),
    "llm": Kind(
        "llm",
        "An agent made of a language model",
        "palestra_agents",
        {"agent.py": MODULE, "test_agent.py": MODULE_TEST},
        dependencies=("palestra", "palestra-adapters", "palestra-agents"),
        reserved=AGENTS,
        is_a="agent",
    ),
    "reward": Kind(
        "reward",
        "A step shaper",
        "palestra_rewards",
        {"reward.py": MODULE, "test_reward.py": MODULE_TEST},
        example="mobility",
        reserved=(OWN, *homes("rewards")),
    ),
    "renderer": Kind(
        "renderer",
        "A renderer",
        "palestra_renderers",
        {"renderer.py": MODULE, "test_renderer.py": MODULE_TEST},
        example="markdown",
        reserved=MODES,
    ),
    "site": Kind(
        "site",
        "A website",
        "palestra_environments",
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

    kind: "plugin" (a game), "agent", "llm" (an agent made of a language model), "reward",
    "renderer" or "site". reserved: further names that it must not take, besides those reserved or
    in use. Either all files are written or none; an existing folder is never touched.
    """
    made, name = KINDS[kind], name.removeprefix("palestra-")
    _refuse_name(name, made)
    if f"palestra-{name}" in OFFICIAL:
        raise InvalidOption(f"palestra-{name} is a distribution of Palestra's own")
    _refuse_taken(name, made, reserved)
    target = Path(folder) / f"palestra-{name}"
    if target.exists():
        raise InvalidOption(f"{target} exists already; choose another name or --folder")
    words = _words(name, made, f"palestra_{name.replace('-', '_')}")
    common = {
        place.format(**words): _filled("common", template, words)
        for template, place in COMMON.items()
    }
    texts = _with_part(common, Catalogue(), words, made)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=".palestra-", dir=target.parent))
    try:
        _write(draft, texts)
        draft.chmod(0o755)  # mkdtemp's own mode keeps others out
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def add_to_plugin(
    name: str, folder: Path, kind: str, reserved: Collection[str] = ()
) -> dict[str, str]:
    """Add an agent, a reward or a renderer to the plugin in `folder`; return texts by file written.

    kind, reserved: as of `create_plugin`. The package's catalogue, pyproject.toml and README get
    their entries; no other existing file changes. Either everything is written or nothing.
    """
    made = KINDS[kind]
    _refuse_name(name, made)
    _refuse_taken(name, made, reserved)
    package = _package_in(folder)
    words = _words(name, made, package)
    _refuse_missing_hook(folder / f"src/{package}/plugin.py", made)
    own = (*made.files.values(), CONFORMANCE.format(kind=made.noun))
    places = [place.format(**words) for place in (*COMMON.values(), *own)]
    known = {
        place: (folder / place).read_text("utf-8") for place in places if (folder / place).exists()
    }
    catalogue = catalogue_in(folder / "src" / package)
    texts = _with_part(known, catalogue, words, made)
    changed = {place: text for place, text in texts.items() if known.get(place) != text}
    _write(folder, changed, known)
    return changed


def _with_part(
    known: Mapping[str, str], catalogue: Catalogue, words: Mapping[str, str], kind: Kind
) -> dict[str, str]:
    """The texts of a distribution's files, by place, with one more game, agent, … in them."""
    conformance = CONFORMANCE.format(kind=kind.noun)
    own = {
        place.format(**words): _filled(kind.folder, template, words)
        for template, place in kind.files.items()
    }
    own[conformance] = _filled(kind.noun, "test_conformance.py", words)
    if taken := sorted(own.keys() & known.keys() - {conformance}):
        raise InvalidOption(f"{taken[0]} exists already; nothing was written: choose another name")
    more = msgspec.json.decode(_filled(kind.folder, "catalogue", words), type=Catalogue)
    readme = known.get("README.md", "") + _filled(kind.folder, "section.md", words)
    return {
        **known,
        **own,
        conformance: known.get(conformance, own[conformance]),
        "README.md": readme,
        "pyproject.toml": _with_needed(_with_games(known["pyproject.toml"], kind), words),
        CATALOGUE.format(**words): catalogue_text(_merged(catalogue, more)),
    }


def _merged(catalogue: Catalogue, more: Catalogue) -> Catalogue:
    """Both catalogues in one, in the order of `palestra catalogue`."""
    for hook, name in SORTED_BY.items():
        specs = [*getattr(catalogue, hook), *getattr(more, hook)]
        names = [getattr(spec, name) for spec in specs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InvalidOption(f"the plugin declares {twice[0]!r} already; choose another name")
        setattr(catalogue, hook, sorted(specs, key=lambda spec: getattr(spec, name)))
    return catalogue


def _with_needed(pyproject: str, words: Mapping[str, str]) -> str:
    """pyproject.toml with the distributions that a new part needs among the dependencies."""
    for wanted in words["dependencies"].split(", "):
        name = re.split(r"[\[><=]", wanted.strip('"'))[0]
        if not re.search(rf"^dependencies = \[.*\"{name}[\[><=\"]", pyproject, flags=re.M):
            added = rf"dependencies = [{wanted}, "
            pyproject = re.sub(r"^dependencies = \[", added, pyproject, count=1, flags=re.M)
    return pyproject


def _with_games(pyproject: str, kind: Kind) -> str:
    """pyproject.toml with the games that the tests of this kind play, in the extra `dev`."""
    if kind.has_namespace or PLAYED in pyproject:
        return pyproject
    text, found = re.subn(r"^dev = \[", f'dev = ["{PLAYED}", ', pyproject, count=1, flags=re.M)
    if not found:
        raise InvalidOption(
            f"the tests of {kind.title.lower()} play {PLAYED}, and pyproject.toml has no extra for "
            f'tests; add under [project.optional-dependencies]: dev = ["{PLAYED}"]'
        )
    return text


def _filled(folder: str, template: str, words: Mapping[str, str]) -> str:
    source = files("palestra.cli").joinpath("templates", folder, f"{template}.txt")
    return Template(source.read_text("utf-8")).substitute(words)


def _write(folder: Path, texts: Mapping[str, str], known: Mapping[str, str] | None = None) -> None:
    """Write files; if one cannot be written, put back what was `known` and delete the others."""
    written: list[str] = []
    try:
        for place, text in texts.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            written.append(place)
    except BaseException:
        for place in written:
            if known and place in known:
                write_text(folder / place, known[place])
            else:
                (folder / place).unlink()
        raise


def _words(name: str, kind: Kind, package: str) -> dict[str, str]:
    """The values of the placeholders in the templates."""
    versions = f">={__version__},<{_next_minor(__version__)}"
    namespace = name.split("-", 1)[0]
    return {
        "name": name,
        "module": name.replace("-", "_"),
        "title": kind.title,
        "distribution": f"palestra-{name}",
        "package": package,
        "namespace": namespace,
        "entry": namespace if kind.has_namespace else name,
        "dependencies": ", ".join(f'"{wanted}{versions}"' for wanted in kind.dependencies),
        "year": str(date.today().year),
    }


def _package_in(folder: Path) -> str:
    """The package of the plugin in a folder, as its entry point names it."""
    said = "as a plugin written by palestra new has it; nothing was written"
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        (module, *_) = project["entry-points"]["palestra"].values()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, LookupError, ValueError) as error:
        raise InvalidOption(
            f"{folder} has no pyproject.toml with an entry point in the group palestra, {said} "
            f"({type(error).__name__}: {error})"
        ) from error
    package: str = module.partition(".")[0]
    for file in ("plugin.py", "catalogue.json"):
        if not (folder / "src" / package / file).exists():
            raise InvalidOption(f"{folder} has no src/{package}/{file}, {said}")
    return package


def _refuse_missing_hook(plugin: Path, kind: Kind) -> None:
    if f"def {kind.hook}(" not in plugin.read_text("utf-8"):
        given = kind.hook.removeprefix("palestra_")
        raise InvalidOption(
            f"{plugin} has no hook {kind.hook}; nothing was written. Add to it:\n\n@hookimpl\n"
            f"def {kind.hook}():\n    return read_catalogue({plugin.parent.name!r}).{given}"
        )


def _refuse_name(name: str, kind: Kind) -> None:
    if not _NAME.match(name):
        raise InvalidOption(
            f"the name {name!r} must be lower-case words joined by hyphens, as in {kind.example}"
        )
    if MODULE in kind.files.values() and keyword.iskeyword(name):
        raise InvalidOption(
            f"the name {name!r} is a word of Python's own, which cannot name a module; choose "
            f"another, as {kind.example}"
        )


def _refuse_taken(name: str, kind: Kind, reserved: Collection[str]) -> None:
    """Raise `InvalidOption` for a name that Palestra or an installed plugin uses."""
    given = name.split("-", 1)[0] if kind.has_namespace else name
    what = "namespace" if kind.has_namespace else kind.noun
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
    }.get(kind.noun, [*homes("namespaces"), *(s.namespace for s in known.environments.values())])
    plugins = {name for name in known.plugins.plugins if " " not in name}
    return {*kind.reserved, *given, *plugins, *homes("commands"), "palestra"}


def _next_minor(version: str) -> str:
    major, minor, *_ = version.split(".")
    return f"{major}.{int(minor) + 1}"
