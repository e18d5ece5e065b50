"""Options that name files, and games that run programs, say so where they are declared.

Every function, class and method that a game's class reaches by name in Palestra's own code is read.
"""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from palestra import Game, load_entry_point, specs
from palestra.catalogue.describe import names_file
from palestra.kernel.options import option_hints

PROGRAMS = {("palestra.sandbox", "run_program"), ("palestra.sandbox.run", "run_program")}
SPECS = {spec.id: spec for spec in specs()}
OWN_FILES = {"files", "beside", "__file__"}  # words of code that reads a file of its package


@cache
def module(name):
    """The definitions of a module by name, and what its other names are imported from."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        found = None
    if found is None or not (found.origin or "").endswith(".py"):
        return {}, {}
    tree = ast.parse(Path(found.origin).read_text("utf-8"))
    package = name if found.submodule_search_locations else name.rpartition(".")[0]
    defined, imported = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(filter(None, [above, node.module]))
            imported |= {one.asname or one.name: (source, one.name) for one in node.names}
        if isinstance(node, ast.Import):
            imported |= {one.asname or one.name: (one.name, "") for one in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined[node.name] = node
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {one.id: node for one in targets if isinstance(one, ast.Name)}
    return defined, imported


def is_followed(name):
    """Whether code of a module is read: Palestra's own, but for its core and its command line."""
    return name.startswith("palestra_")


@cache
def named(where, name):
    """What a definition names, as (module, name), and whether it opens a file."""
    if not is_followed(where):
        return (), False
    defined, imported = module(where)
    if name not in defined:
        return (imported[name],) if name in imported else (), False
    node, found = defined[name], []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id != name:
            here = (where, inner.id)
            found.append(here if inner.id in defined else imported.get(inner.id, here))
        if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            source, attribute = imported.get(inner.value.id, ("", ""))
            if source:
                found.append((f"{source}.{attribute}".rstrip("."), inner.attr))
    return tuple(dict.fromkeys(found)), reads_files(node)


def reached(start):
    """Every (module, name) that a definition reaches by names."""
    waiting, seen = [start], set()
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += named(*at)[0]
    return seen


def reads_files(node):
    """Whether a definition opens a file other than one of its own package."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    called = {
        getattr(n.func, "attr", getattr(n.func, "id", ""))
        for n in ast.walk(node)
        if isinstance(n, ast.Call)
    }
    bare = any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "Path"
        for n in ast.walk(node)
    )
    return (bare or bool(called & {"read_text", "read_bytes"})) and not names & OWN_FILES


@cache
def dangers_of(id):
    """What an environment runs programs by, and which of its definitions read files."""
    where, _, name = SPECS[id].entry_point.partition(":")
    at = reached((where, name))
    return at & PROGRAMS, {place for place in at if named(*place)[1]}


def test_the_reader_finds_what_is_known():
    assert dangers_of("tasks/FastCode-v0")[0]
    assert dangers_of("games/AgentsNet-v0")[1]
    assert not any(dangers_of("games/TicTacToe-v0"))


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.id)
def test_games_that_run_programs_say_so(spec):
    kind = load_entry_point(spec.entry_point)
    assert (kind.runs_programs is not Game.runs_programs) == bool(dangers_of(spec.id)[0]), (
        dangers_of(spec.id)
    )


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.id)
def test_games_that_read_files_have_options_that_say_so(spec):
    hints = option_hints(load_entry_point(spec.entry_point))
    declared = [name for name, hint in hints.items() if names_file(hint)]
    assert bool(declared) == bool(dangers_of(spec.id)[1]), dangers_of(spec.id)
