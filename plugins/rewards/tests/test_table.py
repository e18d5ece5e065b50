"""The documented table, the command that writes it, and the checks it names."""

from __future__ import annotations

import re
from pathlib import Path

import palestra
import pytest
from palestra.catalogue.describe import described_parameters
from palestra.cli import main
from palestra.kernel.specs import load_entry_point
from palestra_rewards import entries, entry
from palestra_rewards.chain import accepted_options
from palestra_rewards.command import END, START, with_table
from palestra_rewards.estimators.canon import METRICS
from palestra_rewards.needs import NEEDS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "rewards.md"


def test_the_documented_table_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert with_table(page) == page, "run: palestra rewards --write docs/rewards.md"


def test_every_check_of_the_table_is_a_test() -> None:
    sources = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    tests = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    assert [e.name for e in entries() if e.check not in tests] == []


def test_every_need_can_be_explained() -> None:
    of_metrics = set(METRICS.values())
    assert {need for entry in entries() for need in entry.needs} | of_metrics == set(NEEDS)


@pytest.mark.parametrize("name", [entry.name for entry in entries()])
def test_every_plain_option_is_described(name: str) -> None:
    found = load_entry_point(entry(name).entry_point)
    given = {  # objects that a caller makes; the entry's need says how
        option
        for option in accepted_options(found)
        for need in entry(name).needs
        if f"{option}=" in NEEDS[need].how
    }
    plain = [spec for spec in described_parameters(found) if spec.name in accepted_options(found)]
    named = {"scores", "scale", "judge", "prefer", "final", "metrics", "expert", "reference"}
    silent = {spec.name for spec in plain if not spec.description}
    assert silent <= given | named


def run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as done:
        main(list(arguments))
    assert not done.value.code


def test_the_command_lists_and_filters(capsys: pytest.CaptureFixture[str]) -> None:
    run("rewards", "--shape", "group", "--needs", "state keys")
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:1].strip()]
    assert {"gigpo", "salt"} <= set(names)
    assert "grpo" not in names


def test_the_command_writes_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    run("rewards", "--write", str(page))
    written = page.read_text("utf-8")
    assert written.startswith(f"before\n{START}\n")
    assert written.endswith(f"{END}\nafter\n")
    assert "| `gigpo` |" in written


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(palestra.InvalidOption, match="marks"):
        with_table("nothing here")
