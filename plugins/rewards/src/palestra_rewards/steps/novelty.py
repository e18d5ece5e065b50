"""Novelty: what has been seen less often pays more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from palestra import InvalidOption, Transition

SCOPES = ("episode", "lifetime", "both")


class Novelty:
    """Pays `weight / sqrt(visits)` for the state a step leads to, as its player sees it.

    States are counted by their key, or by one of `buckets` hashes of it (Tang et al., 2017).
    Visits are those of this play-through ("episode"), of all since the shaper was made
    ("lifetime"), or the product of both bonuses. Episodic counts help where levels differ much,
    lifetime counts where they share structure (Henaff et al., "A Study of Global and Episodic
    Bonuses for Exploration in Contextual MDPs", 2023). Lifetime counts outlive a play-through, and
    then its rewards do not follow from its seed and moves alone.
    """

    def __init__(self, *, weight: float = 1.0, scope: str = "episode", buckets: int = 0) -> None:
        if scope not in SCOPES:
            raise InvalidOption(f"scope must be one of {', '.join(SCOPES)}, not {scope!r}")
        if buckets < 0:
            raise InvalidOption(f"buckets must be 0 (exact keys) or more, not {buckets}")
        self.weight, self.scope, self.buckets = weight, scope, buckets
        self.episode: dict[Any, int] = {}
        self.lifetime: dict[Any, int] = {}

    def begin(self) -> Novelty:
        twin = self.copy()
        twin.episode = {}
        return twin

    def copy(self) -> Novelty:
        """Episodic counts of its own; lifetime counts are shared."""
        twin = Novelty(weight=self.weight, scope=self.scope, buckets=self.buckets)
        twin.episode, twin.lifetime = dict(self.episode), self.lifetime
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        key = step.game.state_key(step.after, step.seat)
        return {"novelty": self.bonus(f"{step.seat}:{self._bucket(key)}")}

    def bonus(self, key: str) -> float:
        """Count a visit and pay for it."""
        paid = self.weight
        if self.scope in ("episode", "both"):
            self.episode[key] = self.episode.get(key, 0) + 1
            paid /= self.episode[key] ** 0.5
        if self.scope in ("lifetime", "both"):
            self.lifetime[key] = self.lifetime.get(key, 0) + 1
            paid /= self.lifetime[key] ** 0.5
        return paid

    def _bucket(self, key: bytes) -> str:
        return str(crc32(key) % self.buckets) if self.buckets else key.hex()

    def state(self) -> dict[str, Any]:
        return {"lifetime": dict(self.lifetime)}

    def load(self, state: Mapping[str, Any]) -> None:
        self.lifetime.clear()
        self.lifetime.update({str(key): int(seen) for key, seen in state["lifetime"].items()})


class Elliptical:
    """Pays `f' C^-1 f` for the observation f a step leads to; C starts as `ridge` times identity.

    C grows by f f' with each visit of the play-through, so that directions seen often pay less.
    The first bonus is |f|² / ridge. Henaff et al. (2022).
    """

    def __init__(self, *, weight: float = 1.0, ridge: float = 0.1) -> None:
        if ridge <= 0:
            raise InvalidOption(f"ridge must be above 0, not {ridge}")
        self.weight, self.ridge = weight, ridge
        self.inverse: dict[int, Any] = {}

    def begin(self) -> Elliptical:
        return Elliptical(weight=self.weight, ridge=self.ridge)

    def copy(self) -> Elliptical:
        twin = self.begin()
        twin.inverse = {seat: matrix.copy() for seat, matrix in self.inverse.items()}
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        seen = np.asarray(step.game.observe(step.after, step.seat), dtype=np.float64).ravel()
        return {"elliptical": self.weight * self.bonus(step.seat, seen)}

    def bonus(self, seat: int, features: Any) -> float:
        """The bonus of a feature vector, and the update that its visit means."""
        inverse = self.inverse.setdefault(seat, np.eye(features.size) / self.ridge)
        turned = inverse @ features
        paid = float(features @ turned)
        inverse -= np.outer(turned, turned) / (1 + paid)
        return paid
