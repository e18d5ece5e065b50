"""Equilibria of simulation games by support enumeration, and an agent that plays one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Meta, ScriptedAgent, Turn, agent

from palestra_games.dilemmas.simulation_game.game import SIMULATEE, SimulationGame

Floats = NDArray[np.float64]
TOLERANCE = 1e-9
MOST_SUPPORTS = 20_000


@dataclass(frozen=True)
class Equilibrium:
    """Chances of the simulator's moves, "simulate" last, and of the simulatee's commitments."""

    plans: tuple[float, ...]
    commitments: tuple[float, ...]
    values: tuple[float, float]

    @property
    def welfare(self) -> float:
        return sum(self.values)


def best_reply(game: SimulationGame, commitment: int) -> int:
    """The best move after a simulation; ties go to the move best for the simulatee."""
    own, other = expected_payoffs(game)
    most = own[:, commitment].max()
    good = np.flatnonzero(own[:, commitment] >= most - TOLERANCE)
    return int(good[other[good, commitment].argmax()])


def expected_payoffs(game: SimulationGame) -> tuple[Floats, Floats]:
    """Expected payoffs of both players, each of shape (moves, commitments)."""
    cells = np.array(game.table).reshape(len(game.moves), len(game.answers), 2)
    shares = np.array(game.commitments).T / game.grain
    return cells[:, :, 0] @ shares, cells[:, :, 1] @ shares


def normal_form(game: SimulationGame, *, simulation: bool = True) -> tuple[Floats, Floats]:
    """`expected_payoffs`, with a last row for "simulate, then reply best" unless it is left out."""
    own, other = expected_payoffs(game)
    if not simulation:
        return own, other
    columns = range(own.shape[1])
    replies = [best_reply(game, column) for column in columns]
    simulated = own[replies, columns] - game.cost
    return np.vstack([own, simulated]), np.vstack([other, other[replies, columns]])


@lru_cache(maxsize=64)
def equilibria(game: SimulationGame, *, simulation: bool = True) -> tuple[Equilibrium, ...]:
    """Nash equilibria with supports of equal size: all of them, if payoffs are generic.

    By support enumeration (Dickhaut and Kaplan 1991): chances that make the other indifferent
    within their support and no plan outside it better. `simulation=False` leaves simulation out,
    for comparison of welfare. Raises `InvalidOption` for games with too many supports.
    """
    own, other = normal_form(game, simulation=simulation)
    rows, columns = own.shape
    sizes = range(1, min(rows, columns) + 1)
    count = sum(comb(rows, n) * comb(columns, n) for n in sizes)
    if count > MOST_SUPPORTS:
        raise InvalidOption(
            f"{count} pairs of supports are too many to enumerate (at most {MOST_SUPPORTS}); "
            "choose a smaller grain"
        )
    found: dict[tuple[float, ...], Equilibrium] = {}
    for size in sizes:
        for first in combinations(range(rows), size):
            for second in combinations(range(columns), size):
                for x, y in mixes(own, other, first, second):
                    values = (float(x @ own @ y), float(x @ other @ y))
                    key = tuple(np.round(np.concatenate([x, y]), 6).tolist())
                    found[key] = Equilibrium(tuple(x.tolist()), tuple(y.tolist()), values)
    return tuple(found.values())


def mixes(
    own: Floats, other: Floats, first: Sequence[int], second: Sequence[int]
) -> Iterator[tuple[Floats, Floats]]:
    """The equilibrium with these supports, if there is one."""
    y = indifferent(own, first, second)
    x = indifferent(other.T, second, first)
    if x is None or y is None:
        return
    best = (own @ y).max() <= x @ own @ y + TOLERANCE
    if best and (x @ other).max() <= x @ other @ y + TOLERANCE:
        yield x, y


def indifferent(table: Floats, plans: Sequence[int], support: Sequence[int]) -> Floats | None:
    """Chances on `support`, all positive, under which `plans` are paid the same."""
    size = len(support)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = table[np.ix_(plans, support)]
    system[:size, size] = -1
    system[size, size] = 0
    try:
        solved = np.linalg.solve(system, np.append(np.zeros(size), 1.0))
    except np.linalg.LinAlgError:
        return None
    if solved[:size].min() <= TOLERANCE:
        return None
    chances = np.zeros(table.shape[1])
    chances[list(support)] = solved[:size]
    return chances


@agent("simulation-player", kind="solver", needs=("array",))
class SimulationPlayer(ScriptedAgent[SimulationGame]):
    """Plays a simulation game by an exact equilibrium, or always trusts, or always simulates.

    "equilibrium" plays the Nash equilibrium with the highest sum of payoffs. "trusting" never
    simulates, plays the first move and commits to the first answer; "wary" always simulates. After
    a simulation all reply best.
    """

    stream = 8

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["equilibrium", "trusting", "wary"], Meta(description="how it plays")
        ] = "equilibrium",
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._style = style

    def choose(self, turn: Turn[SimulationGame]) -> int:
        game = turn.game
        seen = np.asarray(turn.observation)
        if seen[3]:
            shares = np.rint(seen[4 : 4 + len(game.answers)] * game.grain).astype(int)
            return best_reply(game, game.commitments.index(tuple(shares.tolist())))
        if self._style != "equilibrium":
            wary = self._style == "wary" and turn.seat != SIMULATEE
            return game.simulate if wary else 0
        best = max(equilibria(game), key=lambda found: found.welfare)
        chances = best.commitments if turn.seat == SIMULATEE else best.plans
        return self.rng.weighted(chances)
