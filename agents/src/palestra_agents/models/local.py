"""`local:`: a small model through transformers, on any build of torch, constrained by llguidance.

`local:` alone is the embedded SmolLM2-135M-Instruct; `local:FOLDER` any causal model in the format
of transformers. Conversations are answered one after another, each from its own key-value cache, so
that a turn processes only its new tokens. For many games at once use `vllm:`. Models that name the
same folder share its weights, and the weights that were used last stay loaded. LoRA adapters are
applied by peft, another one for each request if need be.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from palestra import InvalidOption, MissingExtra, ModelError
from palestra.agents.budget import Usage
from palestra.agents.kept_models import KeptModels, WeightsKey, version_of_files
from palestra.agents.models import Ability, Model, Reply, Request, Score, Tokens
from palestra.llm.kv_cache import cache_name
from palestra.llm.tokens import read_prompt, token_ids

from palestra_agents.models.lora import version_of_adapter
from palestra_agents.models.weights import NAME, embedded_model

# threads that wait without spinning: twelve times faster if another process is busy
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import llguidance
    import llguidance.hf
    import llguidance.numpy
    import torch
    import transformers
    from safetensors import SafetensorError
except ImportError as error:
    raise MissingExtra(f"{error.name} (for local: models)", "palestra-agents[local]") from error

KEPT_WEIGHTS = 2  # number of models that stay loaded when nobody uses them
KEPT = 4  # number of conversations whose cache is kept
SHARED = 32  # least shared tokens worth copying from another conversation


@dataclass(slots=True)
class CachedConversation:
    """The tokens of a conversation, the key-value cache after them, and under which adapter."""

    ids: list[int]
    cache: Any
    adapter: str = ""


class LocalModel(Model):
    """`target` is a folder, or "" for the embedded model; `context` bounds tokens a conversation.

    On CPU the weights are kept in 32 bits, on a GPU in bfloat16.
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset(
        {"choices", "pattern", "score", "tokens", "raw", "adapter"}
    )

    def __init__(self, *, target: str = "", context: int | None = None) -> None:
        folder = Path(target).expanduser() if target else embedded_model()
        if not (folder / "config.json").exists():
            raise ModelError(
                f"{folder} is not a model: there is no config.json in it; local:FOLDER takes a "
                "folder in the format of transformers, and local: alone the embedded model"
            )
        self.name = f"local:{target or NAME}"
        self._asked = context
        folder = folder.resolve()
        key = WeightsKey(str(folder), version_of_files(folder))
        self._claim = WEIGHTS.claim(key, lambda: _Weights(folder))

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        with self._claim.held() as weights, torch.inference_mode():
            decoder = weights.decoders.get(self)
            if decoder is None:
                decoder = weights.decoders[self] = _Decoder(weights, self.name, self._asked)
            try:
                return [decoder.answer(request) for request in requests]
            except BaseException:  # Ctrl-C and time limits leave caches that are half written
                weights.decoders.pop(self, None)
                raise

    def close(self) -> None:
        if (weights := self._claim.loaded) is not None:
            weights.decoders.pop(self, None)
        self._claim.leave()


class _Weights:
    """A loaded network with its tokenizer, and what each open model has in memory of its talks."""

    def __init__(self, folder: Path) -> None:
        transformers.utils.logging.disable_progress_bar()
        gpu = torch.cuda.is_available()
        self.device = torch.device("cuda" if gpu else "cpu")
        dtype = torch.bfloat16 if gpu else torch.float32
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.net = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        self.net = self.net.to(self.device).eval()
        self.context = int(self.net.config.max_position_embeddings)
        self.vocabulary = int(self.net.config.vocab_size)
        self.end = _end_tokens(self.net, self.tokenizer)
        self.cache_name = cache_name(self.net)
        self._tuned: Any = None  # the network with its adapters, once there is one
        self._applied = ""  # the adapter that is applied
        self.decoders: WeakKeyDictionary[LocalModel, _Decoder] = WeakKeyDictionary()

    def use(self, adapter: str | None) -> str:
        """Apply the LoRA adapter of a folder, or none; returns a name that changes with its files.

        Raises `ModelError` for a folder without an adapter of this model, and `MissingExtra`.
        """
        if not adapter:
            if self._applied:
                self._tuned.base_model.disable_adapter_layers()
            self._applied = ""
            return ""
        folder = Path(adapter).expanduser().resolve()
        name = hashlib.sha256(f"{folder} {version_of_adapter(folder)}".encode()).hexdigest()
        if name == self._applied:
            return name
        try:
            from peft import PeftModel
        except ImportError as error:
            raise MissingExtra("peft", "palestra-training[lora]") from error
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # peft's use of transformers
                if self._tuned is None:
                    self._tuned = PeftModel.from_pretrained(self.net, folder, adapter_name=name)
                elif name not in self._tuned.peft_config:
                    self._tuned.load_adapter(folder, adapter_name=name)
        except (RuntimeError, ValueError, OSError, SafetensorError) as error:
            if self._tuned is not None and name in self._tuned.peft_config:
                self._tuned.delete_adapter(name)  # half of it
            raise ModelError(
                f"{adapter} is no adapter of {self.net.name_or_path}: {error}"
            ) from error
        self._tuned.base_model.enable_adapter_layers()
        self._tuned.set_adapter(name)
        self._tuned.eval()
        self._applied = name
        return name

    @cached_property
    def guide(self) -> Any:
        """The object that constrains replies to patterns; not every tokenizer supports it."""
        return llguidance.hf.from_tokenizer(self.tokenizer, n_vocab=self.vocabulary)


def _give_memory_back() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


WEIGHTS: KeptModels[_Weights] = KeptModels(empty=_give_memory_back, most=KEPT_WEIGHTS)


class _Decoder:
    """Answers the requests of one open model, and caches its conversations."""

    def __init__(self, weights: _Weights, name: str, context: int | None) -> None:
        self._weights, self._name = weights, name
        self._context = min(context or weights.context, weights.context)
        self._kept: list[CachedConversation] = []

    def answer(self, request: Request) -> Reply:
        ids = read_prompt(self._weights.tokenizer, request, self._name)
        longest = max((len(self._ids(text)) for text in request.score), default=request.max_tokens)
        if len(ids) + longest > self._context:
            return Reply("", overflow=True, model=self._name)
        state, cached = self._recall(ids, self._weights.use(request.adapter))
        usage = Usage(tokens_in=len(ids), tokens_cached=cached, calls=1)
        if request.score:
            scores = tuple(self._weigh(state, ids, self._ids(text)) for text in request.score)
            return Reply("", usage, model=self._name, scores=scores)
        reply, logprobs, text, finish = self._write(state, ids, request)
        return Reply(
            text,
            usage + Usage(tokens_out=len(reply)),
            logprob=sum(logprobs),
            model=self._name,
            tokens=Tokens(tuple(ids), tuple(reply), tuple(logprobs), finish=finish)
            if request.tokens
            else None,
        )

    def _ids(self, text: str) -> list[int]:
        return token_ids(self._weights.tokenizer, text)

    def _pattern(self, pattern: str) -> _Patterned:
        try:
            guide = self._weights.guide
        except ValueError as error:
            raise InvalidOption(
                f"{self._name} cannot be held to a pattern: {error}; say mode=free"
            ) from error
        return _Patterned(guide, pattern, self._weights.vocabulary)

    # Key-value caches

    def _recall(self, ids: list[int], adapter: str) -> tuple[CachedConversation, int]:
        """An adapter's cache with the longest prefix of `ids`, and the length of that prefix."""
        best, common = None, 0
        for kept in (one for one in self._kept if one.adapter == adapter):
            length = min(_common(kept.ids, ids), len(ids) - 1)
            if length > common:
                best, common = kept, length
        if best is None or (common < SHARED and common < len(best.ids)):
            state, common = CachedConversation([], transformers.DynamicCache(), adapter), 0
        elif common >= len(best.ids) // 2:
            state = best
            self._kept.remove(best)
        else:
            state = copy.deepcopy(best)
        self._cut(state, common)
        self._kept = [*self._kept[-(KEPT - 1) :], state]
        return state, common

    def _cut(self, state: CachedConversation, length: int) -> None:
        if len(state.ids) > length:
            state.cache.crop(length - len(state.ids))
            del state.ids[length:]

    def _forward(self, state: CachedConversation, ids: list[int]) -> Any:
        """Process more tokens; returns next-token log-probabilities of shape (len(ids), words)."""
        made = self._weights.net(
            input_ids=torch.tensor([ids], device=self._weights.device),
            use_cache=True,
            **{self._weights.cache_name: state.cache},
        )
        state.ids.extend(ids)
        return torch.log_softmax(made.logits[0].float(), dim=-1)

    # Generation and scoring

    def _write(
        self, state: CachedConversation, ids: list[int], request: Request
    ) -> tuple[list[int], list[float], str, str]:
        """The sampled tokens, an end token included, their log-probabilities, and the text."""
        guard = self._guard(request)
        generator = torch.Generator().manual_seed(request.seed or 0)
        coming = ids[len(state.ids) :]
        reply: list[int] = []
        logprobs: list[float] = []
        text, finish = "", "complete"
        while not guard.done:
            if len(reply) >= request.max_tokens:
                finish = "length"
                break
            scores = self._forward(state, coming)[-1].cpu()
            token = _pick(guard.allow(scores), request.temperature, generator)
            reply.append(token)
            logprobs.append(float(scores[token]))
            if token in self._weights.end:
                finish = "end"
                break
            guard.take(token)
            text = self._weights.tokenizer.decode(reply, skip_special_tokens=True)
            ended = [text.index(stop) for stop in request.stop if stop in text]
            if ended:
                text, finish = text[: min(ended)], "stop"
                break
            coming = [token]
        return reply, logprobs, text, finish

    def _guard(self, request: Request) -> _Listed | _Patterned | _Free:
        if request.choices is not None:
            return _Listed(
                [self._ids(choice) for choice in request.choices], min(self._weights.end)
            )
        if request.pattern is not None:
            return self._pattern(request.pattern)
        return _Free()

    def _weigh(self, state: CachedConversation, ids: list[int], continuation: list[int]) -> Score:
        """The log-probability of each token of a continuation."""
        done = len(ids) - 1
        self._cut(state, done)
        coming = [*ids[len(state.ids) :], *continuation[:-1]]
        scores = self._forward(state, coming)[-len(continuation) :]
        picked = scores.gather(1, torch.tensor(continuation, device=self._weights.device)[:, None])
        return Score(float(picked.sum()), len(continuation))


class _Listed:
    """Constrains a reply to listed choices, each in its usual tokenization.

    With other tokenizations, greedy decoding could start a word that is not in the list: `L…`
    before `Paris`.
    """

    def __init__(self, choices: Sequence[list[int]], end: int) -> None:
        self._choices, self._end = choices, end
        self._said: list[int] = []
        self.done = False

    def allow(self, scores: Any) -> Any:
        """The scores, with everything impossible at minus infinity."""
        length = len(self._said)
        open_ = [c for c in self._choices if c[:length] == self._said]
        following = [self._end if len(c) == length else c[length] for c in open_]
        masked = torch.full_like(scores, -torch.inf)
        masked[following] = scores[following]
        return masked

    def take(self, token: int) -> None:
        self._said.append(token)
        self.done = [c for c in self._choices if c[: len(self._said)] == self._said] == [self._said]


class _Patterned:
    """Constrains a reply to a regular expression."""

    def __init__(self, guide: Any, pattern: str, vocabulary: int) -> None:
        grammar = llguidance.LLMatcher.grammar_from_regex(pattern)
        self._matcher = llguidance.LLMatcher(guide, grammar)
        if self._matcher.is_error():
            raise InvalidOption(f"pattern {pattern[:80]!r}: {self._matcher.get_error()}")
        self._mask = llguidance.numpy.allocate_token_bitmask(1, vocabulary)

    @property
    def done(self) -> bool:
        return bool(self._matcher.is_stopped())

    def allow(self, scores: Any) -> Any:
        # llguidance's own way for tensors is compiled by torch, for half a minute
        llguidance.numpy.fill_next_token_bitmask(self._matcher, self._mask, 0)
        allowed = np.unpackbits(self._mask.view(np.uint8), bitorder="little")[: len(scores)]
        return scores.masked_fill(torch.from_numpy(allowed == 0).to(scores.device), -torch.inf)

    def take(self, token: int) -> None:
        self._matcher.consume_token(token)


class _Free:
    """Leaves a reply unconstrained."""

    done = False

    def allow(self, scores: Any) -> Any:
        return scores

    def take(self, token: int) -> None:
        pass


def _pick(scores: Any, temperature: float, generator: Any) -> int:
    if temperature <= 0:
        return int(scores.argmax())
    chances = torch.softmax(scores / temperature, dim=-1)
    return int(torch.multinomial(chances, 1, generator=generator))


def _common(one: list[int], other: list[int]) -> int:
    """The length of the common prefix of two token sequences."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _end_tokens(net: Any, tokenizer: Any) -> frozenset[int]:
    named = net.generation_config.eos_token_id
    several = named if isinstance(named, list) else [named]
    return frozenset(t for t in [*several, tokenizer.eos_token_id] if t is not None)
