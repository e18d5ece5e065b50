"""Wildfire: planes scoop water and drop it on a fire that spreads with the wind.

In a step all planes act at once: each flies one cell or stays, or empties its tank over its own
cell. Planes do not block one another, and fill their tanks whenever they are over water. Then the
fire spreads: each burning cell sets each neighbour that can burn on fire with the chance `spread`,
times 1 + `gust` to the side the wind blows to and 1 - `gust` to the side it comes from, and goes
out after `burn_steps` steps. Water puts a fire out, and trees and houses on which it falls can no
longer burn. A house that catches fire is lost and does not pass it on.

All planes are paid the same: for fires put out, for trees and houses prepared, minus `house_cost`
for each house lost, and at the end `saved_reward` times the share of the trees at the start that
still stand. It ends when nothing burns, or is truncated after `max_steps`.

From Siedler and Gemp, "LLM-Mediated Guidance of MARL Systems", 2025, where planes fight a wildfire
in a three-dimensional simulation and a mediator now and then gives them orders (the agent
`mediator` of `palestra-adapters`). The grid, the chances and the amounts are this package's own.

Checked: at a chance of 1 the fire's shape after n steps is scipy's n-fold binary dilation of its
start within the trees; with wind, the shares of neighbours that caught fire are within binomial
bounds of the chances.

Left out: the paper's three-dimensional simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayState,
    Bar,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Out,
    Piece,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.grids.compass import EAST, MOVES, NORTH, SOUTH, STAY, WEST
from palestra.grids.moving import NOWHERE, neighbour
from palestra.grids.words import quantity
from palestra.kernel.specs import Payoffs
from palestra.rules import all_act, finish, randint, truncate

from palestra_envs.grid.walkers import Walkers, plane_lines
from palestra_envs.grid.wildfire.rules import (
    BURNT,
    DROP,
    FIRE,
    HOUSE,
    RUIN,
    SAVED,
    TREE,
    WATER,
    WET,
    WET_HOUSE,
    burn,
    count,
    drop,
    fly,
    lay_out,
    nearest,
    pay,
)

ACTIONS = (*MOVES, "drop")
SIGNS = ".T*Fx~Hho"  # in texts, by what is on a cell
NAMES = (
    "bare ground",
    "a tree",
    "a wet tree",
    "fire",
    "burnt ground",
    "water",
    "a house",
    "a wet house",
    "a ruin",
)
PIECES = {
    TREE: ("T", "green", "tree"),
    WET: ("*", "blue", "tree"),
    FIRE: ("F", "red", "fire"),
    BURNT: ("x", "gray", ""),
    HOUSE: ("H", "yellow", "house"),
    WET_HOUSE: ("h", "blue", "house"),
    RUIN: ("o", "gray", "ruin"),
}
MAX_SIDE = 30
MAX_REWARD = 1e6


class WildfireState(ArrayState):
    """The land, the fire and the planes."""

    ground: Annotated[NDArray[np.int8], Shape("num_cells")]  # BARE, TREE, … by cell
    age: Annotated[NDArray[np.int32], Shape("num_cells")]  # steps for which a cell has burnt
    catches: Annotated[NDArray[np.int8], Shape("num_cells")]  # scratch space of `burn`
    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each plane is
    loaded: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 with a full tank
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far
    wind: Annotated[int, np.int8]  # the way it blows: NORTH, SOUTH, WEST or EAST
    trees_at_start: Annotated[int, np.int32]  # burning ones included


@environment(
    "grid/Wildfire-v0",
    family="grid",
    tags=("cooperation", "chance", "reward-terms"),
    paper="Siedler and Gemp (2025), LLM-Mediated Guidance of MARL Systems",
    splits={
        "calm": {"gust": 0.0},
        "held-out-20x20": {
            "rows": 20,
            "columns": 20,
            "num_players": 5,
            "fires": 4,
            "lakes": 8,
            "houses": 8,
            "max_steps": 250,
        },
    },
)
@dataclass(frozen=True)
class Wildfire(Walkers[WildfireState]):
    """Planes scoop water and drop it on a fire that spreads with the wind.

    Actions are 0 stay, 1 north, 2 south, 3 west, 4 east and 5 drop.

    An observation has three int16 planes over the whole grid: what is on each cell (0 bare ground,
    1 tree, 2 wet tree, 3 fire, 4 burnt ground, 5 water, 6 house, 7 wet house, 8 ruin); planes by
    cell (1 another plane, 2 the player's own, and 2 more with a full tank; the player's own is
    shown where they share a cell); and the way the wind blows (1 to 4, as the actions).

    Rewards by term, the same for all: `extinguished`, `prepared`, `houses` (a cost) and `saved`.
    """

    rows: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="rows of the grid")] = 12
    columns: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="columns of the grid")] = 12
    num_players: Annotated[int, Meta(ge=1, le=8, description="number of planes")] = 3
    trees: Annotated[
        float, Meta(ge=0, le=1, description="chance that a cell of the land has trees")
    ] = 0.8
    fires: Annotated[int, Meta(ge=1, le=50, description="burning cells at the start")] = 2
    lakes: Annotated[int, Meta(ge=1, le=50, description="cells of water")] = 4
    houses: Annotated[int, Meta(ge=0, le=50, description="cells with houses")] = 4
    spread: Annotated[
        float,
        Meta(ge=0, le=1, description="chance per step that fire spreads to a given neighbour"),
    ] = 0.08
    gust: Annotated[
        float,
        Meta(ge=0, le=1, description="how much wind raises and lowers that chance, as a share"),
    ] = 0.5
    burn_steps: Annotated[
        int, Meta(ge=1, le=1000, description="steps until a fire goes out by itself")
    ] = 20
    extinguish_reward: Annotated[
        float, Meta(ge=0, le=MAX_REWARD, description="reward for a fire put out")
    ] = 1.0
    prepare_reward: Annotated[
        float, Meta(ge=0, le=MAX_REWARD, description="reward for a tree or house made wet")
    ] = 0.1
    house_cost: Annotated[
        float, Meta(ge=0, le=MAX_REWARD, description="penalty for a house lost")
    ] = 5.0
    saved_reward: Annotated[
        float, Meta(ge=0, le=MAX_REWARD, description="reward if all trees stand at the end")
    ] = 10.0
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 150

    vocabulary = Vocabulary(
        words=("fire", "wildfire", "burn", "burnt", "plane", "water", "drop", "house", "tree"),
    )
    rules_text = """
        You and the other players are pilots of planes and fight a wildfire together.

        All pilots choose one action at the same time:
        - "north", "south", "west", "east": fly one cell. Planes do not block one another. The edge
        of the map cannot be crossed.
        - "stay": circle over your cell.
        - "drop": empty your tank over your own cell, if it is full. A fire there goes out; a tree
        or house there becomes wet and cannot burn any more.
        Your tank fills by itself whenever you are over water.

        When all have acted, the fire may spread to cells with trees or houses north, south, west
        and east of it. A house that catches fire is lost. After some time a fire goes out and
        leaves burnt ground. The episode ends when nothing burns or time is up.

        All pilots are paid the same amount.
    """
    payoffs: ClassVar[Payoffs] = "common"
    figure = "plane"
    num_actions = len(ACTIONS)
    reward_terms = ("extinguished", "prepared", "houses", "saved")
    observation_bounds = (0, 8)

    def validate(self) -> None:
        if self.lakes + self.houses + self.fires > self.num_cells:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns have no room for {self.lakes} lakes, "
                f"{self.houses} houses and {self.fires} fires; make the grid larger"
            )
        if self.spread * (1 + self.gust) > 1:
            raise InvalidOption(
                f"spread * (1 + gust) is a chance and must be at most 1; {self.spread:g} * "
                f"{1 + self.gust:g} is more"
            )

    # Derived from the options

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return True

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (3, self.rows, self.columns)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = self.num_cells * max(self.extinguish_reward, self.prepare_reward)
        return (-self.house_cost * self.houses, most + self.saved_reward)

    # The rules

    @staticmethod
    def init_state(config: Wildfire, state: WildfireState) -> None:
        lay_out(config, state)
        for seat in range(config.num_players):
            state.cell[seat] = randint(state, config.rows * config.columns)
            state.loaded[seat] = state.ground[state.cell[seat]] == WATER
        all_act(state)

    @staticmethod
    def apply_actions(config: Wildfire, state: WildfireState, actions: Any, out: Out) -> None:
        for seat in range(config.num_players):
            if actions[seat] == DROP:
                drop(config, state, seat, out)
            else:
                fly(config, state, seat, actions[seat])
        burn(config, state, out)
        burning = count(config, state, FIRE)
        if burning > 0 and state.turn + 1 < config.max_steps:
            return
        stand = count(config, state, TREE) + count(config, state, WET)
        pay(config, state, SAVED, config.saved_reward * stand / state.trees_at_start, out)
        if burning == 0:
            finish(state)
        else:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Wildfire, state: WildfireState, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            mask[action] = neighbour(config, state.cell[seat], action) != NOWHERE
        mask[DROP] = state.loaded[seat]

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel(
                "ground",
                1,
                "0 bare, 1 tree, 2 wet tree, 3 fire, 4 burnt, 5 water, 6 house, 7 wet, 8 ruin",
            ),
            Channel("planes", 1, "1 another plane, 2 the player's own; 2 more with a full tank"),
            Channel("wind", 1, "where the wind blows, the same everywhere: 1 to 4, as the actions"),
        )

    @staticmethod
    def write_observation(config: Wildfire, state: WildfireState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        for cell in range(config.rows * config.columns):
            row, column = cell // config.columns, cell % config.columns
            obs[0, row, column] = state.ground[cell]
            obs[2, row, column] = state.wind
        for last in range(config.num_players):
            other = seat if last == config.num_players - 1 else last + (last >= seat)
            cell = state.cell[other]
            obs[1, cell // config.columns, cell % config.columns] = (
                1 + (other == seat) + 2 * state.loaded[other]
            )

    @staticmethod
    def scripted_action(config: Wildfire, state: WildfireState, seat: int) -> int:
        """Fly to the nearest fire with a full tank and to the nearest water without; drop there."""
        goal = nearest(config, state, seat, FIRE if state.loaded[seat] else WATER)
        own, columns = state.cell[seat], config.columns
        if goal < 0:
            return STAY
        if goal == own:  # who has dropped on water is over it with an empty tank
            return DROP if state.loaded[seat] else STAY
        down, right = goal // columns - own // columns, goal % columns - own % columns
        if abs(down) >= abs(right):
            return SOUTH if down > 0 else NORTH
        return EAST if right > 0 else WEST

    def ending(self, state: WildfireState) -> str:
        return "nothing burns any more"

    def standing(self, state: WildfireState) -> float:
        """The share of the trees at the start that have not burnt and do not burn."""
        stand = np.isin(state.ground, (TREE, WET)).sum()
        return float(stand / state.trees_at_start)

    def record_facts(self, state: WildfireState) -> dict[str, Any]:
        return {"progress": self.standing(state)}

    # Words

    def action_text(self, state: WildfireState, seat: int, action: int) -> str:
        return ACTIONS[action]

    fixed_moves = True

    def rules_for(self, seat: int) -> str:
        likely, unlikely = self.spread * (1 + self.gust), self.spread * (1 - self.gust)
        signs = ", ".join(f"{s} {n}" for s, n in zip(SIGNS, NAMES, strict=True))
        return "\n".join(
            [
                super().rules_for(seat),
                f"The map has {self.rows} rows, row 1 the northernmost, and {self.columns} "
                f"columns, column 1 the westernmost. There are {self.num_players} planes.",
                f"In each step a fire spreads to a given neighbour with a chance of "
                f"{likely:.3g} in the direction of the wind, {unlikely:.3g} against it and "
                f"{self.spread:g} across it. It burns for {quantity(self.burn_steps, 'step')}.",
                f"You are paid {self.extinguish_reward:g} for each fire put out by anybody, "
                f"{self.prepare_reward:g} for each tree or house made wet, {-self.house_cost:g} "
                f"for each house lost, and at the end {self.saved_reward:g} times the share of the "
                f"trees at the start that stand. Time is up after {self.max_steps} steps.",
                f"On the map: {signs}.",
            ]
        )

    def describe(self, state: WildfireState, seat: int) -> str:
        """The whole map, the wind and the planes."""
        planes = [
            f"- {'you' if other == seat else self.players[other]}: "
            f"{self.place_text(state.cell[other])}, "
            f"tank {'full' if state.loaded[other] else 'empty'}"
            for other in range(self.num_players)
        ]
        burning = quantity(int((state.ground == FIRE).sum()), "cell")
        return "\n".join(
            [
                self.header(state, seat),
                f"The wind blows {MOVES[int(state.wind)]}. On fire: {burning}.",
                "Map:",
                *plane_lines(state.ground.reshape(self.rows, self.columns), SIGNS),
                "Planes:",
                *planes,
            ]
        )

    def result_text(
        self, before: WildfireState, after: WildfireState, seat: int, action: int
    ) -> str:
        if action != DROP:
            filled = after.loaded[seat] and not before.loaded[seat]
            return super().result_text(before, after, seat, action) + (
                " Your tank is full." if filled else ""
            )
        return f"You drop your water on {NAMES[int(before.ground[before.cell[seat]])]}."

    def narrate(
        self, before: WildfireState | None, actions: Mapping[int, int], after: WildfireState
    ) -> list[Event]:
        events = super().narrate(before, actions, after)
        if before is None:
            return events
        lost = int(((after.ground == RUIN) & (before.ground == HOUSE)).sum())
        if lost:
            text = f"{quantity(lost, 'house').capitalize()} burned down."
            events.append(Event("lost", text, {"houses": lost}))
        return events

    # Pictures

    def scene(self, state: WildfireState, seat: int | None = None) -> Scene:
        """The map with the planes over it."""
        land = dict(enumerate(state.ground.tolist()))
        pieces = {
            cell: Piece(*PIECES[kind][:2], label=NAMES[kind], sprite=PIECES[kind][2])
            for cell, kind in land.items()
            if kind in PIECES
        }
        for shown in reversed(range(self.num_players)):
            self.stand(pieces, int(state.cell[shown]), shown)
        ground = {
            c: "water" if k == WATER else "grass" if k != BURNT else "sand" for c, k in land.items()
        }
        bars = (
            Bar("trees standing", self.standing(state), 1.0),
            Bar("paid", float(state.earned[0]), max(1.0, self.payoff_bounds[1])),
        )
        return Scene(self.caption(state), grid=self.grid(pieces, ground=ground), bars=bars)
