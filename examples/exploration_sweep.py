"""How exploration breaks cooperation: Q-learners on a network, swept over exploration and sharing.

The protocol of Weng and Lee, "How Exploration Breaks Cooperation in Shared-Policy Multi-Agent
Reinforcement Learning" (2026), with tables instead of networks: nine players on a lattice play a
stag hunt with all their neighbours, in which all cooperating is an equilibrium and pays best. They
start out cooperating, explore at a fixed rate, and learn from what they are paid; one table serves
all of them, or a group, or each has its own. Printed is how many of the greedy moves cooperate in
the last quarter: at what rate does cooperation break, and does sharing matter?

In one round cooperating is best while neighbours do so with probability above (P - S) / (R - S -
T + P), here 6/7, and a cooperator who explores at rate e cooperates with probability 1 - e / 2:
beyond e = 2/7 even players who know all probabilities should defect. Learners break before.
"""

from __future__ import annotations

import argparse

import numpy as np
import palestra

TABLE = (4.0, 0.0, 3.5, 3.0)  # R, S, T and P
SEATS, ROWS = 9, 40
RATE = 0.05
STATES = 11  # own last move and how many of four neighbours cooperated; the last: nothing yet
RATES = (0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.6)
SHARING = {"shared": 1, "groups of three": 3, "own tables": SEATS}


def states(seen: np.ndarray) -> np.ndarray:
    """The state number of every seat, from its array view."""
    numbers = 5 * (seen[..., 1] > 0) + seen[..., 3]
    numbers[seen[..., 6] == 0] = STATES - 1
    return numbers.astype(int)


def cooperation(explore: float, tables: int, *, rounds: int, gamma: float, seed: int) -> float:
    """The share of greedy moves that cooperate in the last quarter of the rounds."""
    rng = np.random.default_rng(seed)
    env = palestra.make(
        "games/NetworkDilemma-v0",
        view="batch",
        num_envs=ROWS,
        num_players=SEATS,
        payoffs_table=TABLE,
        rounds=rounds,
    )
    env.reset(seed=seed)
    worth = np.zeros((ROWS, tables, STATES, 2))
    worth[..., 0] = TABLE[0] / (1 - gamma)  # they start out cooperating
    worth[..., 1] = TABLE[3] / (1 - gamma)
    row, table = np.arange(ROWS)[:, None], np.arange(SEATS)[None, :] * tables // SEATS
    state, greedy_moves = states(env.observations), []
    neighbours = np.maximum(env.observations[..., 2], 1)
    for _ in range(rounds - 1):
        greedy = worth[row, table, state].argmax(-1)
        lost = rng.random(greedy.shape) < explore
        action = np.where(lost, rng.integers(0, 2, greedy.shape), greedy)
        env.step(action)
        paid, following = env.rewards / neighbours, states(env.observations)
        target = paid + gamma * worth[row, table, following].max(-1)
        place = (row, table, state, action)
        change, visits = np.zeros_like(worth), np.zeros_like(worth)
        np.add.at(change, place, target - worth[place])
        np.add.at(visits, place, 1)
        worth += RATE * change / np.maximum(visits, 1)
        state = following
        greedy_moves.append(float((greedy == 0).mean()))
    return float(np.mean(greedy_moves[-rounds // 4 :]))


def main(rounds: int, gamma: float, seed: int) -> None:
    print("explore  " + "  ".join(f"{name:>15}" for name in SHARING))
    for explore in RATES:
        shares = [
            cooperation(explore, tables, rounds=rounds, gamma=gamma, seed=seed)
            for tables in SHARING.values()
        ]
        print(f"{explore:7.2f}  " + "  ".join(f"{share:15.0%}" for share in shares))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4_000, help="rounds that are played")
    parser.add_argument("--gamma", type=float, default=0.9, help="0 looks at this round only")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.steps, given.gamma, given.seed)
