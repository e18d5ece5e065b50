"""Sealed auctions: rules, exact equilibria, Myerson's reserve price, revenue equivalence."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.auctions.bidders import equilibrium_bid
from palestra_markets.auctions.sealed_auction import SealedAuction
from scipy.integrate import quad

ID = "markets/SealedAuction-v0"


def auction(*worths: int, **options: Any) -> Episode:
    """One round with these values."""
    game = SealedAuction(**{"num_players": len(worths), "rounds": 1, **options})
    episode = Episode(game, seed=0, compiled=False)
    state = episode.state
    state.worth[:] = worths
    episode.load(state)
    return episode


def paid(bids: tuple[int, ...], worths: tuple[int, ...], **options: Any) -> list[float]:
    """Returns of one round."""
    episode = auction(*worths, **options)
    episode.act(dict(enumerate(bids)))
    return list(episode.returns)


def test_each_format_pays_as_it_says() -> None:
    bids, worths = (60, 50, 20), (90, 80, 70)
    assert paid(bids, worths, format="first-price") == [30, 0, 0]
    assert paid(bids, worths, format="second-price") == [40, 0, 0]
    assert paid(bids, worths, format="all-pay") == [30, -50, -20]


def test_the_reserve_price_is_the_least_that_wins_and_is_paid() -> None:
    bids, worths = (60, 50, 20), (90, 80, 70)
    assert paid(bids, worths, format="second-price", reserve=55) == [35, 0, 0]
    assert paid(bids, worths, format="first-price", reserve=61) == [0, 0, 0]
    assert paid(bids, worths, format="all-pay", reserve=55) == [30, 0, 0]


def test_ties_go_by_lot_and_to_everybody_alike() -> None:
    game = SealedAuction(num_players=4, rounds=800)
    episode = Episode(game, seed=1, compiled=False)
    wins = [0] * 4
    while not episode.over:
        episode.act(dict.fromkeys(range(4), 10))
        wins[int(episode.state.winner if not episode.over else 0)] += 1
    assert min(wins) > 200 - 4 * (800 * 0.25 * 0.75) ** 0.5


def test_a_value_is_told_to_its_bidder_alone_and_bids_to_everybody() -> None:
    episode = auction(91, 82, 73, rounds=2)
    assert "91" in episode.describe(0)
    assert "91" not in episode.describe(1)
    episode.act({0: 11, 1: 22, 2: 33})
    assert "player_0 11, player_1 22, player_2 33" in episode.describe(1)
    assert episode.observation(1)[8:].tolist() == [22, 33, 11]
    assert episode.observation(1)[5] == 1


@pytest.mark.parametrize("text", ["101", "-1", "1.5", "nan", "all"])
def test_what_is_no_bid_is_refused(text: str) -> None:
    with pytest.raises(InvalidAction, match="0 to 100"):
        auction(1, 2).parse(0, text)


@pytest.mark.parametrize(
    "options",
    [{"format": "dutch"}, {"reserve": 101}, {"max_value": 0}, {"rounds": 0}, {"num_players": 1}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        SealedAuction(**options)


# Exact answers for two bidders, every pair of values played


@cache
def small(kind: str, reserve: int = 0) -> SealedAuction:
    return SealedAuction(num_players=2, max_value=9, rounds=1, format=kind, reserve=reserve)


def deal(worths: tuple[int, int], kind: str, lot: tuple[int, int], reserve: int = 0) -> Any:
    """The start of a round with these values and lots."""
    state = small(kind, reserve).initial_state(0)
    state.worth[:], state.lot[:] = worths, lot
    return state


@cache
def expected(bid: int, worth: int, other_bids: tuple[int, ...], kind: str) -> Fraction:
    """What a bid earns against equally likely bids of the other, ties in halves, by the rules."""
    total = Fraction(0)
    for other in other_bids:
        for lot in ((0, 1), (1, 0)):
            state = deal((worth, 0), kind, lot)
            paid = small(kind).step(state, {0: bid, 1: other}).rewards.get(0, {})
            total += Fraction(sum(paid.values())) / 2
    return total / len(other_bids)


@pytest.mark.parametrize("worth", range(10))
def test_half_the_value_is_an_exact_equilibrium_of_the_first_price_auction(worth: int) -> None:
    """With values 0 to 9 and the other bidding v // 2: no bid of all beats worth // 2."""
    others = tuple(value // 2 for value in range(10))
    earned = [expected(bid, worth, others, "first-price") for bid in range(10)]
    assert earned[worth // 2] == max(earned)
    assert equilibrium_bid(SealedAuction(num_players=2, max_value=9), worth) == worth / 2


@pytest.mark.parametrize("other", range(10))
@pytest.mark.parametrize("worth", [0, 3, 8])
def test_truth_is_dominant_with_second_prices(worth: int, other: int) -> None:
    earned = [expected(bid, worth, (other,), "second-price") for bid in range(10)]
    assert earned[worth] == max(earned)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_equilibrium_bid_beats_every_other_on_a_fine_grid(n: int) -> None:
    """Against bids (n - 1) / n of values drawn evenly from [0, 1], in exact fractions."""
    for value in (Fraction(1, 3), Fraction(3, 5), Fraction(1)):
        best = Fraction(n - 1, n) * value

        def gain(bid: Fraction, value: Fraction = value) -> Fraction:
            return (value - bid) * min(Fraction(1), bid * n / (n - 1)) ** (n - 1)

        assert all(gain(best) > gain(best + Fraction(k, 100)) for k in range(-20, 21) if k)
        game = SealedAuction(num_players=n, max_value=1)
        assert equilibrium_bid(game, float(value)) == pytest.approx(float(best))


@pytest.mark.parametrize("reserve", [0, 30, 50])
@pytest.mark.parametrize("kind", ["first-price", "second-price", "all-pay"])
@pytest.mark.parametrize("n", [2, 4])
def test_equilibrium_payments_are_what_myerson_says(kind: str, reserve: int, n: int) -> None:
    """The envelope condition: a type pays in the mean v F(v)^(n-1) less its rent."""
    game = SealedAuction(num_players=n, format=kind, reserve=reserve)

    def win(v: float) -> float:
        return (v / 100) ** (n - 1)

    entry = reserve
    for value in (55.0, 80.0, 100.0):
        owed = value * win(value) - quad(win, entry, value)[0]
        bid = equilibrium_bid(game, value)
        if kind == "first-price":
            assert bid * win(value) == pytest.approx(owed)
        elif kind == "second-price":
            assert bid == value
        elif reserve == 0:
            assert bid == pytest.approx(owed)
        else:
            start = (reserve * 100 ** (n - 1)) ** (1 / n)
            rent = quad(win, start, max(start, value))[0]
            assert bid == pytest.approx(value * win(value) - rent if value >= start else 0)


def revenue(worths: tuple[int, int], reserve: int) -> int:
    """What truthful bidders pay with second prices, by the rules."""
    state = deal(worths, "second-price", (0, 1), reserve)
    small("second-price", reserve).step(state, dict(enumerate(worths)))
    return int(state.revenue)


def test_the_best_reserve_price_is_where_the_virtual_value_turns_positive() -> None:
    """Every pair of values 0 to 9: 2 v - 9 turns positive at 5 (Myerson 1981)."""
    pairs = list(product(range(10), repeat=2))
    totals = [sum(revenue(pair, r) for pair in pairs) for r in range(10)]
    assert max(totals) == totals[5]
    virtual = sum(max(0, 2 * max(pair) - 9) for pair in pairs)
    assert totals[5] <= virtual


# Play


def mean_revenue(kind: str, n: int, reserve: int, rounds: int = 1_500) -> tuple[float, float]:
    """The mean revenue of a round in equilibrium, over the most value, and its error."""
    record = palestra.play(
        ID,
        agents=["equilibrium-bidder"] * n,
        format=kind,
        reserve=reserve,
        max_value=1000,
        rounds=rounds,
        seed=7,
    )[0]
    paid = np.array([e.data["revenue"] for e in record.events if e.kind == "sale"]) / 1000
    assert palestra.measure(record)["auction-revenue"] == pytest.approx(1000 * paid.mean())
    return float(paid.mean()), float(paid.std() / len(paid) ** 0.5)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("kind", "n", "reserve"),
    [("first-price", 2, 500), ("second-price", 2, 500), ("all-pay", 2, 500), ("first-price", 3, 0)],
)
def test_all_formats_raise_the_revenue_of_the_closed_form(kind: str, n: int, reserve: int) -> None:
    """2n / (n + 1) (1 - r^(n+1)) - (1 - r^n), Myerson's for values from 0 to 1.

    In an all-pay auction r is the value that just pays to enter.
    """
    r = reserve / 1000
    if kind == "all-pay":
        r = r ** (1 / n)
    closed = 2 * n / (n + 1) * (1 - r ** (n + 1)) - (1 - r**n)
    mean, error = mean_revenue(kind, n, reserve)
    rounding = n * 0.0005
    assert mean == pytest.approx(closed, abs=4 * error + rounding)


def test_truth_is_efficient() -> None:
    (record,) = palestra.play(
        ID, agents=["truthful-bidder"] * 3, format="second-price", rounds=50, seed=0
    )
    assert palestra.measure(record)["auction-efficiency"] == 1
