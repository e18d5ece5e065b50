"""How a model of transformers is handed its key-value cache, by every release that we support."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal


def cache_name(net: Any) -> Literal["cache", "past_key_values"]:
    """The name of the key-value cache among the arguments and in the output of `net.forward`.

    It is `cache` since transformers 5.24 and `past_key_values` before. `net` is a causal model of
    transformers, or one of peft around it, whose own `forward` passes on what it is given.
    """
    plain = net.get_base_model() if hasattr(net, "get_base_model") else net
    return "cache" if "cache" in signature(plain.forward).parameters else "past_key_values"
