"""Reports: every market has plots of its own, and they show what the record holds."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import palestra
import pytest
from msgspec.structs import replace
from palestra import InvalidOption, MissingExtra, PalestraError
from palestra.cli import main
from palestra_markets.report.declared import PLOTS
from palestra_markets.report.page import figures_of, page, plots_of, seat_rows, svg, write_page
from palestra_markets.report.plot import Plot, Series
from palestra_markets.trading.schedules import equilibrium

MARKETS = sorted(spec.id for spec in palestra.specs() if spec.id.startswith("markets/"))
SMALL: dict[str, dict[str, Any]] = {
    "markets/Magentic-v0": {"num_players": 7, "customers": 2},
    "markets/Population-v0": {"people": 200, "weeks": 4},
    "markets/Trading-v0": {"days": 10},
    "markets/HouseAuction-v0": {"houses": 2},
    "markets/PriceNegotiation-v0": {"seller_value": 80, "buyer_value": 120},
}


def run(env: str, agent: str = "random", **options: Any) -> Any:
    seats = palestra.make(env, view="episode", **options).game.num_players
    (record,) = palestra.play(env, agents=[agent] * seats, episodes=1, seed=1, **options)
    return record


def plot(record: Any, title: str) -> dict[str, Series]:
    (found,) = [plot for plot in plots_of(record) if plot.title == title]
    return {line.name: line for line in found.lines}


def test_every_market_declares_its_plots() -> None:
    assert sorted(PLOTS) == MARKETS


@pytest.mark.parametrize("env", MARKETS)
def test_every_market_is_drawn(env: str) -> None:
    agent = "haggler" if env == "markets/PriceNegotiation-v0" else "random"
    record = run(env, agent, **SMALL.get(env, {}))
    drawn = plots_of(record)
    assert len(drawn) > 1
    for one in drawn:
        ElementTree.fromstring(svg(one))
        for line in one.lines:
            assert len(line.x) == len(line.y)


def test_the_double_auction_shows_its_trades_its_book_and_its_surplus() -> None:
    record = run("markets/DoubleAuction-v0", "zip", num_players=6)
    trades = [event.data["price"] for event in record.events if event.kind == "trade"]
    assert list(plot(record, "Prices")["trade"].y) == trades
    deals = [event.data for event in record.opening if event.kind == "deal"]
    sides = [[d["units"] for d in deals if d["role"] == role] for role in ("buyer", "seller")]
    best = equilibrium(*sides)
    assert set(plot(record, "Prices")["equilibrium"].y) == {best.price}
    surplus = plot(record, "Surplus")
    assert surplus["earned"].y[-1] == pytest.approx(sum(record.returns))
    assert surplus["all there is"].y[0] == best.surplus
    quotes = plot(record, "Prices")
    asks, bids = (np.array(quotes[name].y) for name in ("best ask", "best bid"))
    assert not (bids >= asks).any()  # never crossed


def test_wealth_is_held_against_buy_and_hold() -> None:
    record = run("markets/Trading-v0", "buy-and-hold", fee=0.0, slippage=0.0, cash=10_000_000)
    lines = plot(record, "Wealth")
    assert lines["investor"].y == pytest.approx(lines["buy and hold"].y, rel=2e-3)


def test_compartments_sum_to_the_population() -> None:
    record = run("markets/Population-v0", people=500, weeks=5)
    rows = [line.y for line in plot(record, "Compartments").values()]
    assert np.sum(rows, axis=0).tolist() == [500] * 6


def test_the_customers_welfare_is_what_they_were_paid() -> None:
    agents = ["market-customer"] * 3 + ["market-business"] * 6
    (record,) = palestra.play("markets/Magentic-v0", agents=agents, seed=0, customers=3)
    lines = plot(record, "Welfare of the customers")
    assert lines["gained"].y[-1] * 100 == pytest.approx(sum(record.returns[:3]))
    ratio = palestra.measure(record)["welfare-ratio"]
    assert lines["gained"].y[-1] / lines["most there is"].y[0] == pytest.approx(ratio)


def test_names_are_escaped_and_the_page_needs_no_network() -> None:
    record = run("markets/Screening-v0", cases=3)
    record.agents = ("<script>alert(1)</script>",)
    text = page([record])
    assert "<script>" not in text
    assert not re.findall(r'(?:src|href)="http', text)
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert f'http-equiv="Content-Security-Policy" content="{policy}"' in text
    assert "cost-ratio" in text
    assert page([record]) == text


def test_other_games_get_returns_alone(tmp_path: Path) -> None:
    (record,) = palestra.play("games/KuhnPoker-v0", agents=["random"] * 2, seed=0)
    assert [one.title for one in plots_of(record)] == ["Returns so far"]
    with pytest.raises(InvalidOption, match="from 0 to 0"):
        write_page([record], tmp_path / "page.html", episode=1)
    with pytest.raises(InvalidOption, match="no finished episode"):
        write_page([], tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_line_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"palestra-markets\[report\]"):
        svg(Plot("none", []))


def test_bars_stand_apart_and_empty_lines_are_left_out() -> None:
    drawn = svg(Plot("bars", [Series("a", [0, 2], [1, 1], "bars"), Series("none", [], [])]))
    assert "none" not in "".join(ElementTree.fromstring(drawn).itertext()).split("bars", 1)[0]


def test_a_run_writes_its_report_and_a_record_has_one_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = tmp_path / "report.html", tmp_path / "later.html"
    line = ["play", "markets/DoubleAuction-v0", "--agents", "zip", "--render", "report"]
    asked = ["report", str(tmp_path / "episode.jsonl"), "--html", str(later)]
    for arguments in ([*line, "--out", str(tmp_path), "--no-replays"], asked):
        with pytest.raises(SystemExit, match="0"):
            main(arguments)
    assert "Surplus" in first.read_text("utf-8")
    assert first.read_text("utf-8") == later.read_text("utf-8")
    assert "report  " in capsys.readouterr().out


def test_a_page_shows_hostile_names_as_text() -> None:
    hostile = "</script><script>alert(1)</script>\x1b]0;title\x07\u202e"
    record = run("markets/PriceNegotiation-v0")
    record.agents = (hostile, "<img src=x onerror=alert(1)>")
    text = page([record])
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_records_of_several_environments_are_no_run(tmp_path: Path) -> None:
    records = palestra.play("games/KuhnPoker-v0", agents="random")
    records += palestra.play("games/LiarsDice-v0", agents="random", num_players=5)
    with pytest.raises(InvalidOption, match="KuhnPoker-v0 of 2 players', 'games/LiarsDice-v0 of 5"):
        write_page(records, tmp_path / "page.html")


@pytest.mark.filterwarnings("ignore:No artists with labels")
@pytest.mark.parametrize("odd", [{}, [], "x", None, {"a": [[]]}, 1e308], ids=str)
@pytest.mark.parametrize("env", sorted(PLOTS))
def test_a_record_of_other_facts_is_drawn_or_named(env: str, odd: Any, tmp_path: Path) -> None:
    (record,) = palestra.play(env, agents="random", seed=3, max_episode_steps=6)
    for step in record.steps:
        step.facts = dict.fromkeys(step.facts, odd)
        step.events = [replace(one, data=dict.fromkeys(one.data, odd)) for one in step.events]
    with suppress(PalestraError):  # any other error would be a traceback
        assert figures_of(record, 0)


def test_bars_of_something_else_than_numbers_are_named(tmp_path: Path) -> None:
    (record,) = palestra.play("games/KuhnPoker-v0", agents="random")
    record.steps[0].rewards = {0: {"pot": {}}}
    with pytest.raises(InvalidOption, match="cannot be drawn, since a value in it is none"):
        write_page([record], tmp_path / "page.html")


def test_a_seat_without_a_return_has_no_mean() -> None:
    (record,) = palestra.play("games/KuhnPoker-v0", agents=["random", "first"])
    record.returns = (1.5,)
    assert [row[1:] for row in seat_rows([record])] == [("random", "1.5"), ("first", "")]
