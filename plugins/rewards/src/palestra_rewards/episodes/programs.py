"""Rewards that a program computes, written by a model and run in the core's sandbox."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidAction, InvalidOption, Meta, reward
from palestra.files import is_file
from palestra.kernel.errors import show
from palestra.sandbox import MODULES, Limits, run_program

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import lines_of, named_terms, won
from palestra_rewards.judges.service import Judge, ask
from palestra_rewards.judges.showing import as_text
from palestra_rewards.options import Weight
from palestra_rewards.people import last_at
from palestra_rewards.reading import turn_rewards

FENCED = re.compile(r"```(?:python)?\s*\n(.*?)```", re.DOTALL)


class ProgramFailed(UserWarning):
    """A reward program was refused or failed, so it pays 0."""


def facts_of(record: EpisodeRecord) -> list[dict[str, Any]]:
    """Each turn as plain data: everything that a program is given.

    number, player and seat; text (what was decided), status, tokens (written); paid: named terms
    and costs until the seat's next turn; followed: the public events after the step; before:
    the seat's earlier decisions; last: whether this is its last turn.
    """
    names, table = named_terms(record)
    steps = [step for step in record.steps for _ in step.turns]
    turns = record.turns
    facts: list[dict[str, Any]] = [
        {
            "number": number,
            "player": record.players[turn.seat],
            "seat": turn.seat,
            "text": turn.text,
            "status": turn.status,
            "tokens": turn.spent.tokens_out,
            "paid": {n: float(v) for n, v in zip(names, table[number], strict=True) if v},
            "followed": [event.text for event in step.events if event.audience is None],
        }
        for number, (turn, step) in enumerate(zip(turns, steps, strict=True))
    ]
    for own in lines_of(record):
        said = [turns[place].text for place in own]
        for nth, place in enumerate(own):
            facts[place] |= {"before": said[:nth], "last": nth == own.size - 1}
    return facts


def run_over(
    source: str,
    record: EpisodeRecord,
    *,
    function: str = "reward",
    single: bool = True,
    limits: Limits | None = None,
) -> tuple[list[Floats], str]:
    """The function's results, one row of numbers per turn, and an error, "" if it ran.

    A single number is a row of length 1, the only length allowed with `single`. All rows have the
    same length. If the program fails there are no rows.
    """
    turns = facts_of(record)
    try:
        ran = run_program(source, function=function, arguments=[[t] for t in turns], limits=limits)
    except InvalidAction as refused:
        return [], str(refused)
    if ran.error:
        return [], ran.error
    rows = [value if isinstance(value, list) else [value] for value in ran.values]
    for turn, row in enumerate(rows):
        if not row or len(row) != len(rows[0]) or not all(finite(one) for one in row):
            return [], f"{function} must return finite numbers; for turn {turn} it returned {row}"
        if single and len(row) > 1:
            return [], f"{function} must return one number, not {len(row)}"
    return [floats(row) for row in rows], ""


def finite(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False


@reward(
    "code",
    shape="episode",
    needs=("program",),
    paper=(
        "Li et al. (2024), Auto MC-Reward: Automated Dense Reward Design with Large "
        "Language Models for Minecraft"
    ),
    check="test_a_program_that_is_refused_or_fails_is_named_and_costs_nothing",
    cost="one process per episode",
)
def code(
    record: EpisodeRecord,
    *,
    program: Annotated[
        str, Meta(description="Python source that defines reward(turn), or a path to a .py file")
    ],
    weight: Weight = 1.0,
    own: Annotated[
        bool, Meta(description="whether the game's own rewards are paid as well")
    ] = True,
) -> Floats:
    """Rewards computed by a program's `reward(turn)`, which runs in the sandbox.

    Each turn gets `weight` times the result, plus the game's own reward if `own`.

    `program` is Python source, or the path of a file that ends in .py; `turn` is one of the dicts
    of `facts_of`. It runs in `palestra.sandbox`. A program that is refused or fails pays nothing:
    the turns keep the game's rewards, and a `ProgramFailed` warning says why. Li et al., "Auto
    MC-Reward" (2024).
    """
    paid = turn_rewards(record) if own else np.zeros(len(record.turns))
    rows, error = run_over(source_of(program), record)
    if error:
        warnings.warn(f"the reward program pays nothing: {error}", ProgramFailed, stacklevel=2)
        return paid
    return paid + weight * np.array([row[0] for row in rows])


def source_of(program: str) -> str:
    """The program's text, read from a file where it names one."""
    if "\n" in program or not program.endswith(".py"):
        return program
    path = Path(program)
    if not is_file(path):
        raise InvalidOption(f"there is no program at {show(program)}")
    return path.read_text("utf-8")


def design(
    judge: Judge,
    task: str,
    records: Sequence[EpisodeRecord],
    *,
    lessons: str = "",
    tries: int = 3,
    function: str = "reward",
    returning: str = "one number",
) -> str:
    """Have a model write a program for a task; returns the first that runs on all of `records`.

    Each try is run, and its error is shown to the model for the next. `lessons` is what was learnt
    from an earlier program (see `lessons_from`). This is the designer and critic of Auto MC-Reward,
    and LaRe's self-verification. Raises `InvalidOption` with the last error if all tries fail.
    """
    sample = facts_of(records[0])[0]
    order = (
        f"Task: {task}\nWrite a Python function {function}(turn) that returns {returning}. turn is "
        f"a dict such as {sample}. Imports allowed: {', '.join(MODULES)}. Reply with the program."
    )

    def fault(program: str) -> str:
        single = function == "reward"
        ran = (run_over(program, one, function=function, single=single) for one in records)
        return next((why for _, why in ran if why), "")

    return correct_program(judge, order, fault, lessons=lessons, tries=tries)


def correct_program(
    judge: Judge, order: str, fault: Callable[[str], str], *, lessons: str = "", tries: int = 3
) -> str:
    """The first program without a fault that a model writes to `order`; it is told each fault.

    Raises `InvalidOption` with the last fault if all tries have one.
    """
    if lessons:
        order = f"{order}\nWhat was learnt before: {lessons}"
    asked, error = order, ""
    for _ in range(tries):
        (reply,) = judge.ask([ask(asked, max_tokens=1024)])
        fenced = FENCED.search(reply)
        program = fenced.group(1) if fenced else reply
        error = fault(program)
        if not error:
            return program
        asked = f"{order}\nThis program:\n{program}\nfailed: {error}\nCorrect it."
    raise InvalidOption(f"no program in {tries} tries ran on these records; last error: {error}")


def lessons_from(judge: Judge, task: str, records: Sequence[EpisodeRecord]) -> str:
    """What a model says of the episodes that failed: Auto MC-Reward's trajectory analyser."""
    lost = [
        record
        for record in records
        if (person := last_at(record, 0)) is None or not won(record, person)
    ]
    if not lost:
        return ""
    shown = "\n---\n".join(as_text(record, last=10) for record in lost[:4])
    order = f"Task: {task}\nThese episodes failed:\n{shown}\nSay in a sentence what went wrong."
    return judge.ask([ask(order, max_tokens=128)])[0]


class LatentReward:
    """A program's feature vector for each turn, with weights fitted so that sums match returns.

    `fit` is return decomposition: ridge regression of each seat's return on the sum of its turns'
    vectors. Calling it with a record gives one number per turn. Qu et al., "Latent Reward:
    LLM-Empowered Credit Assignment in Episodic Reinforcement Learning" (2025); `design(…,
    function="latent", returning="a list of numbers")` writes the program.
    """

    def __init__(self, program: str, *, ridge: float = 1e-6) -> None:
        if ridge <= 0:
            raise InvalidOption(f"ridge must be above 0, not {ridge}")
        self.program, self.ridge = source_of(program), ridge
        self.weights: Floats = np.zeros(0)

    def latent(self, record: EpisodeRecord) -> Floats:
        """The vectors, shape (turns, features)."""
        rows, error = run_over(self.program, record, function="latent", single=False)
        if error:
            raise InvalidOption(f"the latent program gives no vectors: {error}")
        return np.array(rows)

    def fit(self, records: Sequence[EpisodeRecord]) -> LatentReward:
        sums, outcomes = [], []
        for record in records:
            table, paid = self.latent(record), turn_rewards(record)
            for turns in lines_of(record):
                sums.append(table[turns].sum(axis=0))
                outcomes.append(paid[turns].sum())
        rows = np.array(sums)
        gram = rows.T @ rows + self.ridge * np.eye(rows.shape[1])
        self.weights = floats(np.linalg.solve(gram, rows.T @ np.array(outcomes)))
        return self

    def __call__(self, record: EpisodeRecord) -> Floats:
        if not self.weights.size:
            raise InvalidOption("fit this latent reward to records first")
        return floats(self.latent(record) @ self.weights)

    def state(self) -> dict[str, Any]:
        return {"program": self.program, "weights": self.weights.tolist()}

    def load(self, state: Mapping[str, Any]) -> None:
        self.program, self.weights = str(state["program"]), floats(state["weights"])


@reward(
    "lare",
    shape="episode",
    needs=("latent reward",),
    paper=(
        "Latent Reward: LLM-Empowered Credit Assignment in Episodic Reinforcement Learning (2025)"
    ),
    check="test_latent_rewards_sum_to_the_return_and_find_the_dense_truth",
    cost="one process per episode",
)
def lare(
    record: EpisodeRecord,
    *,
    scores: Annotated[LatentReward, Meta(description="the fitted weights of a program's vectors")],
) -> Floats:
    """A program's vectors of turns, weighted so that their sums come closest to the returns.

    Each turn gets what a fitted `LatentReward` predicts, instead of the game's reward. The sums
    are those of least squares over the records that it was fitted to. LaRe.
    """
    return scores(record)
