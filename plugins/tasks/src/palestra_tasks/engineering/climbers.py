"""Scripted agents of `tasks/FrontierEng-v0`, which know only what the verifier says."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from palestra import Meta, ScriptedAgent, Turn, agent

from palestra_tasks.engineering.bench import FrontierEng, Submit
from palestra_tasks.engineering.designs import DESIGNS

_BEST = re.compile(r"Best feasible design: (\[.*?\])")


@agent("design-climber", kind="search")
class Climber(ScriptedAgent[FrontierEng]):
    """Changes one or all numbers of the best design a little; steps shrink while nothing helps."""

    def __init__(
        self,
        *,
        step: Annotated[
            float, Meta(gt=0, le=1, description="first step, as a share of a number")
        ] = 0.3,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._step = step

    def choose(self, turn: Turn[FrontierEng]) -> Any:
        position = turn.position
        (design,) = [d for d in DESIGNS.values() if position.startswith(d.task)]
        found = _BEST.search(position)
        assert found is not None  # the notes always show a design
        values = json.loads(found[1])
        failed = 0
        for event in turn.transcript:
            if "improved" in event.data:
                failed = 0 if event.data["improved"] else failed + 1
        step = self._step * 0.8**failed
        chosen = self.rng.below(len(values)) if self.rng.below(3) else -1
        for at, value in enumerate(values):
            if chosen not in (-1, at):
                continue
            change = (2 * self.rng.random() - 1 - (0.5 if chosen == at else 0)) * step
            moved = value * (1 + change)
            if at in design.whole:
                jump = self.rng.between(-1, 1) if step < 0.2 else round(moved - value)
                moved = int(value) + jump
            values[at] = min(design.highs[at], max(design.lows[at], moved))
        return Submit(json.dumps(values))
