"""What every probe reports: shares of options over both orders, refusals, the effect of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from palestra import Interval
from palestra.records.intervals import Bounds

from palestra_arena.probes.items import Item, orders_of
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Table
from palestra_arena.statistics import Comparison, bootstrap, compare_paired, wilson


class Shares(NamedTuple):
    """How often each option of an item was chosen: the mean over orders, equally weighted.

    `first` is the share of answers that chose the option listed first, likewise. `answers` counts
    those that were read, `refused` those that were not.
    """

    item: Item
    arm: str
    options: tuple[float, ...]
    first: float
    answers: int
    refused: int

    @property
    def key(self) -> tuple[str, str]:
        """The arm and the item's id."""
        return self.arm, self.item.id


def shares_of(answers: Iterable[Answer]) -> list[Shares]:
    """Shares by item and arm, in the order of the answers.

    An item with an order in which nothing was answered has shares that are not a number, because
    the effect of order cannot be removed from them.
    """
    by_item: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        if answer.item.options:
            by_item.setdefault((answer.arm, answer.item.id), []).append(answer)
    return [_shares(group) for group in by_item.values()]


def _shares(group: Sequence[Answer]) -> Shares:
    item = group[0].item
    means, first = [], []
    for order in orders_of(item):
        read = [a for a in group if a.order == order and a.chosen is not None]
        empty = np.full(len(item.options), np.nan)
        means.append(np.mean([a.weights for a in read], axis=0) if read else empty)
        first.append(float(means[-1][order[0]]))
    over_orders = np.mean(means, axis=0)
    return Shares(
        item,
        group[0].arm,
        tuple(map(float, over_orders)),
        float(np.mean(first)),
        sum(a.chosen is not None for a in group),
        sum(a.refused for a in group),
    )


def known_shares(shares: Iterable[Shares]) -> list[Shares]:
    """Shares of items that were answered in every order."""
    return [one for one in shares if not np.isnan(one.first)]


def order_effect(shares: Sequence[Shares], *, confidence: float = 0.95) -> Comparison | None:
    """How much more often than by chance the option listed first is chosen, tested by item.

    Exactly 0 for a respondent that does not look at the order; 1 - 1/k for one that always takes
    the first of k. None with fewer than two items.
    """
    listed = known_shares(shares)
    if len(listed) < 2:
        return None
    chance = [1 / len(one.item.options) for one in listed]
    return compare_paired([one.first for one in listed], chance, confidence=confidence)


def overview(answers: Sequence[Answer], *, confidence: float = 0.95) -> Table:
    """One row per arm and group, and one for all: answers, refusals and the effect of order."""
    shares = shares_of(answers)
    rows = [_row("all", shares, answers, confidence)]
    arms = list(dict.fromkeys(a.arm for a in answers))
    groups = list(dict.fromkeys(a.item.group for a in answers))
    parts: list[tuple[str, Callable[[Answer], bool]]] = []
    if len(arms) > 1:
        parts += [(f"arm {arm}", lambda a, arm=arm: a.arm == arm) for arm in arms]  # type: ignore[misc]
    if 1 < len(groups) <= 30:
        parts += [(group or "–", lambda a, g=group: a.item.group == g) for group in groups]  # type: ignore[misc]
    for name, belongs in parts:
        some = [a for a in answers if belongs(a)]
        keys = {(a.arm, a.item.id) for a in some}
        rows.append(_row(name, [one for one in shares if one.key in keys], some, confidence))
    return Table(
        "Answers",
        ("questions", "asked", "answers", "refused", "listed first", "p", "tokens"),
        tuple(rows),
        "listed first: how much more often than by chance the option listed first is chosen, over "
        "items, with the p-value of the paired permutation test; 0 for a respondent that does not "
        "look at the order. tokens: read and written, refused answers included. Shares below are "
        "means over orders, from which this effect is gone.",
    )


def _row(
    name: str, shares: Sequence[Shares], answers: Sequence[Answer], confidence: float
) -> tuple[str | int | float | Interval | None, ...]:
    effect = order_effect(shares, confidence=confidence)
    refused = sum(a.refused for a in answers)
    return (
        name,
        len(answers),
        len(answers) - refused,
        wilson(refused, len(answers), confidence),
        effect.difference if effect else None,
        effect.p_value if effect else None,
        sum(a.usage.tokens for a in answers),
    )


def mean_of(
    values: Iterable[float], confidence: float = 0.95, bounds: Bounds = (None, None)
) -> Interval:
    """The mean of independent values with a bootstrap interval; not a number without any.

    `bounds` are the lowest and the highest value there can be.
    """
    sample = [value for value in values if not np.isnan(value)]
    if not sample:
        return Interval(np.nan, np.nan, np.nan)
    return bootstrap(sample, confidence=confidence, resamples=2000, bounds=bounds)
