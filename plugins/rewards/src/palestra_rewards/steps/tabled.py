"""Rewards by state and action, from a table that was designed or learnt beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from palestra import InvalidOption, Transition
from palestra.records.record import as_json

from palestra_rewards.tabular.mdp import action_key


class TableReward:
    """Pays `weight` times the table's value of the state and action; 0 for those not in it.

    `table` is what `palestra_rewards.tabular.Mdp.table` gives, or the path of a JSON file of it:
    rewards of a teacher, of an agent's own design, blended, or read off demonstrations. Costs have
    a negative weight. States are named by `game.state_key` of the seat, actions by their JSON.
    `term` is what the reward is called; two tables at once need two names.
    """

    def __init__(
        self, *, table: str | Mapping[str, float], weight: float = 1.0, term: str = "table"
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
