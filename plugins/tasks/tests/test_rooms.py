"""Drawn data rooms: figures by pandas from the request and the files as they are written."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import palestra
import pandas as pd
import pytest
from palestra import InvalidOption, Rng, Turn
from palestra.kernel.registry import registry
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.analysis.analysts import Analyst, Hasty, Literal
from palestra_tasks.analysis.books import (
    IN_NOTES,
    IN_SHEETS,
    MID_YEAR,
    Notes,
    Row,
    Sheet,
    ledger,
    read_notes,
    read_sheet,
    write_notes,
    write_sheet,
)
from palestra_tasks.analysis.dataroom import DataRoom, Enter, Open
from palestra_tasks.analysis.requests import OPERATIONS, Part, read_ask
from palestra_tasks.analysis.rooms import Room, draw_room, steps_in
from palestra_tasks.desk import Finish

SPLITS = {
    name: options
    for name, options in registry().environment("tasks/DataRoom-v0").splits.items()
    if options["company"] != "plain"
}
STEPS = (
    *IN_SHEETS["common"],
    *IN_SHEETS["rare"],
    *IN_NOTES["common"],
    *IN_NOTES["rare"],
    MID_YEAR,
)


# Another reader: pandas from the files, Python's own arithmetic from the request


def frame_of(file: str, text: str) -> pd.DataFrame:
    """The entries of a file with amounts in millions."""
    if file.endswith("json"):
        frame = pd.DataFrame(json.loads(text)["entries"])
    elif file.endswith("csv"):
        frame = pd.read_csv(io.StringIO(text), comment="#", dtype=str)
    else:
        lines = pd.Series(text.splitlines()[1:])
        head = r"Entry (?P<entry>\d+), with (?P<partner>\w+): (?P<currency>\w+) (?P<amount>[^ ;]+)"
        frame = lines.str.extract(head)
        frame["quarter"] = lines.str.extract(r" in (\d{4}Q\d)")
        times = r"from (?P<first_month>[\d-]+) to (?P<last_month>[\d-]+)"
        frame = frame.join(lines.str.extract(times).rename(columns=lambda n: n.replace("_", " ")))
        for pairs in lines.str.extract(r"; (.*)\.$")[0].str.split(", "):
            frame[[pair.rpartition(" ")[0] for pair in pairs]] = ""
        for place, pairs in enumerate(lines.str.extract(r"; (.*)\.$")[0].str.split(", ")):
            for pair in pairs:
                column, _, value = pair.rpartition(" ")
                frame.loc[place, column] = value
    frame = frame.rename(columns={"monthly fee": "amount"}).drop_duplicates("entry")
    negative = frame["amount"].str.startswith("(")
    size = frame["amount"].str.strip("()").astype(float)
    unit = 1000 if "thousands" in text[:40] else 1
    return frame.assign(amount=size.where(~negative, -size) / unit)


def cleaned(book: str, frame: pd.DataFrame, notes: str) -> pd.DataFrame:
    """The entries that count, in millions of EUR."""
    rates = {"EUR": 1.0} | {c: float(r) for c, r in re.findall(r"1 (\w+) = ([\d.]+)", notes)}
    frame = frame.assign(amount=frame["amount"] * frame["currency"].map(rates).fillna(1.0))
    for entry, new in re.findall(rf"Entry (\d+) of {book} is restated: (\S+) million", notes):
        frame.loc[frame["entry"] == entry, "amount"] = float(new)
    for entry, quarter in re.findall(rf"Entry (\d+) of {book} was .*: it is of (\w+)\.", notes):
        frame.loc[frame["entry"] == entry, "quarter"] = quarter
    for column, value in re.findall(rf"call {book} leaves out .* whose (\w+) is (\S+)\.", notes):
        frame = frame[frame[column] != value]
    if "status" in frame:
        frame = frame[frame["status"] == "actual"]
    return frame[~frame["partner"].isin(re.findall(r"(\w+) has been a company", notes))]


class Reader:
    """The ledger of a state by pandas."""

    def __init__(self, files: dict[str, str]) -> None:
        notes = files["notes.txt"]
        self.books = {
            file.split(".")[0]: cleaned(file.split(".")[0], frame_of(file, text), notes)
            for file, text in files.items()
            if file != "notes.txt"
        }
        ends = re.findall(r"2023 ends with (\w+)", notes)
        self.ending = pd.Period(
            f"2023-{ {'March': 3, 'June': 6, 'September': 9}[ends[0]] if ends else 12:02}", "M"
        )

    def months(self, year: int) -> pd.PeriodIndex:
        """The months of a year."""
        end = self.ending - 12 * (2023 - year)
        return pd.period_range(end - 11, end, freq="M")

    def rows(self, text: str) -> tuple[pd.DataFrame, int]:
        """The entries of a part as it is written, with what each is worth, and the year."""
        found = re.fullmatch(r"(\w+)(?: where (.*?))?(?: in (\d{4}))?", text)
        assert found
        frame, year = self.books[found[1]], int(found[3] or 0)
        for column, no, value in re.findall(r"(\w+) is (not )?(\S+)", found[2] or ""):
            frame = frame[(frame[column] == value) != bool(no)]
        if found[1] == "contracts":
            running = [
                self.months(year).isin(pd.period_range(first, last, freq="M")).sum()
                for first, last in zip(frame["first month"], frame["last month"], strict=True)
            ]
            return frame.assign(worth=frame["amount"] * running), year
        if year:
            quarters = {str(month.asfreq("Q")) for month in self.months(year)}
            frame = frame[frame["quarter"].isin(quarters)]
        return frame.assign(worth=frame["amount"]), year

    def term(self, text: str) -> float:
        """The amount in brackets."""
        words = re.split(r" (plus|less) ", text)
        signs = [1, *(1 if word == "plus" else -1 for word in words[1::2])]
        return sum(
            s * self.rows(part)[0]["worth"].sum() for s, part in zip(signs, words[::2], strict=True)
        )

    def figure(self, text: str) -> float:
        """A figure as it is asked for."""
        inside = re.findall(r"\[(.*?)\]", text)
        first, second = self.term(inside[0]), self.term(inside[1]) if inside[1:] else 0.0
        if text.startswith("growth"):
            return 100 * (first - (old := self.term(inside[0].replace("in 2023", "in 2022")))) / old
        if text.startswith("average"):
            rows, _ = self.rows(inside[0])
            column = re.findall("average of the (.*?) of", text)[0]
            return float((rows[column].astype(float) * rows["worth"]).sum() / rows["worth"].sum())
        if "monthly fees" in text:
            rows, year = self.rows(inside[0])
            last = self.months(year)[-1]
            pays = (pd.PeriodIndex(rows["first month"], freq="M") <= last) & (
                pd.PeriodIndex(rows["last month"], freq="M") >= last
            )
            return 12 * float(rows["amount"][pays].sum())
        if "percent of the former" in text:
            return 100 * (1 - second / first)
        if "in percent of" in text:
            return 100 * first / second
        if text.startswith("365"):
            return 365 * first / second
        if "divided" in text:
            return first / second
        times = re.match(r"(\d+) times", text)
        return first * int(times[1]) - second if times else first


def asked(game: DataRoom, state: Any) -> dict[str, str]:
    """The figures of a request."""
    said = game.statement(state, 0)
    return dict(re.findall(r"^([A-Z]): (.*) \(weight \d+\)$", said, re.MULTILINE))


@pytest.mark.parametrize("split", sorted(SPLITS))
def test_figures_are_those_of_pandas_on_the_files(split: str) -> None:
    game = DataRoom(**SPLITS[split])
    for seed in range(6):
        state = game.initial_state(seed)
        reader = Reader(game.files(state))
        wanted = {name: reader.figure(text) for name, text in asked(game, state).items()}
        assert game.truths(state) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_files_and_requests_are_read_as_they_were_written(size: str) -> None:
    for seed in range(12):
        room = draw_room(Rng.seeded(seed), size, "all")
        for book in room.plan.books:
            assert read_sheet(book.name, room.files[book.file]) == room.sheets[book.name]
        assert read_notes(room.files["notes.txt"]) == room.notes
        assert all(read_ask(str(ask)) == ask for ask in room.plan.asks)


# Steps


def sale(entry: int, region: str, month: int, amount: int, **more: Any) -> Row:
    fields = {"number": 0, "partner": "Alvo", "currency": "EUR"} | more
    return Row(
        entry, ("home", region), month, month + 2, fields.pop("number"), fields.pop("partner"),
        fields.pop("currency"), amount, **fields,
    )  # fmt: skip


LISTED = (
    sale(1, "north", 24, 1000),
    sale(2, "north", 27, 2000, currency="USD"),
    sale(2, "north", 27, 2000, currency="USD"),
    sale(3, "south", 30, -500),
    sale(4, "south", 30, 4000, planned=True),
    sale(5, "east", 33, 8000, partner="Brent"),
    sale(6, "west", 33, 16000),
    sale(7, "west", 18, 32000),
    sale(8, "west", 33, 64000),
)
TOLD = Notes(
    (("USD", 0.5),),
    "Brent",
    (("sales", 1, 3000),),
    (("sales", 7, 24),),
    ("sales", "region", "west"),
)


@pytest.mark.parametrize(
    ("skip", "wanted"),
    [  # 3000 restated + 2000 USD - 500 by hand, in millions
        ((), 3.5),
        (("thousands",), 3500.0),
        (("duplicate",), 4.5),
        (("currency",), 4.5),
        (("brackets",), 4.5),
        (("plan",), 7.5),
        (("restated",), 1.5),
        (("group",), 11.5),
        (("left out",), 3.5 + 16 + 32 + 64),
        (("left out", "moved"), 3.5 + 16 + 64),
    ],
)
def test_a_step_that_is_left_out_has_its_own_wrong_sum(
    skip: tuple[str, ...], wanted: float
) -> None:
    book = ledger({"sales": Sheet(True, True, LISTED)}, TOLD, frozenset(skip))
    assert Part("sales", (), 2023).total(book) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("closing", "year", "wanted"),
    [(12, 2022, 0), (12, 2023, 8), (3, 2023, 3), (9, 2023, 8), (9, 2022, 0)],
)
def test_a_contract_pays_for_the_months_of_the_year_in_which_it_runs(
    closing: int, year: int, wanted: int
) -> None:
    """From January to August 2023, a million a month."""
    fee = Row(1, ("basic", "north"), 24, 31, 0, "Elm", "EUR", 1000)
    sheets = {"contracts": Sheet(False, False, (fee,))}
    part = Part("contracts", (), year)
    assert part.total(ledger(sheets, Notes(closing=closing))) == wanted
    whole = ledger(sheets, Notes(closing=closing), frozenset([MID_YEAR]))
    assert part.total(whole) == (12 if wanted else 0)


@pytest.mark.parametrize("form", ["csv", "json", "words"])
def test_each_form_shows_units_brackets_and_plans(form: str) -> None:
    for thousands in (True, False):
        sheet = Sheet(thousands, True, LISTED)
        text = write_sheet("sales", sheet, form)
        assert read_sheet("sales", text) == sheet
        assert ("(500)" if thousands else "(0.5)") in text
        assert ("thousands" if thousands else "millions") in text
    assert read_notes(write_notes(TOLD)) == TOLD


def paid(agent: Analyst, split: str, seed: int) -> float:
    episode = palestra.Episode(DataRoom(**SPLITS[split]), seed)
    while not episode.over:
        episode.act({0: agent.choose(Turn(episode, 0))})
    return float(episode.returns[0])


def room_of(split: str, seed: int) -> Room:
    state = DataRoom(**SPLITS[split]).initial_state(seed)
    assert state.plan
    return Room(state.plan, state.seeds)


@pytest.mark.parametrize("step", STEPS)
def test_whoever_leaves_a_step_out_is_paid_less(step: str) -> None:
    class Careless(Analyst):
        skip = frozenset([step])

    rare = step in (*IN_SHEETS["rare"], *IN_NOTES["rare"])
    split = "held-out-medium" if rare else "medium"
    seeds = [seed for seed in range(30) if step in room_of(split, seed).steps][:4]
    assert len(seeds) >= 2
    for seed in seeds:
        assert paid(Careless(), split, seed) < 1 == paid(Analyst(), split, seed)


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_who_leaves_one_step_out_of_held_out_rooms_is_far_from_the_reference(size: str) -> None:
    """Mean pay from the rubric's weights; no small room has a contract."""
    rooms = [room_of(f"held-out-{size}", seed) for seed in range(60)]
    for step in (*IN_SHEETS["rare"], *IN_NOTES["rare"], MID_YEAR):
        pays = []
        for room in rooms:
            right = [not changed for changed in room.changed_by(step)]
            weights = [len(ask.parts) for ask in room.plan.asks]
            headlines = [2 * one for one in right[-2:]]
            points = sum(w for w, one in zip(weights, right, strict=True) if one) + sum(headlines)
            pays.append(points / (sum(weights) + 4))
        mean = sum(pays) / len(pays)
        assert (mean <= 0.9) != (step == MID_YEAR and size == "small"), (step, mean)


@pytest.mark.parametrize(
    ("agent", "least", "most"), [(Analyst(), 1, 1), (Hasty(), 0, 0.6), (Literal(), 0, 0.6)]
)
@pytest.mark.parametrize("split", sorted(SPLITS))
def test_only_who_reads_it_all_is_paid_in_full(
    agent: Analyst, least: float, most: float, split: str
) -> None:
    mean = sum(paid(agent, split, seed) for seed in range(8)) / 8
    assert least <= mean <= most


@pytest.mark.parametrize("constant", ["0", "1", "10", "33.3", "50", "100"])
def test_constants_earn_about_nothing(constant: str) -> None:
    total = 0.0
    for seed in range(25):
        game = DataRoom(**SPLITS["small"])
        episode = palestra.Episode(game, seed)
        for one in game.wanted(episode.state):
            for where in ("model", "memo"):
                episode.act({0: Enter(where, one.name, constant)})
        episode.act({0: Finish()})
        total += episode.returns[0] / 25
    assert total <= 0.03


# What is drawn


def structure(room: Room) -> Any:
    """A room without names and numbers: books, what is asked of them how, and the steps."""
    asks = [
        (
            ask.operation,
            [
                (sign, p.book, p.year, [(one.column, one.holds) for one in p.where])
                for term in ask.terms
                for p, sign in zip(term.parts, term.signs, strict=True)
            ],
        )
        for ask in room.plan.asks
    ]
    books = [(book.name, sorted(steps_in(room.sheets[book.name]))) for book in room.plan.books]
    return repr((books, asks, room.notes.kinds))


@pytest.mark.parametrize(("split", "least"), [("small", 290), ("held-out-small", 290)])
def test_hardly_two_rooms_of_a_split_are_alike(split: str, least: int) -> None:
    assert len({structure(room_of(split, seed)) for seed in range(300)}) >= least


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_what_is_held_out_is_in_no_other_split(size: str) -> None:
    found: list[set[str]] = []
    for split, pool in ((size, "common"), (f"held-out-{size}", "rare")):
        rooms = [room_of(split, seed) for seed in range(30)]
        operations = {ask.operation for room in rooms for ask in room.plan.asks}
        assert operations <= set(OPERATIONS[pool])
        assert size == "small" or operations == set(OPERATIONS[pool])
        steps = {step for room in rooms for step in room.steps} - {MID_YEAR}
        assert steps == {*IN_SHEETS[pool], *IN_NOTES[pool]}
        found.append(operations | steps)
    assert not found[0] & found[1]


@pytest.mark.parametrize("opened", [0, 2, -1])
def test_what_was_not_opened_is_drawn_anew(opened: int) -> None:
    game = DataRoom(**SPLITS["medium"])
    episode = palestra.Episode(game, 5)
    names = list(game.files(episode.state))
    episode.act({0: Open(names[opened])})
    true = game.files(episode.state)
    copies = [game.determinize(episode.state, 0, Rng(n)) for n in range(8)]
    for copy in copies:
        assert game.describe(copy, 0) == game.describe(episode.state, 0)
        assert room_fits(copy)
    for file in names:
        same = [game.files(copy)[file] == true[file] for copy in copies]
        assert all(same) if file == names[opened] else not all(same)


def room_fits(state: Any) -> bool:
    return Room(state.plan, state.seeds).fits()


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_drawn_company_passes_the_conformance_tests(check: str) -> None:
    options = {"company": "small", "traps": "all", "turns": 6}
    verdict = run_check(Subject(registry().environment("tasks/DataRoom-v0"), options), check)
    assert verdict.status != "failed", verdict.detail


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"company": "plain", "traps": "rare"}, "set company to small"),
        ({"company": "small", "level": "hard"}, "for company='plain'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidOption, match=words):
        DataRoom(**options)
