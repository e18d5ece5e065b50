"""Agents and group chats of AG2 Classic (the package `autogen`) on a seat."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

from palestra import MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, as_text, line, transcript

try:
    from autogen import ConversableAgent, GroupChatManager, runtime_logging
    from autogen.agentchat import initiate_group_chat
    from autogen.agentchat.group.patterns.pattern import Pattern
    from autogen.io.base import IOStream
except ImportError as error:
    raise MissingExtra("AG2 Classic", "ag2>=0.14,<1") from error

Messages = list[dict[str, Any]]

_spent: ContextVar[list[Usage] | None] = ContextVar("spent", default=None)  # of one question
_locks: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()  # by agent


class AG2ClassicBridge(Bridge):
    """Asks a `ConversableAgent`, the `GroupChatManager` of a group chat, or a pattern of one.

    An agent is asked with the messages so far, and runs its own tools. A group is asked with the
    conversation so far as one text, in a chat that begins anew; its last message is the answer.
    AG2 Classic keeps a chat in its agents, so that one of them answers one question at a time.

    max_rounds: messages of one chat at most, but for a `GroupChatManager`, whose group chat has a
    `max_round` of its own.
    """

    KINDS = (ConversableAgent, Pattern)
    KINDS_TEXT = "a ConversableAgent, a GroupChatManager or a pattern of AG2 Classic"

    def __init__(self, agent: Any, *, max_rounds: int = 20, **options: Any) -> None:
        super().__init__(agent, **options)
        self._rounds = max_rounds
        self._group = isinstance(agent, (GroupChatManager, Pattern))
        self._user = ConversableAgent("game", llm_config=False, human_input_mode="NEVER")
        self._lock = _locks.setdefault(agent, threading.Lock())
        for tool in () if isinstance(agent, Pattern) else agent.tools:
            if not agent.can_execute_function(tool.name):
                tool.register_for_execution(agent)  # in a chat of two, the other would run it
        self._variables = deepcopy(getattr(agent, "context_variables", None))

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        asked = [*(conversation.history or []), {"role": "user", "content": question}]
        spent: list[Usage] = []
        new = await asyncio.to_thread(self._chat, asked, spent)
        last = new[-1] if new else {}
        unread = "" if _is_answer(last) else "the chat ended without an answer"
        text = "" if unread else as_text(last["content"])
        kept = [{"role": "assistant", "content": text}] if self._group else new
        return Answer(
            text=text,
            history=conversation.history if unread else [*asked, *kept],
            usage=sum(spent, start=Usage()),
            unread=unread,
            trace=[line("user", question), *map(_line, new)],
        )

    def _chat(self, asked: Messages, spent: list[Usage]) -> Messages:
        """What was said after the question, in a thread whose usage is added to `spent`."""
        _count_usage()
        _spent.set(spent)
        with self._lock, IOStream.set_default(_Quiet()):
            return self._talk_in_group(asked) if self._group else self._talk(asked)

    def _talk(self, asked: Messages) -> Messages:
        self.agent.reset_consecutive_auto_reply_counter(self._user)
        new: Messages = []
        while len(new) < self._rounds and not (new and _is_answer(new[-1])):
            reply = self.agent.generate_reply(messages=[*asked, *new], sender=self._user)
            if reply is None:
                break
            said = reply if isinstance(reply, dict) else {"content": reply}
            new.append({"role": "assistant", **said})
        return new

    def _talk_in_group(self, asked: Messages) -> Messages:
        if isinstance(self.agent, GroupChatManager):
            self._user.initiate_chat(self.agent, message=transcript(asked), silent=True)
            return list(self.agent.groupchat.messages[1:])
        self.agent.context_variables = deepcopy(self._variables)
        result, *_ = initiate_group_chat(self.agent, transcript(asked), self._rounds)
        return list(result.chat_history[1:])


class _Quiet:
    """Where a chat prints: nowhere. It has nobody to ask."""

    def print(self, *objects: Any, **options: Any) -> None:
        pass

    def send(self, message: Any) -> None:
        pass

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        raise RuntimeError(f'nobody can answer; set human_input_mode="NEVER": {prompt}')


class _Meter:
    """Notes what calls of models use, and passes all that is logged on to another logger."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    def log_chat_completion(self, *facts: Any) -> None:
        response, cached = facts[5:7]
        used, spent = getattr(response, "usage", None), _spent.get()
        if spent is not None and used and not cached:
            details = getattr(used, "prompt_tokens_details", None)
            hits = getattr(details, "cached_tokens", None) or 0
            spent.append(Usage(used.prompt_tokens, used.completion_tokens, hits, 1))
        if self._logger is not None:
            self._logger.log_chat_completion(*facts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name, lambda *facts, **more: None)


def _count_usage() -> None:
    """Let AG2 log to a meter, which keeps the logger that it had."""
    logger = runtime_logging.autogen_logger if runtime_logging.logging_enabled() else None
    if not isinstance(logger, _Meter):
        runtime_logging.start(_Meter(logger))


def _is_answer(message: dict[str, Any]) -> bool:
    """Whether a message says something, and neither calls a tool nor brings its result."""
    work = message.get("tool_calls") or message.get("tool_responses")
    return bool(message.get("content")) and not work


def _line(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("tool_responses"):
        return line("tool", json.dumps([one["content"] for one in message["tool_responses"]]))
    calls: Sequence[Any] = message.get("tool_calls") or ()
    functions = [(call["function"], call["id"]) for call in calls]
    made = [ToolCall(function["name"], function["arguments"], id) for function, id in functions]
    return line("assistant", message.get("content"), made)
