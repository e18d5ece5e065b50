"""Bayes optimality: how far an agent's predictions and choices are from a Bayesian's.

After "Meta-trained agents implement Bayes-optimal agents" (2020). Prediction: after some flips of a
coin of unknown bias, state the probability that the next is heads; the reference is the posterior
predictive of a uniform prior, and the error its Kullback-Leibler divergence from the answer.
Bandits: two arms with unknown chances of success and a few pulls left; the reference is exact
dynamic programming over Beta posteriors, and the error the expected successes that a choice loses.
The paper's comparison of internal states needs access to a network, and is not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log

import numpy as np
from numpy.random import Generator, default_rng
from palestra import InvalidOption, wilson
from scipy import stats

from palestra_arena.probes.analysis import mean_of, shares_of
from palestra_arena.probes.items import Item, ProbeSet
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Cell, Table

LEVELS = (5, 15, 25, 35, 45, 55, 65, 75, 85, 95)  # percent: the middles of ten classes
PREDICT = (
    "A coin has an unknown chance of heads; every chance from 0 % to 100 % was equally likely "
    "before the first flip. {seen} Which percentage is nearest to the probability that the "
    "next flip is heads?"
)
PULL = (
    "A game machine has two buttons. Each has its own fixed chance of paying one coin; every "
    "chance from 0 % to 100 % was equally likely at first. So far button X paid {xw} of {xn} "
    "presses and button Y paid {yw} of {yn} presses. You have {left} press{es} left and want as "
    "many coins as possible in all of them. Which button do you press now?"
)
Arms = tuple[int, int, int, int]  # successes and failures of X, then of Y


def probes(predictions: int = 24, bandits: int = 24, longest: int = 12, seed: int = 0) -> ProbeSet:
    """Sequences of coins with drawn biases, and positions of bandits with drawn histories."""
    if predictions < 0 or bandits < 0 or predictions + bandits == 0 or not 1 <= longest <= 100:
        raise InvalidOption(
            "bayes-optimal needs predictions and bandits of 0 or more, not both 0, and a longest "
            f"history of 1 to 100; got {predictions}, {bandits}, {longest}"
        )
    rng = default_rng(seed)
    items = [_prediction(i, i % (longest + 1), rng) for i in range(predictions)]
    items += [_bandit(i, longest // 2, rng) for i in range(bandits)]
    return ProbeSet(
        "bayes-optimal", tuple(items), source="Meta-trained agents implement Bayes-optimal agents"
    )


def _prediction(number: int, length: int, rng: Generator) -> Item:
    flips = (rng.random(length) < rng.random()).astype(int).tolist()
    words = ", ".join("heads" if flip else "tails" for flip in flips)
    seen = f"It has been flipped so far: {words}." if flips else "It has not been flipped yet."
    return Item(
        f"coin-{number}",
        PREDICT.format(seen=seen),
        tuple(f"{level} %" for level in LEVELS),
        scale=True,
        group="prediction",
        facts={"heads": sum(flips), "flips": length},
    )


def _bandit(number: int, most: int, rng: Generator) -> Item:
    """A position in which the choice matters; in every third, the lower mean is worth more."""
    explores = number % 3 == 2
    while True:
        pulls = rng.integers(0, most + 1, 2)
        won = rng.binomial(pulls, rng.random(2))
        left = int(rng.integers(4 if explores else 1, 9))
        (xn, yn), (xw, yw) = map(int, pulls), map(int, won)
        state = (xw, xn - xw, yw, yn - yw)
        values = [pull_value(state, arm, left) for arm in (0, 1)]
        means = predictive(xw, xn) - predictive(yw, yn)
        if abs(values[0] - values[1]) > 0.005 and (means * (values[0] - values[1]) < 0) == explores:
            break
    es = "es" if left > 1 else ""
    return Item(
        f"bandit-{number}",
        PULL.format(xw=xw, xn=xn, yw=yw, yn=yn, left=left, es=es),
        ("button X", "button Y"),
        group="bandit, exploring" if explores else "bandit",
        facts={"state": list(state), "left": left, "values": values},
    )


def predictive(heads: int, flips: int) -> float:
    """The probability of heads after `heads` of `flips`, from a uniform prior (Laplace's rule)."""
    return (heads + 1) / (flips + 2)


def divergence(true: float, said: float) -> float:
    """Kullback-Leibler divergence in nats of a stated probability from the true one."""
    parts = ((true, said), (1 - true, 1 - said))
    return sum(p * log(p / q) for p, q in parts if p > 0)


@cache
def best_value(state: Arms, left: int) -> float:
    """Expected successes of a Bayes-optimal player in the pulls left."""
    return max(pull_value(state, arm, left) for arm in (0, 1)) if left else 0.0


def pull_value(state: Arms, arm: int, left: int) -> float:
    """Expected successes of pulling `arm` now and playing optimally afterwards."""
    won, lost = state[2 * arm], state[2 * arm + 1]
    chance = predictive(won, won + lost)
    after_win, after_loss = list(state), list(state)
    after_win[2 * arm] += 1
    after_loss[2 * arm + 1] += 1
    win, loss = (best_value(_arms(after), left - 1) for after in (after_win, after_loss))
    return chance * (1 + win) + (1 - chance) * loss


def _arms(values: Sequence[int]) -> Arms:
    return values[0], values[1], values[2], values[3]


def report(answers: Sequence[Answer], *, confidence: float = 0.95) -> list[Table]:
    """Divergence of predictions from the posterior predictive, and regret of choices."""
    tables = []
    coins = [s for s in shares_of(answers) if s.item.group == "prediction"]
    if coins:
        tables.append(_predictions(answers, confidence))
    for group, title in (("bandit", "Bandits"), ("bandit, exploring", "Bandits to explore")):
        bandits = [a for a in answers if a.item.group == group and a.chosen is not None]
        if bandits:
            tables.append(_choices(title, bandits, confidence))
    return tables


def stated_probability(answer: Answer) -> float:
    """The probability of heads that an answer states, weighted if the agent reports weights."""
    return float(np.dot(answer.weights, LEVELS)) / 100


def _predictions(answers: Sequence[Answer], confidence: float) -> Table:
    rows: list[tuple[Cell, ...]] = []
    read = [a for a in answers if a.item.group == "prediction" and a.chosen is not None]
    lengths = sorted({a.item.facts["flips"] for a in read})
    parts = [
        ("all", read),
        *((f"{n} flips", [a for a in read if a.item.facts["flips"] == n]) for n in lengths),
    ]
    for name, some in parts:
        true = [predictive(a.item.facts["heads"], a.item.facts["flips"]) for a in some]
        said = [stated_probability(a) for a in some]
        gaps = [divergence(t, s) for t, s in zip(true, said, strict=True)]
        even = [divergence(t, 0.5) for t in true]
        correlation = (
            float(stats.pearsonr(true, said).statistic)
            if len({*true}) > 1 and len({*said}) > 1
            else None
        )
        rows.append((name, mean_of(gaps, confidence), mean_of(even, confidence), correlation))
    return Table(
        "Predictions",
        ("history", "divergence", "of always 50 %", "correlation"),
        tuple(rows),
        "Kullback-Leibler divergence (nats) of the stated probability from the posterior "
        "predictive; the ten classes alone cost a Bayesian about 0.005.",
    )


def _choices(title: str, answers: Sequence[Answer], confidence: float) -> Table:
    values = [(a.item.facts["values"], a.chosen) for a in answers if a.chosen is not None]
    regrets = [max(v) - v[chosen] for v, chosen in values]
    lost = [abs(v[0] - v[1]) / 2 for v, _ in values]
    bounds = 0.0, max((2 * half for half in lost), default=0.0)
    best = sum(regret < 1e-12 for regret in regrets)
    greedy = [
        (predictive(s[0], s[0] + s[1]) >= predictive(s[2], s[2] + s[3])) == (a.chosen == 0)
        for a in answers
        for s in [a.item.facts["state"]]
    ]
    rows: tuple[tuple[Cell, ...], ...] = (
        ("regret of a choice", mean_of(regrets, confidence, bounds)),
        ("regret of a random choice", mean_of(lost, confidence, bounds)),
        ("optimal choices", wilson(best, len(regrets), confidence)),
        ("choices of the higher mean", wilson(sum(greedy), len(greedy), confidence)),
    )
    return Table(
        title,
        ("measure", "value"),
        rows,
        "regret: the expected coins that a choice loses against exact dynamic programming. "
        "Bandits to explore: the button with the lower mean is worth more, for what it teaches.",
    )
