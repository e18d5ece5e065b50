"""Rules of array games in which every index and every number that is stored is checked.

Python takes an index below 0 from the end, and numpy stores the last bits of a number that a field
has no room for; compiled rules do the same. The functions here make copies of interpreted rules
that raise instead. `PALESTRA_DEBUG` and the conformance kit play with them.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import textwrap
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from palestra.engine.rule_functions import device_functions, rule_functions
from palestra.kernel.array_game import ArrayGame

INDEX, NUMBER = "_checked_index", "_checked_number"  # what rewritten rules call


class OutsideArray(IndexError):
    """A rule uses an index below 0 that it has computed, or one beyond the end."""


class NoRoom(OverflowError):
    """A rule stores a whole number that its field or array cannot hold."""


def checked_game(game: ArrayGame) -> ArrayGame:
    """A copy of a game whose rules are checked; it is for interpreted episodes."""
    kind = type(game)
    own = {
        name: rule
        for name, rule in rule_functions(game).items()
        if rule is not getattr(ArrayGame, name)
    }
    rules = {name: staticmethod(rule) for name, rule in checked_rules(own).items()}
    twin = copy.copy(game)
    vars(twin).pop("seen", None)  # which may be by the compiled rules
    checked = type(kind.__name__, (kind,), {**rules, "__module__": kind.__module__})
    object.__setattr__(twin, "__class__", checked)
    return twin


def checked_rules(rules: dict[str, FunctionType]) -> dict[str, FunctionType]:
    """Copies of rules, and of all functions they call, in which indices and numbers are checked."""
    return device_functions(rules, _check_function)


def _check_function(function: FunctionType) -> FunctionType:
    """A copy with the same lines; the function itself where there is no source to rewrite."""
    if function.__closure__:
        return function
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # made at a prompt, or a lambda within a line
        return function
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    tree = ast.fix_missing_locations(_Checks().visit(tree))
    flags = __future__.annotations.compiler_flag
    module = compile(tree, function.__code__.co_filename, "exec", flags, dont_inherit=True)
    codes = (code for code in module.co_consts if isinstance(code, CodeType))
    code = next((code for code in codes if code.co_name == function.__name__), None)
    if code is None:
        return function
    names = function.__globals__ | {INDEX: _index, NUMBER: _number}
    made = FunctionType(code, names, function.__name__, function.__defaults__)
    made.__kwdefaults__, made.__module__ = function.__kwdefaults__, function.__module__
    return made


class _Checks(ast.NodeTransformer):
    """Puts a check round every computed index, and round every number that is stored."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not _has_call(node.value):
            array, source = copy.deepcopy(node.value), ast.unparse(node)
            several = isinstance(node.slice, ast.Tuple)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            checked = [
                part if _is_written_out(part) else _call(INDEX, array, part, axis, source)
                for axis, part in enumerate(parts)
            ]
            node.slice = ast.Tuple(checked, ast.Load()) if several else checked[0]
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        (target, *more) = node.targets
        if not more:
            node.value = self._stored(target, node.value)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        target = node.target
        if isinstance(target, ast.Name) or _has_call(target):
            return self.generic_visit(node)
        before: Any = copy.deepcopy(target)
        before.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        plain = ast.copy_location(ast.Assign([target], value), node)
        return self.visit_Assign(plain)

    @staticmethod
    def _stored(target: ast.expr, value: ast.expr) -> ast.expr:
        """The value, checked if the target is a field or an element."""
        if isinstance(target, ast.Attribute | ast.Subscript) and not _has_call(target.value):
            holder = copy.deepcopy(target.value)
            field = target.attr if isinstance(target, ast.Attribute) else ""
            return _call(NUMBER, holder, value, field, ast.unparse(target))
        return value


def _has_call(node: ast.AST) -> bool:
    """Whether it may matter how often an expression is computed."""
    return any(isinstance(part, ast.Call | ast.NamedExpr) for part in ast.walk(node))


def _is_written_out(index: ast.expr) -> bool:
    """Whether an index is a slice or a literal, such as -1: then it is what the author means."""
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return isinstance(index, ast.Slice | ast.Constant)


def _call(name: str, holder: ast.expr, value: ast.expr, *more: Any) -> ast.expr:
    constants = (ast.Constant(one) for one in more)
    call = ast.Call(ast.Name(name, ast.Load()), [holder, value, *constants], [])
    return ast.copy_location(call, value)


def _index(array: Any, index: Any, axis: int, source: str) -> Any:
    """The index; raises `OutsideArray` if it is below 0 or beyond the end."""
    if isinstance(index, int | np.integer):
        lowest = highest = int(index)
    elif isinstance(index, np.ndarray) and index.size and index.dtype.kind in "iu":
        lowest, highest = int(index.min()), int(index.max())
    else:
        return index
    size = array.shape[axis] if isinstance(array, np.ndarray) else len(array)
    if lowest < 0:
        raise OutsideArray(
            f"{source} uses index {lowest}, which counts from the end of {size} entries; test for "
            "an index below 0 first (-1 is beyond the edge, nobody or no card)"
        )
    if highest >= size:
        raise OutsideArray(f"{source} uses index {highest} of {size} entries, 0 to {size - 1}")
    return index


def _number(holder: Any, value: Any, field: str, target: str) -> Any:
    """The value; raises `NoRoom` if it is a whole number that where it goes cannot hold."""
    dtype = getattr(holder, "dtype", None)
    if dtype is None or not isinstance(value, int | np.integer):
        return value
    kind = dtype.fields[field][0].base if field and dtype.fields else dtype
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        if not limits.min <= value <= limits.max:
            raise NoRoom(
                f"{target} is {kind}, which has no room for {value}: it holds {limits.min} to "
                f"{limits.max}; declare a larger type"
            )
    return value
