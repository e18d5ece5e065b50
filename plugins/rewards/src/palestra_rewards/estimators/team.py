"""Credit within a team: Shapley values, counterfactuals, rank correlation, peer ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from math import factorial
from typing import Annotated, Any, Literal

import numpy as np
from palestra import InvalidOption, Meta, Rng, reward
from palestra.kernel.errors import show

from palestra_rewards.arrays import (
    Bools,
    Floats,
    Ints,
    centre,
    firsts,
    floats,
    means,
    number,
    numbers,
    ranks,
    together,
)
from palestra_rewards.columns import places
from palestra_rewards.group import Group
from palestra_rewards.needs import Lacking

Worth = Callable[[frozenset[int]], float]
TeamReturn = Literal["common", "sum"]
MOST_EXACT = 16


def shapley(worth: Worth, members: int) -> Floats:
    """Exact Shapley value of every member: the mean gain when it joins, over all orders.

    `worth` is called once for each of the 2^members coalitions. Returns shape (members,). In
    CapaBench the members are modules of an agent.
    """
    if members > MOST_EXACT:
        raise InvalidOption(
            f"{members} members make {2**members} coalitions; use sampled_shapley for more than "
            f"{MOST_EXACT}"
        )
    value = np.array([worth(_members(mask)) for mask in range(2**members)], dtype=np.float64)
    masks = np.arange(2**members)
    sizes = np.array([mask.bit_count() for mask in range(2**members)])
    share = [factorial(s) * factorial(members - s - 1) / factorial(members) for s in range(members)]
    found = np.empty(members)
    for member in range(members):
        without = masks[(masks >> member) & 1 == 0]
        gain = value[without | 1 << member] - value[without]
        found[member] = np.dot(np.array(share)[sizes[without]], gain)
    return found


def sampled_shapley(worth: Worth, members: int, rng: Rng, *, orders: int = 100) -> Floats:
    """Shapley values estimated from random orders of joining; they sum to the team's worth."""
    found, order = np.zeros(members), np.arange(members)
    for _ in range(orders):
        keys = np.array([rng.random() for _ in range(members)])
        found += _gains(worth, order[np.argsort(keys)])
    return found / orders


def interaction(worth: Worth, members: int) -> Floats:
    """Pairwise interaction index: the mean, over coalitions, of what two members add jointly."""
    found = np.zeros((members, members))
    for i, j in permutations(range(members), 2):
        rest = [k for k in range(members) if k not in (i, j)]
        for mask in range(2 ** len(rest)):
            held = frozenset(k for place, k in enumerate(rest) if mask >> place & 1)
            share = factorial(len(held)) * factorial(members - len(held) - 2)
            joint = worth(held | {i, j}) - worth(held | {i}) - worth(held | {j}) + worth(held)
            found[i, j] += share / factorial(members - 1) * joint
    return found


def _gains(worth: Worth, order: Iterable[int]) -> Floats:
    held: frozenset[int] = frozenset()
    before, gains = worth(held), {}
    for member in order:
        held |= {int(member)}
        after = worth(held)
        gains[int(member)], before = after - before, after
    return np.array([gains[member] for member in sorted(gains)])


def _members(mask: int) -> frozenset[int]:
    return frozenset(place for place in range(mask.bit_length()) if mask >> place & 1)


@reward(
    "shapley",
    shape="group",
    needs=("several agents", "coalitions"),
    paper="Shapley (1953); CapaBench: Who's the MVP? (2025)",
    check="test_shapley_values_sum_to_what_the_team_is_worth",
    cost="coalitions",
)
def shapley_credit(
    group: Group,
    *,
    team: Annotated[
        TeamReturn,
        Meta(description="what a team earns: one payoff of all members, or the sum of theirs"),
    ] = "common",
) -> Floats:
    """Each seat's Shapley value, from rollouts of every coalition.

    The fact "coalition" lists which seats took part in each episode; seats that sat out get 0. A
    coalition's worth is the mean of what the team earned over its episodes; the empty coalition's
    is 0 unless it was played. `team` says what a team earns: "common" is the one payoff that every
    member gets (rollouts that pay members differently are refused), "sum" the sum of their
    payoffs.
    """
    return _by_task(group, shapley, team)


@reward(
    "counterfactual",
    shape="group",
    needs=("several agents", "coalitions"),
    paper="Wolpert and Tumer (2001), Optimal payoff functions for members of collectives",
    check="test_absence_of_a_dummy_costs_nothing",
    cost="coalitions",
)
def counterfactual_credit(
    group: Group,
    *,
    team: Annotated[
        TeamReturn,
        Meta(description="what a team earns: one payoff of all members, or the sum of theirs"),
    ] = "common",
) -> Floats:
    """What the whole team loses without the seat.

    Coalitions and `team` are as in `shapley_credit`. It needs rollouts of the whole team and of
    each team that lacks one seat.
    """
    return _by_task(group, _absence, team)


def _absence(worth: Worth, members: int) -> Floats:
    everybody = frozenset(range(members))
    return np.array([worth(everybody) - worth(everybody - {m}) for m in range(members)])


def _by_task(group: Group, value: Callable[[Worth, int], Floats], team: TeamReturn) -> Floats:
    members = int(group.seat.max()) + 1
    coalitions = [_coalition(one, members) for one in group.fact("coalition")]
    inside = np.array([s in coalitions[e] for e, s in zip(group.episode, group.seat, strict=True)])
    earned = team_returns(group, inside[group.line_first], team)
    credit = np.array(
        [
            value(_worth(coalitions, earned, np.flatnonzero(group.task == task)), members)
            for task in range(int(group.task.max()) + 1)
        ]
    )
    return np.where(inside, credit[group.turn_task, group.seat], 0.0)


def _coalition(seats: Any, members: int) -> frozenset[int]:
    """The seats that took part; raises `InvalidOption` for what is no list of seats."""
    known = set(range(members))
    if isinstance(seats, str) or not isinstance(seats, Iterable) or not known.issuperset(seats):
        raise InvalidOption(
            f"coalition must list seats from 0 to {members - 1} for every record, not {show(seats)}"
        )
    return frozenset(int(seat) for seat in seats)


def team_returns(group: Group, member: Bools, team: TeamReturn) -> Floats:
    """What the team earned in every episode, shape (episodes,); `member` masks lines that count.

    In an episode without members, all lines count.
    """
    seats = together((group.line_episode, group.seat[group.line_first]))
    episode, counted = group.line_episode[firsts(seats)], member[firsts(seats)]
    pay = np.bincount(seats, group.returns)  # all people at a seat are one member
    empty = np.bincount(episode, counted, minlength=group.episodes) == 0
    counted = counted | empty[episode]
    total = np.bincount(episode, counted * pay, minlength=group.episodes)
    if team == "sum":
        return floats(total)
    mean = total / np.maximum(np.bincount(episode, counted, minlength=group.episodes), 1)
    apart = counted & ~np.isclose(pay, mean[episode], rtol=1e-6, atol=1e-9)
    if apart.any():
        first = int(episode[np.flatnonzero(apart)[0]])
        paid = pay[counted & (episode == first)].tolist()
        raise InvalidOption(
            f"team='common' needs members with equal pay, but episode {first} pays {paid}; "
            "pass team='sum' if the team earns the sum of its members' payoffs"
        )
    return floats(mean)


def _worth(coalitions: Sequence[frozenset[int]], earned: Floats, episodes: Ints) -> Worth:
    played: dict[frozenset[int], list[float]] = {}
    for episode in episodes:
        played.setdefault(coalitions[episode], []).append(float(earned[episode]))

    def worth(coalition: frozenset[int]) -> float:
        if coalition not in played:
            if not coalition:
                return 0.0
            how = f"play the task with seats {sorted(coalition)} only, and tag who took part"
            raise Lacking("team credit", f"a rollout of coalition {sorted(coalition)}", how)
        return float(np.mean(played[coalition]))

    return worth


@reward(
    "comam",
    shape="group",
    needs=("several agents", "local rewards"),
    paper="Collaborative Multi-Agent Optimization for Personalized Memory System",
    check="test_comam_gives_a_shuffled_agent_the_least_weight",
    cost="sort",
)
def comam(
    group: Group,
    *,
    by: Annotated[
        Literal["rank", "gain"],
        Meta(description="how agreement is measured: by rank correlation, or by normalised gain"),
    ] = "rank",
) -> Floats:
    """Local reward plus a share of the team's, centred over the agent's rollouts of the task.

    The fact "local" is one number per line; the team's return is the mean over its seats. An
    agent's share grows with the agreement between the order of its local rewards and that of the
    team's returns over the group: their rank correlation, scaled to [0, 1], or with `by="gain"`
    the discounted gain of the local order relative to that of the best (nDCG). Shares sum to 1
    over agents. The published abstract says that shares follow how consistent the two rankings
    are, and not by which measure; both measures, and that an agent whose local order is the reverse
    of the team's gets no share, are this package's choice. "Collaborative Multi-Agent Optimization
    for Personalized Memory System".
    """
    local = group.line_numbers("local")
    team = group.team_returns[group.line_episode]
    agent = together((group.line_task, group.line_role))
    weight = (agreement if by == "rank" else gain)(local, team, agent)
    total = np.bincount(group.line_task[firsts(agent)], weight)[group.line_task]
    share = np.divide(weight[agent], total, out=np.zeros(group.lines), where=total > 0)
    return group.spread(centre(local + share * team, agent))


def agreement(local: Floats, team: Floats, ids: Ints) -> Floats:
    """Spearman's rank correlation in every bucket, scaled to [0, 1]; one half without spread."""
    a, b = centre(ranks(local, ids), ids), centre(ranks(team, ids), ids)
    scale = np.sqrt(means(a * a, ids) * means(b * b, ids))
    found = np.zeros(scale.size)
    np.divide(means(a * b, ids), scale, out=found, where=scale > 0)
    return floats((1 + found) / 2)


def gain(local: Floats, team: Floats, ids: Ints) -> Floats:
    """nDCG in every bucket: how high the order of `local` puts large `team`; one half without gain.

    An element gains what the team got above the bucket's least, divided by the binary logarithm of
    1 plus its place from 1; elements that tie share their places. The sum is divided by that of the
    best order (Järvelin and Kekäläinen, 2002).
    """
    least = np.full(int(ids.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, ids, team)
    above = team - least[ids]
    best = np.bincount(ids, above * _place_weights(above, ids), minlength=least.size)
    found = np.bincount(ids, above * _place_weights(local, ids), minlength=least.size)
    return floats(np.divide(found, best, out=np.full(least.size, 0.5), where=best > 0))


def _place_weights(values: Floats, ids: Ints) -> Floats:
    """1 / log2(1 + place) with the largest of each bucket first; ties get their places' mean."""
    order = np.lexsort((-values, ids))
    place = np.empty(order.size, dtype=np.int64)
    place[order] = places(ids[order])
    return means(1 / np.log2(place + 2.0), tied := together((ids, number(values))))[tied]


def importance(ratings: Any, final: Any = None) -> Floats:
    """DyLAN's agent importance: peers' ratings propagated back from the last layer.

    `ratings` has shape (layers - 1, agents, agents): row i of layer t holds the ratings that agent
    i of layer t + 1 gave the authors of layer t. `final`, shape (agents,), has the contributions to
    the answer, by default equal. Returns shape (layers, agents); each layer sums to 1, and a silent
    agent gets 0. One layer alone has no ratings; it needs `final`.
    """
    table = numbers("ratings", ratings)
    if table.size == 0 and final is not None:
        table = np.zeros((0, len(final), len(final)))
    if table.ndim != 3 or table.shape[1] != table.shape[2] or (table < 0).any():
        raise InvalidOption("ratings must be non-negative, of shape (layers - 1, agents, agents)")
    agents = table.shape[1]
    last = np.full(agents, 1 / agents) if final is None else numbers("final", final)
    if last.shape != (agents,) or not (last >= 0).all() or last.sum() <= 0:
        raise InvalidOption(f"final must be {agents} numbers from 0 that do not add up to 0")
    layers = [last / last.sum()]
    for layer in table[::-1]:
        given = layer.sum(axis=1, keepdims=True)
        share = np.divide(layer, given, out=np.full_like(layer, 1 / agents), where=given > 0)
        layers.append(layers[-1] @ share)
    return np.array(layers[::-1])


@reward(
    "dylan",
    shape="group",
    needs=("several agents", "ratings"),
    paper=(
        "Liu et al. (2023), Dynamic LLM-Agent Network: An LLM-agent Collaboration "
        "Framework with Agent Team Optimization"
    ),
    check="test_importance_of_every_layer_sums_to_one",
)
def dylan(
    group: Group,
    *,
    ratings: Annotated[Any, Meta(description="ratings that agents gave each other")] = None,
    final: Annotated[Any, Meta(description="weight of each agent in the final answer")] = None,
) -> Floats:
    """Group-centred return times the seat's importance, relative to an equal share.

    Each episode has its own `ratings` and `final` where its talk reports them: the facts "ratings"
    and "final" of talks of the agent `dylan`. Those given as options hold for all episodes.

    Liu et al., "Dynamic LLM-Agent Network" (2023).
    """
    seats = int(group.seat.max(initial=0)) + 1
    if ratings is not None:
        shares = np.tile(_shares(ratings, final, seats), (group.episodes, 1))
    else:
        ends = group.facts.get("final", [None] * group.episodes)
        pairs = zip(group.fact("ratings"), ends, strict=True)
        shares = np.array([_shares(table, last, seats) for table, last in pairs])
    deviation = group.spread(centre(group.returns, group.peers))
    return floats(deviation * shares[group.episode, group.seat])


def _shares(ratings: Any, final: Any, seats: int) -> Floats:
    """The importance of every seat, over all layers, relative to an equal share; (seats,)."""
    total = importance(ratings, final).mean(axis=0)
    if total.size < seats:
        raise InvalidOption(f"ratings cover {total.size} agents, but the rollouts have more seats")
    return floats(total[:seats] * total.size)
