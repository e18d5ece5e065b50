"""Several real processes train one run, which equals the run of one process."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra_training.batch import share_of_streams, token_batch
from palestra_training.curves import read_curve
from palestra_training.plan import Evaluation, TinyModel, TrainPlan
from palestra_training.processes import Processes
from palestra_training.trainer import Trainer

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
    micro_batch_tokens=900,
    beta=0.1,
    tis_cap=2.0,
    learning_rate=2e-5,
    tiny=TinyModel(layers=1, width=32, heads=2, context=768, spread=0.1),
    evaluation=Evaluation(every=1, episodes=6),
)


def start(folder, plan, *options, processes=2):
    """Train by torchrun; the lines that it prints are the result's `stdout`."""
    file = folder / "run.json"
    file.write_bytes(msgspec.json.encode(plan))
    train = ["-m", "palestra", "train-llm", str(file), "--out", str(folder / "run"), *options]
    parallel = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return subprocess.Popen(
        [*parallel, f"--nproc-per-node={processes}", *train],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"dynamic_sampling": 2.0, "policies": "seat"}])
def test_two_processes_learn_what_one_does(tmp_path, changes):
    plan = replace(PLAN, **changes)
    alone = Trainer(plan, tmp_path / "alone")
    first = alone.model.weights()
    alone.run()
    both = start(tmp_path, plan)
    said, errors = both.communicate(timeout=240)
    assert both.returncode == 0, errors
    together = Trainer(plan, tmp_path / "run", resume=True)
    for one, other in zip(alone.learners, together.learners, strict=True):
        assert most_apart(one.weights(), other.weights()) < 1e-6
    assert most_apart(first, alone.model.weights()) > 5e-5
    assert [line.round for line in together.curve] == [1, 2]
    for line, other in zip(alone.curve, together.curve, strict=True):
        same = ("episodes", "tokens", "returns", "mistakes", "alike", "mean", "rank", "truncated")
        assert all(getattr(line, name) == getattr(other, name) for name in same)
        assert line.loss == pytest.approx(other.loss, abs=1e-5)
    assert len(read_curve(tmp_path / "run" / "curve.csv")) == 2
    assert said.count("round 1 ") == said.count("round 2 ") == said.count("model ") == 1


def most_apart(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def children(process):
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True
    )
    return [int(line) for line in found.stdout.split()]


def running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("how", ["interrupt", "killed"])
def test_all_processes_end_together_and_the_run_resumes(tmp_path, how):
    process = start(tmp_path, replace(PLAN, rounds=300))
    for line in process.stdout:
        if line.startswith("round 2"):
            break
    workers = children(process)
    assert len(workers) == 2
    if how == "interrupt":
        process.send_signal(signal.SIGINT)
    else:
        os.kill(workers[1], signal.SIGKILL)
    process.communicate(timeout=120)
    assert process.returncode != 0
    deadline = time.monotonic() + 20
    while any(map(running, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(running, workers))
    rounds = Trainer(replace(PLAN, rounds=300), tmp_path / "run", resume=True).round
    assert rounds >= 1
    again = start(tmp_path, replace(PLAN, rounds=rounds + 1), "--resume")
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    lines = read_curve(tmp_path / "run" / "curve.csv")
    assert [int(line["round"]) for line in lines] == list(range(1, rounds + 2))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [0, 1, 5, 6])
def test_shares_are_the_whole_in_order(count, size):
    items = list(range(size))
    shares = [Processes(rank, count).share(items) for rank in range(count)]
    assert [item for share in shares for item in share] == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_processes_share_the_streams_of_a_step(tmp_path, count):
    trainer = Trainer(PLAN, tmp_path / "run")
    batch = token_batch(trainer.credited(trainer.rollouts()))
    chosen = torch.arange(1, len(batch))
    shares = [share_of_streams(batch, chosen, rank, count) for rank in range(count)]
    assert sorted(torch.cat(shares).tolist()) == chosen.tolist()
    if count == 2:
        readings = [batch.rows(share).reading() for share in shares]
        needed = [read - padded for read, padded in readings]
        assert max(needed) < 1.3 * min(needed)


def test_several_processes_do_not_play_ahead(tmp_path):
    with pytest.raises(InvalidOption, match="2 processes play with the models that they train"):
        Trainer(replace(PLAN, ahead=1), tmp_path / "run", processes=Processes(0, 2))
