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
    """Every installed environment whose declared facts match, in order of id."""
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
