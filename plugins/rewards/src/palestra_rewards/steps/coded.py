"""A program's rewards while an episode runs, as in Auto MC-Reward."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from palestra import (
    EpisodeRecord,
    InvalidAction,
    InvalidOption,
    Meta,
    Transition,
    retrace,
    reward,
)
from palestra.kernel.game import Game
from palestra.records.record import as_json
from palestra.sandbox import MODULES, Limits, run_program

from palestra_rewards.episodes.programs import ProgramFailed, correct_program, finite, source_of
from palestra_rewards.judges.service import Judge
from palestra_rewards.options import Weight

KEPT = 100_000  # results that are remembered


@reward(
    "code-step",
    shape="step",
    needs=("program",),
    paper=(
        "Li et al. (2024), Auto MC-Reward: Automated Dense Reward Design with Large "
        "Language Models for Minecraft"
    ),
    check="test_a_program_pays_while_the_episode_runs",
    cost="one process per new step",
)
class CodedReward:
    """Pays what a sandboxed program's `reward(step)` returns after each step of the seat.

    `program` is Python source, or the path of a file that ends in .py. `step` is plain data: seat,
    action (as the game writes it), before and after (the positions as the game describes them to
    the seat), paid (the game's own named terms of this step), and over. Equal steps are computed
    once, so the program must depend on `step` alone. A program that is refused or fails pays
    nothing, and a `ProgramFailed` warning says why. `episodes.programs.design` has a model write
    such programs.
    """

    def __init__(
        self,
        *,
        program: Annotated[
            str,
            Meta(description="Python source that defines reward(step), or a path to a .py file"),
        ],
        weight: Weight = 1.0,
        term: Annotated[str, Meta(description="name of the reward")] = "code",
    ) -> None:
        self.source, self.weight, self.term = source_of(program), weight, term
        self._known: dict[str, float] = {}
        self._failed = False

    def __call__(self, step: Transition) -> dict[str, float]:
        if self._failed or step.seat not in step.actions:
            return {self.term: 0.0}
        facts = facts_of_step(step)
        key = json.dumps(facts, sort_keys=True)
        if key not in self._known:
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[key] = self._run(facts)
        return {self.term: self.weight * self._known[key]}

    def _run(self, facts: Mapping[str, Any]) -> float:
        value, error = run_on_step(self.source, facts)
        if error:
            self._failed = True
            text = f"the reward program pays nothing from here on: {error}"
            warnings.warn(text, ProgramFailed, stacklevel=4)
        return value


def facts_of_step(step: Transition) -> dict[str, Any]:
    """A step of a seat that decided, as plain data: all that a program is given."""
    action = step.actions[step.seat]
    return {
        "seat": step.seat,
        "action": step.game.action_text(step.before, step.seat, action),
        "before": step.game.describe(step.before, step.seat),
        "after": "" if step.over else step.game.describe(step.after, step.seat),
        "paid": {name: float(value) for name, value in (step.paid or {}).items()},
        "over": step.over,
    }


def run_on_step(
    source: str, facts: Mapping[str, Any], *, limits: Limits | None = None
) -> tuple[float, str]:
    """The program's reward for one step, and an error, "" if it ran."""
    try:
        ran = run_program(
            source, function="reward", arguments=[[as_json(facts)]], limits=limits or Limits()
        )
    except InvalidAction as refused:
        return 0.0, str(refused)
    if ran.error:
        return 0.0, ran.error
    (value,) = ran.values
    if not finite(value):
        return 0.0, f"reward must return a finite number; it returned {value!r}"
    return float(value), ""


def steps_of(record: EpisodeRecord, *, game: Game[Any, Any] | None = None) -> list[dict[str, Any]]:
    """`facts_of_step` of every turn of a record, which is replayed."""
    found: list[dict[str, Any]] = []
    episodes = [episode.fork() for episode in retrace(record, game)]
    for place, step in enumerate(record.steps[: len(episodes) - 1]):
        now, then = episodes[place], episodes[place + 1]
        actions = {turn.seat: now.parse(turn.seat, turn.text) for turn in step.turns}
        found += [
            facts_of_step(
                Transition(
                    now.game,
                    now.state,
                    actions,
                    then.state,
                    turn.seat,
                    then.over,
                    1.0,
                    step.rewards.get(turn.seat, {}),
                )
            )
            for turn in step.turns
        ]
    return found


def design_step(
    judge: Judge,
    task: str,
    records: Sequence[EpisodeRecord],
    *,
    lessons: str = "",
    tries: int = 3,
    game: Game[Any, Any] | None = None,
) -> str:
    """Have a model write a program for `code-step`; returns the first that runs on all steps.

    The designer and critic of Auto MC-Reward: every try is run on each step of `records`, and its
    error is shown to the model for the next. Play with `rewards=["env", "code-step:program=…"]`,
    and pass what `episodes.programs.lessons_from` says of the failures as `lessons`. Raises
    `InvalidOption` with the last error if all tries fail.
    """
    steps = [step for record in records for step in steps_of(record, game=game)]
    if not steps:
        raise InvalidOption("design_step needs records with a turn, on which programs are tried")
    order = (
        f"Task: {task}\nWrite a Python function reward(step) that returns one number, what the "
        f"step is worth. step is a dict such as {steps[0]}. Imports allowed: {', '.join(MODULES)}. "
        "Reply with the program."
    )

    def fault(program: str) -> str:
        try:
            ran = run_program(program, function="reward", arguments=[[one] for one in steps])
        except InvalidAction as refused:
            return str(refused)
        wrong = [value for value in ran.values if not finite(value)]
        said = f"reward must return finite numbers; one is {wrong[0]!r}" if wrong else ""
        return ran.error or said

    return correct_program(judge, order, fault, lessons=lessons, tries=tries)
