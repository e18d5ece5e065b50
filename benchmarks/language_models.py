"""The runner around a language model: with one that answers at once, and with vLLM.

The second half needs the environment of scripts/vllm_cpu.sh and the embedded model's weights:

    .venv-vllm/bin/python benchmarks/run.py language_models
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import palestra
from palestra.agents.budget import Usage
from palestra.agents.models import Model, Reply, Request
from palestra_agents.llm import LLMAgent
from timing import REPEATS, Row

EPISODES = 1024
LIVE = 64
RUNS = 1  # of 64 whole games through vLLM and again beside it: ten minutes on two cores


class Instant(Model):
    """Answers at once, with choices in turn."""

    name = "instant"
    abilities = frozenset({"choices", "pattern"})

    def __init__(self) -> None:
        self._count = 0

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [Reply(self._choose(request)) for request in requests]

    def _choose(self, request: Request) -> str:
        self._count += 1
        assert request.choices is not None
        return request.choices[self._count * 7 % len(request.choices)]


def runner_turns(live: int, bound: int) -> Callable[[], Row]:
    """Turns a second through the whole runner, records included, with so many games at a time."""

    def measure() -> Row:
        agent = LLMAgent(model=Instant(), mode="choice")
        settings: dict[str, Any] = {"episodes": max(EPISODES, 2 * live), "live": live}

        def play() -> float:
            started = perf_counter()
            turns = 0
            for record in palestra.stream(
                "games/ConnectFour-v0", agents=[agent, agent], **settings
            ):
                turns += len(record.turns)
            return turns / (perf_counter() - started)

        play()
        rate = statistics.median(play() for _ in range(REPEATS))
        name = f"runner, {live:,} games, a model that answers at once"
        return Row(name, rate, bound, rate / bound, 1.0, "turns/s", "its bound")

    return measure


class Kept(Model):
    """A model that notes every call made through it, and is never closed."""

    def __init__(self, model: Model) -> None:
        self._model, self.name, self.abilities = model, model.name, model.abilities
        self.calls: list[list[Request]] = []
        self.used = Usage()

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.calls.append(list(requests))
        replies = self._model.chat(requests)
        self.used = sum((reply.usage for reply in replies), self.used)
        return replies


def vllm_rows() -> list[Callable[[], Row]]:
    """Tokens a second of 64 games through the runner and of the same prompts put to vLLM alone."""
    # a cache that cannot hold all 128 seats forgets each before its next turn
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "8")
    from palestra_agents.models.vllm import VLLMModel
    from palestra_agents.models.weights import embedded_model

    model = VLLMModel(target=str(embedded_model()), max_model_len=4096, max_num_seqs=LIVE)
    found: dict[str, Row] = {}

    def measure() -> None:
        ratios, rates, direct_rates, cached = [], [], [], []
        for _ in range(RUNS):
            kept = Kept(model)
            agent = LLMAgent(model=kept, max_tokens=8, temperature=1.0, seed=0)
            started = perf_counter()
            palestra.play(
                "games/ConnectFour-v0",
                agents=[agent, agent],
                episodes=LIVE,
                live=LIVE,
                invalid="random",
            )
            rates.append(kept.used.tokens_out / (perf_counter() - started))
            cached.append(kept.used.tokens_cached / kept.used.tokens_in)
            direct_rates.append(direct(model, kept.calls))
            ratios.append(rates[-1] / direct_rates[-1])
            print(f"vLLM: {rates[-1]:.0f} tokens/s, {cached[-1]:.3f} cached", flush=True)
        median = statistics.median
        found["speed"] = Row(
            "vLLM, SmolLM2-135M, 64 games",
            median(rates),
            median(direct_rates),
            median(ratios),
            0.9,
            "tokens/s",
            "LLM.chat on the same prompts",
        )
        hits = median(cached)
        name = "vLLM, prompt tokens from the prefix cache"
        found["cache"] = Row(name, hits, 0.8, hits / 0.8, 1.0, "of all", "its bound")

    def row(name: str) -> Callable[[], Row]:
        def made() -> Row:
            if not found:
                measure()
            return found[name]

        return made

    return [row("speed"), row("cache")]


def direct(model: Any, calls: list[list[Request]]) -> float:
    """The same conversations, call by call, put to `LLM.chat`; written tokens a second."""
    import vllm

    engine = model._claim.loaded.llm
    engine.reset_prefix_cache()
    written = 0
    started = perf_counter()
    for requests in calls:
        talks = [
            [{"role": m.role, "content": m.content} for m in request.messages]
            for request in requests
        ]
        settings = [
            vllm.SamplingParams(
                max_tokens=r.max_tokens, temperature=r.temperature, seed=r.seed, logprobs=0
            )
            for r in requests
        ]
        outputs = engine.chat(talks, settings, use_tqdm=False)
        written += sum(len(output.outputs[0].token_ids) for output in outputs)
    return written / (perf_counter() - started)


MEASURES = [
    runner_turns(256, 20_000),
    runner_turns(2048, 25_000),
    *(vllm_rows() if find_spec("vllm") else []),
]
