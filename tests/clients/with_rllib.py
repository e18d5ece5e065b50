"""RLlib of ray 2.60.0, which asks for gymnasium 1.2.2: its masked module and its default one."""

from __future__ import annotations

import gymnasium
import numpy as np
from page import run


def test_the_page() -> None:
    names, ledger = run("RLlib")
    assert gymnasium.__version__.startswith("1.2.")
    assert ledger.games == {"Foraging", "KuhnPoker"}
    for result, seats in ((names["masked"], 3), (names["plain"], 2)):
        sampled, learned = result["env_runners"], result["learners"]["shared"]
        assert sampled["num_env_steps_sampled"] >= 120
        assert len(sampled["agent_episode_returns_mean"]) == seats
        assert np.isfinite(learned["policy_loss"])
        assert learned["num_module_steps_trained"] > 0
    # an illegal move would end a foragers' episode at once: the masked policy plays none
    assert names["masked"]["env_runners"]["episode_len_min"] > 10
    returns = names["plain"]["env_runners"]["agent_episode_returns_mean"]
    assert abs(sum(returns.values())) < 1e-6  # poker is zero-sum
