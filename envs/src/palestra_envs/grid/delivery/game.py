"""Delivery: robots deliver orders in a city and are paid by profit.

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

Then the robot gets another order. The metric `margin` is the profit per order; `break-even` is the
number of orders that pay for a robot, its price over the margin.

From CostNav, "A Navigation Benchmark for Real-World Economic-Cost Evaluation of Physical AI
Agents", 2025: fare 3.49, refund 31.93, charging at 73 %, 18,250 runs a robot, repairs of 10 to 20 %
a year, grades of injury at 380, 8,487, 60,464 and 261,200, property at 50 to 300. The city, speeds
and probabilities of injury are ours. Checked against ledgers worked out by hand and networkx's
shortest paths.

Streets are two lanes around blocks of two by two cells, each a building with probability `density`;
a bin stands on a cell of one lane with probability `litter`.

Left out: the paper's three-dimensional simulator, its camera and its city.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayState,
    Channel,
    InvalidOption,
    Meta,
    Out,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
)
from palestra.grids.compass import EAST, MOVES, NORTH, STAY
from palestra.grids.moving import NOWHERE, holder, measure, neighbour, random_place
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
    block_of,
    build,
    close_order,
    drive,
    heading,
    new_order,
    place_walkers,
    stroll,
    walker_on,
)
from palestra_envs.grid.walkers import WALL, Walkers, distance_lines, plane_lines

ACTIONS = (*MOVES, *(f"fast {way}" for way in MOVES[NORTH:]))
INJURY_COSTS = (380.0, 8487.0, 60464.0, 261200.0)
INJURY_CHANCES = {SLOW: (0.1, 0.002, 0.0001, 0.0), FAST: (0.3, 0.02, 0.002, 0.0002)}
CHARGING, RUNS_A_ROBOT = 0.73, 18250
CITIES = 50  # that are laid out for what a robot imagines, until one fits
WINDOW = 6  # where planes start in an observation
MAX_PRICE = 1e9
SIGNS = ".#oP.^RG"  # floor, a building, a bin, a pedestrian, you, a robot, the address


class DeliveryState(ArrayState):
    """Robots and their orders, pedestrians, and the city."""

    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each robot stands
    target: Annotated[NDArray[np.int32], Shape("num_players")]  # the cell each robot heads for
    blocked: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if stopped in the last step
    halted: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if stopped so far in this step
    goal: Annotated[NDArray[np.int32], Shape("num_players")]  # the cell of each robot's address
    due: Annotated[NDArray[np.int32], Shape("num_players")]  # the turn at which an order is late
    damage: Annotated[NDArray[np.int32], Shape("num_players")]  # how often cargo has been shaken
    contacts: Annotated[NDArray[np.int32], Shape("num_players")]  # collisions during this order
    runs: Annotated[NDArray[np.int32], Shape("num_players", 3)]  # orders delivered, spoiled, late
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # profit so far
    walker: Annotated[NDArray[np.int32], Shape("walker_slots")]  # the cell of each pedestrian
    walls: Annotated[NDArray[np.uint8], Shape("num_cells")]  # FLOOR, BUILDING or BIN
    queue: Annotated[NDArray[np.int16], Shape("num_cells")]  # scratch space of `measure`
    far: Annotated[NDArray[np.int16], Shape("num_players", "num_cells")]  # steps to each address


@environment(
    "grid/Delivery-v0",
    family="grid",
    tags=("economics", "costs", "safety", "partial-view", "chance"),
    paper=(
        "CostNav: A Navigation Benchmark for Real-World Economic-Cost Evaluation of "
        "Physical AI Agents"
    ),
    splits={
        "empty": {"pedestrians": 0, "litter": 0.0},
        "downtown": {"rows": 17, "columns": 17, "num_players": 6, "pedestrians": 24},
        "held-out-crowd": {"rows": 13, "columns": 13, "pedestrians": 30, "litter": 0.5},
    },
)
@dataclass(frozen=True)
class Delivery(Walkers[DeliveryState]):
    """Robots deliver orders in a city with pedestrians and are paid by profit.

    Actions are 0 stay, 1 north, 2 south, 3 west, 4 east (one cell), and 5 to 8 the same ways fast
    (two cells).

    An observation is an int16 vector: the robot's own row and column, its address's row and column,
    the steps left, how often the cargo has been shaken, and four planes over the window around the
    robot, north on top: buildings and what lies beyond the map (1) and bins (2), pedestrians (1),
    other robots (1), and one more than the steps from each cell to its address around obstacles (0
    where there is no path).

    Rewards are in dollars, by term: revenue, electricity, repair, refund, injury and property; all
    but revenue are costs too.
    """

    figure = "robot"

    rows: Annotated[int, Meta(ge=5, le=40, description="rows of the city")] = 9
    columns: Annotated[int, Meta(ge=5, le=40, description="columns of the city")] = 9
    num_players: Annotated[int, Meta(ge=1, le=8, description="number of robots")] = 2
    sight: Annotated[
        int, Meta(ge=1, le=40, description="cells a robot sees in every direction")
    ] = 2
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 80
    pedestrians: Annotated[int, Meta(ge=0, le=40, description="number of pedestrians")] = 6
    density: Annotated[
        float, Meta(ge=0, le=1, description="chance that a block is a building, not a plaza")
    ] = 0.8
    litter: Annotated[
        float, Meta(ge=0, le=1, description="chance that a lane cell beside a block has a bin")
    ] = 0.2
    slack: Annotated[
        float,
        Meta(ge=1, le=20, description="time for an order, as a multiple of the steps it takes"),
    ] = 1.5
    fragility: Annotated[
        int, Meta(ge=1, le=1000, description="how often cargo is shaken until it is spoiled")
    ] = 3
    fare: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="dollars for an order delivered in time")
    ] = 3.49
    spoiled_refund: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="dollars paid back for a spoiled order")
    ] = 31.93
    robot_price: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="dollars that a robot costs")
    ] = 5000.0
    repair_rate: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="repairs as a share of the robot's price")
    ] = 0.15
    energy_price: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="dollars per kilowatt-hour")
    ] = 0.16
    power: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="kilowatts that a robot draws")
    ] = 0.3
    step_hours: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="hours that a step takes")
    ] = 0.01
    property_slow: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="dollars for hitting a bin at one cell a step")
    ] = 50.0
    property_fast: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="dollars for hitting a bin at two cells a step")
    ] = 300.0

    vocabulary = Vocabulary(
        words=(
            *("delivery", "robot", "pedestrian", "bin", "cargo", "order", "city", "address"),
            *("building", "drive", "electricity", "repairs"),
        ),
    )
    rules_text = """
        You drive a delivery robot through a city. What counts is profit.

        All robots choose one action at the same time: "north", "south", "west" or "east" to drive
        one cell, "fast north", "fast south", "fast west" or "fast east" to drive two, or "stay".
        First pedestrians walk: each stays or takes a random step to a free cell. Then the robots
        drive. If you drive into a pedestrian or a bin you stop and pay, much more if you were fast,
        and your cargo is shaken once, or twice if you were fast. Robots that head for one cell do
        not move, nor can a cell be entered whose robot stays there. You are paid for an order when
        you reach its address in time; an order that is late or whose cargo is spoiled costs a
        refund. Then you have another order.
    """
    num_actions = len(ACTIONS)
    reward_terms = ("revenue", "electricity", "repair", "refund", "injury", "property")
    cost_terms = ("electricity", "repair", "refund", "injury", "property")

    # Derived from the options

    @constant
    def energy(self) -> float:
        """The cost of electricity per step."""
        return self.energy_price * self.power / CHARGING * self.step_hours

    @constant
    def repair(self) -> float:
        """The repair cost of an order without contacts."""
        return self.robot_price / RUNS_A_ROBOT * self.repair_rate

    @constant
    def injury_slow(self) -> float:
        """The expected cost of hitting a pedestrian at one cell per step."""
        return self.injury(SLOW)

    @constant
    def injury_fast(self) -> float:
        """The expected cost of hitting a pedestrian at two cells per step."""
        return self.injury(FAST)

    def injury(self, speed: int) -> float:
        """The expected cost of hitting a pedestrian at a speed."""
        chances = INJURY_CHANCES[speed]
        return sum(p * cost for p, cost in zip(chances, INJURY_COSTS, strict=True))

    @property
    def walker_slots(self) -> int:
        """The length of the pedestrian array in a state; one if there are no pedestrians."""
        return max(1, self.pedestrians)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """Bounds from the worst contact or the end of an order in every step."""
        contact = max(self.property_slow, self.property_fast, self.injury_fast)
        repairs = self.repair * (1 + self.fragility)
        worst = max(self.spoiled_refund, self.fare) + contact + self.energy + repairs
        return (0.0 - worst * self.max_steps, self.fare * self.max_steps)

    @property
    def observation_shape(self) -> tuple[int]:
        return (WINDOW + 4 * self.side**2,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        longest = max(self.num_cells, self.slack * self.num_cells + 2)
        return (0.0, float(max(longest, self.fragility + FAST)))

    # The rules

    @staticmethod
    def init_state(config: Delivery, state: DeliveryState) -> None:
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
    def apply_actions(config: Delivery, state: DeliveryState, actions: Any, out: Out) -> None:
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
    def write_legal_mask(config: Delivery, state: DeliveryState, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            there = neighbour(config, state.cell[seat], heading(action))
            mask[action] = there != NOWHERE and state.walls[there] != BUILDING

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        cells = self.side**2
        return (
            Channel("own", 2, "the robot's row and column"),
            Channel("address", 2, "row and column of its address"),
            Channel("due", 1, "steps left"),
            Channel("damage", 1, "how often the cargo was shaken"),
            Channel("obstacles", cells, "window: 1 buildings and beyond the map, 2 bins"),
            Channel("pedestrians", cells, "window: 1 for a pedestrian"),
            Channel("robots", cells, "window: 1 for another robot"),
            Channel("distances", cells, "window: steps to the address plus 1; 0 for no path"),
        )

    @staticmethod
    def write_observation(config: Delivery, state: DeliveryState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        columns, sight, walls, far = config.columns, config.sight, state.walls, state.far
        side, own, goal = 2 * sight + 1, state.cell[seat], state.goal[seat]
        row, column = own // columns, own % columns
        obs[0], obs[1], obs[2], obs[3] = row, column, goal // columns, goal % columns
        obs[4], obs[5] = state.due[seat] - state.turn, state.damage[seat]
        for i in range(side):
            for j in range(side):
                r, c, at = row - sight + i, column - sight + j, WINDOW + i * side + j
                obs[at] = BUILDING
                if on_map(config, r, c):
                    obs[at] = walls[r * columns + c]
                    obs[at + 3 * side * side] = far[seat, r * columns + c] + 1
        for thing in range(config.num_players + config.pedestrians):
            if thing != seat:
                robot = thing < config.num_players
                cell = state.cell[thing] if robot else state.walker[thing - config.num_players]
                if sees(config, state, seat, cell):
                    i, j = cell // columns - row + sight, cell % columns - column + sight
                    obs[WINDOW + ((2 if robot else 1) * side + i) * side + j] = 1

    @staticmethod
    def scripted_action(config: Delivery, state: DeliveryState, seat: int) -> int:
        """Take a shortest path slowly, and never enter a cell where a pedestrian could step."""
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

    def orders(self, state: DeliveryState) -> int:
        """How many orders have been delivered, spoiled or late."""
        return int(state.runs.sum())

    def margin(self, state: DeliveryState) -> float:
        """Profit per order, in dollars."""
        return float(state.earned.sum()) / max(1, self.orders(state))

    def break_even(self, state: DeliveryState) -> float | None:
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
    ) -> DeliveryState:
        """A state at the start, without buildings; every place is (row, column), from 0."""
        sizes = len(robots), len(addresses), len(pedestrians)
        if sizes != (self.num_players, self.num_players, self.pedestrians):
            raise InvalidOption(
                f"got {sizes[0]} robots, {sizes[1]} addresses and {sizes[2]} pedestrians; this "
                f"game has {self.num_players}, as many, and {self.pedestrians}"
            )
        state: DeliveryState = self.clone(self.initial_state(0))
        state.walls[:] = FLOOR
        for place in bins:
            state.walls[self.at(*place)] = BIN
        for walker, place in enumerate(pedestrians):
            state.walker[walker] = self.at(*place)
        for seat, (place, goal) in enumerate(zip(robots, addresses, strict=True)):
            state.cell[seat] = state.target[seat] = self.at(*place)
            self.assign(state, seat, self.at(*goal))
        return state

    def assign(self, state: DeliveryState, seat: int, goal: int) -> None:
        """Give a robot an order to this address, due as the rules say."""
        state.goal[seat] = goal
        measure(self.config, state, seat, goal)
        steps = int(state.far[seat, state.cell[seat]])
        state.due[seat] = int(state.turn) + int(self.slack * steps) + 2

    def determinize(self, state: DeliveryState, seat: int, rng: Rng) -> DeliveryState:
        """Draw the city, robots and pedestrians out of sight anew, and change others' orders.

        From the cells in sight the address is as far as it is. The others' orders are new, and they
        have delivered some in time, at most one in ten steps.
        """
        imagined: DeliveryState = self.clone(state)
        seen = self.visible(state, seat)
        robots = [other for other in range(self.num_players) if not seen[state.cell[other]]]
        walkers = self._exchange_walkers(imagined, seen, rng)
        self._imagine_city(imagined, seat, len(robots) + len(walkers), rng)
        floor = np.flatnonzero(imagined.walls == FLOOR).tolist()
        hidden = [cell for cell in floor if not seen[cell]]
        free = list(hidden)
        for other in robots:
            place = free.pop(rng.below(len(free)))
            imagined.cell[other] = imagined.target[other] = place
        for walker in walkers:  # of which several stand on a cell only where there is no other
            place = free.pop(rng.below(len(free))) if free else rng.choice(hidden)
            imagined.walker[walker] = place
        for other in range(self.num_players):
            if other == seat:
                continue
            cells = [cell for cell in floor if cell != imagined.cell[other]]
            self.assign(imagined, other, rng.choice(cells))
            imagined.blocked[other] = imagined.damage[other] = imagined.contacts[other] = 0
            imagined.runs[other] = (rng.below(int(state.turn) // 10 + 1), 0, 0)
            imagined.earned[other] = imagined.runs[other, 0] * (self.fare - self.repair)
        return imagined

    def _exchange_walkers(
        self, imagined: DeliveryState, seen: NDArray[np.bool_], rng: Rng
    ) -> list[int]:
        """Put any pedestrians, as they look alike, where some are in sight; returns the rest."""
        places = sorted(cell for cell in imagined.walker[: self.pedestrians].tolist() if seen[cell])
        walkers = list(range(self.pedestrians))
        rng.shuffle(walkers)
        for walker, place in zip(walkers, places, strict=False):
            imagined.walker[walker] = place
        return walkers[len(places) :]

    def _imagine_city(self, imagined: DeliveryState, seat: int, hidden: int, rng: Rng) -> None:
        """Lay what is out of sight anew, with room for what is hidden there.

        Of `CITIES` cities the first is taken in which the paths to the address are as long from all
        cells in sight; if there is none, these lengths are written into the last.
        """
        seen, paths = self.visible(imagined, seat), imagined.far[seat].copy()
        for _ in range(CITIES):
            self._lay(imagined, seat, self._drawn_city(imagined, rng))
            room = np.count_nonzero((imagined.walls == FLOOR) & ~seen)
            if room >= hidden and (imagined.far[seat] == paths)[seen].all():
                return
        if room < hidden:
            self._lay(imagined, seat, np.zeros_like(imagined.walls))
        imagined.far[seat][seen] = paths[seen]

    def _drawn_city(self, state: DeliveryState, rng: Rng) -> NDArray[np.uint8]:
        """The walls of another city."""
        laid = self.clone(state)
        self.reseed(laid, rng.word())
        build(self.config, laid)
        return laid.walls

    def _lay(self, imagined: DeliveryState, seat: int, walls: NDArray[np.uint8]) -> None:
        """Lay walls that are out of a robot's sight, where its address is floor."""
        seen, goal = self.visible(imagined, seat), int(imagined.goal[seat])
        known = {cell: int(imagined.walls[cell]) for cell in np.flatnonzero(seen).tolist()}
        imagined.walls[:] = walls
        for cell, wall in {goal: FLOOR, **known}.items():
            imagined.walls[block_of(self.config, cell)] = wall
        measure(self.config, imagined, seat, goal)

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

    def describe(self, state: DeliveryState, seat: int) -> str:
        """The observation in words, and how much time has passed."""
        observation = self.seen(state, seat)
        obstacles, walkers, robots, steps = self.planes(observation)
        own, goal = int(state.cell[seat]), int(state.goal[seat])
        marks = obstacles + 3 * walkers + 6 * robots
        marks[(steps == 1) & (marks == 0)] = 7
        marks[self.sight, self.sight] = 5
        due, shaken = int(observation[4]), int(observation[5])
        return "\n".join(
            [
                self.header(state, seat),
                f"Your address is in {self.place_text(goal)}: {self.direction(own, goal)} of you, "
                f"{int(steps[self.sight, self.sight]) - 1} steps away, due in {due} "
                f"steps. Your cargo has been shaken {shaken} of {self.fragility} times.",
                "What you see, north on top; ^ is you, G your address, P a pedestrian, R a robot, "
                "o a bin, # a building:",
                *plane_lines(marks, SIGNS),
                "Steps to your address from each of these cells:",
                *distance_lines(steps),
            ]
        )

    def planes(self, observation: NDArray[Any]) -> NDArray[Any]:
        """The planes of an observation: obstacles, pedestrians, robots, steps to the address."""
        return observation[WINDOW:].reshape(4, self.side, self.side)

    def action_text(self, state: DeliveryState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def result_text(
        self, before: DeliveryState, after: DeliveryState, seat: int, action: int
    ) -> str:
        """How a robot drove, and the result of its order."""
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

    def scene(self, state: DeliveryState, seat: int | None = None) -> Scene:
        """The city; for a player their address and what they see."""
        seen = None if seat is None else self.visible(state, seat)
        walls = state.walls if seen is None else state.walls * seen
        pieces = {int(cell): WALL for cell in np.flatnonzero(walls == BUILDING)}
        bins = np.flatnonzero(walls == BIN).tolist()
        pieces |= {cell: Piece("o", "grey", label="bin", sprite="bin") for cell in bins}
        seats = self.watched_seats(seat)
        for owner in seats:
            label = f"address of {self.players[owner]}"
            pieces[int(state.goal[owner])] = Piece(f"g{owner}", owner, "mark", label, "flag")
        for cell in state.walker[: self.pedestrians].tolist():
            if seen is None or seen[cell]:
                pieces[cell] = Piece("P", "blue", label="pedestrian", sprite="person")
        for robot in self.seats_shown(state, seat):
            self.stand(pieces, int(state.cell[robot]), robot)
        lines = [f"{self.players[p]}: {float(state.earned[p]):+.2f}" for p in seats]
        return Scene(self.caption(state), grid=self.grid(pieces, seen), lines=tuple(lines))


def calm(config: Delivery, state: DeliveryState, seat: int, cell: int) -> bool:
    """Whether a robot sees no pedestrian on a cell or beside it."""
    for way in range(EAST + 1):
        there = neighbour(config, cell, way)
        seen = there != NOWHERE and sees(config, state, seat, there)
        if seen and walker_on(config, state, there):
            return False
    return True
