"""Hangman: known games, and the chance of a player who guesses letters at random."""

from __future__ import annotations

from math import comb, sqrt
from typing import Any

import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_games.words.hangman import ALPHABET, Guess, Hangman


def gallows(secret: str, **options: Any) -> Episode:
    return Episode(Hangman(words=(secret,), **options), seed=0)


def guess(episode: Episode, letters: str) -> Episode:
    for letter in letters:
        episode.act({0: Guess(letter)})
    return episode


@pytest.mark.parametrize(
    ("secret", "letters", "lives", "result"),
    [
        ("banana", "ban", 6, "win"),
        ("banana", "xyzwvban", 6, "win"),  # five wrong letters leave one life
        ("banana", "xyzwvu", 6, "loss"),
        ("banana", "baxyzwvu", 6, "loss"),
        ("rhythm", "rhytm", 1, "win"),
        ("rhythm", "rhyte", 1, "loss"),
    ],
)
def test_known_games(secret: str, letters: str, lives: int, result: str) -> None:
    episode = guess(gallows(secret, lives=lives), letters)
    assert episode.over
    assert episode.outcome.results == (result,)
    assert list(episode.returns) == [1.0 if result == "win" else 0.0]


def test_a_letter_is_shown_wherever_it_occurs() -> None:
    episode = guess(gallows("banana"), "an")
    assert "_ a n a n a" in episode.describe(0)
    assert episode.observation(0)[:6].tolist() == [27, 1, 14, 1, 14, 1]


def test_only_wrong_letters_cost_a_life() -> None:
    episode = guess(gallows("banana"), "axn")
    assert episode.observation(0)[-1] == 5
    assert "Lives left: 5 of 6." in episode.describe(0)


def test_a_letter_is_guessed_once() -> None:
    episode = guess(gallows("banana"), "x")
    with pytest.raises(InvalidAction):
        guess(episode, "x")
    assert not episode.action_mask(0)[ALPHABET.index("x")]
    assert episode.action_mask(0).sum() == 25


def test_a_loss_shows_the_word() -> None:
    assert "banana" in guess(gallows("banana", lives=1), "x").log[-1][-1].text


@pytest.mark.parametrize(("secret", "lives"), [("banana", 6), ("cat", 10), ("moon", 3)])
def test_random_letters_win_as_often_as_the_closed_form_says(secret: str, lives: int) -> None:
    different, games = len(set(secret)), 1_000
    drawn = different + lives - 1
    expected = comb(26 - different, lives - 1) / comb(26, drawn)
    game, won = Hangman(words=(secret,), lives=lives), 0
    for seed in range(games):
        won += Episode(game, seed).playout(Rng.seeded(seed, stream=9))[0] == 1
    margin = 4 * sqrt(games * expected * (1 - expected)) + 1
    assert abs(won - games * expected) <= margin


def test_redrawn_words_look_the_same() -> None:
    game = Hangman(words=("bat", "cat", "hat", "hut", "boat"))
    state = game.initial_state(0)
    state.secret, state.guessed = "cat", "at"
    assert {game.determinize(state, 0, Rng(n)).secret for n in range(60)} == {"bat", "cat", "hat"}
    state.guessed = "ath"
    assert {game.determinize(state, 0, Rng(n)).secret for n in range(60)} == {"bat", "cat"}


def test_words_of_different_lengths_share_one_observation_space() -> None:
    game = Hangman(words=("ox", "elephant"))
    for _, state in game.deals():
        assert game.observe(state, 0) in game.observation_space(0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lives": 0}, "1 to 26"),
        ({"words": ("it's",)}, "small letters"),
        ({"words": ("a" * 51,)}, "50 letters"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Hangman(**options)
