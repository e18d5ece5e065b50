"""Modules of DSPy on a seat."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from palestra import InvalidOption, MissingExtra
from palestra.agents.budget import Usage
from palestra.llm.tool_calls import MoveTools

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, as_text, line

try:
    import dspy
    from dspy.utils.exceptions import AdapterParseError
except ImportError as error:
    raise MissingExtra("DSPy", "dspy>=3") from error


class DSPyBridge(Bridge):
    """Asks a `dspy.Module` that takes `question` and `history` and returns `answer`.

    question, history, answer: its own names of these fields. history is a `dspy.History` of the
    conversation so far. lm: the language model, if not the one that DSPy is configured with.
    """

    KINDS, KINDS_TEXT = dspy.Module, "a dspy.Module"

    def __init__(
        self,
        module: Any,
        *,
        question: str = "question",
        history: str = "history",
        answer: str = "answer",
        lm: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(module, **options)
        _check_fields(module, (question, history))
        self._question_field, self._history_field, self._answer = question, history, answer
        self._settings = {"lm": lm} if lm else {}

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        before = conversation.history or []
        given = {self._question_field: question, self._history_field: dspy.History(messages=before)}
        with dspy.context(**self._settings), dspy.track_usage() as tracker:
            model = getattr(dspy.settings.lm, "model", "")
            try:
                output = await self._called(given)
            except AdapterParseError as error:
                usage = _usage(tracker.usage_data)
                return Answer("", conversation.history, usage, unread=str(error), model=model)
        text = as_text(getattr(output, self._answer))
        return Answer(
            text=text,
            history=[*before, {self._question_field: question, self._answer: text}],
            usage=_usage(tracker.usage_data),
            trace=[line("user", question), line("assistant", text)],
            thought=as_text(getattr(output, "reasoning", "")),
            model=model,
        )

    async def _called(self, given: dict[str, Any]) -> Any:
        if hasattr(self.agent, "aforward"):
            return await self.agent.acall(**given)
        return await asyncio.to_thread(self.agent, **given)


def _check_fields(module: Any, wanted: tuple[str, ...]) -> None:
    """Raise `InvalidOption` if a module does not take the fields that it is given."""
    parameters = inspect.signature(module.forward).parameters.values()
    names = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}
    if len(names) < len(parameters):  # it passes on what its predictors take
        names |= {
            name for _, one in module.named_predictors() for name in one.signature.input_fields
        }
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InvalidOption(
            f"{type(module).__name__} takes {', '.join(sorted(names)) or 'nothing'}, not "
            f"{' and '.join(missing)}; write a signature such as "
            "'history: dspy.History, question -> answer', or name its fields with question= and "
            "history="
        )


def _usage(spent: Mapping[str, Sequence[Mapping[str, Any]]]) -> Usage:
    """What all calls of all models used; answers from DSPy's cache used nothing."""
    entries = [entry for several in spent.values() for entry in several]
    return sum(map(_used, entries), start=Usage())


def _used(entry: Mapping[str, Any]) -> Usage:
    details = entry.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or 0
    return Usage(entry.get("prompt_tokens", 0), entry.get("completion_tokens", 0), cached, 1)
