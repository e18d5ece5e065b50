"""Every estimator on rollouts that were really played, beside its formula in plain loops.

The formulas are written here from the papers, over the turns of records; nothing of the package is
used to work them out. The runs are unequal: several seeds, seats, agents and options, games of
turns and of decisions made together, branches that were taken once and often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from math import exp
from statistics import fmean, pstdev, stdev
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord
from palestra_rewards import estimate

Records = tuple[EpisodeRecord, ...]


@dataclass
class Played:
    """A turn as the formulas see it."""

    episode: int
    step: int
    seat: int
    task: tuple[str, int, str]
    agent: str
    state: str
    action: str
    text: str
    tokens: int
    logprob: float | None
    paid: float = 0.0  # until the seat's next turn
    place: int = 0  # among the seat's turns
    whole: float = 0.0  # the seat's return
    team: float = 0.0  # the mean return over the episode's seats
    won: float = 0.0

    @property
    def line(self) -> tuple[int, int]:
        return self.episode, self.seat

    @property
    def side(self) -> tuple[Hashable, int, str]:
        return self.task, self.seat, self.agent


WON = {"win": 1.0, "draw": 0.5, "loss": 0.0, "forfeit": 0.0, "truncated": 0.0}


def turns_of(records: Records) -> list[Played]:
    """The turns of records, in order, with what each was paid."""
    found: list[Played] = []
    for number, record in enumerate(records):
        own: dict[int, list[Played]] = defaultdict(list)
        task = (record.env, record.seed, str(sorted(record.options.items())))
        for place, step in enumerate(record.steps):
            for turn in step.turns:
                agent = record.agents[turn.seat]
                key = turn.anchor or turn.state_key
                tokens = turn.usage.tokens_out + sum(x.usage.tokens_out for x in turn.refused)
                new = Played(
                    number,
                    place,
                    turn.seat,
                    task,
                    agent,
                    key,
                    repr(turn.action),
                    turn.text,
                    tokens,
                    turn.logprob,
                    place=len(own[turn.seat]),
                )
                own[turn.seat].append(new)
                found.append(new)
            for seat, terms in step.rewards.items():
                if own[seat]:
                    own[seat][-1].paid += sum(terms.values())
        team = fmean(record.returns[seat] for seat, turns in own.items() if turns)
        assert record.outcome is not None
        for seat, decided in own.items():
            for one in decided:
                one.whole, one.team = record.returns[seat], team
                one.won = WON.get(record.outcome.results[seat], 0.0)
    return found


def gathered(items: Iterable[Any], by: Callable[[Any], Hashable]) -> dict[Hashable, list[Any]]:
    found: dict[Hashable, list[Any]] = defaultdict(list)
    for item in items:
        found[by(item)].append(item)
    return found


def lines_of(turns: Sequence[Played]) -> list[list[Played]]:
    return list(gathered(turns, lambda turn: turn.line).values())


def standard(value: float, among: Sequence[float]) -> float:
    spread = pstdev(among)
    return (value - fmean(among)) / spread if spread > 1e-9 else 0.0


def among_lines(turns: Sequence[Played], score: Callable[[list[Played]], float]) -> list[float]:
    """Scores of lines standardised among lines of one task, seat and agent, for each turn."""
    lines = lines_of(turns)
    scores = {line[0].line: score(line) for line in lines}
    peers = gathered(lines, lambda line: line[0].side)
    return [
        standard(scores[turn.line], [scores[line[0].line] for line in peers[turn.side]])
        for turn in turns
    ]


def to_go(
    turns: Sequence[Played], gamma: float, paid: Sequence[float] | None = None
) -> list[float]:
    values = [turn.paid for turn in turns] if paid is None else paid
    places = {(turn.line, turn.place): value for turn, value in zip(turns, values, strict=True)}
    length = {line[0].line: len(line) for line in lines_of(turns)}
    return [
        sum(
            gamma ** (later - turn.place) * places[turn.line, later]
            for later in range(turn.place, length[turn.line])
        )
        for turn in turns
    ]


def among_turns(
    turns: Sequence[Played], values: Sequence[float], by: Callable[[Played], Hashable]
) -> list[float]:
    held = gathered(zip(turns, values, strict=True), lambda pair: by(pair[0]))
    return [
        standard(value, [other for _, other in held[by(turn)]])
        for turn, value in zip(turns, values, strict=True)
    ]


# Formulas


def reinforce(turns: Sequence[Played]) -> list[float]:
    return to_go(turns, 0.9)


def others_off(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    found = []
    for turn in turns:
        others = [line[0].whole for line in peers[turn.side] if line[0].episode != turn.episode]
        found.append(turn.whole - fmean(others) if others else 0.0)
    return found


def grpo(turns: Sequence[Played]) -> list[float]:
    return among_lines(turns, lambda line: line[0].whole)


def grpo_of_trl(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    found = []
    for turn in turns:
        returns = [line[0].whole for line in peers[turn.side]]
        flat = len(returns) < 2 or stdev(returns) < 1e-9
        found.append(0.0 if flat else (turn.whole - fmean(returns)) / (stdev(returns) + 1e-4))
    return found


def centred(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    return [turn.whole - fmean(line[0].whole for line in peers[turn.side]) for turn in turns]


def gigpo(turns: Sequence[Played]) -> list[float]:
    step = among_turns(turns, to_go(turns, 0.95), lambda turn: (turn.side, turn.state))
    return [a + 0.5 * b for a, b in zip(grpo(turns), step, strict=True)]


def salt(turns: Sequence[Played]) -> list[float]:
    edge = {(t.line, t.place): (t.side, t.state, t.action) for t in turns}

    def merged(turn: Played) -> Hashable:
        return edge[turn.line, turn.place], edge.get((turn.line, turn.place - 1))

    base = grpo(turns)
    held = gathered(zip(turns, base, strict=True), lambda pair: merged(pair[0]))
    return [fmean(value for _, value in held[merged(turn)]) for turn in turns]


def mars(turns: Sequence[Played]) -> list[float]:
    def seat(turn: Played) -> Hashable:
        return turn.seat, turn.agent, turn.task[0]

    return among_turns(turns, to_go(turns, 0.9), seat)


def dr_mas(turns: Sequence[Played]) -> list[float]:
    return among_turns(turns, [t.whole for t in turns], lambda t: (t.task, t.seat, t.agent))


def advevo(turns: Sequence[Played]) -> list[float]:
    functional = gathered(lines_of(turns), lambda line: (line[0].task, line[0].seat))
    return [t.whole - fmean(x[0].whole for x in functional[t.task, t.seat]) for t in turns]


def at_grpo(turns: Sequence[Played]) -> list[float]:
    scores = [0.75 * turn.team + 0.5 * turn.paid for turn in turns]
    return among_turns(turns, scores, lambda t: (t.task, t.seat, t.agent, t.place, t.state))


def siblings_off(turns: Sequence[Played], gamma: float = 0.9) -> list[float]:
    ahead = to_go(turns, gamma)
    held = gathered(zip(turns, ahead, strict=True), lambda pair: (pair[0].side, pair[0].place))
    return [
        value - fmean(v for _, v in held[turn.side, turn.place])
        for turn, value in zip(turns, ahead, strict=True)
    ]


def aligned(turns: Sequence[Played]) -> list[float]:
    """Duque et al.: A_i(t) + beta gamma sum_(k<t) gamma^(t-k) A_i(k) sum_(j != i) A_j(t)."""
    base = siblings_off(turns, 1.0)
    of = {(t.line, t.place): value for t, value in zip(turns, base, strict=True)}
    at = gathered(zip(turns, base, strict=True), lambda pair: (pair[0].episode, pair[0].step))
    found = []
    for turn, value in zip(turns, base, strict=True):
        past = sum(0.8 ** (turn.place - k) * of[turn.line, k] for k in range(turn.place))
        others = sum(v for t, v in at[turn.episode, turn.step] if t.seat != turn.seat)
        found.append(value + 0.5 * 0.8 * past * others)
    return found


def preferred(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    found = []
    for turn in turns:
        rivals = [x[0].whole for x in peers[turn.side] if x[0].episode != turn.episode]
        share = fmean((turn.whole > r) + 0.5 * (turn.whole == r) for r in rivals) if rivals else 0.5
        found.append(share - 0.5)
    return found


def stable(turns: Sequence[Played]) -> list[float]:
    scores = among_turns(turns, to_go(turns, 1.0), lambda turn: (turn.seat, turn.agent))
    return [score if abs(score) <= 1.5 else 0.0 for score in scores]


def moving_average(turns: Sequence[Played]) -> list[float]:
    roles = gathered(lines_of(turns), lambda line: (line[0].task[0], line[0].seat))
    mean = {role: fmean(line[0].whole for line in lines) for role, lines in roles.items()}
    return [turn.whole - (0.8 * 0.25 + 0.2 * mean[turn.task[0], turn.seat]) for turn in turns]


def adora(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    found = []
    for turn, base in zip(turns, grpo(turns), strict=True):
        right = [len(line) for line in peers[turn.side] if line[0].won == 1]
        wrong = [len(line) for line in peers[turn.side] if line[0].won < 1]
        rate = len(right) / (len(right) + len(wrong))
        useful = bool(right and wrong) and fmean(right) > fmean(wrong) and 0 < rate <= 0.75
        found.append(base * (2.0 if useful else 0.5))
    return found


def vspo(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    spread = {side: pstdev([x[0].whole for x in lines]) for side, lines in peers.items()}
    rate = {side: fmean(x[0].won for x in lines) for side, lines in peers.items()}
    batches = gathered(peers, lambda side: side[1:])  # the seat and the agent, in any task

    def value(side: Any) -> float:
        top = max(spread[one] for one in batches[side[1:]])
        unsure = spread[side] / top if top else 0.0
        return 0.7 * 4 * rate[side] * (1 - rate[side]) + 0.3 * unsure + 0.1

    return [
        base * min(max(value(t.side) / fmean(value(s) for s in batches[t.side[1:]]), 0.5), 2.0)
        for t, base in zip(turns, grpo(turns), strict=True)
    ]


def asymmetric(turns: Sequence[Played]) -> list[float]:
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    batch = gathered(lines_of(turns), lambda line: (line[0].seat, line[0].agent))
    found = []
    for turn, base in zip(turns, grpo(turns), strict=True):
        level = fmean(line[0].whole for line in batch[turn.seat, turn.agent])
        rate = fmean(line[0].whole for line in peers[turn.side])
        damped = 0.25 + 0.75 * min(max(level, 0), 1) if base > 0 else 1.0
        found.append(base * damped * exp(0.5 * (1 - 2 * level) * (rate - level)))
    return found


def halves(turns: Sequence[Played]) -> list[float]:
    """CANON by the number of turns, where no two rollouts tie across the cut."""
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    score = {}
    for lines in peers.values():
        order = sorted(lines, key=len)
        size = len(order)
        for line in lines:  # the share of a line in the upper half; ties share it
            ties = [place for place, one in enumerate(order) if len(one) == len(line)]
            upper = fmean(min(max(place + 1 - size / 2, 0), 1) for place in ties)
            score[line[0].line] = upper
    found = []
    for turn in turns:
        lines = peers[turn.side]
        means = {}
        for half in (0, 1):
            share = [score[x[0].line] if half else 1 - score[x[0].line] for x in lines]
            pairs = zip(share, lines, strict=True)
            means[half] = sum(s * x[0].whole for s, x in pairs) / sum(share)
        up = score[turn.line]
        own = up * means[1] + (1 - up) * means[0]
        other = up * means[0] + (1 - up) * means[1]
        found.append(turn.whole - 0.3 * other - 0.7 * own)
    return found


def steps_before(turns: Sequence[Played], turn: Played) -> tuple[Hashable, ...]:
    """All decisions of the episode before the turn's step."""
    return tuple(
        (t.step, t.seat, t.state, t.action)
        for t in turns
        if t.episode == turn.episode and t.step < turn.step
    )


@dataclass
class Walk:
    """Histories of turns, and the mean return of the rollouts that share them."""

    before: Sequence[Hashable]
    after: Sequence[Hashable]
    turns: Sequence[Played]
    worth: dict[Hashable, float]


def walk(turns: Sequence[Played]) -> Walk:
    """A node is a history with the seat and agent that its value is for."""
    before = [(t.task, steps_before(turns, t)) for t in turns]
    after = [(b, (t.seat, t.state, t.action)) for b, t in zip(before, turns, strict=True)]
    through: dict[Hashable, dict[tuple[int, int], float]] = defaultdict(dict)
    lines = {line[0].line: line[0] for line in lines_of(turns)}
    for start, end, turn in zip(before, after, turns, strict=True):
        for line in lines.values():
            if line.episode == turn.episode:
                for node in (start, end):
                    through[node, line.seat, line.agent][line.line] = line.whole
    for line in lines.values():
        through[(line.task, ()), line.seat, line.agent][line.line] = line.whole
    worth = {node: fmean(held.values()) for node, held in through.items()}
    return Walk(before, after, turns, worth)


def value_of(at: Walk, node: Hashable, turn: Played) -> float:
    return at.worth[node, turn.seat, turn.agent]


def segments(turns: Sequence[Played]) -> list[float]:
    at = walk(turns)
    length = {line[0].line: len(line) for line in lines_of(turns)}
    found = []
    for start, end, turn in zip(at.before, at.after, turns, strict=True):
        last = turn.place == length[turn.line] - 1
        found.append((turn.whole if last else value_of(at, end, turn)) - value_of(at, start, turn))
    return found


def malt(turns: Sequence[Played]) -> list[float]:
    at = walk(turns)
    return [
        1.0 if value_of(at, end, turn) > 0.2 else -1.0
        for end, turn in zip(at.after, turns, strict=True)
    ]


def best_and_worst(turns: Sequence[Played]) -> list[float]:
    at = walk(turns)
    quality = [value_of(at, end, turn) for end, turn in zip(at.after, turns, strict=True)]
    points = [(start, t.seat, t.agent, t.state) for start, t in zip(at.before, turns, strict=True)]
    held = gathered(zip(points, quality, strict=True), lambda pair: pair[0])
    found = []
    for point, q in zip(points, quality, strict=True):
        values = [v for _, v in held[point]]
        apart = max(values) - min(values) > 1e-9
        found.append(float(q == max(values)) - float(q == min(values)) if apart else 0.0)
    return found


def like_histories(turns: Sequence[Played]) -> list[float]:
    at = walk(turns)
    ahead = to_go(turns, 0.9)
    nodes = [(end, t.seat, t.agent) for end, t in zip(at.after, turns, strict=True)]
    held = gathered(zip(nodes, ahead, strict=True), lambda pair: pair[0])
    return [fmean(value for _, value in held[node]) for node in nodes]


def recursion(turns: Sequence[Played], gamma: float) -> tuple[list[float], list[float]]:
    """Q and V of every turn: the Bellman equations of what was seen, by iterating them."""
    following = {(t.line, t.place - 1): t for t in turns}
    value: dict[Hashable, float] = defaultdict(float)
    states = gathered(turns, lambda t: (t.seat, t.agent, t.state))

    def ahead(turn: Played) -> float:
        after = following.get((turn.line, turn.place))
        return turn.paid + (gamma * value[after.seat, after.agent, after.state] if after else 0.0)

    for _ in range(400):
        for state, visits in states.items():
            value[state] = fmean(map(ahead, visits))
    played = gathered(turns, lambda t: (t.seat, t.agent, t.state, t.action))
    quality = [fmean(map(ahead, played[t.seat, t.agent, t.state, t.action])) for t in turns]
    return quality, [value[t.seat, t.agent, t.state] for t in turns]


def critic(turns: Sequence[Played]) -> list[float]:
    quality, value = recursion(turns, 0.9)
    return [q - v for q, v in zip(quality, value, strict=True)]


def generalised(turns: Sequence[Played]) -> list[float]:
    _, value = recursion(turns, 0.9)
    of = {(t.line, t.place): v for t, v in zip(turns, value, strict=True)}
    surprise = [
        t.paid + 0.9 * of.get((t.line, t.place + 1), 0.0) - v
        for t, v in zip(turns, value, strict=True)
    ]
    return to_go(turns, 0.9 * 0.5, surprise)


def ranked(turns: Sequence[Played]) -> list[float]:
    """A judge that prefers the higher return; quantiles of the places, standardised."""
    peers = gathered(lines_of(turns), lambda line: line[0].side)
    quantile = {}
    for lines in peers.values():
        order = sorted(lines, key=lambda line: -worth(line[0]))
        for place, line in enumerate(order):
            quantile[line[0].line] = 1 - place / (len(order) - 1) if len(order) > 1 else 0.5
    return among_lines(turns, lambda line: quantile[line[0].line])


def worth(turn: Played) -> float:
    """The return, with ties broken by the number of the episode."""
    return turn.whole + 1e-6 * turn.episode


# Runs


@cache
def rollouts(name: str) -> Records:
    return tuple(RUNS[name]())


def boards() -> Iterable[EpisodeRecord]:
    """Three tasks, two casts: learners that differ meet one another in both seats."""
    for seed, n in ((1, 7), (2, 4), (5, 9)):
        for cast in (["random", "first"], ["first", "random"], ["random", "random"]):
            yield from palestra.rollouts("games/TicTacToe-v0", agents=cast, seed=seed, n=n)


def hands() -> Iterable[EpisodeRecord]:
    """One player with few decisions, under two rules, so that rollouts share their beginnings."""
    for seed, n in ((0, 8), (3, 5), (4, 8)):
        yield from palestra.rollouts("games/Blackjack-v0", agents="random", seed=seed, n=n)
    yield from palestra.rollouts(
        "games/FrozenLake-v0", agents="random", seed=1, n=8, slippery=False
    )


def dilemmas() -> Iterable[EpisodeRecord]:
    """Both decide in the same step, five times."""
    for seed, n in ((0, 6), (4, 3)):
        yield from palestra.rollouts(
            "games/PrisonersDilemma-v0", agents=["random", "random"], seed=seed, n=n, rounds=5
        )


def dice() -> Iterable[EpisodeRecord]:
    """Four seats, some of which are out before others."""
    yield from palestra.rollouts(
        "games/LiarsDice-v0", agents=["random"] * 4, seed=2, n=6, num_players=4
    )


def cards() -> Iterable[EpisodeRecord]:
    for seed, n in ((0, 12), (3, 5), (8, 9)):
        yield from palestra.rollouts(
            "games/KuhnPoker-v0", agents=["cfr:iterations=40"] * 2, seed=seed, n=n
        )


RUNS = {"boards": boards, "hands": hands, "dilemmas": dilemmas, "dice": dice, "cards": cards}
SOME = tuple(RUNS)
FORMULAS: dict[str, tuple[Callable[[Sequence[Played]], list[float]], tuple[str, ...]]] = {
    "reinforce:gamma=0.9": (reinforce, SOME),
    "rloo": (others_off, SOME),
    "loop": (others_off, SOME),
    "grpo": (grpo, SOME),
    "grpo:ddof=1,epsilon=0.0001": (grpo_of_trl, SOME),
    "flow-grpo": (grpo, SOME),
    "dr-grpo": (centred, SOME),
    "gigpo:weight=0.5": (gigpo, SOME),
    "salt": (salt, SOME),
    "mars:gamma=0.9": (mars, SOME),
    "dr-mas": (dr_mas, SOME),
    "advevo": (advevo, SOME),
    "at-grpo:team=0.75,local=0.5": (at_grpo, SOME),
    "turn-relative:gamma=0.9": (siblings_off, SOME),
    "advantage-alignment:beta=0.5,gamma=0.8": (aligned, ("dilemmas",)),
    "self-play-preference": (preferred, SOME),
    "stable-reinforce:most=1.5": (stable, SOME),
    "rae:alpha=0.8,start=0.25": (moving_average, SOME),
    "adora:useful=2,other=0.5,easiest=0.75": (adora, ("boards", "cards")),
    "vspo:blend=0.3": (vspo, ("boards", "cards")),
    "a-grae:positive=0.25,late=1,lean=0.5": (asymmetric, SOME),
    "canon:mu=0.3": (halves, SOME),
    "segment-tree": (segments, SOME),
    "malt:threshold=0.2": (malt, SOME),
    "step-q": (best_and_worst, SOME),
    "agentprm:gamma=0.9": (like_histories, SOME),
    "archer:critic=table,gamma=0.9": (critic, SOME),
    "turn-critic:critic=table,gamma=0.9,lam=0.5": (generalised, SOME),
}


# A zero-sum game pays a team 0, and every rollout of the dilemmas is worth more than the threshold
EVEN = {("at-grpo", "boards"), ("malt", "dilemmas")}


@pytest.mark.parametrize(
    ("name", "run"), [(name, run) for name, (_, runs) in FORMULAS.items() for run in runs]
)
def test_credit_of_played_rollouts_is_the_formula(name: str, run: str) -> None:
    records = rollouts(run)
    found = estimate(name, list(records)).values
    expected = FORMULAS[name][0](turns_of(records))
    assert np.ptp(expected) > 0 or (name.split(":")[0], run) in EVEN
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("run", SOME)
@pytest.mark.parametrize("form", ["seeded", "single", "round-robin"])
def test_ranks_of_a_tournament_are_those_of_the_returns(run: str, form: str) -> None:
    records = rollouts(run)
    turns = turns_of(records)
    lines = sorted(lines_of(turns), key=lambda line: line[0].line)

    def judge(i: int, j: int) -> float:
        return float(worth(lines[i][0]) > worth(lines[j][0]))

    found = estimate("arena", list(records), judge=judge, form=form).values
    if form == "round-robin":
        np.testing.assert_allclose(found, ranked(turns), atol=1e-9)
    for line in gathered(
        zip(turns, found, ranked(turns), strict=True), lambda p: p[0].side
    ).values():
        best = max(line, key=lambda one: one[2])
        assert best[1] == pytest.approx(max(one[1] for one in line))


@cache
def coalitions() -> Records:
    """Every coalition of four, played once to three times, by good and by random members."""
    members = [c for size in range(5) for c in combinations(range(4), size)]
    found: list[EpisodeRecord] = []
    for seed in (0, 5):
        for place, held in enumerate(members):
            able = "random" if place % 3 == 0 else "agents-net-oracle"
            found += palestra.rollouts(
                "games/AgentsNet-v0",
                agents=[able if seat in held else "absent" for seat in range(4)],
                n=1 + place % 3,
                seed=seed,
                num_players=4,
                task="matching",
            )
    return tuple(found)


@pytest.mark.parametrize("name", ["shapley", "counterfactual"])
def test_credit_of_members_is_what_coalitions_earned_without_them(name: str) -> None:
    records = coalitions()
    worths: dict[int, dict[frozenset[int], list[float]]] = {}
    for record in records:
        held = frozenset(seat for seat, agent in enumerate(record.agents) if agent != "absent")
        worths.setdefault(record.seed, {}).setdefault(held, []).append(record.returns[0])
    credit: dict[int, list[float]] = {}
    for seed, played in worths.items():
        worth = {held: fmean(paid) for held, paid in played.items()}
        everybody = frozenset(range(4))
        if name == "counterfactual":
            credit[seed] = [worth[everybody] - worth[everybody - {m}] for m in range(4)]
            continue
        credit[seed] = [
            fmean(
                worth[frozenset(order[: order.index(m) + 1])]
                - worth[frozenset(order[: order.index(m)])]
                for order in permutations(range(4))
            )
            for m in range(4)
        ]
    expected = [
        credit[record.seed][turn.seat] if record.agents[turn.seat] != "absent" else 0.0
        for record in records
        for turn in record.turns
    ]
    assert len({round(value, 6) for value in expected}) > 2
    np.testing.assert_allclose(estimate(name, list(records)).values, expected, atol=1e-9)
