"""Composed projects: rows, laws, measures and scripts against pandas, SciPy and scikit-learn."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import palestra
import pandas as pd
import pytest
from palestra.kernel.registry import registry
from palestra.testing.parts import parts_of
from palestra_tasks.desk import Finish, Program
from palestra_tasks.experiments.data import error_by
from palestra_tasks.experiments.experimenters import read_description, reading_script
from palestra_tasks.experiments.projects import (
    LEAKS,
    SIZES,
    TEST,
    TRAINING,
    VALIDATION,
    Plan,
    Project,
    draw_plan,
    draw_project,
    poisson_median,
)
from palestra_tasks.experiments.scripts import STARTERS, TOOLS, fixed_pipelines, numeric_script
from palestra_tasks.experiments.workspace import (
    PROJECT_LIMITS,
    SHOWN,
    Execute,
    MLWorkspace,
    Note,
    Open,
    Undo,
    share_of_way,
)
from palestra_tasks.running import run
from scipy.stats import poisson
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import (
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    root_mean_squared_error,
    zero_one_loss,
)
from sklearn.preprocessing import OneHotEncoder

SPLITS = registry().environment("tasks/MLWorkspace-v0").splits

SEEDS = range(16)
ALL = [(size, traits) for size in SIZES for traits in ("common", "rare")]


def game_and_state(size: str, traits: str, seed: int) -> tuple[MLWorkspace, Any, Plan, Project]:
    game = MLWorkspace(project=size, traits=traits)  # type: ignore[arg-type]
    state = game.initial_state(seed)
    assert state.plan is not None
    return game, state, state.plan, draw_project(state.plan, state.seed)


def frame(plan: Plan, project: Project) -> pd.DataFrame:
    """All rows as they are written, as a table."""
    rows = [row for sample in project.samples for row in sample.rows]
    return pd.DataFrame(rows, columns=[one.name for one in plan.columns], dtype=object)


def careful(plan: Plan, table: pd.DataFrame) -> pd.DataFrame:
    """The table read as the description says, from its cells alone."""
    found = table.copy()
    typical = {c.name: float(c.text.split()[-1]) for c in plan.columns if c.kind == "number"}
    for trouble in plan.troubles:
        if trouble.kind in LEAKS:
            continue
        name, cells = trouble["a"], table[trouble["a"]]
        if trouble.kind == "sentinel":
            found[name] = cells.where(cells.astype(float) != float(trouble["t"]))
        elif trouble.kind == "units":
            unit = next(c.levels[0] for c in plan.columns if c.name == trouble["n"])
            found[name] = cells / np.where(table[trouble["n"]] == unit, 1, 1000)
        elif trouble.kind == "slips":
            found[name] = cells / np.where(cells.astype(float) > float(trouble["t"]), 1000, 1)
        elif trouble.kind == "comma":
            found[name] = cells.str.replace(",", ".").astype(float)
        elif trouble.kind == "sign":
            found[name] = cells * np.where(table[trouble["c"]] == trouble["l"], -1, 1)
        elif trouble.kind == "clock":
            parts = cells.str.split(":", expand=True).astype(float)
            found[name] = parts[0] + parts[1] / 60
        elif trouble.kind == "offset":
            early = pd.to_datetime(table[trouble["d"]]) < "2021-07-01"
            found[name] = cells - float(trouble["t"]) * early
    for name, value in typical.items():
        found[name] = pd.to_numeric(found[name]).fillna(value)
    for column in plan.columns:
        if column.kind == "date":
            found[column.name] = pd.to_datetime(found[column.name])
    return found


def column_of(effect: Any, x: pd.DataFrame) -> Any:
    """The columns that an effect adds, as pandas and NumPy compute them."""
    f = dict(effect.fields)
    a, b = (x[f[n]].to_numpy(float) if n in f else None for n in "ab")
    t = float(f.get("t", 0))
    if effect.kind == "level":
        return OneHotEncoder(drop="first", sparse_output=False).fit_transform(x[[f["c"]]])
    made: Any = {
        "straight": lambda: a,
        "log": lambda: np.log(a),
        "above": lambda: a > t,
        "ratio": lambda: a / b,
        "weekend": lambda: x[f["d"]].dt.day_name().isin(["Saturday", "Sunday"]),
        "within": lambda: np.where(x[f["c"]] == f["l"], a, 0),
        "drift": lambda: (x[f["d"]] - pd.Timestamp("2021-01-01")).dt.days,
        "ideal": lambda: np.abs(a - t),
        "product": lambda: a * b,
        "summer": lambda: x[f["d"]].dt.month_name().isin(["June", "July", "August"]),
        "capped": lambda: np.minimum(a, t),
        "span": lambda: (x[f["e"]] - x[f["d"]]).dt.days,
        "pair": lambda: (x[f["c"]] == f["l"]) & (x[f["k"]] == f["m"]),
        "inverse": lambda: 1 / a,
    }[effect.kind]()
    return np.asarray(made, float)[:, None]


@pytest.mark.parametrize(("size", "traits"), ALL)
def test_the_law_is_a_sum_of_what_the_description_tells(size: str, traits: str) -> None:
    kinds = set()
    for seed in SEEDS:
        _, _, plan, project = game_and_state(size, traits, seed)
        x = careful(plan, frame(plan, project))
        parts = np.hstack([column_of(effect, x) for effect in plan.effects])
        model = LinearRegression().fit(parts[:TRAINING], project.signals[:TRAINING])
        assert model.predict(parts) == pytest.approx(np.array(project.signals), abs=2e-3)
        assert np.std(project.signals[:TRAINING]) > 0.3
        kinds |= {one.kind for one in (*plan.effects, *plan.troubles)}
    assert len(kinds) >= 12


@pytest.mark.parametrize(("size", "traits"), ALL)
def test_the_error_of_the_law_is_below_the_starters_and_that_of_others(
    size: str, traits: str
) -> None:
    for seed in SEEDS:
        game, state, plan, project = game_and_state(size, traits, seed)
        train, _, test = project.samples
        starter = {
            "rmse": float(np.mean(train.targets)),
            "mae": float(np.median(train.targets)),
            "log": float(np.mean(train.targets)),
        }.get(plan.measure, float(pd.Series(train.targets).mode()[0]))
        first = game.error_of(state, [starter] * TEST, test)
        assert game.error_of(state, project.known_best, test) < 0.9 * first, (seed, plan)


def test_the_laws_predictions_are_the_best_for_the_measure() -> None:
    """Other predictions from the same signals have a larger error in the mean of many projects."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for seed in range(110):
        game, state, plan, project = game_and_state("small", "common", seed)
        if plan.kind in ("two", "several") and plan.measure != "log":
            continue
        best, test = np.array(project.known_best), project.samples[2]
        for factor in (0.85, 1.15):
            other = (
                np.clip(best * factor, 1e-6, 1 - 1e-6) if plan.measure == "log" else factor * best
            )
            ratio = game.error_of(state, list(other), test) / game.error_of(state, list(best), test)
            ratios.setdefault(plan.scored, []).append(ratio)
    assert len(ratios) == 7
    assert all(np.mean(found) > 1 for found in ratios.values()), ratios


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.69, 0.7, 1.0, 3.3, 12.0, 150.5])
def test_medians_of_counts_are_scipys(rate: float) -> None:
    assert poisson_median(rate) == poisson(rate).median()


def test_measures_are_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    for classes in (2, 3):
        truth, said = rng.integers(0, classes, (2, 57)).astype(float)
        truth[:30] = 0
        assert error_by("error", said, truth) == pytest.approx(zero_one_loss(truth, said))
        wanted = 1 - balanced_accuracy_score(truth, said)
        assert error_by("balanced", list(said), list(truth)) == pytest.approx(wanted)
    truth, chances = rng.integers(0, 2, 57).astype(float), rng.random(57)
    chances[:2] = 0, 1
    wanted = log_loss(truth, np.clip(chances, 1e-6, 1 - 1e-6))
    assert error_by("log", chances, truth) == pytest.approx(wanted)
    truth, said = rng.normal(size=(2, 57))
    assert error_by("rmse", said, truth) == pytest.approx(root_mean_squared_error(truth, said))
    assert error_by("mae", said, truth) == pytest.approx(mean_absolute_error(truth, said))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("link", ["identity", "log", "logit"])
def test_regressions_of_the_tools_are_scikit_learns(link: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(240, 4)) * [1, 30, 0.01, 5] + [0, 100, 3, 0]
    z = (x - x.mean(0)) / x.std(0)
    signal = z @ [0.5, -0.3, 0.4, 0.1]
    if link == "identity":
        y, peer = signal + rng.normal(size=240), LinearRegression()
    elif link == "log":
        y, peer = rng.poisson(np.exp(signal)), PoissonRegressor(alpha=1 / 240, tol=1e-8)
    else:
        y = (rng.random(240) < 1 / (1 + np.exp(-signal))).astype(float)
        peer = LogisticRegression(C=1.0, tol=1e-8)
    wanted = peer.fit(z, y)
    means = wanted.predict_proba(z)[:, 1] if link == "logit" else wanted.predict(z)
    ridge = 0.0 if link == "identity" else 1.0
    code = f"{TOOLS}\n\n\ndef go(table, y):\n    model = fit(table, y, {link!r}, {ridge})\n"
    code += "    return [model(row) for row in table]"
    ran = run(code, "go", x.tolist(), [float(v) for v in y], limits=PROJECT_LIMITS)
    assert ran.value == pytest.approx(means, abs=1e-4)


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_one_hot_least_squares_is_scikit_learns(seed: int) -> None:
    """The plain fixed pipeline on untroubled groups and numbers, where the target is a number."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c", "d"], 240)
    numbers = rng.uniform(2, 9, (240, 2))
    y = numbers @ [1.0, -2.0] + (groups == "c") * 3 + rng.normal(size=240)
    rows = [[g, float(u), float(v)] for g, (u, v) in zip(groups, numbers, strict=True)]
    code = f"{TOOLS}\n\n\n{fixed_pipelines('number', 'rmse')[0]}"
    ran = run(code, "predict", rows[:180], list(y[:180]), rows[180:], limits=PROJECT_LIMITS)
    codes = OneHotEncoder(drop="first", sparse_output=False).fit_transform(groups[:, None])
    low, high = (np.sort(numbers[:180], axis=0)[n] for n in (1, -2))
    x = np.hstack([codes, np.clip(numbers, low, high)])
    wanted = LinearRegression().fit(x[:180], y[:180]).predict(x[180:])
    assert ran.value == pytest.approx(wanted, abs=0.02)  # its ridge is 0.1


def test_the_pay_is_the_share_of_the_way_to_the_law() -> None:
    for seed in range(4):
        game, _, plan, project = game_and_state("medium", "common", seed)
        episode = palestra.Episode(game, seed)
        script = numeric_script(*plan.scored)
        for action in (Program(script), Finish()):
            episode.act({0: action})
        test = project.samples[2]
        train, truth = project.samples[0], list(test.targets)
        errors = []
        for code in (STARTERS[plan.measure], script):
            code = f"{TOOLS}\n\n\n{code}"
            args = (train.rows, train.targets, test.rows)
            ran = run(code, "predict", *args, limits=PROJECT_LIMITS)
            errors.append(error_by(plan.measure, ran.value, truth))
        law = error_by(plan.measure, project.known_best, truth)
        wanted = min(1.0, max(0.0, (errors[0] - errors[1]) / (errors[0] - law)))
        assert episode.returns[0] == pytest.approx(wanted)


def test_the_starter_and_a_script_that_fails_are_paid_nothing() -> None:
    broken = Program("def predict(rows, targets, queries):\n    return [rows[0][99]]")
    for actions in ([], [broken], [broken, Undo()]):
        episode = palestra.Episode(MLWorkspace(project="small"), 3)
        for action in (*actions, Finish()):
            episode.act({0: action})
        assert episode.returns[0] == 0


@pytest.mark.parametrize(("size", "traits"), ALL)
def test_descriptions_are_read_back(size: str, traits: str) -> None:
    for seed in SEEDS:
        game, state, plan, _ = game_and_state(size, traits, seed)
        told = read_description(game.describe(state, 0))
        assert told is not None
        assert (told.kind, told.measure) == plan.scored
        assert list(told.columns) == [one.name for one in plan.columns]
        for said, true in ((told.effects, plan.effects), (told.troubles, plan.troubles)):
            assert [kind for kind, _ in said] == [one.kind for one in true]
            found = [
                set(fields.items()) <= set(one.fields)
                for (_, fields), one in zip(said, true, strict=True)
            ]
            assert all(found)


def test_shifts_and_leaks_are_as_told() -> None:
    seen = set()
    for seed in range(120):
        _, _, plan, project = game_and_state("medium", "rare" if seed % 2 else "common", seed)
        table = frame(plan, project)
        known, test = table[: TRAINING + VALIDATION], table[TRAINING + VALIDATION :]
        targets = [t for sample in project.samples for t in sample.targets]
        shift = plan.shift
        seen.add(shift.kind)
        for column in plan.columns:
            if column.kind == "date":
                assert (test[column.name].min() > known[column.name].max()) == (
                    shift.kind == "later"
                )
            if column.kind == "leak":
                seen.add(next(t.kind for t in plan.troubles if t.kind in LEAKS))
                assert list(known[column.name]) == targets[: len(known)]
                told = np.array(
                    [t == v for t, v in zip(test[column.name], targets[-TEST:], strict=True)]
                )
                assert told.mean() < 0.95
        if shift.kind == "shares":
            share = [(part[shift["c"]] == shift["l"]).mean() for part in (known, test)]
            assert share[1] > share[0] + 0.25
        if shift.kind == "larger":
            x = careful(plan, table)[shift["a"]]
            assert x[-TEST:].mean() > 1.1 * x[: len(known)].mean()
    assert seen == {"none", "later", "shares", "larger", *LEAKS}


def test_structures_are_many() -> None:
    for traits in ("common", "rare"):
        plans = {draw_plan(palestra.Rng(n), "small", traits).structure for n in range(1000)}
        assert len(plans) > 980


def test_a_note_stays_and_pays_nothing() -> None:
    paid = []
    for actions in ([], [Note("doubling\nmatters")]):
        episode = palestra.Episode(MLWorkspace(project="small"), 5)
        for action in (*actions, Execute()):
            episode.act({0: action})
        position = palestra.Turn(episode, 0).position
        assert ("Log: " in position) == bool(actions)
        assert "\nmatters" not in position  # a note is one line
        episode.act({0: Program(reading_script(position))})
        episode.act({0: Finish()})
        paid.append(episode.returns[0])
    assert paid[0] == paid[1] > 0.5


def test_data_that_is_shown_is_the_data_as_csv() -> None:
    for seed in range(10):
        game, state, plan, project = game_and_state("large", "common", seed)
        episode = palestra.Episode(game, seed)
        episode.act({0: Open("data.csv")})
        text = episode.log[-1][0].text.split("\n", 1)[1].rsplit("\n", 1)[0]
        table = pd.read_csv(io.StringIO(text))
        assert list(table.columns) == [*(one.name for one in plan.columns), plan.target]
        assert table[plan.target].tolist() == pytest.approx(project.samples[0].targets[:SHOWN])
        for place, column in enumerate(plan.columns):
            if column.kind == "number":
                wanted = [row[place] for row in project.samples[0].rows[:SHOWN]]
                wanted = [math.nan if cell is None else float(cell) for cell in wanted]
                assert table[column.name].tolist() == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize("size", SIZES)
def test_forks_keep_what_was_shown_and_draw_the_rest(size: str) -> None:
    game, state, plan, project = game_and_state(size, "rare", 8)
    episode = palestra.Episode(game, 8)
    for action in (Open("tools.py"), Open("data.csv"), Execute()):
        before = game.determinize(episode.state, 0, palestra.Rng(1))
        opened = episode.state.opened
        episode.act({0: action})
        train = game.samples(before)[0]
        same = [a == b for a, b in zip(train.rows, project.samples[0].rows, strict=True)]
        assert sum(same) == (SHOWN if opened else 0)
        assert (train.targets[:SHOWN] == project.samples[0].targets[:SHOWN]) == opened
    ahead = palestra.Turn(episode, 0).fork(palestra.Rng(3)).state
    numbers = [value for value in parts_of(ahead).values() if type(value) is int and value >= 0]
    true = project.samples[2]
    assert all(draw_project(plan, number).samples[2] != true for number in numbers)
    copies = [game.determinize(episode.state, 0, palestra.Rng(n)) for n in range(4)]
    assert len({game.samples(copy)[2] for copy in copies}) == 4
    assert all(copy.plan == plan for copy in copies)
    again = game.determinize(copies[0], 0, palestra.Rng(9))
    assert game.samples(again)[0].rows[:SHOWN] == project.samples[0].rows[:SHOWN]


def test_reading_pays_more_than_fixed_pipelines() -> None:
    means = {}
    for name in ("experimenter", "experimenter-reader"):
        records = palestra.play(
            "tasks/MLWorkspace-v0", agents=name, episodes=3, seed=30, project="small"
        )
        assert not any(record.error for record in records)
        means[name] = sum(record.returns[0] for record in records) / 3
    assert means["experimenter"] < 0.9 * means["experimenter-reader"]
    assert means["experimenter-reader"] > 0.8


@pytest.mark.parametrize(
    "options",
    [
        {"project": "plain", "traits": "rare"},
        {"project": "small", "data": "line"},
        {"project": "huge"},
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(palestra.InvalidOption):
        palestra.make("tasks/MLWorkspace-v0", **options)


@pytest.mark.parametrize(
    ("first", "last", "known", "measure", "share"),
    [
        (2.0, 1.5, 1.0, "rmse", 0.5),
        (2.0, 0.5, 1.0, "mae", 1.0),
        (2.0, 9.0, 1.0, "log", 0.0),
        (2.0, 1.999, 1.999, "rmse", 0.005),  # a way of 0.001 counts as one of 0.2
        (2.0, 1.9, 2.5, "rmse", 0.5),  # the law is worse on the test rows by chance
        (0.04, 0.035, 0.035, "error", 0.25),  # one row of 200, taken as one of four
        (0.04, 0.035, 0.035, "log", 1.0),
        (0.5, 0.3, 0.1, "balanced", 0.5),
        (0.0, 0.0, 0.0, "error", 0.0),
        (0.0, 0.0, 0.0, "rmse", 0.0),
    ],
)
def test_a_short_way_to_the_law_does_not_make_chance_pay(
    first: float, last: float, known: float, measure: str, share: float
) -> None:
    assert share_of_way(first, last, known, measure) == pytest.approx(share)


@pytest.mark.parametrize(("split", "seed"), [("small", 1290), ("small", 1886), ("large", 99)])
def test_the_shortest_ways_of_2000_projects_are_paid_in_bounds(split: str, seed: int) -> None:
    """The starter is paid nothing; right features and the law's own predictions all or nearly."""
    game = MLWorkspace(**SPLITS[split])
    state = game.initial_state(seed)
    assert state.plan
    test = game.samples(state)[2]
    first, _ = game.score_script(state, state.versions[0], test)
    known = game.error_of(state, draw_project(state.plan, state.seed).known_best, test)
    assert first is not None
    assert 0 < first - known < 0.25 * first
    assert share_of_way(first, first, known, state.plan.measure) == 0
    best = share_of_way(first, known, known, state.plan.measure)
    assert 0.2 <= best <= 1
    row = 1 / len(test.rows)  # what one more right row is paid where rows are counted
    if state.plan.measure == "error":
        assert share_of_way(first, first - row, known, "error") <= 0.25
