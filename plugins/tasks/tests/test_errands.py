"""Office errands: rows by pandas from the files as they are written, and faults one by one."""

from __future__ import annotations

import io
import re
from typing import Any

import palestra
import pandas as pd
import pytest
from palestra.kernel.registry import registry
from palestra_tasks.desk import Finish
from palestra_tasks.office.errands import KINDS, Errands, Open, Write
from palestra_tasks.office.lists import ITEMS, Form, Row, criteria, write_list

FORM = Form("Office notes", "* ", " | ", True, "capitals", "amount, largest first", True, 6, "and")
ROWS = (Row("rail pass", "travel", 40), Row("taxi ride", "travel", 95), Row("ink bottle", "", 7))
GOOD = write_list(ROWS, FORM)
SPLITS = registry().environment("tasks/Errands-v0").splits


def start(kind: str, seed: int, **options: Any) -> palestra.Episode:
    return palestra.Episode(palestra.game("tasks/Errands-v0", kind=kind, **options), seed)


def hand_in(episode: palestra.Episode, text: str) -> float:
    episode.act({0: Write(text)})
    episode.act({0: Finish()})
    return float(episode.returns[0])


def test_a_list_in_its_form() -> None:
    assert GOOD.splitlines() == [
        "Office notes",
        "* 95 | TAXI RIDE",
        "* 40 | RAIL PASS",
        "* 7 | INK BOTTLE",
        "Total: 142",
        "We thank all our colleagues for.",
    ]
    assert all(criteria(GOOD, ROWS, FORM).values())


@pytest.mark.parametrize(
    ("old", "new", "missed"),
    [
        ("* 7 | INK BOTTLE\n", "", {"items", "amounts", "lines", "order"}),
        ("Total", "* 3 | LAMP OIL\nTotal", {"no others"}),
        ("40 |", "41 |", {"amounts", "lines"}),
        ("Total: 142", "Total: 143", {"total"}),
        ("Total: 142\n", "", {"total"}),
        ("Office notes", "OFFICE NOTES", {"title"}),
        ("* 95 | TAXI RIDE\n* 40 | RAIL PASS", "* 40 | RAIL PASS\n* 95 | TAXI RIDE", {"order"}),
        ("| TAXI", ": TAXI", {"lines"}),
        ("* 7", "- 7", {"lines"}),
        ("colleagues for.", "colleagues.", {"closing"}),
        ("colleagues for.", "colleagues for", {"closing"}),
        ("\nWe thank all our colleagues for.", "", {"closing"}),
        ("We thank", "We and thank", {"closing", "banned word"}),
        (" thank", " AND", {"banned word"}),
        (" thank", " sandwich", set()),
        ("\n", "\n\n", set()),
        ("* 40 | RAIL PASS", "* 40 | RAIL PASS 41 42", {"amounts", "lines"}),
        ("* 40 | RAIL PASS", "* 40 | RAIL PASS\n* 40 | RAIL PASS", {"lines"}),
        ("* 40 | RAIL PASS", "* 40 | RAIL PASS\n* 50 | RAIL PASS", {"amounts", "lines"}),
        ("Total: 142", "Total: 141\nTotal: 142", {"total"}),
        ("Total: 142", "Total: 142\ntotal: 143", {"total"}),
        (GOOD, "", set(criteria("", ROWS, FORM))),
        (GOOD, "Total: 142", set(criteria("", ROWS, FORM))),
    ],
)
def test_a_fault_loses_the_rules_that_it_breaks(old: str, new: str, missed: set[str]) -> None:
    assert old in GOOD
    met = criteria(GOOD.replace(old, new), ROWS, FORM)
    assert {name for name, rule in met.items() if not rule} == missed


@pytest.mark.parametrize("rows", [6, 9, 15])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["workflow", "hidden"])
def test_rows_order_and_sum_are_those_of_pandas(kind: str, seed: int, rows: int) -> None:
    episode = start(kind, seed, rows=rows)
    game, state = episode.game, episode.state
    files, asked = game.files(state), game.statement(state, 0)
    style = files.get("style.txt", asked)
    table = pd.read_csv(io.StringIO(files["table.csv"]))
    by = "item" if "from A to Z" in style else "amount"
    wanted = table[table["category"] == re.findall(r"category is (\w+)", asked)[0]]
    wanted = wanted.sort_values(by, ascending="largest first" not in style)
    assert len(table) == rows
    form = state.form
    written = [form.bullet, form.separator]
    lines = [
        written[0] + written[1].join([str(a), i] if form.amount_first else [i, str(a)])
        for i, a in zip(wanted["item"], wanted["amount"], strict=True)
    ]
    change = {"capitals": str.upper, "small letters": str.lower}.get(form.case)
    lines = [
        change(x) if change else re.sub("[a-z]", lambda m: m[0].upper(), x, count=1) for x in lines
    ]
    if "'Total: 120'" in style:
        lines.append(f"Total: {wanted['amount'].sum()}")
    count = int(re.findall(r"exactly (\d+) words", style)[0])
    text = "\n".join([form.title, *lines, " ".join(["word"] * count) + "."])
    assert hand_in(episode, text) == 1


@pytest.mark.parametrize("seed", range(8))
def test_an_edit_changes_what_is_asked_for_and_nothing_else(seed: int) -> None:
    """The draft, changed by pandas: one row less, one amount, one row more, and sorted again."""
    episode = start("edit", seed)
    game, state = episode.game, episode.state
    files = game.files(state)
    title, *lines, closing = files["draft.txt"].splitlines()
    rows = [line for line in lines if not line.startswith("Total")]
    draft = pd.DataFrame({"line": rows})
    draft["amount"] = draft["line"].str.extract(r"(\d+)").astype(int)
    draft["item"] = draft["line"].str.lower().str.extract(r"([a-z]+(?: [a-z]+)?)")
    assert len(draft) == 12
    gone, risen, now, fresh, cost = re.findall(
        r"(.+) was cancelled\. (.+) costs (\d+) now\. New: (.+) for (\d+)\.", files["changes.txt"]
    )[0]
    ascending = "largest first" not in game.statement(state, 0)
    by = "item" if "A to Z" in game.statement(state, 0) else "amount"
    assert hand_in(start("edit", seed), files["draft.txt"]) < 1
    old = draft.loc[draft["item"] == risen].iloc[0]
    template = old["line"]
    draft = draft[~draft["item"].isin([gone, risen])]
    form = state.form
    name = {"capitals": fresh.upper(), "small letters": fresh}.get(form.case, fresh.capitalize())
    own = re.search(r"[A-Za-z]+(?: [A-Za-z]+)?", template)
    assert own
    more = pd.DataFrame(
        {
            "line": [
                template.replace(str(old["amount"]), now),
                template.replace(str(old["amount"]), cost).replace(own[0], name),
            ],
            "amount": [int(now), int(cost)],
            "item": [risen, fresh],
        }
    )
    after = pd.concat([draft, more]).sort_values(by, ascending=ascending)
    total = [f"Total: {after['amount'].sum()}"] if any("Total" in x for x in lines) else []
    assert hand_in(episode, "\n".join([title, *after["line"], *total, closing])) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_were_not_opened_are_drawn_anew(kind: str) -> None:
    game = Errands(kind=kind)
    for file in game.files(game.initial_state(3)):
        episode = palestra.Episode(game, 3)
        true, asked = game.files(episode.state), game.statement(episode.state, 0)
        episode.act({0: Open(file)})
        copies = [game.determinize(episode.state, 0, palestra.Rng(n)) for n in range(10)]
        assert all(game.statement(copy, 0) == asked for copy in copies)
        for name in true:
            same = [game.files(copy)[name] == true[name] for copy in copies]
            assert all(same) if name == file else not all(same)


def test_instructions_in_attachments_matter() -> None:
    for kind in KINDS:
        means = {}
        for name in ("errands-careful", "errands-hasty"):
            records = palestra.play("tasks/Errands-v0", agents=name, episodes=8, kind=kind)
            means[name] = sum(record.returns[0] for record in records) / 8
        assert means["errands-careful"] == 1
        assert means["errands-hasty"] < 0.75


@pytest.mark.parametrize("kind", [*KINDS, "composed"])
@pytest.mark.parametrize("seed", range(6))
def test_naming_more_rows_than_are_wanted_divides_the_pay(kind: str, seed: int) -> None:
    """A right list with every other item of the office below it, in nobody's form."""
    episode = start(kind, seed)
    game, state = episode.game, episode.state
    wanted, form = game.wanted(state), state.form
    right = write_list(wanted, form)
    assert hand_in(start(kind, seed), right) == 1
    others = [item for item in ITEMS if item not in {row.item for row in wanted}]
    title, rest = right.split("\n", 1)
    share = len(wanted) / len(ITEMS)
    assert hand_in(episode, "\n".join([title, *others, rest])) == pytest.approx(8 / 9 * share)


@pytest.mark.parametrize("split", ["small", "medium", "large", "held-out-large", "workflow"])
def test_all_items_in_the_form_of_the_request_earn_little_unread(split: str) -> None:
    paid = 0.0
    for seed in range(60):
        episode = palestra.Episode(Errands(**SPLITS[split]), seed)
        form = episode.state.form  # the request tells it
        paid += hand_in(episode, write_list(tuple(Row(item, "", 1) for item in ITEMS), form)) / 60
    assert paid < 0.3


def test_a_style_that_nobody_read_is_any_that_the_opened_list_allows() -> None:
    game = Errands(kind="hidden")
    for seed in range(5):
        episode = palestra.Episode(game, seed)
        episode.act({0: Open("last.txt")})
        true = episode.state.form
        worlds = [game.determinize(episode.state, 0, palestra.Rng(n)) for n in range(80)]
        for world in worlds:
            assert game.files(world)["last.txt"] == game.files(episode.state)["last.txt"]
            same = ("title", "bullet", "separator", "amount_first", "case", "total", "words")
            assert all(getattr(world.form, name) == getattr(true, name) for name in same)
        banned = [world.form.banned for world in worlds]
        assert all(8 <= banned.count(word) <= 36 for word in ("and", "the", "please", "very"))
        assert len({world.last for world in worlds}) > 1  # their categories were not shown
