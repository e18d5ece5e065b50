"""The capturing endpoint between a hostile model server and a hostile client.

Every wrong value in every field of a completion and of a request: the client gets a completion or
one line, no request is the server's own failure, and the match is played and recorded to its end.
"""

import json
import math
from functools import partial

import httpx
import msgspec
import palestra
import pytest
from hostile_answers import SOUND, VALUES, broken, places
from palestra.records.record import replay
from palestra_server.client import Server
from palestra_server.dialects.openai import CaptureDialect
from palestra_server.messages import OPEN
from serving import record_of, running, serving
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

JSON = {"Content-Type": "application/json"}
ASKED = {
    "model": "m",
    "messages": [{"role": "user", "content": "hello"}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.5,
    "n": 1,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "exchanges": 1,
}


class Upstream:
    """A model server that answers the same bytes to all."""

    def __init__(self):
        self.body, self.status = b"", 200
        self.app = Starlette(routes=[Route("/v1/chat/completions", self.answer, methods=["POST"])])

    async def answer(self, request):
        return Response(self.body, self.status, media_type="application/json")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    model = Upstream()
    with running(model.app) as upstream:
        capture = partial(CaptureDialect, upstream=f"{upstream}/v1", tokens=True)
        with serving(tmp_path_factory.mktemp("capture"), dialects=[capture]) as (url, server):
            yield url, server, model


class Seat:
    """One seat of a long match, which answers now and then with what was captured."""

    def __init__(self, url):
        self.url, self.made = url, Server(url)
        self.match = self.made.create(
            "games/MatrixGame-v0", [OPEN, "first"], seed=1, options={"rounds": 1000}
        )
        self.seat = self.made.join(self.match, 0, "eve")
        self.http = httpx.Client(
            base_url=f"{url}/v1",
            headers={**JSON, "Authorization": f"Bearer {self.seat.token}"},
            timeout=60,
        )

    def ask(self, body):
        return self.http.post("/chat/completions", content=body)

    def move(self):
        self.seat.turn(20)
        self.seat.answer(0)

    def end(self):
        view = self.seat.turn(20)
        while view.status != "over":
            self.seat.answer(0)
            view = self.seat.turn(20)
        self.http.close(), self.seat.close(), self.made.close()


def one_line(answer):
    told = answer.json()["error"]["message"]
    return told.isprintable() and 0 < len(told) < 2_000


def is_finite(value):
    """Whether no number within plain data is infinite or no number."""
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value
    return all(map(is_finite, inner)) if isinstance(value, dict | list | tuple) else True


def check_record(server, match):
    record = record_of(server, match)
    assert tuple(replay(record).returns) == record.returns
    palestra.verify(record)
    written = msgspec.json.encode(record)
    assert msgspec.json.decode(written, type=palestra.EpisodeRecord) == record
    assert is_finite(json.loads(written))
    for turn in record.turns:
        assert turn.logprob is None or math.isfinite(turn.logprob)
        for number in (turn.tokens.prompt + turn.tokens.reply) if turn.tokens else ():
            assert 0 <= number < 2**31


def test_no_answer_of_a_model_server_breaks_a_match(served):
    url, server, model = served
    seat = Seat(url)
    taken = 0
    for path in places(SOUND):
        for value in VALUES:
            model.body = broken(path, value)
            for stream in (False, True) if "message" in path else (False,):
                body = {"model": "m", "messages": [], "stream": stream}
                answer = seat.ask(json.dumps(body).encode())
                assert answer.status_code in (200, 502), (path, value[:80], answer.text[:500])
                if answer.status_code == 502:
                    assert one_line(answer), (path, value[:80])
                taken += answer.status_code == 200
        seat.move()
    assert taken
    seat.end()
    check_record(server, seat.match)


def test_no_answer_that_is_cut_breaks_a_match(served):
    url, server, model = served
    seat, whole = Seat(url), json.dumps(SOUND).encode()
    for length in range(len(whole)):
        model.body = whole[:length]
        answer = seat.ask(b'{"model": "m", "messages": []}')
        assert answer.status_code == 502
        assert one_line(answer)
    seat.end()
    check_record(server, seat.match)


def test_no_request_breaks_a_match(served):
    url, server, model = served
    model.body = json.dumps(SOUND).encode()
    seat = Seat(url)
    for path in places(ASKED):
        for value in VALUES:
            answer = seat.ask(broken(path, value, ASKED))
            assert answer.status_code < 500, (path, value[:80], answer.text[:500])
            if answer.status_code != 200:
                assert one_line(answer), (path, value[:80])
        seat.move()
    seat.end()
    check_record(server, seat.match)
