"""Several servers on one database: a match is played by one, and outlives it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from mcp_clients import mcp_call, mcp_client
from palestra_server.client import Server
from palestra_server.messages import OPEN

ROUNDS = 60
GAME = {"options": {"rounds": ROUNDS}, "seed": 4}


@contextmanager
def serving_processes(folder, store, *more, port="0"):
    """`palestra serve` with several processes; yields the supervisor and the address."""
    command = [sys.executable, "-m", "palestra", "serve", "--port", port, "--store", store, *more]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=(folder / "log").open("a"), text=True
    )
    try:
        url = process.stdout.readline().split()[1]
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as http:
            while http.get(f"{url}/ready", timeout=60).status_code != 200:
                time.sleep(0.1)
        yield process, url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


def children(process):
    """The processes that serve."""
    found = []
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            line = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"spawn_main" in line:
                found.append(int(child))
    return found


def seated(url, match, seat):
    """A seat, by a connection of its own."""
    client = Server(url)
    try:
        return client.join(match, seat, f"player {seat}")
    finally:
        client.close()


def servers_of(url):
    """The names of the servers behind an address, from their metrics."""
    lines = httpx.get(f"{url}/metrics", timeout=30).text.splitlines()
    moves = [line for line in lines if line.startswith("palestra_moves_total{")]
    return {line.split('"')[1]: int(line.split()[-1]) for line in moves}


def play(seat, rounds=ROUNDS):
    """Play a seat's own numbers; every one is known to have been taken once."""
    while seat.turn(60).status != "over":
        time.sleep(0.05)
        seat.answer(seat.view.number % 2)
    assert seat.view.number == rounds


def check_record(client, token, rounds=ROUNDS):
    record = client.record(token)
    assert len(record["steps"]) == rounds
    for turn, step in enumerate(record["steps"]):
        assert [t["action"] for t in step["turns"]] == [turn % 2] * 2
    assert record["mistakes"] == [0, 0]


# a client whose server dies during the handshake leaves its socket to the garbage collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
def test_a_process_killed_in_the_middle_of_matches_costs_no_move(tmp_path):
    with serving_processes(tmp_path, "m.db", "--workers", "2") as (process, url):
        while len(servers_of(url)) < 2:
            time.sleep(0.1)
        clients = [Server(url) for _ in range(6)]
        matches = [client.create("games/MatrixGame-v0", [OPEN, OPEN], **GAME) for client in clients]
        # seats by other connections than the one that opened the match: half of them land elsewhere
        seats = [[seated(url, match, 0), seated(url, match, 1)] for match in matches]
        listed = httpx.get(f"{url}/matches").json()["matches"]
        assert {match["match"] for match in listed} == set(matches)
        with ThreadPoolExecutor(12) as threads:
            playing = [threads.submit(play, seat) for pair in seats for seat in pair]
            for number in range(2):
                time.sleep(0.2)
                os.kill(children(process)[number], signal.SIGKILL)
                time.sleep(6)
            for played in playing:
                played.result(120)
        for client, pair in zip(clients, seats, strict=True):
            check_record(client, pair[0].token)
            for seat in pair:
                seat.close()
            client.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
def test_processes_end_with_their_supervisor(tmp_path):
    store = f"sqlite:///{tmp_path}/m.db"
    with serving_processes(tmp_path, store, "--workers", "2") as (process, url):
        left = children(process)
        assert len(left) == 2
        process.kill()
        until = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() for pid in left) and time.monotonic() < until:
            time.sleep(0.1)
        assert not any(Path(f"/proc/{pid}").exists() for pid in left)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/ready")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
def test_sessions_of_mcp_reach_every_match_and_seats_outlive_them(tmp_path):
    """Sessions and matches lie on both processes; a session ends with its own, a seat does not."""
    more = ("--workers", "2", "--dialects", "mcp")
    with serving_processes(tmp_path, "m.db", *more) as (process, url):
        while len(servers_of(url)) < 2:
            time.sleep(0.1)
        clients = [Server(url) for _ in range(8)]
        game = ("games/MatrixGame-v0", [OPEN, "first"])
        matches = [client.create(*game, **GAME) for client in clients]
        asyncio.run(play_by_sessions(url, matches, process))
        for client in clients:
            client.close()


async def play_by_sessions(url, matches, process):
    tokens = {}
    for match in matches:
        async with mcp_client(url, mode="legacy") as client:
            _, view = await mcp_call(client, "join", match=match, name="ada")
            tokens[match] = view["token"]
            rules = (await client.read_resource("palestra://rules")).contents[0].text
            assert rules == view["rules"]
            assert "say" not in {tool.name for tool in (await client.list_tools()).tools}
            for number in range(3):
                assert (await play_first(client))["number"] == number + 1
    for child in children(process):
        os.kill(child, signal.SIGKILL)
        await asyncio.sleep(6)
        for match in matches:
            async with mcp_client(url, tokens[match], mode="legacy") as client:
                _, view = await mcp_call(client, "look")
                assert view["match"] == match
                assert (await play_first(client))["number"] == view["number"] + 1


async def play_first(client):
    """Play the first legal move; returns the view after it."""
    text, view = await mcp_call(client, "legal")
    return (await mcp_call(client, "move", text=text.splitlines()[0], number=view["number"]))[1]
