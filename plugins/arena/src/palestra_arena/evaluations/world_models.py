"""World models: the transition probabilities that an agent's choices between goals imply.

After "General agents need world models" (2025). An action has the chance P of an effect. The agent
chooses between two goals over n tries: the effect happens at most k times, or more than k times.
The smallest k* from which on it prefers "at most" gives the estimate (k* - 1/2) / n, whose error
shrinks with n for an agent that chooses well. Our worlds have one action, and the agent reads a log
of tries; the paper's have states, and are learned by acting.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import sqrt

from palestra import InvalidOption, Rng
from scipy import stats

from palestra_arena.probes.analysis import Shares, known_shares, mean_of, shares_of
from palestra_arena.probes.items import Item, ProbeSet
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Cell, Table

WORLDS = {
    "robot": (
        "A robot stands on a slippery floor. When it drives forward, it slides to the left or goes "
        "straight, whatever happened before.",
        "drive forward",
        "it slides to the left",
        ("left", "straight"),
    ),
    "gate": (
        "A gate is opened with a lever. A pull of the lever jams the gate or opens it, whatever "
        "happened before. A jammed gate is freed at once.",
        "pull the lever",
        "the gate jams",
        ("jams", "opens"),
    ),
    "courier": (
        "A courier drone sets out from a hill. Wind carries it to the east field or to the west "
        "field, whatever happened before.",
        "send the drone",
        "it lands in the east field",
        ("east", "west"),
    ),
}
QUESTION = (
    "{world} {known}\nYou will {act} exactly {n} times. Before that you choose one of two "
    "goals; you win if your goal comes true. Which goal do you choose?"
)
LOG = "The last {tries} tries, in order: {log}."
TOLD = "The first of the two happens in {percent:g} % of tries."


def probes(
    chances: Sequence[float] = (0.2, 0.35, 0.5, 0.7, 0.85),
    depths: Sequence[int] = (5, 10, 20),
    tries: int = 40,
    seed: int = 0,
) -> ProbeSet:
    """Every world with every chance, at every depth n, with all thresholds k from 1 to n - 1.

    tries: the length of the log in which the agent reads how often the effect happens; it happened
    in the share of them that is next to the chance, and this share is what is extracted. 0 tells
    the chance instead, so that only choices under known chances are measured. seed: of the order.
    """
    if not chances or not all(0 < p < 1 for p in chances) or not depths or min(depths) < 2:
        raise InvalidOption(
            f"world-models needs chances between 0 and 1 and depths of 2 or more, not "
            f"{list(chances)} and {list(depths)}"
        )
    if tries and not all(0 < round(p * tries) < tries for p in chances):
        raise InvalidOption(
            f"in {tries} tries an effect of chance {min(chances)} or {max(chances)} happens never "
            "or always; give more tries, or 0 to tell the chance"
        )
    items, rng = [], Rng.seeded(seed)
    for number, (asked, n) in enumerate(product(chances, depths)):
        name = list(WORLDS)[number % len(WORLDS)]
        world, act, effect, words = WORLDS[name]
        if tries:
            happened = round(asked * tries)
            chance = happened / tries
            log = [words[0]] * happened + [words[1]] * (tries - happened)
            rng.shuffle(log)
            known = LOG.format(tries=tries, log=", ".join(log))
        else:
            chance = asked
            known = TOLD.format(percent=100 * chance)
        text = QUESTION.format(world=world, known=known, act=act, n=n)
        items += [
            Item(
                f"{name}-{chance:g}-{n}-{k}",
                text,
                (f"{effect} at most {times(k)}", f"{effect} more than {times(k)}"),
                group=f"{n} tries",
                facts={"chance": chance, "n": n, "k": k, "world": name},
            )
            for k in range(1, n)
        ]
    return ProbeSet("world-models", tuple(items), source="General agents need world models, 2025")


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def estimate(prefers_at_most: Sequence[bool]) -> float:
    """P by the paper's formula, from the preferences for "at most k" of k = 1 … n - 1."""
    n = len(prefers_at_most) + 1
    switch = next((k for k, prefers in enumerate(prefers_at_most, 1) if prefers), n)
    return (switch - 0.5) / n


def bound(chance: float, n: int, regret: float = 0.0) -> float:
    """The paper's bound on the error, for an agent with this regret on goals of depth n."""
    return sqrt(2 * chance * (1 - chance) / ((n - 1) * (1 - regret)))


class ExtractedPreferences(tuple[float, int, float, int, float]):
    """(P, n, the estimate, reversals of preference, the largest regret of a choice)."""

    __slots__ = ()


def extract(shares: Sequence[Shares]) -> list[ExtractedPreferences]:
    """The estimate of every world, chance and depth that was asked with all thresholds."""
    cells: dict[tuple[str, float, int], dict[int, float]] = {}
    for one in known_shares(shares):
        facts = one.item.facts
        cells.setdefault((facts["world"], facts["chance"], facts["n"]), {})[facts["k"]] = (
            one.options[0]
        )
    found = []
    for (_, chance, n), by_k in cells.items():
        if len(by_k) == n - 1:
            prefers = [by_k[k] > 0.5 for k in range(1, n)]
            reversals = sum(before and not after for before, after in pairwise(prefers))
            regret = max(regret_of(chance, n, k, by_k[k]) for k in by_k)
            found.append(ExtractedPreferences((chance, n, estimate(prefers), reversals, regret)))
    return found


def regret_of(chance: float, n: int, k: int, at_most: float) -> float:
    """By how much a share of choices of "at most k" falls short of the better goal's chance.

    Relative to that chance, as the paper's regret: 0 for an optimal agent.
    """
    low = float(stats.binom.cdf(k, n, chance))
    reached = at_most * low + (1 - at_most) * (1 - low)
    return 1 - reached / max(low, 1 - low)


def report(answers: Sequence[Answer], *, confidence: float = 0.95) -> list[Table]:
    """The error of the extracted model by depth of goals, with regret and reversals."""
    found = extract(shares_of(answers))
    rows: list[tuple[Cell, ...]] = []
    for n in sorted({one[1] for one in found}):
        some = [one for one in found if one[1] == n]
        rows.append(
            (
                f"{n} tries",
                len(some),
                mean_of([abs(p - estimated) for p, _, estimated, _, _ in some], confidence, (0, 1)),
                mean_of([bound(p, n) for p, *_ in some], confidence).value,
                mean_of([float(reversals) for *_, reversals, _ in some], confidence),
                mean_of([regret for *_, regret in some], confidence, (0, 1)),
            )
        )
    return [
        Table(
            "The extracted world model",
            ("depth", "worlds", "error", "bound without regret", "reversals", "largest regret"),
            tuple(rows),
            "error: |P - (k* - 1/2) / n|. reversals: thresholds at which the preference turns back "
            "to 'more than', which no probability explains.",
        )
    ]
