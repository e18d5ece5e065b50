"""Breakthrough against another implementation, and its rules at the edges."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.rules import turn_to
from palestra.testing.perft import perft
from palestra_games.board.breakthrough import Breakthrough


def position(rows: str, mover: int) -> Episode:
    """An episode standing at a board written from the top in rows of `.`, `X` and `O`."""
    lines = rows.split()
    game = Breakthrough(len(lines), len(lines[0]))
    episode = Episode(game, 0, compiled=False)
    state = episode.state
    state.board[:] = [[".XO".index(mark) for mark in line] for line in reversed(lines)]
    for seat in range(2):
        state.pieces[seat] = np.sum(state.board == seat + 1)
    turn_to(state, mover)
    episode.load(state)
    return episode


def board(episode: Episode) -> list[str]:
    """The rows of the text view, without labels and spaces."""
    lines = episode.describe(0).splitlines()[1:-1]
    return ["".join(line.split()[1:]) for line in lines]


def write(episode: Episode, *moves: str) -> None:
    """Play written moves."""
    for move in moves:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})


def moves(episode: Episode) -> set[str]:
    seat = episode.to_act[0]
    texts = episode.legal_text(seat).split(", ")
    assert len(texts) == len(set(texts))
    return set(texts)


def test_two_full_rows_face_each_other_at_the_start() -> None:
    episode = Episode(Breakthrough(rows=6, columns=3), 0, compiled=False)
    assert board(episode) == ["OOO", "OOO", "...", "...", "XXX", "XXX"]
    assert moves(episode) == {"a2-a3", "a2-b3", "b2-a3", "b2-b3", "b2-c3", "c2-b3", "c2-c3"}


@pytest.mark.parametrize(
    ("name", "rows", "mover", "legal"),
    [
        ("forward only", "..... O.... ..X.. .....", 0, {"c2-b3", "c2-c3", "c2-d3"}),
        ("captures on diagonals", "O.... .O.O. ..X.. .....", 0, {"c2-b3", "c2-c3", "c2-d3"}),
        ("blocked straight ahead", "O.... ..O.. ..X.. .....", 0, {"c2-b3", "c2-d3"}),
        ("own pieces block", "O.O.. XX... X.... .....", 0, {"a3-b4", "b3-b4", "b3-a4", "b3-c4"}),
        ("edges", "..O.. ..... X...X .....", 0, {"a2-a3", "a2-b3", "e2-d3", "e2-e3"}),
        ("the other way down", "..... ..O.. .X... ....X", 1, {"c3-b2", "c3-c2", "c3-d2"}),
    ],
)
def test_legal_moves(name: str, rows: str, mover: int, legal: set[str]) -> None:
    assert moves(position(rows, mover)) == legal, name


def test_a_capture_takes_the_piece_off_the_board() -> None:
    episode = position("O.... .O.O. ..X.. .....", mover=0)
    write(episode, "c2-b3")
    assert board(episode) == ["O....", ".X.O.", ".....", "....."]
    assert not episode.over
    write(episode, "a4-b3")
    assert board(episode)[1] == ".O.O."
    assert episode.outcome is not None
    assert episode.outcome.results == ("loss", "win")  # X has nothing left


@pytest.mark.parametrize(
    ("name", "rows", "mover", "move"),
    [
        ("X reaches the top", "O.... ..X.. O.... X....", 0, "c3-d4"),
        ("O reaches the bottom", "O.... X.... ..O.. X....", 1, "c2-c1"),
        ("X captures into the far row", "...OO ..X.. O.... X....", 0, "c3-d4"),
        ("X takes the last piece", "..... ...O. ..X.. X....", 0, "c2-d3"),
        ("O takes the last piece", "O.... ...O. ..X.. .....", 1, "d3-c2"),
    ],
)
def test_wins(name: str, rows: str, mover: int, move: str) -> None:
    episode = position(rows, mover)
    write(episode, move)
    assert episode.outcome is not None, name
    assert episode.outcome.winners == (mover,)
    assert episode.returns[mover] == 1.0
    assert episode.returns[1 - mover] == -1.0


def test_capturing_straight_ahead_and_moving_back_are_refused() -> None:
    episode = position("O.... ..O.. ..X.. .....", mover=0)
    for text in ("c2-c3", "c2-c1", "c2-d2", "c2xb3", "pass"):
        with pytest.raises(InvalidAction, match="no legal move"):
            episode.parse(0, text)


def test_each_player_sees_their_own_side_first() -> None:
    game = Breakthrough(rows=6, columns=4)
    episode = position("OOO. ...O .... X... .XXX ....", mover=0)
    mirrored = position(".... .OOO O... .... ...X XXX.", mover=1)
    assert (episode.observation(0) == mirrored.observation(1)).all()
    assert (episode.observation(1) == mirrored.observation(0)).all()
    assert (episode.action_mask(0) == mirrored.action_mask(1)).all()
    assert game.action_text(episode.state, 0, 3) == "b1-a2"
    assert game.action_text(mirrored.state, 1, 3) == "b6-a5"


def test_a_mover_always_has_a_move_and_somebody_always_wins() -> None:
    for rows, columns in ((4, 2), (4, 5), (5, 3), (7, 2)):
        for seed in range(20):
            episode, rng = Episode(Breakthrough(rows, columns), seed, compiled=False), Rng(seed)
            while not episode.over:
                episode.act({episode.to_act[0]: rng.choice(episode.legal_actions())})
            assert episode.outcome is not None
            assert len(episode.outcome.winners) == 1


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (6, 6), (7, 3)])
def test_random_games_agree_with_openspiel(rows: int, columns: int) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game(f"breakthrough(rows={rows},columns={columns})")
    game, rng, winners = Breakthrough(rows, columns), random.Random(0), set()
    for _ in range(25):
        state, episode = theirs.new_initial_state(), Episode(game, 0, compiled=False)
        while not state.is_terminal():
            seat = state.current_player()
            assert episode.to_act == (seat,)
            assert board(episode) == their_board(state, rows)
            written = {their_move(state, a, rows): a for a in state.legal_actions()}
            assert moves(episode) == set(written)
            move = rng.choice(sorted(written))
            state.apply_action(written[move])
            write(episode, move)
        assert board(episode) == their_board(state, rows)
        assert list(episode.returns) == state.returns()
        assert episode.outcome is not None
        winners.update(episode.outcome.winners)
    assert winners == {0, 1}


def their_board(state: Any, rows: int) -> list[str]:
    """OpenSpiel's picture in our characters: its first player starts at the top."""
    lines = str(state).splitlines()[:rows]
    return [line[1:].replace("b", "X").replace("w", "O") for line in reversed(lines)]


def their_move(state: Any, action: int, rows: int) -> str:
    """OpenSpiel's words for a move in ours: its rows are numbered from the other end."""
    start, end = (state.action_to_string(action)[i : i + 2] for i in (0, 2))
    return "-".join(f"{square[0]}{rows + 1 - int(square[1])}" for square in (start, end))


def test_move_sequences_match_openspiels() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    level, counts = [pyspiel.load_game("breakthrough").new_initial_state()], []
    for _ in range(4):
        counts.append(sum(len(state.legal_actions()) for state in level))
        if counts[-1] < 20_000:
            level = [state.child(action) for state in level for action in state.legal_actions()]
    assert perft(Breakthrough(), 4) == counts


@pytest.mark.parametrize(("rows", "columns"), [(3, 8), (27, 8), (8, 1), (8, 27)])
def test_boards_that_cannot_be_played_are_refused(rows: int, columns: int) -> None:
    with pytest.raises(InvalidOption, match=r"(rows|columns) must be an integer from [24] to 26"):
        palestra.game("games/Breakthrough-v0", rows=rows, columns=columns)
