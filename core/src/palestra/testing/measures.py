"""Metrics of the environment: they measure every kind of ending, inside their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from palestra.kernel.episode import Episode
from palestra.kernel.rng import Rng
from palestra.kernel.specs import load_entry_point
from palestra.records.metrics import metrics_for, numbers
from palestra.records.record import EpisodeRecord, record_episode
from palestra.testing.subject import Skipped, Subject, play_on, random_actions, require


def measures_stay_in_bounds(subject: Subject) -> None:
    """Every metric of a finished, a forfeited and a truncated episode lies inside its bounds."""
    specs = metrics_for(subject.spec.id)
    if not specs:
        raise Skipped("no metric applies")
    for ending, end in ENDINGS.items():
        episode = subject.episode(4)
        end(episode)
        record = record_episode(episode)
        for spec in specs:
            found = _measure_one(record, spec.name, spec.entry_point, ending)
            low, high = spec.bounds
            for name, value in found.items():
                where = f"{name} of {ending} is {value}"
                require(math.isfinite(value), f"{where}, which is no finite number")
                require(low is None or value >= low - SLACK, f"{where}, below its bound {low}")
                require(high is None or value <= high + SLACK, f"{where}, above its bound {high}")


SLACK = 1e-9  # rounding of sums


def _measure_one(
    record: EpisodeRecord, name: str, entry_point: str, ending: str
) -> dict[str, float]:
    """What one metric finds; a failure that names it if it raises."""
    try:
        return numbers(name, load_entry_point(entry_point)(record))
    except Exception as error:
        require(False, f"metric {name} of {ending} raises {type(error).__name__}: {error}")
        raise


def _play(episode: Episode) -> None:
    for _ in play_on(episode, Rng(4)):
        pass


def _forfeit(episode: Episode) -> None:
    episode.forfeit(episode.to_act[-1], "tested")


def _cut(episode: Episode) -> None:
    episode.act(random_actions(episode, Rng(4)))
    if not episode.over:
        episode.truncate("tested")


ENDINGS: dict[str, Callable[[Episode], None]] = {
    "a played episode": _play,
    "an episode forfeited at once": _forfeit,
    "an episode cut after its first step": _cut,
}
