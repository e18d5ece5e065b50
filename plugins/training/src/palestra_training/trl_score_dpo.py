"""Score-DPO with TRL: `DPOTrainer` that learns from rows with scores.

Wang et al., "ScoreFlow: Mastering LLM Agent Workflows via Score-based Preference Optimization",
2025. Tested with TRL 1.16.0. The loss is `losses.score_dpo_loss`; rows are those of
`palestra export-llm --rows prefer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from palestra import InvalidOption, MissingExtra

from palestra_training.losses import score_dpo_loss, token_logprobs

try:
    from trl import DPOTrainer
    from trl.trainer.utils import use_adapter
except ImportError as error:
    raise MissingExtra("trl", "palestra-training[trl]") from error

SCORES = ("chosen_score", "rejected_score")


class ScoreDPOTrainer(DPOTrainer):
    """`trl.DPOTrainer` with the loss of Score-DPO, for models of text.

    Its arguments are those of TRL; rows need a `chosen_score` and a `rejected_score` from 0 to 1.
    Of TRL's settings of the loss it takes `beta`, and raises `InvalidOption` for the others. The
    reference is TRL's: `ref_model`, or the model without its adapter.
    """

    data_collator: Any

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._refuse_other_losses()
        self.data_collator = WithScores(self.data_collator)
        self.args.remove_unused_columns = False  # the scores are not among TRL's own

    @contextmanager
    def _reference(self) -> Iterator[Any]:
        """The reference policy: a model of its own, or the trained one without its adapter."""
        if self.ref_model is not None:
            yield self.ref_model
            return
        model = self.accelerator.unwrap_model(self.model)
        with use_adapter(model, adapter_name="ref" if "ref" in model.peft_config else None):
            yield self.model

    def _refuse_other_losses(self) -> None:
        plain = self.loss_types == ["sigmoid"] and self.f_divergence_type == "reverse_kl"
        if not plain or self.ld_alpha is not None or self.precompute_ref_logps:
            raise InvalidOption(
                "Score-DPO takes beta alone; leave out loss_type, f_divergence_type, ld_alpha and "
                "precompute_ref_log_probs"
            )

    def compute_loss(
        self,
        model: Any,
        inputs: Mapping[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The loss of a batch, and the model's output with it if `return_outputs`."""
        logprobs, outputs = answer_logprobs(model, inputs)
        with torch.no_grad(), self._reference() as reference:
            before, _ = answer_logprobs(reference, inputs)
        chosen, rejected = (logprobs - before).chunk(2)
        scores = [inputs[name].to(chosen) for name in SCORES]
        loss = score_dpo_loss(chosen, rejected, *scores, beta=self.beta)
        return (loss, outputs) if return_outputs else loss


class WithScores:
    """A collator of TRL's that keeps the scores of the rows."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        for name in SCORES:
            if rows and name not in rows[0]:
                raise InvalidOption(f"rows need {name!r}; export-llm --rows prefer writes it")
        scores = {name: torch.tensor([float(row[name]) for row in rows]) for name in SCORES}
        return {**self._inner(rows), **scores}


def answer_logprobs(model: Any, inputs: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, Any]:
    """Log-probability of each whole answer of a batch of TRL's, (rows,), and the model's output."""
    ids = inputs["input_ids"]
    outputs = model(input_ids=ids, attention_mask=inputs["attention_mask"], use_cache=False)
    each, _ = token_logprobs(outputs.logits, ids)
    return (each * inputs["completion_mask"][:, 1:]).sum(-1), outputs
