"""The OpenEnv dialect, held against its messages here and against its own client elsewhere."""

import json
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import httpx
import pytest
from clients import python_of, run
from in_process import last_legal, play_in_process, same, unseen
from pages import snippet
from palestra.records.record import replay
from palestra_server import episodes
from palestra_server.app import create_app
from palestra_server.client import Server
from palestra_server.dialects.openenv import OpenEnvDialect
from palestra_server.match import Match
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore
from recorded import Recorder, play_again, taped
from serving import record_of, running, serving
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

CLIENT = Path(__file__).parent / "openenv_client.py"
TICTACTOE = "/openenv/games/TicTacToe-v0"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("openenv"), dialects=[OpenEnvDialect]) as running:
        yield running


def socket_to(url, path=TICTACTOE, **settings):
    address = f"{url.replace('http', 'ws')}{path}/ws"
    return connect(address, open_timeout=60, ping_interval=None, **settings)


def say(socket, kind, **data):
    socket.send(json.dumps({"type": kind, **({"data": data} if data else {})}))
    answer = json.loads(socket.recv(60))
    return answer["type"], answer["data"]


def test_the_session_of_its_client_is_answered_as_it_was(served):
    assert play_again("openenv", served[0]) == taped("openenv")


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("games/ConnectFour-v0", {"seed": 712345678, "seat": 1}),
        ("games/KuhnPoker-v0", {"seed": 712345679, "seat": 0}),
        ("games/Werewolf-v0", {"seed": 712345682, "seat": 5, "options": {"num_players": 7}}),
        ("grid/Kitchen-v0", {"seed": 712345681, "seat": 0, "max_episode_steps": 12}),
    ],
)
def test_a_whole_match_is_the_same_match_in_process(served, env, settings):
    url, server = served
    seat = settings["seat"]
    with socket_to(url, f"/openenv/{env}") as socket:
        _, told = say(socket, "reset", **settings)
        rewards, answers = [told["reward"] or 0.0], [told]
        while not told["done"]:
            _, told = say(socket, "step", text=last_legal(told["observation"]))
            rewards.append(told["reward"])
            answers.append(told)
    record = record_of(server, told["metadata"]["match"])
    same(record, play_in_process(env, record, **settings))
    assert str(record.seed) not in json.dumps(answers)
    assert not [text for text in unseen(record, seat) if text in json.dumps(answers)]
    assert sum(rewards) == pytest.approx(record.returns[seat])
    assert told["metadata"]["result"] == record.outcome.results[seat]
    assert told["metadata"]["truncated"] == ("max_episode_steps" in settings)


def test_a_match_that_ends_before_the_first_turn_is_over_at_once(served):
    url, server = served
    early = {"seed": 3, "seat": 3, "options": {"num_players": 4}}  # called before its turn
    with socket_to(url, "/openenv/games/LiarsDice-v0") as socket:
        _, told = say(socket, "reset", **early)
        record = record_of(server, told["metadata"]["match"])
        assert 3 not in {turn.seat for turn in record.turns}
        assert (told["done"], told["reward"]) == (True, record.returns[3])
        assert told["reward"] != 0
        assert "call reset" in say(socket, "step", text="1")[1]["message"]


def test_a_session_by_http_is_the_one_by_socket(served):
    url, _ = served
    game = {"seed": 3, "opponents": "first", "episode_id": "e1"}
    with socket_to(url) as socket, httpx.Client(base_url=f"{url}{TICTACTOE}", timeout=60) as http:
        assert http.post("/step", json={"action": {"text": "1"}}).status_code == 401
        _, told = say(socket, "reset", **game)
        answer = http.post("/reset", json=game)
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert "SameSite=strict" in answer.headers["set-cookie"]
        while not told["done"]:
            answered = answer.json()
            assert without_match(answered) == without_match(told)
            move = told["observation"]["legal_texts"][-1]
            _, told = say(socket, "step", text=move)
            step = {"action": {"text": move}, "request_id": move}
            answer = http.post("/step", json=step)
            assert http.post("/step", json=step).json() == answer.json()
        assert answer.json()["reward"] == told["reward"] == 1.0
        (_, one), two = say(socket, "state"), http.get("/state").json()
        assert one.pop("match") != two.pop("match")
        assert one == two
        again = http.post("/step", json={"action": {"text": "1"}})
        assert (again.status_code, "call reset" in again.text) == (400, True)


def without_match(answer):
    answer = json.loads(json.dumps(answer))
    del answer["metadata"]["match"], answer["observation"]["metadata"]["match"]
    return answer


def test_a_client_that_goes_frees_its_seat_and_the_memory(served):
    url, server = served
    with socket_to(url) as socket:
        _, told = say(socket, "reset", seed=1)
        first = told["metadata"]["match"]
        assert not server.match(first).over
        _, told = say(socket, "reset", seed=1)
        second = told["metadata"]["match"]
        assert first not in server._memory
        assert record_of(server, first).outcome.results[0] == "forfeit"
        socket.socket.close()  # without a word
    assert record_of(server, second).outcome.results[0] == "forfeit"
    until = time.monotonic() + 30  # its seats go after its record is kept
    while [key for key in server._seats._kept.values() if key.match in (first, second)]:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_client_that_goes_while_others_think_frees_its_seat_at_once(served):
    url, server = served
    made = Server(url)
    match = made.create("games/TicTacToe-v0")
    mine, other = made.join(match, 0), made.join(match, 1)
    with socket_to(url) as socket:
        say(socket, "reset", token=mine.token)
        socket.send('{"type": "step", "data": {"text": "5"}}')
        assert other.turn(30).your_turn
        open_sockets = server.metrics.sockets
        socket.socket.close()
    until = time.monotonic() + 30
    while server.metrics.sockets == open_sockets and time.monotonic() < until:
        time.sleep(0.01)
    assert server.metrics.sockets == open_sockets - 1
    assert not server.match(match).over  # the seat is whose token it is
    mine.close(), other.close(), made.close()


def test_a_client_that_goes_while_its_match_is_made_leaves_none(tmp_path, monkeypatch):
    def slow(*given):
        time.sleep(0.3)
        return Match(*given)

    monkeypatch.setattr("palestra_server.server.Match", slow)
    with serving(tmp_path, dialects=[OpenEnvDialect]) as (url, server):
        with socket_to(url) as socket:
            socket.send('{"type": "reset"}')
            until = time.monotonic() + 0.1
            while time.monotonic() < until:
                time.sleep(0.01)
        while server.metrics.matches == 0 or server._memory:
            assert time.monotonic() < until + 30
            time.sleep(0.01)
        assert server.store.unfinished() == []


def test_a_client_that_does_not_wait_for_its_answers_is_put_out(served):
    url, server = served
    made = Server(url)
    match = made.create("games/TicTacToe-v0")
    mine, other = made.join(match, 0), made.join(match, 1)
    with socket_to(url) as socket:
        say(socket, "reset", token=mine.token)
        socket.send('{"type": "step", "data": {"text": "5"}}')
        with suppress(ConnectionClosed):
            for _ in range(100):
                socket.send('{"type": "state"}')
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(30)
    assert closed.value.rcvd.code == 1008
    assert not server.match(match).over
    mine.close(), other.close(), made.close()


def test_a_seat_of_a_match_with_others_is_played_by_its_token(served):
    url, server = served
    made = Server(url)
    match = made.create("games/KuhnPoker-v0", seed=4)
    mine, other = made.join(match, 0, name="ada"), made.join(match, 1, name="bob")
    with socket_to(url) as socket:
        _, told = say(socket, "reset", token=mine.token)
        assert told["metadata"] == {"match": match, "seat": 0, "turn": 0}
        assert other.view.position not in told["observation"]["text"]
        _, state = say(socket, "state")
        assert (state["match"], state["status"]) == (match, "playing")
    with socket_to(url) as socket:  # the seat outlives the connection
        _, told = say(socket, "reset", token=mine.token)
        while not told["done"]:
            socket.send('{"type": "step", "data": {"text": "bet"}}')
            if other.turn(30).your_turn:
                other.move("pass")
            told = json.loads(socket.recv(60))["data"]
    record = server.match(match).record()
    assert record.agents == ("remote:ada", "remote:bob")
    assert told["reward"] == record.returns[0]
    mine.close(), other.close(), made.close()


def test_a_session_without_a_connection_is_given_up_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(episodes, "IDLE_SECONDS", 0.3)
    with serving(tmp_path, dialects=[OpenEnvDialect]) as (url, server):
        answer = httpx.post(f"{url}{TICTACTOE}/reset", json={"seed": 1}, timeout=60)
        record = record_of(server, answer.json()["metadata"]["match"])
    assert record.outcome.results[0] == "forfeit"


def test_a_session_that_cannot_be_left_keeps_no_other_from_it(tmp_path, monkeypatch):
    monkeypatch.setattr(episodes, "IDLE_SECONDS", 0.3)
    leave, tried = episodes.SeatEpisode.leave, []

    async def fail_once(self):
        tried.append(self)
        if len(tried) == 1:
            raise OSError("the disk is full")
        await leave(self)

    monkeypatch.setattr(episodes.SeatEpisode, "leave", fail_once)
    with serving(tmp_path, dialects=[OpenEnvDialect]) as (url, server):
        httpx.post(f"{url}{TICTACTOE}/reset", json={"seed": 1}, timeout=60)
        while not tried:
            time.sleep(0.01)
        answer = httpx.post(f"{url}{TICTACTOE}/reset", json={"seed": 1}, timeout=60)
        record = record_of(server, answer.json()["metadata"]["match"])
    assert record.outcome.results[0] == "forfeit"


def test_a_session_by_http_outlives_the_server(tmp_path):
    with httpx.Client(timeout=60) as http:
        with serving(tmp_path, dialects=[OpenEnvDialect]) as (url, _):
            told = http.post(f"{url}{TICTACTOE}/reset", json={"seed": 1, "opponents": "first"})
            http.post(f"{url}{TICTACTOE}/step", json={"action": {"action": 4}})
            match = told.json()["metadata"]["match"]
        with serving(tmp_path, dialects=[OpenEnvDialect]) as (url, _):
            state = http.get(f"{url}{TICTACTOE}/state").json()
            assert (state["match"], state["step_count"]) == (match, 1)
            told = http.post(f"{url}{TICTACTOE}/step", json={"action": {"action": 8}}).json()
    assert told["observation"]["text"].count("plays") == 4  # all that the seat had seen, again


@pytest.mark.parametrize(
    ("frame", "code", "why"),
    [
        ("{", "INVALID_JSON", "cannot be read"),
        ("[" * 20_000, "VALIDATION_ERROR", "cannot be read"),
        ('{"type": "reset", "data": ' + '{"a": ' * 20_000, "INVALID_JSON", "cannot be read"),
        ('{"type": "state", "x": "' + "x" * 1_000_000 + '"}', "EXECUTION_ERROR", "bytes"),
        (b"\x00\xff", "INVALID_JSON", "cannot be read"),
        ('{"type": "reset", "x": 1}', "VALIDATION_ERROR", "unknown field `x`"),
        ('{"type": "dance"}', "UNKNOWN_TYPE", "not 'dance'"),
        ('{"type": "step", "data": {"text": "1"}}', "EXECUTION_ERROR", "before step"),
        ('{"type": "reset", "data": {"seed": "x"}}', "VALIDATION_ERROR", "Expected `int"),
        ('{"type": "reset", "data": {"opponents": "nobody"}}', "EXECUTION_ERROR", "nobody"),
        ('{"type": "reset", "data": {"seat": 7}}', "EXECUTION_ERROR", "seats are from 0 to 1"),
        ('{"type": "reset", "data": {"env": "games/No-v0"}}', "EXECUTION_ERROR", "unknown"),
        ('{"type": "reset", "data": {"token": "guess"}}', "EXECUTION_ERROR", "opens no seat"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_session_goes_on(served, frame, code, why):
    url, _ = served
    with socket_to(url) as socket:
        socket.send(frame)
        answer = json.loads(socket.recv(60))
        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert why in answer["data"]["message"]
        assert say(socket, "reset", seed=1)[0] == "observation"


def test_a_server_that_is_full_says_so(served, monkeypatch):
    url, server = served
    monkeypatch.setattr(server.limits, "matches", 0)
    with socket_to(url) as socket:
        assert say(socket, "reset")[1]["code"] == "CAPACITY_REACHED"


def test_who_asks_for_tools_hears_where_they_are(served):
    url, _ = served
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    with socket_to(url) as socket:
        kind, answer = say(socket, "mcp", **call)
    assert (kind, answer["id"]) == ("mcp", 7)
    assert "/mcp" in answer["error"]["message"]


def test_the_schemas_are_those_of_what_is_sent(served):
    url, _ = served
    schemas = httpx.get(f"{url}{TICTACTOE}/schema").json()
    told = httpx.post(f"{url}{TICTACTOE}/reset", json={"seed": 1}, timeout=60).json()
    assert set(told["observation"]) <= set(schemas["observation"]["properties"])
    assert set(schemas["action"]["properties"]) == {"text", "action", "metadata"}
    api = httpx.get(f"{url}{TICTACTOE}/openapi.json").json()
    wanted = api["paths"]["/reset"]["post"]["requestBody"]["content"]["application/json"]
    name = wanted["schema"]["$ref"].rpartition("/")[2]
    assert {"seed", "episode_id", "seat", "opponents"} <= set(
        api["components"]["schemas"][name]["properties"]
    )
    unknown = httpx.get(f"{url}/openenv/games/No-v0/metadata")
    assert unknown.status_code == 404


def test_pages_of_others_and_clients_without_the_token_are_refused(tmp_path):
    with serving(tmp_path, dialects=[partial(OpenEnvDialect, token="secret")]) as (url, server):
        for headers in ({}, {"Authorization": "Bearer guess"}, {"Origin": "http://evil.example"}):
            with pytest.raises((InvalidStatus, ConnectionClosed)):
                socket_to(url, additional_headers=headers).recv(60)
            answer = httpx.post(f"{url}{TICTACTOE}/reset", json={}, headers=headers)
            assert answer.status_code == 403
        right = {"Authorization": "Bearer secret"}
        with socket_to(url, additional_headers=right) as good:
            assert say(good, "reset")[0] == "observation"
        assert httpx.post(f"{url}{TICTACTOE}/reset", json={}, headers=right).status_code == 200
        assert server.metrics.matches == 2


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("client", ["openenv", "openenv_core"])
def test_its_own_client_and_validator_pass(client, tmp_path):
    python = python_of(client)
    server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/matches.db"))
    recorder = Recorder(create_app(server, dialects=[OpenEnvDialect(server)]))
    with running(recorder) as url:
        run(python, CLIENT, url, "taped")
        if client == "openenv":
            assert recorder.tape == taped("openenv")
        seen = json.loads(run(python, CLIENT, url, "all"))
        for env, plays in seen["played"].items():
            for played in plays:
                held_against_record(server, env, played)
            one, two = plays
            assert (one["texts"], one["rewards"]) == (two["texts"], two["rewards"])
        four = seen["played"]["games/ConnectFour-v0"][0]
        for name in ("texts", "rewards"):
            assert seen["http"][name] == four[name]
        assert record_of(server, seen["left"]).outcome.results[0] == "forfeit"
        assert len({*seen["matches"]}) == 5
        assert client == "openenv_core" or seen["report"]["passed"], seen["report"]
        shown = snippet("from openenv").replace("http://127.0.0.1:8000", url)
        assert run(python, "-c", f"{shown}\nprint(outcome)").strip() in ("win", "loss", "draw")


def held_against_record(server, env, played):
    end, state = played["end"], played["state"]
    record = record_of(server, end["match"])
    seat = end["seat"]
    assert record.env == env
    assert record.agents[seat] == "remote:openenv"
    assert sum(played["rewards"]) == pytest.approx(record.returns[seat])
    assert end["result"] == record.outcome.results[seat]
    assert record.mistakes[seat] == 0
    assert (state["step_count"], state["status"]) == (len(played["texts"]) - 1, "over")
    assert tuple(replay(record).returns) == record.returns
    told = "\n".join(played["texts"])
    for event in record.transcript(seat):
        assert event.text in told
