"""PettingZoo 1.27.0: its loops over agents, turn by turn and all at once."""

from __future__ import annotations

import pytest
from page import run


def test_the_page() -> None:
    names, ledger = run("PettingZoo")
    assert ledger.games == {"TicTacToe", "Foraging"}
    assert ledger.illegal == 0
    played = names["played"]
    assert [agent for agent, _ in played] == [f"player_{i % 2}" for i in range(len(played))]
    assert len({cell for _, cell in played}) == len(played) >= 5
    # 25 steps, and the one that says that they were all
    assert names["foragers"].unwrapped.episode.steps_played == 25 + 1
    assert ledger.moves == len(played) + 3 * 25
    assert sum(names["totals"].values()) == pytest.approx(ledger.paid)
