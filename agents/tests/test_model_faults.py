"""A model server that fails in every way one can: the request fails alone, and in time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import palestra
import pytest
from hostile_answers import whole_request
from palestra import EpisodeRecord, ModelError
from palestra.agents.models import Message, PartialReplies, Reply, Request
from palestra_agents.models.openai import OpenAIModel

KUHN = "games/KuhnPoker-v0"
HELLO = Request((Message("user", "hello"),))
EPISODES, FAULT = 6, 4  # which request meets the fault, from 1
Conduct = Callable[[socket.socket], None]


def completion(**changes: Any) -> bytes:
    """A completion that bets, with other values of some fields."""
    message = {"role": "assistant", "content": '{"move": "bet"}'}
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    body = {"model": "served", "choices": [{"message": message}], "usage": usage}
    return json.dumps(body | changes).encode()


def answer(status: int, body: bytes, *headers: str, claimed: int | None = None) -> Conduct:
    """Sends one HTTP answer; `claimed` is the length it says it has."""
    head = [f"HTTP/1.1 {status} X", "Content-Type: application/json", "Connection: close"]
    head += [f"Content-Length: {len(body) if claimed is None else claimed}", *headers]
    data = "\r\n".join([*head, "", ""]).encode() + body
    return lambda peer: peer.sendall(data)


GOOD = answer(200, completion())


class Server:
    """A real server on the loopback; the request number `FAULT` of a run gets `fault`."""

    def __init__(self) -> None:
        self.fault: Conduct = GOOD
        self.asked = 0
        self.over = threading.Event()
        self._lock, self._threads = threading.Lock(), list[threading.Thread]()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._socket.settimeout(0.1)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._main = threading.Thread(target=self._accept)
        self._main.start()

    def _accept(self) -> None:
        while not self.over.is_set():
            with contextlib.suppress(TimeoutError):
                peer, _ = self._socket.accept()
                thread = threading.Thread(target=self._serve, args=(peer,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError), peer, peer.makefile("rb") as request:
            peer.settimeout(5)
            if not whole_request(request):
                return
            with self._lock:
                self.asked += 1
                number = self.asked
            (self.fault if number == FAULT else GOOD)(peer)

    # Conducts that take time

    def hang(self, peer: socket.socket) -> None:
        self.over.wait(20)

    def drip(self, peer: socket.socket) -> None:
        """A byte now and then, each in time, and no end."""
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not self.over.wait(0.05):
            peer.sendall(b" ")

    def flood(self, peer: socket.socket, status: int = 200) -> None:
        """A gigabyte, if anybody takes it."""
        peer.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: {2**30}\r\n\r\n".encode())
        for _ in range(2**10):
            peer.sendall(b" " * 2**20)

    def stop(self) -> None:
        self.over.set()
        for thread in [self._main, *self._threads]:
            thread.join()
        self._socket.close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    started = Server()
    yield started
    started.stop()


def play(server: Server, folder: Path, **settings: Any) -> list[EpisodeRecord]:
    agent = f"llm:openai:small@{server.url},mode=choice,retries=0,timeout=1.5"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return palestra.play(KUHN, agents=[agent, agent], episodes=EPISODES, out=folder, **settings)


def filtered(peer: socket.socket) -> None:
    message = "The response was filtered due to the prompt triggering content management policy"
    answer(400, json.dumps({"error": {"message": message}}).encode())(peer)


def usage(**tokens: Any) -> Conduct:
    return answer(200, completion(usage={"prompt_tokens": 1, "completion_tokens": 1} | tokens))


ODD = "answered something that is not a chat completion"
FAULTS: dict[str, tuple[Conduct | str, str]] = {
    "hangs": ("hang", "did not answer within 1.5 s"),
    "drips": ("drip", "did not answer within 1.5 s"),
    "floods": ("flood", "the answer is longer than 32 MiB"),
    "floods an error": ("flood 500", "the answer is longer than 32 MiB"),
    "hangs up": (lambda peer: None, "cannot be reached"),
    "sends half": (answer(200, completion()[:40], claimed=400), "cannot be reached"),
    "speaks no HTTP": (lambda peer: peer.sendall(b"\0\1\2 what? \r\n\r\n"), "cannot be reached"),
    "sends garbage": (answer(200, b"\xff\xfe{}]"), ODD),
    "sends HTML": (answer(200, b"<html>welcome</html>"), ODD),
    "nests deeply": (answer(200, b"[" * 100_000), ODD),
    "filters": (filtered, "refused the request: .*content management policy"),
    "refuses the key": (answer(401, b"{}"), "wants a key; give key=NAME"),
    "is busy": (answer(429, b"{}", "Retry-After: 3"), "keeps answering 429"),
    "fails": (answer(500, b"oh"), "failed: "),
    "counts below zero": (usage(prompt_tokens=-34_000_000), f"{ODD}: .*>= 0.*prompt_tokens"),
    "counts NaN": (usage(completion_tokens=float("nan")), ODD),
    "counts in words": (usage(completion_tokens="many"), f"{ODD}: .*completion_tokens"),
    "names itself 5": (answer(200, completion(model=5)), f"{ODD}: Expected .*model"),
    "gives no choice": (answer(200, completion(choices=[])), ODD),
    "says a number": (
        answer(200, completion(choices=[{"message": {"content": 1}}])),
        f"{ODD}: .*content",
    ),
}


def conduct(server: Server, fault: Conduct | str) -> Conduct:
    if not isinstance(fault, str):
        return fault
    name, _, status = fault.partition(" ")
    if status:
        return lambda peer: server.flood(peer, int(status))
    found: Conduct = getattr(server, name)
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_request_fails_alone(server: Server, tmp_path: Path, name: str) -> None:
    fault, says = FAULTS[name]
    server.fault = conduct(server, fault)
    records = play(server, tmp_path)
    assert [record.number for record in records] == list(range(EPISODES))
    (failed,) = [record for record in records if record.error]
    kept = palestra.read_records(tmp_path / "episode.jsonl")
    assert len(kept) == EPISODES - 1, "nobody else loses a thing"
    (error,) = palestra.read_records(tmp_path / "errors.jsonl")
    assert error.number == failed.number
    with pytest.raises(ModelError, match=says):
        raise ModelError(failed.error)
    decided = sum(len(record.turns) for record in records)
    assert server.asked == decided + 1, "no request was sent twice"
    server.fault = GOOD
    (again,) = play(server, tmp_path, resume=True)
    assert (again.number, again.error) == (failed.number, "")


@pytest.mark.parametrize(
    ("status", "headers", "pauses"),
    [
        (429, ["Retry-After: 0.01"], [0.01]),
        (503, ["Retry-After: 1000000"], [60.0]),
        (500, [], [0.5]),
        (429, ["Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"], [0.5]),
        (429, ["Retry-After: -5"], [0.5]),
        (429, ["Retry-After: nan"], [0.5]),
    ],
)
def test_it_waits_as_long_as_the_server_asks_within_reason(
    server: Server,
    status: int,
    headers: list[str],
    pauses: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.fault = answer(status, b"{}", *headers)
    slept: list[float] = []
    rest = asyncio.sleep

    async def sleep(seconds: float, *_: Any) -> None:
        slept.extend([seconds] if seconds else [])
        await rest(0)

    model = OpenAIModel(target=f"small@{server.url}", retries=2)
    model.chat([HELLO] * (FAULT - 1))
    monkeypatch.setattr("palestra_agents.models.openai.asyncio.sleep", sleep)
    assert model.chat([HELLO])[0].model == "served"
    model.close()
    assert slept == pauses


def test_replies_come_back_beside_the_errors(server: Server) -> None:
    server.fault = filtered
    model = OpenAIModel(target=f"small@{server.url}", retries=0)
    with pytest.raises(
        PartialReplies, match=r"1 of 9 requests failed; the first: .*refused"
    ) as caught:
        model.chat([HELLO] * 9)
    model.close()
    replies = caught.value.replies
    assert len(replies) == 9
    assert sum(isinstance(reply, Reply) for reply in replies) == 8


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted in /proc")
def test_connections_nobody_answers_hold_few_sockets_and_no_threads() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        model = OpenAIModel(target=f"small@{url}", concurrency=16, timeout=0.1, retries=1)
        threads, descriptors = threading.active_count(), open_descriptors()
        most = [0, 0]
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.01):
                counted = threading.active_count() - 1, open_descriptors()
                most[:] = map(max, zip(most, counted, strict=True))

        watcher = threading.Thread(target=watch)
        watcher.start()
        with pytest.raises(PartialReplies, match=r"80 of 80 requests failed"):
            model.chat([HELLO] * 80)
        over.set()
        watcher.join()
        names = (os.cpu_count() or 1) + 4  # threads in which asyncio looks names up
        assert most[0] <= threads + 1 + names
        assert most[1] <= descriptors + 16 + 8
        model.close()
        assert open_descriptors() <= descriptors


def test_an_interrupt_does_not_wait_for_the_server(server: Server) -> None:
    server.fault = server.hang
    model = OpenAIModel(target=f"small@{server.url}", timeout=600)

    class Interrupted(Exception):
        pass

    def interrupt(number: int, frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    started = time.monotonic()
    try:
        with pytest.raises(Interrupted):
            model.chat([HELLO] * 9)
    finally:
        signal.signal(signal.SIGALRM, before)
    model.close()
    assert time.monotonic() - started < 100, "the server would have had 600 seconds"


def test_a_model_can_be_used_again_after_it_was_closed(server: Server) -> None:
    model = OpenAIModel(target=f"small@{server.url}")
    for _ in range(2):
        assert model.chat([HELLO])[0].model == "served"
        model.close()
