"""Which tests run, and in which order.

`make test` runs all but the exhaustive ones, `make exhaustive SHARD=2/24` a part of those, and
`make test-all` everything. A test is exhaustive by its mark; of a parametrized one marked
`exhaustive(sample=3)` three cases, evenly spread, are not. The dearest checks of the kit are
exhaustive for options other than an environment's defaults. A test that is asked for by name runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ENVIRONMENT = re.compile(r"[a-z]\w*/\w+-v\d+")
DEAR = re.compile(r"\]:(compiled_equals_interpreted|resets_leave_nothing)\]$")  # of other options


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the exhaustive tests too")
    parser.addoption("--shard", help="run a part of the exhaustive tests alone, such as 0/24")
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


def _asked_for(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    asked = config.getoption("--shard")
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return items
    exhaustive = _exhaustive(items)
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
            function = item.nodeid.partition("[")[0]
            cases[function].append(item)
            samples[function] = mark.kwargs.get("sample", 0)
    found = {item for item in items if DEAR.search(item.nodeid)}
    for function, listed in cases.items():
        count = samples[function]
        sample = {number * len(listed) // count for number in range(count)}
        found.update(item for number, item in enumerate(listed) if number not in sample)
    return found


def _environment(item: pytest.Item) -> str:
    """The id of the environment that a test is parametrized with, and its options; or nothing."""
    case = getattr(item, "callspec", None)
    named = [getattr(value, "id", value) for value in case.params.values()] if case else []
    return next((n for n in named if isinstance(n, str) and ENVIRONMENT.match(n)), "")
