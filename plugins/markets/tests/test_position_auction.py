"""Position auctions: the example of Edelman, Ostrovsky and Schwarz, and exhaustive deviations."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra_markets.auctions.bidders import balanced_bid
from palestra_markets.auctions.position_auction import PositionAuction
from scipy.optimize import linear_sum_assignment

ID = "markets/PositionAuction-v0"
EXAMPLE = {"values": (10, 4, 2), "click_rates": (200.0, 100.0), "max_value": 10}


@cache
def auction(options: tuple[tuple[str, Any], ...]) -> PositionAuction:
    return PositionAuction(**{**EXAMPLE, "rounds": 1, **dict(options)})


def page(bids: tuple[int, ...], **options: Any) -> tuple[list[float], list[float], list[int]]:
    """Earnings, payments and positions of one round."""
    game = auction(tuple({"num_players": len(bids), **options}.items()))
    state = game.initial_state(0)
    game.step(state, dict(enumerate(bids)))
    return state.earned.tolist(), state.payment.tolist(), state.position.tolist()


def test_truthful_bidders_of_the_example_pay_800_and_200_or_with_vcg_600_and_200() -> None:
    assert page((10, 4, 2))[1] == [800, 200, 0]
    assert page((10, 4, 2), mechanism="vcg")[1] == [600, 200, 0]


def test_the_example_shows_that_truth_is_no_equilibrium_with_second_prices() -> None:
    """With rates 200 and 199 the first gains by bidding 3: 199 (10 - 2) > 200 (10 - 4)."""
    close = {"click_rates": (200.0, 199.0)}
    assert page((3, 4, 2), **close)[0][0] == 199 * 8 > page((10, 4, 2), **close)[0][0] == 1200


def test_positions_follow_bids_and_missing_bidders_cost_nothing() -> None:
    earned, paid, positions = page((2, 7), values=(5, 9), click_rates=(4.0, 2.0, 1.0))
    assert positions == [2, 1]
    assert paid == [0, 8]
    assert earned == [10, 36 - 8]


def test_one_position_is_the_second_price_auction() -> None:
    for mechanism in ("gsp", "vcg"):
        assert page((9, 6, 3), click_rates=(1.0,), mechanism=mechanism)[1] == [6, 0, 0]


@pytest.mark.parametrize("values", [(3, 2, 1), (4, 4, 0), (1, 2, 4)])
@pytest.mark.parametrize("rates", [(3.0, 2.0), (5.0, 1.0), (2.0, 2.0)])
def test_no_deviation_from_truth_pays_in_vcg(
    values: tuple[int, ...], rates: tuple[float, ...]
) -> None:
    """Every bid of the first, against every pair of bids of the others."""
    options = {"values": values, "click_rates": rates, "mechanism": "vcg", "max_value": 4}
    for others in product(range(5), repeat=2):
        earned = [page((bid, *others), **options)[0][0] for bid in range(5)]
        assert earned[values[0]] == max(earned)


def test_vcg_payments_are_the_loss_of_the_others_by_an_assignment_solver() -> None:
    rng = np.random.default_rng(0)
    rates = np.array([7.0, 4.0, 1.5])
    for _ in range(20):
        bids = rng.permutation(10)[:4]
        _, paid, positions = page(
            tuple(map(int, bids)), values=(1,) * 4, click_rates=tuple(rates), mechanism="vcg"
        )
        worths = np.outer(bids, rates)
        for seat in range(4):
            others = np.delete(worths, seat, axis=0)
            best = others[linear_sum_assignment(others, maximize=True)].sum()
            rows = [p for p in range(4) if p != seat and positions[p]]
            got = sum(worths[p, positions[p] - 1] for p in rows)
            assert paid[seat] == pytest.approx(best - got)


def envy_free(bids: tuple[int, ...]) -> bool:
    """Whether nobody would rather have a neighbour's place at what they pay for it, or none."""
    earned, paid, positions = page(bids)
    if min(earned) < 0:
        return False
    holder = {position: seat for seat, position in enumerate(positions) if position}
    values, rates = EXAMPLE["values"], EXAMPLE["click_rates"]
    for seat, position in enumerate(positions):
        for place in (position - 1, position + 1) if position else (len(rates),):
            if place in holder:
                swapped = values[seat] * rates[place - 1] - paid[holder[place]]  # type: ignore[index]
                if swapped > earned[seat]:
                    return False
    return True


def test_locally_envy_free_equilibria_pay_at_least_what_vcg_does() -> None:
    """All distinct bids of the example, 0 to 10; the least revenue is that of VCG."""
    bids = [b for b in product(range(11), repeat=3) if len(set(b)) == 3]
    revenues = [sum(page(b)[1]) for b in bids if envy_free(b)]
    assert min(revenues) == sum(page((10, 4, 2), mechanism="vcg")[1]) == 800


def test_envy_free_equilibria_of_the_example_put_the_highest_value_first() -> None:
    bids = [b for b in product(range(0, 11, 2), repeat=3) if len(set(b)) == 3 and envy_free(b)]
    assert bids
    assert all(page(b)[2] == [1, 2, 0] for b in bids)


def test_balanced_bidding_settles_on_the_payments_of_vcg() -> None:
    (record,) = palestra.play(
        ID, agents=["balanced-bidder"] * 3, rounds=60, seed=0, num_players=3, **EXAMPLE
    )
    last = [event.data for event in record.events if event.kind == "page"][-1]
    assert last["payments"] == [600, 200, 0]
    assert palestra.measure(record)["auction-efficiency"] == 1


def test_a_balanced_bidder_would_not_mind_to_swap_with_the_one_above() -> None:
    bid = balanced_bid(4, [10, 2], (200.0, 100.0))
    assert 200 * (4 - bid) == 100 * (4 - 2)


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "auction"},
        {"click_rates": ()},
        {"click_rates": (1.0, 2.0)},
        {"click_rates": (float("inf"), 1.0)},
        {"click_rates": (1.0, 0.0)},
        {"values": (1, 2)},
        {"values": (1, 2, 21)},
        {"num_players": 21},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        PositionAuction(**options)
