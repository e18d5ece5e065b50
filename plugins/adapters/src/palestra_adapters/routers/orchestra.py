"""Bayesian orchestration: several models supply likelihoods, and Bayes' rule decides.

"Bayesian Orchestration of Multi-LLM Agents for Cost-Aware Sequential Decision-Making", 2025. Every
model says how likely each score of a note is for good and for bad cases (one question for each, so
that it compares scores and not cases). The likelihoods are pooled over models, posteriors follow
from the known prior, and the decision is the one with the least expected cost: another note is
bought if it saves more than it costs, or if the models' own posteriors disagree too much. It plays
`markets/Screening-v0`.

Left out: trimmed means; parity by group beyond `parity-gap`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Reply

from palestra_adapters.adapter import Adapter, rules_of, said_in
from palestra_adapters.thinking import Ask, Thinking

SCORES = 5
NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d+)?(?!\w|\.\d)")
ASK = (
    "Think of 100 notes about {kind} of the {group} group. How many of them have score 1, 2, 3, 4 "
    "and 5? Answer with five numbers, separated by spaces."
)
STATES = ("bad cases", "good cases")
Likelihoods = tuple[tuple[float, ...], tuple[float, ...]]  # by score, of bad and of good cases


@dataclass(frozen=True)
class Prices:
    """What a note, accepting a case, and rejecting a good one cost."""

    check: float
    accept: float
    miss: float


@agent(
    "orchestra",
    kind="llm",
    plays=("markets/Screening-v0",),
    summary="Pools likelihoods from several models and decides by Bayes' rule at least cost.",
    paper=(
        "Bayesian Orchestration of Multi-LLM Agents for Cost-Aware Sequential Decision-Making "
        "(2025)"
    ),
)
class Orchestra(Adapter):
    """Asks every model for likelihoods once a group, and then decides every case by itself.

    The paper's arms: one model is the arm without pooling; `sequential=false` decides by the first
    note; `disagree=1` never buys a note because of disagreement.
    """

    def __init__(
        self,
        *,
        pool: Annotated[
            Literal["median", "mean"], Meta(description="how likelihoods of models are pooled")
        ] = "median",
        disagree: Annotated[
            float,
            Meta(ge=0, le=1, description="range of the models' posteriors that calls for a note"),
        ] = 1.0,
        sequential: Annotated[bool, Meta(description="whether notes may be bought")] = True,
        **settings: Any,
    ) -> None:
        if pool not in ("median", "mean"):
            raise InvalidOption(f"pool must be median or mean, not {pool!r}")
        super().__init__(**settings)
        self._pool, self._disagree, self._sequential = pool, disagree, sequential
        self._known: dict[tuple[str, str], list[Likelihoods]] = {}

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        seen = _read(turn)
        group = _group(turn)
        key = turn.game.rules_for(turn.seat), group
        if key not in self._known:
            self._known[key] = yield from self._elicit(turn, group, advice)
        each = self._known[key]
        pooled = pool(each, self._pool)
        counts, left = tuple(int(n) for n in seen[5:10]), int(seen[4]) * self._sequential
        prices = Prices(*(float(number) for number in seen[11:14]))
        own = [posterior(float(seen[10]), counts, one) for one in each]
        chance = posterior(float(seen[10]), counts, pooled)
        spread = max(own) - min(own)
        move = cheapest(float(seen[10]), counts, left, pooled, prices)
        if move != "Check()" and left and spread > self._disagree:
            move = "Check()"
        return Decision(
            text=move,
            thought=f"good with {chance:.3f}; the models say {', '.join(f'{p:.3f}' for p in own)}",
            facts={"confidence": max(chance, 1 - chance), "disagreement": spread},
        )

    def _elicit(self, turn: Turn, group: str, advice: str) -> Thinking[list[Likelihoods]]:
        """Ask every model about bad and about good cases, all at once."""
        rules = rules_of(turn, advice)
        asks: list[Ask] = []
        for member in range(len(self.models)):
            for kind in STATES:
                messages = self.single(rules, ASK.format(kind=kind, group=group))
                asks.append(self.ask(messages, member=member))
        replies = yield asks
        pairs = zip(replies[::2], replies[1::2], strict=True)
        return [(likelihood(bad), likelihood(good)) for bad, good in pairs]


def _read(turn: Turn) -> Any:
    """The numbers of a case: its counts, notes left, prior and prices."""
    seen = np.asarray(turn.observation).ravel()
    if "Screening" not in turn.env or len(seen) != 15:
        raise InvalidOption(f"agent 'orchestra' plays markets/Screening-v0, not {turn.env}")
    return seen


def _group(turn: Turn) -> str:
    """The group of the case, in words."""
    found = re.search(r" of \d+, (\w+)\. Notes:", turn.position)
    return found[1] if found else ""


def likelihood(reply: Reply) -> tuple[float, ...]:
    """The last five numbers of a reply as chances; all alike if it has fewer.

    One in a thousand is added to each, so that no model is ever certain.
    """
    numbers = [float(number) for number in NUMBER.findall(said_in(reply))][-SCORES:]
    if len(numbers) < SCORES or not sum(numbers):
        numbers = [1.0] * SCORES
    shares = [number / sum(numbers) + 1e-3 for number in numbers]
    return tuple(share / sum(shares) for share in shares)


def pool(each: Sequence[Likelihoods], how: str) -> Likelihoods:
    """One likelihood of several: the median or mean of every entry, scaled to sum to 1."""
    table = np.array(each)  # (models, states, scores)
    found = np.median(table, 0) if how == "median" else table.mean(0)
    found /= found.sum(-1, keepdims=True)
    bad, good = found.tolist()
    return tuple(bad), tuple(good)


def posterior(prior: float, counts: Sequence[int], given: Likelihoods) -> float:
    """The chance that a case is good after notes, by score; the prior if none could be there."""
    odds = [1 - prior, prior]
    for state, chances in enumerate(given):
        for count, chance in zip(counts, chances, strict=True):
            odds[state] *= chance**count
    return odds[1] / sum(odds) if sum(odds) else prior


def cheapest(
    prior: float, counts: tuple[int, ...], left: int, given: Likelihoods, prices: Prices
) -> str:
    """The move with the least expected cost; a note is bought only if that is cheaper."""
    chance = posterior(prior, counts, given)
    now = "Accept()" if prices.accept <= prices.miss * chance else "Reject()"
    if left and cost_of_note(prior, counts, left, given, prices) < min(
        prices.accept, prices.miss * chance
    ):
        return "Check()"
    return now


@lru_cache(maxsize=100_000)
def least_cost(
    prior: float, counts: tuple[int, ...], left: int, given: Likelihoods, prices: Prices
) -> float:
    """The expected cost of the best decisions from here on."""
    now = min(prices.accept, prices.miss * posterior(prior, counts, given))
    return min(now, cost_of_note(prior, counts, left, given, prices)) if left else now


def cost_of_note(
    prior: float, counts: tuple[int, ...], left: int, given: Likelihoods, prices: Prices
) -> float:
    """The expected cost of one more note and of the best decisions after it."""
    chance, total = posterior(prior, counts, given), prices.check
    for score in range(SCORES):
        after = tuple(count + (place == score) for place, count in enumerate(counts))
        likely = (1 - chance) * given[0][score] + chance * given[1][score]
        total += likely * least_cost(prior, after, left - 1, given, prices)
    return total
