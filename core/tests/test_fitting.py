"""Agents are asked whether they can play a game before anything is played."""

from __future__ import annotations

import palestra
import pytest
from palestra import InvalidOption


@pytest.mark.parametrize(
    ("agent", "env", "says"),
    [
        ("villager", "games/TicTacToe-v0", "'villager' plays games/Werewolf-v0, not games/TicTac"),
        ("minimax", "games/KuhnPoker-v0", "cannot play games/KuhnPoker-v0: it needs perfect info"),
        ("minimax:depth=2", "grid/Foraging-v0", "it needs zero-sum"),
        ("cfr", "games/ConnectFour-v0", "it needs deals"),
        ("scripted", "games/KuhnPoker-v0", "it needs script"),
    ],
)
def test_an_agent_that_cannot_play_is_refused_at_once(agent: str, env: str, says: str) -> None:
    seats = palestra.game(env).num_players
    with pytest.raises(InvalidOption, match=says):
        palestra.play(env, agents=[agent, *["random"] * (seats - 1)])
    with pytest.raises(InvalidOption, match=says):
        palestra.make(env, opponents=agent)


def test_functions_and_objects_are_taken_as_they_are() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=[lambda t: t.legal_actions[0], "first"])
    assert record.outcome is not None
