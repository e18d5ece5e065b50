"""Alpha-beta search for two-player zero-sum games of perfect information.

It is exact if the game is small enough to search to its end (tic-tac-toe). Otherwise it searches to
a given depth and counts unfinished positions as even.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any

from palestra import (
    Decision,
    Episode,
    Game,
    InvalidOption,
    Meta,
    ScriptedAgent,
    Turn,
    agent,
)

EXACT, AT_LEAST, AT_MOST = 0, 1, 2
MOST_KEPT = 500_000  # most positions kept between moves, about 150 MB; results do not depend on it


@agent(
    "minimax",
    kind="search",
    needs=("two players", "zero-sum", "perfect information"),
    summary="Alpha-beta; exact for small games.",
)
class MinimaxAgent(ScriptedAgent):
    """Plays a best move; ties are broken at random.

    Reports the facts `value`, its expected future return, and `candidates`: every move with its
    value, which is exact for the best moves and an upper bound for the others, whose search is cut
    off.
    """

    stream = 4

    def __init__(
        self,
        *,
        depth: Annotated[int, Meta(ge=1, description="search depth, in moves")] = 1_000,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._depth = depth
        self._tables: dict[Game[Any, Any], Table] = {}

    def choose(self, turn: Turn) -> Any:
        require_searchable(turn.game)
        root = turn.fork(self.rng)
        table = self._tables.setdefault(turn.game, {})
        if len(table) > MOST_KEPT:
            table.clear()
        best, chosen = -inf, []
        candidates = {}
        for action in turn.legal_actions:
            child = root.fork()
            child.act({turn.seat: action})
            worth = -_search(child, self._depth - 1, -inf, -best + 1e-9, 1 - turn.seat, table)
            candidates[turn.action_text(action)] = worth + 0.0  # and not -0.0
            if worth > best + 1e-9:
                best, chosen = worth, [action]
            elif abs(worth - best) <= 1e-9:
                chosen.append(action)
        facts = {"value": best + 0.0, "candidates": candidates}
        return Decision(self.rng.choice(chosen), facts=facts)


Table = dict[tuple[bytes, int], tuple[int, float]]


def require_searchable(game: Game[Any, Any]) -> None:
    """Raise `InvalidOption` for a game that minimax is not defined for."""
    why = ""
    if game.num_players != 2:
        why = f"it has {game.num_players} players"
    elif game.payoffs != "zero-sum":
        why = f"its payoffs are {game.payoffs}"
    elif game.order != "sequential":
        why = f"its moves are {game.order}"
    elif not game.perfect_information:
        why = "it hides information"
    elif not game.deterministic:
        why = "it has chance"
    if why:
        raise InvalidOption(
            f"minimax plays two-player zero-sum games of perfect information; "
            f"{type(game).__name__} is none: {why}. Try mcts"
        )


def value(game: Game[Any, Any], depth: int = 1_000) -> float:
    """The value of a game to the first player, with best play by both."""
    require_searchable(game)
    episode = Episode(game, 0)
    return _search(episode, depth, -inf, inf, episode.to_act[0], {})


def _search(
    episode: Episode, depth: int, alpha: float, beta: float, seat: int, table: Table
) -> float:
    """The value of a state to `seat`, to act or not; negamax with a transposition table."""
    if episode.over:
        return episode.returns[seat]
    if depth == 0:
        return 0.0
    mover = episode.to_act[0]
    if mover != seat:
        return -_search(episode, depth, -beta, -alpha, mover, table)
    key = (episode.state_key(), depth)
    known = table.get(key)
    if known is not None:
        kind, worth = known
        if kind == EXACT or (kind == AT_LEAST and worth >= beta):
            return worth
        if kind == AT_MOST and worth <= alpha:
            return worth
    best, floor = -inf, alpha
    for action in episode.legal_actions():
        child = episode.fork()
        child.act({mover: action})
        best = max(best, -_search(child, depth - 1, -beta, -floor, 1 - mover, table))
        floor = max(floor, best)
        if floor >= beta:
            break
    kind = AT_MOST if best <= alpha else AT_LEAST if best >= beta else EXACT
    table[key] = (kind, best)
    return best
