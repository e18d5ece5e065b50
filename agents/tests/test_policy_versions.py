"""A policy that was trained with other versions says so when it plays."""

from __future__ import annotations

from pathlib import Path

import palestra
import pytest
import torch
from palestra_agents.ppo.checkpoint import CHECKPOINT
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer


def test_playing_with_other_versions_is_warned_of(tmp_path: Path) -> None:
    Trainer("games/KuhnPoker-v0", {}, Settings()).save(tmp_path)
    name = f"ppo:{tmp_path}"
    palestra.play("games/KuhnPoker-v0", agents=name, seed=0)  # warnings are errors in tests
    kept = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    kept["versions"]["palestra_games"] = "0.0.1"
    torch.save(kept, tmp_path / CHECKPOINT)
    with pytest.warns(UserWarning, match=r"trained with palestra_games 0\.0\.1 \(installed"):
        palestra.play("games/KuhnPoker-v0", agents=name, seed=0)
