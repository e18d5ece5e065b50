"""The window, driven by the events a person would cause, without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Decision, Episode, Rng, Usage
from palestra.records.record import TurnNote
from palestra.scene import Lines
from palestra_renderers.drawing import pygame
from palestra_renderers.public import VEILED, public_lines, public_scene
from palestra_renderers.side_panel import usage_by_seat
from palestra_renderers.window import WindowRenderer, written_moves
from palestra_renderers.words import scene_lines
from PIL import Image


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    yield
    pygame().display.quit()


@pytest.fixture
def window(tmp_path: Path) -> WindowRenderer:
    made = WindowRenderer()
    made.pause, made.pictures = 0.0, tmp_path
    return made


def press(*names: str) -> None:
    """Post the keys of a keyboard; "space", "left" and so on, or a letter."""
    module = pygame()
    for name in names:
        letter = name if len(name) == 1 else ""
        code = 0 if name == "+" else module.key.key_code(name)
        module.event.post(module.event.Event(module.KEYDOWN, key=code, unicode=letter))


def episode_of(env: str, steps: int = 0) -> Episode:
    spec = next(spec for spec in palestra.specs() if spec.id == env)
    episode, rng = Episode(palestra.game(env), 3, spec=spec, compiled=False), Rng(5)
    for _ in range(steps):
        state = episode.state
        episode.act({p: episode.game.sample(state, p, rng) for p in episode.to_act})
    return episode


def pixels() -> Any:
    return pygame().surfarray.array3d(pygame().display.get_surface())


def shown_turns(window: WindowRenderer, folder: Path) -> list[int]:
    """The turns of the pictures that were saved, which is how a test sees what was shown."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in folder.glob("*.png"))


def test_a_paused_window_waits_for_a_step_and_goes_back(
    window: WindowRenderer, tmp_path: Path
) -> None:
    episode = episode_of("games/TicTacToe-v0")
    window.draw(episode, None)
    for cell in (0, 4):
        episode.act({episode.to_act[0]: cell})
        window.draw(episode, None)
    episode.act({0: 8})
    # back twice shows turn 1; forth twice shows the last; one step more returns
    press("space", "left", "left", "s", "right", "right", "s", "right")
    window.draw(episode, None)
    assert window.paused
    assert shown_turns(window, tmp_path) == [1, 3]
    press("space")
    episode.act({1: 1})
    window.draw(episode, None)
    assert not window.paused


def test_what_is_saved_is_what_is_shown(window: WindowRenderer, tmp_path: Path) -> None:
    episode = episode_of("games/ConnectFour-v0", 4)
    window.draw(episode, None)
    shown = pixels()
    press("s")
    window.draw(episode, None)
    with Image.open(tmp_path / "ConnectFour-v0-3-0004.png") as image:
        assert np.array_equal(np.asarray(image.convert("RGB")).swapaxes(0, 1), shown)


def test_speed_has_ends(window: WindowRenderer) -> None:
    episode = episode_of("games/TicTacToe-v0")
    window.draw(episode, None)
    press(*["+"] * 9)
    window.draw(episode, None)
    assert window.speed == 16
    press(*["-"] * 20)
    window.draw(episode, None)
    assert window.speed == 0.25


def test_the_view_goes_round_the_seats(window: WindowRenderer) -> None:
    episode = episode_of("games/KuhnPoker-v0")
    pictures = []
    for _ in range(4):
        window.draw(episode, None)
        pictures.append((window.view, pixels()))
        press("v")
    assert [view for view, _ in pictures] == [None, 0, 1, None]
    assert not np.array_equal(pictures[0][1], pictures[1][1])
    assert not np.array_equal(pictures[1][1], pictures[2][1])


def test_a_seats_window_cannot_be_talked_into_another_view(window: WindowRenderer) -> None:
    episode = episode_of("games/KuhnPoker-v0")
    window.draw(episode, 1)
    before = pixels()
    press("v", "h", "tab")
    window.draw(episode, 1)
    assert window.view == 1
    assert np.array_equal(before, pixels())


def test_hiding_secrets_hides_what_any_seat_cannot_see(window: WindowRenderer) -> None:
    pictures = []
    for seed in (0, 1, 2, 3):  # different deals
        episode = Episode(palestra.game("games/KuhnPoker-v0"), seed)
        window.draw(episode, None)
        press(*([] if pictures else ["h"]))
        window.draw(episode, None)
        pictures.append(pixels())
    assert all(np.array_equal(pictures[0], other) for other in pictures)


@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_the_public_scene_shows_only_what_every_seat_sees(env: str) -> None:
    episode = episode_of(env, 1)
    views = [set(scene_lines(episode.scene(s))) for s in range(episode.game.num_players)]
    scene = public_scene(episode)
    for line in (*scene.lines, scene.caption):
        assert all(set(line.splitlines()) <= view for view in views) or not line
    for seat in range(episode.game.num_players):
        known = [line for e in episode.transcript(seat) for line in e.text.split("\n")]
        assert set(public_lines(episode, 10**6)) <= set(known) or not known


MANY_HIDING = [s.id for s in palestra.specs() if s.players[1] > 1 and not s.perfect_information]


@pytest.mark.parametrize("env", MANY_HIDING)
def test_the_public_scene_is_the_same_whatever_is_hidden_from_any_seat(env: str) -> None:
    """A player may watch their own match: it shows them no more than their seat."""
    episode, rng = episode_of(env), Rng(5)
    for steps in range(4):
        if episode.over:
            return
        game, shown = episode.game, public_scene(episode)
        for seat in range(min(game.num_players, 3)):
            for draw in range(3):
                other = Episode(game, 0)
                other.load(game.determinize(episode.state, seat, Rng(draw)))
                assert public_scene(other) == shown, (steps, seat)
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})


@pytest.mark.parametrize(
    ("env", "veiled"),
    [("grid/Harvest-v0", True), ("grid/XLand-v0", True), ("grid/Kitchen-v0", False)],
)
def test_a_board_that_is_hidden_from_those_who_watch_says_so(env: str, veiled: bool) -> None:
    texts = [p.lines for p in public_scene(episode_of(env)).all_parts() if isinstance(p, Lines)]
    assert ((VEILED,) in texts) == veiled


def test_a_window_that_is_closed_stays_closed_and_the_episode_goes_on(
    window: WindowRenderer,
) -> None:
    episode = episode_of("games/TicTacToe-v0")
    window.draw(episode, None)
    pygame().event.post(pygame().event.Event(pygame().QUIT))
    window.draw(episode, None)
    assert not pygame().display.get_init()
    episode.act({0: 0})
    window.draw(episode, None)
    assert not pygame().display.get_init()


@pytest.mark.parametrize("key", ["q", "escape"])
def test_keys_close_it_too(window: WindowRenderer, key: str) -> None:
    episode = episode_of("games/TicTacToe-v0")
    window.draw(episode, None)
    press(key)
    window.draw(episode, None)
    assert not pygame().display.get_init()


def test_it_is_drawn_at_the_size_it_is_given(window: WindowRenderer) -> None:
    episode = episode_of("games/Chess-v0")
    window.draw(episode, None)
    for asked, given in (((1200, 800), (1200, 800)), ((10, 10), (360, 240))):
        module = pygame()
        module.event.post(
            module.event.Event(module.VIDEORESIZE, w=asked[0], h=asked[1], size=asked)
        )
        window.draw(episode, None)
        window.draw(episode, None)
        assert module.display.get_surface().get_size() == given


@pytest.mark.exhaustive(sample=20)
@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_every_environment_is_shown_from_start_to_end(env: str, window: WindowRenderer) -> None:
    episode, rng = episode_of(env), Rng(5)
    while not episode.over:
        if episode.steps_played in (0, 5):
            window.draw(episode, None)
            assert len(np.unique(pixels().reshape(-1, 3), axis=0)) > 3
        if episode.steps_played == 10:
            episode.truncate()
            break
        state = episode.state
        episode.act({p: episode.game.sample(state, p, rng) for p in episode.to_act})
    window.draw(episode, None)


def test_sound_is_never_opened(window: WindowRenderer) -> None:
    window.draw(episode_of("games/TicTacToe-v0"), None)
    assert pygame().mixer.get_init() is None


def test_a_new_episode_forgets_the_last(window: WindowRenderer, tmp_path: Path) -> None:
    window.draw(episode_of("games/TicTacToe-v0", 3), None)
    fresh = episode_of("games/TicTacToe-v0")
    press("space", "left", "s", "right")
    window.draw(fresh, None)
    assert shown_turns(window, tmp_path) == [0]


def test_tokens_and_costs_are_summed_by_seat_live_and_from_the_record() -> None:
    episode = episode_of("games/TicTacToe-v0")
    for cell in (0, 1, 2):
        seat = episode.to_act[0]
        took = Usage(tokens_in=10, tokens_out=cell, calls=1, cost=0.5)
        episode.act({seat: cell}, {seat: TurnNote(Decision(cell, usage=took))})
    episode.truncate()
    expected = [(22, 1.0), (11, 0.5)]
    assert [(u.tokens, u.cost) for u in usage_by_seat(episode)] == expected
    *_, last = palestra.retrace(palestra.record_episode(episode))
    assert [(u.tokens, u.cost) for u in usage_by_seat(last)] == expected


def test_moves_are_listed_as_they_are_written() -> None:
    assert written_moves(episode_of("games/ConnectFour-v0"), 0) == tuple("1234567")


def test_gymnasium_shows_it_while_it_plays() -> None:
    env = palestra.make("games/TicTacToe-v0", render_mode="human")
    env.reset(seed=0)
    assert pygame().display.get_init()
    env.close()
    assert not pygame().display.get_init()
