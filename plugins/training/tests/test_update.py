"""Gradient steps in parts, which equal the step of the whole minibatch."""

import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra.records.trace import SeatTrace, TraceTurn
from palestra_training.batch import micro_batches, token_batch
from palestra_training.losses import AVERAGES
from palestra_training.plan import Evaluation, Lora, TinyModel, TrainPlan, WarmUp
from palestra_training.recomputing import recompute_layers
from palestra_training.trainer import Trainer
from palestra_training.update import logprobs_of

THREE = TrainPlan(
    env="games/LiarsDice-v0",
    options={"num_players": 3},
    rounds=1,
    groups=4,
    group_size=3,
    history="conversation",
    max_tokens=4,
    invalid="random",
    refused=-0.5,
    minibatch=9,
    epochs=2,
    average="dapo",
    beta=0.1,
    entropy=0.01,
    tis_cap=1.1,
    learning_rate=2e-5,  # AdamW scales rounding of gradients that are nearly 0 up to its step
    grad_norm=1e9,
    tiny=TinyModel(layers=2, width=32, heads=2, context=512, spread=0.1),
    evaluation=Evaluation(episodes=3),
)


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """Streams of three seats and unlike lengths, each turn with an advantage of its own.

    The engine's probabilities differ from the trainer's.
    """
    trainer = Trainer(THREE, tmp_path_factory.mktemp("played") / "run")
    made = token_batch(trainer.credited(trainer.rollouts()))
    assert len(set(made.sizes().tolist())) > 4
    assert set(made.seat.tolist()) == {0, 1, 2}
    source = torch.Generator().manual_seed(7)
    drawn = torch.randn(made.ids.shape, generator=source)
    made.advantages.copy_(torch.where(made.sampled, drawn, 0.0))
    made.logprobs.add_(torch.where(made.sampled, 0.2 * drawn.flip(1), 0.0)).clamp_(max=0.0)
    return made


def learned(folder, batch, plan):
    """Weights and last gradient after a batch whose reference is not the policy that learns."""
    trainer = Trainer(plan, folder / "run")
    (update,) = trainer.updates
    if update.reference is not None:
        update.reference = {name: 0.9 * value for name, value in update.reference.items()}
    found = update.learn(batch, 0)
    gradient = {name: value.grad for name, value in trainer.model.trained().items()}
    return trainer.model.weights(), gradient, found


def most_apart(one, other):
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def largest(values):
    return max(float(value.abs().max()) for value in values.values())


@pytest.mark.parametrize("average", AVERAGES)
def test_a_step_in_parts_is_the_step_of_the_whole_minibatch(tmp_path, batch, average):
    plan = replace(THREE, average=average)
    whole, gradient, found = learned(tmp_path / "whole", batch, plan)
    longest = int(batch.sizes().max())
    for bound in (longest - 1, 2 * longest):
        bounded = replace(plan, micro_batch_tokens=bound)
        parts, added, same = learned(tmp_path / str(bound), batch, bounded)
        assert most_apart(whole, parts) < 1e-6
        assert most_apart(gradient, added) < 3e-6 * max(1, largest(gradient))
        assert same[:2] == found[:2]
        assert same[2:5] == pytest.approx(found[2:5], abs=1e-5)
        assert same.padded / same.read < 0.5 * found.padded / found.read


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("llama", {}),
        ("gpt2", {"warm_up": WarmUp(episodes=2)}),
        ("llama", {"lora": Lora(rank=2), "micro_batch_tokens": 700}),
    ],
)
def test_a_step_that_computes_activations_again_is_the_same(tmp_path, batch, kind, changes):
    if "lora" in changes:
        pytest.importorskip("peft")
    plan = replace(THREE, tiny=replace(THREE.tiny, kind=kind), **changes)
    kept, gradient, found = learned(tmp_path / "kept", batch, plan)
    plan = replace(plan, gradient_checkpointing=True)
    again, added, same = learned(tmp_path / "again", batch, plan)
    assert most_apart(kept, again) < 1e-6
    assert most_apart(gradient, added) < 3e-6 * max(1, largest(gradient))
    assert same == pytest.approx(found, abs=1e-5)


def kept_bytes(folder, batch, plan):
    """What a forward pass keeps for its backward pass."""
    model = Trainer(plan, folder / "run").model
    sizes = []

    def note(tensor):
        sizes.append(tensor.nbytes)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        logprobs_of(model, batch, plan.temperature)
    return sum(sizes)


def test_fewer_activations_are_kept_where_they_are_computed_again(tmp_path, batch):
    plan = replace(THREE, tiny=replace(THREE.tiny, layers=8))
    kept = kept_bytes(tmp_path / "kept", batch, plan)
    fewer = kept_bytes(tmp_path / "fewer", batch, replace(plan, gradient_checkpointing=True))
    assert fewer < kept / 4


def test_a_model_whose_layers_cannot_be_computed_again_is_named():
    with pytest.raises(InvalidOption, match="Linear has no layers that can be computed again"):
        recompute_layers(torch.nn.Linear(2, 2))


def test_streams_of_like_length_are_read_together():
    lengths = [9, 2, 9, 3, 2, 8, 3, 40]
    batch = token_batch([stream(length, place) for place, length in enumerate(lengths)])
    assert batch.reading() == (8 * 39, 8 * 39 - sum(lengths) + 8)
    parts = list(micro_batches(batch, torch.arange(8), 27))
    read = [[lengths[row] for row in part.tolist()] for part in parts]
    assert read == [[2, 3, 2, 3], [9, 9, 8], [40]]
    readings = [batch.rows(part).reading() for part in parts]
    assert readings == [(8, 2), (24, 1), (39, 0)]


def stream(length, first):
    """A stream of some tokens of which the last was drawn, unlike streams with other first ones."""
    made = SeatTrace("games/X-v0", 1, first, 0, "learner")
    made.ids = [first, *range(50, 49 + length)]
    made.sampled = [False] * (length - 1) + [True]
    made.logprobs, made.turn = [0.0] * (length - 1) + [-0.5], [0] * length
    made.turns.append(TraceTurn(0, length - 1, length, advantage=1.0))
    return made


def test_what_a_step_learns_is_far_above_what_parts_differ_by(tmp_path, batch):
    trainer = Trainer(THREE, tmp_path / "began")
    whole, gradient, _ = learned(tmp_path, batch, THREE)
    assert most_apart(trainer.model.weights(), whole) > 1e-4
    assert largest(gradient) > 1e-3


@pytest.mark.parametrize("bound", [1, 150, 400, 10**9])
def test_forward_passes_stay_below_their_bound_and_cover_the_minibatch(batch, bound):
    chosen = torch.arange(1, len(batch), 2)
    parts = list(micro_batches(batch, chosen, bound))
    assert sorted(torch.cat(parts).tolist()) == chosen.tolist()
    for part in (batch.rows(rows) for rows in parts):
        first, _ = part.distinct()
        assert len(first) == 1 or len(first) * part.ids.shape[1] <= bound
