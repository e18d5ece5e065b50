"""Connect Four against published counts and another implementation."""

from __future__ import annotations

import random

import palestra
import pytest
from palestra import Episode, InvalidOption, Rng
from palestra.testing.perft import perft
from palestra_games.board.connect_four import ConnectFour

GAME = ConnectFour()


@pytest.mark.parametrize(
    ("name", "columns", "winner"),
    [
        ("row", "1122334", 0),
        ("row of the second player", "71122334", 1),
        ("column", "1212121", 0),
        ("rising diagonal", "12233434464", 0),
        ("falling diagonal", "76655454424", 0),
        ("row closed in its middle", "1122443", 0),
    ],
)
def test_four_in_a_line_win(name: str, columns: str, winner: int) -> None:
    episode = Episode(GAME, 0, compiled=False)
    for column in columns[:-1]:
        episode.act({episode.to_act[0]: int(column) - 1})
        assert not episode.over, name
    episode.act({episode.to_act[0]: int(columns[-1]) - 1})
    assert episode.outcome is not None
    assert episode.outcome.winners == (winner,), f"{name}\n{episode.describe(0)}"


def test_a_full_column_is_not_legal() -> None:
    episode = Episode(GAME, 0, compiled=False)
    for _ in range(6):
        episode.act({episode.to_act[0]: 0})
    assert episode.legal_actions() == [1, 2, 3, 4, 5, 6]


def has_line(rows: list[str], mark: str) -> bool:
    """Four of a mark in a line of a 4x4 board, looked for the long way."""
    lines = [*rows, *("".join(column) for column in zip(*rows, strict=True))]
    lines += ["".join(rows[i][i] for i in range(4)), "".join(rows[i][3 - i] for i in range(4))]
    return any(line == mark * 4 for line in lines)


def test_a_game_ends_with_a_line_or_with_a_full_board() -> None:
    game, ends = ConnectFour(rows=4, columns=4), set()
    for seed in range(60):
        episode, rng = Episode(game, seed), Rng(seed)
        while not episode.over:
            rows = episode.describe(0).splitlines()[2:]
            assert not has_line(rows, "X")
            assert not has_line(rows, "O")
            episode.act({episode.to_act[0]: rng.choice(episode.legal_actions())})
        rows = episode.describe(0).splitlines()[2:]
        assert episode.outcome is not None
        ends.add(episode.outcome.results)
        assert has_line(rows, "X") == (episode.outcome.winners == (0,))
        assert has_line(rows, "O") == (episode.outcome.winners == (1,))
        if episode.outcome.results == ("draw", "draw"):
            assert "." not in "".join(rows)
    assert ends == {("win", "loss"), ("loss", "win"), ("draw", "draw")}


def test_move_sequences_match_the_published_counts() -> None:
    published = [7, 49, 343, 2_401, 16_807, 117_649, 823_536, 5_673_234]
    assert perft(GAME, 8) == published


def test_random_games_agree_with_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("connect_four")
    rng = random.Random(0)
    for _ in range(100):
        state, episode = theirs.new_initial_state(), Episode(GAME, 0)
        while not state.is_terminal():
            assert episode.to_act == (state.current_player(),)
            assert episode.legal_actions() == state.legal_actions()
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            episode.act({episode.to_act[0]: action})
        assert episode.over
        assert list(episode.returns) == state.returns()


def test_boards_that_cannot_hold_a_line_are_refused() -> None:
    with pytest.raises(InvalidOption, match="does not fit"):
        palestra.game("games/ConnectFour-v0", rows=3, columns=3, line=4)


def test_other_sizes_play() -> None:
    episode = palestra.make(
        "games/ConnectFour-v0", view="episode", rows=4, columns=5, line=3, seed=0
    )
    for column in (0, 1, 0, 1, 0):
        episode.act({episode.to_act[0]: column})
    assert episode.outcome.winners == (0,)
