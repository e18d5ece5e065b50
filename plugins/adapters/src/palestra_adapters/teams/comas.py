"""CoMAS: agents discuss an answer, and earn their rewards from one another.

Xue et al., "CoMAS: Co-Evolving Multi-Agent Systems via Interaction Rewards", 2025. This module has
the discussion; its rewards are the shaper `comas` of `palestra-rewards`. REINFORCE++ is left to a
trainer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from palestra import BudgetSpent, Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import rules_of, story
from palestra_adapters.react import ACTION, FORM
from palestra_adapters.talks import Speaking, Utterance
from palestra_adapters.teams.team import HEAT, Answer, majority, vote_facts
from palestra_adapters.thinking import Thinking, together

EVALUATOR = (
    "You evaluate answers of others. Point out every error and defect of the answer: what is "
    "wrong, and why. Be concise, and do not retell the answer."
)
SCORER = (
    "You score answers of others. Weigh whether the evaluation is right, say why in brief, and "
    "then give the answer a score from 1 to 3:\n"
    "3: the answer is right, and no error named in the evaluation is one;\n"
    "2: some small errors named in the evaluation are there, but the answer is right;\n"
    "1: an error named in the evaluation is there and makes the answer wrong.\n"
    "End with the score between tags, as in <score>2</score>."
)
LAST = "Answers to the same question, and what was said of them:"
TAGGED = re.compile(r"<\s*score\s*>\s*([1-3])\s*<\s*/\s*score\s*>", re.IGNORECASE)


@agent(
    "comas",
    kind="llm",
    summary="A discussion: answers, evaluations of them, and scores, each by another member.",
    paper="CoMAS: Co-Evolving Multi-Agent Systems via Interaction Rewards (2025)",
)
class CoMAS(Speaking):
    """In each round every member answers, and two others drawn at random evaluate and score it.

    From the second round on, each member is shown `references` random answers of the previous round
    with their evaluations. The move is the majority of the last round. Models joined by `+` are
    assigned to members in turn. The discussion is one talk, whose tag "discussion"
    says which turns are an answer, its evaluation and its scoring, and what the score was.
    """

    def __init__(
        self,
        *,
        size: Annotated[int, Meta(ge=3, description="members of the discussion")] = 4,
        rounds: Annotated[int, Meta(ge=1, description="answers of every member")] = 1,
        references: Annotated[
            int, Meta(ge=0, description="answers of the previous round that a member is shown")
        ] = 1,
        **settings: Any,
    ) -> None:
        settings.setdefault("temperature", HEAT)
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self.size, self._rounds, self._references = size, rounds, references

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        rules = rules_of(turn, advice)
        question = story(turn, "The last answer")
        lines: list[Utterance] = []
        discussion: list[dict[str, Any]] = []
        try:
            for _ in range(self._rounds):
                before = discussion[-self.size :]
                asked = [self._question(rules, question, lines, before) for _ in self._members]
                lines += yield from together(
                    [self.answer(turn, m, asked[m], member=m) for m in self._members]
                )
                answers = range(len(lines) - self.size, len(lines))
                judges = [self._judges(lines[place].seat) for place in answers]
                parts = [
                    self._judge(turn, rules, question, lines[place], *pair)
                    for place, pair in zip(answers, judges, strict=True)
                ]
                pairs = yield from together(parts)
                for place, (evaluation, scoring) in zip(answers, pairs, strict=True):
                    number = len(lines)
                    lines += evaluation, scoring
                    discussion.append(
                        {
                            "answer": place,
                            "evaluation": number,
                            "scoring": number + 1,
                            "score": read_score(scoring.text),
                        }
                    )
        except BudgetSpent:
            if not lines:
                raise
        names = [f"member {m + 1}" for m in self._members]
        talk = self.talk_of(turn, names, lines, discussion=discussion)
        decision = self._decision(lines)
        decision.facts = {**decision.facts, "talks": [talk]}
        return decision

    @property
    def _members(self) -> range:
        return range(self.size)

    def _question(
        self,
        rules: str,
        question: str,
        lines: Sequence[Utterance],
        before: Sequence[dict[str, Any]],
    ) -> list[Any]:
        shown = list(before)
        while len(shown) > self._references:
            del shown[self.rng.word() % len(shown)]
        if not shown:
            return self.single(rules, question, answer=FORM)
        said = [
            f"Answer:\n{quote(lines[one['answer']].text)}\n"
            f"Evaluation:\n{quote(lines[one['evaluation']].text)}"
            for one in shown
        ]
        return self.single(rules, "\n\n".join([question, LAST, *said]), answer=FORM)

    def _judges(self, author: int) -> tuple[int, int]:
        """Two random other members: the evaluator and the scorer."""
        others = [member for member in self._members if member != author]
        first = others.pop(self.rng.word() % len(others))
        return first, others[self.rng.word() % len(others)]

    def _judge(
        self, turn: Turn, rules: str, question: str, answer: Utterance, first: int, second: int
    ) -> Thinking[tuple[Utterance, Utterance]]:
        said = quote(answer.text)
        text = f"{question}\n\nAnswer to evaluate:\n{said}"
        asked = self.single(rules, text, answer=EVALUATOR)
        evaluation = yield from self.say(turn, first, asked, member=first)
        text = (
            f"{question}\n\nAnswer to score:\n{said}\n\nEvaluation of it:\n{quote(evaluation.text)}"
        )
        asked = self.single(rules, text, answer=SCORER)
        return evaluation, (yield from self.say(turn, second, asked, member=second))

    def _decision(self, lines: Sequence[Utterance]) -> Decision:
        answers = [line for line in lines if line.move is not None][-self.size :]
        chosen = majority([line.move or None for line in answers])
        text = chosen or answers[0].text.rpartition(ACTION)[2].strip()
        said = "\n".join(f"Member {line.seat + 1}: {line.text}" for line in lines)
        votes = [Answer(line.seat, line.move or None) for line in answers]
        model = answers[0].reply.model
        return Decision(text=text, thought=said, model=model, facts=vote_facts(votes, text))


def read_score(text: str) -> int | None:
    """The last score between tags; None if there is none from 1 to 3."""
    found = TAGGED.findall(text)
    return int(found[-1]) if found else None
