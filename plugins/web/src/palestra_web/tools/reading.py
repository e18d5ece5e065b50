"""Parsing the call or closing action at the end of a model's text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from palestra import Grammar, InvalidAction, TextAction
from palestra.answers import LONGEST_ANSWER, said
from palestra.kernel.actions import FORM, stated_action
from palestra.kernel.errors import show
from palestra.single_keys import read_single

from palestra_web.tools.declare import Call, Program, Tool, call

_FENCED = re.compile(r"```(?:python|py)\n(.*?)```", re.DOTALL)

Kinds = Mapping[str, type[TextAction]]


def read_tool_action(
    text: str, grammar: Grammar, tools: Sequence[Tool], kinds: Sequence[type[TextAction]]
) -> TextAction:
    """The action that ends `text`, written as a call or as the JSON object of a function call.

    That object is `{"name": …, "arguments": {…}}`, as function-calling models write it. As in
    `palestra.kernel.actions`, it begins a line, and prose is never searched. Where programs are
    legal, a fenced block of Python that ends the text is a program, whatever it contains. Raises
    `InvalidAction`.
    """
    known = {kind.__name__: kind for kind in kinds}
    names = {tool.name for tool in tools} | set(known)
    found, why = _fenced_program(text, grammar), ""
    if found is None and len(text) <= LONGEST_ANSWER:
        found, why = _stated_action(text, names, known)
    if found is not None:
        why = grammar.problem(found) or ""
        if not why:
            return found
    why = why or f"no call found; {FORM}"
    raise InvalidAction(text, str(grammar), grammar.example(), why)


def _fenced_program(text: str, grammar: Grammar) -> TextAction | None:
    """The fenced block of Python that ends an answer, where programs are legal."""
    found = list(_FENCED.finditer(said(text)))
    legal = any(option.action is Program for option in grammar)
    return Program(found[-1][1]) if found and legal and not _rest(found[-1]) else None


def _rest(block: re.Match[str]) -> str:
    return block.string[block.end() :].strip()


def _stated_action(text: str, names: set[str], kinds: Kinds) -> tuple[TextAction | None, str]:
    """The stated action, or the reason why it cannot be parsed."""
    written = stated_action(text, names)
    if not written:
        return None, ""
    if written.startswith("{"):
        return _function_call(written, kinds), ""
    name = written.partition("(")[0].strip()
    if name not in names:
        return None, f"no call found: there is no tool {name!r}"
    try:
        return _build(ast.parse(written, mode="eval").body, kinds), ""
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        return None, f"{show(written)} cannot be read: {str(error).partition(': <ast')[0]}"


def _build(node: ast.expr, kinds: Kinds) -> TextAction:
    if not isinstance(node, ast.Call):
        raise ValueError("it is no call")
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    values = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg}
    if name in kinds:
        given = [ast.literal_eval(value) for value in node.args]
        return kinds[name](*given, **values)
    if node.args or len(values) < len(node.keywords):
        raise ValueError("name every argument, as in tool(name='value')")
    return call(name, **values)


def _function_call(written: str, kinds: Kinds) -> TextAction | None:
    try:
        data: Any = read_single(written, strict=False)
        if "type" in data:
            return kinds[data.pop("type")](**data)
        name, given = data["name"], data.get("arguments", {})
        values = read_single(given) if isinstance(given, str) else given
        if name in kinds and kinds[name] is not Call:
            return kinds[name](**values)
        return call(name, **values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
