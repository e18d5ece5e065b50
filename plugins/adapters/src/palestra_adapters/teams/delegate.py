"""A planner that delegates subtasks to workers with fresh contexts, who report back.

Mo et al., "Multi-Agent Tool-Integrated Policy Optimization", 2025. Planner and workers are one
model in two roles. The planner reads only a worker's report, never what the worker was shown, so
that its own context stays short. The wording is this package's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from palestra import Decision, Meta, Turn, agent
from palestra.llm.conversation import Conversation
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, game_text, question, split_thought
from palestra_adapters.react import ACTION, read_steps
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

SUBTASK, REPORT = "Subtask:", "Report:"
PLAN = (
    "You plan, and workers do. Answer every question in this form:\n"
    "Thought: what is known and what is missing, briefly\n"
    "Subtask: what a worker is to find out or do next, or nothing\n"
    "Action: the first move of the subtask, or your own move"
)
WORK = (
    "You are a worker. Do this subtask and nothing else: {subtask}\n"
    "Answer every question with one line, `Action:` and your move, or, once you are done, "
    "`Report:` and what you found out."
)
NOW = "You may make no more moves. Report what you found out."


@dataclass(slots=True)
class DelegationState:
    """State of an episode: number of workers so far, the current one's context and moves.

    board: what planner and workers keep before them; `delegate` has none.
    """

    board: list[str] = field(default_factory=list)
    workers: int = 0
    talk: Conversation | None = None  # None while the planner is at work
    moves: int = 0
    report: str = ""


@agent("delegate", kind="llm", summary="A planner and workers with separate contexts.")
class Delegate(Adapter):
    """A planner hands out subtasks; a worker makes at most `moves` moves and reports.

    Turns of workers have the fact `worker`, a number from 0; `palestra_rewards.nested` turns them
    into episodes whose parent is the planner's episode.
    """

    form = PLAN  # of the planner's replies

    def __init__(
        self,
        *,
        moves: Annotated[int, Meta(ge=1, description="most moves of a worker")] = 5,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._moves = moves
        self._cases = self.by_seat(DelegationState)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        case = self._cases.setdefault((turn.episode_key, turn.seat), DelegationState())
        if case.talk is not None:
            decision = yield from self._work(turn, case, case.talk)
            if decision is not None:
                return decision
        return (yield from self._plan(turn, case, advice))

    def _work(
        self, turn: Turn, case: DelegationState, talk: Conversation
    ) -> Thinking[Decision | None]:
        """A worker's move; None if it reports instead."""
        done = case.moves >= self._moves and not turn.error
        talk.ask(f"{question(turn)}\n{NOW}" if done else question(turn))
        (reply,) = yield [self.ask(talk.messages, talk=talk)]
        thought, said = split_thought(reply)
        talk.answer(said)
        self.note(case, said)
        before, reports, report = said.partition(REPORT)
        if reports or done:
            case.report, case.talk = (report if reports else before).strip(), None
            return None
        case.moves += not turn.error
        decision = self.decide(turn, reply, thought)
        decision.text = game_text(turn, read_steps(said)[1])
        decision.facts = {**decision.facts, "worker": case.workers - 1}
        return decision

    def _plan(self, turn: Turn, case: DelegationState, advice: str) -> Thinking[Decision]:
        talk = self.talk(turn, advice, answer=self.form)
        news = self.news(case)
        refused = f"That was refused: {turn.error}\n" if turn.error else ""
        talk.ask(f"{refused}{news}{turn.position}")
        (reply,) = yield [self.ask(talk.messages, talk=talk)]
        apart, said = split_thought(reply)
        thought, move = read_steps(said)
        move, work = game_text(turn, move), self.hand_out(case, thought)
        talk.answer(f"{said.rpartition(ACTION)[0].strip()}\n{ACTION} {move}".strip())
        case.report = ""
        if work:
            case.talk = Conversation(self.style, turn.game.rules_for(turn.seat), answer=work)
            case.workers, case.moves = case.workers + 1, 1
        decision = self.decide(turn, reply)
        decision.text = move
        decision.thought = join_lines(apart, thought)
        return decision

    def news(self, case: DelegationState) -> str:
        """What the planner is told of the worker that has just reported."""
        return f"The worker reports: {quote(case.report)}\n" if case.report else ""

    def hand_out(self, case: DelegationState, planned: str) -> str:
        """The orders of the next worker, from what the planner wrote before its move; or none."""
        subtask = planned.partition(SUBTASK)[2].strip()
        return WORK.format(subtask=quote(subtask)) if subtask else ""

    def note(self, case: DelegationState, said: str) -> None:
        """Take down what a worker says besides its move."""
