"""Drawing cases, trying them in a worker under limits, and keeping what fails."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import IO, Any

import msgspec

from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec
from palestra.testing.fuzzing.actions import draw_actions
from palestra.testing.fuzzing.case import KINDS, TOO_LONG, Case, Finding, Verdict, append_finding
from palestra.testing.fuzzing.faults import draw_faults
from palestra.testing.fuzzing.options import draw_options, sweep_options
from palestra.testing.fuzzing.shrink import shrink
from palestra.testing.fuzzing.texts import draw_texts

SECONDS, MEGABYTES = 20.0, 2_000  # of processor time and memory that one case may take
WALL = 4.0  # times as long, by the clock, may a case take before its worker is ended
START = 120.0  # seconds that a worker may take to answer its first case
DRAWN: dict[str, Callable[[EnvSpec, random.Random], Iterator[Case]]] = {
    "options": draw_options,
    "actions": draw_actions,
    "texts": draw_texts,
    "faults": draw_faults,
}
Progress = Callable[[int, int, str], None]


def draw_cases(spec: EnvSpec, seed: int = 0, what: Sequence[str] = KINDS) -> Iterator[Case]:
    """Endless cases of the kinds in `what`, in turn; the same for the same seed.

    Until every value of every option has been tried once by itself, and pairs of options have been
    tried together, every second case is one of those.
    """
    for kind in what:
        if kind not in DRAWN:
            raise UnknownName("kind of case", kind, KINDS)
    streams = [DRAWN[kind](spec, random.Random(f"{seed} {kind} {spec.id}")) for kind in what]
    sweep = sweep_options(spec, random.Random(f"{seed} sweep {spec.id}"))
    while streams:
        for stream in streams:
            if "options" in what:
                yield from islice(sweep, 1)
            yield next(stream)


class Bench:
    """A worker process, started again when it dies; `judge` gives its verdict on a case."""

    def __init__(self, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> None:
        self.seconds, self.megabytes = seconds, megabytes
        self._worker: subprocess.Popen[bytes] | None = None
        self._answers: Queue[bytes] = Queue()
        self._reader = Thread()
        self._fresh = True

    def judge(self, case: Case) -> Verdict:
        worker = self._worker or self._start()
        assert worker.stdin is not None
        try:
            worker.stdin.write(msgspec.json.encode(case) + b"\n")
            worker.stdin.flush()
        except BrokenPipeError:
            return self._final_verdict()
        patience = self.seconds * WALL + (START if self._fresh else 0.0)
        try:
            line = self._answers.get(timeout=patience)
        except Empty:
            self.close()
            return Verdict(f"no answer after {patience:g} seconds", TOO_LONG)
        if not line:
            return self._final_verdict()
        self._fresh = False
        return msgspec.json.decode(line, type=Verdict)

    def _start(self) -> subprocess.Popen[bytes]:
        module = "palestra.testing.fuzzing.worker"
        command = [sys.executable, "-m", module, str(self.seconds), str(self.megabytes)]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._worker, self._fresh, self._answers = worker, True, Queue()
        self._reader = Thread(target=_read_lines, args=(worker.stdout, self._answers), daemon=True)
        self._reader.start()
        return worker

    def _final_verdict(self) -> Verdict:
        assert self._worker is not None
        code = self._worker.wait()
        self.close()
        return Verdict(f"the process ended with code {code}", f"ended {code}")

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.kill()
        worker.wait()
        self._reader.join()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_lines(pipe: IO[bytes], answers: Queue[bytes]) -> None:
    """Hand on lines of a pipe as they come, and an empty one at its end."""
    for line in pipe:
        answers.put(line)
    answers.put(b"")


def fuzz(
    env: str,
    *,
    minutes: float = 5.0,
    seed: int = 0,
    what: Sequence[str] = KINDS,
    out: Path | None = None,
    seconds: float = SECONDS,
    megabytes: int = MEGABYTES,
    cases: int | None = None,
    progress: Progress | None = None,
    found: Callable[[Finding], Any] | None = None,
) -> list[Finding]:
    """Try random cases on an environment for `minutes`; returns the shrunk findings.

    what: kinds of cases ("options", "actions", "texts", "faults"). seed: seed of the cases. out:
    folder whose `findings.jsonl` receives every finding at once, and again when it is shrunk.
    seconds, megabytes: limits of processor time and memory per case. cases: number of cases after
    which to stop. progress: called with the numbers of cases and findings and the kind of case.
    found: called with every finding. Failures in the same place count once. Raises `InvalidOption`
    for limits that are not above zero.
    """
    if not minutes > 0 or not seconds > 0 or megabytes < 1:
        raise InvalidOption(
            f"minutes, seconds and megabytes must be above 0, not {minutes}, {seconds}, {megabytes}"
        )
    spec, until = registry().environment(env), monotonic() + 60 * minutes
    known: set[str] = set()
    findings: list[Finding] = []
    path = None if out is None else out / "findings.jsonl"
    made = out is not None and not out.exists()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    with Bench(seconds, megabytes) as bench:
        for number, case in enumerate(draw_cases(spec, seed, what)):
            if monotonic() > until or number == cases:
                break
            if progress is not None:
                progress(number, len(findings), case.what)
            verdict = bench.judge(case)
            mark = f"{case.what} {_mark(verdict)}"
            if not verdict.problem or mark in known:
                continue
            known.add(mark)
            first = Finding(case, verdict.problem, verdict.trace, number=number)
            if path is not None:
                append_finding(path, first)
            finding = _shrunk(bench, first, verdict)
            findings.append(finding)
            if path is not None:
                append_finding(path, finding)
            if found is not None:
                found(finding)
    if out is not None and made and not findings:
        out.rmdir()
    return findings


def _mark(verdict: Verdict) -> str:
    """The key that failures in the same place share."""
    said = "".join(c for c in verdict.problem if not c.isdigit())[:40]
    return f"{verdict.place} {said}" if verdict.place.startswith("Failed") else verdict.place


def _shrunk(bench: Bench, first: Finding, verdict: Verdict) -> Finding:
    """The finding with the smallest case that fails in the same place."""
    last = [verdict]

    def fails(case: Case) -> bool:
        again = bench.judge(case)
        same = bool(again.problem) and again.place == verdict.place
        if same:
            last[0] = again
        return same

    slow = verdict.place == TOO_LONG  # each trial takes as long as the limit
    case = shrink(first.case, fails, 8 if slow else 150)
    return Finding(case, last[0].problem, last[0].trace, True, first.case, first.number)
