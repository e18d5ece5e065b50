"""The model being trained: it answers many conversations at once, with exact tokens."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import torch
import transformers
from palestra import InvalidOption, ModelError
from palestra.agents.budget import Usage
from palestra.agents.models import Ability, Model, Reply, Request, Tokens
from palestra.llm.kv_cache import cache_name
from palestra.llm.tokens import allowed_tokens, read_prompt, token_ids

from palestra_training.checkpoint import require_same_form, writing

AT_ONCE = 256  # conversations that a learner answers at once
Finish = tuple[list[int], list[float], str]


class Engine(Model):
    """Answers for a policy, with exact tokens and their log-probabilities under sampling.

    `Tokens.policy` is the version of the weights that drew them.
    """

    @abstractmethod
    def refresh(self) -> None:
        """Answer with the weights of the policy as they are now."""


class Learner(Engine):
    """A causal model of transformers whose weights change between calls.

    Conversations of one call are batched, padded on the left. `version` is stored with the tokens;
    whoever changes the weights increments it. `dtype` is that of the weights, whatever the folder
    has: steps of learning are lost in less than float32. Log-probabilities are those of the
    sampling distribution: temperature and listed choices included. `held` has the tokens that a
    reply could go on with where choices held it, by all tokens before; whoever trains on them
    empties it.
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset({"choices", "tokens", "raw"})

    def __init__(
        self,
        folder: str | Path,
        *,
        name: str = "",
        batch: int = AT_ONCE,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        where = Path(folder).expanduser()
        if not (where / "config.json").exists():
            raise ModelError(f"{where} is not a model: there is no config.json in it")
        net: Any = transformers.AutoModelForCausalLM.from_pretrained(where, dtype=dtype)
        net = net.to(torch.device("cuda" if torch.cuda.is_available() else "cpu")).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(where)
        self._take(net, tokenizer, name or f"learner:{where.name}", batch)

    @classmethod
    def around(
        cls, net: Any, tokenizer: Any, *, name: str = "learner", batch: int = AT_ONCE
    ) -> Learner:
        """The learner over a model that another trainer holds, whose weights it shares.

        The model is used in the mode that it is in: put it into eval() before it plays.
        """
        made = cls.__new__(cls)
        cls._take(made, net, tokenizer, name, batch)
        return made

    def _take(self, net: Any, tokenizer: Any, name: str, batch: int) -> None:
        self.name, self.batch = name, batch
        self.net, self.tokenizer = net, tokenizer
        self.device: torch.device = net.device
        self.cache_name = cache_name(net)
        self.context = int(self.net.config.max_position_embeddings)
        self.version, self.precision = 0, torch.float32
        end = self.net.generation_config.eos_token_id
        if end is None:
            end = self.tokenizer.eos_token_id
        self.end = frozenset(end if isinstance(end, list) else [] if end is None else [end])
        self._choices: dict[str, list[int]] = {}
        self.held: dict[tuple[int, ...], list[int]] = {}
        self.adapter = ""

    def computing(self) -> torch.autocast:
        """The context in which the model is read: products in `precision`, sums in float32."""
        if self.adapter:
            self.net.set_adapter(self.adapter)
        lower = self.precision != torch.float32
        return torch.autocast(self.device.type, self.precision if lower else None, enabled=lower)

    def trained(self) -> dict[str, torch.nn.Parameter]:
        """What is learned, by name: all weights, or those of the learner's adapter."""
        mark = f".{self.adapter}." if self.adapter else ""
        return {name: value for name, value in self.net.named_parameters() if mark in name}

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of what is learned."""
        return {name: value.detach().clone() for name, value in self.trained().items()}

    def refresh(self) -> None:
        """Do nothing: this engine answers with the weights that are trained."""

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Take weights that `weights` gave."""
        own = self.trained()
        require_same_form(weights, own, "weights")
        with torch.no_grad():
            for name, value in weights.items():
                own[name].copy_(value)

    def save(self, folder: str | Path) -> None:
        """Write weights (or the adapter) and tokenizer, as transformers does; each file whole."""
        with writing(Path(folder)):
            self._save(Path(folder))

    def _save(self, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as draft:
            if self.adapter:
                self.net.save_pretrained(draft, selected_adapters=[self.adapter])
            else:
                self.net.save_pretrained(draft)
            inner = Path(draft) / self.adapter  # peft makes a folder of all but its first name
            self.tokenizer.save_pretrained(draft)
            found = [*Path(draft).iterdir(), *(inner.iterdir() if self.adapter else ())]
            for file in sorted(file for file in found if file.is_file()):
                file.replace(target / file.name)

    def twin(self, name: str, *, shared: bool = False) -> Learner:
        """The same policy under another name; shared: over the same weights."""
        made = copy(self)
        made.net = self.net if shared else deepcopy(self.net)
        made.name, made.held = name, {}
        return made

    def copy(self, weights: Mapping[str, torch.Tensor], name: str) -> Learner:
        """A policy of the same kind with other weights; neither touches the other."""
        made = self.twin(name)
        made.load(weights)
        return made

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        prompts = [read_prompt(self.tokenizer, request, self.name) for request in requests]
        replies: list[Reply | None] = [None] * len(requests)
        open_ = []
        for place, (request, ids) in enumerate(zip(requests, prompts, strict=True)):
            if len(ids) + request.max_tokens > self.context:
                replies[place] = Reply("", overflow=True, model=self.name)
            else:
                open_.append(place)
        open_.sort(key=lambda place: len(prompts[place]))  # similar lengths together: less padding
        for start in range(0, len(open_), self.batch):
            places = open_[start : start + self.batch]
            made = self._write([prompts[p] for p in places], [requests[p] for p in places])
            for place, written in zip(places, made, strict=True):
                replies[place] = self._reply(prompts[place], requests[place], *written)
        return [reply for reply in replies if reply is not None]

    @torch.inference_mode()
    def strategy(self, request: Request) -> dict[str, float]:
        """The probability of each choice of a request, as `chat` would draw it."""
        listed = self.choices_of(request)
        if listed is None or request.choices is None:
            raise InvalidOption("a strategy needs a request with choices; say mode=choice")
        prompt = read_prompt(self.tokenizer, request, self.name)
        heat = request.temperature or 1.0
        found = {}
        for text, choice in zip(request.choices, listed, strict=True):
            ids = torch.tensor([[*prompt, *choice]], device=self.device)
            with self.computing():
                logits = self.net(ids, logits_to_keep=len(choice) + 1).logits[0].float() / heat
            chance = 0.0
            for step in range(len(choice) + 1):
                allowed = allowed_tokens(listed, choice[:step], self.end)
                picked = choice[step] if step < len(choice) else min(self.end, default=-1)
                if len(allowed) > 1:
                    scores = torch.log_softmax(logits[step, allowed], -1)
                    chance += float(scores[allowed.index(picked)])
            found[text] = math.exp(chance)
        return found

    def _reply(
        self, ids: list[int], request: Request, said: list[int], logprobs: list[float], finish: str
    ) -> Reply:
        text = self.tokenizer.decode(said, skip_special_tokens=True)
        for stop in request.stop:
            text = text.split(stop, 1)[0]
        tokens = Tokens(
            tuple(ids), tuple(said), tuple(logprobs), "sampling", finish, str(self.version)
        )
        usage = Usage(tokens_in=len(ids), tokens_out=len(said), calls=1)
        return Reply(text, usage, sum(logprobs), self.name, tokens=tokens)

    @torch.inference_mode()
    def _write(self, prompts: list[list[int]], requests: Sequence[Request]) -> list[Finish]:
        """Sampled tokens, their log-probabilities and why each reply ended.

        Where choices leave one token to every reply, it is read with those that follow.
        """
        listed = [self.choices_of(request) for request in requests]
        heat = torch.tensor([request.temperature for request in requests], device=self.device)
        made: list[Finish] = [([], [], "") for _ in prompts]
        most = max(request.max_tokens for request in requests)
        drawn = torch.stack([_draws(request, most) for request in requests]).to(self.device)
        lines = [list(ids) for ids in prompts]
        reading = Reading(self)
        for step in range(most):
            held = [
                allowed_tokens(choices, said, self.end) if choices and not finish else None
                for choices, (said, _, finish) in zip(listed, made, strict=True)
            ]
            for line, request, allowed in zip(lines, requests, held, strict=True):
                if allowed is not None and request.tokens:
                    self.held[tuple(line)] = allowed
            picked, found = [allowed[0] if allowed else 0 for allowed in held], [0.0] * len(lines)
            if any(
                not finish and (allowed is None or len(allowed) > 1)
                for allowed, (_, _, finish) in zip(held, made, strict=True)
            ):
                scores = reading.read(lines)
                for row, allowed in enumerate(held):
                    if allowed is not None:
                        _hold(scores[row], allowed)
                scores = scores / torch.where(heat > 0, heat, torch.ones_like(heat))[:, None]
                chances = torch.log_softmax(scores, dim=-1)
                chosen = torch.where(heat > 0, _pick(chances, drawn[:, step]), chances.argmax(-1))
                found = chances.gather(1, chosen[:, None])[:, 0].tolist()
                picked = chosen.tolist()
            self._add(made, requests, listed, picked, found, step)
            if all(finish for _, _, finish in made):
                break
            for line, token in zip(lines, picked, strict=True):
                line.append(token)
        return made

    def _add(
        self,
        made: list[Finish],
        requests: Sequence[Request],
        listed: Sequence[list[list[int]] | None],
        picked: Sequence[int],
        found: Sequence[float],
        step: int,
    ) -> None:
        for row, (said, logprobs, finish) in enumerate(made):
            if finish:
                continue
            said.append(picked[row])
            logprobs.append(min(0.0, found[row]))
            why, choices = "", listed[row]
            if picked[row] in self.end:
                why = "end"
            elif choices is not None and not any(
                len(c) > len(said) and c[: len(said)] == said for c in choices
            ):
                why = "complete"
            elif requests[row].stop and self._stopped(said, requests[row].stop):
                why = "stop"
            elif step + 1 >= requests[row].max_tokens:
                why = "length"
            made[row] = said, logprobs, why

    def _stopped(self, said: list[int], stops: Sequence[str]) -> bool:
        text = self.tokenizer.decode(said, skip_special_tokens=True)
        return any(stop in text for stop in stops)

    def choices_of(self, request: Request) -> list[list[int]] | None:
        """The tokens of each choice of a request; None if its reply is free."""
        if request.choices is None:
            return None
        for choice in request.choices:
            if choice not in self._choices:
                self._choices[choice] = token_ids(self.tokenizer, choice)
        return [self._choices[choice] for choice in request.choices]


class Reading:
    """What a learner has read of some growing lines of tokens, kept between reads."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._cache: Any = None
        self._mask = torch.zeros((0, 0), dtype=torch.long, device=learner.device)  # (lines, tokens)

    def read(self, lines: Sequence[list[int]]) -> torch.Tensor:
        """The scores of what follows each line, (lines, words).

        lines: those of the last read, all longer by the same number of tokens.
        """
        if self._cache is None:
            return self._begin(lines)
        new = len(lines[0]) - int(self._mask[0].sum())
        fresh = torch.tensor([line[-new:] for line in lines], device=self._learner.device)
        self._mask = torch.cat([self._mask, torch.ones_like(fresh)], 1)
        return self._forward(fresh)

    def _begin(self, lines: Sequence[list[int]]) -> torch.Tensor:
        unlike, same = _distinct(lines)  # lines that are alike are read once
        longest = max(map(len, unlike))
        read = torch.zeros((len(unlike), longest), dtype=torch.long)
        mask = torch.zeros((len(unlike), longest), dtype=torch.long)
        for row, ids in enumerate(unlike):
            read[row, longest - len(ids) :] = torch.tensor(ids)
            mask[row, longest - len(ids) :] = 1
        device = self._learner.device
        self._mask = mask.to(device)
        scores = self._forward(read.to(device))
        if len(unlike) < len(lines):
            same = same.to(device)
            self._cache.batch_select_indices(same)
            scores, self._mask = scores[same], self._mask[same]
        return scores

    def _forward(self, fresh: torch.Tensor) -> torch.Tensor:
        learner, places = self._learner, (self._mask.cumsum(-1) - 1).clamp(min=0)
        with learner.computing():
            output = learner.net(
                input_ids=fresh,
                attention_mask=self._mask,
                position_ids=places[:, -fresh.shape[1] :],
                use_cache=True,
                logits_to_keep=1,
                **{learner.cache_name: self._cache},
            )
        self._cache = output[learner.cache_name]
        return output.logits[:, -1].float()


def _distinct(prompts: Sequence[list[int]]) -> tuple[list[list[int]], torch.Tensor]:
    """The unlike prompts, and which of them each prompt is."""
    known: dict[tuple[int, ...], int] = {}
    same = [known.setdefault(tuple(ids), len(known)) for ids in prompts]
    return [list(ids) for ids in known], torch.tensor(same)


def _hold(scores: torch.Tensor, allowed: list[int]) -> None:
    """Set the scores of all other tokens to minus infinity."""
    kept = scores[allowed].clone()
    scores.fill_(-torch.inf)
    scores[allowed] = kept


def _draws(request: Request, tokens: int) -> torch.Tensor:
    """Uniform numbers in [0, 1), one per token; they depend on the request, not on its batch."""
    if request.temperature <= 0:
        return torch.zeros(tokens, dtype=torch.float64)
    source = torch.Generator().manual_seed(request.seed or 0)
    return torch.rand(tokens, generator=source, dtype=torch.float64)


def _pick(chances: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """The token of each row in whose part of [0, 1) its number falls."""
    ends = chances.double().exp().cumsum(-1)
    found = torch.searchsorted(ends, drawn[:, None] * ends[:, -1:], right=True)
    return found[:, 0].clamp(max=chances.shape[1] - 1)
