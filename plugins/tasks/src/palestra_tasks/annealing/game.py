"""Neural simulated annealing: the player proposes the moves of an annealer.

A state is a solution, its energy, the temperature and the step. Each action is a proposal: an item
to flip (knapsack), an item and a bin (bin packing), two places between which a tour is reversed
(TSP), a coordinate and a step (Rosenbrock). It is accepted with probability min(1, exp(-dE / T)),
and T falls geometrically from `hot` to `cold`. Uniform proposals are vanilla annealing.

After Correia, Worrall and Bondesan, "Neural Simulated Annealing", 2022: the four problems, the
Metropolis rule, geometric cooling, and rewards of the energy's drop at each step. Proposals that
break a constraint (a knapsack too heavy, a bin too full) are rejected, so that uniform proposals
stay symmetric.

Energies: TSP, the length of the tour in the unit square; knapsack, minus the value of n items with
weights and values uniform in (0, 1) and capacity n / 8; bin packing, the number of bins in use for
sizes uniform in (0.05, 0.7) and bins of 1, minus a thousandth of the sum of squared loads, so that
emptier bins lead somewhere; Rosenbrock, (1 - x)² + 100 (y - x²)².

A drop is not comparable between problems and sizes. `pays="share"` pays the drop of the lowest
energy as a share of the way from the start's energy to a bound that no energy is below (spanning
tree, Dantzig's bound, full bins), from 0 to 1.

Checked: at a fixed temperature, uniform proposals visit solutions with Boltzmann's frequencies,
computed by listing all solutions of a small knapsack.

Left out: the paper's networks and their training by policy gradients; instances of its size.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Channel, Meta, Out, Scene, Shape, constant, environment
from palestra.rules import finish, turn_to, uniform
from palestra.scene import Bar, Bars, Graph, Link, Node, Part, Table

TSP, KNAPSACK, BINS, ROSENBROCK = 0, 1, 2, 3
PROBLEMS = ("tsp", "knapsack", "bin-packing", "rosenbrock")
STEPS_OF = (1.0, -1.0, 0.3, -0.3, 0.1, -0.1, 0.02, -0.02)  # of a coordinate of Rosenbrock
SQUARES = 0.001


class AnnealingState(ArrayState):
    """A solution in progress. `items` are coordinates, or weights and values, or sizes."""

    items: Annotated[NDArray[np.float64], Shape("size", 2)]
    place: Annotated[NDArray[np.int16], Shape("size")]  # city at a place, item taken, or its bin
    trial: Annotated[NDArray[np.int16], Shape("size")]  # the same with the proposal carried out
    point: Annotated[NDArray[np.float64], Shape(2)]  # Rosenbrock's x and y
    first: Annotated[float, np.float64]  # energy at the start
    energy: Annotated[float, np.float64]
    best: Annotated[float, np.float64]  # lowest energy so far
    accepted: Annotated[int, np.int32]


def energy_of(config: NeuralSA, state: AnnealingState, place: Any, x: float, y: float) -> float:
    """The energy of a solution; infinite where it breaks a constraint."""
    n = config.size
    total = 0.0
    if config.kind == 3:
        return float((1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2)
    if config.kind == 0:
        for at in range(n):
            a = place[at]
            b = place[(at + 1) % n]
            dx = state.items[a, 0] - state.items[b, 0]
            dy = state.items[a, 1] - state.items[b, 1]
            total += math.sqrt(dx * dx + dy * dy)
        return total
    if config.kind == 1:
        weight = 0.0
        for item in range(n):
            if place[item] == 1:
                weight += state.items[item, 0]
                total -= state.items[item, 1]
        return math.inf if weight > n / 8.0 else total
    for bin_number in range(n):
        load = 0.0
        for item in range(n):
            if place[item] == bin_number:
                load += state.items[item, 0]
        if load > 1.0:
            return math.inf
        if load > 0.0:
            total += 1.0 - SQUARES * load * load
    return total


def lowest_possible(config: NeuralSA, state: AnnealingState) -> float:
    """A bound that no energy of an instance is below.

    TSP, the length of the minimum spanning tree (Prim) and its longest link once more, as a tour
    less its longest link is a spanning tree, and none has a shorter longest link; knapsack, minus
    Dantzig's bound with a part of an item; bin packing, the sizes filled into full bins;
    Rosenbrock, 0.
    """
    n = config.size
    total = 0.0
    if config.kind == 0:
        longest = 0.0
        for item in range(n):
            state.trial[item] = 0  # 1 for cities in the tree
        state.trial[0] = 1
        for _ in range(n - 1):
            least = math.inf
            nearest = 0
            for a in range(n):
                for b in range(n):
                    if state.trial[a] == 1 and state.trial[b] == 0:
                        dx = state.items[a, 0] - state.items[b, 0]
                        dy = state.items[a, 1] - state.items[b, 1]
                        far = math.sqrt(dx * dx + dy * dy)
                        if far < least:
                            least = far
                            nearest = b
            state.trial[nearest] = 1
            total += least
            longest = max(longest, least)
        for item in range(n):
            state.trial[item] = 0
        return total + longest
    if config.kind == 1:
        room = n / 8.0
        for item in range(n):
            state.trial[item] = 0  # 1 for items that were looked at
        for _ in range(n):
            dense = -1
            for item in range(n):
                if state.trial[item] == 0 and (
                    dense < 0
                    or state.items[item, 1] * state.items[dense, 0]
                    > state.items[dense, 1] * state.items[item, 0]
                ):
                    dense = item
            state.trial[dense] = 1
            weight = state.items[dense, 0]
            part = 1.0 if weight <= room else room / weight
            total -= part * state.items[dense, 1]
            room -= part * weight
        for item in range(n):
            state.trial[item] = 0
        return total
    if config.kind == 2:
        for item in range(n):
            total += state.items[item, 0]
        return math.ceil(total - 1e-9) - SQUARES * total
    return 0.0


@environment(
    "tasks/NeuralSA-v0",
    family="text",
    tags=("optimisation", "perfect-information", "chance"),
    paper="Correia, Worrall and Bondesan (2022), Neural Simulated Annealing",
    splits={
        "train": {"problem": "tsp", "size": 12},
        "larger": {"problem": "tsp", "size": 24, "steps": 400},
        "share": {"problem": "tsp", "size": 24, "steps": 400, "pays": "share"},
    },
)
@dataclass(frozen=True)
class NeuralSA(ArrayGame[AnnealingState]):
    """One player proposes the moves of a simulated annealer.

    Actions: TSP, i * size + j reverses the tour from place i to place j; knapsack, i flips item i;
    bin packing, i * size + b puts item i into bin b; Rosenbrock, c * 8 + s moves coordinate c by
    step s. An observation is a float32 vector: two data and the place of every item (TSP: the
    coordinates of the city at every place), then x, y, energy, best energy, the temperature and
    the share of steps that are left.
    """

    problem: Annotated[
        Literal["tsp", "knapsack", "bin-packing", "rosenbrock"], Meta(description="the problem")
    ] = "tsp"
    size: Annotated[int, Meta(ge=4, le=60, description="cities or items")] = 12
    steps: Annotated[int, Meta(ge=1, le=20_000, description="proposals in an episode")] = 200
    hot: Annotated[float, Meta(gt=0, le=1e6, description="temperature of the first step")] = 1.0
    cold: Annotated[float, Meta(gt=0, le=1e6, description="temperature of the last step")] = 0.01
    pays: Annotated[
        Literal["drop", "best", "share"],
        Meta(
            description="what a step pays: the energy's drop, the drop of the lowest energy, or "
            "the latter as a share of the way from the start's energy to a bound below all"
        ),
    ] = "drop"

    rules_text = """
        You steer a simulated annealer. A solution has an energy, which is to become as low as
        possible. Each turn you propose a change; it is accepted for certain if it lowers the
        energy, and otherwise with a chance of exp(-rise / temperature). The temperature falls from
        step to step. A change that breaks a constraint is never accepted.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    observation_dtype = np.float32
    observation_bounds = (-1e6, 1e6)
    fixed_moves = True

    def rules_for(self, seat: int) -> str:
        what = {
            "tsp": "The energy is the length of a closed tour. 'reverse 2 5' reverses the tour "
            "from place 2 to place 5.",
            "knapsack": "The energy is minus the value of the items taken, whose weight may not "
            "exceed an eighth of the number of items. 'flip 3' takes item 3 or puts it back.",
            "bin-packing": "The energy is the number of bins in use, of size 1, less a little for "
            "uneven loads. 'move 3 1' puts item 3 into bin 1.",
            "rosenbrock": "The energy is (1 - x)² + 100 (y - x²)². 'x +0.3' moves x by 0.3.",
        }
        paid = {
            "drop": "the drop of the energy",
            "best": "the drop of the lowest energy",
            "share": "the drop of the lowest energy, as a share of the way from the energy at the "
            "start to a bound that no energy is below",
        }[self.pays]
        return f"{super().rules_for(seat)}\n{what[self.problem]}\nYou are paid {paid}."

    @constant
    def kind(self) -> int:
        return PROBLEMS.index(self.problem)

    @constant
    def lowest_only(self) -> bool:
        return self.pays != "drop"

    @constant
    def by_share(self) -> bool:
        return self.pays == "share"

    @property
    def num_actions(self) -> int:
        return (self.size**2, self.size, self.size**2, 2 * len(STEPS_OF))[self.kind]

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (3 * self.size + 6,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        if self.pays == "share":
            return (0.0, 1.0 + 1e-6)
        if self.problem == "rosenbrock":
            return (-1e9, 1e9)
        return (-2.0 * self.size, 2.0 * self.size)

    @staticmethod
    def init_state(config: NeuralSA, state: AnnealingState) -> None:
        for n in range(config.size):
            low = 0.05 if config.kind == 2 else 0.0
            high = 0.7 if config.kind == 2 else 1.0
            state.items[n, 0] = low + (high - low) * uniform(state)
            state.items[n, 1] = uniform(state)
            state.place[n] = 0 if config.kind == 1 else n
        state.point[0] = 4.0 * uniform(state) - 2.0
        state.point[1] = 4.0 * uniform(state) - 1.0
        state.energy = energy_of(config, state, state.place, state.point[0], state.point[1])
        state.first = state.energy
        state.best = state.energy
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: NeuralSA, state: AnnealingState, actions: Any, out: Out) -> None:
        n = config.size
        action = actions[0]
        for item in range(n):
            state.trial[item] = state.place[item]
        x = state.point[0]
        y = state.point[1]
        if config.kind == 0:
            low = min(action // n, action % n)
            high = max(action // n, action % n)
            for at in range(low, high + 1):
                state.trial[at] = state.place[low + high - at]
        elif config.kind == 1:
            state.trial[action] = 1 - state.place[action]
        elif config.kind == 2:
            state.trial[action // n] = action % n
        elif action < 8:
            x += STEPS_OF[action % 8]
        else:
            y += STEPS_OF[action % 8]
        energy = energy_of(config, state, state.trial, x, y)
        rise = energy - state.energy
        share = state.turn / max(1, config.steps - 1)
        temperature = config.hot * (config.cold / config.hot) ** share
        chance = uniform(state)
        before = state.best if config.lowest_only else state.energy
        if rise <= 0.0 or (rise < math.inf and chance < math.exp(-rise / temperature)):
            for item in range(n):
                state.place[item] = state.trial[item]
            state.point[0] = x
            state.point[1] = y
            state.energy = energy
            state.best = min(state.best, energy)
            state.accepted += 1
        drop = before - (state.best if config.lowest_only else state.energy)
        if config.by_share and drop > 0.0:
            drop /= max(1e-9, state.first - lowest_possible(config, state))
        out.rewards[0, 0] = drop
        for item in range(n):
            state.trial[item] = 0
        if state.turn + 1 >= config.steps:
            finish(state)

    @staticmethod
    def write_legal_mask(config: NeuralSA, state: AnnealingState, seat: int, mask: Any) -> None:
        for action in range(config.num_actions):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        n = self.size
        return (
            Channel("first", n, "first datum of each item; TSP: x of the city at each place"),
            Channel("second", n, "second datum of each item; TSP: y of the city at each place"),
            Channel("places", n, "the place of each item in the solution"),
            Channel("point", 2, "x and y of the point (Rosenbrock)"),
            Channel("energy", 1, "energy of the solution"),
            Channel("best", 1, "lowest energy so far"),
            Channel("temperature", 1, "the annealer's temperature"),
            Channel("left", 1, "share of the steps that are left"),
        )

    @staticmethod
    def write_observation(config: NeuralSA, state: AnnealingState, seat: int, view: Any) -> None:
        n = config.size
        for at in range(n):
            item = state.place[at] if config.kind == 0 else at
            view[at] = state.items[item, 0]
            view[n + at] = state.items[item, 1]
            view[2 * n + at] = state.place[at]
        view[3 * n] = state.point[0]
        view[3 * n + 1] = state.point[1]
        view[3 * n + 2] = state.energy
        view[3 * n + 3] = state.best
        share = state.turn / max(1, config.steps - 1)
        view[3 * n + 4] = config.hot * (config.cold / config.hot) ** min(1.0, share)
        view[3 * n + 5] = 1.0 - min(1.0, state.turn / config.steps)

    def scores(self, state: AnnealingState) -> tuple[float, ...]:
        """How far the lowest energy is below that of the start, perhaps as a share."""
        drop = float(state["first"]) - float(state["best"])
        if self.pays == "share" and drop > 0.0:
            way = float(state["first"]) - float(lowest_possible(self.config, copy(state)))
            drop /= max(1e-9, way)
        return (drop,)

    def temperature(self, turn: int) -> float:
        share = min(1.0, turn / max(1, self.steps - 1))
        return float(self.hot * (self.cold / self.hot) ** share)

    def describe(self, state: AnnealingState, seat: int) -> str:
        turn = int(state["turn"])
        lines = [
            f"Energy {float(state['energy']):.4f}, lowest {float(state['best']):.4f}.",
            f"Step {turn} of {self.steps}, temperature {self.temperature(turn):.4g}.",
        ]
        return "\n".join([*self._solution(state), *lines])

    def _solution(self, state: AnnealingState) -> list[str]:
        data, place = state["items"].tolist(), state["place"].tolist()
        if self.problem == "rosenbrock":
            x, y = state["point"].tolist()
            return [f"x = {x:.4f}, y = {y:.4f}"]
        if self.problem == "tsp":
            stops = [f"({data[c][0]:.2f}, {data[c][1]:.2f})" for c in place]
            return ["Tour, place by place: " + " ".join(stops)]
        if self.problem == "knapsack":
            items = [
                f"{n}: weight {w:.2f}, value {v:.2f}{', taken' if place[n] else ''}"
                for n, (w, v) in enumerate(data)
            ]
            return ["Items:", *items]
        return [
            f"bin {b}: "
            + ", ".join(f"item {n} ({data[n][0]:.2f})" for n in range(self.size) if place[n] == b)
            for b in sorted(set(place))
        ]

    def action_text(self, state: AnnealingState, seat: int, action: int) -> str:
        if self.problem == "tsp":
            return f"reverse {action // self.size} {action % self.size}"
        if self.problem == "knapsack":
            return f"flip {action}"
        if self.problem == "bin-packing":
            return f"move {action // self.size} {action % self.size}"
        return f"{'xy'[action // 8]} {STEPS_OF[action % 8]:+g}"

    def scene(self, state: AnnealingState, seat: int | None = None) -> Scene:
        data, place = state["items"].tolist(), state["place"].tolist()
        parts: list[Part] = []
        if self.problem == "tsp":
            nodes = tuple(
                Node(str(at), 0, place=(data[city][0], data[city][1]))
                for at, city in enumerate(place)
            )
            tour = tuple(Link(at, (at + 1) % self.size) for at in range(self.size))
            parts.append(Graph(nodes, tour))
        elif self.problem != "rosenbrock":
            rows = tuple(
                (str(n), f"{data[n][0]:.2f}", f"{data[n][1]:.2f}", str(place[n]))
                for n in range(self.size)
            )
            parts.append(Table(("item", "weight", "value", "place"), rows))
        left = 1 - int(state["turn"]) / self.steps
        parts.append(Bars((Bar("steps left", left, 1.0, 0),)))
        energy = f"Energy {float(state['energy']):.4f}, lowest {float(state['best']):.4f}."
        return Scene(parts=tuple(parts), lines=(energy,))
