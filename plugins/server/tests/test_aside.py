"""What does not return in its time harms no other match, and keeps no server from ending."""

import asyncio
import random
import socket
import threading
import time
from contextlib import suppress

import httpx
import msgspec
import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption
from palestra.records.record import replay
from palestra_server.aside import Threads
from palestra_server.clocks import Clocks
from palestra_server.limits import Limits
from palestra_server.match import Match
from palestra_server.messages import OPEN, Create, Join, Move
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore
from serving import serving

TTT = "games/TicTacToe-v0"
MATRIX = "games/MatrixGame-v0"
ENDLESS = "Program(code='while True: pass')"


@pytest.fixture
def silent():
    """A model server that accepts connections and never answers; its agent's name."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"llm:openai:x@http://127.0.0.1:{listening.getsockname()[1]}/v1"


async def seated(server, wanted):
    match = (await server.create_own(wanted)).match
    free = sorted(server.match(match).free)
    return [server.seat((await server.join(match, Join(seat))).token) for seat in free]


async def play(server, keys):
    """Play a match to its end by legal moves; whether each of them counted."""
    rng, counted = random.Random(0), []
    while not server.match(keys[0].match).over:
        for key in keys:
            view = server.look(key, show=["legal_texts"])
            if view.your_turn:
                text = rng.choice(view.legal_texts)
                counted.append(await server.move(key, Move(text=text)))
    return all(counted)


@pytest.mark.slow
def test_endless_programs_and_silent_models_keep_nobody_from_playing(tmp_path, silent, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    url = f"sqlite:///{tmp_path}/m.db"

    async def run():
        server = MatchServer(MatchStore(url), Limits(programs=1))
        await server.start()
        coders = [(await seated(server, Create("tasks/FastCode-v0")))[0] for _ in range(5)]
        assert all([await server.move(key, Move(text=ENDLESS)) for key in coders])
        asked = [await server.create_own(Create(TTT, (silent, OPEN))) for _ in range(5)]
        for match in asked:
            await server.join(match.match, Join())
        wanted = Create(TTT, (OPEN, OPEN), move_seconds=60)
        matches = [await seated(server, wanted) for _ in range(20)]
        assert all(await asyncio.gather(*(play(server, keys) for keys in matches)))
        for keys in matches:
            record = server.record(keys[0])
            assert list(record.mistakes) == [0, 0]
        assert server.match(coders[-1].match).stepping, "programs run one by one, and this is last"
        assert not any(server.match(match.match).over for match in asked)
        waiting = server.look(coders[-1], 3)
        assert (waiting.status, waiting.cursor, waiting.your_turn) == ("playing", 3, False)
        assert not await server.move(asked_again := coders[-1], Move(text=ENDLESS, number=0))
        assert server.match(asked_again.match).answers == [1]
        await server.stop()
        return [key.match for key in coders]

    for match in asyncio.run(run()):
        kept = MatchStore(url).load(match)
        assert [answer.text for answer in kept.answers] == [ENDLESS]


def test_a_program_that_ends_is_answered_with_its_result(tmp_path):
    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"))
        await server.start()
        (key,) = await seated(server, Create("tasks/FastCode-v0", seed=1, move_seconds=60))
        wrong = "Program(code='def solve(argument):\\n    return 0')"
        assert await server.move(key, Move(text=wrong))
        assert not server.look(key).your_turn
        await server.settled(key)
        view = server.look(key)
        assert view.your_turn
        assert view.number == 1
        assert view.seconds_left is not None
        assert view.events[-1].text.startswith("Not right")
        await server.resign(key)
        assert server.look(key).status == "over"
        await server.stop()

    asyncio.run(run())


def test_a_local_agent_has_a_time_limit(tmp_path, silent, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    async def run():
        limits = Limits(agent_seconds=0.2)
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"), limits)
        await server.start()
        (key,) = await seated(server, Create(TTT, (silent, OPEN), invalid="forfeit"))
        await server.wait(key, 60)
        view = server.look(key)
        assert (view.status, view.result) == ("over", "win")
        await server.stop()

    asyncio.run(run())


def test_threads_are_bounded_and_pass_errors_on():
    async def run():
        threads, running, most = Threads("test", 2), set(), []

        def work(number):
            running.add(number)
            most.append(len(running))
            time.sleep(0.01)
            running.discard(number)
            return number

        assert await asyncio.gather(*(threads.run(work, n) for n in range(8))) == list(range(8))
        assert max(most) <= 2
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)
        threads.close()

    asyncio.run(run())


def test_scripts_that_play_long_keep_nobody_from_playing(tmp_path):
    """One request may open a match of scripts that takes seconds; others play on meanwhile."""
    rounds = 4000
    long = Create(MATRIX, ("random", "first"), options={"rounds": rounds}, seed=3)

    async def run():
        url = f"sqlite:///{tmp_path}/m.db"
        server = MatchServer(MatchStore(url))
        await server.start()
        first = await seated(server, Create(TTT, (OPEN, "random"), seed=1))
        name = (await server.create(long)).match
        assert await play(server, first)
        assert not server.match(name).over
        await server.stop()  # in the middle
        server = MatchServer(MatchStore(url))
        await server.start()
        while not server.match(name).over:
            await asyncio.sleep(0.01)
        record = server.match(name).record()
        await server.stop()
        return record

    record = asyncio.run(run())
    (alone,) = palestra.play(MATRIX, agents=list(long.seats), seed=3, rounds=rounds)
    assert (record.returns, len(record.steps)) == (alone.returns, rounds)


def test_the_first_view_of_a_match_is_computed_where_it_is_opened(tmp_path, monkeypatch):
    """Some rules compute for seconds before they can say anything (`tasks/DataTeacher-v0`)."""
    looked, view = [], Match.view

    def notice(match, *given, **more):
        looked.append(threading.current_thread().name)
        return view(match, *given, **more)

    monkeypatch.setattr(Match, "view", notice)

    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"))
        await server.start()
        (key,) = await seated(server, Create(TTT, (OPEN, "random"), seed=1))
        assert looked == ["palestra-create"]
        assert server.look(key).your_turn
        await server.stop()

    asyncio.run(run())


def test_the_record_of_a_long_match_keeps_nobody_from_playing(tmp_path, monkeypatch):
    begun, go_on, write = threading.Event(), threading.Event(), Match.finish

    def finish(match):
        if match.plan.env == MATRIX:
            begun.set()
            assert go_on.wait(20)
        return write(match)

    monkeypatch.setattr(Match, "finish", finish)

    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"))
        await server.start()
        line_up, options = (OPEN, "random"), {"rounds": 501}
        (key,) = await seated(server, Create(MATRIX, line_up, options=options, seed=2))
        over = asyncio.create_task(play_first(server, key))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        for seed in range(2):  # meanwhile
            assert await play(
                server, await seated(server, Create(TTT, (OPEN, "random"), seed=seed))
            )
        assert server.look(key).status == "playing"
        with pytest.raises(InvalidOption, match="still played"):
            server.record(key)
        go_on.set()
        await over
        assert server.look(key).status == "over"
        record = server.record(key)
        assert (len(record.steps), record.returns) == (501, tuple(replay(record).returns))
        stored = msgspec.json.decode(server.store.load(key.match).record, type=EpisodeRecord)
        assert stored.returns == record.returns
        await server.stop()

    async def play_first(server, key):
        while server.look(key).status != "over":
            await server.settled(key)
            if server.look(key).your_turn:
                await server.move(key, Move(action=0))
            await asyncio.sleep(0)

    asyncio.run(run())


def test_a_page_that_takes_long_keeps_the_server_from_nothing(tmp_path, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def write(record):
        begun.set()
        go_on.wait(12)
        return b""

    monkeypatch.setattr("palestra_server.page.replay_page", write)
    with serving(tmp_path) as (url, _):
        match = httpx.post(f"{url}/matches", json={"env": TTT, "seats": ["random", "first"]}).json()
        page = f"{url}/matches/{match['match']}/record"
        asked = [
            threading.Thread(target=lambda: suppressed(httpx.get, page, params={"form": "html"}))
            for _ in range(3)
        ]
        for thread in asked:
            thread.start()
        assert begun.wait(10)
        assert httpx.get(page, timeout=5).status_code == 200
        until = time.monotonic() + 8
    assert time.monotonic() < until  # the server has ended
    go_on.set()
    for thread in asked:
        thread.join()


def suppressed(ask, *given, **more):
    with suppress(httpx.HTTPError):
        ask(*given, timeout=30, **more)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_no_work_in_a_thread_ends_the_server(stop):
    def leave():
        raise stop("the person left")

    async def run():
        threads = Threads("test", 2)
        tasks = [asyncio.create_task(threads.run(leave)) for _ in range(3)]
        await asyncio.wait(tasks)
        threads.close()
        return [task.exception() for task in tasks]

    errors = asyncio.run(run())
    assert [type(error) for error in errors] == [RuntimeError] * 3
    assert all("the person left" in str(error) for error in errors)


def test_a_busy_process_charges_no_answer_that_has_arrived():
    async def run():
        late = []
        clocks = Clocks(lambda seat, number: late.append((seat, number)))
        clocks.set({0: 4, 1: 7}, lambda seat: 0.02)
        time.sleep(0.5)  # the rules of another match
        for _ in range(5):  # meanwhile the answer has come, and is read now
            await asyncio.sleep(0)
        assert late == []
        clocks.set({1: 7}, lambda seat: 0.02)
        while clocks:
            await asyncio.sleep(0.01)
        assert late == [(1, 7)]

    asyncio.run(run())


@pytest.mark.parametrize("module", ["asyncio", "uvloop"])
@pytest.mark.parametrize("seconds", [5e-324, 1e-9, 1e-4, 0.01])
def test_a_clock_ends_however_short_it_is(module, seconds):
    async def run():
        late = []
        clocks = Clocks(lambda seat, number: late.append((seat, number)))
        clocks.set({0: 4, 1: 7}, lambda seat: seconds)
        assert set(clocks.left()) == {0, 1}
        while clocks:
            await asyncio.sleep(0.01)
        return late

    with asyncio.Runner(loop_factory=pytest.importorskip(module).new_event_loop) as runner:
        assert sorted(runner.run(run())) == [(0, 4), (1, 7)]


def test_a_match_of_a_client_is_cut_off_after_the_operators_steps(tmp_path):
    async def played():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"), Limits(steps=7))
        await server.start()
        wanted = Create("games/MatrixGame-v0", ("first", "random"), options={"rounds": 50})
        match = (await server.create(wanted)).match
        while not server.match(match).over:
            await asyncio.sleep(0.01)
        episode = server.match(match).episode
        await server.stop()
        return episode.truncated, episode.outcome.reason

    assert asyncio.run(played()) == (True, "7 steps played")
