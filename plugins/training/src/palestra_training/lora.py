"""Low-rank adapters (Hu et al. 2021), by peft: a few weights are learned, the model stays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from palestra import InvalidOption

from palestra_training.plan import Lora


def add_adapters(net: Any, lora: Lora, names: Sequence[str], *, seed: int) -> Any:
    """The model with one adapter of each name, which begin as no change at all."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise InvalidOption("lora needs peft; pip install 'palestra-training[lora]'") from error
    targets = lora.targets if lora.targets == "all-linear" else lora.targets.split("+")
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft's, about names of transformers
        torch.manual_seed(seed)
        try:
            made = get_peft_model(net, config, adapter_name=names[0])
        except ValueError as error:
            raise InvalidOption(f"lora.targets is {lora.targets!r}: {error}") from error
        for name in names[1:]:
            made.add_adapter(name, config)
    return made.eval()
