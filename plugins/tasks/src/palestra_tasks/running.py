"""Programs that a model wrote, run in the sandbox; equal runs of one process are made once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from palestra import InvalidAction, InvalidOption
from palestra.sandbox import TOO_LONG, Limits, run_program, unguarded_system

LONGEST_PROGRAM = 20_000  # characters


@dataclass(frozen=True, slots=True)
class Run:
    """One value of a program's function, or the reason why there is none."""

    value: Any = None
    error: str = ""
    reported: Any = None  # the last value that the program passed to report()
    lines: int = 0  # that it executed; 0 if it was stopped for its time

    @property
    def too_long(self) -> bool:
        """Whether it was stopped for its time, and not for what it did."""
        return self.error == TOO_LONG


def require_sandbox() -> None:
    """Raise `InvalidOption` where programs cannot run."""
    if why := unguarded_system():
        raise InvalidOption(f"this environment runs programs: {why}")


def run(code: str, function: str, *arguments: Any, limits: Limits) -> Run:
    """Call `function` of a program once; what it passes to report() counts if it is stopped."""
    return _run(code, function, json.dumps(arguments), limits)


@lru_cache(maxsize=4096)
def _run(code: str, function: str, arguments: str, limits: Limits) -> Run:
    reports: list[Any] = [None]

    def report(value: Any) -> None:
        reports[0] = value

    try:
        ran = run_program(
            code,
            function=function,
            arguments=[json.loads(arguments)],
            tools={"report": report},
            limits=limits,
        )
    except InvalidAction as error:
        return Run(error=f"the program is refused: {error.why}")
    value = None if ran.error else ran.values[0]
    return Run(value, ran.error, reports[0], ran.lines)
