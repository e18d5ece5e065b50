"""What an agent keeps for each seat of an episode, and lets go of when the episode is over."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class BySeat(dict[tuple[int, int], T]):
    """A plan, a list or a state of each seat, by (`turn.episode_key`, `turn.seat`).

    `Adapter.by_seat` makes one that `Adapter.forget` empties; an agent that needs what was kept at
    the end of an episode calls `end` in its own `forget`, before that of `Adapter`.
    """

    def of(self, episode_key: int) -> list[tuple[int, int]]:
        """The keys of an episode, in the order in which they were added."""
        return [key for key in self if key[0] == episode_key]

    def end(self, episode_key: int) -> list[T]:
        """Remove what was kept for an episode, and return it in the order in which it was added."""
        return [self.pop(key) for key in self.of(episode_key)]
