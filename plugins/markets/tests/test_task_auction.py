"""Task auctions: second scores, rebids, and what the largest agent is needed for."""

from __future__ import annotations

from itertools import product
from math import exp
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.tasks.auction import Bid, Pass, TaskAuction
from palestra_markets.tasks.bidding import LONGEST, Plan, Worker, second_price, winner_of

ID = "markets/TaskAuction-v0"
EXACT = {"second": True, "rebids": False, "noise": 0.0}


def play(margin: int = 0, **options: Any) -> Any:
    agents = [f"task-bidder:margin={margin}"] * options.get("num_players", 4)
    return palestra.play(ID, agents=agents, **{"seed": 0, "episodes": 1} | options)


def test_success_is_the_stated_logistic() -> None:
    assert Worker(3.0, 10).success(3, 1) == pytest.approx(0.5)
    assert Worker(2.0, 10).success(4, 5) == pytest.approx(1 / (1 + exp(2) / 5))


def test_the_lowest_score_wins_and_the_cheaper_of_equals() -> None:
    plans = [Plan(1, 300, 0.8), Plan(1, 100, 0.6), None, Plan(1, 200, 0.7)]
    assert winner_of(plans, 1000) == 1  # all score -500
    assert winner_of([Plan(1, 900, 0.8), None], 1000) == -1
    assert second_price([Plan(1, 100, 0.9), Plan(1, 300, 0.8)], 1000, 0) == 400
    assert second_price([Plan(1, 100, 0.9), None], 1000, 0) == 900


def test_no_bid_beats_the_cost_of_the_best_plan_under_second_scores() -> None:
    """Every plan at every price on a grid, against others who bid well, badly, or not at all."""
    game = TaskAuction(num_players=3, rounds=1, **EXACT)
    for seed in range(6):
        start = game.initial_state(seed)
        own = start.workers[0]
        steps = own.best_plan(start.difficulty, game.worth)
        honest = Bid(steps, own.cost(steps))
        rivals = [Pass(), Bid(3, 150), Bid(8, 900)]
        for others in product(rivals, repeat=2):

            def gain(bid: Any, start: Any = start, others: Any = others) -> float:
                state = game.clone(start)
                game.step(state, {0: bid, 1: others[0], 2: others[1]})
                return float(state.earned[0])

            best = max(
                gain(Bid(n, ask)) for n in range(1, LONGEST + 1) for ask in range(0, 1001, 20)
            )
            assert gain(honest) >= best - 1  # prices are rounded up to whole units
            assert gain(honest) >= 0


def test_honest_bids_give_every_task_to_whom_it_suits_best() -> None:
    for record in play(episodes=5, **EXACT):
        assert palestra.measure(record)["task-efficiency"] == pytest.approx(1, abs=1e-3)


def test_hard_tasks_go_to_larger_agents_and_most_tasks_do_not() -> None:
    won: dict[int, list[int]] = {level: [] for level in range(1, 6)}
    for record in play(episodes=20, **EXACT):
        for event in record.events:
            if event.kind == "reveal" and event.data["winner"] >= 0:
                won[event.data["difficulty"]].append(event.data["winner"])
    means = [np.mean(won[level]) for level in sorted(won)]
    assert means[0] < means[1] < means[2]
    assert min(means[3:]) > means[1] + 0.5
    shares = [palestra.measure(r)["largest-share"] for r in play(episodes=20, **EXACT)]
    assert 0 < np.mean(shares) < 0.5


def test_the_auction_costs_less_than_the_largest_agent_alone() -> None:
    """At about equal success: what tasks cost the winners, and what they would cost the largest."""
    spent, alone, gains, single = 0.0, 0.0, 0.0, 0.0
    for record in play(episodes=20, **EXACT):
        told = [e.data for e in record.opening if e.kind == "worker"]
        workers = [Worker(data["skill"], data["step_cost"]) for data in told]
        for event in record.events:
            if event.kind != "reveal" or event.data["winner"] < 0:
                continue
            level = event.data["difficulty"]
            for worker, best in ((workers[event.data["winner"]], False), (workers[-1], True)):
                steps = worker.best_plan(level, 1000)
                cost, chance = worker.cost(steps), worker.success(level, steps)
                if best:
                    alone, single = alone + cost, single + chance
                else:
                    spent, gains = spent + cost, gains + chance
    assert spent < 0.8 * alone
    assert gains > 0.9 * single


def test_without_rebids_the_first_bids_decide() -> None:
    episode = Episode(TaskAuction(rebids=False, rounds=2, noise=0.0), seed=0)
    episode.act({p: Bid(3, 100 + 50 * p) for p in range(4)})
    assert episode.state.round == 1


def test_only_cheaper_losers_bid_again_and_can_win() -> None:
    episode = Episode(TaskAuction(noise=0.0, rounds=1), seed=1)
    for asks in product((5, 400), repeat=2):
        twin = episode.fork()
        twin.act({0: Bid(1, asks[0]), 1: Pass(), 2: Bid(1, asks[1]), 3: Bid(10, 450)})
        leader = twin.state.leader
        if twin.over:
            continue
        ask = twin.state.plans[leader].ask
        assert leader not in twin.to_act
        assert 1 not in twin.to_act
        assert all(twin.state.plans[seat].ask < ask for seat in twin.to_act)
        challenger = twin.to_act[0]
        others = {seat: Pass() for seat in twin.to_act}
        twin.act({**others, challenger: Bid(10, 0)})
        assert twin.over
        assert sum(twin.state.won) == 1


def test_winners_are_paid_and_pay_for_their_steps() -> None:
    (record,) = play(margin=20)
    paid = sum(e.data["paid"] for e in record.events if "succeeded" in e.data)
    terms = [terms for step in record.steps for terms in step.rewards.values()]
    assert sum(t["paid"] for t in terms) == paid
    assert sum(record.returns) == pytest.approx(sum(t["paid"] + t["steps"] for t in terms))


@pytest.mark.parametrize("text", ["Bid(steps=0, ask=5)", "Bid(steps=11, ask=5)", "Bid(1, -1)"])
def test_impossible_bids_are_refused(text: str) -> None:
    with pytest.raises(InvalidAction):
        Episode(TaskAuction(), seed=0).parse(0, text)


@pytest.mark.parametrize(
    "options", [{"num_players": 1}, {"worth": 5}, {"noise": float("nan")}, {"rounds": 0}]
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        TaskAuction(**options)
