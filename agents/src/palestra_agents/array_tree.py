"""The whole of UCT in compiled code, for array games of perfect information."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, Episode, Game, Rng
from palestra.engine.compiled import Template, functions_for
from palestra.kernel.array_game import record_dtype

from palestra_agents import uct_loop
from palestra_agents.uct import Choice, Settings, return_scale

NODE = record_dtype(
    [
        ("key", np.int64),  # hash of the state
        ("visits", np.int64),
        ("seat", np.int64),  # who acts
        ("first", np.int32),  # edge; the others follow by `next`, the last tried first
        ("tried", np.int32),  # edges
        ("legal", np.int32),  # actions
    ]
)
EDGE = record_dtype(
    [
        ("visits", np.int64),
        ("value", np.float64),  # sum of the returns of the seat that acts
        ("action", np.int32),
        ("node", np.int32),  # where it starts
        ("child", np.int32),  # where it led last, -1 as long as that is not a node
        ("next", np.int32),
    ]
)
WORD = 4  # bytes
MOST_SIMULATIONS = 10_000_000  # in one turn; the tree takes about 160 bytes for each
EDGES = 3  # at first, for each simulation: more are added if many paths meet

# Simulations in the first call; each call makes twice as many as the one before. What runs
# interpreted for a while is compiled between two calls.
FIRST_PART = 16


def fits_array_tree(game: Game[Any, Any]) -> bool:
    """Whether `ArrayTree` can search a game; not with hidden information or simultaneous moves."""
    return (
        isinstance(game, ArrayGame)
        and game.order == "sequential"
        and game.perfect_information
        and (game.deterministic or type(game).reseed is ArrayGame.reseed)
    )


class ArrayTree:
    """The tree of one turn of a game that `fits_array_tree`.

    It is a graph: paths that lead to the same state meet in one node, and equal states after
    different numbers of steps stay apart. Each simulation draws chance anew, and every state that
    chance leads to has its own node. Compiled and interpreted rules find the same.

    root: the episode at that turn. rng: draws the seed of all simulations.
    """

    def __init__(self, root: Episode, rng: Rng, settings: Settings) -> None:
        game = root.game
        assert isinstance(game, ArrayGame)
        self._functions = functions_for(game, _template(game), root.compiled)
        self._timesteps = np.zeros(uct_loop.TIMESTEPS, game.timestep_dtype)
        self._timesteps["state"][uct_loop.ROOT] = root.state
        self._timesteps["returns"][uct_loop.ROOT] = root.returns
        self._searches = np.zeros(1, search_dtype(game))
        search = self._searches[0]
        search.key[:] = rng.word(), rng.word()
        search.c, search.playouts, search.depth = settings.c, settings.playouts, settings.depth
        search.low, search.high, search.adapts = return_scale(game)
        search.chance = not game.deterministic
        start = uct_loop.LEAF * game.timestep_dtype.itemsize
        search.first_word = (start + game.rng_bytes) // WORD
        search.end_word = (start + game.state_dtype.itemsize) // WORD

    def run(self, simulations: int) -> dict[int, Choice]:
        """Search, once; returns what is known about each action of the root that was tried."""
        words = self._timesteps.view(np.int32)
        nodes = np.zeros(simulations + 1, NODE)
        edges = np.zeros(EDGES * simulations + 8, EDGE)
        path = np.zeros(simulations + 2, np.int64)
        table = np.zeros(1 << (2 * simulations + 1).bit_length(), np.int32)
        search, done, part = self._searches[0], 0, FIRST_PART
        while done < simulations:
            search.wanted = wanted = min(simulations, done + part)
            done = self._functions.simulate(
                self._timesteps, words, self._searches, nodes, edges, path, table
            )
            if done < wanted:
                edges = np.concatenate([edges, np.zeros_like(edges)])
            part *= 2
        return _choices(nodes[0], edges)

    @property
    def nodes(self) -> int:
        """How many states the tree has; none of them is an end."""
        return int(self._searches[0].nodes)


def _choices(node: Any, edges: NDArray[Any]) -> dict[int, Choice]:
    """The statistics of a node's actions, in the order in which they were first tried."""
    found, number = {}, int(node.first)
    while number != uct_loop.NONE:
        edge = edges[number]
        found[int(edge.action)] = Choice(int(edge.visits), float(edge.value))
        number = int(edge.next)
    return dict(reversed(found.items()))


@lru_cache(maxsize=64)
def search_dtype(game: ArrayGame) -> np.dtype[Any]:
    """One search: its settings, its place in the arrays, and the returns of the last leaf."""
    return record_dtype(
        [
            ("key", np.int64, 2),
            ("random_bits", np.int64),
            ("wanted", np.int64),  # simulations
            ("done", np.int64),
            ("nodes", np.int64),  # in use
            ("edges", np.int64),
            ("deepest", np.int64),  # steps from the root to the farthest node
            ("first_word", np.int64),  # of the leaf's state without its generator
            ("end_word", np.int64),
            ("playouts", np.int64),
            ("depth", np.int64),
            ("adapts", np.int64),
            ("chance", np.int64),
            ("c", np.float64),
            ("low", np.float64),
            ("high", np.float64),
            ("totals", np.float64, game.num_players),
        ]
    )


@lru_cache(maxsize=64)
def _template(game: ArrayGame) -> Template:
    layouts = (
        ("timesteps", game.timestep_dtype),
        ("words", np.dtype(np.int32)),
        ("searches", search_dtype(game)),
        ("nodes", NODE),
        ("edges", EDGE),
        ("path", np.dtype(np.int64)),
        ("table", np.dtype(np.int32)),
    )
    return Template(Path(uct_loop.__file__), ("simulate",), layouts)
