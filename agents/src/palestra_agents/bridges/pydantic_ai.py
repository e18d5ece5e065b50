"""Agents of pydantic-ai on a seat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from palestra import MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.conversation import NOT_PLAYED
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, as_text, line

try:
    from pydantic_ai import (
        Agent,
        DeferredToolRequests,
        DeferredToolResults,
        ExternalToolset,
        ToolDefinition,
        UnexpectedModelBehavior,
        UsageLimitExceeded,
    )
    from pydantic_ai.usage import RunUsage
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai-slim>=2") from error

ROLES = {"system-prompt": "system", "tool-return": "tool"}


class History(NamedTuple):
    """The messages so far, and the calls of moves that wait for their results."""

    messages: Sequence[Any] = ()
    open: DeferredToolRequests | None = None


class PydanticAIBridge(Bridge):
    """Asks a `pydantic_ai.Agent`.

    With moves="tools" the moves are deferred tools: a call ends the run, and the next question is
    its result. The agent's own tools, instructions and dependencies' defaults stay as they are.
    """

    MOVES = ("text", "tools")
    KINDS, KINDS_TEXT = Agent, "a pydantic_ai.Agent"

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        history = conversation.history or History()
        spent = RunUsage()
        given: dict[str, Any] = {"message_history": history.messages, "usage": spent}
        if offer is not None:
            given["output_type"] = [str, DeferredToolRequests]
            given["toolsets"] = [ExternalToolset(_definitions(offer))]
        if history.open is not None:
            given["deferred_tool_results"] = _results(history.open, question)
        try:
            result = await self.agent.run(None if history.open else question, **given)
        except (UnexpectedModelBehavior, UsageLimitExceeded) as error:
            return Answer("", conversation.history, _usage(spent), unread=str(error))
        return _answer(result, _usage(spent))


def _answer(result: Any, usage: Usage) -> Answer:
    messages, new = result.all_messages(), result.new_messages()
    opened = result.output if isinstance(result.output, DeferredToolRequests) else None
    parts = [part for message in new for part in message.parts]
    thoughts = [part.content for part in parts if part.part_kind == "thinking"]
    if opened is not None:
        thoughts += [part.content for part in messages[-1].parts if part.part_kind == "text"]
    return Answer(
        text="" if opened else as_text(result.output),
        history=History(messages, opened),
        usage=usage,
        calls=[_call(part) for part in (*opened.calls, *opened.approvals)] if opened else (),
        trace=[_line(part) for part in parts if part.part_kind != "thinking"],
        thought="\n".join(thoughts),
        model=next((m.model_name or "" for m in reversed(new) if m.kind == "response"), ""),
    )


def _definitions(offer: MoveTools) -> list[ToolDefinition]:
    return [
        ToolDefinition(
            name=tool.name, parameters_json_schema=tool.parameters, description=tool.description
        )
        for tool in offer.tools
    ]


def _results(opened: DeferredToolRequests, question: str) -> DeferredToolResults:
    """The question as the result of the last call of a move; the others were not played."""
    results = dict.fromkeys((call.tool_call_id for call in opened.calls), NOT_PLAYED)
    if results:
        results[list(results)[-1]] = question
    return DeferredToolResults(
        calls=results, approvals={call.tool_call_id: False for call in opened.approvals}
    )


def _call(part: Any) -> ToolCall:
    return ToolCall(part.tool_name, part.args_as_json_str(), part.tool_call_id)


def _line(part: Any) -> dict[str, Any]:
    if part.part_kind == "tool-call":
        return line("assistant", "", [_call(part)])
    if part.part_kind == "text":
        return line("assistant", part.content)
    content = (
        part.content if isinstance(part.content, str) else json.dumps(part.content, default=str)
    )
    return line(ROLES.get(part.part_kind, "user"), content)


def _usage(spent: RunUsage) -> Usage:
    return Usage(spent.input_tokens, spent.output_tokens, spent.cache_read_tokens, spent.requests)
