"""What sites and tools report for the record, against returns, verdicts and metrics."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import EpisodeRecord
from palestra.records.metrics import measure
from palestra.records.record import replay


def play(env: str, agents: str, **settings: Any) -> EpisodeRecord:
    (record,) = palestra.play(env, agents=agents, **settings)
    assert not record.error, record.error
    replay(record)
    return record


def told(record: EpisodeRecord) -> dict[str, Any]:
    """All that was said last."""
    found = dict(record.facts)
    for step in record.steps:
        found |= step.facts
    return found


@pytest.mark.parametrize("task", ["read", "write", "lookup"])
def test_a_solved_task_has_passed_every_stage(task: str) -> None:
    record = play("web/ToolWorld-v0", "tool-solver", seed=3, task=task)
    assert record.facts["progress"] == 0
    assert told(record)["progress"] == 1
    assert told(record)["stages"] == [1.0, 1.0, 1.0]
    assert told(record)["needless"] == 0


def test_needless_calls_are_those_of_the_metric() -> None:
    records = [
        play("web/ToolWorld-v0", "random", seed=seed, rows=2, max_calls=40) for seed in range(4)
    ]
    shares = []
    for record in records:
        made = sum("tool" in event.data for event in record.events)
        shares.append(told(record)["needless"])
        assert measure(record)["repeated-call-rate"] == pytest.approx(shares[-1] / max(made, 1))
    assert max(shares) > 0


@pytest.mark.parametrize("seed", range(3))
def test_stages_of_a_call_desk_end_with_the_grade(seed: int) -> None:
    record = play("web/CRMCalls-v0", "oracle-caller", seed=seed)
    assert told(record)["stages"] == [1.0, 1.0, 1.0]
    assert told(record)["progress"] == record.returns[0] == 1


def test_checks_of_a_plan_are_those_of_the_verdict() -> None:
    for agent, passes in (("travel-planner", True), ("travel-greedy", False)):
        record = play("web/TravelDesk-v0", agent, seed=1)
        (verdict,) = (event.data for event in record.events if event.kind == "verdict")
        checks = told(record)["checks"]
        assert checks["commonsense"] == list(verdict["commonsense"].values())
        assert checks["hard"] == list(verdict["hard"].values())
        assert all(all(group) for group in checks.values()) == passes
        assert (told(record)["progress"] == 1) == passes


def test_a_plan_that_is_not_handed_in_passes_no_check() -> None:
    record = play("web/TravelDesk-v0", "travel-planner", seed=1, max_calls=4)
    assert not any(check for group in told(record)["checks"].values() for check in group)
    assert told(record)["progress"] == 0


def test_an_errand_that_is_done_has_every_change_and_no_other() -> None:
    done = play("web/AppWorld-v0", "oracle-assistant", kind="sick-day", seed=2)
    assert told(done)["progress"] == 1
    assert told(done)["checks"]["commonsense"] == [True]
    rising = [step.facts["progress"] for step in done.steps if "progress" in step.facts]
    assert rising == sorted(rising)
    assert len(rising) > 2
    idle = play("web/AppWorld-v0", "idle-assistant", kind="sick-day", seed=2)
    assert told(idle)["progress"] == 0
    assert told(idle)["checks"]["commonsense"] == [True]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("agent", ["oracle-shopper", "rule-shopper"])
def test_the_last_progress_of_a_shopper_is_the_grade(agent: str, seed: int) -> None:
    record = play("web/Shop-v0", agent, seed=seed, products=500)
    found = told(record)
    assert found["progress"] == pytest.approx(record.returns[0])
    met = [check for group in found["checks"].values() for check in group]
    assert all(met) == (record.returns[0] == 1)
    assert found["objects"].keys() == found["goal"].keys() == {"product"}
    assert list(found["objects"]["product"].values()) == met
    assert "bought" in found["milestones"]
