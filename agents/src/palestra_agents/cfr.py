"""Counterfactual regret minimisation for small games with hidden information.

CFR+ (Tammelin, "Solving large imperfect information games using CFR+", 2014) over the tree of
`palestra_agents.exploitability`: regrets are kept non-negative and the average strategy is
weighted by iteration. In two-player zero-sum games the average strategy converges to an equilibrium
(Zinkevich, Johanson, Bowling and Piccione, NIPS 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from typing import Annotated, Any

from palestra import Decision, Game, Meta, ScriptedAgent, Turn, agent

from palestra_agents.exploitability import play, require_solvable


@dataclass(slots=True)
class InformationSet:
    """Regrets and strategy weights by action; `gains` are regrets not yet added."""

    gains: dict[Any, float] = field(default_factory=dict)
    regrets: dict[Any, float] = field(default_factory=dict)
    weights: dict[Any, float] = field(default_factory=dict)

    def strategy(self, actions: Sequence[Any]) -> dict[Any, float]:
        """The current strategy: proportional to regret, or uniform if there is none."""
        total = sum(self.regrets.get(action, 0.0) for action in actions)
        if total <= 0.0:
            return dict.fromkeys(actions, 1 / len(actions))
        return {action: self.regrets.get(action, 0.0) / total for action in actions}

    def take_in(self) -> None:
        """Add this pass's gains and clip regrets at zero, which is the + of CFR+."""
        for action, gain in self.gains.items():
            self.regrets[action] = max(0.0, self.regrets.get(action, 0.0) + gain)
        self.gains.clear()


class Solver:
    """CFR+ on one game; call `run` again to continue."""

    def __init__(self, game: Game[Any, Any]) -> None:
        self.game = game
        self.deals = require_solvable(game)
        self.sets: dict[bytes, InformationSet] = {}
        self.iterations = 0

    def run(self, iterations: int) -> dict[bytes, dict[Any, float]]:
        """Iterate, and return the average strategy so far."""
        for _ in range(iterations):
            self.iterations += 1
            for seat in range(self.game.num_players):
                for weight, state in self.deals:
                    self._walk(state, seat, 1.0, weight)
                for known in self.sets.values():
                    known.take_in()
        return self.average()

    def _walk(self, state: Any, learner: int, own: float, others: float) -> float:
        """The learner's expected return from here; updates their regrets on the way."""
        game = self.game
        if not game.to_act(state):
            return 0.0
        mover = game.to_act(state)[0]
        actions = game.legal_actions(state, mover)
        known = self.sets.setdefault(game.state_key(state, mover), InformationSet())
        strategy = known.strategy(actions)
        worth = {}
        for action, chance in strategy.items():
            after, paid = play(game, state, action)
            reach = (own * chance, others) if mover == learner else (own, others * chance)
            worth[action] = paid[learner] + self._walk(after, learner, *reach)
        mean = sum(strategy[action] * worth[action] for action in actions)
        if mover == learner:
            for action in actions:
                gain = others * (worth[action] - mean)
                known.gains[action] = known.gains.get(action, 0.0) + gain
                share = self.iterations * own * strategy[action]
                known.weights[action] = known.weights.get(action, 0.0) + share
        return mean

    def average(self) -> dict[bytes, dict[Any, float]]:
        """The average strategy: action probabilities at every information set."""
        policy = {}
        for key, known in self.sets.items():
            total = sum(known.weights.values())
            size = len(known.weights)
            policy[key] = {
                action: weight / total if total > 0 else 1 / size
                for action, weight in known.weights.items()
            }
        return policy


@lru_cache(maxsize=8)
def solve(game: Game[Any, Any], iterations: int) -> dict[bytes, dict[Any, float]]:
    """The average strategy after `iterations` of CFR+, computed once per process."""
    return Solver(game).run(iterations)


@agent(
    "cfr",
    kind="solver",
    needs=("deals",),
    summary="Counterfactual regret minimisation; near-equilibrium in small games.",
)
class CFRAgent(ScriptedAgent):
    """Plays and reports the average strategy after `iterations` iterations of CFR+.

    Its fact `strategy` has the probability of every action.
    """

    stream = 5

    def __init__(
        self,
        *,
        iterations: Annotated[int, Meta(ge=1, description="iterations of CFR+")] = 1_000,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._iterations = iterations

    def choose(self, turn: Turn) -> Any:
        policy = solve(turn.game, self._iterations)[turn.state_key()]
        actions = list(policy)
        chosen = actions[self.rng.weighted([policy[action] for action in actions])]
        strategy = {turn.action_text(action): chance for action, chance in policy.items()}
        return Decision(chosen, logprob=log(policy[chosen]), facts={"strategy": strategy})
