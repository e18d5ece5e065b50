"""Books of a data room: entries in files of several forms, and what counts of them.

A book is a list of numbered entries: sales by quarter, contracts with a monthly fee, or balances at
the end of 2023. A sheet is what its file says; notes correct and define what sheets say. `ledger`
makes one ledger of them, in millions of EUR. Its `skip` leaves out steps, each of which is a trap
for who does not take it: amounts in thousands, an entry that is listed twice, and so on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

YEARS = (2021, 2022, 2023)
HOME = "EUR"
PARTNERS = ("Alvo", "Brent", "Cirro", "Dorn", "Elm")
FORMS = {"csv": "csv", "json": "json", "words": "txt"}
MONTHS = ("March", "June", "September", "December")
# Steps from sheets to a ledger, by where a reader learns of them
IN_SHEETS = {"common": ("thousands", "duplicate", "currency"), "rare": ("brackets", "plan")}
IN_NOTES = {"common": ("restated", "group"), "rare": ("moved", "left out", "fiscal")}
MID_YEAR = "mid-year"  # contracts that run for a part of a year


@dataclass(frozen=True, slots=True)
class Book:
    """What entries of a kind have: two columns to choose by, and for balances a third number."""

    kind: Literal["flow", "contract", "balance"]
    columns: tuple[str, str]
    leads: bool  # is income or debt, from which costs or assets are subtracted
    number: str = ""  # of a balance, such as its rate


BOOKS = {
    "sales": Book("flow", ("segment", "region"), leads=True),
    "costs": Book("flow", ("kind", "segment"), leads=False),
    "payroll": Book("flow", ("team", "site"), leads=False),
    "contracts": Book("contract", ("product", "region"), leads=True),
    "loans": Book("balance", ("lender", "type"), leads=True, number="rate in percent"),
    "leases": Book("balance", ("site", "asset"), leads=True, number="years left"),
    "inventories": Book("balance", ("item", "site"), leads=False, number="age in months"),
    "receivables": Book("balance", ("segment", "region"), leads=False, number="days overdue"),
    "cash": Book("balance", ("bank", "account"), leads=False, number="interest in percent"),
}
VALUES = {
    "segment": ("home", "office", "garden", "travel", "sport"),
    "region": ("north", "south", "east", "west", "islands"),
    "kind": ("materials", "freight", "energy", "rent", "repairs"),
    "team": ("field", "design", "plant", "support", "board"),
    "site": ("Arden", "Bexley", "Corby", "Dover", "Epsom"),
    "product": ("basic", "standard", "premium", "family", "student"),
    "lender": ("Hansa", "Ibex", "Juno", "Kestrel", "Linden"),
    "type": ("bond", "term", "overdraft", "mortgage", "revolver"),
    "asset": ("building", "vehicle", "machine", "server", "land"),
    "item": ("steel", "glass", "timber", "cable", "resin"),
    "bank": ("Mira", "Norda", "Opal", "Prima", "Quant"),
    "account": ("current", "savings", "escrow", "deposit", "petty"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a sheet. Months count from January 2021; a balance has none."""

    entry: int
    tags: tuple[str, ...]  # values of the columns
    begins: int
    ends: int
    number: int  # in tenths
    partner: str
    currency: str
    amount: int  # thousands; a contract's is a month's fee
    planned: bool = False  # and not actual


@dataclass(frozen=True, slots=True)
class Sheet:
    """What the file of a book says."""

    thousands: bool  # and not millions
    statuses: bool  # whether it says what is planned
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """What the notes say; empty where they say nothing."""

    rates: tuple[tuple[str, float], ...] = ()  # in EUR
    group: str = ""  # a partner that belongs to the group
    restated: tuple[tuple[str, int, int], ...] = ()  # book, entry, thousands
    moved: tuple[tuple[str, int, int], ...] = ()  # book, entry, first month of the quarter
    left_out: tuple[str, str, str] | None = None  # book, column, value
    closing: int = 12  # the month with which a year ends

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which steps the notes ask for, rates apart."""
        asked = {
            "restated": self.restated,
            "group": self.group,
            "moved": self.moved,
            "left out": self.left_out,
            "fiscal": self.closing != 12,
        }
        return tuple(kind for kind, said in asked.items() if said)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it counts, in millions of EUR."""

    tags: tuple[str, ...]
    begins: int
    ends: int
    number: float
    amount: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries that count, by book, and how a year is taken."""

    books: Mapping[str, tuple[Entry, ...]]
    closing: int = 12
    whole_years: bool = False  # counts a contract that runs in a year for all its months

    def last_month(self, year: int) -> int:
        """The month in which a year ends."""
        return 12 * (year - YEARS[0]) + self.closing - 1

    def worth(self, book: str, entries: Iterable[Entry], year: int) -> list[tuple[Entry, float]]:
        """Entries of a book with what they are worth in a year, if anything; balances always."""
        kind, last = BOOKS[book].kind, self.last_month(year)
        if kind == "balance":
            return [(entry, entry.amount) for entry in entries]
        found = []
        for entry in entries:
            months = min(entry.ends, last) - max(entry.begins, last - 11) + 1
            if months > 0:
                counted = 1 if kind == "flow" else 12 if self.whole_years else months
                found.append((entry, entry.amount * counted))
        return found


def ledger(sheets: Mapping[str, Sheet], notes: Notes, skip: frozenset[str] = frozenset()) -> Ledger:
    """The ledger that sheets and notes make, without the steps to skip."""
    books = {name: tuple(_counted(name, sheet, notes, skip=skip)) for name, sheet in sheets.items()}
    return Ledger(books, 12 if "fiscal" in skip else notes.closing, MID_YEAR in skip)


def _counted(name: str, sheet: Sheet, notes: Notes, *, skip: frozenset[str]) -> Iterator[Entry]:
    """The entries of a book that count."""
    columns, rates, seen = BOOKS[name].columns, dict(notes.rates), set()
    unit = 1 if sheet.thousands and "thousands" in skip else 1000
    for row in _corrected(name, sheet.rows, notes, skip=skip):
        twice = row.entry in seen and "duplicate" not in skip
        ours = row.partner == notes.group and "group" not in skip
        planned = row.planned and "plan" not in skip
        if twice or ours or planned or _is_left_out(columns, row, notes, name=name, skip=skip):
            continue
        seen.add(row.entry)
        amount = abs(row.amount) if "brackets" in skip else row.amount
        rate = 1.0 if "currency" in skip else rates.get(row.currency, 1.0)
        yield Entry(row.tags, row.begins, row.ends, row.number / 10, amount * rate / unit)


def _is_left_out(
    columns: tuple[str, str], row: Row, notes: Notes, *, name: str, skip: frozenset[str]
) -> bool:
    """Whether a definition in the notes leaves a row out."""
    if notes.left_out is None or notes.left_out[0] != name or "left out" in skip:
        return False
    return row.tags[columns.index(notes.left_out[1])] == notes.left_out[2]


def _corrected(
    name: str, rows: Iterable[Row], notes: Notes, *, skip: frozenset[str]
) -> Iterator[Row]:
    """Rows with the amounts and quarters that the notes give them."""
    restated = {} if "restated" in skip else {(b, e): new for b, e, new in notes.restated}
    moved = {} if "moved" in skip else {(b, e): first for b, e, first in notes.moved}
    for row in rows:
        key = (name, row.entry)
        if key in restated:
            yield replace(row, amount=restated[key], currency=HOME)
        elif key in moved:
            yield replace(row, begins=moved[key], ends=moved[key] + 2)
        else:
            yield row


# Files


def month_text(month: int) -> str:
    """A month as '2023-04'."""
    return f"{YEARS[0] + month // 12}-{month % 12 + 1:02}"


def quarter_text(month: int) -> str:
    """The quarter that a month begins, as '2023Q2'."""
    return f"{YEARS[0] + month // 12}Q{month % 12 // 3 + 1}"


def first_month(text: str) -> int:
    """The month that '2023-04' is, or that '2023Q2' begins."""
    year, part = int(text[:4]), text[4:]
    within = 3 * int(part[1:]) - 3 if part.startswith("Q") else int(part[1:]) - 1
    return 12 * (year - YEARS[0]) + within


def amount_text(thousands: int, *, in_thousands: bool) -> str:
    """An amount as sheets have it: what is negative stands in brackets."""
    size = abs(thousands)
    text = str(size) if in_thousands else f"{size / 1000:.1f}"
    return f"({text})" if thousands < 0 else text


def read_amount(text: str, *, in_thousands: bool) -> int:
    """The thousands that an amount in a sheet stands for."""
    size = float(text.strip("()")) * (1 if in_thousands else 1000)
    return round(-size if text.startswith("(") else size)


def _cells(book: Book, sheet: Sheet, row: Row) -> dict[str, str]:
    """A row as columns and their values."""
    times = {
        "flow": {"quarter": quarter_text(row.begins)},
        "contract": {"first month": month_text(row.begins), "last month": month_text(row.ends)},
        "balance": {book.number: f"{row.number / 10:.1f}"},
    }[book.kind]
    status = {"status": "plan" if row.planned else "actual"} if sheet.statuses else {}
    amount = amount_text(row.amount, in_thousands=sheet.thousands)
    return {
        "entry": str(row.entry),
        **dict(zip(book.columns, row.tags, strict=True)),
        **times,
        "partner": row.partner,
        **status,
        "currency": row.currency,
        "monthly fee" if book.kind == "contract" else "amount": amount,
    }


def write_sheet(name: str, sheet: Sheet, form: str) -> str:
    """The file of a book in a form."""
    book, unit = BOOKS[name], "thousands" if sheet.thousands else "millions"
    rows = [_cells(book, sheet, row) for row in sheet.rows]
    if form == "csv":
        table = [",".join(row.values()) for row in rows]
        return "\n".join([f"# amounts in {unit}", ",".join(rows[0]), *table])
    if form == "json":
        entries = ",\n ".join(json.dumps(row) for row in rows)
        return f'{{"amounts in": "{unit}", "entries": [\n {entries}]}}'
    return "\n".join([f"Amounts are in {unit}.", *map(_sentence, rows)])


def read_sheet(name: str, text: str) -> Sheet:
    """What the file of a book says, whatever its form."""
    first, *lines = text.splitlines()
    thousands = "thousands" in first
    if text.startswith("{"):
        rows = json.loads(text)["entries"]
    elif text.startswith("#"):
        rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    else:
        rows = [_said(line) for line in lines]
    read = tuple(_row(BOOKS[name], cells, in_thousands=thousands) for cells in rows)
    return Sheet(thousands, "status" in rows[0], read)


def _sentence(cells: dict[str, str]) -> str:
    """A row in words."""
    rest = dict(cells)
    entry, partner, currency = (rest.pop(column) for column in ("entry", "partner", "currency"))
    when = ""
    if "monthly fee" in rest:
        first, last = rest.pop("first month"), rest.pop("last month")
        when = f" a month from {first} to {last}"
    elif "quarter" in rest:
        when = f" in {rest.pop('quarter')}"
    amount = rest.pop("monthly fee" if "monthly fee" in rest else "amount")
    others = ", ".join(f"{column} {value}" for column, value in rest.items())
    return f"Entry {entry}, with {partner}: {currency} {amount}{when}; {others}."


_SENTENCE = re.compile(
    r"Entry (?P<entry>\d+), with (?P<partner>\w+): (?P<currency>\w+) (?P<amount>[\d.()]+)"
    r"(?: in (?P<quarter>\w+)| a month from (?P<first>\S+) to (?P<last>[^;]+))?; (?P<others>.*)\."
)


def _said(line: str) -> dict[str, str]:
    """The columns and values of a row in words."""
    found = _SENTENCE.fullmatch(line)
    if found is None:
        raise ValueError(f"no entry is told in these words: {line}")
    cells = {column: value for column, value in found.groupdict().items() if value}
    others = cells.pop("others").split(", ")
    names = {"first": "first month", "last": "last month"}
    if "first" in cells:
        names["amount"] = "monthly fee"
    told = {names.get(column, column): value for column, value in cells.items()}
    return told | {column: value for column, _, value in (one.rpartition(" ") for one in others)}


def _row(book: Book, cells: dict[str, Any], *, in_thousands: bool) -> Row:
    """The row that columns and their values are."""
    begins = ends = number = 0
    if book.kind == "flow":
        begins = first_month(cells["quarter"])
        ends = begins + 2
    elif book.kind == "contract":
        begins, ends = first_month(cells["first month"]), first_month(cells["last month"])
    else:
        number = round(10 * float(cells[book.number]))
    return Row(
        int(cells["entry"]),
        tuple(cells[column] for column in book.columns),
        begins,
        ends,
        number,
        cells["partner"],
        cells["currency"],
        read_amount(cells["monthly fee" if book.kind == "contract" else "amount"],
                    in_thousands=in_thousands),
        cells.get("status") == "plan",
    )  # fmt: skip


def write_notes(notes: Notes) -> str:
    """The file of the notes."""
    said = []
    if notes.rates:
        rates = ", ".join(f"1 {currency} = {rate:.2f} {HOME}" for currency, rate in notes.rates)
        said.append(f"Exchange rates: {rates}.")
    if notes.group:
        said.append(f"{notes.group} has been a company of the group throughout.")
    for book, entry, new in notes.restated:
        said.append(
            f"Entry {entry} of {book} is restated: "
            f"{amount_text(new, in_thousands=False)} million {HOME}."
        )
    for book, entry, first in notes.moved:
        said.append(f"Entry {entry} of {book} was booked late: it is of {quarter_text(first)}.")
    if notes.left_out:
        book, column, value = notes.left_out
        said.append(f"What we call {book} leaves out entries whose {column} is {value}.")
    if notes.closing != 12:
        month = MONTHS[notes.closing // 3 - 1]
        said.append(f"Years are fiscal years: 2023 ends with {month} 2023, and others likewise.")
    lines = [f"{number}. {line}" for number, line in enumerate(said, 1)]
    return "\n".join(["Notes to the data room.", *lines])


def read_notes(text: str) -> Notes:
    """What a file of notes says."""
    rates = re.findall(r"1 (\w+) = ([\d.]+) EUR", text)
    group = re.search(r"(\w+) has been a company of the group", text)
    restated = re.findall(r"Entry (\d+) of (\w+) is restated: (\S+) million", text)
    moved = re.findall(r"Entry (\d+) of (\w+) was booked late: it is of (\w+)", text)
    out = re.search(r"What we call (\w+) leaves out entries whose (\w+) is (\S+)\.", text)
    closing = re.search(r"2023 ends with (\w+) 2023", text)
    return Notes(
        tuple((currency, float(rate)) for currency, rate in rates),
        group[1] if group else "",
        tuple((book, int(entry), read_amount(new, in_thousands=False))
              for entry, book, new in restated),
        tuple((book, int(entry), first_month(quarter)) for entry, book, quarter in moved),
        (out[1], out[2], out[3]) if out else None,
        3 * MONTHS.index(closing[1]) + 3 if closing else 12,
    )  # fmt: skip
