"""Moves as tools: function-calling schemas of a turn's legal moves, and calls read back.

Each kind of typed action is a tool of its own, with its fields as arguments. Listed moves are one
tool, `play(move="…")`. A call becomes text, which the game reads as any other answer, so that a
record replays without the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from palestra.agents.agent import Turn
from palestra.agents.models import FunctionTool, ToolCall
from palestra.answers import THOUGHT
from palestra.kernel.actions import Domain, Grammar, Integer, OneOf, Option, Text, TextAction
from palestra.kernel.errors import InvalidAction, show
from palestra.kernel.rng import Rng
from palestra.phrasing.wording import ANSWER, shows_moves
from palestra.single_keys import read_single

PLAY, MOVE = "play", "move"
CALL = "Make your move by calling one of the tools."
MOST_LISTED = 250  # values of an enum; OpenAI bounds their number and their letters
_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@runtime_checkable
class DeclaresSchema(Protocol):
    """A domain that gives the JSON schema of its values itself."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema."""


@runtime_checkable
class DeclaresTools(Protocol):
    """An option whose actions are calls of several tools, such as those of `web/ToolWorld`."""

    def function_tools(self) -> Sequence[FunctionTool]:
        """The tools; a call of one, written as text, is read as an action of this option."""

    def as_call(self, action: Any) -> tuple[str, Mapping[str, Any]]:
        """The name and arguments of the call that an action makes."""


def closed_object(properties: Mapping[str, Any], required: Iterable[str]) -> dict[str, Any]:
    """The JSON schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def domain_schema(domain: Domain) -> dict[str, Any]:
    """The JSON schema of a field's values.

    A domain other than integers, text and a list of at most `MOST_LISTED` values gives it by a
    method `schema`; else the schema is the type of its values, described in its own words.
    """
    if isinstance(domain, DeclaresSchema):
        return domain.schema()
    if isinstance(domain, Integer):
        return {"type": "integer", "minimum": domain.low, "maximum": domain.high}
    if isinstance(domain, Text):
        return {"type": "string", "maxLength": domain.limit}
    if type(domain) is OneOf and len(domain.values) <= MOST_LISTED:
        return _enum(domain.values)
    kind = _TYPES.get(type(domain.sample(Rng(0))))
    return ({"type": kind} if kind else {}) | {"description": str(domain).strip("'")}


def _enum(values: Sequence[Any]) -> dict[str, Any]:
    kinds = {_TYPES.get(type(value)) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    return ({"type": kind} if kind else {}) | {"enum": list(values)}


def tool_name(name: str) -> str:
    """A name that providers accept: 1 to 64 of the letters a to z, digits, `_` and `-`."""
    return _NAME.sub("_", name)[:64] or "_"


def write_call(name: str, values: Mapping[str, Any]) -> str:
    """A call as text; tags of thoughts are escaped, since a reader would cut the call there."""
    written = f"{name}({', '.join(f'{one}={value!r}' for one, value in values.items())})"
    return THOUGHT.sub(lambda tag: f"\\x3c{tag[0][1:]}", written)


class MoveTools:
    """The legal moves of one turn as `tools`, and the way back from a call.

    A turn whose moves are not shown (`wording=legal-hidden`) has one tool that takes any text.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn, legal = turn, turn.legal
        self._written: dict[str, str] = {}  # names in the game's text by name of tool
        self._typed = isinstance(legal, Grammar) and shows_moves(turn.game, turn.seat)
        made = self._of_options(legal) if self._typed else [self._of_list()]
        self.tools = tuple(made)

    def openai(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's chat completions take them."""
        return [tool.openai() for tool in self.tools]

    def anthropic(self) -> list[dict[str, Any]]:
        """The tools as Anthropic's messages take them."""
        return [tool.anthropic() for tool in self.tools]

    def mcp(self) -> list[dict[str, Any]]:
        """The tools as a server of the Model Context Protocol lists them."""
        return [tool.mcp() for tool in self.tools]

    def action(self, name: str, arguments: Mapping[str, Any] | str) -> Any:
        """The action that a call makes; raises `InvalidAction` if it makes none or an illegal one.

        `arguments` is a mapping (Anthropic, MCP) or JSON (OpenAI).
        """
        return self._turn.parse(self.text(name, arguments))

    def text(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """A call as the game reads it in an answer, legal or not.

        Raises `InvalidAction` for an unknown tool and for arguments that are no JSON object of
        named values, or that `play` does not take.
        """
        if name not in self._written:
            known = ", ".join(self._written)
            raise self._refusal(name, f"there is no tool {show(name)}; there are: {known}")
        values = _values(arguments)
        if values is None:
            wanted = "a JSON object with each name once"
            why = f"the arguments of {name} must be {wanted}, not {show(arguments)}"
            raise self._refusal(name, why)
        if self._typed:
            return self._write(self._written[name], values)
        if list(values) != [MOVE] or not isinstance(values[MOVE], str):
            raise self._refusal(name, f"{name} takes one string, {MOVE!r}, not {show(values)}")
        return values[MOVE]

    def _write(self, name: str, values: dict[str, Any]) -> str:
        """A legal action as its game writes it; else the call, which the game refuses."""
        legal = self._turn.legal
        kinds = {o.name: o.action for o in legal if not isinstance(o, DeclaresTools)}
        with suppress(Exception):  # the arguments, or a domain of any plugin that reads them
            action = kinds[name](**values)
            if legal.problem(action) is None:
                return self._turn.action_text(action)
        return write_call(name, values)

    def read(self, calls: Sequence[ToolCall]) -> tuple[str, str]:
        """The text of a model's calls and, if they are not one call that can be read, why.

        The text is then a list in JSON, in which no game reads a move.
        """
        why = f"an answer calls one tool, not {len(calls)}"
        if len(calls) == 1:
            try:
                return self.text(calls[0].name, calls[0].arguments), ""
            except InvalidAction as error:
                why = error.why
        return json.dumps(called(calls), ensure_ascii=False), why

    def call(self, action: Any) -> ToolCall:
        """The call that makes a legal action."""
        values: Mapping[str, Any] = {MOVE: self._turn.action_text(action)}
        written = PLAY
        if self._typed:
            written, values = _call_of(self._turn.legal, action)
        name = next(tool for tool, name in self._written.items() if name == written)
        return ToolCall(name, json.dumps(values, ensure_ascii=False))

    def _refusal(self, name: str, why: str) -> InvalidAction:
        return InvalidAction(name, "one call of a tool", why=why)

    # Tools

    def _of_list(self) -> FunctionTool:
        """The tool of listed moves, or of any text where moves are not shown."""
        turn, about = self._turn, "Play one of your legal moves."
        move: dict[str, Any] = {"type": "string"}
        if not shows_moves(turn.game, turn.seat):
            about, move = "Play a move.", move | {"description": "Your move, as the rules say."}
        elif len(moves := turn.legal_texts) <= MOST_LISTED:
            move = _enum(moves)
        else:
            move |= {"description": f"One of: {turn.legal_text}"}
        self._written[PLAY] = PLAY
        return FunctionTool(PLAY, about, closed_object({MOVE: move}, [MOVE]))

    def _of_options(self, legal: Grammar) -> list[FunctionTool]:
        """The tools of typed actions: one for each kind of action."""
        kinds: dict[str, list[Option]] = {}
        made: list[FunctionTool] = []
        for option in legal:
            if isinstance(option, DeclaresTools):
                made += [self._named(tool) for tool in option.function_tools()]
            else:
                kinds.setdefault(option.name, []).append(option)
        return made + [self._named(_tool_of(options)) for options in kinds.values()]

    def _named(self, tool: FunctionTool) -> FunctionTool:
        """A tool under a name that providers accept and that no other tool has."""
        name = first = tool_name(tool.name)
        while name in self._written:
            name = f"{first[:60]}_{len(self._written)}"
        self._written[name] = tool.name
        return FunctionTool(name, tool.description, tool.parameters)


def form_of_calls(form: str) -> str:
    """What answers must look like where moves are tools; `form` says it of answers in text."""
    if not form:  # a game may want nothing added to its own words
        return form
    return CALL if form == ANSWER else f"{form} {CALL}"


def called(calls: Sequence[ToolCall]) -> list[dict[str, str]]:
    """The names and arguments of calls as plain data, as the model wrote them."""
    return [{"name": call.name, "arguments": call.arguments} for call in calls]


def returnable(calls: Sequence[ToolCall], number: int) -> tuple[ToolCall, ...]:
    """Calls as every provider takes them back: with valid names, arguments and ids.

    Arguments that are no JSON object become `{}`. `number` makes the ids that are missing, or given
    twice, differ from those of other answers.
    """
    given = [call.id for call in calls]
    own = not all(given) or len(set(given)) < len(given)
    return tuple(
        ToolCall(
            tool_name(call.name),
            call.arguments if _object(call.arguments) else "{}",
            f"call_{number}_{place}" if own else call.id,
        )
        for place, call in enumerate(calls)
    )


def _object(arguments: Mapping[str, Any] | str) -> dict[Any, Any] | None:
    """The arguments of a call as a dictionary; None if they are no JSON object.

    Many servers leave the text empty where a call has no arguments.
    """
    try:
        if isinstance(arguments, str):
            values = read_single(arguments.strip() or "{}")
        else:
            values = dict(arguments)
    except (ValueError, TypeError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _values(arguments: Mapping[str, Any] | str) -> dict[str, Any] | None:
    """The arguments of a call by name; None if they are no JSON object of named values."""
    values = _object(arguments)
    if values is None or not all(str(name).isidentifier() for name in values):
        return None
    return values


def _call_of(legal: Grammar, action: TextAction) -> tuple[str, Mapping[str, Any]]:
    """The name, as the game writes it, and the arguments of a legal action's call."""
    for option in legal:
        if type(action) is option.action and option.problem(action) is None:
            if isinstance(option, DeclaresTools):
                return option.as_call(action)
            return option.name, {name: getattr(action, name) for name in option.fields}
    raise InvalidAction(action, str(legal), legal.example(), legal.problem(action) or "")


def _tool_of(options: Sequence[Option]) -> FunctionTool:
    """The tool of one kind of action.

    Where it has several options, each field takes the values of all, and the description says which
    go together.
    """
    names = list(dict.fromkeys(name for option in options for name in option.fields))
    fields = {
        name: _any_of([o.fields[name] for o in options if name in o.fields]) for name in names
    }
    required = [name for name in names if all(name in option.fields for option in options)]
    about = " ".join((options[0].action.__doc__ or "").partition("\n\n")[0].split())
    if len(options) > 1 or type(options[0]) is not Option:
        about = f"{about} Legal now: {' or '.join(map(str, options))}".strip()
    return FunctionTool(options[0].name, about, closed_object(fields, required))


def _any_of(domains: Sequence[Domain]) -> dict[str, Any]:
    """The schema of a field that takes the values of any of these domains, and perhaps more."""
    if len(domains) == 1:
        return domain_schema(domains[0])
    if all(isinstance(domain, Integer) for domain in domains):
        lows, highs = zip(*((domain.low, domain.high) for domain in domains), strict=True)  # type: ignore[attr-defined]
        if lows == highs:
            return domain_schema(OneOf(tuple(dict.fromkeys(lows))))
        return domain_schema(Integer(min(lows), max(highs)))
    if all(type(domain) is OneOf for domain in domains):
        values = [value for domain in domains for value in domain.values]  # type: ignore[attr-defined]
        distinct = {(type(value), value): value for value in values}  # True is not 1
        return domain_schema(OneOf(tuple(distinct.values())))
    found: list[dict[str, Any]] = []
    for schema in map(domain_schema, domains):
        found += [] if schema in found else [schema]
    return found[0] if len(found) == 1 else {"anyOf": found}
