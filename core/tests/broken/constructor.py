"""Cannot be made: its own code raises a TypeError."""

from dataclasses import dataclass
from typing import Any

from heap import Heap


@dataclass(frozen=True)
class Constructor(Heap):
    def validate(self) -> None:
        super().validate()
        self.limit("stones")

    def limit(self, name: str) -> Any:
        return len(getattr(self, name))
