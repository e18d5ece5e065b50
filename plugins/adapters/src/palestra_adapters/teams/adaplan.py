"""AdaPlan of PilotRL: a global plan guides every move, and adapts to what the moves bring.

Lu et al., "PilotRL: Training Language Model Agents via Global Planning-Guided Progressive
Reinforcement Learning", 2025. A planner writes guidance for the whole task and adapts it after
what has happened; an executor thinks and moves by it. Training has three stages, for which
`stage_rows` gives prompts, answers and advantages: the executor learns to follow plans, the planner
learns to write them, then both learn together. The wording is this package's own.

Left out: training inside `train-llm`, since the rows are for a trainer of your own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from palestra import BudgetSpent, Decision, EpisodeRecord, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Message
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, said_in, story
from palestra_adapters.memory.memrl import standardise
from palestra_adapters.react import FORM, reason_alone, write_step
from palestra_adapters.scoring import grade
from palestra_adapters.texts import join_paragraphs, refusal
from palestra_adapters.thinking import Thinking

ROLES = ("executor", "planner", "judge")
EXECUTOR, PLANNER, JUDGE = range(3)
PLAN = (
    "You plan for a player; another one makes the moves by your plan. Write the plan for the whole "
    "task as numbered steps: what to do, in which order, and what to watch for."
)
ADAPT = (
    "You plan for a player; another one makes the moves by your plan. Your plan so far:\n{plan}\n\n"
    "Write the plan for the rest of the task as numbered steps. Keep what still holds, leave out "
    "what is done, and change what has turned out otherwise."
)
FOLLOW = (
    "The plan for the whole task:\n{plan}\nFollow the plan: find the step that is due, and make "
    "the move that carries it out."
)
FOLLOWED = (
    "A player was given this plan:\n{plan}\n\nIt then answered:\n{answer}\n\nDoes the answer carry "
    "out the step of the plan that is due? Answer with a number from 0 (it ignores the plan) to 10 "
    "(fully)."
)
GOOD = (
    "A player is to act by this plan:\n{plan}\n\nIs the plan correct, complete and clear enough to "
    "act on? Answer with a number from 0 (useless) to 10 (as good as can be)."
)


@agent(
    "adaplan",
    kind="llm",
    summary="A planner's guidance for the whole task, adapted on the way, and an executor.",
    paper=(
        "PilotRL: Training Language Model Agents via Global Planning-Guided Progressive "
        "Reinforcement Learning (2025)"
    ),
)
class AdaPlan(Adapter):
    """Models joined by `+` are executor, planner and judge in this order; the last plays the rest.

    The plan is adapted after every `every` decisions of a seat, or never with 0. With `judged` the
    judge scores each plan, and whether each answer follows it, from 0 to 1. Facts of a decision:
    `plan`; `said`, what each role read and wrote; `followed` and `quality`, the judge's scores, the
    latter where the plan is new.
    """

    def __init__(
        self,
        *,
        every: Annotated[int, Meta(ge=0, description="decisions of a plan; 0: for good")] = 1,
        judged: Annotated[bool, Meta(description="whether plans and answers are scored")] = False,
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._every, self._judged = every, judged
        self._plans = self.by_seat(str)
        self._decided = self.by_seat(int)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        said: dict[str, Any] = {}
        facts: dict[str, Any] = {}
        if key not in self._plans or (self._is_due(key) and not turn.error):
            said["planner"] = yield from self._plan(turn, key, advice)
            if self._judged:
                asked = GOOD.format(plan=quote(self._plans[key]))
                facts["quality"] = yield from self._judge(turn, asked)
        plan = self._plans[key]
        order = FOLLOW.format(plan=quote(plan))
        text = join_paragraphs(story(turn), advice, order, refusal(turn))
        messages = self.single(turn.game.rules_for(turn.seat), text, answer=FORM)
        decision = yield from reason_alone(self, turn, messages, member=self.role_member(EXECUTOR))
        answer = write_step(decision.thought, decision.text or "")
        said["executor"] = _exchange(messages, answer)
        if self._judged:
            asked = FOLLOWED.format(plan=quote(plan), answer=quote(answer))
            with suppress(BudgetSpent):  # the move stands without a score
                facts["followed"] = yield from self._judge(turn, asked)
        self._decided[key] = self._decided.get(key, 0) + (not turn.error)
        decision.facts = {**decision.facts, **facts, "plan": plan, "said": said}
        return decision

    def _is_due(self, key: tuple[int, int]) -> bool:
        return bool(self._every) and self._decided.get(key, 0) % self._every == 0

    def _plan(self, turn: Turn, key: tuple[int, int], advice: str) -> Thinking[dict[str, Any]]:
        """Write or adapt the plan; an empty reply leaves it as it is."""
        old = self._plans.get(key, "")
        order = ADAPT.format(plan=quote(old)) if old else PLAN
        text = join_paragraphs(story(turn), advice, order)
        messages = self.single(turn.game.rules_for(turn.seat), text)
        (reply,) = yield [self.ask(messages, member=self.role_member(PLANNER))]
        written = said_in(reply)
        self._plans[key] = written or old
        return _exchange(messages, written)

    def _judge(self, turn: Turn, order: str) -> Thinking[float]:
        member = self.role_member(JUDGE)
        return (yield from grade(self, turn, order, member=member, temperature=0.0))


def _exchange(asked: Sequence[Message], text: str) -> dict[str, Any]:
    """What a role read and wrote, as it stands on the record."""
    return {"prompt": [{"role": m.role, "content": m.content} for m in asked], "text": text}


@dataclass(frozen=True)
class StageRow:
    """One answer of a role for training, with the advantage of its episode.

    prompt: messages as dicts of "role" and "content". reward: that of the episode for this role.
    """

    role: str
    prompt: list[dict[str, str]]
    text: str
    reward: float
    advantage: float


def stage_rows(
    records: Iterable[EpisodeRecord], stage: Literal[1, 2, 3], *, weight: float = 1.0
) -> list[StageRow]:
    """The answers that a stage of PilotRL trains, with advantages over rollouts of one start.

    Stage 1 has the executor's answers; an episode's reward is the seat's return plus `weight` times
    the mean of `followed`. Stage 2 has the planner's; the reward is the return, which is how well
    the executor did with the plans, plus `weight` times the mean of `quality`. Stage 3 has both,
    rewarded by the return. Scores that were not judged count as 0. Advantages are those of GRPO:
    the reward less the mean over the rollouts of one start (such as those of `palestra.rollouts`),
    in standard deviations; 0 where all are alike. Rows keep the order of the records.

    Raises `InvalidOption` for another stage, or records without a decision by `adaplan`.
    """
    if stage not in (1, 2, 3):
        raise InvalidOption(f"stage must be 1, 2 or 3, not {stage}")
    trained = {1: ("executor",), 2: ("planner",), 3: ("executor", "planner")}[stage]
    score = {1: "followed", 2: "quality", 3: ""}[stage]
    played: list[tuple[list[dict[str, Any]], float]] = []
    groups: dict[tuple[Any, ...], list[int]] = {}
    for record in records:
        for seat in range(len(record.players)):
            facts = [t.facts for t in record.turns if t.seat == seat and "said" in t.facts]
            if not facts:
                continue
            scores = [float(one[score]) for one in facts if score in one]
            extra = weight * sum(scores) / len(scores) if scores else 0.0
            groups.setdefault((*_start(record), seat), []).append(len(played))
            played.append((facts, float(record.returns[seat]) + extra))
    if not played:
        raise InvalidOption("no decision of these records has the fact 'said'; play with adaplan")
    gains = _advantages([reward for _, reward in played], list(groups.values()))
    return [
        StageRow(role, said["prompt"], said["text"], reward, gain)
        for (facts, reward), gain in zip(played, gains, strict=True)
        for one in facts
        for role in reversed(trained)  # the plan comes before the move
        if (said := one["said"].get(role))
    ]


def _start(record: EpisodeRecord) -> tuple[Any, ...]:
    """Equal for rollouts of one start."""
    options = msgspec.json.encode(record.options, order="sorted")
    return record.env, record.seed, options, str(record.tags.get("split", "")), record.group


def _advantages(rewards: Sequence[float], groups: Sequence[Sequence[int]]) -> list[float]:
    found = np.zeros(len(rewards))
    for group in groups:
        found[list(group)] = standardise([rewards[place] for place in group])
    return [float(gain) for gain in found]
