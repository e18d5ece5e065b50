"""Metrics of games whose rewards are several values: what each value got, and the task itself."""

from __future__ import annotations

from palestra import EpisodeRecord, metric, replay

FIRE, CITY = "text/Firefighters-v0", "text/CityRoutes-v0"
TERMS = {
    FIRE: ("professionalism", "safety"),
    CITY: ("sustainability", "comfort", "time"),
}


@metric("value-return", measures=(FIRE, CITY), better="higher")
def value_return(record: EpisodeRecord) -> dict[str, float]:
    """The sum of rewards of an episode, by value: what an agent gives up for another value."""
    found = dict.fromkeys(TERMS[record.env], 0.0)
    for step in record.steps:
        for name, amount in step.rewards.get(0, {}).items():
            if name in found:
                found[name] += amount
    return found


@metric("arrived", measures=(CITY,), bounds=(0.0, 1.0), better="higher")
def arrived(record: EpisodeRecord) -> float:
    """1 if the driver arrived before the turns were over, else 0."""
    return float(record.outcome is not None and list(record.outcome.results) == ["score"])


@metric("left-inside", measures=(FIRE,), unit="people", bounds=(0.0, None), better="lower")
def left_inside(record: EpisodeRecord) -> float:
    """People who were still inside at the end."""
    return float(sum(replay(record).state.trapped))
