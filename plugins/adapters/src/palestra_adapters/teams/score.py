"""SCoRe: an answer, and a second one after being asked to correct the first.

Kumar et al., "Training Language Models to Self-Correct via Reinforcement Learning", 2024. This
module has the episode of two attempts that the method trains on; its rewards are the shaper `score`
of `palestra-rewards`. The policy gradient is left to a trainer.
"""

from __future__ import annotations

from typing import Annotated, Any

from palestra import BudgetSpent, Decision, Meta, Turn, agent

from palestra_adapters.adapter import rules_of, story
from palestra_adapters.react import ACTION, FORM
from palestra_adapters.talks import Speaking, Utterance
from palestra_adapters.thinking import Thinking

CORRECT = (
    "There might be an error in the answer above, because of lack of understanding of the "
    "question. Correct the error, if there is one, and write the whole answer again, as a thought "
    "and an action."
)


@agent(
    "score",
    kind="llm",
    summary="Answers, is asked to correct the answer, and plays the last attempt.",
    paper="Training Language Models to Self-Correct via Reinforcement Learning (2024)",
)
class SCoRe(Speaking):
    """Every decision takes `attempts` answers; each after the first corrects the one before.

    The model gets no feedback on whether an attempt was right. All attempts of a decision are one
    talk of one seat; `talks.settle(records)` scores them, and `shape("score", talks)` returns their
    rewards.
    """

    def __init__(
        self,
        *,
        attempts: Annotated[int, Meta(ge=2, description="answers to every question")] = 2,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._attempts = attempts

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        rules = rules_of(turn, advice)
        question = story(turn, "Your answer")
        asked = self.single(rules, question, answer=FORM)
        lines: list[Utterance] = []
        try:
            for _ in range(self._attempts):
                line = yield from self.answer(turn, 0, asked)
                lines.append(line)
                asked = [*asked, self.style.move(line.text), self.style.question(CORRECT)]
        except BudgetSpent:
            if not lines:
                raise
        talk = self.talk_of(turn, (turn.game.players[turn.seat],), lines)
        decision = self.decide(turn, lines[-1].reply)
        decision.text = lines[-1].move or lines[-1].text.rpartition(ACTION)[2].strip()
        decision.thought = "\n".join(line.text for line in lines)
        moves = list(dict.fromkeys(line.move for line in lines if line.move))
        decision.facts = {**decision.facts, "talks": [talk], "candidates": moves}
        return decision
