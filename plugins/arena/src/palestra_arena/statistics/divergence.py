"""The first divergence of two runs with the same start."""

from __future__ import annotations

from itertools import takewhile, zip_longest
from typing import NamedTuple

from palestra import EpisodeRecord, InvalidOption
from palestra.records.record import TurnRecord


class Parting(NamedTuple):
    """The first turn, counted from 0, in which two runs differ.

    `what` is "end" (one run was over), "situation" (the seat faced something else: the
    environment drew differently), "action", or "words" (the same action in other words).
    `words` counts the words of the two raw answers that agree before they part, where there are
    raw answers.
    """

    turn: int
    what: str
    words: int | None = None


def first_divergence(first: EpisodeRecord, second: EpisodeRecord) -> Parting | None:
    """Where two records of one environment and seed part; None if they never do."""
    if (first.env, first.seed, first.options) != (second.env, second.seed, second.options):
        raise InvalidOption(
            f"{first.env} from seed {first.seed} and {second.env} from seed {second.seed} did not "
            "start alike"
        )
    for number, (one, two) in enumerate(zip_longest(first.turns, second.turns)):
        what = _difference(one, two)
        if what:
            return Parting(number, what, _shared_words(one, two))
    return None


def _difference(one: TurnRecord | None, two: TurnRecord | None) -> str:
    if one is None or two is None:
        return "end"
    if (one.seat, one.state_key) != (two.seat, two.state_key):
        return "situation"
    if (one.action, one.status) != (two.action, two.status):
        return "action"
    return "words" if one.raw != two.raw else ""


def _shared_words(one: TurnRecord | None, two: TurnRecord | None) -> int | None:
    if one is None or two is None or one.raw is None or two.raw is None:
        return None
    pairs = zip(one.raw.split(), two.raw.split(), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
