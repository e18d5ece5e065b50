"""Composed errands: rows and changes by pandas from the request, the note and the table."""

from __future__ import annotations

import io
import re
from typing import Any

import palestra
import pandas as pd
import pytest
from palestra import InvalidOption, Rng, Turn
from palestra.kernel.registry import registry
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.office import orders
from palestra_tasks.office.errands import Careful, Errands, Hasty, Open
from palestra_tasks.office.orders import DAYS

SIZES = ("small", "medium", "large")
SPLITS = registry().environment("tasks/Errands-v0").splits


def mask_of(frame: pd.DataFrame, text: str) -> Any:
    """The rows for which a condition holds, by pandas."""
    for old, new in (("is at most", "<="), ("is over", ">"), ("is not", "!="), ("is", "==")):
        text = re.sub(rf"\b{old}\b", new, text)
    text = re.sub(r"day == (\w+)", r"day == '\1'", text)
    text = re.sub(r"day == 'before' (\w+)", lambda m: f"when < {DAYS.index(m[1])}", text)
    text = re.sub(r"(category|payer) ([!=]=) (\w+)", r"\1 \2 '\3'", text)
    return frame.assign(when=frame["day"].map(DAYS.index)).eval(text)


def change_of(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """A table after a change, by pandas."""
    what, where = text.split(" where ")
    number = int((re.findall(r"\d+", what) or ["0"])[0])
    old = frame["amount"]
    new = {
        "add": old + number,
        "take": old - number,
        "double": old * 2,
        "halve,": old // 2,
        "round": (old + 9) // 10 * 10,
        "raise": old.clip(lower=number),
    }[what.split()[0] + ("," if what.startswith("halve") else "")]
    return frame.assign(amount=old.where(~mask_of(frame, where), new))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("held", ["", "held-out-"])
def test_rows_are_those_of_pandas(size: str, held: str) -> None:
    game = Errands(**SPLITS[held + size])
    for seed in range(25):
        state = game.initial_state(seed)
        asked, files = game.statement(state, 0), game.files(state)
        found = re.findall(r"where (.*)\. In the list, (.*)\. The changes in", asked)[0]
        note = files["note.txt"].split("done: ")[1].rstrip(".")
        frame = pd.read_csv(io.StringIO(files["table.csv"]))
        frame = frame[mask_of(frame, found[0])]
        for change in (*found[1].split("; then "), *note.split("; then ")):
            frame = change_of(frame, change)
        wanted = {(row.item, row.amount) for row in game.wanted(state)}
        assert wanted == set(zip(frame["item"], frame["amount"], strict=True))


def structure(order: orders.Order) -> Any:
    """An order without names and numbers: what is compared how, joined how, changed how."""
    parts = [(part.column, part.how) for part in order.condition.parts]
    changes = [(c.kind, c.where.column, c.where.how) for c in (*order.asked, *order.noted)]
    return (*parts, *order.condition.joins, *changes)


@pytest.mark.parametrize(("size", "least"), [("small", 1900), ("medium", 2000), ("large", 2000)])
def test_hardly_two_orders_of_a_split_are_alike(size: str, least: int) -> None:
    game = Errands(**SPLITS[size])
    found = [game.initial_state(seed).order for seed in range(2000)]
    assert len({structure(order) for order in found if order}) >= least


@pytest.mark.parametrize("size", SIZES)
def test_held_out_changes_are_in_no_other_split(size: str) -> None:
    kinds = []
    for split in (size, f"held-out-{size}"):
        found = [Errands(**SPLITS[split]).initial_state(seed).order for seed in range(150)]
        kinds.append({c.kind for order in found if order for c in (*order.asked, *order.noted)})
    assert not kinds[0] & kinds[1]
    assert [len(some) for some in kinds] == [3, 3]


class FirstPart(Careful):
    """Follows the first comparison of the condition alone."""

    def compose(self, position: str, request: str) -> Any:
        return super().compose(
            position, re.sub(r"where \(*(.*?) (?:and|or) .*?\. In", r"where \1. In", request)
        )


@pytest.mark.parametrize(
    ("agent", "least", "most"),
    [(Careful(), 1, 1), (Hasty(), 0.3, 0.9), (FirstPart(), 0.3, 0.9)],
)
@pytest.mark.parametrize("split", ["large", "held-out-large"])
def test_only_who_reads_it_all_is_paid_in_full(
    agent: Careful, least: float, most: float, split: str
) -> None:
    paid = 0.0
    for seed in range(40):
        episode = palestra.Episode(Errands(**SPLITS[split]), seed)
        while not episode.over:
            episode.act({0: agent.choose(Turn(episode, 0))})
        paid += episode.returns[0] / 40
    assert least - 1e-9 <= paid <= most + 1e-9


@pytest.mark.parametrize("file", ["table.csv", "note.txt"])
def test_what_was_not_opened_is_drawn_anew(file: str) -> None:
    game = Errands(**SPLITS["medium"])
    episode = palestra.Episode(game, 5)
    episode.act({0: Open(file)})
    true = game.files(episode.state)
    copies = [game.determinize(episode.state, 0, Rng(n)) for n in range(12)]
    for copy in copies:
        assert game.describe(copy, 0) == game.describe(episode.state, 0)
        assert copy.order is not None
        assert copy.order.fits(copy.table)
    other = ({*true} - {file}).pop()
    assert len({game.files(copy)[other] for copy in copies}) > 8


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_composed_errand_passes_the_conformance_tests(check: str) -> None:
    options = {"kind": "composed", "size": "large", "changes": "rare", "turns": 5}
    verdict = run_check(Subject(registry().environment("tasks/Errands-v0"), options), check)
    assert verdict.status != "failed", verdict.detail


def test_options_of_composed_errands_are_refused_elsewhere() -> None:
    with pytest.raises(InvalidOption, match="kind='composed'"):
        Errands(kind="edit", size="large")
