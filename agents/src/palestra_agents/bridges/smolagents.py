"""Agents of smolagents on a seat."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

from palestra import MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, as_text, line

try:
    from smolagents import (
        ActionStep,
        AgentMemory,
        CodeAgent,
        Monitor,
        MultiStepAgent,
        PlanningStep,
        TaskStep,
    )
except ImportError as error:
    raise MissingExtra("smolagents", "smolagents>=1.20") from error


class SmolagentsBridge(Bridge):
    """Asks a `CodeAgent` or a `ToolCallingAgent`, whose final answer is the move.

    A run takes place in a thread, in a copy of the agent that has the steps of its conversation as
    its memory. Tools and models are shared by all copies.
    """

    KINDS, KINDS_TEXT = MultiStepAgent, "a CodeAgent or a ToolCallingAgent of smolagents"

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        return await asyncio.to_thread(self._run, conversation.history or [], question)

    def _run(self, before: list[Any], question: str) -> Answer:
        agent = _copy(self.agent, before)
        result = agent.run(question, reset=False, return_full_result=True)
        new = agent.memory.steps[len(before) :]
        finished = result.state == "success"
        return Answer(
            text=as_text(result.output) if finished else "",
            history=agent.memory.steps,
            usage=sum(map(_usage, new), start=Usage()),
            unread="" if finished else f"no final answer in {agent.max_steps} steps",
            trace=[one for step in new for one in _lines(step)],
            model=getattr(agent.model, "model_id", None) or "",
        )


def _copy(agent: Any, steps: list[Any]) -> Any:
    """An agent with the steps of one conversation, whose run changes nothing of the original."""
    own = copy.copy(agent)
    own.memory, own.state = AgentMemory(agent.system_prompt), dict(agent.state)
    own.memory.steps = list(steps)
    own.monitor = Monitor(agent.model, agent.logger)
    if isinstance(agent, CodeAgent):
        own.python_executor = own.create_python_executor()
    return own


def _usage(step: Any) -> Usage:
    if not isinstance(step, ActionStep | PlanningStep):
        return Usage()
    used = step.token_usage
    return Usage(used.input_tokens, used.output_tokens, calls=1) if used else Usage(calls=1)


def _lines(step: Any) -> list[dict[str, Any]]:
    """A step of a memory as messages."""
    if isinstance(step, TaskStep):
        return [line("user", step.task)]
    if isinstance(step, PlanningStep):
        return [line("assistant", step.plan)]
    if not isinstance(step, ActionStep):
        return []
    calls = [
        ToolCall(call.name, json.dumps(call.arguments, default=str), call.id)
        for call in step.tool_calls or ()
    ]
    said = [line("assistant", step.model_output, calls)]
    heard = [str(text) for text in (step.observations, step.error) if text]
    return said + [line("tool", text) for text in heard]
