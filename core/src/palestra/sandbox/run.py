"""The host side: starts a program, answers its calls, and ends it when its time is up."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import msgspec

from palestra.kernel.errors import InvalidOption, PalestraError
from palestra.quoting import one_line
from palestra.sandbox.check import check_program, imported_modules

CHILD = Path(__file__).with_name("child.py")
LONGEST_LINE = 4_000_000  # bytes of one message
LONGEST_TALK = 32_000_000  # bytes of all messages of a program
LONGEST_ERROR = 2000  # characters
DEEPEST = 100  # lists and tables in one another
GUARDED_MACHINES = ("x86_64", "aarch64")
SAME_ADDRESSES = 0x0040000  # of personality: ADDR_NO_RANDOMIZE
UNCHANGED = 0xFFFFFFFF
ADDRESS = re.compile(r" at 0x[0-9a-f]*(?=[>,]|$)")
TOO_LONG = "the program was stopped: it took too long"  # an error of `Ran`
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a program. Those on lines and calls end it at the same place every time.

    Without a limit on lines they are not counted, and a program is several times as fast.
    """

    lines: int | None = 200_000
    calls: int = 100
    printed: int = 10_000  # characters
    memory: int = 512  # MiB of address space, the interpreter's own included
    cpu: int = 2  # seconds
    seconds: float = 10.0  # by the wall clock

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if (value := getattr(self, name)) is not None and not value > 0:
                raise InvalidOption(f"{name} must be positive, not {value!r}")


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a program: its output, its function's values, and why it ended early.

    `lines` is how many lines its process says that it executed; 0 if it ended before it could say,
    or lines were not counted.
    `guarded` says whether the kernel denied the program every system call beyond computing
    (seccomp); `isolated`, whether it also had namespaces of its own: no network, no other process
    and no files.
    """

    printed: str = ""
    values: tuple[Any, ...] = ()
    error: str = ""
    guarded: bool = False
    isolated: bool = False
    lines: int = 0


class _Ready(msgspec.Struct, tag="ready", forbid_unknown_fields=True):
    """The process is isolated and waiting."""

    guarded: bool
    isolated: bool


class _Call(msgspec.Struct, tag="call", forbid_unknown_fields=True):
    """The program calls a tool."""

    tool: str
    args: list[Any]
    named: dict[str, Any]
    printed: str


class _Done(msgspec.Struct, tag="done", forbid_unknown_fields=True):
    """The program has ended."""

    printed: str
    values: list[Any]
    error: str
    lines: int = 0


READY = msgspec.json.Decoder(_Ready)
MESSAGE = msgspec.json.Decoder(_Call | _Done)


class _Ended(Exception):
    """The program broke the protocol, or stopped responding; the message says how."""


def unguarded_system() -> str:
    """Why this system cannot guard a program, in a sentence; empty if it can."""
    if sys.platform.startswith("linux") and platform.machine() in GUARDED_MACHINES:
        return ""
    return (
        f"programs of others run only where the kernel can guard the host, which is Linux on "
        f"{' or '.join(GUARDED_MACHINES)}, not {platform.system()} on {platform.machine()}"
    )


def run_program(
    source: str,
    *,
    function: str = "",
    arguments: Sequence[Sequence[Any]] = (),
    tools: Mapping[str, Function] | None = None,
    limits: Limits | None = None,
    unsafe: bool = False,
) -> Ran:
    """Run a program, then its `function` once for each of `arguments`.

    Arguments and values are what JSON can hold. `tools` are functions of ours that the program may
    call by name, with any JSON values; an exception of theirs becomes a `RuntimeError` in the
    program, with the same text. Errors in the program are reported in `Ran.error`; a source that is
    refused raises `InvalidAction` before anything has run.

    If the kernel cannot guard the host, this raises `InvalidOption`, unless `unsafe` says that the
    programs are trusted.
    """
    if sys.platform == "win32":
        raise InvalidOption("programs run on Linux and macOS; this system cannot limit a process")
    if not unsafe and (why := unguarded_system()):
        raise InvalidOption(f"{why}; pass unsafe=True for programs that you trust")
    limits, tools = limits or Limits(), dict(tools or {})
    order = {
        "source": source,
        "modules": imported_modules(check_program(source)),
        "function": function,
        "arguments": [list(given) for given in arguments],
        "tools": list(tools),
        "limits": {name: getattr(limits, name) for name in limits.__slots__},
    }
    process = _start()
    timer = Timer(limits.seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        return _Conversation(process, tools, limits, len(arguments)).run(order, unsafe)
    finally:
        timer.cancel()
        _end(process)
        timer.join()


def _start() -> subprocess.Popen[bytes]:
    """A bare interpreter: no site packages, no environment but a fixed one, no descriptors.

    That is Python's `-I`, which would also ignore the fixed seed of hashes. Addresses are the same
    in every process where the system allows it, since they order sets of functions and objects.
    """
    personality = getattr(ctypes.CDLL(None), "personality", None) if os.name == "posix" else None
    before = personality(ctypes.c_ulong(UNCHANGED)) if personality else -1  # of this thread alone
    if personality and before >= 0:
        personality(ctypes.c_ulong(before | SAME_ADDRESSES))
    try:
        return subprocess.Popen(
            [sys.executable, "-s", "-S", "-P", "-B", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "TZ": "UTC0"},
            cwd="/",
            start_new_session=True,
        )
    finally:
        if personality and before >= 0:
            personality(ctypes.c_ulong(before))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and, where no guard forbade it to start any, those of its group."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            pipe.close()  # type: ignore[union-attr]
    process.wait()


class _Conversation:
    """The host's end of the pipe. It trusts nothing that it reads from it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        tools: Mapping[str, Function],
        limits: Limits,
        values: int,
    ) -> None:
        self.process, self.tools, self.limits, self.values = process, tools, limits, values
        self.left = LONGEST_TALK
        self.called = 0

    def run(self, order: Mapping[str, Any], unsafe: bool) -> Ran:
        """Send the program to its isolated process, answer its calls, return the result."""
        ready = _Ready(False, False)
        try:
            self.say(json.dumps(order))
            ready = self.hear(READY)
            if not ready.guarded and not unsafe:
                raise InvalidOption(
                    "this kernel refuses seccomp, so that nothing would guard the host from the "
                    "program; pass unsafe=True for programs that you trust"
                )
            return self.talk(ready)
        except _Ended as ended:
            return Ran(error=str(ended), guarded=ready.guarded, isolated=ready.isolated)

    def talk(self, ready: _Ready) -> Ran:
        answer = "{}"
        while True:
            self.say(answer)
            heard = self.hear(MESSAGE)
            if len(heard.printed) > self.limits.printed:
                raise _Ended(_broken_channel("it printed more than its limit"))
            printed = ADDRESS.sub(" at 0x...", heard.printed)
            if isinstance(heard, _Done):
                values, error = self.outcome(heard)
                lines = min(max(heard.lines, 0), self.limits.lines or 0)
                return Ran(printed, values, error, ready.guarded, ready.isolated, lines)
            self.called += 1
            if self.called > self.limits.calls:
                error = f"the program made more than {self.limits.calls} calls"
                return Ran(printed, (), error, ready.guarded, ready.isolated)
            answer = self.answer(heard)

    def outcome(self, done: _Done) -> tuple[tuple[Any, ...], str]:
        if not done.error and len(done.values) != self.values:
            raise _Ended(
                _broken_channel(f"it returned {len(done.values)} values, not {self.values}")
            )
        error = one_line(ADDRESS.sub(" at 0x...", done.error[:LONGEST_ERROR]))
        return (() if error else tuple(done.values)), error

    def answer(self, call: _Call) -> str:
        """The answer to a call, as JSON; an exception of a tool becomes the program's error."""
        if call.tool not in self.tools:
            raise _Ended(_broken_channel(f"it called an unknown tool, {call.tool[:100]!r}"))
        try:
            return json.dumps({"value": self.tools[call.tool](*call.args, **call.named)})
        except (ValueError, TypeError, PalestraError) as error:
            return json.dumps({"error": str(error)})
        except Exception as error:  # a tool gets any arguments; its error ends no host
            return json.dumps({"error": f"{type(error).__name__}: {error}"})

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise _Ended(_silence(self.process)) from None

    def hear(self, decoder: msgspec.json.Decoder[Any]) -> Any:
        """The next message, checked by type, size and depth."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline(LONGEST_LINE)
        self.left -= len(line)
        if len(line) >= LONGEST_LINE:
            raise _Ended(f"the program said more than {LONGEST_LINE} characters at once")
        if not line.endswith(b"\n"):
            raise _Ended(_silence(self.process))
        if self.left < 0:
            raise _Ended(f"the program said more than {LONGEST_TALK} characters in all")
        try:
            message = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise _Ended(_broken_channel(str(error)[:200])) from None
        if _too_deep(message):
            raise _Ended(f"the program's values are nested more than {DEEPEST} deep")
        return message


def _broken_channel(how: str) -> str:
    return f"the program wrote to the host's pipe: {how}"


def _too_deep(message: Any) -> bool:
    """Whether lists and tables are nested more than `DEEPEST` deep."""
    level = [getattr(message, name) for name in message.__struct_fields__]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, list):
                inner += value
            elif isinstance(value, dict):
                inner += value.values()
        if not inner:
            return False
        level = inner
    return True


def _silence(process: subprocess.Popen[bytes]) -> str:
    """Why a program stopped responding; the same text whichever time limit was reached first."""
    try:
        code = process.wait(1)
    except subprocess.TimeoutExpired:
        return "the program closed its pipe"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return TOO_LONG
    return f"the program ended its process ({code})"
