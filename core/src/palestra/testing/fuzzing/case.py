"""A case as data, what was found with it, and the file that keeps the findings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from palestra.files import UNREADABLE

TOO_LONG = "too long"  # the place of a case that is out of time
KINDS = ("options", "actions", "texts", "faults")


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to try on an environment; `palestra.testing.fuzzing.check` tries it.

    `what` is "options", "actions", "texts" or "faults". `options` and `values` are Python
    expressions (see `palestra.testing.fuzzing.values`), so that a case can hold any value and be
    written in a file. `seed` seeds the episode and its random moves, of which `steps` are played.
    `values` are the actions given to `view`, or the texts that are said. A fault, named `fault`,
    happens at call number `at`.
    """

    env: str
    what: str
    seed: int = 0
    steps: int = 0
    options: dict[str, str] = {}
    values: tuple[str, ...] = ()
    view: str = "episode"
    fault: str = ""
    at: int = 1


class Verdict(msgspec.Struct):
    """The result of a case: `problem` is empty if it passed; `place` says where it failed."""

    problem: str = ""
    place: str = ""
    trace: str = ""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case that failed, with what was raised or which rule was broken, and where.

    `shrunk` is whether the case has been made as small as it gets; `first` is the case as drawn.
    """

    case: Case
    problem: str
    trace: str = ""
    shrunk: bool = False
    first: Case | None = None
    number: int = 0  # of the case in the run


def snippet(finding: Finding) -> str:
    """A pytest test that fails as the finding did."""
    case, plain = finding.case, Case(finding.case.env, finding.case.what)
    given = [repr(case.env), repr(case.what)]
    for name in Case.__struct_fields__[2:]:
        value = getattr(case, name)
        if value != getattr(plain, name):
            given.append(f"{name}={value!r}")
    name = "".join(c if c.isalnum() else "_" for c in case.env.lower())
    said = finding.problem.replace("\n", " ")
    return "\n".join(
        [
            "from palestra.testing.fuzzing import Case, check",
            "",
            "",
            f"def test_{case.what}_of_{name}() -> None:",
            f"    # {said[:200].encode('ascii', 'backslashreplace').decode()}",
            f"    check(Case({', '.join(given)}))",
        ]
    )


def append_finding(path: Path, finding: Finding) -> None:
    """Add one line to a file of findings; it is on the disk when this returns."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(finding) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_findings(path: Path) -> Iterator[Finding]:
    """The findings of a file; a last line that was cut off is left out."""
    for line in path.read_bytes().splitlines():
        try:
            yield msgspec.json.decode(line, type=Finding)
        except UNREADABLE:
            return
