"""Tokens a second of the engines of `palestra train-llm`, in an environment that has vLLM.

python benchmarks/llm_engines.py MODEL [REQUESTS] [TOKENS]

Each engine answers the same conversations of two turns, all at once; the second turn goes on from
the first, as in a game with history = "conversation". Seconds are wall seconds after one call that
is not measured. MODEL is a folder; "embedded" is the model of palestra-agents[local].
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from palestra.agents.models import Message, Reply, Request
from palestra.kernel.specs import load_entry_point
from palestra_training.engines import open_engines
from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan

RULES = "Three players share a lake. Each season every player says how much to fish. " * 8


def answer(engine, requests: int, tokens: int, seed: int) -> list[Reply]:
    """The replies of two turns of every conversation."""
    first = [
        Request(
            (Message("user", f"{RULES}\nPlayer {number}: "),),
            raw=True,
            tokens=True,
            max_tokens=tokens,
            temperature=1.0,
            seed=seed + number,
        )
        for number in range(requests)
    ]
    replies = list(engine.chat(first))
    second = [
        Request(
            (*asked.messages, Message("assistant", reply.text), Message("user", "Next season: ")),
            raw=True,
            tokens=True,
            max_tokens=tokens,
            temperature=1.0,
            seed=asked.seed,
            read=(*reply.tokens.prompt, *reply.tokens.reply),
            new=1,
        )
        for asked, reply in zip(first, replies, strict=True)
    ]
    return [*replies, *engine.chat(second)]


def main(model: str, requests: int = 32, tokens: int = 32) -> None:
    """Print a line an engine."""
    if model == "embedded":
        model = str(load_entry_point("palestra_agents.models.weights:embedded_model")())
    for name in ("transformers", "vllm"):
        learner = Learner(model)
        plan = TrainPlan(env="text/Commons-v0", model=model, engine=name)
        (engine,) = open_engines(plan, [learner], Path(model), Path("unused"))
        engine.refresh()
        answer(engine, 2, 2, seed=10_000)
        begun = time.monotonic()
        replies = answer(engine, requests, tokens, seed=0)
        spent = time.monotonic() - begun
        made = sum(reply.usage.tokens_out for reply in replies)
        print(f"{name}: {made} tokens in {spent:.1f} s, {made / spent:.0f} tokens/s")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
