"""Agents and teams of AutoGen on a seat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

from palestra import MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, line

try:
    from autogen_agentchat.base import ChatAgent, Team
    from autogen_agentchat.messages import BaseChatMessage
except ImportError as error:
    raise MissingExtra("AutoGen", "autogen-agentchat>=0.7") from error


class Turns:
    """Whose turn it is to use an agent, and the agent's state before anybody used it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.blank: Mapping[str, Any] | None = None


_turns: WeakKeyDictionary[Any, Turns] = WeakKeyDictionary()  # by agent


class AutoGenBridge(Bridge):
    """Asks an agent such as `AssistantAgent`, or a team; its last message is the answer.

    AutoGen's agents hold their conversation themselves: each question loads the state of its
    conversation and saves it afterwards. So one agent answers one question at a time.
    """

    KINDS = (ChatAgent, Team)
    KINDS_TEXT = "an AssistantAgent, another agent or a team of AutoGen"

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        turns = _turns.setdefault(self.agent, Turns())
        async with turns.lock:
            if turns.blank is None:
                turns.blank = deepcopy(await self.agent.save_state())
            await self.agent.load_state(deepcopy(conversation.history or turns.blank))
            result = await self.agent.run(task=question)
            history = deepcopy(await self.agent.save_state())
        said = [message for message in result.messages if isinstance(message, BaseChatMessage)]
        return Answer(
            text=said[-1].to_model_text() if said[-1].source != "user" else "",
            history=history,
            usage=sum(map(_usage, result.messages), start=Usage()),
            trace=[_line(message) for message in result.messages],
        )


def _usage(message: Any) -> Usage:
    used = message.models_usage
    return Usage(used.prompt_tokens, used.completion_tokens, calls=1) if used else Usage()


def _line(message: Any) -> dict[str, Any]:
    content: Any = getattr(message, "content", "")
    if message.type == "ToolCallRequestEvent":
        return line("assistant", "", [ToolCall(c.name, c.arguments, c.id) for c in content])
    if message.type == "ToolCallExecutionEvent":
        return line("tool", json.dumps([result.content for result in content]))
    return line("user" if message.source == "user" else "assistant", message.to_text())
