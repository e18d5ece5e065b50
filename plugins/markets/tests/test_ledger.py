"""The ledger: conserved whatever is tried, and untouched by what is refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra_markets.ledger import ESCROW, ISSUER, Ledger, PaymentRefused

NAMES = ("ann", "bob", "cas", "nobody", ISSUER, ESCROW)


def opened() -> Ledger:
    ledger = Ledger()
    for name in NAMES[:3]:
        ledger.open(name, 100)
    return ledger


def test_money_moves_and_what_is_held_settles_or_comes_back() -> None:
    ledger = opened()
    ledger.transfer("ann", "bob", 30, "one")
    ledger.hold("bob", "cas", 50, "two")
    ledger.hold("bob", "cas", 10, "three")
    assert ledger.balances[ESCROW] == 60
    ledger.settle("two")
    ledger.refund("three")
    assert {name: ledger.balances[name] for name in NAMES[:3]} == {"ann": 70, "bob": 80, "cas": 150}
    ledger.check()


@pytest.mark.parametrize(
    ("payment", "why"),
    [
        (("ann", "bob", 101, "x"), "has 100"),
        (("ann", "bob", -5, "x"), "whole number"),
        (("ann", "bob", 0, "x"), "whole number"),
        (("ann", "bob", 1.5, "x"), "whole number"),
        (("ann", "bob", float("nan"), "x"), "whole number"),
        (("ann", "bob", float("inf"), "x"), "whole number"),
        (("ann", "bob", True, "x"), "whole number"),
        (("ann", "ann", 5, "x"), "itself"),
        (("ann", "zoe", 5, "x"), "no account"),
        ((ISSUER, "ann", 5, "x"), "no account"),
        (("ann", "bob", 5, "spent"), "already"),
    ],
)
@pytest.mark.parametrize("how", ["transfer", "hold"])
def test_a_bad_payment_is_refused_and_leaves_the_ledger_as_it_was(
    payment: tuple[Any, ...], why: str, how: str
) -> None:
    ledger = opened()
    ledger.transfer("ann", "bob", 1, "spent")
    ledger.transfer("bob", "ann", 1, "back")
    before = deepcopy(ledger)
    with pytest.raises(PaymentRefused, match=why):
        getattr(ledger, how)(*payment)
    assert ledger == before


AMOUNTS = st.one_of(st.integers(-50, 150), st.floats(), st.booleans())
STEPS = st.one_of(
    st.tuples(
        st.sampled_from(["transfer", "hold"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        AMOUNTS,
        st.integers(0, 9).map(str),
    ),
    st.tuples(st.sampled_from(["settle", "refund"]), st.integers(0, 9).map(str)),
)


@given(st.lists(STEPS, max_size=40))
def test_whatever_is_tried_money_is_conserved_and_refusals_change_nothing(steps: list[Any]) -> None:
    ledger = opened()
    for how, *arguments in steps:
        before = deepcopy(ledger)
        try:
            getattr(ledger, how)(*arguments)
        except PaymentRefused:
            assert ledger == before
        ledger.check()
        people = sum(ledger.balances[name] for name in NAMES[:3])
        assert people + ledger.balances[ESCROW] == 300


def test_books_that_were_tampered_with_do_not_pass() -> None:
    ledger = opened()
    ledger.balances["ann"] += 1
    with pytest.raises(PaymentRefused, match="do not balance"):
        ledger.check()
