"""Every player who stands somewhere is in the picture, also where others stand on the same cell."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import ArrayGame, Episode, Grid, Piece, Rng, Scene
from palestra.scene import on_top
from palestra.testing.subject import play_on
from palestra_renderers.html import piece_words
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.seats import lay_seats
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Circle, Layer, Mark, Sprite
from palestra_renderers.theme import paint_of
from palestra_renderers.words import scene_lines

STANDING = ("car", "cook", "person", "robot")  # the sprites of players
PLACES = ("cell", "row", "column", "place", "hunters", "cars")  # fields of a state, by seat


def figures(scene: Scene, players: tuple[str, ...]) -> list[Piece]:
    """The pieces of players on the boards of a scene."""
    grids = [part for part in scene.all_parts() if isinstance(part, Grid)]
    pieces = [piece for grid in grids for row in grid.cells for piece in row if piece]
    stacks = [one for piece in pieces for one in piece.stack()]
    return [p for p in stacks if p.sprite in STANDING and p.label.split(",")[0] in players]


def names(scene: Scene, players: tuple[str, ...]) -> list[str]:
    return sorted(piece.label.split(",")[0] for piece in figures(scene, players))


@cache
def episode(env: str) -> Episode:
    return Episode(palestra.game(env), 3, compiled=False)


def stands(env: str) -> bool:
    game = episode(env).game
    return bool(game.num_players > 1 and figures(episode(env).scene(), game.players))


ENVIRONMENTS = [spec.id for spec in palestra.specs() if stands(spec.id)]


def heap(env: str) -> tuple[Scene, tuple[str, ...]]:
    """The picture of a state in which all players are on the cell of the first."""
    game: Any = episode(env).game
    state = game.clone(episode(env).state)
    for name in PLACES:
        places = getattr(state, name, None)
        if isinstance(places, np.ndarray) and len(places) >= game.num_players:
            places[: game.num_players] = places[0]
    return game.scene(state), game.players


def test_there_are_environments_to_try() -> None:
    assert len(ENVIRONMENTS) > 10


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_nobody_leaves_the_picture_during_an_episode(env: str) -> None:
    running = episode(env).fork()
    everybody = sorted(running.game.players)
    assert names(running.scene(), running.game.players) == everybody
    for _ in play_on(running, Rng(8), 40):
        assert names(running.scene(), running.game.players) == everybody


APART = ("grid/CleanUp", "grid/Harvest")  # one player a cell: the rules ask who is on it
HEAPS = [
    env
    for env in ENVIRONMENTS
    if isinstance(episode(env).game, ArrayGame) and not env.startswith(APART)
]


@pytest.mark.parametrize("env", HEAPS)
def test_players_on_one_cell_are_all_in_the_scene(env: str) -> None:
    scene, players = heap(env)
    assert names(scene, players) == sorted(players)


@pytest.mark.parametrize("env", HEAPS)
def test_renderers_draw_all_players_on_one_cell(env: str) -> None:
    scene, players = heap(env)
    found = figures(scene, players)
    text = "\n".join(scene_lines(scene))
    sheet = Sheet(480, 20)
    lay_out(scene, sheet, 0, 480)
    drawn = paints(sheet.marks)
    for piece in found:
        assert piece.glyph in text
        assert paint_of(piece.colour) in drawn, piece


def paints(marks: list[Mark] | tuple[Mark, ...]) -> set[str]:
    """The colours of figures: sprites and discs."""
    found: set[str] = set()
    for mark in marks:
        if isinstance(mark, Layer):
            found |= paints(mark.marks)
        elif isinstance(mark, Sprite):
            found.add(mark.colour)
        elif isinstance(mark, Circle):
            found.add(mark.fill)
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9, 10, 30])
@pytest.mark.parametrize("side", [4, 20, 60])
def test_a_heap_of_any_size_is_drawn_in_its_cell_without_overlap(count: int, side: int) -> None:
    pile: Piece | None = None
    for seat in range(count):
        pile = on_top(pile, Piece(str(seat), seat % 8, "disc", f"player_{seat}"))
    assert pile is not None
    everybody = tuple(f"player_{seat}" for seat in range(count))
    assert all(name in piece_words(pile, everybody) for name in everybody)
    assert [one.label for one in pile.stack()] == [f"player_{n}" for n in reversed(range(count))]
    sheet = Sheet(480, 20)
    room = 480 / side
    empty = (None,) * side
    lay_out(Scene(grid=Grid(((pile, *empty[1:]), *(empty,) * (side - 1)))), sheet, 0, 480)
    (cell,) = [m for m in sheet.marks if isinstance(m, Layer) and m.width <= room + 1]
    discs = [mark for mark in cell.marks if isinstance(mark, Circle)]
    assert len(discs) == count
    assert len({(disc.x, disc.y) for disc in discs}) == count
    assert all(d.radius <= d.x <= cell.width - d.radius for d in discs)


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_a_player_has_one_colour_on_the_board_and_in_the_list_of_seats(env: str) -> None:
    shown, players = episode(env).scene(), episode(env).game.players
    for piece in figures(shown, players):
        seat = players.index(piece.label.split(",")[0])
        assert paint_of(piece.colour) == paint_of(shown.colour_of(seat)), piece


@pytest.mark.parametrize(
    ("env", "options", "paints"),
    [
        ("games/Chess-v0", {}, ["white", "black"]),
        ("games/Othello-v0", {}, ["black", "white"]),
        ("games/Gomoku-v0", {}, ["black", "white"]),
        ("games/ConnectFour-v0", {}, ["seat0", "seat1"]),
        ("games/Codenames-v0", {}, ["red", "red", "blue", "blue"]),
        ("grid/CarBall-v0", {"num_players": 4}, ["seat0", "seat0", "seat1", "seat1"]),
    ],
)
def test_the_list_of_seats_has_the_colours_of_their_men(
    env: str, options: dict[str, Any], paints: list[str]
) -> None:
    played = Episode(palestra.game(env, **options), 3)
    sheet = Sheet(480, 20)
    names, scene = list(played.players), played.scene()
    lay_seats(names, "", 480, sheet, scene.colour_of)
    assert [mark.fill for mark in sheet.marks if isinstance(mark, Circle)] == paints
    on_board = {piece.colour for part in scene.all_parts() if isinstance(part, Grid)
                for row in part.cells for piece in row if piece}  # fmt: skip
    if env in ("games/Chess-v0", "games/Othello-v0"):
        assert on_board == {"white", "black"}
