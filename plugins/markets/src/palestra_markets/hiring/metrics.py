"""Numbers over a record of hiring: obedience, truth, and what the principal gains."""

from __future__ import annotations

from palestra import EpisodeRecord, metric


def _pairs(record: EpisodeRecord, kind: str, name: str, verb: str) -> list[tuple[int, int]]:
    """What experts were told and what they wrote, seat by seat and round by round."""
    pairs = []
    for seat in range(1, len(record.players)):
        told = [
            int(event.data[name])
            for event in record.events
            if event.kind == kind and event.audience == [seat]
        ]
        turns = (turn for turn in record.turns if turn.seat == seat)
        done = [int(turn.text[:-1].split("=")[1]) for turn in turns if turn.text.startswith(verb)]
        pairs += list(zip(told, done, strict=False))
    return pairs


def _agreement(pairs: list[tuple[int, int]]) -> float:
    return sum(told == done for told, done in pairs) / len(pairs) if pairs else 1.0


@metric(
    "obedience",
    measures=("markets/Hiring-v0",),
    summary="How often experts work at the level that was recommended.",
)
def obedience(record: EpisodeRecord) -> float:
    """How often experts work at the level that was recommended."""
    return _agreement(_pairs(record, "advice", "level", "Exert"))


@metric(
    "truthfulness",
    measures=("markets/Hiring-v0",),
    summary="How often experts report the signal they saw.",
)
def truthfulness(record: EpisodeRecord) -> float:
    """How often experts report the signal they saw."""
    return _agreement(_pairs(record, "signal", "signal", "Report"))


@metric(
    "principal-gain",
    measures=("markets/Hiring-v0",),
    summary="What the principal gains a round, over the value of a right decision.",
)
def principal_gain(record: EpisodeRecord) -> float:
    """What the principal gains a round, over the value of a right decision."""
    rounds = sum(event.kind == "reveal" and "gained" in event.data for event in record.events)
    return record.returns[0] / max(1, rounds) / float(record.options["value"])
