"""SALE: tasks go to whoever's short plan is the best bargain, round after round.

In every round there is a task of a known difficulty, worth the same to the client. All agents bid
at once: how many steps their plan has, and the price they ask, or nothing. A jury judges the chance
that each plan works; the plan with the lowest score, price less worth of that chance, wins if it is
below 0. With `rebids`, who lost with a lower price than the winner may bid once more, knowing the
score to beat. The winner is paid his price, or with `second` the price at which he would just have
won, works off his plan, and it succeeds or not. All plans are told then: a shared memory.

The auction is that of "Scaling Small Agents Through Strategy Auctions", 2025. Known answers
checked: with second scores no bid beats asking for the cost of one's best plan, by enumeration, and
the task goes where worth less cost is largest; without rebids the first bids decide; among equal
scores the cheaper wins.

The array view is a float32 vector of 14 + 4 n numbers for n agents:

    phase (0 bids, 1 rebids), round, last round, own seat, difficulty, worth of a task
    own skill, own cost of a step, own earnings so far
    own steps and price so far this round (0: none), score to beat (0: not told)
    last round: winner (-1: nobody), whether it succeeded
    last round, by seat: steps, price, the jury's chance (0: no bid), tasks won so far
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Bar,
    Event,
    Grammar,
    Integer,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    check_ranges,
    environment,
    only,
)

from palestra_markets.draws import normals
from palestra_markets.tasks.bidding import (
    EASIEST,
    HARDEST,
    LONGEST,
    Plan,
    Worker,
    second_price,
    winner_of,
)

BIDS, REBIDS = range(2)
PHASES = ("bids", "rebids")
PRICES = 20  # prices that can be chosen by number


class Bid(TextAction, frozen=True):
    """Offer a plan of so many steps for a price."""

    steps: int
    ask: int


class Pass(TextAction, frozen=True):
    """Offer nothing, or leave the first bid as it is."""


@dataclass(slots=True)
class Desk:
    """The state; lists are by seat. `doubts` are what the jury errs by this round."""

    rng: Rng
    workers: tuple[Worker, ...]
    difficulty: int = 0
    doubts: list[float] = field(default_factory=list)
    plans: list[Plan | None] = field(default_factory=list)
    phase: int = BIDS
    leader: int = -1
    round: int = 0
    last: list[Plan | None] = field(default_factory=list)
    last_winner: int = -1
    succeeded: bool = False
    won: list[int] = field(default_factory=list)
    earned: list[float] = field(default_factory=list)


@environment(
    "markets/TaskAuction-v0",
    family="market",
    tags=("auction", "plans", "hidden-information", "chance"),
    paper=(
        "Scaling Small Agents Through Strategy Auctions (2025); Che (1993), Design "
        "Competition through Multidimensional Auctions"
    ),
    splits={
        "first-score": {"second": False},
        "second-score": {"second": True},
        "one-shot": {"rebids": False},
    },
    players=(2, 10),
)
@dataclass(frozen=True)
class TaskAuction(TextGame[Desk]):
    """You bid for tasks with plans. Each round there is one task; one plan wins it.

    A plan has 1 to 10 steps. Every step costs you, if you win; more steps work more often, above
    all where your skill is near the difficulty. A jury judges the chance that a plan works. The
    lowest score wins: the price asked less the worth of the task times that chance. The winner is
    paid, and pays for his steps. In your turn write one of:
    Bid(steps=3, ask=200) to offer a plan of 3 steps for 200;
    Pass() to offer nothing, or to leave your bid as it is.
    """

    num_players: int = 4
    worth: int = 1_000
    second: bool = False
    rebids: bool = True
    noise: float = 0.05
    rounds: int = 20

    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("paid", "steps")
    action_types = (Bid, Pass)

    def __post_init__(self) -> None:
        ranges = (
            ("num_players", 2, 10),
            ("worth", 10, 1_000_000),
            ("noise", 0, 1),
            ("rounds", 1, 10_000),
        )
        check_ranges(self, ranges)

    # What follows from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        dearest = LONGEST * self._step_cost(1.0) * 1.2 + LONGEST
        return (-self.rounds * dearest, float(self.rounds * self.worth))

    def _step_cost(self, strength: float) -> float:
        """Of a step, before luck: stronger agents are dearer."""
        return self.worth * (0.004 + 0.15 * strength**2)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Nothing, then every plan at some prices."""
        prices = sorted({self.worth * part // PRICES for part in range(PRICES + 1)})
        return (Pass(), *(Bid(*pair) for pair in product(range(1, LONGEST + 1), prices)))

    # The rules

    def initial_state(self, seed: int | None = None) -> Desk:
        rng, count = Rng.seeded(seed), self.num_players
        workers = tuple(self._draw_worker(seat, rng) for seat in range(count))
        state = Desk(rng, workers, won=[0] * count, earned=[0.0] * count, last=[None] * count)
        self._next_task(state)
        return state

    def _draw_worker(self, seat: int, rng: Rng) -> Worker:
        """Seats are sorted by strength: the last is the largest agent."""
        strength = seat / (self.num_players - 1)
        skill = EASIEST + (HARDEST - EASIEST) * strength + 2 * rng.random() - 1
        cost = self._step_cost(strength) * (0.8 + 0.4 * rng.random())
        return Worker(round(skill, 2), max(1, round(cost)))

    def _next_task(self, state: Desk) -> None:
        state.difficulty = state.rng.between(EASIEST, HARDEST)
        state.doubts = (self.noise * normals(state.rng, self.num_players)).tolist()
        state.plans = [None] * self.num_players
        state.phase, state.leader = BIDS, -1

    def to_act(self, state: Desk) -> tuple[int, ...]:
        if state.round >= self.rounds:
            return ()
        if state.phase == REBIDS:
            return tuple(self.challengers(state))
        return tuple(range(self.num_players))

    def challengers(self, state: Desk) -> list[int]:
        """Who lost with a lower price than the leader's."""
        leading = state.plans[state.leader] if state.leader >= 0 else None
        return [
            seat
            for seat, plan in enumerate(state.plans)
            if plan and leading and seat != state.leader and plan.ask < leading.ask
        ]

    def legal(self, state: Desk, seat: int) -> Grammar:
        return self._offers

    @cached_property
    def _offers(self) -> Grammar:
        bid = {"steps": Integer(1, LONGEST), "ask": Integer(0, self.worth)}
        return Grammar((Option(Bid, bid), Option(Pass)))

    def step(self, state: Desk, actions: Mapping[int, Any]) -> Step:
        for seat, action in sorted(actions.items()):
            if isinstance(action, Bid):
                state.plans[seat] = self._judged(state, seat, action)
        state.leader = winner_of(state.plans, self.worth)
        if state.phase == BIDS and self.rebids and self.challengers(state):
            state.phase = REBIDS
            return Step(events=[self._to_beat(state)])
        return self._execute(state)

    def _judged(self, state: Desk, seat: int, bid: Bid) -> Plan:
        """The jury sees the chance of success, but for its doubts."""
        chance = state.workers[seat].success(state.difficulty, bid.steps)
        believed = min(1.0, max(0.0, chance + state.doubts[seat]))
        return Plan(bid.steps, bid.ask, round(believed, 6))

    def _to_beat(self, state: Desk) -> Event:
        plan = state.plans[state.leader]
        assert plan is not None
        name, score = self.players[state.leader], plan.score(self.worth)
        text = f"{name} leads with a price of {plan.ask} and a score of {score:.1f}."
        data = {"leader": state.leader, "ask": plan.ask, "score": score}
        return Event("reveal", text, data)

    def _execute(self, state: Desk) -> Step:
        """Pay the winner, try his plan, tell all plans."""
        winner, rewards, paid = state.leader, {}, 0
        state.succeeded = False
        if winner >= 0:
            plan, worker = state.plans[winner], state.workers[winner]
            assert plan is not None
            paid = second_price(state.plans, self.worth, winner) if self.second else plan.ask
            cost = worker.cost(plan.steps)
            chance = worker.success(state.difficulty, plan.steps)
            state.succeeded = state.rng.random() < chance
            rewards = {winner: {"paid": float(paid), "steps": -float(cost)}}
            state.earned[winner] += paid - cost
            state.won[winner] += 1
        event = self._told(state, paid)
        state.last, state.last_winner = list(state.plans), winner
        state.round += 1
        if state.round < self.rounds:
            self._next_task(state)
            return Step(rewards, events=[event, self._task(state)])
        return Step(rewards, events=[event])

    def _told(self, state: Desk, paid: int) -> Event:
        bids = "; ".join(
            f"{name} {plan.steps} steps for {plan.ask}, {100 * plan.believed:.0f} percent"
            for name, plan in zip(self.players, state.plans, strict=True)
            if plan
        )
        end = "Nobody wins."
        if state.leader >= 0:
            works = "succeeds" if state.succeeded else "fails"
            end = f"{self.players[state.leader]} is paid {paid} and {works}."
        text = f"Round {state.round + 1}, difficulty {state.difficulty}: {bids or 'no bids'}. {end}"
        data = {
            "winner": state.leader,
            "difficulty": state.difficulty,
            "paid": paid,
            "succeeded": state.succeeded,
        }
        return Event("reveal", text, data)

    def _task(self, state: Desk) -> Event:
        text = f"Round {state.round + 1}: a task of difficulty {state.difficulty}."
        return Event("task", text, {"difficulty": state.difficulty})

    def noop(self, state: Desk, seat: int) -> TextAction:
        return Pass()

    def opening(self, state: Desk) -> Sequence[Event]:
        told = []
        for seat, worker in enumerate(state.workers):
            text = f"{self.players[seat]}, {worker_text(worker)}"
            data = {"skill": worker.skill, "step_cost": worker.step_cost}
            told.append(Event("worker", text, data, only(seat)))
        return [*told, self._task(state)]

    def outcome(self, state: Desk) -> Outcome | None:
        if state.round < self.rounds:
            return None
        score: Result = "score"
        return Outcome((score,) * self.num_players, tuple(state.earned), "all tasks are done")

    def determinize(self, state: Desk, player: int, rng: Rng) -> Desk:
        """Draw the others' skills and costs anew, and what the jury errs by."""
        copy = self.clone(state)
        copy.workers = tuple(
            worker if seat == player else self._draw_worker(seat, rng)
            for seat, worker in enumerate(state.workers)
        )
        copy.doubts = (self.noise * normals(rng, self.num_players)).tolist()
        return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        price = "the price at which he would just have won" if self.second else "his price"
        again = " Who lost with a lower price may bid once more." if self.rebids else ""
        return (
            f"{super().rules_for(seat)}\nA task is worth {self.worth}; the winner is paid {price}."
            f"{again} A plan of n steps works with chance 1 / (1 + exp(difficulty - skill) / n). "
            f"Later seats are stronger, and dearer. There are {self.rounds} rounds."
        )

    def describe(self, state: Desk, seat: int) -> str:
        at = min(state.round + 1, self.rounds)
        lines = [
            f"You are {self.players[seat]}: {worker_text(state.workers[seat])}",
            f"Round {at} of {self.rounds}, {PHASES[state.phase]}. You have earned "
            f"{state.earned[seat]:g}. The task has difficulty {state.difficulty}.",
        ]
        own = state.plans[seat]
        if state.phase == REBIDS:
            lines.append(self._to_beat(state).text)
            if own:
                lines.append(
                    f"You bid {own.steps} steps for {own.ask}, {100 * own.believed:.0f} percent."
                )
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most = float(max(1e7, *map(abs, self.payoff_bounds)))
        return spaces.Box(-most, most, (14 + 4 * self.num_players,), np.float32)

    def observe(self, state: Desk, seat: int) -> NDArray[np.float32]:
        """See the module's docstring for the layout."""
        worker, own = state.workers[seat], state.plans[seat]
        leading = state.plans[state.leader] if state.phase == REBIDS else None
        seen: list[float] = [state.phase, state.round, self.rounds, seat]
        seen += [state.difficulty, self.worth, worker.skill, worker.step_cost]
        seen += [state.earned[seat]]
        seen += [own.steps, own.ask] if own and state.phase == REBIDS else [0, 0]
        seen += [leading.score(self.worth) if leading else 0]
        seen += [state.last_winner, state.round > 0 and state.succeeded]
        for plan in state.last:
            seen += [plan.steps, plan.ask, plan.believed] if plan else [0, 0, 0]
        return np.array([*seen, *state.won], np.float32)

    def scene(self, state: Desk, player: int | None = None) -> Scene:
        """The last plans by price, and who has won how often."""
        bars = []
        for seat, name in enumerate(self.players):
            bars.append(Bar(f"{name} won", float(state.won[seat]), float(self.rounds), seat))
        for seat, plan in enumerate(state.last):
            if plan:
                bars.append(
                    Bar(f"{plan.steps} steps for", float(plan.ask), float(self.worth), seat)
                )
        lines = [f"Round {min(state.round + 1, self.rounds)} of {self.rounds}."]
        if state.last_winner >= 0:
            works = "succeeded" if state.succeeded else "failed"
            lines.append(f"Last: {self.players[state.last_winner]} {works}.")
        return Scene(caption="tasks by auction", bars=tuple(bars), lines=tuple(lines))


def worker_text(worker: Worker) -> str:
    return f"your skill is {worker.skill:g}, and a step costs you {worker.step_cost}."
