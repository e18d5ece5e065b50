"""Models stored in 16 bits learn as the same weights in 32 bits do."""

import pytest
import torch
from msgspec.structs import replace
from palestra_training.learner import Learner
from palestra_training.plan import Evaluation, Lora, TinyModel, TrainPlan
from palestra_training.trainer import Trainer
from transformers import AutoModelForCausalLM, AutoTokenizer

PLAN = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=1,
    groups=6,
    group_size=4,
    mode="choice",
    learning_rate=1e-6,
    tiny=TinyModel(layers=1, width=32, heads=2, context=128),
    evaluation=Evaluation(every=100, episodes=2),
)
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@pytest.fixture(scope="module", params=sorted(HALVES))
def stored(request, tmp_path_factory):
    """The same weights in a 16-bit folder and in a 32-bit one."""
    folder = tmp_path_factory.mktemp(request.param)
    tiny = Trainer(PLAN, folder / "run").out / "tiny"
    net = AutoModelForCausalLM.from_pretrained(tiny).to(HALVES[request.param])
    for name, dtype in [("half", HALVES[request.param]), ("full", torch.float32)]:
        net.to(dtype).save_pretrained(folder / name)
        AutoTokenizer.from_pretrained(tiny).save_pretrained(folder / name)
    half = AutoModelForCausalLM.from_pretrained(folder / "half", dtype="auto")
    assert half.dtype == HALVES[request.param]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 20])
def test_steps_of_a_16_bit_model_are_those_of_the_32_bit_one(stored, tmp_path, rounds):
    half, full = (
        Trainer(replace(PLAN, rounds=rounds, model=str(stored / name)), tmp_path / name)
        for name in ("half", "full")
    )
    began = full.model.weights()
    half.run()
    full.run()
    moved = {name: value - began[name] for name, value in full.model.weights().items()}
    assert sum(float((step != 0).float().mean()) for step in moved.values()) > 0.5 * len(moved)
    for name, value in half.model.weights().items():
        assert torch.allclose(value - began[name], moved[name], rtol=1e-2, atol=1e-8), name
    saved = Learner(half.out / "model").weights()
    assert all(torch.equal(value, saved[name]) for name, value in half.model.weights().items())


@pytest.mark.parametrize("policies", ["shared", "seat"])
def test_a_resumed_16_bit_run_is_the_run_that_never_stopped(stored, tmp_path, policies):
    plan = replace(PLAN, rounds=4, model=str(stored / "half"), policies=policies)
    whole = Trainer(plan, tmp_path / "whole")
    whole.run()
    Trainer(replace(plan, rounds=2), tmp_path / "cut").run()
    again = Trainer(plan, tmp_path / "cut", resume=True)
    again.run()
    for one, other in zip(whole.learners, again.learners, strict=True):
        kept = other.weights()
        assert all(torch.equal(value, kept[name]) for name, value in one.weights().items())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("rank", [0, 2])
def test_what_is_learned_and_its_moments_are_32_bit(stored, tmp_path, precision, rank):
    if rank:
        pytest.importorskip("peft")
    plan = replace(PLAN, model=str(stored / "half"), precision=precision, lora=Lora(rank=rank))
    trainer = Trainer(plan, tmp_path / "run")
    trainer.run()
    optimiser = trainer.updates[0].optimiser
    learned = [value for group in optimiser.param_groups for value in group["params"]]
    moments = [kept for one in optimiser.state.values() for kept in one.values()]
    assert {value.dtype for value in [*learned, *moments]} == {torch.float32}
    frozen = {v.dtype for v in trainer.model.net.parameters() if not v.requires_grad}
    assert frozen == ({getattr(torch, precision)} if rank else set())
