"""ReAct: think, act, observe, in one growing conversation.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", ICLR 2023.
"""

from __future__ import annotations

from palestra import Decision, InvalidOption, Turn
from palestra.models import Ability

from palestra_adapters.adapter import Adapter, question, split_thought, written
from palestra_adapters.thinking import Thinking

FORM = (
    "Answer every question in two lines:\n"
    "Thought: what matters in the position, briefly\n"
    "Action: your move"
)
ACTION = "Action:"


class ReAct(Adapter):
    """Writes a thought before every move; both stay in the conversation.

    With `held` the thought is asked for first and the move after it, held to what is legal; by
    default wherever the model can be held. Without, both are one reply: half the calls, and moves
    may be illegal.
    """

    def __init__(self, *, held: bool | None = None, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        can: frozenset[Ability] = self.models[0].abilities
        possible = bool(can & {"choices", "pattern"})
        if held and not possible:
            raise InvalidOption(f"held=true is not possible with {self.models[0].name}")
        self._held = possible if held is None else held

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        talk = self.talk(turn, advice, answer=FORM)
        talk.ask(question(turn))
        stop = (*self.style.stop, f"\n{ACTION}") if self._held else ()
        (reply,) = yield [self.ask(talk.messages, talk=talk, stop=stop)]
        apart, said = split_thought(reply)
        thought, move = read_steps(said)
        if self._held:
            before = [*talk.messages, self.style.move(f"Thought: {thought}")]
            before.append(self.style.question(ACTION))
            (reply,) = yield [self.move(turn, before, talk=None)]
            move = reply.text.strip()
        move = written(turn, move)
        talk.answer(f"Thought: {thought}\n{ACTION} {move}")
        decision = self.decide(turn, reply)
        decision.text, decision.thought = move, "\n".join(filter(None, (apart, thought)))
        return decision


def read_steps(text: str) -> tuple[str, str]:
    """A reply's thought and its last action; all of it is the action where none is marked."""
    before, marked, action = text.rpartition(ACTION)
    thought = (before if marked else text).strip()
    thought = thought.removeprefix("Thought:").strip()
    lines = (action if marked else text).strip().splitlines()
    return thought, lines[0].strip() if lines else ""
