"""What a network sees of a turn: vectors of the decision faced and of the action played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, UnknownName
from palestra.kernel.specs import load_entry_point
from palestra.records.record import retrace

from palestra_rewards.arrays import Floats
from palestra_rewards.learnt.networks import hashed_words

SIZE = 256  # columns that words are hashed to
STATE, ACTION = "state features", "action features"
Features = Callable[[Any, Any, int], Any]


def describe_state(game: Any, state: Any, seat: int) -> str:
    """The game's description of a state to a seat."""
    return str(game.describe(state, seat))


def observation_row(game: Any, state: Any, seat: int) -> Floats:
    """The observation of a seat as one row of numbers."""
    return np.asarray(game.observe(state, seat), dtype=np.float64).ravel()


KNOWN: dict[str, Features] = {"words": describe_state, "observation": observation_row}


def made_features(of: str | Features) -> Features:
    """A function of (game, state, seat): the one given, or that named in `KNOWN` or by module."""
    if not isinstance(of, str):
        return of
    if of not in KNOWN and ":" not in of:
        raise UnknownName("features", of, [*KNOWN, "module:function"])
    return KNOWN.get(of) or load_entry_point(of)


def feature_facts(records: Sequence[EpisodeRecord], of: str | Features) -> dict[str, Any]:
    """Facts over the turns after the branch: vectors of the states faced and the actions played.

    `of` is "words" (hashed from `game.describe`), "observation", or a function of (game, state,
    seat), or its name "module:function", that returns a text or a vector. Actions are the hashed
    words of their text. Records are replayed, so their environments must be installed.
    """
    made = made_features(of)
    seen: list[Any] = []
    played: list[str] = []
    for record in records:
        for number, (episode, step) in enumerate(zip(retrace(record), record.steps, strict=False)):
            if number < record.branched_at:
                continue
            seen += [made(episode.game, episode.state, turn.seat) for turn in step.turns]
            played += [turn.text for turn in step.turns]
    return {STATE: _rows(seen), ACTION: hashed_words(played, SIZE)}


def _rows(seen: Sequence[Any]) -> Floats:
    if all(isinstance(one, str) for one in seen):
        return hashed_words(seen, SIZE)
    rows = [np.asarray(one, dtype=np.float64).ravel() for one in seen]
    sizes = {row.size for row in rows}
    if len(sizes) > 1:
        raise InvalidOption(f"features must have one size for all turns, not {sorted(sizes)}")
    return np.array(rows)
