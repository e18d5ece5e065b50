"""Reading the last call or closing action in a text that a model wrote."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from palestra import Grammar, InvalidAction, TextAction

from palestra_web.tools.declare import Call, Program, Tool, call

MOST_BRACKETS = 200  # closing brackets that are tried for one call
_FENCED = re.compile(r"```(?:python|py)\n(.*?)```", re.DOTALL)
_NAME = re.compile(r"\b([A-Za-z_]\w*)\(")

Kinds = Mapping[str, type[TextAction]]


def read_tool_action(
    text: str, grammar: Grammar, tools: Sequence[Tool], kinds: Sequence[type[TextAction]]
) -> TextAction:
    """The last action in `text`, written as a call or as the JSON object of a function call.

    That object is `{"name": …, "arguments": {…}}`, as function-calling models write it. Calls of
    anything but a tool or an action are ignored. Where programs are legal, a fenced block of Python
    is a program, whatever it contains. Raises `InvalidAction`.
    """
    known = {kind.__name__: kind for kind in kinds}
    names = {tool.name for tool in tools} | set(known)
    found, why = _fenced_program(text, grammar), ""
    if found is None:
        found, why = _last_call(text, names, known)
    if found is None and not why:
        found = _function_call(text, known)
    if found is not None:
        why = grammar.problem(found) or ""
        if not why:
            return found
    raise InvalidAction(text, str(grammar), grammar.example(), why or "no call found")


def _fenced_program(text: str, grammar: Grammar) -> TextAction | None:
    """The last fenced block of Python, where programs are legal."""
    found = _FENCED.findall(text)
    legal = any(option.action is Program for option in grammar)
    return Program(found[-1]) if found and legal else None


def _last_call(text: str, names: set[str], kinds: Kinds) -> tuple[TextAction | None, str]:
    """The last call, or why it cannot be read.

    Reads from the left, so that a call inside an argument is not taken for a call.
    """
    found: TextAction | None = None
    why, position = "", 0
    while match := _NAME.search(text, position):
        position = match.end()
        if match.group(1) not in names:
            continue
        end, node = _whole_call(text, match.start(), match.end())
        if node is None:
            found, why = None, f"{match.group(1)}( … cannot be read to its end"
            continue
        position = end
        try:
            found, why = _build(node, kinds), ""
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            found, why = None, f"{text[match.start() : end]!r} cannot be read: {error}"
    return found, why


def _whole_call(text: str, start: int, after: int) -> tuple[int, ast.Call | None]:
    """The end and the syntax tree of the shortest whole call that begins at `start`."""
    end = after
    for _ in range(MOST_BRACKETS):
        end = text.find(")", end) + 1
        if not end:
            break
        try:
            node = ast.parse(text[start:end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(node, ast.Call):
            return end, node
    return after, None


def _build(node: ast.Call, kinds: Kinds) -> TextAction:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    values = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg}
    if name in kinds:
        given = [ast.literal_eval(value) for value in node.args]
        return kinds[name](*given, **values)
    if node.args or len(values) < len(node.keywords):
        raise ValueError("name every argument, as in tool(name='value')")
    return call(name, **values)


def _function_call(text: str, kinds: Kinds) -> TextAction | None:
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        return None
    try:
        data: Any = json.loads(text[start : end + 1], strict=False)
        if "type" in data:
            return kinds[data.pop("type")](**data)
        name, given = data["name"], data.get("arguments", {})
        values = json.loads(given) if isinstance(given, str) else given
        if name in kinds and kinds[name] is not Call:
            return kinds[name](**values)
        return call(name, **values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
