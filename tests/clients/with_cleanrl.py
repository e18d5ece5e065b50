"""CleanRL-style PPO over `gym.make_vec` and DQN over a parallel environment (torch 2.13.0)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from page import run


def test_the_page() -> None:
    names, ledger = run("CleanRL-style scripts")
    assert names["ppo_steps"] == 4 * 32 * 8
    assert names["ppo_illegal"] == 0
    assert not names["envs"].unwrapped.batch.mistakes.any()
    assert torch.isfinite(names["loss"])
    assert ledger.games == {"Foraging"}
    assert ledger.illegal == 0
    assert ledger.moves == len(names["memory"])
    assert names["dqn_total"] == pytest.approx(ledger.paid)
    assert np.isfinite(names["losses"]).all()
    assert np.mean(names["losses"][-20:]) < 1.0
