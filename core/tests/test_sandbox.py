"""Programs of others: what they can do, and all that they cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from palestra import InvalidAction, InvalidOption
from palestra.sandbox import MODULES, Limits, check_program, run_program
from palestra.sandbox import run as running

LINUX = sys.platform.startswith("linux")


def test_a_program_prints_and_calls_and_returns() -> None:
    source = """
from collections import Counter
import math

def mark(words):
    return [Counter(words).most_common(1)[0][0], math.sqrt(len(words))]

print(add(2, b=3))
"""
    ran = run_program(
        source,
        function="mark",
        arguments=[["abca"], ["b"]],
        tools={"add": lambda a, b: a + b},
    )
    assert ran.error == ""
    assert ran.printed == "5\n"
    assert ran.values == (["a", 2.0], ["b", 1.0])
    assert ran.guarded is LINUX


@pytest.mark.parametrize("module", MODULES)
def test_every_module_can_be_imported(module: str) -> None:
    assert run_program(f"import {module}").error == ""


def test_modules_that_import_when_they_are_used() -> None:
    source = "from datetime import datetime\nprint(datetime.strptime('2024-02-29', '%Y-%m-%d').day)"
    assert run_program(source).printed == "29\n"


def test_a_class_may_have_its_usual_methods() -> None:
    source = """
class Box:
    def __init__(self, x): self.x = x
    def __repr__(self): return f"Box({self.x})"
print(Box(3))
"""
    assert run_program(source).printed == "Box(3)\n"


def test_the_same_text_prints_the_same() -> None:
    source = "print({'pear', 'apple', 'plum', 'fig'}, hash('palestra'))"
    assert run_program(source).printed == run_program(source).printed


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("import os", "line 1, column 1: the module os"),
        ("x = 1\nimport socket as json", "line 2, column 1: the module socket"),
        ("from math import *", "one by one"),
        ("from . import secrets", "lead nowhere"),
        ("().__class__", "the attribute __class__"),
        ("x = 1; x._hidden", "line 1, column 8: the attribute _hidden"),
        ("(i for i in [1]).gi_frame", "gi_frame"),
        ("match 3:\n case object(__class__=x): print(x)", "__class__"),
        ("__import__('os')", "the name __import__"),
        ("__builtins__ = {}", "__builtins__"),
        ("def __getattr__(name): pass", "__getattr__"),
        ("def f(__x): pass", "__x"),
        ("import math as __m", "__m"),
        ("try: pass\nexcept ValueError as __e: pass", "__e"),
        ("from datetime import date\ndate.today()", "today"),
        ("async def f(): pass", "at the same time"),
        ("def f(:", "line 1"),
        ("x = '\0'", "null"),
        ("(" * 5000, ""),
        ("#" * 100_001, "100001 characters"),
    ],
)
def test_what_the_text_gives_away_is_refused_before_it_runs(source: str, where: str) -> None:
    with pytest.raises(InvalidAction) as caught:
        check_program(source)
    assert where in str(caught.value)
    assert "for example" in str(caught.value)


@pytest.mark.parametrize(
    "source",
    ["open('/etc/hosts')", "eval('1')", "exec('1')", "getattr(1, 'real')", "type(1)", "vars()"],
)
def test_built_ins_that_reach_further_are_not_there(source: str) -> None:
    assert "NameError" in run_program(source).error


def test_modules_do_not_hand_on_what_they_imported() -> None:
    assert "no attribute 'codecs'" in run_program("import json\njson.codecs").error


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("while True:\n    x = 1", "the program executed more than 2500 lines"),
        (
            "while True:\n    try:\n        x = 1\n    except Exception:\n        pass",
            "more than 2500 lines",
        ),
        ("x = 'a' * 10**10", "line 1: MemoryError"),
        ("x = 1\ny = x / 0", "line 2: ZeroDivisionError: division by zero"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("sum(range(10**12))", "the program was stopped: it took too long"),
        ("for i in range(9): beep()", "more than 4 calls"),
        ("beep(1, 2)", "RuntimeError"),
        ("raise ValueError('so')", "line 1: ValueError: so"),
    ],
)
def test_what_ends_a_program_is_told(source: str, why: str) -> None:
    limits = Limits(lines=2500, calls=4, cpu=1)
    assert why in run_program(source, tools={"beep": lambda: 0}, limits=limits).error


def test_output_and_values_are_held_back() -> None:
    assert len(run_program("print('x' * 10**6)", limits=Limits(printed=50)).printed) == 50
    odd = run_program("def f(): return {1, 2}", function="f", arguments=[[]])
    assert "numbers, text, lists and tables" in odd.error
    assert "defines no function g" in run_program("x = 1", function="g", arguments=[[]]).error
    huge = run_program("def f(): return 'x' * 10**7", function="f", arguments=[[]])
    assert "at once" in huge.error


def test_an_error_of_a_tool_can_be_caught_by_the_program() -> None:
    def buy(price: int) -> None:
        raise InvalidOption("too dear")

    source = "try:\n    buy(3)\nexcept RuntimeError as error:\n    print('no:', error)"
    assert run_program(source, tools={"buy": buy}).printed == "no: too dear\n"


def test_limits_must_be_positive() -> None:
    with pytest.raises(InvalidOption, match="seconds must be positive, not 0"):
        Limits(seconds=0)


ESCAPED = """
import ctypes, os, socket, sys
sys.path.insert(0, {folder!r})
import child
limits = {{"memory": 512, "cpu": 2, "printed": 100, "lines": 100}}
order = {{"source": "", "modules": [], "limits": limits}}
process = child.Process(order)
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
if not process.enclose()["guarded"]:
    say("no kernel guard"); os._exit(0)
attempts = dict(
    read=lambda: os.open("/etc/hosts", os.O_RDONLY),
    write=lambda: os.open({target!r}, os.O_CREAT | os.O_WRONLY),
    connect=lambda: socket.socket(),
    fork=lambda: os.fork(),
    execute=lambda: os.execv("/bin/true", ["true"]),
    kill=lambda: os.kill(os.getppid(), 0),
    remove=lambda: os.unlink({kept!r}),
)
for name, attempt in attempts.items():
    try:
        attempt()
        say(name, "went through")
    except OSError as error:
        say(name, "refused", error.errno)
os._exit(0)
"""


@pytest.mark.skipif(not LINUX, reason="only Linux's kernel can be asked to refuse system calls")
def test_who_gets_past_the_language_is_stopped_by_the_kernel(tmp_path: Path) -> None:
    """All of Python, under the guard alone: no file, network, process or signal."""
    kept = tmp_path / "kept"
    kept.write_text("here")
    folder = Path(running.CHILD).parent
    source = ESCAPED.format(folder=str(folder), target=str(tmp_path / "new"), kept=str(kept))
    said = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split("\n")
    if said[0] == "no kernel guard":
        pytest.skip(f"no seccomp on this kernel ({os.uname().machine})")
    assert len(said) == 8
    assert all("refused" in line for line in said if line)
    assert kept.read_text() == "here"
    assert not (tmp_path / "new").exists()


def test_without_a_limit_lines_are_not_counted_and_time_is() -> None:
    long = "total = 0\nfor n in range(300_000):\n    total += n\nprint(total)"
    assert "more than 200000 lines" in run_program(long).error
    free = run_program(long, limits=Limits(lines=None))
    assert (free.printed, free.error, free.lines) == ("44999850000\n", "", 0)
    assert "too long" in run_program("while True: pass", limits=Limits(lines=None, cpu=1)).error
