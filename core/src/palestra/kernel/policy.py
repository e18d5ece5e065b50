"""The policy for illegal moves, applied in this one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from palestra.kernel.errors import InvalidOption, show

if TYPE_CHECKING:
    from palestra.kernel.episode import Episode

MOST_DIGITS = 4  # of how often is asked again
POLICIES = ("raise", "retry:n", "random", "noop", "forfeit")
PolicyKind = Literal["raise", "retry", "random", "noop", "forfeit"]


class Repair(NamedTuple):
    """How to handle an illegal move: raise the error, ask again, play `action`, or forfeit."""

    what: Literal["raise", "ask", "play", "forfeit"]
    action: Any = None


@dataclass(frozen=True, slots=True)
class InvalidMovePolicy:
    """A policy parsed from "raise", "retry:3", "random", "noop" or "forfeit"."""

    kind: PolicyKind
    retries: int = 0

    @classmethod
    def read(cls, text: str) -> InvalidMovePolicy:
        """Parse a policy; raises `InvalidOption`."""
        name, _, times = text.partition(":") if isinstance(text, str) else ("", "", "")
        counts = times.isascii() and times.isdecimal() and len(times) <= MOST_DIGITS
        if name == "retry" and counts and int(times) > 0:
            return cls("retry", int(times))
        if not times and name in ("raise", "random", "noop", "forfeit"):
            return cls(name)  # type: ignore[arg-type]
        raise InvalidOption(
            f"unknown invalid-move policy {show(text)}; choose from: {', '.join(POLICIES)}"
        )

    def repair(self, episode: Episode, seat: int, refused: int) -> Repair:
        """How to handle a seat's illegal move after `refused` illegal answers in one turn.

        A game that has no no-operation forfeits under "noop".
        """
        if self.kind == "raise":
            return Repair("raise")
        if self.kind == "retry" and refused <= self.retries:
            return Repair("ask")
        if self.kind == "random":
            return Repair("play", episode.sample(seat, episode.repair_rng(seat)))
        if self.kind == "noop":
            action = episode.noop(seat)
            if action is not None:
                return Repair("play", action)
        return Repair("forfeit")
