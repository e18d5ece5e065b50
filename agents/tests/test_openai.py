"""The OpenAI client against a server that misbehaves; a real one is in real_vllm.py."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import msgspec
import palestra
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from palestra import InvalidOption, ModelError, UnknownName
from palestra.agents.models import Message, Reply, Request
from palestra.records.rescore import rescore
from palestra.records.trace import trace_seats
from palestra_agents.llm import LLMAgent
from palestra_agents.models.openai import OpenAIModel, _Pace
from pydantic import TypeAdapter

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
    """Answers with (status, body) pairs in turn, the last one for ever; keeps what it was asked.

    A body may be a function of the request.
    """

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
                asked = json.loads(self.rfile.read(size))
                server.asked.append(asked)
                status, body = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                time.sleep(server.delay)
                body = body(asked) if callable(body) else body
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


def with_ids(asked: dict[str, Any]) -> dict[str, Any]:
    """A completion of vLLM's server, one token a letter, where ids are asked for."""
    made = completion("5")
    if not asked.get("return_token_ids"):
        return made
    (choice,) = made["choices"]
    said = "".join(message["content"] for message in asked["messages"])
    choice |= {
        "token_ids": [53],
        "logprobs": {"content": [{"token": "5", "logprob": -0.25, "bytes": None}]},
        "stop_reason": None,
    }
    return made | {"prompt_token_ids": list(map(ord, said))}


def test_token_ids_of_a_server_that_has_them_are_on_record_and_in_the_trace(server: Server) -> None:
    server.script = [(200, with_ids)]
    agent = f"llm:openai:small@{server.url},token_ids=true,keep_tokens=true"
    (record,) = palestra.play("games/TicTacToe-v0", agents=[agent, "first"], invalid="forfeit")
    (trace, *_) = trace_seats(record)
    (asked, *_) = server.asked
    assert asked["return_token_ids"] is True
    prompt = list(map(ord, "".join(message["content"] for message in asked["messages"])))
    assert trace.ids[: len(prompt) + 1] == [*prompt, 53]
    assert trace.logprobs[len(prompt)] == -0.25
    assert trace.turns[0].finish == "end"


def test_a_server_without_token_ids_is_named_where_they_are_asked_for(
    server: Server, opened: Any
) -> None:
    request = msgspec.structs.replace(HELLO, tokens=True)
    with pytest.raises(ModelError, match="returns no token ids"):
        opened(token_ids=True).chat([request])
    assert opened(token_ids=True).chat([HELLO])[0].tokens is None
    with pytest.raises(InvalidOption, match="keep_tokens is not possible"):
        LLMAgent(model=opened(), keep_tokens=True)


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
    with pytest.raises(InvalidOption, match=r"mode=choice is not possible .* it can: tools"):
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


# mode=tools


def calling(*calls: tuple[str, Any], say: str | None = None, ids: bool = True) -> dict[str, Any]:
    """A completion that calls tools; arguments are text as it stands, or data."""
    answer = completion("")
    answer["choices"][0]["finish_reason"] = "tool_calls"
    answer["choices"][0]["message"] = {
        "role": "assistant",
        "content": say,
        "tool_calls": [
            {
                "id": f"call-{uuid4().hex}" if ids else "",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for name, given in calls
        ],
    }
    return answer


MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = TypeAdapter(list[ChatCompletionToolParam])


def check_as_openai(asked: dict[str, Any]) -> None:
    """Hold a request against OpenAI's types and its rules for calls in a conversation."""
    MESSAGES.validate_python(asked["messages"])
    TOOLS.validate_python(asked["tools"])
    assert asked["parallel_tool_calls"] is False
    waiting: list[str] = []
    for message in asked["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "calls without an answer"
        for call in message.get("tool_calls", ()):
            waiting.append(call["id"])
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        assert len(set(waiting)) == len(waiting)
    assert not waiting


def first_of_each(schema: dict[str, Any]) -> Any:
    """Arguments that a schema allows: the first of a list, the lowest number, a short text."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: first_of_each(inner) for name, inner in schema["properties"].items()}
    return schema["minimum"] if schema["type"] == "integer" else "well"


def play_the_first(asked: dict[str, Any]) -> dict[str, Any]:
    """Call the first tool with the first arguments that its schema allows."""
    check_as_openai(asked)
    tool = asked["tools"][0]["function"]
    return calling((tool["name"], first_of_each(tool["parameters"])), say="So be it.")


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("games/TicTacToe-v0", {}),
        ("text/Commons-v0", {"num_players": 3}),
        ("text/Negotiation-v0", {}),
        ("games/Werewolf-v0", {}),
    ],
)
@pytest.mark.parametrize("history", ["conversation", "position"])
def test_a_game_is_played_by_calls_and_replays(
    server: Server, env: str, options: dict[str, Any], history: str
) -> None:
    server.script = [(200, play_the_first)]
    agent = f"llm:openai:small@{server.url},mode=tools,history={history}"
    seats = [agent] * (palestra.game(env, **options).num_players)
    (record,) = palestra.play(env, agents=seats, invalid="forfeit", max_episode_steps=12, **options)
    assert len(record.turns) > 2
    assert not any(record.mistakes)
    assert {turn.sampling["mode"] for turn in record.turns} == {"tools"}
    assert {turn.thought for turn in record.turns} == {"So be it."}
    assert all(turn.usage.tokens_in == 12 for turn in record.turns)
    for turn in record.turns:
        (call,) = turn.facts["calls"]
        assert isinstance(json.loads(call["arguments"]), dict)
    assert palestra.verify(record)
    assert not rescore(record).changes
    roles = {message["role"] for asked in server.asked for message in asked["messages"]}
    assert ("tool" in roles) == (history == "conversation")


GOOD = ("play", {"move": "bet"})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (calling(GOOD, GOOD), "an answer calls one tool, not 2"),
        (calling(GOOD, GOOD, ids=False), "an answer calls one tool, not 2"),
        (calling(("fly away", {"move": "bet"})), "there is no tool 'fly away'; there are: play"),
        (calling(("play", '{"move": "be')), "the arguments of play must be a JSON object"),
        (calling(("play", '["bet"]')), "the arguments of play must be a JSON object"),
        (calling(("play", {"move": 1})), "play takes one string, 'move'"),
        (calling(("play", {"bet": "move"})), "play takes one string, 'move'"),
        (calling(("play", {"move": "raise"})), "legal: pass, bet"),
        (completion("I would rather not call anything."), "legal: pass, bet"),
    ],
)
@pytest.mark.parametrize("history", ["conversation", "position"])
def test_an_answer_that_is_not_one_legal_call_is_refused_and_asked_again(
    server: Server, answer: dict[str, Any], says: str, history: str
) -> None:
    server.script = [(200, answer), (200, calling(GOOD))]
    agent = f"llm:openai:small@{server.url},mode=tools,history={history}"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"], invalid="retry:2")[0]
    first = next(turn for turn in record.turns if turn.seat == 0)
    assert (first.status, first.text) == ("retried", "bet")
    assert [attempt.usage.tokens_out for attempt in first.refused] == [3]
    assert record.mistakes[0] == 1
    for asked in server.asked:
        check_as_openai(asked)
    told = server.asked[1]["messages"][-1]
    assert told["content"].startswith("That was refused: ")
    assert says in told["content"]
    called = bool(answer["choices"][0]["message"].get("tool_calls"))
    assert told["role"] == ("tool" if called and history == "conversation" else "user")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (calling(GOOD, GOOD), "an answer calls one tool, not 2"),
        (calling(("fly", {"move": "bet"})), "there is no tool 'fly'; there are: play"),
        (
            calling(("play", '{"move": "be')) | {"finish": "length"},
            "the arguments of play must be a JSON object with each name once, not "
            '\'{"move": "be\'; the reply was cut off at max_tokens',
        ),
        (completion("") | {"finish": "length"}, "the reply was cut off at max_tokens"),
        (
            completion("") | {"finish": "content_filter"},
            "a filter of the server withheld the reply",
        ),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_record_says_why_an_answer_was_refused(
    server: Server, answer: dict[str, Any], says: str, asynchronous: bool
) -> None:
    answer = json.loads(json.dumps(answer))
    answer["choices"][0]["finish_reason"] = answer.pop("finish", "tool_calls")
    server.script = [(200, answer)]
    (record,) = palestra.play(
        "games/KuhnPoker-v0",
        agents=[f"llm:openai:small@{server.url},mode=tools", "first"],
        invalid="retry:1",
        asynchronous=asynchronous,
    )
    assert record.outcome is not None
    assert record.outcome.reason.endswith(f"forfeits: illegal move: {says}")
    refused = next(turn for turn in record.turns if turn.seat == 0).refused
    assert [says in attempt.error for attempt in refused] == [True, True]
    told = server.asked[1]["messages"][-1]["content"]
    assert told.startswith(f"That was refused: {refused[0].error}\n")


def test_what_a_server_says_in_other_fields_is_read(server: Server, opened: Any) -> None:
    def said(**message: Any) -> Reply:
        answer = completion("")
        answer["choices"][0]["message"] = {"role": "assistant", **message}
        server.script = [(200, answer)]
        return opened().chat([HELLO])[0]

    assert said(content=None, refusal="I cannot help with that.").text == "I cannot help with that."
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "p"}, {"text": "ass"}]
    assert said(content=parts).text == "pass"
    assert said(content="pass", reasoning="They fold.").thought == "They fold."


@pytest.mark.parametrize("arguments", ["", " ", None, "{}", {}])
def test_a_call_without_arguments_may_leave_them_empty(server: Server, arguments: Any) -> None:
    answer = calling(("Walk", {}))
    answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    several = calling(("Walk", {}), ("Walk", {}))
    for call in several["choices"][0]["message"]["tool_calls"]:
        call["function"]["arguments"] = arguments
    server.script = [(200, several), (200, answer)]
    agent = f"llm:openai:small@{server.url},mode=tools"
    (record,) = palestra.play("text/Negotiation-v0", agents=[agent, "negotiator"])
    own = [turn for turn in record.turns if turn.seat == 0]
    assert [turn.text for turn in own] == ["Walk()"]
    assert len(own[0].refused) == 1
    check_as_openai(server.asked[-1])


@pytest.mark.parametrize("body", [b'data: {"choices": []}', {"error": {"message": "overloaded"}}])
def test_an_answer_of_another_form_is_shown(server: Server, opened: Any, body: Any) -> None:
    server.script = [(200, body)]
    with pytest.raises(
        ModelError, match=r"not a chat completion: .*; it begins with .*(data|over)"
    ):
        opened().chat([HELLO])


def test_a_move_in_plain_text_is_read_as_text(server: Server) -> None:
    server.script = [(200, completion("I bet they fold.\nMove: pass"))]
    agent = f"llm:openai:small@{server.url},mode=tools"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"], invalid="forfeit")[0]
    first = next(turn for turn in record.turns if turn.seat == 0)
    assert first.status == "ok"
    assert "calls" not in first.facts


def test_arguments_may_come_as_an_object(server: Server) -> None:
    answer = calling(GOOD)
    answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = {"move": "bet"}
    server.script = [(200, answer)]
    agent = f"llm:openai:small@{server.url},mode=tools"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"], invalid="forfeit")[0]
    assert record.turns[0].text == "bet"


def test_a_conversation_that_is_cut_begins_with_a_question(server: Server) -> None:
    def forgetful(asked: dict[str, Any]) -> Any:
        assert len(asked["messages"]) <= 5
        return play_the_first(asked)

    class Short(OpenAIModel):
        """Says that more than five messages do not fit."""

        def chat(self, requests: Any) -> Any:
            long = [len(request.messages) > 5 for request in requests]
            replies = iter(
                super().chat([r for r, no in zip(requests, long, strict=True) if not no])
            )
            return [Reply("", overflow=True) if no else next(replies) for no in long]

    server.script = [(200, forgetful)]
    model = Short(target=f"small@{server.url}")
    agent = LLMAgent(model=model, mode="tools")
    record = palestra.play("games/TicTacToe-v0", agents=[agent, "first"], invalid="forfeit")[0]
    assert not any(record.mistakes)
    assert agent.dropped > 0
    assert [message["role"] for message in server.asked[-1]["messages"]][:2] == ["system", "user"]


def test_tools_need_a_server_that_takes_them() -> None:
    with pytest.raises(InvalidOption, match=r"mode=tools is not possible .* as openai:NAME@URL"):
        LLMAgent(target="echo:", mode="tools")
    for more in ({"prompt": "raw"}, {"examples": 2}, {"keep_tokens": True}):
        model = OpenAIModel(target="small@http://127.0.0.1:9/v1")
        with pytest.raises(InvalidOption):
            LLMAgent(model=model, mode="tools", **more)
