"""Twenty Questions and Guess My City: find a hidden thing by asking yes-or-no questions.

A host thinks of a thing from a list that everybody knows, and answers questions about it from a
table of what holds for which thing, without error. A player asks, or names a thing, one a turn;
every turn that does not name the thing costs 1. The games are those that Zhou, Zanette, Pan,
Levine and Kumar play in "ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL",
2024, with our own lists and tables, and a host that answers from them instead of a model.

Whoever can ask for any half finds one of n things after floor(log2 n) + 2 (n - 2^floor(log2 n)) / n
questions on average, the length of Huffman's code for n equal weights, and pays that; the tests
hold the scripted player to it.

Checked: halving asks as many questions as the best play in closed form, and never more than a
Huffman code's.

Left out: the paper's lists of things and its host, a language model that may err.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)
from palestra.scene import Card, Cards, Part, Saying, Talk

from palestra_games.words.guessing.lists import CITIES, THINGS, Table

UNASKED, NO, YES = 0, 1, 2


class Ask(TextAction, frozen=True):
    """Ask one of the questions."""

    question: str


class Guess(TextAction, frozen=True):
    """Say what it is."""

    name: str


@dataclass(slots=True)
class GuessingState:
    """What the host thinks of, and what has been asked and guessed, by number."""

    rng: Rng
    secret: int  # its place in `names`
    asked: tuple[int, ...] = ()  # places in `questions`, in order
    guessed: tuple[int, ...] = ()  # places in `names`, in order


@dataclass(frozen=True)
class Guessing(TextGame[GuessingState]):
    """The rules of both games."""

    turns: Annotated[
        int, Meta(ge=1, le=1000, description="most questions and guesses together")
    ] = 20
    table: Annotated[
        Table,
        Meta(
            description="pairs of a question and the names for which the answer is yes; none for "
            "the built-in table"
        ),
    ] = ()

    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("turn",)
    action_types = (Ask, Guess)

    def validate(self) -> None:
        different = {question for question, _ in self.table}
        if self.table and (len(different) < len(self.table) or not self.names):
            raise InvalidOption("table must be pairs of a different question and names it fits")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(self.turns), 0.0)

    def stock(self) -> Table:
        """The table that is used where none is given."""
        return THINGS

    @cached_property
    def facts(self) -> Table:
        return self.table or self.stock()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Everything that may be thought of."""
        return tuple(dict.fromkeys(name for _, fits in self.facts for name in fits))

    @cached_property
    def questions(self) -> tuple[str, ...]:
        return tuple(question for question, _ in self.facts)

    @cached_property
    def holds(self) -> NDArray[np.bool_]:
        """Whether a question (row) holds for a thing (column)."""
        return np.array([[n in fits for n in self.names] for _, fits in self.facts])

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every question, then every guess."""
        return (*map(Ask, self.questions), *map(Guess, self.names))

    # The rules

    def initial_state(self, seed: int | None = None) -> GuessingState:
        rng = Rng.seeded(seed)
        return GuessingState(rng, rng.below(len(self.names)))

    def found(self, state: GuessingState) -> bool:
        return state.secret in state.guessed

    def used(self, state: GuessingState) -> int:
        return len(state.asked) + len(state.guessed)

    def to_act(self, state: GuessingState) -> tuple[int, ...]:
        return () if self.found(state) or self.used(state) >= self.turns else (0,)

    def legal(self, state: GuessingState, seat: int) -> Grammar:
        return grammar(self.questions, self.names)

    def step(self, state: GuessingState, actions: Mapping[int, Any]) -> Step:
        action = actions[0]
        if isinstance(action, Ask):
            number = self.questions.index(action.question)
            state.asked += (number,)
            answer = "yes" if self.holds[number, state.secret] else "no"
            data = {"question": number, "answer": answer}
            reply = Event("reveal", f"{action.question} The host says {answer}.", data)
        else:
            number = self.names.index(action.name)
            state.guessed += (number,)
            right = number == state.secret
            text = f"Is it {action.name}? The host says {'yes' if right else 'no'}."
            reply = Event("reveal", text, {"guess": number, "right": right})
        events, rewards = [reply], {0: {"turn": -1.0}}
        if self.found(state):
            rewards = {}
        elif not self.to_act(state):
            name = self.names[state.secret]
            events.append(
                Event("reveal", f"Your turns are used up. It was {name}.", {"name": name})
            )
        return Step(rewards, events=events)

    def outcome(self, state: GuessingState) -> Outcome | None:
        if self.to_act(state):
            return None
        name = self.names[state.secret]
        if self.found(state):
            return Outcome(("win",), (1.0 - self.used(state),), f"It was {name}.")
        return Outcome(("loss",), (-float(self.turns),), f"It was {name}.")

    def deals(self) -> list[tuple[float, GuessingState]]:
        """Everything that may be thought of, equally likely."""
        return [(1 / len(self.names), GuessingState(Rng(0), n)) for n in range(len(self.names))]

    def fitting(self, state: GuessingState) -> list[int]:
        """The things that are still possible, by number."""
        asked = list(state.asked)
        same = (self.holds[asked] == self.holds[asked, state.secret][:, None]).all(axis=0)
        return [n for n in np.flatnonzero(same).tolist() if n not in state.guessed]

    def record_facts(self, state: GuessingState) -> dict[str, Any]:
        """Facts for the record: a listener's beliefs, and the share of uncertainty removed.

        All things that fit the answers are equally likely. Progress is the share of the initial
        entropy, in bits, that the answers have removed.
        """
        fitting = [state.secret] if self.found(state) else self.fitting(state)
        belief = [0.0] * len(self.names)
        for number in fitting:
            belief[number] = 1 / len(fitting)
        doubt = log(len(self.names))
        progress = 1 - log(len(fitting)) / doubt if doubt else 1.0
        return {"belief": belief, "type": state.secret, "progress": progress}

    def determinize(self, state: GuessingState, seat: int, rng: Rng) -> GuessingState:
        """Draw the secret from all that fits the answers."""
        copy = self.clone(state)
        if self.to_act(state):
            copy.secret = rng.choice(self.fitting(state))
        return copy

    # What the player sees

    def rules_for(self, seat: int) -> str:
        return "\n".join(
            [
                super().rules_for(seat),
                f"You have {self.turns} turns.",
                f"It is one of: {', '.join(self.names)}.",
                f"Questions: {' '.join(self.questions)}",
            ]
        )

    def describe(self, state: GuessingState, seat: int) -> str:
        lines = [f"Turns used: {self.used(state)} of {self.turns}."]
        lines += [
            f"{self.questions[number]} {'yes' if self.holds[number, state.secret] else 'no'}"
            for number in dict.fromkeys(state.asked)
        ]
        wrong = [self.names[n] for n in dict.fromkeys(state.guessed) if n != state.secret]
        if wrong:
            lines.append(f"It is not: {', '.join(wrong)}.")
        if self.found(state):
            lines.append(f"It is {self.names[state.secret]}.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        length = 1 + len(self.menu)
        return spaces.Box(0, max(YES, self.turns), (length,), np.int16)

    def observe(self, state: GuessingState, seat: int) -> NDArray[np.int16]:
        """Turns used, then for every question and every guess 0 not asked yet, 1 no, 2 yes."""
        seen = np.zeros(1 + len(self.menu), np.int16)
        seen[0] = self.used(state)
        for number in state.asked:
            seen[1 + number] = YES if self.holds[number, state.secret] else NO
        for number in state.guessed:
            seen[1 + len(self.questions) + number] = YES if number == state.secret else NO
        return seen

    def scene(self, state: GuessingState, seat: int | None = None) -> Scene:
        """The questions and the answers, and what it is not."""
        player, said = self.players[0], []
        for number in dict.fromkeys(state.asked):
            said.append(Saying(player, self.questions[number], 0))
            answer = self.holds[number, state.secret]
            said.append(Saying("host", "Yes." if answer else "No.", "green" if answer else "red"))
        guesses = tuple(
            Card(self.names[n], colour="green" if n == state.secret else "silver")
            for n in dict.fromkeys(state.guessed)
        )
        parts: list[Part] = [Talk(tuple(said))]
        if guesses:
            parts.append(Cards("guessed", guesses))
        lines = (f"The host thinks of: {self.names[state.secret]}.",) if seat is None else ()
        caption = f"Turns used: {self.used(state)} of {self.turns}"
        return Scene(caption, parts=tuple(parts), lines=lines)


@environment(
    "games/TwentyQuestions-v0",
    family="text",
    tags=("hidden-information", "deterministic", "questions"),
    paper=(
        "Zhou et al. (2024), ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL"
    ),
)
@dataclass(frozen=True)
class TwentyQuestions(Guessing):
    """Twenty Questions: find what the host is thinking of by yes-or-no questions.

    Numbered actions are the questions, then the names. `observe` documents the layout of an
    observation. Every turn that does not name the thing pays -1.
    """

    rules_text = """
        You find out what the host thinks of, by questions that they answer with yes or no.

        In every turn write either a question from the list, such as
        Ask(question='Is it an animal?'), or what you believe it is, such as Guess(name='apple').
        The host always answers truly. Every turn in which you do not name it costs you 1 point. The
        game ends when you name it, or when your turns are used up.
    """


@environment(
    "games/GuessMyCity-v0",
    family="text",
    tags=("hidden-information", "deterministic", "questions"),
    paper=(
        "Zhou et al. (2024), ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL"
    ),
)
@dataclass(frozen=True)
class GuessMyCity(Guessing):
    """Guess My City: find the host's city by yes-or-no questions.

    Numbered actions are the questions, then the cities. `observe` documents the layout of an
    observation. Every turn that does not name the city pays -1.
    """

    rules_text = """
        You find out which city the host comes from, by questions that they answer with yes or no.

        In every turn write either a question from the list, such as Ask(question='Is it in Asia?'),
        or the city you believe it is, such as Guess(name='Lima'). The host always answers truly.
        Every turn in which you do not name it costs you 1 point. The game ends when you name it, or
        when your turns are used up.
    """

    def stock(self) -> Table:
        return CITIES


@lru_cache(maxsize=64)
def grammar(questions: tuple[str, ...], names: tuple[str, ...]) -> Grammar:
    ask, guess = {"question": OneOf(questions)}, {"name": OneOf(names)}
    return Grammar((Option(Ask, ask), Option(Guess, guess)))


@agent("halving", needs=("array",))
class Halving(ScriptedAgent[TwentyQuestions | GuessMyCity]):
    """Asks the question that splits the remaining things most evenly; guesses if none splits them.

    With two left it guesses one: a wrong guess costs as much as a question, a right one nothing.
    """

    def choose(self, turn: Turn[TwentyQuestions | GuessMyCity]) -> TextAction:
        game: Guessing = turn.game
        seen = np.asarray(turn.observation)
        asked, guessed = seen[1 : 1 + len(game.questions)], seen[1 + len(game.questions) :]
        known = asked != UNASKED
        fits = (game.holds[known] == (asked[known] == YES)[:, None]).all(axis=0)
        left = np.flatnonzero(fits & (guessed == UNASKED))
        yes = game.holds[:, left].sum(axis=1)
        worst = np.maximum(yes, len(left) - yes)
        best = int(worst.argmin())
        if len(left) <= 2 or worst[best] == len(left):
            return Guess(game.names[int(left[0])])
        return Ask(game.questions[best])
