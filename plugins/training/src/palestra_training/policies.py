"""The policies of a run: one, or one for each seat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import torch
from palestra import InvalidOption
from palestra.llm.tokens import check_template

from palestra_training.learner import Learner
from palestra_training.lora import add_adapters
from palestra_training.plan import TrainPlan
from palestra_training.play import LEARNER, random_play
from palestra_training.recomputing import recompute_layers
from palestra_training.tiny import make_tiny
from palestra_training.warm_up import Example, rows

TINY = "tiny"  # the folder of what a tiny model began as
VOCABULARY = 50  # episodes of random play that give a tiny model its vocabulary
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def make_policies(plan: TrainPlan, seats: int, folder: str | Path) -> list[Learner]:
    """One policy, or one for each seat, which begin alike; adapters share a model.

    folder: of the model that they begin from.
    """
    count = seats if plan.policies == "seat" else 1
    names = [LEARNER] if count == 1 else [f"{LEARNER}-{seat}" for seat in range(count)]
    precision = PRECISIONS[plan.precision]
    first = Learner(
        folder,
        name=names[0],
        dtype=precision if plan.lora.rank else torch.float32,  # adapters are always float32
    )
    first.precision = precision
    if plan.max_tokens >= first.context:
        raise InvalidOption(
            f"max_tokens is {plan.max_tokens}, and the model reads {first.context} tokens, the "
            "reply among them; set max_tokens lower, or take a model of a longer context"
        )
    if plan.prompt == "chat":
        check_template(
            first.tokenizer,
            f"{first.name} ({plan.model or TINY})",
            rules=plan.history != "bare",
            turns=plan.history == "conversation",
            thoughts=plan.mode == "free",
        )
    if plan.lora.rank:
        first.net = add_adapters(first.net, plan.lora, names, seed=plan.seed)
    if plan.gradient_checkpointing:
        recompute_layers(first.net)
    made = [first]
    for name in names[1:]:
        made.append(first.twin(name, shared=plan.lora.rank > 0))
    if plan.lora.rank:
        for learner in made:
            learner.adapter = learner.name
    return made


def first_model(plan: TrainPlan, out: Path, lessons: Sequence[Example], *, fresh: bool) -> Path:
    """The folder of the plan's model, or of the tiny one, which a fresh run makes."""
    if plan.model:
        return Path(plan.model)
    folder = out / TINY
    if fresh or not (folder / "config.json").exists():
        shown = [*rows(random_play(plan, VOCABULARY, "random"), plan), *lessons]
        said = [text for row in shown for text in row.texts]
        make_tiny(folder, said, seed=plan.seed, **msgspec.structs.asdict(plan.tiny))
    return folder


def lessons_of(plan: TrainPlan) -> list[Example]:
    """The rows that the model imitates before it plays."""
    taught = plan.warm_up
    if not taught.episodes:
        return []
    return list(rows(random_play(plan, taught.episodes, taught.agent), plan))
