"""A social dilemma on a network: everybody plays the same move against all neighbours at once.

The players are the nodes of a graph. In every round each cooperates or defects, once for all of its
neighbours, and is paid for every edge by the same table. Everybody sees the moves of its neighbours
and nothing else. The setting is that of Weng and Lee, "How Exploration Breaks Cooperation in
Shared-Policy Multi-Agent Reinforcement Learning", 2026: lattices and random networks, and payoffs
that favour defection more or less. The table is an option, since the paper speaks of a prisoner's
dilemma and also of dilemmas in which all cooperating is stable and best; the split "stag-hunt" is
one of those. Graphs are drawn by networkx from `graph_seed` and stay the same in all episodes.

Known answers checked: with C cooperating and D defecting all together are paid 2R an edge within C,
2P an edge within D and S + T an edge of the cut, on networkx's own count of edges; Zachary's
karate club, 1977; tit-for-tat with noise on two nodes is paid (R + S + T + P) / 4 in the long run.

The array view is a float32 vector of w + 7 numbers, w being the largest number of neighbours:

    own last move                         cooperated, defected; both zero before the first round
    number of neighbours, and of those who cooperated in the last round
    paid in the last round, in all        in units of payoff
    rounds played
    last move of every neighbour          1 cooperated, -1 defected, 0 none yet or no neighbour;
                                          neighbours in order of their seats
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isqrt
from typing import Any

import networkx as nx
import numpy as np
from palestra import (
    Agent,
    ArrayGame,
    Decision,
    Event,
    Grid,
    InvalidOption,
    Outcome,
    Piece,
    Rng,
    Scene,
    Turn,
    UnknownName,
    agent,
    environment,
    only,
)
from palestra.kernel.game import Result
from palestra.rules import all_act, finish

from palestra_games.dilemmas.matrix_game.game import plural

COOPERATE, DEFECT = 0, 1
MOVES = ("cooperate", "defect")
NOTHING = -1  # no move yet, no neighbour
GRAPHS = ("lattice", "small-world", "random", "scale-free", "complete")
NEAREST, REWIRED = 4, 0.1
MOST_PLAYERS, MOST_EDGES = 100, 5000


@environment(
    "games/NetworkDilemma-v0",
    family="social",
    tags=("social-dilemma", "iterated", "graph", "hidden-information", "deterministic"),
    paper=(
        "Weng and Lee (2026), How Exploration Breaks Cooperation in Shared-Policy Multi-Agent "
        "Reinforcement Learning"
    ),
    splits={"stag-hunt": {"payoffs_table": (4, 0, 3, 2)}, "harsh": {"payoffs_table": (3, 0, 8, 1)}},
    players=(2, 100),
)
@dataclass(frozen=True)
class NetworkDilemma(ArrayGame):
    """You live in a network. In every round you choose one move, for all of your neighbours.

    Write "cooperate" or "defect". All players choose at the same time. For every neighbour you are
    paid by your move and his, as the table below says. Afterwards you see what your neighbours
    did, but not what others far away did. Your aim is a high total of your own.
    """

    num_players: int = 9
    graph: str = "lattice"
    edges: Sequence[tuple[int, int]] = ()
    graph_seed: int = 0
    payoffs_table: Sequence[float] = (3, 0, 5, 1)
    rounds: int = 20

    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    deterministic = True
    num_actions = 2
    observation_dtype = np.float32

    def __post_init__(self) -> None:
        if not 2 <= self.num_players <= MOST_PLAYERS:
            raise InvalidOption(
                f"num_players must be from 2 to {MOST_PLAYERS}, not {self.num_players}"
            )
        if self.graph not in GRAPHS:
            raise InvalidOption(
                f"graph must be one of {', '.join(GRAPHS)}, not {self.graph!r}; edges=[(0, 1), …] "
                "gives a graph of your own"
            )
        if self.rounds < 1:
            raise InvalidOption(f"rounds must be at least 1, not {self.rounds}")
        object.__setattr__(self, "payoffs_table", four_payoffs(self.payoffs_table))
        object.__setattr__(self, "edges", checked_edges(self.edges, self.num_players))

    # What follows from the options

    @cached_property
    def network(self) -> nx.Graph:
        """The graph; nodes are seats."""
        if not self.edges:
            return drawn_graph(self.graph, self.num_players, self.graph_seed)
        given = nx.empty_graph(self.num_players)
        given.add_edges_from(self.edges)
        return given

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The neighbours of every seat, in ascending order."""
        return tuple(tuple(sorted(self.network[seat])) for seat in range(self.num_players))

    @cached_property
    def width(self) -> int:
        """The largest number of neighbours."""
        return max(map(len, self.neighbours))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        low, high = min(self.payoffs_table), max(self.payoffs_table)
        most = self.width * self.rounds
        return (min(low, low * most), max(high, high * most))

    @property
    def observation_shape(self) -> tuple[int]:
        return (self.width + 7,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        low, high = self.payoff_bounds
        return (min(-1.0, low), max(float(self.rounds), float(self.width), high))

    def constants(self) -> Mapping[str, Any]:
        flat = [(*near, *[NOTHING] * (self.width - len(near))) for near in self.neighbours]
        graph = {"width": self.width, "flat": tuple(seat for row in flat for seat in row)}
        return {**super().constants(), **graph, "table": self.payoffs_table}

    def fields(self) -> list[tuple[Any, ...]]:
        """The graph (-1: no neighbour), the last moves (-1: none yet) and what has been paid."""
        seats = self.num_players
        return [
            ("near", np.int16, (seats, self.width)),
            ("last", np.int8, seats),
            ("totals", np.float64, seats),
        ]

    def pay(self, moves: Sequence[int], seat: int) -> float:
        """What a round in which everybody played these moves pays a player, over all neighbours."""
        own = 2 * moves[seat]
        return sum(self.payoffs_table[own + moves[other]] for other in self.neighbours[seat])

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for place in range(config.num_players * config.width):
            state.near[place // config.width, place % config.width] = config.flat[place]
        for seat in range(config.num_players):
            state.last[seat] = NOTHING
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            state.last[seat] = actions[seat]
        for seat in range(config.num_players):
            amount = earned(config, state, seat)
            out.rewards[seat, 0] = amount
            state.totals[seat] += amount
        if state.turn + 1 >= config.rounds:
            finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        mask[COOPERATE] = 1
        mask[DEFECT] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        for place in range(config.width):
            other = state.near[seat, place]
            if other != NOTHING:
                view[2] += 1
                if state.last[other] != NOTHING:
                    view[7 + place] = 1 - 2 * state.last[other]
                    view[3] += state.last[other] == COOPERATE
        if state.last[seat] != NOTHING:
            view[state.last[seat]] = 1
            view[4] = earned(config, state, seat)
        view[5] = state.totals[seat]
        view[6] = state.turn

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        share = float((state["last"] == COOPERATE).mean())
        reason = f"{plural(self.rounds)} played; in the last one {share:.0%} cooperated"
        return replace(ended, results=(score,) * self.num_players, reason=reason)

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(state["totals"].tolist())

    def determinize(self, state: Any, player: int, rng: Rng) -> Any:
        """Draw the moves of those who are no neighbours, and totals as if they always paid so."""
        copy = self.clone(state)
        if state.over or not state.turn:
            return copy
        seen, last = {player, *self.neighbours[player]}, state.last.tolist()
        drawn = [move if seat in seen else rng.below(2) for seat, move in enumerate(last)]
        copy.last[:] = drawn
        copy.totals[:] = [int(state.turn) * self.pay(drawn, s) for s in range(self.num_players)]
        copy.totals[player] = state.totals[player]
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        reward, sucker, temptation, punishment = self.payoffs_table
        return "\n".join(
            [
                super().rules_for(seat),
                f"- You cooperate: {reward:g} if he cooperates, {sucker:g} if he defects.",
                f"- You defect: {temptation:g} if he cooperates, {punishment:g} if he defects.",
                f"There are {self.num_players} players and {plural(self.rounds)}.",
            ]
        )

    def describe(self, state: Any, player: int) -> str:
        near, last = self.neighbours[player], state.last.tolist()
        lines = [
            f"You are {self.players[player]}. Rounds played: {int(state.turn)} of {self.rounds}.",
            f"Your neighbours: {', '.join(self.players[seat] for seat in near) or 'none'}.",
        ]
        if last[player] != NOTHING:
            lines.append(f"Last round: {self._told(last, player)}")
            lines.append(f"Your total: {float(state.totals[player]):g}.")
        return "\n".join(lines)

    def _told(self, last: Sequence[int], seat: int) -> str:
        near = self.neighbours[seat]
        named = [
            ", ".join(self.players[s] for s in near if last[s] == move) or "nobody"
            for move in (COOPERATE, DEFECT)
        ]
        return (
            f"you played {MOVES[last[seat]]}; of your neighbours cooperated "
            f"{named[0]}, defected {named[1]}; you were paid {self.pay(last, seat):g}."
        )

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return MOVES[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        """Everybody is told about himself and his neighbours only."""
        if before is None:
            return []
        last, events = after.last.tolist(), []
        for player, near in enumerate(self.neighbours):
            moves = {seat: last[seat] for seat in (player, *near)}
            data = {"moves": moves, "paid": self.pay(last, player)}
            text = f"Round {int(after.turn)}: {self._told(last, player)}"
            events.append(Event("round", text, data, only(player)))
        if after.over:
            events.append(Event("end", f"The game is over after {plural(after.turn)}."))
        return events

    def scene(self, state: Any, player: int | None = None) -> Scene:
        seats, columns = self.num_players, isqrt(self.num_players - 1) + 1
        if player is None and self.graph == "lattice" and not self.edges:
            columns = seats // lattice_rows(seats)
        seen = range(seats) if player is None else (player, *self.neighbours[player])
        pieces = [self._piece(state, seat) if seat in seen else None for seat in range(seats)]
        pieces += [None] * (-seats % columns)
        rows = tuple(tuple(pieces[i : i + columns]) for i in range(0, len(pieces), columns))
        outside = {(s // columns, s % columns) for s in range(len(pieces)) if s not in seen}
        own = frozenset() if player is None else frozenset({divmod(player, columns)})
        grid = Grid(rows, highlighted=own, shaded=frozenset(outside))
        line = f"Rounds played: {int(state.turn)} of {self.rounds}"
        return Scene(grid=grid, lines=(line,))

    def _piece(self, state: Any, seat: int) -> Piece:
        move = int(state.last[seat])
        did = "has not played" if move == NOTHING else MOVES[move] + "s"
        return Piece(str(seat), move, "disc", f"{self.players[seat]} {did}")


def earned(config: Any, state: Any, seat: int) -> float:
    """What the last round paid a player, over all neighbours."""
    amount = 0.0
    for place in range(config.width):
        other = state.near[seat, place]
        if other != NOTHING:
            amount += config.table[2 * state.last[seat] + state.last[other]]
    return amount


def four_payoffs(table: Sequence[float]) -> tuple[float, ...]:
    """R, S, T and P as numbers."""
    try:
        numbers = tuple(map(float, table))
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 4 or not all(map(isfinite, numbers)):
        raise InvalidOption(
            "payoffs_table must be four numbers, what one is paid after CC, CD, DC and DD, own "
            f"move first; not {table!r}"
        )
    return numbers


def checked_edges(edges: Sequence[Any], seats: int) -> tuple[tuple[int, int], ...]:
    """Edges as pairs of different seats, each once; such as `nx.karate_club_graph().edges`."""
    try:
        pairs = sorted({(min(a, b), max(a, b)) for a, b in edges})
    except (TypeError, ValueError):
        pairs = [(0, 0)]
    if any(not 0 <= a < b < seats for a, b in pairs) or len(pairs) > MOST_EDGES:
        raise InvalidOption(
            f"edges must be at most {MOST_EDGES} pairs of different seats from 0 to {seats - 1}, "
            f"not {edges!r}"
        )
    return tuple((int(a), int(b)) for a, b in pairs)


def drawn_graph(kind: str, seats: int, seed: int) -> nx.Graph:
    """One of `GRAPHS`; nodes are seats, and no seat is without neighbours.

    A lattice is wrapped around and as square as can be; small worlds are those of Watts and
    Strogatz, with 4 neighbours and a tenth of the edges rewired; a random graph gives everybody 4
    neighbours; scale-free graphs are those of Barabási and Albert, where every newcomer joins two.
    """
    if kind == "lattice":
        rows = lattice_rows(seats)
        lattice = nx.grid_2d_graph(rows, seats // rows, periodic=True)
        return nx.convert_node_labels_to_integers(lattice, ordering="sorted")
    if kind == "complete" or seats <= NEAREST:
        return nx.complete_graph(seats)
    if kind == "small-world":
        return nx.connected_watts_strogatz_graph(seats, NEAREST, REWIRED, seed=seed)
    if kind == "random":
        return nx.random_regular_graph(NEAREST, seats, seed=seed)
    return nx.barabasi_albert_graph(seats, 2, seed=seed)


def lattice_rows(seats: int) -> int:
    """The largest divisor that is not above the square root."""
    return max(rows for rows in range(1, isqrt(seats) + 1) if seats % rows == 0)


@agent(
    "neighbour",
    plays=("games/NetworkDilemma-v0",),
    needs=("array",),
    summary="Plays a dilemma on a network: style=mirror|cooperate|defect, exploring by epsilon.",
)
class Neighbour(Agent):
    """Cooperates, or defects, or does as its neighbours did: style=mirror|cooperate|defect.

    "mirror" cooperates at first, and then if at least the share `threshold` of its neighbours did.
    With probability `epsilon` it plays either move at random, as learners that explore do.
    """

    STYLES = ("mirror", "cooperate", "defect")

    def __init__(
        self,
        *,
        style: str = "mirror",
        threshold: float = 0.5,
        epsilon: float = 0.0,
        seed: int | None = None,
    ) -> None:
        if style not in self.STYLES:
            raise UnknownName("neighbour style", style, self.STYLES)
        if not (0 <= threshold <= 1 and 0 <= epsilon <= 1):
            raise InvalidOption(
                f"neighbour: threshold and epsilon must be from 0 to 1, not {threshold} and "
                f"{epsilon}"
            )
        self._style, self._threshold, self._epsilon = style, threshold, epsilon
        self._rng = Rng.seeded(seed, stream=6)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=6)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        if not isinstance(turn.game, NetworkDilemma):
            raise InvalidOption(f"the neighbour plays games/NetworkDilemma-v0, not {turn.env}")
        if self._epsilon and self._rng.random() < self._epsilon:
            return self._rng.below(2)
        if self._style != "mirror":
            return COOPERATE if self._style == "cooperate" else DEFECT
        _, _, near, cooperated, _, _, played = turn.observation[:7].tolist()
        return COOPERATE if not played or cooperated >= self._threshold * near else DEFECT
