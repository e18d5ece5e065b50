"""An agent that is given a task in every episode, from a list that a proposer wrote.

The agent's part of "Proposer-Agent-Evaluator (PAE): Autonomous Skill Discovery for Foundation
Model Internet Agents", 2024, and of AgentEvolver's self-questioning. `judges.proposing` of
`palestra-rewards` writes the tasks and judges whether they were done.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.files import UNREADABLE, read_file

from palestra_adapters.thinking import Thinking
from palestra_adapters.wrapper import Wrapper

STREAM = 0x7A54
GIVEN = "Your task in this episode, in place of any other goal: {task}"


@agent(
    "tasked",
    kind="llm",
    summary="Gives the inner agent a proposed task in every episode.",
    paper=(
        "Proposer-Agent-Evaluator (PAE): Autonomous Skill Discovery For Foundation Model "
        "Internet Agents (2024)"
    ),
)
class TaskedAgent(Wrapper):
    """Tells the inner agent one of `tasks`; the game's rewards do not change.

    tasks: a JSON file with a list of texts, or one that `Proposer.save` wrote; in Python also a
    list of texts. Each episode and seat draws its own task; decisions carry the fact `task`.
    """

    def __init__(
        self,
        *,
        tasks: Annotated[
            str | list[str], Meta(description="a JSON file of tasks, or their texts")
        ] = "",
        **settings: Any,
    ) -> None:
        self.tasks = read_tasks(tasks) if isinstance(tasks, str) else list(tasks)
        if not self.tasks:
            raise InvalidOption("tasked needs a task or more: tasked:react:local:,tasks=FILE.json")
        super().__init__(**settings)
        self._given = self.by_seat(str)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        if key not in self._given:
            drawn = turn.rng(self._seed, STREAM).word() % len(self.tasks)
            self._given[key] = self.tasks[drawn]
        task = self._given[key]
        decision = yield from self.inner.think_alone(turn, advice, GIVEN.format(task=task))
        decision.facts = {**decision.facts, "task": task}
        return decision


def read_tasks(path: str) -> list[str]:
    """The texts of a file of tasks."""
    if not path:
        return []
    try:
        kind = list[str | dict[str, Any]]
        read = msgspec.json.decode(read_file(Path(path).expanduser()), type=kind)
        return [one if isinstance(one, str) else str(one["text"]) for one in read]
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(
            f"{path} is not a file of tasks, a JSON list of texts: {error}"
        ) from error
