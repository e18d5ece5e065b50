"""A social dilemma on a network: everybody plays the same move against all neighbours at once.

The players are the nodes of a graph. In every round each cooperates or defects, once for all of
their neighbours, and is paid for every edge by the same table. Everybody sees the moves of their
neighbours and nothing else. The setting is that of Weng and Lee, "How Exploration Breaks
Cooperation in Shared-Policy Multi-Agent Reinforcement Learning", 2026: lattices and random
networks, and payoffs that favour defection more or less. The table is an option, since the paper
speaks of a prisoner's dilemma and also of dilemmas in which all cooperating is stable and best; the
split "stag-hunt" is one of those. Graphs are drawn by networkx from `graph_seed` and stay the same
in all episodes.

Checked: with C cooperating and D defecting all together are paid 2R an edge within C,
2P an edge within D and S + T an edge of the cut, on networkx's own count of edges; Zachary's
karate club, 1977; tit-for-tat with noise on two nodes is paid (R + S + T + P) / 4 in the long run.

An observation is a float32 vector of w + 7 numbers, w being the largest number of neighbours:

    own last move                         cooperated, defected; both zero before the first round
    number of neighbours, and of those who cooperated in the last round
    paid in the last round, in all        in units of payoff
    rounds played
    last move of every neighbour          1 cooperated, -1 defected, 0 none yet or no neighbour;
                                          neighbours in order of their seats

Left out: deep learners and the diagnostics of their shared features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Annotated, Any, Literal, get_args

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Shape,
    Turn,
    agent,
    constant,
    environment,
    only,
)
from palestra.rules import all_act, finish
from palestra.scene import Graph as GraphPicture
from palestra.scene import Link, Node

from palestra_games.dilemmas.outcomes import number_of, score_outcome
from palestra_games.dilemmas.payoff_tables import (
    COOPERATE,
    COOPERATE_OR_DEFECT,
    DEFECT,
    check_finite,
)
from palestra_games.graph_picture import node_places

NOTHING = -1  # no move yet, no neighbour
Graph = Literal["lattice", "small-world", "random", "scale-free", "complete"]
GRAPHS: tuple[Graph, ...] = get_args(Graph)
NEAREST, REWIRED = 4, 0.1
MOST_PLAYERS, MOST_EDGES = 100, 5000


class NetworkState(ArrayState):
    """The graph, the last moves and what has been paid."""

    near: Annotated[NDArray[np.int16], Shape("num_players", "width")]  # neighbours by seat; else -1
    last: Annotated[NDArray[np.int8], Shape("num_players")]  # moves of the last round; -1 before
    totals: Annotated[NDArray[np.float64], Shape("num_players")]  # payoffs so far


@environment(
    "games/NetworkDilemma-v0",
    family="social",
    tags=("social-dilemma", "iterated", "graph", "hidden-information", "deterministic"),
    paper=(
        "Weng and Lee (2026), How Exploration Breaks Cooperation in Shared-Policy Multi-Agent "
        "Reinforcement Learning"
    ),
    splits={"stag-hunt": {"payoffs_table": (4, 0, 3, 2)}, "harsh": {"payoffs_table": (3, 0, 8, 1)}},
)
@dataclass(frozen=True)
class NetworkDilemma(ArrayGame[NetworkState]):
    """A dilemma on a network, where everybody plays one move against all of their neighbours.

    Actions are 0 (cooperate) and 1 (defect). The module's docstring has the layout of an
    observation. A round pays every player the sum over their neighbours.
    """

    rules_text = """
        You live in a network. In every round you choose one move, for all of your neighbours.

        Write "cooperate" or "defect". All players choose at the same time. For every neighbour you
        are paid by your move and theirs, as the table below says. Afterwards you see what your
        neighbours did, but not what others far away did. Your aim is a high total of your own.
    """

    num_players: Annotated[int, Meta(ge=2, le=MOST_PLAYERS, description="number of players")] = 9
    graph: Annotated[Graph, Meta(description="kind of graph to draw if no edges are given")] = (
        "lattice"
    )
    edges: Annotated[
        Iterable[tuple[int, int]],
        Meta(description="pairs of seats that are neighbours; empty to draw a graph"),
    ] = ()
    graph_seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="seed of the drawn graph")] = 0
    payoffs_table: Annotated[
        Sequence[float],
        Meta(
            min_length=4,
            max_length=4,
            description="four numbers: what an edge pays after CC, CD, DC and DD, own move first",
        ),
    ] = (3, 0, 5, 1)
    rounds: Annotated[int, Meta(ge=1, le=1_000_000, description="rounds in an episode")] = 20

    counters = ("totals",)
    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    deterministic = True
    num_actions = 2
    observation_dtype = np.float32

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "edges", ordered_edges(self.edges, self.num_players))

    def validate(self) -> None:
        check_finite(self.payoffs_table)

    # Derived from the options

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

    @constant
    def width(self) -> int:
        """The largest number of neighbours."""
        return max(map(len, self.neighbours))

    @constant
    def flat(self) -> tuple[int, ...]:
        """Everybody's neighbours, `width` a seat, -1 for none."""
        rows = [(*near, *[NOTHING] * (self.width - len(near))) for near in self.neighbours]
        return tuple(seat for row in rows for seat in row)

    @constant
    def table(self) -> tuple[float, ...]:
        """What an edge pays after CC, CD, DC and DD, own move first."""
        return tuple(self.payoffs_table)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        low, high = min(self.table), max(self.table)
        most = self.width * self.rounds
        return (min(low, low * most), max(high, high * most))

    @property
    def observation_shape(self) -> tuple[int]:
        return (self.width + 7,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        low, high = self.payoff_bounds
        return (min(-1.0, low), max(float(self.rounds), float(self.width), high))

    def pay(self, moves: Sequence[int], seat: int) -> float:
        """A player's payoff in a round with these moves, summed over all neighbours."""
        own = 2 * moves[seat]
        return sum(self.table[own + moves[other]] for other in self.neighbours[seat])

    # The rules

    @staticmethod
    def init_state(config: NetworkDilemma, state: NetworkState) -> None:
        for place in range(config.num_players * config.width):
            state.near[place // config.width, place % config.width] = config.flat[place]
        for seat in range(config.num_players):
            state.last[seat] = NOTHING
        all_act(state)

    @staticmethod
    def apply_actions(config: NetworkDilemma, state: NetworkState, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            state.last[seat] = actions[seat]
        for seat in range(config.num_players):
            amount = latest_earnings(config, state, seat)
            out.rewards[seat, 0] = amount
            state.totals[seat] += amount
        if state.turn + 1 >= config.rounds:
            finish(state)

    @staticmethod
    def write_legal_mask(config: NetworkDilemma, state: NetworkState, seat: int, mask: Any) -> None:
        mask[COOPERATE] = 1
        mask[DEFECT] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own_move", 2, "last move, one-hot: cooperated, defected; zeros at first"),
            Channel("neighbours", 1, "how many neighbours the player has"),
            Channel("cooperators", 1, "how many of them cooperated in the last round"),
            Channel("payoff", 1, "payoff of the last round"),
            Channel("total", 1, "payoffs so far"),
            Channel("rounds", 1, "rounds played"),
            Channel(
                "moves",
                self.width,
                "last move of each neighbour by seat: 1 cooperated, -1 defected, 0 none",
            ),
        )

    @staticmethod
    def write_observation(config: NetworkDilemma, state: NetworkState, seat: int, obs: Any) -> None:
        """Write the observation; the module's docstring gives the layout."""
        for place in range(config.width):
            other = state.near[seat, place]
            if other != NOTHING:
                obs[2] += 1
                if state.last[other] != NOTHING:
                    obs[7 + place] = 1 - 2 * state.last[other]
                    obs[3] += state.last[other] == COOPERATE
        if state.last[seat] != NOTHING:
            obs[state.last[seat]] = 1
            obs[4] = latest_earnings(config, state, seat)
        obs[5] = state.totals[seat]
        obs[6] = state.turn

    def outcome(self, state: NetworkState) -> Outcome | None:
        ended = super().outcome(state)
        share = float((state.last == COOPERATE).mean())
        rounds = number_of(self.rounds, "round")
        return ended and score_outcome(
            ended, f"{rounds} played; in the last one {share:.0%} cooperated"
        )

    def scores(self, state: NetworkState) -> tuple[float, ...]:
        totals: list[float] = state.totals.tolist()
        return tuple(totals)

    def determinize(self, state: NetworkState, seat: int, rng: Rng) -> NetworkState:
        """Redraw the moves of non-neighbours, with totals as if they always played them."""
        self.refuse_the_end(state)
        copy: NetworkState = self.clone(state)
        if not state.turn:
            return copy
        seen, last = {seat, *self.neighbours[seat]}, state.last.tolist()
        drawn = [move if other in seen else rng.below(2) for other, move in enumerate(last)]
        copy.last[:] = drawn
        copy.totals[:] = [int(state.turn) * self.pay(drawn, s) for s in range(self.num_players)]
        copy.totals[seat] = state.totals[seat]
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        reward, sucker, temptation, punishment = self.payoffs_table
        return "\n".join(
            [
                super().rules_for(seat),
                f"- You cooperate: {reward:g} if they cooperate, {sucker:g} if they defect.",
                f"- You defect: {temptation:g} if they cooperate, {punishment:g} if they defect.",
                f"There are {self.num_players} players and {number_of(self.rounds, 'round')}.",
            ]
        )

    def describe(self, state: NetworkState, seat: int) -> str:
        near, last = self.neighbours[seat], state.last.tolist()
        lines = [
            f"You are {self.players[seat]}. Rounds played: {int(state.turn)} of {self.rounds}.",
            f"Your neighbours: {', '.join(self.players[other] for other in near) or 'none'}.",
        ]
        if last[seat] != NOTHING:
            lines.append(f"Last round: {self._round_text(last, seat)}")
            lines.append(f"Your total: {float(state.totals[seat]):g}.")
        return "\n".join(lines)

    def _round_text(self, last: Sequence[int], seat: int) -> str:
        """What a player knows of a round in which these moves were played."""
        near = self.neighbours[seat]
        named = [
            ", ".join(self.players[s] for s in near if last[s] == move) or "nobody"
            for move in (COOPERATE, DEFECT)
        ]
        return (
            f"you played {COOPERATE_OR_DEFECT[last[seat]]}; of your neighbours cooperated "
            f"{named[0]}, defected {named[1]}; you were paid {self.pay(last, seat):g}."
        )

    def action_text(self, state: NetworkState, seat: int, action: int) -> str:
        return COOPERATE_OR_DEFECT[action]

    def narrate(
        self, before: NetworkState | None, actions: Mapping[int, int], after: NetworkState
    ) -> list[Event]:
        """Everybody is told about themselves and their neighbours only."""
        if before is None:
            return []
        last, events = after.last.tolist(), []
        for seat, near in enumerate(self.neighbours):
            moves = {other: last[other] for other in (seat, *near)}
            data = {"moves": moves, "paid": self.pay(last, seat)}
            text = f"Round {int(after.turn)}: {self._round_text(last, seat)}"
            events.append(Event("round", text, data, only(seat)))
        if after.over:
            rounds = number_of(after.turn, "round")
            events.append(Event("end", f"The game is over after {rounds}."))
        return events

    def scene(self, state: NetworkState, seat: int | None = None) -> Scene:
        around = self.neighbours
        seen = tuple(range(self.num_players)) if seat is None else (seat, *around[seat])
        places = node_places(around) if seat is None else [None] * self.num_players
        nodes = tuple(self._node(state, other, places[other]) for other in seen)
        number = {other: n for n, other in enumerate(seen)}
        pairs = {(min(a, b), max(a, b)) for a in seen for b in around[a] if seat in (None, a, b)}
        links = tuple(Link(number[a], number[b]) for a, b in sorted(pairs))
        line = f"Rounds played: {int(state.turn)} of {self.rounds}"
        return Scene(lines=(line,), parts=(GraphPicture(nodes, links),))

    def _node(self, state: NetworkState, seat: int, place: tuple[float, float] | None) -> Node:
        """A player in the colour of their last move: blue cooperates, red defects."""
        move = int(state.last[seat])
        did = "" if move == NOTHING else COOPERATE_OR_DEFECT[move] + "s"
        colour = -1 if move == NOTHING else ("blue", "red")[move]
        return Node(str(seat), colour, did, place)


def latest_earnings(config: NetworkDilemma, state: NetworkState, seat: int) -> float:
    """A player's payoff in the last round, summed over all neighbours."""
    amount = 0.0
    for place in range(config.width):
        other = state.near[seat, place]
        if other != NOTHING:
            amount += config.table[2 * state.last[seat] + state.last[other]]
    return amount


def ordered_edges(edges: Iterable[tuple[int, int]], seats: int) -> tuple[tuple[int, int], ...]:
    """Edges in order, each once; such as `nx.karate_club_graph().edges`.

    Raises `InvalidOption` for pairs that are not two different seats, and for too many.
    """
    pairs = sorted({(min(a, b), max(a, b)) for a, b in edges})
    if any(not 0 <= a < b < seats for a, b in pairs) or len(pairs) > MOST_EDGES:
        raise InvalidOption(
            f"edges must be at most {MOST_EDGES} pairs of different seats from 0 to {seats - 1}, "
            f"not {edges!r}"
        )
    return tuple(pairs)


def drawn_graph(kind: Graph, seats: int, seed: int) -> nx.Graph:
    """One of `GRAPHS`; nodes are seats, and no seat is without neighbours.

    A lattice is periodic and as square as possible; small worlds are those of Watts and
    Strogatz, with 4 neighbours and a tenth of the edges rewired; a random graph gives everybody 4
    neighbours; scale-free graphs are those of Barabási and Albert, where each new node joins two
    others.
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
    """The largest divisor not above the square root."""
    return max(rows for rows in range(1, isqrt(seats) + 1) if seats % rows == 0)


@agent("neighbour", needs=("array",))
class Neighbour(ScriptedAgent[NetworkDilemma]):
    """Cooperates, defects, or mirrors its neighbours, on any network.

    "mirror" cooperates at first, and then if at least the share `threshold` of its neighbours did.
    With probability `epsilon` it plays either move at random, as learners that explore do.
    """

    stream = 6

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["mirror", "cooperate", "defect"], Meta(description="what it plays")
        ] = "mirror",
        threshold: Annotated[
            float,
            Meta(ge=0, le=1, description="share of neighbours with whom a mirror cooperates"),
        ] = 0.5,
        epsilon: Annotated[
            float, Meta(ge=0, le=1, description="chance per round of a random move")
        ] = 0.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._style, self._threshold, self._epsilon = style, threshold, epsilon

    def choose(self, turn: Turn[NetworkDilemma]) -> int:
        if self._epsilon and self.rng.random() < self._epsilon:
            return self.rng.below(2)
        if self._style != "mirror":
            return COOPERATE if self._style == "cooperate" else DEFECT
        _, _, near, cooperated, _, _, played = turn.observation[:7].tolist()
        return COOPERATE if not played or cooperated >= self._threshold * near else DEFECT
