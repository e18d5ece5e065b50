"""Level-Based Foraging: players of different strength gather food that may take several of them.

Players and food stand on a grid and have levels. All players move at once: one cell north, south,
west or east, stay, or load. A food is taken when the players beside it who load in the same step
have a summed level of at least its own; each of them earns their level times the food's, by default
divided by the loaders' summed level and by the level of all food laid out, so that the payoffs of
an episode add up to 1 if everything is collected. It ends then, or is truncated after `max_steps`.

Rules, spawning and observations are those of the public implementation, version 2. The domain is
from Albrecht and Ramamoorthy, "A Game-Theoretic Model and Best-Response Learning Method for Ad Hoc
Coordination in Multiagent Systems", AAMAS 2013; the tasks from Christianos, Schäfer and Albrecht,
"Shared Experience Actor-Critic for Multi-Agent Reinforcement Learning", NeurIPS 2020, and
Papoudakis, Christianos, Schäfer and Albrecht, "Benchmarking Multi-Agent Deep Reinforcement Learning
Algorithms in Cooperative Tasks", NeurIPS 2021 (Datasets and Benchmarks). Rules that are easily
missed:

* A move fails if another player heads for the same cell, or stays or loads on it. Nothing else
  counts: two players may swap cells or follow each other, and one may step onto the cell of a
  player whose own move then fails, after which both stand on it.
* Food never lies on the border, nor in the eight cells around other food, nor two cells from it in
  a straight line, so nobody is ever beside two foods. After 1,000 tries there is only as much food
  as found room.
* A food's level is drawn from `min_food_level` to `max_food_level`, which is by default the sum of
  the three lowest player levels; with `force_coop` it is always that highest level.
* Moves into walls and food, and loading beside no food, are not legal; walking into players is.

One thing differs: here nobody sees further than `sight` cells, diagonals included. In the public
implementation, players near the north or west edge see other players (not food) up to twice as far.

Checked: every step against the public implementation, `lbforaging`; positions worked out by hand;
collecting everything pays 1.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Bar,
    Channel,
    Event,
    Grid,
    InvalidOption,
    Meta,
    Out,
    Outcome,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.endings import number_text
from palestra.grids.compass import EAST, MOVES, NORTH, SOUTH, STAY, WEST
from palestra.grids.windows import FAR, in_sight
from palestra.grids.words import quantity, where
from palestra.kernel.game import Result
from palestra.rules import all_act, finish, randint, truncate
from palestra.scene import on_top

from palestra_envs.grid.foraging.rules import (
    LOAD,
    food_levels,
    is_beside,
    is_room,
    lay_out,
    load,
    move,
    place_of,
    show,
    spawn_player,
    toward,
    toward_food,
)
from palestra_envs.grid.foraging.surroundings import Surroundings, Thing, read_observation

ACTIONS = (*MOVES, "load")
SPAWN_TRIES = 1000
REDRAWS = 100
MAX_SIDE, MAX_PLAYER_LEVEL, MAX_FOOD_LEVEL = 100, 9, 99


class ForagingState(ArrayState):
    """Places and levels of players and of food."""

    row: Annotated[NDArray[np.int32], Shape("num_players")]  # where each player stands
    column: Annotated[NDArray[np.int32], Shape("num_players")]
    level: Annotated[NDArray[np.int32], Shape("num_players")]  # each player's level
    food_row: Annotated[NDArray[np.int32], Shape("max_food")]  # where food lies, row by row
    food_column: Annotated[NDArray[np.int32], Shape("max_food")]
    food_level: Annotated[NDArray[np.int32], Shape("max_food")]  # 0 once it is taken
    laid_out: Annotated[int, np.int32]  # the summed level of all food at the start
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far


@environment(
    "grid/Foraging-v0",
    family="grid",
    tags=("cooperation", "competition", "partial-view", "chance"),
    paper="Albrecht and Ramamoorthy (2013); Christianos et al. (2020); Papoudakis et al. (2021)",
    splits={
        "8x8-2p-2f-coop": {"max_food": 2, "force_coop": True},
        "2s-8x8-2p-2f-coop": {"max_food": 2, "force_coop": True, "sight": 2},
        "10x10-3p-3f": {"rows": 10, "columns": 10, "num_players": 3},
        "2s-10x10-3p-3f": {"rows": 10, "columns": 10, "num_players": 3, "sight": 2},
        "15x15-3p-5f": {"rows": 15, "columns": 15, "num_players": 3, "max_food": 5},
        "15x15-4p-3f": {"rows": 15, "columns": 15, "num_players": 4},
        "15x15-4p-5f": {"rows": 15, "columns": 15, "num_players": 4, "max_food": 5},
        "held-out-12x12-5p-6f": {"rows": 12, "columns": 12, "num_players": 5, "max_food": 6},
    },
)
@dataclass(frozen=True)
class Foraging(ArrayGame[ForagingState]):
    """Players of different strength gather food on a grid that may take several of them to load.

    Actions are 0 stay, 1 north, 2 south, 3 west, 4 east and 5 load.

    An observation is a float32 vector of 3 * max_food + 3 * num_players numbers:

        for each food in sight, row by row    row, column, level    -1, -1, 0 for the rest
        yourself                              row, column, level
        each other player in sight, by seat   row, column, level    -1, -1, 0 for the rest

    Rows and columns count from 0 at the north-west corner of what the player sees, which is cut off
    at the grid's edge. With the whole grid in sight these are the grid's own coordinates.

    Taking food pays each loader their level times the food's, by default divided so that taking
    everything pays 1 to all players together.
    """

    rows: Annotated[int, Meta(ge=3, le=MAX_SIDE, description="rows of the grid")] = 8
    columns: Annotated[int, Meta(ge=3, le=MAX_SIDE, description="columns of the grid")] = 8
    num_players: Annotated[int, Meta(ge=1, le=20, description="number of players")] = 2
    max_food: Annotated[
        int, Meta(ge=1, le=100, description="foods at the start, as far as there is room")
    ] = 3
    min_player_level: Annotated[
        int, Meta(ge=1, le=MAX_PLAYER_LEVEL, description="lowest level that a player can have")
    ] = 1
    max_player_level: Annotated[
        int, Meta(ge=1, le=MAX_PLAYER_LEVEL, description="highest level that a player can have")
    ] = 2
    min_food_level: Annotated[
        int, Meta(ge=1, le=MAX_FOOD_LEVEL, description="lowest level that food can have")
    ] = 1
    max_food_level: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_FOOD_LEVEL)] | None,
        Meta(
            description="highest level that food can have; None: the sum of the three lowest "
            "player levels"
        ),
    ] = None
    sight: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="cells a player sees in every direction; None: the whole grid"),
    ] = None
    force_coop: Annotated[
        bool, Meta(description="whether all food has the highest level that food can have")
    ] = False
    normalize_reward: Annotated[
        bool, Meta(description="whether taking everything pays 1 to all players together")
    ] = True
    penalty: Annotated[
        float, Meta(ge=0, le=1e9, description="penalty for loading without success")
    ] = 0.0
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 50

    vocabulary = Vocabulary(
        words=("food", "level", "gather"),
    )
    rules_text = """
        You gather food on a grid together with, or in competition with, other players.

        Everybody has a level, and so has every food. All players choose one action at the same
        time:
        - "north", "south", "west", "east": move one cell. A cell with food or beyond the edge of
        the grid cannot be entered. If another player heads for the same cell or stays on it, you
        stay where you are.
        - "load": try to take the food beside you (one cell north, south, west or east of you). It
        is taken if the levels of all players who stand beside it and load in this same step add up
        to at least the food's level. A food of a higher level than yours needs several of you.
        - "stay": do nothing.

        Whoever takes part in loading a food earns their own level times the food's level. The
        episode ends when all food has been taken or time is up.
    """
    order = "simultaneous"
    payoffs = "general"
    num_actions = len(ACTIONS)
    reward_terms = ("food",)
    observation_dtype = np.float32

    def validate(self) -> None:
        if self.max_player_level < self.min_player_level:
            raise InvalidOption(
                f"max_player_level must be at least min_player_level, {self.min_player_level}, "
                f"not {self.max_player_level}"
            )
        if self.max_food_level is not None and self.max_food_level < self.min_food_level:
            raise InvalidOption(
                f"max_food_level must be at least min_food_level, {self.min_food_level}, "
                f"not {self.max_food_level}"
            )
        if (self.rows - 2) * (self.columns - 2) <= self.num_players:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns leave no room for food beside "
                f"{self.num_players} players; food never lies on the border: make the grid larger"
            )

    # Derived from the options

    @constant
    def reach(self) -> int:
        """The number of cells a player sees in every direction."""
        whole = max(self.rows, self.columns) - 1
        return whole if self.sight is None else min(self.sight, whole)

    @constant
    def given_food_level(self) -> int:
        """The highest level of food if it is an option; 0 if it depends on the players' levels."""
        return self.max_food_level or 0

    def constants(self) -> Mapping[str, Any]:
        """As for all games, with `sight` as a number, which `palestra.grids.windows` reads."""
        return {**super().constants(), "sight": self.reach}

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether everybody sees the whole grid from every cell."""
        return self.reach == max(self.rows, self.columns) - 1

    @property
    def highest_food_level(self) -> int:
        return self.max_food_level or self.max_player_level * min(3, self.num_players)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = 1.0
        if not self.normalize_reward:
            most = float(self.max_player_level * self.max_food * self.highest_food_level)
        return (0.0 - self.penalty * self.max_steps, most)

    @property
    def observation_shape(self) -> tuple[int]:
        return (3 * self.max_food + 3 * self.num_players,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        sides = self.rows - 1, self.columns - 1
        return (-1.0, float(max(*sides, self.max_player_level, self.highest_food_level)))

    # The rules

    @staticmethod
    def init_state(config: Foraging, state: ForagingState) -> None:
        for seat in range(config.num_players):
            state.row[seat], state.column[seat] = FAR, FAR
        for seat in range(config.num_players):
            spawn_player(config, state, seat)
        low, high = food_levels(config, state)
        count = 0
        for _ in range(SPAWN_TRIES):
            row = 1 + randint(state, config.rows - 2)
            column = 1 + randint(state, config.columns - 2)
            if is_room(config, state, row, column):
                lay_out(state, count, row, column, low + randint(state, high - low + 1))
                count += 1
                if count == config.max_food:
                    break
        all_act(state)

    @staticmethod
    def apply_actions(config: Foraging, state: ForagingState, actions: Any, out: Out) -> None:
        move(config, state, actions)
        left = 0
        for food in range(config.max_food):
            load(config, state, food, actions, out)
            left += state.food_level[food] > 0
        for seat in range(config.num_players):
            state.earned[seat] += out.rewards[seat, 0]
        if left == 0:
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Foraging, state: ForagingState, seat: int, mask: Any) -> None:
        row, column = state.row[seat], state.column[seat]
        mask[STAY] = 1
        mask[NORTH], mask[SOUTH] = row > 0, row < config.rows - 1
        mask[WEST], mask[EAST] = column > 0, column < config.columns - 1
        for food in range(config.max_food):
            if is_beside(state, seat, food):
                mask[LOAD] = 1
                mask[toward(state.food_row[food] - row, state.food_column[food] - column)] = 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        others = self.num_players - 1
        return (
            Channel("foods", 3 * self.max_food, "each food in sight: row, column, level; -1 -1 0"),
            Channel("own", 3, "the player's row, column and level"),
            Channel("others", 3 * others, "each player in sight: row, column, level; -1 -1 0"),
        )

    @staticmethod
    def write_observation(config: Foraging, state: ForagingState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        top = max(state.row[seat] - config.reach, 0)
        left = max(state.column[seat] - config.reach, 0)
        own = 3 * config.max_food
        end = own + 3 * config.num_players
        for slot in range(0, end, 3):
            show(obs, slot, -1, -1, 0)
        at = 0
        for food in range(config.max_food):  # advances only if seen
            row, column = state.food_row[food], state.food_column[food]
            show(obs, at, row - top, column - left, state.food_level[food])
            seen = in_sight(config, state, seat, row, column)
            at += 3 * (seen & (state.food_level[food] > 0))
        show(obs, at, -1, -1, 0)
        show(obs, own, state.row[seat] - top, state.column[seat] - left, state.level[seat])
        at = own + 3
        for other in range(config.num_players):
            if other != seat:
                row, column = state.row[other], state.column[other]
                show(obs, at, row - top, column - left, state.level[other])
                at += 3 * in_sight(config, state, seat, row, column)
        if at < end:
            show(obs, at, -1, -1, 0)

    @staticmethod
    def scripted_action(config: Foraging, state: ForagingState, seat: int) -> int:
        """Walk to the nearest food in sight and load it: the paper's simplest heuristic."""
        return toward_food(config, state, seat)

    def outcome(self, state: ForagingState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        if ended.results[0] == "truncated":
            return replace(ended, reason=f"time was up after {self.max_steps} steps")
        score: Result = "score"
        results = (score,) * self.num_players
        return replace(ended, results=results, reason="all food was collected")

    def scores(self, state: ForagingState) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state.earned.tolist())

    def noop(self, state: ForagingState, seat: int) -> int:
        return STAY

    # States

    def arrange(
        self,
        players: Sequence[tuple[int, int, int]],
        foods: Sequence[tuple[int, int, int]],
        *,
        turn: int = 0,
    ) -> ForagingState:
        """A state with players and food at these places: (row, column, level), from 0.

        Raises `InvalidOption` for food where the rules would not place it.
        """
        if len(players) != self.num_players or len(foods) > self.max_food:
            raise InvalidOption(
                f"got {len(players)} players and {len(foods)} foods; this game has "
                f"{self.num_players} players and at most {self.max_food} foods"
            )
        state: ForagingState = self.clone(self.initial_state(0))
        self._clear(state)
        state.laid_out, state.turn = 0, turn
        for seat, place in enumerate(players):
            state.row[seat], state.column[seat], state.level[seat] = place
        for count, (row, column, level) in enumerate(foods):
            inside = 0 < row < self.rows - 1 and 0 < column < self.columns - 1
            if not (inside and is_room(self.config, state, row, column)):
                raise InvalidOption(
                    f"food cannot lie at row {row}, column {column}: that is on the border, on a "
                    "player, or too near to other food"
                )
            lay_out(state, count, row, column, level)
        return state

    @staticmethod
    def _clear(state: ForagingState) -> None:
        """Take all food off the grid."""
        state.food_row[:], state.food_column[:], state.food_level[:] = 0, 0, 0

    def foods(self, state: ForagingState) -> list[tuple[int, int, int]]:
        """Row, column and level of the food that is left, row by row."""
        rows, columns, levels = state.food_row, state.food_column, state.food_level
        found = zip(rows.tolist(), columns.tolist(), levels.tolist(), strict=True)
        return [food for food in found if food[2] > 0]

    def cells(self, state: ForagingState, seat: int, *, seen: bool) -> list[tuple[int, int]]:
        """The cells that a player sees, or those that they do not see."""
        row, column = place_of(state, seat)
        grid = ((r, c) for r in range(self.rows) for c in range(self.columns))
        return [
            (r, c) for r, c in grid if (max(abs(r - row), abs(c - column)) <= self.reach) == seen
        ]

    def determinize(self, state: ForagingState, seat: int, rng: Rng) -> ForagingState:
        """Draw the players and the food out of sight, and what others have taken and earned.

        The result fits what the player sees now, including the possible levels of food in sight, as
        if they remembered nothing. If a hundred draws find nothing that fits, the state stays
        unchanged.
        """
        if self.perfect_information:
            return self.clone(state)
        for _ in range(REDRAWS):
            imagined = self._imagine(state, seat, rng)
            if imagined is not None:
                return imagined
        return self.clone(state)

    def _imagine(self, state: ForagingState, seat: int, rng: Rng) -> ForagingState | None:
        """One draw for `determinize`; None if it does not fit."""
        imagined: ForagingState = self.clone(state)
        unseen = self.cells(state, seat, seen=False)
        hidden = self._hide(imagined, seat)
        for other in hidden:
            imagined.level[other] = rng.between(self.min_player_level, self.max_player_level)
        low, high = food_levels(self.config, imagined)
        seen = self.foods(imagined)
        if any(not low <= level <= high for _, _, level in seen):
            return None
        self._clear(imagined)
        imagined.laid_out = 0
        for count, food in enumerate(seen):
            lay_out(imagined, count, *food)
        inside = [(r, c) for r, c in unseen if 0 < r < self.rows - 1 and 0 < c < self.columns - 1]
        left = rng.between(max(1, len(seen)), self.max_food) if state.turn else self.max_food
        for count in range(len(seen), left):
            cell = self._find_room(imagined, inside, rng)
            if cell is None:
                break
            lay_out(imagined, count, *cell, rng.between(low, high))
        if not self.foods(imagined) and not state.over:
            return None
        taken = [rng.between(low, high) for _ in range(left, self.max_food)]
        self._imagine_taken(imagined, seat, taken, rng)
        covered = {(row, column) for row, column, _ in self.foods(imagined)}
        free = [cell for cell in unseen if cell not in covered]
        if len(free) < len(hidden):
            return None
        for other in hidden:
            at = rng.below(len(free))
            imagined.row[other], imagined.column[other] = free.pop(at)
        return imagined

    def _imagine_taken(
        self, imagined: ForagingState, seat: int, taken: Sequence[int], rng: Rng
    ) -> None:
        """Let players drawn at random have earned the food of these levels; one's own pay stays."""
        imagined.laid_out += sum(taken)
        others = [other for other in range(self.num_players) if other != seat]
        for other in others:
            imagined.earned[other] = 0
        for level in taken:
            eater = rng.below(self.num_players)
            if eater != seat:
                share = 1 / imagined.laid_out if self.normalize_reward else imagined.level[eater]
                imagined.earned[eater] += level * share

    def _find_room(
        self, state: ForagingState, cells: Sequence[tuple[int, int]], rng: Rng
    ) -> tuple[int, int] | None:
        """A random one of these cells on which food may be laid; None if many tries find none."""
        for _ in range(REDRAWS if cells else 0):
            row, column = rng.choice(cells)
            if is_room(self.config, state, row, column):
                return row, column
        return None

    def _hide(self, state: ForagingState, seat: int) -> list[int]:
        """Take all that is out of sight off the grid; returns the seats of those players."""
        config, hidden = self.config, []
        for food in range(self.max_food):
            if not in_sight(config, state, seat, state.food_row[food], state.food_column[food]):
                state.food_level[food] = 0
        for other in range(self.num_players):
            if not in_sight(config, state, seat, state.row[other], state.column[other]):
                hidden.append(other)
        for other in hidden:
            state.row[other], state.column[other] = FAR, FAR
        return hidden

    # Words

    def read(self, observation: NDArray[Any]) -> Surroundings:
        """Read an observation."""
        return read_observation(observation, self.max_food)

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        if self.normalize_reward:
            lines.append(
                "What you earn for a food is divided by the summed level of all who loaded it and "
                "by the summed level of all food laid out, so that taking everything is worth 1 "
                "to all players together."
            )
        if self.penalty:
            lines.append(f"Loading in vain costs you {self.penalty:g}.")
        lines.append(
            f"The grid has {self.rows} rows, row 1 the northernmost, and {self.columns} columns, "
            f"column 1 the westernmost. There are {self.num_players} players of levels "
            f"{self.min_player_level} to {self.max_player_level}, and at most {self.max_food} "
            f"foods of levels up to {self.highest_food_level}. Time is up after {self.max_steps} "
            "steps."
        )
        if not self.perfect_information:
            lines.append(f"You see up to {quantity(self.reach, 'cell')} away, diagonally too.")
        return "\n".join(lines)

    def describe(self, state: ForagingState, seat: int) -> str:
        """Exactly what the observation holds, in words, and how much time has gone by."""
        seen = self.read(self.seen(state, seat))
        lines = [
            f"You are {self.players[seat]}, level {seen.level}, {self._place_text(seen)}. "
            f"Steps played: {int(state.turn)} of {self.max_steps}.",
            *(f"- a food {thing_text(food)}" for food in seen.foods),
            *(f"- {who} {thing_text(other)}" for who, other in self._players_in_sight(seen, seat)),
        ]
        if len(lines) > 1:
            lines.insert(1, "You see:")
        else:
            lines.append("You see no food and nobody else.")
        if not self.perfect_information:
            lines.append(self._unseen_text(seen))
        return "\n".join(lines)

    def _place_text(self, seen: Surroundings) -> str:
        """Where a player is, as far as they can tell: 'in row 2, column 4 or further east'."""
        row = f"in row {seen.row + 1}"
        if seen.row == self.reach < self.rows - 1:
            row += " or further south"
        column = f"column {seen.column + 1}"
        if seen.column == self.reach < self.columns - 1:
            column += " or further east"
        return f"{row}, {column}"

    def _players_in_sight(self, seen: Surroundings, seat: int) -> Iterator[tuple[str, Thing]]:
        """Players in sight, by name if all are in sight, so that the names are known."""
        others = [name for other, name in enumerate(self.players) if other != seat]
        known = len(seen.others) == len(others)
        for name, other in zip(others, seen.others, strict=False):
            yield (name if known else "a player"), other

    def _unseen_text(self, seen: Surroundings) -> str:
        """A sentence that says what is out of sight."""
        missing = self.num_players - 1 - len(seen.others)
        text = f"What lies more than {quantity(self.reach, 'cell')} away you cannot see"
        if missing:
            text += f", nor where {quantity(missing, 'other player')} may be"
        return text + "."

    def action_text(self, state: ForagingState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def narrate(
        self, before: ForagingState | None, actions: Mapping[int, int], after: ForagingState
    ) -> list[Event]:
        """Tell each player how their action went and, if they see only part, what they learn by it.

        They get an event of kind "reveal" whenever the result of the step differs from what it
        would be if nothing were out of their sight.
        """
        if before is None:
            return []
        events = []
        for seat, action in sorted(actions.items()):
            data = {"player": seat, "action": int(action)}
            text = self._result_text(before, after, seat, action)
            events.append(Event("move", text, data, only(seat)))
            learned = (
                "" if self.perfect_information else self._news_text(before, actions, after, seat)
            )
            gain = float(after.earned[seat] - before.earned[seat])
            if gain > 0 and self.normalize_reward and not self.perfect_information:
                learned = f"{learned} You are paid {number_text(gain)}.".strip()
            if learned:
                events.append(Event("reveal", learned, {"player": seat}, only(seat)))
        return events

    def _result_text(
        self, before: ForagingState, after: ForagingState, seat: int, action: int
    ) -> str:
        """What a player reads about their own action."""
        if action == STAY:
            return "You stay."
        if action == LOAD:
            row, column = int(before.row[seat]), int(before.column[seat])
            for r, c, level in self.foods(before):
                if abs(r - row) + abs(c - column) == 1:
                    kept = (r, c, level) in self.foods(after)
                    how = "You fail to load" if kept else "You load"
                    return f"{how} the food of level {level}."
        places = zip(place_of(before, seat), place_of(after, seat), strict=True)
        if any(old != new for old, new in places):
            return f"You move {ACTIONS[action]}."
        return f"You try to move {ACTIONS[action]} and are blocked."

    def _news_text(
        self,
        before: ForagingState,
        actions: Mapping[int, int],
        after: ForagingState,
        seat: int,
    ) -> str:
        """The part of the result that a player could not foresee; empty if there is none."""
        expected = self._foresee(before, actions, seat)
        now, then = (self.read(self.seen(state, seat)) for state in (after, expected))
        if now == then and place_of(after, seat) == place_of(expected, seat):
            return ""
        foods, others = (
            [thing for thing in new if thing not in old]
            for new, old in ((now.foods, then.foods), (now.others, then.others))
        )
        found = [f"a food {thing_text(food)}" for food in foods]
        found += [f"a player {thing_text(other)}" for other in others]
        if found:
            return f"New in your sight: {', '.join(found)}."
        return "Somebody out of your sight had a hand in this."

    def _foresee(
        self, before: ForagingState, actions: Mapping[int, int], seat: int
    ) -> ForagingState:
        """The state that a step would lead to with nothing out of a player's sight."""
        expected: ForagingState = self.clone(before)
        hidden = self._hide(expected, seat)
        moves = [STAY if other in hidden else action for other, action in sorted(actions.items())]
        out = Out(np.zeros((self.num_players, 1)), np.zeros((self.num_players, 1)))
        self.apply_actions(self.config, expected, np.array(moves), out)
        return expected

    # Pictures

    def scene(self, state: ForagingState, seat: int | None = None) -> Scene:
        """The grid; for a player without what they do not see, and that part shaded."""
        shown, shaded = state, []
        if seat is not None:
            shown = self.clone(state)
            shaded = self.cells(state, seat, seen=False)
            self._hide(shown, seat)
        cells = self._pieces(shown)
        grid = Grid(
            tuple(map(tuple, cells)),
            row_labels=tuple(str(row + 1) for row in range(self.rows)),
            column_labels=tuple(str(column + 1) for column in range(self.columns)),
            style="floor",
            shaded=frozenset(shaded),
        )
        full = self.payoff_bounds[1]
        own = None if self.perfect_information else seat
        seats = range(self.num_players) if own is None else (own,)
        earned = state.earned.tolist()
        bars = [Bar(self.players[p], earned[p], full, p) for p in seats]
        return Scene(f"Step {int(state.turn)} of {self.max_steps}", grid=grid, bars=tuple(bars))

    def _pieces(self, state: ForagingState) -> list[list[Piece | None]]:
        """What is on each cell; where several players are, all of them."""
        cells: list[list[Piece | None]] = [[None] * self.columns for _ in range(self.rows)]
        for row, column, level in self.foods(state):
            cells[row][column] = Piece(
                str(level), "red", "tile", f"food of level {level}", "apple", badge=str(level)
            )
        rows, columns, levels = (field.tolist() for field in (state.row, state.column, state.level))
        for seat in reversed(range(self.num_players)):
            if rows[seat] != FAR:
                name = f"{self.players[seat]}, level {levels[seat]}"
                badge = str(levels[seat])
                piece = Piece(chr(65 + seat), seat, "disc", name, "person", badge=badge)
                row, column = rows[seat], columns[seat]
                cells[row][column] = on_top(cells[row][column], piece)
        return cells


def thing_text(thing: Thing) -> str:
    """A thing in words, such as 'of level 2 one cell north of you'."""
    return f"of level {thing.level} {where(thing.south, thing.east)}"
