"""A Gymnasium environment whose `render` is the real page."""

from __future__ import annotations

import io
from typing import Any

import gymnasium
import numpy as np
from palestra.views.gym import GymView

from palestra_web.chromium import Chromium
from palestra_web.mirror import Mirror


class InBrowser(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Plays a site in Chromium as well as in process; `render()` returns a screenshot.

    env: an environment from `gym.make("palestra:web/Shop-v0")` or `palestra.make(…, view="gym")`.
    browser: a running browser; by default it starts its own.

    A screenshot is a uint8 array of shape (768, 1024, 3).
    """

    def __init__(self, env: gymnasium.Env[Any, Any], browser: Chromium | None = None) -> None:
        super().__init__(env)
        view = env.unwrapped
        if not isinstance(view, GymView):
            raise TypeError(f"InBrowser wraps a palestra environment, not {type(view).__name__}")
        self._view = view
        self._mirror = Mirror(browser, seat=view.seat)

    @property
    def render_mode(self) -> str | None:  # type: ignore[override]
        return "rgb_array"

    def reset(self, **options: Any) -> Any:
        result = super().reset(**options)
        self._mirror.start(self._view.episode)
        return result

    def step(self, action: Any) -> Any:
        result = super().step(action)
        self._mirror.follow(self._view.episode)
        return result

    def render(self) -> Any:
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self._mirror.picture())).convert("RGB"))

    def close(self) -> None:
        self._mirror.close()
        super().close()
