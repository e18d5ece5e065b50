"""Worded problems that the user brings: folders as the authors of OptiMUS publish them (NLP4LP).

Each problem is a folder, at any depth, with `description.txt`, `solution.json`, whose `objective`
is the optimum, and perhaps `parameters.json` (or `params.json`): the data by name, as plain values
or as objects with `value` and `definition`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption
from palestra.files import UNREADABLE, read_file, read_json

PARAMETERS = ("parameters.json", "params.json")


class Problem(msgspec.Struct, frozen=True):
    """The words of a problem, its data by name, and its optimum."""

    words: str
    data: dict[str, Any]
    optimum: float


@lru_cache(4)
def read_problems(folder: str) -> Mapping[str, Problem]:
    """The problems of a folder by the names of theirs, below it.

    Those whose solution has no finite objective are left out.
    Raises `InvalidOption` for a folder without any, and for a file of another form.
    """
    found: dict[str, Problem] = {}
    for words in sorted(Path(folder).rglob("description.txt")):
        try:
            problem = _read(words)
        except (OSError, TypeError, AttributeError, *UNREADABLE) as error:
            raise InvalidOption(
                f"data={folder!r}: {words.parent} is not as NLP4LP has it "
                f"({type(error).__name__}: {error}); a problem has description.txt, solution.json "
                "with an objective, and perhaps parameters.json"
            ) from error
        if problem is not None:
            found[words.parent.relative_to(folder).as_posix()] = problem
    if not found:
        raise InvalidOption(
            f"data={folder!r} holds no problem: a folder with description.txt, and solution.json "
            "whose objective is a number; bring those of NLP4LP"
        )
    return found


def _read(words: Path) -> Problem | None:
    home = words.parent
    objective = read_json(home / "solution.json", dict[str, Any]).get("objective")
    if not isinstance(objective, int | float) or not math.isfinite(objective):
        return None
    told = [read_file(words).decode("utf-8").strip()]
    kept = next((home / name for name in PARAMETERS if (home / name).is_file()), None)
    data = {}
    for name, one in (read_json(kept, dict[str, Any]) if kept else {}).items():
        described = isinstance(one, dict) and "value" in one
        data[name] = one["value"] if described else one
        if described and one.get("definition"):
            told.append(f"{name}: {one['definition']}")
    return Problem("\n".join(told), data, float(objective))
