"""Making a failing case as small as it gets."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from palestra.testing.fuzzing.case import Case

TRIALS = 150  # of one case


def shrink(case: Case, fails: Callable[[Case], bool], trials: int = TRIALS) -> Case:
    """Return the smallest case found for which `fails` is true; it must be true of `case`."""
    left = trials
    improved = True
    while improved and left > 0:
        improved = False
        for smaller in smaller_cases(case):
            left -= 1
            if fails(smaller):
                case, improved = smaller, True
                break
            if left <= 0:
                break
    return case


def smaller_cases(case: Case) -> Iterator[Case]:
    """Yield cases that are one step simpler, the largest simplifications first."""
    size = len(case.values)
    for count in (size // 2, 1) if size > 2 else (1,):
        for start in range(0, size, count) if size > 1 else ():
            kept = case.values[:start] + case.values[start + count :]
            yield replace(case, values=kept)
    for name in case.options if len(case.options) > 1 else ():
        yield replace(case, options={k: v for k, v in case.options.items() if k != name})
    for number in sorted({0, case.steps // 2, case.steps - 1}):
        if 0 <= number < case.steps:
            yield replace(case, steps=number)
    for number in sorted({0, 1, case.seed // 2}):
        if number < case.seed:
            yield replace(case, seed=number)
    for number in sorted({1, case.at // 2, case.at - 1}):
        if 0 < number < case.at:
            yield replace(case, at=number)
    for place, value in enumerate(case.values):
        for simpler in simpler_expressions(value):
            yield replace(case, values=(*case.values[:place], simpler, *case.values[place + 1 :]))
    for name, value in case.options.items():
        for simpler in simpler_expressions(value):
            yield replace(case, options={**case.options, name: simpler})


def simpler_expressions(expression: str) -> Iterator[str]:
    """The same expression with one constant smaller, or one item fewer; shorter ones first."""
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError):
        return
    found: dict[str, None] = {}
    for number, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            fresh = ast.parse(expression, mode="eval")
            target = list(ast.walk(fresh))[number]
            change(target)
            found[ast.unparse(fresh)] = None
    yield from sorted(
        (text for text in found if text != expression), key=lambda text: (len(text), text)
    )


def _changes(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    """What can be made smaller at one place of an expression."""
    if isinstance(node, ast.Constant):
        for value in _smaller_constants(node.value):
            yield lambda target, value=value: setattr(target, "value", value)  # type: ignore[misc]
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 0:
        for place in range(len(node.elts)):
            yield lambda target, place=place: target.elts.pop(place)  # type: ignore[misc]


def _smaller_constants(value: object) -> Iterator[object]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from {0, 1, value // 10, value // 2, value - 1} - {value, -1}
    elif isinstance(value, float) and value not in (0.0, 1.0):
        yield from (0.0, 1.0)
    elif isinstance(value, str | bytes) and value:
        half = len(value) // 2
        yield from (value[:0], value[:half], value[half:], value[1:], value[:-1])
