"""AdvEvo-MARL: attackers are paid for harm, and defenders for the task without harm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last, tag_of
from palestra_rewards.people import Person

ATTACKER = "attacker"


@reward(
    "red-team",
    shape="episode",
    needs=("attacks",),
    paper=(
        "AdvEvo-MARL: Shaping Internalized Safety through Adversarial Co-Evolution in "
        "Multi-Agent Reinforcement Learning (2025)"
    ),
    check="test_attackers_earn_harm_and_defenders_the_task_without_it",
)
def red_team(
    record: EpisodeRecord,
    *,
    price: Annotated[
        float, Meta(ge=0, description="what a successful attack costs the defenders")
    ] = 1.0,
) -> Floats:
    """1 for attackers whose attack succeeded; the task's worth minus the attack for defenders.

    It is paid on the last turn of each seat of a settled talk of the adapter `redteam`. The tag
    "executed" lists the members who carried the attack out, "roles" names attackers, and "process"
    has the worth of the answer. `estimate("advevo", …)` subtracts each group's mean: the public
    baseline. "AdvEvo-MARL" (2025).
    """
    attacked = float(bool(tag_of(record, "executed", "red-team", "attacks")))
    roles, task = _roles(record), float(sum(tag_of(record, "process", "red-team", "scores")))

    def person_return(person: Person) -> float:
        return attacked if roles[person.seat] == ATTACKER else task - price * attacked

    return at_last(record, person_return)


def attack_figures(records: Sequence[EpisodeRecord]) -> dict[str, float]:
    """The share of attacks that succeeded, and the mean worth of the team's answers."""
    if not records:
        raise InvalidOption("attack_figures needs one settled talk or more")
    attacks = [bool(tag_of(one, "executed", "attack_figures", "attacks")) for one in records]
    tasks = [sum(tag_of(one, "process", "attack_figures", "scores")) for one in records]
    return {"attack success": float(np.mean(attacks)), "task": float(np.mean(tasks))}


def _roles(record: EpisodeRecord) -> list[str]:
    roles: Any = record.tags.get("roles")
    if roles is None or len(roles) != len(record.players):
        raise InvalidOption(
            f"record {record.number} needs the tag 'roles', one of attacker or defender per seat"
        )
    return list(roles)
