"""Typed tools: what is written is read back, what is held is legal, what is exported is true."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import InvalidAction, Rng, TextAction
from palestra_web.tools.declare import Answer, Call, Done, call
from palestra_web.tools.ranking import best_matches
from palestra_web.tools.world import ToolWorld
from palestra_web.travel.desk import TravelDesk

DESK = TravelDesk()
STATE = DESK.initial_state(0)
WORLD = ToolWorld(task="lookup")
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: not iskeyword(name)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=3), inner),
    max_leaves=6,
)  # fmt: skip


def read(text: str) -> TextAction:
    return DESK.parse(STATE, 0, text)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
@settings(max_examples=200)
def test_any_arguments_that_json_holds_are_read_back_as_written(values: dict[str, Any]) -> None:
    made = call("search_lodging", **values)
    assert read(DESK.action_text(STATE, 0, made)) == made
    assert made.values == values


@pytest.mark.parametrize("game", [DESK, WORLD], ids=["desk", "world"])
@given(data=st.data())
@settings(max_examples=60)
def test_whatever_constrained_decoding_writes_is_a_legal_call(game: Any, data: Any) -> None:
    state = game.initial_state(1)
    legal = game.legal(state, 0)
    text = data.draw(st.from_regex(legal.pattern(8), fullmatch=True))
    action = game.parse(state, 0, text)
    assert action in legal
    assert len(text.encode()) <= legal.longest(8)
    if isinstance(action, Call):
        tool = next(t for t in game.tools(state) if t.name == action.tool)
        assert tool.problem(action.values) is None


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("search_lodging(city='Marlow')", call("search_lodging", city="Marlow")),
        ('I look first.\nsearch_lodging(city="Mar(low")', call("search_lodging", city="Mar(low")),
        ("search_lodging(city='A')\nsearch_lodging(city='B')", call("search_lodging", city="B")),
        ("search_lodging(city='Done()')", call("search_lodging", city="Done()")),
        ("I may call think(x), and then:\nDone()", Done()),
        (
            '{"name": "search_lodging", "arguments": {"city": "Kelso"}}',
            call("search_lodging", city="Kelso"),
        ),
        (
            '{"name": "search_lodging", "arguments": "{\\"city\\": \\"Kelso\\"}"}',
            call("search_lodging", city="Kelso"),
        ),
        (
            "Call(tool='search_lodging', arguments='{\"city\":\"Kelso\"}')",
            call("search_lodging", city="Kelso"),
        ),
        ('{"type": "Done"}', Done()),
        ('{"name": "Done", "arguments": {}}', Done()),
        ("search_lodging(town=[1, {'a': None}])", call("search_lodging", town=[1, {"a": None}])),
    ],
)
def test_calls_are_read_as_models_write_them(text: str, action: TextAction) -> None:
    assert read(text) == action


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("search_hotels(city='Kelso')", "no call found"),
        ("search_lodging('Kelso')", "name every argument"),
        ("search_lodging(city='Kelso'", "no call found"),
        ("search_lodging(city='Kelso\nDone()", "no call found"),
        ("search_lodging(city='A') no: search_lodging(city='B')", "no call found"),
        ("I may call think(x) and then Done()", "no call found"),
        ("Done() is too early", "no call found"),
        ("I will not call search_lodging(city='A')", "no call found"),
        ("search_lodging(city=Kelso)", "cannot be read"),
        ("search_lodging(city={1})", "cannot be read"),
        ("search_lodging(city=1e999)", "cannot be read"),
        ("search_lodging(city='\\ud800')", "arguments must be named values"),
        ("search_lodging(" + "(" * 900 + ")" * 900 + ")", "cannot be read"),
        ("search_lodging(" + "(" * 5000 + ")" * 5000 + ")", "no call found"),
        ("search_lodging(city='" + "x" * 9000 + "')", "more than 8000 characters"),
        ("Call(tool='search_lodging', arguments='[1]')", "arguments must be named values"),
        ("Call(tool='rm', arguments='{}')", "no tool 'rm'"),
        ("Answer(text='x')", "Answer is not possible now"),
        ('{"name": "search_lodging", "arguments": [1]}', "no call found"),
    ],
)
def test_what_is_no_call_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidAction, match=why) as refused:
        Knowing().parse(STATE, 0, text)
    assert "search_lodging(city=" in str(refused.value)


class Knowing(TravelDesk):
    """A desk that can read one more kind of action than is legal."""

    action_types = (Call, Done, Answer)


def test_equal_arguments_make_equal_calls_in_whatever_order() -> None:
    one = Call("t", '{"b": 1, "a": "é"}')
    assert one == Call("t", '{"a":"\\u00e9","b":1}') == call("t", b=1, a="é")
    assert hash(one) == hash(call("t", a="é", b=1))


def test_function_schemas_accept_what_the_tools_accept() -> None:
    schemas = DESK.function_schemas(STATE)
    by_name = {schema["function"]["name"]: schema["function"] for schema in schemas}
    assert all(schema["type"] == "function" for schema in schemas)
    rng = Rng(3)
    for tool in DESK.tools(STATE):
        parameters = by_name[tool.name]["parameters"]
        jsonschema.Draft202012Validator.check_schema(parameters)
        for _ in range(5):
            values = tool.sample(rng).values
            for wrong in (values, values | {"more": 1}, dict.fromkeys(values, -1), {}):
                accepted = jsonschema.Draft202012Validator(parameters).is_valid(wrong)
                assert accepted == (tool.problem(wrong) is None), (tool.name, wrong)


def test_a_schema_states_types_ranges_and_lists() -> None:
    (set_one,) = [t for t in WORLD.tools(WORLD.initial_state(0)) if t.writes and t.parameters[1:]][
        :1
    ]
    given = set_one.as_function().parameters
    key, value = set_one.parameters
    assert given["required"] == [key.name, value.name]
    assert given["properties"][key.name]["type"] == "string"
    assert len(given["properties"][value.name]["enum"]) == 4


def test_rare_words_decide_a_search() -> None:
    texts = ("get the tier of an order", "get the tier of a clinic", "unlock a door")
    assert best_matches("tier of the clinic", texts, 2) == [1, 0]
    assert best_matches("zebra", texts, 2) == []
