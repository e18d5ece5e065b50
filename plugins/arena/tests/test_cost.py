from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Agent, Decision, InvalidOption, Turn, UnknownName, Usage
from palestra.cli import main
from palestra_arena import Settings, run_tournament
from palestra_arena.cost import (
    PricedTask,
    above_hull,
    alpha_value,
    at_least,
    attempts_from,
    attribute,
    break_even,
    coalition_values,
    cost_of_pass,
    currency_of,
    effective_channels,
    margins,
    pareto_front,
    spendings,
    word_vectors,
)
from palestra_arena.cost.modules import Coalition
from palestra_arena.cost.spending import GameAttempt, Spending
from palestra_arena.report import make_costs
from palestra_arena.report.costs import dots, front_line
from palestra_arena.statistics import Interval
from scipy.spatial import ConvexHull
from statsmodels.stats.proportion import proportion_confint

TICTACTOE = "games/TicTacToe-v0"


class Priced(Agent):
    """Plays the first legal move, for 100 tokens and half a cent."""

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        usage = Usage(tokens_in=90, tokens_out=10, calls=1, cost=0.005, seconds=0.1)
        return [Decision(turn.legal_actions[0], usage=usage) for turn in turns]


def settings(**more: object) -> Settings:
    base: dict[str, object] = {
        "environments": (TICTACTOE,),
        "agents": ("priced", "random"),
        "games": 20,
        "workers": 0,
    }
    return Settings(**(base | more))  # type: ignore[arg-type]


# Cost-of-pass


def test_cost_of_pass_is_cost_an_attempt_over_the_share_that_succeeds() -> None:
    assert cost_of_pass([1, 2, 3, 2], [1, 0, 1, 0]).value == pytest.approx(4.0)
    half = cost_of_pass([0.5, 1, 1.5, 1], [1, 0, 1, 0]).value
    twice = cost_of_pass([1, 2, 3, 2], [1, 1, 1, 1]).value
    assert half == twice == pytest.approx(2.0)


def test_who_never_succeeds_costs_infinitely_much() -> None:
    assert cost_of_pass([1, 1], [0, 0]) == (math.inf, math.inf, math.inf)


@pytest.mark.exhaustive
def test_the_interval_covers_the_truth() -> None:
    """Costs of mean 2 and success of chance 0.4: cost-of-pass 5."""
    rng = np.random.default_rng(1)
    covered = 0
    for repeat in range(300):
        found = cost_of_pass(rng.gamma(4, 0.5, 200), rng.random(200) < 0.4, seed=repeat)
        covered += found.low <= 5 <= found.high
    assert 0.91 <= covered / 300 <= 0.98


@pytest.mark.parametrize(("costs", "passed"), [([], []), ([1], [1, 0]), ([-1], [1]), ([1], [2])])
def test_costs_and_successes_are_checked(costs: list[float], passed: list[float]) -> None:
    with pytest.raises(InvalidOption):
        cost_of_pass(costs, passed)


def test_results_and_records_of_one_tournament_tell_the_same(tmp_path: Path) -> None:
    from palestra_arena import Store

    with Store(tmp_path / "a.db") as store:
        done = run_tournament(settings(), store, agents={"priced": Priced})
        records = list(store.records())
    rows = {row.agent: row for row in spendings(attempts_from(done.results), "cost")}
    again = {row.agent: row for row in spendings(attempts_from(records), "cost")}
    assert rows == again
    turns = [turn for record in records for turn in record.turns]
    priced = [t for t in turns if t.usage.cost]
    assert rows["priced"].usage.tokens_in == 90 * len(priced)
    assert rows["priced"].usage.cost == pytest.approx(0.005 * len(priced))
    assert rows["priced"].attempts == 20
    wins = sum(r.results[r.match.agents.index("priced")] == "win" for r in done.results)
    assert rows["priced"].cost_of_pass.value == pytest.approx(0.005 * len(priced) / wins)
    assert rows["random"].cost_of_pass.value == 0
    assert currency_of(attempts_from(records)) == "cost"


def test_success_may_be_a_score() -> None:
    done = run_tournament(settings(), agents={"priced": Priced})
    everything = spendings(attempts_from(done.results, at_least(-1)))
    assert [row.accuracy.value for row in everything] == [1, 1]


# Fronts


@pytest.mark.parametrize("seed", range(5))
def test_the_fronts_are_those_of_the_definition_and_of_qhull(seed: int) -> None:
    table = np.random.default_rng(seed).random((30, 2))
    points = {str(i): (float(c), float(a)) for i, (c, a) in enumerate(table)}
    beaten = {
        i
        for i, (c, a) in points.items()
        if any(d <= c and b >= a and (d, b) != (c, a) for d, b in points.values())
    }
    front = pareto_front(points)
    assert set(front) == set(points) - beaten
    corners = {str(i) for i in ConvexHull(table).vertices}
    assert set(pareto_front(points, convex=True)) == set(front) & corners


def test_equal_points_are_all_on_the_front() -> None:
    assert pareto_front({"a": (1, 0.5), "b": (1, 0.5), "c": (2, 0.5)}) == ["a", "b"]


def test_alpha_is_the_mean_benefit_and_vanishes_at_the_break_even_price() -> None:
    tasks = [PricedTask(True, 0.8, 50, 2), PricedTask(False, 0, 100, 3), PricedTask(True, 1, 10, 1)]
    assert alpha_value(tasks) == pytest.approx((40 - 2 - 3 + 10 - 1) / 3)
    price = break_even(tasks)
    level = [PricedTask(t.passed, t.quality, price, t.cost) for t in tasks]
    assert alpha_value(level) == pytest.approx(0)
    assert break_even(tasks[1:2]) == math.inf


# Diversity


def test_copies_count_once_and_outputs_with_nothing_in_common_each() -> None:
    assert effective_channels(np.ones((16, 3))) == pytest.approx(1)
    assert effective_channels(5 * np.eye(7)) == pytest.approx(7)


def test_two_channels_at_an_angle_have_their_closed_form() -> None:
    """Cosine c: eigenvalues (1 ± c) / 2."""
    for cosine in (0.2, 0.9):
        shares = np.array([1 + cosine, 1 - cosine]) / 2
        expected = np.exp(-(shares * np.log(shares)).sum())
        found = effective_channels([[1, 0], [cosine, math.sqrt(1 - cosine**2)]])
        assert found == pytest.approx(expected)


def test_words_in_common_bring_texts_together() -> None:
    same, other = "buy the red house", "sell a blue boat"
    assert effective_channels(word_vectors([same, same.upper(), same])) == pytest.approx(1)
    assert effective_channels(word_vectors([same, other])) == pytest.approx(2)
    with pytest.raises(InvalidOption, match="empty"):
        effective_channels(word_vectors([same, "…"]))


# Shapley


def from_table(worth: dict[Coalition, float]) -> Callable[[Coalition], float]:
    return worth.__getitem__


def coalitions(modules: str) -> list[Coalition]:
    sizes = range(len(modules) + 1)
    return [frozenset(c) for size in sizes for c in itertools.combinations(modules, size)]


MODULES = "abcd"
worths = st.lists(st.integers(-50, 50), min_size=16, max_size=16).map(
    lambda numbers: dict(zip(coalitions(MODULES), map(float, numbers), strict=True))
)


def shares(worth: dict[Coalition, float]) -> dict[str, float]:
    found = attribute(MODULES, from_table(worth)).shares
    return {module: share.value for module, share in found.items()}


@given(worths)
def test_shares_sum_to_what_all_modules_add(worth: dict[Coalition, float]) -> None:
    assert sum(shares(worth).values()) == pytest.approx(
        worth[frozenset(MODULES)] - worth[Coalition()]
    )


@given(worths, worths)
def test_shares_of_a_sum_are_sums_of_shares(
    one: dict[Coalition, float], two: dict[Coalition, float]
) -> None:
    both = shares({coalition: one[coalition] + two[coalition] for coalition in one})
    for module in MODULES:
        assert both[module] == pytest.approx(shares(one)[module] + shares(two)[module])


@given(worths)
def test_modules_that_do_the_same_share_alike(worth: dict[Coalition, float]) -> None:
    def swap(coalition: Coalition) -> Coalition:
        return frozenset({"a": "b", "b": "a"}.get(module, module) for module in coalition)

    even = {coalition: worth[coalition] + worth[swap(coalition)] for coalition in worth}
    found = shares(even)
    assert found["a"] == pytest.approx(found["b"])


@given(worths)
def test_a_module_that_changes_nothing_gets_nothing(worth: dict[Coalition, float]) -> None:
    without = {coalition: worth[coalition - {"d"}] for coalition in worth}
    found = attribute(MODULES, from_table(without))
    assert found.shares["d"].value == pytest.approx(0)
    assert all(
        found.interactions[pair] == pytest.approx(0) for pair in found.interactions if "d" in pair
    )


def test_the_glove_game_is_shared_as_shapley_did() -> None:
    """One left glove, two right ones: 2/3, 1/6 and 1/6."""
    found = attribute(["left", "r1", "r2"], lambda c: float("left" in c and len(c) > 1))
    assert found.shares["left"].value == pytest.approx(2 / 3)
    assert found.shares["r1"].value == found.shares["r2"].value == pytest.approx(1 / 6)


def test_a_runway_is_paid_for_as_littlechild_and_owen_did() -> None:
    """Airport game (1973): every stretch is shared by those who need it."""
    needs = {"a": 1.0, "b": 2.0, "c": 6.0}
    found = attribute(list(needs), lambda c: max((needs[m] for m in c), default=0.0))
    expected = {"a": 1 / 3, "b": 1 / 3 + 1 / 2, "c": 1 / 3 + 1 / 2 + 4}
    assert {m: s.value for m, s in found.shares.items()} == pytest.approx(expected)


def test_only_modules_that_work_together_interact() -> None:
    found = attribute("abc", lambda c: 3.0 * ({"a", "b"} <= c) + 1.0 * ("c" in c))
    assert found.interactions == pytest.approx({("a", "b"): 3.0, ("a", "c"): 0, ("b", "c"): 0})


def test_random_orders_come_close_and_ask_for_each_coalition_once() -> None:
    rng = np.random.default_rng(3)
    modules = [f"m{i}" for i in range(6)]
    weights = dict(zip(modules, rng.random(6), strict=True))
    asked: list[Coalition] = []

    def value(coalition: Coalition) -> float:
        asked.append(coalition)
        return sum(weights[m] for m in coalition) ** 2

    exact = attribute(modules, value)
    assert exact.coalitions == 2**6
    asked.clear()
    sampled = attribute(modules, value, permutations=400, seed=1)
    assert len(asked) == len(set(asked)) == sampled.coalitions
    for module, share in sampled.shares.items():
        assert share.value == pytest.approx(exact.shares[module].value, abs=0.05)
    assert sum(s.value for s in sampled.shares.values()) == pytest.approx(exact.full - exact.empty)


def test_paired_tasks_give_intervals_and_sizes_are_checked() -> None:
    tasks = np.random.default_rng(0).normal(size=50)
    found = attribute("ab", lambda c: tasks + 0.1 * len(c))  # task noise cancels, as it is paired
    assert found.shares["a"].value == pytest.approx(0.1)
    assert math.isnan(found.shares["a"].low)  # fifty tasks alike: nothing says how far others are
    with pytest.raises(InvalidOption, match="one per task"):
        attribute("ab", lambda c: [1.0] * (1 + len(c)))
    with pytest.raises(InvalidOption, match="permutations"):
        attribute([str(i) for i in range(20)], lambda c: 0.0)


def test_a_tournament_of_coalitions_is_attributed() -> None:
    """Search is the module: random play with and without it, against nobody in Wordle."""
    agents = {frozenset[str](): "first", frozenset({"chance"}): "random"}
    chosen = settings(environments=("games/Wordle-v0",), agents=("first", "random"), games=5)
    done = run_tournament(chosen)
    found = attribute(["chance"], coalition_values(done.results, agents))
    by_agent = {
        name: np.mean([r.scores[0] for r in done.results if r.match.agents == (name,)])
        for name in ("first", "random")
    }
    assert found.shares["chance"].value == pytest.approx(by_agent["random"] - by_agent["first"])


# What is typed


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(list(arguments))
    return int(done.value.code or 0)


def test_costs_are_printed_and_put_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, page = tmp_path / "a.db", tmp_path / "a.html"
    run_tournament(settings(), store, agents={"priced": Priced})
    assert run("results", str(store), "--costs", "--html", str(page)) == 0
    out = capsys.readouterr().out
    assert "cost-of-pass in money" in out
    assert '<table id="costs">' in page.read_text("utf-8")
    assert '<svg id="front"' in page.read_text("utf-8")
    assert run("results", str(store), "--html", str(page)) == 0
    assert '<table id="costs">' not in page.read_text("utf-8")


def test_the_drawing_puts_success_up_and_cost_right_and_joins_the_front() -> None:
    def row(agent: str, share: float, each: float) -> Spending:
        some = Interval(share, share - 0.1, share + 0.1)
        return Spending(agent, 10, some, Usage(), each, Interval(each / share, 0, 1))

    rows = [row("cheap", 0.4, 1), row("dear", 0.8, 4), row("wasteful", 0.3, 2)]
    drawn = {dot.agent: dot for dot in dots(make_costs(rows, "tokens"))}
    assert drawn["cheap"].x < drawn["wasteful"].x < drawn["dear"].x
    assert drawn["dear"].y < drawn["cheap"].y < drawn["wasteful"].y  # downwards on the page
    assert [name for name, dot in drawn.items() if dot.front] == ["cheap", "dear"]
    steps = front_line(list(drawn.values()))
    assert steps[0][:2] == (drawn["cheap"].x, drawn["cheap"].y)
    assert steps[-1][2:] == (drawn["dear"].x, drawn["dear"].y)


def test_attempts_that_are_all_alike_leave_the_cost_of_a_pass_uncertain() -> None:
    """Ten of ten passed: by Wilson the success is at least 0.722, so a pass costs up to 2.77."""
    assert cost_of_pass([2.0] * 10, [1] * 10) == pytest.approx((2.0, 2.0, 2.0 / 0.72246), abs=1e-3)


# Baselines


def test_the_hull_of_baselines_is_that_of_the_definition() -> None:
    """From nothing for nothing to (2, 0.5) and (4, 0.6); (3, 0.3) is inside."""
    known = [(2.0, 0.5), (3.0, 0.3), (4.0, 0.6)]
    assert above_hull((1.0, 0.25), known) == pytest.approx(0)
    assert above_hull((3.0, 0.6), known) == pytest.approx(0.05)
    assert above_hull((9.0, 0.5), known) == pytest.approx(-0.1)


@pytest.mark.parametrize("seed", range(5))
def test_the_hull_is_that_of_qhull(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = rng.random((12, 2)) + np.array([0.1, 0.0])
    corners = ConvexHull(np.vstack([known, [0, 0], [9, 0], [9, known[:, 1].max()]]))
    for cost in rng.random(20) * 1.2:
        # the highest accuracy at this cost that satisfies all of the hull's inequalities
        a, b, c = corners.equations.T
        top = min(-(ci + ai * cost) / bi for ai, bi, ci in zip(a, b, c, strict=True) if bi > 1e-9)
        found = above_hull((cost, 0.0), [tuple(point) for point in known])
        assert -found == pytest.approx(top, abs=1e-9)


def attempt(agent: str, seed: int, passed: bool, cost: float) -> GameAttempt:
    return GameAttempt(agent, passed, Usage(cost=cost), seed, ("x/X-v0", seed))


def test_a_fixed_cost_moves_an_agent_to_the_right_of_the_hull() -> None:
    """Success 3/4 for 1 a game; the baseline passes half for 1: the hull at 1 + 6/2 is 1/2 too."""
    tried = [attempt("mine", seed, seed != 3, 1.0) for seed in range(4)]
    tried += [attempt("retry", seed, seed < 2, 1.0) for seed in range(4)]
    tried += [attempt("retry", 9, True, 50.0)]  # a task that mine did not play
    (row,) = margins(tried, ["retry"])
    assert (row.margin.value, row.success, row.each, row.total, row.tasks) == (0.25, 0.75, 1, 1, 4)
    assert row.margin.low <= 0.25 <= row.margin.high
    (row,) = margins(tried, ["retry"], fixed={"mine": 6.0}, runs=2)
    assert (row.margin.value, row.each, row.fixed, row.total) == (0.25, 1.0, 6.0, 4.0)
    (row,) = margins(tried, ["retry"], fixed={"retry": 2.0}, runs=2)
    assert row.margin.value == pytest.approx(0.5)  # retry now costs 2, so 1 buys a quarter
    with pytest.raises(UnknownName):
        margins(tried, ["retri"])
    same = [attempt(name, s, name == "mine", 1.0) for s in range(5) for name in ("mine", "retry")]
    (row,) = margins(same, ["retry"])
    wilson_low = 2 * proportion_confint(5, 5, method="wilson")[0] - 1
    assert row.margin == pytest.approx((1.0, wilson_low, 1.0))
    with pytest.raises(InvalidOption, match="no task"):
        margins([*tried, attempt("other", 70, True, 1.0)], ["retry"])


@pytest.mark.exhaustive
def test_the_margin_covers_the_truth() -> None:
    """Success of chance 0.6 against a baseline of 0.4 at the same cost: a margin of 0.2."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        tried = [attempt("mine", s, bool(rng.random() < 0.6), 1.0) for s in range(100)]
        tried += [attempt("retry", s, bool(rng.random() < 0.4), 1.0) for s in range(100)]
        (row,) = margins(tried, ["retry"])
        covered += row.margin.low <= 0.2 <= row.margin.high
    assert 0.9 <= covered / 200 <= 0.99


def test_margins_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "a.db")
    run_tournament(settings(), store, agents={"priced": Priced})
    words = ["results", store, "--baseline", "random", "--fixed", "priced=3", "--runs", "10"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code in (0, None)
    said = capsys.readouterr().out
    assert "above the hull" in said
    for bad in (["--fixed", "priced=3"], ["--baseline", "nobody"], ["--fixed", "x", "--runs", "2"]):
        with pytest.raises(SystemExit) as ended:
            main(["results", store, *bad])
        assert ended.value.code
