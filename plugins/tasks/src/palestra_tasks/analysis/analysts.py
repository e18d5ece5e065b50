"""Agents of the data room: a reference that reads all files, and two with a shortcut each."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.analysis.books import (
    IN_NOTES,
    IN_SHEETS,
    MID_YEAR,
    ledger,
    read_notes,
    read_sheet,
)
from palestra_tasks.analysis.company import FILES, Company, figures
from palestra_tasks.analysis.dataroom import DELIVERABLES, DataRoom, Enter, Open
from palestra_tasks.analysis.requests import read_ask
from palestra_tasks.analysis.rooms import NOTES
from palestra_tasks.desk import Finish


def read_company(position: str) -> Company:
    """The company that the files in a position describe."""
    rows = re.findall(r"^(\d{4}),(\d+),(\d+),(\d+),(\d+)$", position, re.MULTILINE)
    revenue, costs, overheads, wear = (
        tuple(map(int, c)) for c in list(zip(*rows, strict=True))[1:]
    )
    amounts = dict(re.findall(r"^(financial debt|cash),(\d+)$", position, re.MULTILINE))
    market = json.loads(position[position.index("{") : position.index("}") + 1])
    shares, price, risk_free, beta, premium, debt_rate, tax = market.values()
    one_off = re.search(r"a charge of (\d+) million", position)
    leases = re.search(r"Leases of (\d+) thousand", position)
    growth = re.search(r"grow by ([\d.]+) %", position)
    plan = re.findall(r"20\d\d: (\d+)", position)
    return Company(
        revenue,
        costs,
        overheads,
        wear,
        int(amounts["financial debt"]),
        int(amounts["cash"]),
        shares,
        price,
        risk_free,
        beta,
        premium,
        debt_rate,
        tax,
        int(one_off[1]) if one_off else 0,
        int(leases[1]) if leases else 0,
        tuple(map(int, plan)),
        float(growth[1]) if growth else 0.0,
    )


def files_in(position: str) -> dict[str, str]:
    """The opened files of a data room that was drawn, by name."""
    body = position.rsplit("\nEntered: ", 1)[0]
    names_and_texts = re.split(r"\n(\w+\.(?:csv|json|txt)):\n", body)[1:]
    return dict(zip(names_and_texts[::2], names_and_texts[1::2], strict=True))


def drawn_figures(position: str, skip: frozenset[str]) -> dict[str, float]:
    """The figures that are asked for, of files that are all open, without the steps to skip."""
    files = files_in(position)
    notes = read_notes(files.pop(NOTES))
    names = {file: file.partition(".")[0] for file in files}
    sheets = {names[file]: read_sheet(names[file], text) for file, text in files.items()}
    book = ledger(sheets, notes, skip)
    asked = re.findall(r"^([A-Z]): (.*) \(weight \d+\)$", position, re.MULTILINE)
    return {name: read_ask(text).value(book) or 0.0 for name, text in asked}


@agent("dataroom-analyst", kind="solver")
class Analyst(ScriptedAgent[DataRoom]):
    """Opens every file, computes every figure and enters the headlines twice."""

    skip: ClassVar[frozenset[str]] = frozenset()  # steps from files to a ledger, not taken

    def choose(self, turn: Turn[DataRoom]) -> Any:
        position = turn.position
        for file in re.findall(r"^- (\w+\.\w+): ", position, re.MULTILINE) or FILES:
            if f"\n{file}:\n" not in position:
                return Open(file)
        headlines = re.findall(r"Headlines for the memo too: (.*)\.", position)[0].split(", ")
        done = position.rsplit("\nEntered: ", 1)[1]
        for name, value in self.figures(turn.game, position).items():
            for where in DELIVERABLES if name in headlines else DELIVERABLES[:1]:
                if f"{where} {name} =" not in done:
                    return Enter(where, name, f"{value:.6f}")
        return Finish()

    def figures(self, game: DataRoom, position: str) -> dict[str, float]:
        """The figures that are asked for."""
        if game.company != "plain":
            return drawn_figures(position, self.skip)
        found = figures(self.known(position))
        return {one.name: found[one.name] for one in game.asked}

    def known(self, position: str) -> Company:
        return read_company(position)


@agent("dataroom-hasty", kind="scripted")
class Hasty(Analyst):
    """As `dataroom-analyst`, and skips the notes but for exchange rates; of a plain company two."""

    skip = frozenset(IN_NOTES["common"] + IN_NOTES["rare"])

    def known(self, position: str) -> Company:
        return read_company(re.sub(r"\n[12]\. .*", "", position))


@agent("dataroom-literal", kind="scripted")
class Literal(Analyst):
    """As `dataroom-analyst`, and adds up lines of files as they stand, contracts as whole years.

    It takes no heed of units, currencies, brackets, plans and entries that are listed twice.
    """

    skip = frozenset((*IN_SHEETS["common"], *IN_SHEETS["rare"], MID_YEAR))
