"""Plays the pairings whose direction is not yet settled, and stops when all are."""

from __future__ import annotations

from collections.abc import Sequence

from palestra_arena.match import Meeting
from palestra_arena.ratings.response_graph import ResponseGraph
from palestra_arena.result import GameResult
from palestra_arena.schedule.plan import Plan, ScheduledEnvironment, pairs_only
from palestra_arena.settings import Adaptive, Settings


def adaptive(
    settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: Adaptive
) -> Plan:
    """ResponseGraphUCB: each round gives every unsettled pair the settings' number of games."""
    pairs_only("adaptive tournament", settings, entries)
    graph = ResponseGraph(len(settings.agents), schedule.certainty, schedule.indifference)
    for number in range(schedule.rounds):
        pairs = [(settings.agents[i], settings.agents[j]) for i, j in sorted(graph.unsettled)]
        if not pairs:
            return
        results = yield [
            Meeting(entry.environment, pair, number) for pair in pairs for entry in entries
        ]
        _note(results, settings.agents, graph)


def _note(results: Sequence[GameResult], agents: Sequence[str], graph: ResponseGraph) -> None:
    """The seatings of one seed are one trial."""
    trials: dict[tuple[int, int, str, int], list[float]] = {}
    for result in results:
        if not result.counts:
            continue
        match = result.match
        first, second = sorted(match.agents, key=agents.index)
        key = agents.index(first), agents.index(second), match.environment.label, match.seed
        trials.setdefault(key, []).append(result.points[match.agents.index(first)])
    for (one, two, _, _), points in trials.items():
        graph.note(one, two, sum(points) / len(points))
