"""Measures of an emergent language, over pairs of a meaning and its message.

A meaning is a tuple of numbers, a message a sequence of tokens. `utterances` takes them from a
record of `grid/SignalForaging-v0`: what each player knew at the start, and what they said first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from palestra import EpisodeRecord, InvalidOption, MissingExtra
from palestra.grids.compass import MOVES

Meaning = tuple[int, ...]
Pair = tuple[Meaning, Sequence[int]]


def utterances(record: EpisodeRecord, length: int) -> list[Pair]:
    """Row, column and value of the first food each player knew, with their first tokens."""
    said: dict[int, list[int]] = {}
    for step in record.steps:
        for turn in step.turns:
            said.setdefault(turn.seat, []).append(int(turn.action) // len(MOVES))
    return [
        (tuple(event.data["foods"][0]), tuple(said.get(event.data["player"], [])[:length]))
        for event in record.events
        if event.kind == "start" and event.data["foods"]
    ]


def hamming(one: Sequence[int], other: Sequence[int]) -> int:
    """The number of positions at which two sequences differ, extra positions included."""
    differing = sum(a != b for a, b in zip(one, other, strict=False))
    return differing + abs(len(one) - len(other))


def topographic_similarity(pairs: Sequence[Pair]) -> float:
    """Spearman's correlation of distances of meanings (city-block) and of messages (Hamming).

    It is 1 if similar meanings have similar messages, about 0 for arbitrary names (Brighton and
    Kirby, "Understanding linguistic evolution by visualizing the emergence of topographic
    mappings", 2006). It is nan if all meanings, or all messages, are equally far apart. Raises
    `MissingExtra` without scipy.
    """
    try:
        from scipy.stats import spearmanr
    except ImportError as error:
        raise MissingExtra("scipy, which correlates ranks,", "palestra-envs[scipy]") from error
    if len(pairs) < 3:
        raise InvalidOption(f"topographic similarity needs three pairs or more, not {len(pairs)}")
    couples = list(combinations(pairs, 2))
    meant = [sum(abs(a - b) for a, b in zip(x, y, strict=True)) for (x, _), (y, _) in couples]
    said = [hamming(x, y) for (_, x), (_, y) in couples]
    if len(set(meant)) == 1 or len(set(said)) == 1:
        return float("nan")
    return float(spearmanr(meant, said).statistic)


def interchangeability(one: Sequence[Pair], other: Sequence[Pair]) -> float:
    """The share of meanings expressed by both players for which they said the same.

    It is nan if they have no meaning in common.
    """
    words = {meaning: tuple(message) for meaning, message in one}
    shared = [(words[m], tuple(message)) for m, message in other if m in words]
    if not shared:
        return float("nan")
    return sum(a == b for a, b in shared) / len(shared)
