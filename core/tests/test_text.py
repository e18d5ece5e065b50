"""Texts that models read: rendered without source line breaks, item by item."""

from __future__ import annotations

import pytest
from palestra.paragraphs import paragraphs


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("One\nparagraph.", "One paragraph."),
        ("\n    One\n    paragraph.\n\n    Another\n    one.\n", "One paragraph.\nAnother one."),
        (
            "List:\n- a\n- b\n  goes on\n- c goes\non\n\nEnd.",
            "List:\n- a\n- b goes on\n- c goes on\nEnd.",
        ),
        ("List:\n\n1. a\n2) b\n\nAfter\nit.", "List:\n1. a\n2) b\nAfter it."),
        ("A table:\n    1 2\n    3 4\nEnd\nof it.", "A table:\n1 2\n3 4\nEnd of it."),
    ],
)
def test_source_line_breaks_are_not_read(source: str, read: str) -> None:
    assert paragraphs(source) == read
