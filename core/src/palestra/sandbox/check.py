"""Checks on the source of a program before it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from palestra.kernel.errors import InvalidAction

MODULES = (
    "bisect",
    "collections",
    "datetime",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "re",
    "statistics",
)
LONGEST = 100_000  # characters
DEEPEST = 900  # nodes of the syntax tree in one another; how many Python can take varies

FRAMES = ("ag_", "co_", "cr_", "f_", "gi_", "tb_")  # attributes that lead out of a function
SPECIAL = (
    "add call contains enter eq exit getitem gt hash init iter len lt mul neg next radd repr "
    "setitem str sub truediv"
)
METHODS = frozenset(f"__{name}__" for name in SPECIAL.split())  # may be defined, not named
CLOCKS = ("now", "today", "utcnow")
BASES = ("mro", "register")  # lead to classes that no module hands out, and into patterns
NAMED = ("attrname",)  # of cached_property, which writes the attribute that it names
TEMPLATES = ("format", "format_map")  # may be read, which is guarded then; not matched
# A pattern such as Point(x, y) reads attributes that the class names, and not the program's text
WHOLE = (
    *("bool", "bytearray", "bytes", "dict", "float", "frozenset"),
    *("int", "list", "set", "str", "tuple"),
)
LEGAL = (
    f"Python without underscored names and attributes, that imports at most {', '.join(MODULES)}"
)
EXAMPLE = "print(sum(range(10)))"


def check_program(source: str) -> ast.Module:
    """Return the program's syntax tree; raises `InvalidAction` with line and column of a fault."""
    if len(source) > LONGEST:
        raise _refusal(source, f"it has {len(source)} characters, of {LONGEST} at most")
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise _refusal(source, f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise _refusal(source, str(error) or "it is nested too deeply") from error
    if depth(tree) > DEEPEST:
        raise _refusal(source, f"it is nested more than {DEEPEST} deep")
    for node in ast.walk(tree):
        if why := _problem(node):
            raise _refusal(source, why, node)
    return tree


def depth(tree: ast.AST) -> int:
    """How many nodes of a syntax tree are in one another."""
    level, levels = [tree], 0
    while level:
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        levels += 1
    return levels


def imported_modules(tree: ast.Module) -> tuple[str, ...]:
    """The modules a checked program imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return tuple(sorted(found))


def _refusal(source: str, why: str, node: ast.AST | None = None) -> InvalidAction:
    if node is not None and hasattr(node, "lineno"):
        why = f"line {node.lineno}, column {getattr(node, 'col_offset', 0) + 1}: {why}"
    return InvalidAction(source, LEGAL, EXAMPLE, why)


def _problem(node: ast.AST) -> str:
    match node:
        case ast.Import(names=names):
            return _first(_module(name.name) for name in names)
        case ast.ImportFrom(module=module, level=level, names=names):
            if any(name.name == "*" for name in names):
                return "import names one by one, not by *"
            if hidden := _first(_hidden_name(name.name) for name in names):
                return hidden
            return _module(module) if module and not level else "imports from here lead nowhere"
        case ast.Attribute(attr=name):
            return _attribute(name)
        case ast.MatchClass(cls=kind, patterns=patterns, kwd_attrs=names):
            if patterns and not (isinstance(kind, ast.Name) and kind.id in WHOLE):
                return "a pattern names the attributes of a class, such as Point(x=0)"
            return _first(map(_match_name, names))
        case ast.AugAssign(target=ast.Attribute(attr=name)) if name in TEMPLATES:
            return f"the attribute {name} must not be changed in place"  # it is read unguarded
        case ast.FunctionDef(name=name) if name in METHODS:
            return ""
        case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
            return "nothing here runs at the same time as something else"
    return _first(map(_name, _names(node)))


def _first(problems: Iterable[str]) -> str:
    return next(filter(None, problems), "")


def _names(node: ast.AST) -> list[str]:
    """Every name that a node binds or reads."""
    fields = (getattr(node, field, None) for field in ("id", "name", "asname", "arg", "rest"))
    return [
        *(field for field in fields if isinstance(field, str)),
        *(getattr(node, "names", ()) if isinstance(node, ast.Global | ast.Nonlocal) else ()),
    ]


def _name(name: str) -> str:
    return f"the name {name} is not allowed" if name.startswith("__") else ""


def _hidden_name(name: str) -> str:
    return f"the name {name} cannot be imported" if name.startswith("_") else ""


def _attribute(name: str) -> str:
    hidden = name.startswith(("_", *FRAMES)) or name in CLOCKS + BASES + NAMED
    return f"the attribute {name} is not allowed" if hidden else ""


def _match_name(name: str) -> str:
    hidden = name in TEMPLATES
    return f"a pattern must not match the attribute {name}" if hidden else _attribute(name)


def _module(name: str) -> str:
    return "" if name in MODULES else f"the module {name} cannot be imported"
