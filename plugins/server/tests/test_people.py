"""What the page asks for: spectators, tried moves, the next match, tables, forms, files."""

import json
import logging

import httpx
import msgspec
import pytest
from palestra import EpisodeRecord
from palestra.kernel.registry import registry
from palestra_server import table
from palestra_server.client import socket_url
from palestra_server.page import ASSETS
from serving import serving
from websockets.sync.client import connect

SHOW = ["legal_texts", "picture", "table", "forms"]


class Socket:
    """A page's socket, with one seat or one spectator's chair."""

    def __init__(self, url, **sit):
        self._opening = connect(url.replace("http", "ws") + "/ws", proxy=None, max_size=2**24)
        self._sit = sit

    def __enter__(self):
        self._socket = self._opening.__enter__()
        self.view = self.ask(show=SHOW, live=True, **self._sit)
        return self

    def __exit__(self, *raised):
        self._opening.__exit__(*raised)

    def ask(self, **message):
        self._socket.send(json.dumps({"handle": 1, **message}))
        return self.next()

    def next(self):
        return json.loads(self._socket.recv(timeout=20))

    def try_text(self, text):
        return self.ask(do="try", move={"text": text})


def open_match(url, env, **plan):
    made = httpx.post(f"{url}/matches", json={"env": env, "public": False, "seed": 1, **plan})
    assert made.status_code == 201, made.text
    return made.json()


def join(url, opened, seat=None, name=""):
    body = {"seat": seat, "name": name, "invite": opened["invite"]}
    joined = httpx.post(f"{url}/matches/{opened['match']}/join", json=body)
    assert joined.status_code == 201, joined.text
    return joined.json()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_a_spectator_sees_and_does_nothing_more(server):
    url, running = server
    opened = open_match(url, "games/TicTacToe-v0", seats=["human", "first"])
    seat = join(url, opened, name="Ada")
    watch = {"do": "watch", "match": opened["match"]}
    with Socket(url, **watch) as nobody, Socket(url, token="x", **watch) as wrong:
        assert "by invitation" in nobody.view["error"]
        assert "by invitation" in wrong.view["error"]
    refused = httpx.post(f"{url}/matches/{opened['match']}/join", json={"invite": opened["watch"]})
    assert refused.status_code == 403
    with Socket(url, token=opened["watch"], **watch) as eve:
        assert [one["name"] for one in eve.view["table"]["seats"]] == ["Ada", "first"]
        assert eve.view["table"]["summary"] == registry().environments["games/TicTacToe-v0"].summary
        assert "legal_texts" not in eve.view
        for act in ({"do": "move", "move": {"text": "5"}}, {"do": "resign"}):
            assert "a spectator has no seat" in eve.ask(**act)["error"]
        assert "a spectator has no seat" in eve.try_text("5")["error"]
        assert running.match(opened["match"]).answers == [0, 0]
        httpx.post(f"{url}/seat/move", json={"text": "5"}, headers=bearer(seat["token"]))
        told = eve.next()
        assert [event["text"] for event in told["events"]] == [
            "player_0 plays 5.",
            "player_1 plays 1.",
        ]
        record = f"{url}/matches/{opened['match']}/record"
        assert httpx.get(record, headers=bearer(opened["watch"])).status_code == 400
        httpx.post(f"{url}/seat/resign", headers=bearer(seat["token"]))
    assert httpx.get(record).status_code == 403
    given = httpx.get(record, headers=bearer(opened["watch"])).content
    assert msgspec.json.decode(given, type=EpisodeRecord).outcome.results == ("forfeit", "win")


def test_a_move_that_is_tried_may_be_short_and_counts_only_if_it_is_legal(server):
    url, running = server
    opened = open_match(url, "text/Negotiation-v0", seats=["open", "open"])
    token = join(url, opened)["token"]
    join(url, opened)
    with Socket(url, do="sit", token=token) as ada:
        for wrong in ("propose 9 9 9", "dance", "  "):
            assert ada.try_text(wrong)["error"]
        view = ada.try_text("propose 1 0 0")
        assert view["turn"] == 1
    match = running.match(opened["match"])
    assert match.answers == [1, 0]
    assert not match._running.refused


@pytest.mark.parametrize("handle", [1, 2**64, -(2**63) - 1, 10**30])
@pytest.mark.parametrize("typed", ["9" * 5_000, "--5", "9" * 900_000])
def test_whatever_is_typed_and_numbered_is_answered_on_the_same_connection(server, handle, typed):
    """Handles that only JSON can write, and integers of more digits than Python reads."""
    opened = open_match(server[0], "text/Commons-v0")
    token = join(server[0], opened)["token"]
    for _ in opened["free"][1:]:
        join(server[0], opened)
    with connect(socket_url(server[0])) as socket:
        socket.send(json.dumps({"do": "sit", "token": token, "handle": handle}))
        sat = json.loads(socket.recv())
        assert sat.get("your_turn") if handle == 1 else "handle" in sat["error"]
        socket.send(json.dumps({"do": "sit", "token": token}))
        number = json.loads(socket.recv()).get("number", 0)
        socket.send(msgspec.msgpack.encode({"do": "try", "move": {"text": typed}}))
        assert msgspec.msgpack.decode(socket.recv())["kind"] == "InvalidAction"
        socket.send(json.dumps({"do": "look"}))
        assert json.loads(socket.recv()).get("number", 0) == number


def test_forms_have_every_field_of_every_action(server):
    url, _ = server
    opened = open_match(url, "text/Negotiation-v0", seats=["open", "random"])
    with Socket(url, do="sit", token=join(url, opened)["token"]) as ada:
        forms = {form["name"]: form["fields"] for form in ada.view["forms"]}
    assert set(forms) == {"Say", "Propose", "Walk"}
    assert forms["Walk"] == []
    assert [field["kind"] for field in forms["Say"]] == ["text"]
    assert [(field["name"], field["low"]) for field in forms["Propose"]] == [
        ("books", 0),
        ("hats", 0),
        ("balls", 0),
    ]


def test_all_find_the_same_seats_in_the_next_match(server):
    url, running = server
    opened = open_match(url, "games/TicTacToe-v0", seats=["open", "open"])
    seats = [join(url, opened, seat, name) for seat, name in ((0, "Ada"), (1, ""))]
    tokens = [seat["token"] for seat in seats]

    def again(token):
        return httpx.post(f"{url}/seat/again", json={}, headers=bearer(token))

    assert again(tokens[0]).status_code == 409
    httpx.post(f"{url}/seat/resign", headers=bearer(tokens[0]))
    one, two = (again(token).json() for token in tokens)
    assert one["match"] == two["match"] != opened["match"]
    assert (one["seat"], two["seat"]) == (0, 1)
    assert one["invite"]
    assert "invite" not in two
    match = running.match(one["match"])
    assert match.started
    assert match.plan.seed != running.match(opened["match"]).plan.seed
    assert [match.called(seat) for seat in (0, 1)] == ["Ada", "1"]


def test_where_opening_takes_a_token_the_next_match_does_too(tmp_path):
    with serving(tmp_path, token="secret") as (url, _):
        plan = {"env": "games/TicTacToe-v0", "seats": ["open", "first"]}
        assert httpx.post(f"{url}/matches", json=plan).status_code == 401
        opened = httpx.post(f"{url}/matches", json=plan, headers=bearer("secret")).json()
        token = join(url, opened)["token"]
        httpx.post(f"{url}/seat/resign", headers=bearer(token))
        for body, status in (({}, 403), ({"token": "no"}, 403), ({"token": "secret"}, 201)):
            answer = httpx.post(f"{url}/seat/again", json=body, headers=bearer(token))
            assert answer.status_code == status


LONG, SHORT = "Anna Amalia of Saxe-Weimar-Eisenach", "Anna Amalia of Saxe-Wei…"
CALLED = [  # what people call themselves, and what pages call them
    (["Ada", "Bob", ""], ["Ada", "Bob", ""]),
    (["Ada", "ada", "Eve"], ["Ada 0", "ada 1", "Eve"]),
    (["Ada", "Ada", "ada 1"], ["Ada 0", "", ""]),
    (["player_1", "Player_0 plays 5.", " "], ["", "", ""]),
    ([LONG, f"{LONG}!", "random"], [f"{SHORT} 0", f"{SHORT} 1", "random 2"]),
    (["<b>\n", "2", "\u202eEve"], [r"\u{3c}b>\n", "2", r"\u{202e}Eve"]),
]  # fmt: skip


@pytest.mark.parametrize(("names", "called"), CALLED)
def test_everybody_calls_people_by_the_same_names_that_cannot_be_mistaken(server, names, called):
    url, _ = server
    opened = open_match(url, "games/Holdem-v0", seats=["open", "open", "open", "random"])
    tokens = [join(url, opened, seat, name)["token"] for seat, name in enumerate(names)]
    agent = "random 3" if "random" in names else "random"
    for sit in (
        *({"do": "sit", "token": token} for token in tokens),
        {"do": "watch", "match": opened["match"], "token": opened["watch"]},
    ):
        with Socket(url, **sit) as viewer:
            seats = viewer.view["table"]["seats"]
            assert [seat.get("called", "") for seat in seats] == [*called, agent]
            words = [mark[3] for mark in viewer.view["picture"]["table"] if mark[0] == "w"]
            for player, name in enumerate(called):
                assert (f"player_{player}" in words) == (not name)


def test_whose_turn_it_is_stays_secret_where_it_could_betray_a_role(server):
    url, running = server
    opened = open_match(url, "games/Werewolf-v0", seats=["open", *["random"] * 6])
    with Socket(url, do="sit", token=join(url, opened)["token"]) as ada:
        seats = ada.view["table"]["seats"]
    assert "acting" in seats[0]
    assert not [one for one in seats[1:] if "acting" in one or "returns" in one]


def test_the_page_is_files_of_ours_under_a_strict_policy(server):
    url, _ = server
    page = httpx.get(url)
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "style=" not in page.text
    assert "<script>" not in page.text
    for name in (*ASSETS, "marks.js", "theme.css", "choices.json"):
        got = httpx.get(f"{url}/page/{name}")
        assert got.status_code == 200, name
        assert got.headers["x-content-type-options"] == "nosniff"
    assert "function drawMarks" in httpx.get(f"{url}/page/marks.js").text
    assert httpx.get(f"{url}/page/..%2fserver.py").status_code == 404
    foreign = {"Origin": "http://evil.example"}
    assert httpx.get(f"{url}/page/choices.json", headers=foreign).status_code == 403


def test_without_a_renderer_a_page_has_words(server, monkeypatch):
    url, _ = server
    monkeypatch.setattr(table, "drawing", lambda spec: None)
    opened = open_match(url, "games/TicTacToe-v0", seats=["open", "first"])
    with Socket(url, do="sit", token=join(url, opened)["token"]) as ada:
        assert "picture" not in ada.view
        assert ada.view["position"]
        assert "error" in ada.try_text("nowhere")
        assert ada.try_text("5")["turn"] == 2


def test_no_token_is_logged(server, caplog):
    url, _ = server
    with caplog.at_level(logging.DEBUG):
        opened = open_match(url, "games/TicTacToe-v0", seats=["open", "first"])
        token = join(url, opened, name="Ada")["token"]
        with Socket(url, do="sit", token=token) as ada:
            ada.try_text("5")
        with Socket(url, do="watch", match=opened["match"], token=opened["watch"]):
            httpx.post(f"{url}/seat/resign", headers=bearer(token))
    ours = [r.getMessage() for r in caplog.records if r.name.startswith(("palestra", "uvicorn"))]
    assert any(opened["match"] in line for line in ours)
    for secret in (token, opened["invite"], opened["watch"]):
        assert not [line for line in ours if secret in line]


def test_a_replay_page_can_be_saved(server):
    url, _ = server
    opened = open_match(url, "games/TicTacToe-v0", seats=["open", "first"])
    token = join(url, opened, name="Ada")["token"]
    httpx.post(f"{url}/seat/resign", headers=bearer(token))
    page = httpx.get(f"{url}/seat/record?form=html", headers=bearer(token))
    assert page.headers["content-type"].startswith("text/html")
    assert "remote:Ada" in page.text
