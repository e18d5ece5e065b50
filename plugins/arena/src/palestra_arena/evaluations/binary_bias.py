"""Binary bias: whether a model's coin flips and neutral yes-or-no choices are fair.

After "Evaluating Binary Decision Biases in Large Language Models: Implications for Fair Agent-Based
Financial Simulations" (2025). The same neutral choice is asked many times, one call each, and many
choices in one call. Reported are the share of the first word with an interval and a chi-square
test, the effect of the order in which the words are named, and, of sequences, the share of
repetitions with the runs test of Wald and Wolfowitz: a fair coin repeats itself in half of its
flips; fewer repetitions are negative recency.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import erfc, sqrt
from typing import NamedTuple

import numpy as np
from palestra import InvalidOption, wilson
from scipy import stats

from palestra_arena.probes.analysis import mean_of, shares_of
from palestra_arena.probes.items import Item, ProbeSet
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Cell, Table

WORDS = {
    "coin": ("heads", "tails", "Flip a fair coin and say how it lands."),
    "yes-no": ("yes", "no", "Say yes or no, each with the same chance."),
    "market": (
        "buy",
        "sell",
        "You trade on a market. You have no news, and the price has not moved. You must trade one "
        "share now, and both sides are equally good. What do you do?",
    ),
    "digit": ("0", "1", "Draw a random bit."),
}


def probes(repeats: int = 10, length: int = 20) -> ProbeSet:
    """Each choice `repeats` times in both orders, and `repeats` sequences of `length` choices."""
    if repeats < 1 or length < 2:
        raise InvalidOption(
            f"binary-bias needs repeats of 1 and a length of 2 or more, not {repeats} and {length}"
        )
    items = []
    for name, (one, two, text) in WORDS.items():
        for number in range(repeats):
            items.append(Item(f"{name}-{number}", text, (one, two), style="words", group=name))
            items.append(
                Item(
                    f"{name}-many-{number}",
                    f"{text} Do this {length} times, each time afresh. Answer with {length} words "
                    f"on one line, separated by spaces, each of them {one} or {two}.",
                    group=f"{name}, one call",
                    facts={"words": [one, two], "length": length},
                )
            )
    return ProbeSet("binary-bias", tuple(items), source="Binary Decision Biases, 2025")


class Runs(NamedTuple):
    """The runs test of a sequence of two values, by the normal approximation.

    `z` is below 0 with fewer runs than a fair sequence has (the values stick), above 0 with more
    (negative recency).
    """

    runs: int
    expected: float
    z: float
    p_value: float


def runs_test(values: Sequence[bool]) -> Runs:
    """Test whether the order of two values is random (Wald and Wolfowitz 1940).

    A sequence with one value only says nothing about order: its p-value is 1.
    """
    ones, n = sum(values), len(values)
    zeros = n - ones
    runs = 1 + sum(a != b for a, b in pairwise(values)) if n else 0
    if not ones or not zeros:
        return Runs(runs, float(runs), 0.0, 1.0)
    product = 2 * ones * zeros
    expected = product / n + 1
    variance = product * (product - n) / (n * n * (n - 1))
    z = (runs - expected) / sqrt(variance) if variance else 0.0
    return Runs(runs, expected, z, erfc(abs(z) / sqrt(2)))


def read_sequence(text: str, words: Sequence[str], length: int) -> list[bool] | None:
    """The choices of a reply's last line, True for the first word.

    None unless the line holds `length` of the words and nothing else but punctuation.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    said = re.findall(r"\w+", lines[-1].casefold()) if lines else []
    if len(said) != length or not set(said) <= set(words):
        return None
    return [word == words[0] for word in said]


def sequences(answers: Sequence[Answer]) -> list[list[bool]]:
    """The sequences that replies state."""
    read = (
        read_sequence(a.text, a.item.facts["words"], a.item.facts["length"])
        for a in answers
        if not a.item.options and not a.refused
    )
    return [sequence for sequence in read if sequence is not None]


def report(answers: Sequence[Answer], *, confidence: float = 0.95) -> list[Table]:
    """Shares of the first word, call by call and within one call, and tests of fairness."""
    single = [_single(name, answers, confidence) for name in WORDS]
    many = [_many(name, answers, confidence) for name in WORDS]
    return [
        Table(
            "One choice a call",
            ("choice", "share of the first word", "order effect", "chi-square", "p"),
            tuple(row for row in single if row),
            "the share is the mean over both orders; chi-square has one degree of freedom. Samples "
            "of a model at temperature 0 are copies of each other: ask at a temperature above 0.",
        ),
        Table(
            "Many choices in one call",
            (
                "choice",
                "sequences",
                "unread",
                "share of the first word",
                "repetitions",
                "p of runs",
            ),
            tuple(row for row in many if row),
            "repetitions: the share of choices equal to the one before, one half for a fair coin; "
            "below it is negative recency. p of runs: over all sequences, by Stouffer's method.",
        ),
    ]


def _single(name: str, answers: Sequence[Answer], confidence: float) -> tuple[Cell, ...] | None:
    own = [a for a in answers if a.item.group == name and a.chosen is not None]
    if not own:
        return None
    first = sum(a.chosen == 0 for a in own)
    effect = mean_of([s.first - 0.5 for s in shares_of(own)], confidence, (-0.5, 0.5))
    found = stats.chisquare([first, len(own) - first])
    label = f"{WORDS[name][0]}, {WORDS[name][1]}"
    share = wilson(first, len(own), confidence)
    return label, share, effect, float(found.statistic), float(found.pvalue)


def _many(name: str, answers: Sequence[Answer], confidence: float) -> tuple[Cell, ...] | None:
    own = [a for a in answers if a.item.group == f"{name}, one call"]
    if not own:
        return None
    found = sequences(own)
    shares = mean_of([sum(s) / len(s) for s in found], confidence, (0, 1))
    repeated = mean_of(
        [float(np.mean([a == b for a, b in pairwise(s)])) for s in found],
        confidence,
        (0, 1),
    )
    scores = [runs_test(s).z for s in found if 0 < sum(s) < len(s)]
    p_value = erfc(abs(sum(scores)) / sqrt(2 * len(scores))) if scores else None
    unread = wilson(len(own) - len(found), len(own), confidence)
    label = f"{WORDS[name][0]}, {WORDS[name][1]}"
    return label, len(found), unread, shares, repeated, p_value
