"""The data room: figures by pandas and NumPy from the files as they are written."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import palestra
import pandas as pd
import pytest
from palestra_tasks.analysis.company import (
    FIGURES,
    FILES,
    discounted,
    draw_company,
    figures,
    write_files,
)
from palestra_tasks.analysis.dataroom import Compute, DataRoom, Enter, Open, compute, read_number
from palestra_tasks.desk import Finish


@pytest.mark.parametrize("seed", range(12))
def test_figures_are_those_of_pandas_on_the_files(seed: int) -> None:
    company = draw_company((seed, seed + 50, seed + 90, seed + 7))
    files = write_files(company)
    income = pd.read_csv(io.StringIO(files["income.csv"]), comment="#", index_col="year")
    balance = pd.read_csv(io.StringIO(files["balance.csv"]), comment="#", index_col="item").amount
    market = json.loads(files["market.json"])
    notes = files["notes.txt"]
    one_off, leases = (int(re.findall(p, notes)[0]) for p in (r"of (\d+) million", r"of (\d+) th"))
    flows = np.array([float(x) for x in re.findall(r"20\d\d: (\d+)", notes)])
    growth = float(re.findall(r"grow by ([\d.]+)", notes)[0]) / 100
    last = income.loc[2023]
    ebitda = last.revenue - last["cost of goods sold"] - last.overheads
    debt = balance["financial debt"] / 1e3 + leases / 1e3 - balance["cash"] / 1e3
    equity = market["share price"] * market["shares (millions)"]
    capm = np.polyval([market["equity premium (%)"], market["risk-free rate (%)"]], market["beta"])
    rates = [capm, market["interest on debt (%)"] * (1 - market["tax rate (%)"] / 100)]
    wacc = np.average(rates, weights=[equity, debt])
    # 200 years of cash flows one by one, as a polynomial of the discount factor
    many = np.append(flows, flows[-1] * (1 + growth) ** np.arange(1, 3000))
    factor = 1 / (1 + wacc / 100)
    value = np.polyval(np.append(many[::-1], 0.0), factor)
    wanted = {
        "revenue growth": 100 * income.revenue.pct_change().loc[2023],
        "gross margin": 100 - 100 * last["cost of goods sold"] / last.revenue,
        "ebitda": ebitda,
        "market value": equity,
        "net debt": debt,
        "adjusted ebitda": ebitda + one_off,
        "leverage": debt / (ebitda + one_off),
        "multiple": (equity + debt) / (ebitda + one_off),
        "cost of equity": capm,
        "wacc": wacc,
        "enterprise value": value,
        "upside": 100 * (value - debt - equity) / equity,
    }
    assert figures(company) == pytest.approx(wanted, rel=1e-6)
    assert set(wanted) == {one.name for one in FIGURES}


def test_the_discounted_value_is_gordons() -> None:
    # a dividend of 2 next year that grows by 6 % is worth 2 / (0.12 - 0.06) at 12 %
    assert discounted([2.0], 0.12, 0.06) == pytest.approx(2 / 0.06)
    assert discounted([2.0, 2.12, 2.2472], 0.12, 0.06) == pytest.approx(2 / 0.06)


def test_files_that_were_not_opened_are_drawn_anew() -> None:
    game = DataRoom(company="plain", level="hard")
    episode = palestra.Episode(game, 2)
    episode.act({0: Open("notes.txt")})
    true = write_files(draw_company(episode.state.seeds))
    others = [
        write_files(draw_company(game.determinize(episode.state, 0, palestra.Rng(n)).seeds))
        for n in range(20)
    ]
    for file in FILES:
        same = [one[file] == true[file] for one in others]
        assert all(same) if file == "notes.txt" else not any(same), file


def test_a_memo_that_contradicts_the_model_loses_its_criterion() -> None:
    game = DataRoom(company="plain", level="easy")

    def score(memo: str | None) -> float:
        episode = palestra.Episode(game, 3)
        true = figures(draw_company(episode.state.seeds))
        for one in game.asked:
            episode.act({0: Enter("model", one.name, f"{true[one.name]:.4f}")})
        for name in game.headlines(episode.state) if memo is not None else ():
            episode.act({0: Enter("memo", name, memo or f"{true[name]:.4f}")})
        episode.act({0: Finish()})
        return episode.returns[0]

    assert score("") == 1
    assert score("1") == score(None) == pytest.approx(4 / 8)


def test_half_a_percent_is_close_enough_and_more_is_not() -> None:
    game = DataRoom(company="plain", level="easy")
    for factor, right in ((1.004, 1), (1.007, 0), (-1, 0)):
        episode = palestra.Episode(game, 5)
        true = figures(draw_company(episode.state.seeds))["ebitda"]
        episode.act({0: Enter("model", "ebitda", f"{true * factor:.4f}")})
        episode.act({0: Finish()})
        assert episode.returns[0] == right / 8


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("9 ** 9 ** 9 ** 9", "OverflowError"),
        ("(-8) ** 0.5", "ValueError"),
        ("open('x')", "ValueError"),
        ("", "SyntaxError"),
        ("1e308 * 10", "finite"),
        ("(" * 90 + "1", "SyntaxError"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_name(text: str, why: str) -> None:
    assert why in str(compute(text))


@pytest.mark.parametrize("text", ["nan", "inf", "", "twelve", "1e400", "0x10"])
def test_what_is_no_number_is_not_entered(text: str) -> None:
    assert read_number(text) is None
    episode = palestra.Episode(DataRoom(company="plain"), 1)
    episode.act({0: Enter("model", "ebitda", text)})
    assert "Not entered" in episode.log[-1][0].text
    assert episode.state.entries == ()


def test_the_calculator_computes_as_python_does() -> None:
    episode = palestra.Episode(DataRoom(company="plain"), 1)
    episode.act({0: Compute("100 * (5 / 4 - 1) - -2 ** 2")})
    assert episode.log[-1][0].text == f"The expression = {100 * (5 / 4 - 1) - -(2**2):.8g}"


def test_notes_matter() -> None:
    means = {}
    for name in ("dataroom-analyst", "dataroom-hasty"):
        records = palestra.play(
            "tasks/DataRoom-v0", agents=name, seed=0, episodes=8, company="plain", level="hard"
        )
        means[name] = sum(record.returns[0] for record in records) / 8
    assert means["dataroom-analyst"] == 1
    assert means["dataroom-hasty"] < 0.5


@pytest.mark.parametrize(("level", "files"), [("easy", 4), ("medium", 8), ("hard", 12)])
def test_constant_answers_earn_about_nothing(level: str, files: int) -> None:
    game = DataRoom(company="plain", level=level)
    assert len(game.asked) == files
    truths = [figures(draw_company((s, s + 400, s + 800, s + 1200))) for s in range(300)]
    guesses = {one.name: float(np.median([t[one.name] for t in truths])) for one in game.asked}
    for constant in (dict.fromkeys(guesses, 0.0), dict.fromkeys(guesses, 10.0), guesses):
        paid = []
        for seed in range(12):
            episode = palestra.Episode(game, seed)
            for one in game.asked:
                for where in ("model", "memo")[: 1 + (one.name in game.headlines(episode.state))]:
                    episode.act({0: Enter(where, one.name, f"{constant[one.name]:.6f}")})
            episode.act({0: Finish()})
            paid.append(episode.returns[0])
        assert np.mean(paid) <= 0.05
