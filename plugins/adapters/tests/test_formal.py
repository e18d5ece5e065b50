"""Temporal formulas over finite words, and the agent that keeps to them."""

from __future__ import annotations

from itertools import product
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.formal.agent import Formal
from palestra_adapters.formal.ltl import Automaton, atoms, parse

LETTERS = [frozenset("a"), frozenset("b"), frozenset("ab"), frozenset()]


@pytest.mark.parametrize(
    ("formula", "yes", "no"),
    [
        ("a & X b", ["ab", "abc"], ["a", "ba", "aa", ""]),
        ("G(a -> X b)", ["", "ab", "cab", "abab"], ["a", "aa", "ba"]),
        ("G(a -> N b)", ["a", "ab", "ba"], ["aa", "ac"]),
        ("!a U b", ["b", "cb", "ccba"], ["", "ab", "cc"]),
        ("a R b", ["", "b", "bb"], ["a", "bc"]),
        ("F a & F b", ["ab", "cbca"], ["a", "b", ""]),
        ("F(a & N false)", ["a", "ba"], ["ab", ""]),
        ("X true", ["aa", "bc"], ["a", ""]),
    ],
)
def test_words_by_hand(formula: str, yes: list[str], no: list[str]) -> None:
    automaton = Automaton.of(parse(formula), [frozenset(x) for x in "abc"])
    for word in yes:
        assert automaton.accepts(map(frozenset, word)), word
    for word in no:
        assert not automaton.accepts(map(frozenset, word)), word


formulas = st.recursive(
    st.sampled_from(["a", "b", "true", "false"]),
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["!", "X", "N", "F", "G"]), inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["&", "|", "->", "U", "R"]), inner),
    ),
    max_leaves=5,
)


def holds(f: Any, word: tuple[frozenset[str], ...], i: int) -> bool:
    """The textbook's semantics of a formula at a place of a word, written independently."""
    n = len(word)
    match f:
        case ("true",):
            return True
        case ("false",):
            return False
        case ("atom", p):
            return p in word[i]
        case ("not", g):
            return not holds(g, word, i)
        case ("and", g, h):
            return holds(g, word, i) and holds(h, word, i)
        case ("or", g, h):
            return holds(g, word, i) or holds(h, word, i)
        case ("X", g):
            return i + 1 < n and holds(g, word, i + 1)
        case ("N", g):
            return i + 1 >= n or holds(g, word, i + 1)
        case ("F", g):
            return any(holds(g, word, k) for k in range(i, n))
        case ("G", g):
            return all(holds(g, word, k) for k in range(i, n))
        case ("U", g, h):
            return any(
                holds(h, word, k) and all(holds(g, word, j) for j in range(i, k))
                for k in range(i, n)
            )
        case ("R", g, h):
            return all(
                holds(h, word, k) or any(holds(g, word, j) for j in range(i, k))
                for k in range(i, n)
            )
    raise AssertionError(f)


@settings(max_examples=40)
@given(formulas)
def test_the_automaton_agrees_with_the_semantics_on_all_short_words(text: str) -> None:
    formula = parse(text)
    words = [word for n in (1, 2, 3) for word in product(LETTERS, repeat=n)]
    expected = [holds(formula, word, 0) for word in words]
    try:
        automaton = Automaton.of(formula, LETTERS)
    except InvalidOption:
        assert not any(expected)
        return
    assert [automaton.accepts(word) for word in words] == expected


@settings(max_examples=30)
@given(formulas)
def test_what_is_allowed_can_be_completed_and_nothing_else(text: str) -> None:
    try:
        automaton = Automaton.of(parse(text), LETTERS)
    except InvalidOption:
        return
    accepted = {w for n in (1, 2, 3) for w in product(LETTERS, repeat=n) if automaton.accepts(w)}
    for word in accepted:
        state = automaton.start
        for letter in word:
            assert letter in automaton.allowed(state)
            state = automaton.moves[state, letter]


@pytest.mark.parametrize("text", ["a &", "(a", "a b", "& a", "a # b", ""])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(InvalidOption, match="not a formula"):
        parse(text)


def test_quoted_atoms_and_contradictions() -> None:
    assert atoms(parse('G("Go(*)" -> X rest)')) == ["Go(*)", "rest"]
    with pytest.raises(InvalidOption, match="no word satisfies"):
        Formal(model=Free(""), behaviour="G !action")


# The agent

TWO = {
    "start": {"left": 0.0, "right": 0.0},
    "left": {"left": 0.0, "right": 1.0},
    "right": {"left": 1.0, "right": 0.0},
}
HALL = trail(TWO, limit=4, top=4.0)


def tagged(request: Request) -> str:
    text = last(request)
    if "What comes next" in text:
        return "critique" if text.count("critique:") < 2 else "action"
    line = text.splitlines()[-1]
    return "Go(to='left')" if line.startswith("action:") else f"some {line.partition(':')[0]}"


@pytest.mark.parametrize(
    ("behaviour", "tags"),
    [
        ("plain", ["action"]),
        ("react", ["thought", "action"]),
        ("reflexion", ["thought", "draft", "critique", "action"]),
        ("tool-first", ["lookahead", "thought", "action"]),
        ("thought & G(thought -> X critique)", ["thought", "critique", "critique", "action"]),
    ],
)
@pytest.mark.parametrize("kind", [Free, ScriptedModel])
def test_every_word_is_of_the_formula(
    behaviour: str, tags: list[str], kind: type[ScriptedModel]
) -> None:
    model = kind(tagged)
    agent = Formal(model=model, behaviour=behaviour)
    record = palestra.play(HALL, agents=[agent])[0]
    for turn in record.turns:
        assert turn.facts["tags"] == tags
    if behaviour == "reflexion":
        assert 'thought: "some thought"\ndraft: "some draft"\ncritique:' in last(model.requests[2])


def test_a_tag_that_is_not_allowed_is_not_taken() -> None:
    agent = Formal(model=Free("secret"), behaviour="thought & X(critique | action)")
    record = palestra.play(HALL, agents=[agent], invalid="random")[0]
    assert all(turn.facts["tags"] == ["thought", "action"] for turn in record.turns)


ALTERNATE = """G("*left*" -> N "*right*") & G("*right*" -> N "*left*")"""


@pytest.mark.parametrize("kind", [Free, ScriptedModel])
def test_moves_outside_the_formula_are_never_played(kind: type[ScriptedModel]) -> None:
    model = kind(tagged)
    free = palestra.play(HALL, agents=[Formal(model=kind(tagged), behaviour="plain")])[0]
    assert free.returns == (0.0,)
    agent = Formal(model=model, behaviour="plain", moves=ALTERNATE)
    record = palestra.play(HALL, agents=[agent])[0]
    sides = ["left" in (turn.text or "") for turn in record.turns]
    assert sides == [True, False, True, False]
    assert record.returns == (3.0,)
    assert "By your rules of behaviour you may now play only: Go(to='right')." in last(
        model.requests[-1]
    )
    assert not any(turn.facts["violation"] for turn in record.turns)


def test_a_violation_that_cannot_be_avoided_is_on_the_record() -> None:
    narrow = trail({"start": {"left": 0.0}, "left": {"left": 1.0}}, limit=2)
    agent = Formal(model=Free("Go(to='left')"), behaviour="plain", moves=ALTERNATE)
    record = palestra.play(narrow, agents=[agent])[0]
    assert [turn.facts["violation"] for turn in record.turns] == [False, True]
