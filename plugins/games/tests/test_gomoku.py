"""Gomoku against published counts, another implementation and a plain scan."""

from __future__ import annotations

import random
import re
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_games.board.gomoku import Gomoku


def play(game: Gomoku, moves: str) -> Episode:
    """An episode after written moves."""
    episode = Episode(game, 0, compiled=False)
    for move in moves.split():
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})
    return episode


def board(episode: Episode) -> list[str]:
    """The rows of the text view from the top, without labels and spaces."""
    return ["".join(line.split()[1:]) for line in episode.describe(0).splitlines()[1:-1]]


def has_line(rows: list[str], mark: str, length: int, exact: bool) -> bool:
    """A line of a mark, looked for in the whole board written out in four directions."""
    size = len(rows)
    cells = [(r, c) for r in range(size) for c in range(size)]
    lines: dict[tuple[str, int], str] = {}
    for r, c in cells:
        for key in (("row", r), ("column", c), ("falling", r - c), ("rising", r + c)):
            lines[key] = lines.get(key, "") + rows[r][c]
    pattern = f"(?<!{mark}){mark}{{{length}}}(?!{mark})" if exact else mark * length
    return any(re.search(pattern, line) for line in lines.values())


def count(game: Gomoku, state: Any, known: dict[bytes, int]) -> int:
    """The number of ways to play on to an end; `known` collects the positions met."""
    key = game.state_key(state)
    if key not in known:
        if game.outcome(state) is not None:
            known[key] = 1
            return 1
        seat, total = game.to_act(state)[0], 0
        for action in game.legal_actions(state, seat):
            after = game.clone(state)
            game.step(after, {seat: action})
            total += count(game, after, known)
        known[key] = total
    return known[key]


def test_three_in_a_line_on_3x3_has_the_published_games_and_positions() -> None:
    game, known = Gomoku(board_size=3, line=3), dict[bytes, int]()
    assert count(game, game.initial_state(0), known) == 255_168
    assert len(known) == 5_478


@pytest.mark.parametrize(("size", "line"), [(15, 5), (7, 4), (5, 5), (3, 3)])
def test_random_games_agree_with_openspiel(size: int, line: int) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game(f"mnk(m={size},n={size},k={line})")
    game, rng = Gomoku(size, line), random.Random(size)
    for _ in range(10):
        state, episode = theirs.new_initial_state(), Episode(game, 0, compiled=False)
        while not state.is_terminal():
            assert episode.to_act == (state.current_player(),)
            assert episode.legal_actions() == state.legal_actions()
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            episode.act({episode.to_act[0]: action})
        assert episode.over
        assert list(episode.returns) == state.returns()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("size", "line"), [(6, 3), (5, 4), (10, 5)])
def test_random_games_end_when_a_scan_of_the_board_says_so(
    size: int, line: int, exact: bool
) -> None:
    rng, ends = random.Random(size), set()
    for _ in range(15):
        episode = Episode(Gomoku(size, line, exact), 0, compiled=False)
        while not episode.over:
            seat = episode.to_act[0]
            episode.act({seat: rng.choice(episode.legal_actions())})
            won = has_line(board(episode), "XO"[seat], line, exact)
            assert episode.over == (won or "." not in "".join(board(episode)))
            if won:
                assert list(episode.returns) == ([1, -1] if seat == 0 else [-1, 1])
        assert episode.outcome is not None
        ends.add(episode.outcome.results)
    assert len(ends) > 1


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("row", "a1 a7 b1 b7 c1 c7 d1 d7 e1"),
        ("column", "a1 b7 a2 c7 a3 d7 a4 e7 a5"),
        ("rising diagonal", "a1 b7 b2 c7 c3 d7 d4 e7 e5"),
        ("falling diagonal", "a7 b1 b6 c1 c5 d1 d4 e1 e3"),
        ("closed in its middle", "a1 a7 b1 b7 d1 c7 e1 d7 c1"),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_five_in_a_line_win(name: str, moves: str, exact: bool) -> None:
    episode = play(Gomoku(7, exact=exact), moves)
    assert episode.outcome is not None, name
    assert episode.outcome.winners == (0,)


SIX = "a1 a7 b1 b7 c1 c7 e1 d7 f1 g7 d1"


def test_six_in_a_line_win_only_the_free_style_game() -> None:
    free, exact = play(Gomoku(7), SIX), play(Gomoku(7, exact=True), SIX)
    assert free.outcome is not None
    assert free.outcome.winners == (0,)
    assert not exact.over
    assert "exactly 5" in Gomoku(exact=True).rules_for(0)
    assert "5 or more" in Gomoku().rules_for(0)


def test_a_taken_point_is_not_legal() -> None:
    with pytest.raises(InvalidAction, match="no legal move"):
        play(Gomoku(), "h8 h8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board_size": 27}, "board_size must be an integer from 1 to 26"),
        ({"board_size": 4}, "line must be from 2 to 4"),
        ({"line": 1}, "line must be an integer from 2 to 26"),
    ],
)
def test_boards_that_hold_no_line_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        palestra.game("games/Gomoku-v0", **options)
