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
from palestra_server.capture import for_seat
from palestra_server.client import Server
from palestra_server.dialects.openai import CaptureDialect
from palestra_server.messages import OPEN
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
