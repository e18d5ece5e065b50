"""The Swiss system, with the elimination pressure of LLM Swiss Round (2025)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import networkx as nx
from palestra import Rng

from palestra_arena.match import Meeting
from palestra_arena.schedule.plan import Plan, ScheduledEnvironment, match_points, pairs_only
from palestra_arena.settings import Settings, Swiss

SWISS_STREAM = 0x5155
REPEAT = 10**6  # outweighs any difference in score: a second meeting is the last resort


def swiss(settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: Swiss) -> Plan:
    """Rounds of pairings between agents of like score."""
    pairs_only("Swiss tournament", settings, entries)
    scores = dict.fromkeys(settings.agents, 0.0)
    met: set[frozenset[str]] = set()
    sat_out: set[str] = set()
    rng = Rng.seeded(settings.seed, stream=SWISS_STREAM)
    for number in range(_rounds(settings, entries, schedule)):
        order = _order(scores, schedule, rng)
        if len(order) % 2:
            resting = next((a for a in reversed(order) if a not in sat_out), order[-1])
            order.remove(resting)
            sat_out.add(resting)
            scores[resting] += schedule.bye
        pairs = pair_up(order, scores, met)
        here = entries if not schedule.sequence else [entries[number % len(entries)]]
        results = yield [
            Meeting(entry.environment, pair, number) for pair in pairs for entry in here
        ]
        for pair in pairs:
            met.add(frozenset(pair))
            won = match_points(results, pair)
            scores[pair[0]] += won
            scores[pair[1]] += 1 - won
        _eliminate(scores, schedule.eliminate)
        if len(scores) < 2:
            return


def _rounds(settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: Swiss) -> int:
    if schedule.rounds is not None:
        return schedule.rounds
    return len(entries) if schedule.sequence else math.ceil(math.log2(len(settings.agents)))


def _order(scores: dict[str, float], schedule: Swiss, rng: Rng) -> list[str]:
    """Agents by score, best first; in a score group as they entered, or shuffled."""
    order = list(scores)
    if schedule.draw == "random":
        rng.shuffle(order)
    return sorted(order, key=lambda agent: -scores[agent])


def _eliminate(scores: dict[str, float], count: int) -> None:
    """Drop the lowest; of equals, those who entered later."""
    entered = {agent: number for number, agent in enumerate(scores)}
    lowest = sorted(scores, key=lambda agent: (scores[agent], -entered[agent]))
    for agent in lowest[:count]:
        del scores[agent]


def pair_up(
    order: Sequence[str], scores: dict[str, float], met: set[frozenset[str]]
) -> list[tuple[str, str]]:
    """Pair an even number of agents: inside score groups, the upper half with the lower.

    Where that repeats a meeting, the pairing of least total score difference without a repeat is
    taken (a minimum-weight perfect matching), if there is one.
    """
    pairs = _fold(order, scores)
    if not any(frozenset(pair) in met for pair in pairs):
        return pairs
    graph = nx.Graph()
    for i, one in enumerate(order):
        for j in range(i + 1, len(order)):
            gap = (scores[one] - scores[order[j]]) ** 2
            again = frozenset((one, order[j])) in met
            graph.add_edge(i, j, weight=gap + REPEAT * again + abs(j - i) / len(order) ** 2)
    matching = sorted(tuple(sorted(edge)) for edge in nx.min_weight_matching(graph))
    return [(order[i], order[j]) for i, j in matching]


def _fold(order: Sequence[str], scores: dict[str, float]) -> list[tuple[str, str]]:
    """Fold every score group; the one left over in a group falls to the next."""
    pairs: list[tuple[str, str]] = []
    left: list[str] = []
    for position, agent in enumerate(order):
        left.append(agent)
        last = position == len(order) - 1 or scores[order[position + 1]] != scores[agent]
        if last:
            half = len(left) // 2
            pairs += zip(left[:half], left[half : 2 * half], strict=True)
            left = left[2 * half :]
    return pairs
