"""MALT: a generator answers, a verifier criticises, a refiner answers again.

Motwani et al., "MALT: Improving Reasoning with Multi-Agent LLM Training", 2024. This module has the
pipeline and the tree of its samples, `branches` per role. The estimator `malt` of
`palestra-rewards` values each sample, and its `role_rows` makes the training data of each role.
Training is left to a trainer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from palestra import BudgetSpent, Decision, Meta, Turn, Usage, agent
from palestra.quoting import quote

from palestra_adapters.adapter import rules_of, story
from palestra_adapters.react import ACTION, FORM
from palestra_adapters.talks import Speaking, Utterance
from palestra_adapters.teams.team import HEAT, Answer, majority, vote_facts
from palestra_adapters.thinking import Thinking, together

ROLES = ("generator", "verifier", "refiner")
VERIFIER = (
    "You verify answers. Check the proposed answer against the rules and the position, step by "
    "step. Say what is right in it, what is wrong and why, and end with one line: Verdict: "
    "correct, or Verdict: incorrect. Do not answer in its place."
)
PROPOSED = "{question}\n\nProposed answer:\n{answer}\n\nVerify the proposed answer."
REFINE = (
    "{question}\n\nProposed answer:\n{answer}\n\nCritique of it:\n{critique}\n\n"
    "The critique may be right or wrong. Keep what is right in the answer, correct what is wrong, "
    "and give the final answer."
)


@agent(
    "malt",
    kind="llm",
    summary="Generator, verifier and refiner, sampled as a tree; the refined majority plays.",
    paper="MALT: Improving Reasoning with Multi-Agent LLM Training (2024)",
)
class Malt(Speaking):
    """`branches` answers, as many critiques of each, and as many refined answers to each of those.

    Three models joined by `+` are generator, verifier and refiner; one model plays all three. The
    move is the majority of the refined answers; with one branch, the pipeline runs once. Every path
    through the tree is a talk of three turns, and talks share their prefixes, so `Group.of(talks)`
    recovers the tree. The usage of a line that several paths share is in the first of them.
    """

    def __init__(
        self,
        *,
        branches: Annotated[int, Meta(ge=1, description="samples of every role")] = 3,
        **settings: Any,
    ) -> None:
        settings.setdefault("temperature", HEAT if branches > 1 else 0.0)
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._branches = branches

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        rules = rules_of(turn, advice)
        question = story(turn, "Your last answer")
        paths: list[list[Utterance]] = [[]]
        try:
            for _ in ROLES:
                grown = [path for path in paths for _ in range(self._branches)]
                lines = yield from together(
                    [self._line(turn, rules, question, path) for path in grown]
                )
                paths = [[*path, line] for path, line in zip(grown, lines, strict=True)]
        except BudgetSpent:
            if not paths[0]:
                raise
        own = _spent_once(paths)
        talks = [self.talk_of(turn, ROLES, path, roles=list(ROLES)) for path in own]
        decision = self._decision(paths)
        decision.facts = {**decision.facts, "talks": talks}
        return decision

    def _line(
        self, turn: Turn, rules: str, question: str, path: Sequence[Utterance]
    ) -> Thinking[Utterance]:
        """The reply of the next role after a path."""
        role = len(path)
        if role == 0:
            asked = self.single(rules, question, answer=FORM)
        elif role == 1:
            text = PROPOSED.format(question=question, answer=quote(path[0].text))
            asked = self.single(rules, text, answer=VERIFIER)
            return (yield from self.say(turn, role, asked, member=role))
        else:
            answer, critique = (quote(line.text) for line in path[:2])
            text = REFINE.format(question=question, answer=answer, critique=critique)
            asked = self.single(rules, text, answer=FORM)
        return (yield from self.answer(turn, role, asked, member=role))

    def _decision(self, paths: Sequence[Sequence[Utterance]]) -> Decision:
        """The majority of the last answers; the first of them if none is legal."""
        last = [next(line for line in reversed(path) if line.move is not None) for path in paths]
        chosen = majority([line.move or None for line in last])
        text = chosen or last[0].text.rpartition(ACTION)[2].strip()
        said = dict.fromkeys(f"{ROLES[n.seat]}: {n.text}" for path in paths for n in path)
        votes = [Answer(line.seat, line.move or None) for line in last]
        return Decision(
            text=text,
            thought="\n".join(said),
            model=last[0].reply.model,
            facts=vote_facts(votes, text),
        )


def _spent_once(paths: Sequence[Sequence[Utterance]]) -> Iterator[list[Utterance]]:
    """Paths in which only the last line is an answer, and shared lines count usage only once."""
    seen: set[int] = set()
    for path in paths:
        own: list[Utterance] = []
        for line in path:
            shared = id(line) in seen
            seen.add(id(line))
            final = line is path[-1]
            own.append(
                replace(
                    line,
                    move=line.move if final else None,
                    usage=Usage() if shared else line.usage,
                )
            )
        yield own
