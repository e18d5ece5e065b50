"""DataEnvGym: a teacher decides what data a student is trained on, and reads how it does.

In each round the teacher orders examples of one skill (with "open" it may write them itself); an
engine makes them (with each skill's own
share of wrong labels), and the student, a logistic regression, is trained anew on all it has. The
teacher reads, by `structure`: "open", some questions that the student got wrong; "list", its
accuracy on every skill; "tree", the accuracy of skills that were explored, which costs a round
each. It is paid the change of the accuracy on validation questions. A hidden test ends the episode.

With two to eight separate skills of one form this is a demonstration: teaching anything comes near
to the best. With `course="small"`, `"medium"` or `"large"` a course is drawn (`courses.py`): skills
share topics, so that examples of one help or harm others, labels are wrong in unequal shares, and
the test counts the skills unequally. The share of the reachable gain is paid at the end: from the
student before any order to the best orders that a search finds. `overlaps="rare"` has skills and
topics in rings, which the splits for training never have.

After Khan, Stengel-Eskin, Cho and Bansal, "DataEnvGym: Data Generation Agents in Teacher
Environments with Student Feedback", 2024, whose students are language and vision models.

Checked: the student's accuracy against an independent fit; examples of a skill raise that skill. Of
drawn courses: the student by scikit-learn, its accuracy on drawn questions, the best orders by
listing all, forests and rings by networkx.

Left out: students that are language and vision models, and their questions of mathematics, code and
pictures.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from palestra import (
    Integer,
    InvalidOption,
    Meta,
    Option,
    Rng,
    Text,
    TextAction,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.scene import Bar, Bars, Chart, Part, Series

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.pictures import thinned
from palestra_tasks.worlds import courses
from palestra_tasks.worlds.course_beliefs import imagine_course
from palestra_tasks.worlds.courses import SIZES, DrawnCourse
from palestra_tasks.worlds.student import (
    NAMES,
    START,
    TEST,
    VALIDATION,
    Course,
    Example,
    Skill,
    answers,
    draw_course,
    examples,
    questions,
)

BATCH = 12  # examples of a round
SHOWN = 4  # wrong answers that are shown
MOST_ROUNDS = 60  # of a drawn course, as the best orders are searched for
_REACHED = re.compile(r"accuracy \d\.\d+ -> (\d\.\d+)")
TINY = 1e-9
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
    drawn: DrawnCourse | None = None
    orders: tuple[int, ...] = ()  # of a drawn course; -1 for a round of exploring
    readings: tuple[tuple[int, ...], ...] = ()  # right answers by skill, at first and after rounds

    @property
    def taught(self) -> tuple[int, ...]:
        """The orders of examples of a drawn course, sorted."""
        return tuple(sorted(one for one in self.orders if one >= 0))


DRAWN_RULES = f"""
    You decide what a student is taught. It answers questions of several skills and learns from
    labelled examples alone: whether a point lies on one side of a plane or the other. The student
    has one plane for all skills. Every skill draws on one to three topics, and a skill has each of
    its topics the other way around in {courses.REVERSED} of 100 cases. Examples of a skill help all
    skills that have a topic the same way, and harm those that have it the other way around. You are
    not told which these are, nor which share of a skill's labels is wrong: {courses.NOISY[0]} or
    {courses.NOISY[1]} for skills of the test; 0, {courses.CLEAN[1]} or {courses.CLEAN[2]} for the
    others.

    In each round order {courses.BATCH} examples of one skill, as in Teach(skill=2); the student is
    then trained anew on all that it has, and asked {courses.ASKED} new validation questions of each
    skill. At the end a test counts the skills by the percentages that you are told. You are paid
    for the student at the end: its gain in test accuracy over the student before the first round,
    as a share of the gain by the best orders that a search with all knowledge finds, from 0 to 1.
    If that gain is below {courses.LEAST}, the share is of {courses.LEAST}.
"""


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
        **{
            f"{held}{size}": {"course": size, "overlaps": overlaps, "turns": form.rounds}
            for held, overlaps in (("", "common"), ("held-out-", "rare"))
            for size, form in SIZES.items()
        },
    },
)
@dataclass(frozen=True)
class DataTeacher(TaskGame[ClassState]):
    """A teacher orders training data for a student that is really trained.

    Action s orders examples of skill s, action skills + s explores it (structure "tree"). An
    observation is a float32 vector: for each skill the accuracy that is known (-1 if not) and the
    number of examples, then the accuracy over all, rounds left. The return is the change of
    validation accuracy. With a drawn course the accuracy over all is that by the test's shares, and
    each skill's share of the test and its topics (1 or 0 each) follow; the return is the share of
    the reachable gain.
    """

    structure: Annotated[
        Literal["open", "list", "tree"], Meta(description="what the teacher reads of the student")
    ] = "list"
    skills: Annotated[
        int, Meta(ge=2, le=len(NAMES), description="skills of the course, if it is plain")
    ] = 5
    turns: Turns = 12
    course: Annotated[
        Literal["plain", "small", "medium", "large"],
        Meta(
            description="plain: separate skills, a demonstration; others: a drawn course of 5, 6 "
            "or 8 skills that share topics"
        ),
    ] = "plain"
    overlaps: Annotated[
        Literal["common", "rare"],
        Meta(description="skills and topics of a drawn course form no ring (common), or one"),
    ] = "common"

    rules_text = """
        You decide what a student is taught. It answers questions of several skills and learns from
        labelled examples alone; of some skills a share of the labels is wrong.

        In each round order 12 examples of one skill, as in Teach(skill=2); the student is then
        trained on all that it has. You are paid the change of its accuracy on validation questions.
        At the end it takes a test.
    """
    deterministic = False
    shown_past = 1
    score_term = "gain"
    reward_terms = ("gain",)
    payoff_bounds = (-1.0, 1.0)
    feature_bounds = (-1.0, 1e5)
    action_types = (Teach, Explore, Write)

    def validate(self) -> None:
        if self.course != "plain" and (self.structure == "open" or self.turns > MOST_ROUNDS):
            raise InvalidOption(
                f"course={self.course!r} has structure='list' or 'tree' and at most {MOST_ROUNDS} "
                f"turns, not structure={self.structure!r} and turns={self.turns}; "
                "course='plain' has every structure and up to 1000 turns"
            )

    @property
    def number(self) -> int:
        """How many skills there are."""
        return self.skills if self.course == "plain" else SIZES[self.course].skills

    def rules_for(self, seat: int) -> str:
        seen = {
            "open": "You read some questions that the student got wrong. Instead of ordering "
            "examples you may write up to 12 yourself, points of a skill with a label, as in "
            "Write(examples='[[2, 0.5, -1.2, 1]]'); a label is 1 on one side of the skill's line.",
            "list": "You read the student's accuracy on every skill.",
            "tree": "Explore(skill=2) takes a round and shows the student's accuracy on a skill, "
            "from then on.",
        }
        rules = super().rules_for(seat) if self.course == "plain" else paragraphs(DRAWN_RULES)
        return f"{rules}\n{seen[self.structure]}"

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        explore = tuple(Explore(s) for s in range(self.number)) if self.structure == "tree" else ()
        return (*(Teach(s) for s in range(self.number)), *explore)

    @property
    def num_features(self) -> int:
        told = 0 if self.course == "plain" else self.number * (1 + len(courses.TOPICS))
        return 2 * self.number + 2 + told

    def initial_state(self, seed: int | None = None) -> ClassState:
        rng = Rng.seeded(check_seed(seed))
        start, hidden = rng.word(), rng.word()
        if self.course != "plain":
            return self._begin(rng, start)
        course = draw_course(self.skills, start)
        known = [
            example
            for skill in range(self.skills)
            for example in examples(course, skill, START, rng, clean=False)
        ]
        return ClassState(rng=rng, seed=start, hidden=hidden, learned=tuple(known))

    def _begin(self, rng: Rng, start: int) -> ClassState:
        """A drawn course and the first reading of the student."""
        dealer = Rng.seeded(start)
        syllabus = courses.draw_syllabus(dealer, SIZES[self.course], self.overlaps)
        drawn = courses.draw_hidden(dealer, syllabus)
        state = ClassState(rng=rng, seed=start, hidden=0, learned=(), drawn=drawn)
        self._read(state, drawn)
        return state

    def _read(self, state: ClassState, drawn: DrawnCourse) -> None:
        """Ask the student of a drawn course; what is not shown is read as -1."""
        right = courses.read_student(drawn, state.taught, state.rng)
        shown = tuple(n if self._shows(state, s) else -1 for s, n in enumerate(right))
        state.readings = (*state.readings, shown)

    def _shows(self, state: ClassState, skill: int) -> bool:
        """Whether the teacher reads the accuracy on a skill."""
        return self.structure == "list" or skill in state.explored

    def plain_course(self, state: ClassState) -> Course:
        return draw_course(self.skills, state.seed)

    def right(self, state: ClassState) -> Any:
        """1 for each validation question that the student answers right, in rows of skills."""
        course = self.plain_course(state)
        asked = questions(course, state.seed, VALIDATION)
        return answers(course, state.learned, asked).reshape(self.skills, VALIDATION)

    def statement(self, state: ClassState, seat: int) -> str:
        if state.drawn is not None:
            return f"Skills:\n{state.drawn.syllabus.told}"
        listed = [f"{n}: {s.name}" for n, s in enumerate(self.plain_course(state).skills)]
        return f"Skills: {', '.join(listed)}."

    def notes(self, state: ClassState, seat: int) -> tuple[str, ...]:
        if state.drawn is not None:
            return _readings(state.drawn.syllabus.names, state.orders, state.readings)
        right, course = self.right(state), self.plain_course(state)
        lines = [f"Validation accuracy: {right.mean():.4f}."]
        counts = [sum(e[0] == s for e in state.learned) for s in range(self.skills)]
        for skill, kind in enumerate(course.skills):
            known = f"accuracy {right[skill].mean():.3f}, " if self._shows(state, skill) else ""
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
        skill = {"skill": Integer(0, self.number - 1)}
        explore = (Option(Explore, skill),) if self.structure == "tree" else ()
        lists = Text(2000, ("[[0, 0.5, -1.2, 1], [0, -0.5, 1.2, 0]]", "[]"))
        write = (Option(Write, {"examples": lists}),) if self.structure == "open" else ()
        return (Option(Teach, skill), *explore, *write)

    def respond(self, state: ClassState, seat: int, action: Any) -> Reply:
        if isinstance(action, Write):
            return self._write(state, action.examples)
        if state.drawn is not None:
            return self._teach_drawn(state, state.drawn, action)
        name = self.plain_course(state).skills[action.skill].name
        if isinstance(action, Explore):
            state.explored = tuple(sorted({*state.explored, action.skill}))
            accuracy = self.right(state)[action.skill].mean()
            return Reply(f"The student's accuracy on {name} is {accuracy:.3f}.")
        more = examples(self.plain_course(state), action.skill, BATCH, state.rng, clean=False)
        return self._train(state, tuple(more), f"The student has learned {name}")

    def _teach_drawn(self, state: ClassState, drawn: DrawnCourse, action: Any) -> Reply:
        """Train or explore, and read the student anew."""
        name, explores = drawn.syllabus.names[action.skill], isinstance(action, Explore)
        if explores:
            state.explored = tuple(sorted({*state.explored, action.skill}))
        state.orders = (*state.orders, -1 if explores else action.skill)
        self._read(state, drawn)
        right = state.readings[-1][action.skill]
        seen = f"; right answers on it: {right} of {courses.ASKED}" if right >= 0 else ""
        return Reply(f"{'You look at' if explores else 'The student has learned'} {name}{seen}.")

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
        if state.drawn is not None:
            return self._settle_drawn(state.drawn, state.taught)
        course = self.plain_course(state)
        asked = questions(course, state.hidden, TEST)
        score = float(answers(course, state.learned, asked).mean())
        return solo(score, f"Test accuracy {score:.4f}.", test=score)

    def _settle_drawn(self, drawn: DrawnCourse, taught: tuple[int, ...]) -> Final:
        best = courses.best_orders(drawn, self.turns)
        start, test, reachable = (
            courses.accuracy_on_test(drawn, orders) for orders in ((), taught, best)
        )
        score = courses.share_of_gain(drawn, taught, self.turns)
        reason = (
            f"Test accuracy {start:.4f} -> {test:.4f}; with the best orders known "
            f"{reachable:.4f}. Share of the gain: {score:.4f}."
        )
        return solo(score, reason, test=test, start=start, reachable=reachable)

    @property
    def pays_score(self) -> bool:  # type: ignore[override]
        return self.course != "plain"

    def features(self, state: ClassState, seat: int) -> list[float]:
        if state.drawn is not None:
            return self._drawn_features(state, state.drawn)
        right, seen = self.right(state), []
        for skill in range(self.skills):
            known = self._shows(state, skill)
            count = sum(e[0] == skill for e in state.learned)
            seen += [float(right[skill].mean()) if known else -1.0, float(count)]
        return [*seen, float(right.mean()), float(self.turns - len(state.past))]

    def _drawn_features(self, state: ClassState, drawn: DrawnCourse) -> list[float]:
        syllabus, reading = drawn.syllabus, state.readings[-1]
        right = [number / courses.ASKED if number >= 0 else -1.0 for number in reading]
        counts = [
            known + courses.BATCH * state.orders.count(skill)
            for skill, known in enumerate(syllabus.known)
        ]
        tested = [n for n, share in enumerate(syllabus.shares) if share]
        unknown = any(reading[n] < 0 for n in tested)
        overall = sum(right[n] * syllabus.shares[n] / 100 for n in tested)
        seen = [value for pair in zip(right, counts, strict=True) for value in pair]
        topics = [
            float(topic in mine) for mine in syllabus.topics for topic in range(len(courses.TOPICS))
        ]
        left = float(self.turns - len(state.past))
        shares = [share / 100 for share in syllabus.shares]
        return [*seen, -1.0 if unknown else overall, left, *shares, *topics]

    def determinize(self, state: ClassState, seat: int, rng: Rng) -> ClassState:
        """Draw another test, and the examples to come anew.

        Of a drawn course all that is hidden is drawn, given what was read.
        """
        copy = self.copy_for(state, seat)
        if copy.drawn is not None:
            self.refuse_the_end(state)
            copy.drawn = imagine_course(copy.drawn.syllabus, copy.orders, copy.readings, rng)
            copy.seed = 0  # the true course follows from it
        copy.hidden, copy.rng = rng.word(), Rng.seeded(rng.word())
        return copy

    def noted(self, state: ClassState, seat: int | None) -> tuple[str, ...]:
        """Only what the student got wrong; all else is drawn."""
        return tuple(line for line in super().noted(state, seat) if line.startswith("Wrong: "))

    def picture(self, state: ClassState, seat: int | None) -> tuple[Part, ...]:
        """How well the student does, and how it got there, or for spectators its last examples."""
        if state.drawn is not None:
            return (self._rounds_chart(state, state.drawn),)
        course, right = self.plain_course(state), self.right(state)
        last = next((p.action for p in reversed(state.past) if isinstance(p.action, Teach)), None)
        bars = tuple(
            Bar(kind.name, round(float(right[n].mean()), 3), 1.0, "gold" if last == Teach(n) else 0)
            for n, kind in enumerate(course.skills)
            if self._shows(state, n)
        )
        whole = Bars((Bar("all skills", round(float(right.mean()), 3), 1.0, "green"), *bars))
        if seat is None:
            return self._lesson_chart(state, last.skill if last else 0), whole
        found = [float(m[1]) for past in state.past if (m := _REACHED.search(past.reply))]
        points = tuple((float(n), value) for n, value in enumerate(found, 1))
        if not points:
            return (whole,)
        return Chart((Series("", points, "line", 0),), "accuracy over all skills", "round"), whole

    def _rounds_chart(self, state: ClassState, drawn: DrawnCourse) -> Chart:
        """Of a drawn course the accuracy that was read on each skill, round by round."""
        series = []
        for skill, name in enumerate(drawn.syllabus.names):
            reads = enumerate(reading[skill] for reading in state.readings)
            points = tuple((float(n), r / courses.ASKED) for n, r in reads if r >= 0)
            if points:
                series.append(Series(name, points, "line", skill))
        return Chart(thinned(series), "accuracy", "round")

    def _lesson_chart(self, state: ClassState, skill: int) -> Chart:
        """The examples of a skill that the student has, by label, and the line between labels."""
        kind = self.plain_course(state).skills[skill]
        mine = [example for example in state.learned if example[0] == skill]
        ends = _border(kind, max([2.5, *(max(abs(x), abs(y)) for _, x, y, _ in mine)]))
        series = [Series("true line", ends, "line", "green")]
        series += [
            Series(f"label {label}", points, "points", label)
            for label in (0, 1)
            if (points := tuple((x, y) for _, x, y, given in mine if given == label))
        ]
        return Chart(thinned(series), f"examples of {kind.name}", "x", "y")


def _border(kind: Skill, reach: float) -> tuple[tuple[float, float], ...]:
    """Where the line of a skill crosses a square around 0, which reaches so far each way."""
    across, up = math.cos(kind.angle), math.sin(kind.angle)
    found = []
    for side in (-reach, reach):
        if abs(up) > TINY and abs(y := (kind.offset - side * across) / up) <= reach:
            found.append((side, y))
        if abs(across) > TINY and abs(x := (kind.offset - side * up) / across) <= reach:
            found.append((x, side))
    return tuple(sorted(set(found)))


def _readings(
    names: tuple[str, ...], orders: tuple[int, ...], readings: tuple[tuple[int, ...], ...]
) -> tuple[str, ...]:
    """The rounds so far, and by skill what was read at first and after each round."""
    rounds = [names[one] if one >= 0 else "exploring" for one in orders]
    lines = [
        f"- {name}: {' '.join(str(r[skill]) if r[skill] >= 0 else '?' for r in readings)}"
        for skill, name in enumerate(names)
    ]
    return (
        f"Rounds so far: {', '.join(rounds) or 'none'}.",
        f"Right answers to {courses.ASKED} validation questions, at first and after each round:",
        *lines,
    )
