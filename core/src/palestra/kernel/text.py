"""Texts that a language model reads, apart from what a Python programmer reads."""

from __future__ import annotations

import re
from pathlib import Path

_OWN_LINE = re.compile(r"^\s*([-*•] |\d+[.)] )|^\s{2,}\S")


def paragraphs(text: str) -> str:
    """A text without its source line breaks: one line a paragraph, list items on lines of their own.

    Paragraphs are separated by blank lines in the source; they follow each other without one.
    """
    lines: list[str] = []
    joining = False
    for line in _dedented(text):
        if not line.strip():
            joining = False
        elif joining and not _OWN_LINE.match(line):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
            joining = True
    return "\n".join(lines)


def _dedented(text: str) -> list[str]:
    lines = text.expandtabs().rstrip().splitlines()
    while lines and not lines[0].strip():
        lines.pop(0)
    margin = min((len(i) - len(i.lstrip()) for i in lines[1:] if i.strip()), default=0)
    return [line[margin:] if number else line.lstrip() for number, line in enumerate(lines)]


def beside(module_file: str, name: str) -> str:
    """The text of a file that lies beside a module: `beside(__file__, "rules.txt")`."""
    return Path(module_file).with_name(name).read_text("utf-8")
