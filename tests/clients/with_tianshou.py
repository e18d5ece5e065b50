"""Tianshou 2.0.1: two DQN learners that play each other, masks in their observations."""

from __future__ import annotations

import numpy as np
import pytest
from page import run
from unequal import CHOICES, SEES, Unequal


def test_the_page() -> None:
    names, ledger = run("Tianshou")
    assert set(names["results"]) == {"games/TicTacToe-v0", "games/LiarsDice-v0"}
    assert ledger.illegal == 0
    assert ledger.games == {"TicTacToe", "LiarsDice"}
    stored, paid = 0, 0.0
    for result, buffer in names["results"].values():
        assert result.update_step > 0
        assert result.train_step == 400
        rows = buffer[:]
        stored += len(rows)
        paid += float(rows.rew.sum())
        # each action was allowed by the mask that was stored with it
        assert rows.obs.mask[np.arange(len(rows)), rows.act].all()
        assert set(rows.obs.agent_id) == {"player_0", "player_1"}
    assert stored == ledger.moves == 800
    assert paid == pytest.approx(ledger.paid)


def test_seats_of_unequal_spaces_learn_once_padded() -> None:
    names, _ = run("Tianshou", replaced={'("games/TicTacToe-v0", "games/LiarsDice-v0")': "()"})
    result, buffer = names["train"](Unequal())
    rows = buffer[:]
    assert result.train_step == 400
    assert rows.obs.obs.shape[1:] == (max(SEES),)
    assert rows.obs.mask.shape[1:] == (max(CHOICES),)
    played = {f"player_{seat}": rows.act[rows.obs.agent_id == f"player_{seat}"] for seat in (0, 1)}
    assert {agent: int(actions.max()) for agent, actions in played.items()} == {
        "player_0": CHOICES[0] - 1,
        "player_1": CHOICES[1] - 1,
    }
