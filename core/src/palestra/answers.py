"""Parsing the move that a player stated, and nothing else.

An answer states its move on its last line: the move alone, after a label ("Move: …"), in a box or
in tags (`palestra.stating`). What cannot change the meaning is allowed around a move: spaces,
square brackets, a pair of quotation marks or back-ticks, asterisks, underscores, one full stop, and
another case if the game's moves differ by more than case. Prose and thoughts are never searched for
a legal move, nor are lists, quotations and lines that a speaker begins ("player_1: …") or that
introduce something else ("They played:"): an answer that states none is refused.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from palestra.stating import LABEL, THOUGHTS, introduced_otherwise, plain_digits, undressed

LONGEST_ANSWER = 100_000  # characters; a longer answer is not parsed
FORM = "write the move alone on the last line, or after 'Move:'"

THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|scratchpad)\b[^<>]*>", re.I)
_ITEM = re.compile(r"[*_+•–-]\s|\d+[.)]\s|[>|]")  # one of several, perhaps, or a quotation
_OWN = re.compile(rf"^[*_]*(?:{'|'.join(THOUGHTS)})[*_]*:", re.I)
_AROUND = "*_ \t"
_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’"}


def said(text: str) -> str:
    """What follows the last thought in tags such as `<think>`; empty if one is not closed."""
    tags = list(THOUGHT.finditer(text))
    if not tags:
        return text
    return text[tags[-1].end() :] if tags[-1][1] else ""


def stated_moves(text: str, moves: Container[str] = ()) -> list[str]:
    """The moves an answer may state, the most literal reading first; `moves` are the legal ones.

    Empty if the line above introduces what follows as something else: "They played:".
    """
    lines = [line.strip() for line in undressed(said(text[-LONGEST_ANSWER:])).splitlines()]
    while lines and not lines[-1].strip("`"):  # empty, or the end of a code fence
        lines.pop()
    line = lines.pop() if lines else ""
    item, found = _ITEM.match(line) is not None, LABEL.search(line)
    labelled = found if found and not (item or _reports(line[: found.start()])) else None
    if introduced_otherwise(lines, moves, explicit=labelled is not None):
        return []
    readings = [line, labelled["move"]] if labelled else [line]
    return readings if item else [form for reading in readings for form in _bare(reading)]


def _reports(before: str) -> bool:
    """Whether the words before a label give what follows to another speaker: "player_1: Ha. "."""
    spoken = re.sub("[“”]", '"', _OWN.sub("", before))
    return ":" in spoken or any(spoken.count(mark) % 2 for mark in '"`')


def _strip_marks(move: str) -> str:
    """A move without the spaces and asterisks around it, and without marks that are in pairs."""
    move = move.strip(_AROUND)
    while 1 < len(move) < 10_000 and _PAIRS.get(move[0]) == move[-1]:  # it is quadratic
        move = move[1:-1].strip(_AROUND)
    return move


def _bare(move: str) -> list[str]:
    """A move with what may surround it removed step by step."""
    move = " ".join(plain_digits(move).split())
    forms, stops = [move], 1
    for _ in range(3):  # such as **[4].**
        move = _strip_marks(move)
        if stops and move.endswith("."):  # one; three leave something unsaid
            move, stops = _strip_marks(move[:-1]), 0
        if move.startswith("[") and move.endswith("]") and "[" not in move[1:]:
            move = move[1:-1].strip()
        if move in forms:
            break
        forms.append(move)
    return forms


def find_stated(text: str, moves: Mapping[str, int]) -> int | None:
    """The number of the legal move that an answer states; None if it states none of `moves`."""
    folded: dict[str, list[int]] = {}
    for name, number in moves.items():
        folded.setdefault(" ".join(name.casefold().split()), []).append(number)
    for form in stated_moves(text, moves):
        if form in moves:
            return moves[form]
        same = folded.get(form.casefold(), [])
        if len(same) == 1:
            return same[0]
    return None
