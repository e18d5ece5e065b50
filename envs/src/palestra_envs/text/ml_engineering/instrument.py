"""A static writer of milestones: calls put into a program that tell how far it ran.

The player's program cannot reach milestones by itself, since it may not use the name `MARK`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from palestra import InvalidAction
from palestra.sandbox import check_program, depth

MARK = "reached_milestone"
MILESTONES = ("imports", "data", "fit", "predict", "submit")
DEEPEST = 100  # nodes in one another; Python writes no deeper program
Block = list[ast.stmt]


def instrument(source: str) -> tuple[str, dict[int, int]]:
    """The program with a call of `MARK` where it has passed each milestone, and its line numbers.

    The second value gives the player's own line for each line of the program returned.

    "imports" comes after the first imports, "data" after the statement that loads the training
    rows, "fit" before the one that loads the test rows, "predict" before the one that submits and
    "submit" after it; where one statement does several of these, their calls follow it in order.
    Raises `InvalidAction` for a program that the sandbox refuses, that uses the name `MARK` or that
    is nested too deeply.
    """
    tree = check_program(source)
    if depth(tree) > DEEPEST:
        raise InvalidAction(source, f"a program that is nested at most {DEEPEST} deep")
    if MARK in _names(tree):
        legal = f"a program without the name {MARK}, which is reserved"
        raise InvalidAction(source, legal)
    block = _block(tree)
    data = _first(block, "load", "train")
    test, submit = _first(block, "load", "test"), _first(block, "submit")
    marks: list[tuple[int, str]] = []  # the number of statements that come before a mark
    if data < len(block):
        marks.append((data + 1, "data"))
    if data < test < len(block):
        marks.append((test, "fit"))
    if data < len(block) and submit < len(block):
        marks += [(max(submit, min(test + 1, submit + 1)), "predict"), (submit + 1, "submit")]
    for place, name in reversed(marks):
        block.insert(place, _mark(name))
    tree.body.insert(_imports(tree.body), _mark("imports"))
    try:
        written = ast.unparse(ast.fix_missing_locations(tree))
    except ValueError as error:  # a number in hexadecimal that is too long in decimal
        raise InvalidAction(source, "a program that Python can write", why=str(error)) from error
    pairs = zip(ast.walk(ast.parse(written)), ast.walk(tree), strict=True)
    lines: dict[int, int] = {}
    for new, old in pairs:  # statements come before what they consist of
        if isinstance(new, ast.stmt | ast.expr) and isinstance(old, ast.stmt | ast.expr):
            lines.setdefault(new.lineno, old.lineno)
    return written, lines


def _mark(name: str) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(name)], []))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for field in ("id", "name", "arg", "asname", "attr"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def _imports(body: Block) -> int:
    """How many statements the imports at the head take, a docstring included."""
    held = 0
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            held = place + 1
        elif not isinstance(statement, ast.Expr):
            break
    return held


def _block(tree: ast.Module) -> Block:
    """The statements among which one loads the training rows: a function's, or the program's."""
    bodies = [tree.body]
    bodies += [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return next((body for body in bodies if _first(body, "load", "train") < len(body)), tree.body)


def _first(block: Block, function: str, argument: str = "") -> int:
    """The first statement that calls the function with this argument; the length if none does."""
    for place, statement in enumerate(block):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            given = [one.value for one in node.args if isinstance(one, ast.Constant)]
            if node.func.id == function and (not argument or argument in given[:1]):
                return place
    return len(block)
