"""`vllm:<model or folder>`: vLLM in this process, which batches all conversations that wait.

Agents that name the same model with the same engine options share one engine, which stays loaded
until `palestra.release()`. No data leave the machine: usage statistics are off.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from inspect import signature
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from palestra import InvalidOption, MissingExtra, ModelError
from palestra.agents.budget import Usage
from palestra.agents.kept_models import KeptModels, WeightsKey, version_of_files
from palestra.agents.models import Ability, Model, Reply, Request, Score, Tokens
from palestra.kernel.errors import UnknownOption
from palestra.llm.tokens import read_prompt, token_ids

from palestra_agents.models.lora import version_of_adapter

os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the engine lives in this process
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
# On a CPU, pinned spinning threads become a hundred times slower if another process is busy
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import torch
    import vllm
    from vllm.lora.request import LoRARequest
    from vllm.platforms import current_platform
    from vllm.sampling_params import StructuredOutputsParams

    from palestra_agents.models.vllm_choices import HeldChoices
    from palestra_agents.models.vllm_steps import REFUSED, Prompt, Steps
except ImportError as error:
    raise MissingExtra("vLLM", "palestra-agents[vllm]") from error


TRAINING = {"logprobs_mode": "processed_logprobs", "logits_processors": [HeldChoices]}
_TRAINED = count(1)


class VLLMModel(Model):
    """`target` is a model's name or folder; `options` go to `vllm.LLM` as they are.

    Set `enable_lora=True` to let agents bring adapters. for_training: the engine is this model's
    alone; log-probabilities are those of the sampling distribution, and a reply held to choices is
    spelled in the tokenizer's own tokens. With `load_format="dummy"` such an engine reads no
    weights, but waits for `take_weights`.
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset(
        {"choices", "pattern", "score", "tokens", "raw", "adapter", "weights"}
    )

    def __init__(self, *, target: str = "", for_training: bool = False, **options: Any) -> None:
        if not target:
            raise InvalidOption("vllm: needs a model, as in vllm:Qwen/Qwen3-4B or vllm:./folder")
        _check_names(options)
        self.name = f"vllm:{target}"
        where = _where(target)
        self._for_training = for_training
        alone = ""
        if for_training:
            options = TRAINING | options
            alone = f" trained {next(_TRAINED)}"
        given = repr(sorted(options.items())) + alone
        key = WeightsKey(where, version_of_files(Path(where)), given)
        self._claim = ENGINES.claim(key, lambda: _Engine(where, options))

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        engine = self._claim.weights
        if engine.empty:
            raise ModelError(f"{self.name} has no weights yet; call take_weights")
        return self._answer(engine, requests)

    def take_weights(self, weights: Sequence[tuple[str, Any]]) -> None:
        """Put weights in place of the engine's, without loading it again; see `Model`."""
        if not self._for_training:
            raise InvalidOption(
                f"others may use the engine of {self.name}; open it with for_training=true"
            )
        engine = self._claim.weights
        with engine.steps.lock:
            engine.take_weights(weights)

    def _answer(self, engine: _Engine, requests: Sequence[Request]) -> list[Reply]:
        replies: list[Reply | None] = [None] * len(requests)
        waiting = []  # (request number, prompt tokens, continuation to weigh)
        for number, request in enumerate(requests):
            ids = read_prompt(engine.tokenizer, request, self.name)
            for continuation in map(engine.ids, request.score or ("",)):
                room = len(continuation) + 1 if request.score else request.max_tokens
                if len(ids) + room > engine.context:
                    replies[number] = Reply("", overflow=True, model=self.name)
                    break
            else:
                waiting += [(number, ids, engine.ids(s)) for s in request.score or ("",)]
        prompts = []
        for number, ids, more in waiting:
            request = requests[number]
            try:
                sampling = self._sampling(engine, request)
            except REFUSED as error:
                raise ModelError(f"{self.name} refused a request: {error}") from error
            prompts.append(Prompt(ids + more, sampling, engine.adapter(request.adapter)))
        made = engine.steps.generate(self, prompts, engine.abandon) if prompts else []
        found: dict[int, list[Any]] = {}
        for (number, ids, continuation), output in zip(waiting, made, strict=True):
            found.setdefault(number, []).append((ids, continuation, output))
        for number, outputs in found.items():
            replies[number] = self._reply(requests[number], outputs)
        return [reply for reply in replies if reply is not None]

    def _sampling(self, engine: _Engine, request: Request) -> Any:
        if not self._for_training or request.choices is None:
            return _sampling(request)
        settings = _sampling(request, held=False)
        listed = [engine.ids(choice) for choice in request.choices]
        settings.extra_args = {"choices": listed, "end": engine.end}
        return settings

    def _reply(self, request: Request, outputs: Sequence[Any]) -> Reply:
        usage = sum((_usage(output) for _, _, output in outputs), Usage())
        if request.score:
            scores = tuple(_prompt_score(output, len(ids)) for ids, _, output in outputs)
            return Reply("", usage, model=self.name, scores=scores)
        ids, _, output = outputs[0]
        said = output.outputs[0]
        chances = tuple(
            float(step[token].logprob)
            for step, token in zip(said.logprobs or (), said.token_ids, strict=False)
        )
        under: Any = "sampling" if self._for_training else "model"
        tokens = Tokens(tuple(ids), tuple(said.token_ids), chances, under, _finish(said))
        return Reply(
            said.text, usage, sum(chances), self.name, tokens=tokens if request.tokens else None
        )

    @property
    def concurrency(self) -> int:  # type: ignore[override]  # the engine's, once it is loaded
        """How many prompts the engine computes together."""
        return self._claim.weights.most

    def close(self) -> None:
        if (engine := self._claim.loaded) is not None:
            engine.steps.close(self)
        self._claim.leave()


class _Engine:
    """A loaded model."""

    def __init__(self, model: str, options: Mapping[str, Any]) -> None:
        settings: dict[str, Any] = {
            "enable_prefix_caching": True,
            "seed": 0,
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
        }
        if current_platform.is_cpu():
            # no graph compilation for a short run, and blocks small enough for a short prompt;
            # a prompt that is read in pieces breaks seeded sampling on a CPU (vLLM 0.32)
            settings |= {"enforce_eager": True, "block_size": 32, "enable_chunked_prefill": False}
        _let_vllm_look_into_llvmlite()
        try:
            self.llm = vllm.LLM(model=model, **settings | dict(options))
        except (ValueError, OSError, RuntimeError, TypeError, AttributeError) as error:
            kept = ", ".join(ENGINES.targets)
            hint = f" (if memory is short: palestra.release() frees the engines kept here, {kept})"
            raise ModelError(f"vLLM cannot load {model}: {error}{hint if kept else ''}") from error
        self.tokenizer = self.llm.get_tokenizer()
        self.context = int(self.llm.llm_engine.model_config.max_model_len)
        self.most = int(self.llm.llm_engine.vllm_config.scheduler_config.max_num_seqs)
        self.steps = Steps(
            self.llm.llm_engine,
            one_adapter=current_platform.is_cpu(),  # vLLM 0.32 applies one to the batch there
        )
        self._adapters: dict[tuple[str, str], Any] = {}
        self._naming = Lock()
        self.empty = options.get("load_format") == "dummy"

    @property
    def end(self) -> int:
        """The token that ends a reply: the smallest of the model's."""
        known = self.llm.llm_engine.model_config.try_get_generation_config()
        found = known.get("eos_token_id", self.tokenizer.eos_token_id)
        return min(found) if isinstance(found, list) else int(found)

    def take_weights(self, weights: Sequence[tuple[str, Any]]) -> None:
        """Load weights in place, and forget what was computed with the ones before."""
        self.llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(weights)})
        self.llm.reset_prefix_cache()
        self.empty = False

    def abandon(self) -> None:
        """Drop unfinished requests, whose replies vLLM would give to the next call.

        It enters blocks into the prefix cache before it computes them, so that is emptied as well.
        """
        engine = self.llm.llm_engine
        waiting = list(engine.output_processor.request_states)
        if not waiting:
            return
        try:
            engine.abort_request(waiting, internal=True)
            clean = self.llm.reset_prefix_cache()
        except Exception:
            clean = False
        if not clean:
            ENGINES.release()  # it is loaded again when it is next used

    def ids(self, text: str) -> list[int]:
        return token_ids(self.tokenizer, text)

    def adapter(self, folder: str | None) -> Any:
        """The LoRA request of a folder; each version of its files keeps one number."""
        if folder is None:
            return None
        if not self.llm.llm_engine.vllm_config.lora_config:
            raise InvalidOption("an adapter needs an engine with enable_lora=true")
        version = folder, version_of_adapter(folder)
        with self._naming:
            if version not in self._adapters:
                number = len(self._adapters) + 1
                self._adapters[version] = LoRARequest(f"{folder} ({number})", number, folder)
            return self._adapters[version]


def _forget_prompts(engine: _Engine) -> None:
    """Empty the prefix cache, so that a run is the same whatever was played before it."""
    engine.llm.reset_prefix_cache()


def _give_memory_back() -> None:
    gc.collect()  # an engine is full of circles; it shuts down when they are collected
    if not current_platform.is_cpu():
        torch.accelerator.empty_cache()


# an engine that shuts down ends what all engines of the process share (seen in vLLM 0.32)
ENGINES: KeptModels[_Engine] = KeptModels(
    empty=_give_memory_back, renew=_forget_prompts, together=True
)


def _let_vllm_look_into_llvmlite() -> None:
    """Make llvmlite's library say that it has no attributes of its own.

    On a CPU, vLLM (0.32) looks for kernels in `vars()` of whatever any loaded module holds.
    llvmlite (0.47 and before), which numba loads, answers every name with a function of the
    library, `__dict__` too, and vLLM fails on that. It remembers its answers, so one is put there.
    """
    with contextlib.suppress(ImportError):
        from llvmlite.binding import ffi

        answers = getattr(ffi.lib, "_fntab", None)
        if isinstance(answers, dict):
            answers["__dict__"] = {}


def _check_names(options: Mapping[str, Any]) -> None:
    """Raise `UnknownOption` for an option that `vllm.LLM` and its engine do not have."""
    own = signature(vllm.LLM).parameters.values()
    known = {p.name for p in own if p.kind is not p.VAR_KEYWORD}
    known |= {option.name for option in fields(vllm.EngineArgs)}
    for name in options.keys() - known:
        raise UnknownOption("model 'vllm'", name, known - {"model"})


def _where(target: str) -> str:
    """A folder as an absolute path, anything else as a model's public name."""
    path = Path(target).expanduser()
    if path.exists():
        return str(path.resolve())
    if target.startswith((".", "/", "~")):
        raise ModelError(f"there is no model folder {target}")
    return target


def _finish(said: Any) -> str:
    """Why a reply ended, in the words of `Tokens`."""
    if said.finish_reason == "stop":
        return "end" if said.stop_reason is None else "stop"
    return said.finish_reason or ""


def _sampling(request: Request, *, held: bool = True) -> Any:
    if request.score:
        return vllm.SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0)
    structure = None
    if request.choices is not None and held:
        structure = StructuredOutputsParams(choice=list(request.choices))
    elif request.pattern is not None:
        structure = StructuredOutputsParams(regex=request.pattern)
    return vllm.SamplingParams(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        stop=list(request.stop),
        seed=request.seed,
        logprobs=0,
        structured_outputs=structure,
    )


def _usage(output: Any) -> Usage:
    """The token usage of one request, without the token that scoring has to generate."""
    return Usage(
        tokens_in=len(output.prompt_token_ids),
        tokens_out=0 if output.prompt_logprobs else len(output.outputs[0].token_ids),
        tokens_cached=output.num_cached_tokens or 0,
        calls=1,
    )


def _prompt_score(output: Any, start: int) -> Score:
    """The log-probabilities of the prompt's tokens from `start` on."""
    ids = output.prompt_token_ids
    chances = [output.prompt_logprobs[i][ids[i]].logprob for i in range(start, len(ids))]
    return Score(float(sum(chances)), len(chances))
