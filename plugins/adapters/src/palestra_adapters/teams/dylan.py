"""DyLAN: layers of members who read, rate and answer; weak members drop out.

Liu et al., "A Dynamic LLM-Powered Agent Network for Task-Oriented Agent Collaboration", 2024
("Dynamic LLM-Agent Network: An LLM-agent Collaboration Framework with Agent Team Optimization").
Here the ranker is the sum of the ratings that members give each other. Each decision carries its
talk: a seat for each member, a turn for each answer, and the ratings, from which the estimator
`dylan` shares credit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import Decision, EpisodeRecord, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Reply

from palestra_adapters.react import ACTION
from palestra_adapters.talks import Utterance, write_talk
from palestra_adapters.teams.team import Answer, Team, majority, quote_answers
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking, together

AGREED = 2 / 3
RATE = (
    "Rate each of these {count} answers from 1 (wrong) to 5 (right), in their order, in one line: "
    "`Ratings:` and {count} numbers."
)
_RATINGS = re.compile(r"Ratings:([\d ,]*)")
Weights = NDArray[np.float64]


@agent(
    "dylan",
    kind="llm",
    summary="Layers of members who rate each other.",
    paper=(
        "Liu et al. (2023), Dynamic LLM-Agent Network: An LLM-agent Collaboration "
        "Framework with Agent Team Optimization"
    ),
)
class DyLAN(Team):
    """`layers` rounds of `size` members; after the second round `keep` of them continue.

    It ends early if more than two thirds agree. With `team`, that many members with the greatest
    importance over the first `trial` decisions play all later ones.
    """

    def __init__(
        self,
        *,
        size: Annotated[int, Meta(ge=1, le=1_000, description="members of the team")] = 4,
        layers: Annotated[int, Meta(ge=1, description="rounds of answers")] = 3,
        keep: Annotated[
            int, Meta(ge=1, description="members that stay after the second round")
        ] = 2,
        team: Annotated[
            int, Meta(ge=0, description="members that stay after the trial (0: all)")
        ] = 0,
        trial: Annotated[int, Meta(ge=1, description="decisions before the team is chosen")] = 20,
        **settings: Any,
    ) -> None:
        if keep > size or team > size:
            raise InvalidOption(f"keep {keep} and team {team} must be at most size, {size}")
        super().__init__(size=size, **settings)
        self._layers, self._keep, self._team, self._trial = layers, keep, team, trial
        self.importance = np.zeros(size)  # summed over decisions
        self.decisions = 0

    @property
    def members(self) -> list[int]:
        """Members that take part now: all, or after the trial the most important ones."""
        if not self._team or self.decisions < self._trial:
            return list(range(self.size))
        best = np.argsort(-self.importance, kind="stable")[: self._team]
        return sorted(int(member) for member in best)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        members = self.members
        answers = yield from together([self.answer(turn, m, advice) for m in members])
        layers, weights, tables = [answers], list[Weights](), list[Weights]()
        while len(layers) < self._layers and not has_agreement(answers):
            context = join_lines(advice, quote_answers(answers))
            rated = yield from self._ratings(turn, members, answers, context)
            if len(layers) >= 2 and len(members) > self._keep:
                strong = np.argsort(-rated.sum(axis=0), kind="stable")[: self._keep]
                rows = sorted(int(i) for i in strong)
                members, rated = [members[i] for i in rows], rated[rows]
            tables.append(self._table(members, answers, rated))
            answers = yield from together([self.answer(turn, m, context) for m in members])
            layers.append(answers)
            weights.append(rated)
        decision = self.agreed(turn, answers)
        parts = contributions(layers, weights)
        for layer, share in zip(layers, parts, strict=True):
            for answer, value in zip(layer, share, strict=True):
                self.importance[answer.member] += value
        self.decisions += 1
        final = self._table([0], answers, parts[-1][None])[0]
        talk = self._talk(turn, layers, decision.text or "", ratings=tables, final=final)
        decision.facts = {**decision.facts, "talks": [talk]}
        return decision

    def _table(self, members: Sequence[int], answers: Sequence[Answer], rated: Weights) -> Weights:
        """Shares that `members` give the authors of `answers`, shape (size, size)."""
        table = np.zeros((self.size, self.size))
        for member, row in zip(members, rated, strict=True):
            table[member, [answer.member for answer in answers]] = normalise(row)
        return table

    def _talk(
        self,
        turn: Turn,
        layers: Sequence[Sequence[Answer]],
        move: str,
        *,
        ratings: Sequence[Weights],
        final: Weights,
    ) -> EpisodeRecord:
        """All answers as a talk of the members; its last turn is paid for the decision."""
        lines = [_line(answer) for layer in layers for answer in layer]
        return write_talk(
            type(self).__name__,
            turn,
            [f"member {number + 1}" for number in range(self.size)],
            lines,
            moves=[None] * (len(lines) - 1) + [move],
            ratings=[table.tolist() for table in ratings],
            final=final.tolist(),
        )

    def _ratings(
        self, turn: Turn, members: Sequence[int], answers: Sequence[Answer], context: str
    ) -> Thinking[Weights]:
        """Each member's rating of each answer, shape (members, answers); 0 for no legal move."""
        line = f"{turn.position}\n{context}\n{RATE.format(count=len(answers))}"
        messages = self.single(turn.game.rules_for(turn.seat), line)
        replies = yield [self.ask(messages, member=m % len(self.models)) for m in members]
        rated = np.array([read_ratings(reply.text, len(answers)) for reply in replies])
        rated[:, [answer.move is None for answer in answers]] = 0.0
        return rated


def _line(answer: Answer) -> Utterance:
    text = f"Thought: {answer.reason}\n{ACTION} {answer.move or 'none'}"
    reply = answer.reply or Reply("")
    return Utterance(answer.member, answer.asked, text, None, reply, reply.usage)


def read_ratings(text: str, count: int) -> list[float]:
    """The numbers after `Ratings:`, clipped to 1–5; missing ones are 3."""
    found = _RATINGS.search(text)
    numbers = [float(n) for n in re.findall(r"\d{1,9}", found.group(1))] if found else []
    numbers = [min(5.0, max(1.0, n)) for n in numbers[:count]]
    return numbers + [3.0] * (count - len(numbers))


def has_agreement(answers: Sequence[Answer]) -> bool:
    """Whether more than two thirds give the same move."""
    counts = Counter(answer.move for answer in answers if answer.move is not None)
    return bool(counts) and max(counts.values()) > AGREED * len(answers)


def contributions(layers: Sequence[Sequence[Answer]], weights: Sequence[Weights]) -> list[Weights]:
    """Every member's contribution to the answer, by layer; each layer sums to 1.

    Members of the last layer who gave the answer share it equally. `weights[t]` are the ratings
    that members of layer t + 1 gave those of layer t: each passes its own part back in proportion.
    A member without a legal move has no part.
    """
    answer = majority([a.move for a in layers[-1]])
    parts = [
        normalise(np.array([float(a.move is not None and a.move == answer) for a in layers[-1]]))
    ]
    for rated in reversed(weights):
        rows = np.apply_along_axis(normalise, 1, rated)
        parts.append(parts[-1] @ rows)
    return parts[::-1]


def normalise(values: Weights) -> Weights:
    """Values as shares of their sum; equal shares if it is 0."""
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))
