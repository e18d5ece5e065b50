"""Build the documentation site: `make docs`.

    python scripts/site.py                     # writes docs/_build/html
    python scripts/site.py --out FOLDER        # writes FOLDER
    python scripts/site.py --pages-only        # only the generated pages of docs/

Pages of environments, agents, rewards and public names are written by the commands that a plugin's
author has, from what is installed; then Sphinx builds the site, with warnings as errors. Nothing is
fetched from the network.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# folders of docs, not committed
GENERATED = ("environments", "agents", "credit", "commands", "api")
SOURCES = (
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("docs/tutorials/*")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("plugins/*/README.md")),
)
IMPORTED = re.compile(r"^(?:from|import) (palestra[\w.]*)", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DOCS / "_build" / "html")
    parser.add_argument("--pages-only", action="store_true")
    asked = parser.parse_args()
    write_pages()
    if asked.pages_only:
        return 0
    flags = [
        "-W",
        "--keep-going",
        "-q",
        "-j",
        "auto",
        "-E",
        "-d",
        str(DOCS / "_build" / "doctrees"),
    ]
    return subprocess.call([sys.executable, "-m", "sphinx", *flags, str(DOCS), str(asked.out)])


def write_pages() -> None:
    """Write everything that is generated into docs/."""
    for name in GENERATED:
        shutil.rmtree(DOCS / name, ignore_errors=True)
    palestra("pages", "docs/environments", "--reference", "docs/measured")
    palestra("pages", "docs/agents", "--of", "agents")
    palestra("pages", "docs/credit", "--of", "rewards")
    palestra("pages", "docs/commands", "--of", "commands")
    for folder in ("environments", "agents", "credit", "commands"):
        for page in (DOCS / folder).glob("*-*.md" if folder == "environments" else "[!R]*.md"):
            # hundreds of pages would make the sidebar of every page: the index leads to them
            page.write_text("---\norphan: true\n---\n\n" + page.read_text("utf-8"), "utf-8")
    write_reference(DOCS / "api")


def palestra(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "palestra", *arguments], cwd=ROOT, check=True)


@dataclass(frozen=True, slots=True)
class Task:
    """What somebody wants to do: the page of `palestra`'s names for it, and further modules.

    modules: names of modules, or how they begin up to a dot.
    """

    title: str
    page: str
    modules: tuple[str, ...] = ()

    def covers(self, module: str) -> bool:
        return any(f"{module}.".startswith(f"{name}.") for name in self.modules)


TASKS = (
    Task("Play and watch", "playing", ("palestra.task_filter", "palestra.kernel")),
    Task(
        "Write a game or a task",
        "writing",
        (
            *("palestra.cli", "palestra.grids", "palestra.rules", "palestra.scene"),
            *("palestra.testing", "palestra_markets", "palestra_tasks", "palestra_web"),
        ),
    ),
    Task(
        "Agents and language models",
        "agents",
        ("palestra.llm", "palestra_adapters", "palestra_agents"),
    ),
    Task("Batches and libraries of reinforcement learning", "batches", ("palestra.views",)),
    Task("Records, tournaments and statistics", "records", ("palestra.records", "palestra_arena")),
    Task("Rewards and training", "rewards", ("palestra_rewards", "palestra_training")),
    Task("Serve and connect", "serving", ("palestra_server",)),
    Task("Errors", "errors"),
)


def write_reference(folder: Path) -> None:
    """The index of the reference by task, and a page for every public module besides `palestra`.

    The names of `palestra` itself have pages in docs/reference, with examples. Public are the names
    that a distribution's package exports, and the modules that the guides, the tutorials and the
    READMEs import from.
    """
    folder.mkdir()
    names = [name for name in public_modules() if name != "palestra"]
    seen = {id(getattr(palestra_module(), name)) for name in palestra_module().__all__}
    for name in names:
        (folder / f"{name}.rst").write_text(module_page(name, seen), "utf-8")
    (folder / "index.rst").write_text(reference_index(names), "utf-8")


def palestra_module() -> ModuleType:
    return importlib.import_module("palestra")


def reference_index(modules: list[str]) -> str:
    """The page that leads to every task's page and modules."""
    if lost := [name for name in modules if not any(task.covers(name) for task in TASKS)]:
        raise SystemExit(f"no task of the reference covers {', '.join(lost)}; add it to TASKS")
    lines = ["Reference", "=" * 9, "", "Public names, by what you want to do.", ""]
    for task in TASKS:
        lines += [task.title, "-" * len(task.title), "", ".. toctree::", "   :maxdepth: 1", ""]
        lines += [f"   /reference/{task.page}"]
        lines += [*(f"   {name}" for name in modules if task.covers(name)), ""]
    return "\n".join(lines)


def public_modules() -> list[str]:
    found = {"palestra", "palestra.grids", "palestra.testing"}
    found |= {"palestra_arena", "palestra_rewards", "palestra_server"}
    for source in SOURCES:
        found |= set(IMPORTED.findall(source.read_text("utf-8")))
    return sorted(name for name in found if imports(name))


def imports(name: str) -> bool:
    """Whether a module imports here; one that needs a trainer's own environment may not."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("palestra") and "new plugin" not in str(error):
            return False  # of an example's own package
        print(f"{name} is left out of the reference: {error}", file=sys.stderr)
        return False
    return True


def module_page(name: str, seen: set[int]) -> str:
    """The public names of a module; those in `seen` have an entry on another page."""
    module = importlib.import_module(name)
    about = re.sub(r"`([^`]+)`(?=\w?)", r"``\1``\\ ", inspect.cleandoc(module.__doc__ or ""))
    lines = [name, "=" * len(name), "", f".. currentmodule:: {name}", "", about, ""]
    for member in public_names(module):
        value = getattr(module, member)
        lines.append(f".. {directive(value)}:: {member}")
        if directive(value) == "data":
            lines.append(f"   :type: {type(value).__name__}")
        if id(value) in seen:
            lines.append("   :no-index:")
        lines.append("")
        seen.add(id(value))
    return "\n".join(lines)


def public_names(module: ModuleType) -> Iterable[str]:
    """`__all__`, or what the module defines itself under names without an underscore."""
    exported = getattr(module, "__all__", None)
    if exported is not None:
        return sorted(n for n in exported if not inspect.ismodule(getattr(module, n)))
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def directive(value: object) -> str:
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "autofunction" if inspect.isroutine(value) else "data"


if __name__ == "__main__":
    raise SystemExit(main())
