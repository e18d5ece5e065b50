"""Graphs of LangGraph, and agents of LangChain, on a seat."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from palestra import InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, line

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langgraph.errors import GraphRecursionError
    from langgraph.pregel import Pregel
except ImportError as error:
    raise MissingExtra("LangGraph", "langgraph>=1") from error

MESSAGES = "messages"
ROLES = {"human": "user", "ai": "assistant"}


class LangGraphBridge(Bridge):
    """Asks a compiled graph whose state has the list `messages`; its last message is the answer.

    config: the configuration of every call, such as `{"recursion_limit": 10}`. Each conversation
    has a thread of its own, so that a graph with a checkpointer keeps its other state too.
    """

    KINDS = Pregel
    KINDS_TEXT = "a compiled graph of LangGraph (StateGraph(…).compile() or create_agent(…))"

    def __init__(self, graph: Any, *, config: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(graph, **options)
        if MESSAGES not in graph.channels:
            raise InvalidOption(
                f"the state of {graph.name} has no {MESSAGES!r}; its keys are "
                f"{', '.join(sorted(graph.channels))}; use a state such as MessagesState"
            )
        self._config = config or {}

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        thread, before = conversation.history or (str(uuid4()), [])
        meter = Meter()
        asked = [*before, {"role": "user", "content": question}]
        try:
            state = await self.agent.ainvoke({MESSAGES: asked}, self._configured(thread, meter))
        except GraphRecursionError as error:
            return Answer("", conversation.history, meter.usage, unread=str(error))
        messages = state[MESSAGES]
        known = {message.id for message in before}
        return Answer(
            text=str(messages[-1].text),
            history=(thread, messages),
            usage=meter.usage,
            trace=[_line(message) for message in messages if message.id not in known],
            model=messages[-1].response_metadata.get("model_name", ""),
        )

    def _configured(self, thread: str, meter: Meter) -> dict[str, Any]:
        config = self._config
        own = {**config.get("configurable", {}), "thread_id": thread}
        return {**config, "configurable": own, "callbacks": [*config.get("callbacks", []), meter]}


class Meter(BaseCallbackHandler):
    """Adds up what all calls of language models inside a graph use."""

    def __init__(self) -> None:
        self.usage = Usage()

    def on_llm_end(self, response: Any, **_: Any) -> None:
        self.usage += Usage(calls=1)
        for generation in (one for several in response.generations for one in several):
            used = getattr(getattr(generation, "message", None), "usage_metadata", None) or {}
            cached = used.get("input_token_details", {}).get("cache_read", 0)
            self.usage += Usage(used.get("input_tokens", 0), used.get("output_tokens", 0), cached)


def _line(message: Any) -> dict[str, Any]:
    calls = [
        ToolCall(call["name"], json.dumps(call["args"]), call["id"] or "")
        for call in getattr(message, "tool_calls", ())
    ]
    return line(ROLES.get(message.type, message.type), str(message.text), calls)
