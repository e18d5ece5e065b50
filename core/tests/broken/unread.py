"""Sound, but for two options: one that nothing reads and one that nothing describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from heap import Heap
from palestra import Meta


@dataclass(frozen=True)
class Unread(Heap):
    largest: Annotated[int, Meta(ge=1, le=9, description="most stones one may take")] = 2
    bare: int = 1

    def validate(self) -> None:
        super().validate()
        self.refuse(self.bare)

    def refuse(self, number: int) -> None: ...
