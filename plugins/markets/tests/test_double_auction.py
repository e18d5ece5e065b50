"""The double auction: rules, money, the optimum, and what the literature says of its traders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, EpisodeRecord, InvalidAction, InvalidOption, Rng
from palestra_markets.trading.double_auction import PASS, WITHDRAW, DoubleAuction
from palestra_markets.trading.metrics import market_efficiency, price_error
from palestra_markets.trading.order_book import ASK, BID
from palestra_markets.trading.schedules import PRESETS, equilibrium, gode_sunder
from palestra_markets.trading.traders import Shout, chance, quotes

ID = "markets/DoubleAuction-v0"
TWO = {"demand": ((90, 70), (80, 60)), "supply": ((20, 40), (30, 50)), "num_players": 4}


def market(**options: Any) -> Episode:
    """Two buyers and two sellers, interpreted; seats 0 and 1 buy."""
    return Episode(DoubleAuction(**{**TWO, **options}), seed=0, compiled=False)


def call(episode: Episode, seat: int, text: str) -> None:
    """Let a trader act, whoever was drawn."""
    state = episode.state
    state.acting[:] = 0
    state.acting[seat] = 1
    episode.load(state)
    episode.act({seat: episode.parse(seat, text)})


def worths(episode: Episode) -> list[list[int]]:
    rows: list[list[int]] = episode.state.worth.tolist()
    return rows


# Rules


def test_an_order_trades_at_the_price_that_stood() -> None:
    episode = market()
    values = worths(episode)
    call(episode, 2, "ask 1 at 55")
    call(episode, 0, "bid 1 at 70")
    assert [event.text for event in episode.log[-1]] == [
        "player_0 bids 1 at 70.",
        "player_0 buys 1 unit from player_2 at 55.",
    ]
    assert list(episode.rewards) == [values[0][0] - 55, 0, 55 - values[2][0], 0]
    call(episode, 1, "bid 1 at 60")
    call(episode, 3, "ask 1 at 50")
    assert list(episode.rewards) == [0, values[1][0] - 60, 0, 60 - values[3][0]]


def test_better_price_first_and_then_the_earlier_order() -> None:
    episode = market(num_players=6, **rows(buyers=4, sellers=2), lot=2)
    for buyer, price in ((0, 60), (1, 65), (2, 65), (3, 40)):
        call(episode, buyer, f"bid 1 at {price}")
    call(episode, 4, "ask 2 at 50")
    call(episode, 5, "ask 1 at 60")
    trades = [e.text for step in [episode.log[-1]] for e in step if e.kind == "trade"]
    assert trades == ["player_0 buys 1 unit from player_5 at 60."]
    assert episode.state.traded.tolist() == [1, 1, 1, 0, 2, 1]
    assert episode.state.order_price.tolist() == [0, 0, 0, 40, 0, 0]


def rows(*, buyers: int, sellers: int) -> dict[str, Any]:
    return {"demand": ((90, 80),) * buyers, "supply": ((10, 20),) * sellers}


def test_what_an_order_does_not_trade_rests_and_a_new_order_replaces_it() -> None:
    episode = market(lot=2)
    call(episode, 0, "bid 1 at 60")
    call(episode, 2, "ask 2 at 55")
    assert episode.state.order_quantity.tolist() == [0, 0, 1, 0]
    assert "Your order on the book: ask 1 at 55." in episode.describe(2)
    call(episode, 2, "ask 1 at 75")
    assert "Asks: 75 (1)." in episode.describe(1)
    call(episode, 2, "withdraw")
    assert "Asks: none." in episode.describe(1)


def test_nobody_trades_more_units_than_they_have_left() -> None:
    episode = market(lot=5)
    call(episode, 0, "bid 1 at 60")
    call(episode, 2, "ask 1 at 60")
    with pytest.raises(InvalidAction, match=r"bid 1 at 1\.\.100"):
        call(episode, 0, "bid 2 at 60")


def test_a_trade_empties_the_book_where_that_is_the_rule() -> None:
    episode = market(empty_on_trade=True)
    call(episode, 1, "bid 1 at 50")
    call(episode, 0, "bid 1 at 60")
    call(episode, 2, "ask 1 at 60")
    assert episode.state.best_bid == 0


def test_quotes_must_improve_where_that_is_the_rule() -> None:
    episode = market(improve=True)
    call(episode, 0, "bid 1 at 60")
    assert "bid 1 at 61..100" in episode_legal(episode, 1)
    call(episode, 2, "ask 1 at 90")
    assert "ask 1 at 1..89" in episode_legal(episode, 3)


def episode_legal(episode: Episode, seat: int) -> str:
    state = episode.state
    state.acting[:] = 0
    state.acting[seat] = 1
    episode.load(state)
    return episode.legal_text(seat)


def test_a_period_ends_when_a_side_has_traded_all_and_the_next_starts_afresh() -> None:
    episode = market(periods=2, demand=((90,), (80,)), supply=((20,), (30,)))
    for buyer, seller in ((0, 2), (1, 3)):
        call(episode, buyer, "bid 1 at 60")
        call(episode, seller, "ask 1 at 60")
    state = episode.state
    assert (state.period, state.elapsed, state.traded.sum()) == (1, 0, 0)
    assert episode.log[-1][-1].text == "Period 2 of 2 begins with an empty book."
    for buyer, seller in ((0, 2), (1, 3)):
        call(episode, buyer, "bid 1 at 60")
        call(episode, seller, "ask 1 at 60")
    assert episode.over
    assert episode.outcome.reason == "the market closed"
    assert sum(episode.outcome.scores) == 2 * (90 + 80 - 20 - 30)


def test_time_closes_a_market_nobody_trades_in() -> None:
    episode = market(rounds=5)
    while not episode.over:
        episode.act({episode.to_act[0]: PASS})
    assert episode.steps_played == 5
    assert list(episode.returns) == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_no_money_and_no_unit_is_made_or_lost(seed: int) -> None:
    episode = Episode(DoubleAuction(num_players=7, lot=3, rounds=60), seed, compiled=False)
    rng = Rng(seed)
    for _ in range(60):
        if episode.over:
            break
        seat = episode.to_act[0]
        episode.act({seat: episode.game.sample(episode.state, seat, rng)})
        state = episode.state
        gains = [
            (1 if episode.game.side(p) == BID else -1) * sum(state.worth[p, : state.traded[p]])
            for p in range(7)
        ]
        assert sum(episode.returns) == sum(gains)  # what buyers pay, sellers are paid
        assert list(episode.returns) == state.earned.tolist()
        sold = sum(state.traded[p] for p in range(7) if episode.game.side(p) != BID)
        assert 2 * sold == state.traded.sum()


def test_moves_are_written_as_they_are_read() -> None:
    game = DoubleAuction(max_price=30, lot=2)
    state = game.initial_state(1)
    seat = game.to_act(state)[0]
    for action in np.flatnonzero(game.legal(state, seat)).tolist():
        assert game.parse(state, seat, game.action_text(state, seat, action)) == action
    assert not game.legal(state, seat)[WITHDRAW]
    with pytest.raises(InvalidAction, match=r"bid 1\.\.2 at 1\.\.30|ask 1\.\.2 at 1\.\.30"):
        game.parse(state, seat, "bid -5")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 1}, "num_players must be an integer from 2 to 100"),
        ({"buyers": 6}, "at least one buyer and one seller"),
        ({"rounds": 0}, "rounds"),
        ({"demand": ((5,),)}, "one for every buyer and seller"),
        ({**TWO, "max_price": 80}, "from 1 to max_price, which is 80, not 20 to 90"),
        ({**TWO, "demand": ((70, 90), (80, 60))}, "not falling: best unit first"),
        ({**TWO, "supply": ((20, 40), (30,))}, "row 1 of supply has 1 units, not 2"),
        ({**TWO, "demand": ((9.5, 7), (8, 6))}, "demand must be .* an integer"),
        ({**TWO, "demand": ((float("nan"), 7), (8, 6))}, "demand must be .* an integer"),
        ({**TWO, "num_players": 5}, "set num_players=4"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        DoubleAuction(**options)


# The optimum


@pytest.mark.parametrize("seed", range(20))
def test_optimum_is_that_of_an_assignment_solver(seed: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    rng = Rng(seed)
    values = [1 + rng.below(100) for _ in range(1 + rng.below(12))]
    costs = [1 + rng.below(100) for _ in range(1 + rng.below(12))]
    gains = np.maximum(0, np.subtract.outer(values, costs))
    best = gains[optimize.linear_sum_assignment(gains, maximize=True)].sum()
    found = equilibrium([[value] for value in values], [[cost] for cost in costs])
    assert found.surplus == best
    for price in (found.low, found.high):  # at a clearing price supply meets demand
        wanted = sum(value > price for value in values), sum(value >= price for value in values)
        offered = sum(cost < price for cost in costs), sum(cost <= price for cost in costs)
        assert wanted[0] <= found.quantity <= wanted[1] or not found.quantity
        assert offered[0] <= found.quantity <= offered[1] or not found.quantity


# Traders


def played(agent: str, options: Mapping[str, Any], episodes: int = 4) -> list[EpisodeRecord]:
    seats = [agent] * int(options["num_players"])
    return palestra.play(ID, agents=seats, episodes=episodes, seed=1, **options)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


# Gode and Sunder (1993), table 2: mean efficiency of markets 1 to 5
ZI_U = (0.900, 0.900, 0.767, 0.488, 0.860)
ZI_C = (0.999, 0.992, 0.990, 0.982, 0.971)


@pytest.mark.parametrize("number", range(1, 6))
def test_unconstrained_random_traders_trade_every_unit(number: int) -> None:
    """So that their efficiency is known: all values minus all costs, over the optimum."""
    options = gode_sunder(number)
    units = sum(map(sum, options["demand"])) - sum(map(sum, options["supply"]))
    known = units / equilibrium(options["demand"], options["supply"]).surplus
    assert known == pytest.approx(ZI_U[number - 1], abs=0.005)
    record = traded_through(DoubleAuction(**options))
    assert record == pytest.approx(known)


def traded_through(game: DoubleAuction) -> float:
    """The efficiency of random legal prices, interpreted."""
    state, rng = game.initial_state(0), Rng(0)
    while game.to_act(state):
        seat = game.to_act(state)[0]
        game.step(state, {seat: 2 + rng.below(game.max_price)})
    return float(state.earned.sum()) / game.optimum(state).surplus


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("number", range(1, 6))
def test_constrained_random_traders_earn_what_gode_and_sunder_report(number: int) -> None:
    earned = mean([market_efficiency(record) for record in played("zi", gode_sunder(number))])
    assert earned >= 0.97
    assert earned == pytest.approx(ZI_C[number - 1], abs=0.025)


@pytest.mark.exhaustive
def test_zip_prices_converge_where_random_ones_stay_away() -> None:
    """Cliff (1997): with flat supply the mean price of ZI-C is not the equilibrium price."""
    options = {**PRESETS["flat-supply"], "periods": 6}
    error = {agent: mean([price_error(r) for r in played(agent, options)]) for agent in TRADERS}
    assert error["zip"] < error["zi"] / 2
    assert error["gd"] < error["zi"] / 2


TRADERS = ("zi", "zip", "gd")


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("agent", ["zip", "gd"])
def test_learning_traders_earn_nearly_everything(agent: str) -> None:
    records = played(agent, {**gode_sunder(1), "rounds": 300, "periods": 3})
    assert mean([market_efficiency(record) for record in records]) >= 0.97


@pytest.mark.parametrize("improve", [False, True])
@pytest.mark.parametrize("agent", TRADERS)
def test_traders_never_lose_money(agent: str, improve: bool) -> None:
    options = {**TWO, "rounds": 60, "periods": 2, "improve": improve}
    for record in played(agent, options, episodes=3):
        for step in record.steps:
            for terms in step.rewards.values():
                assert terms["surplus"] > 0


def test_metrics_are_measured_by_name() -> None:
    (record,) = played("zi", {**TWO, "rounds": 60, "periods": 2, "improve": False}, episodes=1)
    measured = palestra.measure(record)
    assert 0 < measured["market-efficiency"] <= 1
    assert 0 <= measured["buyers-share"] <= 1
    assert measured["price-error"] >= 0


def test_a_trader_asked_to_play_something_else_says_so() -> None:
    with pytest.raises(InvalidOption, match="DoubleAuction"):
        palestra.play("games/KuhnPoker-v0", agents=["zip", "random"], episodes=1, seed=0)


def test_beliefs_are_gjerstad_and_dickhauts_frequencies() -> None:
    """An ask of 70 was taken, one of 80 was not, nor a bid of 60."""
    heard = [
        Shout(0, ASK, 80),
        Shout(1, BID, 60),
        Shout(2, ASK, 70),
        Shout(3, BID, 70, accepted=True, taken=[70]),
    ]
    accepted, refused, others = quotes(heard, ASK)
    assert (accepted, refused, sorted(others)) == ([70], [80], [60, 70])
    assert [chance(p, accepted, refused, others, 1) for p in (60, 70, 80)] == [1, 1, 0]
    # for a buyer: at 60, no bid was taken at or below and no ask was made there; one was refused
    accepted, refused, others = quotes(heard, BID)
    assert [chance(p, accepted, refused, others, -1) for p in (60, 70, 80)] == [0, 1, 1]
