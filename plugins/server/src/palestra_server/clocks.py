"""The time limits of a match's seats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

SLACK = 0.05  # seconds by which a timer may fire late without the process having been busy


class Clocks:
    """The clocks of the seats that are to answer; `late` is called with the seat and its try.

    A clock that fires late shows that the process was busy, maybe too busy to read an answer that
    had arrived. It then runs once more for as long as that took.
    """

    def __init__(self, late: Callable[[int, int], None]) -> None:
        self._late = late
        # by seat: try, when it is up, and a timer, which not every event loop lets say when
        self._running: dict[int, tuple[int, float, asyncio.Handle]] = {}

    def __bool__(self) -> bool:
        return bool(self._running)

    def set(self, due: Mapping[int, int], seconds: Callable[[int], float | None]) -> None:
        """Start the clocks of seats that are due, by the number of a try, and stop all others."""
        for seat, (number, _, clock) in list(self._running.items()):
            if due.get(seat) != number:
                clock.cancel()
                del self._running[seat]
        for seat in due.keys() - self._running.keys():
            if (limit := seconds(seat)) is not None:
                self._start(seat, due[seat], limit, 1)

    def stop(self) -> None:
        self.set({}, lambda _: None)

    def left(self) -> dict[int, float]:
        """The seconds that each seat still has."""
        if not self._running:
            return {}
        now = asyncio.get_running_loop().time()
        return {
            seat: round(max(0.0, when - now), 2) for seat, (_, when, _) in self._running.items()
        }

    def _start(self, seat: int, number: int, seconds: float, extensions: int) -> None:
        loop = asyncio.get_running_loop()
        clock = loop.call_later(seconds, self._is_up, seat, number, extensions)
        self._running[seat] = number, loop.time() + seconds, clock

    def _is_up(self, seat: int, number: int, extensions: int) -> None:
        _, when, _ = self._running.pop(seat)
        busy = asyncio.get_running_loop().time() - when
        if extensions and busy > SLACK:
            self._start(seat, number, busy, extensions - 1)
        else:
            self._late(seat, number)
