"""Monte-Carlo tree search over forks, for any game.

UCT (Kocsis and Szepesvári, "Bandit based Monte-Carlo planning", ECML 2006), one return a seat.
Array games of perfect information in which one seat moves at a time are searched in compiled code
(`palestra_agents.array_tree`), all others over forks, as follows. A deterministic game of perfect
information is forked once at the root. With chance or hidden information every simulation starts
from a fresh fork with future chance and hidden facts redrawn, and statistics are kept by the acting
seat's view (information-set MCTS, Cowling, Powley and Whitehouse, 2012). Seats that move
simultaneously choose by their own statistics (decoupled UCT).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import Annotated, Any

from palestra import Decision, Episode, Meta, Rng, ScriptedAgent, Turn, agent

from palestra_agents.array_tree import MOST_SIMULATIONS, ArrayTree, fits_array_tree
from palestra_agents.uct import Choice, Settings, return_scale

MAX_ACTIONS = 64  # of a seat in one node; the rest is sampled
FORCED = 8  # a turn with a single action gets this many times fewer playouts, only for its value


@dataclass(slots=True)
class Node:
    """One decision of one seat: its statistics by action."""

    visits: int = 0
    choices: dict[Any, Choice] = field(default_factory=dict)

    def select(self, actions: Sequence[Any], c: float, low: float, high: float, rng: Rng) -> Any:
        """An untried action, or the one with the highest upper confidence bound."""
        untried = [action for action in actions if action not in self.choices]
        if untried:
            return untried[rng.below(len(untried))]
        spread = max(high - low, 1e-9)
        scale = log(self.visits + 1)
        best, chosen = -inf, actions[0]
        for action in actions:
            choice = self.choices[action]
            mean = (choice.value / choice.visits - low) / spread
            bound = mean + c * sqrt(scale / choice.visits)
            if bound > best:
                best, chosen = bound, action
        return chosen

    def learn(self, action: Any, value: float) -> None:
        choice = self.choices.get(action)
        if choice is None:
            choice = self.choices[action] = Choice()
        self.visits += 1
        choice.visits += 1
        choice.value += value


@agent(
    "mcts",
    kind="search",
    needs=("fork",),
    summary="Monte-Carlo tree search over forks.",
)
class MCTSAgent(ScriptedAgent):
    """Plays the most visited action after `simulations` from the root.

    Values are scaled to [0, 1]; each new leaf is valued by random playouts. Reports the facts
    `value`, the mean return of what it plays, and `candidates`, that of every action it tried.
    """

    stream = 3

    def __init__(
        self,
        *,
        simulations: Annotated[
            int,
            Meta(
                ge=1,
                le=MOST_SIMULATIONS,
                description="playouts per move; each takes memory, about 160 bytes in an array "
                "game of perfect information, half a kilobyte in any other",
            ),
        ] = 200,
        c: Annotated[float, Meta(ge=0, description="exploration constant of UCT")] = 0.7,
        playouts: Annotated[int, Meta(ge=1, description="random playouts per new leaf")] = 1,
        depth: Annotated[int, Meta(ge=1, description="most steps in a playout")] = 1_000,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._simulations = simulations
        self._settings = Settings(c, playouts, depth)

    def choose(self, turn: Turn) -> Any:
        actions = turn.legal_actions
        if not actions:
            return turn.sample(self.rng)  # only free-text actions
        forced = len(actions) == 1
        choices = self._search(
            turn, max(1, self._simulations // FORCED) if forced else self._simulations
        )
        chosen = max(choices, key=lambda action: choices[action].visits)
        worth = {action: choice.value / choice.visits for action, choice in choices.items()}
        candidates = {turn.action_text(action): mean for action, mean in worth.items()}
        return Decision(chosen, facts={"value": worth[chosen], "candidates": candidates})

    def _search(self, turn: Turn, simulations: int) -> dict[Any, Choice]:
        """The statistics of the root's actions after so many simulations."""
        if fits_array_tree(turn.game):
            return ArrayTree(turn.fork(self.rng), self.rng, self._settings).run(simulations)
        return ForkTree(turn, self.rng, self._settings).run(simulations)


class ForkTree:
    """One tree for one turn of any game; views of a seat that are the same share a node."""

    def __init__(self, turn: Turn, rng: Rng, settings: Settings) -> None:
        self._turn, self._rng, self._settings = turn, rng, settings
        self.root = turn.fork(rng)
        self._redraw = is_uncertain(turn)
        self.tree: dict[bytes, Node] = {}
        self._low, self._high, self._adapts = return_scale(turn.game)

    def run(self, simulations: int) -> dict[Any, Choice]:
        """Search; returns what is known about each action of the root that was tried."""
        for _ in range(simulations):
            self.simulate()
        return self.tree[self.key(self.root, self._turn.seat)].choices

    @staticmethod
    def key(episode: Episode, seat: int) -> bytes:
        return bytes([seat % 256]) + episode.state_key(seat)

    def simulate(self) -> None:
        """Select down the tree, add one node, play out, learn."""
        episode = self._turn.fork(self._rng) if self._redraw else self.root.fork()
        path: list[tuple[int, Node, Any]] = []
        new = False
        while episode.to_act and not new and len(path) < self._settings.depth:
            actions = {}
            for seat in episode.to_act:
                node, fresh = self._node(self.key(episode, seat))
                new |= fresh and bool(path)
                action = self._choose(episode, seat, node)
                actions[seat] = action
                path.append((seat, node, action))
            episode.act(actions)
        returns = self._value(episode)
        for seat, node, action in path:
            node.learn(action, returns[seat])

    def _node(self, key: bytes) -> tuple[Node, bool]:
        node = self.tree.get(key)
        if node is not None:
            return node, False
        node = self.tree[key] = Node()
        return node, True

    def _choose(self, episode: Episode, seat: int, node: Node) -> Any:
        actions = episode.legal_actions(seat)
        if not actions:
            return episode.game.sample(episode.state, seat, self._rng)
        if len(actions) > MAX_ACTIONS:
            self._rng.shuffle(actions)
            actions = [a for a in actions if a in node.choices][:MAX_ACTIONS] + actions[:8]
        return node.select(actions, self._settings.c, self._low, self._high, self._rng)

    def _value(self, episode: Episode) -> list[float]:
        """Mean returns of random playouts from here, one per seat."""
        if episode.over:
            totals = list(episode.returns)
        else:
            totals = [0.0] * episode.game.num_players
            playouts, depth = self._settings.playouts, self._settings.depth
            for _ in range(playouts):
                twin = episode.fork() if playouts > 1 else episode
                for seat, value in enumerate(twin.playout(self._rng, depth)):
                    totals[seat] += value / playouts
        if self._adapts:
            self._low, self._high = min(self._low, *totals), max(self._high, *totals)
        return totals


def is_uncertain(turn: Turn) -> bool:
    """Whether two forks from here could differ, by chance or hidden information."""
    return not turn.game.perfect_information or not turn.game.deterministic
