"""States: a class of annotated fields becomes the record that rules run over."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, PluginError, Shape, constant
from palestra.kernel.state import HEADER


class PileState(ArrayState):
    piles: Annotated[NDArray[np.int16], Shape("num_piles", 2)]  # stones, by pile
    last: Annotated[int, np.int8]  # taken by the last move
    value: float  # of the game


@dataclass(frozen=True)
class Piles(ArrayGame[PileState]):
    """A game that is never played."""

    num_piles: int = 3
    num_players = 2
    num_actions = 4
    observation_shape = (1,)
    order = "sequential"
    payoffs = "zero-sum"

    @constant
    def stones(self) -> int:
        return 7 * self.num_piles

    @staticmethod
    def init_state(config: Piles, state: PileState) -> None: ...

    @staticmethod
    def apply_actions(config: Piles, state: PileState, actions: Any, out: Any) -> None: ...

    @staticmethod
    def write_legal_mask(config: Piles, state: PileState, seat: int, mask: Any) -> None: ...

    @staticmethod
    def write_observation(config: Piles, state: PileState, seat: int, obs: Any) -> None: ...

    def describe(self, state: PileState, seat: int) -> str:
        return ""


class Wider(Piles):
    """A subclass keeps the state of its base."""


@pytest.mark.parametrize("kind", [Piles, Wider])
def test_the_record_has_the_header_then_the_declared_fields(kind: type[Piles]) -> None:
    dtype = kind(num_piles=5).state_dtype
    assert dtype.names == (*HEADER, "piles", "last", "value")
    assert dtype["piles"] == np.dtype((np.int16, (5, 2)))
    assert dtype["last"] == np.int8
    assert dtype["value"] == np.float64
    assert dtype["acting"].shape == (2,)


def test_constants_are_in_the_config_of_the_rules() -> None:
    assert Piles(num_piles=2).config.stones == 14
    assert Piles(num_piles=2).config.num_piles == 2


class NoShape(ArrayState):
    board: NDArray[np.int8]


class Flag(ArrayState):
    flag: Annotated[int, np.bool_]


class Word(ArrayState):
    word: str


class Missing(ArrayState):
    board: Annotated[NDArray[np.int8], Shape("no_such_option")]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (NoShape, "array without a shape"),
        (Flag, "use np.uint8"),
        (Word, "must be a number or an array"),
        (Missing, "side 'no_such_option', which must be a whole number"),
    ],
)
def test_a_field_that_cannot_be_laid_out_says_why(state: type[ArrayState], says: str) -> None:
    made = type("Made", (Piles,), {"__orig_bases__": (ArrayGame[state],)})  # type: ignore[valid-type]
    with pytest.raises(PluginError, match=says):
        _ = made().state_dtype


def test_a_game_without_a_state_class_says_what_to_write() -> None:
    class Bare(Piles):
        pass

    Bare.state_class = classmethod(lambda cls: None)  # type: ignore[assignment, method-assign]
    with pytest.raises(PluginError, match=r"class Bare\(ArrayGame\[YourState\]\)"):
        Bare().fields()


def test_a_state_is_numpys_record_with_fields_as_attributes() -> None:
    state = Piles().initial_state(3)
    assert isinstance(state, np.record)
    state.turn = 7
    assert (state.turn, state["turn"]) == (7, 7)
    assert not hasattr(state, "trun")
    again = pickle.loads(pickle.dumps(state))
    assert again == state
    assert (type(again), again.turn) == (type(state), 7)
    whole = np.zeros(1, Piles().timestep_dtype)[0]
    whole.state.turn = 9  # a view, not a copy
    assert (whole["state"]["turn"], type(whole.state)) == (9, type(state))
