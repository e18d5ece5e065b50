"""Another shaper's rewards, weighted by the progress of training."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from palestra import Meta, Transition, reward
from palestra.shaping import Remembering, Shaper, is_potential_based, load_shaper


@reward(
    "schedule",
    shape="step",
    paper="Reward-function schedules, as in Reward Design for RL Agents (2025)",
    check="test_a_schedule_goes_from_start_to_end",
    cost="linear in steps",
)
class Schedule:
    """Another shaper's rewards, faded in or out over play-throughs.

    Multiplies the terms of shaper `of` by a weight that goes from `start` to `end`.

    The weight reaches `end` `over` play-throughs after the first; "linear" moves evenly, "step"
    switches at that point.
    """

    def __init__(
        self,
        *,
        of: Annotated[str, Meta(description="the other shaper, with its options")],
        start: Annotated[float, Meta(description="the weight at first")] = 1.0,
        end: Annotated[float, Meta(description="the weight at last")] = 0.0,
        over: Annotated[
            int, Meta(ge=1, description="play-throughs from first to last weight")
        ] = 100,
        form: Annotated[
            Literal["linear", "step"], Meta(description="evenly, or all at once")
        ] = "linear",
    ) -> None:
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

    @property
    def potential_based(self) -> bool:
        return is_potential_based(self.inner)

    def __call__(self, step: Transition) -> dict[str, float]:
        return {name: self.weight * value for name, value in self.inner(step).items()}


def weight_at(played: int, *, start: float, end: float, over: int, form: str) -> float:
    """The weight after so many play-throughs."""
    share = min(played / over, 1.0) if form == "linear" else float(played >= over)
    return start + (end - start) * share
