"""How an episode ended, and numbers, as every output says them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Episode, EpisodeRecord, Grid, Outcome, Rng, Scene
from palestra.endings import ending_text, number_text
from palestra.kernel.registry import renderer
from palestra.records.record import replay
from palestra_renderers import picture
from palestra_renderers.changes import Follower, scene_of
from palestra_renderers.html import export
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Words
from palestra_renderers.plain import status_lines
from palestra_renderers.terminal import TerminalRenderer
from palestra_renderers.window import WindowRenderer
from palestra_renderers.words import AnsiRenderer, scene_lines
from rich.console import Console

MOST = 500  # moves
EXPONENT = re.compile(r"\d[eE][+-]?\d|\d\.\d{9,}")


class Ended:
    """The part of an episode that its ending is read from."""

    over = True
    steps_played = 1400

    def __init__(self, results: tuple[Any, ...], reason: str = "") -> None:
        self.players = tuple(f"player_{seat}" for seat in range(len(results)))
        self.outcome = Outcome(results, tuple(map(float, range(len(results)))), reason)
        self.truncated = "truncated" in results


ENDS = [
    (("loss", "win"), "Checkmate.", "player_1 wins. Checkmate."),
    (("win", "loss"), "", "player_0 wins."),
    (("win",), "all boxes are on goals", "player_0 wins. All boxes are on goals."),
    (("loss",), "the ice broke", "player_0 loses. The ice broke."),
    (("draw", "draw"), "Stalemate.", "A draw. Stalemate."),
    (("forfeit", "win"), "", "player_0 forfeits. player_1 wins."),
    (("forfeit", "win"), "player_0 forfeits: forfeit", "player_0 forfeits. player_1 wins."),
    (
        ("win", "forfeit", "forfeit"),
        "player_1 forfeits: illegal move: 9; player_2 forfeits: too slow",
        "player_1 forfeits: illegal move: 9; player_2 forfeits: too slow. player_0 wins.",
    ),
    (("win", "loss", "win"), "", "player_0 and player_2 win."),
    (("win",) * 7, "", "player_0, player_1, player_2, player_3 and 3 more win."),
    (("truncated",) * 3, "time was up after 400 steps", "Time was up after 400 steps."),
    (("truncated",) * 3, "", "Time is up after 1,400 steps."),
    (("score",) * 3, "all trips are made", "All trips are made."),
    (("score", "score"), "", "The scores are player_0 0 and player_1 1."),
    (("score", "score"), "player_0 is paid 7", "player_0 is paid 7."),
]


@pytest.mark.parametrize(("results", "reason", "text"), ENDS)
def test_an_ending_says_who_and_why(results: tuple[Any, ...], reason: str, text: str) -> None:
    ended: Any = Ended(results, reason)
    assert ending_text(ended) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-15840.0, "-15,840"),
        (0.1 + 0.2, "0.3"),
        (1234.56, "1,234.6"),
        (2e4, "20,000"),
        (1 / 3, "0.3333"),
        (1e-5, "0.00001"),
        (-0.0, "0"),
        (-1e-12, "0"),
        (12.5, "12.5"),
        (99.99999, "100"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert number_text(value) == text


@given(st.floats(-1e12, 1e12))
def test_a_written_number_is_near_the_number(value: float) -> None:
    text = number_text(value)
    assert not EXPONENT.search(text)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=6e-4, abs=1e-8)


def played(env: str, seed: int = 3) -> Episode:
    """An episode at its end, or after so many moves of random play."""
    episode, rng = Episode(palestra.game(env), seed), Rng(5)
    for _ in range(MOST):
        if episode.over:
            break
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    return episode


@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_every_environment_ends_in_sentences_and_plain_numbers(env: str) -> None:
    episode = played(env)
    text = ending_text(episode)
    assert bool(text) == episode.over
    if episode.over:
        assert text.endswith((".", "!", "?", "…"))
        assert "truncated" not in text
    assert not any(map(EXPONENT.search, status_lines(episode)))


SHOWN = ["games/TicTacToe-v0", "games/FrozenLake-v0", "grid/Foraging-v0", "markets/Trading-v0"]


@pytest.mark.parametrize("env", SHOWN)
def test_all_outputs_end_in_the_same_sentences(
    env: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (record,) = palestra.play(env, agents="random", seed=3)
    episode = replay(record)
    text = ending_text(episode)
    assert text in AnsiRenderer().draw(episode, None)
    out = io.StringIO()
    TerminalRenderer(Console(file=out, width=200)).draw(episode, None)
    assert text in out.getvalue()
    painted: list[Any] = []
    monkeypatch.setattr(picture.Painter, "paint", lambda self, scene, s, e: painted.append(e))
    picture.paint_episode(picture.Painter(), episode, None)
    WindowRenderer().draw(episode, None)
    assert [events[-1] for events in painted[:2]] == [text, text]
    assert text in page_ends(record, tmp_path)


def page_ends(record: EpisodeRecord, folder: Path) -> list[str]:
    html = export([record], folder / "page.html").read_text("utf-8")
    _, *blocks = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    return [frame["end"] for block in blocks for frame in json.loads(block)["frames"]]


BOARDS = ["games/Chess-v0", "games/Othello-v0", "games/Gomoku-v0", "games/ConnectFour-v0"]


def marked(scene: Scene) -> set[Any]:
    grids = [part for part in scene.all_parts() if isinstance(part, Grid)]
    return {cell for grid in grids for _, cell in grid.marks}


@pytest.mark.parametrize("env", BOARDS)
def test_the_last_move_is_marked_in_every_output(env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Scene] = {}
    terminal = TerminalRenderer(Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.setattr("palestra_renderers.terminal.scene_texts", keep(seen, "terminal", []))
    monkeypatch.setattr("palestra_renderers.page.marks_of", keep(seen, "browser", {}))
    window = WindowRenderer()
    window.pause = 0.0
    monkeypatch.setattr(
        picture.Painter, "paint", lambda self, scene, s, e: keep(seen, "window", None)(scene)
    )
    page, follower = renderer(None, "marks")(), Follower()
    episode, rng = Episode(palestra.game(env), 1), Rng(2)
    for _ in range(6):
        for artist in (terminal, window, page):
            artist.draw(episode, None)
        wanted = marked(follower.scene(episode, None))
        for name in ("terminal", "window", "browser"):
            assert marked(seen[name]) == wanted, name
        assert bool(wanted) == bool(episode.steps_played)
        page.draw(episode, None)  # drawn again, it stays marked
        assert marked(seen["browser"]) == wanted
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    terminal.close()
    window.close()


def keep(seen: dict[str, Scene], name: str, answer: Any) -> Any:
    def store(scene: Scene) -> Any:
        seen[name] = scene
        return answer

    return store


def test_long_sentences_of_scores_stay_whole_numbers() -> None:
    sheet = Sheet(480, 20)
    scene = Scene(bars=(palestra.Bar("wealth", -15840.0, 2e4),))
    lay_out(scene, sheet, 0, 200)
    texts = [mark.text for mark in sheet.marks if isinstance(mark, Words)]
    assert "-15,840 / 20,000" in texts, texts
    assert any("-15,840 of 20,000" in line for line in scene_lines(scene))


CUT_SHORT = {
    "games/Chess-v0": {},
    "games/Holdem-v0": {"num_players": 4},
    "games/Catan-v0": {"num_players": 3},
    "games/Werewolf-v0": {"num_players": 7},
}


@pytest.mark.parametrize("env", CUT_SHORT)
@pytest.mark.parametrize("how", ["forfeit", "truncate"])
def test_nobody_is_to_move_in_a_picture_after_the_end(env: str, how: str) -> None:
    for seed in (41, 43):
        episode, rng = Episode(palestra.game(env, **CUT_SHORT[env]), seed), Rng(seed)
        for _ in range(5):
            episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
        going_on = scene_of(episode, None)
        assert going_on == episode.scene()
        if how == "forfeit":
            episode.forfeit(episode.to_act[0], "the flag fell")
        else:
            episode.truncate("the hall is closed")
        for viewer in (None, *range(episode.game.num_players)):
            shown = scene_of(episode, viewer)
            people = [p for part in shown.all_parts() for p in getattr(part, "people", ())]
            assert not any(person.acting for person in people)
            assert shown.caption == (ending_text(episode) if going_on.caption else "")
            assert shown.with_parts(()).colours == episode.scene(viewer).colours
