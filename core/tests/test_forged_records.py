"""Every value of real records, forged one at a time: found out, or named as taken on trust."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from forging import assert_forgeries_are_found
from palestra import Decision, Turn


def stubborn(turn: Turn) -> Decision:
    """Answers nonsense now and then, and speaks."""
    text = "I refuse" if not turn.tries and turn.steps_played % 3 == 0 else turn.legal_texts[-1]
    return Decision(text=text, thought="hm", model="m")


def wrong(turn: Turn) -> str:
    return "nonsense"


PLAYED: dict[str, dict[str, Any]] = {
    "games/TicTacToe-v0": {"agents": [stubborn, "random"]},
    "games/LiarsDice-v0": {"agents": [stubborn, "random", "first"], "num_players": 3},
    "games/PrisonersDilemma-v0": {"agents": [stubborn, "first"], "rounds": 3},
    "text/Negotiation-v0": {"agents": [stubborn, "random"], "max_turns": 6},
    "games/DonorGame-v0": {"agents": "random", "num_players": 4, "generations": 2, "rounds": 1},
    "games/Codenames-v0": {"agents": "random", "max_episode_steps": 4},  # teams
    "grid/Foraging-v0": {
        "agents": [wrong, "random", wrong, "first"],
        "num_players": 4,
        "invalid": "forfeit",
    },
    "games/Hex-v0": {
        "agents": [stubborn, "random"],
        "board_size": 2,
        "rewards": ["env", "novelty", "potential:of=palestra_rewards.other_runs:free_cells"],
        "gamma": 0.9,
    },
}


@pytest.mark.parametrize("env", PLAYED)
def test_a_forged_value_is_found_or_named(env: str) -> None:
    (record,) = palestra.play(env, seed=5, **PLAYED[env])
    assert_forgeries_are_found(record)
