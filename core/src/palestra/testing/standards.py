"""The environment checkers of Gymnasium, Stable-Baselines3 and PettingZoo."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import warnings
from collections.abc import Iterator
from typing import Any

from palestra.kernel.array_game import ArrayGame
from palestra.testing.subject import Failed, Skipped, Subject

# Advice that is about other kinds of environment, not about a fault.
ADVICE = (
    "Observation numpy array is all zeros",
    "Observation space for each agent probably should be",
    "Action space for each agent probably should be",
    "Observation is not a NumPy array",
    "Observation is a single number",
    "It seems that your observation",
    "It seems that your observation space",
    "The minimal resolution for an image",
    "Treating image space as channels-last",
    "Your observation .* has an unconventional shape",
    "The observation contains negative numbers",
    "The old environment creation API",
    ".*Box observation space m.* is -?infinity",
    ".*not in.* the render_modes",
    ".*For Box action spaces",
    "Agents have different observation space sizes",
    "Observations are different shapes",
)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Turn warnings into failures, except for known advice, and keep the checkers from printing."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("error")
        for text in ADVICE:
            warnings.filterwarnings("ignore", message=text)
        try:
            yield
        except (AssertionError, Warning) as error:
            raise Failed(f"{type(error).__name__}: {error}") from error


def _options(subject: Subject) -> dict[str, Any]:
    quick = {"compiled": False} if isinstance(subject.game, ArrayGame) else {}
    return {**subject.options, **quick}


def _needs_array(subject: Subject) -> None:
    if not subject.has_array_view:
        raise Skipped("no array view is declared")


def gymnasium_checker(subject: Subject) -> None:
    """`gymnasium.utils.env_checker.check_env`, for both kinds of observation and every seat."""
    from gymnasium.utils.env_checker import check_env

    from palestra.views.gym import GymView

    for obs in subject.spec.observations:
        for seat in range(min(subject.game.num_players, 3)):
            env = GymView(subject.spec, obs=obs, seat=seat, **_options(subject))
            with _quiet():
                check_env(env, skip_render_check=True)


def sb3_checker(subject: Subject) -> None:
    """Stable-Baselines3's `check_env`, where it is installed."""
    _needs_array(subject)
    if importlib.util.find_spec("stable_baselines3") is None:
        raise Skipped("stable-baselines3 is not installed")
    from stable_baselines3.common.env_checker import check_env

    from palestra.views.gym import GymView

    with _quiet():
        check_env(GymView(subject.spec, **_options(subject)), skip_render_check=True)


def _pettingzoo_test(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing these tests imports deprecated modules
        import pettingzoo.test

        return getattr(pettingzoo.test, name)


def pettingzoo_api(subject: Subject) -> None:
    """PettingZoo's `api_test`, in words where a game has no other view."""
    from palestra.views.aec import AecView

    test = _pettingzoo_test("api_test")
    with _quiet():
        test(AecView(subject.spec, **_options(subject)), num_cycles=150)


def pettingzoo_parallel_api(subject: Subject) -> None:
    """PettingZoo's `parallel_api_test`, in words where a game has no other view."""
    from palestra.views.parallel import ParallelView

    test = _pettingzoo_test("parallel_api_test")
    with _quiet():
        # it plays by masks only where they are in observations
        test(ParallelView(subject.spec, masks="obs", **_options(subject)), num_cycles=150)


def pettingzoo_seeds(subject: Subject) -> None:
    """PettingZoo's `seed_test` and `parallel_seed_test`."""
    _needs_array(subject)
    from palestra.views.aec import AecView
    from palestra.views.parallel import ParallelView

    options = _options(subject)
    with _quiet():
        _pettingzoo_test("seed_test")(lambda: AecView(subject.spec, **options), 60)
        _pettingzoo_test("parallel_seed_test")(lambda: ParallelView(subject.spec, **options), 60)


def found_by_id(subject: Subject) -> None:
    """`gym.make` and `pettingzoo.make` find the id."""
    import gymnasium
    import pettingzoo

    spec = subject.spec
    options = _options(subject)
    gymnasium.make(f"palestra:{spec.id}", obs=spec.observations[0], **options).close()
    if subject.has_array_view:
        pettingzoo.make("aec", spec.id, **options).close()
        pettingzoo.make("parallel", spec.id, **options).close()
