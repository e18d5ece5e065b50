"""Legal moves as tools: schemas hold what is legal, and calls are read as the moves they make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import (
    Episode,
    Grammar,
    Integer,
    InvalidAction,
    OneOf,
    Option,
    Rng,
    Text,
    TextAction,
    Turn,
)
from palestra.agents.models import ToolCall
from palestra.kernel.actions import read_action
from palestra.llm.tool_calls import MoveTools, returnable, write_call

SPECS = palestra.specs()
POINTS, STEPS = (0, 3, 8), 9


def turns(name: str, seed: int = 1, **options: Any) -> Iterator[Turn]:
    """Turns of every seat to act at some points of a random game."""
    episode, rng = (
        Episode(palestra.game(name, **options), seed=seed, compiled=False),
        Rng.seeded(seed),
    )
    for step in range(STEPS):
        if not episode.to_act:
            return
        if step in POINTS:
            yield from (Turn(episode, seat) for seat in episode.to_act)
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})


def validator(schema: dict[str, Any]) -> Any:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def some_actions(turn: Turn) -> list[Any]:
    rng = Rng.seeded(7)
    if isinstance(turn.legal, Grammar):
        return [turn.sample(rng) for _ in range(4)] + [o.sample(rng) for o in turn.legal]
    listed = turn.legal_actions
    return [*listed[:5], *listed[-3:]]


@cache
def names_ok(names: tuple[str, ...]) -> bool:
    return len(set(names)) == len(names) and all(
        re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names
    )


def assert_closed(schema: dict[str, Any], *, top: bool = True) -> None:
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert not top or set(schema["required"]) == set(schema["properties"])
        for inner in schema["properties"].values():
            assert_closed(inner, top=False)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_legal_move_is_a_call_and_every_call_the_move(spec: Any) -> None:
    for turn in turns(spec.id):
        offer = MoveTools(turn)
        schemas = {tool.name: validator(tool.parameters) for tool in offer.tools}
        assert names_ok(tuple(tool.name for tool in offer.tools))
        assert all(tool.description for tool in offer.tools)
        for tool in offer.tools:
            assert_closed(tool.parameters)
        for action in some_actions(turn):
            call = offer.call(action)
            values = json.loads(call.arguments)
            assert schemas[call.name].is_valid(values), (call, schemas[call.name].schema)
            assert offer.action(call.name, call.arguments) == action
            assert offer.action(call.name, values) == action
            for wrong in wrong_values(values):
                if not schemas[call.name].is_valid(wrong) and spec.id not in ANSWERING:
                    with pytest.raises(InvalidAction):
                        offer.action(call.name, wrong)


# a call with wrong arguments is legal there: the tool answers with an error
ANSWERING = {"web/CRMCalls-v0", "web/ToolWorld-v0", "web/TravelDesk-v0"}


def wrong_values(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield values | {"more": 1}
    for name in values:
        yield values | {name: None}
        yield values | {name: ["1"]}
        yield values | {name: -987654321}
        yield values | {name: 1.5}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_what_is_not_one_known_call_states_no_move(spec: Any) -> None:
    for turn in turns(spec.id):
        offer = MoveTools(turn)
        call = offer.call(turn.sample(Rng.seeded(5)))
        for calls, says in (
            ((call, call), "calls one tool, not 2"),
            ((ToolCall("fly", call.arguments),), "there is no tool 'fly'; there are: "),
            ((ToolCall(call.name, call.arguments[:-1]),), "must be a JSON object"),
            ((ToolCall(call.name, f"[{call.arguments}]"),), "must be a JSON object"),
            (
                (ToolCall(call.name, '{"a": 1, "a": 2}'),),
                "must be a JSON object with each name once",
            ),
        ):
            text, why = offer.read(calls)
            assert says in why
            with pytest.raises(InvalidAction):
                turn.parse(text)


def test_the_three_forms_are_those_of_their_providers() -> None:
    turn = next(turns("games/KuhnPoker-v0"))
    offer = MoveTools(turn)
    schema = {
        "type": "object",
        "properties": {"move": {"type": "string", "enum": ["pass", "bet"]}},
        "required": ["move"],
        "additionalProperties": False,
    }
    about = {"name": "play", "description": "Play one of your legal moves."}
    assert offer.openai() == [{"type": "function", "function": {**about, "parameters": schema}}]
    assert offer.anthropic() == [{**about, "input_schema": schema}]
    assert offer.mcp() == [{**about, "inputSchema": schema}]
    assert offer.call(1) == ToolCall("play", '{"move": "bet"}')
    with pytest.raises(InvalidAction, match="play takes one string, 'move'"):
        offer.action("play", {"move": 1})
    with pytest.raises(InvalidAction):
        offer.action("play", {"move": "raise"})


def test_moves_that_are_not_shown_are_not_in_the_schema() -> None:
    for name in ("games/KuhnPoker-v0", "text/Negotiation-v0"):
        for turn in turns(name, wording="legal-hidden"):
            offer = MoveTools(turn)
            (tool,) = offer.tools
            assert tool.parameters["properties"]["move"] == {
                "type": "string",
                "description": "Your move, as the rules say.",
            }
            action = turn.sample(Rng.seeded(2))
            assert offer.action("play", offer.call(action).arguments) == action


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("name", ["games/KuhnPoker-v0", "text/Negotiation-v0"])
def test_what_an_agent_says_of_its_answer_is_the_reason_in_every_view(
    name: str, shown: bool
) -> None:
    """Refused with its reason, which tells no moves that the question does not."""

    def calls_two(turn: palestra.Turn) -> palestra.Decision:
        heard.append(turn.error)
        return palestra.Decision(text=turn.action_text(turn.sample(Rng.seeded(1))), unread="two")

    heard: list[str] = []
    options: dict[str, str] = {} if shown else {"wording": "legal-hidden"}
    agents = [calls_two, palestra.make_agent("random")]
    (record,) = palestra.play(name, agents=agents, invalid="retry:1", **options)
    assert record.outcome is not None
    assert record.outcome.reason.endswith("illegal move: two")
    env = palestra.make(name, opponents=calls_two, seat=1, invalid="retry:1", **options)
    _, info = env.reset(seed=1)
    assert str(info).count("illegal move: two") == 1
    assert len(heard) == 4
    assert heard[1].partition("': ")[2].startswith("two; legal: ")
    for error in heard[1::2]:
        assert error.endswith("two; legal: not listed") != shown


def test_the_answer_of_an_opponent_is_read_as_in_a_run() -> None:
    """An action counts before a text beside it, and an empty text states no move."""

    def both(turn: palestra.Turn) -> palestra.Decision:
        return palestra.Decision(turn.legal_actions[-1], text=turn.legal_texts[0])

    (record,) = palestra.play("games/TicTacToe-v0", agents=[both, "first"])
    env = palestra.make("games/TicTacToe-v0", opponents=both, seat=1)
    env.reset(seed=0)
    assert record.turns[0].action == 8
    assert not env.action_masks()[8]
    env = palestra.make("games/TicTacToe-v0", opponents=lambda turn: palestra.Decision(text=""))
    env.reset(seed=0)
    *_, info = env.step(0)
    assert "no legal move is stated" in info["reason"]


def test_disguised_moves_are_offered_in_their_disguise() -> None:
    turn = next(turns("games/KuhnPoker-v0", disguise=7))
    (tool,) = MoveTools(turn).tools
    assert tool.parameters["properties"]["move"]["enum"] == turn.legal_texts
    assert not {"pass", "bet"} & set(turn.legal_texts)


def test_many_moves_are_described_and_not_listed() -> None:
    turn = next(turns("games/Gomoku-v0", board_size=19))
    (tool,) = MoveTools(turn).tools
    move = tool.parameters["properties"]["move"]
    assert "enum" not in move
    assert turn.legal_text in move["description"]


class Shift(TextAction, frozen=True):
    """Move a rate.

    A second paragraph is for readers of the code.
    """

    bracket: int
    by: int


class Tell(TextAction, frozen=True):
    """Say a line."""

    text: str


def test_several_options_of_one_kind_are_one_tool_which_says_what_goes_together() -> None:
    from palestra.llm.tool_calls import _tool_of

    options = [
        Option(Shift, {"bracket": OneOf((n,)), "by": Integer(-n, 10 - n)}) for n in (1, 4, 6)
    ]
    tool = _tool_of(options)
    assert tool.parameters["properties"] == {
        "bracket": {"type": "integer", "enum": [1, 4, 6]},
        "by": {"type": "integer", "minimum": -6, "maximum": 9},
    }
    assert tool.description.startswith("Move a rate. Legal now: Shift(bracket=1, by=-1..9) or ")


@given(st.text(max_size=60) | st.sampled_from(["<think>", "a\\boxed{4}", "'\"\n</answer>", "\\"]))
def test_any_text_passes_a_call_unchanged(said: str) -> None:
    grammar = Grammar((Option(Tell, {"text": Text(60)}),))
    if grammar.problem(Tell(said)):
        return
    assert read_action(write_call("Tell", {"text": said}), grammar, (Tell,)) == Tell(said)


def test_arguments_cannot_smuggle_others_in() -> None:
    turn = next(turns("text/Negotiation-v0"))
    offer = MoveTools(turn)
    with pytest.raises(InvalidAction, match="must be a JSON object"):
        offer.action("Say", {"text='I take all')  #": 1})


def test_calls_go_back_in_a_form_that_every_provider_takes() -> None:
    calls = (ToolCall("fly away!", '{"a": '), ToolCall("play", '{"move": "4"}', "x"))
    back = returnable(calls, 5)
    assert [call.name for call in back] == ["fly_away_", "play"]
    assert [call.arguments for call in back] == ["{}", '{"move": "4"}']
    assert [call.id for call in back] == ["call_5_0", "call_5_1"]
    assert returnable(calls[1:], 5) == calls[1:]
