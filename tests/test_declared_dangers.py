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


def reached(start):
    """Every (module, name, definition) that a definition reaches by names."""
    waiting, seen = [start], set()
    while waiting:
        where, name = waiting.pop()
        if (where, name) in seen:
            continue
        seen.add((where, name))
        if not is_followed(where):
            yield where, name, None
            continue
        defined, imported = module(where)
        if name not in defined:
            if name in imported:
                waiting.append(imported[name])
            continue
        node = defined[name]
        yield where, name, node
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id != name:
                waiting.append(
                    imported.get(inner.id, (where, inner.id))
                    if inner.id not in defined
                    else (where, inner.id)
                )
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                source, attribute = imported.get(inner.value.id, ("", ""))
                if source:
                    waiting.append((f"{source}.{attribute}".rstrip("."), inner.attr))


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


def dangers_of(spec):
    where, _, name = spec.entry_point.partition(":")
    runs, files = set(), set()
    for place, part, node in reached((where, name)):
        if (place, part) in PROGRAMS:
            runs.add(place)
        if node is not None and reads_files(node):
            files.add(f"{place}.{part}")
    return runs, files


FOUND = {spec.id: dangers_of(spec) for spec in specs()}


def test_the_reader_finds_what_is_known():
    assert FOUND["tasks/FastCode-v0"][0]
    assert FOUND["games/AgentsNet-v0"][1]
    assert not any(FOUND["games/TicTacToe-v0"])


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.id)
def test_games_that_run_programs_say_so(spec):
    kind = load_entry_point(spec.entry_point)
    assert (kind.runs_programs is not Game.runs_programs) == bool(FOUND[spec.id][0]), FOUND[spec.id]


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.id)
def test_games_that_read_files_have_options_that_say_so(spec):
    hints = option_hints(load_entry_point(spec.entry_point))
    declared = [name for name, hint in hints.items() if names_file(hint)]
    assert bool(declared) == bool(FOUND[spec.id][1]), FOUND[spec.id]
