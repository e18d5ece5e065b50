"""Mining: its rules by hand, its solver on many lands, and its measure."""

from __future__ import annotations

from dataclasses import replace

import palestra
import pytest
from palestra import InvalidOption, Rng, measure
from palestra_games.puzzles.mining import MILESTONES, TOOLS, Craft, Mine, Mining, Move

# T . S .
# @ . I ~
# T T . D
# . . . .
LAND = (1, 0, 2, 0, 0, 0, 3, 5, 1, 1, 0, 4, 0, 0, 0, 0)
GAME = Mining(rows=4, columns=4, lava=1, spare=0)


def played(*moves: str) -> Mine:
    """North, south, west, east, or c to craft the next tool."""
    state = Mine(Rng(0), LAND, 4)
    for move in moves:
        action = Craft(TOOLS[state.tools]) if move == "c" else Move(move)
        assert any(action == one for one in GAME.legal_actions(state, 0)), (move, state)
        GAME.step(state, {0: action})
    return state


def test_blocks_are_dug_from_where_one_stands() -> None:
    state = played("north")
    assert (state.place, state.have, state.cells[0]) == (4, (0, 1, 0, 0, 0), 0)
    assert played("north", "north").place == 0
    assert GAME.ways(Mine(Rng(0), LAND, 6)) == ("south", "west", "east")  # no tool for stone


def test_tools_cost_what_the_rules_say_and_open_the_next_block() -> None:
    state = played("north", "c")
    assert (state.tools, state.have) == (1, (0, 0, 0, 0, 0))
    assert "east" not in GAME.ways(replace(state, place=5))  # iron needs a stone pickaxe
    way = ("north", "c", "south", "east", "north", "east")  # a second tree, then stone
    state = played(*way)
    assert state.have == (0, 1, 1, 0, 0)
    state = played(*way, "c", "south", "east")
    assert (state.tools, state.have) == (2, (0, 0, 0, 1, 0))
    assert GAME.reached(state) == MILESTONES[:5]
    assert not GAME.affordable(state)  # an iron pickaxe takes wood too


def test_lava_ends_the_game_and_only_the_diamond_pays() -> None:
    state = Mine(Rng(0), LAND, 3)
    GAME.step(state, {0: Move("south")})
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert outcome.results == ("loss",)
    (record,) = palestra.play("games/Mining-v0", agents=["miner"], seed=4)
    assert [sum(s.rewards.get(0, {}).values()) for s in record.steps][:-1] == [0.0] * (
        len(record.steps) - 1
    )
    assert record.returns == (1.0,)
    (cut,) = palestra.play("games/Mining-v0", agents=["miner"], seed=4, max_steps=10)
    assert cut.outcome is not None
    assert cut.outcome.results == ("truncated",)


def test_every_land_can_be_solved_and_milestones_are_measured() -> None:
    for seed in range(20):
        (record,) = palestra.play("games/Mining-v0", agents=["miner"], seed=seed, lava=6, spare=0)
        assert record.returns == (1.0,)
        assert record.steps[-1].facts["progress"] == 1.0
    assert measure(record)["milestones-reached"] == 1.0
    (short,) = palestra.play("games/Mining-v0", agents=["miner"], seed=1, max_steps=10)
    reached = len(
        {
            *short.facts["milestones"],
            *(m for s in short.steps for m in s.facts.get("milestones", ())),
        }
    )
    assert measure(short)["milestones-reached"] == pytest.approx(reached / 7)
    with pytest.raises(InvalidOption, match="at most half"):
        Mining(rows=4, columns=4, lava=6)
