"""Fair leaders by learning: a mediator and two players learn together who should lead.

Joint agent-mediator Q-learning in the setting of "Emergence of Fair Leaders via Mediators in
Multi-Agent Reinforcement Learning": both players keep one table for leading and one for answering,
which holds the value of each answer to each lead, and so learn to commit and to answer best; the
mediator sees who is ahead and is paid by how much the smaller total grows. In the battle of the
sexes leading is worth 2 and following 1: a fixed leader ends with twice as much as the other, and
the fairest there is gives both the same.

Printed is what players are paid in a stage, and the smaller total over the larger, with a learnt
mediator and with the rules to compare with.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import palestra

ROWS, STAGES, RATE, EXPLORE, GAMMA = 32, 10, 0.1, 0.1, 0.9
RULES = ("first", "random", "alternate")


class Tables:
    """Values of actions in numbered situations, one learner's."""

    def __init__(self, situations: int, actions: int, rng: np.random.Generator) -> None:
        self.worth = np.zeros((situations, actions))
        self.rng = rng

    def choose(self, situation: np.ndarray, explore: float) -> np.ndarray:
        worth = self.worth[situation]
        best = (worth + 1e-9 * self.rng.random(worth.shape)).argmax(-1)
        lost = self.rng.random(best.shape) < explore
        return np.where(lost, self.rng.integers(0, worth.shape[-1], best.shape), best)

    def learn(self, situation: np.ndarray, action: np.ndarray, target: np.ndarray) -> None:
        for place, value in zip(zip(situation, action, strict=True), target, strict=True):
            self.worth[place] += RATE * (value - self.worth[place])


def standing(totals: np.ndarray, played: int) -> np.ndarray:
    """What the mediator knows: who is ahead, and whether this is the last stage."""
    return (1 + np.sign(totals[:, 0] - totals[:, 1])).astype(int) * 2 + (played == STAGES - 1)


def episode(env: Any, learners: dict[str, Any], *, mediated: bool, learn: bool) -> np.ndarray:
    """Play one episode in every row, learning or greedily; returns the totals."""
    rng, explore = learners["rng"], EXPLORE if learn else 0.0
    rows = np.arange(ROWS)
    env.reset(seed=int(rng.integers(1 << 31)))
    totals, pending = np.zeros((ROWS, 2)), None
    for played in range(STAGES):
        actions = np.zeros((ROWS, env.game.num_players), np.int64)
        if mediated:
            situation = standing(totals, played)
            chosen = learners["mediator"].choose(situation, explore)
            if learn and pending is not None:
                ahead = learners["mediator"].worth[situation].max(-1)
                learners["mediator"].learn(*pending[:2], pending[2] + GAMMA * ahead)
            actions[:, 2] = chosen
            env.step(actions)
        leader = env.observations[:, 0, 7].astype(int)
        lead = np.zeros(ROWS, np.int64)
        answer = np.zeros(ROWS, np.int64)
        for seat in range(2):
            lead = np.where(leader == seat, learners["lead"][seat].choose(0 * rows, explore), lead)
        actions[rows, leader] = lead
        env.step(actions)
        for seat in range(2):
            own = learners["answer"][seat].choose(lead, explore)
            answer = np.where(leader == seat, answer, own)
        actions[rows, 1 - leader] = answer
        env.step(actions)
        paid = env.rewards[:, :2].copy()
        for seat in range(2):
            leads, follows = leader == seat, leader != seat
            if learn:
                learners["lead"][seat].learn(0 * rows[leads], lead[leads], paid[leads, seat])
                learners["answer"][seat].learn(lead[follows], answer[follows], paid[follows, seat])
        before = totals.min(1)
        totals = totals + paid
        if mediated:
            pending = (situation, chosen, totals.min(1) - before)
    if learn and pending is not None:
        learners["mediator"].learn(*pending)
    return totals


def main(steps: int, seed: int) -> None:
    for rule in ("learnt", *RULES):
        rng, mediated = np.random.default_rng(seed), rule == "learnt"
        options = {"num_players": 3} if mediated else {"mediator": rule}
        env = palestra.make(
            "games/FairLeaders-v0", view="batch", num_envs=ROWS, stages=STAGES, **options
        )
        moves = env.game.num_actions
        learners = {
            "rng": rng,
            "mediator": Tables(6, 2, rng),
            "lead": [Tables(1, moves, rng) for _ in range(2)],
            "answer": [Tables(moves, moves, rng) for _ in range(2)],
        }
        for _ in range(max(1, steps // STAGES)):
            episode(env, learners, mediated=mediated, learn=True)
        totals = episode(env, learners, mediated=mediated, learn=False)
        fairness = (totals.min(1) / totals.max(1).clip(1e-9)).mean()
        paid = " and ".join(f"{value:.2f}" for value in totals.mean(0) / STAGES)
        print(f"{rule:>10} mediator: {paid} a stage, fairness {fairness:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2_000, help="stages that are learnt from")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.steps, given.seed)
