"""What the bridges to agent frameworks share: questions, conversations and decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from palestra import Decision, InvalidOption, Turn, UnknownName
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.kernel.errors import show
from palestra.kernel.specs import load_entry_point
from palestra.llm.tool_calls import MoveTools, called, form_of_calls
from palestra.phrasing.wording import answer_form

FRAMEWORKS = {  # by the package that defines the class of an agent
    "langgraph": "palestra_agents.bridges.langgraph:LangGraphBridge",
    "pydantic_ai": "palestra_agents.bridges.pydantic_ai:PydanticAIBridge",
    "agents": "palestra_agents.bridges.openai_agents:OpenAIAgentsBridge",
    "smolagents": "palestra_agents.bridges.smolagents:SmolagentsBridge",
    "autogen_agentchat": "palestra_agents.bridges.autogen:AutoGenBridge",
    "ag2": "palestra_agents.bridges.ag2:AG2Bridge",
    "autogen": "palestra_agents.bridges.ag2_classic:AG2ClassicBridge",
    "dspy": "palestra_agents.bridges.dspy:DSPyBridge",
    "crewai": "palestra_agents.bridges.crewai:CrewAIBridge",
}
ACCEPTED = (
    "a compiled graph of LangGraph (also what LangChain's create_agent returns), a "
    "pydantic_ai.Agent, an agents.Agent of the OpenAI Agents SDK, a CodeAgent or ToolCallingAgent "
    "of smolagents, an agent or team of AutoGen, an ag2.Agent, a ConversableAgent or group chat of "
    "AG2 Classic, a dspy.Module, or an Agent, Crew or Flow of CrewAI"
)


@dataclass(slots=True)
class Conversation:
    """What is kept of one seat's episode between its turns.

    history: what the framework needs to continue, None before the first answer.
    """

    history: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent answered to one question.

    text: its answer. history: what it needs to continue. calls: the moves that it called as tools.
    unread: why there is no answer, such as a limit of its own that it reached. trace: the messages
    from the question to the answer, each made by `line`. thought: what it wrote beside its answer.
    model: the name of the language model, if the framework reports it.
    """

    text: str
    history: Any
    usage: Usage = field(default_factory=Usage)
    calls: Sequence[ToolCall] = ()
    unread: str = ""
    trace: Sequence[dict[str, Any]] = ()
    thought: str = ""
    model: str = ""


class Bridge(ABC):
    """Asks an agent of another framework for the moves of a seat.

    The first question of an episode holds the rules, the later ones what happened since the seat's
    last turn. Every seat of every episode has a conversation of its own. A subclass writes `ask`.

    agent: the framework's own agent. moves: "text" or, for a framework in whose class `MOVES` lists
    it, "tools". name: how records call the agent; by default its own name.
    """

    MOVES: ClassVar[tuple[str, ...]] = ("text",)
    KINDS: ClassVar[Any] = object  # the class that it takes, or several
    KINDS_TEXT: ClassVar[str] = ""  # the same in words

    def __init__(self, agent: Any, *, moves: str = "text", name: str = "") -> None:
        if not isinstance(agent, self.KINDS):
            raise InvalidOption(f"this bridge takes {self.KINDS_TEXT}, not {show(agent)}")
        if moves not in self.MOVES:
            raise UnknownName("form of moves", moves, self.MOVES)
        self.agent, self._tools = agent, moves == "tools"
        own = getattr(agent, "name", None)
        self.name = name or (own if isinstance(own, str) and own else type(agent).__name__)
        self._conversations: dict[int, dict[int, Conversation]] = {}  # by episode, then by seat

    @abstractmethod
    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        """Put a question to the agent, as the next message of a conversation.

        offer: the moves as tools, with moves="tools".
        """

    async def act(self, turn: Turn) -> Decision:
        """Ask for the move of one turn."""
        seats = self._conversations.setdefault(turn.episode_key, {})
        conversation = seats.setdefault(turn.seat, Conversation())
        offer = MoveTools(turn) if self._tools else None
        try:
            answer = await self.ask(conversation, self._question(turn, conversation), offer)
        except Exception as error:
            error.add_note(f"raised inside {self.name}, a {type(self.agent).__name__}, when asked")
            raise
        text, unread = answer.text.strip(), answer.unread
        facts: dict[str, Any] = {"trace": list(answer.trace)} if answer.trace else {}
        if offer is not None and answer.calls:
            text, unread = offer.read(answer.calls)
            facts["calls"] = called(answer.calls)
        conversation.history = answer.history
        return Decision(
            text=text,
            usage=answer.usage,
            thought=answer.thought,
            model=answer.model,
            sampling={"mode": "tools" if self._tools else "free"},
            facts=facts,
            unread=unread,
        )

    def forget(self, episode_key: int) -> None:
        """Drop the conversations of an episode that has ended."""
        self._conversations.pop(episode_key, None)

    def _question(self, turn: Turn, conversation: Conversation) -> str:
        form = answer_form(turn.game, turn.seat)
        form = form_of_calls(form) if self._tools else form
        refused = f"That was refused: {turn.error}" if turn.error else ""
        if conversation.history is None:
            parts = [turn.game.rules_for(turn.seat), form, refused, turn.text]
        elif refused:
            parts = [refused, form]
        else:
            parts = [turn.text]
        return "\n".join(part for part in parts if part)


def bridge(agent: Any, **options: Any) -> Bridge:
    """An agent of Palestra that asks an agent of another framework.

    agent: a framework's own agent; the package of its class says which framework. options: those of
    the framework's bridge, such as `moves="tools"`. Raises `InvalidOption` for any other object.
    """
    for kind in type(agent).__mro__:
        framework = kind.__module__.partition(".")[0]
        if framework in FRAMEWORKS:
            made: Bridge = load_entry_point(FRAMEWORKS[framework])(agent, **options)
            return made
    hint = "; give an object of that class" if isinstance(agent, type) else ""
    raise InvalidOption(f"bridge() takes {ACCEPTED}, not {show(agent)}{hint}")


def line(role: str, content: Any, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
    """A message of a trace; role is "system", "user", "assistant" or "tool"."""
    written = {"role": role, "content": as_text(content)}
    return {**written, "calls": called(calls)} if calls else written


def transcript(messages: Sequence[dict[str, str]]) -> str:
    """A conversation as one text, for teams that take no messages: the last one is the question.

    messages: those of the roles "user" and "assistant" in turn, each with its `content`.
    """
    said = {"user": "", "assistant": "You answered: "}
    return "\n\n".join(f"{said[message['role']]}{message['content']}" for message in messages)


def as_text(output: Any) -> str:
    """An answer of any type as text: an object with fields as JSON, None as no text."""
    if output is None or isinstance(output, str):
        return output or ""
    dump = getattr(output, "model_dump_json", None)
    return str(dump() if callable(dump) else output)
