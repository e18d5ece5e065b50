"""SALE: an auction of tasks; each goes to the plan with the best price for its chance of success.

In every round there is a task of a known difficulty, worth the same to the client. All agents act
at once: they bid a number of steps and a price, or pass. A jury estimates the chance that each plan
works. A plan's score is its price less the task's worth times that chance; the lowest score wins if
it is below 0. With `rebids`, losers who asked for less than the winner may bid once more, knowing
the score to beat. The winner is paid their price, or with `second` the highest price at which they
would have won; they pay for the plan's steps, and the plan succeeds or fails. Then all plans are
published, as in the paper's shared memory.

The auction is that of "Scaling Small Agents Through Strategy Auctions", 2025.

Checked: with second scores, no bid beats asking the cost of one's best plan, by enumeration, and
the task goes where worth less cost is largest; without rebids the first bids decide; among equal
scores the cheaper wins.

Left out: the fitting of the weights of a jury.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    Meta,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Person, RoundTable, Table

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
class TaskAuctionState:
    """An auction between two bids; lists are by seat."""

    rng: Rng
    workers: tuple[Worker, ...]
    difficulty: int = 0  # of this round's task
    doubts: list[float] = field(default_factory=list)  # errors of the jury in this round
    plans: list[Plan | None] = field(default_factory=list)  # offered in this round
    phase: int = BIDS  # or REBIDS
    leader: int = -1  # the seat whose plan wins so far; -1 for nobody
    round: int = 0  # rounds completed
    last: list[Plan | None] = field(default_factory=list)  # the plans of the last round
    last_winner: int = -1
    succeeded: bool = False  # the last winner's plan
    won: list[int] = field(default_factory=list)  # tasks so far
    earned: list[float] = field(default_factory=list)  # payments less costs so far
    built: list[int] = field(default_factory=list)  # steps of the plans that won so far


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
)
@dataclass(frozen=True)
class TaskAuction(TextGame[TaskAuctionState]):
    """Agents of different strength bid plans and prices for one task a round.

    Action 0 passes; the others bid 1 to 10 steps, each at prices of 0 to 100 percent of a task's
    worth in steps of 5 percent, lower first. The winner of a round is paid its price less the cost
    of its steps.

    An observation is a float32 vector of 14 + 4 n numbers for n agents:

        phase (0 bids, 1 rebids), round, last round, own seat, difficulty, worth of a task
        own skill, own cost of a step, own earnings so far
        own steps and price so far this round (0: none), score to beat (0: unknown)
        last round: winner (-1: nobody), whether the plan succeeded
        last round, by seat: steps, price, the jury's chance (0: no bid); tasks won so far by seat
    """

    num_players: Annotated[int, Meta(ge=2, le=10, description="agents, the last the largest")] = 4
    worth: Annotated[
        int,
        Meta(
            ge=10,
            le=1_000_000,
            description="worth of a task to the client, and the highest price that can be asked",
        ),
    ] = 1_000
    second: Annotated[
        bool,
        Meta(
            description="whether winners are paid the highest price at which they would "
            "still have won"
        ),
    ] = False
    rebids: Annotated[
        bool, Meta(description="whether losers who asked for less may bid once more")
    ] = True
    noise: Annotated[
        float, Meta(ge=0, le=1, description="standard deviation of the jury's errors in a chance")
    ] = 0.05
    rounds: Annotated[int, Meta(ge=1, le=10_000, description="number of tasks, one per round")] = 20

    rules_text = """
        You bid for tasks with plans. Each round there is one task; one plan wins it.

        A plan has 1 to 10 steps. Every step costs you, if you win; more steps work more often,
        above all where your skill is near the difficulty. A jury judges the chance that a plan
        works. The lowest score wins: the price asked less the worth of the task times that chance.
        The winner is paid, and pays for their steps. In your turn write one of:
        Bid(steps=3, ask=200) to offer a plan of 3 steps for 200; Pass() to offer nothing, or to
        leave your bid as it is.
    """
    counters = ("won", "earned")
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("paid", "steps")
    action_types = (Bid, Pass)

    # Derived from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most_cost = LONGEST * self._step_cost(1.0) * 1.2 + LONGEST
        return (-self.rounds * most_cost, float(self.rounds * self.worth))

    def _step_cost(self, strength: float) -> float:
        """The mean cost of a step: stronger agents are more expensive."""
        return self.worth * (0.004 + 0.15 * strength**2)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Pass, then every number of steps at some prices."""
        prices = sorted({self.worth * part // PRICES for part in range(PRICES + 1)})
        return (Pass(), *(Bid(*pair) for pair in product(range(1, LONGEST + 1), prices)))

    # The rules

    def initial_state(self, seed: int | None = None) -> TaskAuctionState:
        rng, count = Rng.seeded(seed), self.num_players
        workers = tuple(self._draw_worker(seat, rng) for seat in range(count))
        state = TaskAuctionState(
            rng,
            workers,
            won=[0] * count,
            earned=[0.0] * count,
            built=[0] * count,
            last=[None] * count,
        )
        self._next_task(state)
        return state

    def _draw_worker(self, seat: int, rng: Rng) -> Worker:
        """Seats are sorted by strength: the last is the largest agent."""
        strength = seat / (self.num_players - 1)
        skill = EASIEST + (HARDEST - EASIEST) * strength + 2 * rng.random() - 1
        cost = self._step_cost(strength) * (0.8 + 0.4 * rng.random())
        return Worker(round(skill, 2), max(1, round(cost)))

    def _next_task(self, state: TaskAuctionState) -> None:
        state.difficulty = state.rng.between(EASIEST, HARDEST)
        state.doubts = (self.noise * normals(state.rng, self.num_players)).tolist()
        state.plans = [None] * self.num_players
        state.phase, state.leader = BIDS, -1

    def to_act(self, state: TaskAuctionState) -> tuple[int, ...]:
        if state.round >= self.rounds:
            return ()
        if state.phase == REBIDS:
            return tuple(self.challengers(state))
        return tuple(range(self.num_players))

    def challengers(self, state: TaskAuctionState) -> list[int]:
        """The seats that asked for less than the leader, and do not lead."""
        leading = state.plans[state.leader] if state.leader >= 0 else None
        return [
            seat
            for seat, plan in enumerate(state.plans)
            if plan and leading and seat != state.leader and plan.ask < leading.ask
        ]

    def legal(self, state: TaskAuctionState, seat: int) -> Grammar:
        return self._offers

    @cached_property
    def _offers(self) -> Grammar:
        bid = {"steps": Integer(1, LONGEST), "ask": Integer(0, self.worth)}
        return Grammar((Option(Bid, bid), Option(Pass)))

    def step(self, state: TaskAuctionState, actions: Mapping[int, Any]) -> Step:
        for seat, action in sorted(actions.items()):
            if isinstance(action, Bid):
                state.plans[seat] = self._judge(state, seat, action)
        state.leader = winner_of(state.plans, self.worth)
        if state.phase == BIDS and self.rebids and self.challengers(state):
            state.phase = REBIDS
            return Step(events=[self._to_beat(state)])
        return self._execute(state)

    def _judge(self, state: TaskAuctionState, seat: int, bid: Bid) -> Plan:
        """The plan of a bid, with the chance of success that the jury sees, errors included."""
        chance = state.workers[seat].success(state.difficulty, bid.steps)
        believed = min(1.0, max(0.0, chance + state.doubts[seat]))
        return Plan(bid.steps, bid.ask, round(believed, 6))

    def _to_beat(self, state: TaskAuctionState) -> Event:
        plan = state.plans[state.leader]
        assert plan is not None
        name, score = self.players[state.leader], plan.score(self.worth)
        text = f"{name} leads with a price of {plan.ask} and a score of {score:.1f}."
        data = {"leader": state.leader, "ask": plan.ask, "score": score}
        return Event("reveal", text, data)

    def _execute(self, state: TaskAuctionState) -> Step:
        """Pay the winner, execute their plan, and publish all plans."""
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
            state.built[winner] += plan.steps
            state.won[winner] += 1
        event = self._result(state, paid)
        state.last, state.last_winner = list(state.plans), winner
        state.round += 1
        if state.round < self.rounds:
            self._next_task(state)
            return Step(rewards, events=[event, self._task(state)])
        return Step(rewards, events=[event])

    def _result(self, state: TaskAuctionState, paid: int) -> Event:
        """All plans of the round, and how it ended."""
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

    def _task(self, state: TaskAuctionState) -> Event:
        text = f"Round {state.round + 1}: a task of difficulty {state.difficulty}."
        return Event("task", text, {"difficulty": state.difficulty})

    def noop(self, state: TaskAuctionState, seat: int) -> TextAction:
        return Pass()

    def opening(self, state: TaskAuctionState) -> Sequence[Event]:
        events = []
        for seat, worker in enumerate(state.workers):
            text = f"{self.players[seat]}, {worker_text(worker)}"
            data = {"skill": worker.skill, "step_cost": worker.step_cost}
            events.append(Event("worker", text, data, only(seat)))
        return [*events, self._task(state)]

    def outcome(self, state: TaskAuctionState) -> Outcome | None:
        if state.round < self.rounds:
            return None
        score: Result = "score"
        return Outcome((score,) * self.num_players, tuple(state.earned), "all tasks are done")

    def determinize(self, state: TaskAuctionState, seat: int, rng: Rng) -> TaskAuctionState:
        """Redraw the others' skills, costs, earnings and standing bids, and the jury's errors."""
        copy = self.clone(state)
        copy.workers = tuple(
            worker if other == seat else self._draw_worker(other, rng)
            for other, worker in enumerate(state.workers)
        )
        for other, worker in enumerate(copy.workers):
            dearer = worker.step_cost - state.workers[other].step_cost
            copy.earned[other] -= dearer * state.built[other]
        copy.doubts = (self.noise * normals(rng, self.num_players)).tolist()
        if state.phase == REBIDS:
            copy.plans = [
                plan if other == seat else self._guess(state, other, rng)
                for other, plan in enumerate(state.plans)
            ]
        return copy

    def _guess(self, state: TaskAuctionState, seat: int, rng: Rng) -> Plan | None:
        """A bid that fits who leads, with what price and score, and who may bid once more."""
        leading = state.plans[state.leader]
        assert leading is not None
        steps = rng.between(1, LONGEST)
        if seat == state.leader:
            return replace(leading, steps=steps)
        cheaper = seat in self.challengers(state)
        if not cheaper and rng.below(2):
            return None
        low, high = (0, leading.ask - 1) if cheaper else (leading.ask, self.worth)
        ask = rng.between(low, high)
        most = min(1.0, (ask - leading.score(self.worth)) / self.worth)
        return Plan(steps, ask, round(rng.random() * most, 6))

    # What a player sees

    def rules_for(self, seat: int) -> str:
        price = "the price at which they would just have won" if self.second else "their price"
        again = " Who lost with a lower price may bid once more." if self.rebids else ""
        return (
            f"{super().rules_for(seat)}\nA task is worth {self.worth}; the winner is paid {price}."
            f"{again} A plan of n steps works with chance 1 / (1 + exp(difficulty - skill) / n). "
            f"Later seats are stronger, and dearer. There are {self.rounds} rounds."
        )

    def describe(self, state: TaskAuctionState, seat: int) -> str:
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

    def observe(self, state: TaskAuctionState, seat: int) -> NDArray[np.float32]:
        """The observation vector; the class docstring gives the layout."""
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

    def scene(self, state: TaskAuctionState, seat: int | None = None) -> Scene:
        """Everybody with the tasks they won, and the last plans by price."""
        people = tuple(
            Person(
                name,
                bidder,
                "last winner" if bidder == state.last_winner else "",
                f"won {state.won[bidder]}",
                share=plan.ask / self.worth if plan else None,
            )
            for bidder, (name, plan) in enumerate(
                zip(self.players, state.last or [None] * self.num_players, strict=True)
            )
        )
        plans = sorted((p.ask, n, p.steps) for n, p in enumerate(state.last) if p is not None)
        rows = tuple((self.players[n], str(steps), str(ask)) for ask, n, steps in plans)
        table = Table(("last plans", "steps", "price"), rows, colours=tuple(n for _, n, _ in plans))
        words = f"Round {min(state.round + 1, self.rounds)} of {self.rounds}"
        if state.last_winner >= 0:
            words += ": the plan worked" if state.succeeded else ": the plan failed"
        parts = (RoundTable(people, words=words), *((table,) if rows else ()))
        return Scene(parts=parts)


def worker_text(worker: Worker) -> str:
    return f"your skill is {worker.skill:g}, and a step costs you {worker.step_cost}."
