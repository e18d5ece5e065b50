"""Reading and writing typed actions, whatever surrounds them."""

from __future__ import annotations

import copy
import pickle
import re
from contextlib import suppress
from dataclasses import dataclass
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Grammar, Integer, InvalidAction, OneOf, Option, Rng, Text, TextAction
from palestra.kernel.actions import number_pattern, read_action


class Bid(TextAction, frozen=True):
    amount: int
    suit: str = "clubs"


class Speak(TextAction, frozen=True):
    text: str


class Fold(TextAction, frozen=True):
    pass


TYPES = (Bid, Speak, Fold)
GRAMMAR = Grammar(
    (
        Option(Bid, {"amount": Integer(1, 9), "suit": OneOf(("clubs", "hearts"))}),
        Option(Speak, {"text": Text(60, ("hello",))}),
        Option(Fold),
    )
)


def read(text: str) -> TextAction:
    return read_action(text, GRAMMAR, TYPES)


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "Bid", "amount": 9, "amount": 1}',
        '{"type": "Fold", "type": "Bid", "amount": 1}',
        '{"move": {"type": "Bid", "amount": 9, "amount": 1}}',
        'Action: {"type": "Bid", "amount": 1, "amount": 1}',
        "Bid(amount=9, amount=1)",
        "Bid(9, amount=1)",
    ],
)
def test_an_action_that_gives_a_field_twice_is_not_read(text: str) -> None:
    """What was meant is not stated, and another reader of the answer may take the other value."""
    with pytest.raises(InvalidAction, match=r"twice|repeated"):
        read(text)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Bid(amount=3)", Bid(3)),
        ("Bid(3, 'hearts')", Bid(3, "hearts")),
        ("I think I should.\nBid(amount=2, suit='hearts').", Bid(2, "hearts")),
        ("Bid(amount=9)? No.\nBid(amount=1)", Bid(1)),
        ("**Fold()**", Fold()),
        ("Speak(text='a (b) \\'c\\' ) d')", Speak("a (b) 'c' ) d")),
        ('Speak(text="it\'s")', Speak("it's")),
        ('{"type": "Bid", "amount": 4}', Bid(4)),
        ('Here, as asked:\n{"type": "Speak", "text": "hi"}', Speak("hi")),
        ("Bid (amount=5)", Bid(5)),
        ("Bid(amount=５)", Bid(5)),
        ("Speak(text='５ \\'６')", Speak("５ '６")),
        ("<answer>Bid(amount=5)</answer>", Bid(5)),
        ("İß <answer>\nBid(amount=5)\n</answer>", None),
        ("İß.\n<answer>\nBid(amount=5)\n</answer>", Bid(5)),
        ("They bid 3. <action>Bid(amount=4)</action>", Bid(4)),
        ("The answer is \\boxed{Fold()}.", Fold()),
        ('{"action": "Bid(amount=4)"}', Bid(4)),
        ('{"reasoning": "two } of {", "action": {"type": "Bid", "amount": 4}}', Bid(4)),
        ("Speak(text='<answer>Fold()</answer>')", Speak("<answer>Fold()</answer>")),
        ('Speak(text=\'{"move": "Fold()"}\')', Speak('{"move": "Fold()"}')),
        ('{"type": "Speak", "text": "\\\\boxed{Fold()}"}', Speak("\\boxed{Fold()}")),
    ],
)
def test_moves_are_read_out_of_what_surrounds_them(text: str, action: TextAction | None) -> None:
    if action is None:
        with pytest.raises(InvalidAction, match="no action is stated"):
            read(text)
    else:
        assert read(text) == action


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no action is stated"),
        ("bid three", "no action is stated"),
        ("Raise(amount=3)", "there is no action 'Raise'; there are: Bid, Speak, Fold"),
        ("Bid(amount=10)", "amount must be from 1 to 9, not 10"),
        ("Bid(amount=True)", "whole number"),
        ("Bid(amount=2.5)", "whole number"),
        ("Bid(amount=3, suit='spades')", "suit must be one of"),
        ("Bid(amount=", "no action is stated"),
        ("Bid(1, 'clubs', 3)", "takes 2 values"),
        ("Bid(amount=__import__('os'))", "cannot be read"),
        ("Speak(text='" + "x" * 61 + "')", "61 characters, more than 60"),
        ("Fold(1)", "takes 0 values"),
    ],
)
def test_a_refusal_says_what_came_what_is_legal_and_gives_an_example(text: str, why: str) -> None:
    with pytest.raises(InvalidAction) as caught:
        read(text)
    message = str(caught.value)
    assert why in message
    assert "Bid(amount=1..9, suit='clubs'|'hearts') or Speak(" in message
    assert "for example: " in message
    assert caught.value.read == text


@given(st.integers(0, 2**32))
def test_every_legal_action_is_read_as_it_is_written(seed: int) -> None:
    action = GRAMMAR.sample(Rng(seed))
    assert action in GRAMMAR
    assert read(repr(action)) == action


@given(st.text(max_size=60))
def test_what_is_said_survives_writing_and_reading(text: str) -> None:
    assert read(repr(Speak(text))) == Speak(text)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(InvalidAction):
        assert read(text) in GRAMMAR


def test_equal_actions_are_written_alike() -> None:
    """Also where a string equals a default and is another object, as one from a record is."""
    again = Bid(3, "".join(["cl", "ubs"]))
    assert again == Bid(3)
    assert repr(again) == repr(Bid(3)) == "Bid(amount=3)"
    assert repr(Bid(3, "hearts")) == "Bid(amount=3, suit='hearts')"
    assert repr(Fold()) == "Fold()"


def test_an_action_of_another_kind_is_not_possible_now() -> None:
    only_fold = Grammar((Option(Fold),))
    assert only_fold.problem(Bid(1)) == "Bid is not possible now"
    assert only_fold.problem("Fold") == "'Fold' is not possible now"


@given(st.integers(-2000, 2000), st.integers(0, 3000))
def test_a_number_pattern_is_exactly_the_range(low: int, width: int) -> None:
    high = low + width
    pattern = re.compile(number_pattern(low, high))
    near = [*range(low - 15, low + 15), *range(high - 15, high + 15), 0, -1, 10 * low, 10 * high]
    for value in near:
        assert bool(pattern.fullmatch(str(value))) == (low <= value <= high), value


@given(st.data())
def test_whatever_a_grammar_pattern_matches_is_legal(data: st.DataObject) -> None:
    text = data.draw(st.from_regex(GRAMMAR.pattern(30), fullmatch=True))
    assert read(text) in GRAMMAR
    assert len(text.encode()) <= GRAMMAR.longest(30)


SAYING = Grammar((Option(Speak, {"text": Text(20_000)}),))
LONG = {
    "names": "Bid(" + "a," * 49_000 + ")",
    "empty texts": "Bid(" + "''," * 33_000 + ")",
    "texts side by side": "Bid(" + "'a'" * 33_000 + ")",
    "sums": "Bid(amount=1" + "+1" * 49_000 + ")",
    "code in a text": "Bid(f'{" + "a," * 49_000 + "}')",
    "between triple quotes": "Bid(''' ' ''', " + "a," * 45_000 + " ''' ' ''')",
    "between comments": "Bid(# '\n" + "a," * 45_000 + "# '\n)",
    "a long list": "Bid(amount=[" + "1," * 45_000 + "])",
    "open thoughts": "<think" * 16_000 + ">",
    "brackets of thoughts": "<" * 100_000,
    "thoughts": "<think>a</think>" * 6_000 + "no",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_answer_is_refused_in_no_time(text: str) -> None:
    """Python's parser takes 0.2 s for some calls of 100,000 characters."""
    spent = []
    for _ in range(5):
        start = process_time()
        with pytest.raises(InvalidAction):
            read(text)
        spent.append(process_time() - start)
    assert min(spent) < 0.05


@pytest.mark.parametrize(
    "written",
    [
        "Speak(text='{}')",
        'Speak(text="{}")',
        "Speak(\n  text = '{}',\n)",
        "Speak('{}')",
        '{{"type": "Speak", "text": "{}"}}',
    ],
)
def test_a_long_text_is_read(written: str) -> None:
    text = "x, (y) <z> " * 800
    assert read_action(written.format(text), SAYING, (Speak,)) == Speak(text)


@given(st.text() | st.sampled_from(["<think>", "</think>", "a </thought x>", "\\<reasoning>"]))
def test_what_is_said_is_read_as_it_was_said(text: str) -> None:
    said = Speak(text)
    if SAYING.problem(said) is None:
        assert read_action(repr(said), SAYING, (Speak,)) == said


def test_a_refusal_names_no_address() -> None:
    for text in ("Bid(amount=f())", "Bid(amount=x.y)", "Bid({1: a})"):
        with pytest.raises(InvalidAction, match="cannot be read") as refused:
            read(text)
        assert " at 0x" not in str(refused.value)


@pytest.mark.parametrize("suit", ["hearts", "", 1, None, ["clubs"], object()])
def test_fields_that_an_option_does_not_list_keep_their_defaults(suit: object) -> None:
    grammar = Grammar((Option(Bid, {"amount": Integer(1, 9)}),))
    assert Bid(3) in grammar
    other = Bid(3, suit)  # type: ignore[arg-type]
    assert other not in grammar
    why = grammar.problem(other)
    assert why is not None
    assert why.startswith("suit must be one of 'clubs', not ")
    with pytest.raises(InvalidAction, match="suit must be one of 'clubs'"):
        read_action("Bid(amount=3, suit='hearts')", grammar, TYPES)


@dataclass(frozen=True, slots=True)
class Priced(Option):
    """An option that says more than its fields."""

    prices: tuple[int, ...] = ()


def test_an_option_of_another_kind_is_sent_whole_to_other_processes() -> None:
    sent = Grammar((Priced(Bid, {"amount": Integer(1, 9)}, (3, 4)), Option(Fold)))
    for got in (pickle.loads(pickle.dumps(sent)), copy.deepcopy(sent)):
        assert got == sent
        assert isinstance(got.options[0], Priced)
        assert got.options[0].prices == (3, 4)
