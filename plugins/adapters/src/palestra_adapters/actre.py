"""ActRe: now and then a move is drawn, and the model writes the thought that leads to it.

"ReAct Meets ActRe: When Language Agents Enjoy Training Data Autonomy", 2024. Play explores, and
what is learned from good episodes still has a thought before every move. Answers are kept whole,
thought and move, so that `palestra export-llm --rows imitate` or `prefer` writes both, under a
prompt that asks for both. The wording is this package's own.

Left out: the paper's policy gradient of successes and failures; pairs of them are exported.
"""

from __future__ import annotations

from typing import Annotated, Any

from palestra import Decision, Meta, Turn, agent
from palestra.llm.legal import list_moves

from palestra_adapters.adapter import question, said_in
from palestra_adapters.react import ACTION, FORM, ReAct, read_steps
from palestra_adapters.thinking import Thinking

WHY = (
    "You will play {move} now. Write one line that begins with `Thought:` and says what in the "
    "position leads to this move."
)
DRAWS = 1_000  # of the shares of turns that can be told apart


@agent(
    "actre",
    kind="llm",
    summary="ReAct that explores: some moves are drawn, and explained before they are played.",
    paper="ReAct Meets ActRe: When Language Agents Enjoy Training Data Autonomy (2024)",
)
class ActRe(ReAct):
    """ReAct, in which a share `explore` of the moves is drawn from all legal ones and explained.

    The fact `mode` says how a move came about: drawn or chosen. Where moves have free text, none
    is drawn.
    """

    def __init__(
        self,
        *,
        explore: Annotated[
            float, Meta(ge=0, le=1, description="share of moves that are drawn and explained")
        ] = 0.25,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._explore = explore

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        explores = self.rng.below(DRAWS) < self._explore * DRAWS
        if explores and not turn.error and (moves := list_moves(turn)):
            move = self.rng.choice(moves)
            decision, mode = (yield from self._explain(turn, advice, move)), "drawn"
        else:
            decision, mode = (yield from super().think(turn, advice)), "chosen"
        decision.facts = {**decision.facts, "mode": mode}
        if decision.thought:
            decision.text = f"Thought: {decision.thought}\n{ACTION} {decision.text}"
        return decision

    def _explain(self, turn: Turn, advice: str, move: str) -> Thinking[Decision]:
        talk = self.talk(turn, advice, answer=FORM)
        talk.ask(f"{question(turn)}\n{WHY.format(move=move)}")
        (reply,) = yield [self.ask(talk.messages, talk=talk)]
        talk.take_back()  # later prompts must not show that the move was not its own
        thought = read_steps(said_in(reply))[0]
        talk.ask(question(turn))
        talk.answer(f"Thought: {thought}\n{ACTION} {move}")
        decision = self.decide(turn, reply)
        decision.text, decision.thought = move, thought
        decision.logprob, decision.facts = None, {}  # those of the reply are not the move's
        return decision
