"""Who generates for a policy: the trainer's own model, or vLLM with the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any, ClassVar

from msgspec.structs import replace
from palestra.agents.making import open_model
from palestra.agents.models import Ability, Model, Reply, Request
from palestra.llm.tokens import allowed_tokens

from palestra_training.learner import Engine, Learner
from palestra_training.plan import TrainPlan

ADAPTERS = "engine"  # the folder of the adapters that vLLM reads


def open_engines(
    plan: TrainPlan, learners: Sequence[Learner], model: Path, out: Path
) -> Sequence[Engine]:
    """The engine of each policy. model: the folder that they began from; out: that of the run."""
    if plan.engine == "transformers":
        return learners
    options: dict[str, Any] = {"dtype": plan.precision, "max_model_len": learners[0].context}
    if not plan.lora.rank:
        return [
            VLLM(learner, open_vllm(model, {**options, **WHOLE, **plan.vllm}))
            for learner in learners
        ]
    options |= {"enable_lora": True, "max_lora_rank": _rank_of_vllm(plan.lora.rank)}
    shared = open_vllm(model, {**options, **plan.vllm})
    return [VLLMAdapter(learner, shared, out / ADAPTERS) for learner in learners]


# Weights come from the trainer alone. On a CPU, vLLM (0.32) keeps a packed copy of tied output
# weights and does not renew it, so input and output have weights of their own, which are equal.
WHOLE = {"load_format": "dummy", "hf_overrides": {"tie_word_embeddings": False}}


def open_vllm(model: Path, options: dict[str, Any]) -> Model:
    """A vLLM engine of this run's own over a model's folder."""
    opened: Model = open_model(f"vllm:{model.resolve()}", for_training=True, **options)
    return opened


def _rank_of_vllm(rank: int) -> int:
    """The smallest rank that vLLM makes room for, of at least this one."""
    return next((most for most in (8, 16, 32, 64, 128, 256, 320, 512) if most >= rank), rank)


class VLLM(Engine):
    """Answers through vLLM, whose weights are replaced in place by the learner's."""

    abilities: ClassVar[frozenset[Ability]] = Learner.abilities

    def __init__(self, learner: Learner, model: Model) -> None:
        self.learner, self.model, self.name = learner, model, learner.name
        self.version = -1  # of the weights that the engine has

    @property
    def concurrency(self) -> int:  # type: ignore[override]
        """As many as the engine computes together."""
        return self.model.concurrency

    def refresh(self) -> None:
        """Hand the learner's weights over, unless the engine has this version."""
        if self.version != self.learner.version:
            self._hand_over()
            self.version = self.learner.version

    def _hand_over(self) -> None:
        self.model.take_weights(list(self.learner.net.state_dict().items()))

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies = self.model.chat([self._asked(request) for request in requests])
        return [
            self._signed(request, reply) for request, reply in zip(requests, replies, strict=True)
        ]

    def _asked(self, request: Request) -> Request:
        return request

    def _signed(self, request: Request, reply: Reply) -> Reply:
        """The reply under the policy's name and version; what it could say is kept for learning."""
        if reply.tokens is None:
            return replace(reply, model=self.name)
        listed = self.learner.choices_of(request)
        if listed is not None and request.tokens:
            prompt, said = reply.tokens.prompt, reply.tokens.reply
            for length in range(len(said)):
                allowed = allowed_tokens(listed, said[:length], self.learner.end)
                self.learner.held[(*prompt, *said[:length])] = allowed
        tokens = replace(reply.tokens, policy=str(self.version))
        return replace(reply, model=self.name, tokens=tokens)

    def close(self) -> None:
        self.model.close()


class VLLMAdapter(VLLM):
    """Answers through vLLM with the learner's adapter, which it reads anew for each version."""

    def __init__(self, learner: Learner, model: Model, folder: Path) -> None:
        super().__init__(learner, model)
        self.folder = folder / learner.name

    @property
    def current(self) -> Path:
        """The folder of the adapter of this version."""
        return self.folder / str(self.version)

    def _hand_over(self) -> None:
        rmtree(self.folder, ignore_errors=True)
        self.learner.save(self.folder / str(self.learner.version))

    def _asked(self, request: Request) -> Request:
        return replace(request, adapter=str(self.current))
