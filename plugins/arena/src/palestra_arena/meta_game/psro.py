"""Policy-space response oracles (Lanctot et al. 2017, arXiv:1711.00832), with exact oracles.

Each seat has a population of strategies. A meta-solver mixes it, and every seat adds its best
response to the others' mixes, until no seat can gain. With the meta-solver "nash" this is the
double oracle (McMahan, Gordon and Blum 2003), with "uniform" fictitious play. "risk-averse"
responds as its equilibrium does (`palestra_arena.meta_game.risk_averse`): it maximises the mean
minus gamma times the variance that the others' choice of strategy causes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import Game, InvalidOption

from palestra_arena.meta_game.game_tree import SequenceForm, sequence_form
from palestra_arena.meta_game.normal_form import Floats, Mixes, Payoffs
from palestra_arena.meta_game.solvers import meta_solve

FRANK_WOLFE = 200  # steps towards a risk-averse best response
GAIN = 1e-9  # below this a response is no better


@dataclass(frozen=True, slots=True)
class Round:
    """The results of one round, for a population of these sizes."""

    sizes: tuple[int, ...]
    nash_conv: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Population:
    """Every seat's strategies as plans, the meta-solver's mixes, and the rounds that led to them.

    `payoffs` is the meta-game: every seat's payoff for every profile. `settled` says that no seat
    found a better response outside its population.
    """

    form: SequenceForm
    plans: tuple[tuple[Floats, ...], ...]
    mixes: Mixes
    payoffs: Payoffs
    rounds: tuple[Round, ...]
    settled: bool

    @property
    def nash_conv(self) -> float:
        """How much all players together gain by best responses, after the last round."""
        return self.rounds[-1].nash_conv

    def policy(self, seat: int) -> dict[bytes, dict[Any, float]]:
        """A seat's mixture as one policy: chances of actions by what the seat sees."""
        return self.form.policy(seat, _mix_plans(self.plans[seat], self.mixes[seat]))


def psro(
    game: Game[Any, Any] | SequenceForm,
    meta_solver: str = "nash",
    *,
    rounds: int = 100,
    gamma: float = 0.0,
    tolerance: float = 1e-9,
) -> Population:
    """Grow a population from uniform play until NashConv is at most `tolerance`.

    Every round solves the meta-game and adds one best response per seat.
    """
    if rounds < 1:
        raise InvalidOption(f"rounds must be 1 or more, not {rounds}")
    if gamma and meta_solver != "risk-averse":
        raise InvalidOption(f"gamma belongs to the meta-solver risk-averse, not to {meta_solver}")
    form = game if isinstance(game, SequenceForm) else sequence_form(game)
    plans = [[form.uniform(seat)] for seat in range(len(form.seats))]
    history: list[Round] = []
    while True:
        payoffs = _payoffs(form, plans)
        mixes = meta_solve(meta_solver, payoffs, gamma)
        mixed = [_mix_plans(own, mix) for own, mix in zip(plans, mixes, strict=True)]
        apart = form.nash_conv(mixed)
        values = tuple(float(value) for value in form.values(mixed))
        history.append(Round(tuple(map(len, plans)), apart, values))
        replies = [_reply(form, seat, plans, mixes, mixed, gamma) for seat in range(len(plans))]
        new = [
            gain > GAIN and (meta_solver == "uniform" or not _has_plan(plan, own))
            for own, (plan, gain) in zip(plans, replies, strict=True)
        ]
        settled = apart <= tolerance or not any(new)
        if settled or len(history) == rounds:
            found = tuple(tuple(own) for own in plans)
            return Population(form, found, mixes, payoffs, tuple(history), settled)
        for own, (plan, _), wanted in zip(plans, replies, new, strict=True):
            if wanted:
                own.append(plan)


def _has_plan(plan: Floats, plans: Sequence[Floats]) -> bool:
    """Whether a population already has a plan; fictitious play then only raises its weight."""
    return any(np.allclose(plan, other, atol=1e-9) for other in plans)


def _mix_plans(plans: Sequence[Floats], mix: Floats) -> Floats:
    return mix @ np.array(plans)


def _payoffs(form: SequenceForm, plans: Sequence[Sequence[Floats]]) -> Payoffs:
    """The meta-game: reach of every end by every strategy, contracted over the ends."""
    reach = [np.array(own)[:, form.sequences[:, seat]] for seat, own in enumerate(plans)]
    letters = "abcdefghijklmnopqrstuvwxy"[: len(plans)]
    rule = ",".join(f"{letter}z" for letter in letters) + f",z->{letters}"
    return tuple(
        np.einsum(rule, *reach, form.chances * form.returns[:, seat], optimize=True)
        for seat in range(len(plans))
    )


def _reply(
    form: SequenceForm,
    seat: int,
    plans: Sequence[Sequence[Floats]],
    mixes: Mixes,
    mixed: Sequence[Floats],
    gamma: float,
) -> tuple[Floats, float]:
    """A seat's best response and how much it gains over the seat's current mixture."""
    if gamma:
        return _risk_averse_reply(form, seat, plans, mixes, mixed[seat], gamma)
    slope = form.slope(seat, mixed)
    plan, worth = form.best_plan(seat, slope)
    return plan, worth - float(slope @ mixed[seat])


def _risk_averse_reply(
    form: SequenceForm,
    seat: int,
    plans: Sequence[Sequence[Floats]],
    mixes: Mixes,
    present: Floats,
    gamma: float,
) -> tuple[Floats, float]:
    """Frank-Wolfe over the seat's plans; each step's linear problem is a plain best response."""
    others = [other for other in range(len(plans)) if other != seat]
    slopes, weights = [], []
    for chosen in itertools.product(*(range(len(plans[other])) for other in others)):
        profile = [own[0] for own in plans]
        weight = 1.0
        for other, number in zip(others, chosen, strict=True):
            profile[other] = plans[other][number]
            weight *= float(mixes[other][number])
        if weight > 0:
            slopes.append(form.slope(seat, profile))
            weights.append(weight)
    by_rival, chances = np.array(slopes), np.array(weights)

    def worth(plan: Floats) -> float:
        paid = by_rival @ plan
        mean = chances @ paid
        return float(mean - gamma * chances @ (paid - mean) ** 2)

    plan = present
    for _ in range(FRANK_WOLFE):
        paid = by_rival @ plan
        lean = chances * (1 - 2 * gamma * (paid - chances @ paid))
        slope = lean @ by_rival
        corner, best = form.best_plan(seat, slope)
        rise = best - float(slope @ plan)
        if rise <= GAIN / 10:
            break
        apart = by_rival @ (corner - plan)
        bend = 2 * gamma * float(chances @ (apart - chances @ apart) ** 2)
        plan = plan + (1.0 if bend <= rise else rise / bend) * (corner - plan)
    return plan, worth(plan) - worth(present)
