"""What may import what, what importing costs, and what no file may hold."""

from __future__ import annotations

import ast
import graphlib
import importlib
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytestmark = pytest.mark.essential(whole=True)

ROOT = Path(__file__).parents[1]
PACKAGES = {
    path.name: path
    for path in (*ROOT.glob("*/src/*"), *ROOT.glob("plugins/*/src/*"))
    if path.is_dir() and path.name.startswith("palestra")
}
# words to write a game in or to state a move with, which import nothing
PLAIN = {
    f"palestra.{name}"
    for name in (
        "answers",
        "endings",
        "guarded",
        "paragraphs",
        "plain",
        "rules",
        "scene",
        "single_keys",
        "stating",
    )
}
HEAVY = (
    *("torch", "numba", "vllm", "transformers", "stable_baselines3", "ray", "scipy", "pandas"),
    *("matplotlib", "networkx", "openskill", "pyarrow", "pygame", "PIL", "playwright", "bm25s"),
    *("jinja2", "starlette", "uvicorn", "openai", "httpx", "rich", "typer", "sqlalchemy"),
    *("sqlite3", "filelock", "platformdirs", "tomllib", "asyncio"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """What several tests ask of a file, which takes long to read.

    packages: top-level names of every package it imports, wherever in it. foreign: line and name of
    each private attribute of something else than `self` and `cls`. modules: what each `from` line
    could name, save those for type checkers. docstring: of the module.
    """

    packages: frozenset[str]
    foreign: tuple[tuple[int, str], ...]
    modules: tuple[tuple[str, tuple[str, ...]], ...]
    docstring: str | None


@cache
def source(path: Path) -> Source:
    tree = ast.parse(path.read_text("utf-8"))
    packages, foreign, modules, typing_only = set(), [], [], set()
    for node in ast.walk(tree):  # parents come before what is in them
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            typing_only.update(ast.walk(node))
        elif isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if not node.level:
                packages.add(node.module.split(".")[0])
            if node not in typing_only:
                modules.append((node.module, tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner not in ("self", "cls"):
                foreign.append((node.lineno, node.attr))
    return Source(frozenset(packages), tuple(foreign), tuple(modules), ast.get_docstring(tree))


def test_the_packages_are_found() -> None:
    assert {"palestra", "palestra_envs", "palestra_agents", "palestra_renderers"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_imports_a_plugin(package: str) -> None:
    others = set(PACKAGES) - {package, "palestra"}
    for path in PACKAGES[package].rglob("*.py"):
        assert not source(path).packages & others, path


@pytest.mark.parametrize("package", sorted(set(PACKAGES) - {"palestra"}))
def test_plugins_touch_nothing_private_of_others(package: str) -> None:
    for path in PACKAGES[package].rglob("*.py"):
        assert not source(path).foreign, path


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_draws_from_global_generators(package: str) -> None:
    pattern = re.compile(
        r"\bnp\.random\.\w+|\bnumpy\.random\.\w+|^import random|^from random", re.M
    )
    for path in PACKAGES[package].rglob("*.py"):
        if "testing" in path.parts:
            continue  # the kit watches the global generators, and so names them
        text = "\n".join(line.split("#")[0] for line in path.read_text("utf-8").splitlines())
        assert not pattern.search(text), path


def modules() -> dict[str, Path]:
    """Every module of every package by its dotted name."""
    found = {}
    for root in PACKAGES.values():
        for path in root.rglob("*.py"):
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def imported_modules(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours a file imports, wherever in it, save for type checkers."""
    found = set()
    for module, names in source(path).modules:
        inner = {f"{module}.{name}" for name in names} & set(known)
        found |= inner or {module} & set(known)
    return found


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    graph = {name: imported_modules(path, known) - {name} for name, path in known.items()}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_the_kernel_fits_in_a_head_and_imports_no_other_room() -> None:
    kernel = PACKAGES["palestra"] / "kernel"
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in kernel.glob("*.py"))
    assert lines <= 4000
    for path in kernel.glob("*.py"):
        for module in imported_modules(path, modules()):
            assert module.startswith("palestra.kernel") or module in PLAIN, path


def test_importing_palestra_brings_nothing_heavy() -> None:
    assert not imported_with_palestra() & set(HEAVY)


def test_loading_the_plugins_imports_their_declarations_alone() -> None:
    plugins = {point.value for point in entry_points(group="palestra")} - {"palestra.plugin"}
    found = {name for name in imported_with_palestra() if name.startswith("palestra_")}
    assert plugins
    assert found == plugins | {name.partition(".")[0] for name in plugins}


def imported_with_palestra() -> set[str]:
    """The modules that a fresh process holds after `import palestra`."""
    code = "import sys, palestra; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["palestra_arena", "palestra_rewards", "palestra_server"])
def test_a_lazy_package_gives_every_name_of_its_stub(package: str) -> None:
    stub = ast.parse(PACKAGES[package].joinpath("__init__.pyi").read_text("utf-8"))
    names = {
        alias.asname or alias.name
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    module = importlib.import_module(package)
    assert names == set(module.__all__)
    assert names <= set(dir(module))
    assert all(getattr(module, name) is not None for name in names)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_every_extra_that_is_named_exists() -> None:
    projects = [*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]
    extras = {}
    for path in projects:
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        extras[project["name"]] = set(project.get("optional-dependencies", ()))
    sources = [path for root in PACKAGES.values() for path in root.rglob("*.py")]
    pages = [path.with_name("README.md") for path in projects] + [ROOT / "README.md"]
    named = 0
    for path in (*sources, *projects, *pages, *ROOT.glob("docs/*.md")):
        text = path.read_text("utf-8")
        for name, inside in re.findall(r"(palestra(?:-[a-z]+)?)\[([a-z, ]+)\]", text):
            named += 1
            assert {extra.strip() for extra in inside.split(",")} <= extras[name], path
    assert named > 20


def test_no_committed_file_names_a_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: committed files cannot be listed")
    homes = re.compile(r"/(home|root|Users|work)/[a-z]|\b(10|192\.168)\.\d+\.\d+\.\d+")
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if name and path.suffix in {".py", ".md", ".toml", ".txt", ".yml", ".json", ""}:
            assert not homes.search(path.read_text("utf-8", errors="replace")), name


def test_every_module_says_what_it_is() -> None:
    for root in PACKAGES.values():
        for path in root.rglob("*.py"):
            assert source(path).docstring, path


@pytest.mark.parametrize(
    "package",
    ["palestra_envs", "palestra_games", "palestra_markets", "palestra_tasks", "palestra_web"],
)
def test_rules_know_the_classes_of_their_state_and_game(package: str) -> None:
    for path in PACKAGES[package].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                kinds = {a.arg: ast.unparse(a.annotation) for a in node.args.args if a.annotation}
                assert "Any" not in (kinds.get("state"), kinds.get("config")), (path, node.name)
