"""The capturing endpoint between a hostile model server and a hostile client.

Every wrong value in every field of a reply and of a request: the client gets a reply or one line,
no request is the server's own failure, and the match is played and recorded to its end.
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

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "incomplete_details": {"reason": None},
    "model": "served",
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "bet",
                    "annotations": [],
                    "logprobs": [{"token": "bet", "logprob": -0.5}],
                },
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"id": "fc_1", "type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
    ],
    "usage": {
        "input_tokens": 12,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens": 3,
    },
    "input_messages": [{"type": "raw_message_tokens", "message": "x", "tokens": [1, 2]}],
    "output_messages": [{"type": "raw_message_tokens", "message": "bet", "tokens": [1]}],
}
INPUT = {
    "model": "m",
    "instructions": "Play.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call_output", "call_id": "1", "output": "x"},
    ],
    "include": ["message.output_text.logprobs"],
    "stream": True,
    "messages": 1,
    "background": False,
    "previous_response_id": None,
    "reasoning": {"effort": "low"},
    "tools": [{"type": "function", "name": "f", "parameters": {}}],
}
ENDPOINTS = pytest.mark.parametrize(
    ("path", "sound", "request_"),
    [("/chat/completions", SOUND, ASKED), ("/responses", RESPONSE, INPUT)],
    ids=["completions", "responses"],
)


class Upstream:
    """A model server that answers the same bytes to all."""

    def __init__(self):
        self.body, self.status = b"", 200
        paths = ("/v1/chat/completions", "/v1/responses")
        self.app = Starlette(routes=[Route(path, self.answer, methods=["POST"]) for path in paths])

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

    def ask(self, path, body):
        return self.http.post(path, content=body)

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


@pytest.mark.slow
@ENDPOINTS
def test_no_answer_of_a_model_server_breaks_a_match(served, path, sound, request_):
    url, server, model = served
    seat = Seat(url)
    taken = 0
    plain = {name: value for name, value in request_.items() if name != "stream_options"}
    for place in places(sound):
        for value in VALUES:
            model.body = broken(place, value, sound)
            stream = bool({"message", "output"} & {*place})
            answer = seat.ask(path, json.dumps({**plain, "stream": stream}).encode())
            assert answer.status_code in (200, 502), (place, value[:80], answer.text[:500])
            if answer.status_code == 502:
                assert one_line(answer), (place, value[:80])
            taken += answer.status_code == 200
        seat.move()
    assert taken
    seat.end()
    check_record(server, seat.match)


@ENDPOINTS
def test_no_answer_that_is_cut_breaks_a_match(served, path, sound, request_):
    url, server, model = served
    seat, whole = Seat(url), json.dumps(sound).encode()
    for length in range(len(whole)):
        model.body = whole[:length]
        answer = seat.ask(path, b'{"model": "m", "messages": [], "input": "x"}')
        assert answer.status_code == 502
        assert one_line(answer)
    seat.end()
    check_record(server, seat.match)


@ENDPOINTS
def test_no_request_breaks_a_match(served, path, sound, request_):
    url, server, model = served
    model.body = json.dumps(sound).encode()
    seat = Seat(url)
    for place in places(request_):
        for value in VALUES:
            answer = seat.ask(path, broken(place, value, request_))
            assert answer.status_code < 500, (place, value[:80], answer.text[:500])
            if answer.status_code != 200:
                assert one_line(answer), (place, value[:80])
        seat.move()
    seat.end()
    check_record(server, seat.match)


@pytest.mark.parametrize("status", [204, 302, 400, 404, 429, 500, 503])
def test_every_error_of_a_model_server_comes_in_one_form(served, status):
    url, server, model = served
    seat = Seat(url)
    model.status = status
    try:
        for body in (b"", b"<html>\n\x1b[2J", b'{"detail": "Not Found"}', b'{"error": "x"}', b"[]"):
            model.body = b"" if status == 204 else body
            for path in ("/chat/completions", "/responses"):
                answer = seat.ask(path, b'{"model": "m", "messages": [], "input": "x"}')
                assert answer.status_code == (status if status >= 400 else 502)
                assert f"answered {path} with status {status}" in answer.json()["error"]["message"]
                assert one_line(answer)
    finally:
        model.status = 200
    seat.end()
    check_record(server, seat.match)
