"""Wordle: marks by published comparisons, information in closed form, and the solver."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from math import log2
from typing import Any

import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_games.words.vocabulary import english
from palestra_games.words.wordle.game import (
    ABSENT,
    ELSEWHERE,
    RIGHT,
    Guess,
    Wordle,
    consistent,
    marks,
    marks_text,
)
from palestra_games.words.wordle.solver import information, most_informative


def board(secret: str, **options: Any) -> Episode:
    episode = Episode(Wordle(**options), seed=0)
    state = episode.state
    state.secret = secret
    episode.load(state)
    return episode


@pytest.mark.parametrize(
    ("guess", "secret", "told"),
    [
        # the widely copied table of what "speed" tells
        ("speed", "abide", "--y-y"),
        ("speed", "erase", "y-yy-"),
        ("speed", "steal", "g-g--"),
        ("speed", "crepe", "-ygy-"),
        # Rosetta Code, "Wordle comparison"
        ("lolly", "allow", "yyg--"),
        ("lolly", "bully", "--ggg"),
        ("alert", "robin", "---y-"),
        ("sonic", "robin", "-gyg-"),
        ("robin", "robin", "ggggg"),
    ],
)
def test_marks_follow_published_comparisons(guess: str, secret: str, told: str) -> None:
    assert marks_text(marks(guess, secret)) == told


SHORT = st.text("abc", min_size=4, max_size=4)


@given(SHORT, SHORT)
def test_a_letter_is_marked_as_often_as_both_words_have_it(guess: str, secret: str) -> None:
    found = marks(guess, secret)
    for letter in "abc":
        of_letter = [mark for mark, g in zip(found, guess, strict=True) if g == letter]
        assert sum(m != ABSENT for m in of_letter) == min(guess.count(letter), secret.count(letter))
        not_right = [mark for mark in of_letter if mark != RIGHT]
        assert not_right == sorted(not_right, reverse=True)  # from left to right
    same = [g == s for g, s in zip(guess, secret, strict=True)]
    assert [mark == RIGHT for mark in found] == same


@pytest.mark.parametrize(
    ("guess", "words", "bits"),
    [
        ("aa", ("aa", "ab", "ba", "bb"), 2.0),  # four different answers
        ("cc", ("aa", "ab", "ba", "bb"), 0.0),  # always the same answer
        ("ac", ("aa", "ab", "ba", "bb"), 1.5),  # 1/2, 1/4, 1/4
        ("aaa", ("aaa", "bbb", "ccc", "ddd"), 2 - 0.75 * log2(3)),  # one against three
    ],
)
def test_information_of_a_guess_in_closed_form(
    guess: str, words: tuple[str, ...], bits: float
) -> None:
    assert information(guess, words) == pytest.approx(bits)


def test_information_is_the_entropy_of_the_answers() -> None:
    words = Wordle().vocabulary[:60]
    for guess in words[::15]:
        shares = [n / 60 for n in Counter(marks(guess, word) for word in words).values()]
        assert information(guess, words) == pytest.approx(-sum(p * log2(p) for p in shares))


def test_the_solver_asks_what_splits_best_even_if_it_cannot_be_the_word() -> None:
    # words that differ in one letter: "clamp" tells c, l, m and p apart at once
    fitting = ("catch", "hatch", "latch", "match", "patch", "watch")
    words = (*fitting, "clamp")
    assert most_informative(words, fitting) == "clamp"
    assert most_informative(words, fitting[:2]) == "catch"


@cache
def best_chance(words: tuple[str, ...], fitting: tuple[str, ...], guesses: int) -> Fraction:
    """The greatest chance to find the word, by trying everything."""
    if not guesses:
        return Fraction(0)
    best = Fraction(0)
    for guess in words:
        parts: dict[tuple[int, ...], list[str]] = {}
        for word in fitting:
            parts.setdefault(marks(guess, word), []).append(word)
        worth = Fraction(int(guess in fitting))
        for part in parts.values():
            if part != [guess]:
                worth += len(part) * best_chance(words, tuple(part), guesses - 1)
        best = max(best, worth / len(fitting))
    return best


def test_the_solver_is_as_good_as_exhaustive_search_on_a_small_list() -> None:
    words = ("catch", "hatch", "latch", "match", "patch", "watch", "clamp", "whack")
    game = Wordle(words=words, guesses=3)
    agent = palestra.make_agent("wordle-entropy")
    won = 0
    for _, state in game.deals():
        episode = Episode(game, 0)
        episode.load(state)
        while episode.to_act:
            episode.act({0: agent.act([palestra.Turn(episode, 0)])[0].action})
        won += episode.returns[0] == 1
    assert Fraction(won, len(words)) == best_chance(words, words, 3) == 1


def test_the_solver_finds_nearly_every_word_of_the_list() -> None:
    records = palestra.play("games/Wordle-v0", agents=["wordle-entropy"], episodes=60, seed=3)
    assert sum(record.returns[0] for record in records) >= 58


def test_a_found_word_ends_the_game_and_pays() -> None:
    episode = board("crane")
    episode.act({0: Guess("plate")})
    assert not episode.over
    episode.act({0: Guess("crane")})
    assert episode.over
    assert episode.outcome.results == ("win",)
    assert list(episode.returns) == [1.0]


def test_six_wrong_guesses_lose_and_show_the_word() -> None:
    episode = board("crane")
    for word in ("plate", "robin", "mouse", "house", "speed", "plate"):
        assert not episode.over
        episode.act({0: Guess(word)})
    assert episode.over
    assert list(episode.returns) == [0.0]
    assert episode.outcome.results == ("loss",)
    assert "crane" in episode.log[-1][-1].text


def test_words_outside_the_list_are_refused_and_cost_nothing() -> None:
    episode = board("crane")
    for word in ("zzzzz", "CRANE", "cran"):
        with pytest.raises(InvalidAction, match="list"):
            episode.act({0: Guess(word)})
    assert episode.state.guesses == []


def test_what_is_seen_in_the_array_view() -> None:
    seen = board("abba", words=("abba", "baba"), length=4, guesses=2)
    seen.act({0: Guess("baba")})
    letters, told = seen.observation(0).reshape(2, 2, 4).tolist()
    assert letters == [[2, 1, 2, 1], [0, 0, 0, 0]]
    right, elsewhere = RIGHT + 1, ELSEWHERE + 1
    assert told == [[elsewhere, elsewhere, right, right], [0, 0, 0, 0]]


def test_redrawn_words_are_those_that_fit() -> None:
    game = Wordle(words=("bat", "cat", "hat", "dog"), length=3)
    state = game.initial_state(0)
    state.secret, state.guesses = "cat", ["hat"]
    assert {game.determinize(state, 0, Rng(n)).secret for n in range(40)} == {"bat", "cat"}
    told = [("hat", marks("hat", "cat"))]
    assert consistent(game.vocabulary, told) == ("bat", "cat")


def test_own_words_may_be_given_as_one_string() -> None:
    assert Wordle(words="bat cat bat", length=3).words == ("bat", "cat")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"length": 9}, "choose length from"),
        ({"length": 0}, "length must be an integer from 1 to 20"),
        ({"guesses": 0}, "guesses must be an integer from 1 to 50"),
        ({"words": ("toolong",)}, "length=5"),
        ({"words": ("Crane",)}, "small letters"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Wordle(**options)


def test_the_built_in_list_is_in_order_and_without_repeats() -> None:
    words = english()
    assert list(words) == sorted(set(words), key=lambda word: (len(word), word))
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


def test_the_solver_plays_nothing_else() -> None:
    with pytest.raises(InvalidOption, match="Wordle"):
        palestra.play("games/Hangman-v0", agents=["wordle-entropy"], episodes=1)
