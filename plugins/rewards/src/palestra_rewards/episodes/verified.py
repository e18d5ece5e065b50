"""SEA: tasks that programs solve and verify, and a reward for each of their steps.

Tang et al., "SEA: Self-Evolution Agent with Step-wise Reward for Computer Use" (2025): a model
writes a task, a program that does it and a program that checks it; what runs and passes becomes
training data, and each step of it is rewarded by itself, without playing whole episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Any

from palestra import Episode, EpisodeRecord, InvalidAction, InvalidOption, Meta, make, reward
from palestra.records.record import record_episode
from palestra.sandbox import MODULES, Limits, Ran, run_program

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.expert import Expert
from palestra_rewards.episodes.programs import FENCED
from palestra_rewards.episodes.turns import fitting
from palestra_rewards.judges.service import Judge, ask, open_judge

TASK = (
    "An environment for computer use:\n{rules}\n\nIts position now:\n{position}\n\nWrite a task "
    "that can be done here and verified by reading the position afterwards, in one sentence. "
    "It must differ from these:\n{known}"
)
SOLVE = (
    "The environment:\n{rules}\n\nIts position now:\n{position}\n\nThe task: {task}\n\nWrite two "
    "Python functions. solve() does the task: it calls act(text) with one move, such as {move}, "
    "which returns the new position as text, and look(), which returns the position. done(before, "
    "after) takes the positions before and after as texts and returns whether the task was done. "
    "Imports allowed: {modules}. Reply with one program."
)


@dataclass(frozen=True, slots=True)
class VerifiedTask:
    """A task that one program solved and another verified: its moves and its record."""

    task: str
    program: str
    moves: tuple[str, ...]
    record: EpisodeRecord


def verified_tasks(
    judge: Judge | str,
    env: Any,
    seeds: Sequence[int],
    *,
    tries: int = 2,
    most: int = 50,
    limits: Limits | None = None,
    **options: Any,
) -> list[VerifiedTask]:
    """Verified tasks for these starts of a one-player game, with the moves that solve them.

    For every seed the judge writes a task, then `solve` and `done`, which run in the sandbox. The
    task is kept if `solve` ends without an error, after at most `most` moves, and `done` is true of
    the position that it led to and false of the one before. Otherwise the judge is told why, up to
    `tries` times. A task that was kept before is not kept again. Records have the tag "task".
    """
    if tries < 1 or most < 1:
        raise InvalidOption(f"tries and most must be at least 1, not {tries} and {most}")
    judge = open_judge(judge)
    found: list[VerifiedTask] = []
    for seed in seeds:
        start = make(env, view="episode", seed=seed, **options)
        if start.game.num_players != 1:
            raise InvalidOption("verified_tasks needs a game of one player")
        known = [one.task for one in found]
        shown = {"rules": start.game.rules_for(0), "position": start.describe(0)}
        order = TASK.format(known="\n".join(known) or "(none)", **shown)
        (reply,) = judge.ask([ask(order, max_tokens=96)])
        task = " ".join(reply.split())
        if not task or task in known:
            continue
        one = _solve_task(judge, start, task, shown, tries, most, limits)
        found += [one] if one is not None else []
    return found


def _solve_task(
    judge: Judge,
    start: Episode,
    task: str,
    shown: dict[str, str],
    tries: int,
    most: int,
    limits: Limits | None,
) -> VerifiedTask | None:
    move = (start.legal_texts(0) or ["a move"])[0]
    order = SOLVE.format(task=task, move=move, modules=", ".join(MODULES), **shown)
    asked = order
    for _ in range(tries):
        (reply,) = judge.ask([ask(asked, max_tokens=1024)])
        fenced = FENCED.search(reply)
        program = fenced.group(1) if fenced else reply
        episode, why = _run(start, program, most, limits)
        if not why:
            record = record_episode(episode, agents=("program",))
            record.tags = {"task": task}
            moves = tuple(turn.text for turn in record.turns)
            return VerifiedTask(task, program, moves, record)
        asked = f"{order}\nThis program:\n{program}\nfailed: {why}\nCorrect it."
    return None


def _run(start: Episode, program: str, most: int, limits: Limits | None) -> tuple[Episode, str]:
    """The episode that `solve` played, and why it is not verified, "" if it is."""
    episode, before = start.fork(), start.describe(0)

    def act(text: str) -> str:
        if episode.over or episode.steps_played - start.steps_played >= most:
            raise ValueError("the episode is over, or too many moves were made")
        episode.act({0: episode.parse(0, str(text))})
        return episode.describe(0)

    tools: dict[str, Callable[..., Any]] = {"act": act, "look": lambda: episode.describe(0)}
    try:
        ran = run_program(program, function="solve", arguments=[[]], tools=tools, limits=limits)
        if ran.error:
            return episode, ran.error
        told = [_done(program, [before, now]) for now in (episode.describe(0), before)]
    except InvalidAction as refused:
        return episode, str(refused)
    if error := told[0].error or told[1].error:
        return episode, error
    if told[0].values[0] is not True:
        return episode, "done says that the task was not done"
    if told[1].values[0] is not False:
        return episode, "done says that the task was done before anything happened"
    if not episode.over:
        episode.truncate("verified")
    return episode, ""


def _done(program: str, positions: list[str]) -> Ran:
    """What `done` says of two positions, in a process that was asked nothing before.

    It has no tools, and cannot count its calls: it has nothing to tell by but the positions.
    """
    return run_program(program, function="done", arguments=[positions])


class ExpertActions:
    """What verified episodes did in each state; pass it as `expert=`.

    At a state that none of them was in, the answer is "", which resembles no action.
    """

    def __init__(self, records: Sequence[EpisodeRecord]) -> None:
        self._moves: dict[str, str] = {}
        for record in records:
            for turn in record.turns:
                self._moves.setdefault(turn.anchor or turn.state_key, turn.text)

    def __call__(self, record: EpisodeRecord) -> list[str]:
        return [self._moves.get(turn.anchor or turn.state_key, "") for turn in record.turns]


@reward(
    "sea",
    shape="episode",
    needs=("expert",),
    paper="SEA: Self-Evolution Agent with Step-wise Reward for Computer Use (2025)",
    check="test_steps_are_rewarded_for_form_kind_and_content",
)
def sea(
    record: EpisodeRecord,
    *,
    expert: Annotated[
        Expert, Meta(description="a function that returns the expert's move at each turn")
    ],
    form: Annotated[float, Meta(description="weight of an answer that was accepted at once")] = 0.1,
    kind: Annotated[float, Meta(description="weight of the right kind of action")] = 0.4,
    content: Annotated[float, Meta(description="weight of the right arguments")] = 0.5,
) -> Floats:
    """Scores each step by itself: its form, its kind of action and that action's arguments.

    `expert(record)` returns the right action text of every turn, such as the `ExpertActions` of
    verified episodes. Arguments count only for an action of the right kind, by how similar they
    are. Tang et al., "SEA" (2025), for texts. The published abstract has a reward for each step
    and not its form; these three parts and their weights are this package's own.
    """
    wanted = list(expert(record))
    fitting([0.0] * len(wanted), record, "the expert's actions")
    paid = []
    for turn, right in zip(record.turns, wanted, strict=True):
        (name, _, own), (other, _, theirs) = turn.text.partition("("), right.partition("(")
        same = bool(right) and name == other
        alike = 1.0 if own == theirs else SequenceMatcher(None, own, theirs).ratio()
        paid.append(form * (turn.status == "ok") + (kind + content * alike) * same)
    return floats(paid)
