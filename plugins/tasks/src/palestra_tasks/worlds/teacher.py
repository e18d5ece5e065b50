"""DataEnvGym: a teacher decides what data a student is trained on, and reads how it does.

In each round the teacher orders examples of one skill (with "open" it may write them itself); an
engine makes them (with each skill's own
share of wrong labels), and the student, a logistic regression, is trained anew on all it has. The
teacher reads, by `structure`: "open", some questions that the student got wrong; "list", its
accuracy on every skill; "tree", the accuracy of skills that were explored, which costs a round
each. It is paid the change of the accuracy on validation questions. A hidden test ends the episode.

After Khan, Stengel-Eskin, Cho and Bansal, "DataEnvGym: Data Generation Agents in Teacher
Environments with Student Feedback", 2024, whose students are language and vision models.

Checked: the student's accuracy against an independent fit; examples of a skill raise that skill.

Left out: students that are language and vision models, and their questions of mathematics, code and
pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from palestra import (
    Integer,
    Meta,
    Option,
    Rng,
    ScriptedAgent,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Part

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.worlds.student import (
    NAMES,
    START,
    TEST,
    VALIDATION,
    Course,
    Example,
    answers,
    draw_course,
    examples,
    questions,
)

BATCH = 12  # examples of a round
SHOWN = 4  # wrong answers that are shown
FARTHEST = 10  # from 0, of x and y of an example that the teacher writes


class Teach(TextAction, frozen=True):
    """Order examples of a skill, by its number."""

    skill: int


class Write(TextAction, frozen=True):
    """Write examples yourself: a JSON list of [skill, x, y, label]."""

    examples: str


class Explore(TextAction, frozen=True):
    """Look at a skill: how well the student does on it."""

    skill: int


def read_examples(text: str, skills: int) -> tuple[Example, ...]:
    """The examples in a text; raises ValueError with what is wrong."""
    try:
        given = msgspec.json.decode(text, type=list[tuple[int, float, float, int]])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"it is not a JSON list of [skill, x, y, label]: {error}") from None
    if not 1 <= len(given) <= BATCH:
        raise ValueError(f"a round has 1 to {BATCH} examples, not {len(given)}")
    for skill, x, y, label in given:
        if not 0 <= skill < skills or label not in (0, 1) or max(abs(x), abs(y)) > FARTHEST:
            raise ValueError(
                f"{[skill, x, y, label]} is no example: skills are 0 to {skills - 1}, labels 0 or "
                f"1, x and y from -{FARTHEST} to {FARTHEST}"
            )
    return tuple(given)


@dataclass(slots=True, kw_only=True)
class ClassState(TaskState):
    """The state of a course."""

    seed: int
    hidden: int  # of the test
    learned: tuple[Example, ...]
    explored: tuple[int, ...] = ()


@environment(
    "tasks/DataTeacher-v0",
    family="text",
    tags=("teaching", "hidden-information", "chance"),
    paper=(
        "Khan et al. (2024), DataEnvGym: Data Generation Agents in Teacher Environments with "
        "Student Feedback"
    ),
    splits={
        "open": {"structure": "open"},
        "list": {"structure": "list"},
        "tree": {"structure": "tree"},
    },
)
@dataclass(frozen=True)
class DataTeacher(TaskGame[ClassState]):
    """A teacher orders training data for a student that is really trained.

    Action s orders examples of skill s, action skills + s explores it (structure "tree"). An
    observation is a float32 vector: for each skill the accuracy that is known (-1 if not) and the
    number of examples, then the accuracy over all, rounds left. The return is the change of
    validation accuracy.
    """

    structure: Annotated[
        Literal["open", "list", "tree"], Meta(description="what the teacher reads of the student")
    ] = "list"
    skills: Annotated[int, Meta(ge=2, le=len(NAMES), description="skills of the course")] = 5
    turns: Turns = 12

    rules_text = """
        You decide what a student is taught. It answers questions of several skills and learns from
        labelled examples alone; of some skills a share of the labels is wrong.

        In each round order 12 examples of one skill, as in Teach(skill=2); the student is then
        trained on all that it has. You are paid the change of its accuracy on validation questions.
        At the end it takes a test.
    """
    deterministic = False
    pays_score = False
    reward_terms = ("gain",)
    payoff_bounds = (-1.0, 1.0)
    feature_bounds = (-1.0, 1e5)
    action_types = (Teach, Explore, Write)

    def rules_for(self, seat: int) -> str:
        seen = {
            "open": "You read some questions that the student got wrong. Instead of ordering "
            "examples you may write up to 12 yourself, points of a skill with a label, as in "
            "Write(examples='[[2, 0.5, -1.2, 1]]'); a label is 1 on one side of the skill's line.",
            "list": "You read the student's accuracy on every skill.",
            "tree": "Explore(skill=2) takes a round and shows the student's accuracy on a skill, "
            "from then on.",
        }
        return f"{super().rules_for(seat)}\n{seen[self.structure]}"

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        explore = tuple(Explore(s) for s in range(self.skills)) if self.structure == "tree" else ()
        return (*(Teach(s) for s in range(self.skills)), *explore)

    @property
    def num_features(self) -> int:
        return 2 * self.skills + 2

    def initial_state(self, seed: int | None = None) -> ClassState:
        rng = Rng.seeded(check_seed(seed))
        start, hidden = rng.word(), rng.word()
        course = draw_course(self.skills, start)
        known = [
            example
            for skill in range(self.skills)
            for example in examples(course, skill, START, rng, clean=False)
        ]
        return ClassState(rng=rng, seed=start, hidden=hidden, learned=tuple(known))

    def course(self, state: ClassState) -> Course:
        return draw_course(self.skills, state.seed)

    def right(self, state: ClassState) -> Any:
        """1 for each validation question that the student answers right, in rows of skills."""
        course = self.course(state)
        asked = questions(course, state.seed, VALIDATION)
        return answers(course, state.learned, asked).reshape(self.skills, VALIDATION)

    def statement(self, state: ClassState, seat: int) -> str:
        listed = [f"{n}: {s.name}" for n, s in enumerate(self.course(state).skills)]
        return f"Skills: {', '.join(listed)}."

    def notes(self, state: ClassState, seat: int) -> tuple[str, ...]:
        right, course = self.right(state), self.course(state)
        lines = [f"Validation accuracy: {right.mean():.4f}."]
        counts = [sum(e[0] == s for e in state.learned) for s in range(self.skills)]
        for skill, kind in enumerate(course.skills):
            if self.structure == "list" or skill in state.explored:
                known = f"accuracy {right[skill].mean():.3f}, "
            else:
                known = ""
            lines.append(f"{kind.name}: {known}{counts[skill]} examples")
        if self.structure == "open":
            asked = questions(course, state.seed, VALIDATION)
            wrong = [asked[at] for at in np.flatnonzero(right.ravel() == 0)]
            step = max(1, len(wrong) // SHOWN)
            lines += [
                f"Wrong: {course.skills[s].name} ({x:.2f}, {y:.2f}), which is {label}"
                for s, x, y, label in wrong[::step][:SHOWN]
            ]
        return tuple(lines)

    def options(self, state: ClassState, seat: int) -> tuple[Option, ...]:
        skill = {"skill": Integer(0, self.skills - 1)}
        explore = (Option(Explore, skill),) if self.structure == "tree" else ()
        lists = Text(2000, ("[[0, 0.5, -1.2, 1], [0, -0.5, 1.2, 0]]", "[]"))
        write = (Option(Write, {"examples": lists}),) if self.structure == "open" else ()
        return (Option(Teach, skill), *explore, *write)

    def respond(self, state: ClassState, seat: int, action: Any) -> Reply:
        if isinstance(action, Write):
            return self._write(state, action.examples)
        name = self.course(state).skills[action.skill].name
        if isinstance(action, Explore):
            state.explored = tuple(sorted({*state.explored, action.skill}))
            accuracy = self.right(state)[action.skill].mean()
            return Reply(f"The student's accuracy on {name} is {accuracy:.3f}.")
        more = examples(self.course(state), action.skill, BATCH, state.rng, clean=False)
        return self._train(state, tuple(more), f"The student has learned {name}")

    def _write(self, state: ClassState, text: str) -> Reply:
        try:
            more = read_examples(text, self.skills)
        except ValueError as error:
            return Reply(f"Refused: {error}. Nothing was learned.")
        return self._train(state, more, f"The student has learned your {len(more)} examples")

    def _train(self, state: ClassState, more: tuple[Example, ...], what: str) -> Reply:
        """Train the student anew with more examples; the change of its accuracy is paid."""
        before = self.right(state).mean()
        state.learned = (*state.learned, *more)
        after = self.right(state).mean()
        gain = float(after - before)
        facts = {"accuracy": float(after)}
        text = f"{what}; accuracy {before:.4f} -> {after:.4f}."
        return Reply(text, facts, {"gain": gain} if gain else {})

    def settle(self, state: ClassState) -> Final:
        course = self.course(state)
        asked = questions(course, state.hidden, TEST)
        score = float(answers(course, state.learned, asked).mean())
        return solo(score, f"Test accuracy {score:.4f}.", test=score)

    def features(self, state: ClassState, seat: int) -> list[float]:
        right, seen = self.right(state), []
        for skill in range(self.skills):
            known = self.structure == "list" or skill in state.explored
            count = sum(e[0] == skill for e in state.learned)
            seen += [float(right[skill].mean()) if known else -1.0, float(count)]
        return [*seen, float(right.mean()), float(self.turns - len(state.past))]

    def determinize(self, state: ClassState, seat: int, rng: Rng) -> ClassState:
        """Draw another test, and the examples to come anew."""
        copy = self.copy_for(state, seat)
        copy.hidden, copy.rng = rng.word(), Rng.seeded(rng.word())
        return copy

    def picture(self, state: ClassState, seat: int | None) -> tuple[Part, ...]:
        right = self.right(state)
        bars = tuple(
            Bar(kind.name, float(right[n].mean()), 1.0, 0)
            for n, kind in enumerate(self.course(state).skills)
            if self.structure == "list" or n in state.explored
        )
        return (Bars(bars),) if bars else ()


@agent("teacher-weakest", kind="scripted")
class WeakestFirst(ScriptedAgent[DataTeacher]):
    """Teaches the skill with the lowest known accuracy, an unknown one first; fewer examples win
    ties."""

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        seen = turn.observation.tolist()
        return Teach(min(range(turn.game.skills), key=lambda s: (seen[2 * s], seen[2 * s + 1])))


@agent("teacher-uniform", kind="scripted")
class Uniform(ScriptedAgent[DataTeacher]):
    """Teaches all skills in turn."""

    def choose(self, turn: Turn[DataTeacher]) -> Any:
        return Teach(turn.steps_played % turn.game.skills)
