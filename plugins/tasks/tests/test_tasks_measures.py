"""Measures of tasks against episodes that are worked out by hand."""

from __future__ import annotations

import palestra
import pytest
from palestra import EpisodeRecord
from palestra.records.metrics import measure


def play(env: str, agents: str, **options: object) -> EpisodeRecord:
    (record,) = palestra.play(env, agents=agents, seed=1, **options)
    assert not record.error, record.error
    return record


def test_answers_that_are_valid_and_optimal() -> None:
    record = play("tasks/COBench-v0", "cobench-trivial", problem="p-median", tests=2)
    assert measure(record)["valid-answers"] == 1.0
    assert measure(record)["optimal-answers"] in (0.0, 0.5, 1.0)


def test_a_right_model_runs_without_errors() -> None:
    found = measure(play("tasks/OptiMUS-v0", "optimus-modeller", story="staff"))
    assert (found["model-runs"], found["model-errors"]) == (1.0, 0.0)


def test_a_shortest_plan_has_no_excess() -> None:
    found = measure(play("tasks/PlanWorld-v0", "planworld-planner"))
    assert found["plan-excess"] == pytest.approx(0.0)


def test_the_gap_of_the_reference_is_small() -> None:
    found = measure(play("tasks/VehicleRouting-v0", "routing-savings"))
    assert found["routing-gap:1"] == pytest.approx(0.0, abs=0.05)
    assert found["routing-gap:0"] >= found["routing-gap:1"]


def test_improvements_and_feasible_designs_are_counted() -> None:
    found = measure(play("tasks/FrontierEng-v0", "design-climber", design="cantilever"))
    assert found["design-improvements"] >= 1
    assert 0 < found["design-feasible"] <= 1


def test_a_scientist_who_does_not_choose_has_regret() -> None:
    found = measure(play("tasks/BoxingGym-v0", "boxing-prior", model="moral-choice", budget=4))
    assert found["boxing-regret"] > 0
    assert found["boxing-error"] > 0
