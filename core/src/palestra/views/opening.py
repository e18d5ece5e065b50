"""What views that may be asked for words or for pictures accept."""

from __future__ import annotations

from palestra.kernel.errors import UnknownName

OBSERVATIONS = ("array", "text")
RENDER_MODES = ["human", "rgb_array", "ansi"]


def check_obs(obs: str) -> str:
    if obs not in OBSERVATIONS:
        raise UnknownName("observation kind", obs, OBSERVATIONS)
    return obs
