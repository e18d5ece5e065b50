"""ContestTrade's team: scores from the past alone, and what the contest is good for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption, Turn
from palestra_markets.stocks.contest import RESEARCHERS, ContestTrader, Factors
from palestra_markets.stocks.market import redraw_from
from palestra_markets.stocks.trading import Trading

ID = "markets/Trading-v0"


def trend(path: Path, days: int = 100) -> str:
    """Two shares that rise and one that falls, a percent a day."""
    rates = {"UP": 0.01, "TOO": 0.01, "DOWN": -0.01}
    dates = np.busday_offset("2030-01-01", np.arange(days), roll="forward")
    rows = ["date,symbol,open,high,low,close,volume"]
    for day, date in enumerate(dates):
        for symbol, rate in rates.items():
            price = f"{100 * np.exp(rate * day):.2f}"
            rows.append(f"{date},{symbol},{price},{price},{price},{price},1000")
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_researchers_propose_what_their_factors_say() -> None:
    rises = np.array([[0, 0.1, 0.3], [0, -0.2, 0.1], [0, 0.0, -0.1], [0, -0.1, 0.2]])
    factors = Factors(rises, np.array([1, -1, 0, 1]))
    proposed = {name: propose(factors).tolist() for name, propose in RESEARCHERS.items()}
    assert proposed == {
        "momentum": [0.5, 0, 0, 0.5],
        "reversal": [0, 0.5, 0, 0.5],
        "reports": [0.5, 0, 0, 0.5],
        "holding": [0.25] * 4,
        "cash": [0] * 4,
    }


def test_the_best_are_heard_in_proportion_and_everything_is_held_without_any() -> None:
    team = ContestTrader(keep=2)
    assert team.shares_of(np.array([0.3, -1, 0.1, 0.2, 0])).tolist() == pytest.approx(
        [0.6, 0, 0, 0.4, 0]
    )
    assert team.shares_of(np.full(5, -0.1)).tolist() == [0, 0, 0, 1, 0]
    assert ContestTrader(contest=False).shares_of(np.zeros(5)).tolist() == [0.2] * 5


def test_the_contest_follows_who_is_right_where_winners_go_on_winning(tmp_path: Path) -> None:
    options = {"data": trend(tmp_path / "trend.csv"), "days": 30, "fee": 0.0, "slippage": 0.0}
    (team,), (equal,), (held,) = (
        palestra.play(ID, agents=[agent], seed=0, **options)
        for agent in ("contest-trader", "contest-trader:contest=false", "buy-and-hold")
    )
    assert team.returns[0] > held.returns[0] > 0
    assert team.returns[0] > equal.returns[0] + 0.05


def decisions(episode: Episode, until: int) -> list[Any]:
    agent, made = ContestTrader(), []
    while episode.state.day - episode.state.start < until:
        (decision,) = agent.act([Turn(episode, 0)])
        made.append(decision.action)
        episode.act({0: decision.action})
    return made


def test_what_the_team_does_up_to_a_day_does_not_depend_on_what_follows() -> None:
    game = Trading(days=20)
    episode = Episode(game, seed=5)
    state = episode.state
    state.imagined = redraw_from(game.market(state), state.start + 12, 1)
    other = episode.fork()
    other.load(state)
    made = decisions(episode, 12)
    assert decisions(other, 12) == made
    assert decisions(episode, 19) != decisions(other, 19)


def test_the_team_reads_reports() -> None:
    """Over the drawn markets its news is worth something: it beats holding in the mean."""
    records = palestra.play(ID, agents=["contest-trader"], episodes=12, seed=0)
    measured = [palestra.measure(record)["excess-return"] for record in records]
    assert np.mean(measured) > 0


@pytest.mark.parametrize("option", ["keep=0", "every=0"])
def test_bad_options_are_named(option: str) -> None:
    with pytest.raises(InvalidOption, match="must be an integer at least 1"):
        palestra.play(ID, agents=[f"contest-trader:{option}"])
