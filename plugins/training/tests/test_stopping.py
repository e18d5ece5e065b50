"""Runs that diverge, or run out of memory, stop in one clear line and keep their checkpoint."""

import pytest
import torch
from msgspec.structs import replace
from palestra_training.learner import Learner
from palestra_training.plan import Evaluation, TinyModel, TrainPlan, WarmUp
from palestra_training.stopping import TrainingStopped
from palestra_training.trainer import Trainer

PLAN = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=4,
    groups=8,
    group_size=4,
    mode="choice",
    minibatch=4,
    evaluation=Evaluation(every=2, episodes=4),
    tiny=TinyModel(kind="gpt2", layers=1, width=32, heads=2, context=128, spread=0.1),
)


@pytest.mark.parametrize("policies", ["shared", "seat"])
@pytest.mark.parametrize("rate", [30.0, 1e4, 1e30])
def test_divergence_stops_a_run_and_the_checkpoint_goes_on(tmp_path, rate, policies):
    plan = replace(PLAN, policies=policies)
    first = Trainer(replace(plan, rounds=1), tmp_path / "run")
    first.run()
    good = [learner.weights() for learner in first.learners]
    again = Trainer(replace(plan, learning_rate=rate), tmp_path / "run", resume=True)
    why = (
        r"the (largest probability ratio|largest weight|norm of the gradient|loss) is \S+ at "
        r"update \d+ of learner\S* in round \d; resume .* smaller learning_rate"
    )
    with pytest.raises(TrainingStopped, match=why):
        again.run()
    back = Trainer(plan, tmp_path / "run", resume=True)
    if back.round == 1:
        for learner, kept in zip(back.learners, good, strict=True):
            now = learner.weights()
            assert all(torch.equal(value, now[name]) for name, value in kept.items())
    for learner in back.learners:
        assert all(value.abs().max() < 1e6 for value in learner.weights().values())


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda net, batch: batch.logprobs.fill_(-200.0), "largest probability ratio is inf"),
        (lambda net, batch: net.lm_head.weight.data.fill_(1e30), "is"),
        (lambda net, batch: batch.advantages.fill_(float("nan")), "loss is nan"),
        (
            lambda net, batch: net.lm_head.weight.register_hook(lambda grad: grad * torch.inf),
            "norm of the gradient is",
        ),
    ],
)
def test_what_diverged_is_named(tmp_path, monkeypatch, spoil, what):
    trainer = Trainer(PLAN, tmp_path / "run")
    (update,) = trainer.updates
    learn = update.learn

    def spoiled(batch, number):
        spoil(update.learner.net, batch)
        return learn(batch, number)

    monkeypatch.setattr(update, "learn", spoiled)
    with pytest.raises(TrainingStopped, match=rf"the [a-z ]*{what}.* at update 1 of learner"):
        trainer.run()


def test_a_warm_up_that_diverges_is_named(tmp_path):
    plan = replace(PLAN, warm_up=WarmUp(episodes=20, epochs=4, learning_rate=1e30))
    with pytest.raises(TrainingStopped, match=r"loss is \S+ at step \d of epoch \d of the warm-up"):
        Trainer(plan, tmp_path / "run")


ERRORS = {
    "cpu": RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 16 bytes"),
    "gpu": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "python": MemoryError(),
    "numpy": MemoryError("Unable to allocate 1.0 TiB for an array"),
}


@pytest.mark.parametrize("kind", sorted(ERRORS))
@pytest.mark.parametrize("stage", ["rollouts", "step", "evaluation"])
def test_running_out_of_memory_says_where_and_what_to_change(tmp_path, monkeypatch, kind, stage):
    trainer = Trainer(PLAN, tmp_path / "run")
    evaluating = []
    real, found = trainer.evaluate, Learner._write

    def evaluate():
        evaluating.append(True)
        return real()

    def write(self, *asked):
        if evaluating or stage == "rollouts":
            raise ERRORS[kind]
        return found(self, *asked)

    def fail(*_, **__):
        raise ERRORS[kind]

    monkeypatch.setattr(trainer, "evaluate", evaluate)
    monkeypatch.setattr(Learner, "_write", write)
    if stage == "step":
        monkeypatch.setattr(trainer.updates[0], "_step", fail)
    where = "the evaluation of round 2" if stage == "evaluation" else "round 1"
    advice = "evaluation.episodes" if stage == "evaluation" else "smaller micro_batch_tokens"
    with pytest.raises(TrainingStopped, match=rf"out of memory in {where}; .*{advice}") as raised:
        trainer.run()
    assert "\n" not in str(raised.value)


def test_memory_that_a_cpu_does_not_have_is_such_an_error(tmp_path, monkeypatch):
    trainer = Trainer(PLAN, tmp_path / "run")
    monkeypatch.setattr(trainer.updates[0], "_step", lambda *_, **__: torch.empty(1 << 50))
    with pytest.raises(TrainingStopped, match="out of memory in round 1"):
        trainer.run()


def test_other_errors_stay_what_they_are(tmp_path, monkeypatch):
    trainer = Trainer(PLAN, tmp_path / "run")

    def fail(*_, **__):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(trainer.updates[0], "_step", fail)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        trainer.run()
