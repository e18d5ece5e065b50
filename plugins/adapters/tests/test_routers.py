"""Auctions and knapsacks: who is chosen, what it costs, and the bound that is proved."""

from __future__ import annotations

from math import log

import palestra
import pytest
from adapter_worlds import last, trail
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.routers.knapsack import (
    Knapsack,
    Offer,
    best_offline,
    buy_online,
    threshold,
)
from palestra_adapters.routers.sale import Bid, StrategyAuction, read_prices

EASY = {"start easy": {"left": 0.0, "right": 10.0}}
HARD = {"start hard": {"left": 0.0, "right": 10.0}}


def task(edges: dict[str, dict[str, float]]) -> palestra.Game:
    return trail(edges, start=next(iter(edges)))


def worker(name: str, good_at: tuple[str, ...]) -> ScriptedModel:
    """Plans well and goes right on the tasks it is good at; marks plans for what they are."""

    def answer(request: Request) -> str:
        text = last(request)
        easy = any(f"start {word}" in text for word in good_at)
        if "proposes this plan" in text:
            return "9" if "a sound plan" in text else "1"
        if "how will you play" in text:
            return "a sound plan indeed" if easy else "I do not know"
        return "Go(to='right')" if easy else "Go(to='left')"

    return ScriptedModel(answer, name)


def market(**options: object) -> StrategyAuction:
    models = [worker("small", ("easy",)), worker("large", ("easy", "hard"))]
    return StrategyAuction(model=models, prices="1/4", **options)  # type: ignore[arg-type]


def test_easy_tasks_go_to_the_cheap_and_hard_ones_to_the_dear() -> None:
    agent = market()
    for edges, winner in ((EASY, "small"), (HARD, "large")):
        records = palestra.play(task(edges), agents=[agent], episodes=4)
        assert {turn.model for record in records for turn in record.turns} == {winner}
        assert all(r.outcome and r.outcome.scores == (10.0,) for r in records)
    assert agent.won == [4, 4]


def test_a_tie_of_the_jury_goes_to_the_cheapest() -> None:
    agent = market(entropy=0.0)
    bids = [Bid(0, "a plan", 3.0, marks=0.5), Bid(1, "a plan", 3.0, marks=0.5)]
    assert agent.cheapest(bids) == bids[0]
    agent.prices.reverse()
    assert agent.cheapest(bids) == bids[1]


def test_without_memory_every_auction_is_a_single_one() -> None:
    logs = []
    for options in ({"memory": False}, {"rebid": False}):
        agent = market(**options)
        palestra.play(task(HARD), agents=[agent], episodes=3, live=1)
        logs.append([[last(r) for r in model.requests] for model in agent.models])  # type: ignore[attr-defined]
    assert logs[0] == logs[1]
    assert not any("won and paid" in text for text in logs[0][0])


def test_cheaper_losers_bid_again_after_reading_past_auctions() -> None:
    def learner(request: Request) -> str:
        text = last(request)
        if "how will you play" in text:
            return "a sound plan indeed" if 'won and paid: "a sound' in text else "I do not know"
        if "proposes this plan" in text:
            return "9" if "a sound plan" in text else "1"
        return "Go(to='right')"

    models = [ScriptedModel(learner, "small"), worker("large", ("easy", "hard"))]
    agent = StrategyAuction(model=models, prices="1/4")
    palestra.play(task(HARD), agents=[agent], episodes=3, live=1)
    assert agent.won == [2, 1]


def test_bids_of_all_episodes_are_asked_for_at_once() -> None:
    agent = market()
    palestra.play(task(HARD), agents=[agent], episodes=5)
    assert [model.calls for model in agent.models] == [[5, 10], [5, 10, 5]]  # type: ignore[attr-defined]


def test_usage_of_the_auction_is_in_the_first_decision() -> None:
    record = palestra.play(task(EASY), agents=[market()])[0]
    assert record.turns[0].usage.calls == 2 + 4 + 1


# The knapsack


def test_the_threshold_runs_from_below_the_least_to_the_highest_value() -> None:
    assert threshold(0.0, 0.5, 4.0) < 0.5
    assert threshold(1.0, 0.5, 4.0) == pytest.approx(4.0)
    filled = 1 / (1 + log(4.0 / 0.5))
    assert threshold(filled, 0.5, 4.0) == pytest.approx(0.5)


@given(st.lists(st.tuples(st.floats(0.1, 3), st.floats(0, 6)), max_size=10), st.floats(0.0, 5.0))
def test_it_never_spends_more_than_the_budget(
    pairs: list[tuple[float, float]], budget: float
) -> None:
    offers = [Offer("", price, value) for price, value in pairs]
    bought = [b.offer for b in buy_online(offers, budget, 0.1, 10.0) if b.taken]
    assert sum(offer.price for offer in bought) <= budget + 1e-9
    assert sum(offer.value for offer in bought) <= best_offline(offers, budget) + 1e-9


@pytest.mark.parametrize("high", [2.0, 8.0, 64.0])
def test_it_earns_what_is_proved_on_the_worst_order(high: float) -> None:
    """Small items, value a price rising from 1 to `high`: the order the bound is proved on."""
    size, levels = 1_000, 60
    offers = [
        Offer("", 1.0, high ** (level / levels)) for level in range(levels + 1) for _ in range(size)
    ]
    taken = buy_online(offers, float(size), 1.0, high)
    earned = sum(item.offer.value for item in taken if item.taken)
    best = high * size
    assert best / (log(high) + 1) * 0.98 <= earned <= best


def test_the_best_that_was_bought_plays() -> None:
    agent = Knapsack(target="first+minimax+mcts", prices="1/1/9", budget=2.0, trials=20)
    records = palestra.play("games/TicTacToe-v0", agents=[agent, "minimax"], episodes=2)
    assert {r.outcome.results for r in records if r.outcome} == {("draw", "draw")}
    (log_,) = agent.bought.values()
    assert [b.taken for b in log_] == [True, True, False]


def test_where_nothing_is_affordable_the_rival_plays() -> None:
    agent = Knapsack(target="minimax", prices="5", budget=1.0, trials=1, rival="first")
    pair = [palestra.play("games/TicTacToe-v0", agents=[a, "first"])[0] for a in (agent, "first")]
    assert pair[0].outcome == pair[1].outcome


def test_they_are_named_in_a_string() -> None:
    made = palestra.make_agent("knapsack:mcts:simulations=20+random,prices=2/1,budget=2")
    assert isinstance(made, Knapsack)
    assert list(made.members) == ["mcts:simulations=20", "random"]
    auction = palestra.make_agent("sale:llm:echo:a+echo:b,prices=1/4")
    assert isinstance(auction, StrategyAuction)
    assert auction.prices == [1.0, 4.0]


def test_bad_options_are_named() -> None:
    assert read_prices("", 3) == [1.0, 2.0, 3.0]
    with pytest.raises(InvalidOption, match="give 2 numbers"):
        palestra.make_agent("sale:echo:a+echo:b,prices=1/2/3")
    with pytest.raises(InvalidOption, match="give 2 numbers"):
        palestra.make_agent("sale:echo:a+echo:b,prices=dear/cheap")
    with pytest.raises(InvalidOption, match="knapsack needs agents"):
        palestra.make_agent("knapsack")
    with pytest.raises(InvalidOption, match="must be a number above 0, not 0"):
        palestra.make_agent("knapsack:random,low=0")
