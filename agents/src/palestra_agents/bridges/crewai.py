"""Agents, crews and flows of CrewAI on a seat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from palestra import InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import (
    Answer,
    Bridge,
    Conversation,
    as_text,
    line,
    transcript,
)

try:
    from crewai import Agent, Crew, Flow
    from crewai.events import LLMCallCompletedEvent, ToolUsageFinishedEvent, crewai_event_bus
    from crewai.types.usage_metrics import UsageMetrics
except ImportError as error:
    raise MissingExtra("CrewAI", "crewai>=1.15") from error

_events: ContextVar[list[Any] | None] = ContextVar("events", default=None)  # of one question


class CrewAIBridge(Bridge):
    """Asks a `crewai.Agent` by itself, a `crewai.Crew`, or the class of a `crewai.Flow`.

    An agent is asked with the messages so far. A crew and a flow are asked with the conversation
    so far as one text: a crew's tasks name it as `{question}`, a flow has it in `state`. Each
    question is answered by a copy of the agent or crew, or by a new flow; the answer is that of
    the last task, or what the last method returned. question: the name of that input.

    Usage is the sum of what CrewAI reports of each call of a model. Its totals are not used: that
    of a crew counts a model once for each agent that has it.
    """

    KINDS = (Agent, Crew, type(Flow))
    KINDS_TEXT = "a crewai.Agent, a crewai.Crew or the class of a Flow, not an instance of it"

    def __init__(self, agent: Any, *, question: str = "question", **options: Any) -> None:
        own = getattr(agent, "role", "") or getattr(agent, "__name__", "")
        super().__init__(agent, **{"name": own, **options})
        if isinstance(agent, Crew) and question not in agent.fetch_inputs():
            raise InvalidOption(
                f"no task of the crew {agent.name!r} has {{{question}}} in its description, so "
                "that it would not know what it is asked; add it, or name another input with "
                "question=…"
            )
        self._input = question

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        asked = [*(conversation.history or []), {"role": "user", "content": question}]
        events: list[Any] = []
        token = _events.set(events)
        try:
            output = await self._run(asked)
        finally:
            _events.reset(token)
        await asyncio.to_thread(crewai_event_bus.flush)  # its threads bring the last events
        events.sort(key=lambda event: event.timestamp)
        text = as_text(getattr(output, "raw", output))
        calls = [event for event in events if isinstance(event, LLMCallCompletedEvent)]
        steps = [_line(event) for event in events] or [line("assistant", text)]
        return Answer(
            text=text,
            history=[*asked, {"role": "assistant", "content": text}],
            usage=sum(map(_usage, calls), start=Usage()),
            trace=[line("user", question), *steps],
            model=calls[-1].model or "" if calls else "",
        )

    async def _run(self, messages: Sequence[dict[str, str]]) -> Any:
        if isinstance(self.agent, Agent):
            return await self.agent.copy().kickoff_async(list(messages))
        team = self.agent.copy() if isinstance(self.agent, Crew) else self.agent()
        return await team.kickoff_async(inputs={self._input: transcript(messages)})


def _keep(source: Any, event: Any) -> None:
    """Keep an event for the question in whose context it happened."""
    if (events := _events.get()) is not None:
        events.append(event)


for _kind in (LLMCallCompletedEvent, ToolUsageFinishedEvent):
    crewai_event_bus.register_handler(_kind, _keep)


def _usage(event: Any) -> Usage:
    used = UsageMetrics.from_provider_dict(event.usage) or UsageMetrics()
    return Usage(used.prompt_tokens, used.completion_tokens, used.cached_prompt_tokens, calls=1)


def _line(event: Any) -> dict[str, Any]:
    if isinstance(event, ToolUsageFinishedEvent):
        return line("tool", as_text(event.output))
    if not isinstance(event.response, list):
        return line("assistant", event.response)
    calls = [(call["function"], call.get("id", "")) for call in event.response]
    made = [ToolCall(function["name"], function["arguments"], id) for function, id in calls]
    return line("assistant", "", made)
