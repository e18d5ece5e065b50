"""Pursuit: players surround evaders who walk at random, each seeing only what is near.

In a step all pursuers move at once (several may share a cell); each is paid for every evader beside
them; caught evaders leave, and their catchers are paid; the other evaders walk at random; and
everybody pays for the time. With `surround` an evader is caught when pursuers stand on every cell
north, south, west and east of it that is on the map and no wall, otherwise when `n_catch` pursuers
stand on its own cell. A pursuer who catches two evaders at once is paid for one. With
`shared_reward` everybody is paid the mean. It ends when all evaders are caught, or is truncated
after `max_steps`.

Rules and numbers are those of PettingZoo's `sisl/pursuit`, whose origin is Gupta, Egorov and
Kochenderfer, "Cooperative multi-agent control using deep reinforcement learning", AAMAS 2017
workshops. Pursuers start on random cells and not beside one another, and so do evaders; after 1,000
tries one starts on any cell. Three things differ:

* In PettingZoo the pursuers move one after another, and tags are paid, divided by their number,
  after each move; here they are paid once, after all have moved.
* In PettingZoo a pursuer at the edge who shares a cell with an evader is paid as if it were beside
  them.
* Moves into walls are not legal here; in PettingZoo they do nothing.

Two kinds of `map`. One that is `fixed` is your own `level` or, without one, that of the public
implementation: the middle is a wall, from three tenths of the columns to seven and from two tenths
of the rows to eight. It is printed in the rules. A `random` one, of `rows` by `columns` cells, is
drawn from the seed for every episode: each cell is an obstacle with probability `density`, and what
obstacles cut off from the largest region is filled up, so that every evader can be reached. Players
know its size, that chance, where they start on it, and the part in sight.

Checked against that implementation, where installed: views, catches and payments from the same
positions; and against positions worked out by hand. Random maps: one region, by scipy's labels.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
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
from palestra.grids.compass import EASTWARD, MOVES, SOUTHWARD, STAY
from palestra.grids.levels import MAX_SIDE, Level, read_level
from palestra.grids.moving import measure, scatter
from palestra.grids.windows import MAX_SIGHT, cells_in, cells_of, draw_window, unseen_mask
from palestra.grids.words import quantity, where
from palestra.kernel.game import Result
from palestra.kernel.specs import Payoffs
from palestra.rules import all_act, finish, randint, truncate
from palestra.scene import on_top

from palestra_envs.grid.pursuit.rules import (
    HUNTERS,
    PREY,
    TAGS,
    URGENCY,
    catch,
    evaders_beside,
    is_open,
    recount,
    share,
    spawn,
    step,
)

ACTIONS = MOVES
KINDS = {"@": "a wall", ".": "floor", " ": "floor"}
WALLS, PURSUERS, EVADERS = range(3)  # planes
MAX_SEATS = 30
MAX_REWARD = 1e9
WALL = Piece("@", shape="square", label="wall", sprite="wall")
LEAST_FLOOR = 2  # cells without a wall


class PursuitState(ArrayState):
    """Places of pursuers and evaders, and the obstacles of a random map."""

    row: Annotated[NDArray[np.int32], Shape("num_walkers")]  # of pursuers, then of evaders
    column: Annotated[NDArray[np.int32], Shape("num_walkers")]
    caught_by: Annotated[NDArray[np.int32], Shape("num_evaders")]  # a bit a seat; 0 if not caught
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far
    crowd: Annotated[NDArray[np.int8], Shape(2, "map_rows", "map_columns")]  # HUNTERS, PREY by cell
    walls: Annotated[NDArray[np.uint8], Shape("random_cells")]  # 1 for obstacles of a random map
    queue: Annotated[NDArray[np.int16], Shape("random_cells")]  # scratch space of `measure`
    far: Annotated[NDArray[np.int16], Shape(1, "random_cells")]  # scratch space of `measure`


@environment(
    "grid/Pursuit-v0",
    family="grid",
    tags=("cooperation", "partial-view", "chance"),
    paper=(
        "Gupta, Egorov and Kochenderfer (2017), Cooperative multi-agent control using deep "
        "reinforcement learning"
    ),
    splits={
        "random": {"map": "random"},
        "held-out-24x24": {
            "map": "random",
            "rows": 24,
            "columns": 24,
            "density": 0.3,
            "num_players": 12,
            "num_evaders": 40,
        },
    },
    payoffs="common",
)
@dataclass(frozen=True)
class Pursuit(ArrayGame[PursuitState]):
    """Pursuers surround evaders who walk at random; each player sees only what is near.

    Actions are 0 stay, 1 north, 2 south, 3 west and 4 east.

    An observation has three int8 planes over the window around the player, north on top: walls and
    what lies beyond the map (1), the number of pursuers on the cell, the player among them, and the
    number of evaders.

    Rewards by term are `tags` for evaders beside the player, `catches`, and `urgency` in every
    step; with `shared_reward` every player gets the mean.
    """

    rows: Annotated[
        int, Meta(ge=1, le=MAX_SIDE, description="rows of the map, without a level")
    ] = 16
    columns: Annotated[
        int, Meta(ge=1, le=MAX_SIDE, description="columns of the map, without a level")
    ] = 16
    level: Annotated[
        str, Meta(description="a fixed map drawn in lines of @ (wall) and . (floor); empty: none")
    ] = ""
    map: Annotated[
        Literal["fixed", "random"],
        Meta(description="one map for all episodes, or obstacles drawn anew for each"),
    ] = "fixed"
    density: Annotated[
        float, Meta(ge=0, le=0.9, description="chance of an obstacle on a cell of a random map")
    ] = 0.2
    num_players: Annotated[int, Meta(ge=1, le=MAX_SEATS, description="number of pursuers")] = 8
    num_evaders: Annotated[int, Meta(ge=1, le=100, description="evaders at the start")] = 30
    sight: Annotated[
        int, Meta(ge=1, le=MAX_SIGHT, description="cells a player sees in every direction")
    ] = 3
    surround: Annotated[
        bool,
        Meta(
            description="whether evaders are caught by surrounding them, instead of on "
            "their own cell"
        ),
    ] = True
    n_catch: Annotated[
        int,
        Meta(ge=1, le=MAX_SEATS, description="pursuers it takes on an evader's cell to catch it"),
    ] = 2
    freeze_evaders: Annotated[bool, Meta(description="whether evaders stand still")] = False
    tag_reward: Annotated[
        float,
        Meta(ge=-MAX_REWARD, le=MAX_REWARD, description="reward for each evader beside a pursuer"),
    ] = 0.01
    catch_reward: Annotated[
        float,
        Meta(ge=-MAX_REWARD, le=MAX_REWARD, description="reward for helping to catch evaders"),
    ] = 5.0
    urgency_reward: Annotated[
        float, Meta(ge=-MAX_REWARD, le=MAX_REWARD, description="reward of everybody in every step")
    ] = -0.1
    shared_reward: Annotated[
        bool, Meta(description="whether all pursuers are paid the mean of their rewards")
    ] = True
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 500

    vocabulary = Vocabulary(
        words=(
            "pursuer",
            "evader",
            "catch",
            "caught",
            "hunt",
        ),
    )
    rules_text = """
        You and the other players are pursuers on a map and hunt evaders together.

        All pursuers choose one action at the same time:
        - "north", "south", "west", "east": move one cell. Walls and the edge of the map cannot be
        crossed. Pursuers and evaders do not block one another; several may stand on one cell.
        - "stay": do nothing.

        When all have moved, every pursuer is paid for each evader beside them (one cell north,
        south, west or east of them). Then evaders are caught and leave the map, and whoever helped
        to catch one is paid. The others walk: each stays or takes a random step. The episode ends
        when no evader is left or time is up.
    """
    order = "simultaneous"
    num_actions = len(ACTIONS)
    reward_terms = ("tags", "catches", "urgency")
    observation_dtype = np.int8

    def validate(self) -> None:
        if not self.surround and self.n_catch > self.num_players:
            raise InvalidOption(
                f"n_catch must be at most num_players, {self.num_players}, not {self.n_catch}"
            )
        if self.random and self.level:
            raise InvalidOption("level is a fixed map: give it without map='random'")
        if self.layout.count(". ") < LEAST_FLOOR:
            raise InvalidOption("the map must have two cells without a wall; make it larger")

    # Derived from the options

    @constant
    def random(self) -> bool:
        """Whether every episode has obstacles of its own, which its state holds."""
        return self.map == "random"

    @constant
    def wall_masks(self) -> tuple[int, ...]:
        """The walls of a fixed map, as masks of its rows."""
        return self.layout.masks("@")

    @constant
    def num_walkers(self) -> int:
        """How many pursuers and evaders there are at the start."""
        return self.num_players + self.num_evaders

    @property
    def map_rows(self) -> int:
        """Rows of the map, also where they are a level's."""
        return self.layout.rows

    @property
    def map_columns(self) -> int:
        """Columns of the map, also where they are a level's."""
        return self.layout.columns

    @property
    def random_cells(self) -> int:
        """Cells of a random map; one where the map is fixed."""
        return self.rows * self.columns if self.random else 1

    def constants(self) -> Mapping[str, Any]:
        """As for all games, with the size of the map as `rows` and `columns`."""
        return {**super().constants(), "rows": self.map_rows, "columns": self.map_columns}

    @cached_property
    def layout(self) -> Level:
        """The map, without obstacles where they are random."""
        return read_level(self.level or self._default_level(), KINDS)

    def _default_level(self) -> str:
        """Floor, with a wall in the middle where the map is fixed."""
        return "\n".join(
            "".join(
                "@"
                if not self.random
                and 3 * self.columns < 10 * column < 7 * self.columns
                and self.rows < 5 * row < 4 * self.rows
                else "."
                for column in range(self.columns)
            )
            for row in range(self.rows)
        )

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether everybody sees the whole map from every cell."""
        return self.sight >= max(self.map_rows, self.map_columns) - 1

    @property
    def payoffs(self) -> Payoffs:  # type: ignore[override]
        return "common" if self.shared_reward else "general"

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        tags, catches = self.tag_reward * self.num_evaders, self.catch_reward * self.num_evaders
        steps = self.max_steps
        low = steps * (min(0.0, tags) + min(0.0, self.urgency_reward)) + min(0.0, catches)
        high = steps * (max(0.0, tags) + max(0.0, self.urgency_reward)) + max(0.0, catches)
        return (low, high)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        side = 2 * self.sight + 1
        return (3, side, side)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(max(self.num_players, self.num_evaders)))

    # The rules

    @staticmethod
    def init_state(config: Pursuit, state: PursuitState) -> None:
        if config.random:
            scatter(config, state, LEAST_FLOOR)
            state.far[:] = 0  # distances are not needed
        for who in range(config.num_walkers):
            spawn(config, state, who)
        recount(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Pursuit, state: PursuitState, actions: Any, out: Out) -> None:
        for seat in range(config.num_players):
            step(config, state, seat, actions[seat])
        for seat in range(config.num_players):
            touched = evaders_beside(config, state, seat)
            out.rewards[seat, TAGS] = config.tag_reward * touched
            out.rewards[seat, URGENCY] = config.urgency_reward
        catch(config, state, out)
        caught_by, left = state.caught_by, 0
        for evader in range(config.num_evaders):
            if caught_by[evader] == 0:
                left += 1
                if not config.freeze_evaders:
                    step(config, state, config.num_players + evader, randint(state, len(ACTIONS)))
        if config.shared_reward:
            share(config, out)
        for seat in range(config.num_players):
            for term in range(3):
                state.earned[seat] += out.rewards[seat, term]
        if left == 0:
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Pursuit, state: PursuitState, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            row = state.row[seat] + SOUTHWARD[action]
            column = state.column[seat] + EASTWARD[action]
            mask[action] = is_open(config, state, row, column)

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("walls", 1, "1 for walls and what lies beyond the map"),
            Channel("pursuers", 1, "how many pursuers are on the cell, the player among them"),
            Channel("evaders", 1, "how many evaders are on the cell"),
        )

    @staticmethod
    def write_observation(config: Pursuit, state: PursuitState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the planes."""
        sight = config.sight
        top, left = int(state.row[seat]) - sight, int(state.column[seat]) - sight
        crowd = state.crowd
        for i in range(2 * sight + 1):
            for j in range(2 * sight + 1):
                row, column = top + i, left + j
                if is_open(config, state, row, column):
                    obs[PURSUERS, i, j] = crowd[HUNTERS, row, column]
                    obs[EVADERS, i, j] = crowd[PREY, row, column]
                else:
                    obs[WALLS, i, j] = 1

    def outcome(self, state: PursuitState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        if ended.results[0] == "truncated":
            return replace(ended, reason=f"time was up after {self.max_steps} steps")
        score: Result = "score"
        return replace(ended, results=(score,) * self.num_players, reason="all evaders were caught")

    def scores(self, state: PursuitState) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state.earned.tolist())

    def noop(self, state: PursuitState, seat: int) -> int:
        return STAY

    # States

    def arrange(
        self,
        pursuers: Sequence[tuple[int, int]],
        evaders: Sequence[tuple[int, int]],
        *,
        turn: int = 0,
    ) -> PursuitState:
        """A state with everybody at these places, (row, column) from 0; other evaders are gone.

        Where maps are random, its map is that of seed 0.
        """
        if len(pursuers) != self.num_players or len(evaders) > self.num_evaders:
            raise InvalidOption(
                f"got {len(pursuers)} pursuers and {len(evaders)} evaders; this game has "
                f"{self.num_players} and at most {self.num_evaders}"
            )
        state: PursuitState = self.clone(self.initial_state(0))
        state.turn = turn
        for seat, place in enumerate(pursuers):
            state.row[seat], state.column[seat] = place
        state.caught_by[:] = 1
        for evader, place in enumerate(evaders):
            who = self.num_players + evader
            state.row[who], state.column[who] = place
            state.caught_by[evader] = 0
        recount(self.config, state)
        return state

    def walls(self, state: PursuitState) -> NDArray[np.bool_]:
        """Which cells are walls, by row and column."""
        if self.random:
            return (state.walls == 1).reshape(self.rows, self.columns)
        return np.array([[kind == "@" for kind in line] for line in self.layout.lines])

    def evaders(self, state: PursuitState) -> list[int]:
        """The evaders that have not been caught."""
        return (state.caught_by == 0).nonzero()[0].tolist()

    def determinize(self, state: PursuitState, seat: int, rng: Rng) -> PursuitState:
        """Put every pursuer and evader out of sight on another cell out of sight.

        The result fits what the player sees now and how many evaders are left, as if they
        remembered nothing else. Random obstacles out of sight are redrawn. Evaders look alike: any
        that are left may be those in sight. Unless players share their pay, what others were paid
        for evaders beside them is drawn anew; catches are announced to all.
        """
        imagined: PursuitState = self.clone(state)
        hidden = unseen_mask(self, state, seat)
        others = self._exchange_evaders(imagined, self._hidden(state, seat), rng)
        if self.random:
            self._redraw(imagined, seat, hidden, len(others) > 0, rng)
        free = [cell for cell in cells_in(hidden) if is_open(self.config, imagined, *cell)]
        for other in others:
            cells = free if state.turn else self._apart(imagined, other, others, free)
            imagined.row[other], imagined.column[other] = rng.choice(cells)
        recount(self.config, imagined)
        if not (self.shared_reward or self.perfect_information):
            self._redraw_pay(imagined, seat, rng)
        return imagined

    def _redraw_pay(self, imagined: PursuitState, seat: int, rng: Rng) -> None:
        """Draw what others were paid: evaders were beside them in any number of steps."""
        steps = int(imagined.turn)
        for other in range(self.num_players):
            if other != seat:
                catches = int((imagined.caught_by >> other & 1).sum())
                paid = self.tag_reward * rng.below(steps + 1) + self.catch_reward * catches
                imagined.earned[other] = paid + self.urgency_reward * steps

    def _exchange_evaders(self, imagined: PursuitState, others: list[int], rng: Rng) -> list[int]:
        """Put other evaders on the places of those in sight; returns who is out of sight then."""
        evaders = [self.num_players + evader for evader in self.evaders(imagined)]
        places = [(imagined.row[who], imagined.column[who]) for who in evaders if who not in others]
        rng.shuffle(evaders)
        for who, place in zip(evaders, sorted(places), strict=False):
            imagined.row[who], imagined.column[who] = place
        pursuers = [who for who in others if who < self.num_players]
        return pursuers + sorted(evaders[len(places) :])

    def _redraw(
        self,
        imagined: PursuitState,
        seat: int,
        hidden: NDArray[np.bool_],
        inhabited: bool,
        rng: Rng,
    ) -> None:
        """Draw obstacles out of sight so that all floor is one region, part of it there if needed.

        As on the map itself, what they cut off is filled up; where they cut off floor in sight they
        are drawn anew with a tenth fewer.
        """
        walls, away, density = imagined.walls, hidden.ravel(), self.density
        own = int(imagined.row[seat]) * self.columns + int(imagined.column[seat])
        fits = False
        while not fits:
            walls[away] = [rng.random() < density for _ in range(int(away.sum()))]
            measure(self.config, imagined, 0, own)
            reached = imagined.far[0] >= 0
            fits = bool((reached | (walls == 1))[~away].all())
            fits = fits and (not inhabited or bool(reached[away].any()))
            density *= 0.9
        walls[~reached] = 1
        imagined.far[:] = 0

    def _apart(
        self, state: PursuitState, who: int, unseen: list[int], free: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Cells away from who stands already of the same kind, as at the beginning; else all."""
        seats = self.num_players
        kind = range(seats) if who < seats else range(seats, self.num_walkers)
        placed = [one for one in kind if one not in unseen or one < who]
        apart = [
            (row, column)
            for row, column in free
            if all(abs(state.row[p] - row) + abs(state.column[p] - column) > 1 for p in placed)
        ]
        return apart or free

    def _hidden(self, state: PursuitState, seat: int) -> list[int]:
        """Those on the map that a player does not see, evaders numbered after the pursuers."""
        row, column = state.row[seat], state.column[seat]
        far = np.maximum(abs(state.row - row), abs(state.column - column)) > self.sight
        far[self.num_players :] &= state.caught_by == 0
        return far.nonzero()[0].tolist()

    # Words

    def rules_for(self, seat: int) -> str:
        catching = "pursuers stand on all cells beside it that are on the map and no wall"
        if not self.surround:
            catching = f"at least {self.n_catch} pursuers stand on its own cell"
        lines = [
            super().rules_for(seat),
            f"An evader is caught when {catching}.",
            f"There are {self.num_players} pursuers, and {self.num_evaders} evaders at the start. "
            f"Each evader beside you pays {self.tag_reward:g}, helping to catch pays "
            f"{self.catch_reward:g} in a step, and every step pays {self.urgency_reward:g}.",
        ]
        if self.shared_reward:
            lines.append("What pursuers are paid is added up and shared equally among all.")
        if self.freeze_evaders:
            lines.append("In this game evaders do not walk.")
        lines.append(
            f"You see {self.sight} cells in every direction, diagonally too. Time is up after "
            f"{self.max_steps} steps."
        )
        lines.append(self._map_text())
        return "\n".join(lines)

    def _map_text(self) -> str:
        """What players know of the map before they start."""
        if self.random:
            return (
                f"The map has {self.rows} rows and {self.columns} columns and is another in every "
                f"episode: a wall stands on each cell with a chance of {self.density:g}, and what "
                "walls cut off from the largest part of the floor is filled up. You see only the "
                "part of it around you."
            )
        drawing = self.layout.text().replace(" ", ".")
        return f"The map, north on top; @ is a wall:\n{drawing}"

    def describe(self, state: PursuitState, seat: int) -> str:
        """The observation in words, and how much time has passed."""
        planes = self.seen(state, seat)
        oneself = np.zeros(planes.shape[1:], np.int8)
        oneself[self.sight, self.sight] = 1
        glyphs = {"@": planes[WALLS], "P": planes[PURSUERS], "E": planes[EVADERS], "^": oneself}
        return "\n".join(
            [
                f"You are {self.players[seat]}. Steps played: {int(state.turn)} of "
                f"{self.max_steps}.",
                "What you see, north on top; ^ is you, P pursuers, E evaders, @ walls:",
                *draw_window(glyphs),
                *(f"- {thing}" for thing in self._crowd_texts(planes)),
            ]
        )

    def _crowd_texts(self, planes: NDArray[Any]) -> list[str]:
        """Everybody in an observation but oneself: 'two evaders one cell north of you'."""
        others = planes.copy()
        others[PURSUERS, self.sight, self.sight] -= 1
        return [
            f"{quantity(number, thing)} {where(-north, east)}"
            for plane, thing in ((PURSUERS, "other pursuer"), (EVADERS, "evader"))
            for north, east, number in cells_of(others[plane])
        ]

    def action_text(self, state: PursuitState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def narrate(
        self, before: PursuitState | None, actions: Mapping[int, int], after: PursuitState
    ) -> list[Event]:
        """Tell everybody of catches, and each player of their move and what it paid.

        A step in which a player's view changes, or they are paid more than usual, is a "reveal".
        """
        if before is None:
            return [
                Event("start", self._start_text(after, seat), {"player": seat}, only(seat))
                for seat in range(self.num_players)
            ]
        moves = [self._move_event(before, s, a, after) for s, a in sorted(actions.items())]
        return moves + self._catch_events(before, after)

    def _move_event(
        self, before: PursuitState, seat: int, action: int, after: PursuitState
    ) -> Event:
        text = "You stay." if action == STAY else f"You move {ACTIONS[action]}."
        paid = float(after.earned[seat] - before.earned[seat])
        routine = abs(paid - self.urgency_reward) < 1e-9
        if not routine:
            text += f" You are paid {paid:.4g}."
        same = np.array_equal(self.seen(before, seat), self.seen(after, seat))
        data = {"player": seat, "action": int(action)}
        return Event("move" if same and routine else "reveal", text, data, only(seat))

    def _catch_events(self, before: PursuitState, after: PursuitState) -> list[Event]:
        events = []
        for evader in self.evaders(before):
            hunters = int(after.caught_by[evader])
            if hunters:
                seats = [seat for seat in range(self.num_players) if hunters >> seat & 1]
                names = " and ".join(self.players[seat] for seat in seats)
                text = f"Caught by {names}: an evader."
                events.append(Event("reveal", text, {"evader": evader, "players": seats}))
        return events

    def _start_text(self, state: PursuitState, seat: int) -> str:
        row, column = int(state.row[seat]) + 1, int(state.column[seat]) + 1
        return f"You start in row {row}, column {column} of the map."

    # Pictures

    def scene(self, state: PursuitState, seat: int | None = None) -> Scene:
        """The map; for a player without what they do not see, and that part shaded."""
        hidden: list[int] = []
        shaded: list[tuple[int, int]] = []
        walls = self.walls(state)
        if seat is not None:
            away = unseen_mask(self, state, seat)
            hidden, shaded = self._hidden(state, seat), cells_in(away)
            if self.random:
                walls &= ~away
        cells: list[list[Piece | None]] = [
            [
                Piece("@", shape="square", label="wall", sprite="wall") if wall else None
                for wall in line
            ]
            for line in walls.tolist()
        ]
        shown = [self.num_players + evader for evader in self.evaders(state)]
        for who in [*shown, *reversed(range(self.num_players))]:
            if who not in hidden:
                row, column = int(state.row[who]), int(state.column[who])
                cells[row][column] = on_top(cells[row][column], self._piece(who))
        grid = Grid(tuple(map(tuple, cells)), style="floor", shaded=frozenset(shaded))
        caption = f"Step {int(state.turn)} of {self.max_steps}, {len(self.evaders(state))} evaders"
        return Scene(caption, grid=grid)

    def _piece(self, who: int) -> Piece:
        if who >= self.num_players:
            return Piece("E", "brown", label="evader", sprite="prey")
        return Piece(str(who), who, "disc", self.players[who], "person")
