"""Tasks that a model proposes, and whether they were done, without labels.

"Proposer-Agent-Evaluator (PAE): Autonomous Skill Discovery for Foundation Model Internet Agents"
(2024): a proposer writes tasks from what is known of an environment, an agent tries them (the
adapter `tasked` of `palestra-adapters`), and an evaluator scores 0 or 1 from the last observations.
The self-questioning of "AgentEvolver: Towards Efficient Self-Evolving Agent System" (2025) writes
tasks after exploring, each with the moves that solved it, and keeps those that the moves solve
again. The policy gradient of both is left to a trainer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidAction, InvalidOption, Meta, retrace, reward
from palestra.files import write_bytes
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.intents import trajectory
from palestra_rewards.episodes.turns import lines_of
from palestra_rewards.judges.scale import Scale, grade
from palestra_rewards.judges.service import Judge, JudgeModel, ask, open_judge

LINE = re.compile(r"^[^\S\n]*+(?:[-*]|\d+[.)])[^\S\n]*+(.+)", re.MULTILINE)
DONE = Scale("Is the task done, by what was seen last?", ("no", "yes"))
PROPOSE = (
    "You invent tasks for an agent to practise on.\n\nWhat is known of the environment:\n{context}"
    "\n{shown}{had}\nWrite {n} tasks that can be done there, from easy to hard. Each is one "
    "sentence, says what is to be reached and not how, and can be checked at the end by what is "
    "seen. One task a line, with a dash before it."
)
QUESTION = (
    "An agent explored an environment without a goal:\n{story}\n\nWrite the task that these moves "
    "solve: one sentence that says what is reached at the end, as it can be seen there, and "
    "nothing of the way. If they reached nothing worth asking for, write: none."
)


class Task(msgspec.Struct):
    """A task in words; `moves` are moves of a seat that are known to solve it, if any.

    `tried` counts attempts and `done` successes; `ease` is their share, nan before any attempt.
    """

    text: str
    moves: tuple[str, ...] = ()
    tried: int = 0
    done: int = 0

    @property
    def ease(self) -> float:
        return self.done / self.tried if self.tried else float("nan")


class Proposer:
    """Proposes tasks and keeps them; a task similar to one it has is not added.

    Two tasks are similar if the Jaccard index of their sets of words is above `likeness`.
    """

    def __init__(self, judge: Judge | str, *, likeness: float = 0.8) -> None:
        if not 0 <= likeness <= 1:
            raise InvalidOption(f"likeness must be from 0 to 1, not {likeness}")
        self.judge, self.likeness = open_judge(judge), likeness
        self.tasks: list[Task] = []

    def propose(
        self, context: str, *, shown: Sequence[EpisodeRecord] = (), seat: int = 0, n: int = 5
    ) -> list[Task]:
        """New tasks for an environment; `context` is what is known of it, at least its name.

        shown: episodes played there, whose observations and moves the proposer reads.
        """
        demos = "".join(f"\nAn episode there:\n{trajectory(r, seat)}\n" for r in shown)
        had = "".join(f"- {task.text}\n" for task in self.tasks)
        had = f"\nTasks there are already:\n{had}" if had else ""
        order = PROPOSE.format(context=context, shown=demos, had=had, n=n)
        (text,) = self.judge.ask([ask(order, max_tokens=64 * n)])
        found = [Task(line.rstrip()) for line in LINE.findall(text)[:n]]
        if not found:
            raise InvalidOption(
                f"{self.judge.model.name} wrote no line with a task; it said {text[:200]!r}"
            )
        return [task for task in found if self._add(task)]

    def question(
        self,
        records: Sequence[EpisodeRecord],
        *,
        seat: int = 0,
        game: Game[Any, Any] | None = None,
        again: bool = True,
    ) -> list[Task]:
        """Tasks that explored episodes solved, each with its moves: self-questioning.

        again: keep only tasks that the judge finds done when the record is replayed from the same
        start, with the same chance and the same moves of other seats.
        """
        asked = [ask(QUESTION.format(story=trajectory(r, seat)), max_tokens=96) for r in records]
        found = []
        for record, text in zip(records, self.judge.ask(asked), strict=True):
            line = " ".join(text.split()).strip("-* ")
            if not line or line.lower().rstrip(".") == "none":
                continue
            moves = tuple(turn.text for turn in record.turns if turn.seat == seat)
            if again and not self._done_again(line, record, seat, game):
                continue
            task = Task(line, moves)
            if self._add(task):
                found.append(task)
        return found

    def _done_again(
        self, task: str, record: EpisodeRecord, seat: int, game: Game[Any, Any] | None
    ) -> bool:
        try:
            *_, last = retrace(record, game)
        except (InvalidAction, InvalidOption):
            return False
        return bool(
            evaluate(self.judge, [task], [record], seat=seat, seen=[last.describe(seat)])[0]
        )

    def _add(self, task: Task) -> bool:
        if any(_alike(task.text, other.text) > self.likeness for other in self.tasks):
            return False
        self.tasks.append(task)
        return True

    def note(self, records: Sequence[EpisodeRecord], done: Any) -> None:
        """Count attempts: for each record of the adapter `tasked`, whether its task was done."""
        known = {task.text: task for task in self.tasks}
        for record, one in zip(records, done, strict=True):
            task = known.get(task_of(record) or "")
            if task is not None:
                task.tried += 1
                task.done += bool(one)

    def save(self, path: str | Path) -> None:
        """Write the tasks as JSON: the file that the adapter `tasked` reads."""
        write_bytes(Path(path), msgspec.json.format(msgspec.json.encode(self.tasks)))


def _alike(one: str, other: str) -> float:
    a, b = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(a & b) / max(len(a | b), 1)


def task_of(record: EpisodeRecord, seat: int | None = None) -> str | None:
    """The task that a seat was given (the fact `task` of its turns), or None."""
    for turn in record.turns:
        if "task" in turn.facts and seat in (None, turn.seat):
            return str(turn.facts["task"])
    return None


def evaluate(
    judge: Judge | str,
    tasks: Sequence[str],
    records: Sequence[EpisodeRecord],
    *,
    seat: int = 0,
    last: int = 3,
    seen: Sequence[str] = (),
) -> Floats:
    """1 or 0 per episode: whether a judge finds its task done by the last observations.

    The judge reads the task, the seat's last `last` decisions with what followed them, and, if
    given, what is `seen` at the end. All are asked in one batch. Returns shape (episodes,).
    """
    texts = []
    for number, (task, record) in enumerate(zip(tasks, records, strict=True)):
        own = trajectory(record, seat).splitlines()
        marks = [place for place, line in enumerate(own) if line.startswith("> ")]
        start = marks[-last] if len(marks) >= last > 0 else 0
        end = [f"At the end:\n{seen[number]}"] if seen else []
        texts.append("\n".join([f"Task: {task}", "", *own[start:], *end]))
    return np.array([found.score for found in grade(open_judge(judge), DONE, texts)])


@reward(
    "pae",
    shape="episode",
    needs=("model judge",),
    paper=(
        "Proposer-Agent-Evaluator (PAE): Autonomous Skill Discovery For Foundation Model "
        "Internet Agents (2024)"
    ),
    check="test_an_evaluator_pays_for_proposed_tasks_and_is_audited",
    cost="one judgement per seat",
)
def pae(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    task: Annotated[str, Meta(description="the task, if the record does not hold it")] = "",
    last: Annotated[int, Meta(ge=1, description="decisions that the judge sees")] = 3,
) -> Floats:
    """1 for a seat whose proposed task a judge finds done by the last observations, else 0.

    It is paid on the last turn of each seat that has a task: the fact `task` of its turns, which
    the adapter `tasked` reports, or else `task`. The game's own rewards are not used.
    "Proposer-Agent-Evaluator" (2024); `audit` compares the judge with the truth.
    """
    paid = np.zeros(len(record.turns))
    given = False
    for turns in lines_of(record):
        seat = record.turns[turns[0]].seat
        text = task_of(record, seat) or task
        if text:
            given = True
            paid[turns[-1]] = evaluate(judge, [text], [record], seat=seat, last=last)[0]
    if not given:
        raise InvalidOption(
            "pae needs a task: play with tasked:…,tasks=FILE, or pass task=…, the task in words"
        )
    return paid


def audit(said: Any, truth: Any) -> dict[str, float]:
    """Precision and recall of an evaluator's verdicts (0 or 1); nan where they are undefined."""
    yes, right = np.asarray(said) > 0.5, np.asarray(truth) > 0.5
    if yes.shape != right.shape or yes.ndim != 1 or not yes.size:
        raise InvalidOption(
            "said and truth must have one number per episode, for one episode or more"
        )
    both = float((yes & right).sum())
    return {
        "precision": both / float(yes.sum()) if yes.any() else float("nan"),
        "recall": both / float(right.sum()) if right.any() else float("nan"),
    }
