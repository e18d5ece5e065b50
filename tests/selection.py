"""Which tests run, and in which order.

`make test` runs all but the exhaustive ones, `make exhaustive SHARD=2/24` a part of those,
`make test-all` everything, and `make fast` one quick case of each test. A test that is asked for by
name runs. Exhaustive are

* tests marked so; of a parametrized one marked `exhaustive(sample=3)` all but three cases, evenly
  spread;
* the dearest checks of the kit, for options other than an environment's defaults;
* cases that took `CHEAP` seconds or more when `costs.tsv` was measured, but for the cheapest of
  each test, or of each check of the kit, that took `TOGETHER` seconds in all. Of a test marked
  `essential` the cheapest case always runs, and all cases of one marked `essential(whole=True)`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from time import monotonic

import pytest

ENVIRONMENT = re.compile(r"[a-z]\w*/\w+-v\d+")
DEAR = re.compile(r"\]:(compiled_equals_interpreted|resets_leave_nothing)\]$")  # of other options
COSTS = Path(__file__).with_name("costs.tsv")
CASE = re.compile(r"\[.*?(:\w+)?\]$")  # what a case is named by, but for a check of the kit
CHEAP, TOGETHER = 0.2, 0.7


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the exhaustive tests too")
    parser.addoption("--shard", help="run a part of the exhaustive tests alone, such as 0/24")
    parser.addoption("--fast", action="store_true", help="run one quick case of each test")
    parser.addoption("--minutes", type=float, help="begin no test later than that")
    parser.addoption("--chosen", help="run only the tests that a file names, one a line")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for, and begin with the slow tests.

    So no process is left with one when the others are done. The late ones among them come last: by
    then another process has compiled the rules they use. Of the quick ones, those of one
    environment follow each other: a process that has compiled its rules for one function compiles
    the next in a fraction of the time.
    """
    kept = _asked_for(config, items)
    if (chosen := config.getoption("--chosen")) is not None:
        names = set(Path(chosen).read_text("utf-8").splitlines())
        kept = [item for item in kept if item.nodeid in names]
    if len(kept) < len(items):
        left = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in left])
    slow = [item for item in kept if item.get_closest_marker("slow")]
    slow.sort(key=lambda item: item.get_closest_marker("late") is not None)
    quick = [item for item in kept if not item.get_closest_marker("slow")]
    items[:] = slow + sorted(quick, key=_environment)


STARTED = monotonic()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run no test, and report none, after the minutes that were given."""
    minutes = item.config.getoption("--minutes")
    return True if minutes is not None and monotonic() - STARTED > 60 * minutes else None


def _asked_for(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    asked = config.getoption("--shard")
    by_name = any("::" in argument for argument in config.args)
    if by_name or config.getoption("--all") or config.getoption("lf", False):
        return items
    exhaustive = _exhaustive(items)
    if config.getoption("--fast"):
        first: dict[str, pytest.Item] = {}
        for item in items:
            if item not in exhaustive and not item.get_closest_marker("slow"):
                first.setdefault(_function(item), item)
        return list(first.values())
    if asked is None:
        return [item for item in items if item not in exhaustive]
    shard, _, shards = asked.partition("/")
    if not (shard.isdecimal() and shards.isdecimal() and int(shard) < int(shards)):
        raise pytest.UsageError(f"--shard {asked}: there are 0/24 to 23/24, for example")
    units = list(dict.fromkeys(_unit(item) for item in items if item in exhaustive))
    chosen = set(units[int(shard) :: int(shards)])
    return [item for item in items if item in exhaustive and _unit(item) in chosen]


def _unit(item: pytest.Item) -> str:
    """What is not divided among shards: a test, or a module marked `exhaustive(together=True)`."""
    mark = item.get_closest_marker("exhaustive")
    return str(item.path) if mark and mark.kwargs.get("together") else item.nodeid


def _exhaustive(items: list[pytest.Item]) -> set[pytest.Item]:
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    samples: dict[str, int] = {}
    for item in items:
        if (mark := item.get_closest_marker("exhaustive")) is not None:
            function = _function(item)
            cases[function].append(item)
            samples[function] = mark.kwargs.get("sample", 0)
    found = {item for item in items if DEAR.search(item.nodeid)}
    for function, listed in cases.items():
        count = samples[function]
        sample = {number * len(listed) // count for number in range(count)}
        found.update(item for number, item in enumerate(listed) if number not in sample)
    return found | _dear([item for item in items if item not in found])


def _dear(items: list[pytest.Item]) -> set[pytest.Item]:
    seconds = costs()
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("essential")
        if item.nodeid in seconds and not (mark and mark.kwargs.get("whole")):
            cases[CASE.sub(r"\1", item.nodeid)].append(item)
    found = set()
    for listed in cases.values():
        listed.sort(key=lambda item: seconds[item.nodeid])
        least = listed[0] if listed[0].get_closest_marker("essential") else None
        left = TOGETHER
        for item in listed:
            left -= seconds[item.nodeid]
            if left < 0 and item is not least:
                found.add(item)
    return found


def costs() -> dict[str, float]:
    """The tests that took `CHEAP` seconds or more, and how many they took."""
    if not COSTS.exists():
        return {}
    rows = (line.partition("\t") for line in COSTS.read_text("utf-8").splitlines())
    return {name: float(seconds) for seconds, _, name in rows}


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _environment(item: pytest.Item) -> str:
    """The id of the environment that a test is parametrized with, and its options; or nothing."""
    case = getattr(item, "callspec", None)
    named = [getattr(value, "id", value) for value in case.params.values()] if case else []
    return next((n for n in named if isinstance(n, str) and ENVIRONMENT.match(n)), "")
