"""Tutorials and pages run as a reader runs them, and print what they show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from page_exceptions import EVERYWHERE, PAGE_EXCEPTIONS, exceptions_of
from page_output import (
    Block,
    agrees,
    blocks,
    blocks_as_run,
    check_commands,
    check_data,
    check_page,
)

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = sorted(page for page in TUTORIALS.glob("*.md") if page.name != "README.md")
OTHERS = sorted(
    str(page.relative_to(ROOT))
    for page in (
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
        *(path.with_name("README.md") for path in ROOT.glob("*/pyproject.toml")),
        *(path.with_name("README.md") for path in ROOT.glob("plugins/*/pyproject.toml")),
        *ROOT.glob("docs/*.md"),
    )
    if blocks(page)
)
RUN = {"python", "shell"}
DATA = {"toml", "json"}
REFERENCE = sorted(ROOT.glob("docs/reference/*.md"))  # run by test_reference.py
EVERY = [*(str(page.relative_to(ROOT)) for page in (*PAGES, *REFERENCE)), *OTHERS]
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*(?:palestra|pip|python) ", re.MULTILINE)


def test_every_tutorial_is_listed() -> None:
    listed = (TUTORIALS / "README.md").read_text("utf-8")
    assert all(f"({page.name})" in listed for page in PAGES)


@pytest.mark.parametrize("page", EVERY)
def test_every_block_is_run_or_shows_output_or_data(page: str) -> None:
    for block in blocks_as_run(ROOT / page, exceptions_of(page)):
        if block.language in DATA:
            check_data(block)
        elif block.language == "shell":
            check_commands(block)
        elif block.language not in RUN and not block.language.startswith("{"):
            assert block.language == "text", f"is it shell, or text?\n{block.code}"
            assert not COMMAND.search(block.code), f"a command is shell\n{block.code}"


@pytest.mark.parametrize("page", EVERY)
def test_every_block_that_prints_shows_what_it_prints(page: str) -> None:
    found = blocks_as_run(ROOT / page, exceptions_of(page))
    bare = [block.code for block in found if block.prints() and not block.shows()]
    assert not bare, f"{page} shows no output below:\n" + "\n".join(bare)


@pytest.mark.parametrize("part", EVERYWHERE)
def test_every_exception_of_all_pages_is_of_some_command(part: str) -> None:
    found = [b for page in EVERY for b in blocks(ROOT / page) if b.language == "shell"]
    assert any(part in line for block in found for line in block.commands())


@pytest.mark.parametrize("page", sorted(PAGE_EXCEPTIONS))
def test_every_exception_is_of_something_on_its_page(page: str) -> None:
    own = PAGE_EXCEPTIONS[page]
    found = blocks(ROOT / page)
    texts = [line for b in found if b.language == "shell" for line in b.commands()]
    texts += [b.code for b in found if b.language != "shell"]
    for part in (*own.left_out, *own.instead):
        assert any(part in text for text in texts), f"{page} has no {part!r}"


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("one\ntwo\n", "one\ntwo\n", True),
        ("one\n", "one\ntwo\n", False),
        ("one\n…\n", "one\ntwo\nthree\n", True),
        ("one\n…\nfour\n", "one\nfour\n", True),
        ("took …s, 3 games\n", "took 1.5s, 3 games\n", True),
        ("took …s, 3 games\n", "took 1.5s, 4 games\n", False),
        ("a.c\n", "abc\n", False),
        ("1.0 %\n", "1.0\u00a0%\n", True),
        ("", "", True),
        ("", "one\n", False),
    ],
)
def test_shown_output_is_compared_line_by_line(shown: str, printed: str, equal: bool) -> None:
    assert agrees(shown, printed) is equal


@pytest.mark.parametrize(
    "code", ["print(2)", "raise SystemExit(1)", "print(1, 'player_0 forfeits: illegal move')"]
)
def test_a_page_that_does_not_hold_is_found(code: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n```python\n{code}\n```\n\n```text\n1…\n```\n", "utf-8")
    with pytest.raises(AssertionError):
        check_page(page, tmp_path)


@pytest.mark.slow
@pytest.mark.late
@pytest.mark.exhaustive(sample=3)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    assert any(block.shown for block in blocks(page)), "a tutorial shows what one gets"
    check_page(page, tmp_path, exceptions_of(f"docs/tutorials/{page.name}"))


@pytest.mark.slow
@pytest.mark.late
@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize("page", OTHERS)
def test_a_page_with_code_runs(page: str, tmp_path: Path) -> None:
    check_page(ROOT / page, tmp_path, exceptions_of(page))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 6))
def test_the_policy_of_write_a_game_finds_the_move_with_other_seeds(
    seed: int, tmp_path: Path
) -> None:
    game, _, training = [b for b in blocks(TUTORIALS / "write-a-game.md") if b.language == "python"]
    code, count = re.subn(r"\bseed=1\b", f"seed={seed}", training.code)
    assert count == 2, "the environments' seed and the policy's"
    script = tmp_path / "trained.py"
    script.write_text(game.code + code, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert agrees(str(training.shown), done.stdout), done.stdout


def test_blocks_are_read_with_their_output() -> None:
    found = blocks(TUTORIALS / "write-a-game.md")
    assert [block.language for block in found] == ["python"] * 3 + ["shell"]
    assert found[0] == Block("python", found[0].code, None)
    assert found[2].shown == "of five stones, take 1\n"
