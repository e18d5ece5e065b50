"""Which one-line faults the tests catch: the yardstick of every change of the tests.

    python scripts/seed_faults.py core/src/palestra/records/verify.py --count 20
    python scripts/seed_faults.py                  # 66 faults over the whole code

Faults are drawn by a seed from the statements of modules: a comparison, an operator, a number, a
call, a return. All tests run once on a copy of the repository that notes which test, and which of
the programs that it starts, reaches which line. Then each fault is put into the copy, by itself,
and the tests that reach it run until one fails: some of `make test`, all of it, and if none does
the exhaustive ones. A fault that only the exhaustive tests catch is one that `make test` has lost.
`pytest --collect-only -q >before.txt` lists what `make test` runs; `--chosen before.txt` then says
in an hour or two what a change of `costs.tsv` or of `selection.py` loses.

What was found is kept line by line in `faults.jsonl`; a run that was cut off goes on there.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
AREAS = {  # where faults are drawn, and how many
    "core/src/palestra/kernel": 9,
    "core/src/palestra/engine": 8,
    "core/src/palestra/views": 7,
    "core/src/palestra/records": 7,
    "core/src/palestra/runner": 4,
    "core/src/palestra/llm": 3,
    "core/src/palestra/agents": 3,
    "plugins/games/src": 6,
    "envs/src": 5,
    "plugins/markets/src": 4,
    "plugins/rewards/src": 4,
    "plugins/server/src": 6,
}
FIRST = 200  # how many tests are tried before all that reach a fault
PROBE = """
import os
_seen = set()


def reach(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test and (number, test) not in _seen:
        _seen.add((number, test))
        try:
            with open({file!r}, "a") as reached:
                reached.write(f"{{number}}\\t{{test}}\\n")
        except OSError:  # a sandbox, whose caller is noted too
            pass
"""
OTHER: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """A line of a file, numbered from 1, as it is and as it is made."""

    path: str
    line: int
    before: str
    after: str


def faults_in(path: str, source: str) -> list[Fault]:
    """Every fault that can be made in one line of the functions of a module."""
    lines = source.splitlines()
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in _statements(function):
            line = lines[statement.lineno - 1]
            if line[: statement.col_offset].strip() or line.lstrip().startswith("elif"):
                continue  # no probe can stand before it
            for start, end, text in _edits(statement):
                raw = line.encode()
                after = (raw[:start] + text.encode() + raw[end:]).decode()
                try:
                    ast.parse(after.strip() + (" pass" if after.rstrip().endswith(":") else ""))
                except SyntaxError:
                    continue
                if after != line:
                    found.append(Fault(path, statement.lineno, line, after))
    return list(dict.fromkeys(found))


def faults_in_file(path: str) -> list[Fault]:
    return faults_in(path, (ROOT / path).read_text("utf-8"))


def _statements(function: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a function that no other function holds, without its docstring."""
    queue: list[ast.AST] = list(getattr(function, "body", ()))
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.stmt):
            yield node
        queue += ast.iter_child_nodes(node)


def _edits(statement: ast.stmt) -> Iterator[tuple[int, int, str]]:
    """What may be put in place of which columns of a statement's first line."""
    if isinstance(statement, ast.If | ast.While):
        parts: list[ast.AST] = [statement.test]
    elif isinstance(statement, ast.Return | ast.Assign | ast.AugAssign | ast.Expr):
        if statement.end_lineno != statement.lineno:
            return
        parts = [statement.value] if statement.value is not None else []
        start, end = statement.col_offset, statement.end_col_offset or 0
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield start, end, "pass"
        if isinstance(statement, ast.Return) and statement.value is not None:
            yield start, end, "return None"
    else:
        return
    for part in parts:
        for node in ast.walk(part):
            if getattr(node, "lineno", 0) != statement.lineno:
                continue
            if getattr(node, "end_lineno", 0) != statement.lineno:
                continue
            if (text := _other(node)) is not None:
                yield node.col_offset, node.end_col_offset, text  # type: ignore[attr-defined]


def _other(node: ast.AST) -> str | None:
    """An expression with one thing changed, as source."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        op = OTHER[type(node.ops[0])]()
        return ast.unparse(ast.Compare(node.left, [op, *node.ops[1:]], node.comparators))
    if isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        return f"({ast.unparse(ast.BinOp(node.left, OTHER[type(node.op)](), node.right))})"
    if isinstance(node, ast.BoolOp):
        return f"({ast.unparse(ast.BoolOp(OTHER[type(node.op)](), node.values))})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.unparse(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        return repr(not node.value)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return repr(node.value + 1)
    return None


def draw(areas: dict[str, int], seed: int) -> list[Fault]:
    """So many faults of each file or folder, at most one of a line."""
    rng, drawn = random.Random(seed), []
    for area, count in areas.items():
        place = ROOT / area
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        found = defaultdict(list)
        for file in files:
            for fault in faults_in_file(file.relative_to(ROOT).as_posix()):
                found[fault.path, fault.line].append(fault)
        places = rng.sample(sorted(found), min(count, len(found)))
        drawn += [rng.choice(found[at]) for at in sorted(places)]
    return drawn


class Copy:
    """A copy of the repository's files, whose packages the tests import in place of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.notes = folder, folder / "reached.tsv"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            to = folder / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, to, follow_symlinks=False)
        self.path = [*sorted(folder.glob("*/src")), *sorted(folder.glob("*/*/src")), folder]

    def test(self, *arguments: str, log: str, limit: float | None = None, **more: str) -> bool:
        """Run pytest in the copy, its output in the log; whether it ended in `limit` seconds."""
        env = (
            os.environ
            | {"PYTHONPATH": os.pathsep.join(map(str, self.path)), "OMP_NUM_THREADS": "1"}
            | more
        )
        command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-q"]
        with (
            (self.folder / log).open("w") as output,
            subprocess.Popen(
                [*command, *arguments],
                cwd=self.folder,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as running,
        ):
            try:
                running.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)  # its workers too
                return False
        return True

    def put(self, path: str, changes: dict[int, str]) -> None:
        """Write a file with other lines in place of some."""
        lines = (ROOT / path).read_text("utf-8").splitlines()
        for number, text in changes.items():
            lines[number - 1] = text
        (self.folder / path).write_text("\n".join(lines) + "\n", "utf-8")

    def reached(self, faults: list[Fault], asked: Sequence[str]) -> dict[int, list[str]]:
        """The tests that reach each fault's line, by the fault's place in the list.

        asked: pytest's arguments, which say what tests there are.
        """
        if not self.notes.exists():
            (self.folder / "palestra_probe.py").write_text(PROBE.format(file=str(self.notes)))
            changes: defaultdict[str, dict[int, str]] = defaultdict(dict)
            for number, fault in enumerate(faults):
                indent = fault.before[: len(fault.before) - len(fault.before.lstrip())]
                probe = f'{indent}__import__("palestra_probe").reach({number})\n{fault.before}'
                changes[fault.path][fault.line] = probe
            for path, lines in changes.items():
                self.put(path, lines)
            # nothing is compiled, so that probes can stand in rules too
            self.test("--all", *asked, log="reach.log", NUMBA_DISABLE_JIT="1")
            self.notes.touch()
            for path in changes:
                self.put(path, {})
        found: defaultdict[int, set[str]] = defaultdict(set)
        for line in self.notes.read_text("utf-8").splitlines():
            place, _, test = line.partition("\t")
            found[int(place)].add(test)
        return {number: sorted(found[number]) for number in range(len(faults))}

    def caught(self, fault: Fault, tests: Sequence[str], *, everything: bool) -> str:
        """The name of a test that fails with a fault, or nothing."""
        self.put(fault.path, {fault.line: fault.after})
        (self.folder / "chosen.txt").write_text("\n".join(tests), "utf-8")
        files = sorted({test.partition("::")[0] for test in tests})
        more = ["--all"] if everything else []
        asked = ("-x", "--chosen", "chosen.txt", *more, *files)
        limit = 300 + 3.0 * len(tests)  # a fault may make a loop endless
        try:
            if not self.test(*asked, log="try.log", limit=limit):
                return f"the tests do not end in {limit:.0f} s"
        finally:
            self.put(fault.path, {})
        told = (self.folder / "try.log").read_text("utf-8").splitlines()
        failed = [line for line in told if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].split(" - ")[0].partition(" ")[2] if failed else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", help="files or folders; nothing: the whole code")
    parser.add_argument("--count", type=int, default=20, help="faults of each of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", action="append", default=[], help="only tests in here")
    parser.add_argument("--chosen", type=Path, help="only tests that this file names, one a line")
    parser.add_argument("--work", type=Path, default=ROOT / ".faults", help="where copies are")
    given = parser.parse_args()
    areas = {Path(m).resolve().relative_to(ROOT).as_posix(): given.count for m in given.modules}
    faults = draw(areas or AREAS, given.seed)
    chosen = given.chosen.read_text("utf-8") if given.chosen else ""
    drawn = repr((faults, given.tests, chosen)).encode()
    work = given.work / hashlib.sha256(drawn).hexdigest()[:12]  # notes of others name other lines
    work.mkdir(parents=True, exist_ok=True)
    copy, kept = Copy(work), work / "faults.jsonl"
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    (work / "chosen.txt").write_text(chosen, "utf-8")
    asked = [*given.tests, *(["--chosen", "chosen.txt"] if chosen else [])]
    reached = copy.reached(faults, asked)
    for number, fault in enumerate(faults):
        if any(one["fault"] == asdict(fault) for one in done):
            continue
        tests, by, late = reached[number], "", ""
        for some in dict.fromkeys((tuple(tests[:: len(tests) // FIRST + 1]), tuple(tests))):
            by = by or (copy.caught(fault, some, everything=False) if some else "")
        if tests and not by:
            late = copy.caught(fault, tests, everything=True)
        one = {"fault": asdict(fault), "reached": len(tests), "by": by, "exhaustive": late}
        done.append(one)
        with kept.open("a") as output:
            output.write(json.dumps(one) + "\n")
        told = by or (f"only exhaustive: {late}" if late else "not caught")
        print(f"{fault.path}:{fault.line}: {fault.after.strip()}: {told}", flush=True)
    caught, more = (sum(bool(one[key]) for one in done) for key in ("by", "exhaustive"))
    print(f"{len(done)} faults: make test catches {caught}, the exhaustive tests {more} more")


if __name__ == "__main__":
    main()
