"""The same tournaments on Ray: real actors on this machine, which take seconds to start."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from arena_players import Crasher, Deaf, KilledOnce, Last, Suicide
from palestra import InvalidOption
from palestra_arena import GameResult, Settings, Store, run_tournament

ray = pytest.importorskip("ray", reason="ray is not installed: palestra-arena[ray]")
pytestmark = pytest.mark.slow
TICTACTOE = "games/TicTacToe-v0"


def settings(*agents: str, **more: Any) -> Settings:
    base: dict[str, Any] = {"environments": (TICTACTOE,), "games": 4, "engine": "ray"}
    return Settings(agents=agents, **(base | more))


def essence(results: tuple[GameResult, ...]) -> list[tuple[Any, ...]]:
    return [(r.match, r.status, r.results, r.scores, r.steps) for r in results]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One Ray for all tests but those that start their own."""
    from palestra.runner.ray_cluster import start_cluster, stop_cluster

    processes = start_cluster(2)
    yield
    stop_cluster(processes)


def environments_of(program: str) -> list[bytes]:
    """The environments of our own children that run a program."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and program in (process / "cmdline").read_text():
                found.append((process / "environ").read_bytes())
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc to see Ray's processes in")
def test_ray_is_started_and_stopped_and_sends_no_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    told: list[bytes] = []

    def watch(done: int, total: int, result: GameResult | None) -> None:
        if result is None:
            told.extend(environments_of("gcs_server"))

    done = run_tournament(settings("first", "last"), agents={"last": Last}, progress=watch)
    assert len(done.results) == 4
    assert told
    assert all(b"RAY_USAGE_STATS_ENABLED=0" in environment for environment in told)
    assert not ray.is_initialized()
    assert "RAY_USAGE_STATS_ENABLED" not in os.environ


def test_ray_and_this_process_agree(cluster: None, tmp_path: Path) -> None:
    agents = ("random", "first", "minimax")
    local = run_tournament(settings(*agents, engine="local", workers=0))
    there = run_tournament(settings(*agents, workers=2), tmp_path / "a.db")
    assert essence(local.results) == essence(there.results)
    again = run_tournament(settings(*agents, workers=1, games=6), tmp_path / "a.db")
    assert again.played == 6
    assert ray.is_initialized()  # it was there before


def test_an_actor_killed_in_mid_game_is_replaced_and_nothing_is_lost_or_counted_twice(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "killed"
    chosen = settings("fragile", "first", workers=2, games=6)
    with Store(tmp_path / "a.db") as store:
        done = run_tournament(chosen, store, agents={"fragile": Fragile(str(mark))})
        assert len(store) == 6
    assert mark.exists()
    assert {result.status for result in done.results} == {"played"}
    assert len({result.match for result in done.results}) == 6


class Fragile:
    """Makes an agent whose actor is killed once; the mark's path travels with it."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __call__(self) -> KilledOnce:
        os.environ["PALESTRA_TEST_MARK"] = self.mark
        return KilledOnce()


def test_an_agent_that_takes_its_actor_down_twice_forfeits(cluster: None) -> None:
    chosen = settings("suicide", "first", games=2)
    done = run_tournament(chosen, agents={"suicide": Suicide})
    assert len(done.results) == 2
    for result in done.results:
        assert result.status == "forfeit", result.reason
        assert result.results[result.match.agents.index("suicide")] == "forfeit"
        assert "actor was lost" in result.reason


def test_an_agent_that_crashes_or_hangs_in_native_code_forfeits(cluster: None) -> None:
    chosen = settings("crasher", "deaf", games=1, game_seconds=0.2, seating="fixed")
    players = {"crasher": Crasher, "deaf": Deaf}
    (result,) = run_tournament(chosen, agents=players).results
    assert result.results == ("win", "forfeit")
    assert "more than 0.2 seconds" in result.reason


def test_more_workers_than_cpus_are_refused(cluster: None) -> None:
    with pytest.raises(InvalidOption, match="at most the 2 CPUs"):
        run_tournament(settings("first", "last", workers=3), agents={"last": Last})


def test_ray_needs_a_worker() -> None:
    with pytest.raises(InvalidOption, match="1 or more with the engine ray"):
        settings("first", "random", workers=0)


@pytest.fixture
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A cluster of its own on this machine, and the environment that lets one in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    let_in = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    folder = tempfile.mkdtemp(prefix="ray-")  # short, as paths of sockets must be
    command = ["start", "--head", "--block", f"--port={port}", "--num-cpus=2"]
    command += [f"--temp-dir={folder}", "--include-dashboard=false", "--disable-usage-stats"]
    head = subprocess.Popen(
        [Path(sys.executable).with_name("ray"), *command],
        env=let_in,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"127.0.0.1:{port}", let_in
    finally:
        head.terminate()
        head.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_tournament_is_played_on_a_cluster_by_its_address(
    address: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    where, let_in = address
    store = tmp_path / "there.db"
    typed = ["tournament", "games/TicTacToe-v0", "--agents", "first,minimax:depth=1"]
    typed += ["--games", "4", "--engine", "ray", "--workers", "2", "--store", str(store)]
    for _ in range(4):  # a head that is only just starting lets nobody in
        done = subprocess.run(
            [Path(sys.executable).with_name("palestra"), *typed],
            env={**let_in, "RAY_ADDRESS": where},
            capture_output=True,
            text=True,
            timeout=200,
        )
        if not done.returncode:
            break
        assert f"RAY_ADDRESS={where}" in done.stderr + done.stdout
    assert done.returncode == 0, done.stderr
    with Store(store, must_exist=True) as there:
        played = tuple(there.results())
    here = run_tournament(settings("first", "minimax:depth=1", engine="local", workers=0))
    assert sorted(essence(played), key=str) == sorted(essence(here.results), key=str)


@pytest.fixture(params=["silent", "web", "closed"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address where no Ray is: a port nobody answers at, a web server's, a closed one."""
    if request.param == "web":
        with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as web:
            threading.Thread(target=web.serve_forever, daemon=True).start()
            yield f"127.0.0.1:{web.server_port}"
            web.shutdown()
        return
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if request.param == "silent":
            taken.listen()
            yield f"127.0.0.1:{port}"
            return
    yield f"127.0.0.1:{port}"


def test_a_port_that_is_not_rays_is_refused_soon(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", elsewhere)
    from palestra.runner import ray_cluster
    from palestra_arena import ray_engine

    monkeypatch.setattr(ray_cluster, "PATIENCE", 0.5)
    refusal = f"cannot join a Ray cluster at RAY_ADDRESS={elsewhere}"
    with pytest.raises(InvalidOption, match=refusal):
        ray_engine.start(workers=1)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("address", ["127.0.0.1:seven", "127.0.0.1:70000", "nowhere.invalid:6"])
def test_an_address_that_is_none_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    from palestra_arena import ray_engine

    with pytest.raises(InvalidOption, match="cannot join a Ray cluster"):
        ray_engine.start(workers=1)
