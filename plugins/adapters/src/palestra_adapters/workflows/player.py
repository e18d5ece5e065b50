"""`workflow`: plays a workflow, step by step, and keeps what every step said on the record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from palestra import BudgetSpent, Decision, InvalidOption, Meta, Turn, agent
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import story
from palestra_adapters.react import ACTION
from palestra_adapters.talks import Speaking, Utterance
from palestra_adapters.teams.team import majority
from palestra_adapters.texts import join_lines, join_paragraphs
from palestra_adapters.thinking import Thinking, together
from palestra_adapters.workflows.steps import (
    AskStep,
    DebateStep,
    RecallStep,
    ReflectStep,
    Step,
    ToolStep,
    VoteStep,
    Workflow,
    check_workflow,
    read_workflow,
)
from palestra_adapters.workflows.tools import use_tool

NOTES = "Write what is asked of you in a few sentences. Do not answer with a move."
FAULTLESS = "no fault"


@dataclass(slots=True)
class Said:
    """What one step has said: texts with their moves ("" if not legal), in order."""

    texts: list[str]
    moves: list[str] = field(default_factory=list)
    raw: str = ""  # the last answer as it was written, if it is not legal
    own: bool = False  # these are this package's words, which later steps need not read quoted

    @property
    def move(self) -> str:
        """The last legal move."""
        return next((move for move in reversed(self.moves) if move), "")


class FlowPlayer(Speaking):
    """Plays a turn by a workflow, which a subclass chooses."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._past = self.by_seat(list[str])

    @abstractmethod
    def flow(self, turn: Turn, advice: str) -> Thinking[Workflow]:
        """The workflow by which this turn is played."""

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        workflow = yield from self.flow(turn, advice)
        run = Run(self, turn, advice, self._past.setdefault((turn.episode_key, turn.seat), []))
        try:
            for number, step in enumerate(workflow.steps):
                run.said[step.name] = yield from run.step(number, step)
        except BudgetSpent:
            if not any(said.move for said in run.said.values()):
                raise
        return self._decision(turn, run, workflow)

    def _decision(self, turn: Turn, run: Run, workflow: Workflow) -> Decision:
        """The last step's move; after a spent budget that of the last step that has one."""
        whole = len(run.said) == len(workflow.steps)
        said = list(run.said.values())
        last = said[-1] if whole else next(s for s in reversed(said) if s.move)
        text = last.move or last.raw
        names = [step.name for step in workflow.steps]
        talk = self.talk_of(turn, names, run.lines, steps=names)
        thought = "\n".join(f"{name}: {t}" for name, s in run.said.items() for t in s.texts)
        model = next((line.reply.model for line in reversed(run.lines)), "")
        if last.move:
            reason = last.texts[-1].partition(f"\n{ACTION}")[0]
            self._past[turn.episode_key, turn.seat].append(f"{disarm(text)}: {quote(reason)}")
        return Decision(text=text, thought=thought, model=model, facts={"talks": [talk]})


@agent(
    "workflow",
    kind="llm",
    summary="Plays a workflow from a file: steps that ask, vote, reflect, debate or use a tool.",
)
class WorkflowPlayer(FlowPlayer):
    """Runs the steps of a workflow for every decision; the last step's move is played.

    file: a workflow's JSON file, as `palestra optimise-agent` writes it; `workflow:FILE.json` plays
    it with the model that it names. All that was said is the talk of the decision, with one seat
    per step.
    """

    def __init__(
        self,
        *,
        target: str = "",
        file: Annotated[str | Workflow, Meta(description="the workflow, a JSON file")] = "",
        **settings: Any,
    ) -> None:
        if target.endswith(".json"):
            target, file = "", file or target
        if not file:
            raise InvalidOption("workflow needs a file: workflow:FILE.json, workflow:local:,file=…")
        self.workflow = read_workflow(file) if isinstance(file, str) else check_workflow(file)
        super().__init__(target=target or self.workflow.model, **settings)

    def flow(self, turn: Turn, advice: str) -> Thinking[Workflow]:
        yield from ()
        return self.workflow


@dataclass(slots=True)
class Run:
    """One decision in the making: what the steps so far have said."""

    player: FlowPlayer
    turn: Turn
    advice: str
    past: list[str]
    said: dict[str, Said] = field(default_factory=dict)
    lines: list[Utterance] = field(default_factory=list)

    def step(self, number: int, step: Step) -> Thinking[Said]:
        """What a step says after the steps before it."""
        match step:
            case AskStep():
                return (yield from self._ask(number, step))
            case VoteStep():
                return self._vote(step)
            case ReflectStep():
                return (yield from self._reflect(number, step))
            case DebateStep():
                return (yield from self._debate(number, step))
            case ToolStep():
                return Said([use_tool(step, self.turn, self.player.rng)], own=True)
            case RecallStep():
                shown = self.past[-step.shown :]
                return Said(["\n".join(shown) or "Nothing has been played before."], own=True)

    def question(self, reads: Sequence[str], *more: str, whole: bool = True) -> str:
        """The episode so far, what the steps that are read have said, and what is asked.

        whole: whether all that was seen is shown, or the position alone.
        """
        heard = [
            f"{name}{f' {place + 1}' if len(said.texts) > 1 else ''} wrote:\n"
            f"{text if said.own else quote(text)}"
            for name, said in ((name, self.said[name]) for name in reads)
            for place, text in enumerate(said.texts)
        ]
        seen = story(self.turn) if whole else self.turn.position
        return join_paragraphs(seen, *heard, *more)

    def rules(self, role: str = "") -> str:
        own = self.turn.game.rules_for(self.turn.seat)
        return join_lines(own, self.advice, role)

    def answers(
        self, number: int, prompts: Sequence[tuple[str, str]], heat: float
    ) -> Thinking[list[Utterance]]:
        """An answer with a thought to each pair of a role and a question, all asked together."""
        asked = [(self.rules(role), text) for role, text in prompts]
        heated = heat or None
        lines = yield from self.player.answers(self.turn, number, asked, temperature=heated)
        self.lines += lines
        return lines

    def note(self, number: int, role: str, text: str, heat: float = 0.0) -> Thinking[Utterance]:
        """Text without a move, such as a plan or a critique."""
        asked = self.player.single(self.rules(role), text, answer=NOTES)
        line = yield from self.player.say(self.turn, number, asked, temperature=heat or None)
        self.lines.append(line)
        return line

    def _ask(self, number: int, step: AskStep) -> Thinking[Said]:
        text = self.question(step.reads, step.prompt, whole=step.transcript)
        heat = step.temperature or (0.8 if step.samples > 1 else 0.0)
        if not step.answers:
            notes = yield from together(
                [self.note(number, step.role, text, heat) for _ in range(step.samples)]
            )
            return Said([line.text for line in notes])
        lines = yield from self.answers(number, [(step.role, text)] * step.samples, heat)
        return heard(lines)

    def _vote(self, step: VoteStep) -> Said:
        moves = [move for name in step.reads for move in self.said[name].moves]
        chosen = majority([move or None for move in moves])
        if chosen is None:
            raw = next((self.said[n].raw for n in step.reads if self.said[n].raw), "")
            return Said(["No answer has a legal move."], [""], raw)
        text = f"{moves.count(chosen)} of {len(moves)} answers.\n{ACTION} {chosen}"
        return Said([text], [chosen])

    def _reflect(self, number: int, step: ReflectStep) -> Thinking[Said]:
        (source,) = [name for name in step.reads if self.said[name].moves]
        others = [name for name in step.reads if name != source]
        now = Said(
            self.said[source].texts[-1:], self.said[source].moves[-1:], self.said[source].raw
        )
        for _ in range(step.rounds):
            answer = f"The answer:\n{quote(now.texts[-1])}"
            critique = yield from self.note(number, "", self.question(others, answer, step.critic))
            if FAULTLESS in critique.text.lower():
                break
            text = self.question(
                others, answer, f"A critique:\n{quote(critique.text)}", step.revise
            )
            now = heard((yield from self.answers(number, [("", text)], 0.0)))
        return now

    def _debate(self, number: int, step: DebateStep) -> Thinking[Said]:
        lines: list[Utterance] = []
        for _ in range(step.rounds):
            argue = step.prompt if lines else ""
            prompts = [
                (role, self.question(step.reads, *_others(lines, member), argue))
                for member, role in enumerate(step.roles)
            ]
            lines = yield from self.answers(number, prompts, step.temperature)
        said = heard(lines)
        chosen = majority([move or None for move in said.moves])
        if chosen is None:
            return said
        text = f"{said.moves.count(chosen)} of {len(lines)} agree.\n{ACTION} {chosen}"
        return Said([*said.texts, text], [*said.moves, chosen])


def heard(lines: Sequence[Utterance]) -> Said:
    """Answers as what a step has said."""
    raw = lines[-1].text.rpartition(ACTION)[2].strip()
    return Said([line.text for line in lines], [line.move or "" for line in lines], raw)


def _others(lines: Sequence[Utterance], member: int) -> list[str]:
    """What the other members of a debate have answered last."""
    return [
        f"Member {number + 1} answered:\n{quote(line.text)}"
        for number, line in enumerate(lines)
        if number != member
    ]
