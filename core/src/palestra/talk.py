"""Games in which seats say things to each other in their own words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from palestra.quoting import quote


@dataclass(frozen=True)
class Talking:
    """Mixed into a game whose actions have free text that other seats read.

    Whatever a seat wrote goes through `self.quoted` before it enters an event, a description or a
    picture, so that nobody can write the environment's lines.

        class Parley(Talking, TextGame[ParleyState]): ...
    """

    quoting: Annotated[
        Literal["escaped", "none"],
        Meta(
            description="how speech enters other seats' prompts: as one quoted and escaped line, "
            "or raw, for studies of injection"
        ),
    ] = field(default="escaped", kw_only=True)

    def quoted(self, said: str) -> str:
        """What a seat said, as others read it."""
        return said if self.quoting == "none" else quote(said)
