"""Where matches are played: in this process, in worker processes, or on Ray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from palestra import InvalidOption
from palestra.time_limit import can_interrupt

from palestra_arena.match import Match
from palestra_arena.pool import PoolEngine, Task
from palestra_arena.referee import Factories, FinishedGame, Referee
from palestra_arena.settings import Settings


def group(matches: Iterable[Match], together: int) -> list[Task]:
    """Group matches into tasks of up to `together` matches of one line-up, in order."""
    tasks: list[list[Match]] = []
    last: dict[tuple[Any, ...], list[Match]] = {}
    for match in matches:
        lineup = match.environment.label, match.agents, match.round
        task = last.get(lineup)
        if task is None or len(task) >= together:
            task = last[lineup] = []
            tasks.append(task)
        task.append(match)
    return [tuple(task) for task in tasks]


class InlineEngine:
    """Plays in this process; `game_seconds` then needs the main thread."""

    def __init__(self, settings: Settings, factories: Factories) -> None:
        if settings.game_seconds and not can_interrupt():
            raise InvalidOption(
                "game_seconds cannot be kept in this thread; set workers to 1 or more"
            )
        self._referee = Referee(settings, factories)

    def play(self, tasks: Sequence[Task]) -> Iterator[FinishedGame]:
        for task in tasks:
            yield from self._referee.play(task)

    def close(self) -> None:
        self._referee.close()


Engine = InlineEngine | PoolEngine


def open_engine(settings: Settings, factories: Factories) -> Engine:
    """The engine that the settings select."""
    if settings.engine == "ray":
        from palestra_arena.ray_engine import RayEngine

        return RayEngine(settings, factories)
    if settings.workers == 0:
        return InlineEngine(settings, factories)
    return PoolEngine(settings, factories)
