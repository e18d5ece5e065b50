"""Agents of CrewAI on a seat."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakValueDictionary

from palestra import MissingExtra
from palestra.agents.budget import Usage
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, line

try:
    from crewai import Agent
except ImportError as error:
    raise MissingExtra("CrewAI", "crewai>=1") from error

_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()  # by id of a model


class CrewAIBridge(Bridge):
    """Asks a `crewai.Agent` by itself, without a crew.

    CrewAI counts tokens by language model: the usage of an answer is what the model's counters
    rose by. So agents that share a model answer one question at a time.
    """

    KINDS, KINDS_TEXT = Agent, "a crewai.Agent (of a crew, give a member)"

    def __init__(self, agent: Any, **options: Any) -> None:
        super().__init__(agent, **{"name": getattr(agent, "role", ""), **options})
        self._lock = _locks.setdefault(id(agent.llm), asyncio.Lock())

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        before = conversation.history or []
        asked = {"role": "user", "content": question}
        async with self._lock:
            output = await self.agent.copy().kickoff_async([*before, asked])
        used = output.token_usage
        return Answer(
            text=output.raw,
            history=[*before, asked, {"role": "assistant", "content": output.raw}],
            usage=Usage(
                used.prompt_tokens,
                used.completion_tokens,
                used.cached_prompt_tokens,
                used.successful_requests,
            ),
            trace=[line("user", question), line("assistant", output.raw)],
            model=getattr(self.agent.llm, "model", ""),
        )
