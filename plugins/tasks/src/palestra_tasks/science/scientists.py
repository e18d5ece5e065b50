"""Scripted scientists and novices of `tasks/BoxingGym-v0`."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
from palestra import Meta, Rng, ScriptedAgent, Turn, agent
from palestra.files import UNREADABLE
from palestra.quoting import unquote

from palestra_tasks.science.boxing import (
    PARTICLES,
    BoxingGym,
    Experiment,
    Explain,
    Predict,
    particles_of,
)
from palestra_tasks.science.information import Trial, information_gain, posterior
from palestra_tasks.science.models import MODELS, Model

_QUERY = re.compile(r"the design (\[.*?\])")


def model_of(position: str) -> Model:
    """The model that a position describes."""
    return next(
        m for m in MODELS.values() if position.startswith((f"{m.story}\n", f"{m.plain}\n- number"))
    )


def trials_of(turn: Turn[BoxingGym]) -> list[Trial]:
    """The experiments that a seat has seen."""
    seen = [event.data for event in turn.transcript if "outcome" in event.data]
    return [(tuple(data["design"]), data["outcome"]) for data in seen]


@agent("boxing-bayes", kind="solver")
class BayesScientist(ScriptedAgent[BoxingGym]):
    """Knows the model's prior: chooses informative designs and predicts the posterior mean.

    To a novice it writes the mean and standard deviation of the unknowns, which a novice of the
    same kind reads.
    """

    def __init__(
        self,
        *,
        tries: Annotated[
            int, Meta(ge=1, le=200, description="random designs to choose from; 1: at random")
        ] = 20,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._tries = tries

    def choose(self, turn: Turn[BoxingGym]) -> Any:
        position = turn.position
        model = model_of(position)
        thetas = particles_of(model.name)
        if "Query" in position:
            return self._predict(turn, model, position)
        weights = posterior(model, thetas, trials_of(turn))
        if "Explain the world now." in position:
            return Explain(json.dumps([round(float(x), 4) for x in weights @ thetas]))
        designs = [model.draw_design(self.rng) for _ in range(self._tries)]
        best = max(designs, key=lambda d: information_gain(model, thetas, weights, d))
        return Experiment(json.dumps(list(best)))

    def _predict(self, turn: Turn[BoxingGym], model: Model, position: str) -> Predict:
        design = tuple(json.loads(_QUERY.findall(position)[-1]))
        told = re.search(r"The scientist's explanation: (.*)", position)
        if told:
            return Predict(repr(self._from_words(model, told[1], design)))
        thetas = model.particles(4 * PARTICLES, 1)
        weights = posterior(model, thetas, trials_of(turn))
        return Predict(f"{float(weights @ model.expected(thetas, design)):.6g}")

    def _from_words(self, model: Model, told: str, design: Any) -> float:
        """The outcome under the unknowns in an explanation; the prior's mean without any."""
        found = math.nan
        said = unquote(told) if told.startswith('"') else told
        with suppress(*UNREADABLE, OverflowError), np.errstate(all="ignore"):
            theta = np.array([json.loads(said)], np.float64)
            found = float(model.expected(theta, design)[0])
        if not math.isfinite(found):
            found = float(model.expected(particles_of(model.name), design).mean())
        return round(found, 6)


@agent("boxing-prior", kind="scripted")
class PriorScientist(ScriptedAgent[BoxingGym]):
    """Learns nothing: runs random designs and always predicts the mean of the prior."""

    def choose(self, turn: Turn[BoxingGym]) -> Any:
        position = turn.position
        model = model_of(position)
        if "Query" in position:
            design = tuple(json.loads(_QUERY.findall(position)[-1]))
            expected = model.expected(particles_of(model.name), design)
            return Predict(f"{float(expected.mean()):.6g}")
        if "Explain the world now." in position:
            return Explain("I have learned nothing.")
        return Experiment(json.dumps(list(model.draw_design(Rng(self.rng.word())))))
