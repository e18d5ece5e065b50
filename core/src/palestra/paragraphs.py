"""Texts that players read, separate from docstrings for Python programmers."""

from __future__ import annotations

import re
from pathlib import Path

_ITEM = re.compile(r"\s*([-*•] |\d+[.)] )")


def paragraphs(text: str) -> str:
    """A text without its source line breaks: one line per paragraph and per list item.

    Paragraphs are separated by blank lines in the source, and follow each other without one; a
    blank line ends a list too. An indented line that continues no list item stands by itself.
    """
    lines: list[str] = []
    item = joining = False
    for line in _dedent_lines(text):
        indented = line.startswith(" ")
        if not line.strip():
            item = joining = False
        elif _ITEM.match(line):
            lines.append(line.strip())
            item = joining = True
        elif joining and (item or not indented):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
            item, joining = False, not indented
    return "\n".join(lines)


def _dedent_lines(text: str) -> list[str]:
    lines = text.expandtabs().rstrip().splitlines()
    while lines and not lines[0].strip():
        lines.pop(0)
    margin = min((len(i) - len(i.lstrip()) for i in lines[1:] if i.strip()), default=0)
    return [line[margin:] if number else line.lstrip() for number, line in enumerate(lines)]


def beside(module_file: str, name: str) -> str:
    """The text of a file that lies in a module's folder: `beside(__file__, "rules.txt")`.

    module_file: the module's `__file__`. name: the file's name.
    """
    return Path(module_file).with_name(name).read_text("utf-8")
