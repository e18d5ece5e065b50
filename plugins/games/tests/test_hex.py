"""Hex against another implementation, exhaustive search, and its rules at the edges."""

from __future__ import annotations

import random
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_games.board.hex import Hex


def play(game: Hex, moves: str) -> Episode:
    """An episode after written moves."""
    episode = Episode(game, 0, compiled=False)
    for move in moves.split():
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})
    return episode


def rows(episode: Episode) -> list[str]:
    return ["".join(line.split()[1:]) for line in episode.describe(0).splitlines()[2:]]


@pytest.mark.parametrize("size", [2, 3, 5, 7, 11])
@pytest.mark.parametrize("swap", [False, True])
def test_random_games_agree_with_openspiel(size: int, swap: bool) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game(f"hex(num_cols={size},num_rows={size},swap={swap})")
    game, rng = Hex(size, swap), random.Random(size)
    for number in range(20):
        state, episode = theirs.new_initial_state(), Episode(game, 0, compiled=False)
        while not state.is_terminal():
            assert episode.to_act == (state.current_player(),)
            assert episode.legal_actions() == state.legal_actions()
            assert "".join(rows(episode)) == "".join(str(state).split()).upper()
            action = rng.choice(state.legal_actions())
            if swap and len(state.history()) == 1 and number % 2:
                action = size * size
            episode.act({episode.to_act[0]: action})
            state.apply_action(action)
        assert episode.over
        assert list(episode.returns) == state.returns()


def value(game: Hex, state: Any, known: dict[bytes, int]) -> int:
    """1 if whoever is to move wins with best play, else -1."""
    key = game.state_key(state)
    if key not in known:
        seat, known[key] = game.to_act(state)[0], -1
        for action in game.legal_actions(state, seat):
            after = game.clone(state)
            game.step(after, {seat: action})
            if game.outcome(after) is not None or value(game, after, known) < 0:
                known[key] = 1
                break
    return known[key]


@pytest.mark.parametrize(("size", "swap", "first"), [(2, 0, 1), (3, 0, 1), (2, 1, -1), (3, 1, -1)])
def test_the_first_player_wins_and_with_the_swap_the_second(
    size: int, swap: int, first: int
) -> None:
    game = Hex(size, bool(swap))
    assert value(game, game.initial_state(0), {}) == first


@pytest.mark.parametrize(
    ("name", "moves", "winner"),
    [
        ("X joins the top and the bottom", "b1 a1 b2 a2 b3", 0),
        ("X joins them over the short diagonal", "c1 a1 b2 a2 a3", 0),
        ("O joins the left and the right", "a1 a2 b1 b2 a3 c2", 1),
        ("a gap closed last", "b1 a1 b3 a2 b2", 0),
    ],
)
def test_an_unbroken_chain_wins(name: str, moves: str, winner: int) -> None:
    episode = play(Hex(3), moves)
    assert episode.over, name
    assert episode.outcome is not None
    assert episode.outcome.winners == (winner,)


def test_cells_of_the_long_diagonal_do_not_touch() -> None:
    assert not play(Hex(3), "a1 c1 b2 c2 c3").over


def test_swap_mirrors_the_stone_and_is_offered_once() -> None:
    game = Hex(4, swap=True)
    first = play(game, "c1")
    assert "swap" in first.legal_text(1).split(", ")
    swapped = play(game, "c1 swap")
    assert rows(swapped) == ["....", "....", "O...", "...."]
    assert swapped.to_act == (0,)
    for episode in (play(game, ""), swapped, play(game, "c1 c2")):
        assert "swap" not in episode.legal_text(episode.to_act[0])


def test_a_swapped_stone_counts_for_its_new_side() -> None:
    episode = play(Hex(2, swap=True), "b1 swap b1 b2")
    assert episode.outcome is not None
    assert episode.outcome.winners == (1,)


def test_only_the_game_with_swap_explains_it() -> None:
    assert "swap" not in Hex().rules_for(0)
    assert "for a stone on c1, one on a3" in Hex(swap=True).rules_for(1)


def test_a_taken_cell_is_not_legal() -> None:
    with pytest.raises(InvalidAction, match="no legal move"):
        play(Hex(3), "b2 b2")


def test_the_search_leaves_nothing_behind() -> None:
    rng = random.Random(0)
    episode = Episode(Hex(5), 0, compiled=False)
    while not episode.over:
        episode.act({episode.to_act[0]: rng.choice(episode.legal_actions())})
        assert not episode.state.todo.any()


@pytest.mark.parametrize("size", [0, 20])
def test_sizes_that_have_no_letters_are_refused(size: int) -> None:
    with pytest.raises(InvalidOption, match="board_size must be an integer from 1 to 19"):
        palestra.game("games/Hex-v0", board_size=size)
