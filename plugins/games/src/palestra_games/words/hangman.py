"""Hangman: guess a hidden word letter by letter, with a few wrong letters to spare.

The player sees how long the word is. A letter that is in the word is shown everywhere it occurs; a
letter that is not costs a life. He wins when every letter is shown and loses with the last life.
A player who guesses letters at random wins a word of k different letters with m lives if all k
come among the first k + m - 1 letters of a random order of the alphabet: with probability
C(26 - k, m - 1) / C(26, k + m - 1), which the tests compare with played games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Bar,
    Event,
    Grammar,
    Grid,
    InvalidOption,
    OneOf,
    Option,
    Outcome,
    Piece,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
)

from palestra_games.words.vocabulary import english, word_list

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
HIDDEN = "_"
HIDDEN_CODE = len(ALPHABET) + 1


class Guess(TextAction, frozen=True):
    """Guess a letter of the hidden word."""

    letter: str


LETTERS = tuple(Guess(letter) for letter in ALPHABET)


@dataclass(slots=True)
class Gallows:
    """The state: the hidden word and the letters guessed so far, in order."""

    rng: Rng
    secret: str
    guessed: str = ""


@environment(
    "games/Hangman-v0",
    family="text",
    tags=("words", "hidden-information", "deterministic"),
)
@dataclass(frozen=True)
class Hangman(TextGame[Gallows]):
    """You look for a hidden English word and guess it letter by letter.

    Write Guess(letter='e'), in small letters; a letter can be guessed once. If the letter is in
    the word, it is shown everywhere it occurs. If not, you lose a life; with no lives left the
    game is lost. You are paid 1 if you find every letter, otherwise 0.
    """

    words: tuple[str, ...] = ()
    lives: int = 6

    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Guess,)
    menu = LETTERS

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", word_list(self.words))
        if not 1 <= self.lives <= 26:
            raise InvalidOption(f"lives must be from 1 to 26, not {self.lives}")
        if max(map(len, self.words), default=0) > 50:
            raise InvalidOption("words must have at most 50 letters")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words that may be hidden."""
        return self.words or english()

    # The rules

    def initial_state(self, seed: int | None = None) -> Gallows:
        rng = Rng.seeded(seed)
        return Gallows(rng, rng.choice(self.vocabulary))

    def lives_left(self, state: Gallows) -> int:
        return self.lives - sum(letter not in state.secret for letter in state.guessed)

    def to_act(self, state: Gallows) -> tuple[int, ...]:
        solved = set(state.secret) <= set(state.guessed)
        return () if solved or self.lives_left(state) <= 0 else (0,)

    def legal(self, state: Gallows, seat: int) -> Grammar:
        return grammar(state.guessed)

    def step(self, state: Gallows, actions: Mapping[int, Any]) -> Step:
        letter = actions[0].letter
        state.guessed += letter
        pattern, lives = shown(state.secret, state.guessed), self.lives_left(state)
        if letter in state.secret:
            text = f"{letter} is in the word: {spaced(pattern)}"
        else:
            text = f"{letter} is not in the word. Lives left: {lives}."
        events = [Event("reveal", text, {"letter": letter, "pattern": pattern, "lives": lives})]
        if HIDDEN not in pattern:
            return Step(rewards={0: {"solved": 1.0}}, events=events)
        if lives <= 0:
            told = f"You are hanged. The word was {state.secret}."
            events.append(Event("reveal", told, {"word": state.secret}))
        return Step(events=events)

    def outcome(self, state: Gallows) -> Outcome | None:
        if self.to_act(state):
            return None
        if self.lives_left(state) > 0:
            return Outcome(("win",), (1.0,), f"Found {state.secret}.")
        return Outcome(("loss",), (0.0,), f"The word was {state.secret}.")

    def opening(self, state: Gallows) -> Sequence[Event]:
        length = len(state.secret)
        return [Event("start", f"A word of {length} letters is hidden.", {"length": length})]

    def deals(self) -> list[tuple[float, Gallows]]:
        """Every word of the list, equally likely."""
        weight = 1 / len(self.vocabulary)
        return [(weight, Gallows(Rng(0), word)) for word in self.vocabulary]

    def determinize(self, state: Gallows, seat: int, rng: Rng) -> Gallows:
        """Draw the hidden word from all that would look the same after these letters."""
        copy = self.clone(state)
        if self.to_act(state):
            pattern = shown(state.secret, state.guessed)
            fitting = [w for w in self.vocabulary if shown(w, state.guessed) == pattern]
            copy.secret = rng.choice(fitting)
        return copy

    # What the player sees

    def describe(self, state: Gallows, seat: int) -> str:
        guessed = ", ".join(sorted(state.guessed)) or "none"
        return "\n".join(
            [
                f"Word of {len(state.secret)} letters: "
                f"{spaced(shown(state.secret, state.guessed))}",
                f"Letters guessed: {guessed}.",
                f"Lives left: {self.lives_left(state)} of {self.lives}.",
            ]
        )

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        longest = max(map(len, self.vocabulary))
        top = np.array([HIDDEN_CODE] * longest + [1] * len(ALPHABET) + [self.lives], np.int8)
        return spaces.Box(np.zeros(len(top), np.int8), top, dtype=np.int8)

    def observe(self, state: Gallows, seat: int) -> NDArray[np.int8]:
        """Letter by place (1 to 26, 27 hidden, 0 past the end), letters guessed (26), lives."""
        seen = np.zeros(self._space.shape, np.int8)
        for place, letter in enumerate(shown(state.secret, state.guessed)):
            seen[place] = HIDDEN_CODE if letter == HIDDEN else ALPHABET.index(letter) + 1
        start = len(seen) - len(ALPHABET) - 1
        for letter in state.guessed:
            seen[start + ALPHABET.index(letter)] = 1
        seen[-1] = self.lives_left(state)
        return seen

    def action_mask(self, state: Gallows, seat: int) -> NDArray[np.int8]:
        if not self.to_act(state):
            return np.ones(len(ALPHABET), np.int8)
        return np.array([letter not in state.guessed for letter in ALPHABET], np.int8)

    def scene(self, state: Gallows, seat: int | None = None) -> Scene:
        pattern = shown(state.secret, state.guessed)
        row = tuple(
            Piece(letter.upper(), -1 if letter == HIDDEN else 2, "tile") for letter in pattern
        )
        bar = Bar("lives", float(self.lives_left(state)), float(self.lives), 0)
        wrong = " ".join(letter for letter in state.guessed if letter not in state.secret)
        lines = [f"Wrong letters: {wrong or 'none'}"]
        if seat is None:
            lines.append(f"The word is {state.secret}.")
        return Scene(grid=Grid((row,)), bars=(bar,), lines=tuple(lines))


def shown(word: str, guessed: str) -> str:
    """The word with every letter not guessed yet replaced by `_`."""
    return "".join(letter if letter in guessed else HIDDEN for letter in word)


def spaced(pattern: str) -> str:
    return " ".join(pattern)


@lru_cache(maxsize=4096)
def grammar(guessed: str) -> Grammar:
    """Any letter not guessed yet."""
    left = tuple(letter for letter in ALPHABET if letter not in guessed)
    return Grammar((Option(Guess, {"letter": OneOf(left)}),))
