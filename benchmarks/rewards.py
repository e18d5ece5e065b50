"""Group estimators on 1,024 rollouts of 50 turns: milliseconds each, and against plain loops.

`python benchmarks/rewards.py` prints every estimator, the making of its group included; `run.py
rewards` keeps the slowest and the ratios. Making a group takes about 3 ms, as long as one GRPO in
a loop, so that GRPO is compared on a group at hand and GiGPO both ways.

Estimators that judge, train a network, or need forks or coalitions, are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra_rewards import Group, entries, estimator
from timing import Row, Work, compare, limit, microseconds

ROLLOUTS, TURNS, EACH = 1_024, 50, 8
LEFT_OUT = ("arena", "segment-chain", "shapley", "counterfactual", "dylan", "qlass")


def batch() -> dict[str, Any]:
    """Two seats, 128 tasks of eight rollouts, and a few hundred states a task."""
    rng = np.random.default_rng(0)
    size = ROLLOUTS * TURNS
    return {
        "episode": np.repeat(np.arange(ROLLOUTS), TURNS),
        "seat": np.tile([0, 1], size // 2),
        "turn": np.tile(np.repeat(np.arange(TURNS // 2), 2), ROLLOUTS),  # both decide together
        "task": np.repeat(np.arange(ROLLOUTS // EACH), EACH),
        "rewards": rng.normal(size=size),
        "state": rng.integers(0, 200, size),
        "action": rng.integers(0, 8, size),
        "tokens": rng.integers(1, 60, size),
        "logprob": -rng.random(size),
        "seconds": rng.random(size),
        "cost": rng.random(size),
        "success": rng.integers(0, 2, 2 * ROLLOUTS),
        "truncated": rng.integers(0, 2, ROLLOUTS),
        "parent": np.where(np.arange(ROLLOUTS) % 2, np.arange(ROLLOUTS) - 1, -1),
        "facts": {
            "values": rng.normal(size=size),
            "process": rng.random(size),
            "implicit": rng.normal(size=size),
            "ratio": rng.random(size) + 0.5,
            "mode": list(rng.choice(["instant", "reasoning"], ROLLOUTS)),
            "progress": rng.random(ROLLOUTS),
            "local": rng.normal(size=2 * ROLLOUTS),
            "verdicts": rng.random(size) < 0.5,
        },
    }


ARRAYS = batch()


def measured() -> dict[str, float]:
    """Milliseconds of every estimator, making the group from arrays included."""
    found = {}
    for entry in entries("group"):
        if entry.name not in LEFT_OUT and "gradient" not in entry.cost:
            chain = estimator(entry.name)
            found[entry.name] = microseconds(lambda chain=chain: chain(ARRAYS), times=3) / 1e3
    return found


def shared_prefixes() -> dict[str, Any]:
    """One player whose rollouts part late: a decision in twenty differs from the others'."""
    rng = np.random.default_rng(1)
    action = (rng.random((ROLLOUTS, TURNS)) < 0.05).astype(int)
    state = np.zeros((ROLLOUTS, TURNS), int)
    for turn in range(1, TURNS):
        state[:, turn] = (state[:, turn - 1] * 3 + action[:, turn - 1] + 1) % 100_003
    return {
        "episode": np.repeat(np.arange(ROLLOUTS), TURNS),
        "task": np.repeat(np.arange(ROLLOUTS // EACH), EACH),
        "rewards": rng.normal(size=ROLLOUTS * TURNS),
        "state": [f"key {key}" for key in state.ravel()],
        "action": action.ravel(),
    }


def slowest_tree() -> Row:
    """The slowest estimator on trees, from string keys, as records have them."""
    arrays, found = shared_prefixes(), {}
    for entry in entries("group"):
        if entry.cost == "tree":
            chain = estimator(entry.name)
            work = microseconds(lambda chain=chain: chain(arrays), times=3)
            found[entry.name] = work / 1e3
    name, value = max(found.items(), key=lambda pair: pair[1])
    what = f"slowest estimator on trees ({name}), 1,024 x 50 turns"
    return limit(what, value, at_most=50, unit="ms")


def slowest() -> Row:
    name, value = max(measured().items(), key=lambda pair: pair[1])
    what = f"slowest group estimator ({name}), 1,024 x 50 turns"
    return limit(what, value, at_most=50, unit="ms")


def rollout_lists() -> list[dict[str, Any]]:
    """The same rollouts as a trainer without arrays holds them: a list of turns each."""
    rows = []
    for line in range(ROLLOUTS):
        turns = range(line * TURNS, (line + 1) * TURNS)
        rows.append(
            {
                "task": int(ARRAYS["task"][line]),
                "rewards": [float(ARRAYS["rewards"][t]) for t in turns],
                "states": [int(ARRAYS["state"][t]) for t in turns],
            }
        )
    return rows


ROWS = rollout_lists()


def standardised(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    spread = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    return [(v - mean) / spread if spread else 0.0 for v in values]


def loop_grpo() -> list[list[float]]:
    """GRPO rollout by rollout."""
    tasks: dict[int, list[int]] = {}
    for i, row in enumerate(ROWS):
        tasks.setdefault(row["task"], []).append(i)
    found: list[list[float]] = [[] for _ in ROWS]
    for members in tasks.values():
        scores = standardised([sum(ROWS[i]["rewards"]) for i in members])
        for i, score in zip(members, scores, strict=True):
            found[i] = [score] * len(ROWS[i]["rewards"])
    return found


def loop_gigpo(gamma: float = 0.95) -> list[list[float]]:
    """GiGPO rollout by rollout, and bucket by bucket in dictionaries."""
    found = loop_grpo()
    buckets: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
    for i, row in enumerate(ROWS):
        to_go = 0.0
        for t in range(len(row["rewards"]) - 1, -1, -1):
            to_go = row["rewards"][t] + gamma * to_go
            buckets.setdefault((row["task"], row["states"][t]), []).append((i, t, to_go))
    for members in buckets.values():
        for (i, t, _), score in zip(members, standardised([m[2] for m in members]), strict=True):
            found[i][t] += score
    return found


SINGLE = {name: ARRAYS[name] for name in ("episode", "task", "rewards", "state")}


def against(name: str, loop: Any, target: float) -> Row:
    chain = estimator(name)
    np.testing.assert_allclose(chain(SINGLE).values, np.concatenate(loop()), atol=1e-6)
    what = f"{name}, 1,024 x 50 turns"
    return compare(what, times(lambda: chain(SINGLE), 20), times(loop, 3), **against_loop(target))


def times(call: Any, count: int) -> Work:
    def work() -> int:
        for _ in range(count):
            call()
        return count

    return work


def against_loop(target: float) -> dict[str, Any]:
    return {"target": target, "unit": "batches/s", "against": "a Python loop over rollouts"}


def held(name: str, loop: Any, target: float) -> Row:
    """The same from a Group that is made already, as when several estimators share one."""
    chain, group = estimator(name), Group.from_arrays(**SINGLE)
    what = f"{name}, group at hand"
    return compare(what, times(lambda: chain(group), 20), times(loop, 3), **against_loop(target))


MEASURES = (
    slowest,
    slowest_tree,
    lambda: against("gigpo", loop_gigpo, 5),
    lambda: held("grpo", loop_grpo, 5),
    lambda: held("gigpo", loop_gigpo, 5),
)

if __name__ == "__main__":
    for name, value in sorted(measured().items(), key=lambda pair: -pair[1]):
        print(f"{name:24} {value:8.2f} ms")
    print(slowest_tree())
    for measure in MEASURES[2:]:
        row = measure()
        print(f"{row.name:24} {row.ratio:.1f}x of {row.against}")
