"""ArenaRL: tournaments of pairwise judgements instead of scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, standardise
from palestra_rewards.group import Group

Judge = Callable[[int, int], float]


class Matches:
    """Pairwise judgements, each made in both orders, and `played`, the number of them."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.played = 0

    def better(self, i: int, j: int) -> float:
        """Probability that i is better than j, averaged over both orders against position bias."""
        self.played += 1
        return (self._judge(i, j) + 1 - self._judge(j, i)) / 2


def seeded_bracket(entrants: Sequence[int], matches: Matches) -> list[int]:
    """Ranking, best first, by single elimination seeded by matches against the first entrant.

    N - 1 matches seed and N - 1 decide. Entrants that lose in the same round are ranked by seed.
    """
    anchor, others = entrants[0], entrants[1:]
    against = {one: matches.better(one, anchor) for one in others}
    against[anchor] = 0.5
    return elimination(sorted(entrants, key=lambda one: -against[one]), matches)


def elimination(seeds: Sequence[int], matches: Matches) -> list[int]:
    """Single elimination of entrants given best seed first; top seeds get the byes."""
    out: list[int] = []
    alive = list(seeds)
    place = {one: seed for seed, one in enumerate(seeds)}
    while len(alive) > 1:
        free = (1 << (len(alive) - 1).bit_length()) - len(alive)
        resting, pairs = alive[:free], alive[free:]
        winners, losers = list(resting), []
        for high, low in zip(pairs, reversed(pairs[len(pairs) // 2 :]), strict=False):
            first = matches.better(high, low) >= 0.5
            winners.append(high if first else low)
            losers.append(low if first else high)
        out = sorted(losers, key=place.__getitem__) + out
        alive = sorted(winners, key=place.__getitem__)
    return alive + out


def round_robin(entrants: Sequence[int], matches: Matches) -> list[int]:
    """Ranking by points, best first, after every entrant has met every other."""
    points = dict.fromkeys(entrants, 0.0)
    for place, i in enumerate(entrants):
        for j in entrants[place + 1 :]:
            first = matches.better(i, j)
            points[i] += first
            points[j] += 1 - first
    return sorted(entrants, key=lambda one: -points[one])


def swiss(entrants: Sequence[int], matches: Matches) -> list[int]:
    """Ranking after ceil(log2 N) rounds between entrants close in points that have not met."""
    points, met = dict.fromkeys(entrants, 0.0), set()
    for _ in range(max(len(entrants) - 1, 0).bit_length()):
        waiting = sorted(entrants, key=lambda one: -points[one])
        while len(waiting) > 1:
            i = waiting.pop(0)
            j = next((one for one in waiting if (i, one) not in met), waiting[0])
            waiting.remove(j)
            met |= {(i, j), (j, i)}
            first = matches.better(i, j)
            points[i] += first
            points[j] += 1 - first
        for one in waiting:
            points[one] += 1
    return sorted(entrants, key=lambda one: -points[one])


def double_elimination(entrants: Sequence[int], matches: Matches) -> list[int]:
    """Ranking, best first, in a tournament that eliminates an entrant after its second loss."""
    lower: list[int] = []
    out: list[int] = []
    upper = list(entrants)
    while len(upper) + len(lower) > 1:
        upper, fallen = _round(upper, matches)
        lower, gone = _round(lower, matches) if len(lower) > 1 else (lower, [])
        out = gone + out
        lower += fallen
        if len(upper) == 1 and len(lower) == 1:
            finals = (matches.better(upper[0], lower[0]) < 0.5 for _ in range(2))
            return (lower + upper if all(finals) else upper + lower) + out
    return upper + lower + out


def _round(entrants: Sequence[int], matches: Matches) -> tuple[list[int], list[int]]:
    """One round of matches between neighbours: winners (and an entrant left over) and losers."""
    winners, losers = [], []
    for i, j in zip(entrants[::2], entrants[1::2], strict=False):
        first = matches.better(i, j) >= 0.5
        winners.append(i if first else j)
        losers.append(j if first else i)
    if len(entrants) % 2:
        winners.append(entrants[-1])
    return winners, losers


FORMS = {
    "seeded": seeded_bracket,
    "single": elimination,
    "round-robin": round_robin,
    "swiss": swiss,
    "double": double_elimination,
}


@reward(
    "arena",
    shape="group",
    needs=("judge",),
    paper="ArenaRL: Scaling RL for Open-Ended Agents via Tournament-based Relative Ranking",
    check="test_a_noise_free_judge_puts_the_true_best_first",
    cost="2(N-1) matches of 2 judgements",
)
def arena(
    group: Group,
    *,
    judge: Annotated[Judge, Meta(description="a function that compares two rollouts of the group")],
    form: Annotated[
        Literal["seeded", "single", "round-robin", "swiss", "double"],
        Meta(description="the form of the tournament"),
    ] = "seeded",
) -> Floats:
    """Rank in a tournament of pairwise judgements.

    The rank is a quantile from 0 to 1, standardised within the task.

    `judge(i, j)` is the probability that line i is better than line j. The first rollout of a
    task is the anchor that seeds the others; make it the greedy one. `form` is "seeded", "single",
    "round-robin", "swiss" or "double". "ArenaRL".
    """
    matches, scores = Matches(judge), np.full(group.lines, 0.5)
    for peers in range(int(group.peers.max(initial=-1)) + 1):
        entrants = np.flatnonzero(group.peers == peers).tolist()
        if len(entrants) > 1:
            ranking = FORMS[form](entrants, matches)
            scores[ranking] = np.linspace(1.0, 0.0, len(ranking))
    return group.spread(standardise(scores, group.peers))
