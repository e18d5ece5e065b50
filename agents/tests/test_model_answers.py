"""Every field of a chat completion with every wrong value, and every answer cut at every byte.

A request of a server that breaks the protocol fails alone, with one line that says how. What a
model says in a sound answer, however hostile, is read by its seat: a mistake, never an error.
"""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import palestra
import pytest
from hostile_answers import SOUND, VALUES, broken, places, whole_request
from palestra import ModelError
from palestra.agents.models import Message, Reply, Request
from palestra_agents.models.openai import OpenAIModel

HELLO = Request((Message("user", "hello"),))
CHOOSING = Request((Message("user", "hello"),), choices=("bet", "pass"))


class Server:
    """A real server on the loopback, with one body for all requests and connections kept open."""

    def __init__(self) -> None:
        self.raw, self.hangs_up = b"", False
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def says(self, body: bytes, status: int = 200) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
        self.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def send(self, raw: bytes, *, hang_up: bool = False) -> None:
        """What each request gets from now on; `hang_up` closes the connection after it."""
        self.raw, self.hangs_up = raw, hang_up

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket) -> None:
        """Answer requests until the client leaves."""
        with peer, peer.makefile("rb") as request:
            try:
                while whole_request(request):
                    self._asked()
                    peer.sendall(self.raw)
                    if self.hangs_up:
                        return
            except OSError:
                return

    def _asked(self) -> None:
        """Called before each answer."""

    def stop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.stop()


@pytest.fixture
def model(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIModel]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = OpenAIModel(target=f"small@{server.url}", retries=0, timeout=10)
    yield made
    made.close()


def is_sound(reply: Reply) -> bool:
    """Whether a record can hold a reply: texts, counts from 0, a finite logarithm."""
    used = reply.usage
    counts = (used.tokens_in, used.tokens_out, used.tokens_cached, used.calls)
    return (
        isinstance(reply.text, str)
        and isinstance(reply.thought, str)
        and isinstance(reply.model, str)
        and all(isinstance(count, int) and 0 <= count <= 2**53 for count in counts)
        and (reply.logprob is None or math.isfinite(reply.logprob))
    )


def one_line(error: ModelError) -> bool:
    said = str(error)
    return said.isprintable() and len(said) < 2_000 and "small@" in said


def ask(model: OpenAIModel, request: Request) -> Reply | ModelError:
    try:
        (reply,) = model.chat([request])
    except ModelError as error:
        return error
    return reply


@pytest.mark.parametrize("path", list(places(SOUND)), ids=str)
def test_any_value_in_any_field_is_a_reply_or_one_line(
    server: Server, model: OpenAIModel, path: tuple[Any, ...]
) -> None:
    for value in VALUES:
        server.says(broken(path, value))
        reply = ask(model, CHOOSING if "choices" in path else HELLO)
        fine = is_sound(reply) if isinstance(reply, Reply) else one_line(reply)
        assert fine, (path, value[:80], str(reply)[:2_000])
    server.says(json.dumps(SOUND).encode())
    assert isinstance(ask(model, HELLO), Reply), "the client goes on"


@pytest.mark.parametrize("status", [200])
def test_an_answer_cut_at_any_byte_is_one_line(
    server: Server, model: OpenAIModel, status: int
) -> None:
    server.says(json.dumps(SOUND).encode(), status)
    whole = server.raw
    for length in range(len(whole)):
        server.send(whole[:length], hang_up=True)
        reply = ask(model, HELLO)
        assert isinstance(reply, ModelError), length
        assert one_line(reply), (length, str(reply))


def test_an_error_with_any_value_in_any_field_is_one_line(
    server: Server, model: OpenAIModel
) -> None:
    error = {"error": {"message": "no", "type": "t", "param": "p", "code": "c"}}
    for status in (400, 401, 429, 500):
        for path in places(error):
            for value in VALUES:
                server.says(broken(path, value, error), status)
                reply = ask(model, HELLO)
                assert isinstance(reply, ModelError), (status, path, value)
                assert one_line(reply), (status, path, value, str(reply)[:2_000])


HEADERS = (
    "Content-Encoding: gzip",
    "Content-Encoding: br, deflate, nonsense",
    "Content-Type: text/event-stream",
    "Content-Type: \\xff; charset=\\xff",
    "Content-Type: application/json; charset=utf-7",
    "Transfer-Encoding: chunked",
    "Content-Length: -5",
    "Content-Length: 9999999999999999999999",
    "Location: file:///etc/passwd",
    "Set-Cookie: " + "x" * 60_000,
    "X: " + "x" * 200_000,
    "Retry-After: inf",
    "no header at all",
    ": nameless",
)


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header[:40])
@pytest.mark.parametrize("status", [100, 101, 200, 204, 206, 301, 304, 307, 400, 429, 503, 999])
def test_any_header_with_any_status_is_a_reply_or_one_line(
    server: Server, model: OpenAIModel, header: str, status: int
) -> None:
    body = json.dumps(SOUND).encode()
    head = f"HTTP/1.1 {status} X\r\nConnection: close\r\n{header}\r\n\r\n"
    server.send(head.encode("latin-1") + body, hang_up=True)
    reply = ask(model, HELLO)
    fine = is_sound(reply) if isinstance(reply, Reply) else one_line(reply)
    assert fine, str(reply)[:2_000]


# What a sound answer says

SAID = (
    *VALUES,
    *(f'{{"move": {value}}}' for value in VALUES),
    *(f'{{"action": {value}}}' for value in VALUES),
    *(f"Bid(amount={value})" for value in VALUES),
    "Say(" * 3_000,
    "(" * 100_000,
)


class Speaking(Server):
    """Says the next hostile text in each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.next = 0

    def _asked(self) -> None:
        said = SAID[self.next % len(SAID)]
        self.next += 1
        message = {"content": said, "reasoning_content": said}
        self.says(json.dumps({"model": "served", "choices": [{"message": message}]}).encode())


@pytest.mark.filterwarnings("ignore:mode=choice:RuntimeWarning")
@pytest.mark.parametrize("settings", ["mode=choice", "mode=free,structured=none", "mode=free"])
@pytest.mark.parametrize("env", ["games/KuhnPoker-v0", "text/Negotiation-v0"])
def test_whatever_a_model_says_is_its_seats_move_or_mistake(
    env: str, settings: str, tmp_path: Path
) -> None:
    server = Speaking()
    agent = f"llm:openai:small@{server.url},retries=0,timeout=10,{settings}"
    try:
        records = palestra.play(
            env,
            agents=[agent, "first"],
            episodes=len(SAID),
            out=tmp_path,
            live=1,
            invalid="forfeit",
        )
    finally:
        server.stop()
    assert [record.error for record in records if record.error] == []
    assert server.next >= len(SAID)
    assert sum(record.mistakes[0] for record in records) > len(SAID) // 2
    for record in palestra.read_records(tmp_path / "episode.jsonl"):
        palestra.verify(record)
