"""Tools of a workflow: they look ahead on copies of the game and ask no model."""

from __future__ import annotations

from palestra import Rng, Turn, make_agent

from palestra_adapters.search.spots import Lookahead, Spot
from palestra_adapters.workflows.steps import ToolStep

MOST = 40  # legal moves that a tool looks at


def use_tool(step: ToolStep, turn: Turn, rng: Rng) -> str:
    """What a tool finds about the legal moves of a turn, one line or paragraph per move."""
    moves = turn.legal_texts[:MOST]
    if step.tool == "outcomes":
        return "\n".join(f"After {move}: {_outcome(turn, move, rng)}" for move in moves)
    found = {move: _mean(turn, move, step.playouts, rng) for move in moves}
    lines = [f"{move}: {mean:.2f}" for move, mean in found.items()]
    return "\n".join(["Mean payoff of random playouts after each move:", *lines])


def _outcome(turn: Turn, move: str, rng: Rng) -> str:
    spot = _after(turn, move, rng)
    if spot is None:
        return "not legal."
    return f"the game is over, payoff {spot.gain:g}." if spot.over else spot.text


def _mean(turn: Turn, move: str, playouts: int, rng: Rng) -> float:
    total = 0.0
    for _ in range(playouts):
        spot = _after(turn, move, rng)
        if spot is not None:
            over = spot.over
            total += spot.gain if over else float(spot.episode.fork().playout(rng)[turn.seat])
    return total / playouts


def _after(turn: Turn, move: str, rng: Rng) -> Spot | None:
    """The position after a move and random moves of the others."""
    others = make_agent("random")
    others.reseed(rng.word())
    lookahead = Lookahead(others, rng)
    stepping = lookahead.step(lookahead.root(turn), move)
    try:
        next(stepping)
    except StopIteration as end:
        found: Spot | None = end.value
        return found
    raise RuntimeError("random agents ask no model")
