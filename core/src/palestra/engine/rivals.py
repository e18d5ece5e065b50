"""Opponents that play inside the compiled rules of an array game: at random, or by its script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palestra.engine.array_simulator import ArraySimulator
from palestra.engine.lanes import RANDOM, SCRIPTED, TRAIL, random_bits, rivals_dtype
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.game import Game

NONE = -1  # no action of the seat itself


class Rivals:
    """The opponents of one seat of an array game, for `Episode.play_through`.

    `scripts` are the seats that play by the game's own script, all others but `seat` play random
    legal moves. Between two turns of the seat there is one call to machine code, whoever moves.
    `action` is what the seat plays in the next call, and `paid` what the last one paid it by term,
    where the game has several.
    """

    def __init__(self, game: ArrayGame, seat: int, scripts: tuple[int, ...]) -> None:
        self._made_of = game, seat, scripts
        self._terms, self._scripted = game.reward_terms, bool(scripts)
        self._seats, self._row = game.num_players, 4 * game.num_players
        self.action = NONE
        self.paid: dict[str, float] = {}
        self._adopt(bytes(rivals_dtype(game).itemsize))
        self._records["seat"] = seat
        self._records["auto"] = RANDOM
        self._records["auto"][0, list(scripts)] = SCRIPTED

    def _adopt(self, memory: bytes) -> None:
        """Take over the bytes of a record, and look at its fields once."""
        layout = rivals_dtype(self._made_of[0])
        self._memory = bytearray(memory)
        self._records = np.frombuffer(self._memory, layout)
        self._steps, self._amounts = self._records["steps"], self._records["paid"][0]
        self._random_bits = self._records["random_bits"]
        assert layout.fields is not None
        self._played = memoryview(self._memory)[layout.fields["actions"][1] :]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._made_of, bytes(self._memory)

    def __setstate__(self, kept: tuple[Any, ...]) -> None:
        made_of, memory = kept
        Rivals.__init__(self, *made_of)
        self._adopt(memory)

    def reseed(self, seed: int) -> None:
        self._random_bits[0] = random_bits(seed)

    def __call__(self, simulator: ArraySimulator) -> tuple[int, Steps]:
        """Play `self.action` and on to the seat's next turn; the steps played, and their actions.

        0 steps where the action is not legal, or -1 was given and the seat is to act.
        """
        self.paid = {}
        steps, actions, last, action = 0, b"", TRAIL, self.action
        while last == TRAIL:  # there may be more steps than fit
            simulator.play_against(self._records, action, self._scripted)
            if len(self._terms) > 1:
                self._add_paid()
            last, action = self._steps.item(), NONE
            steps += last
            actions += self._played[: last * self._row]
        return steps, Steps(actions, self._seats)

    def _add_paid(self) -> None:
        for term, value in zip(self._terms, self._amounts.tolist(), strict=True):
            if value:
                self.paid[term] = self.paid.get(term, 0.0) + value


@dataclass(frozen=True, slots=True)
class Steps:
    """The actions of some steps, each as {seat: action}, computed on demand."""

    actions: bytes
    seats: int

    def __iter__(self) -> Iterator[Mapping[int, int]]:
        for row in np.frombuffer(self.actions, np.int32).reshape(-1, self.seats).tolist():
            yield {seat: action for seat, action in enumerate(row) if action >= 0}


def open_rivals(game: Game[Any, Any], seat: int, opponents: Any) -> Rivals | None:
    """The rivals that `opponents` names: "random" or "scripted", or a list of these, one per seat.

    Returns None if `opponents` names another agent or holds agent objects, or if the game is not an
    array game.
    """
    if not isinstance(game, ArrayGame) or game.has_newcomers:
        return None
    seats = [other for other in range(game.num_players) if other != seat]
    several = isinstance(opponents, Sequence) and not isinstance(opponents, str)
    names = list(opponents) if several else [opponents] * len(seats)
    known = ("random", "scripted") if game.has_script else ("random",)
    if not all(isinstance(name, str) and name in known for name in names):
        return None
    scripts = tuple(s for s, name in zip(seats, names, strict=True) if name == "scripted")
    return Rivals(game, seat, scripts)
