"""Trading: no look-ahead, money, indicators and performance by pandas, files that are refused."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pandas as pd
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_markets.stocks import metrics
from palestra_markets.stocks.indicators import INDICATORS
from palestra_markets.stocks.market import redraw_from
from palestra_markets.stocks.synthetic import BIG_MOVE, COMPANIES, draw_market
from palestra_markets.stocks.trading import (
    Buy,
    EndDay,
    Fundamentals,
    Indicators,
    News,
    Prices,
    Sell,
    Target,
    Trading,
)

ID = "markets/Trading-v0"
FREE = {"fee": 0.0, "slippage": 0.0}


def told(episode: Episode) -> str:
    return episode.transcript(0)[-1].text


# No look-ahead


def play_all_tools(episode: Episode, until: int) -> list[str]:
    """Every question about every share on every day, and some orders; what was seen and paid."""
    rng, story = Rng(3), []
    symbols = episode.game.symbols  # type: ignore[attr-defined]
    while episode.state.day - episode.state.start < until:
        for symbol in symbols:
            asked = (Prices(symbol, 250), Indicators(symbol), Fundamentals(symbol), News(symbol, 9))
            for action in (*asked, Target(symbol, rng.between(0, 40))):
                episode.act({0: action})
                story.append(f"{told(episode)} {episode.rewards}")
        story.append(episode.describe(0) + repr(episode.observation(0).tolist()))
        episode.act({0: EndDay()})
        story.append(f"{told(episode)} {episode.rewards}")
    return story


@pytest.mark.parametrize("until", [1, 4, 15])
def test_the_future_of_a_drawn_market_changes_nothing_before_it(until: int) -> None:
    game = Trading(shares=3, days=20, questions=99, orders=99)
    episode = Episode(game, seed=2)
    story = play_all_tools(episode.fork(), until)
    state = episode.state
    for seed in (1, 2, 3):
        state.imagined = redraw_from(game.market(episode.state), state.start + until, seed)
        other = episode.fork()
        other.load(state)
        assert game.market(state).bars["close"][-1].tolist() != (
            game.market(episode.state).bars["close"][-1].tolist()
        )
        assert play_all_tools(other, until) == story


def test_permuting_the_future_of_a_file_changes_nothing_before_it(tmp_path: Path) -> None:
    """Rows of later dates are exchanged among themselves; up to the change all is the same."""
    days, until, options = 30, 6, {"days": 12, "questions": 99, "orders": 99}
    rows = table(days)
    first = Episode(Trading(data=write(tmp_path / "a.csv", rows), start=rows.date[18], **options))
    cut = rows.date.isin(rows.date.unique()[: 9 + until])
    later = rows[~cut]
    mixed = later.iloc[::-1].reset_index(drop=True)
    mixed["date"] = later["date"].to_numpy()
    path = write(tmp_path / "b.csv", pd.concat([rows[cut], mixed]))
    second = Episode(Trading(data=path, start=rows.date[18], **options))
    one, other = (play_all_tools(e, until) for e in (first, second))
    # the last morning's opening prices are already of the changed part
    assert one[:-1] == other[:-1]
    assert one[-1] != other[-1]


def test_a_longer_market_begins_with_the_shorter_one() -> None:
    short, long = draw_market(4, 80, 5), draw_market(4, 200, 5)
    for name, column in short.bars.items():
        assert (column == long.bars[name][:80]).all()
    assert short.news == long.news[:80]


# Prices and headlines


def test_headlines_agree_with_the_prices_and_the_earnings() -> None:
    market = draw_market(20, 400, 1)
    names = {name: share for share, (_, name) in enumerate(COMPANIES)}
    closes, counted = market.bars["close"], 0
    for day, lines in enumerate(market.news):
        for line in lines:
            words = line.text.split()
            share = names.get(" ".join(words[:2]), -1)
            if "yesterday" in line.text and line.symbol:
                change = 100 * (closes[day - 1, share] / closes[day - 2, share] - 1)
                sign = 1 if "jumped" in words else -1
                assert float(words[3]) == pytest.approx(sign * change, abs=0.051)
                assert sign * change >= BIG_MOVE
                counted += 1
            elif "rally" in line.text or "slide" in line.text:
                change = 100 * (closes[day - 1] / closes[day - 2] - 1).mean()
                assert float(words[6]) == pytest.approx(change, abs=0.051)
                counted += 1
    assert counted > 50


def test_earnings_above_what_was_expected_raise_the_opening_price() -> None:
    gaps: dict[str, list[float]] = {"more": [], "less": []}
    for seed in range(3):
        market = draw_market(20, 400, seed)
        symbols = list(market.symbols)
        for day, lines in enumerate(market.news):
            for line in lines:
                word = next((w for w in gaps if f" {w} than the " in line.text), None)
                if word and day:
                    share = symbols.index(line.symbol)
                    opened = market.bars["open"][day, share]
                    gaps[word].append(float(opened / market.bars["close"][day - 1, share] - 1))
    assert min(map(len, gaps.values())) > 50
    assert np.mean(gaps["more"]) > 0.01
    assert np.mean(gaps["less"]) < -0.01


def test_bars_are_bars_and_facts_follow_the_prices() -> None:
    market = draw_market(20, 300, 3)
    bars = market.bars
    assert (bars["low"] <= np.minimum(bars["open"], bars["close"])).all()
    assert (bars["high"] >= np.maximum(bars["open"], bars["close"])).all()
    assert bars["low"].min() >= 1
    assert (market.facts["days_to_report"] >= 1).all()
    episode = Episode(Trading(), seed=0)
    episode.act({0: Fundamentals("NOVA" if "NOVA" in episode.game.symbols else "CORA")})  # type: ignore[attr-defined]
    facts: Any = episode.transcript(0)[-1].data["facts"]
    ratio = facts["last_close"] / facts["earnings_per_share"]
    assert facts["price_to_earnings"] == pytest.approx(ratio)


# Indicators and measures by pandas


def test_indicators_are_those_of_pandas() -> None:
    closes = draw_market(1, 120, 7).bars["close"][:, 0].astype(float)
    series = pd.Series(closes)
    moves = series.diff().dropna()
    up, down = (
        part.ewm(alpha=1 / 14, adjust=False).mean().iloc[-1]
        for part in (moves.clip(lower=0), -moves.clip(upper=0))
    )
    fast, slow = (series.ewm(span=span, adjust=False).mean() for span in (12, 26))
    expected = {
        "average_20": series.rolling(20).mean().iloc[-1] / 100,
        "average_50": series.rolling(50).mean().iloc[-1] / 100,
        "relative_strength_14": 100 - 100 / (1 + up / down),
        "macd": (fast - slow).iloc[-1] / 100,
        "macd_signal": (fast - slow).ewm(span=9, adjust=False).mean().iloc[-1] / 100,
        "volatility_20": 100 * series.pct_change().rolling(20).std().iloc[-1],
        "momentum_20": 100 * series.pct_change(20).iloc[-1],
    }
    assert {n: f(closes) for n, f in INDICATORS.items()} == pytest.approx(expected)
    assert {f(closes[:5]) for f in INDICATORS.values()} == {None}


def test_measures_are_those_of_pandas() -> None:
    values = pd.Series(draw_market(1, 120, 8).bars["close"][:, 0].astype(float))
    fall = -(values / values.cummax() - 1).min()
    assert metrics.drawdown(values.to_numpy()) == pytest.approx(fall)
    returns = values.pct_change().dropna()
    downside = (returns.clip(upper=0) ** 2).mean() ** 0.5
    expected = returns.mean() / downside * 252**0.5
    assert metrics.sortino(values.to_numpy()) == pytest.approx(expected)


def test_drawdown_and_sortino_of_a_path_by_hand() -> None:
    values = np.array([100.0, 110.0, 99.0, 99.0])  # returns of 10, -10 and 0 percent
    assert metrics.drawdown(values) == pytest.approx(0.1)
    assert metrics.sortino(values) == pytest.approx(0, abs=1e-12)
    assert metrics.sortino(np.array([100.0, 90.0])) == pytest.approx(-(252**0.5))
    assert metrics.sortino(np.array([1.0, 2.0])) == 0


def test_sharpe_ratio_of_a_path_by_hand() -> None:
    values = np.array([100.0, 110.0, 121.0, 108.9])  # 10, 10 and -10 percent
    expected = (0.1 / 3) / (0.2 / 3**0.5) * 252**0.5
    assert metrics.sharpe(values) == pytest.approx(expected)
    assert metrics.sharpe(np.array([1.0, 2.0])) is None
    assert metrics.sharpe(np.array([1.0, 1.0, 1.0])) is None


def test_buy_and_hold_earns_the_ratio_of_prices() -> None:
    """Without costs, up to the cash that is too little for one more share."""
    for record in palestra.play(ID, agents=["buy-and-hold"], episodes=3, seed=0, **FREE):
        market = draw_market(6, 120, record.seed)
        begun, ended = market.bars["open"][60], market.bars["close"][-1]
        left = 6 * begun.max() / 10_000_000
        ratio = float((ended / begun).mean()) - 1
        assert record.returns[0] == pytest.approx(ratio, abs=left)
        assert palestra.measure(record)["excess-return"] == pytest.approx(0, abs=left)
        assert palestra.measure(record)["total-return"] == pytest.approx(record.returns[0])


def test_momentum_beats_the_market_where_winners_go_on_winning(tmp_path: Path) -> None:
    rows = table(100)
    days = rows.groupby("date").ngroup()
    rate = rows.symbol.map({"UP": 0.01, "DOWN": -0.01})
    for name in ("open", "high", "low", "close"):
        rows[name] = (100 * np.exp(rate * days)).round(2)
    path = write(tmp_path / "trend.csv", rows)
    (record,) = palestra.play(ID, agents=["momentum-trader:keep=1"], data=path, days=30, **FREE)
    assert record.returns[0] == pytest.approx(np.exp(0.01 * 29) - 1, abs=0.01)
    assert palestra.measure(record)["max-drawdown"] == 0


# Money


def test_costs_are_what_the_options_say_and_money_is_conserved() -> None:
    episode = Episode(Trading(fee=10, slippage=20), seed=0)
    price = int(episode.game.morning(episode.state).opens[0])  # type: ignore[attr-defined]
    episode.act({0: Buy("ALDR", 1000)})
    costs = 1000 * price * 0.003
    assert episode.rewards[0] * 10_000_000 == pytest.approx(-costs, abs=2)
    episode.act({0: Sell("ALDR", 1000)})
    assert episode.returns[0] * 10_000_000 == pytest.approx(-2 * costs, abs=4)
    state = episode.state
    state.ledger.check()
    assert state.ledger.balances["broker"] == 2 * price
    assert state.ledger.balances["investor"] == 10_000_000 + round(1e7 * episode.returns[0])


def test_returns_are_the_change_of_wealth() -> None:
    for record in palestra.play(ID, agents=["random"], episodes=5, seed=1):
        state = palestra.replay(record).state
        state.ledger.check()
        assert record.returns[0] == pytest.approx(state.base / 10_000_000 - 1)
        assert record.returns[0] == pytest.approx(palestra.measure(record)["total-return"])


@pytest.mark.parametrize("order", [Buy("DUNE", 1000), Sell("BRYN", 5), Target("DUNE", 0)])
def test_what_cannot_be_paid_or_is_not_there_is_refused_and_changes_nothing(order: Any) -> None:
    episode = Episode(Trading(), seed=0)
    episode.act({0: Buy("ALDR", 9)})
    episode.act({0: Buy("BRYN", 4)})
    before = deepcopy(episode.state.ledger)
    episode.act({0: order})
    assert told(episode).startswith("Your order is refused")
    assert episode.state.ledger == before
    assert episode.rewards[0] == 0


def test_a_refusal_says_how_many_shares_the_cash_buys() -> None:
    episode = Episode(Trading(), seed=0)
    episode.act({0: Buy("DUNE", 1000)})
    most = int(told(episode).rsplit(" ", 1)[1].rstrip("."))
    twin = episode.fork()
    twin.act({0: Buy("DUNE", most + 1)})
    assert "refused" in told(twin)
    episode.act({0: Buy("DUNE", most)})
    assert "You buy" in told(episode)
    assert 0 <= episode.state.ledger.balances["investor"] < 15_000


@pytest.mark.parametrize(
    "text",
    [
        "Buy(symbol='XXXX', shares=1)",
        "Buy(symbol='ALDR', shares=-5)",
        "Buy(symbol='ALDR', shares=5000)",
        "Sell(symbol='ALDR', shares=1)",
    ],
)
def test_nonsense_orders_are_refused(text: str) -> None:
    with pytest.raises(InvalidAction):
        Episode(Trading(), seed=0).parse(0, text)


def test_questions_and_orders_run_out_and_come_back_next_day() -> None:
    episode = Episode(Trading(questions=1, orders=1), seed=0)
    episode.act({0: News("ALDR", 5)})
    with pytest.raises(InvalidAction):
        episode.parse(0, "News(symbol='ALDR', days=5)")
    episode.act({0: Target("ALDR", 50)})
    assert episode.legal_text(0) == "EndDay()"
    episode.act({0: EndDay()})
    episode.parse(0, "News(symbol='ALDR', days=5)")


# Files


def table(days: int, symbols: tuple[str, ...] = ("UP", "DOWN")) -> pd.DataFrame:
    """A good file: prices of a drawn market under other names, with one fact."""
    market = draw_market(len(symbols), days, 4)
    rows = [
        {
            "date": date,
            "symbol": symbol,
            **{name: market.bars[name][day, share] / 100 for name in ("open", "high", "low")},
            "close": market.bars["close"][day, share] / 100,
            "volume": int(market.bars["volume"][day, share]),
            "dividend_yield": 0.5 + day,
        }
        for day, date in enumerate(market.dates)
        for share, symbol in enumerate(symbols)
    ]
    return pd.DataFrame(rows)


def write(path: Path, rows: pd.DataFrame) -> str:
    rows.to_csv(path, index=False)
    return str(path)


def test_a_file_is_read_to_the_cent_with_facts_and_news(tmp_path: Path) -> None:
    rows = table(80)
    path, news = write(tmp_path / "p.csv", rows), str(tmp_path / "n.csv")
    day = rows.date[2 * 65]
    pd.DataFrame(
        {"date": ["2030-01-05", day], "symbol": ["UP", ""], "headline": ["Old.", "Rates rise."]}
    ).to_csv(news, index=False)
    episode = Episode(Trading(data=path, news=news, days=10, start=day), seed=0)
    market = draw_market(2, 80, 4)
    assert (episode.game.market(episode.state).bars["close"] == market.bars["close"]).all()  # type: ignore[attr-defined]
    episode.act({0: News("UP", 30)})
    assert told(episode) == f"{day}: Rates rise."
    episode.act({0: Fundamentals("DOWN")})
    assert episode.transcript(0)[-1].data["facts"]["dividend_yield"] == 65.5


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    rows = table(70)
    parquet = str(tmp_path / "p.parquet")
    rows.assign(date=pd.to_datetime(rows.date)).to_parquet(parquet)
    games = [Trading(data=path, days=5) for path in (write(tmp_path / "p.csv", rows), parquet)]
    one, other = (game.market(game.initial_state(0)) for game in games)
    assert one.dates == other.dates
    assert all((one.bars[name] == other.bars[name]).all() for name in one.bars)


def test_the_seed_picks_the_days_of_a_file(tmp_path: Path) -> None:
    game = Trading(data=write(tmp_path / "p.csv", table(120)), days=10)
    starts = {game.initial_state(seed).start for seed in range(30)}
    assert len(starts) > 10
    assert min(starts) >= 60
    assert max(starts) <= 110


def broken(change: Any) -> pd.DataFrame:
    rows = table(70).astype({"open": object, "low": object, "date": object})
    return change(rows)


def put(row: int, column: str, value: Any) -> Any:
    def change(rows: pd.DataFrame) -> pd.DataFrame:
        rows.loc[row, column] = value
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.drop(index=7), r"line 9: 2030-01-04 has no row for DOWN"),
        (lambda rows: rows.drop(index=range(8, 40)), r"line 10: no row between .* a gap of more"),
        (
            lambda rows: pd.concat([rows[:4], rows[3:]]),
            r"line 6: DOWN on 2030-01-02 is in line 5 already",
        ),
        (lambda rows: pd.concat([rows[4:6], rows]), r"line 4: 2030-01-01 comes after 2030-01-03"),
        (put(3, "open", 0), r"line 5: open must be a price from 0.01"),
        (put(3, "open", -4.5), r"line 5: open must be a price from 0.01"),
        (put(3, "open", "nan"), r"line 5: open must be a number|line 5: open must be finite"),
        (put(3, "open", "inf"), r"line 5: open must be finite"),
        (put(3, "low", 1e6), r"line 5: low 1000000.0 is above"),
        (put(3, "date", "1/2/2030"), r"line 5: date must be like 2024-03-28, not '1/2/2030'"),
        (put(3, "symbol", "IT'S"), r"line 5: symbol must be"),
        (lambda rows: rows.drop(columns="close"), r"has no column close; it has date, symbol"),
        (lambda rows: rows[:0], r"has no rows"),
        (lambda rows: rows[:60], r"has 30 days; days=60 needs at least 62"),
    ],
)
def test_a_bad_file_is_refused_by_line(tmp_path: Path, change: Any, said: str) -> None:
    path = write(tmp_path / "p.csv", broken(change))
    with pytest.raises(InvalidOption, match=said):
        Trading(data=path)


def test_a_missing_file_headlines_of_strangers_and_days_out_of_range_are_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidOption, match=r"cannot read nowhere\.csv: No such file"):
        Trading(data="nowhere.csv")
    path = write(tmp_path / "p.csv", table(70))
    news = tmp_path / "n.csv"
    news.write_text("date,symbol,headline\n2030-01-05,WHO,Hello.\n")
    with pytest.raises(InvalidOption, match="line 2: 'WHO' has no prices; symbols are UP, DOWN"):
        Trading(data=path, news=str(news), days=5)
    with pytest.raises(InvalidOption, match="start must be from 2030-01-03 to"):
        Trading(data=path, start="2031-01-01", days=5)


@pytest.mark.parametrize(
    "options",
    [{"shares": 0}, {"shares": 21}, {"days": 0}, {"fee": -1.0}, {"slippage": float("nan")},
     {"cash": 0}, {"orders": 0}, {"news": "n.csv"}],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Trading(**options)
