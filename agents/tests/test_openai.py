"""The OpenAI client against a server that misbehaves; a real one is in real_vllm.py."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, ModelError, UnknownName
from palestra.agents.models import Message, Request
from palestra_agents.llm import LLMAgent
from palestra_agents.models.openai import OpenAIModel, _Pace

HELLO = Request((Message("user", "hello"),))


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "reasoning_content": "because"}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "served",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
    }


class Server:
    """Answers with (status, body) pairs in turn, the last one for ever; keeps what it was asked."""

    def __init__(self) -> None:
        self.script: list[tuple[int, Any]] = [(200, completion("hi"))]
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.delay = 0.0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                server.keys.append(self.headers["Authorization"])
                server.asked.append(json.loads(self.rfile.read(size)))
                status, body = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                time.sleep(server.delay)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    started = Server()
    yield started
    started.stop()


@pytest.fixture
def opened(server: Server) -> Iterator[Any]:
    models: list[OpenAIModel] = []

    def open_model(**options: Any) -> OpenAIModel:
        models.append(OpenAIModel(target=f"small@{server.url}", **options))
        return models[-1]

    yield open_model
    for model in models:
        model.close()


def test_an_answer_carries_usage_and_reasoning(server: Server, opened: Any) -> None:
    reply = opened().chat([HELLO])[0]
    assert (reply.text, reply.thought, reply.model) == ("hi", "because", "served")
    usage = reply.usage
    assert (usage.tokens_in, usage.tokens_out, usage.tokens_cached, usage.calls) == (12, 3, 8, 1)


def test_what_passes_is_tried_again(server: Server, opened: Any) -> None:
    server.script = [(429, {}), (503, {}), (200, completion("at last"))]
    assert opened().chat([HELLO])[0].text == "at last"
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, {"error": {"message": "no"}}, "wants a key; give key=NAME"),
        (429, {}, "keeps answering 429"),
        (500, {}, "openai:small"),
        (200, b"<html>welcome</html>", "answered something that is not a chat completion"),
        (200, {"choices": []}, "answered something that is not a chat completion"),
        (400, {"error": {"message": "bad temperature"}}, "refused the request: .*bad temperature"),
    ],
)
def test_what_does_not_pass_is_said(
    server: Server, opened: Any, status: int, body: Any, says: str
) -> None:
    server.script = [(status, body)]
    with pytest.raises(ModelError, match=says):
        opened(retries=1).chat([HELLO])


def test_a_full_context_is_not_an_error(server: Server, opened: Any) -> None:
    message = "This model's maximum context length is 2048 tokens"
    server.script = [(400, {"error": {"message": message}})]
    assert opened().chat([HELLO])[0].overflow


def test_a_slow_server_is_named(server: Server, opened: Any) -> None:
    server.delay = 0.5
    with pytest.raises(ModelError, match=r"did not answer within 0.05 s; give timeout="):
        opened(timeout=0.05, retries=0).chat([HELLO])


def test_a_server_that_is_down_is_named() -> None:
    model = OpenAIModel(target="small@http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(ModelError, match=r"cannot be reached; is the server running at"):
        model.chat([HELLO])
    model.close()


def test_requests_start_no_faster_than_allowed(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def pause(pace: Any) -> float:
        pauses.append(measure(pace))
        return 0.0

    measure = _Pace.pause
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr("palestra_agents.models.openai.time", clock)
    monkeypatch.setattr(_Pace, "pause", pause)
    opened(per_minute=1200).chat([HELLO] * 5)
    assert pauses == pytest.approx([0.0, 0.05, 0.1, 0.15, 0.2])


def test_legal_moves_go_out_as_a_schema(server: Server, opened: Any) -> None:
    server.script = [(200, completion('{"move": "bet"}'))]
    request = Request(HELLO.messages, choices=("pass", "bet"))
    assert opened().chat([request])[0].text == "bet"
    schema = server.asked[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["move"]["enum"] == ["pass", "bet"]
    opened(structured="vllm").chat([request])
    assert server.asked[1]["structured_outputs"] == {"choice": ["pass", "bet"]}


def test_a_whole_game_over_http(server: Server) -> None:
    server.script = [(200, completion('{"move": "bet"}'))]
    agent = f"llm:openai:small@{server.url},mode=choice"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, agent])[0]
    assert [turn.text for turn in record.turns] == ["bet", "bet"]
    assert {turn.thought for turn in record.turns} == {"because"}


def test_a_run_that_loses_its_server_keeps_what_was_played(server: Server, tmp_path: Any) -> None:
    good = (200, completion('{"move": "bet"}'))
    server.script = [good] * 7 + [(401, {})]
    agent = f"llm:openai:small@{server.url},mode=choice,retries=0"
    with pytest.warns(RuntimeWarning, match="ended in an error, the first with .*wants a key"):
        palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=5, out=tmp_path, live=1)
    failed = palestra.read_records(tmp_path / "errors.jsonl")
    assert all("wants a key" in record.error for record in failed)
    server.script = [good]
    palestra.play(
        "games/KuhnPoker-v0",
        agents=[agent, agent],
        episodes=5,
        out=tmp_path,
        live=1,
        resume=True,
    )
    records = palestra.read_records(tmp_path / "episode.jsonl")
    assert [record.number for record in records] == list(range(5))
    assert {record.number for record in failed} == {3, 4}


def test_set_up_errors_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="needs a key; set OPENAI_API_KEY"):
        OpenAIModel(target="small")
    with pytest.raises(ModelError, match="small needs a key; set OTHER_KEY"):
        OpenAIModel(target="small", key="OTHER_KEY")
    with pytest.raises(InvalidOption, match="needs a model"):
        OpenAIModel()
    with pytest.raises(UnknownName, match="did you mean 'schema'"):
        OpenAIModel(target="small@http://127.0.0.1:9/v1", structured="shema")
    with pytest.raises(UnknownName, match="did you mean 'timeout'"):
        palestra.open_model("openai:small@http://127.0.0.1:9/v1", timeouts=3)


def test_a_server_that_cannot_constrain_is_refused_or_named(server: Server, opened: Any) -> None:
    """structured=none says so itself; a server that ignores the schema is found out."""
    with pytest.raises(InvalidOption, match=r"mode=choice is not possible .* chat only"):
        LLMAgent(model=opened(structured="none"), mode="choice")
    server.script = [(200, completion("I would say: bet"))]
    agent = LLMAgent(model=opened(), mode="choice")
    with pytest.warns(RuntimeWarning, match=r"does not hold its replies .* as in mode=free"):
        record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"], invalid="forfeit")[0]
    assert record.outcome is not None
    assert record.outcome.results[0] == "forfeit"
    assert server.asked[-1]["response_format"]["json_schema"]["schema"]["properties"]["move"]


SECRET = "the-users-key"
ELSEWHERE = (
    "https://evil.example/v1",
    "http://api.openai.com/v1",  # not encrypted
    "https://api.openai.com:8443/v1",
    "https://api.openai.com.evil.example/v1",
    "https://api.openai.com@evil.example/v1",
    "https://evil.example#https://api.openai.com/v1",
    "https://evil.example/?https://api.openai.com/v1",
    "http://localhost.evil.example/v1",
    "http://127.0.0.1.evil.example/v1",
    "http://localhost@evil.example/v1",
    "http://203.0.113.7:8000/v1",
)


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("LAB_KEY", "the-labs-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def key_of(url: str, **options: Any) -> str:
    return OpenAIModel(target=f"small@{url}" if url else "small", **options)._key


@pytest.mark.usefixtures("keyed")
@pytest.mark.parametrize("url", ELSEWHERE)
def test_the_key_goes_to_no_other_address(url: str) -> None:
    with pytest.raises(ModelError, match=r"is sent only to OpenAI .* give key=NAME"):
        key_of(url)
    assert key_of(url, key="none") == "none"
    assert key_of(url, key="LAB_KEY") == "the-labs-key"


@pytest.mark.usefixtures("keyed")
def test_the_key_goes_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("", "https://api.openai.com/v1", "https://api.openai.com:443/v1/"):
        assert key_of(url) == SECRET
    for url in ("http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:8000/v1"):
        assert key_of(url) == "none"
        assert key_of(url, key="OPENAI_API_KEY") == SECRET
    monkeypatch.setenv("OPENAI_BASE_URL", "http://203.0.113.7:8000/v1")
    assert key_of("") == SECRET
    assert key_of("http://203.0.113.7:8000/other") == SECRET
    with pytest.raises(ModelError, match=r"not to http://203\.0\.113\.7:8001"):
        key_of("http://203.0.113.7:8001/v1")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    assert key_of("") == "none"


@pytest.mark.parametrize("url", ["ftp://h/v1", "h:8000/v1", "http://", "http:///v1"])
def test_an_address_that_cannot_be_read_is_named(url: str) -> None:
    with pytest.raises(InvalidOption, match="address"):
        key_of(url)


@pytest.mark.usefixtures("keyed")
def test_what_is_sent_to_this_machine_holds_no_key_unless_asked(server: Server) -> None:
    for asked, sent in (({}, "Bearer none"), ({"key": "LAB_KEY"}, "Bearer the-labs-key")):
        model = palestra.open_model(f"openai:small@{server.url}", **asked)
        model.chat([HELLO])
        model.close()
        assert set(server.keys) == {sent}
        server.keys.clear()
