"""Files that people write or are sent are read, or refused in a line that says why, at once."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from palestra import InvalidOption, RecordError
from palestra.files import MOST_DOTS, UNREADABLE, read_json, read_toml
from palestra.llm.prices import price_table
from palestra.runner.run_folder import RunPlan
from palestra_adapters.learning.deduce import _read as read_policy
from palestra_adapters.memory.agent_rxiv import PaperStore
from palestra_adapters.memory.remembering import Kept
from palestra_adapters.optimisers.run import SearchPlan
from palestra_adapters.tasked import read_tasks
from palestra_adapters.workflows.steps import read_workflow
from palestra_arena.ablate_command import read_wordings
from palestra_arena.probes.items import read_set
from palestra_arena.settings import read_settings
from palestra_games.social.agents_net.files import read_graph
from palestra_rewards.tabular.acting import Advisors
from palestra_server.allowed import read_allowed
from palestra_server.packaged import read_package
from palestra_training.plan import read_plan

ENV = "games/TicTacToe-v0"
READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "prices": (".toml", price_table),
    "allowed": (".toml", lambda path: read_allowed((), (), path)),
    "settings": (".toml", read_settings),
    "settings as JSON": (".json", read_settings),
    "training": (".toml", read_plan),
    "training as JSON": (".json", read_plan),
    "wordings": (".json", lambda path: read_wordings(path, ENV)),
    "probes": (".json", read_set),
    "package": (".json", read_package),
    "graph": (".json", lambda path: read_graph(str(path))),
    "workflow": (".json", read_workflow),
    "tasks": (".json", lambda path: read_tasks(str(path))),
    "policy of deduce": (".json", read_policy),
    "archive of reports": (".json", PaperStore),
    "advisors": (".json", Advisors.read),
    "plan of a run": (".json", lambda path: read_again(path, RunPlan)),
    "plan of a search": (".json", lambda path: read_again(path, SearchPlan)),
    "memories": (".json", lambda path: read_again(path, Kept)),
}
ABSENT = ("prices", "archive of reports")  # are read as nothing where there is no file


def read_again(path: Path, kind: type) -> Any:
    """Read what this program wrote, as its readers do."""
    try:
        return read_json(path, kind)
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(f"{path}: {error}") from error


NUMBER = b"9" * 10_000
CONTENT = {  # for TOML, and for JSON
    "brackets without end": (b"x = " + b"[" * 200_000, b"[" * 200_000),
    "tables in tables": (b"x = " + b"{a = " * 5000, b'{"a": ' * 200_000),
    "a key of dots": (b"a." * 100_000 + b"b = 1", b'{"' + b"a." * 100_000 + b'": 1}'),
    "dots in a table": (b"x = {" + b"a." * 100_000 + b"b = 1}", b'{"x": {"a": 1e999}}'),
    "a date": (b"x = 2020-01-01", b'{"x": 2020-01-01}'),
    "a number of many digits": (b"x = " + NUMBER, b'{"x": ' + NUMBER + b"}"),
    "nan": (b"x = nan", b'{"x": NaN}'),
    "an unknown key": (b"zzz = 1", b'{"zzz": 1}'),
    "a key twice": (b"x = 1\nx = 2", b'{"zzz": 1, "zzz": 2}'),
    "NUL": (b"\0" * 100, b"\0" * 100),
    "no UTF-8": (b"x = '\xff'", b'{"x": "\xff"}'),
    "UTF-16": ("x = 1".encode("utf-16"), '{"x": 1}'.encode("utf-16")),
    "a mark of its order": (b"\xef\xbb\xbfx = 1", b'\xef\xbb\xbf{"x": 1}'),
    "a scalar": (b"1", b"1"),
}
PLACES = ("a folder", "a pipe", "a device without end", "a link to itself")
SECONDS, BYTES = 5, 1 << 30


@contextmanager
def bounded() -> Iterator[None]:
    """Seconds and memory that reading one file may take."""
    usual = resource.getrlimit(resource.RLIMIT_AS)
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, usual[1]))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, usual)


pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of Linux")


def refused(read: Callable[[Path], Any], path: Path) -> str:
    """What is said of a file that is not read."""
    with bounded(), pytest.raises((InvalidOption, RecordError)) as error:
        read(path)
    said = str(error.value)
    assert len(said) < 2000
    assert "\x1b" not in said
    return said


@pytest.mark.parametrize("content", CONTENT)
@pytest.mark.parametrize("name", READERS)
def test_a_file_of_something_else_is_refused(tmp_path: Path, name: str, content: str) -> None:
    ending, read = READERS[name]
    path = tmp_path / f"given{ending}"
    path.write_bytes(CONTENT[content][ending == ".json"])
    assert path.name in refused(read, path)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str, place: str) -> None:
    ending, read = READERS[name]
    path = tmp_path / f"given{ending}"
    if place == "a folder":
        path.mkdir()
    elif place == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if place == "a device without end" else path)
    if name in ABSENT and place == "a link to itself":
        read(path)
        return
    assert path.name in refused(read, path)


def test_dots_that_are_no_key_are_read(tmp_path: Path) -> None:
    path = tmp_path / "given.toml"
    numbers = ", ".join(["0.5"] * 10 * MOST_DOTS)
    path.write_text(f"x = [{numbers}]\n[a.b.c]\nd.e = '...'\n")
    assert read_toml(path) == {
        "x": [0.5] * 10 * MOST_DOTS,
        "a": {"b": {"c": {"d": {"e": "..."}}}},
    }


@pytest.mark.parametrize(
    "policy",
    [
        '{"games": {"seer": -1}}',  # the next game would divide by 0
        '{"weights": {"a": 1e308, "b": 1e308}}',  # whose sum is no number
        '{"weights": {"a": 1}, "weights": {"a": 2}}',
        '{"weight": {}}',
    ],
)
def test_a_policy_that_would_fail_in_play_is_refused(tmp_path: Path, policy: str) -> None:
    path = tmp_path / "policy.json"
    path.write_text(policy)
    assert path.name in refused(read_policy, path)


def test_a_report_without_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.json"
    report = {"lab": "a", "task": "t", "method": "m", "results": [1.0]}
    path.write_text(json.dumps([report]))
    assert PaperStore(path).best("t").mean == 1.0
    for odd in ({"results": []}, {"zzz": 1}):
        path.write_text(json.dumps([report | odd]))
        assert path.name in refused(PaperStore, path)
