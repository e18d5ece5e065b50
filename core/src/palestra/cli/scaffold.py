"""Writing a new plugin from the plain files in `templates/plugin`."""

from __future__ import annotations

import re
import shutil
from datetime import date
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import mkdtemp

from palestra.kernel.errors import InvalidOption
from palestra.kernel.registry import registry
from palestra.version import __version__

# which template becomes which file of the new distribution
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "LICENSE": "LICENSE",
    "gitignore": ".gitignore",
    "ci.yml": ".github/workflows/tests.yml",
    "init.py": "src/{package}/__init__.py",
    "plugin.py": "src/{package}/plugin.py",
    "catalogue": "src/{package}/catalogue.json",
    "subtraction.py": "src/{package}/subtraction.py",
    "test_conformance.py": "tests/test_conformance.py",
    "test_rules.py": "tests/test_rules.py",
    "golden": "tests/golden/Subtraction-v0.txt",
}
_NAME = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")


def create_plugin(name: str, folder: Path) -> Path:
    """Write the distribution `palestra-NAME` under `folder` and return its path.

    All of it or nothing is written; a folder that exists is never touched.
    """
    name = name.removeprefix("palestra-")
    if not _NAME.match(name):
        raise InvalidOption(
            f"plugin name {name!r} must be lower-case words joined by hyphens, as in island-games"
        )
    namespace = name.split("-", 1)[0]
    _refuse_taken(namespace)
    target = Path(folder) / f"palestra-{name}"
    if target.exists():
        raise InvalidOption(f"{target} exists already; choose another name or --folder")
    words = {
        "distribution": f"palestra-{name}",
        "package": f"palestra_{name.replace('-', '_')}",
        "namespace": namespace,
        "requires": f">={__version__},<{_next_minor(__version__)}",
        "year": str(date.today().year),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=".palestra-", dir=target.parent))
    try:
        for template, place in FILES.items():
            path = draft / place.format(package=words["package"])
            path.parent.mkdir(parents=True, exist_ok=True)
            source = files("palestra.cli").joinpath("templates", "plugin", f"{template}.txt")
            path.write_text(Template(source.read_text("utf-8")).substitute(words), "utf-8")
        draft.chmod(0o755)  # mkdtemp's own mode keeps others out
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def _refuse_taken(namespace: str) -> None:
    taken = {spec.namespace for spec in registry().environments.values()}
    if namespace in taken:
        raise InvalidOption(
            f"the namespace {namespace!r} (the name's first word) is taken by an installed "
            f"plugin; taken: {', '.join(sorted(taken))}"
        )


def _next_minor(version: str) -> str:
    major, minor, *_ = version.split(".")
    return f"{major}.{int(minor) + 1}"
