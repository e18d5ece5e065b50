"""Clerks: one writes the query that answers the question, one always answers "None"."""

from __future__ import annotations

import re

from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_web.actions import Fill, Goto, Press, Stop
from palestra_web.crm.desk import CRMDesk
from palestra_web.crm.tasks import NONE, query, read
from palestra_web.reading import address_of, find, read_page, task_of

_CELL = re.compile(r"^ *cell '(.*)'$", re.MULTILINE)


@agent("oracle-clerk", kind="solver")
class OracleClerk(ScriptedAgent[CRMDesk]):
    """Runs the query that answers each question and answers with its cell."""

    def choose(self, turn: Turn[CRMDesk]) -> TextAction:
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


@agent("none-clerk")
class NoneClerk(ScriptedAgent[CRMDesk]):
    """Answers every question with "None"; a baseline that looks nothing up."""

    def choose(self, turn: Turn[CRMDesk]) -> TextAction:
        return Stop(NONE)
