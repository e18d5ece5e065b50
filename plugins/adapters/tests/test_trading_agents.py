"""AlphaQuanter's loop and rewards, ContestTrade's teams: by hand, with scripted models."""

from __future__ import annotations

import re
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last
from palestra.agents.models import Request
from palestra_adapters.trading.alpha_quanter import (
    AlphaQuanter,
    accuracy,
    decision_rewards,
    outcome_of,
    read_verdict,
)
from palestra_adapters.trading.contest_team import (
    ContestTeam,
    earnings,
    mix_portfolios,
    read_longs,
    read_weights,
)
from palestra_adapters.trading.reading import mornings, orders_for

ONE: dict[str, Any] = {"shares": 1, "days": 8, "questions": 6, "fee": 0.0, "slippage": 0.0}
SIX: dict[str, Any] = {"shares": 3, "days": 6, "fee": 0.0, "slippage": 0.0}


def decides(word: str, queries: int = 1) -> Free:
    """Asks for prices that many times a day, and then decides."""

    def answer(request: Request) -> str:
        text = last(request)
        asked = text.count("Prices(symbol='ALDR', days=3)\n")
        if asked < queries:
            return "I look first.\nPrices(symbol='ALDR', days=3)"
        return f"Enough.\n{word}"

    return Free(answer)


def play(agent: Any, options: dict[str, Any], seed: int = 3) -> Any:
    (record,) = palestra.play("markets/Trading-v0", agents=[agent], seed=seed, **options)
    return record


def test_a_day_is_queries_then_a_decision_and_its_orders() -> None:
    model = decides("BUY", 2)
    record = play(AlphaQuanter(model=model), ONE)
    first = [turn.raw or str(turn.action) for turn in record.turns][:4]
    assert [re.match(r"\w+", move)[0] for move in first] == ["Prices", "Prices", "Target", "EndDay"]  # type: ignore[index]
    assert len(model.requests) == 3 * 8
    second = last(model.requests[1])
    assert "Your queries today and their answers:\nPrices(symbol='ALDR', days=3)\n" in second
    assert "You may make 3 more queries" in second
    assert sum("decision" in turn.facts for turn in record.turns) == 8
    held = play("buy-and-hold", ONE).returns[0]  # buys the only share on the first day as well
    assert record.returns[0] == pytest.approx(held, abs=1e-3)


@pytest.mark.parametrize("word", ["BUY", "SELL", "HOLD"])
@pytest.mark.parametrize("seed", [3, 4])
def test_a_refused_order_is_followed_by_holding(word: str, seed: int) -> None:
    record = play(AlphaQuanter(model=decides(word, 0)), {**ONE, "days": 20}, seed)
    moves = [turn.raw or str(turn.action) for turn in record.turns]
    orders = [n for n, move in enumerate(moves) if move.startswith("Target")]
    refused = sum(event.kind == "refused" for event in record.events)
    assert refused == (word != "HOLD")
    assert len(orders) == {"BUY": 2, "SELL": 1, "HOLD": 0}[word]
    assert moves.count("EndDay()") == 20


def test_an_order_that_was_refused_is_placed_again_once_another_is_filled() -> None:
    words = iter(["BUY", "BUY", "BUY", "SELL", "SELL", "SELL", "BUY", "BUY"])
    record = play(AlphaQuanter(model=Free(lambda r: next(words)), queries=0), ONE)
    orders = [str(t.raw or t.action) for t in record.turns]
    percents = [re.findall(r"percent=(\d+)", move)[0] for move in orders if "Target" in move]
    assert percents == ["100", "100", "0", "0", "100", "100"]
    assert sum(event.kind == "refused" for event in record.events) == 3


def test_nobody_sells_what_they_do_not_own() -> None:
    record = play(ContestTeam(model=Free("No idea.")), SIX)
    assert not [event for event in record.events if event.kind == "refused"]


def test_holding_changes_nothing_and_no_query_is_made_beyond_the_limit() -> None:
    record = play(AlphaQuanter(model=decides("HOLD", 9), queries=2), ONE)
    assert list(record.returns) == [0.0]
    assert max(turn.facts.get("queries", 0) for turn in record.turns) == 2
    unread = play(AlphaQuanter(model=Free("buy, I think"), queries=0), ONE)
    assert [turn.facts["formed"] for turn in unread.turns if "formed" in turn.facts] == [False] * 8
    assert read_verdict("BUY\nno:\n**SELL**") == ("SELL", True)
    assert read_verdict("I would BUY it") == ("HOLD", False)


@pytest.mark.parametrize(
    ("decision", "forward", "outcome"),
    [
        ("BUY", 0.02, 1.0), ("BUY", 0.005, -1.0), ("BUY", -0.02, -1.0),
        ("SELL", -0.02, 1.0), ("SELL", 0.0, -1.0), ("HOLD", 0.01, 1.0), ("HOLD", 0.02, 0.0),
    ],
)  # fmt: skip
def test_the_dead_zone_by_hand(decision: str, forward: float, outcome: float) -> None:
    assert outcome_of(decision, forward, 0.01) == outcome


def test_rewards_look_at_prices_after_the_decision_and_add_form_and_tools() -> None:
    record = play(AlphaQuanter(model=decides("BUY", 1)), ONE)
    rows = decision_rewards(record, horizon=2, dead_zone=0.0)
    prices = [day["ALDR"] for day in mornings(record).values()]
    assert len(rows) == len(prices) - 2
    assert [row.forward for row in rows] == pytest.approx(
        [later / now - 1 for now, later in zip(prices, prices[2:], strict=False)]
    )
    assert all(row.total == pytest.approx(row.outcome + 0.05) for row in rows)
    assert accuracy(rows) == sum(row.forward > 0 for row in rows) / len(rows)
    unread = decision_rewards(play(AlphaQuanter(model=Free("?"), queries=0), ONE), horizon=1)
    assert {row.form for row in unread} == {-0.1}


# ContestTrade


def members(request: Request) -> str:
    """Researchers: the first invests everything in the first share, the second in the second…"""
    text = last(request)
    names = re.findall(r"^(\w+): opens at", text, re.MULTILINE)
    if "You are an analyst" in text:
        return f"All fine.\nLONG: {names[0]}"
    for number, word in enumerate(("trends", "has fallen", "news and reports.")):
        if f"{word}" in text.rpartition("Propose the portfolio")[0][-60:]:
            return f"{names[number]}: 100%"
    return "cash"


def test_a_portfolio_follows_the_researchers_who_would_have_earned_most() -> None:
    agent = ContestTeam(model=Free(members), keep=1, memory=1.0)
    record = play(agent, SIX)
    days = list(mornings(record).values())
    facts = [turn.facts for turn in record.turns if "followed" in turn.facts]
    names = list(days[0])
    for day in range(1, len(days)):
        gains = [days[day][name] / days[day - 1][name] - 1 for name in names]
        assert facts[day]["scores"][:3] == pytest.approx(gains)  # those of yesterday's proposals
        best = max(range(4), key=lambda n: [*gains, 0.0][n])
        assert facts[day]["followed"][best] == 1.0
    assert facts[0]["scores"] == [0.0] * 4


def test_without_a_contest_all_are_followed_alike() -> None:
    agent = ContestTeam(model=Free(members), contest=False)
    assert agent.followed([0.5, -1.0, 0.0, 9.0]) == [0.25] * 4
    contest = ContestTeam(model=Free(members), keep=2)
    assert contest.followed([0.3, -1.0, 0.1, 0.0]) == pytest.approx([0.75, 0.0, 0.25, 0.0])
    assert contest.followed([-0.3, -1.0, -0.1, -0.2]) == [0.0, 0.0, 0.5, 0.5]


def test_researchers_read_the_factors_of_the_best_analysts_alone_as_quotations() -> None:
    def answer(request: Request) -> str:
        text = last(request)
        if "analyst of prices" in text:
            return "first analyst\nspeaks\nLONG: none"
        if "analyst of news" in text:
            return "second analyst\nLONG: ALDR"
        return "cash"

    model = Free(answer)
    play(ContestTeam(model=model, keep=1), SIX)
    texts = map(last, model.requests)
    asked = [text for text in texts if "Propose the portfolio" in text]
    assert '"first analyst speaks LONG: none"' in asked[0]
    assert "second analyst" not in asked[0]


def test_reading_and_mixing_by_hand() -> None:
    prices = {"A": 10.0, "B": 20.0}
    assert read_weights("A: 150%\n- B: 50 %\nC: 10%", prices) == {"A": 0.75, "B": 0.25}
    assert read_longs("x\nLONG: A, C, B.", prices) == {"A": 0.5, "B": 0.5}
    assert read_longs("LONG: none", prices) == {}
    assert mix_portfolios([{"A": 1.0}, {"B": 0.5}], [0.25, 0.75], prices) == {"A": 0.25, "B": 0.375}
    assert earnings({"A": 0.5}, prices, {"A": 11.0, "B": 1.0}) == pytest.approx(0.05)
    assert orders_for({"A": 0.2, "B": 0.0, "C": 0.0}, ["B"]) == [
        "Target(symbol='B', percent=0)",
        "Target(symbol='A', percent=20)",
        "EndDay()",
    ]
