"""PettingZoo 1.27.0: its loops over agents, turn by turn and all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from page import run
from palestra import InvalidAction
from unequal import CHOICES, SEES, Unequal


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


@pytest.mark.parametrize("view", ["aec", "parallel"])
@pytest.mark.parametrize("masks", ["obs", "info", "off"])
def test_padded_spaces_are_equal_and_hold_what_was_there(view: str, masks: str) -> None:
    plain: Any = palestra.make(Unequal(), view=view, masks=masks)
    padded: Any = palestra.make(Unequal(), view=view, masks=masks, pad_spaces=True)
    first, second = agents = padded.possible_agents
    assert padded.observation_space(first) == padded.observation_space(second)
    assert padded.action_space(first) == padded.action_space(second)
    assert int(padded.action_space(second).n) == max(CHOICES)
    plain.reset(seed=3), padded.reset(seed=3)
    for seat, agent in enumerate(agents):
        before, after = plain.observe(agent), padded.observe(agent)
        assert after in padded.observation_space(agent)
        if masks == "obs":
            assert after["action_mask"].tolist() == [1] * CHOICES[seat] + [0] * (5 - CHOICES[seat])
            before, after = before["observation"], after["observation"]
        assert after.tolist() == before.tolist() + [0] * (max(SEES) - SEES[seat])


@pytest.mark.filterwarnings("ignore")
def test_padded_spaces_pass_pettingzoos_checks() -> None:
    from pettingzoo.test import api_test, parallel_api_test

    made = {"pad_spaces": True, "invalid": "random"}
    api_test(palestra.make(Unequal(), view="aec", **made), num_cycles=20)
    parallel_api_test(palestra.make(Unequal(), view="parallel", **made), num_cycles=20)


def test_an_action_that_pads_is_a_mistake_and_one_beyond_is_an_error() -> None:
    env: Any = palestra.make(Unequal(), view="parallel", pad_spaces=True)
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match="0 to 2"):
        env.step({"player_0": 0, "player_1": 5})
    env.step({"player_0": 4, "player_1": np.int64(3)})
    assert env.episode.mistakes == (0, 1)
    assert env.episode.over
