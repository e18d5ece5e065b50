"""Counterfactual regret minimisation for small games with hidden information.

CFR+ (Tammelin, "Solving large imperfect information games using CFR+", 2014) over the arrays of
`palestra_agents.game_tree`: regrets are kept non-negative and the average strategy is
weighted by iteration. In two-player zero-sum games the average strategy converges to an equilibrium
(Zinkevich, Johanson, Bowling and Piccione, NIPS 2007).
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import Annotated, Any

import numpy as np
from palestra import Decision, Game, Meta, ScriptedAgent, Turn, agent

from palestra_agents.game_tree import tree_of


class Solver:
    """CFR+ on one game; call `run` again to continue.

    regrets, weights: by slot of the tree, an action at an information set.
    """

    def __init__(self, game: Game[Any, Any]) -> None:
        self.game = game
        self.tree = tree_of(game)
        self.deals = self.tree.deals
        self.regrets = np.zeros(self.tree.slots)
        self.weights = np.zeros(self.tree.slots)
        self.iterations = 0

    def run(self, iterations: int) -> dict[bytes, dict[Any, float]]:
        """Iterate, and return the average strategy so far."""
        self.iterate(iterations)
        return self.average()

    def iterate(self, iterations: int) -> None:
        """Let every seat learn in turn, `iterations` times."""
        for _ in range(iterations):
            self.iterations += 1
            for seat in range(self.game.num_players):
                self._learn(seat)

    def _learn(self, seat: int) -> None:
        """Add one seat's regrets, clipped at zero (the + of CFR+), and its strategy's weights."""
        tree = self.tree
        chances = tree.shares(self.regrets)
        own = tree.own_moves(seat)
        deals = tree.deal_chances
        mine = tree.reaches(np.where(own, chances, 1.0), np.ones(len(deals)))
        others = tree.reaches(np.where(own, 1.0, chances), deals)
        worth, value = tree.worths(chances, seat)
        moves = np.flatnonzero(tree.slot >= 0)
        moves = moves[own[tree.slot[moves]]]
        slots, up = tree.slot[moves], tree.parent[moves]
        gains = others[up] * (worth[moves] - value[up])
        self.regrets += np.bincount(slots, weights=gains, minlength=tree.slots)
        np.maximum(self.regrets, 0.0, out=self.regrets)
        reached = np.bincount(slots, weights=mine[up], minlength=tree.slots)
        self.weights += self.iterations * reached * chances

    def average(self) -> dict[bytes, dict[Any, float]]:
        """The average strategy: action probabilities at every information set."""
        return self.tree.policy(self.tree.shares(self.weights))


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
