"""The live page of a run: what it is sent, what it may know, what it costs, when it ends."""

from __future__ import annotations

import json
import logging
import os
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import httpx
import msgspec
import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra.cli import main
from palestra.engine.batch import Batch
from palestra.kernel.registry import renderer
from palestra.records.intervals import Sample
from palestra.runner import watching
from palestra.runner.watching import JOIN, RunStandings, Sparing, Standing, joined_watch, open_watch
from palestra_server.watching import boards
from palestra_server.watching.feed import Feed, join
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect


@contextmanager
def opened(**settings: Any):
    page = open_watch("a run", **settings)
    try:
        yield page
    finally:
        page.close()


class Spectator:
    """A page that is open: the newest message of every part."""

    def __init__(self, page: Any) -> None:
        home, _, key = page.address.partition("/#key=")
        self.connection = connect(home.replace("http", "ws") + "/live", max_size=None)
        self.key = key
        self.heard = ""
        self.parts: dict[str, Any] = {}

    def __enter__(self) -> Spectator:
        self.socket = self.connection.__enter__()
        self.socket.send(self.key)
        self.read(until=lambda parts: "title" in parts)
        return self

    def __exit__(self, *error: Any) -> None:
        self.connection.__exit__(*error)

    def read(self, *, until: Any = lambda parts: "over" in parts) -> dict[str, Any]:
        """All parts, once they are as they should be."""
        while not until(self.parts):
            message = self.socket.recv(timeout=20)
            self.heard += message
            part, data = json.loads(message)
            self.parts[part] = data
        return self.parts


class Kept(boards.Boards):
    """Boards whose pictures stay here."""

    looked_at = True

    def __init__(self, viewer: Any = "all") -> None:
        super().__init__(viewer)
        self.parts: dict[str, Any] = {}

    def put(self, part: str, data: Any) -> None:
        self.parts[part] = data


def test_a_page_is_sent_boards_standings_and_curves_until_the_run_is_over() -> None:
    with opened() as page, Spectator(page) as eve:
        standings = RunStandings(page)
        records = palestra.play(
            "games/TicTacToe-v0", agents=["first", "random"], episodes=6, hooks=[page, standings]
        )
        standings.tell()
        page.close()
        told = eve.read()
    assert told["title"] == {"title": "a run", "viewer": "all"}
    returns = [Sample(), Sample()]
    for record in records:
        for sample, paid in zip(returns, record.returns, strict=True):
            sample.add(float(paid))
    rows = {row["name"]: row for row in told["standings"]["rows"]}
    for name, sample in zip(("player_0: first", "player_1: random"), returns, strict=True):
        value, low, high = sample.interval()
        assert (rows[name]["value"], rows[name]["games"]) == (value, 6)
        assert (rows[name]["low"], rows[name]["high"]) == pytest.approx((low, high))
    assert told["curves"][-1][0] == 6
    shown = [told[f"board {number}"] for number in range(6)]
    assert sorted(tuple(seat["returns"] for seat in board["seats"]) for board in shown) == sorted(
        record.returns for record in records
    )
    assert all(board["over"] and board["step"] >= 5 for board in shown)


def test_a_board_is_the_renderers_picture_of_the_position() -> None:
    kept = Kept()
    episode = Episode(palestra.game("games/TicTacToe-v0"), 0)
    kept.palestra_episode_started(episode, ("a", "b"))
    for action in (4, 0, 8):
        episode.act({episode.to_act[0]: action})
        kept.palestra_stepped(episode)
    kept.draw_all()
    board = kept.parts["board 0"]
    assert board["picture"] == renderer(None, "marks")().draw(episode, None)
    assert [seat.get("acting") for seat in board["seats"]] == [False, True]
    assert (board["step"], board["game"], board["over"]) == (3, 1, False)


def test_a_wrong_key_a_foreign_page_and_a_stranger_feed_are_refused() -> None:
    with opened() as page:
        home, _, key = page.address.partition("/#key=")
        socket = home.replace("http", "ws") + "/live"
        with connect(socket) as wrong:
            wrong.send("x" * len(key))
            with pytest.raises(ConnectionClosed) as closed:
                wrong.recv(timeout=10)
            assert closed.value.rcvd.code == 1008
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(socket, origin="http://evil.example"),
        ):
            pass
        for wrong_key in ("", "Bearer x", f"Bearer {key}"):
            answer = httpx.post(f"{home}/feed", content=b"[]", headers={"Authorization": wrong_key})
            assert answer.status_code == 403
        assert httpx.get(f"{home}/", headers={"Host": "evil.example"}).status_code == 403
        assert key not in httpx.get(home).text


@pytest.mark.parametrize("viewer", ["public", 0])
def test_hidden_cards_reach_no_page_that_may_not_show_them(viewer: Any) -> None:
    """Deals that differ only in what the viewer cannot see look alike to the byte."""
    game, seen = palestra.game("games/KuhnPoker-v0"), {}
    for seed in range(40):
        kept, episode = Kept(viewer), Episode(game, seed)
        kept.palestra_episode_started(episode, ("a", "b"))
        episode.act({0: 1})
        kept.palestra_stepped(episode)
        kept.draw_all()
        own = None if viewer == "public" else episode.describe(0)
        seen.setdefault(own, set()).add(msgspec.json.encode(kept.parts))
    assert len(seen) == (1 if viewer == "public" else 3)
    assert all(len(messages) == 1 for messages in seen.values())


def test_no_more_boards_than_fit_and_a_place_is_used_again() -> None:
    kept, game = Kept(), palestra.game("games/TicTacToe-v0")
    episodes = [Episode(game, seed) for seed in range(boards.MOST + 3)]
    for episode in episodes:
        kept.palestra_episode_started(episode, ("a", "b"))
    kept.draw_all()
    assert len(kept.parts) == boards.MOST
    kept.palestra_episode_finished(episodes[5])
    kept.palestra_episode_started(episodes[-1], ("c", "d"))
    kept.draw_all()
    assert len(kept.parts) == boards.MOST
    assert [seat["agent"] for seat in kept.parts["board 5"]["seats"]] == ["c", "d"]
    assert kept.parts["board 5"]["game"] == 2


def test_a_picture_that_fails_ends_no_game(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no paint")

    monkeypatch.setattr(boards.Boards, "_picture", fail)
    with caplog.at_level(logging.CRITICAL, "palestra.server"), opened() as page:
        records = palestra.play("games/TicTacToe-v0", agents="random", hooks=[page])
    assert not records[0].error


def test_what_is_sparing_takes_its_share_and_saves_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(watching, "perf_counter", lambda: now)
    sparing, taken = Sparing(0.02), 0
    for tick in range(10_000):  # 100 s in steps of 10 ms; each time takes 40 ms
        now = max(now, tick * 0.01)
        if sparing.due():
            now += 0.04
            sparing.done()
            taken += 1
    assert 47 <= taken <= 50  # 2 % of 100 s, 40 ms each, less what the ticks round off
    sparing = Sparing(0.02, saved=0.1)
    assert sparing.due()
    now += 0.01
    sparing.done()
    now += 1_000.0  # somebody thinks
    burst = 0
    while sparing.due():
        now += 0.01
        sparing.done()
        burst += 1
    assert burst == 10  # what was saved; the first of all was not counted


def test_lanes_of_a_batch_are_drawn_as_they_are() -> None:
    kept, game = Kept(), palestra.game("games/TicTacToe-v0")
    batch = Batch(game, 6, seed=3, compiled=False)
    batch.reset()
    for _ in range(3):
        batch.step(batch.random_actions())
    kept.show_lanes(batch, "games/TicTacToe-v0")
    assert sorted(kept.parts) == [f"board lane {number}" for number in range(boards.LANES)]
    artist = renderer(None, "marks")()
    for number in range(boards.LANES):
        episode = Episode(game, 0, compiled=False)
        episode.load(batch.lanes["timestep"]["state"][number].copy())
        assert kept.parts[f"board lane {number}"]["picture"] == artist.draw(episode, None)


def test_a_process_of_the_run_feeds_its_page() -> None:
    with opened() as page, Spectator(page) as eve:
        assert joined_watch() is page  # in the process of the page itself
        feed = Feed(os.environ[JOIN])
        palestra.play("games/TicTacToe-v0", agents="random", hooks=[feed])
        feed.draw_all()
        name = f"board {os.getpid()} 0"
        told = eve.read(until=lambda parts: parts.get(name, {}).get("over"))
        assert feed.looked_at
        assert told[name]["env"] == "games/TicTacToe-v0"
        feed.close()
        place = os.environ[JOIN]
    assert JOIN not in os.environ
    assert joined_watch() is None
    assert join(place) is None  # the page is gone


@pytest.mark.parametrize("slow", [0, 1, 5])
def test_one_slow_time_does_not_hold_up_the_next(
    slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, times = 0.0, list[float]()
    monkeypatch.setattr(watching, "perf_counter", lambda: now)
    sparing = Sparing(0.02)
    while now < 300.0:
        now += 0.05
        if sparing.due():
            times.append(now)
            now += 3.1 if len(times) == 1 + slow else 0.2
            sparing.done()
    assert max(later - before for before, later in pairwise(times)) < 25.0  # 0.2 s / 2 %, twice
    assert times[-1] > 275.0


def test_a_taken_port_is_named(free_port: int) -> None:
    with opened(port=free_port) as page:
        assert f":{free_port}/" in page.address
        with pytest.raises(InvalidOption, match=rf"{free_port}.*--watch-port, or 0"):
            open_watch("another", port=free_port)
    with opened(port=free_port):  # and free again when its run is over
        pass


def test_many_rows_of_curves_are_thinned_and_keep_their_ends() -> None:
    with opened() as page, Spectator(page) as eve:
        for step in range(5_000):
            page.log(step, {"loss": 1.0 / (1 + step), "seconds": step})
        page.stand("Rating", [Standing("a", 1.0, 0.5, 1.5)])
        page.close()
        rows = eve.read()["curves"]
    assert len(rows) <= 4_000
    assert (rows[0], rows[-1]) == ([0, {"loss": 1.0}], [4_999, {"loss": 1 / 5_000}])


COMMANDS = {
    "play": ["games/TicTacToe-v0", "--episodes", "3", "--out", "{folder}/p", "--no-replays"],
    "tournament": [
        *("games/TicTacToe-v0", "--agents", "random,first", "--games", "4", "--workers", "0"),
        *("--store", "{folder}/t.db"),
    ],
}


def test_a_page_leaves_the_logging_of_its_process_alone() -> None:
    """The page runs in the process that plays, whose handlers must neither go nor be closed."""
    closed = []

    class Kept(logging.Handler):
        def close(self) -> None:
            closed.append(self)
            super().close()

    handler = Kept()
    logging.getLogger().addHandler(handler)
    try:
        with opened():
            assert not closed
            assert handler in logging.getLogger().handlers
    finally:
        logging.getLogger().removeHandler(handler)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_opens_a_page_and_ends_it(
    command: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    given = [text.format(folder=tmp_path) for text in COMMANDS[command]]
    monkeypatch.setattr("sys.argv", ["palestra", command, *given, "--watch"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    address = capsys.readouterr().out.split("watch   ")[1].split()[0]
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    assert JOIN not in os.environ


@pytest.mark.slow
def test_a_tournament_in_worker_processes_is_watched(tmp_path: Any, free_port: int) -> None:
    """Boards come from the workers, ratings with intervals from the process with the store."""
    import re
    import subprocess
    import sys

    agents = ["--agents", "random,first", "--games", "40", "--workers", "1"]
    command = [sys.executable, "-m", "palestra", "tournament", "games/TicTacToe-v0", *agents]
    command += ["--store", str(tmp_path / "t.db"), "--watch", "--watch-port", str(free_port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = next(line for line in process.stdout if line.startswith("watch"))

        class Page:
            address = re.split(r"\s+", line)[1]

        with Spectator(Page) as eve:
            told = eve.read()
        process.stdout.read()
    assert process.returncode == 0
    assert {row["name"] for row in told["standings"]["rows"]} == {"random", "first"}
    assert all(row["low"] < row["value"] < row["high"] for row in told["standings"]["rows"])
    (board,) = [name for name in told if name.startswith("board ")]
    assert told[board]["picture"]["marks"]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_shows_the_run_and_axe_finds_nothing(browser: Any, theme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    context = browser.new_context(color_scheme=theme, bypass_csp=True)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    with opened() as live:
        page.goto(live.address)
        standings = RunStandings(live)
        hostile = palestra.make_agent("random")
        hostile.name = "<img src=x onerror=alert(1)>"
        palestra.play(
            "games/ConnectFour-v0",
            agents=[hostile, "first"],
            episodes=3,
            hooks=[live, standings],
        )
        standings.tell()
        page.locator("#boards article").nth(2).wait_for()
        live.close()
        page.locator("#status", has_text="The run is over.").wait_for()
    assert page.locator("#boards svg .mark, #boards .board svg *").count() > 42
    assert page.locator("#standings tbody tr").count() == 2
    assert "<img src=x" in page.text_content("#standings")
    assert page.locator("main img").count() == 0
    found = axe.Axe().run(page).response["violations"]
    assert not [violation["id"] for violation in found]
    assert not errors
    context.close()
