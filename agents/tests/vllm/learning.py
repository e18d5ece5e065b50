"""vLLM behind `palestra train-llm`: it answers with the weights that the trainer has."""

from __future__ import annotations

from pathlib import Path

import palestra
import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption, ModelError
from palestra.agents.models import Message, Request
from palestra_agents.models.vllm import VLLMModel
from palestra_training.batch import TokenBatch, token_batch
from palestra_training.curves import read_curve
from palestra_training.plan import Evaluation, Lora, TinyModel, TrainPlan
from palestra_training.trainer import Trainer
from palestra_training.update import logprobs_of

TINY = TinyModel(layers=2, width=64, heads=2, context=256, spread=0.1)
PLAN = TrainPlan(
    env="text/Commons-v0",
    options={"num_players": 3, "rounds": 2, "talk": False},
    engine="vllm",
    vllm={"max_num_seqs": 32},
    rounds=2,
    groups=3,
    group_size=3,
    self_play=0.5,
    opponents=("random",),
    temperature=0.8,
    learning_rate=2e-3,
    tis_cap=2.0,
    tiny=TINY,
    evaluation=Evaluation(every=2, episodes=4),
)
PLANS = {
    "free": replace(PLAN, history="conversation", max_tokens=6),
    "asynchronous": replace(PLAN, history="conversation", max_tokens=6, asynchronous=True),
    "choice": replace(PLAN, mode="choice", max_tokens=24),
    "gpt2": replace(
        PLAN, mode="choice", max_tokens=24, tiny=TinyModel("gpt2", 2, 64, 2, 256, 0.1, "words")
    ),
    "adapter": replace(PLAN, mode="choice", max_tokens=24, lora=Lora(rank=4)),
    "adapters": replace(PLAN, mode="choice", max_tokens=24, lora=Lora(rank=4), policies="seat"),
}


def apart(trainer: Trainer, number: int) -> tuple[float, list[TokenBatch]]:
    """How far log-probabilities of engine and trainer are apart, at most, and the batches."""
    records = trainer.play.records(number)
    for record in records:
        palestra.replay(record)
    traces, most, batches = trainer.credited(records), 0.0, []
    for update in trainer.updates:
        learner = update.learner
        own = [trace for trace in traces if trace.agent == learner.name]
        versions = {turn.policy for trace in own for turn in trace.turns}
        assert versions == {str(learner.version)}
        batch = token_batch(own)
        with torch.no_grad():
            found, _ = logprobs_of(learner, batch, trainer.plan.temperature)
        marks = batch.sampled[:, 1:]
        most = max(most, float((found - batch.logprobs[:, 1:])[marks].abs().max()))
        batches.append(batch)
    least = min(float(batch.logprobs.min()) for batch in batches)
    assert least < -0.3, "nothing was drawn by chance"
    return most, batches


@pytest.mark.parametrize("kind", sorted(PLANS))
def test_the_engine_reports_what_the_trainer_computes_after_each_update(
    kind: str, tmp_path: Path
) -> None:
    trainer = Trainer(PLANS[kind], tmp_path / "run")
    for number in range(3):
        most, batches = apart(trainer, number)
        assert most < 1e-3
        moved = []
        for update, batch in zip(trainer.updates, batches, strict=True):
            batch.advantages[batch.sampled] = torch.linspace(-1, 2, int(batch.sampled.sum()))
            assert update.learn(batch, 0).truncated == 0
            update.learner.version += 1
            with torch.no_grad():
                found, _ = logprobs_of(update.learner, batch, trainer.plan.temperature)
            moved.append(float((found - batch.logprobs[:, 1:])[batch.sampled[:, 1:]].abs().max()))
        assert min(moved) > 1e-2, "an engine that kept the weights before would not be noticed"


@pytest.mark.parametrize("kind", ["free", "asynchronous", "adapter"])
def test_a_run_is_the_same_again_and_when_it_is_resumed(kind: str, tmp_path: Path) -> None:
    plan = PLANS[kind]
    one, two = Trainer(plan, tmp_path / "one"), Trainer(plan, tmp_path / "two")
    one.run(), two.run()
    Trainer(replace(plan, rounds=1), tmp_path / "cut").run()
    again = Trainer(plan, tmp_path / "cut", resume=True)
    again.run()
    for other in (two, again):
        for mine, theirs in zip(one.play.weights(), other.play.weights(), strict=True):
            assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    curves = [read_curve(t.out / "curve.csv") for t in (one, two)]
    assert [{**line, "seconds": ""} for line in curves[0]] == [
        {**line, "seconds": ""} for line in curves[1]
    ]


def test_weights_are_taken_by_an_engine_of_its_own_alone(tmp_path: Path) -> None:
    tiny = Trainer(replace(PLAN, engine="transformers", vllm={}), tmp_path / "run").out / "tiny"
    request = Request((Message("user", "hello"),), raw=True)
    shared = VLLMModel(target=str(tiny), max_model_len=64)
    with pytest.raises(InvalidOption, match="open it with for_training=true"):
        shared.take_weights([])
    waiting = VLLMModel(target=str(tiny), max_model_len=64, for_training=True, load_format="dummy")
    with pytest.raises(ModelError, match="has no weights yet; call take_weights"):
        waiting.chat([request])
