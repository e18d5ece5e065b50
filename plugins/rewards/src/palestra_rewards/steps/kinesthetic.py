"""Lucy-SKG's reward components: functions of distance and direction, combined during play.

Moschopoulos et al., "Lucy-SKG: Learning to Play Rocket League Efficiently Using Deep Reinforcement
Learning" (2023); `nearness` generalises the distance reward of Liu et al. (2022).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from palestra import InvalidOption, Meta, Transition, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.terms import combine

SHADES = " ·░▒▓█"


@reward(
    "krc-step",
    shape="step",
    paper="Lucy-SKG: Learning to Play Rocket League Efficiently (2023)",
    check="test_terms_are_combined_while_playing",
)
def krc_step(
    step: Transition,
    *,
    parts: Annotated[str, Meta(description="names of the terms, joined by +; all by default")] = "",
) -> dict[str, float]:
    """Signed geometric mean of the game's own named terms of each step; leave out `env`.

    Kinesthetic reward combination as in the shaper `krc`, which reads whole records.
    """
    own, known = step.paid or {}, step.game.reward_terms
    names = [name for name in parts.split("+") if name] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidOption(
            f"this game pays no term {unknown[0]!r}; its terms are {', '.join(known)}"
        )
    return {"krc": float(combine(floats([[own.get(name, 0.0) for name in names]]))[0])}


def nearness(
    distance: Any, *, scale: float = 1.0, dispersion: float = 1.0, density: float = 1.0
) -> Floats:
    """`exp(-distance / (2 scale dispersion)) ^ (1 / density)`: 1 at no distance, falling to 0.

    A larger `dispersion` widens the shape, and a larger `density` raises it; with both 1 it is the
    distance reward of Liu et al. (2022). distance: any shape, not negative. The authors' library
    (lucy-utils) takes the largest speed as `scale`: 6000 for the ball and 2300 for a car.
    """
    far = floats(distance)
    if min(scale, dispersion, density) <= 0 or (far < 0).any():
        raise InvalidOption(
            "scale, dispersion and density must be above 0, and distances 0 or more"
        )
    return floats(np.exp(-0.5 * far / (scale * dispersion)) ** (1 / density))


def signed_nearness(
    distance: Any, *, scale: float = 1.0, dispersion: float = 1.0, density: float = 1.0
) -> Floats:
    """`2 nearness - 1`, from 1 at no distance towards -1, with `density` raising its size."""
    share = 2 * nearness(distance, scale=scale, dispersion=dispersion) - 1
    if density <= 0:
        raise InvalidOption(f"density must be above 0, not {density}")
    return floats(np.abs(share) ** (1 / density) * np.sign(share))


def alignment(towards: Any, facing: Any) -> Floats:
    """The cosine between two vectors, from -1 to 1, along the last axis; 0 for a zero vector."""
    one, other = floats(towards), floats(facing)
    length = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    dot = (one * other).sum(axis=-1)
    return floats(np.divide(dot, length, out=np.zeros_like(length), where=length > 0))


def heat_map(of: Callable[[float, float], float], columns: int, rows: int) -> Floats:
    """A reward at the middle of each cell of a plane, shape (rows, columns); row 0 is at y = 0."""
    if columns < 1 or rows < 1:
        raise InvalidOption(f"columns and rows must be at least 1, not {columns} and {rows}")
    return floats([[of(x + 0.5, y + 0.5) for x in range(columns)] for y in range(rows)])


def shade_heat_map(values: Floats) -> str:
    """A heat map as text, from the least value (a space) to the greatest (a full block)."""
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low or 1.0)
    places = np.minimum((share * len(SHADES)).astype(int), len(SHADES) - 1)
    return "\n".join("".join(SHADES[place] for place in row) for row in places)
