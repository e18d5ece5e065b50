"""The process that tries cases: one JSON line in, one out.

It runs apart from the fuzzer, which may end it: a case that never returns, takes all memory, or
crashes the interpreter is a finding like any other.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import msgspec

from palestra.kernel.errors import cause
from palestra.kernel.specs import EnvSpec
from palestra.testing.fuzzing.case import TOO_LONG, Case, Verdict
from palestra.testing.fuzzing.trying import check
from palestra.time_limit import TimeUp

TRACE = 3_000  # characters of a traceback that are kept, from its end


class TooLong(TimeUp):
    """A case runs longer than it may; no game may catch it."""


def judge(case: Case, spec: EnvSpec | None = None) -> Verdict:
    """Try a case and say what it raised."""
    try:
        check(case, spec)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        trace = "".join(traceback.format_exception(error))
        place = TOO_LONG if isinstance(error, TooLong) else _place(error)
        return Verdict(_readable(cause(error)), place, _readable(trace[-TRACE:]))
    return Verdict()


def _readable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _place(error: BaseException) -> str:
    """Type and innermost function of the environment's or the core's own code, to tell findings."""
    own = str(Path(__file__).parent)
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename
    ]
    inner = [f for f in frames if not f.filename.startswith(own)] or frames
    last = inner[-1]
    return f"{type(error).__name__} {Path(last.filename).name}:{last.name}"


def _limit_memory(megabytes: int) -> None:
    """Let this process take so much more memory than it has now, where the system can do that."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with (
        open("/proc/self/statm") if os.path.exists("/proc/self/statm") else open(os.devnull) as file
    ):
        pages = file.read().split()
    taken = int(pages[0]) * resource.getpagesize() if pages else 0
    limit = taken + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _out_of_time(_: int, frame: FrameType | None) -> NoReturn:
    raise TooLong("the case runs longer than it may")


def main() -> None:
    """Answer cases until the input ends. Arguments: seconds of processor time, megabytes."""
    seconds, megabytes = float(sys.argv[1]), int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a game prints is no answer
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGPROF, _out_of_time)
    decode = msgspec.json.Decoder(Case).decode
    _limit_memory(megabytes)
    for line in sys.stdin.buffer:
        verdict: Any = Verdict()
        try:
            if timed:
                signal.setitimer(signal.ITIMER_PROF, seconds)
            verdict = judge(decode(line))
        except TooLong as error:  # between two lines of this loop
            verdict = Verdict(str(error), TOO_LONG)
        finally:
            if timed:
                signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(msgspec.json.encode(verdict) + b"\n")


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):  # the fuzzer is gone, or is stopped
        main()
