"""instructRL (Hu and Sadigh 2023): one instruction gives strangers one convention.

The reader stands for a language model that follows the instruction nine times in ten.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import palestra
from palestra.agents.models import Ability, Model, Reply, Request, Score
from palestra_adapters.learning.instructed import InstructedAgent
from shown import runs, show, spread

LETTERS, COLOURS = "abc", ("red", "blue", "green")
GAME = {"attributes": 1, "values": 3, "symbols": 3, "length": 1, "rounds": 1}
ARMS: dict[str, dict[str, Any]] = {
    "no instruction": {"instruction": "", "explore": 0.2, "weight": 0.0},
    "one instruction": {"instruction": "Use the alphabet: a is red, b is blue, c is green."},
}


class Reader(Model):
    """Holds the letter of the alphabet that belongs to the place of a colour for likely."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({"score", "raw"})
    name = "reader"

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        text = request.messages[-1].content
        said = re.search(r"message is: (\w)", text)
        meant = re.search(r"object is: (\w+)", text)
        if said:
            wanted = COLOURS[LETTERS.index(said[1])]
        else:
            assert meant
            wanted = LETTERS[COLOURS.index(meant[1])]
        scores = [Score(math.log(0.9 if m.strip() == wanted else 0.05), 1) for m in request.score]
        return Reply("", scores=tuple(scores), model=self.name)


def pair(seed: int, arm: Mapping[str, Any]) -> list[InstructedAgent]:
    """A speaker and a listener who have learnt together."""
    agents = [
        InstructedAgent(model=Reader(), rate=0.3, seed=2 * seed + place, **arm)
        for place in range(2)
    ]
    palestra.play("games/Referential-v0", agents=agents, episodes=200, seed=seed, live=1, **GAME)
    for one in agents:
        one.learn, one.explore = False, 0.0
    return agents


def understood(speaker: InstructedAgent, listener: InstructedAgent) -> float:
    """How often two who no longer learn understand each other."""
    records = palestra.play(
        "games/Referential-v0", agents=[speaker, listener], episodes=40, live=1, **GAME
    )
    return sum(record.returns[0] for record in records) / len(records)


def main() -> None:
    """Print how often pairs understand each other: those who learnt together, and strangers."""
    seeds = runs(__doc__, seeds=5)
    rows = []
    for name, arm in ARMS.items():
        pairs = [pair(seed, arm) for seed in seeds]
        own = [understood(*one) for one in pairs]
        shifted = [*pairs[1:], pairs[0]]
        strangers = [understood(a[0], b[1]) for a, b in zip(pairs, shifted, strict=True)]
        rows.append([name, spread(own, 2), spread(strangers, 2)])
    show(["understood", "learnt together", "strangers"], rows)


if __name__ == "__main__":
    main()
