"""The conformance kit finds defects of one line in real games, and names the cause."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copy

import palestra
import pytest
from kit_defects import Defect, arrays, hidden, kept, newcomers, simultaneous, teams, text
from palestra.testing.kit import run_check
from palestra.testing.subject import Subject

KINDS = {
    "text": text.DEFECTS,
    "arrays": arrays.DEFECTS,
    "hidden": (*hidden.DEFECTS, *kept.DEFECTS),
    "simultaneous": simultaneous.DEFECTS,
    "teams": teams.DEFECTS,
    "newcomers": newcomers.DEFECTS,
}
SPECS = {spec.id: spec for spec in palestra.specs()}


@pytest.fixture
def faulty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """The game with its defect, from a module of its own."""
    defect: Defect = request.param
    spec = SPECS[defect.game]
    module, _, name = spec.entry_point.partition(":")
    source = Path(str(importlib.import_module(module).__file__)).read_text("utf-8")
    assert source.count(defect.line) == 1, f"{defect.line!r} is not in {module} once"
    path = tmp_path / "faulty_game.py"
    path.write_text(source.replace(defect.line, defect.made), "utf-8")
    for map_file in Path(str(sys.modules[module].__file__)).parent.glob("*.txt"):
        copy(map_file, tmp_path)
    found = importlib.util.spec_from_file_location("faulty_game", path)
    assert found is not None
    assert found.loader is not None
    made = sys.modules["faulty_game"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    yield Subject(replace(spec, entry_point=f"faulty_game:{name}"), dict(defect.options))
    del sys.modules["faulty_game"]


def cases(kind: str) -> Iterator[object]:
    for number, defect in enumerate(KINDS[kind]):
        yield pytest.param(defect, defect, id=f"{kind}-{number}-{defect.game.partition('/')[2]}")


@pytest.mark.filterwarnings("ignore:.*options")  # of copies, which lie in no package
@pytest.mark.parametrize(
    ("faulty", "defect"), [case for kind in KINDS for case in cases(kind)], indirect=["faulty"]
)
def test_a_defect_is_found_and_its_cause_named(faulty: Subject, defect: Defect) -> None:
    verdict = run_check(faulty, defect.check)
    assert verdict.status == "failed", f"{defect.made} passes {defect.check}"
    assert defect.says in verdict.detail


FEWEST_DEFECTS, FEWEST_GAMES = 3, 6  # of a game; of a kind
NEWCOMERS_JOIN = 4  # games of the catalogue in which people join late


@pytest.mark.parametrize("kind", KINDS)
def test_the_defects_of_a_kind_are_of_many_games(kind: str) -> None:
    games = Counter(defect.game for defect in KINDS[kind])
    several = [game for game, count in games.items() if count >= FEWEST_DEFECTS]
    assert len(several) >= (NEWCOMERS_JOIN if kind == "newcomers" else FEWEST_GAMES), games


def test_the_defects_are_of_many_games_and_many_checks() -> None:
    defects = [defect for kind in KINDS.values() for defect in kind]
    assert len({(d.game, d.line, d.made) for d in defects}) == len(defects) >= 200
    assert len({d.game for d in defects}) >= 28
    assert len(Counter(d.check for d in defects)) >= 16
