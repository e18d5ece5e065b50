"""Measures that read the verdict of an episode: what its last event says beside the score."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, metric

from palestra_tasks.worlds.envgen import TRAININGS


def verdict(record: EpisodeRecord) -> dict[str, Any]:
    """The facts of the last event; empty for an episode that was not finished."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return dict(found[-1]) if found else {}


@metric("valid-answers", measures=("tasks/COBench-v0",), bounds=(0.0, 1.0), better="higher")
def valid_answers(record: EpisodeRecord) -> float | None:
    """The share of hidden instances on which the best program gave a feasible answer."""
    return verdict(record).get("valid")


@metric("optimal-answers", measures=("tasks/COBench-v0",), bounds=(0.0, 1.0), better="higher")
def optimal_answers(record: EpisodeRecord) -> float | None:
    """The share of hidden instances on which the best program found the optimum."""
    return verdict(record).get("optimal")


@metric("model-runs", measures=("tasks/OptiMUS-v0",), bounds=(0.0, 1.0), better="higher")
def model_runs(record: EpisodeRecord) -> float | None:
    """1 if the last model has an optimum, right or not; None for an unfinished episode."""
    found = verdict(record).get("solved")
    return None if found is None else float(found)


@metric("model-errors", measures=("tasks/OptiMUS-v0",), bounds=(0.0, None), better="lower")
def model_errors(record: EpisodeRecord) -> float | None:
    """How many submissions ended in an error of the program or of the model's form."""
    return verdict(record).get("errors")


@metric("speed-up", measures=("tasks/FastCode-v0",), bounds=(0.0, None), better="higher")
def speed_up(record: EpisodeRecord) -> float | None:
    """How many times fewer lines the best right program executes; 0 if it was wrong."""
    return verdict(record).get("speed_up")


@metric("expert-share", measures=("tasks/FastCode-v0",), bounds=(0.0, 1.0), better="higher")
def expert_share(record: EpisodeRecord) -> float | None:
    """The share of functions on which 95 % of an expert's speed-up were reached."""
    return verdict(record).get("expert_share")


@metric("student-accuracy", measures=("tasks/DataTeacher-v0",), bounds=(0.0, 1.0), better="higher")
def student_accuracy(record: EpisodeRecord) -> float | None:
    """The student's accuracy on the hidden test."""
    return verdict(record).get("test")


@metric("skill-success", measures=("tasks/EnvGen-v0",), bounds=(0.0, 1.0), better="higher")
def skill_success(record: EpisodeRecord) -> dict[str, float] | None:
    """The student's success at every skill in the original world."""
    found = verdict(record)
    skills = TRAININGS[record.options.get("original", "crafting")].skills
    return {skill: found[skill] for skill in skills} if found else None


@metric("plan-excess", measures=("tasks/PlanWorld-v0",), bounds=(0.0, None), better="lower")
def plan_excess(record: EpisodeRecord) -> float | None:
    """Actions beyond the shortest plan, as a share of it; None unless the world was solved."""
    found = verdict(record)
    solved = record.outcome is not None and record.outcome.results == ("win",)
    return len(record.steps) / found["shortest"] - 1 if found and solved else None
