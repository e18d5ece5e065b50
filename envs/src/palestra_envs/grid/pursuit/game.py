"""Pursuit: players surround evaders who walk at random, each seeing only what is near.

A step goes: all pursuers move at once (several may share a cell); each is paid for every evader
beside him; evaders that are caught leave; those who caught are paid; the evaders that are left walk
at random; everybody pays for the time. With `surround` an evader is caught when pursuers stand on
every cell north, south, west and east of it that is on the map and no wall, otherwise when
`n_catch` pursuers stand on its own cell. A pursuer who catches two evaders at once is paid for one.
With `shared_reward` everybody is paid the mean. It ends when all evaders are caught, or is
truncated after `max_steps`.

Rules and numbers are those of PettingZoo's `sisl/pursuit`, whose origin is Gupta, Egorov and
Kochenderfer, "Cooperative multi-agent control using deep reinforcement learning", AAMAS 2017
workshops. Pursuers start on random cells and not beside one another, and so do evaders; after 1,000
tries one starts on any cell. Three things differ:

* There the pursuers move one after another and touching is paid, divided by their number, after
  each move; here it is paid once, when all have moved.
* There a pursuer at the edge who shares a cell with an evader is paid as if it were beside him.
* Moves into walls are not legal here; there they do nothing.

Two kinds of `map`. One that is `fixed` is your own `level` or, without one, that of the public
implementation: the middle is a wall, from three tenths of the columns to seven and from two tenths
of the rows to eight. It is printed in the rules. A `random` one, of `rows` by `columns` cells, is
drawn from the seed for every episode: each cell is an obstacle with probability `density`, and what
obstacles cut off from the largest region is filled up, so that every evader can be reached. Of it
players know its size, that chance, where they start on it, and the part in sight.

Checked against that implementation, where installed: views, catches and payments from the same
positions; and against positions worked out by hand. Random maps: one region, by scipy's labels.

The array view has three int8 planes over the window around the player, north on top: walls and what
lies beyond the map (1), the number of pursuers on the cell, himself among them, and of evaders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    Event,
    Grid,
    InvalidOption,
    Outcome,
    Piece,
    Rng,
    Scene,
    check_choice,
    check_ranges,
    environment,
    only,
)
from palestra.grids.levels import MAX_SIDE, Level, read_level
from palestra.grids.moving import EASTWARD, SOUTHWARD, STAY, measure, scatter
from palestra.grids.windows import MAX_SIGHT, cells_in, cells_of, drawn, unseen
from palestra.grids.words import counted, where
from palestra.kernel.game import Result
from palestra.kernel.specs import Payoffs
from palestra.rules import all_act, finish, randint, truncate

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

MAPS = ("fixed", "random")
ACTIONS = ("stay", "north", "south", "west", "east")
KINDS = {"@": "a wall", ".": "floor", " ": "floor"}
WALLS, PURSUERS, EVADERS = range(3)  # planes
MAX_SEATS, MAX_EVADERS = 30, 100
LEAST_FLOOR = 2  # cells without a wall


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
    players=(1, 30),
    payoffs="common",
)
@dataclass(frozen=True)
class Pursuit(ArrayGame):
    """You and the other players are pursuers on a map and hunt evaders together.

    All pursuers choose one action at the same time:
    - "north", "south", "west", "east": move one cell. Walls and the edge of the map cannot be
      crossed. Pursuers and evaders do not block one another; several may stand on one cell.
    - "stay": do nothing.
    When all have moved, every pursuer is paid for each evader beside him (one cell north, south,
    west or east of him). Then evaders are caught and leave the map, and whoever helped to catch one
    is paid. The others walk: each stays or takes a random step. The episode ends when no evader is
    left or time is up.
    """

    rows: int = 16
    columns: int = 16
    level: str = ""
    map: str = "fixed"
    density: float = 0.2
    num_players: int = 8
    num_evaders: int = 30
    sight: int = 3
    surround: bool = True
    n_catch: int = 2
    freeze_evaders: bool = False
    tag_reward: float = 0.01
    catch_reward: float = 5.0
    urgency_reward: float = -0.1
    shared_reward: bool = True
    max_steps: int = 500

    order = "simultaneous"
    num_actions = len(ACTIONS)
    reward_terms = ("tags", "catches", "urgency")
    observation_dtype = np.int8

    def __post_init__(self) -> None:
        check_choice("map", self.map, MAPS)
        check_ranges(
            self,
            (
                ("rows", 1, MAX_SIDE),
                ("columns", 1, MAX_SIDE),
                ("density", 0, 0.9),
                ("num_players", 1, MAX_SEATS),
                ("num_evaders", 1, MAX_EVADERS),
                ("sight", 1, MAX_SIGHT),
                ("n_catch", 1, MAX_SEATS if self.surround else self.num_players),
                ("max_steps", 1, None),
            ),
        )
        if self.random and self.level:
            raise InvalidOption("level is a fixed map: give it without map='random'")
        if self.layout.count(". ") < LEAST_FLOOR:
            raise InvalidOption("the map must have two cells without a wall; make it larger")

    # What follows from the options

    @property
    def random(self) -> bool:
        """Whether every episode has obstacles of its own, which its state holds."""
        return self.map == "random"

    @cached_property
    def layout(self) -> Level:
        """The map, without obstacles where they are random."""
        return read_level(self.level or self._build(), KINDS)

    def _build(self) -> str:
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
        return self.sight >= max(self.layout.rows, self.layout.columns) - 1

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

    def constants(self) -> Mapping[str, Any]:
        level = self.layout
        size = {"rows": level.rows, "columns": level.columns, "random": self.random}
        return {**super().constants(), **size, "walls": level.masks("@")}

    def fields(self) -> list[tuple[Any, ...]]:
        """Places of pursuers, then of evaders; who caught which evader, a bit a seat.

        `crowd` counts pursuers and evaders by cell. The last three are for random maps, see
        `palestra.grids.moving`.
        """
        seats, evaders = self.num_players, self.num_evaders
        cells = self.rows * self.columns if self.random else 1
        return [
            ("row", np.int32, seats + evaders),
            ("column", np.int32, seats + evaders),
            ("caught_by", np.int32, evaders),
            ("earned", np.float64, seats),
            ("crowd", np.int8, (2, self.layout.rows, self.layout.columns)),
            ("walls", np.uint8, cells),
            ("queue", np.int16, cells),
            ("far", np.int16, (1, cells)),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        if config.random:
            scatter(config, state, LEAST_FLOOR)
            state.far[:] = 0  # nobody asks for distances
        for who in range(config.num_players + config.num_evaders):
            spawn(config, state, who)
        recount(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            row = state.row[seat] + SOUTHWARD[action]
            column = state.column[seat] + EASTWARD[action]
            mask[action] = is_open(config, state, row, column)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the planes."""
        sight = config.sight
        top, left = int(state.row[seat]) - sight, int(state.column[seat]) - sight
        crowd = state.crowd
        for i in range(2 * sight + 1):
            for j in range(2 * sight + 1):
                row, column = top + i, left + j
                if is_open(config, state, row, column):
                    view[PURSUERS, i, j] = crowd[HUNTERS, row, column]
                    view[EVADERS, i, j] = crowd[PREY, row, column]
                else:
                    view[WALLS, i, j] = 1

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        if state["truncated"]:
            return replace(ended, reason=f"time was up after {self.max_steps} steps")
        score: Result = "score"
        return replace(ended, results=(score,) * self.num_players, reason="all evaders were caught")

    def scores(self, state: Any) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state["earned"].tolist())

    def noop(self, state: Any, seat: int) -> int:
        return STAY

    # States

    def arrange(
        self,
        pursuers: Sequence[tuple[int, int]],
        evaders: Sequence[tuple[int, int]],
        *,
        turn: int = 0,
    ) -> Any:
        """A state with everybody where you say: (row, column), from 0; other evaders are gone.

        Where maps are random its map is that of seed 0.
        """
        if len(pursuers) != self.num_players or len(evaders) > self.num_evaders:
            raise InvalidOption(
                f"got {len(pursuers)} pursuers and {len(evaders)} evaders; this game has "
                f"{self.num_players} and at most {self.num_evaders}"
            )
        state = self.clone(self.initial_state(0))
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

    def walls(self, state: Any) -> NDArray[np.bool_]:
        """Which cells are walls, by row and column."""
        if self.random:
            return (state.walls == 1).reshape(self.rows, self.columns)  # type: ignore[no-any-return]
        return np.array([[kind == "@" for kind in line] for line in self.layout.lines])

    def evaders(self, state: Any) -> list[int]:
        """The evaders that have not been caught."""
        return (state.caught_by == 0).nonzero()[0].tolist()  # type: ignore[no-any-return]

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Put every pursuer and evader out of sight on another cell out of sight.

        Fits what the player sees now and how many evaders are left, as if he remembered nothing
        else. Random obstacles out of sight are drawn anew.
        """
        imagined, hidden = self.clone(state), unseen(self, state, seat)
        others = self._hidden(state, seat)
        if self.random:
            self._redraw(imagined, seat, hidden, len(others) > 0, rng)
        free = [cell for cell in cells_in(hidden) if is_open(self.config, imagined, *cell)]
        for other in others:
            imagined.row[other], imagined.column[other] = rng.choice(free)
        recount(self.config, imagined)
        return imagined

    def _redraw(
        self, imagined: Any, seat: int, hidden: NDArray[np.bool_], inhabited: bool, rng: Rng
    ) -> None:
        """Draw obstacles out of sight so that all floor is one region, part of it there if needed.

        As on the map itself what they cut off is filled up, and there are a tenth fewer each time
        that they would cut off floor in sight.
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

    def _hidden(self, state: Any, seat: int) -> list[int]:
        """Those on the map whom a player does not see, evaders numbered after the pursuers."""
        row, column = state.row[seat], state.column[seat]
        far = np.maximum(abs(state.row - row), abs(state.column - column)) > self.sight
        far[self.num_players :] &= state.caught_by == 0
        return far.nonzero()[0].tolist()  # type: ignore[no-any-return]

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
        if self.random:
            lines.append(
                f"The map has {self.rows} rows and {self.columns} columns and is another in every "
                f"episode: a wall stands on each cell with a chance of {self.density:g}, and what "
                "walls cut off from the largest part of the floor is filled up. You see only the "
                "part of it around you."
            )
        else:
            lines.append("The map, north on top; @ is a wall:")
            lines.append(self.layout.text().replace(" ", "."))
        return "\n".join(lines)

    def describe(self, state: Any, seat: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        view = self.observe(state, seat)
        oneself = np.zeros(view.shape[1:], np.int8)
        oneself[self.sight, self.sight] = 1
        glyphs = {"@": view[WALLS], "P": view[PURSUERS], "E": view[EVADERS], "^": oneself}
        return "\n".join(
            [
                f"You are {self.players[seat]}. Steps played: {int(state.turn)} of "
                f"{self.max_steps}.",
                "What you see, north on top; ^ is you, P pursuers, E evaders, @ walls:",
                *drawn(glyphs),
                *(f"- {thing}" for thing in self._things(view)),
            ]
        )

    def _things(self, view: NDArray[Any]) -> list[str]:
        """Everybody in a view but oneself: 'two evaders one cell north of you'."""
        others = view.copy()
        others[PURSUERS, self.sight, self.sight] -= 1
        return [
            f"{counted(number, thing)} {where(-north, east)}"
            for plane, thing in ((PURSUERS, "other pursuer"), (EVADERS, "evader"))
            for north, east, number in cells_of(others[plane])
        ]

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        """Catches to all; to each player his move and, if anything was, what was paid.

        A step by which a player sees anything change, or is paid more than usual, is a "reveal".
        """
        if before is None:
            return [
                Event("start", self._standing(after, seat), {"player": seat}, only(seat))
                for seat in range(self.num_players)
            ]
        events = []
        for player, action in sorted(actions.items()):
            text = "You stay." if action == STAY else f"You move {ACTIONS[action]}."
            paid = float(after.earned[player] - before.earned[player])
            routine = abs(paid - self.urgency_reward) < 1e-9
            if not routine:
                text += f" You are paid {paid:.4g}."
            same = np.array_equal(self.observe(before, player), self.observe(after, player))
            data = {"player": player, "action": int(action)}
            events.append(Event("move" if same and routine else "reveal", text, data, only(player)))
        for evader in self.evaders(before):
            hunters = int(after.caught_by[evader])
            if hunters:
                seats = [seat for seat in range(self.num_players) if hunters >> seat & 1]
                names = " and ".join(self.players[seat] for seat in seats)
                text = f"Caught by {names}: an evader."
                events.append(Event("reveal", text, {"evader": evader, "players": seats}))
        return events

    def _standing(self, state: Any, seat: int) -> str:
        row, column = int(state.row[seat]) + 1, int(state.column[seat]) + 1
        return f"You start in row {row}, column {column} of the map."

    # Pictures

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        """The map; for a player without whom he does not see, and that part shaded.

        Nor does he see random obstacles there.
        """
        hidden: list[int] = []
        shaded: list[tuple[int, int]] = []
        walls = self.walls(state)
        if seat is not None:
            away = unseen(self, state, seat)
            hidden, shaded = self._hidden(state, seat), cells_in(away)
            if self.random:
                walls &= ~away
        cells: list[list[Piece | None]] = [
            [Piece("@", shape="square", label="wall") if wall else None for wall in line]
            for line in walls.tolist()
        ]
        shown = [self.num_players + evader for evader in self.evaders(state)]
        for who in [*shown, *reversed(range(self.num_players))]:
            if who not in hidden:
                cells[int(state.row[who])][int(state.column[who])] = self._piece(who)
        grid = Grid(tuple(map(tuple, cells)), shaded=frozenset(shaded))
        caption = f"Step {int(state.turn)} of {self.max_steps}, {len(self.evaders(state))} evaders"
        return Scene(caption, grid=grid)

    def _piece(self, who: int) -> Piece:
        if who >= self.num_players:
            return Piece("E", 3, label="evader")
        return Piece(str(who), who, "disc", self.players[who])
