"""Wordle: find a hidden word in six guesses; each guess shows which letters are right.

A letter in its right place is marked "g" (green), one that is elsewhere in the word "y" (yellow),
any other "-" (grey). A letter guessed more often than the word has it is marked only as often as
the word has it: first where it is in its right place, then from left to right. Rules after Josh
Wardle's Wordle (2021), with guesses from the same list as the hidden words. The marks are checked
against published comparisons of words with repeated letters, the information of a guess against
its closed form.

Checked: marks against published comparisons; the information of a guess in closed form.

Left out: the original lists of words, and guesses that are not hidden words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

from palestra_games.words.vocabulary import english, word_list

ABSENT, ELSEWHERE, RIGHT = 0, 1, 2
MARKS = "-yg"
MEANINGS = ("not in the word", "elsewhere in the word", "in its place")
COLOURS = ("grey", "gold", "green")  # absent, elsewhere, right


class Guess(TextAction, frozen=True):
    """Guess the hidden word."""

    word: str


@dataclass(frozen=True, slots=True)
class ListedWord(OneOf):
    """A word of the list; named by its length, since the list is long."""

    def problem(self, value: object) -> str | None:
        if value in self.values:
            return None
        letters, words = len(self.values[0]), len(self.values)
        return f"must be one of the {words} words of {letters} letters in the list, not {value!r}"

    def __str__(self) -> str:
        return f"'a word of {len(self.values[0])} letters'"


@dataclass(slots=True)
class WordleState:
    """The hidden word and the guesses so far."""

    rng: Rng
    secret: str
    guesses: list[str]


@environment(
    "games/Wordle-v0",
    family="text",
    tags=("words", "hidden-information", "deterministic"),
)
@dataclass(frozen=True)
class Wordle(TextGame[WordleState]):
    """Wordle: find a hidden word in a few guesses, whose letters are marked.

    A numbered action is the index of a word in `vocabulary`. `observe` documents the layout of an
    observation. Finding the word pays 1.
    """

    rules_text = """
        You look for a hidden English word. Every guess must be a word of the list.

        Write a guess in small letters as Guess(word='crane'). Each letter of it is then marked:
        g if it is in its right place, y if it is in the word but in another place, - if it is not
        in the word. A letter that you guess more often than the word has it is marked only as often
        as the word has it: letters in their right place first, then from left to right; the rest
        get -. You are paid 1 if you find the word within the guesses you have, otherwise 0.
    """

    words: Annotated[
        Sequence[str] | str,
        Meta(description="words that may be hidden and guessed; empty for the built-in list"),
    ] = ()
    length: Annotated[int, Meta(ge=1, le=20, description="number of letters in every word")] = 5
    guesses: Annotated[int, Meta(ge=1, le=50, description="most guesses")] = 6

    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Guess,)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "words", word_list(self.words))

    def validate(self) -> None:
        wrong = [word for word in self.vocabulary if len(word) != self.length]
        if wrong:
            raise InvalidOption(f"words must have length={self.length} letters, not {wrong[0]!r}")
        if not self.vocabulary:
            lengths = sorted({len(word) for word in english()})
            raise InvalidOption(
                f"the built-in list has no words of {self.length} letters; choose length from "
                f"{lengths} or give words"
            )

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words that may be hidden and guessed, in the order of the action numbers."""
        words = tuple(word for word in english() if len(word) == self.length)
        return word_list(self.words) or words

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return tuple(Guess(word) for word in self.vocabulary)

    @cached_property
    def _grammar(self) -> Grammar:
        return Grammar((Option(Guess, {"word": ListedWord(self.vocabulary)}),))

    def rules_for(self, seat: int) -> str:
        words = f"You have {self.guesses} guesses. The words: {' '.join(self.vocabulary)}."
        return f"{super().rules_for(seat)}\n{words}"

    # The rules

    def initial_state(self, seed: int | None = None) -> WordleState:
        rng = Rng.seeded(seed)
        return WordleState(rng, rng.choice(self.vocabulary), [])

    def solved(self, state: WordleState) -> bool:
        return state.secret in state.guesses

    def to_act(self, state: WordleState) -> tuple[int, ...]:
        over = self.solved(state) or len(state.guesses) >= self.guesses
        return () if over else (0,)

    def legal(self, state: WordleState, seat: int) -> Grammar:
        return self._grammar

    def step(self, state: WordleState, actions: Mapping[int, Any]) -> Step:
        word = actions[0].word
        state.guesses.append(word)
        shown = marks_text(marks(word, state.secret))
        text = f"Guess {len(state.guesses)}: {word} {shown}"
        events = [Event("reveal", text, {"word": word, "marks": shown})]
        if self.solved(state):
            return Step(rewards={0: {"solved": 1.0}}, events=events)
        if len(state.guesses) >= self.guesses:
            text = f"No guesses are left. The word was {state.secret}."
            events.append(Event("reveal", text, {"word": state.secret}))
        return Step(events=events)

    def outcome(self, state: WordleState) -> Outcome | None:
        if self.solved(state):
            reason = f"Found {state.secret} in {len(state.guesses)} of {self.guesses} guesses."
            return Outcome(("win",), (1.0,), reason)
        if len(state.guesses) >= self.guesses:
            return Outcome(("loss",), (0.0,), f"The word was {state.secret}.")
        return None

    def record_facts(self, state: WordleState) -> dict[str, Any]:
        """Facts for the record: the largest share of the word's places that one guess had right."""
        right = [
            sum(a == b for a, b in zip(guess, state.secret, strict=True)) for guess in state.guesses
        ]
        return {"progress": max(right, default=0) / len(state.secret)}

    def opening(self, state: WordleState) -> Sequence[Event]:
        words = len(self.vocabulary)
        text = f"One of {words} words of {self.length} letters is hidden."
        return [Event("start", text, {"words": words, "length": self.length})]

    def deals(self) -> list[tuple[float, WordleState]]:
        """Every word of the list, equally likely."""
        weight = 1 / len(self.vocabulary)
        return [(weight, WordleState(Rng(0), word, [])) for word in self.vocabulary]

    def determinize(self, state: WordleState, seat: int, rng: Rng) -> WordleState:
        """Draw the hidden word from all that would have been marked the same."""
        copy = self.clone(state)
        if self.to_act(state):
            guesses = [(guess, marks(guess, state.secret)) for guess in state.guesses]
            copy.secret = rng.choice(consistent(self.vocabulary, guesses))
        return copy

    # What the player sees

    def describe(self, state: WordleState, seat: int) -> str:
        lines = [
            f"{number}. {guess} {marks_text(marks(guess, state.secret))}"
            for number, guess in enumerate(state.guesses, 1)
        ]
        left = self.guesses - len(state.guesses)
        return "\n".join([*lines, f"Guesses left: {left} of {self.guesses}."])

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        cells = self.guesses * self.length
        top = np.repeat(np.array([26, 3], np.int8), cells)
        return spaces.Box(np.zeros(2 * cells, np.int8), top, dtype=np.int8)

    def observe(self, state: WordleState, seat: int) -> NDArray[np.int8]:
        """Letters by guess and place (1 to 26), then their marks (1 absent, 2 elsewhere, 3 right).

        Guesses not yet made are zeros.
        """
        seen = np.zeros((2, self.guesses, self.length), np.int8)
        for row, guess in enumerate(state.guesses):
            seen[0, row] = [ord(letter) - ord("a") + 1 for letter in guess]
            seen[1, row] = [mark + 1 for mark in marks(guess, state.secret)]
        return seen.ravel()

    def action_mask(self, state: WordleState, seat: int) -> NDArray[np.int8]:
        return np.ones(len(self.vocabulary), np.int8)

    def scene(self, state: WordleState, seat: int | None = None) -> Scene:
        rows = [
            tuple(
                Piece(letter.upper(), COLOURS[mark], "tile", MEANINGS[mark])
                for letter, mark in zip(guess, marks(guess, state.secret), strict=True)
            )
            for guess in state.guesses
        ]
        blank = [(None,) * self.length] * (self.guesses - len(rows))
        lines = (f"The word is {state.secret}.",) if seat is None else ()
        return Scene(grid=Grid((*rows, *blank)), lines=lines)


def marks(guess: str, secret: str) -> tuple[int, ...]:
    """ABSENT, ELSEWHERE or RIGHT for every letter of a guess."""
    found = [RIGHT if g == s else ABSENT for g, s in zip(guess, secret, strict=True)]
    spare = [s for g, s in zip(guess, secret, strict=True) if g != s]
    for place, letter in enumerate(guess):
        if not found[place] and letter in spare:
            spare.remove(letter)
            found[place] = ELSEWHERE
    return tuple(found)


def marks_text(found: Sequence[int]) -> str:
    """Marks as text: `-yg--`."""
    return "".join(MARKS[mark] for mark in found)


def consistent(
    words: Sequence[str], guesses: Sequence[tuple[str, tuple[int, ...]]]
) -> tuple[str, ...]:
    """The words for which every guess would have been marked as it was."""
    return tuple(w for w in words if all(marks(guess, w) == found for guess, found in guesses))
