"""Delivery: robots bring orders through a city, and what counts is profit.

Each robot has an order: an address, and a time by which it is due. In a step pedestrians walk, each
staying or taking a random free step; then all robots drive at once, one cell, or two cells fast. A
robot that drives into a pedestrian or a bin stops; it pays for the injury or the damage, more at
speed, and its cargo is shaken by 1, or by 2 at speed. Robots do not harm one another: moves that
collide are cancelled (see `palestra.grids.moving`). An order ends when it is delivered, when
its cargo has been shaken `fragility` times (spoiled), or when it is late, and is booked:

    revenue       fare if delivered in time
    electricity   in every step: energy_price * power / 0.73 * step_hours
    repair        for an order: robot_price / 18250 * repair_rate * (1 + contacts)
    refund        spoiled_refund if spoiled, the fare if late
    injury        for a contact: sum over injury grades of probability at that speed times cost
    property      for a contact: property_slow or property_fast

Then the robot has another order. `margin` is profit an order, and `break_even` how many orders pay
for a robot: its price over the margin, never where that is not above 0.

From CostNav, "A Navigation Benchmark for Real-World Economic-Cost Evaluation of Physical AI
Agents", 2025: fare 3.49, refund 31.93, charging at 73 %, 18,250 runs a robot, repairs of 10 to 20 %
a year, grades of injury at 380, 8,487, 60,464 and 261,200, property at 50 to 300. The city, speeds
and probabilities of injury are ours. Checked against ledgers by hand and networkx's shortest ways.

Streets are two lanes around blocks of two by two cells, each a building with probability `density`;
a bin stands on a cell of one lane with probability `litter`.

The array view is an int16 vector: the robot's own row and column, its address's row and column, the
steps left, how much the cargo is shaken, and four planes over the window around it, north on top:
buildings and what lies beyond the map (1) and bins (2), pedestrians (1), other robots (1), and one
more than the steps from there to its address round all obstacles (0 where no way leads).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import InvalidOption, Piece, Rng, Scene, check_ranges, environment
from palestra.grids.moving import (
    EAST,
    MOVES,
    NORTH,
    NOWHERE,
    STAY,
    holder,
    measure,
    neighbour,
    random_place,
)
from palestra.grids.sight import sees
from palestra.grids.windows import on_map
from palestra.rules import all_act, truncate

from palestra_envs.grid.delivery.rules import (
    BIN,
    BUILDING,
    ELECTRICITY,
    FAST,
    FLOOR,
    PROPERTY,
    SLOW,
    build,
    close_order,
    drive,
    heading,
    new_order,
    place_walkers,
    stroll,
    walker_on,
)
from palestra_envs.grid.walkers import WALL, Walkers, windowed

ACTIONS = (*MOVES, *(f"fast {way}" for way in MOVES[NORTH:]))
INJURY_COSTS = (380.0, 8487.0, 60464.0, 261200.0)
INJURY_CHANCES = {SLOW: (0.1, 0.002, 0.0001, 0.0), FAST: (0.3, 0.02, 0.002, 0.0002)}
CHARGING, RUNS_A_ROBOT = 0.73, 18250
WINDOW = 6  # where planes start in a view
MAX_SEATS, MAX_SIDE, MAX_WALKERS = 8, 40, 40


@environment(
    "grid/Delivery-v0",
    family="grid",
    tags=("economics", "costs", "safety", "partial-view", "chance"),
    paper=(
        "CostNav (2025), A Navigation Benchmark for Real-World Economic-Cost Evaluation of "
        "Physical AI Agents"
    ),
    splits={
        "empty": {"pedestrians": 0, "litter": 0.0},
        "downtown": {"rows": 17, "columns": 17, "num_players": 6, "pedestrians": 24},
        "held-out-crowd": {"rows": 13, "columns": 13, "pedestrians": 30, "litter": 0.5},
    },
    players=(1, 8),
)
@dataclass(frozen=True)
class Delivery(Walkers):
    """You drive a delivery robot through a city. What counts is profit.

    All robots choose one action at the same time: "north", "south", "west" or "east" to drive one
    cell, "fast north", "fast south", "fast west" or "fast east" to drive two, or "stay". First
    pedestrians walk: each stays or takes a random step to a free cell. Then the robots drive. If
    you drive into a pedestrian or a bin you stop and pay, much more if you were fast, and your
    cargo is shaken once, or twice if you were fast. Robots that head for one cell do not move, nor
    can a cell be entered whose robot stays there. You are paid for an order when you reach its
    address in time; an order that is late or whose cargo is spoiled costs a refund. Then you have
    another order.
    """

    rows: int = 9
    columns: int = 9
    num_players: int = 2
    sight: int = 2
    max_steps: int = 80
    pedestrians: int = 6
    density: float = 0.8
    litter: float = 0.2
    slack: float = 1.5
    fragility: int = 3
    fare: float = 3.49
    spoiled_refund: float = 31.93
    robot_price: float = 5000.0
    repair_rate: float = 0.15
    energy_price: float = 0.16
    power: float = 0.3
    step_hours: float = 0.01
    property_slow: float = 50.0
    property_fast: float = 300.0

    num_actions = len(ACTIONS)
    reward_terms = ("revenue", "electricity", "repair", "refund", "injury", "property")
    cost_terms = ("electricity", "repair", "refund", "injury", "property")

    def __post_init__(self) -> None:
        check_ranges(
            self,
            (
                ("rows", 5, MAX_SIDE),
                ("columns", 5, MAX_SIDE),
                ("num_players", 1, MAX_SEATS),
                ("sight", 1, MAX_SIDE),
                ("max_steps", 1, None),
                ("pedestrians", 0, MAX_WALKERS),
                ("density", 0, 1),
                ("litter", 0, 1),
                ("slack", 1, None),
                ("fragility", 1, None),
                *((name, 0, None) for name in ("fare", "spoiled_refund", "robot_price")),
                *((name, 0, None) for name in ("repair_rate", "energy_price", "power")),
                *((name, 0, None) for name in ("step_hours", "property_slow", "property_fast")),
            ),
        )

    # What follows from the options

    @property
    def energy(self) -> float:
        """What electricity costs a step."""
        return self.energy_price * self.power / CHARGING * self.step_hours

    @property
    def repair(self) -> float:
        """What an order without contacts costs in repairs."""
        return self.robot_price / RUNS_A_ROBOT * self.repair_rate

    def injury(self, speed: int) -> float:
        """The expected cost of hitting somebody at a speed."""
        chances = INJURY_CHANCES[speed]
        return sum(p * cost for p, cost in zip(chances, INJURY_COSTS, strict=True))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """If every step ended an order, or was the worst contact."""
        contact = max(self.property_slow, self.property_fast, self.injury(FAST))
        repairs = self.repair * (1 + self.fragility)
        worst = max(self.spoiled_refund, self.fare) + contact + self.energy + repairs
        return (0.0 - worst * self.max_steps, self.fare * self.max_steps)

    @property
    def side(self) -> int:
        return 2 * self.sight + 1

    @property
    def observation_shape(self) -> tuple[int]:
        return (WINDOW + 4 * self.side**2,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        cells = self.rows * self.columns
        return (0.0, float(max(cells, self.slack * cells + 2, self.fragility + FAST)))

    def constants(self) -> Mapping[str, Any]:
        return {
            **super().constants(),
            "energy": self.energy,
            "repair": self.repair,
            "injury_slow": self.injury(SLOW),
            "injury_fast": self.injury(FAST),
        }

    def fields(self) -> list[tuple[Any, ...]]:
        """Robots and their orders; pedestrians; the city; steps to each address from every cell.

        `runs` counts orders by robot that were delivered, spoiled and late.
        """
        seats, cells = self.num_players, self.rows * self.columns
        return [
            ("cell", np.int32, seats),
            ("target", np.int32, seats),
            ("blocked", np.uint8, seats),
            ("halted", np.uint8, seats),
            ("goal", np.int32, seats),
            ("due", np.int32, seats),
            ("damage", np.int32, seats),
            ("contacts", np.int32, seats),
            ("runs", np.int32, (seats, 3)),
            ("earned", np.float64, seats),
            ("walker", np.int32, max(1, self.pedestrians)),
            ("walls", np.uint8, cells),
            ("queue", np.int16, cells),
            ("far", np.int16, (seats, cells)),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        build(config, state)
        for seat in range(config.num_players):
            state.cell[seat] = NOWHERE
        for seat in range(config.num_players):
            state.cell[seat] = random_place(config, state)
            state.target[seat] = state.cell[seat]
        place_walkers(config, state)
        for seat in range(config.num_players):
            new_order(config, state, seat, 0)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        stroll(config, state)
        drive(config, state, actions, out)
        rewards = out.rewards
        for seat in range(config.num_players):
            rewards[seat, ELECTRICITY] -= config.energy
            close_order(config, state, seat, out)
            for term in range(PROPERTY + 1):
                state.earned[seat] += rewards[seat, term]
                if term > 0:
                    out.costs[seat, term - 1] = -rewards[seat, term]
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            there = neighbour(config, state.cell[seat], heading(action))
            mask[action] = there != NOWHERE and state.walls[there] != BUILDING

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        columns, sight, walls, far = config.columns, config.sight, state.walls, state.far
        side, own, goal = 2 * sight + 1, state.cell[seat], state.goal[seat]
        row, column = own // columns, own % columns
        view[0], view[1], view[2], view[3] = row, column, goal // columns, goal % columns
        view[4], view[5] = state.due[seat] - state.turn, state.damage[seat]
        for i in range(side):
            for j in range(side):
                r, c, at = row - sight + i, column - sight + j, WINDOW + i * side + j
                view[at] = BUILDING
                if on_map(config, r, c):
                    view[at] = walls[r * columns + c]
                    view[at + 3 * side * side] = far[seat, r * columns + c] + 1
        for thing in range(config.num_players + config.pedestrians):
            if thing != seat:
                robot = thing < config.num_players
                cell = state.cell[thing] if robot else state.walker[thing - config.num_players]
                if sees(config, state, seat, cell):
                    i, j = cell // columns - row + sight, cell % columns - column + sight
                    view[WINDOW + ((2 if robot else 1) * side + i) * side + j] = 1

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """Take a shortest way slowly, and never to where a pedestrian could step."""
        own = state.cell[seat]
        nearest, action, aside = state.far[seat, own], STAY, STAY
        for way in range(NORTH, EAST + 1):
            there = neighbour(config, own, way)
            free = there != NOWHERE and state.walls[there] == FLOOR
            if free and holder(config, state, there) < 0 and calm(config, state, seat, there):
                aside = way
                if state.far[seat, there] < nearest:
                    nearest, action = state.far[seat, there], way
        return aside if action == STAY and (state.turn + own) % 3 == 0 else action

    # Accounts

    def orders(self, state: Any) -> int:
        """How many orders have been delivered, spoiled or late."""
        return int(state.runs.sum())

    def margin(self, state: Any) -> float:
        """Profit an order."""
        return float(state.earned.sum()) / max(1, self.orders(state))

    def break_even(self, state: Any) -> float | None:
        """How many orders of this margin pay for a robot; None if none do."""
        margin = self.margin(state)
        return self.robot_price / margin if margin > 0 else None

    # States

    def arrange(
        self,
        robots: Sequence[tuple[int, int]],
        addresses: Sequence[tuple[int, int]],
        pedestrians: Sequence[tuple[int, int]] = (),
        bins: Sequence[tuple[int, int]] = (),
    ) -> Any:
        """A state at the start, without buildings: all (row, column), from 0."""
        sizes = len(robots), len(addresses), len(pedestrians)
        if sizes != (self.num_players, self.num_players, self.pedestrians):
            raise InvalidOption(
                f"got {sizes[0]} robots, {sizes[1]} addresses and {sizes[2]} pedestrians; this "
                f"game has {self.num_players}, as many, and {self.pedestrians}"
            )
        state = self.clone(self.initial_state(0))
        state.walls[:] = FLOOR
        for place in bins:
            state.walls[self.at(*place)] = BIN
        for walker, place in enumerate(pedestrians):
            state.walker[walker] = self.at(*place)
        for seat, (place, goal) in enumerate(zip(robots, addresses, strict=True)):
            state.cell[seat] = state.target[seat] = self.at(*place)
            self.assign(state, seat, self.at(*goal))
        return state

    def assign(self, state: Any, seat: int, goal: int) -> None:
        """Give a robot an order to this address, due as the rules say."""
        state.goal[seat] = goal
        measure(self.config, state, seat, goal)
        steps = int(state.far[seat, state.cell[seat]])
        state.due[seat] = int(state.turn) + int(self.slack * steps) + 2

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Put robots and pedestrians out of sight elsewhere, and change others' orders.

        The city stays: the ways to the address tell of it.
        """
        imagined, seen = self.clone(state), self.visible(state, seat)
        floor = np.flatnonzero(state.walls == FLOOR).tolist()
        free = [cell for cell in floor if not seen[cell]]
        for walker in range(self.pedestrians):
            if not seen[state.walker[walker]]:
                imagined.walker[walker] = free.pop(rng.below(len(free)))
        for other in range(self.num_players):
            if other == seat:
                continue
            if not seen[state.cell[other]]:
                place = free.pop(rng.below(len(free)))
                imagined.cell[other] = imagined.target[other] = place
            cells = [cell for cell in floor if cell != imagined.cell[other]]
            self.assign(imagined, other, rng.choice(cells))
        return imagined

    # Words

    def rules_for(self, seat: int) -> str:
        return "\n".join(
            [
                super().rules_for(seat),
                f"An order delivered in time pays {self.fare:g}. A late one costs as much, a "
                f"spoiled one {self.spoiled_refund:g}; cargo is spoiled when it has been shaken "
                f"{self.fragility} times. Every order costs {self.repair:.3g} in repairs, and as "
                f"much again for each contact; a step {self.energy:.2g} in electricity. Driving "
                f"into a pedestrian costs {self.injury(SLOW):.4g}, fast {self.injury(FAST):.4g}; "
                f"into a bin {self.property_slow:g}, fast {self.property_fast:g}.",
                f"There are {self.rows} rows, row 1 the northernmost, and {self.columns} columns, "
                f"column 1 the westernmost; {self.num_players} robots and {self.pedestrians} "
                f"pedestrians. {self.sight_text()} Time is up after {self.max_steps} steps.",
            ]
        )

    def describe(self, state: Any, seat: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        view = self.observe(state, seat)
        obstacles, walkers, robots, steps = view[WINDOW:].reshape(4, self.side, self.side)
        own, goal = int(state.cell[seat]), int(state.goal[seat])
        marks = obstacles + 3 * walkers + 6 * robots
        marks[(steps == 1) & (marks == 0)] = 7
        marks[self.sight, self.sight] = 5
        distances = [
            " ".join(f"{value - 1:2}" if value else " #" for value in row) for row in steps.tolist()
        ]
        return "\n".join(
            [
                self.header(state, seat),
                f"Your address is in {self.written(goal)}: {self.direction(own, goal)} of you, "
                f"{int(steps[self.sight, self.sight]) - 1} steps away, due in {int(view[4])} "
                f"steps. Your cargo has been shaken {int(view[5])} of {self.fragility} times.",
                "What you see, north on top; ^ is you, G your address, P a pedestrian, R a robot, "
                "o a bin, # a building:",
                *windowed(marks, {BUILDING: "#", BIN: "o", 3: "P", 5: "^", 6: "R", 7: "G"}),
                "Steps to your address from each of these cells:",
                *distances,
            ]
        )

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    def told(self, before: Any, after: Any, seat: int, action: int) -> str:
        """How a robot drove, and what became of its order."""
        way = ACTIONS[action]
        text = "You stay." if action == STAY else f"You drive {way}."
        if action != STAY and self.hindered(after, seat):
            text = f"You drive {way} and are stopped."
        for kind, now, then in zip(
            ("delivered", "spoiled", "late"), after.runs[seat], before.runs[seat], strict=True
        ):
            if now > then:
                text += f" Your order is {kind}; you get another."
        return text

    # Pictures

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """The city; for a player his address and what he sees."""
        seen = None if player is None else self.visible(state, player)
        walls = state.walls if seen is None else state.walls * seen
        pieces = {int(cell): WALL for cell in np.flatnonzero(walls == BUILDING)}
        bins = np.flatnonzero(walls == BIN).tolist()
        pieces |= {cell: Piece("o", label="bin") for cell in bins}
        seats = range(self.num_players) if player is None else (player,)
        for seat in seats:
            label = f"address of {self.players[seat]}"
            pieces[int(state.goal[seat])] = Piece("g", seat, "mark", label)
        for cell in state.walker[: self.pedestrians].tolist():
            if seen is None or seen[cell]:
                pieces[cell] = Piece("P", 6, label="pedestrian")
        for seat in self.seats_shown(state, player):
            pieces[int(state.cell[seat])] = self.disc(seat)
        lines = [f"{self.players[p]}: {float(state.earned[p]):+.2f}" for p in seats]
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=self.grid(pieces, seen), lines=tuple(lines))


def calm(config: Any, state: Any, seat: int, cell: int) -> bool:
    """Whether a robot sees no pedestrian on a cell or beside it."""
    for way in range(EAST + 1):
        there = neighbour(config, cell, way)
        seen = there != NOWHERE and sees(config, state, seat, there)
        if seen and walker_on(config, state, there):
            return False
    return True
