"""Names with options, such as `mcts:simulations=200`."""

from __future__ import annotations

import re
from typing import Any

_OPTION = re.compile(r"^(?:model\.)?[a-z_]+=")


def parse_agent(text: str) -> tuple[str, dict[str, Any], str]:
    """Split `name:key=value,key=value` or `name:rest` into name, options and the rest.

    Values that look like numbers or true/false are read as such: `mcts:simulations=200`.
    In `llm:vllm:Qwen/Qwen3-4B,mode=choice` the rest is `vllm:Qwen/Qwen3-4B`; with `model.seed=7` in
    it, the option `model.seed` is for the model, see `palestra.open_model`.
    """
    name, _, tail = text.partition(":")
    options, rest = split_options(tail)
    return name, options, rest


def split_options(text: str) -> tuple[dict[str, Any], str]:
    """Split a list such as `simulations=200,rollouts=true` into options and all that is not one.

    Values are read as `parse_agent` reads them; what is not `key=value` is joined by commas.
    """
    options: dict[str, Any] = {}
    rest = []
    for part in text.split(",") if text else []:
        if _OPTION.match(part):
            key, _, value = part.partition("=")
            options[key] = _value(value)
        else:
            rest.append(part)
    return options, ",".join(rest)


def _value(text: str) -> Any:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
