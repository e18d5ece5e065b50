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
from msgspec.structs import asdict, replace
from palestra import InvalidOption, MissingExtra
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
from palestra_training.trainer import Trainer, open_crew

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


def difference(one, other, where=""):
    """The first place at which two lists of records differ, numbers by more than 1e-6."""
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        one, other = asdict(one), asdict(other)
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return f"{where}: {sorted(one)} and {sorted(other)}"
        pairs = [(key, one[key], other[key]) for key in one if key != "seconds"]
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return f"{where}: {len(one)} and {len(other)} of them"
        pairs = [(place, *both) for place, both in enumerate(zip(one, other, strict=True))]
    else:
        near = isinstance(one, float) and isinstance(other, float) and abs(one - other) <= 1e-6
        return "" if near or one == other else f"{where}: {one!r} and {other!r}"
    found = (difference(first, second, f"{where} {key}") for key, first, second in pairs)
    return next(filter(None, found), "")


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
            assert not difference(alone.rollouts(number), there.rollouts(number))
        assert len(there.crew.workers) == 2
    finally:
        there.close()


@pytest.fixture
def run(cluster, tmp_path):
    """A run of one round on two workers that have opened their models, and one of one process."""
    plan = replace(PLAN, rounds=1, groups=12)
    alone = Trainer(plan, tmp_path / "alone")
    there = Trainer(replace(plan, ray=TWO), tmp_path / "there")
    places = ray.get([worker.actor.place.remote() for worker in there.crew.workers])
    assert len({node for node, _ in places}) == 2
    yield alone, there, dict(zip(there.crew.workers, places, strict=True))
    there.close()


def in_mid_round(worker, act):
    """Act once, as soon as a worker plays."""

    def watch():
        while worker.place is None:
            time.sleep(0.001)
        act()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@slow
@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize("how", ["actor", "process", "hangs"])
def test_what_a_lost_worker_played_is_played_again(run, how):
    alone, there, places = run
    (lost, (_, pid)), (kept, _) = places.items()
    lost.seconds = 1.5 if how == "hangs" else lost.seconds
    acts = {
        "actor": lambda: ray.kill(lost.actor),
        "process": lambda: os.kill(pid, signal.SIGKILL),
        "hangs": lambda: os.kill(pid, signal.SIGSTOP),
    }
    thread = in_mid_round(lost, acts[how])
    alone.run()
    there.run()
    thread.join()
    assert lost not in there.crew.workers
    assert kept in there.crew.workers
    assert_same(alone, there)
    assert not difference(alone.rollouts(1), there.rollouts(1))


@slow
def test_a_slow_worker_holds_up_nobody(run, monkeypatch):
    alone, there, places = run
    handed = []
    monkeypatch.setattr(type(there.crew.workers[0]), "play", watched_play(handed))
    (slow_one, (_, pid)), _ = places.items()
    stop = in_mid_round(slow_one, lambda: os.kill(pid, signal.SIGSTOP))

    def wake():
        while len(handed) < PLAN.groups + 7:
            time.sleep(0.01)
        os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=wake)
    thread.start()
    records = there.rollouts(1)
    stop.join()
    thread.join()
    assert len(handed) == 12
    assert sum(worker is slow_one for worker in handed) < 4
    assert not difference(alone.rollouts(1), records)


def watched_play(handed):
    from palestra_training.ray_rollouts import Worker

    play = Worker.play

    def watched(worker, *arguments):
        handed.append(worker)
        play(worker, *arguments)

    return watched


@slow
@pytest.mark.exhaustive
def test_a_node_that_is_removed_is_replaced_by_one_that_joins(run, cluster):
    alone, there, places = run
    (node,) = (node for node in cluster.worker_nodes if node.node_id in dict(places.values()))
    (lost,) = (worker for worker, (where, _) in places.items() if where == node.node_id)
    thread = in_mid_round(lost, lambda: cluster.remove_node(node, allow_graceful=False))
    alone.run()
    there.run()
    thread.join()
    assert lost not in there.crew.workers
    assert_same(alone, there)
    cluster.add_node(num_cpus=1)
    deadline = time.monotonic() + 60
    while ray.available_resources().get("CPU", 0) < 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not difference(alone.rollouts(1), there.rollouts(1))
    assert len(there.crew.workers) == 2


@slow
def test_a_run_without_workers_stops_and_resumes(run, tmp_path):
    alone, there, places = run
    alone.run()
    threads = [
        in_mid_round(worker, lambda actor=worker.actor: ray.kill(actor)) for worker in places
    ]
    with pytest.raises(TrainingStopped, match="no Ray worker is left to play the round; see"):
        there.run()
    for thread in threads:
        thread.join()
    assert there.round == 0
    again = Trainer(alone.plan, there.out, resume=True)
    again.run()
    assert_same(alone, again)


def started(folder, plan, *options):
    """`palestra train-llm`, in a process of its own."""
    file = folder / "run.json"
    file.write_bytes(msgspec.json.encode(plan))
    train = ["-m", "palestra", "train-llm", str(file), "--out", str(folder / "run"), *options]
    return subprocess.Popen(
        [sys.executable, *train], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("address", ["by its address", "local"])
def test_a_killed_run_resumes_as_without_ray(cluster, tmp_path, address):
    where = cluster.address if address != "local" else "local"
    plan = replace(PLAN, rounds=4, ray=replace(TWO, address=where))
    alone = Trainer(replace(plan, ray=RayWorkers()), tmp_path / "alone")
    alone.run()
    first = started(tmp_path, plan)
    for line in first.stdout:
        if line.startswith("round 2"):
            break
    first.kill()
    _, errors = first.communicate(timeout=60)
    assert first.returncode == -signal.SIGKILL, errors
    again = started(tmp_path, plan, "--resume")
    _, errors = again.communicate(timeout=240)
    assert again.returncode == 0, errors
    assert_same(alone, Trainer(replace(plan, ray=RayWorkers()), tmp_path / "run", resume=True))
    lines = read_curve(tmp_path / "run" / "curve.csv")
    assert [int(line["round"]) for line in lines] == [1, 2, 3, 4]


@slow
@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 3}, "ray.workers is 3, but the cluster's 2 machines have room for 2 of 1"),
        ({"workers": 2, "cpus": 0.4, "gpus": 1.0}, "room for 0 of 0.4 CPUs and 1 GPUs"),
        ({"workers": 1, "cpus": 2.0}, "room for 0 of 2 CPUs"),
    ],
)
def test_more_than_the_cluster_has_room_for_is_refused(cluster, tmp_path, changes, message):
    with pytest.raises(InvalidOption, match=message):
        Trainer(replace(PLAN, ray=RayWorkers(**changes)), tmp_path / "run")


@slow
def test_an_error_of_a_worker_is_told(cluster, tmp_path, monkeypatch):
    from palestra_training import ray_rollouts

    monkeypatch.setattr(ray_rollouts, "versions_of_play", lambda plan: {"torch": "0.4"})
    there = Trainer(replace(PLAN, ray=TWO), tmp_path / "run")
    with pytest.raises(
        InvalidOption, match=r"the trainer has torch 0\.4 \(installed: .* worker on"
    ):
        there.run()
    there.close()


def test_an_address_where_no_ray_is_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(InvalidOption, match=f"cannot join a Ray cluster at ray.address = {where}"):
        Trainer(replace(PLAN, ray=RayWorkers(workers=1, address=where)), tmp_path / "run")
    assert not (tmp_path / "run" / STATE).exists()


def test_what_cannot_go_together_is_refused(tmp_path):
    with pytest.raises(InvalidOption, match=r"\[ray\] has options, but no workers"):
        replace(PLAN, ray=RayWorkers(address="here:1"))
    with pytest.raises(InvalidOption, match="hooks and --watch see what this process plays"):
        open_crew(replace(PLAN, ray=TWO), tmp_path, [object()])
    with pytest.raises(InvalidOption, match="2 processes share their rollouts already"):
        Trainer(replace(PLAN, ray=TWO), tmp_path / "run", processes=Processes(0, 2))


@slow
def test_a_missing_ray_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "palestra_training.ray_rollouts", raising=False)
    with pytest.raises(MissingExtra, match=r"palestra-training\[ray\]"):
        open_crew(replace(PLAN, ray=TWO), tmp_path, [])
