"""Taboo: describe a word without the words that come to mind first, and let the other guess it.

A giver sees a card, a word and forbidden ones, and describes the word. A description is buzzed, and
the card is lost, if it contains a form of one of these words, or a word that begins or ends with
one, or that one begins or ends with. After every description the guesser says one word. A card that
is guessed is a point for both; after `tries` wrong guesses it is lost. The rules are those of Brian
Hersh's game, 1989, without its sand-glass and second team: tries are counted instead of seconds.
Words, associations and cards are Palestra's own: forbidden are the words that share most hints with
the word.

Checked: guessing at random finds a card with probability 1 - (1 - 1/n)^tries among n
words; with one hint for every m words, the scripted players find one of m.

Left out: the sand-glass, the second team and the printed cards.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Meta,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Seat,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    only,
)
from palestra.scene import Card, Saying, Talk
from palestra.scene import Cards as CardRow

from palestra_games.social.associations import (
    AssociationOption,
    Associations,
    AssociationTable,
    Word,
    check_associations,
    related_words,
)

GIVER, GUESSER = 0, 1
DESCRIBE, GUESS, OVER = range(3)
LETTERS = 24  # of the longest word that may be said
MOST_FORBIDDEN = 10
WORD = re.compile(r"[A-Za-z]+")


class Describe(TextAction, frozen=True):
    """Say something that makes the guesser think of the word."""

    text: str


class Skip(TextAction, frozen=True):
    """Give up the card."""


class Guess(TextAction, frozen=True):
    """Say what you think the word is."""

    word: str


@dataclass(slots=True)
class Cards:
    """The state: the card that is played, and those that are done."""

    rng: Rng
    target: int  # the word, by its number in the vocabulary
    done: tuple[int, ...] = ()  # words of the cards done
    points: int = 0
    said: tuple[str, ...] = ()  # descriptions of this card
    guessed: tuple[str, ...] = ()  # wrong guesses at it


@environment(
    "games/Taboo-v0",
    family="social",
    tags=("words", "cooperation", "roles", "hidden-information", "messages"),
    paper="Hersh (1989), Taboo",
)
@dataclass(frozen=True)
class Taboo(AssociationTable, Talking, TextGame[Cards]):
    """Taboo for two: a giver describes a word without forbidden ones, a guesser guesses it.

    The menu numbers every hint of the table as a Describe, then Skip(), then every word as a Guess.
    An observation is an int16 vector of 6 + f + h + w numbers, for f forbidden words, h hints and w
    words of the table; words are numbered from 1, and 0 is what the guesser must not see:

        phase, role                     0 describe, 1 guess, 2 over; 0 giver, 1 guesser
        cards done, points, tries used
        the word, the forbidden words
        hints said for this card        0 or 1 for every hint
        words guessed for it            0 or 1 for every word

    Both players are paid 1 for every word that is found.
    """

    cards: Annotated[
        int, Meta(ge=1, le=10_000, description="cards to play; at most one per word of the table")
    ] = 5
    tries: Annotated[
        int, Meta(ge=1, le=100, description="wrong guesses after which a card is lost")
    ] = 5
    forbidden: Annotated[
        int, Meta(ge=0, le=MOST_FORBIDDEN, description="most forbidden words on a card")
    ] = 5
    message_limit: Annotated[
        int, Meta(ge=LETTERS, le=100_000, description="most characters of a description")
    ] = 300
    associations: AssociationOption = ()

    rules_text = """
        You play Taboo with one other player. player_0 is the giver, player_1 the guesser.

        The giver sees a word and describes it: Describe(text='It swims and is very large.'). They
        must not use the word or a forbidden word, nor a form of one, nor a longer word that begins
        or ends with one, nor a part of one of four letters or more; else they are buzzed and the
        card is lost. They may give a card up: Skip(). After a description the guesser says one
        word: Guess(word='whale'). If it is wrong, the giver says more. Every word that is found is
        one point for both of you.
    """
    counters = ("points",)
    order = "sequential"
    payoffs = "common"
    num_players = 2
    perfect_information = False
    deterministic = False
    reward_terms = ("found",)
    action_types = (Describe, Skip, Guess)

    def validate(self) -> None:
        check_associations(self.table, 2)
        most = len(self.vocabulary)
        if self.cards > most:
            raise InvalidOption(f"cards must be from 1 to {most}, one per word, not {self.cards}")
        if self.forbidden >= most:
            raise InvalidOption(f"forbidden must be from 0 to {most - 1}, not {self.forbidden}")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.cards))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        return (Seat(self.players[0], "giver"), Seat(self.players[1], "guesser"))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every hint as a description, Skip(), then every word as a guess."""
        return (*map(Describe, self.hints), Skip(), *map(Guess, self.vocabulary))

    def card(self, target: int) -> tuple[str, ...]:
        """The forbidden words for a word: those that share most hints with it."""
        return forbidden_words(self.table, self.vocabulary[target], self.forbidden)

    def breach(self, target: int, text: str) -> str:
        """The first word of a description that the card forbids; empty if there is none."""
        taboo = (self.vocabulary[target], *self.card(target))
        found = (
            word for word in WORD.findall(text) if any(related_words(word, no) for no in taboo)
        )
        return next(found, "")

    # The rules

    def initial_state(self, seed: int | None = None) -> Cards:
        rng = Rng.seeded(seed)
        return Cards(rng, rng.below(len(self.vocabulary)))

    def to_act(self, state: Cards) -> tuple[int, ...]:
        if len(state.done) >= self.cards:
            return ()
        return (GUESSER if len(state.said) > len(state.guessed) else GIVER,)

    def legal(self, state: Cards, seat: int) -> Grammar:
        if seat == GIVER:
            return giver_grammar(self.hints, self.message_limit)
        return guesser_grammar(self.vocabulary)

    def step(self, state: Cards, actions: Mapping[int, Any]) -> Step:
        ((_, action),) = actions.items()
        if isinstance(action, Skip):
            return Step(events=[Event("skip", "The giver skips the card."), *self._next(state)])
        if isinstance(action, Describe):
            return Step(events=self._hear(state, action.text))
        word = action.word.lower()
        state.guessed += (word,)
        right = word == self.vocabulary[state.target]
        text = f"The guesser says: {word}. That is {'right' if right else 'wrong'}."
        events = [Event("reveal", text, {"word": word, "right": right})]
        if right:
            state.points += 1
            paid = {seat: {"found": 1.0} for seat in range(2)}
            return Step(paid, events=[*events, *self._next(state)])
        if len(state.guessed) >= self.tries:
            events += self._next(state)
        return Step(events=events)

    def _hear(self, state: Cards, text: str) -> list[Event]:
        events = [Event("message", f"The giver says: {self.quoted(text)}", {"text": text})]
        word = self.breach(state.target, text)
        if not word:
            state.said += (text,)
            return events
        events.append(Event("reveal", f"Buzz! {word} is forbidden.", {"word": word}))
        return [*events, *self._next(state)]

    def _next(self, state: Cards) -> list[Event]:
        """Show the card and draw another."""
        word = self.vocabulary[state.target]
        events = [Event("reveal", f"The word was {word}.", {"word": word})]
        state.done += (state.target,)
        state.said, state.guessed = (), ()
        if len(state.done) >= self.cards:
            text = f"All cards are done: {state.points} of {self.cards} were found."
            return [*events, Event("end", text, {"points": state.points})]
        state.target = state.rng.choice(self._left(state))
        return [*events, self._card_event(state)]

    def _left(self, state: Cards) -> list[int]:
        return [n for n in range(len(self.vocabulary)) if n not in state.done]

    def _card_event(self, state: Cards) -> Event:
        return Event("card", self._card_text(state), {"word": state.target}, only(GIVER))

    def _card_text(self, state: Cards) -> str:
        no = ", ".join(self.card(state.target)) or "none"
        return f"The word is {self.vocabulary[state.target]}. Forbidden: {no}."

    def outcome(self, state: Cards) -> Outcome | None:
        if self.to_act(state):
            return None
        score: Result = "score"
        reason = f"{state.points} of {self.cards} words were found"
        return Outcome((score, score), (float(state.points),) * 2, reason)

    def opening(self, state: Cards) -> Sequence[Event]:
        return [self._card_event(state)]

    def noop(self, state: Cards, seat: int) -> TextAction | None:
        return Skip() if seat == GIVER else None

    def determinize(self, state: Cards, seat: int, rng: Rng) -> Cards:
        """For the guesser, redraw the word from those for which no description would be buzzed."""
        copy = self.clone(state)
        if seat == GUESSER and self.to_act(state):
            fitting = [n for n in self._left(state) if self._fits(state, n)]
            copy.target = rng.choice(fitting)
        return copy

    def _fits(self, state: Cards, target: int) -> bool:
        said = any(self.breach(target, text) for text in state.said)
        return not said and self.vocabulary[target] not in state.guessed

    # What a player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThere are {self.cards} cards; a card is lost after "
            f"{self.tries} wrong guesses."
        )

    def describe(self, state: Cards, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}, the {self.seats[seat].role}. Cards done: "
            f"{len(state.done)} of {self.cards}, found: {state.points}."
        ]
        if not self.to_act(state):
            return lines[0]
        if seat == GIVER:
            lines.append(self._card_text(state))
        lines += [f"Said: {self.quoted(text)}" for text in state.said]
        if state.guessed:
            lines.append(f"Wrong guesses: {', '.join(state.guessed)}.")
        lines.append(f"Guesses left: {self.tries - len(state.guessed)}.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        words = len(self.vocabulary)
        length = 6 + self.forbidden + len(self.hints) + words
        return spaces.Box(0, max(words, self.tries, OVER), (length,), np.int16)

    def observe(self, state: Cards, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        acting = self.to_act(state)
        phase = OVER if not acting else GUESS if acting[0] == GUESSER else DESCRIBE
        card = [0] * (1 + self.forbidden)
        if seat == GIVER and acting:
            named = (self.vocabulary[state.target], *self.card(state.target))
            card[: len(named)] = [1 + self.vocabulary.index(word) for word in named]
        said = [hint in state.said for hint in self.hints]
        guessed = [word in state.guessed for word in self.vocabulary]
        head = (phase, seat, len(state.done), state.points, len(state.guessed))
        return np.array([*head, *card, *said, *guessed], np.int16)

    def action_mask(self, state: Cards, seat: int) -> NDArray[np.int8]:
        mask = np.ones(len(self.menu), np.int8)
        if seat in self.to_act(state):
            mask[: len(self.hints) + 1] = seat == GIVER
            mask[len(self.hints) + 1 :] = seat == GUESSER
        return mask

    def scene(self, state: Cards, seat: int | None = None) -> Scene:
        """The card, which the guesser does not see, and what was said and guessed of it.

        At the end: the words of all cards, which both were told.
        """
        done = f"Card {min(len(state.done) + 1, self.cards)} of {self.cards}, found {state.points}"
        if not self.to_act(state):
            words = (Card(self.vocabulary[word], colour="gold") for word in state.done)
            return Scene(done, parts=(CardRow("words", tuple(words)),))
        left = f"Guesses left: {self.tries - len(state.guessed)}."
        talk = []
        for said, guess in zip_longest(state.said, state.guessed):
            talk.append(Saying(self.players[GIVER], self.quoted(said), GIVER))
            talk += [Saying(self.players[GUESSER], f"{guess}? No.", GUESSER)] if guess else []
        return Scene(done, parts=(*self._card(state, seat), Talk(tuple(talk))), lines=(left,))

    def _card(self, state: Cards, seat: int | None) -> tuple[CardRow, ...]:
        """The word and the forbidden ones; their backs for the guesser."""
        if seat == GUESSER:
            return (CardRow("word", (Card(hidden=True),)),)
        forbidden = self.card(state.target)
        return (
            CardRow("word", (Card(self.vocabulary[state.target], colour="gold"),)),
            CardRow("forbidden", tuple(Card(word, colour="red") for word in forbidden)),
        )


@lru_cache(maxsize=4096)
def forbidden_words(table: Associations, target: str, count: int) -> tuple[str, ...]:
    """The words that share most hints with a word; of equals the first in the alphabet."""
    shared = Counter(w for _, words in table if target in words for w in words if w != target)
    return tuple(sorted(shared, key=lambda word: (-shared[word], word))[:count])


@lru_cache(maxsize=64)
def giver_grammar(hints: tuple[str, ...], limit: int) -> Grammar:
    return Grammar((Option(Describe, {"text": Text(limit, hints)}), Option(Skip)))


@lru_cache(maxsize=16)
def guesser_grammar(words: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Guess, {"word": Word(LETTERS, words)}),))


@agent("taboo-player", needs=("array",))
class TabooPlayer(ScriptedAgent[Taboo]):
    """Describes and guesses the words of Taboo by the table of associations.

    The giver says a hint that fits the word and has not been said, the shortest list first, and
    skips when there is none left. The guesser says the first word that all the hints fit.
    """

    def choose(self, turn: Turn[Taboo]) -> TextAction:
        game = turn.game
        seen = np.asarray(turn.observation).tolist()
        start = 6 + game.forbidden
        flags, words = seen[start : start + len(game.hints)], seen[start + len(game.hints) :]
        said = [fits for flag, (_, fits) in zip(flags, game.table, strict=True) if flag]
        if turn.seat == GIVER:
            return self._describe(game, seen[5] - 1, flags)
        guessed = {word for word, flag in zip(game.vocabulary, words, strict=True) if flag}
        candidates = [w for w in (said[0] if said else game.vocabulary) if w not in guessed]
        common = [word for word in candidates if all(word in fits for fits in said)]
        return Guess((common or candidates or game.vocabulary)[0])

    def _describe(self, game: Taboo, target: int, flags: Sequence[int]) -> TextAction:
        word = game.vocabulary[target]
        left = [
            (len(fits), hint)
            for flag, (hint, fits) in zip(flags, game.table, strict=True)
            if not flag and word in fits and not game.breach(target, hint)
        ]
        return Describe(min(left)[1]) if left else Skip()
