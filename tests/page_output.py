"""The blocks of a page as a reader runs them, and whether they print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^```(?P<language>python|shell)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
PART = "…"  # some of a line, or alone in its line any number of lines
BETWEEN = "\f"  # what two Python blocks print is divided by this
FORFEITS = ("forfeits:", "'forfeit'", '"forfeit"')


@dataclass(frozen=True)
class Block:
    """A piece of Python or some commands, and the output that the page shows, if it shows any."""

    language: str
    code: str
    shown: str | None


def blocks(page: Path) -> list[Block]:
    """The Python and shell blocks of a page, each with the text block that stands right below."""
    return [Block(**found.groupdict()) for found in BLOCK.finditer(page.read_text("utf-8"))]


def agrees(shown: str, printed: str) -> bool:
    """Whether a program printed what a page shows."""
    lines = [
        r"(?:.*\n)*" if line.strip() == PART else _pattern(line)
        for line in shown.strip("\n").splitlines()
    ]
    ended = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n"
    return re.fullmatch("".join(lines), ended) is not None


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split(PART)) + r"\n"


def check_page(page: Path, folder: Path) -> None:
    """Run a page in an empty folder: commands one by one, all Python as one file, mine.py.

    Fails where a command fails, prints something else than is shown, or a player forfeits.
    """
    found = blocks(page)
    python = [block for block in found if block.language == "python"]
    script = folder / "mine.py"
    script.write_text(f'print("{BETWEEN}")\n'.join(block.code for block in python), "utf-8")
    for block in found:
        if block.language == "shell":
            printed = "".join(_run(folder, *_words(line)) for line in block.code.splitlines())
            _compare(block, printed)
    if python:
        printed = _run(folder, sys.executable, str(script)).split(f"{BETWEEN}\n")
        for block, text in zip(python, printed, strict=True):
            _compare(block, text)
    for record in folder.rglob("episode*.jsonl"):
        _refuse_forfeits(record.read_text("utf-8"), str(record))


def _words(line: str) -> list[str]:
    program, *arguments = line.split()
    assert program == "palestra", f"a reader's command is palestra, not {line}"
    return [sys.executable, "-m", program, *arguments]


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "SDL_VIDEODRIVER": "dummy"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    _refuse_forfeits(done.stdout, said)
    return done.stdout


def _refuse_forfeits(text: str, where: str) -> None:
    assert not any(mark in text for mark in FORFEITS), f"a player forfeits: {where}"


def _compare(block: Block, printed: str) -> None:
    if block.shown is None:
        return
    assert agrees(block.shown, printed), (
        f"the page shows\n{block.shown}\nbelow\n{block.code}\nand it printed\n{printed}"
    )
