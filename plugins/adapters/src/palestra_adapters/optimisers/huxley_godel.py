"""Huxley-Gödel search: what a variant's descendants achieve decides which variant is changed next.

Wang et al., "Huxley-Gödel Machine: Human-Level Coding Agent Development by an Approximation of the
Optimal Self-Improving Machine", 2025. A clade is a variant with all its descendants. Its
metaproductivity is estimated by the pooled successes and failures of the clade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import Meta, Rng

from palestra_adapters.optimisers.mutations import mutate
from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.optimisers.wording import FORM
from palestra_adapters.workflows.steps import Workflow

IMPROVE = (
    "You improve an agent for this game. It is:\n\n{agent}\n\nAn episode in which it did badly:\n"
    "{story}\n\nFind out what about the agent made it play so, and change the agent so that it "
    "plays better in all episodes, not only in this one.\n{form}"
)
FINE, COARSE = 20_001, 1_001  # points at which a density is summed


@dataclass(frozen=True, slots=True)
class SuccessCounts:
    """Successes and failures; a return between the worst and the best counts in part as each."""

    successes: float = 0.0
    failures: float = 0.0

    def __add__(self, other: SuccessCounts) -> SuccessCounts:
        return SuccessCounts(self.successes + other.successes, self.failures + other.failures)

    @property
    def trials(self) -> float:
        return self.successes + self.failures

    @property
    def mean(self) -> float:
        """The share of successes, 0 without trials."""
        return self.successes / self.trials if self.trials else 0.0


class HuxleyGodel(Search):
    """A new variant whenever trials ** `alpha` is at least the number of variants, else a trial.

    The variant to change is drawn by Thompson sampling from the counts of clades, the variant to
    try (on `batch` episodes) from variants' own counts. The search returns the variant with the
    highest `quantile` of its posterior. mutator: "model" writes the change after reading an episode
    that went badly; "random" changes a field, adds or removes a step, without a model.
    """

    name = "huxley-godel"
    paper = "Huxley-Gödel Machine (2025)"

    def __init__(
        self,
        *,
        alpha: Annotated[float, Meta(gt=0, le=1, description="growth of the tree")] = 0.6,
        batch: Annotated[int, Meta(ge=1, description="episodes of one trial")] = 1,
        quantile: Annotated[float, Meta(gt=0, lt=1, description="of the final choice")] = 0.1,
        variants: Annotated[int, Meta(ge=1, description="variants at most")] = 200,
        mutator: Annotated[
            Literal["model", "random"], Meta(description="what changes a variant")
        ] = "model",
        clades: Annotated[bool, Meta(description="false: by the variant's own counts")] = True,
    ) -> None:
        self._alpha, self._batch, self._quantile = alpha, batch, quantile
        self._most, self._mutator, self._clades = variants, mutator, clades

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        studio.add(start)
        while True:
            own = tallies(studio)
            trials = sum(tally.trials for tally in own.values())
            open_ = [v for v in studio.archive if v.episodes < studio.train]
            grows = trials**self._alpha >= len(studio.archive) and len(studio.archive) < self._most
            grown = False
            if grows:
                counts = clade_tallies(studio.archive, own) if self._clades else own
                grown = yield from self._grow(studio, thompson(counts, studio.rng))
            if not grown:
                if not open_:
                    return
                drawn = thompson({v.number: own[v.number] for v in open_}, studio.rng)
                yield from studio.play(studio.archive[drawn], self._batch)

    def _grow(self, studio: Studio, number: int) -> Searching[bool]:
        """Whether a changed copy of a variant was added to the archive."""
        parent = studio.archive[number]
        if self._mutator == "random":
            changed = mutate(parent.workflow, studio.rng)
            if studio.known(changed):
                return False
            studio.add(changed, [parent], "mutated")
            return True
        worst = min(parent.played, key=lambda one: one.returns, default=None)
        story = worst.story if worst else "It has not been played."
        prompt = IMPROVE.format(agent=studio.shown(parent), story=story, form=FORM)
        return (yield from studio.propose(prompt, [parent], "improved")) is not None

    def choose(self, studio: Studio) -> Variant:
        own = tallies(studio)
        return max(
            studio.archive,
            key=lambda v: (lower_quantile(own[v.number], self._quantile), -v.number),
        )


def tallies(studio: Studio) -> dict[int, SuccessCounts]:
    """Every variant's own counts, by number."""
    found = {}
    for variant in studio.archive:
        worths = studio.worths(variant)
        found[variant.number] = SuccessCounts(sum(worths), len(worths) - sum(worths))
    return found


def clade_tallies(
    archive: Sequence[Variant], own: Mapping[int, SuccessCounts]
) -> dict[int, SuccessCounts]:
    """Every variant's counts pooled with those of all its descendants, by number.

    The mean of a pooled tally is the estimate of the clade's metaproductivity.
    """
    pooled = dict(own)
    for variant in reversed(archive):  # children come after their parents
        for parent in variant.parents[:1]:
            pooled[parent] = pooled[parent] + pooled[variant.number]
    return pooled


def thompson(counts: Mapping[int, SuccessCounts], rng: Rng) -> int:
    """The number whose draw from Beta(1 + successes, 1 + failures) is highest."""
    return max(counts, key=lambda n: (lower_quantile(counts[n], rng.random(), COARSE), -n))


def lower_quantile(tally: SuccessCounts, share: float, points: int = FINE) -> float:
    """A quantile of Beta(1 + successes, 1 + failures), by summing the density at `points`."""
    x, log_x, log_rest = _grid(points)
    logs = tally.successes * log_x + tally.failures * log_rest
    mass = np.cumsum(np.exp(logs - logs.max()))
    return float(x[np.searchsorted(mass, share * mass[-1])])


@lru_cache(maxsize=4)
def _grid(points: int) -> tuple[NDArray[np.float64], ...]:
    """Points inside (0, 1), and the logarithms of them and of what is left to 1."""
    x = np.linspace(0.0, 1.0, points)[1:-1]
    return x, np.log(x), np.log1p(-x)
