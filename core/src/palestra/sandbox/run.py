"""The side that starts a program, answers its calls, and ends it in time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from palestra.kernel.errors import InvalidOption, PalestraError
from palestra.sandbox.check import check_program, imported

CHILD = Path(__file__).with_name("child.py")
LONGEST_LINE = 4_000_000  # characters of one message
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use. Lines and calls end it at the same place every time."""

    lines: int = 200_000
    calls: int = 100
    printed: int = 10_000  # characters
    memory: int = 512  # MiB of address space, the interpreter's own included
    cpu: int = 2  # seconds
    seconds: float = 10.0  # by the wall clock

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise InvalidOption(f"{name} must be positive, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program: what it printed, what its function returned, why it ended early.

    `guarded` says whether the kernel stood guard.
    """

    printed: str = ""
    values: tuple[Any, ...] = ()
    error: str = ""
    guarded: bool = False


def run_program(
    source: str,
    *,
    function: str = "",
    arguments: Sequence[Sequence[Any]] = (),
    tools: Mapping[str, Function] | None = None,
    limits: Limits | None = None,
) -> Ran:
    """Run a program, then its `function` once for each of `arguments`.

    Arguments and values are what JSON can hold. `tools` are functions of ours that the program may
    call by name; a `ValueError` or `PalestraError` of theirs becomes a `RuntimeError` in the
    program, with the same text. What goes wrong in the program is told in `Ran.error`; a text
    that is refused raises `InvalidAction` before anything has run.
    """
    if sys.platform == "win32":
        raise InvalidOption("programs run on Linux and macOS; this system cannot limit a process")
    limits, tools = limits or Limits(), dict(tools or {})
    order = {
        "source": source,
        "modules": imported(check_program(source)),
        "function": function,
        "arguments": [list(given) for given in arguments],
        "tools": list(tools),
        "limits": {name: getattr(limits, name) for name in limits.__slots__},
    }
    process = subprocess.Popen(
        [sys.executable, "-s", "-S", "-P", "-B", str(CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},  # sets are read in one order
        cwd="/",
    )
    timer = Timer(limits.seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        return _talk(process, order, tools, limits)
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _talk(
    process: subprocess.Popen[str],
    order: Mapping[str, Any],
    tools: Mapping[str, Function],
    limits: Limits,
) -> Ran:
    """Send the program, answer its calls, and return what it says last."""
    assert process.stdin is not None
    assert process.stdout is not None
    message: Any = order
    called, guarded = 0, False
    while True:
        try:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return Ran(error=_why(process), guarded=guarded)
        said = process.stdout.readline(LONGEST_LINE)
        if not said.endswith("\n"):
            return Ran(error=_why(process), guarded=guarded)
        heard = json.loads(said)
        if "values" in heard:
            return Ran(heard["printed"], tuple(heard["values"]), heard["error"], guarded)
        if "guarded" in heard:
            message, guarded = {}, heard["guarded"]
            continue
        called += 1
        if called > limits.calls:
            error = f"the program made more than {limits.calls} calls"
            return Ran(heard["printed"], error=error, guarded=guarded)
        message = _answer(tools, heard)


def _answer(tools: Mapping[str, Function], heard: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"value": tools[heard["tool"]](*heard["args"], **heard["named"])}
    except (ValueError, TypeError, PalestraError) as error:
        return {"error": str(error)}


def _why(process: subprocess.Popen[str]) -> str:
    """Why a program fell silent; the same words whichever clock ran out first."""
    try:
        code = process.wait(1)
    except subprocess.TimeoutExpired:
        return f"the program said more than {LONGEST_LINE} characters at once"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "the program was stopped: it took too long"
    return f"the program ended its process ({code})"
