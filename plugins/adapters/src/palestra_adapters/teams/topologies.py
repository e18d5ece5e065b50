"""Five topologies of a team, with the same token budget per decision.

"Towards a Science of Scaling Agent Systems", 2025. A single agent reviews its own answer;
independent members vote without talking; in a centralised team an orchestrator gives orders and
decides; decentralised members see each other's answers and vote; a hybrid team does both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Annotated, Any, Literal

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import legal_move, said_in, story
from palestra_adapters.react import can_hold
from palestra_adapters.similarity import similarity
from palestra_adapters.teams.team import Answer, Purse, Team, charge, majority, quote_answers
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking, together

Topology = Literal["single", "independent", "centralised", "decentralised", "hybrid"]
ORDER = "You lead a team of {size}. In one sentence a member, say what each is to look at."
DECIDE = "You lead the team. Decide: answer with the move only."


@dataclass(slots=True)
class TalkStatistics:
    """Totals over a team's lifetime: answers, messages read by others, similarity, tokens."""

    decisions: int = 0
    answers: int = 0
    messages: int = 0
    tokens: int = 0
    alike: float = 0.0  # mean similarity of answers, summed over decisions

    @property
    def redundancy(self) -> float:
        """Mean similarity of the members' outputs, from 0 to 1."""
        return self.alike / self.decisions if self.decisions else 0.0

    @property
    def density(self) -> float:
        """Messages read from others, per answer."""
        return self.messages / self.answers if self.answers else 0.0


@agent(
    "team",
    kind="llm",
    summary="A team in one of five topologies, with a token budget per decision.",
    paper="Towards a Science of Scaling Agent Systems (2025)",
)
class Topologies(Team):
    """A team in one `topology`, with up to `rounds` rounds as long as `tokens` suffice."""

    def __init__(
        self,
        *,
        topology: Annotated[
            Topology, Meta(description="who hears whom, and who decides")
        ] = "centralised",
        size: Annotated[int, Meta(ge=1, le=1_000, description="members of the team")] = 3,
        rounds: Annotated[int, Meta(ge=1, description="most answers of every member")] = 2,
        tokens: Annotated[int | None, Meta(ge=1, description="most tokens per decision")] = None,
        **settings: Any,
    ) -> None:
        super().__init__(size=1 if topology == "single" else size, **settings)
        self._topology, self._rounds, self._tokens = topology, rounds, tokens
        self.talked = TalkStatistics()

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        purse = Purse(inf if self._tokens is None else self._tokens)
        leads = self._topology in ("centralised", "hybrid")
        answers: list[Answer] = []
        move: str | None = None
        while not answers or (purse.lasts and self._another_round(answers)):
            answers, move = yield from charge(self._round(turn, advice, answers, leads), purse)
        self._note(answers, purse.spent)
        return self.agreed(turn, answers, move)

    def _another_round(self, answers: Sequence[Answer]) -> bool:
        return self._topology != "independent" and len(answers) < self._rounds * self.size

    def _round(
        self, turn: Turn, advice: str, before: list[Answer], leads: bool
    ) -> Thinking[tuple[list[Answer], str | None]]:
        """One answer of every member, given what this topology lets it read."""
        order = quote((yield from self._order(turn, before))) if leads else ""
        heard = list(before) if self._topology != "centralised" else []
        context = join_lines(advice, order, quote_answers(heard) if heard else "")
        self.talked.messages += self.size * (bool(order) + len(heard) * (self.size > 1))
        new = yield from together([self.answer(turn, m, context) for m in range(self.size)])
        everything = [*before, *new]
        if not leads:
            return everything, majority([answer.move for answer in new])
        return everything, (yield from self._decide(turn, new))

    def _order(self, turn: Turn, before: Sequence[Answer]) -> Thinking[str]:
        line = ORDER.format(size=self.size)
        text = join_lines(story(turn), quote_answers(before) if before else "", line)
        return (yield from self.consult(turn, text))

    def _decide(self, turn: Turn, new: Sequence[Answer]) -> Thinking[str | None]:
        text = f"{story(turn)}\n{quote_answers(new)}\n{DECIDE}"
        self.talked.messages += len(new)
        messages = self.single(turn.game.rules_for(turn.seat), text)
        (reply,) = yield [self.move(turn, messages) if can_hold(self) else self.ask(messages)]
        return legal_move(turn, said_in(reply))

    def _note(self, answers: Sequence[Answer], tokens: int) -> None:
        talked = self.talked
        talked.decisions += 1
        talked.answers += len(answers)
        talked.tokens += tokens
        pairs = list(combinations([f"{a.reason} {a.move}" for a in answers], 2))
        talked.alike += sum(similarity(*pair) for pair in pairs) / len(pairs) if pairs else 0.0


def overhead(team_turns: float, single_turns: float) -> float:
    """Extra turns of a team as a share of a single agent's turns; 0 for the single agent."""
    return (team_turns - single_turns) / single_turns


def efficiency(success: float, team_turns: float, single_turns: float) -> float:
    """Success divided by the team's turns relative to a single agent's."""
    return success * single_turns / team_turns


def error_amplification(team_success: float, single_success: float) -> float:
    """A team's error rate divided by a single agent's; 1 for the single agent."""
    if single_success >= 1:
        return inf if team_success < 1 else 1.0
    return (1 - team_success) / (1 - single_success)
