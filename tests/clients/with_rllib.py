"""RLlib of ray 2.60.0, which asks for gymnasium 1.2.2: modules masked and not, and the batch."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from page import run
from palestra import UnknownName
from palestra.kernel.episode import Episode
from palestra.views.rllib import BatchMultiAgentEnv


def test_the_page() -> None:
    names, ledger = run("RLlib")
    assert gymnasium.__version__.startswith("1.2.")
    assert ledger.games == {"Foraging", "KuhnPoker"}
    runs = {"masked": 3, "plain": 2, "batched": 3, "turns": 2}
    for result, seats in ((names[name], seats) for name, seats in runs.items()):
        sampled, learned = result["env_runners"], result["learners"]["shared"]
        assert sampled["num_env_steps_sampled"] >= 120
        assert len(sampled["agent_episode_returns_mean"]) == seats
        assert np.isfinite(learned["policy_loss"])
        assert learned["num_module_steps_trained"] > 0
    # an illegal move would end a foragers' episode at once: the masked policy plays none
    assert names["masked"]["env_runners"]["episode_len_min"] > 10
    returns = names["plain"]["env_runners"]["agent_episode_returns_mean"]
    assert abs(sum(returns.values())) < 1e-6  # poker is zero-sum
    assert names["batched"]["env_runners"]["episode_len_max"] <= 20
    assert names["turns"]["env_runners"]["num_episodes"] >= 8
    returns = names["turns"]["env_runners"]["agent_episode_returns_mean"]
    assert abs(sum(returns.values())) < 1e-6
    assert 5 <= names["turns"]["env_runners"]["episode_len_min"] <= 9  # nobody forfeits


@pytest.mark.parametrize(
    ("name", "options"),
    [("grid/Foraging-v0", {"num_players": 3, "max_episode_steps": 12}), ("games/TicTacToe-v0", {})],
)
def test_lanes_of_the_vector_are_episodes(name: str, options: dict[str, Any]) -> None:
    env = BatchMultiAgentEnv(name, 4, **options)
    seen, _ = env.reset(seed=21)
    rng = np.random.default_rng(5)
    games = [Episode(env.batch.game, 21 + lane) for lane in range(4)]
    over = [False] * 4
    for _ in range(14):
        actions: list[dict[str, int]] = [{} for _ in range(4)]
        for lane, game in enumerate(games):
            if over[lane]:
                continue
            assert set(seen[lane]) == {f"player_{seat}" for seat in game.to_act}
            for seat in game.to_act:
                shown = seen[lane][f"player_{seat}"]
                assert np.array_equal(shown["observations"], game.observation(seat))
                assert np.array_equal(shown["action_mask"], game.action_mask(seat))
                action = int(rng.choice(np.flatnonzero(shown["action_mask"])))
                actions[lane][f"player_{seat}"] = action
        again = list(over)
        seen, rewards, terminated, truncated, _ = env.step(actions)
        for lane, game in enumerate(games):
            if again[lane]:  # this step only began the next episode
                assert set(rewards[lane].values()) == {0.0}
                assert not terminated[lane]["__all__"]
                games[lane] = Episode(game.game, env.batch.episode_seeds[lane])
                over[lane] = False
                continue
            game.act({s: game.game.action_of(actions[lane][f"player_{s}"]) for s in game.to_act})
            assert list(rewards[lane].values()) == pytest.approx(list(game.rewards), abs=1e-9)
            assert terminated[lane]["__all__"] == game.over
            over[lane] = terminated[lane]["__all__"] or truncated[lane]["__all__"]
            if over[lane]:
                assert len(seen[lane]) == len(env.agents)


def test_a_place_for_masks_that_is_none_is_named() -> None:
    with pytest.raises(UnknownName, match="'info'"):
        BatchMultiAgentEnv("games/TicTacToe-v0", 2, masks="info")
