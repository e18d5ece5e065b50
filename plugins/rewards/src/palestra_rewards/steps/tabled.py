"""Rewards by state and action, from a table that was designed or learnt beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from palestra import InvalidOption, Meta, Transition, reward
from palestra.records.record import as_json

from palestra_rewards.options import Weight
from palestra_rewards.tabular.mdp import action_key


@reward(
    "reward-design",
    shape="step",
    needs=("table",),
    paper="Reward Design for Reinforcement Learning Agents (2025)",
    summary="Few rewards that keep the teacher's policy and teach it best, also to one learner.",
    check="test_designed_rewards_keep_the_teachers_policy_and_tell_more",
    cost="a step's own",
)
@reward(
    "self-design",
    shape="step",
    needs=("table",),
    paper="Reward Design for Reinforcement Learning Agents (2025)",
    summary="Rewards an agent made for itself, one a state, and a bonus for rarity.",
    check="test_self_designed_rewards_raise_the_true_return",
    cost="a step's own",
)
@reward(
    "barfi",
    shape="step",
    needs=("table",),
    paper="Gupta et al. (2023), Behavior Alignment via Reward Function Optimization",
    summary="Own and auxiliary rewards, weighted for the true return.",
    check="test_barfi_drops_what_harms_and_keeps_what_helps",
    cost="a step's own",
)
@reward(
    "mce-icrl",
    shape="step",
    needs=("table",),
    paper="Maximum Causal Entropy Inverse Constrained Reinforcement Learning (2023)",
    summary="Costs that an expert avoids, read off its visits; give it a negative weight.",
    check="test_constraint_costs_are_met_as_often_as_the_expert_meets_them",
    cost="a step's own",
)
@reward(
    "mamql",
    shape="step",
    needs=("table",),
    paper="Multi-Agent Inverse Q-Learning from Demonstrations (2025)",
    summary="Each seat's rewards, read off recorded play of all.",
    check="test_learnt_rewards_lead_back_to_the_demonstrators_play",
    cost="a step's own",
)
class TableReward:
    """Pays `weight` times the table's value of the state and action; 0 for those not in it.

    `table` is what `palestra_rewards.tabular.Mdp.table` gives, or the path of a JSON file of it:
    rewards of a teacher, of an agent's own design, blended, or read off demonstrations. Costs have
    a negative weight. States are named by `game.state_key` of the seat, actions by their JSON.
    `term` is what the reward is called; two tables at once need two names.
    """

    def __init__(
        self,
        *,
        table: Annotated[
            str | Mapping[str, float], Meta(description="what Mdp.table gave, or a JSON file of it")
        ],
        weight: Weight = 1.0,
        term: Annotated[str, Meta(description="what the reward is called")] = "table",
    ) -> None:
        found: Any = table
        if isinstance(table, str):
            path = Path(table)
            if not path.is_file():
                raise InvalidOption(f"there is no table at {table}; write Mdp.table(…) there")
            found = json.loads(path.read_text("utf-8"))
        self.values = {str(key): float(value) for key, value in found.items()}
        self.weight, self.term = weight, term

    def __call__(self, step: Transition) -> dict[str, float]:
        if step.seat not in step.actions:
            return {self.term: 0.0}
        action = step.actions[step.seat]
        plain = int(action) if isinstance(action, int) else as_json(action)
        key = f"{step.game.state_key(step.before, step.seat).hex()} {action_key(plain)}"
        return {self.term: self.weight * self.values.get(key, 0.0)}
