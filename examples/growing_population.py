"""A listener whose partners grow in number: whoever it understands least joins them.

The loop of "Dynamic population-based meta-learning for multi-agent communication with natural
language" (2021), in symbols and with Bayes' rule for the learner. A speaker's code has a message
for each of sixteen objects; a community's codes are one code turned by some places, with two
messages exchanged. The listener knows the codes of its population, weighs them by what it hears
within an episode, and remembers what was meant. In each generation it plays with everybody it may
choose from, and the partner it understands least joins its population.

Printed is the share of rounds it understands: partners of its population, others of the same
community, and speakers of no community at all, as the population grows; and the same where it is
joined by anybody.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import palestra

SIDE, ROUNDS = 4, 6
OBJECTS = SIDE * SIDE  # of two attributes, and as many messages of two symbols
POOL, UNSEEN = 48, 12
TRUST = 0.9  # how likely a speaker who is like a known one says what that one would
MEANT, SAID = slice(5, 7), slice(7, 9)  # where the array view has the object and the message
Code = tuple[int, ...]  # of a speaker: object -> message
OPTIONS = {"attributes": 2, "values": SIDE, "symbols": SIDE, "length": 2, "rounds": ROUNDS}


def community(count: int, rng: np.random.Generator) -> list[Code]:
    """Different codes of one community: turned by some places, two messages exchanged."""
    found: set[Code] = set()
    while len(found) < count:
        code = np.roll(np.arange(OBJECTS), rng.integers(OBJECTS))
        swapped = rng.choice(OBJECTS, 2, replace=False)
        code[swapped] = code[swapped[::-1]]
        found.add(tuple(code.tolist()))
    codes = sorted(found)
    return [codes[place] for place in rng.permutation(count)]


def heard(turn: palestra.Turn) -> list[tuple[int, int]]:
    """What was meant and said so far in this episode."""
    told = [event.data for event in turn.transcript if "meant" in event.data]
    return [(data["meant"], data["message"]) for data in told]


def number(digits: Any) -> int:
    """The number of an object or a message, from its two values or symbols."""
    return SIDE * int(digits[0]) + int(digits[1])


def speak(code: Code, turn: palestra.Turn) -> int:
    return code[number(turn.observation[MEANT])]


def listen(population: Sequence[Code], turn: palestra.Turn) -> int:
    """The likeliest object: as it was meant before, or as the weighed population would mean it."""
    message, past = number(turn.observation[SAID]), heard(turn)
    for meant, said in past:
        if said == message:
            return meant
    likely = np.zeros(OBJECTS)
    for code in population:
        agrees = sum(code[meant] == said for meant, said in past)
        weight = TRUST**agrees * ((1 - TRUST) / (OBJECTS - 1)) ** (len(past) - agrees)
        likely[code.index(message)] += weight
    likely[[meant for meant, _ in past]] = -1.0  # those have another message
    return int(likely.argmax())


def understood(population: Sequence[Code], speaker: Code, episodes: int, seed: int) -> float:
    """The share of rounds in which the listener finds what a speaker means."""
    agents: list[Any] = [partial(speak, speaker), partial(listen, population)]
    records = palestra.play(
        "games/Referential-v0", agents=agents, episodes=episodes, seed=seed, **OPTIONS
    )
    return float(np.mean([record.returns[1] for record in records])) / ROUNDS


def main(steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = community(POOL + UNSEEN, rng)
    pool, unseen = codes[:POOL], codes[POOL:]
    strangers = [tuple(rng.permutation(OBJECTS).tolist()) for _ in range(UNSEEN)]

    def mean(population: Sequence[Code], speakers: Sequence[Code]) -> float:
        return float(np.mean([understood(population, one, 24, seed + 1000) for one in speakers]))

    for joins in ("the least understood", "anybody"):
        population = [pool[0]]
        print(f"\njoined by {joins}\nsize  own partners  unseen  strangers")
        for _ in range(steps):
            row = [mean(population, speakers) for speakers in (population, unseen, strangers)]
            print(
                f"{len(population):>4}  {row[0]:>12.2f}  {row[1]:>6.2f}  {row[2]:>9.2f}", flush=True
            )
            rest = [code for code in pool if code not in population]
            if joins == "anybody":
                population.append(rest[0])
            else:
                population.append(min(rest, key=lambda one: understood(population, one, 12, seed)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=16, help="generations")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.steps, given.seed)
