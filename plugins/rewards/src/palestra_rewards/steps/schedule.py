"""Another shaper's rewards, weighted by how far training has come."""

from __future__ import annotations

from typing import Any

from palestra import InvalidOption, Transition
from palestra.shaping import Remembering, Shaper, load_shaper

FORMS = ("linear", "step")


class Schedule:
    """Multiplies the terms of shaper `of` by a weight from `start` to `end` over play-throughs.

    `over` play-throughs after the first the weight is `end`; "linear" goes there evenly, "step"
    all at once.
    """

    def __init__(
        self,
        *,
        of: str,
        start: float = 1.0,
        end: float = 0.0,
        over: int = 100,
        form: str = "linear",
    ) -> None:
        if over < 1:
            raise InvalidOption(f"over must be at least 1 play-through, not {over}")
        if form not in FORMS:
            raise InvalidOption(f"form must be one of {', '.join(FORMS)}, not {form!r}")
        self.of = of
        self.fade: dict[str, Any] = {"start": start, "end": end, "over": over, "form": form}
        self.inner: Shaper = load_shaper(of)
        self.begun = 0
        self.weight = start

    def begin(self) -> Schedule:
        twin = Schedule(of=self.of, **self.fade)
        twin.weight = weight_at(self.begun, **self.fade)
        self.begun += 1
        twin.inner = self.inner.begin() if isinstance(self.inner, Remembering) else self.inner
        return twin

    def copy(self) -> Schedule:
        twin = Schedule(of=self.of, **self.fade)
        twin.weight, twin.begun = self.weight, self.begun
        twin.inner = self.inner.copy() if isinstance(self.inner, Remembering) else self.inner
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        return {name: self.weight * value for name, value in self.inner(step).items()}


def weight_at(played: int, *, start: float, end: float, over: int, form: str) -> float:
    """The weight after so many play-throughs."""
    share = min(played / over, 1.0) if form == "linear" else float(played >= over)
    return start + (end - start) * share
