"""What each test costs: processor time of its process, and of those that it waited for.

The run ends with its ten dearest tests, and names each that takes more than `QUICK` seconds and is
neither marked slow nor known to be dear. It does not fail for that: what a test takes is also a
matter of the machine and of what else runs there. Seconds are those of a machine that counts to two
millions in `COUNTED` of them, so that a slow machine finds no other tests dear. Compiling rules
does not count: whichever test comes first compiles them for all.

`pytest --costs` writes what the tests took that it ran, waiting and compiling included, into
`costs.tsv`, by which `selection.py` chooses.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator
from time import thread_time
from typing import Any

import pytest
import selection
from numba.core import event

QUICK, COUNTED = 5.0, 0.1
NAME = "processor seconds"
STARTED = pytest.StashKey[float]()


def slowness() -> float:
    """How many seconds here are one of the machine that costs are given for."""
    started = thread_time()
    for _ in range(2_000_000):
        pass
    return max(1.0, (thread_time() - started) / COUNTED)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="write what the tests took to costs.tsv")


class Costs:
    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self.took: defaultdict[str, float] = defaultdict(float)
        self.slow: set[str] = set()
        self.slowness = slowness()
        self.compiling = event.TimingListener()
        event.register("numba:compile", self.compiling)

    def now(self) -> float:
        uses = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        compiled = self.compiling.duration if self.compiling.done else 0.0
        return (sum(use.ru_utime + use.ru_stime for use in uses) - compiled) / self.slowness

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        item.stash[STARTED] = self.now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        report = yield
        if call.when == "teardown":
            slow = item.get_closest_marker("slow") is not None
            report.user_properties.append((NAME, [self.now() - item.stash[STARTED], slow]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] += report.duration / self.slowness
        for name, value in report.user_properties:
            if name == NAME:
                self.spent[report.nodeid], slow = value
                self.slow |= {report.nodeid} if slow else set()

    def too_dear(self) -> list[str]:
        dear = selection.costs().keys() | self.slow
        return [test for test, s in self.spent.items() if s > QUICK and test not in dear]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        if hasattr(config, "workerinput") or not config.getoption("--costs"):
            return
        kept = {name: s for name, s in selection.costs().items() if name not in self.took}
        found = {name: s for name, s in self.took.items() if s >= selection.CHEAP}
        rows = sorted((name, s) for name, s in (kept | found).items())
        text = "".join(f"{seconds:.1f}\t{name}\n" for name, seconds in rows)
        selection.COSTS.write_text(text, "utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if len(self.spent) < 10:
            return
        terminalreporter.section("the ten dearest tests, in seconds of processor time")
        for test in sorted(self.spent, key=lambda test: -self.spent[test])[:10]:
            kind = "slow" if test in self.slow else "quick"
            terminalreporter.line(f"{self.spent[test]:8.2f}  {kind:5}  {test}")
        for test in self.too_dear():
            terminalreporter.line(
                f"{test}: {self.spent[test]:.1f} s of processor time, of which a quick test should "
                f"take {QUICK:.0f} at most; make it smaller, or mark it slow"
            )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(), "costs-of-tests")
