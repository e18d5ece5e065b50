"""Measuring two things side by side on noisy cores: alternate, repeat, take medians."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any

Work = Callable[[], int]  # does a fixed amount of work, returns how many units it did

REPEATS = 7


@dataclass(frozen=True)
class Row:
    """One comparison; `ratio` is how many times better ours is, `target` what it should be."""

    name: str
    ours: float
    peer: float
    ratio: float
    target: float
    unit: str
    against: str

    @property
    def met(self) -> bool:
        return self.ratio >= self.target


def compare(name: str, ours: Work, peer: Work, *, target: float, unit: str, against: str) -> Row:
    """Rates of two works, each run `REPEATS` times in turn; medians of both and of the ratio."""
    ours()
    peer()
    mine, theirs, ratios = [], [], []
    for _ in range(REPEATS):
        mine.append(rate(ours))
        theirs.append(rate(peer))
        ratios.append(mine[-1] / theirs[-1])
    median = statistics.median
    return Row(name, median(mine), median(theirs), median(ratios), target, unit, against)


def rate(work: Work) -> float:
    started = perf_counter()
    done = work()
    return done / (perf_counter() - started)


def limit(name: str, value: float, *, at_most: float, unit: str) -> Row:
    """A figure with a bound of its own instead of a peer."""
    return Row(name, value, at_most, at_most / value, 1.0, unit, "its bound")


def microseconds(call: Callable[[], Any], times: int = 20_000) -> float:
    """Median microseconds of one call over `REPEATS` loops."""
    call()
    found = []
    for _ in range(REPEATS):
        started = perf_counter()
        for _ in range(times):
            call()
        found.append((perf_counter() - started) / times * 1e6)
    return statistics.median(found)


def fresh_process(code: str) -> str:
    """What a fresh interpreter prints; byte code is kept, as an installed package has it."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=kept
    )
    return done.stdout


def cpu_seconds(code: str, *, best_of: int = 5) -> float:
    """Least CPU seconds (user and system) of a fresh interpreter running `code`."""
    import resource

    found = []
    for _ in range(best_of):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        fresh_process(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def versions(*distributions: str) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> dict[str, Any]:
    """What a figure was measured on, without names or paths."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"cores": os.cpu_count(), "arch": platform.machine(), "load_at_start": load}


def as_dict(row: Row) -> dict[str, Any]:
    return asdict(row) | {"met": row.met}
