"""Agents and teams of AutoGen on a seat."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
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
    from autogen_core import EVENT_LOGGER_NAME
    from autogen_core.logging import LLMCallEvent, LLMStreamEndEvent
except ImportError as error:
    raise MissingExtra("AutoGen", "autogen-agentchat>=0.7") from error


class Turns:
    """Whose turn it is to use an agent, and the agent's state before anybody used it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.blank: Mapping[str, Any] | None = None


_turns: WeakKeyDictionary[Any, Turns] = WeakKeyDictionary()  # by agent
_spent: ContextVar[list[Usage] | None] = ContextVar("spent", default=None)  # of one question


class AutoGenBridge(Bridge):
    """Asks an agent such as `AssistantAgent`, or a team; its last message is the answer.

    AutoGen's agents hold their conversation themselves: each question loads the state of its
    conversation and saves it afterwards. So one agent answers one question at a time.

    Usage is that of the calls which the models log; of messages, where a model logs none. Calls
    that choose the next speaker or keep a ledger are only logged.
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
            logged: list[Usage] = []
            _count_calls()
            token = _spent.set(logged)
            try:
                result = await self.agent.run(task=question)
            finally:
                _spent.reset(token)
            history = deepcopy(await self.agent.save_state())
        said = [message for message in result.messages if isinstance(message, BaseChatMessage)]
        return Answer(
            text=said[-1].to_model_text() if said[-1].source != "user" else "",
            history=history,
            usage=max(
                sum(map(_usage, result.messages), start=Usage()),
                sum(logged, start=Usage()),
                key=lambda usage: usage.calls,
            ),
            trace=[_line(message) for message in result.messages],
        )


class _Meter(logging.Filter):
    """Notes what logged calls of models use; hides what was not logged before it was there."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        call, spent = record.msg, _spent.get()
        if spent is not None and isinstance(call, (LLMCallEvent, LLMStreamEndEvent)):
            spent.append(Usage(call.prompt_tokens, call.completion_tokens, calls=1))
        return record.levelno >= self._level


def _count_calls() -> None:
    """Have AutoGen log its models' calls to a meter."""
    logger = logging.getLogger(EVENT_LOGGER_NAME)
    if not any(isinstance(one, _Meter) for one in logger.filters):
        logger.addFilter(_Meter(logger.getEffectiveLevel()))
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)


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
