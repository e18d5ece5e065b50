"""Every environment drawn in every mode; secrets, hostile text and missing parts."""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Bar, Episode, Event, Grid, Piece, Rng, Scene
from palestra.kernel.registry import load_game, renderer
from palestra.scene import Card, Cards
from palestra.views.vector import VectorView
from palestra_renderers import drawing
from palestra_renderers.animation import record_frames, save_strip
from palestra_renderers.drawing import pygame
from palestra_renderers.html import export as export_html
from palestra_renderers.lettering import text_width, wrap
from palestra_renderers.picture import Painter, RgbRenderer
from palestra_renderers.plain import clean, event_lines
from palestra_renderers.svg import MarkTable
from palestra_renderers.terminal import TerminalRenderer
from palestra_renderers.words import AnsiRenderer, scene_lines
from PIL import Image
from rich.console import Console

ENVIRONMENTS = [spec.id for spec in palestra.specs()]


@cache
def moments(env: str) -> list[Episode]:
    """An episode at its start, in the middle and at its end."""
    spec = next(spec for spec in palestra.specs() if spec.id == env)
    episode, rng = Episode(load_game(spec, {}), 3, spec=spec, compiled=False), Rng(5)
    stages = [episode.fork()]
    while not episode.over:
        state = episode.state
        episode.act({p: episode.game.sample(state, p, rng) for p in episode.to_act})
        stages.append(episode.fork())
    return [stages[0], stages[len(stages) // 2], stages[-1]]


def record_of(env: str, agents: list[str]) -> palestra.EpisodeRecord:
    (record,) = palestra.play(env, agents=agents, seed=4)
    return record


def page_episodes(path: Path) -> list[dict[str, Any]]:
    block = r'<script type="application/json">(.*?)</script>'
    _, *found = re.findall(block, path.read_text("utf-8"), re.DOTALL)
    return [json.loads(episode) for episode in found]


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_environment_is_drawn_from_start_to_end(env: str) -> None:
    for episode in moments(env):
        for viewer in (None, *range(episode.game.num_players)):
            frame = RgbRenderer().draw(episode, viewer)
            assert frame.shape == (480, 480, 3)
            assert len(np.unique(frame @ np.array([1, 256, 65536]))) > 3  # colours
            assert AnsiRenderer().draw(episode, viewer).strip()


@pytest.mark.parametrize("env", ENVIRONMENTS)
@pytest.mark.parametrize("terminal", [True, False])
def test_terminal_shows_every_environment(env: str, terminal: bool) -> None:
    out = io.StringIO()
    artist = TerminalRenderer(Console(file=out, force_terminal=terminal, width=120))
    artist.names = ("somebody",)
    for episode in moments(env):
        artist.draw(episode, None)
    artist.close()
    assert len(out.getvalue()) > 40
    assert ("\x1b" in out.getvalue()) == terminal


@pytest.mark.parametrize("size", [(200, 200), (640, 360), (1200, 900)])
def test_pictures_come_in_the_size_that_was_asked_for(size: tuple[int, int]) -> None:
    frame = RgbRenderer(size).draw(moments("games/ConnectFour-v0")[-1], None)
    assert frame.shape == (size[1], size[0], 3)


def test_a_picture_differs_where_the_position_differs() -> None:
    first, _, last = moments("games/TicTacToe-v0")
    artist = RgbRenderer()
    blank = artist.draw(first, None)
    assert not np.array_equal(blank, artist.draw(last, None))
    assert np.array_equal(blank, artist.draw(first, None))


def test_more_seats_than_fit_one_column_are_all_shown() -> None:
    status = [f"  player_{seat}: 0" for seat in range(10)]
    painter = Painter()
    painter.paint(Scene(), status[:9], [])
    nine = painter.array()
    painter.paint(Scene(), status, [])
    assert not np.array_equal(nine, painter.array())


def test_no_seat_reads_what_the_other_holds() -> None:
    record = record_of("games/KuhnPoker-v0", ["random", "random"])
    start = Episode(palestra.game("games/KuhnPoker-v0"), record.seed)
    for viewer in (0, 1):
        own = "\n".join(scene_lines(start.scene(viewer)))
        assert own != "\n".join(scene_lines(start.scene(None)))
        assert "?" in own


def test_the_page_of_a_seat_holds_no_secret(tmp_path: Path) -> None:
    record = record_of("text/Negotiation-v0", ["negotiator", "negotiator:style=greedy"])
    secret = [e.text for e in record.events if e.audience is not None and 1 in e.audience]
    assert secret
    whole = export_html([record], tmp_path / "all.html").read_text("utf-8")
    seat = export_html([record], tmp_path / "seat.html", viewer=0).read_text("utf-8")
    for text in secret:
        assert json.dumps(text)[1:-1] in whole
        assert json.dumps(text)[1:-1] not in seat
    assert "worth to player_1" in whole
    assert "worth to player_1" not in seat


def test_the_policy_of_a_page_names_the_hash_of_its_only_script(tmp_path: Path) -> None:
    record = record_of("games/TicTacToe-v0", ["first", "random"])
    page = export_html([record], tmp_path / "page.html").read_text("utf-8")
    scripts = dict.fromkeys(re.findall(r"<script([^>]*)>", page))
    assert list(scripts) == [' type="application/json"', ""]  # data, and what runs
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'; style-src" in page


HIDDEN = [
    spec.id
    for spec in palestra.specs()
    if not load_game(spec, {}).perfect_information and load_game(spec, {}).num_players > 1
]


@pytest.mark.exhaustive(sample=15)
@pytest.mark.parametrize("env", HIDDEN)
def test_no_page_of_a_seat_holds_what_others_were_told(env: str, tmp_path: Path) -> None:
    """Neither the words of an event that the seat is not told of nor another's move and pay."""
    game = palestra.game(env)
    short = {"max_steps": 50} if hasattr(game, "max_steps") else {}
    agents = ["random"] * game.num_players
    (record,) = palestra.play(env, agents=agents, seed=6, **short)
    episode = palestra.replay(record)
    for viewer in {0, episode.game.num_players - 1}:
        path = export_html([record], tmp_path / f"{viewer}.html", viewer=viewer)
        page = path.read_text("utf-8")
        (shown,) = page_episodes(path)
        known = "\n".join(event.text for event in record.transcript(viewer))  # to all who sat there
        for event in episode.events:
            if not event.visible_to(viewer) and event.text not in known:
                assert json.dumps(event.text)[1:-1].replace("<", "\\u003c") not in page
        assert shown["seed"] is None
        for frame in shown["frames"]:
            others = [turn for turn in frame["turns"] if turn["player"] != viewer]
            assert all(turn["text"] == "(not shown to this seat)" for turn in others)
            assert not any("mind" in turn for turn in others)
            assert not any(turn["rewards"] for turn in others)
            paid = [value for seat, value in enumerate(frame["returns"]) if seat != viewer]
            assert frame["end"] or paid == [None] * len(paid)


@pytest.mark.parametrize("env", HIDDEN)
def test_a_seats_pictures_stay_the_same_when_what_it_cannot_know_is_drawn_anew(env: str) -> None:
    changed = 0
    for episode in moments(env)[:2]:
        game, base = episode.game, episode.fork()
        base.load(episode.state)
        for viewer in {0, game.num_players - 1}:
            other = episode.fork()
            other.load(game.determinize(episode.state, viewer, Rng(9)))
            changed += game.state_key(other.state) != game.state_key(base.state)
            assert AnsiRenderer().draw(base, viewer) == AnsiRenderer().draw(other, viewer)
            assert page_marks(base.scene(viewer)) == page_marks(other.scene(viewer))
            frames = [RgbRenderer().draw(one, viewer) for one in (base, other)]
            assert np.array_equal(*frames)
    assert changed


def page_marks(scene: Scene) -> tuple[Any, ...]:
    """Everything that a page says of a scene."""
    table = MarkTable()
    return table.picture(scene), table.marks, table.sprites


def test_a_spectator_reads_to_whom_things_are_told() -> None:
    episode = Episode(palestra.game("text/Negotiation-v0"), 0)
    assert any(line.startswith("(to player_1) ") for line in event_lines(episode, None))
    assert not any("(to " in line for line in event_lines(episode, 0))


def test_the_page_needs_no_network_and_no_tag_escapes_it(tmp_path: Path) -> None:
    from palestra_envs.text.negotiation.game import Say, Walk

    def hostile(turn: palestra.Turn) -> Any:
        return (
            Say(text="</script><script>alert(1)</script>\x1b[31m\u202e")
            if not turn.steps_played
            else Walk()
        )

    record = record_of("text/Negotiation-v0", [hostile, hostile])  # type: ignore[list-item]
    path = export_html([record], tmp_path / "replay.html")
    text = path.read_text("utf-8")
    assert text.count("</script>") == 3  # the index, the episode's data, the script
    assert "\x1b" not in text
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]
    (episode,) = page_episodes(path)
    assert len(episode["frames"]) == len(record.steps) + 1
    assert episode["frames"][-1]["end"]


def test_the_animation_has_a_frame_a_step(tmp_path: Path) -> None:
    record = record_of("games/TicTacToe-v0", ["first", "first"])
    export = renderer(None, "gif")
    path = export([record], tmp_path / "deep" / "replay.gif")
    with Image.open(path) as image:
        assert image.n_frames == len(record.steps) + 1  # type: ignore[attr-defined]
    assert [p.name for p in path.parent.iterdir()] == ["replay.gif"]


def test_a_strip_holds_every_frame(tmp_path: Path) -> None:
    record = record_of("games/TicTacToe-v0", ["first", "first"])
    frames = list(record_frames(record, size=(120, 120)))
    path = save_strip(tmp_path / "strip.png", frames, columns=4)
    with Image.open(path) as image:
        assert image.size == (480, 120 * -(-len(frames) // 4))


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "\u202eabc", "\x07", "\ud800"])
def test_control_characters_are_never_shown(text: str) -> None:
    assert not set(clean(text)) & set("\x1b\n\u202e\x07\ud800")


def test_long_text_is_clipped_and_wrapped() -> None:
    assert len(clean("x" * 100_000)) < 500
    assert wrap("aaa bbb ccc", text_width("aaa bbb", 20), 20) == ["aaa bbb", "ccc"]
    assert wrap("x" * 10, text_width("xxxx", 20), 20) == ["xxxx", "xxxx", "xx"]
    assert wrap("x" * 3, 1, 20) == ["x", "x", "x"]


def test_scenes_of_every_part_are_drawn() -> None:
    grid = Grid(
        ((Piece("X", 0, "mark"), None), (Piece("?", 1, "mark"), Piece("9", -1, "card"))),
        row_labels=("1", "2"),
        column_labels=("a", "b"),
        style="checkered",
        shaded=frozenset({(0, 1)}),
        marks=(("last", (1, 0)),),
    )
    bars = (Bar("stock", 3, 0), Bar("gold", 2, 4, 1))
    hand = Cards("player_0", (Card("K"), Card(hidden=True)))
    scene = Scene("A caption", grid, bars, ("line",), parts=(hand,))
    lines = scene_lines(scene)
    assert "A caption" in lines
    assert "player_0: [K] [?]" in lines
    assert any("░" in line for line in lines)
    painter = Painter()
    painter.paint(scene, ["  player_0: 0"], ["told"])
    assert len(np.unique(painter.array().reshape(-1, 3), axis=0)) > 6


def test_unknown_mode_names_the_modes() -> None:
    with pytest.raises(palestra.UnknownName, match="terminal"):
        renderer(None, "hologram")


def test_a_missing_pygame_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pygame", None)
    pygame.cache_clear()
    with pytest.raises(palestra.MissingExtra, match=re.escape("palestra-renderers[pygame]")):
        Painter()


def test_pictures_never_start_the_telling_of_an_array_game() -> None:
    episode = Episode(palestra.game("games/TicTacToe-v0"), 0, compiled=False)
    episode.act({0: 0})
    RgbRenderer().draw(episode, None)
    assert not episode.log_is_ready
    assert isinstance(episode.events[-1], Event)


@pytest.mark.parametrize("again", [False, True])
def test_pictures_are_drawn_after_somebody_has_closed_pygame(again: bool) -> None:
    """As Gymnasium's own environments do when they are closed."""
    env = palestra.make("games/KuhnPoker-v0", view="gym", render_mode="rgb_array", compiled=False)
    env.reset(seed=1)
    before = env.render()
    pygame().quit()
    if again:
        pygame().init()
        pygame().mixer.quit()  # which `init` has opened, and no other test expects
    drawing.words.cache_clear()  # which a longer program would have filled with other lines
    drawing.words_on.cache_clear()
    assert np.array_equal(env.render(), before)


@pytest.mark.parametrize("view", ["gym", "aec", "parallel", "vector"])
def test_an_environment_that_has_drawn_can_be_copied_and_pickled(view: str) -> None:
    chosen: Any = {"render_mode": "rgb_array", "compiled": False}
    if view == "vector":
        env: Any = VectorView("games/ConnectFour-v0", 2, **chosen)
    else:
        env = palestra.make("games/ConnectFour-v0", view=view, **chosen)
    env.reset(seed=1)
    before = np.asarray(env.render())
    twins = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    moves = {"aec": 3, "gym": 3, "parallel": {"player_0": 3}, "vector": np.array([3, 2])}
    env.step(moves[view])
    assert not np.array_equal(env.render(), before)
    for twin in twins:
        assert np.array_equal(twin.render(), before)
        twin.step(moves[view])
        assert np.array_equal(twin.render(), env.render())
