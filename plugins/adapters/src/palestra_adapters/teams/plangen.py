"""PlanGEN: constraints, a verifier of plans, and a choice of the algorithm that looks for them.

Parmar et al., "PlanGEN: A Multi-Agent Framework for Generating Planning and Reasoning Trajectories
for Complex Problem Solving", 2025. A constraint agent lists what a plan must satisfy. A verifier
grades plans from 0 to 100 with feedback. A selection agent chooses, by an upper confidence
bound over its history and a hint of how suitable each is, among Best-of-N, Tree of Thought and
REBASE, which all use the verifier. A plan here is a thought that ends in a move.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, log, sqrt
from typing import Annotated, Any, Literal

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import rules_of, story
from palestra_adapters.react import ACTION
from palestra_adapters.scoring import last_number
from palestra_adapters.search.spots import Worths
from palestra_adapters.talks import Speaking, Utterance
from palestra_adapters.thinking import Thinking, together

ALGORITHMS = ("best-of-n", "tree-of-thought", "rebase")
Choice = Literal["auto", "best-of-n", "tree-of-thought", "rebase"]
ROLES = ("constraints", "selector", "planner", "verifier")
HEAT = 0.8
CONSTRAINTS = (
    "List the constraints that a good move must satisfy in this game: of the rules, of the goal, "
    "and of this position. One line each, no move."
)
SELECT = (
    "How suitable is each way of looking for a move here: best-of-n (several independent answers), "
    "tree-of-thought (thoughts step by step, the best are continued), rebase (more is spent on "
    "promising thoughts)? Consider how hard the position is. Answer with one line per way, as in "
    "`rebase: 0.5`, from 0 to 1."
)
THINK = "Write the next step of reasoning towards the best move, in one sentence. No move yet."
VERIFY = (
    "Constraints:\n{constraints}\n\nA plan:\n{plan}\n\nVerify the plan against each constraint. "
    "Give feedback, and end with one line: Score: a number from 0 (violates them) to 100 "
    "(satisfies all and is the best)."
)
AGAIN = "Feedback on your last plan:\n{feedback}\n\nImprove the plan."


@dataclass(frozen=True, slots=True)
class Plan:
    """Reasoning so far, the move if there is one yet, and the verifier's grade from 0 to 1."""

    text: str
    move: str = ""
    score: float = 0.0
    feedback: str = ""


@dataclass(slots=True)
class Record:
    """How often an algorithm was used, and what its episodes were worth in all."""

    used: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.used if self.used else 0.0


def bounds(
    records: Mapping[str, Record], hints: Mapping[str, float], *, c: float, hint: float
) -> dict[str, float]:
    """mean + c * sqrt(log(all uses) / uses) + hint * suitability; infinite if never used."""
    uses = sum(record.used for record in records.values())
    return {
        name: record.mean + c * sqrt(log(uses) / record.used) + hint * hints.get(name, 0.5)
        if record.used
        else inf
        for name, record in records.items()
    }


def allocation(scores: Sequence[float], budget: int, heat: float) -> list[int]:
    """REBASE: how many of `budget` continuations each thought gets, as softmax(score / heat).

    Whole parts first; what is left goes to the largest remainders, the earliest first.
    """
    weights = [exp((score - max(scores)) / heat) for score in scores]
    shares = [budget * weight / sum(weights) for weight in weights]
    counts = [int(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda i: (counts[i] - shares[i], i))
    for i in order[: budget - sum(counts)]:
        counts[i] += 1
    return counts


@dataclass(slots=True)
class Course:
    """What one seat's episode is played by: the constraints and the algorithm; the last turn."""

    turn: Turn
    constraints: str
    algorithm: str


@dataclass(slots=True)
class Query:
    """One decision in the making."""

    turn: Turn
    rules: str
    constraints: str = ""
    lines: list[Utterance] = field(default_factory=list)


@agent(
    "plangen",
    kind="llm",
    summary="Constraints, a verifier's grades, and a chosen algorithm that looks for a plan.",
    paper=(
        "PlanGEN: A Multi-Agent Framework for Generating Planning and Reasoning "
        "Trajectories for Complex Problem Solving (2025)"
    ),
)
class PlanGen(Speaking):
    """Plans are looked for by one algorithm an episode, graded, and improved until good enough.

    algorithm: fixed, or "auto", which is chosen at the first turn by `bounds` over the worths of
    earlier episodes in this environment and the selector's hints. `width` answers, or thoughts on
    each of `depth` levels of which tree-of-thought continues the `keep` best. If the best grade is
    below `enough`, the planner is asked again with the feedback, `rounds` times at most.
    """

    def __init__(
        self,
        *,
        algorithm: Annotated[Choice, Meta(description="how plans are looked for")] = "auto",
        width: Annotated[int, Meta(ge=1, description="answers, or thoughts a level")] = 4,
        depth: Annotated[int, Meta(ge=1, description="thoughts before the move")] = 2,
        keep: Annotated[int, Meta(ge=1, description="thoughts continued in a tree")] = 2,
        enough: Annotated[float, Meta(ge=0, le=1, description="grade that ends the search")] = 0.95,
        rounds: Annotated[int, Meta(ge=0, description="improvements with feedback")] = 2,
        c: Annotated[float, Meta(ge=0, description="weight of exploration")] = 1.0,
        hint: Annotated[float, Meta(ge=0, description="weight of the selector's hints")] = 0.5,
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._algorithm, self._width, self._depth, self._keep = algorithm, width, depth, keep
        self._enough, self._rounds, self._c, self._hint = enough, rounds, c, hint
        self.records: dict[str, dict[str, Record]] = {}
        self._courses = self.by_seat(Course)
        self._worths = Worths()

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        query = Query(turn, rules_of(turn, advice))
        if key not in self._courses:
            query.constraints = (yield from self._say(query, 0, CONSTRAINTS)).text
            algorithm = yield from self._select(query)
            self._courses[key] = Course(turn, query.constraints, algorithm)
        course = self._courses[key]
        course.turn, query.constraints = turn, course.constraints
        plans = yield from self._plans(query, course.algorithm)
        best = max(plans, key=_rank)
        for _ in range(self._rounds):
            if best.score >= self._enough and best.move:
                break
            (plan,) = yield from self._answers(query, [AGAIN.format(feedback=quote(best.feedback))])
            best = max(best, plan, key=_rank)
        return self._decision(query, best, plans, course.algorithm)

    def _decision(
        self, query: Query, best: Plan, plans: Sequence[Plan], algorithm: str
    ) -> Decision:
        talk = self.talk_of(query.turn, ROLES, query.lines, roles=list(ROLES))
        text = best.move or best.text.rpartition(ACTION)[2].strip()
        facts = {
            "talks": [talk],
            "mode": algorithm,
            "process": best.score,
            "candidates": {plan.move: plan.score for plan in plans if plan.move},
        }
        return Decision(text=text, thought=best.text, facts=facts)

    # Roles

    def _say(self, query: Query, role: int, text: str, heat: float = 0.0) -> Thinking[Utterance]:
        asked = self.single(query.rules, f"{story(query.turn)}\n\n{text}")
        line = yield from self.say(query.turn, role, asked, temperature=heat or None)
        query.lines.append(line)
        return line

    def _select(self, query: Query) -> Thinking[str]:
        """The algorithm of this episode."""
        if self._algorithm != "auto":
            return self._algorithm
        own = self.records.setdefault(query.turn.env, {name: Record() for name in ALGORITHMS})
        hints = read_hints((yield from self._say(query, 1, SELECT)).text)
        found = bounds(own, hints, c=self._c, hint=self._hint)
        return max(ALGORITHMS, key=lambda name: (found[name], hints.get(name, 0.5)))

    def _verify_plans(self, query: Query, plans: Sequence[Plan]) -> Thinking[list[Plan]]:
        listed = quote(query.constraints)
        asks = [
            self._say(query, 3, VERIFY.format(constraints=listed, plan=quote(plan.text)))
            for plan in plans
        ]
        lines = yield from together(asks)
        return [
            Plan(plan.text, plan.move, read_score(line.text), line.text)
            for plan, line in zip(plans, lines, strict=True)
        ]

    def _answers(self, query: Query, more: Sequence[str]) -> Thinking[list[Plan]]:
        """Verified plans with moves, one for each text that is added to the question."""
        question = f"{story(query.turn)}\n\nConstraints:\n{quote(query.constraints)}"
        asked = [(query.rules, f"{question}\n\n{text}".rstrip()) for text in more]
        heat = HEAT if len(asked) > 1 else None
        lines = yield from self.answers(query.turn, 2, asked, temperature=heat)
        query.lines += lines
        return (yield from self._verify_plans(query, [Plan(n.text, n.move or "") for n in lines]))

    # Algorithms

    def _plans(self, query: Query, algorithm: str) -> Thinking[list[Plan]]:
        if algorithm == "best-of-n":
            return (yield from self._answers(query, [""] * self._width))
        thoughts = [""]
        for _ in range(self._depth):
            counts = [self._width // len(thoughts) or 1] * len(thoughts)
            grown = yield from self._thoughts(query, thoughts, counts)
            thoughts = self._continue_from(grown, algorithm)
        return (
            yield from self._answers(query, [f"Reasoning so far:\n{quote(t)}" for t in thoughts])
        )

    def _thoughts(
        self, query: Query, thoughts: Sequence[str], counts: Sequence[int]
    ) -> Thinking[list[Plan]]:
        """Verified continuations of thoughts, so many of each."""
        starts = [t for t, n in zip(thoughts, counts, strict=True) for _ in range(n)]
        asks = [
            self._say(query, 2, f"Reasoning so far:\n{quote(t) if t else 'none'}\n\n{THINK}", HEAT)
            for t in starts
        ]
        lines = yield from together(asks)
        made = [f"{t}\n{line.text}".strip() for t, line in zip(starts, lines, strict=True)]
        return (yield from self._verify_plans(query, [Plan(text) for text in made]))

    def _continue_from(self, grown: Sequence[Plan], algorithm: str) -> list[str]:
        """The thoughts to go on from: the best ones, or each as often as REBASE allots it."""
        if algorithm == "tree-of-thought":
            best = sorted(grown, key=lambda plan: -plan.score)[: self._keep]
            return [plan.text for plan in best]
        counts = allocation([plan.score for plan in grown], self._width, heat=0.1)
        return [plan.text for plan, n in zip(grown, counts, strict=True) for _ in range(n)]

    # History

    def forget(self, episode_key: int) -> None:
        for course in self._courses.end(episode_key):
            worth, own = self._worths.of(course.turn), self.records.get(course.turn.env, {})
            if course.algorithm in own:
                record = own[course.algorithm]
                record.used, record.total = record.used + 1, record.total + worth
        super().forget(episode_key)


def _rank(plan: Plan) -> tuple[bool, float]:
    return bool(plan.move), plan.score


def read_score(text: str) -> float:
    """The grade after the last `Score:`, from 0 to 1; 0 without one."""
    return min(1.0, (last_number("Score", text) or 0.0) / 100)


def read_hints(text: str) -> dict[str, float]:
    """The suitability of each algorithm that has a line of its own."""
    found = {}
    for name in ALGORITHMS:
        line = re.search(rf"{name}\s*:\s*(\d{{1,9}}(?:\.\d+)?)", text.lower())
        if line:
            found[name] = min(1.0, float(line.group(1)))
    return found
