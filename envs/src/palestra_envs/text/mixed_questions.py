"""MixedQuestions: questions of which only some need a tool.

One after another a player answers questions of three kinds, and may call a tool first:

* arithmetic, with a calculator: a sum of one-digit numbers, or a product of four-digit ones;
* facts, with a search: who held an office, in a year that the player's notes cover or in one after
  them;
* intent, with a question to the user: which table to book, where the user's wish says it or leaves
  it open.

In each kind half of the questions need their tool; the others can be answered from the question
and the notes. The player chooses among five answers. A right one pays 1 divided by the number of
questions, and each call costs `price`. The game reports which calls were needless: those on a
question that needs none, and further calls on one. The shaper `smart` and the metrics `overuse`,
`underuse` and `accuracy-per-call` read this.

The domains are those of "SMART: Self-Aware Agent for Tool Overuse Mitigation", 2025: mathematics,
time-sensitive facts and intents. Its questions come from data sets; these are drawn, so that the
need is known exactly.

Checked: products and offices by hand; with no price, a player who calls where there is need is
always right, and one who never calls is right on half of the questions and on a fifth of the rest.

Left out: the paper's data sets; questions are drawn.
"""

from __future__ import annotations

from collections import Counter
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
from palestra.grids.words import quantity
from palestra.scene import Grid, Lines, Part, Piece, Table, mark_cells

ARITHMETIC, FACTS, INTENT = range(3)
TOOLS = ("calculator", "search", "user")  # by kind of question
CHOICES = 5
COURSE = 12  # questions in a picture
NOTED = 2020  # the last year of the notes
OFFICES = ("mayor", "harbour master", "librarian", "keeper of the mint")
HOLDERS = ("Adeyemi", "Brandt", "Castillo", "Dao", "Eriksen", "Farouk", "Gupta", "Haddad")
TABLES = ("at the window", "in the garden", "by the stage", "in the corner", "at the bar")


class Call(TextAction, frozen=True):
    """Call the tool for this kind of question."""

    tool: str


class Answer(TextAction, frozen=True):
    """Answer the question with one of the choices, by number from 1."""

    choice: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its kind, whether it needs its tool, and the right one of its choices, from 0."""

    kind: int
    needed: bool
    text: str
    choices: tuple[str, ...]
    right: int


@dataclass(slots=True)
class Quiz:
    """The state: the questions and notes, where the player is, and what was called and answered."""

    rng: Rng
    questions: tuple[Question, ...]
    notes: tuple[str, ...]
    at: int = 0
    told: str = ""  # what the tool said about the current question
    calls: tuple[int, ...] = ()  # for every question
    answers: tuple[int, ...] = ()


@environment(
    "text/MixedQuestions-v0",
    family="text",
    tags=("tools", "questions"),
    paper="SMART: Self-Aware Agent for Tool Overuse Mitigation (2025)",
    splits={"long": {"questions": 24}, "free": {"price": 0.0}},
)
@dataclass(frozen=True)
class MixedQuestions(TextGame[Quiz]):
    """Questions of which only some need a tool.

    The menu: Call of each tool, then Answer 1 to 5. An observation is an int16 vector: the number
    of the question, its kind, the calls made for it, and the choice that its tool named, 0 if none.
    """

    questions: Annotated[int, Meta(ge=1, le=100, description="questions to answer")] = 6
    price: Annotated[float, Meta(ge=0, le=1, description="cost of a call")] = 0.05
    calls: Annotated[int, Meta(ge=1, le=10, description="most calls for a question")] = 3

    rules_text = """
        You answer questions one after another, each by choosing one of five answers.

        In your turn write one of:
        Call(tool='calculator') for a question of arithmetic, Call(tool='search') for one about an
        office, or Call(tool='user') to ask the user what they wish. The result is shown to you;
        Answer(choice=…) with the number of an answer, which leads to the next question.

        Many questions can be answered without a tool.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    reward_terms = ("answers", "calls")
    action_types = (Call, Answer)
    menu = (*map(Call, TOOLS), *(Answer(n + 1) for n in range(CHOICES)))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-self.price * self.calls * self.questions, 1.0)

    # The rules

    def initial_state(self, seed: int | None = None) -> Quiz:
        rng = Rng.seeded(seed)
        held = {office: [rng.choice(HOLDERS) for _ in range(10)] for office in OFFICES}
        notes = _noted(held)
        drawn = [_draw(rng, kind, needed, held) for kind, needed in self._kinds()]
        order = [rng.word() for _ in drawn]
        pairs = sorted(zip(order, drawn, strict=True), key=lambda pair: pair[0])
        return Quiz(rng, tuple(question for _, question in pairs), notes)

    def to_act(self, state: Quiz) -> tuple[int, ...]:
        return () if state.at == self.questions else (0,)

    def legal(self, state: Quiz, seat: int) -> Grammar:
        options = [Option(Answer, {"choice": OneOf(tuple(range(1, CHOICES + 1)))})]
        if self._made(state) < self.calls:
            tool = TOOLS[state.questions[state.at].kind]
            options.insert(0, Option(Call, {"tool": OneOf((tool,))}))
        return Grammar(tuple(options))

    @staticmethod
    def _made(state: Quiz) -> int:
        """Calls made for the current question."""
        return state.calls[state.at] if state.at < len(state.calls) else 0

    def step(self, state: Quiz, actions: Mapping[int, TextAction]) -> Step:
        action, asked = actions[0], state.questions[state.at]
        made = self._made(state)
        if isinstance(action, Call):
            state.calls = (*state.calls[: state.at], made + 1)
            state.told = f"The {action.tool} says: {asked.choices[asked.right]}."
            data = {"tool": action.tool, "arguments": {"question": asked.text}}
            paid = {"calls": -self.price} if self.price else {}
            return Step({0: paid}, events=[Event("reveal", state.told, data)])
        assert isinstance(action, Answer)
        state.calls = (*state.calls[: state.at], made)
        state.answers = (*state.answers, action.choice - 1)
        right = action.choice - 1 == asked.right
        state.at, state.told = state.at + 1, ""
        text = f"You answer {asked.choices[action.choice - 1]!r}."
        paid = {"answers": 1 / self.questions} if right else {}
        events = [Event("answer", text)]
        if state.at < self.questions:
            events.append(Event("reveal", "", {"question": state.at + 1}))
        return Step({0: paid}, events=events)

    def outcome(self, state: Quiz) -> Outcome | None:
        if state.at < self.questions:
            return None
        right = self._right(state)
        score = right / self.questions - self.price * sum(state.calls)
        won = right == self.questions
        reason = f"{right} of {self.questions} answers were right"
        return Outcome(("win" if won else "loss",), (score,), reason)

    def _right(self, state: Quiz) -> int:
        return sum(a == q.right for a, q in zip(state.answers, state.questions, strict=False))

    def record_facts(self, state: Quiz) -> dict[str, Any]:
        """Progress, needless calls so far, and by question what was needed, called and right."""
        needed = [question.needed for question in state.questions]
        pairs = zip(state.calls, needed, strict=False)
        answered = zip(state.answers, state.questions, strict=False)
        return {
            "progress": self._right(state) / self.questions,
            "needless": sum(max(calls - need, 0) for calls, need in pairs),
            "needs": needed,
            "called": list(state.calls),
            "answered": [choice == asked.right for choice, asked in answered],
        }

    def determinize(self, state: Quiz, seat: int, rng: Rng) -> Quiz:
        """Draw anew the questions to come, the answers that only a tool knows and that were neither
        asked for nor guessed, and notes that were not read yet."""
        imagined = self.clone(state)
        asked = list(state.questions[: state.at + 1])
        for place, answer in enumerate(state.answers):
            question = asked[place]
            if question.needed and not state.calls[place] and answer != question.right:
                others = [choice for choice in range(CHOICES) if choice != answer]
                asked[place] = replaced(question, rng.choice(others))
        if state.at < self.questions and asked[-1].needed and not state.told:
            asked[-1] = replaced(asked[-1], rng.between(0, CHOICES - 1))
        held = {office: [rng.choice(HOLDERS) for _ in range(10)] for office in OFFICES}
        if any(question.kind == FACTS for question in asked):
            for place, note in enumerate(state.notes):
                held[OFFICES[place // 5]][place % 5] = note.partition(": ")[2]
        imagined.notes = _noted(held)
        left = sorted(
            (Counter(self._kinds()) - Counter((q.kind, q.needed) for q in asked)).elements()
        )
        rng.shuffle(left)
        imagined.questions = (*asked, *(_draw(rng, kind, need, held) for kind, need in left))
        return imagined

    def _kinds(self) -> list[tuple[int, bool]]:
        """The kind of every question, and whether it needs its tool: half of each kind do."""
        return [(number % 3, number // 3 % 2 == 1) for number in range(self.questions)]

    # What the player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThere are {quantity(self.questions, 'question')}. A right "
            f"answer pays {1 / self.questions:.3g}, and a call costs {self.price:g}; there are at "
            f"most {quantity(self.calls, 'call')} for a question."
        )

    def describe(self, state: Quiz, seat: int) -> str:
        lines = [f"Questions answered: {state.at} of {self.questions}."]
        if state.at < self.questions:
            asked = state.questions[state.at]
            lines += [f"Your notes: {'; '.join(state.notes)}."] if asked.kind == FACTS else []
            lines += [f"Question: {asked.text}", "Answers:"]
            lines += [f"{number}. {one}" for number, one in enumerate(asked.choices, 1)]
            lines += [f"Calls for this question: {self._made(state)} of {self.calls}."]
            lines += [state.told] if state.told else []
        return "\n".join(lines)

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(0, max(self.questions, self.calls, CHOICES), (4,), np.int16)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    def observe(self, state: Quiz, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        if state.at == self.questions:
            return np.array([state.at, 0, 0, 0], np.int16)
        asked = state.questions[state.at]
        named = asked.right + 1 if state.told else 0
        return np.array([state.at, asked.kind, self._made(state), named], np.int16)

    def scene(self, state: Quiz, seat: int | None = None) -> Scene:
        """The questions in a row with their calls, and the one of now with its choices.

        A spectator sees which questions need a tool and which answers are right.
        """
        parts: list[Part] = [self._course(state, seat)]
        if state.at < self.questions:
            asked = state.questions[state.at]
            parts.append(Lines((asked.text, *([state.told] if state.told else []))))
            if seat is not None and asked.kind == FACTS:  # choices in a line leave the notes space
                choices = ", ".join(f"{n}. {one}" for n, one in enumerate(asked.choices, 1))
                parts += [Lines((choices,)), _note_table(state.notes)]
            else:
                parts.append(_choice_table(asked, told=seat is None or bool(state.told)))
        return Scene(f"Questions answered: {state.at} of {self.questions}", parts=tuple(parts))

    def _course(self, state: Quiz, seat: int | None) -> Grid:
        """For each question its kind, the calls for it, and for a spectator the needed ones."""
        first = max(0, min(state.at, self.questions - 1) - COURSE + 1)
        places = range(first, min(first + COURSE, self.questions))
        cells = []
        for row in (self._asked, self._called, self._answered):
            cells.append(tuple(row(state, place, seat) for place in places))
        now = [(0, state.at - first)] if state.at < self.questions else []
        numbers = tuple(str(place + 1) for place in places)
        return Grid(
            tuple(cells), ("question", "calls", "answer"), numbers, marks=mark_cells("target", now)
        )

    def _asked(self, state: Quiz, place: int, seat: int | None) -> Piece | None:
        if seat is not None and place > state.at:
            return None
        asked = state.questions[place]
        sign = ("+", "?", "…")[asked.kind]
        needed = seat is None and asked.needed
        return Piece(sign, "gold" if needed else "silver", label=TOOLS[asked.kind])

    def _called(self, state: Quiz, place: int, seat: int | None) -> Piece | None:
        count = state.calls[place] if place < len(state.calls) else 0
        wasted = seat is None and count > state.questions[place].needed
        return Piece(str(count), "red" if wasted else "blue", "disc", "calls") if count else None

    def _answered(self, state: Quiz, place: int, seat: int | None) -> Piece | None:
        if place >= len(state.answers):
            return None
        if seat is not None:
            return Piece(str(state.answers[place] + 1), 0, label="answer")
        right = state.answers[place] == state.questions[place].right
        return Piece("+" if right else "x", "green" if right else "red", label="answer")


def replaced(asked: Question, right: int) -> Question:
    """The same question with another right answer."""
    return Question(asked.kind, asked.needed, asked.text, asked.choices, right)


def _choice_table(asked: Question, *, told: bool) -> Table:
    """The choices; the right one is green once it is told."""
    rows = tuple((str(number), one) for number, one in enumerate(asked.choices, 1))
    tints = tuple("green" if told and n == asked.right else -1 for n in range(len(rows)))
    return Table(("", "answers"), rows, colours=tints)


def _note_table(notes: Sequence[str]) -> Table:
    """The notes: who held each office in each year."""
    years = tuple(str(NOTED - 4 + n) for n in range(5))
    names = [note.partition(": ")[2] for note in notes]
    rows = tuple((office, *names[5 * n : 5 * n + 5]) for n, office in enumerate(OFFICES))
    return Table(("notes", *years), rows)


def _noted(held: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The notes that a player has: who held each office in the first five years."""
    return tuple(
        f"{office} in {NOTED - 4 + year}: {names[year]}"
        for office, names in held.items()
        for year in range(5)
    )


def _draw(rng: Rng, kind: int, needed: bool, held: Mapping[str, list[str]]) -> Question:
    text, right, others = (_arithmetic, _fact, _intent)[kind](rng, needed, held)
    wrong = [one for one in dict.fromkeys(others) if one != right]
    rng.shuffle(wrong)
    place = rng.between(0, CHOICES - 1)
    choices = [*wrong[: CHOICES - 1]]
    choices.insert(place, right)
    return Question(kind, needed, text, tuple(choices), place)


def _arithmetic(rng: Rng, needed: bool, held: object) -> tuple[str, str, list[str]]:
    """A product whose wrong answers have its first and last digit, or a sum that anybody knows."""
    if not needed:
        one, other = rng.between(1, 9), rng.between(1, 9)
        near = [str(one + other + off) for off in (-2, -1, 1, 2)]
        return f"How much is {one} + {other}?", str(one + other), near
    one, other = rng.between(1000, 9999), rng.between(1000, 9999)
    near = [str(one * other + off * 1000) for off in (-20, -10, 10, 20)]
    return f"How much is {one} * {other}?", str(one * other), near


def _fact(rng: Rng, needed: bool, held: Mapping[str, list[str]]) -> tuple[str, str, list[str]]:
    office = rng.choice(OFFICES)
    year = rng.between(5, 9) if needed else rng.between(0, 4)
    text = f"Who was {office} in {NOTED - 4 + year}?"
    return text, held[office][year], list(HOLDERS)


def _intent(rng: Rng, needed: bool, held: object) -> tuple[str, str, list[str]]:
    table = rng.choice(TABLES)
    wish = "" if needed else f" {table}"
    return f"The user says: 'Book me a table{wish}, please.' Which table?", table, list(TABLES)


@agent("question-solver", kind="solver")
class QuestionSolver(ScriptedAgent[MixedQuestions]):
    """Calls a tool where the question needs one, and answers what is known or was said.

    With `calls="always"` it calls for every question, with `calls="never"` for none; it then
    guesses the first answer where it cannot know.
    """

    def __init__(
        self,
        *,
        calls: Annotated[
            str, Meta(pattern="^(needed|always|never)$", description="needed, always or never")
        ] = "needed",
    ) -> None:
        super().__init__(seed=0)
        self._calls = calls

    def choose(self, turn: Turn[MixedQuestions]) -> TextAction:
        _, kind, made, named = turn.observation.tolist()
        if named:
            return Answer(named)
        known = known_choice(turn.position)
        calls = self._calls == "always" or (self._calls == "needed" and not known)
        if calls and made < turn.game.calls:
            return Call(TOOLS[kind])
        return Answer(known or 1)


def known_choice(position: str) -> int:
    """The answer that a question and the notes give away, from 1; 0 if they do not."""
    lines = position.split("\n")
    asked = next(line for line in lines if line.startswith("Question: "))
    choices = [line.partition(". ")[2] for line in lines if line[:1].isdigit()]
    words = asked.rstrip("?").split()
    if "+" in asked:
        right = str(int(words[-3]) + int(words[-1]))
    elif "Who was" in asked:
        office, _, year = asked.partition("Who was ")[2].rstrip("?").partition(" in ")
        _, _, after = position.partition(f"{office} in {year}: ")
        right = after.partition(";")[0].partition(".")[0] if after else ""
    else:
        right = next((one for one in choices if f"table {one}," in asked), "")
    return choices.index(right) + 1 if right in choices else 0
