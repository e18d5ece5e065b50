"""The server as clients meet it: real sockets on loopback."""

import http.client
from contextlib import closing

import gymnasium
import httpx
import msgspec
import numpy as np
import palestra
import pytest
from gymnasium.utils.env_checker import check_env
from palestra import EpisodeRecord, Rng
from palestra.kernel.episode import Episode
from palestra.records.record import record_episode
from palestra_server.client import RemoteEnv, Server, ServerRefused, socket_url
from palestra_server.messages import OPEN
from websockets.sync.client import connect

FEW = ["games/TicTacToe-v0", "grid/Kitchen-v0", "games/Werewolf-v0", "text/Taboo-v0"]
FEW = [env for env in FEW if any(spec.id == env for spec in palestra.specs())]
EVERY = [
    pytest.param(spec.id, marks=() if spec.id in FEW else pytest.mark.slow)
    for spec in palestra.specs()
]


def play_all_seats(url, env, seed, options=None, steps=30):
    """Play a match by socket from all seats at random; returns what each seat saw of it."""
    server = Server(url)
    match = server.create(env, seed=seed, options=options or {}, max_episode_steps=steps)
    local = Episode(palestra.game(env, **(options or {})), seed)
    seats = [server.join(match, seat) for seat in range(local.game.num_players)]
    rng, views = Rng.seeded(5), [[seat.view] for seat in seats]
    while not local.over and local.steps_played < steps:
        moves = {seat: local.sample(seat, rng) for seat in local.to_act}
        for seat, action in moves.items():
            connection, text = seats[seat], local.action_text(seat, action)
            view = connection.turn(20)
            if view is not views[seat][-1]:
                views[seat].append(view)
            assert view.your_turn
            assert view.turn == local.steps_played
            assert view.legal == local.legal_text(seat)
            assert view.position == local.describe(seat)
            connection.answer(text)
        local.act(moves)
    if not local.over:
        local.truncate(f"{steps} steps played")
    for seat, connection in enumerate(seats):
        views[seat].append(connection.turn(20))
    record = server.record(seats[0].token)
    for connection in seats:
        connection.close()
    server.close()
    return local, views, record


@pytest.mark.parametrize("env", EVERY)
def test_a_match_by_socket_is_the_match_in_process(server, env):
    url, _ = server
    local, views, record = play_all_seats(url, env, seed=11)
    alone = record_episode(local)
    told = msgspec.convert(record, EpisodeRecord, strict=False)
    for step, ours in zip(told.steps, alone.steps, strict=True):
        assert (step.rewards, step.events) == (ours.rewards, ours.events)
        assert [(t.seat, t.action) for t in step.turns] == [(t.seat, t.action) for t in ours.turns]
    assert (told.opening, told.outcome) == (alone.opening, alone.outcome)
    for seat, seen in enumerate(views):
        told = [event.text for view in seen if view.life == seen[-1].life for event in view.events]
        assert told == [event.text for event in local.transcript(seat)]
        last = seen[-1]
        assert last.returns == local.returns[seat]
        assert last.result == local.outcome.results[seat]
    assert tuple(record["returns"]) == tuple(local.returns)
    assert record["seed"] == 11


def test_a_remote_environment_is_a_gymnasium_environment(server):
    url, _ = server
    env = RemoteEnv(url, env="games/TicTacToe-v0", opponents="first")
    here = gymnasium.make("palestra:games/TicTacToe-v0", opponents="first")
    assert env.observation_space == here.observation_space
    assert env.action_space == here.action_space
    check_env(env, skip_render_check=True)
    for seed in range(5):
        ours, info = env.reset(seed=seed)
        theirs, told = here.reset(seed=seed)
        over = False
        while not over:
            assert np.array_equal(ours, theirs)
            assert np.array_equal(info["action_mask"], told["action_mask"])
            action = int(np.flatnonzero(info["action_mask"])[-1])
            ours, reward, ended, cut, info = env.step(action)
            theirs, paid, done, stopped, told = here.step(action)
            assert (reward, ended, cut) == (paid, done, stopped)
            over = ended or cut
    env.close()


def test_a_join_that_is_repeated_takes_no_second_seat(server):
    url, _ = server
    client = Server(url)
    match, _ = client.create_private("games/KuhnPoker-v0")
    join = f"{url}/matches/{match}/join"
    wanted = {"name": "ada", "key": "a secret of this client"}
    first = httpx.post(join, json=wanted).json()
    assert httpx.post(join, json=wanted).json() == first
    assert httpx.post(join, json=wanted | {"seat": first["seat"]}).json() == first
    other = httpx.post(join, json=wanted | {"seat": 1 - first["seat"]})
    assert other.status_code == 400
    assert "this key has taken seat 0; draw another key for seat 1" in other.json()["error"]
    second = httpx.post(join, json=wanted | {"key": "another secret of its own"}).json()
    assert second["seat"] != first["seat"]
    assert second["token"] != first["token"]
    assert httpx.post(join, json=wanted).json() == first  # though no seat is free
    short = httpx.post(join, json=wanted | {"key": "short"})
    assert "key is a secret of 16 to 200 characters, not of 5" in short.json()["error"]
    elsewhere = client.create("games/KuhnPoker-v0")
    client.close()
    there = httpx.post(f"{url}/matches/{elsewhere}/join", json=wanted).json()
    assert there["token"] != first["token"]


def test_a_client_whose_join_lost_its_answer_has_its_seat(server, monkeypatch):
    url, _ = server
    client = Server(url)
    match = client.create("games/KuhnPoker-v0")
    request, lost = httpx.Client.request, []

    def losing(self, *arguments, **more):
        answer = request(self, *arguments, **more)
        if not lost:
            lost.append(answer.json())
            raise httpx.ReadError("the connection was lost")
        return answer

    monkeypatch.setattr(httpx.Client, "request", losing)
    assert client.take_seat(match, 1) == lost[0]["token"]
    client.close()


def test_a_match_that_is_not_there_names_no_other(server):
    url, _ = server
    client = Server(url)
    secret, _ = client.create_private("games/KuhnPoker-v0", public=False)
    client.close()
    asked = httpx.post(f"{url}/matches/nothing/join", json={})
    assert asked.status_code == 404
    assert asked.json()["error"] == "this server has no match 'nothing'"
    assert secret not in asked.text


def test_no_player_finds_a_seed_that_was_drawn_by_dealing_again(server):
    url, running = server
    client, names = Server(url), []
    for _ in range(10):
        names.append(client.create("games/LeducHoldem-v0", ["open", "first"], max_episode_steps=1))
        token = client.join(names[-1]).token
        header = {"Authorization": f"Bearer {token}"}
        httpx.post(f"{url}/seat/resign", headers=header).raise_for_status()
        names.append(httpx.post(f"{url}/seat/again", json={}, headers=header).json()["match"])
    client.close()
    seeds = {running.match(name).plan.seed for name in names}
    assert len(seeds) == len(names)
    # a core deals this game 650,000 times a second: half of these take longer than two months
    assert sorted(seeds)[len(seeds) // 2] > 2**42
    assert all(int(float(seed)) == seed for seed in seeds)  # as JavaScript reads a record


def test_players_are_told_that_who_opened_a_match_named_its_seed(server):
    url, running = server
    client = Server(url)
    named = client.create("games/KuhnPoker-v0", seed=5)
    drawn = client.create("games/KuhnPoker-v0")
    seats = [client.join(named, seat) for seat in (0, 1)]
    listed = {one["match"]: one for one in httpx.get(f"{url}/matches").json()["matches"]}
    assert listed[named]["seeded"]
    assert not listed[drawn]["seeded"]
    assert seats[1].look(show=("table",)).table.seeded
    header = {"Authorization": f"Bearer {seats[0].token}"}
    httpx.post(f"{url}/seat/resign", headers=header).raise_for_status()
    again = httpx.post(f"{url}/seat/again", json={}, headers=header).json()["match"]
    assert not running.match(again).plan.seeded
    client.close()


def test_a_token_opens_one_seat_and_nothing_else(server):
    url, running = server
    client = Server(url)
    match, invite = client.create_private("games/KuhnPoker-v0", public=False)
    with pytest.raises(ServerRefused, match="by invitation"):
        client.join(match)
    one = client.join(match, 1, invite=invite)
    with pytest.raises(ServerRefused, match=r"seat 1 of match \w+ is not free"):
        client.join(match, 1, invite=invite)
    zero = client.join(match, invite=invite)
    assert zero.view.seat == 0
    own = {zero.view.position, one.view.position}
    assert len(own) == 2
    answer = httpx.get(f"{url}/seat", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401
    assert httpx.get(f"{url}/seat").status_code == 401
    with pytest.raises(ServerRefused, match="still played"):
        client.record(one.token)
    assert one.token not in str(running.listed())
    zero.close(), one.close(), client.close()


def test_strange_hosts_pages_and_bodies_are_refused(server):
    url, _ = server
    make = {"env": "games/TicTacToe-v0"}
    assert httpx.post(f"{url}/matches", json=make, headers={"Host": "evil.example"}).is_error
    foreign = httpx.post(f"{url}/matches", json=make, headers={"Origin": "http://evil.example"})
    assert foreign.status_code == 403
    assert httpx.post(f"{url}/matches", data=make).status_code == 415
    headers = {"Content-Type": "application/json"}
    for body in (
        b"{",
        b"[" * 20_000,
        b'{"env": 5}',
        b'{"env": "games/Chess-v0", "x": 1}',
        b"\xff",
    ):
        answer = httpx.post(f"{url}/matches", content=body, headers=headers)
        assert answer.status_code == 400, body[:20]
    huge = httpx.post(f"{url}/matches", content=b" " * 2_000_000, headers=headers)
    assert huge.status_code == 413
    unknown = httpx.post(f"{url}/matches", json={"env": "games/Nothing-v0"})
    assert unknown.status_code == 404
    assert "script-src 'self'" in unknown.headers["content-security-policy"]


@pytest.mark.parametrize("header", ["Host", "Origin"])
@pytest.mark.parametrize("address", ["[", "[::1", "[x]", "http://["])
def test_an_address_that_cannot_be_read_is_refused_and_breaks_nothing(
    server, caplog, header, address
):
    url, _ = server
    said = httpx.get(f"{url}/matches", headers={header: address})
    assert said.status_code == 403
    assert not caplog.records


def answer_to(url: str, headers: list[tuple[str, str]]) -> int:
    """The status of a request with exactly these headers."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    with closing(connection):
        connection.putrequest("GET", "/matches", skip_host=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status


@pytest.mark.parametrize("header", ["Host", "Origin", "Authorization"])
def test_a_header_that_is_given_twice_is_refused(server, header):
    """What is in front of the server may have read the other one."""
    url, _ = server
    host = url.removeprefix("http://")
    usual = {"Host": host, "Origin": url, "Authorization": "Bearer one"}
    assert answer_to(url, list(usual.items())) == 200
    for other in ("http://elsewhere.example", usual[header]):
        assert answer_to(url, [*usual.items(), (header, other)]) == 403
        assert answer_to(url, [(header, other), *usual.items()]) == 403


def test_a_key_that_is_given_twice_is_refused(server):
    url, _ = server
    head = {"Content-Type": "application/json"}
    two_envs = '{"env": "games/Chess-v0", "env": "games/TicTacToe-v0"}'
    said = httpx.post(f"{url}/matches", content=two_envs, headers=head)
    assert said.status_code == 400
    assert "the key 'env' is given twice; give it once" in said.json()["error"]
    two_sizes = '{"env": "games/Hex-v0", "options": {"size": 3, "size": 4}}'
    assert httpx.post(f"{url}/matches", content=two_sizes, headers=head).status_code == 400
    client = Server(url)
    match = client.create("games/TicTacToe-v0", invalid="retry:1")
    seats = [client.join(match, seat) for seat in (0, 1)]
    head["Authorization"] = f"Bearer {seats[0].token}"
    moves = '{"action": 0, "action": 4}'
    assert httpx.post(f"{url}/seat/move", content=moves, headers=head).status_code == 400
    with connect(socket_url(url)) as socket:
        socket.send(f'{{"do": "sit", "do": "watch", "token": "{seats[0].token}"}}')
        assert "the key 'do' is given twice" in str(socket.recv())
        socket.send(b"\x82\xa2do\xa4look\xa2do\xa3sit")
        assert b"the key 'do' is given twice" in socket.recv()
    view = seats[0].turn()
    assert view.your_turn
    assert view.number == 0
    client.close(), seats[0].close(), seats[1].close()


MANY_DIGITS = "9" * 4300  # the most that Python reads; a sum of two has more


@pytest.mark.parametrize(
    "plan",
    [
        {"max_episode_steps": 0},
        {"max_episode_steps": -3},
        {"max_episode_steps": int(MANY_DIGITS)},
        {"invalid": f"retry:{MANY_DIGITS}9"},
        {"invalid": "retry:\u0663"},
        {"invalid": "retry:11"},
        {"max_episode_steps": 100_001},
    ],
)
def test_a_match_without_a_sensible_bound_is_refused(server, plan):
    url, _ = server
    said = httpx.post(f"{url}/matches", json={"env": "games/TicTacToe-v0"} | plan)
    assert said.status_code == 400
    assert said.json()["error"].partition(" ")[0] in ("max_episode_steps", "unknown", "invalid")
    assert len(said.json()["error"]) < 300


@pytest.mark.parametrize(
    "amount", [f'"tokens_in": {MANY_DIGITS}', '"cost": 1.7e308', '"tokens_out": -1']
)
def test_what_a_seat_says_that_it_used_spoils_no_record(server, amount):
    """It is refused, and the seat loses as it would have: the pages of its match can be made."""
    url, _ = server
    client = Server(url)
    match = client.create("games/TicTacToe-v0", invalid="retry:1")
    seats = [client.join(match, seat) for seat in (0, 1)]
    head = {"Content-Type": "application/json", "Authorization": f"Bearer {seats[0].token}"}
    body = f'{{"text": "1", "usage": {{{amount}}}}}'
    said = httpx.post(f"{url}/seat/move", content=body, headers=head)
    assert said.status_code == 400
    assert "`$.usage." in said.json()["error"]
    for number, text in enumerate(("1", "4", "2", "5", "9", "6")):
        seats[number % 2].turn(20)
        seats[number % 2].answer(text)
    assert [seat.turn(20).result for seat in seats] == ["loss", "win"]
    page = httpx.get(f"{url}/seat/record?form=html", headers=head)
    assert page.status_code == 200
    assert MANY_DIGITS not in str(client.record(seats[1].token))
    client.close(), seats[0].close(), seats[1].close()


def test_a_seat_is_not_handed_over_to_the_key_of_another(server):
    url, _ = server
    client = Server(url)
    match = client.create("games/TicTacToe-v0")
    keys = ["a secret of ada's own", "a secret of bob's own"]
    ada, bob = (
        httpx.post(f"{url}/matches/{match}/join", json={"seat": seat, "key": key}).json()["token"]
        for seat, key in enumerate(keys)
    )
    head = {"Authorization": f"Bearer {bob}"}
    said = httpx.post(f"{url}/seat/hand-over", json={"key": keys[0]}, headers=head)
    assert said.status_code == 400
    assert said.json()["error"] == "this key has taken seat 0; draw another key for seat 1"
    for seat, token in enumerate((ada, bob)):
        head = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{url}/seat", headers=head).json()["seat"] == seat
    client.close()


def test_a_seat_that_breaks_off_finds_everything_again(server):
    url, _ = server
    client = Server(url)
    match = client.create("games/TicTacToe-v0", [OPEN, "first"])
    seat = client.join(match)
    seat.move(4)
    token = seat.token
    seat.close()
    again = client.sit(token)
    assert again.view.your_turn
    assert again.view.number == 1
    assert any("player_0" in event.text for event in again.view.events)
    again._socket.socket.close()
    view = again.move(8)
    assert view.number == 2
    again.close(), client.close()


def test_a_straggler_does_not_wedge_a_match(server):
    url, _ = server
    client = Server(url)
    match = client.create("games/MatrixGame-v0", move_seconds=0.15, invalid="random", options={})
    here, asleep = client.join(match, 0), client.join(match, 1)
    while here.turn(10).status != "over":
        assert here.view.seconds_left <= 0.15
        here.move(0)
    record = client.record(asleep.token)
    assert record["mistakes"][1] == len(record["steps"])
    assert record["mistakes"][0] == 0
    here.close(), asleep.close(), client.close()


def test_a_thought_is_in_the_record_of_its_own_seat_only(server):
    url, _ = server
    client = Server(url)
    match = client.create("games/TicTacToe-v0", max_episode_steps=2)
    seats = [client.join(match, seat) for seat in (0, 1)]
    for seat, connection in enumerate(seats):
        connection.turn(10)
        connection.move("nowhere", thought=f"a wild thought of {seat}")
        connection.answer(seat, thought=f"a plan of {seat}")
    for seat, connection in enumerate(seats):
        connection.turn(10)
        record = str(client.record(connection.token))
        for other in (0, 1):
            assert (f"a plan of {other}" in record) == (other == seat)
            assert (f"a wild thought of {other}" in record) == (other == seat)
        connection.close()
    client.close()
