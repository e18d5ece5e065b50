"""Measures: what is shared, how means and intervals are made, and that every game has some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import palestra
import pytest
from palestra import (
    EpisodeRecord,
    InvalidOption,
    MetricSpec,
    PluginError,
    measure,
    metric,
)
from palestra.agents.budget import Usage
from palestra.cli import main
from palestra.kernel.registry import registry
from palestra.records.intervals import Sample, student
from palestra.records.metrics import Measures, meets_needs, metrics_for, own_metrics
from palestra.records.record import OutcomeRecord, StepRecord, TurnRecord, write_records
from palestra.records.shared_measures import (
    equality,
    gini,
    success,
    tokens_per_welfare,
    welfare,
    win,
)
from scipy import stats

BOARD, PUZZLE, DILEMMA = "games/TicTacToe-v0", "games/Sokoban-v0", "games/PrisonersDilemma-v0"


def record(
    env: str, returns: Sequence[float], results: Sequence[str], **more: Any
) -> EpisodeRecord:
    """A record of an episode that nobody played."""
    players = tuple(f"player_{seat}" for seat in range(len(returns)))
    outcome = OutcomeRecord(tuple(results), tuple(returns))  # type: ignore[arg-type]
    return EpisodeRecord(env, 0, players, outcome=outcome, returns=tuple(returns), **more)


# Every environment


def test_every_environment_has_a_metric_of_its_own() -> None:
    missing = [env for env in sorted(registry().environments) if not own_metrics(env)]
    assert missing == []


def test_every_metric_says_what_it_is() -> None:
    for name, spec in registry().metrics.items():
        assert spec.summary, name
        assert ":" not in name, name  # it separates a name from a key
        for env in spec.measures:
            assert env == "*" or env in registry().environments, (name, env)


def test_a_metric_applies_by_what_it_needs() -> None:
    names = {env: {m.name for m in metrics_for(env)} for env in (BOARD, PUZZLE, DILEMMA)}
    assert {"win", "draw"} <= names[BOARD]
    assert not {"success", "welfare"} & names[BOARD]
    assert "success" in names[PUZZLE]
    assert {"welfare", "equality"} <= names[DILEMMA]
    assert "win" not in names[DILEMMA]
    assert "welfare" not in {m.name for m in metrics_for("nowhere/Unknown-v0")}


def test_a_need_must_be_a_known_one() -> None:
    odd = MetricSpec("odd", "here:odd", "Odd.", needs=("three seats",))
    with pytest.raises(PluginError, match=r"'odd' needs 'three seats'.*one seat"):
        meets_needs(odd, registry().environments[BOARD])


def test_rows_are_in_order_of_their_numbers() -> None:
    measures = Measures()
    measures.add({f"alignment:{n}": 1.0 for n in (10, 9, 2)} | {"length": 3.0})
    names = [row[0] for row in measures.rows()]
    assert names == ["alignment:2", "alignment:9", "alignment:10", "length"]


def test_a_mean_that_misses_zero_by_rounding_is_shown_as_zero() -> None:
    measures = Measures()
    for value in (0.1, 0.2, -0.3):
        measures.add({"length": value})
    assert sum((0.1, 0.2, -0.3)) != 0
    assert measures.rows()[0][1] == "0"


def test_a_declaration_is_checked() -> None:
    with pytest.raises(PluginError, match="'higher', 'lower'"):
        metric("odd", better="more")
    with pytest.raises(PluginError, match="lowest, highest"):
        metric("odd", bounds=(1.0, 0.0))


# Shared formulas


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([3.0, 3.0, 3.0], 0.0),
        ([0.0, 0.0, 0.0], 0.0),
        ([0.0, 0.0, 0.0, 8.0], 3 / 4),  # one of four has everything: (n - 1) / n
        ([1.0, 2.0, 7.0], 24 / 60),  # pairs differ by 1, 6 and 5, twice each; 2 * 3 * 10
        ([-3.0, 2.0, 5.0, -1.0], 54 / 88),  # 5, 8, 2, 3, 3, 6, twice each; 2 * 4 * 11
        ([1.0, -1.0], 4 / 8),
    ],
)
def test_gini_of_uneven_and_negative_amounts(amounts: list[float], expected: float) -> None:
    assert gini(amounts) == pytest.approx(expected)
    apart = record(DILEMMA, amounts, ["score"] * len(amounts))
    assert equality(apart) == pytest.approx(1 - expected)
    assert welfare(apart) == sum(amounts)


def test_wins_of_forfeits_draws_and_truncations() -> None:
    assert win(record(BOARD, [1, -1], ["win", "forfeit"])) == {"player_0": 1.0, "player_1": 0.0}
    assert measure(record(BOARD, [0, 0], ["draw", "draw"]))["draw"] == 1
    assert win(record(BOARD, [0, 0], ["truncated", "truncated"])) is None
    assert "draw" not in measure(record(BOARD, [0, 0], ["truncated", "truncated"]))


def test_success_counts_the_games_own_time_but_no_cut_from_outside() -> None:
    played, cut = StepRecord([TurnRecord(0, 1)]), StepRecord([])
    out_of_time = record(PUZZLE, [0], ["truncated"], steps=[played])
    assert success(out_of_time) == 0
    assert success(record(PUZZLE, [0], ["truncated"], steps=[played, cut])) is None
    assert success(record(PUZZLE, [0], ["forfeit"], steps=[played])) == 0
    assert success(record(PUZZLE, [7], ["score"], steps=[played])) is None


def test_tokens_per_unit_of_welfare() -> None:
    turns = [TurnRecord(0, 1, usage=Usage(tokens_in=30, tokens_out=10))]
    turns.append(TurnRecord(1, 0, usage=Usage(tokens_in=5, tokens_out=5)))
    steps = [StepRecord(turns)]
    assert tokens_per_welfare(record(DILEMMA, [3, 2], ["score"] * 2, steps=steps)) == 50 / 5
    assert tokens_per_welfare(record(DILEMMA, [3, -3], ["score"] * 2, steps=steps)) is None
    options = {"payoffs_table": [1, 1], "moves": ["cooperate"]}
    assert "tokens" not in measure(record(DILEMMA, [3, 2], ["score"] * 2, options=options))


# Means and intervals


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 30, 1000])
def test_students_quantiles_are_those_of_scipy(freedom: int) -> None:
    for tails in (0.5, 0.1, 0.05, 0.01, 0.001):
        expected = stats.t.ppf(1 - tails / 2, freedom)
        assert student(tails, freedom) == pytest.approx(expected, rel=1e-5)


def test_an_interval_is_the_one_of_scipy_and_stays_in_bounds() -> None:
    values, sample = [0.1, 0.4, 0.35, 0.9, 0.05], Sample()
    for value in values:
        sample.add(value)
    error = stdev(values) / math.sqrt(5)
    expected = stats.t.interval(0.9, 4, loc=fmean(values), scale=error)
    found = sample.interval(0.9)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-5)
    assert sample.interval(0.99, (0.0, 1.0)).low == 0  # Student's would be below


def test_shares_of_ones_get_wilsons_interval() -> None:
    sample = Sample()
    for value in (1.0, 1.0, 1.0):
        sample.add(value)
    low = stats.binomtest(3, 3).proportion_ci(0.95, "wilson").low
    assert sample.interval(0.95, (0.0, 1.0)).low == pytest.approx(low)
    assert math.isnan(sample.interval(0.95).low)  # no share, and the values do not vary
    scaled = Sample()
    for _ in range(3):
        scaled.add(9.0)
    assert scaled.interval(0.95, (5.0, 9.0)) == pytest.approx((9.0, 5 + 4 * low, 9.0))
    assert math.isnan(scaled.interval(0.95, (5.0, None)).high)


def test_no_values_have_no_interval() -> None:
    assert math.isnan(Sample().interval(0.95).low)
    assert math.isnan(Sample().interval(0.95, (0.0, 5.0)).high)


def test_one_value_has_no_interval_and_undefined_episodes_do_not_count() -> None:
    measures = Measures()
    measures.add({"length": 4.0, "win:player_0": 1.0})
    measures.add({"win:player_0": 0.0})
    assert measures.samples["length"].count == 1
    assert math.isnan(measures.interval("length").low)
    assert measures.samples["win:player_0"].count == 2
    assert measures.interval("win:player_0").high < 1  # Wilson's
    with pytest.raises(InvalidOption, match="tails"):
        student(0, 3)


# The command


def test_the_command_prints_means_and_paired_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for path, scores in ((one, [[4, 1], [6, 2], [5, 0]]), (other, [[3, 1], [4, 2], [2, 0]])):
        records = [record(DILEMMA, paid, ["score"] * 2) for paid in scores]
        for seed, each in enumerate(records):
            each.seed, each.options = seed, {"payoffs_table": [1, 1], "moves": ["cooperate"]}
        write_records(path, records)
    assert printed(["measure", str(one)], capsys)["welfare"] == "6"
    assert printed(["measure", str(one), "--against", str(other)], capsys)["welfare"] == "2"
    with pytest.raises(SystemExit) as refused:
        main(["measure", str(tmp_path / "none.jsonl")])
    assert refused.value.code == 2


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The means that the command prints, by name."""
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--explain"])
    assert not done.value.code
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    return {words[0]: words[1] for words in reversed(lines) if len(words) > 1}


def test_names_of_players_are_printed_without_controls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = palestra.play("games/KuhnPoker-v0", agents="random")[0]
    ended.players = ["\x1b[2J\x1b]0;owned\x07", "\u202eb"]
    write_records(tmp_path / "one.jsonl", [ended])
    with pytest.raises(SystemExit, match="0"):
        main(["measure", str(tmp_path / "one.jsonl"), "--explain"])
    shown = capsys.readouterr().out
    assert "win:" in shown
    assert not set("\x1b\x07\u202e") & set(shown)
