"""The workspace of machine learning: scripts against scikit-learn on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra.testing.parts import parts_of
from palestra_tasks.desk import Finish, Program
from palestra_tasks.experiments.data import KINDS, TEST, draw_data, error, problem_with
from palestra_tasks.experiments.programs import LINEAR, NEIGHBOURS, QUADRATIC, SEASONAL, STARTER
from palestra_tasks.experiments.workspace import (
    LIMITS,
    SHOWN,
    Execute,
    MLWorkspace,
    Open,
    Undo,
)
from palestra_tasks.running import run
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error, zero_one_loss
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures


def predictions(code: str, kind: str, seed: int) -> list[float]:
    known, _, test = draw_data(kind, seed)
    ran = run(code, "predict", known.rows, known.targets, test.rows, limits=LIMITS)
    assert not ran.error
    assert not problem_with(ran.value, TEST)
    return list(ran.value)


def peer(model: Any, kind: str, seed: int) -> Any:
    known, _, test = draw_data(kind, seed)
    return model.fit(np.array(known.rows), np.array(known.targets)).predict(np.array(test.rows))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("code", "kind", "model"),
    [
        (STARTER, "line", DummyRegressor()),
        (STARTER, "classes", DummyClassifier()),
        (LINEAR, "line", LinearRegression()),
        (LINEAR, "series", LinearRegression()),
        (QUADRATIC, "curve", make_pipeline(PolynomialFeatures(2), LinearRegression())),
        (NEIGHBOURS, "curve", KNeighborsRegressor(5)),
        (NEIGHBOURS, "classes", KNeighborsClassifier(5)),
    ],
)
def test_scripts_predict_what_scikit_learn_does(
    code: str, kind: str, model: Any, seed: int
) -> None:
    assert predictions(code, kind, seed) == pytest.approx(peer(model, kind, seed), abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_a_season_is_found_by_least_squares(seed: int) -> None:
    known, _, test = draw_data("series", seed)

    def waves(rows: Any) -> Any:
        t = np.array(rows)[:, 0]
        turn = 2 * np.pi * t / 12
        return np.stack([np.ones_like(t), t, np.sin(turn), np.cos(turn)], axis=1)

    weights = np.linalg.lstsq(waves(known.rows), np.array(known.targets), rcond=None)[0]
    wanted = waves(test.rows) @ weights
    assert predictions(SEASONAL, "series", seed) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_scikit_learns(kind: str) -> None:
    found = predictions(NEIGHBOURS, kind, 5)
    truth = draw_data(kind, 5)[2].targets
    measure = zero_one_loss if kind == "classes" else root_mean_squared_error
    assert error(kind, found, truth) == pytest.approx(measure(truth, found))


def test_the_reward_is_the_improvement_on_the_starter() -> None:
    game = MLWorkspace(project="plain", data="line")
    episode = palestra.Episode(game, 4)
    truth = draw_data("line", episode.state.seed)[2].targets
    first, last = (predictions(code, "line", episode.state.seed) for code in (STARTER, LINEAR))
    for action in (Program(LINEAR), Execute(), Finish()):
        episode.act({0: action})
    wanted = 1 - root_mean_squared_error(truth, last) / root_mean_squared_error(truth, first)
    assert episode.returns[0] == pytest.approx(wanted)


def test_what_counts_is_the_script_that_is_there_at_the_end() -> None:
    paid = []
    for actions in ([], [Undo()], [Program("def predict(rows, targets, queries):\n    return 1")]):
        episode = palestra.Episode(MLWorkspace(project="plain", data="line"), 4)
        for action in (Program(LINEAR), *actions, Finish()):
            episode.act({0: action})
        paid.append(episode.returns[0])
    assert paid[0] > 0.1
    assert paid[1:] == [0, 0]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return [1.0]", "a list of 40 numbers, not 1 values"),
        ("return 'one'", "not str"),
        ("return [float('nan')] * len(queries)", "failed"),
        ("return ['x'] * len(queries)", "no number"),
        ("return [1e300] * len(queries)", "usual size"),
        ("return [True] * len(queries)", "no number"),
        ("return open('/etc/passwd')", "NameError"),
        ("import socket", "cannot be imported"),
        ("while True:\n        pass", "failed"),
        ("print('x' * 10**8)", "failed"),
    ],
)
def test_a_broken_script_is_refused_by_name_and_nothing_is_lost(body: str, why: str) -> None:
    episode = palestra.Episode(MLWorkspace(project="plain", data="line"), 1)
    code = f"def predict(rows, targets, queries):\n    {body}"
    for action in (Program(code), Execute()):
        episode.act({0: action})
    text = episode.log[-1][0].text
    assert "The script failed" in text
    assert why in text
    assert episode.state.measured == ()
    episode.act({0: Undo()})
    episode.act({0: Execute()})
    assert len(episode.state.measured) == 1


def test_hidden_rows_are_drawn_anew_from_those_that_were_shown() -> None:
    game = MLWorkspace(project="plain", data="curve")
    episode = palestra.Episode(game, 2)
    true = game.samples(episode.state)
    for action in (Open("train.py"), Execute()):  # which show no row
        unseen = game.determinize(episode.state, 0, palestra.Rng(1))
        assert not set(game.samples(unseen)[0].rows) & set(true[0].rows)
        episode.act({0: action})
    episode.act({0: Open("data.csv")})
    copies = [game.determinize(episode.state, 0, palestra.Rng(n)) for n in range(5)]
    shown = true[0].rows[:SHOWN]
    for copy in [*copies, game.determinize(copies[0], 0, palestra.Rng(9))]:
        samples = game.samples(copy)
        assert [len(one.rows) for one in samples] == [len(one.rows) for one in true]
        assert samples[0].rows[:SHOWN] == shown
        assert {row for one in samples for row in one.rows} == set(shown)
    assert len({game.samples(copy)[2] for copy in copies}) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_no_seed_of_a_fork_deals_the_hidden_rows(kind: str) -> None:
    episode = palestra.Episode(MLWorkspace(project="plain", data=kind), 2)
    true = draw_data(kind, episode.state.seed)
    for action in (Open("data.csv"), Execute()):
        episode.act({0: action})
        ahead = palestra.Turn(episode, 0).fork(palestra.Rng(3)).state
        numbers = [value for value in parts_of(ahead).values() if type(value) is int]
        assert len(numbers) > 3
        assert all(draw_data(kind, number)[2] != true[2] for number in numbers if number >= 0)


def test_experiments_pay() -> None:
    means = {}
    for name in ("experimenter", "experimenter-linear"):
        records = palestra.play(
            "tasks/MLWorkspace-v0", agents=name, episodes=8, seed=3, project="plain"
        )
        assert not any(record.error for record in records)
        means[name] = sum(record.returns[0] for record in records) / 8
    assert means["experimenter"] > means["experimenter-linear"] + 0.2
    found = palestra.measure(records[0])
    assert set(found) >= {"experiment-success:tenth", "experiment-success:runs"}


@pytest.mark.parametrize("kind", ["line", "curve", "classes", "series", "project"])
@pytest.mark.parametrize("seed", range(3))
def test_no_example_of_a_script_is_better_than_the_first_one(kind: str, seed: int) -> None:
    options = {"project": "medium"} if kind == "project" else {"project": "plain", "data": kind}
    game = MLWorkspace(**options)
    offered = game.options(game.initial_state(seed), 0)[1].fields["code"].samples
    for code in offered:
        episode = palestra.Episode(game, seed)
        episode.act({0: Program(code)})
        episode.act({0: Finish()})
        assert episode.returns[0] == 0
