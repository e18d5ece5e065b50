"""Agents of AG2 on a seat, from its release 1 on."""

from __future__ import annotations

from typing import Any

from palestra import MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, as_text, line

try:
    from ag2 import Agent, MemoryStream
    from ag2.events import (
        BaseEvent,
        DataInput,
        ModelResponse,
        TextInput,
        ToolResultEvent,
        UsageEvent,
    )
except ImportError as error:
    raise MissingExtra("AG2", "ag2>=1") from error


class AG2Bridge(Bridge):
    """Asks an `ag2.Agent`, which may have other agents as tools (`as_tool`) or as subtasks.

    The usage of an answer is that of all of them.
    """

    KINDS = Agent
    KINDS_TEXT = "an ag2.Agent; of a network, give an agent that asks the others as its tools"

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        before = conversation.history  # the last reply, which can be asked on
        stream = before.context.stream if before else MemoryStream()
        events: list[BaseEvent] = []

        async def keep(event: BaseEvent) -> None:
            events.append(event)

        listening = stream.subscribe(keep)
        try:
            if before:
                reply = await before.ask(question)
            else:
                reply = await self.agent.ask(question, stream=stream)
        finally:
            stream.unsubscribe(listening)
        spent = [event for event in events if isinstance(event, UsageEvent)]
        return Answer(
            text=as_text(reply.body),
            history=reply,
            usage=sum(map(_usage, spent), start=Usage()),
            trace=[line("user", question), *(one for event in events if (one := _line(event)))],
            model=reply.response.model or "",
        )


def _usage(event: UsageEvent) -> Usage:
    used = event.usage
    return Usage(
        int(used.prompt_tokens or 0),
        int(used.completion_tokens or 0),
        int(used.cache_read_input_tokens or 0),
        len(event.parts) or 1,  # the calls that a subtask made
    )


def _line(event: BaseEvent) -> dict[str, Any] | None:
    """An event as a message; None for one without text or call."""
    if isinstance(event, ModelResponse):
        calls = [ToolCall(call.name, call.arguments, call.id) for call in event.tool_calls.calls]
        return line("assistant", event.content, calls)
    if isinstance(event, ToolResultEvent):
        return line("tool", "\n".join(map(_text, event.result.parts)))
    return None


def _text(part: Any) -> str:
    """A part of a tool's result as text; of a file only its kind."""
    if isinstance(part, TextInput):
        return part.content
    return as_text(part.data) if isinstance(part, DataInput) else type(part).__name__
