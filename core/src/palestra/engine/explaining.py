"""numba's errors about rules it cannot compile, in one line: where, which source, and why."""

from __future__ import annotations

import dis
import linecache
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, TracebackType
from typing import Any

from palestra.kernel.errors import PluginError

Place = tuple[str, int]

_AT = re.compile(r" at (\S+) \((\d+)\)")
_FILE = re.compile(r'File "([^"]+)", line (\d+)')
_CALLEE = re.compile(r"CPUDispatcher\(<function (\S+) at 0x")
_NAME = re.compile(r"name '(\w+)' is not defined")
_FUNCTION = re.compile(r"Function\(<(?:built-in )?(?:function|class) '?([\w.]+)'?[^>]*>\)")
_PREAMBLE = re.compile(r"^(Failed in .*pipeline.*|Unsupported functionality)$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # numba's, wherever it finds colorama
LONGEST = 240  # characters of a reason


def compile_error(error: Exception, name: str, rules: Iterable[FunctionType]) -> PluginError:
    """Why the rules of a game do not compile; `rules` are they and all that they call."""
    functions = list(rules)
    place = next(_places(error, functions), None)
    why = reason(error)
    if place is None:
        return PluginError(f"numba cannot compile the rules of {name}: {why}")
    path, line = place
    source = linecache.getline(path, line).strip()
    return PluginError(
        f"{short_path(path)}:{line}: {source} — numba cannot compile this rule of {name}: {why}"
    )


def reason(error: Exception) -> str:
    """The reason alone, without locations and the names of compiler passes."""
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]!r}"
    found: list[str] = []
    for line in _said(error).splitlines():
        if _PREAMBLE.match(line.strip()):
            continue
        if (
            line.startswith(("During:", "File ", "There are "))
            or "candidate implementations" in line
        ):
            break
        if line.strip():
            found.append(line.strip())
    text = _FUNCTION.sub(r"\1", " ".join(found)).removesuffix(" Raised from None").rstrip(".")
    text = text or type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _said(error: Exception) -> str:
    return _COLOUR.sub("", str(error))


def short_path(path: str | Path) -> str:
    """A path as seen from here, where it is under the current folder."""
    full = Path(path).resolve()
    return str(full.relative_to(Path.cwd())) if full.is_relative_to(Path.cwd()) else str(full)


def _places(error: Exception, functions: list[FunctionType]) -> Iterator[Place]:
    """Places the error may come from, the most likely first."""
    files = {function.__code__.co_filename for function in functions}
    text = _said(error)
    yield from _readers(text, functions)
    for path, line in _AT.findall(text):
        if path in files:
            yield path, int(line)
    for path, line in _FILE.findall(text):
        full = str(Path(path).resolve())
        if full in files:
            yield full, int(line)
    yield from (place for place in _locations(error) if place[0] in files)
    yield from _callees(text, functions)


def _locations(error: BaseException | None) -> Iterator[Place]:
    """Where the compiler was, from the local variables of its frames when it failed."""
    while error is not None:
        instruction = None  # of the byte code it was reading
        for held in (error, *_locals(error.__traceback__)):
            if instruction is None and hasattr(held, "opname"):
                instruction = getattr(held, "lineno", None)
            path = getattr(getattr(held, "func_id", None), "filename", None)
            if isinstance(path, str) and isinstance(instruction, int):
                yield path, instruction
            place = getattr(held, "loc", None)
            path, line = getattr(place, "filename", None), getattr(place, "line", None)
            if isinstance(path, str) and isinstance(line, int):
                yield path, line
        error = error.__cause__ or error.__context__


def _locals(trace: TracebackType | None) -> Iterator[Any]:
    """The local variables of every frame, innermost first."""
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        yield from list(frame.f_locals.values())


def _readers(text: str, functions: list[FunctionType]) -> Iterator[Place]:
    """The functions that read an undefined name."""
    unknown = _NAME.search(text)
    for function in functions if unknown else ():
        code, name = function.__code__, unknown[1] if unknown else ""
        if name in code.co_names and name not in function.__globals__:
            yield code.co_filename, _line_of(code, name)


def _callees(text: str, functions: list[FunctionType]) -> Iterator[Place]:
    """The first line of the function that was being compiled."""
    for called in _CALLEE.findall(text):
        for function in functions:
            if called.startswith(function.__qualname__):
                yield function.__code__.co_filename, function.__code__.co_firstlineno


def _line_of(code: CodeType, name: str) -> int:
    """The first line of a function that reads a name."""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = getattr(instruction.positions, "lineno", None) or line
        if instruction.argval == name:
            return line
    return code.co_firstlineno
