"""What the tests of the real vLLM share; they run in the environment of scripts/vllm_cpu.sh."""

from __future__ import annotations

from typing import Any

import palestra
from palestra.agents.models import Model, Request
from palestra.records.record import EpisodeRecord
from palestra_agents.llm import LLMAgent

ENGINE = {"max_model_len": 8192, "max_num_seqs": 64}
SAMPLED = {"temperature": 1.0}


class Listening(Model):
    """Passes everything on to a model, keeps it, and leaves the model open for the next test."""

    def __init__(self, model: Model) -> None:
        self._model, self.name, self.abilities = model, model.name, model.abilities
        self.asked: list[Request] = []
        self.replies: list[Any] = []

    def chat(self, requests: Any) -> Any:
        made = self._model.chat(requests)
        self.asked += requests
        self.replies += made
        return made


def play(env: str, model: Model, count: int, mode: str, **settings: Any) -> list[EpisodeRecord]:
    agent = LLMAgent(model=Listening(model), mode=mode, keep_tokens=mode == "free", **SAMPLED)
    agent.name = f"llm in mode {mode}"
    return palestra.play(env, agents=[agent] * count, **settings)
