"""ReAct: think, act, observe, in one growing conversation.

Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models", ICLR 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Message, Reply
from palestra.llm.conversation import THINK, Conversation

from palestra_adapters.adapter import Adapter, game_text, question, split_thought
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

FORM = THINK
ACTION = "Action:"


class Step(NamedTuple):
    """A thought and the move it led to; `reply` is the reply with the move."""

    thought: str
    move: str
    reply: Reply


def can_hold(agent: Adapter, member: int = 0) -> bool:
    return bool(agent.models[member].abilities & {"choices", "pattern"})


def reason(
    agent: Adapter,
    turn: Turn,
    messages: Sequence[Message],
    *,
    held: bool,
    member: int = 0,
    talk: Conversation | None = None,
    temperature: float | None = None,
) -> Thinking[Step]:
    """Think and then move, in the form of `FORM`; two questions if `held`, else one."""
    style = agent.style
    stop = (*style.stop, f"\n{ACTION}") if held else style.stop
    (reply,) = yield [
        agent.ask(messages, member=member, talk=talk, stop=stop, temperature=temperature)
    ]
    apart, said = split_thought(reply)
    thought, move = read_steps(said)
    if held:
        asked = list(talk.messages) if talk is not None else list(messages)
        asked += [style.move(f"Thought: {thought}"), style.question(ACTION)]
        (reply,) = yield [agent.move(turn, asked, member=member, temperature=temperature)]
        move = reply.text.strip()
    return Step(join_lines(apart, thought), game_text(turn, move), reply)


def reason_alone(
    agent: Adapter, turn: Turn, messages: Sequence[Message], *, member: int = 0
) -> Thinking[Decision]:
    """`reason` about one prompt, as the decision for its move; two questions where possible."""
    held = can_hold(agent, member)
    step = yield from reason(agent, turn, messages, held=held, member=member)
    return decide_step(agent, turn, step)


def decide_step(agent: Adapter, turn: Turn, step: Step) -> Decision:
    """The decision for a step's move, with its thought."""
    decision = agent.decide(turn, step.reply)
    decision.text, decision.thought = step.move, step.thought
    return decision


def write_step(thought: str, move: str) -> str:
    """A thought and a move in the form in which they are asked for."""
    return f"Thought: {thought}\n{ACTION} {move}"


@agent(
    "react",
    kind="llm",
    summary="ReAct: a thought before every move.",
    paper="Yao et al. (2023), ReAct: Synergizing Reasoning and Acting in Language Models",
)
class ReAct(Adapter):
    """Writes a thought before every move; both stay in the conversation.

    With `held` the thought is asked for first, and then the move, constrained to legal moves; this
    is the default if the model supports it. Without, one reply has both: half the calls, but moves
    may be illegal.
    """

    def __init__(
        self,
        *,
        held: Annotated[
            bool | None, Meta(description="ask for the thought first, then for a legal move")
        ] = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        possible = can_hold(self)
        if held and not possible:
            raise InvalidOption(f"held=true is not possible with {self.models[0].name}")
        self._held = possible if held is None else held

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        talk = self.talk(turn, advice, answer=FORM)
        talk.ask(question(turn))
        step = yield from reason(self, turn, talk.messages, held=self._held, talk=talk)
        talk.answer(write_step(step.thought, step.move))
        return decide_step(self, turn, step)


def read_steps(text: str) -> tuple[str, str]:
    """A reply's thought and its last action; without a marked action, its text and first line."""
    before, marked, action = text.rpartition(ACTION)
    thought = (before if marked else text).strip()
    thought = thought.removeprefix("Thought:").strip()
    lines = (action if marked else text).strip().splitlines()
    return thought, lines[0].strip() if lines else ""
