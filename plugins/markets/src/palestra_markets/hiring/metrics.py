"""Metrics of hiring: obedience, truthfulness, and the principal's gain."""

from __future__ import annotations

from palestra import EpisodeRecord, metric


def _pairs(record: EpisodeRecord, kind: str, name: str, verb: str) -> list[tuple[int, int]]:
    """Pairs of the number that an expert received and the one they answered, by seat and round.

    Received: the field `name` of their events of a kind. Answered: the number in their actions
    `verb`.
    """
    pairs = []
    for seat in range(1, len(record.players)):
        received = [
            int(event.data[name])
            for event in record.events
            if event.kind == kind and event.audience == [seat]
        ]
        turns = (turn for turn in record.turns if turn.seat == seat)
        texts = (turn.text for turn in turns if turn.text.startswith(verb))
        answers = [int(text[:-1].split("=")[1]) for text in texts]
        pairs += list(zip(received, answers, strict=False))
    return pairs


def _agreement(pairs: list[tuple[int, int]]) -> float:
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else 1.0


@metric(
    "obedience",
    measures=("markets/Hiring-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def obedience(record: EpisodeRecord) -> float:
    """How often experts work at the recommended level."""
    return _agreement(_pairs(record, "advice", "level", "Exert"))


@metric(
    "truthfulness",
    measures=("markets/Hiring-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def truthfulness(record: EpisodeRecord) -> float:
    """How often experts report the signal they saw."""
    return _agreement(_pairs(record, "signal", "signal", "Report"))


@metric(
    "principal-gain",
    measures=("markets/Hiring-v0",),
    better="higher",
)
def principal_gain(record: EpisodeRecord) -> float:
    """The principal's gain per round, over the value of a right decision."""
    rounds = sum(event.kind == "reveal" and "gained" in event.data for event in record.events)
    return record.returns[0] / max(1, rounds) / float(record.options["value"])
