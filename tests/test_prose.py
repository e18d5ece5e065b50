"""The pages are in plain English: docs/vocabulary.toml lists the words they do not use."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("plugins/*/README.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/tutorials/*.md"),
        *ROOT.glob("docs/reference/*.md"),
    }
    - {ROOT / "docs" / f"{name}.md" for name in ("catalogue", "rewards", "systems")}  # generated
)
RULES = tomllib.loads((ROOT / "docs" / "vocabulary.toml").read_text("utf-8"))
NOT_PROSE = re.compile(
    r"```.*?^\s*```|`[^`]*`|\]\([^)]*\)|<[^>]+>|\"[^\"\n]*\"|https?://\S+", re.DOTALL | re.MULTILINE
)


def prose(text: str) -> str:
    """The text without code, links and quotations; line numbers stay as they were."""
    return NOT_PROSE.sub(lambda found: "\n" * found[0].count("\n") or "…", text)


def paragraphs(text: str) -> list[str]:
    """Paragraphs and items of lists, without tables and headings."""
    lines = [line for line in prose(text).splitlines() if not line.startswith(("|", "#"))]
    parts = re.split(r"\n\s*\n|\n\s*(?:[*-]|\d+\.) ", "\n".join(lines))
    return [" ".join(part.split()) for part in parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_the_words_of_the_field(page: Path) -> None:
    lines = prose(page.read_text("utf-8")).splitlines()
    found = [
        f"{page.relative_to(ROOT)}:{number}: {match[0]!r}; instead: {instead}"
        for number, line in enumerate(lines, 1)
        for words, instead in RULES["instead"].items()
        for match in re.finditer(rf"(?<![\w./-])(?:{words})(?![\w/-])", line, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_too_long(page: Path) -> None:
    sentences = (
        sentence
        for paragraph in paragraphs(page.read_text("utf-8"))
        for sentence in re.split(r"(?<=[.!?:;]) ", paragraph)
    )
    long = [s for s in sentences if len(s.split()) > RULES["longest_sentence"]]
    assert not long, "\n".join(long)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a `very` b", "a … b"),
        ("a\n```\nvery\n```\nb", "a\n\n\n\nb"),
        ('they say "very" twice', "they say … twice"),
        ("[very](very.md)", "[very…"),
    ],
)
def test_code_and_quotations_are_not_prose(text: str, left: str) -> None:
    assert prose(text) == left
