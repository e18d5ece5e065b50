"""Games in which seats send each other free text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from palestra.quoting import quote


@dataclass(frozen=True)
class Talking:
    """A mixin for games whose actions have free text that other seats read.

    quoting: an option of the game: "escaped" shows speech as one quoted and escaped line, "none"
        raw, for studies of injection.

    Pass text that a seat wrote through `self.quoted` before putting it into an event, a description
    or a picture, so that no seat can imitate the environment's own lines.

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
        """What a seat said, in the form in which others read it."""
        return said if self.quoting == "none" else quote(said)
