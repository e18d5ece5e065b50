"""Vallinder and Hughes (2024): generosity is handed down only where donors learn of past acts.

Nobody here is a language model. A strategy is a sentence with three numbers. A newcomer reads those
of the richer half, imitates one of them with small changes, and everybody does what they wrote.
"""

from __future__ import annotations

import re

import palestra
from shown import runs, show, spread

GENERATIONS = 40
STRATEGY = re.compile(r"give (\d+)%; to who gave less than (\d+)% I do (-?\d+)%")
ACT = re.compile(r"In round \d+ \w+ (gave|punished with) (\d+)%")
SLIP = 10  # most that a newcomer changes a number that it imitates


def imitate(turn: palestra.Turn) -> str:
    """The player: it writes a strategy when it is new, and follows it afterwards."""
    known = [tuple(map(int, found)) for found in STRATEGY.findall(turn.position)]
    if "You are new" in turn.position:
        give, least, else_ = inherited(known, turn.rng(0, 0), turn.game.punishment)
        return f"Write(strategy='I give {give}%; to who gave less than {least}% I do {else_}%.')"
    (give, least, else_), did = known[0], ACT.search(turn.position)
    earned = did is None or (did[1] == "gave" and int(did[2]) >= least)
    percent = give if earned else else_
    return f"Donate(percent={percent})" if percent >= 0 else f"Punish(percent={-percent})"


def inherited(
    known: list[tuple[int, ...]], rng: palestra.Rng, punishment: bool
) -> tuple[int, int, int]:
    """A strategy like that of somebody who lived on, or any where there is nobody to imitate."""
    lowest = -30 if punishment else 0
    if not known:
        give, least, else_ = rng.between(0, 100), rng.between(0, 100), rng.between(lowest, 30)
    else:
        give, least, else_ = (n + rng.between(-SLIP, SLIP) for n in rng.choice(known))
    return min(100, max(0, give)), min(100, max(0, least)), min(100, max(lowest, else_))


def donated(seed: int, **options: object) -> list[float]:
    """The percentage that donors gave in each generation."""
    (record,) = palestra.play(
        "games/DonorGame-v0", agents=imitate, seed=seed, generations=GENERATIONS, **options
    )
    found = palestra.measure(record)
    return [100 * found[f"donated-by-generation:{n}"] for n in range(1, GENERATIONS + 1)]


def main() -> None:
    """Print what donors give in the first and in the last generations."""
    seeds = runs(__doc__, seeds=10)
    rows = []
    for name, options in {
        "nobody sees what a donor does": {"trace": 0},
        "donors see the chain of three acts": {"trace": 3},
        "three acts, and donors may punish": {"trace": 3, "punishment": True},
    }.items():
        found = [donated(seed, **options) for seed in seeds]
        last = [sum(run[-5:]) / 5 for run in found]
        rows.append([name, spread((run[0] for run in found), 0), spread(last, 0)])
    show(["donated, % of resources", "first generation", "last five"], rows)


if __name__ == "__main__":
    main()
