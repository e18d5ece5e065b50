"""Rules of a game that raise at one of their calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import palestra
import pytest

TALK = "text/Negotiation-v0"
METHODS = (
    *("initial", "opening", "to_act", "legal", "is_legal", "parse", "step", "outcome", "clone"),
    *("describe", "rules_for", "scene", "narrate", "forfeit", "noop", "sample", "action_text"),
    *("observe", "action_mask", "legal_text", "legal_texts", "state_key", "determinize"),
)


class Bug(Exception):
    """What the rules raise."""


class Fault:
    """Counts calls of the rules, and raises at one of them; 0 is none."""

    def __init__(self) -> None:
        self.at, self.calls, self.name = 0, 0, ""
        self.within: set[str] = set()  # names of the functions that were running

    def arm(self, at: int) -> None:
        self.at, self.calls = at, 0

    def call(self, name: str) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.name, self.within = name, _functions()
            raise Bug(f"in {name}")


def break_rules(env: str, monkeypatch: pytest.MonkeyPatch) -> Fault:
    """Send every call of an environment's rules through a fault."""
    fault, kind = Fault(), type(palestra.game(env))

    def through(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any, **more: Any) -> Any:
            fault.call(name)
            return method(self, *arguments, **more)

        return call

    for name in METHODS:
        if callable(method := getattr(kind, name, None)):
            monkeypatch.setattr(kind, name, through(name, method))
    return fault


def _functions() -> set[str]:
    frame: FrameType | None = sys._getframe(1)
    names = set[str]()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return names
