"""What this plugin gives: the reference environments, by id."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import EnvSpec


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return []
