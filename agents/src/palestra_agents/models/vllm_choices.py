"""Replies of vLLM that are held to listed choices, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from palestra import MissingExtra
from palestra.llm.tokens import allowed_tokens

try:
    import torch
    from vllm.v1.sample.logits_processor import AdapterLogitsProcessor
except ImportError as error:
    raise MissingExtra("vLLM", "palestra-agents[vllm]") from error


class HeldChoices(AdapterLogitsProcessor):
    """Holds a reply to the token sequences in `extra_args["choices"]`, and the end token after one.

    vLLM's structured outputs let a choice be spelled in any tokens that give its text. What is
    trained on must be drawn from tokens that the trainer can list: those of the tokenizer.
    """

    def is_argmax_invariant(self) -> bool:
        """False: the likeliest token may be forbidden."""
        return False

    def new_req_logits_processor(self, params: Any) -> Any:
        """The mask of a request with choices; None for another."""
        given = params.extra_args or {}
        if "choices" not in given:
            return None
        return partial(_hold, given["choices"], frozenset({given["end"]}))


def _hold(
    choices: Sequence[Sequence[int]], end: frozenset[int], said: list[int], scores: torch.Tensor
) -> torch.Tensor:
    allowed = allowed_tokens(choices, said, end)
    held = torch.full_like(scores, -torch.inf)
    held[allowed] = scores[allowed]
    return held
