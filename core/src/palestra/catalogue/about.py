"""What docstrings say is checked against answers from elsewhere, and what they say is left out."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

from palestra.kernel.specs import load_entry_point

LABEL = re.compile(r"(?<![\w`(] )\b(Checked\b|Left out(?=:))")  # at the start of a sentence


class About(NamedTuple):
    """What the docstrings of a module and its class or function say, by what it is about."""

    prose: str
    checked: str  # answers from elsewhere that the rules agree with
    left_out: str  # what the source has and the game has not


def about(entry_point: str) -> About:
    """The docstrings of what a declaration names, and of its module.

    `checked` and `left_out` are the texts from a sentence that begins with "Checked" or "Left out:"
    to the end of its paragraph. The class's summary is dropped, since the module's begins the page.
    """
    kind = load_entry_point(entry_point)
    module, own = inspect.getdoc(inspect.getmodule(kind)) or "", inspect.getdoc(kind) or ""
    rest = own.partition("\n\n")[2] if module else own
    found: dict[str, list[str]] = {"": [], "Checked": [], "Left out": []}
    for paragraph in f"{module}\n\n{rest}".split("\n\n"):
        prose, *labelled = LABEL.split(paragraph)
        found[""].append(prose.rstrip())
        for label, text in zip(labelled[::2], labelled[1::2], strict=True):
            found[label].append(f"{label}{text}".strip())
    return About(*("\n\n".join(part for part in parts if part) for parts in found.values()))
