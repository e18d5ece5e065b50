"""Hangman: guess a hidden word letter by letter, with a few wrong letters to spare.

The player sees how long the word is. A letter that is in the word is shown everywhere it occurs; a
letter that is not costs a life. They win when every letter is shown and lose with the last life.
A player who guesses letters at random wins a word of k different letters with m lives if all k
come among the first k + m - 1 letters of a random order of the alphabet: with probability
C(26 - k, m - 1) / C(26, k + m - 1), which the tests compare with played games.

Checked: random letters win as often as a closed form says; known games.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Grid,
    InvalidOption,
    Meta,
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
from palestra.scene import Card, Cards

from palestra_games.words.vocabulary import english, word_list

ALPHABET = "abcdefghijklmnopqrstuvwxyz"
HIDDEN = "_"
HIDDEN_CODE = len(ALPHABET) + 1
LONGEST_WORD = 50


class Guess(TextAction, frozen=True):
    """Guess a letter of the hidden word."""

    letter: str


LETTERS = tuple(Guess(letter) for letter in ALPHABET)


@dataclass(slots=True)
class HangmanState:
    """The hidden word and the letters guessed so far, in order."""

    rng: Rng
    secret: str
    guessed: str = ""


@environment(
    "games/Hangman-v0",
    family="text",
    tags=("words", "hidden-information", "deterministic"),
)
@dataclass(frozen=True)
class Hangman(TextGame[HangmanState]):
    """Hangman: guess a hidden word letter by letter with a limited number of wrong letters.

    Numbered actions are the letters from a to z. `observe` documents the layout of an observation.
    Finding all letters of the word pays 1.
    """

    rules_text = """
        You look for a hidden English word and guess it letter by letter.

        Write Guess(letter='e'), in small letters; a letter can be guessed once. If the letter is in
        the word, it is shown everywhere it occurs. If not, you lose a life; with no lives left the
        game is lost. You are paid 1 if you find every letter, otherwise 0.
    """

    words: Annotated[
        Sequence[str] | str,
        Meta(description="words that may be hidden, in small letters; none for the built-in list"),
    ] = ()
    lives: Annotated[int, Meta(ge=1, le=26, description="wrong letters that lose the game")] = 6

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
        super().__post_init__()
        object.__setattr__(self, "words", word_list(self.words))

    def validate(self) -> None:
        longest = max(self.vocabulary, key=len)
        if len(longest) > LONGEST_WORD:
            raise InvalidOption(f"words must have at most {LONGEST_WORD} letters, not {longest!r}")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words that may be hidden."""
        return word_list(self.words) or english()

    # The rules

    def initial_state(self, seed: int | None = None) -> HangmanState:
        rng = Rng.seeded(seed)
        return HangmanState(rng, rng.choice(self.vocabulary))

    def lives_left(self, state: HangmanState) -> int:
        return self.lives - sum(letter not in state.secret for letter in state.guessed)

    def to_act(self, state: HangmanState) -> tuple[int, ...]:
        solved = set(state.secret) <= set(state.guessed)
        return () if solved or self.lives_left(state) <= 0 else (0,)

    def legal(self, state: HangmanState, seat: int) -> Grammar:
        return grammar(state.guessed)

    def step(self, state: HangmanState, actions: Mapping[int, Any]) -> Step:
        letter = actions[0].letter
        state.guessed += letter
        pattern, lives = pattern_of(state.secret, state.guessed), self.lives_left(state)
        if letter in state.secret:
            text = f"{letter} is in the word: {' '.join(pattern)}"
        else:
            text = f"{letter} is not in the word. Lives left: {lives}."
        events = [Event("reveal", text, {"letter": letter, "pattern": pattern, "lives": lives})]
        if HIDDEN not in pattern:
            return Step(rewards={0: {"solved": 1.0}}, events=events)
        if lives <= 0:
            text = f"You are hanged. The word was {state.secret}."
            events.append(Event("reveal", text, {"word": state.secret}))
        return Step(events=events)

    def outcome(self, state: HangmanState) -> Outcome | None:
        if self.to_act(state):
            return None
        if self.lives_left(state) > 0:
            return Outcome(("win",), (1.0,), f"Found {state.secret}.")
        return Outcome(("loss",), (0.0,), f"The word was {state.secret}.")

    def opening(self, state: HangmanState) -> Sequence[Event]:
        length = len(state.secret)
        return [Event("start", f"A word of {length} letters is hidden.", {"length": length})]

    def deals(self) -> list[tuple[float, HangmanState]]:
        """Every word of the list, equally likely."""
        weight = 1 / len(self.vocabulary)
        return [(weight, HangmanState(Rng(0), word)) for word in self.vocabulary]

    def determinize(self, state: HangmanState, seat: int, rng: Rng) -> HangmanState:
        """Draw the hidden word from all that would look the same after these letters."""
        copy = self.clone(state)
        if self.to_act(state):
            pattern = pattern_of(state.secret, state.guessed)
            fitting = [w for w in self.vocabulary if pattern_of(w, state.guessed) == pattern]
            copy.secret = rng.choice(fitting)
        return copy

    # What the player sees

    def describe(self, state: HangmanState, seat: int) -> str:
        guessed = ", ".join(sorted(state.guessed)) or "none"
        pattern = pattern_of(state.secret, state.guessed)
        return "\n".join(
            [
                f"Word of {len(state.secret)} letters: {' '.join(pattern)}",
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

    def observe(self, state: HangmanState, seat: int) -> NDArray[np.int8]:
        """Letter by place (1 to 26, 27 hidden, 0 past the end), letters guessed (26), lives."""
        seen = np.zeros(self._space.shape, np.int8)
        for place, letter in enumerate(pattern_of(state.secret, state.guessed)):
            seen[place] = HIDDEN_CODE if letter == HIDDEN else ALPHABET.index(letter) + 1
        start = len(seen) - len(ALPHABET) - 1
        for letter in state.guessed:
            seen[start + ALPHABET.index(letter)] = 1
        seen[-1] = self.lives_left(state)
        return seen

    def action_mask(self, state: HangmanState, seat: int) -> NDArray[np.int8]:
        if not self.to_act(state):
            return np.ones(len(ALPHABET), np.int8)
        return np.array([letter not in state.guessed for letter in ALPHABET], np.int8)

    def scene(self, state: HangmanState, seat: int | None = None) -> Scene:
        pattern = pattern_of(state.secret, state.guessed)
        row = tuple(
            Piece(letter.upper(), "silver" if letter == HIDDEN else "green", "tile")
            for letter in pattern
        )
        wrong = [letter for letter in state.guessed if letter not in state.secret]
        left = self.lives_left(state)
        hearts = tuple(
            Card(
                colour="red" if n < left else "silver",
                label="life" if n < left else "lost",
                sprite="heart",
            )
            for n in range(self.lives)
        )
        missed = tuple(Card(letter.upper(), colour="grey") for letter in wrong)
        parts = (Grid((row,)), Cards("lives", hearts), Cards("wrong", missed))
        lines = (f"The word is {state.secret}.",) if seat is None else ()
        return Scene(lines=lines, parts=parts)


def pattern_of(word: str, guessed: str) -> str:
    """The word with every letter not guessed yet replaced by `_`."""
    return "".join(letter if letter in guessed else HIDDEN for letter in word)


@lru_cache(maxsize=4096)
def grammar(guessed: str) -> Grammar:
    """Any letter not guessed yet."""
    left = tuple(letter for letter in ALPHABET if letter not in guessed)
    return Grammar((Option(Guess, {"letter": OneOf(left)}),))
