"""Rules in debug mode refuse indices below 0 and numbers that do not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import palestra
import pytest
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, EnvSpec, Shape
from palestra.engine.checked import NoRoom, OutsideArray, checked_game
from palestra.grids.compass import SOUTHWARD
from palestra.grids.moving import neighbour
from palestra.rules import draw, pass_turn
from palestra.testing.kit import run_check
from palestra.testing.subject import Subject
from palestra_games.board.tic_tac_toe import TicTacToe

WALK = EnvSpec("broken/Walk-v0", "", (3, 3), "sequential", "zero-sum")


class WalkState(ArrayState):
    """A walk over a grid."""

    cell: Annotated[NDArray[np.int8], Shape(3)]
    seen: Annotated[NDArray[np.uint8], Shape(12)]
    steps: Annotated[int, np.int8]
    row: Annotated[NDArray[np.int8], Shape(2, 6)]


@dataclass(frozen=True)
class Walk(ArrayGame[WalkState]):
    """Three walk over a grid of 3 rows and 4 columns; actions are those of a compass."""

    rows: int = 3
    columns: int = 4
    limit: int = 90

    rules_text = "Walk."
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 3
    num_actions = 5
    observation_shape = (12,)
    observation_bounds = (0, 100)

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.acting[0] = 1

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        seat = state.turn % 3
        state.cell[seat] = neighbour(config, state.cell[seat], actions[seat])
        state.steps += 1
        if state.steps == config.limit:
            draw(state)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(5):
            mask[action] = neighbour(config, state.cell[seat], action) >= 0

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[state.cell[seat]] = 1

    def describe(self, state: Any, seat: int) -> str:
        return f"You are in cell {state.cell[seat]}."


class MarksBeyondTheEdge(Walk):
    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[neighbour(config, state.cell[seat], 3)] = 1


class LooksUpWhoDoesNotMove(Walk):
    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        state.row[0, 0] = SOUTHWARD[actions[2]]
        Walk.apply_actions(config, state, actions, out)


class LooksBack(Walk):
    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        state.row[1, state.turn % 6 - 1] = 1
        Walk.apply_actions(config, state, actions, out)


class ReadsAList(Walk):
    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[state.cell - 1] = 1


class CountsTooFar(Walk):
    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        state.steps = state.turn + 1
        pass_turn(state)


class AddsTooMuch(Walk):
    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        state.row[1, 0] += state.turn
        pass_turn(state)


class AddsElements(Walk):
    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        state.row[0, 0] = 100
        state.row[0, 1] = max(0, state.row[0, 0] + state.row[0, 0]) % 7
        pass_turn(state)


@pytest.mark.parametrize(
    ("game", "says"),
    [
        (
            MarksBeyondTheEdge,
            "view[neighbour(config, state.cell[seat], 3)] uses index -1, which counts from the end "
            "of 12 entries",
        ),
        (LooksUpWhoDoesNotMove, "SOUTHWARD[actions[2]] uses index -1, which counts from the end"),
        (LooksBack, "state.row[1, state.turn % 6 - 1] uses index -1, which counts from the end of"),
        (ReadsAList, "view[state.cell - 1] uses index -1"),
        (CountsTooFar, "state.steps is int8, which has no room for 128: it holds -128 to 127"),
        (AddsTooMuch, "state.row[1, 0] is int8, which has no room for 136"),
        (AddsElements, "overflow encountered in scalar add: an element has the type of its array"),
    ],
)
def test_the_kit_names_the_line_that_leaves_an_array(game: Any, says: str) -> None:
    subject = Subject(WALK)
    subject.__dict__["game"] = game()
    verdict = run_check(subject, "rules_stay_in_arrays")
    assert verdict.status == "failed"
    assert says in verdict.detail
    assert "test_checked.py:" in verdict.detail


def test_rules_that_stay_in_their_arrays_play_the_same_when_checked() -> None:
    for game in (Walk(), TicTacToe()):
        one, other = game.initial_state(1), checked_game(game).initial_state(1)
        assert one.tobytes() == other.tobytes()
        while not one["over"]:
            (seat,) = game.to_act(one)
            move = int(game.legal(one, seat).nonzero()[0][-1])
            assert game.step(one, {seat: move}) == checked_game(game).step(other, {seat: move})
            assert one.tobytes() == other.tobytes()
            for looking in range(game.num_players):
                seen = checked_game(game).observe(other, looking)
                assert np.array_equal(game.observe(one, looking), seen)


def test_an_index_that_is_written_out_and_slices_are_allowed() -> None:
    class Last(Walk):
        @staticmethod
        def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
            view[-1] = 1
            view[: state.turn - 3] = 2
            state.row[1, -2] = 1

    game = checked_game(Last())
    assert game.observe(game.initial_state(0), 0).tolist() == [2] * 9 + [0, 0, 1]


def test_an_index_with_a_side_effect_is_computed_once() -> None:
    class Draws(Walk):
        @staticmethod
        def init_state(config: Any, state: Any) -> None:
            state.row[0, palestra.rules.randint(state, 6)] += 1
            state.acting[0] = 1

    assert checked_game(Draws()).initial_state(5).tobytes() == Draws().initial_state(5).tobytes()


def test_an_episode_refuses_them_while_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALESTRA_DEBUG", "1")
    with pytest.raises(OutsideArray, match="view"):
        palestra.Episode(MarksBeyondTheEdge(), 0)
    episode = palestra.Episode(CountsTooFar(), 0)
    for _ in range(127):
        episode.act({episode.to_act[0]: 0})
    with pytest.raises(NoRoom, match="no room for 128"):
        episode.act({episode.to_act[0]: 0})
