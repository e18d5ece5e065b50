"""The side a program runs in: started by `run.py` in a bare interpreter, and importing none of us.

One line of JSON comes in, and the program. Lines of JSON go out: calls of tools, each answered by
a line, and at last what became of it.
"""

import builtins
import ctypes
import importlib
import io
import json
import os
import platform
import resource
import sys
from collections.abc import Callable
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

GIVEN = (
    "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter "
    "float format frozenset hash hex int isinstance issubclass iter len list map max min next oct "
    "ord pow property range repr reversed round set slice sorted staticmethod classmethod str sum "
    "super tuple zip ArithmeticError AssertionError AttributeError Exception IndexError KeyError "
    "LookupError NotImplementedError OverflowError RecursionError RuntimeError StopIteration "
    "TypeError ValueError ZeroDivisionError True False None Ellipsis NotImplemented "
    "__build_class__ object"
)
HIDDEN = ("heapq", "_strptime")  # modules import these when used; no program can name them

# System calls that only compute, by the number a kernel gives them: reading and writing what is
# open already, memory, signals to oneself, the clock, the end.
ALLOWED = {
    "x86_64": (0xC000003E, (0, 1, 5, 8, 9, 10, 11, 12, 13, 14, 15, 25, 28, 60, 202, 228, 231)),
    "aarch64": (
        0xC00000B7,
        (62, 63, 64, 80, 93, 94, 98, 113, 134, 135, 139, 214, 215, 216, 222, 226, 233),
    ),
}


class Rule(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    )


class Rules(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(Rule)))


def guard() -> bool:
    """Have the kernel refuse every other system call (seccomp); returns whether it does."""
    if not sys.platform.startswith("linux") or platform.machine() not in ALLOWED:
        return False
    machine, numbers = ALLOWED[platform.machine()]
    load, equal, answer = 0x20, 0x15, 0x06  # BPF: load a word, jump if equal, return
    allow, refuse = 0x7FFF0000, 0x00050000 | 1  # let it pass; fail with EPERM
    rules = [
        Rule(load, 0, 0, 4),  # the architecture the call was made for
        Rule(equal, 0, len(numbers) + 1, machine),
        Rule(load, 0, 0, 0),  # the call's number
        *(Rule(equal, len(numbers) - i, 0, number) for i, number in enumerate(numbers)),
        Rule(answer, 0, 0, refuse),
        Rule(answer, 0, 0, allow),
    ]
    program = Rules(len(rules), (Rule * len(rules))(*rules))
    call = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if call(no_new_privileges, 1, 0, 0, 0):
        return False
    return bool(call(seccomp, by_filter, ctypes.byref(program), 0, 0) == 0)


def public(module: ModuleType) -> SimpleNamespace:
    """A module's functions, classes and numbers, and none of the modules it has imported."""
    found = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    return SimpleNamespace(**found)


class Printed(io.StringIO):
    """What was printed, up to a length."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def write(self, text: str) -> int:
        kept = text[: self.left]
        self.left -= len(kept)
        return super().write(kept)


class Process:
    """The program's world, and the line that leads out of it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.limits = order["limits"]
        self.printed = Printed(self.limits["printed"])
        self.lines = self.limits["lines"]
        self.modules: dict[str, Any] = {name: importlib.import_module(name) for name in HIDDEN}
        for name in order["modules"]:
            self.modules[name] = public(importlib.import_module(name))

    def limit(self) -> bool:
        """Give up what a program does not need; returns whether the kernel stands guard."""
        memory, cpu = self.limits["memory"] << 20, self.limits["cpu"]
        for kind, most in (
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, 3),  # what is open already, so no file and no socket
        ):
            resource.setrlimit(kind, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        return guard()

    def run(self) -> str:
        """Run the program and its function; the last message."""
        values: list[Any] = []
        try:
            code = compile(self.order["source"], "<program>", "exec")
            names: dict[str, Any] = {"__builtins__": self.builtins(), "__name__": "program"}
            names.update({name: self.tool(name) for name in self.order["tools"]})
            sys.settrace(self.count)
            exec(code, names)
            if self.order["function"]:
                function = names.get(self.order["function"])
                if not callable(function):
                    raise NameError(f"the program defines no function {self.order['function']}")
                values = [function(*given) for given in self.order["arguments"]]
            sys.settrace(None)
            return self.last(values)
        except BaseException as error:
            sys.settrace(None)
            return self.last([], told(error))

    def last(self, values: list[Any], error: str = "") -> str:
        printed = self.printed.getvalue()
        last = {"printed": printed, "error": error}
        try:
            return json.dumps({**last, "values": values})
        except (TypeError, ValueError, RecursionError):
            why = "a value is not made of numbers, text, lists and tables"
            return json.dumps({**last, "error": why, "values": []})

    def count(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines -= 1
            if self.lines < 0:
                self.stop(frame.f_lineno)
        return self.count

    def stop(self, line: int) -> None:
        sys.settrace(None)
        why = f"the program executed more than {self.limits['lines']} lines"
        say(self.last([], f"line {line}: {why}"))
        os._exit(0)

    def builtins(self) -> dict[str, Any]:
        given = {name: getattr(builtins, name) for name in GIVEN.split()}
        return {**given, "print": self.print, "__import__": self.load}

    def print(self, *values: Any, sep: str = " ", end: str = "\n") -> None:
        print(*values, sep=sep, end=end, file=self.printed)

    def load(self, name: str, *_: Any) -> Any:
        return self.modules[name]

    def tool(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            printed = self.printed.getvalue()
            say(json.dumps({"tool": name, "args": args, "named": named, "printed": printed}))
            answer = json.loads(sys.stdin.readline())
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return answer["value"]

        return call


def told(error: BaseException) -> str:
    """An error in a line, with the program's own line number."""
    at = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<program>":
            at = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {at}: " if at else ""
    return f"{where}{type(error).__name__}: {error}"[:1000]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    process = Process(json.loads(sys.stdin.readline()))
    say(json.dumps({"guarded": process.limit()}))
    sys.stdin.readline()
    say(process.run())
    os._exit(0)
