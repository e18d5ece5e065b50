"""LoRA adapters: one engine, agents that speak differently."""

from __future__ import annotations

from pathlib import Path

import pytest
from common import ENGINE
from palestra import ModelError
from palestra.agents.models import Message, Request
from palestra_agents.models.vllm import VLLMModel
from tiny_model import make_adapter, make_tiny_model


def test_an_adapter_changes_what_one_agent_says(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "tiny")
    adapter = str(make_adapter(folder, tmp_path / "lora"))
    messages = (Message("user", "Say something."),)
    model = VLLMModel(target=str(folder), enable_lora=True, **ENGINE)
    bare, tuned = model.chat(
        [Request(messages, max_tokens=16), Request(messages, max_tokens=16, adapter=adapter)]
    )
    assert bare.text != tuned.text
    with pytest.raises(ModelError, match="is not a LoRA adapter"):
        model.chat([Request(messages, adapter=str(tmp_path))])
