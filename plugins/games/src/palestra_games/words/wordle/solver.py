"""A reference solver for Wordle: the guess with the highest expected information."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log2

import numpy as np
from numpy.typing import NDArray
from palestra import ScriptedAgent, Turn, agent

from palestra_games.words.wordle.game import Guess, Wordle, consistent, marks


@agent("wordle-entropy", needs=("array",))
class WordleEntropy(ScriptedAgent[Wordle]):
    """Guesses the word with the highest expected information about the hidden one, in bits.

    It reads its own observation and keeps the words that fit it. On ties it prefers a word that may
    be the hidden one, then the first in the list. The last guess is always a word that may be the
    hidden one.
    """

    def choose(self, turn: Turn[Wordle]) -> Guess:
        game = turn.game
        guesses = read_board(game, np.asarray(turn.observation))
        fitting = consistent(game.vocabulary, guesses)
        if len(guesses) + 1 == game.guesses:
            return Guess(fitting[0])
        return Guess(most_informative(game.vocabulary, fitting))


def read_board(game: Wordle, seen: NDArray[np.int8]) -> list[tuple[str, tuple[int, ...]]]:
    """The guesses and their marks from an observation."""
    letters, found = seen.reshape(2, game.guesses, game.length).tolist()
    return [
        ("".join(chr(ord("a") + code - 1) for code in row), tuple(mark - 1 for mark in row_marks))
        for row, row_marks in zip(letters, found, strict=True)
        if row[0]
    ]


def information(guess: str, words: Sequence[str]) -> float:
    """Expected information of the marks of `guess` in bits, with all `words` equally likely."""
    counts = Counter(marks(guess, word) for word in words)
    total = len(words)
    return sum(n / total * log2(total / n) for n in sorted(counts.values()))


@lru_cache(maxsize=4096)
def most_informative(words: tuple[str, ...], fitting: tuple[str, ...]) -> str:
    """The word of `words` with the most expected information about which of `fitting` is hidden."""
    if len(fitting) <= 2:
        return fitting[0]
    hidden = frozenset(fitting)
    return max(words, key=lambda word: (round(information(word, fitting), 9), word in hidden))
