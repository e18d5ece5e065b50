"""Rollouts by actors of a real Ray cluster of two nodes, which equal those of one process."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

import msgspec
import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra_training.checkpoint import STATE
from palestra_training.curves import read_curve
from palestra_training.plan import (
    Evaluation,
    Hints,
    Lora,
    RayWorkers,
    TaskChoice,
    TinyModel,
    TrainPlan,
)
from palestra_training.processes import Processes
from palestra_training.stopping import TrainingStopped
from palestra_training.trainer import Trainer

ray = pytest.importorskip("ray", reason="ray is not installed: palestra-training[ray]")
slow = pytest.mark.slow

PLAN = TrainPlan(
    env="games/LiarsDice-v0",
    options={"num_players": 3},
    rounds=2,
    groups=5,
    group_size=3,
    self_play=0.5,
    opponents=("random",),
    past=1,
    past_every=1,
    credit="rae",
    mode="choice",
    history="conversation",
    max_tokens=4,
    minibatch=7,
    learning_rate=2e-5,
    tiny=TinyModel(layers=1, width=32, heads=2, context=768, spread=0.1),
    evaluation=Evaluation(every=1, episodes=7),
)
TWO = RayWorkers(workers=2, seconds=120)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one CPU each, which this process has joined."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    nodes = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    nodes.add_node(num_cpus=1)
    ray.init(nodes.address, log_to_driver=False, configure_logging=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def opened(folder, plan, **more):
    return Trainer(plan, folder, **more)


def told(records):
    """Records without how long they took."""
    found = msgspec.to_builtins(records)
    for record in found:
        clean(record)
    return found


def clean(value):
    for name in [name for name in value if "second" in name or name in ("created", "id")]:
        del value[name]
    for inner in value.values():
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, dict):
                clean(one)


def most_apart(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def assert_same(alone, there):
    for one, other in zip(alone.learners, there.learners, strict=True):
        assert most_apart(one.weights(), other.weights()) < 1e-6
    assert len(alone.curve) == len(there.curve)
    names = ("episodes", "tokens", "returns", "mistakes", "alike", "mean", "rank", "opponent")
    for line, other in zip(alone.curve, there.curve, strict=True):
        assert [getattr(line, name) for name in names] == [getattr(other, name) for name in names]
        assert line.loss == pytest.approx(other.loss, abs=1e-6)
    assert alone.pool.names == there.pool.names


CHANGES = {
    "as it is": {},
    "seats and sampling": {"dynamic_sampling": 2.0, "policies": "seat"},
    "hints and horizon": {"hints": Hints(agent="first"), "horizon": ((0, 3), (1, 8))},
    "ahead": {"ahead": 1, "rounds": 3},
    "past under nash": {"past": 2, "matching": "nash", "groups": 7, "rounds": 3, "self_play": 0.2},
    "chosen starts": {"tasks": TaskChoice(candidates=6, episodes=4, every=1)},
    "adapters": {"lora": Lora(rank=2), "policies": "seat", "learning_rate": 1e-3},
    "two at once": {"ray": RayWorkers(workers=2, at_once=2, seconds=120)},
}


@slow
@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_two_workers_play_what_one_process_does(cluster, tmp_path, changes):
    plan = replace(PLAN, **changes)
    alone = Trainer(replace(plan, ray=RayWorkers()), tmp_path / "alone")
    first = [learner.weights() for learner in alone.learners]
    alone.run()
    there = Trainer(replace(plan, ray=changes.get("ray", TWO)), tmp_path / "there")
    try:
        there.run()
        assert_same(alone, there)
        assert most_apart(first[0], alone.model.weights()) > 2e-5
        for number in (plan.rounds, plan.rounds + 1):
            assert told(alone.rollouts(number)) == told(there.rollouts(number))
        assert len(there.crew.workers) == 2
    finally:
        there.close()
