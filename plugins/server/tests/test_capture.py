"""The capturing endpoint, held against OpenAI's own client and a model server of our own."""

from functools import partial

import httpx
import msgspec
import openai
import palestra
import pytest
from model_server import ModelServer
from palestra.records.record import EpisodeRecord, replay
from palestra.records.trace import trace_seats
from palestra_server.capture import MOST_BYTES, Exchange, for_seat
from palestra_server.client import Server
from palestra_server.dialects.openai import CaptureDialect, _failed
from palestra_server.messages import OPEN
from palestra_server.refused import RequestRefused
from serving import running, serving

KEY = "sk-of-the-operator"


def last_word(prompt):
    return prompt.split()[-1]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    model = ModelServer(last_word)
    with running(model.app) as upstream:
        capture = partial(CaptureDialect, upstream=f"{upstream}/v1", key=KEY, tokens=True)
        folder = tmp_path_factory.mktemp("capture")
        with serving(folder, dialects=[capture]) as (url, server):
            yield url, server, model


def ask(client, text, **settings):
    messages = [{"role": "system", "content": "Play."}, {"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=messages, **settings)


def record_for(url, seat):
    """The record as a seat gets it."""
    answer = httpx.get(f"{url}/seat/record", headers={"Authorization": f"Bearer {seat.token}"})
    return msgspec.json.decode(answer.content, type=EpisodeRecord)


def test_what_an_agent_asks_while_it_plays_is_on_record(served):
    url, server, model = served
    made = Server(url)
    match = made.create("games/MatrixGame-v0", [OPEN, OPEN], seed=2, options={"rounds": 3})
    ada, bob = made.join(match, 0, "ada"), made.join(match, 1, "bob")
    asked = len(model.requests)
    with openai.OpenAI(base_url=f"{url}/v1", api_key=ada.token, max_retries=0) as client:
        for turn in range(3):
            view = ada.turn(20)
            legal = view.legal.split()[-1].strip(".")
            if turn == 1:
                ask(client, "Think first: hm")
            reply = ask(client, f"{view.position} {legal}", temperature=0.7)
            assert reply.choices[0].message.content == legal
            ada.answer(legal if turn else "nonsense")
            if not turn:
                view = ada.turn(20)
                assert view.error
                ask(client, "Again: 0")
                ada.answer(0)
            bob.turn(20)
            bob.answer(1)
        ada.turn(20)
    assert {headers["authorization"] for headers in model.headers[asked:]} == {f"Bearer {KEY}"}
    assert ada.token not in str(model.headers)
    record = record_for(url, ada)
    mine = [turn for turn in record.turns if turn.seat == 0]
    assert [turn.usage.calls for turn in mine] == [1, 2, 1]
    assert [len(turn.refused) for turn in mine] == [1, 0, 0]
    assert mine[0].refused[0].usage.calls == 1
    sent = model.requests[asked:]
    for turn, requests in zip(mine, (sent[1:2], sent[2:4], sent[4:5]), strict=True):
        last = requests[-1]["messages"][-1]["content"]
        reply = last.split()[-1]
        assert turn.model == "m-2026"
        assert turn.usage.tokens_in == sum(
            len(r["messages"][-1]["content"].split()) for r in requests
        )
        assert turn.usage.tokens_cached == 2 * len(requests)
        assert turn.tokens.prompt == tuple(range(len(last.split())))
        assert turn.tokens.reply == tuple(map(ord, reply))
        assert turn.logprob == pytest.approx(sum(turn.tokens.logprobs))
        told = turn.sampling["exchanges"]
        assert [exchange["messages"] for exchange in told] == [r["messages"] for r in requests]
        assert told[-1]["reply"]["content"] == reply
    assert mine[1].sampling["temperature"] == 0.7
    streams = trace_seats(record, [0])
    assert sum(sum(stream.sampled) for stream in streams) == sum(
        len(r["messages"][-1]["content"].split()[-1]) for r in (sent[0], sent[1], sent[3], sent[4])
    )
    whole = server.match(match).record()
    assert tuple(replay(whole).returns) == whole.returns
    others = record_for(url, bob)
    assert "Think first" not in repr(others)
    assert all(turn.tokens is None for turn in others.turns)
    assert len(others.turns) == len(record.turns)
    ada.close(), bob.close(), made.close()


def test_streams_and_tool_calls_come_as_the_client_asked(served):
    url, _, _ = served
    made = Server(url)
    seat = made.join(made.create("games/TicTacToe-v0", [OPEN, "first"], seed=1))
    move = {"type": "function", "function": {"name": "move", "parameters": {"type": "object"}}}
    with openai.OpenAI(base_url=f"{url}/v1", api_key=seat.token, max_retries=0) as client:
        with ask(client, "say 4", stream=True, stream_options={"include_usage": True}) as stream:
            chunks = list(stream)
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "4"
        assert chunks[-1].usage.completion_tokens == 1
        with ask(client, "act", stream=True, tools=[move]) as stream:
            calls = [c.choices[0].delta.tool_calls for c in stream]
        assert calls[0][0].function.name == "move"
        assert ask(client, "act", tools=[move]).choices[0].message.tool_calls
    seat.close(), made.close()


def test_responses_are_on_record_as_completions_are(served):
    url, server, model = served
    made = Server(url)
    match = made.create("games/MatrixGame-v0", [OPEN, OPEN], seed=2, options={"rounds": 2})
    ada, bob = made.join(match, 0, "ada"), made.join(match, 1, "bob")
    asked = len(model.requests)
    talk = [
        {"role": "user", "content": "Your move?"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "nothing"},
        {"role": "user", "content": "Then play 1"},
    ]
    with openai.OpenAI(base_url=f"{url}/v1", api_key=ada.token, max_retries=0) as client:
        ada.turn(20)
        ask(client, "Think first: hm")
        reply = client.responses.create(
            model="m", instructions="Play.", input=talk, temperature=0.7, include=[]
        )
        assert reply.output_text == "1"
        ada.answer(1)
        bob.turn(20)
        bob.answer(0)
        ada.turn(20)
        cut = client.responses.create(model="m", input="Now play cooperate", max_output_tokens=9)
        assert cut.incomplete_details.reason == "max_output_tokens"
        ada.answer(0)
        bob.turn(20)
        bob.answer(0)
        ada.turn(20)
    assert ada.token not in str(model.headers)
    assert model.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert model.requests[asked + 1]["input"] == talk
    record = record_for(url, ada)
    first, second = (turn for turn in record.turns if turn.seat == 0)
    assert (first.usage.calls, first.usage.tokens_in, first.usage.tokens_cached) == (2, 3 + 3, 4)
    assert first.usage.tokens_out == 2 + 1
    assert (first.model, first.sampling["temperature"]) == ("m-2026", 0.7)
    assert first.tokens.prompt == (0, 1, 2)
    assert (first.tokens.reply, first.tokens.finish) == ((ord("1"),), "end")
    assert first.logprob == -0.25
    _, told = first.sampling["exchanges"]
    assert told["messages"] == [{"role": "system", "content": "Play."}, *talk]
    assert told["reply"]["content"] == "1"
    assert [item["type"] for item in told["reply"]["output"]] == ["reasoning", "message"]
    assert (second.tokens.finish, len(second.tokens.reply)) == ("length", 9)
    assert second.logprob == pytest.approx(sum(-0.25 - place / 8 for place in range(9)))
    assert trace_seats(record, [0])
    others = record_for(url, bob)
    assert "Think first" not in repr(others)
    assert "Then play 1" not in repr(others)
    whole = server.match(match).record()
    assert tuple(replay(whole).returns) == whole.returns
    ada.close(), bob.close(), made.close()


def test_responses_are_streamed_as_the_client_reads_them(served):
    url, _, _ = served
    made = Server(url)
    seat = made.join(made.create("games/TicTacToe-v0", [OPEN, "first"], seed=1))
    move = {"type": "function", "name": "move", "parameters": {"type": "object"}, "strict": False}
    with openai.OpenAI(base_url=f"{url}/v1", api_key=seat.token, max_retries=0) as client:
        with client.responses.stream(model="m", input="say 4") as stream:
            events = list(stream)
            final = stream.get_final_response()
        assert (final.output_text, final.usage.output_tokens) == ("4", 1)
        assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "4"
        numbers = [event.sequence_number for event in events if "delta" not in event.type]
        assert numbers == sorted(set(numbers))
        assert events[-1].type == "response.completed"
        whole = client.responses.create(model="m", input="say 4")
        assert final.output[1].content[0].text == whole.output[1].content[0].text
        with client.responses.create(model="m", input="act", tools=[move], stream=True) as stream:
            told = [event for event in stream if "function_call_arguments" in event.type]
        assert (told[0].delta, told[1].arguments) == ('{"square": 4}', '{"square": 4}')
        with client.responses.create(
            model="m", input="say four", max_output_tokens=4, stream=True
        ) as stream:
            assert [event.type for event in stream][-1] == "response.incomplete"
    seat.close(), made.close()


def test_models_are_listed_for_who_has_a_seat(served):
    url, _, model = served
    made = Server(url)
    seat = made.join(made.create("games/TicTacToe-v0", [OPEN, "first"], seed=1))
    with openai.OpenAI(base_url=f"{url}/v1", api_key=seat.token, max_retries=0) as client:
        assert [listed.id for listed in client.models.list()] == ["m", "org/m"]
        assert client.models.retrieve("org/m").id == "org/m"
        assert model.headers[-1]["authorization"] == f"Bearer {KEY}"
        with pytest.raises(openai.NotFoundError, match=r"with status 404.*Not Found"):
            client.models.retrieve("other")
    seen, bearer = len(model.headers), {"Authorization": f"Bearer {seat.token}"}
    for name in ("%2E%2E", "%2E%2E%2Fresponses", "m%2F%2E%2E%2F%2E%2E%2Ffiles", "m%2F"):
        answer = httpx.get(f"{url}/v1/models/{name}", headers=bearer)
        assert "no model" in answer.json()["error"]["message"]
    assert len(model.headers) == seen, "the operator's key goes to no other address"
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="guess", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError, match="opens no seat"),
    ):
        stranger.models.list()
    seat.close(), made.close()


def test_what_goes_wrong_is_said_as_the_client_expects(served):
    url, server, _ = served
    made = Server(url)
    match = made.create("games/TicTacToe-v0", [OPEN, "first"], seed=1)
    seat = made.join(match)
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="guess", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError, match="opens no seat"),
    ):
        ask(stranger, "x")
    with openai.OpenAI(base_url=f"{url}/v1", api_key=seat.token, max_retries=0) as client:
        ask_model = partial(client.chat.completions.create, messages=[])
        with pytest.raises(openai.NotFoundError, match="no such model"):
            ask_model(model="none")
        with pytest.raises(openai.InternalServerError, match="cannot be read"):
            ask_model(model="broken")
        with pytest.raises(openai.BadRequestError, match="n is 1"):
            ask(client, "x", n=2)
        respond = partial(client.responses.create, input="x")
        with pytest.raises(openai.NotFoundError, match=r"/responses with status 404: .*Not Found"):
            respond(model="none")
        with pytest.raises(openai.InternalServerError, match="cannot be read"):
            respond(model="broken")
        for kept in ({"previous_response_id": "resp_1"}, {"background": True}):
            with pytest.raises(openai.BadRequestError, match="send the whole conversation"):
                respond(model="m", **kept)
        with pytest.raises(openai.APIStatusError, match="at most 1000000 bytes"):
            ask(client, "x" * 1_100_000)
        seat.resign()
        with pytest.raises(openai.PermissionDeniedError, match="is over"):
            ask(client, "x")
    foreign = {"Origin": "http://evil.example", "Authorization": f"Bearer {seat.token}"}
    assert httpx.post(f"{url}/v1/chat/completions", json={}, headers=foreign).status_code == 403
    seat.close(), made.close()


def test_a_model_server_that_is_away_is_named_in_the_log_only(tmp_path, caplog):
    away = partial(CaptureDialect, upstream="http://127.0.0.1:9/v1")
    with serving(tmp_path, dialects=[away]) as (url, _):
        made = Server(url)
        seat = made.join(made.create("games/TicTacToe-v0", [OPEN, "first"]))
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key=seat.token, max_retries=0) as client,
            pytest.raises(openai.InternalServerError, match="cannot be reached"),
        ):
            ask(client, "x")
        seat.close(), made.close()
    assert "model server cannot be reached" in caplog.text


def test_a_seat_reads_its_own_facts_and_no_others():
    agents = ["cfr:iterations=5", "cfr:iterations=5"]
    (record,) = palestra.play("games/KuhnPoker-v0", agents=agents, seed=3)
    (alone,) = palestra.play("grid/Fetch-v0", agents="scripted")
    assert alone.facts["type"] == 0  # the mug that is meant
    for seat in (0, 1):
        for turn in for_seat(record, seat).turns:
            assert bool(turn.facts) == (turn.seat == seat)
    shown = for_seat(alone, 0)
    assert not shown.facts
    assert not any(step.facts for step in shown.steps)


def test_an_error_of_the_model_server_that_is_no_text_is_told() -> None:
    refused = _failed("/v1/responses", 500, b'{"error": {"message": "\xff\xfe", "type": "x"}}')
    assert refused.status_code == 500
    assert "the model server answered /v1/responses" in bytes(refused.body).decode()


def test_requests_made_at_once_keep_no_more_than_those_made_in_turn(served):
    """They have all passed the first check when their replies come."""
    url, server, _ = served
    made = Server(url)
    match = made.create("games/TicTacToe-v0", [OPEN, OPEN], seed=2)
    seats = [made.join(match, seat) for seat in (0, 1)]
    keys = [server.seat(seat.token) for seat in seats]
    exchange = Exchange({"messages": "x" * 5_000_000}, {"content": "5"})
    fit = MOST_BYTES // exchange.bytes + 1
    for key in keys:
        for _ in range(fit):
            server.capture(key, exchange)
        with pytest.raises(RequestRefused, match="answer first"):
            server.capture(key, exchange)
    bearer = {"Authorization": f"Bearer {seats[0].token}"}
    moved = httpx.post(f"{url}/seat/move", json={"text": "5"}, headers=bearer, timeout=60)
    assert moved.status_code == 200
    server.capture(keys[0], exchange)
    with pytest.raises(RequestRefused, match="answer first"):
        server.capture(keys[1], exchange)
    made.close(), seats[0].close(), seats[1].close()
