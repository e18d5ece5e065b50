"""AgentsNet with a hundred scripted agents: rounds of messages a second, resets left out.

python benchmarks/run.py agents_net
"""

from __future__ import annotations

from typing import Any

from palestra import Episode, Turn, game, make_agent
from timing import REPEATS, Row, rate

ROUNDS, AGENTS, BOUND = 200, 100, 1_000


def rounds_played(graph: str) -> Any:
    """Flooding the greatest name: every agent reads its array view and writes to all neighbours."""
    rules = game(
        "games/AgentsNet-v0", task="leader-election", graph=graph, num_players=AGENTS, rounds=ROUNDS
    )
    agent = make_agent("agents-net-oracle")
    episode = Episode(rules, 0)
    start = episode.state

    def play() -> int:
        episode.load(start)
        for _ in range(ROUNDS):
            decisions = agent.act([Turn(episode, seat) for seat in episode.to_act])
            episode.act({p: d.action for p, d in enumerate(decisions)})
        return ROUNDS

    return play


def _row(graph: str) -> Row:
    play = rounds_played(graph)
    play()
    fastest = sorted(rate(play) for _ in range(REPEATS))[REPEATS // 2]
    name = f"games/AgentsNet-v0, {AGENTS} agents, {graph}"
    return Row(name, fastest, BOUND, fastest / BOUND, 1.0, "rounds/s", "its bound")


def small_world() -> Row:
    return _row("small-world")


def scale_free() -> Row:
    return _row("scale-free")


def delaunay() -> Row:
    return _row("delaunay")


MEASURES = (small_world, scale_free, delaunay)
