"""The match server beside OpenEnv's own WebSocket server, with environments that cost nothing.

Each server runs on one core; the client that drives both runs on another, and costs little: it
sends frames that are written beforehand, and counts what comes back. OpenEnv has to be installed,
here or for the Python that OPENENV_PYTHON names, with uvloop and httptools as ours has them. Rates
are by second of the server's own CPU. All processes take a higher priority where they may, so that
other work on the machine does not stand in the latencies.
"""

from __future__ import annotations

import base64
import os
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
import msgspec
from timing import REPEATS, Row, limit

HERE = Path(__file__).parent
PEER = "OPENENV_PYTHON"  # names the Python of an environment with OpenEnv, if it is another
SEATS = 100  # of the rates and latencies
SECONDS = 1.5  # of one measurement of a rate
PACE = 20.0  # moves a second of each seat, where latencies are measured
SESSIONS = 2_000
MEMORY = 2**30  # bytes that so many sessions may take
PEERS = "OpenEnv's server"
LEAST = 20_000  # turns a second
UNIT = "turns/s of CPU"  # by seconds of the server's CPU, so that other work does not count
PACED = f"{SEATS} seats at {PACE:g} moves/s"


class Server:
    """A process that serves one of the two, on the first core."""

    def __init__(self, whose: str) -> None:
        self.whose = whose
        self._folder = tempfile.mkdtemp()
        python = os.environ.get(PEER, sys.executable) if whose == "openenv" else sys.executable
        command = [python, str(HERE / "server_instant.py"), whose, f"{self._folder}/m.db"]
        with open(f"{self._folder}/log.txt", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        os.sched_setaffinity(self.process.pid, [_cores()[0]])
        prefer(self.process.pid)
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)
        wait_for(self.http)

    def close(self) -> None:
        self.http.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self._folder)

    def tokens(self, count: int) -> list[str]:
        """Seats of as many matches."""
        found = []
        for _ in range(count):
            match = self.http.post("/matches", json={"env": "bench/Instant-v0"}).json()["match"]
            found.append(self.http.post(f"/matches/{match}/join", json={}).json()["token"])
        return found

    @property
    def cpu(self) -> float:
        """CPU seconds of the process so far."""
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Bytes of the process that no other shares."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("this system does not tell a process's memory")


def prefer(process: int) -> None:
    """Give a process precedence, where this user may."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, process, -15)


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def wait_for(http: httpx.Client) -> None:
    for _ in range(600):
        try:
            http.get("/health")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the server did not start")


@contextmanager
def server(whose: str) -> Iterator[Server]:
    running, mine = Server(whose), os.sched_getaffinity(0)
    os.sched_setaffinity(0, [_cores()[-1]])
    prefer(0)
    try:
        yield running
    finally:
        os.sched_setaffinity(0, mine)
        running.close()


class Socket:
    """A WebSocket, as far as a benchmark needs one: frames out, frames in, no library."""

    def __init__(self, port: int, path: str) -> None:
        self._raw = socket.create_connection(("127.0.0.1", port))
        self._raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self._raw.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self._got = bytearray()
        while b"\r\n\r\n" not in self._got:
            self._got += self._raw.recv(65536)
        head, _, rest = bytes(self._got).partition(b"\r\n\r\n")
        assert b" 101 " in head, head
        self._got = bytearray(rest)

    def fileno(self) -> int:
        return self._raw.fileno()

    def send(self, frame: bytes) -> None:
        self._raw.sendall(frame)

    def frames(self) -> list[bytes]:
        """The frames that have come; waits for the first bytes."""
        self._got += self._raw.recv(1 << 20)
        found = []
        while (frame := self._next()) is not None:
            found.append(frame)
        return found

    def _next(self) -> bytes | None:
        got = self._got
        if len(got) < 2:
            return None
        start, size = 2, got[1] & 127
        if size > 125:
            start = 4 if size == 126 else 10
            size = int.from_bytes(got[2:start], "big")
        if len(got) < start + size:
            return None
        payload, kind = bytes(got[start : start + size]), got[0] & 15
        del got[: start + size]
        if kind == 9:  # a ping
            self.send(bytes([0x8A, 0x80 | len(payload)]) + bytes(4) + payload)
            return self._next()
        assert kind in (1, 2), (kind, payload)
        return payload

    def ask(self, frame: bytes) -> bytes:
        self.send(frame)
        while not (found := self.frames()):
            pass
        return found[0]

    def close(self) -> None:
        self._raw.close()


def frame(payload: bytes, *, binary: bool = False) -> bytes:
    """A client's frame; its mask is zero, which leaves the payload as it is."""
    size = len(payload)
    head = bytes([0x82 if binary else 0x81])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += bytes([0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([0x80 | 127]) + size.to_bytes(8, "big")
    return head + bytes(4) + payload


OUR_MOVE = frame(msgspec.msgpack.encode({"do": "move", "move": {"action": 1}}), binary=True)
THEIR_MOVE = frame(msgspec.json.encode({"type": "step", "data": {"action": 1}}))
THEIR_RESET = frame(msgspec.json.encode({"type": "reset", "data": {}}))


def sit(handle: int, token: str) -> dict[str, Any]:
    return {"do": "sit", "handle": handle, "token": token, "show": ["no-text"]}


def connected(running: Server, count: int) -> list[Socket]:
    """As many sessions, each on a connection of its own and at its first turn."""
    if running.whose == "openenv":
        sockets = [Socket(running.port, "/ws") for _ in range(count)]
        for one in sockets:
            one.ask(THEIR_RESET)
        return sockets
    tokens = running.tokens(count)
    sockets = [Socket(running.port, "/ws") for _ in range(count)]
    for one, token in zip(sockets, tokens, strict=True):
        one.ask(frame(msgspec.msgpack.encode(sit(0, token)), binary=True))
    return sockets


def turns_a_second(running: Server, sockets: list[Socket], move: bytes) -> float:
    """Every session answers as soon as it has a turn; turns by second of the server's CPU."""
    selector, done = selectors.DefaultSelector(), 0
    for one in sockets:
        selector.register(one, selectors.EVENT_READ, one)
    started, used = perf_counter(), running.cpu
    for one in sockets:
        one.send(move)
    while perf_counter() - started < SECONDS:
        for key, _ in selector.select(1.0):
            came = len(key.data.frames())
            done += came
            for _ in range(came):
                key.data.send(move)
    used = running.cpu - used
    for one in sockets:  # the answers under way
        one.frames()
    selector.close()
    return done / used


def together(running: Server, count: int) -> float:
    """Turns a second of seats that share one connection, and whose moves share frames."""
    one = Socket(running.port, "/ws")
    sits = [sit(handle, token) for handle, token in enumerate(running.tokens(count))]
    moves = [{"do": "move", "handle": handle, "move": {"action": 1}} for handle in range(count)]
    sent = frame(msgspec.msgpack.encode(moves), binary=True)
    one.send(frame(msgspec.msgpack.encode(sits), binary=True))
    read_all(one, count)
    started, used, done = perf_counter(), running.cpu, 0
    while perf_counter() - started < SECONDS:
        one.send(sent)
        done += read_all(one, count)
    used = running.cpu - used
    one.close()
    return done / used


def read_all(one: Socket, count: int) -> int:
    """Read views until there are so many."""
    got = 0
    while got < count:
        for payload in one.frames():
            told = msgspec.msgpack.decode(payload)
            for view in told if isinstance(told, list) else [told]:
                assert view["your_turn"], view
                got += 1
    return got


def latencies(sockets: list[Socket], move: bytes) -> list[float]:
    """Milliseconds from a move to the next turn, sessions moving in turn, `PACE` times a second."""
    found, pause = [], 1.0 / (PACE * len(sockets))
    due = perf_counter()
    for number in range(int(SECONDS * PACE * len(sockets))):
        one = sockets[number % len(sockets)]
        due += pause
        while perf_counter() < due:
            pass
        started = perf_counter()
        one.ask(move)
        found.append((perf_counter() - started) * 1e3)
    return found


def rates(ours: Any, peer: Any) -> tuple[float, float, float]:
    mine, theirs, ratios = [], [], []
    for _ in range(REPEATS):
        mine.append(ours())
        theirs.append(peer())
        ratios.append(mine[-1] / theirs[-1])
    median = statistics.median
    return median(mine), median(theirs), median(ratios)


def sockets_of_their_own() -> Row:
    """Every seat on a socket of its own, a frame for every move."""
    with server("ours") as ours, server("openenv") as peer:
        mine, theirs = connected(ours, SEATS), connected(peer, SEATS)
        one, other, ratio = rates(
            lambda: turns_a_second(ours, mine, OUR_MOVE),
            lambda: turns_a_second(peer, theirs, THEIR_MOVE),
        )
    name = f"match server, {SEATS} sockets"
    return Row(name, one, other, ratio, 1.0, UNIT, PEERS)


def one_socket() -> Row:
    """All seats on one socket, their moves in one frame, which OpenEnv's protocol has not."""
    with server("ours") as ours, server("openenv") as peer:
        theirs = connected(peer, SEATS)
        one, other, ratio = rates(
            lambda: together(ours, SEATS), lambda: turns_a_second(peer, theirs, THEIR_MOVE)
        )
    name = f"match server, {SEATS} seats of one socket"
    return Row(name, one, other, ratio, 2.0, UNIT, "OpenEnv's server, a socket each")


def enough_turns() -> Row:
    """The same against the bound."""
    with server("ours") as ours:
        rate = statistics.median(together(ours, SEATS) for _ in range(REPEATS))
    name = f"match server, {SEATS} seats of one socket, least"
    return Row(name, rate, LEAST, rate / LEAST, 1.0, UNIT, "its bound")


def waiting(part: int) -> tuple[float, float]:
    """A percentile of a turn's milliseconds, ours and OpenEnv's, measured in turn."""
    with server("ours") as ours, server("openenv") as peer:
        mine, theirs = connected(ours, SEATS), connected(peer, SEATS)
        found: tuple[list[float], list[float]] = ([], [])
        for _ in range(REPEATS):
            for times, sockets, move in (
                (found[0], mine, OUR_MOVE),
                (found[1], theirs, THEIR_MOVE),
            ):
                ordered = sorted(latencies(sockets, move))
                times.append(ordered[len(ordered) * part // 100])
    return statistics.median(found[0]), statistics.median(found[1])


def median_wait() -> Row:
    own, other = waiting(50)
    return Row(
        f"match server, {PACED}, p50", own, other, other / own, 1.0, "ms", "OpenEnv's server"
    )


def longest_wait() -> Row:
    own, other = waiting(99)
    return Row(
        f"match server, {PACED}, p99", own, other, other / own, 1.0, "ms", "OpenEnv's server"
    )


def median_wait_bound() -> Row:
    return limit(f"match server, {PACED}, p50 bound", waiting(50)[0], at_most=0.2, unit="ms")


def longest_wait_bound() -> Row:
    return limit(f"match server, {PACED}, p99 bound", waiting(99)[0], at_most=2.0, unit="ms")


def memory() -> Row:
    """Memory of a server whose sessions have all moved."""
    with server("ours") as ours:
        sockets = connected(ours, SESSIONS)
        for opened in sockets:
            opened.ask(OUR_MOVE)
        held = ours.memory
    name = f"match server, {SESSIONS} sessions held"
    return limit(name, held / 2**20, at_most=MEMORY / 2**20, unit="MiB")


MEASURES = [
    sockets_of_their_own,
    one_socket,
    enough_turns,
    median_wait,
    median_wait_bound,
    longest_wait,
    longest_wait_bound,
    memory,
]
