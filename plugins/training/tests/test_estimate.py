"""What a plan is said to need is what PyTorch uses, and what closed formulas give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from palestra import InvalidOption
from palestra.cli import add_commands
from palestra.cli.app import BUILT_IN, app
from palestra.kernel.registry import registry
from palestra_training.estimate import GB, Lengths, estimate, lengths, model_of, reading
from palestra_training.learner import Learner
from palestra_training.losses import chosen_logprobs
from palestra_training.plan import TrainPlan, checked_plan
from palestra_training.tiny import make_tiny
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoConfig, AutoModelForCausalLM
from typer.testing import CliRunner, Result

EXAMPLES = Path(__file__).parents[3] / "examples"
LAYERS, WIDTH, HEADS = 3, 96, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = ["you have the king", "pass", "bet"]
    return make_tiny(
        tmp_path_factory.mktemp("model"), texts, layers=LAYERS, width=WIDTH, heads=HEADS
    )


def plan_of(folder: Path | str, **changes: Any) -> TrainPlan:
    return TrainPlan(env="games/KuhnPoker-v0", model=str(folder), mode="choice", **changes)


def said(*words: str) -> Result:
    """What `palestra` prints."""
    add_commands(app, registry().plugins, BUILT_IN)
    return CliRunner().invoke(app, words)


@pytest.fixture
def from_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)


@pytest.mark.slow
@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("name", ["train_llm_1.5b.toml", "train_llm_1.5b_eight.toml"])
def test_the_examples_fit_their_devices(from_root: None, name: str) -> None:
    """Qwen2.5-1.5B has 1.54 billion weights, 1.31 without the embedding, by its model card."""
    devices = 8 if "eight" in name else 1
    result = said("estimate-llm", str(EXAMPLES / name), "--devices", str(devices), "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    weights, memory = told["weights"], told["memory"]
    assert round(weights / 1e9, 2) == 1.54
    assert round((weights - 151_936 * 1_536) / 1e9, 2) == 1.31
    assert told["learned"] == weights
    assert memory["weights"] == 4 * weights
    assert memory["gradients and moments"] == 12 * weights
    assert told["fits"]
    assert told["needed"] == pytest.approx(sum(memory.values()))
    assert told["tokens_per_second"] == pytest.approx(
        told["tokens"] / sum(told["seconds"].values())
    )


def operations(folder: Path, tokens: int, places: int) -> float:
    """Of a forward pass, by hand: two for each weight of a product, and those of attention."""
    config = AutoConfig.from_pretrained(folder)
    net = AutoModelForCausalLM.from_config(config)
    products = sum(
        module.weight.numel()
        for name, module in net.named_modules()
        if isinstance(module, torch.nn.Linear) and "lm_head" not in name
    )
    words = config.vocab_size * WIDTH
    attention = 4 * LAYERS * tokens * WIDTH
    return 2 * products + 2 * words * places / tokens + attention


@pytest.mark.parametrize(("tokens", "places"), [(64, 8), (200, 40)])
def test_operations_are_those_of_the_products_of_matrices(
    folder: Path, tokens: int, places: int
) -> None:
    found = Lengths(2.0, tokens, places, 1.0)
    with FakeTensorMode():
        net = model_of(plan_of(folder), AutoConfig.from_pretrained(folder))
        read = reading(net, plan_of(folder), found)
    wanted = operations(folder, tokens, places)
    assert read.forward_per_token == pytest.approx(wanted, rel=0.01)
    # backwards twice as much, and attention computes its scores again
    again = 2 * LAYERS * tokens * WIDTH
    assert read.operations_per_token == pytest.approx(3 * wanted + again, rel=0.02)


@pytest.mark.parametrize("streams", [4, 9])
def test_what_is_kept_for_the_backward_pass_is_what_the_profiler_counts(
    folder: Path, streams: int
) -> None:
    tokens, places = 128, 16
    with FakeTensorMode():
        net = model_of(plan_of(folder), AutoConfig.from_pretrained(folder))
        read = reading(net, plan_of(folder), Lengths(2.0, tokens, places, 1.0))
    net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.zeros(streams, tokens, dtype=torch.long)

    def loss() -> torch.Tensor:
        logits = net(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            logits_to_keep=places,
            use_cache=False,
        ).logits
        return chosen_logprobs(logits, ids[:, :places])[0].mean()

    loss()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        held = loss()
    used = sum(event.self_cpu_memory_usage for event in profile.events())
    assert read.kept + read.kept_per_token * streams * tokens == pytest.approx(used, rel=0.15)
    held.backward()  # type: ignore[no-untyped-call]


def test_gradients_and_moments_are_what_the_optimiser_holds(folder: Path) -> None:
    found = estimate(plan_of(folder), "a100")
    learner = Learner(folder)
    learned = list(learner.trained().values())
    optimiser = torch.optim.AdamW(learned)
    for weight in learned:
        weight.grad = torch.ones_like(weight)
    optimiser.step()
    moments = [one for state in optimiser.state.values() for one in state.values() if one.dim()]
    size = sum(one.numel() * one.element_size() for one in (*moments, *learned))
    assert found.memory["gradients and moments"] == size


def test_lengths_are_those_of_the_conversations_of_play(folder: Path) -> None:
    single = lengths(plan_of(folder, history="bare"))
    whole = lengths(plan_of(folder, history="conversation"))
    assert whole.streams == 2
    assert single.turns == 1
    assert single.streams == pytest.approx(whole.streams * whole.turns)
    assert whole.tokens > single.tokens
    assert whole.sampled == pytest.approx(single.sampled * whole.turns)
    assert lengths(plan_of(folder, self_play=0.0, opponents=("random",))).streams < single.streams


@pytest.mark.parametrize(
    ("changes", "less", "more"),
    [
        ({"gradient_checkpointing": True}, "activations", ""),
        ({"micro_batch_tokens": 64}, "activations", ""),
        ({"lora": {"rank": 4}}, "gradients and moments", ""),
        ({"beta": 0.1}, "", "first policy, for beta"),
        ({"past": 3}, "", "older policies"),
        ({"policies": "seat"}, "", "gradients and moments"),
    ],
)
def test_each_field_changes_what_it_is_about(
    folder: Path, changes: dict[str, Any], less: str, more: str
) -> None:
    plain = estimate(plan_of(folder), "h100").memory
    given = {"env": "games/KuhnPoker-v0", "model": str(folder), "mode": "choice", **changes}
    changed = estimate(checked_plan(given), "h100").memory
    if less:
        assert changed[less] < plain[less]
    if more:
        assert changed[more] > plain.get(more, 0)


def test_more_devices_share_a_round(folder: Path) -> None:
    one, four = (estimate(plan_of(folder), "h200", count) for count in (1, 4))
    assert sum(one.seconds.values()) > 3 * sum(four.seconds.values())
    assert one.memory["weights"] == four.memory["weights"]


def test_what_does_not_fit_is_said_with_what_to_change(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f'env = "games/KuhnPoker-v0"\nmodel = "{folder}"\nmode = "choice"\n')
    fitting = said("estimate-llm", str(file), "--device", "a100")
    assert fitting.exit_code == 0, fitting.output
    assert "memory of each A100, in GB" in fitting.stdout
    much = ("--set", "groups=100000", "--set", "minibatch=1000000")
    result = said("estimate-llm", str(file), *much)
    assert result.exit_code == 1
    assert "does not fit" in result.output
    assert "most of them for activations" in result.output


def test_what_cannot_be_estimated_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(InvalidOption, match="a100, h100"):
        estimate(plan_of(folder), "b300")
    with pytest.raises(InvalidOption, match="has no config"):
        estimate(plan_of("nowhere"), "h100")
    assert estimate(plan_of(folder), "h100").capacity == 80 * GB
