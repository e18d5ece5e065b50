"""Gradient checkpointing (Chen et al. 2016): activations are computed again instead of kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from palestra import InvalidOption
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer


def recompute_layers(net: torch.nn.Module) -> None:
    """Keep only the inputs of each layer for the backward pass, which computes the layer again.

    Unlike the switch of transformers this works in eval mode, in which policies are trained so that
    dropout does not change their probabilities. Raises `InvalidOption` for a model without layers
    that can be computed again.
    """
    layers = [module for module in net.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise InvalidOption(
            f"{type(net).__name__} has no layers that can be computed again; set "
            "gradient_checkpointing = false, and micro_batch_tokens to save memory"
        )
    for layer in layers:
        layer.forward = partial(_recomputed, layer.forward)


def _recomputed(forward: Callable[..., Any], *inputs: Any, **named: Any) -> Any:
    """The outputs of a layer; without gradients there is nothing to keep or to compute again."""
    if not torch.is_grad_enabled():
        return forward(*inputs, **named)
    return checkpoint(forward, *inputs, use_reentrant=False, **named)
