"""Agents of OrderKitchen that share orders out by rule, in any seat."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_envs.text.order_kitchen.dishes import Pace, best_allocation, consistent_paces
from palestra_envs.text.order_kitchen.game import (
    Give,
    KitchenShift,
    OrderKitchen,
    Rest,
    Start,
    Take,
)


@agent("dispatcher")
class Dispatcher(ScriptedAgent[OrderKitchen]):
    """Shares orders of a kitchen out: policy=optimum|greedy|independent.

    `optimum` is the allocation that earns most, found by the Hungarian method; `greedy` takes again
    and again the pair of a cook and an order that earns most; `independent` is the order that earns
    most for each cook, whatever others do. In a cook's seat it follows a planner's advice if there
    is some, and otherwise takes what the policy gives to itself. Paces that it was not told count
    as all paces that agree with what was seen, each as likely. `optimum` needs scipy.
    """

    def __init__(
        self,
        *,
        policy: Annotated[
            Literal["optimum", "greedy", "independent"],
            Meta(description="how orders are shared out"),
        ] = "optimum",
    ) -> None:
        super().__init__(seed=0)  # it uses no randomness that changes its moves
        self._policy = policy

    def choose(self, turn: Turn[OrderKitchen]) -> TextAction:
        game, state = turn.game, turn.fork(self.rng).state
        cook = game.cook_of(turn.seat)
        if cook is not None and any(state.given):
            order = state.given[cook]
            return Take(order) if order else Rest()
        plan = self.allocate(expected_gains(game, state, turn.seat))
        if cook is not None:
            mine = plan[cook]
            return Rest() if mine is None else Take(mine + 1)
        for name, given, order in zip(game.names, state.given, plan, strict=True):
            if order is not None and not given and order + 1 not in state.given:
                return Give(name, order + 1)
        return Start()

    def allocate(self, gains: NDArray[np.float64]) -> list[int | None]:
        """The order of each cook, by the policy."""
        if self._policy == "optimum":
            return best_allocation(gains)
        if self._policy == "greedy":
            return greedy_allocation(gains)
        return [int(row.argmax()) if row.max() > 0 else None for row in gains]


def expected_gains(game: OrderKitchen, state: KitchenShift, seat: int) -> NDArray[np.float64]:
    """What each order (a column) earns with each cook (a row), as far as a seat can know."""
    gains = []
    for cook, pace in enumerate(state.paces):
        paces: tuple[Pace, ...] = (pace,)
        if not game.knows(state, seat, cook):
            seen = tuple((order, ticks) for one, order, ticks in state.seen if one == cook)
            paces = consistent_paces(game.slowest, seen)
        gains.append([np.mean([order.gain(one) for one in paces]) for order in state.orders])
    return np.array(gains, np.float64)


def greedy_allocation(gains: NDArray[np.float64]) -> list[int | None]:
    """Pairs of a cook and an order, the most gainful first, until none gains anything."""
    left = gains.copy()
    plan: list[int | None] = [None] * len(gains)
    while left.max() > 0:
        cook, order = np.unravel_index(int(left.argmax()), left.shape)
        plan[int(cook)] = int(order)
        left[cook, :] = left[:, order] = 0.0
    return plan
