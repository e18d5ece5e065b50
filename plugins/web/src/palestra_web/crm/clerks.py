"""Clerks: one who writes the right query, and one who always says that there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palestra import Agent, Decision, TextAction, Turn, agent

from palestra_web.actions import Fill, Goto, Press, Stop
from palestra_web.crm.tasks import NONE, query, read
from palestra_web.reading import address_of, find, read_page, task_of

_CELL = re.compile(r"^ *cell '(.*)'$", re.MULTILINE)


@agent(
    "oracle-clerk",
    kind="solver",
    plays=("web/CRMDesk-v0",),
    summary="runs the query that each question calls for and answers with its cell",
)
class OracleClerk(Agent):
    """Knows what query each question calls for, runs it on the query page and reads the answer."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        address = address_of(turn)
        if address.startswith("/query?"):
            cells = _CELL.findall(turn.position)
            return Stop(cells[0] if cells else NONE)
        if address != "/query":
            return Goto("/query")
        box = find(read_page(turn.position), "textbox", "SQL")
        if box.value:
            return Press(box.number, "Enter")
        return Fill(box.number, query(read(task_of(turn))))


@agent(
    "none-clerk",
    plays=("web/CRMDesk-v0",),
    summary="answers every question with None",
)
class NoneClerk(Agent):
    """Says to every question that there is none: what can be earned without a look."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(Stop(NONE)) for _ in turns]
