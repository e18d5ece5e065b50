"""Attempts to leave the sandbox, or to exhaust or deceive its host. Each ends as a failed program.

Three rows of defence are tested apart: what the text gives away, what Python hands out, and, with
the first two switched off, what the kernel and the host's end of the pipe do.
"""

from __future__ import annotations

import ast
import ctypes
import io
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import red_team
from escapes import BOMBS, FAILED, REFUSED
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidAction, InvalidOption
from palestra.sandbox import Limits, Ran, run_program
from palestra.sandbox import run as running

pytestmark = pytest.mark.skipif(
    bool(running.unguarded_system()), reason="without a guard the sandbox refuses to run"
)

RED = Limits(lines=1_000_000, cpu=1, seconds=5)  # of the red team's programs


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_the_text_is_refused(source: str) -> None:
    with pytest.raises(InvalidAction):
        run_program(source)


@pytest.mark.parametrize("source", FAILED.values(), ids=FAILED.keys())
def test_python_hands_out_nothing(source: str) -> None:
    function = "main" if "main" in source else ""
    ran = run_program(source, function=function, arguments=[[]] if function else [])
    assert ran.error
    assert not ran.values
    assert ran.guarded


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_ends_by_itself(source: str) -> None:
    limits = Limits(cpu=1, lines=20_000, calls=50, memory=256, seconds=5)
    ran = run_program(source, tools={"tool": lambda *values: 0}, limits=limits)
    assert ran.error
    assert len(ran.error) < 2000


@pytest.mark.parametrize("source", red_team.REFUSED.values(), ids=red_team.REFUSED.keys())
def test_the_text_of_the_red_team_is_refused(source: str) -> None:
    with pytest.raises(InvalidAction):
        run_program(source)


@pytest.mark.parametrize("source", red_team.FAILED.values(), ids=red_team.FAILED.keys())
def test_python_hands_out_nothing_to_the_red_team(source: str) -> None:
    ran = run_program(source, tools={"report": len}, limits=RED)
    assert ran.error
    assert "REACHED" not in ran.printed


@pytest.mark.parametrize(
    "source", red_team.GAINS_NOTHING.values(), ids=red_team.GAINS_NOTHING.keys()
)
def test_what_the_red_team_runs_gains_nothing(source: str) -> None:
    ran = run_program(source, limits=RED)
    assert not ran.error
    assert "REACHED" not in ran.printed


@pytest.mark.parametrize("source", red_team.UNCOUNTED.values(), ids=red_team.UNCOUNTED.keys())
def test_no_line_goes_uncounted(source: str) -> None:
    """The work is counted, or is not done, or what it found is not heard of."""
    heard: list[Any] = []
    ran = run_program(
        source,
        function="solve",
        arguments=[[]],
        tools={"report": heard.append},
        limits=Limits(lines=15_000),
    )
    assert not heard
    assert ran.error or ran.values == ([],)
    assert not ran.error or "executed more than" in ran.error or "too deeply" in ran.error


@pytest.mark.parametrize("source", red_team.DEEP.values(), ids=red_team.DEEP.keys())
def test_where_the_stack_ends_no_memory_is_read(source: str) -> None:
    ran = run_program(source, function="main", arguments=[[]], limits=RED)
    assert ran.error == "RecursionError: the program calls itself too deeply"


def test_a_generator_that_is_closed_goes_on_to_its_end() -> None:
    waiting = "def f():\n    try: yield 1\n    finally: print('end')\ng = f()\nnext(g)\n"
    assert run_program(waiting + "g.close()").printed == "end\n"
    assert run_program(waiting + "del g\nprint('left')").printed == "left\n"


def test_a_flood_of_output_is_cut() -> None:
    flood = "class S(str):\n def __getitem__(self, at): return 'y' * 10 ** 6\n"
    ran = run_program(flood + "print(S('x' * 10 ** 6))\nfor _ in range(999): print('x' * 999)")
    assert len(ran.printed) == Limits().printed
    assert "y" not in ran.printed


BEYOND = """
G = print.__globals__
os, sys, ctypes, resource = G["os"], G["sys"], G["ctypes"], G["resource"]
C = ctypes.CDLL(None, use_errno=True)
OSError = G["builtins"].OSError
def say(text): os.write(1, text)
def call(number, *given):
    if C.syscall(number, *given) < 0: raise OSError(ctypes.get_errno(), "refused")
"""
STOPPED = (
    "PermissionError: [Errno 1]",
    "OSError: [Errno 9]",  # no such descriptor
    "No module named",
    "can't start new thread",
    "not allowed to raise",
    "the shell did not start",
    "ended its process (-11)",  # a kernel without 32-bit calls
)

KERNEL = {
    "read a file": "os.open('/etc/passwd', os.O_RDONLY)",
    "read the environment": "os.open('/proc/self/environ', os.O_RDONLY)",
    "write a file": "os.open(NEW, os.O_CREAT | os.O_WRONLY)",
    "remove a file": "os.unlink(KEPT)",
    "list a folder": "os.listdir('/')",
    "import": "G['importlib'].import_module('socket')",
    "connect": "call(41, 2, 1, 0)",
    "fork": "os.fork()",
    "fork bomb": "while True: os.fork()",
    "vfork": "call(58)",
    "clone": "call(56, 0x11, 0, 0, 0, 0)",
    "clone3": "call(435, 0, 0)",
    "thread": "G['sys'].modules['_thread'].start_new_thread(print, ())",
    "execute": "os.execv('/bin/sh', ['sh', '-c', 'true'])",
    "shell": "if os.system('true'): raise ValueError('the shell did not start')",
    "signal the parent": "os.kill(PARENT, 9)",
    "signal everybody": "os.kill(-1, 9)",
    "signal the group": "os.killpg(0, 9)",
    "trace the parent": "call(101, 16, PARENT, 0, 0)",
    "read the parent's memory": "call(310, PARENT, 0, 0, 0, 0, 0)",
    "memfd": "call(319, b'x', 0)",
    "io_uring": "call(425, 8, 0)",
    "bpf": "call(321, 0, 0, 0)",
    "user fault": "call(323, 0)",
    "keys": "call(250, 0, 0)",
    "mount": "call(165, b'none', b'/', b'proc', 0, 0)",
    "unshare": "call(272, 0x10000000)",
    "change the root": "os.chroot('/')",
    "open by handle": "call(304, 0, 0, 0)",
    "duplicate": "os.dup(1)",
    "inherited descriptors": "os.read(3, 1)",
    "raise a limit": "resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))",
    "leave seccomp": "call(157, 22, 0, 0)",
    "the other call numbers": "call(0x40000000 | 2, b'/etc/passwd', 0)",
    "unlink, other call numbers": "call(0x40000000 | 87, KEPT.encode())",
    "a 32-bit call": "C.mmap.restype = ctypes.c_void_p\n"
    "page = C.mmap(None, 4096, 7, 0x22, -1, 0)\n"
    "ctypes.memmove(page, bytes.fromhex('b814000000cd80c3'), 8)  # eax = getpid; int 0x80; ret\n"
    "if ctypes.CFUNCTYPE(ctypes.c_int)(page)() < 0: raise OSError(1, 'refused')",
    "sleep": "call(35, 0, 0)",
    "reboot": "call(169, 0xfee1dead, 672274793, 0x1234567, 0)",
}


def _beyond(
    source: str,
    monkeypatch: pytest.MonkeyPatch,
    limits: Limits | None = None,
    *,
    unsafe: bool = False,
) -> Ran:
    """Run a program that has all of Python, its text unchecked."""
    monkeypatch.setattr(running, "check_program", ast.parse)
    monkeypatch.setattr(running, "imported_modules", lambda tree: ())
    limits = limits or Limits(cpu=1, seconds=5)
    return run_program(BEYOND + source, tools={"tool": len}, limits=limits, unsafe=unsafe)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the call numbers are those of x86-64")
@pytest.mark.parametrize("source", KERNEL.values(), ids=KERNEL.keys())
def test_the_kernel_refuses_who_has_all_of_python(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, new = tmp_path / "kept", tmp_path / "new"
    kept.write_text("here")
    told = f"KEPT, NEW, PARENT = {str(kept)!r}, {str(new)!r}, {os.getpid()}\n"
    threads = threading.active_count()
    ran = _beyond(f"{told}{source}\nprint('went through')", monkeypatch)
    assert ran.guarded
    assert any(words in ran.error for words in STOPPED), ran.error
    assert "went through" not in ran.printed
    assert kept.read_text() == "here"
    assert not new.exists()
    assert threading.active_count() <= threads


def test_there_is_nothing_to_find_beside_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "print(dict(os.environ), sys.path, sys.meta_path, sys.stdin, sys.stdout, sys.stderr)"
    assert _beyond(source, monkeypatch).printed == "{} [] [] None None None\n"


LIES = {
    "garbage": b"garbage\n",
    "empty line": b"\n",
    "no JSON text": b"\xff\xfe\n",
    "a number": b"1\n",
    "a list": b"[]\n",
    "no type": b'{"printed": "", "values": [], "error": ""}\n',
    "an unknown type": b'{"type": "ready", "guarded": true, "isolated": true}\n',
    "an unknown tool": b'{"type": "call", "tool": "os", "args": [], "named": {}, "printed": ""}\n',
    "a missing field": b'{"type": "call", "tool": "tool", "args": [], "named": {}}\n',
    "a field too many": b'{"type": "done", "printed": "", "values": [], "error": "", "x": 1}\n',
    "printed a number": b'{"type": "done", "printed": 1, "values": [], "error": ""}\n',
    "printed null": b'{"type": "done", "printed": null, "values": [], "error": ""}\n',
    "values a number": b'{"type": "done", "printed": "", "values": 3, "error": ""}\n',
    "values too many": b'{"type": "done", "printed": "", "values": [1], "error": ""}\n',
    "error a list": b'{"type": "done", "printed": "", "values": [], "error": []}\n',
    "number too large": b'{"type": "done", "printed": "", "values": [1e999], "error": ""}\n',
    "not a number": b'{"type": "done", "printed": "", "values": [NaN], "error": ""}\n',
    "long number": b'{"type": "done", "printed": "", "values": [%s], "error": ""}\n'
    % (b"9" * 9999),
    "surrogate": b'{"type": "done", "printed": "\\ud800", "values": [], "error": ""}\n',
    "deep": b'{"type": "done", "printed": "", "values": [%s], "error": ""}\n'
    % (b"[" * 99999 + b"]" * 99999),
    "deep enough": b'{"type": "done", "printed": "", "values": [%s], "error": ""}\n'
    % (b"[" * 200 + b"]" * 200),
    "too much printed": b'{"type": "done", "printed": "%s", "values": [], "error": ""}\n'
    % (b"x" * 20_000),
    "no arguments": b'{"type": "call", "tool": "", "args": "", "named": {}, "printed": ""}\n',
    "names a list": b'{"type": "call", "tool": "tool", "args": [], "named": [], "printed": ""}\n',
    "half a line": b'{"type": "done", ',
}


@pytest.mark.parametrize("line", LIES.values(), ids=LIES.keys())
def test_the_host_believes_nothing(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = _beyond(f"say({line!r})\nos._exit(0)", monkeypatch)
    assert ran.error
    assert ran.printed == ""
    assert ran.values == ()


FLOODS = {
    "no line's end": "while True: say(b'x' * 65536)",
    "lines": "while True: say(b'\\n' * 65536)",
    "calls that read no answer": "while True: say(b'"
    '{"type": "call", "tool": "tool", "args": [[]], "named": {}, "printed": ""}\\n\')',
    "silence": "os.read(0, 1)",
    "an exit": "os._exit(7)",
    "a crash": "ctypes.string_at(0)",
    "the tracing off": "sys.settrace(None)\nwhile True: pass",
}


@pytest.mark.parametrize("source", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_ends(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _beyond(source, monkeypatch, Limits(cpu=1, seconds=2)).error


@given(
    st.one_of(
        st.binary(max_size=300),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["type", "tool", "args", "named", "printed"]), inner
                )
            ),
            max_leaves=8,
        ).map(lambda value: json.dumps(value).encode()),
        st.tuples(st.sampled_from(sorted(LIES.values(), key=len)[:20]), st.integers(0, 255)).map(
            lambda lie: lie[0][: lie[1] % len(lie[0])] + bytes([lie[1]]) + lie[0][lie[1] :]
        ),
    )
)
def test_any_bytes_are_a_message_or_end_the_program(line: bytes) -> None:
    process = SimpleNamespace(stdout=io.BytesIO(line + b"\n"), wait=lambda seconds: 1)
    host = running._Conversation(cast(Any, process), {"tool": len}, Limits(), 0)
    with suppress(running._Ended):
        heard = host.hear(running.MESSAGE)
        if isinstance(heard, running._Call):
            json.loads(host.answer(heard))
        else:
            host.outcome(heard)


def test_a_long_error_of_a_program_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"type": "done", "printed": "", "values": [], "error": "%s"}\n' % (b"x" * 99_999)
    assert len(_beyond(f"say({line!r})", monkeypatch).error) == running.LONGEST_ERROR


@pytest.mark.parametrize("values", ["{}", "[]", "None", "1", "1e300", "x=1", "'', tool=1"])
def test_a_slip_of_a_tool_ends_no_host(values: str) -> None:
    def tool(text: str, **named: int) -> str:
        return text.upper() + str(named)

    ran = run_program(f"tool({values})", tools={"tool": tool})
    assert "RuntimeError" in ran.error or not ran.error


SAME = {
    "addresses": "def f(): pass\nprint(f, [object()], str(f))",
    "hashes": "print(hash('text'), hash((1, 'x')), {'b', 'a', 'c'})",
    "errors": "raise ValueError(print)",
}


def test_names_may_be_in_any_script() -> None:
    assert run_program("größe = 3\nprint(größe)").printed == "3\n"


@pytest.mark.parametrize("source", SAME.values(), ids=SAME.keys())
def test_the_same_text_prints_the_same(source: str) -> None:
    first, second = run_program(source), run_program(source)
    assert (first.printed, first.error) == (second.printed, second.error)
    assert "0x7" not in first.printed


def test_addresses_are_the_same_where_the_kernel_allows_it() -> None:
    if ctypes.CDLL(None).personality(0xFFFFFFFF) < 0:
        pytest.skip("this system gives every process other addresses")
    source = "print(hash(object()), [f() for f in {lambda i=i: i for i in range(20)}])"
    assert len({run_program(source).printed for _ in range(4)}) == 1


WITHOUT_ADDRESSES = {
    **SAME,
    "cut off": "class A: pass\ndef f(): pass\n"
    "for x in (A(), f, object(), [].append, A, len, ''.join, iter([]), property(f), map(f, [])):\n"
    "    print(str(x)[-14:], '%s' % (x,), f'{x!r:>9}', '{}'.format([x]), ascii({1: x}))",
    "order": "class A:\n    def m(self): pass\na = A()\n"
    "print([f() for f in {lambda i=i: i for i in range(20)}], hash(a), hash(a.m), hash(None))\n"
    "print({None, a, a.m, len, 'x', Ellipsis}, len({a.m, a.m, A().m, [].pop}), hash(A().m))",
    "an error": "class A: pass\nprint({}[A()])",
    "hashes of what is gone": "print([hash(object()) for _ in range(50)])",
}


@pytest.mark.parametrize("source", WITHOUT_ADDRESSES.values(), ids=WITHOUT_ADDRESSES.keys())
def test_no_address_shows_where_the_kernel_moves_them(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The C library is that of a system that lets no process fix its addresses."""
    library = SimpleNamespace(CDLL=lambda name: object(), c_ulong=ctypes.c_ulong)
    monkeypatch.setattr("palestra.sandbox.run.ctypes", library)
    first, *others = (run_program(source) for _ in range(3))
    assert first.printed or first.error
    assert all((ran.printed, ran.error) == (first.printed, first.error) for ran in others)


def test_equal_methods_are_equal_in_sets_and_tables() -> None:
    source = """
class A:
    def m(self): return 1
    def __eq__(self, other): return True
    def __hash__(self): return 7
a = A()
print(len({a.m, a.m}), {a.m: 1}[a.m], hash(a), len({A(), A()}))
print(len({object() for _ in range(3000)}))
print(repr(A).split('0x'), {A: 2}[A], {int: 3}[int], {None: 4}[None], [].append in {[].append})
"""
    said = run_program(source)
    assert said.error == ""
    assert said.printed == "1 1 7 1\n3000\n[\"<class 'program.A'>\"] 2 3 4 False\n"


def test_formats_still_work() -> None:
    source = """
class Sheet:
    def format(self, x): return x + 1
print('{0:>4}|{1}|{0[0]}|{{}}'.format('ab', 2))
print('{x:{w}d}'.format(x=3, w=4), '{a}'.format_map({'a': 1}), Sheet().format(1))
print(list(map('{:02d}'.format, [1, 2])), str.format('{}', 5), f'{3.14159:.2f}', '%s' % 4)
"""
    said = run_program(source)
    assert said.error == ""
    assert said.printed == "  ab|2|a|{}\n   3 1 2\n['01', '02'] 5 3.14 4\n"


def test_a_long_expression_runs() -> None:
    text = " + ".join(["'{}'.format(1)"] * 700)
    assert run_program(f"print({text})").printed == "1" * 700 + "\n"


def test_programs_run_side_by_side() -> None:
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(run_program, [f"print({n})" for n in range(12)]))
    assert [one.printed for one in ran] == [f"{n}\n" for n in range(12)]
    assert all(one.guarded for one in ran)


def test_what_modules_offer_still_works() -> None:
    source = """
import datetime, functools, re
from functools import wraps
def loud(function):
    @wraps(function)
    def call(*given): return function(*given).upper()
    return call
@loud
def say(text): return text
day = datetime.date(2024, 2, 3)
print(say('a'), re.sub('A', 'b', 'xay', flags=re.I | re.M), day.strftime('%d'))
"""
    ran = run_program(source)
    assert (ran.printed, ran.error) == ("A xby 03\n", "")


def test_a_missing_name_is_told_as_python_tells_it() -> None:
    error = run_program("from functools import update_wrapper").error
    assert "cannot import name 'update_wrapper' from 'functools'" in error


def test_a_stack_that_ends_ends_the_program() -> None:
    """Python stops counting lines there, so nothing that follows could be limited by them."""
    source = "def f():\n f()\ntry: f()\nexcept RecursionError: pass\nprint('on')"
    assert "RecursionError" in run_program(source).error


def test_a_surrogate_is_printed_as_its_escape() -> None:
    assert run_program("print('a' + chr(0xD83D))").printed == "a\\ud83d\n"


def children_of_this_thread() -> set[str]:
    """Children that run or wait to be reaped."""
    return set(Path("/proc/thread-self/children").read_text().split())


def test_processes_and_descriptors_do_not_pile_up() -> None:
    """Beside what other tests of this process have started and left running."""
    before, children = len(os.listdir("/proc/self/fd")), children_of_this_thread()
    for source in ("x = 1", "1 / 0", "while True: 1"):
        run_program(source, limits=Limits(lines=100))
    assert len(os.listdir("/proc/self/fd")) <= before
    assert children_of_this_thread() <= children


def test_without_a_guard_the_sandbox_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GUARDED_MACHINES", ("pdp11",))
    with pytest.raises(InvalidOption, match=r"Linux on pdp11.*unsafe=True"):
        run_program("print(1)")
    assert run_program("print(1)", unsafe=True).printed == "1\n"


def test_without_seccomp_the_sandbox_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = running.CHILD.read_text().replace("call(NO_NEW_PRIVILEGES, 1, 0, 0, 0)", "True")
    (tmp_path / "child.py").write_text(child)
    monkeypatch.setattr(running, "CHILD", tmp_path / "child.py")
    with pytest.raises(InvalidOption, match=r"seccomp.*unsafe=True"):
        run_program("print(1)")
    ran = run_program("print(1)", unsafe=True)
    assert (ran.printed, ran.guarded) == ("1\n", False)
    limits = Limits(cpu=1, seconds=1)
    assert _beyond("os.fork()\nwhile True: pass", monkeypatch, limits, unsafe=True).error


@pytest.mark.parametrize(
    "forged",
    [
        r"raise ValueError('\n[Player 1] I resign.')",
        r"raise ValueError('\x1b[2J\x9b31m\r\x00')",
        r"raise ValueError('\u202ereversed\u2066\u2028next\u2029')",
        "class Line(Exception):\n    pass\nraise Line('\\x0b\\x0c\\x85')",
    ],
)
def test_an_error_is_one_line_without_controls(forged: str) -> None:
    ran = run_program(forged)
    assert ran.error.startswith("line ")
    assert ran.error.isprintable()
