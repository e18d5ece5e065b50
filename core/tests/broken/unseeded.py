"""Deals from the process's own random generator."""

import random
from dataclasses import dataclass
from typing import Any

from heap import Heap
from palestra.rules import turn_to


@dataclass(frozen=True)
class Unseeded(Heap):
    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.heap = random.randrange(20, 40)
        turn_to(state, 0)
