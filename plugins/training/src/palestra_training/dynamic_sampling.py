"""Dynamic sampling (Yu et al. 2025, "DAPO"): groups that cannot teach are replaced by further ones.

Rollouts of one start that are all paid alike have the same advantage, which is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from palestra import EpisodeRecord


def teaches(group: Sequence[EpisodeRecord], learners: Collection[str]) -> bool:
    """Whether rollouts of one start differ in what a learner's seat is paid.

    A refused answer that did not yet lose the game has an advantage of its own, so it teaches too.
    """
    seats = [seat for seat, agent in enumerate(group[0].agents) if agent in learners]
    return any(len({record.returns[seat] for record in group}) > 1 for seat in seats) or any(
        turn.seat in seats and len(turn.refused) > (turn.status == "forfeit")
        for record in group
        for turn in record.turns
    )


def groups_of_starts(records: Sequence[EpisodeRecord], size: int) -> Iterator[list[EpisodeRecord]]:
    """The rollouts of each start, of which there are `size`, in the order of play."""
    for first in range(0, len(records), size):
        yield list(records[first : first + size])


def teaching(
    records: Sequence[EpisodeRecord], size: int, learners: Collection[str]
) -> list[EpisodeRecord]:
    """The records of the groups that teach."""
    return [
        record
        for group in groups_of_starts(records, size)
        if teaches(group, learners)
        for record in group
    ]
