"""Boards on terminals whose own colours nobody knows: each side is legible, and tells itself apart.

The scenes are those of all environments after some random play.
"""

from __future__ import annotations

import re
from functools import cache
from io import StringIO

import palestra
import pytest
from palestra import Episode, Grid, Piece, Rng, Scene
from palestra.scene import Hex, HexCorner, HexEdge, Hexes, mark_cells
from palestra.testing.subject import play_on
from palestra_renderers.human import HumanAgent, Terminal
from palestra_renderers.plain import broken, event_lines
from palestra_renderers.terminal import TerminalRenderer, coloured_grid, scene_texts
from palestra_renderers.theme import luminance
from palestra_renderers.words import hex_lines
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

ENVIRONMENTS = [spec.id for spec in palestra.specs()]
SIDES = ("black", "white", "light", "dark")
LEGIBLE = 3.0  # contrast of large letters, WCAG 2.2


@cache
def grids(env: str) -> list[Grid]:
    """The boards of some moments of an episode, as a spectator sees them."""
    episode = Episode(palestra.game(env), 3, compiled=False)
    scenes = [episode.scene(), *(episode.scene() for _ in play_on(episode, Rng(8), 12))]
    return [part for scene in scenes for part in scene.all_parts() if isinstance(part, Grid)]


def is_of_a_side(piece: Piece) -> bool:
    """Whether a piece belongs to somebody; words say themselves what they are."""
    mine = isinstance(piece.colour, int) and piece.colour >= 0
    return (mine or piece.colour in SIDES) and piece.shape not in ("word", "mark")


def glyph(piece: Piece) -> str:
    """What the terminal shows for one piece."""
    return coloured_grid(Grid(((piece,),))).plain.strip()


def contrast(style: Style) -> float:
    """Between the letters of a style and its own ground; 0 if it relies on the terminal's."""
    colours = (style.color, style.bgcolor)
    if None in colours or any(c is not None and c.is_default for c in colours):
        return 0.0
    low, high = sorted(luminance(tuple(c.get_truecolor())) for c in colours if c is not None)
    return (high + 0.05) / (low + 0.05)


def coloured(text: Text) -> list[Style]:
    """The styles of a text that name a colour."""
    styles = [Style.parse(str(span.style)) for span in text.spans]
    return [style for style in styles if style.color or style.bgcolor]


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_sides_differ_by_glyph_and_not_by_colour_alone(env: str) -> None:
    for grid in grids(env):
        owners: dict[str, object] = {}
        for piece in (piece for row in grid.cells for piece in row if piece):
            if is_of_a_side(piece):
                shown = glyph(piece)
                assert shown, f"{piece} is drawn as nothing"
                assert owners.setdefault(shown, piece.colour) == piece.colour, piece


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_no_piece_relies_on_the_ground_of_the_terminal(env: str) -> None:
    for grid in grids(env):
        for text in scene_texts(Scene(grid=grid)):
            for style in coloured(text):
                assert contrast(style) >= LEGIBLE, style


@pytest.mark.parametrize("colour", ["black", "white", "grey", "yellow", *range(-1, 9)])
def test_a_stone_of_any_colour_is_legible_on_any_ground(colour: int | str) -> None:
    (style,) = coloured(coloured_grid(Grid(((Piece("x", colour),),))))
    assert contrast(style) >= LEGIBLE


def test_marked_cells_are_in_brackets() -> None:
    stone = Piece("x", "black")
    grid = Grid(((stone, None, stone), (None, stone, stone)))
    marks = mark_cells("last", [(0, 2), (1, 0), (1, 1)])
    lines = coloured_grid(Grid(grid.cells, marks=marks)).plain.splitlines()
    assert lines == [" x ·[x]", "[· x]x "]


def test_an_island_is_told_with_its_grounds_roads_and_ports() -> None:
    tiles = (Hex(0, 0, "forest", Piece("6")), Hex(1, 0, "desert"), Hex(0, 1))
    edges = (
        HexEdge(0, 0, 0, 2, name="1-2"),
        HexEdge(0, 0, 1, 0, name="4-5"),
        HexEdge(0, 0, 2, 2, name="0-3"),
        HexEdge(0, 0, 3, "", name="7-8"),
    )
    corners = (
        HexCorner(0, 0, 0, Piece("1", shape="small", label="wool 2:1")),
        HexCorner(0, 0, 1, Piece("S", 2, label="settlement of player_2 at 2")),
        HexCorner(0, 0, 2, Piece("9", shape="small", label="wool 2:1")),
        HexCorner(0, 0, 3, Piece("5", shape="small")),
    )
    assert hex_lines(Hexes(tiles, corners=corners, edges=edges)) == [
        "6fo de",
        "  ·",
        "sides in the colour of seat 0: 4-5",
        "sides in the colour of seat 2: 1-2, 0-3",
        "settlement of player_2 at 2",
        "wool 2:1 at 1, 9",
    ]


@pytest.mark.parametrize("width", [60, 80, 33])
def test_what_is_said_to_a_person_breaks_between_words(width: int) -> None:
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    typed = iter(["?", "nonsense"])
    person = HumanAgent()
    person._place = Terminal(console, lambda prompt: next(typed, "fold"))
    palestra.play("games/Holdem-v0", agents=[person, "random"], seed=5)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    assert "raise to 4 … raise to 100" in said
    assert not {line.split(" ")[-1] for line in lines} & {"raise to 10", "l,"}


@pytest.mark.parametrize("env", ["games/Catan-v0", "grid/Pursuit-v0", "markets/TaxEconomy-v0"])
@pytest.mark.parametrize("size", [(80, 24), (60, 20), (60, 12), (100, 60)])
def test_a_live_board_fits_its_terminal_with_the_latest_event(
    env: str, size: tuple[int, int]
) -> None:
    out, (width, height) = StringIO(), size
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    live = TerminalRenderer(console)
    episode = Episode(palestra.game(env), 5, compiled=False)
    _ = episode.log
    for _moment in play_on(episode, Rng(8), 12):
        live.draw(episode, None)
    live.close()
    with console.capture() as kept:
        console.print(live._picture(episode, None))
    lines = kept.get().splitlines()
    assert len(lines) < height
    assert max(map(cell_len, lines)) <= width
    text = " ".join(" ".join(line.strip("│ ") for line in lines).split())
    assert all(name in text for name in episode.game.players)
    latest = event_lines(episode, None)[-1]
    assert " ".join(latest.split()) in text


@pytest.mark.parametrize("width", [33, 60, 80])
def test_a_long_list_of_moves_breaks_after_its_bars(width: int) -> None:
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    person = HumanAgent()

    def leave(_prompt: str) -> str:
        raise EOFError

    person._place = Terminal(console, leave)
    with pytest.raises(KeyboardInterrupt):
        palestra.play("games/Catan-v0", agents=[person, *["random"] * 3], seed=5)
    lines = out.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    asked = "".join(lines)
    assert f"Settle(corner={'|'.join(map(str, range(54)))})" in asked
    inside = [line for line in lines if line.count("|") > 3]
    assert len(inside) > 2
    assert all(line.endswith(("|", ")")) for line in inside)


@pytest.mark.parametrize("text", ["", "a", "one two  three", "  indented words here", "x|y" * 40])
@pytest.mark.parametrize("width", [1, 4, 9, 50])
def test_a_broken_line_keeps_all_its_letters(text: str, width: int) -> None:
    lines = broken(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    words = text.split()
    if max(map(len, words), default=0) <= width and not text.startswith(" "):
        assert [word for line in lines for word in line.split()] == words
        assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize(("players", "size"), [(30, (60, 20)), (100, (80, 24)), (57, (100, 14))])
def test_many_seats_leave_half_of_a_low_terminal_to_the_board(
    players: int, size: tuple[int, int]
) -> None:
    console = Console(
        file=StringIO(), width=size[0], height=size[1], force_terminal=True, color_system=None
    )
    live = TerminalRenderer(console)
    episode = Episode(palestra.game("markets/DoubleAuction-v0", num_players=players), 6011)
    for _moment in play_on(episode, Rng(8), 9):
        pass
    with console.capture() as kept:
        console.print(live._picture(episode, None))
    lines = [line.strip("│ ") for line in kept.get().splitlines()[1:-1]]
    empty = lines.index("")
    assert empty >= (size[1] - 3) // 2 - 2
    seats = " ".join(lines[empty:])
    shown = re.findall(r"\S [> ] player_\d+", seats)
    assert all(f"> player_{seat}" in seats for seat in episode.to_act)
    more = re.search(r"and (\d+) more", seats)
    assert len(shown) + int(more[1] if more else 0) == players


@pytest.mark.parametrize("env", ["games/Chess-v0", "games/ConnectFour-v0", "grid/Pursuit-v0"])
def test_no_empty_line_follows_a_board(env: str) -> None:
    board, *_ = (text for text in scene_texts(Scene(grid=grids(env)[-1])) if "\n" in text.plain)
    assert board.plain.splitlines()[-1].strip()
    assert not board.plain.endswith("\n")


def test_the_robber_is_told_from_the_number_of_its_hex() -> None:
    episode = Episode(palestra.game("games/Catan-v0"), 5, compiled=False)
    places = set()
    for _moment in play_on(episode, Rng(8), 60):
        (board,) = [p for p in episode.scene().all_parts() if isinstance(p, Hexes)]
        island = hex_lines(board)[: len({tile.r for tile in board.tiles})]
        found = re.findall(r"R\d*[a-z]{2}", " ".join(island))
        assert len(found) == 1
        assert len(re.findall(r"[a-z]{2}\b", " ".join(island))) == len(board.tiles)
        places.add(found[0])
    assert len(places) > 1  # it moved
