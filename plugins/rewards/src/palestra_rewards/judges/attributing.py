"""Good or bad, turn by turn: a judge that reads a whole episode and how it ended.

The attribution step of "AgentEvolver: Towards Efficient Self-Evolving Agent System" (2025).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from palestra import EpisodeRecord

from palestra_rewards.arrays import Bools
from palestra_rewards.judges.service import Judge, ask, open_judge
from palestra_rewards.judges.showing import as_text
from palestra_rewards.people import people_of

MARK = re.compile(r"^[^\w\n]*+(\d{1,9})\b(?=\W).*?\b(GOOD|BAD)\b", re.MULTILINE | re.IGNORECASE)
ORDER = (
    "The episode is over; {player} was paid {paid:g} in all. You decide which of the turns of "
    "{player} helped and which did not. A turn is GOOD if it brought the task nearer to its goal, "
    "and BAD if it was wrong, useless or set it back, whatever came of the whole episode.\n"
    "The turns of {player} are {numbers}. For each of them write one line: its number, a colon, "
    "and GOOD or BAD."
)


def marks(records: Sequence[EpisodeRecord], judge: Judge | str) -> Bools:
    """Whether each turn was good, in the order of the records' turns; use as fact "verdicts".

    Makes one request for every seat of every episode, all in one batch. A turn that the reply
    leaves out counts as good if what the person was paid is above 0.
    """
    asked, where = [], []
    judge = open_judge(judge)
    for number, record in enumerate(records):
        for person in people_of(record):
            numbers = [int(turn) for turn in person.turns]
            order = ORDER.format(
                player=record.players[person.seat],
                paid=person.paid,
                numbers=", ".join(map(str, numbers)),
            )
            asked.append(ask(f"{as_text(record)}\n\n{order}", max_tokens=16 * len(numbers) + 32))
            where.append((number, numbers, person.paid > 0))
    found = [np.zeros(len(record.turns), dtype=bool) for record in records]
    for reply, (number, numbers, paid) in zip(judge.ask(asked), where, strict=True):
        said = {int(turn): mark.upper() == "GOOD" for turn, mark in MARK.findall(reply)}
        for turn in numbers:
            found[number][turn] = said.get(turn, paid)
    return np.concatenate(found) if found else np.zeros(0, dtype=bool)
