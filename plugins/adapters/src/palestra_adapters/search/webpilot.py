"""WebPilot: a plan of subtasks, a controller, and a tree search for each subtask.

Zhang et al., "WebPilot: A Versatile and Autonomous Multi-Agent System for Web Task Execution with
Strategic Exploration", 2024. A planner divides the task. Before each move a controller says whether
the subtask is done, and why not; after a failure the planner writes the rest of the plan again. In
between a tree is searched: an explorer proposes one move at a time after reading what moves from
there and beside it led to, moves that are not legal or were tried are refused, and an appraiser
grades each move by its effect and by its promise. The wording is this package's own.

Left out: the extractor of information, since the controller reads all that the seat has seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Annotated, Any

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import Adapter, one_line, story
from palestra_adapters.scoring import Judgement, Scorer
from palestra_adapters.search.agents import TreeAgent
from palestra_adapters.search.growth import Bounds, worth
from palestra_adapters.search.spots import Scale, Spot
from palestra_adapters.search.tree import Node, Search, upwards
from palestra_adapters.texts import bullets, join_lines, numbered
from palestra_adapters.thinking import Ask, Thinking

PLAN = (
    "You plan for {player}, who is to reach the goal of this task. Divide what is still to be done "
    "into at most {count} subtasks, each of a few moves. Write one line for each, in their order: "
    "what is to be done, and by what one sees that it is done."
)
CONTROL = (
    "You control how {player} works on a plan:\n{plan}\n\nIt works on subtask {number}, and has "
    "made these moves for it: {moves}\n\nReply with two lines:\nStatus: done, going on or failed\n"
    "Reflection: one sentence on what the moves have shown and what to do differently"
)
APPRAISE = (
    "You appraise a move. {player} works on this subtask: {subtask}\n\nBefore the move it was:\n"
    "{before}\n\n{player} then played {move}, and now it is:\n{now}\n\nReply with three lines:\n"
    "Effect: from 0 to 10, how much this move has done for the subtask\n"
    "Promise: from 0 to 10, how likely the subtask is completed from here\n"
    "Reflection: one sentence on what the move has shown"
)
FLAGS = re.MULTILINE | re.IGNORECASE
STATUS = re.compile(r"^[^\w\n]*Status[^\w\n]+(done|going on|failed)\b", FLAGS)
REFLECTION = re.compile(r"^[^\w\n]*Reflection[^\w\n]*:[^\w\n]*(.*)$", FLAGS)
NUMBERED = re.compile(
    r"^[\s*#-]*(?:\d{1,3}[.):]|subtask\s+\d{1,3}\s*[.):]|[-*])[\s*]*(.+)$", re.IGNORECASE
)
LESSONS = 4  # reflections on past subtasks that are read


@dataclass(slots=True)
class Errand:
    """How far one seat's plan is carried out in one episode."""

    plan: list[str] = field(default_factory=list)
    at: int = 0
    moves: list[str] = field(default_factory=list)  # of this subtask
    note: str = ""  # the controller's last reflection on this subtask
    lessons: list[str] = field(default_factory=list)  # reflections on subtasks that failed
    status: str = "planned"

    @property
    def subtask(self) -> str:
        return self.plan[self.at]


class GoalOriented(Bounds):
    """Values are the best found below a node, and a bound as of PUCT with equal priors.

    The move of the highest value is played; moves tried more often win ties.
    """

    judges_root = False

    def bound(self, node: Node) -> float:
        if node.parent is None:
            return inf
        return node.mean + self.c * sqrt(node.parent.visits) / (1 + node.visits)

    def back_up(self, node: Node) -> None:
        for step in upwards(node):
            step.visits += 1
            step.total = step.visits * worth(step)[0]

    def choose(self, tree: Any) -> Node:
        return max(tree.root.children, key=lambda child: (child.mean, child.visits))


class Appraiser(Scorer):
    """Grades the effect of the last move and the promise of where it led, for one subtask.

    weight: that of the effect; a grade that is missing counts as 5.
    """

    def __init__(self, agent: Adapter, subtask: str, weight: float) -> None:
        self._agent, self._subtask, self._weight = agent, subtask, weight

    def judge(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        return list(map(self._read, (yield from self._agent.hear([*map(self._ask, spots)]))))

    def _ask(self, spot: Spot) -> Ask:
        turn = spot.turn
        text = APPRAISE.format(
            player=turn.game.players[spot.seat],
            subtask=quote(self._subtask),
            before=spot.before.text if spot.before else "",
            move=disarm(spot.move),
            now=spot.text,
        )
        return self._agent.about(turn, text, temperature=0.0)

    def _read(self, text: str) -> Judgement:
        effect, promise = read_grade_of("Effect", text), read_grade_of("Promise", text)
        value = (self._weight * effect + (1 - self._weight) * promise) / 10
        return Judgement(value, read_reflection(text))


class PilotSearch(Search):
    """A search whose proposals read what was learnt from the moves tried here and beside."""

    def _feedback(self, node: Node) -> str:
        beside = node.parent.children if node.parent else []
        notes = [self.advice] if self.advice else []
        for title, nodes in (
            ("Moves tried from here:", node.children),
            ("Moves tried in place of the last one:", [n for n in beside if n is not node]),
        ):
            if nodes:
                notes += [title, *map(lesson, nodes)]
        return "\n".join([*notes, "Play what was not tried yet."] if node.children else notes)

    def _value(self, nodes: Sequence[Node], scale: Scale) -> Thinking[None]:
        """Every move is graded, even one that leads to a position known before."""
        verdicts = yield from self.scorer.score([node.spot for node in nodes], scale)
        for node, verdict in zip(nodes, verdicts, strict=True):
            node.value, node.comment = verdict


def lesson(node: Node) -> str:
    """What a move led to, as one line for the explorer."""
    if node.spot.over:
        return f"- {disarm(node.move)}: it ends there, at {10 * node.value:.0f} of 10"
    return f"- {disarm(node.move)}: {10 * node.value:.0f} of 10. {quote(node.comment)}"


@agent(
    "webpilot",
    kind="llm",
    needs=("fork",),
    summary="A planner, a controller, and a tree search with reflections for each subtask.",
    paper=(
        "WebPilot: A Versatile and Autonomous Multi-Agent System for Web Task Execution with "
        "Strategic Exploration (2024)"
    ),
)
class WebPilot(TreeAgent):
    """Works on one subtask after another, searching a tree before every move.

    effect: the weight of a move's effect; the rest is that of its promise. patience: moves after
    which a subtask that is not done has failed. Finished episodes are valued by their payoff.
    Facts of a decision: `plan`, `subtask` (its number, from 1) and `status`, the controller's.
    """

    def __init__(
        self,
        *,
        subtasks: Annotated[int, Meta(ge=1, le=20, description="most subtasks of a plan")] = 5,
        patience: Annotated[int, Meta(ge=1, description="most moves of a subtask")] = 5,
        width: Annotated[int, Meta(ge=1, description="moves tried in a position")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves looked ahead")] = 4,
        expansions: Annotated[int, Meta(ge=1, description="positions expanded per turn")] = 8,
        c: Annotated[float, Meta(ge=0, description="weight of exploration")] = 0.5,
        effect: Annotated[float, Meta(ge=0, le=1, description="weight of a move's effect")] = 0.5,
        **settings: Any,
    ) -> None:
        super().__init__(GoalOriented(width, depth, c), expansions=expansions, **settings)
        self._subtasks, self._patience, self._effect = subtasks, patience, effect
        self._errands = self.by_seat(Errand)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        errand = self._errands.setdefault((turn.episode_key, turn.seat), Errand())
        if not errand.plan:
            yield from self._plan(turn, errand, advice)
        elif errand.moves and not turn.error:
            yield from self._control(turn, errand, advice)
        decision = yield from super().think(turn, join_lines(advice, _task(errand)))
        errand.moves.append(decision.text or "none")
        facts = {"plan": list(errand.plan), "subtask": errand.at + 1, "status": errand.status}
        decision.facts = {**decision.facts, **facts}
        return decision

    def searching(self, turn: Turn, advice: str) -> Search:
        plain = super().searching(turn, advice)
        errand = self._errands[turn.episode_key, turn.seat]
        scorer = Appraiser(self, errand.subtask, self._effect)
        return PilotSearch(
            self, plain.lookahead, scorer, self.growth, plain.limit, advice, plain.spending
        )

    def _plan(self, turn: Turn, errand: Errand, advice: str) -> Thinking[None]:
        """Write the plan, or the rest of it after what is done."""
        done = errand.plan[: errand.at]
        player = turn.game.players[turn.seat]
        parts = [story(turn), advice]
        if done:
            parts.append(f"What is done:\n{bullets(done)}")
        if errand.lessons:
            parts.append(f"What went wrong:\n{bullets(errand.lessons[-LESSONS:])}")
        parts.append(PLAN.format(player=player, count=self._subtasks))
        said = yield from self.consult(turn, *parts, temperature=0.0)
        errand.plan = [*done, *read_plan(said, self._subtasks)]
        errand.at, errand.moves, errand.note = len(done), [], ""

    def _control(self, turn: Turn, errand: Errand, advice: str) -> Thinking[None]:
        """Go on to the next subtask, stay, or have the rest planned again."""
        asked = CONTROL.format(
            player=turn.game.players[turn.seat],
            plan=numbered(errand.plan),
            number=errand.at + 1,
            moves=", ".join(map(disarm, errand.moves)),
        )
        said = yield from self.consult(turn, story(turn), advice, asked, temperature=0.0)
        found = STATUS.search(said)
        errand.status = found[1].lower() if found else "going on"
        errand.note = read_reflection(said) or one_line(said)
        if errand.status == "done":
            errand.at, errand.moves, errand.note = errand.at + 1, [], ""
            if errand.at == len(errand.plan):
                yield from self._plan(turn, errand, advice)
        elif errand.status == "failed" or len(errand.moves) >= self._patience:
            errand.status = "failed"
            errand.lessons.append(f"{errand.subtask}: {errand.note}")
            yield from self._plan(turn, errand, advice)


def _task(errand: Errand) -> str:
    note = f"\nThe controller says: {quote(errand.note)}" if errand.note else ""
    return f"Your subtask: {quote(errand.subtask)}{note}"


def read_plan(text: str, count: int) -> list[str]:
    """The numbered lines of a plan, or all its lines if none has a number; never empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    numbered = [found[1].strip() for line in lines if (found := NUMBERED.match(line))]
    return (numbered or lines or ["Reach the goal."])[:count]


def read_grade_of(label: str, text: str) -> float:
    """The number after a label at the start of a line, from 0 to 10; 5 if there is none."""
    found = re.search(rf"^[^\w\n]*{label}[^\w\n]*?(\d{{1,2}}(?:\.\d{{1,3}})?)\b", text, FLAGS)
    return min(10.0, float(found[1])) if found else 5.0


def read_reflection(text: str) -> str:
    """The sentence after `Reflection:`; empty if there is none."""
    found = REFLECTION.search(text)
    return found[1].strip() if found else ""
