"""Agents of the OpenAI Agents SDK on a seat."""

from __future__ import annotations

from typing import Any

from palestra import InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.agents.models import ToolCall
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, as_text, line

try:
    from agents import (  # type: ignore[attr-defined] # our folder `agents` is none of its
        Agent,
        FunctionTool,
        ItemHelpers,
        MaxTurnsExceeded,
        ModelBehaviorError,
        RunContextWrapper,
        Runner,
        StopAtTools,
    )
except ImportError as error:
    raise MissingExtra("the OpenAI Agents SDK", "openai-agents>=0.20") from error

TAKEN = "Received."  # the result of a call; the next question says what came of it


class OpenAIAgentsBridge(Bridge):
    """Asks an `agents.Agent`.

    With moves="tools" the moves stand among its own tools, and a call of one ends the run. context:
    the context of every run. max_turns: the calls of the model in one run at most.
    """

    MOVES = ("text", "tools")
    KINDS, KINDS_TEXT = Agent, "an agents.Agent of the OpenAI Agents SDK"

    def __init__(
        self, agent: Any, *, context: Any = None, max_turns: int = 10, **options: Any
    ) -> None:
        super().__init__(agent, **options)
        if self._tools and callable(agent.tool_use_behavior):
            raise InvalidOption(
                f"a function decides when runs of {agent.name} end (tool_use_behavior), so that a "
                "move would not end them; leave it out, or give moves=text"
            )
        self._context, self._max_turns = context, max_turns

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        before = conversation.history or []
        asked = [*before, {"role": "user", "content": question}]
        agent = _with_moves(self.agent, offer) if offer else self.agent
        run = RunContextWrapper(self._context)
        try:
            result = await Runner.run(agent, asked, context=run, max_turns=self._max_turns)
        except (MaxTurnsExceeded, ModelBehaviorError) as error:
            return Answer("", conversation.history, _usage(run.usage), unread=str(error))
        history = result.to_input_list()
        new = history[len(before) :]
        model = result.last_agent.model  # of whom the run was handed to
        offered = {tool.name for tool in offer.tools} if offer else set()
        moves = [call for item in new if (call := _call(item)) and call.name in offered]
        return Answer(
            text="" if moves else as_text(result.final_output),
            history=history,
            usage=_usage(run.usage),
            calls=moves,
            trace=[one for item in new if (one := _line(item))],
            thought=ItemHelpers.text_message_outputs(result.new_items) if moves else "",
            model=model if isinstance(model, str) else getattr(model, "model", ""),
        )


def _with_moves(agent: Any, offer: MoveTools) -> Any:
    """A copy of an agent that may also call the moves, each of which ends its run."""

    async def take(context: Any, arguments: str) -> str:
        return TAKEN

    moves = [
        FunctionTool(tool.name, tool.description, tool.parameters, take, strict_json_schema=False)
        for tool in offer.tools
    ]
    ends = agent.tool_use_behavior
    if ends != "stop_on_first_tool":
        own = ends["stop_at_tool_names"] if isinstance(ends, dict) else []
        ends = StopAtTools(stop_at_tool_names=[*own, *(tool.name for tool in moves)])
    return agent.clone(tools=[*agent.tools, *moves], tool_use_behavior=ends)


def _call(item: Any) -> ToolCall | None:
    if item.get("type") != "function_call":
        return None
    return ToolCall(item["name"], item["arguments"], item["call_id"])


def _line(item: Any) -> dict[str, Any] | None:
    """An item of a run's input list as a message; None for one without text or call."""
    if call := _call(item):
        return line("assistant", "", [call])
    if item.get("type") == "function_call_output":
        return line("tool", item["output"])
    if "role" not in item:
        return None
    content = item["content"]
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return line(item["role"], "\n".join(parts))


def _usage(used: Any) -> Usage:
    cached = used.input_tokens_details.cached_tokens
    return Usage(used.input_tokens, used.output_tokens, cached, used.requests)
