"""Othello against published counts, a solved board and another implementation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.rules import turn_to
from palestra.testing.perft import perft
from palestra_games.board.othello import Othello, find_placements

GAME = Othello()
PASS = 64
EMPTY = "........ " * 7  # seven empty rows


def position(rows: str, mover: int, size: int = 8) -> Episode:
    """An episode standing at a board written in rows of `.`, `X` and `O`."""
    game = Othello(size)
    episode = Episode(game, 0, compiled=False)
    state = episode.state
    for number, row in enumerate(rows.split()):
        for seat, mark in enumerate("XO"):
            state.discs[seat, number] = sum(1 << c for c in range(size) if row[c] == mark)
    find_placements(game.config, state, mover)
    turn_to(state, mover)
    episode.load(state)
    return episode


def board(episode: Episode) -> list[str]:
    """The rows of the text view without labels and spaces."""
    lines = episode.describe(0).splitlines()[2:-1]
    return ["".join(line.split()[1:]) for line in lines]


def write(episode: Episode, *moves: str) -> None:
    """Play written moves."""
    for move in moves:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})


def test_the_start_is_the_standard_one() -> None:
    episode = Episode(GAME, 0, compiled=False)
    assert board(episode) == [
        "........",
        "........",
        "........",
        "...OX...",
        "...XO...",
        "........",
        "........",
        "........",
    ]
    assert episode.to_act == (0,)
    assert episode.legal_text(0) == "d3, c4, f5, e6"


@pytest.mark.parametrize(
    ("name", "moves", "rows"),
    [
        ("column", "d3", "...X.... ...XX... ...XO..."),
        ("two directions", "d3 c3 c4", "..OX.... ..XXX... ...XO..."),
        ("diagonal", "d3 c3 c4 e3", "..OOO... ..XXO... ...XO..."),
    ],
)
def test_enclosed_discs_turn_over(name: str, moves: str, rows: str) -> None:
    episode = Episode(GAME, 0, compiled=False)
    write(episode, *moves.split())
    assert board(episode)[2:5] == rows.split(), name


def test_all_eight_directions_turn_over_at_once() -> None:
    star = "X..X..X. .O.O.O.. ..OOO... XOO.OOX. ..OOO... .O.O.O.. X..X..X."
    episode = position(f"{star} ........", mover=0)
    write(episode, "d4")
    turned = star.replace("O", "X").replace("XXX.XXX", "XXXXXXX")
    assert board(episode)[:7] == turned.split()


def test_lines_end_at_the_edge_and_at_gaps() -> None:
    edge = position("OO.XO.OX " + EMPTY, mover=0)
    assert edge.legal_text(0) == "f1"  # not c1: its line runs off the board
    write(edge, "f1")
    assert board(edge)[0] == "OO.XXXXX"


def test_a_placement_that_turns_nothing_over_is_refused() -> None:
    episode = Episode(GAME, 0, compiled=False)
    for text in ("a1", "d4", "e3", "pass"):
        with pytest.raises(InvalidAction, match="no legal move"):
            episode.parse(0, text)


def test_who_has_no_placement_passes_while_the_other_has_one() -> None:
    episode = position("XO.XO... " + EMPTY, mover=0)
    write(episode, "c1")
    assert episode.to_act == (1,)
    assert episode.legal_text(1) == "pass"
    write(episode, "pass")
    assert board(episode)[0] == "XXXXO..."
    assert episode.to_act == (0,)
    assert episode.legal_text(0) == "f1"


@pytest.mark.parametrize(
    ("name", "rows", "results"),
    [
        ("all of one colour", "XO...... ", ("win", "loss")),
        ("more of the other", "XO..OOOO ", ("loss", "win")),
        ("even", "XO...OOO ", ("draw", "draw")),
    ],
)
def test_the_game_ends_when_neither_has_a_placement(
    name: str, rows: str, results: tuple[str, str]
) -> None:
    episode = position(rows + EMPTY, mover=0)
    write(episode, "c1")
    assert episode.outcome is not None, name
    assert episode.outcome.results == results
    paid = {"win": 1.0, "loss": -1.0, "draw": 0.0}
    assert list(episode.returns) == [paid[result] for result in results]


def test_move_sequences_match_the_published_counts() -> None:
    assert perft(GAME, 8) == [4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216]


@pytest.mark.essential
def test_random_games_agree_with_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("othello")
    rng, passes, ends = random.Random(0), 0, set()
    for _ in range(150):
        state, episode = theirs.new_initial_state(), Episode(GAME, 0)
        while not state.is_terminal():
            seat = state.current_player()
            assert episode.to_act == (seat,)
            assert board(episode) == their_board(state)
            assert episode.legal_actions() == state.legal_actions()
            action = rng.choice(state.legal_actions())
            written = GAME.action_text(episode.state, seat, action)
            assert written == state.action_to_string(seat, action)
            passes += action == PASS
            state.apply_action(action)
            episode.act({seat: action})
        assert board(episode) == their_board(state)
        assert list(episode.returns) == state.returns()
        assert episode.outcome is not None
        ends.add(episode.outcome.results)
    assert passes > 20
    assert ends == {("win", "loss"), ("loss", "win"), ("draw", "draw")}


def their_board(state: Any) -> list[str]:
    """OpenSpiel's picture in the characters of ours."""
    lines = [line.split() for line in str(state).splitlines()]
    rows = ["".join(line[1:-1]) for line in lines if line and line[0] in "12345678"]
    return [row.replace("-", ".").upper() for row in rows]


def enclosed(rows: list[str], row: int, column: int, own: str, other: str) -> set[tuple[int, int]]:
    """What a disc would turn over, looked for along written lines."""
    found: set[tuple[int, int]] = set()
    for south, east in [(s, e) for s in (-1, 0, 1) for e in (-1, 0, 1) if s or e]:
        cells = list(walk(len(rows), row, column, south, east))
        line = "".join(rows[r][c] for r, c in cells)
        length = len(line) - len(line.lstrip(other))
        if line[length : length + 1] == own:
            found.update(cells[:length])
    return found


def walk(size: int, row: int, column: int, south: int, east: int) -> Iterator[tuple[int, int]]:
    row, column = row + south, column + east
    while 0 <= row < size and 0 <= column < size:
        yield row, column
        row, column = row + south, column + east


@pytest.mark.parametrize("size", [4, 6, 10])
def test_other_sizes_follow_the_rules_written_the_long_way(size: int) -> None:
    for seed in range(6):
        episode, rng = Episode(Othello(size), seed, compiled=False), Rng(seed)
        while not episode.over:
            seat, rows = episode.to_act[0], board(episode)
            own, other = ("X", "O") if seat == 0 else ("O", "X")
            cells = [(r, c) for r in range(size) for c in range(size) if rows[r][c] == "."]
            turned = {cell: enclosed(rows, *cell, own, other) for cell in cells}
            expected = [r * size + c for (r, c), discs in turned.items() if discs]
            assert episode.legal_actions() == (expected or [size * size])
            action = rng.choice(episode.legal_actions())
            episode.act({seat: action})
            if expected:
                for r, c in {divmod(action, size), *turned[divmod(action, size)]}:
                    rows[r] = rows[r][:c] + own + rows[r][c + 1 :]
            assert board(episode) == rows


def test_the_second_player_wins_the_small_board() -> None:
    records = palestra.play(
        "games/Othello-v0", agents=["minimax", "minimax"], episodes=1, seed=0, size=4
    )
    assert records[0].outcome.results == ("loss", "win")


@pytest.mark.parametrize("size", [2, 7, 12])
def test_boards_that_do_not_exist_are_refused(size: int) -> None:
    with pytest.raises(InvalidOption, match="size must be 4 or 6 or 8 or 10"):
        palestra.game("games/Othello-v0", size=size)
