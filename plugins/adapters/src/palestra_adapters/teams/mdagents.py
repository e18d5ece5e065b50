"""A team as large as the decision is hard: one member, a discussion, or teams in turn.

Kim et al., "MDAgents: An Adaptive Collaboration of LLMs for Medical Decision-Making", NeurIPS 2024.
A moderator first judges how hard the decision is. Of low complexity, one member decides; of
moderate complexity, experts discuss it with a moderator who reviews every round; of high
complexity, teams look at it one after the other and report. The wording is this package's own.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import legal_move, said_in, story
from palestra_adapters.react import can_hold
from palestra_adapters.teams.team import Answer, Team, agree, quote_answers
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking, together

Complexity = Literal["low", "moderate", "high"]
LEVELS: dict[str, str] = {
    "low": "one look settles it",
    "moderate": "several views have to be weighed",
    "high": "several kinds of knowledge are needed, each building on what another found",
}
CHECK = "\n".join(
    ["How hard is this decision? Answer with one word:", *(f"{k}: {v}" for k, v in LEVELS.items())]
)
EXPERTS = (
    "Name {count} experts whose views this decision needs. Answer with one line for each: "
    "a name, a colon, and what this expert knows."
)
TEAMS = (
    "Name {count} teams that look at this decision one after the other; the last one reviews what "
    "the others report. Answer with one line for each: a name, a colon, and what it establishes."
)
REVIEW = "You moderate. Tell the members in two sentences what they overlook and what to settle."
REPORT = "You lead this team. Report in three sentences what it established and what stays open."
DECIDE = "You moderate, and decide. Answer with the move only."


@agent(
    "mdagents",
    kind="llm",
    summary="One member, a discussion or teams in turn, by how hard the decision is.",
    paper="Kim et al. (2024), MDAgents: An Adaptive Collaboration of LLMs for Medical "
    "Decision-Making",
)
class MDAgents(Team):
    """Judges a decision's complexity, and then thinks alone, in a discussion or in teams.

    size: experts of the discussion and members of each team. A discussion ends when all members
    name one legal move. The fact `complexity` is the level that was judged, or given as
    `complexity`; a reply that names no level counts as moderate.
    """

    def __init__(
        self,
        *,
        complexity: Annotated[
            Complexity | None, Meta(description="the level of all decisions; judged if not given")
        ] = None,
        size: Annotated[int, Meta(ge=2, le=20, description="members of a discussion or team")] = 3,
        rounds: Annotated[int, Meta(ge=1, le=20, description="most rounds of a discussion")] = 2,
        teams: Annotated[int, Meta(ge=1, le=10, description="teams of a hard decision")] = 3,
        **settings: Any,
    ) -> None:
        super().__init__(size=size, **settings)
        self._complexity, self._rounds, self._teams = complexity, rounds, teams

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        level = self._complexity or (yield from self._judge(turn, advice))
        if level == "low":
            answer = yield from self.answer(turn, 0, advice)
            decision = self.agreed(turn, [answer])
        elif level == "moderate":
            decision = yield from self._discuss(turn, advice)
        else:
            decision = yield from self._report(turn, advice)
        decision.facts = {**decision.facts, "complexity": level}
        return decision

    def _judge(self, turn: Turn, advice: str) -> Thinking[str]:
        said = yield from self._say(turn, advice, CHECK)
        words = [word.strip(".,:;*\"'").lower() for word in said.split()]
        return next((word for word in words if word in LEVELS), "moderate")

    def _discuss(self, turn: Turn, advice: str) -> Thinking[Decision]:
        """Rounds of answers, each but the first after those of the one before and a review."""
        experts = yield from self._named(turn, advice, EXPERTS, self.size)
        context, answers = advice, list[Answer]()
        for _ in range(self._rounds):
            answers = yield from self._answers(turn, context, experts)
            if agree(answers):
                return self.agreed(turn, answers)
            heard = join_lines(advice, quote_answers(answers))
            review = yield from self._say(turn, heard, REVIEW)
            context = join_lines(heard, f"The moderator says: {quote(review)}")
        return (yield from self._decide(turn, context, answers))

    def _report(self, turn: Turn, advice: str) -> Thinking[Decision]:
        """Teams one after the other, each of which reads the reports of those before it."""
        context, answers = advice, list[Answer]()
        for team in (yield from self._named(turn, advice, TEAMS, self._teams)):
            answers = yield from self._answers(turn, context, [team] * self.size)
            heard = join_lines(context, quote_answers(answers))
            report = yield from self._say(turn, heard, f"{_role(team)} {REPORT}")
            context = join_lines(context, f"{quote(team)} reports: {quote(report)}")
        return (yield from self._decide(turn, context, answers))

    def _answers(self, turn: Turn, context: str, roles: list[str]) -> Thinking[list[Answer]]:
        thoughts = [self.answer(turn, n, context, _role(role)) for n, role in enumerate(roles)]
        return (yield from together(thoughts))

    def _decide(self, turn: Turn, context: str, answers: list[Answer]) -> Thinking[Decision]:
        text = join_lines(story(turn), context, DECIDE)
        messages = self.single(turn.game.rules_for(turn.seat), text)
        ask = self.move(turn, messages, temperature=0.0) if can_hold(self) else None
        (reply,) = yield [ask or self.ask(messages, temperature=0.0)]
        return self.agreed(turn, answers, legal_move(turn, said_in(reply)))

    def _named(self, turn: Turn, advice: str, form: str, count: int) -> Thinking[list[str]]:
        """So many lines of a reply; what is missing is filled with numbered experts."""
        said = yield from self._say(turn, advice, form.format(count=count))
        lines = [line.strip(" -*") for line in said.splitlines() if line.strip(" -*")]
        return [*lines, *(f"Expert {n + 1}" for n in range(len(lines), count))][:count]

    def _say(self, turn: Turn, context: str, order: str) -> Thinking[str]:
        text = join_lines(story(turn), context, order)
        return (yield from self.consult(turn, text, temperature=0.0))


def _role(name: str) -> str:
    return f"In this decision you are {quote(name)}."
