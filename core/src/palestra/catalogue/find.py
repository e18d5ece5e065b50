"""Installed environments by what they declare."""

from __future__ import annotations

from collections.abc import Iterable

from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec


def specs(
    *,
    family: str | None = None,
    namespace: str | None = None,
    players: int | None = None,
    moves: str | None = None,
    payoffs: str | None = None,
    tags: Iterable[str] = (),
) -> list[EnvSpec]:
    """Every installed environment whose declared facts match, in order of id.

    family: which renderers draw it, such as "board". namespace: the part of the id before the
        slash.
    players: a number of seats that it can have.
    moves: "sequential", "simultaneous" or "phased". payoffs: "zero-sum", "common" or "general".
    tags: words that it must all have.

    A filter that is not given lets every environment pass. Returns a list of `EnvSpec`.
    """
    wanted = set(tags)
    return [
        spec
        for _, spec in sorted(registry().environments.items())
        if (family is None or spec.family == family)
        and (namespace is None or spec.namespace == namespace)
        and (players is None or spec.players[0] <= players <= spec.players[1])
        and (moves is None or spec.moves == moves)
        and (payoffs is None or spec.payoffs == payoffs)
        and wanted <= set(spec.tags)
    ]
