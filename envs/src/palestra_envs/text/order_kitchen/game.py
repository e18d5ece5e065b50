"""OrderKitchen: cooks of unequal skill share out orders, alone, with a planner or by orchestrator.

In every service some orders arrive. A dish needs portions at the chopper, the pot and the blender,
and has a price and a deadline; each cook has a pace at each tool, in ticks for a portion. A cook
takes one order of a service, or rests. A dish in time is paid once, to all; every tick of work
costs 1, also for a dish that is late, or that a quicker cook has served already.

The question is that of "Self-Resource Allocation in Multi-Agent LLM Systems" (2025): who should
decide who does what, with the skills of workers told or not? Here each cook chooses at once with
the others; or a planner in a seat of their own advises them first; or an orchestrator, who is the
only player, decides for all.

With the skills known, the most that a service can earn is an assignment problem, whose optimum the
Hungarian method finds.

Checked: the optimum of unequal services (more cooks than orders, and the reverse) against a search
of all allocations; `dispatcher` in the orchestrator's seat earns it in every service; independent
cooks earn less than those with a planner or orchestrator, and random ones least; what is known of
hidden paces against counting all paces.

Left out: walking between tools and carrying single ingredients (a dish is one job of one cook);
orders that wait for a later service; the talk of workers; the paper's recipes and models. Prices,
paces and deadlines are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
)
from palestra.scene import Graph, Link, Node

from palestra_envs.text.order_kitchen.dishes import (
    DEADLINES,
    MOST_PORTIONS,
    PRICES,
    TOOLS,
    Order,
    Pace,
    consistent_paces,
    draw_order,
)


class Take(TextAction, frozen=True):
    """Prepare this order of the service."""

    order: int


class Rest(TextAction, frozen=True):
    """Prepare nothing in this service."""


class Give(TextAction, frozen=True):
    """Give an order to a cook: a decision of an orchestrator, the advice of a planner."""

    cook: str
    order: int


class Start(TextAction, frozen=True):
    """End the sharing out; cooks who were given nothing rest, or are free to choose."""


@dataclass(slots=True)
class KitchenShift:
    """The cooks, the orders of this service, and what was done before."""

    rng: Rng
    paces: list[Pace]  # by cook
    orders: list[Order]
    given: list[int]  # by cook: the number of an order, 0 for none
    sharing: bool  # whether a planner or an orchestrator is giving orders
    service: int = 0  # services that are over
    earned: int = 0
    took: list[int] = field(default_factory=list)  # in the last service, by cook; 0 for none
    times: list[int] = field(default_factory=list)  # ticks in the last service, by cook
    seen: list[tuple[int, Order, int]] = field(default_factory=list)  # cook, dish, ticks


@environment(
    "text/OrderKitchen-v0",
    family="text",
    tags=("cooperative", "allocation", "planning", "known-optimum"),
    paper="Self-Resource Allocation in Multi-Agent LLM Systems (2025)",
    splits={
        "planner": {"num_players": 5, "planner": True},
        "orchestrator": {"num_players": 1},
        "hidden-workers": {"skills": "hidden"},
        "hidden-planner": {"skills": "hidden", "num_players": 5, "planner": True},
        "hidden-orchestrator": {"skills": "hidden", "num_players": 1},
    },
)
@dataclass(frozen=True)
class OrderKitchen(TextGame[KitchenShift]):
    """Cooks of unequal skill share out orders, alone, with a planner or by an orchestrator.

    The menu: Take each order, Rest, Give each cook each order, Start. An observation is an int32
    vector: services over, whether orders are being given, own seat; portions at each tool, price
    and deadline of each order; each cook's pace at each tool, 0 if unknown; the order given to each
    cook; the order each took last, and their ticks. All seats are paid alike.
    """

    rules_text = """
        A kitchen has several cooks and three tools: chopper, pot and blender. In every service
        orders arrive. A dish needs some portions at each tool. A cook's pace at a tool is the ticks
        that they need for one portion there; cooks differ. Each cook prepares at most one order of
        a service, alone, and those who cook work at the same time.

        A dish that is ready at its deadline or before earns its price. Each tick that anybody
        works costs 1. If several cooks prepare the same order, all of them work, and it is paid
        once. Orders that nobody prepares are lost. Everything earned and spent is shared: you all
        receive the same.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=9, description="seats; one alone is an orchestrator")
    ] = 4
    planner: Annotated[
        bool, Meta(description="whether the first of several seats is a planner, not a cook")
    ] = False
    staff: Annotated[int, Meta(ge=1, le=9, description="cooks of an orchestrator")] = 4
    arrivals: Annotated[int, Meta(ge=1, le=8, description="orders of a service")] = 4
    services: Annotated[int, Meta(ge=1, le=100, description="services until the end")] = 6
    slowest: Annotated[
        int, Meta(ge=1, le=6, description="most ticks that a cook needs for a portion")
    ] = 4
    skills: Annotated[
        Literal["shown", "hidden"],
        Meta(
            description="shown: everybody knows every cook's pace; hidden: cooks know their own "
            "and others are learnt from the times that dishes took"
        ),
    ] = "shown"

    counters = ("earned",)
    order = "phased"
    payoffs = "common"
    reward_terms = ("sold", "work")
    action_types = (Take, Rest, Give, Start)

    def validate(self) -> None:
        if self.planner and self.num_players == 1:
            raise InvalidOption(
                "planner=True needs a seat for a cook too; set num_players=2 or more, or "
                "planner=False for an orchestrator"
            )

    @property
    def cooks(self) -> int:
        """Cooks in the kitchen."""
        return self.staff if self.num_players == 1 else self.num_players - self.planner

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return self.skills == "shown"

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        work = self.cooks * len(TOOLS) * MOST_PORTIONS * self.slowest
        sold = min(self.cooks, self.arrivals) * PRICES[1]
        return (-float(self.services * work), float(self.services * sold))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        numbers = range(1, self.arrivals + 1)
        gifts = (Give(cook, number) for cook in self.names for number in numbers)
        return (*map(Take, numbers), Rest(), *gifts, Start())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of cooks: those of their seats, if they have any."""
        if self.num_players == 1:
            return tuple(f"cook_{number + 1}" for number in range(self.cooks))
        return tuple(self.players[self.shares_out :])

    @property
    def shares_out(self) -> bool:
        """Whether the first seat is an orchestrator's or a planner's."""
        return self.planner or self.num_players == 1

    def cook_of(self, seat: int) -> int | None:
        """The number of the cook at a seat; None for an orchestrator or planner."""
        cook = seat - self.shares_out
        return cook if cook >= 0 else None

    # The rules

    def initial_state(self, seed: int | None = None) -> KitchenShift:
        rng = Rng.seeded(seed)
        paces = [tuple(rng.between(1, self.slowest) for _ in TOOLS) for _ in range(self.cooks)]
        orders = [draw_order(rng) for _ in range(self.arrivals)]
        return KitchenShift(rng, paces, orders, [0] * self.cooks, self.shares_out)

    def opening(self, state: KitchenShift) -> Sequence[Event]:
        return [arrival(state)]

    def to_act(self, state: KitchenShift) -> tuple[int, ...]:
        if state.service == self.services:
            return ()
        return (0,) if state.sharing else tuple(range(self.shares_out, self.num_players))

    def legal(self, state: KitchenShift, seat: int) -> Grammar:
        if not state.sharing:
            return Grammar((Option(Take, {"order": Integer(1, self.arrivals)}), Option(Rest)))
        free = tuple(n for n, order in zip(self.names, state.given, strict=True) if not order)
        left = tuple(n for n in range(1, self.arrivals + 1) if n not in state.given)
        gifts = tuple(
            Option(Give, {"cook": OneOf(free), "order": Integer(number, number)})
            for number in left
            if free
        )
        return Grammar((*gifts, Option(Start)))

    def step(self, state: KitchenShift, actions: Mapping[int, Any]) -> Step:
        if not state.sharing:
            return self._serve(state, [getattr(a, "order", 0) for _, a in sorted(actions.items())])
        action = actions[0]
        if isinstance(action, Give):
            state.given[self.names.index(action.cook)] = action.order
            return Step()
        if self.num_players == 1:
            return self._serve(state, state.given)
        state.sharing = False
        text = f"The planner advises: {self._allocation_text(state.given)}."
        return Step(events=[Event("advice", text, {"given": list(state.given)})])

    def _serve(self, state: KitchenShift, taken: list[int]) -> Step:
        """All cook what they took; the quickest of those in time with a dish is paid."""
        state.took = list(taken)
        state.times = [
            state.orders[order - 1].ticks(pace) if order else 0
            for order, pace in zip(taken, state.paces, strict=True)
        ]
        served = [
            number
            for number, order in enumerate(state.orders, 1)
            if any(
                took == number and ticks <= order.deadline
                for took, ticks in zip(taken, state.times, strict=True)
            )
        ]
        state.seen += [
            (cook, state.orders[order - 1], state.times[cook])
            for cook, order in enumerate(taken)
            if order
        ]
        sold, work = sum(state.orders[n - 1].price for n in served), sum(state.times)
        state.earned += sold - work
        state.service += 1
        data = {"took": list(taken), "ticks": state.times[:], "served": served, "sold": sold}
        events = [Event("reveal", self._service_text(state, served, sold), data)]
        return Step(
            {seat: {"sold": float(sold), "work": -float(work)} for seat in range(self.num_players)},
            events=[*events, self._next_service(state)],
        )

    def _next_service(self, state: KitchenShift) -> Event:
        if state.service == self.services:
            told = "; ".join(map(self._pace_text, self.names, state.paces))
            data = {"paces": list(state.paces)}
            return Event("reveal", f"The shift is over. Paces: {told}.", data)
        state.orders = [draw_order(state.rng) for _ in range(self.arrivals)]
        state.given = [0] * self.cooks
        state.sharing = self.shares_out
        return arrival(state)

    def outcome(self, state: KitchenShift) -> Outcome | None:
        if state.service < self.services:
            return None
        result: Result = "score"
        reason = f"The kitchen earned {state.earned} in {self.services} services."
        seats = self.num_players
        return Outcome((result,) * seats, (float(state.earned),) * seats, reason)

    def noop(self, state: KitchenShift, seat: int) -> TextAction:
        return Start() if state.sharing else Rest()

    def knows(self, state: KitchenShift, seat: int, cook: int) -> bool:
        """Whether a seat was told a cook's pace."""
        over = state.service == self.services
        return self.skills == "shown" or over or self.cook_of(seat) == cook

    def determinize(self, state: KitchenShift, seat: int, rng: Rng) -> KitchenShift:
        """Redraw paces that the seat was not told, so that each dish took as long as it did."""
        copy = self.clone(state)
        for cook in range(self.cooks):
            if not self.knows(state, seat, cook):
                seen = tuple((order, ticks) for one, order, ticks in state.seen if one == cook)
                copy.paces[cook] = rng.choice(consistent_paces(self.slowest, seen))
        return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        text = f"{super().rules_for(seat)}\n"
        cook = self.cook_of(seat)
        give = f"Give(cook={self.names[-1]!r}, order=1)"
        if cook is not None:
            text += (
                f"You are {self.names[cook]}. In every service all cooks choose at once: write "
                "Take(order=1) to prepare order 1, or Rest()."
            )
            if self.shares_out:
                text += " Before, a planner advises who takes what; you need not follow."
        elif self.num_players == 1:
            text += (
                f"You decide who prepares what: write {give}, once for each cook who is to work, "
                "then Start(). Cooks with no order rest."
            )
        else:
            text += (
                f"You are the planner. You advise the cooks: write {give}, once for each cook whom "
                "you advise, then Start(). The cooks then choose by themselves."
            )
        if self.skills == "hidden":
            told = "You are not told them" if cook is None else "You are told only your own"
            text += (
                f" Paces are from 1 to {self.slowest} ticks and stay the same. {told}: learn the "
                "rest from the time that dishes take."
            )
        return f"{text}\nThere are {self.services} services."

    def describe(self, state: KitchenShift, seat: int) -> str:
        now = min(state.service + 1, self.services)
        lines = [f"Service {now} of {self.services}. Earned so far: {state.earned}.", "Orders:"]
        lines += [order_text(number, order) for number, order in enumerate(state.orders, 1)]
        lines.append("Ticks for a portion:")
        for cook, name in enumerate(self.names):
            known = self.knows(state, seat, cook)
            line = self._pace_text(name, state.paces[cook]) if known else f"{name}: unknown"
            lines.append(line + (" (you)" if cook == self.cook_of(seat) else ""))
        if any(state.given):
            word = "Given" if self.num_players == 1 else "Advised"
            lines.append(f"{word}: {self._allocation_text(state.given)}.")
        return "\n".join(lines)

    def _pace_text(self, name: str, pace: Pace) -> str:
        return f"{name}: " + ", ".join(f"{t} {n}" for t, n in zip(TOOLS, pace, strict=True))

    def _allocation_text(self, given: Sequence[int]) -> str:
        told = [f"{n} order {o}" for n, o in zip(self.names, given, strict=True) if o]
        return ", ".join(told) or "nothing"

    def _service_text(self, state: KitchenShift, served: list[int], sold: int) -> str:
        told = [
            f"{name} took order {order} and worked {ticks}" if order else f"{name} rested"
            for name, order, ticks in zip(self.names, state.took, state.times, strict=True)
        ]
        done = ", ".join(map(str, served)) or "none"
        return (
            f"Service {state.service}: {'; '.join(told)}. Orders served in time: {done}. "
            f"Sold {sold}, worked {sum(state.times)}."
        )

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 3 + self.arrivals * (len(TOOLS) + 2) + self.cooks * (len(TOOLS) + 3)
        top = max(self.services, PRICES[1], DEADLINES[1], len(TOOLS) * MOST_PORTIONS * self.slowest)
        return spaces.Box(0, top, (size,), np.int32)

    def observe(self, state: KitchenShift, seat: int) -> NDArray[np.int32]:
        """Services over, giving?, own seat; orders; known paces; given, taken last, ticks last."""
        row = [state.service, int(state.sharing), seat]
        for order in state.orders:
            row += [*order.portions, order.price, order.deadline]
        for cook, pace in enumerate(state.paces):
            row += pace if self.knows(state, seat, cook) else [0] * len(TOOLS)
        none = [0] * self.cooks
        return np.array([*row, *state.given, *(state.took or none), *(state.times or none)], "i4")

    def scene(self, state: KitchenShift, seat: int | None = None) -> Scene:
        """Cooks at the left, orders at the right; thick lines are orders given to cooks.

        A thin line joins a cook with an order that they prepare in time, if the viewer knows.
        """
        cooks = [
            Node(f"{cook + 1}", cook + self.planner, self._badge(state, seat, cook), (0.15, height))
            for cook, height in enumerate(np.linspace(0.0, 1.0, self.cooks).tolist())
        ]
        heights = np.linspace(0.0, 1.0, self.arrivals).tolist()
        orders = [
            Node(f"{number}", "gold", f"{order.price} by {order.deadline}", (0.75, height))
            for number, (order, height) in enumerate(zip(state.orders, heights, strict=True), 1)
        ]
        links = []
        for cook, pace in enumerate(state.paces):
            known = seat is None or self.knows(state, seat, cook)
            for number, order in enumerate(state.orders, 1):
                end, colour = self.cooks + number - 1, cook + self.planner
                if state.given[cook] == number:
                    links.append(Link(cook, end, colour=colour, weight=3.0, directed=True))
                elif known and order.ticks(pace) <= order.deadline:
                    links.append(Link(cook, end, colour=colour, weight=0.5))
        caption = f"Service {min(state.service + 1, self.services)}, earned {state.earned}."
        tools = ", ".join(TOOLS)
        lines = (f"Left: cooks and their ticks at {tools}. Right: orders, price and deadline.",)
        return Scene(caption, parts=(Graph((*cooks, *orders), tuple(links)),), lines=lines)

    def _badge(self, state: KitchenShift, seat: int | None, cook: int) -> str:
        if seat is not None and not self.knows(state, seat, cook):
            return "?"
        return "/".join(map(str, state.paces[cook]))


def order_text(number: int, order: Order) -> str:
    """One line about an order."""
    needs = ", ".join(f"{t} {n}" for t, n in zip(TOOLS, order.portions, strict=True) if n)
    return f"{number}: {needs}; price {order.price}, deadline {order.deadline}"


def arrival(state: KitchenShift) -> Event:
    """The event of new orders."""
    told = ". ".join(order_text(number, order) for number, order in enumerate(state.orders, 1))
    return Event("orders", f"Orders arrive. {told}.", {"orders": [list(o) for o in state.orders]})
