"""Trying one case in this process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from palestra.engine.array_simulator import ArraySimulator
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import registry
from palestra.kernel.simulator import simulate_with
from palestra.kernel.specs import EnvSpec
from palestra.testing.fuzzing.actions import try_actions
from palestra.testing.fuzzing.case import KINDS, Case
from palestra.testing.fuzzing.faults import try_faults
from palestra.testing.fuzzing.options import try_options
from palestra.testing.fuzzing.texts import try_texts

TRIED: dict[str, Callable[[EnvSpec, Case], None]] = {
    "options": try_options,
    "actions": try_actions,
    "texts": try_texts,
    "faults": try_faults,
}


def check(case: Case, spec: EnvSpec | None = None) -> None:
    """Try a case; raises whatever it makes the environment raise, `Failed` for a broken contract.

    `spec` is the environment where it is not an installed one. Array games run interpreted.
    """
    if case.what not in TRIED:
        raise UnknownName("kind of case", case.what, KINDS)
    with without_compiling(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TRIED[case.what](spec or registry().environment(case.env), case)


@contextmanager
def without_compiling() -> Iterator[None]:
    """Run array games without compiling them: every set of options would be compiled anew."""
    simulate_with(ArrayGame, lambda game, compiled: ArraySimulator(game, bool(compiled)))
    try:
        yield
    finally:
        simulate_with(ArrayGame, ArraySimulator)
