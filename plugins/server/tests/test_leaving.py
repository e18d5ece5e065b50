"""A player who leaves does not end the match of the others."""

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager

import msgspec
import palestra
import pytest
from forging import assert_forgeries_are_found
from palestra import Agent, Decision, InvalidOption
from palestra.kernel.errors import PalestraError
from palestra.kernel.registry import open_game
from palestra.records.verify import verify
from palestra_server.client import Server, ServerRefused
from palestra_server.episodes import EpisodeOptions, SeatEpisode
from palestra_server.leaving import policy_for
from palestra_server.match import Match
from palestra_server.messages import OPEN, Answer, Create, HandOver, Join, MatchPlan, Move
from palestra_server.plans import MatchDefaults, plan_for
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore
from palestra_server.table import table
from palestra_server.words import in_words

GAMES = [  # environment, seats, options
    ("games/Holdem-v0", 4, {"hands": 3}),
    ("games/Holdem-v0", 3, {}),
    ("games/Werewolf-v0", 7, {}),
    ("games/Avalon-v0", 7, {}),
    ("games/MatrixGame-v0", 2, {"rounds": 6}),  # both act at once
]
WAYS = ["resigned", "silent", "illegal"]


def opened(env, count, options=None, journal=None, **settings):
    plan = plan_for(
        Create(env, (OPEN,) * count, options=options or {}, seed=5, **settings), MatchDefaults()
    )
    match = Match("m", plan, journal)
    for seat in range(count):
        match.take(seat, f"remote:p{seat}")
    return match


def leave(match, seat, way):
    """Leave a seat in one of the three ways; the last two need its turn."""
    if way == "resigned":
        match.answer(Answer(seat, match.answers[seat], missed="resigned", resigned=True))
        return
    while match.asks(seat):
        missed = {"missed": "no answer came"} if way == "silent" else {"text": "nonsense"}
        match.answer(Answer(seat, match.answers[seat], **missed))


def play_on(match, most=3000):
    """Let everybody who is asked play a random move, to the end; who was asked."""
    asked = set()
    for _ in range(most):
        match.ask_at_once()
        if match.over:
            return asked
        seat = next(s for s in match.due() if match.asks(s))
        asked.add(seat)
        action = match.episode.sample(seat, match.episode.repair_rng(seat))
        text = match.episode.action_text(seat, action)
        match.answer(Answer(seat, match.answers[seat], text=text))
    raise AssertionError("the match does not end")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("env", "count", "options"), GAMES)
def test_the_others_play_to_the_end_with_a_substitute(env, count, options, way):
    match = opened(env, count, options)
    seat = match.due()[-1]
    leave(match, seat, way)
    assert not match.over
    assert match.leaving.away[seat].substitute == "absent"
    asked = play_on(match)
    assert seat not in asked
    record = match.record()
    verify(record)
    (left,) = record.tags["left"]
    assert (left["seat"], left["why"], left["step"]) == (seat, way, 0)
    assert (left["name"], left["result"]) == (f"remote:p{seat}", "forfeit")
    assert record.agents[seat] == "absent"
    assert record.outcome.results[seat] != "forfeit"
    turns = [turn for turn in record.turns if turn.seat == seat]
    assert all(turn.facts == {"substitute": "absent"} for turn in turns)


@pytest.mark.parametrize("way", WAYS)
def test_a_forged_record_of_a_match_that_somebody_left_is_found_out(way):
    match = opened("games/Holdem-v0", 3)
    leave(match, match.due()[-1], way)
    play_on(match)
    assert_forgeries_are_found(match.record())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("env", "count", "options"), GAMES)
def test_who_leaves_gets_no_more_than_a_forfeit_would_pay(env, count, options, way):
    match = opened(env, count, options)
    seat = match.due()[0]
    most = match.game.forfeit(seat)[seat]
    leave(match, seat, way)
    assert match.view(seat).returns <= most
    play_on(match)
    view = match.view(seat)
    assert (view.result, view.away) == ("forfeit", way)
    assert view.score <= most
    assert view.returns <= most


def test_rivals_are_not_paid_for_a_resignation_in_poker():
    match = opened("games/Holdem-v0", 4)
    leave(match, match.due()[0], "resigned")
    assert not any(match.episode.returns)
    match.ask_at_once()
    play_on(match)
    assert sum(match.record().returns) == pytest.approx(0.0)
    with pytest.raises(InvalidOption, match="would pay each rival"):
        opened("games/Holdem-v0", 4, on_leave="forfeit")


def test_a_substitute_at_the_poker_table_folds_or_checks():
    match = opened("games/Holdem-v0", 4, {"hands": 4})
    seat = match.due()[0]
    leave(match, seat, "silent")
    play_on(match)
    texts = {turn.text for turn in match.record().turns if turn.seat == seat}
    assert texts <= {"fold", "call", "check"}
    assert "fold" in texts


@pytest.mark.parametrize("way", WAYS)
def test_two_players_of_a_zero_sum_game_forfeit(way):
    match = opened("games/TicTacToe-v0", 2)
    leave(match, 0, way)
    assert match.over
    assert [match.view(seat).result for seat in (0, 1)] == ["forfeit", "win"]
    record = match.record()
    verify(record)
    assert record.tags["left"][0]["why"] == way
    assert "substitute" not in record.tags["left"][0]


def test_the_policy_of_a_match_may_be_chosen():
    match = opened("games/TicTacToe-v0", 2, on_leave="substitute", substitute="random")
    leave(match, 0, "resigned")
    assert play_on(match) == {1}
    assert match.record().agents == ("random", "remote:p1")
    match = opened("games/Werewolf-v0", 7, on_leave="forfeit")
    leave(match, 3, "resigned")
    assert match.over


@pytest.mark.parametrize(
    ("env", "count", "policy"),
    [
        ("games/TicTacToe-v0", 2, "forfeit"),
        ("games/MatrixGame-v0", 2, "substitute"),
        ("games/Holdem-v0", 2, "forfeit"),
        ("games/Holdem-v0", 4, "substitute"),
        ("games/LogicGrid-v0", 1, "forfeit"),
    ],
)
def test_by_default_the_game_decides(env, count, policy):
    assert policy_for(open_game(env, {}, count)[1], "auto") == policy


def test_a_game_goes_on_when_several_leave_and_ends_with_the_last():
    match = opened("games/Holdem-v0", 4)
    for seat in (2, 0, 1):
        leave(match, seat, "resigned")
        match.ask_at_once()
    if not match.over:
        leave(match, 3, "resigned")
    assert match.over
    record = match.record()
    verify(record)
    assert {left["result"] for left in record.tags["left"]} == {"forfeit"}
    assert max(record.returns) < 20, "nobody is paid for the last resignation"


def test_a_substitute_that_plays_nonsense_is_repaired():
    match = opened("games/MatrixGame-v0", 2, {"rounds": 3})
    leave(match, 0, "silent")
    match.answer(Answer(0, match.answers[0], text="nonsense"))
    play_on(match)
    record = match.record()
    verify(record)
    assert record.turns[0].status == "replaced"


@pytest.mark.parametrize("way", ["silent", "illegal"])
def test_a_seat_can_be_reclaimed_but_not_after_resigning(way):
    match = opened("games/MatrixGame-v0", 2, {"rounds": 6})
    leave(match, 1, way)
    match.ask_at_once()
    match.answer(Answer(0, match.answers[0], action=0))
    match.ask_at_once()
    match.answer(Answer(1, match.answers[1], reclaimed=True))
    assert match.view(1).away == ""
    assert play_on(match) == {0, 1}
    record = match.record()
    verify(record)
    (left,) = record.tags["left"]
    assert left["back"] >= 1
    assert "result" not in left
    assert record.agents == ("remote:p0", "remote:p1")

    match = opened("games/MatrixGame-v0", 2, {"rounds": 6})
    leave(match, 1, "resigned")
    with pytest.raises(InvalidOption, match="cannot be reclaimed: its player resigned at step 0"):
        match.answer(Answer(1, match.answers[1], reclaimed=True))


def test_silence_is_not_told_to_seats_that_may_not_know_whose_turn_it_is():
    match = opened("games/Werewolf-v0", 7)
    seat = match.due()[0]
    leave(match, seat, "silent")
    other = next(s for s in range(7) if s != seat)
    assert match.view(other).left == []
    assert [left.why for left in match.view(seat).left] == ["silent"]
    leave(match, other, "resigned")
    third = next(s for s in range(7) if s not in (seat, other))
    assert [left.seat for left in match.view(third).left] == [other]
    play_on(match)
    assert {left.seat for left in match.view(third).left} == {seat, other}


@asynccontextmanager
async def serving_at(path, **settings):
    server = MatchServer(MatchStore(f"sqlite:///{path}"), **settings)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def untimed(view):
    """A view without its clock, which starts anew with the server."""
    return msgspec.structs.replace(view, seconds_left=None)


def test_the_journal_of_a_killed_server_knows_who_has_left(tmp_path):
    async def run():
        async with serving_at(tmp_path / "a.db") as server:
            wanted = Create("games/Holdem-v0", (OPEN,) * 4, options={"hands": 4}, seed=2)
            match = (await server.create(wanted)).match
            tokens = [(await server.join(match, Join(s, f"p{s}"))).token for s in range(4)]
            keys = [server.seat(token) for token in tokens]
            first = server.match(match).due()[0]
            for _ in range(3):
                await server.move(keys[first], Move(text="nonsense"))
            second = server.match(match).due()[0]
            await server.resign(keys[second])
            for name in tmp_path.glob("a.db*"):
                shutil.copy(name, tmp_path / name.name.replace("a.db", "b.db"))
            async with serving_at(tmp_path / "b.db") as again:
                shown = [untimed(server.look(key, with_rules=True)) for key in keys]
                assert [untimed(again.look(key, with_rules=True)) for key in keys] == shown
                assert [view.away for view in shown].count("") == 2
                with pytest.raises(RequestRefused, match="reclaim the seat first"):
                    await again.move(keys[first], Move(text="fold"))
                with pytest.raises(RequestRefused, match="resigned at step"):
                    await again.move(keys[second], Move(text="fold"))
                await again.reclaim(keys[first])
            async with serving_at(tmp_path / "b.db") as again:
                assert again.look(keys[first]).away == ""
                seats = again.match(match)
                while not seats.over:
                    seat = next(s for s in seats.due() if seats.asks(s))
                    await again.move(keys[seat], Move(action=1))
                record = again.record(keys[0])
            verify(record)
            assert [left.get("back") is None for left in record.tags["left"]] == [False, True]

    asyncio.run(run())


def test_a_seat_is_handed_over(tmp_path):
    async def run():
        async with serving_at(tmp_path / "a.db") as server:
            match = (await server.create(Create("games/TicTacToe-v0", (OPEN, OPEN)))).match
            tokens = [(await server.join(match, Join(seat, "ada"))).token for seat in (0, 1)]
            given = await server.hand_over(tokens[0], HandOver("bob", "a secret of bob's own"))
            with pytest.raises(RequestRefused, match="this token opens no seat"):
                server.seat(tokens[0])
            joined = await server.join(match, Join(key="a secret of bob's own"))
            assert (joined.seat, joined.token) == (0, given.token)
            await server.move(server.seat(given.token), Move(action=4))
        async with serving_at(tmp_path / "a.db") as server:
            with pytest.raises(RequestRefused, match="this token opens no seat"):
                server.seat(tokens[0])
            key = server.seat(given.token)
            assert key.seat == 0
            await server.resign(key)
            assert server.record(key).agents == ("remote:bob", "remote:ada")

    asyncio.run(run())


def test_a_clock_that_runs_out_seats_the_operators_substitute(tmp_path):
    async def run():
        usual = MatchDefaults(substitute="random", move_seconds=0.1)
        async with serving_at(tmp_path / "a.db", usual=usual) as server:
            wanted = Create("games/MatrixGame-v0", (OPEN, OPEN), options={"rounds": 4})
            match = (await server.create(wanted)).match
            keys = [server.seat((await server.join(match, Join(seat))).token) for seat in (0, 1)]
            seats = server.match(match)
            while not seats.leaving.away:
                if seats.asks(0):
                    await server.move(keys[0], Move(action=0))
                await asyncio.sleep(0.01)
            while not seats.over:
                await server.move(keys[0], Move(action=0))
            record = server.record(keys[0])
            assert [(left["seat"], left["why"]) for left in record.tags["left"]] == [(1, "silent")]
            assert record.agents[1] == "random"

    asyncio.run(run())


def test_who_waits_for_others_has_ten_minutes():
    def seconds(seats, **settings):
        return plan_for(Create("games/TicTacToe-v0", seats, **settings), MatchDefaults())

    assert seconds((OPEN, OPEN)).move_seconds == 600
    assert seconds(("human", OPEN)).move_seconds == 600
    assert seconds((OPEN, "random")).move_seconds is None
    assert seconds((OPEN, OPEN), move_seconds=0).move_seconds is None
    assert seconds((OPEN, "random"), move_seconds=3).move_seconds == 3


def test_what_others_read_of_a_departure():
    match = opened("games/MatrixGame-v0", 2, {"rounds": 4})
    leave(match, 1, "resigned")
    words = in_words(match.view(0))
    assert "player_1 left at step 0 (resigned); absent plays on." in words
    assert in_words(match.view(1)).endswith("You have resigned, and a substitute plays on.")
    seats = table(match, 0).seats
    assert [seat.away for seat in seats] == ["", "resigned"]
    assert seats[1].name == "p1"


@pytest.mark.parametrize("way", ["resigned", "illegal"])
def test_an_openenv_client_that_leaves_a_shared_match_ends_only_its_own_episode(tmp_path, way):
    async def run():
        async with serving_at(tmp_path / "a.db") as server:
            wanted = Create("games/MatrixGame-v0", (OPEN, OPEN), options={"rounds": 4})
            match = (await server.create(wanted)).match
            tokens = [(await server.join(match, Join(seat))).token for seat in (0, 1)]
            episode = SeatEpisode(server)
            seen = await episode.reset(EpisodeOptions(token=tokens[1]))
            assert seen.view.your_turn
            if way == "resigned":
                await episode.resign()
                seen = await episode.rest()
            else:
                for _ in range(3):
                    seen = await episode.step(Move(text="nonsense"))
            assert seen.over
            assert seen.view.status == "playing"
            assert episode.over
            await episode.resign()
            key = server.seat(tokens[0])
            while not server.match(match).over:
                await server.move(key, Move(action=0))
            assert server.record(key).tags["left"][0]["why"] == way

    asyncio.run(run())


def test_one_agent_of_a_parallel_env_leaves_and_the_other_plays_to_the_end(server):
    env = palestra.connect(
        server[0], env="games/MatrixGame-v0", seats=(0, 1), options={"rounds": 3}
    )
    env.reset(seed=1)
    for _ in range(3):
        _, _, over, _, _ = env.step({"player_0": 99, "player_1": 0})
    assert over == {"player_0": True, "player_1": False}
    while env.agents:
        assert env.agents == ["player_1"]
        env.step({"player_1": 0})
    env.close()


def test_a_slow_agent_keeps_no_substitute_from_answering(tmp_path):
    woken = threading.Event()

    class Asleep(Agent):
        name = "asleep"

        def act(self, turns):
            woken.wait(20)
            return [Decision(0) for _ in turns]

    async def run():
        async with serving_at(tmp_path / "a.db") as server:
            wanted = Create(
                "games/MatrixGame-v0", (OPEN, "mcts"), options={"rounds": 3}, move_seconds=0.2
            )
            match = (await server.create(wanted)).match
            seats = server.match(match)
            seats._runner.agents[1] = Asleep()
            key = server.seat((await server.join(match, Join())).token)
            while not seats.over:
                if seats.asks(0):
                    await server.move(key, Move(action=0))
                await asyncio.sleep(0.01)
            record = server.record(key)
            verify(record)
            assert [(left["seat"], left["why"]) for left in record.tags["left"]] == [(1, "silent")]
            woken.set()

    asyncio.run(run())


def test_handing_a_seat_over_gives_no_more_time(tmp_path):
    """Whoever hands a seat to themselves again and again is late when the others would be."""

    async def run():
        async with serving_at(tmp_path / "a.db") as server:
            wanted = Create("games/TicTacToe-v0", (OPEN, OPEN), move_seconds=0.5, invalid="forfeit")
            match = (await server.create(wanted)).match
            token, other = [(await server.join(match, Join(seat))).token for seat in (0, 1)]
            began = asyncio.get_running_loop().time()
            for turn in range(60):
                if server.match(match).over:
                    break
                token = (await server.hand_over(token, HandOver(f"ada {turn}"))).token
                await asyncio.sleep(0.05)
            assert 0.4 < asyncio.get_running_loop().time() - began < 2.5
            assert server.look(server.seat(other)).result == "win"
            record = server.record(server.seat(token))
            assert [(left["seat"], left["why"]) for left in record.tags["left"]] == [(0, "silent")]

    asyncio.run(run())


def test_who_comes_back_again_and_again_does_not_stop_the_match(tmp_path, monkeypatch):
    class Slow(Agent):
        name = "slow"

        def act(self, turns):
            time.sleep(0.4)
            return [Decision(0) for _ in turns]

    async def run():
        async with serving_at(tmp_path / "a.db") as server:
            wanted = Create(
                *("games/MatrixGame-v0", (OPEN, OPEN)),
                options={"rounds": 2},
                move_seconds=0.5,
                substitute="mcts",
            )
            match = (await server.create(wanted)).match
            monkeypatch.setattr("palestra_server.leaving.make_agent", lambda _: Slow())
            keys = [server.seat((await server.join(match, Join(seat))).token) for seat in (0, 1)]
            seats, refused = server.match(match), set()
            for _ in range(400):
                if seats.over:
                    break
                if seats.asks(0):
                    await server.move(keys[0], Move(action=0))
                if 1 in seats.leaving.away:
                    try:
                        await server.reclaim(keys[1])
                    except RequestRefused as error:
                        refused.add(str(error))
                await asyncio.sleep(0.02)
            assert seats.over
            assert any("once its substitute has moved" in text for text in refused)
            verify(server.record(keys[0]))

    asyncio.run(run())


def test_an_unknown_policy_on_the_command_line_is_named():
    done = subprocess.run(
        [sys.executable, "-m", "palestra", "serve", "--on-leave", "cry", "--store", ":memory:"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "--on-leave or --move-seconds: Invalid enum value 'cry'" in " ".join(done.stderr.split())


def test_a_resignation_that_a_broken_connection_lost_is_sent_again(server):
    client = Server(server[0])
    match = client.create("games/MatrixGame-v0", options={"rounds": 5})
    seats = [client.join(match, seat) for seat in (0, 1)]
    seats[1]._socket.close()
    assert seats[1].resign().away == "resigned"
    for connection in (*seats, client):
        connection.close()


def test_clients_choose_a_substitute_from_the_operators_list(server):
    client = Server(server[0])
    with pytest.raises(ServerRefused, match="may not seat 'mcts:simulations=9999'"):
        client.create("games/Werewolf-v0", substitute="mcts:simulations=9999")
    with pytest.raises(ServerRefused, match="would pay each rival"):
        client.create("games/Holdem-v0", options={"num_players": 3}, on_leave="forfeit")
    client.close()


@pytest.mark.parametrize(
    "name", ["human", "human:ada", "open", "mcts:simulations=-1", "mcts:simulations=1.5"]
)
def test_a_substitute_that_could_never_play_is_refused_when_the_match_is_opened(server, name):
    client = Server(server[0])
    with pytest.raises(ServerRefused):
        client.create("games/Werewolf-v0", [OPEN] * 7, on_leave="substitute", substitute=name)
    client.close()
    wanted = Create("games/Werewolf-v0", (OPEN,) * 7, on_leave="substitute")
    with pytest.raises(PalestraError):  # nor does the operator seat one by mistake
        plan_for(wanted, MatchDefaults(substitute=name))


def test_a_plan_of_an_older_journal_forfeits_as_it_did():
    old = msgspec.json.decode(
        b'{"env": "games/Werewolf-v0", "seats": ["open", "open", "open", "open", "open", "open", '
        b'"open"], "seed": 1}',
        type=MatchPlan,
    )
    match = Match("m", old)
    for seat in range(7):
        match.take(seat)
    leave(match, 2, "resigned")
    assert match.over


def test_a_client_leaves_and_comes_back_by_socket(server):
    client = Server(server[0])
    match = client.create("games/MatrixGame-v0", options={"rounds": 5}, move_seconds=0.3)
    here, asleep = client.join(match, 0), client.join(match, 1)
    here.turn(10)
    here.move(0)
    while not asleep.view.away:
        asleep.look()
    assert asleep.reclaim().away == ""
    other = client.hand_over(asleep.token, "bob")
    with pytest.raises(ServerRefused, match="opens no seat"):
        client.hand_over(asleep.token)
    bob = client.sit(other)
    assert bob.resign().away == "resigned"
    while here.turn(10).status != "over":
        here.move(0)
    record = client.record(other)
    assert [left["why"] for left in record["tags"]["left"]][-1] == "resigned"
    for connection in (here, asleep, bob, client):
        connection.close()


def test_an_operator_seats_an_agent_of_their_own_file_and_a_client_does_not(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("class Last:\n    def act(self, turn):\n        return turn.legal_texts[-1]\n")
    mine = f"{file}:Last"

    async def play():
        async with serving_at(tmp_path / "m.db") as server:
            opened = await server.create_own(Create("games/TicTacToe-v0", (mine, OPEN)))
            key = server.seat((await server.join(opened.match, Join())).token)
            await server.wait(key, 5)
            with pytest.raises(palestra.PalestraError, match="clients may not seat"):
                await server.create(Create("games/TicTacToe-v0", (mine, OPEN)))
            return server.look(key)

    view = asyncio.run(play())
    assert view.your_turn
    assert "player_0" in "".join(event.text for event in view.events)
