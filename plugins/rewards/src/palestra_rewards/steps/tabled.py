"""Rewards by state and action, from a table that was designed or learnt beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from palestra import InvalidOption, Meta, Transition, reward
from palestra.files import UNREADABLE, is_file, read_json
from palestra.records.record import as_json

from palestra_rewards.options import Weight
from palestra_rewards.tabular.mdp import action_key


@reward(
    "reward-design",
    shape="step",
    needs=("table",),
    paper="Reward Design for Reinforcement Learning Agents (2025)",
    summary="Sparse rewards that keep the teacher's policy and are easiest to learn it from.",
    check="test_designed_rewards_keep_the_teachers_policy_and_tell_more",
    cost="linear in steps",
)
@reward(
    "self-design",
    shape="step",
    needs=("table",),
    paper="Reward Design for Reinforcement Learning Agents (2025)",
    summary="Rewards that an agent designed for itself, one per state, and a bonus for rarity.",
    check="test_self_designed_rewards_raise_the_true_return",
    cost="linear in steps",
)
@reward(
    "barfi",
    shape="step",
    needs=("table",),
    paper="Gupta et al. (2023), Behavior Alignment via Reward Function Optimization",
    summary="The game's own and auxiliary rewards, weighted to maximise the true return.",
    check="test_barfi_drops_what_harms_and_keeps_what_helps",
    cost="linear in steps",
)
@reward(
    "mce-icrl",
    shape="step",
    needs=("table",),
    paper="Maximum Causal Entropy Inverse Constrained Reinforcement Learning (2023)",
    summary="Costs that an expert avoids, inferred from its visits; use a negative weight.",
    check="test_constraint_costs_are_met_as_often_as_the_expert_meets_them",
    cost="linear in steps",
)
@reward(
    "mamql",
    shape="step",
    needs=("table",),
    paper="Multi-Agent Inverse Q-Learning from Demonstrations (2025)",
    summary="Each seat's rewards, inferred from recorded play of all seats.",
    check="test_learnt_rewards_lead_back_to_the_demonstrators_play",
    cost="linear in steps",
)
class TableReward:
    """Pays `weight` times the table's value of the state and action; 0 for those not in it.

    `table` is the result of `palestra_rewards.tabular.Mdp.table`, or the path of a JSON file of it:
    rewards designed by a teacher or by the agent itself, blended, or inferred from demonstrations.
    Give costs a negative weight. States are keyed by `game.anchor` of the seat, actions by their
    JSON. `term` is the name of the reward; two tables at once need two names.
    """

    def __init__(
        self,
        *,
        table: Annotated[
            str | Mapping[str, float], Meta(description="the result of Mdp.table, or a JSON file")
        ],
        weight: Weight = 1.0,
        term: Annotated[str, Meta(description="name of the reward")] = "table",
    ) -> None:
        found: Any = table
        if isinstance(table, str):
            path = Path(table)
            if not is_file(path):
                raise InvalidOption(f"there is no table at {table}; write Mdp.table(…) there")
            found = _read(path)
        self.values = {str(key): float(value) for key, value in found.items()}
        self.weight, self.term = weight, term

    def __call__(self, step: Transition) -> dict[str, float]:
        if step.seat not in step.actions:
            return {self.term: 0.0}
        action = step.actions[step.seat]
        plain = int(action) if isinstance(action, int) else as_json(action)
        key = f"{step.game.anchor(step.before, step.seat).hex()} {action_key(plain)}"
        return {self.term: self.weight * self.values.get(key, 0.0)}


def _read(path: Path) -> dict[str, float]:
    try:
        return read_json(path, dict[str, float])
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(f"{path} is not a table of Mdp.table(…): {error}") from error
