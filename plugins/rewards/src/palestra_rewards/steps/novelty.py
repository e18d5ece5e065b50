"""Novelty: states that were seen less often pay more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from zlib import crc32

import numpy as np
from palestra import Meta, Transition, reward

from palestra_rewards.anchors import Anchor, load_anchor
from palestra_rewards.options import Weight


@reward(
    "novelty",
    shape="step",
    paper=(
        "Henaff et al. (2023), A Study of Global and Episodic Bonuses for Exploration in "
        "Contextual MDPs"
    ),
    check="test_novelty_pays_the_inverse_root_of_visits",
    cost="linear in steps",
)
class Novelty:
    """Pays for states seen less often in this play-through, over a lifetime, or both.

    Pays `weight / sqrt(visits)` for the state a step leads to. States are identified by the game's
    anchor for the seat, which leaves out counters, or by the result of the function `of`; with
    `buckets`, by a hash of either (Tang et al., 2017).

    Visits are counted in this play-through ("episode") or since the shaper was made ("lifetime");
    "both" pays the product of the two bonuses. Episodic counts help where levels differ much,
    lifetime counts where they share structure (Henaff et al., "A Study of Global and Episodic
    Bonuses for Exploration in Contextual MDPs", 2023). With lifetime counts, rewards depend on
    earlier play-throughs, not only on the seed and the moves.
    """

    def __init__(
        self,
        *,
        weight: Weight = 1.0,
        scope: Annotated[
            Literal["episode", "lifetime", "both"], Meta(description="which visits count")
        ] = "episode",
        buckets: Annotated[
            int,
            Meta(ge=0, description="number of hashes that states share; 0 keeps all states apart"),
        ] = 0,
        of: Annotated[
            str | Anchor,
            Meta(description="a function of (game, state, seat), or its name as module:function"),
        ] = "",
    ) -> None:
        self.weight, self.scope, self.buckets, self.of = weight, scope, buckets, of
        self._anchor = load_anchor(of) if of else None
        self.episode: dict[Any, int] = {}
        self.lifetime: dict[Any, int] = {}

    def begin(self) -> Novelty:
        twin = self.copy()
        twin.episode = {}
        return twin

    def copy(self) -> Novelty:
        """A copy with its own episodic counts; lifetime counts are shared."""
        twin = Novelty(weight=self.weight, scope=self.scope, buckets=self.buckets, of=self.of)
        twin.episode, twin.lifetime = dict(self.episode), self.lifetime
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        return {"novelty": self.bonus(f"{step.seat}:{self._bucket(self._key(step))}")}

    def _key(self, step: Transition) -> bytes:
        if self._anchor is None:
            return step.game.anchor(step.after, step.seat)
        return repr(self._anchor(step.game, step.after, step.seat)).encode()

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


@reward(
    "elliptical",
    shape="step",
    paper="Henaff et al. (2022), Exploration via Elliptical Episodic Bonuses",
    check="test_the_first_elliptical_bonus_is_the_squared_norm_over_ridge",
    cost="linear in steps",
)
class Elliptical:
    """Pays for directions of the observation that are new in this play-through.

    Pays `f' C^-1 f` for the observation f that a step leads to; C starts as `ridge` times the
    identity.

    C grows by f f' with each visit of the play-through, so that directions seen often pay less.
    The first bonus is |f|² / ridge. Henaff et al. (2022).
    """

    def __init__(
        self,
        *,
        weight: Weight = 1.0,
        ridge: Annotated[float, Meta(gt=0, description="diagonal of the initial covariance")] = 0.1,
    ) -> None:
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
        """The bonus of a feature vector; also updates the covariance with it."""
        inverse = self.inverse.setdefault(seat, np.eye(features.size) / self.ridge)
        turned = inverse @ features
        paid = float(features @ turned)
        inverse -= np.outer(turned, turned) / (1 + paid)
        return paid
