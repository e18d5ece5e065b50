"""Keys of states from a caller's function, which says what a decision depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from palestra import EpisodeRecord
from palestra.kernel.specs import load_entry_point
from palestra.records.record import retrace

Anchor = Callable[[Any, Any, int], object]


def load_anchor(of: str | Anchor) -> Anchor:
    """A function of (game, state, seat), or the one that "module:function" names."""
    return load_entry_point(of) if isinstance(of, str) else of


def anchor_keys(records: Sequence[EpisodeRecord], of: str | Anchor) -> list[object]:
    """The value of `of(game, state, seat)` at the state that each turn after the branch faced.

    Records are replayed, so their environments must be installed.
    """
    anchor = load_anchor(of)
    keys: list[object] = []
    for record in records:
        for number, (episode, step) in enumerate(zip(retrace(record), record.steps, strict=False)):
            if number < record.branched_at:
                continue
            keys += [anchor(episode.game, episode.state, turn.seat) for turn in step.turns]
    return keys
