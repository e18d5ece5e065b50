"""XLand on a grid: worlds, objects and goals are drawn, and a goal is a formula of what is where.

Players walk (moves that collide are cancelled, see `palestra.grids.moving`), pick objects up
and put them down. A goal is an "or" of up to `max_options` "and"s of up to `max_terms` relations or
their denials:

    near(a, b)       players or objects on one cell or on cells side by side
    hold(p, o)       a player holds an object
    see(p, a)        a is at most `sight` cells from a player each way, with no wall between
    on(a, floor)     the floor under a player or an object has a colour

Each step in which his goal is true pays a player 1. Players have goals of their own, drawn so that
they do not hold at the start; or with relation="shared" all the same one, which pays all alike; or
with "rival" every second player the opposite of it, so that exactly one of two is paid. Worlds have
pillars (with probability `density` on every second cell of every second row, so that all floor is
connected) and floor of three colours in squares of three by three cells.

Three games are written as formulas and never drawn, to be held out: `tag` (the first player is near
somebody; the others are not near him), `hide-and-seek` (the first half see a hider; hiders are seen
by no seeker) and `capture-the-flag` (two teams by turns; the others' flag is on the own side and
the own flag is not on theirs).

From Open Ended Learning Team et al., "Open-Ended Learning Leads to Generally Capable Agents", 2021,
whose worlds are 3D: relations, goals and the axis from shared to rival goals are theirs, the grid
is not. Checked against truth tables by hand and closed forms of the fewest steps to a goal.

The array view is an int16 vector: the player's own row and column, one more than the object he
holds, whether his goal holds, whether it is the opposite of what is written, the goal (for each
option and term relation, thing, thing or floor, and whether it is denied), and four planes over the
window around him, north on top: walls and what lies beyond the map (1), one more than the colour of
the floor, one more than the seat of a player, and objects, a bit each. Players and objects behind
walls are not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import InvalidOption, Piece, Rng, Scene, check_choice, check_ranges, environment
from palestra.grids.moving import (
    EAST,
    MOVES,
    NORTH,
    NOWHERE,
    STAY,
    holder,
    neighbour,
    random_place,
    resolve,
)
from palestra.grids.windows import on_map
from palestra.kernel.game import Seat
from palestra.rules import all_act, truncate

from palestra_envs.grid.walkers import WALL, Walkers, windowed
from palestra_envs.grid.xland.rules import (
    FREE,
    HOLD,
    INDEPENDENT,
    NEAR,
    NONE,
    ON,
    OPTIONS,
    PARTS,
    RIVAL,
    SEE,
    TERMS,
    TRIES,
    cell_of,
    draw_goal,
    goal_holds,
    handle,
    held,
    in_view,
    lay_world,
    relates,
)

GRAB, DROP = len(MOVES), len(MOVES) + 1
ACTIONS = (*MOVES, "grab", "drop")
RELATIONS = ("independent", "shared", "rival")
GAMES = ("drawn", "tag", "hide-and-seek", "capture-the-flag")
OBJECTS = ("red ball", "green ball", "blue ball", "red cube", "green cube", "blue cube")
COLOURS = ("white", "grey", "brown")
FLOOR = tuple(Piece(name[0], shape="mark", label=f"{name} floor") for name in COLOURS)
OBJECT = 3  # the colour of objects in pictures
WORDS = ("", "near", "hold", "see", "on")
OWN_ROW, OWN_COLUMN, HELD, MET, OPPOSITE, GOAL = range(6)  # of a view
WINDOW = GOAL + OPTIONS * TERMS * PARTS
MAX_SEATS, MAX_SIDE = 4, 30
Term = tuple[int, int, int, int]


@environment(
    "grid/XLand-v0",
    family="grid",
    tags=("cooperation", "competition", "partial-view", "generated-goals"),
    paper=(
        "Open Ended Learning Team et al. (2021), Open-Ended Learning Leads to Generally "
        "Capable Agents"
    ),
    splits={
        "shared": {"relation": "shared"},
        "rival": {"relation": "rival"},
        "held-out-tag": {"game": "tag", "num_players": 3},
        "held-out-hide-and-seek": {"game": "hide-and-seek", "num_players": 4},
        "held-out-capture-the-flag": {"game": "capture-the-flag", "num_players": 4},
    },
    players=(1, 4),
)
@dataclass(frozen=True)
class XLand(Walkers):
    """You walk on a grid among other players and objects, and have a goal: a state of things.

    All players choose one action at the same time: "north", "south", "west" or "east" to move one
    cell, "grab" to pick up an object that lies on your cell (you can hold one), "drop" to put it
    down, or "stay". Walls cannot be entered. If several players head for one cell, none of them
    moves. A cell whose player stays there cannot be entered, nor can two players swap. Every step
    in which your goal is true pays you 1.
    Relations: near(a, b): on one cell or side by side. hold(p, o): the player holds the object.
    see(p, a): the player sees it, at most so many cells away and with no wall in between.
    on(a, c): the floor under it has that colour. What is held is where its holder is.
    """

    rows: int = 8
    columns: int = 8
    num_players: int = 2
    sight: int = 2
    max_steps: int = 64
    game: str = "drawn"
    relation: str = "independent"
    num_objects: int = 4
    max_options: int = 2
    max_terms: int = 2
    density: float = 0.5

    num_actions = len(ACTIONS)
    reward_terms = ("goal",)

    def __post_init__(self) -> None:
        check_choice("game", self.game, GAMES)
        check_choice("relation", self.relation, RELATIONS)
        check_ranges(
            self,
            (
                ("rows", 3, MAX_SIDE),
                ("columns", 3, MAX_SIDE),
                ("num_players", 1 if self.game == "drawn" else 2, MAX_SEATS),
                ("num_objects", 2 if self.homes else 1, len(OBJECTS)),
                ("sight", 1, MAX_SIDE),
                ("max_options", 1, OPTIONS),
                ("max_terms", 1, TERMS),
                ("density", 0, 1),
                ("max_steps", 1, None),
            ),
        )

    # What follows from the options

    @property
    def homes(self) -> bool:
        """Whether the floor is in three stripes, a team's side at each end."""
        return self.game == "capture-the-flag"

    @property
    def seats(self) -> tuple[Seat, ...]:
        if self.game == "drawn":
            return super().seats
        names = {
            "tag": ("chaser", "runner"),
            "hide-and-seek": ("seeker", "hider"),
            "capture-the-flag": ("white", "grey"),
        }[self.game]
        teams = [self.team(seat) for seat in range(self.num_players)]
        return tuple(Seat(f"player_{p}", names[team], team) for p, team in enumerate(teams))

    def team(self, seat: int) -> int:
        """The side of a player in a held-out game, 0 or 1."""
        if self.game == "capture-the-flag":
            return seat % 2
        first = 1 if self.game == "tag" else self.num_players // 2
        return int(seat >= first)

    def formula(self, seat: int) -> list[list[Term]]:
        """A player's goal in a held-out game."""
        rivals = [p for p in range(self.num_players) if self.team(p) != self.team(seat)]
        team = self.team(seat)
        if self.game == "capture-the-flag":
            own, other = self.num_players + team, self.num_players + 1 - team
            return [[(ON, other, team, 0), (ON, own, 1 - team, 1)]]
        kind = NEAR if self.game == "tag" else SEE
        if team == 0:
            return [[(kind, seat, rival, 0)] for rival in rivals]
        return [[(kind, rival, seat, 1) for rival in rivals]]

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.max_steps))

    @property
    def side(self) -> int:
        return 2 * self.sight + 1

    @property
    def observation_shape(self) -> tuple[int]:
        return (WINDOW + 4 * self.side**2,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(max(1 << len(OBJECTS), MAX_SIDE)))

    def constants(self) -> Mapping[str, Any]:
        """`formulas`: the goals of a held-out game, all parts in one row; empty if drawn."""
        formulas: tuple[int, ...] = ()
        if self.game != "drawn":
            goals = np.zeros((self.num_players, OPTIONS, TERMS, PARTS), np.int64)
            for seat in range(self.num_players):
                self._write(goals[seat], self.formula(seat))
            formulas = tuple(goals.ravel().tolist())
        return {
            **super().constants(),
            "ties": RELATIONS.index(self.relation),
            "homes": self.homes,
            "drawn": self.game == "drawn",
            "formulas": formulas or (0,),
        }

    @staticmethod
    def _write(goal: Any, options: Sequence[Sequence[Term]]) -> None:
        goal[:] = 0
        for option, terms in enumerate(options):
            for number, term in enumerate(terms):
                goal[option, number] = term

    def fields(self) -> list[tuple[Any, ...]]:
        """Players; objects, where they lie or who holds them; the world; goals."""
        seats, cells = self.num_players, self.rows * self.columns
        return [
            ("cell", np.int32, seats),
            ("target", np.int32, seats),
            ("blocked", np.uint8, seats),
            ("earned", np.float64, seats),
            ("lies", np.int32, self.num_objects),
            ("held_by", np.int32, self.num_objects),
            ("walls", np.uint8, cells),
            ("floor", np.uint8, cells),
            ("goals", np.int8, (seats, OPTIONS, TERMS, PARTS)),
            ("opposite", np.uint8, seats),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        lay_world(config, state)
        for seat in range(config.num_players):
            state.cell[seat] = NOWHERE
        for seat in range(config.num_players):
            state.cell[seat] = random_place(config, state)
            state.target[seat] = state.cell[seat]
        for seat in range(config.num_players):
            if config.drawn and (seat == 0 or config.ties == INDEPENDENT):
                draw_goal(config, state, seat)
            else:
                for part in range(OPTIONS * TERMS * PARTS):
                    option, term = part // (TERMS * PARTS), part // PARTS % TERMS
                    value = state.goals[0, option, term, part % PARTS]
                    if not config.drawn:
                        value = config.formulas[seat * OPTIONS * TERMS * PARTS + part]
                    state.goals[seat, option, term, part % PARTS] = value
            if config.drawn and config.ties == RIVAL:
                state.opposite[seat] = seat % 2
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            state.target[seat] = state.cell[seat]
            if NORTH <= actions[seat] <= EAST:
                there = neighbour(config, state.cell[seat], actions[seat])
                if there != NOWHERE and state.walls[there] == 0:
                    state.target[seat] = there
        resolve(config, state, True)
        for seat in range(config.num_players):
            if actions[seat] >= GRAB:
                handle(config, state, seat, actions[seat] == GRAB)
        for seat in range(config.num_players):
            if goal_holds(config, state, seat):
                out.rewards[seat, 0] = 1.0
                state.earned[seat] += 1.0
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            there = neighbour(config, state.cell[seat], action)
            mask[action] = there != NOWHERE and state.walls[there] == 0
        if held(config, state, seat) >= 0:
            mask[DROP] = 1
            return
        for item in range(config.num_objects):
            if state.held_by[item] == FREE and state.lies[item] == state.cell[seat]:
                mask[GRAB] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        columns, sight, walls, floor = config.columns, config.sight, state.walls, state.floor
        side = 2 * sight + 1
        row, column = state.cell[seat] // columns, state.cell[seat] % columns
        view[OWN_ROW], view[OWN_COLUMN] = row, column
        view[HELD] = held(config, state, seat) + 1
        view[MET] = goal_holds(config, state, seat)
        view[OPPOSITE] = state.opposite[seat]
        for part in range(OPTIONS * TERMS * PARTS):
            option, term = part // (TERMS * PARTS), part // PARTS % TERMS
            view[GOAL + part] = state.goals[seat, option, term, part % PARTS]
        for i in range(side):
            for j in range(side):
                r, c, at = row - sight + i, column - sight + j, WINDOW + i * side + j
                if not on_map(config, r, c) or walls[r * columns + c] == 1:
                    view[at] = 1
                else:
                    view[at + side * side] = floor[r * columns + c] + 1
        for thing in range(config.num_players + config.num_objects):
            cell = cell_of(config, state, thing)
            if in_view(config, state, seat, cell):
                i, j = cell // columns - row + sight, cell % columns - column + sight
                if thing < config.num_players:
                    view[WINDOW + (2 * side + i) * side + j] = thing + 1
                else:
                    bit = 1 << (thing - config.num_players)
                    view[WINDOW + (3 * side + i) * side + j] += bit

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """Work on the first term of the first option that is not met: go, fetch, carry, or leave.

        Any move where it does not see what the term is about.
        """
        first_object, item = config.num_players, held(config, state, seat)
        for term in range(TERMS):
            kind, one = state.goals[seat, 0, term, 0], state.goals[seat, 0, term, 1]
            other, denied = state.goals[seat, 0, term, 2], state.goals[seat, 0, term, 3]
            if kind == NONE:
                continue
            if not knows(config, state, seat, kind, one, other):
                return -1
            if relates(config, state, kind, one, other) != (denied == 1):
                continue
            if kind == HOLD and one == seat:
                if denied:
                    return DROP
                one = other
            elif kind != ON and other == seat:
                one, other = seat, one
            if one >= first_object and not denied:
                if item != one - first_object:
                    cell = cell_of(config, state, one)
                    if item < 0 and cell == state.cell[seat]:
                        return GRAB
                    return DROP if item >= 0 else step_by(config, state, seat, cell, 1)
            elif one != seat:
                return -1
            if kind == ON:
                return to_floor(config, state, seat, other)
            cell = cell_of(config, state, other)
            return step_by(config, state, seat, cell, -1 if denied else 1)
        return STAY

    # States

    def arrange(
        self,
        players: Sequence[tuple[int, int]],
        objects: Sequence[tuple[int, int]],
        goals: Sequence[Sequence[Sequence[Term]]] = (),
        *,
        floor: Sequence[str] = (),
        walls: Sequence[tuple[int, int]] = (),
    ) -> Any:
        """A state with everything where you say: (row, column), from 0.

        goals: by player, options of terms (relation, thing, thing or floor, denied). floor: rows of
        digits. Raises `InvalidOption` where the numbers of players or objects are not the game's.
        """
        if len(players) != self.num_players or len(objects) != self.num_objects:
            raise InvalidOption(
                f"got {len(players)} players and {len(objects)} objects; this game has "
                f"{self.num_players} and {self.num_objects}"
            )
        state = self.clone(self.initial_state(0))
        state.walls[:], state.opposite[:] = 0, 0
        for seat, place in enumerate(players):
            state.cell[seat] = state.target[seat] = self.at(*place)
        for item, place in enumerate(objects):
            state.lies[item], state.held_by[item] = self.at(*place), FREE
        for seat, options in enumerate(goals):
            self._write(state.goals[seat], options)
        for place in walls:
            state.walls[self.at(*place)] = 1
        if floor:
            state.floor[:] = [int(kind) for line in floor for kind in line]
        return state

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Put what the player does not see elsewhere out of sight; give others other goals.

        Fits also whether his own goal holds now. The walls and the floor stay.
        """
        met = goal_holds(self.config, state, seat)
        for _ in range(TRIES):
            imagined = self._imagine(state, seat, rng)
            if goal_holds(self.config, imagined, seat) == met:
                return imagined
        return self.clone(state)

    def _imagine(self, state: Any, seat: int, rng: Rng) -> Any:
        config, imagined = self.config, self.clone(state)
        floor = np.flatnonzero(state.walls == 0).tolist()
        hidden = [cell for cell in floor if not in_view(config, state, seat, cell)]
        free = list(hidden)
        unseen = [
            thing
            for thing in range(self.num_players + self.num_objects)
            if not in_view(config, state, seat, cell_of(config, state, thing))
        ]
        for thing in unseen:
            item = thing - self.num_players
            if item < 0:
                cell = free.pop(rng.below(len(free)))
                imagined.cell[thing] = imagined.target[thing] = cell
            elif state.held_by[item] == FREE:
                imagined.lies[item] = rng.choice(hidden)
        if self.game == "drawn" and self.relation == "independent":
            kept = imagined.rng.copy()
            self.reseed(imagined, rng.word())
            for other in range(self.num_players):
                if other != seat:
                    draw_goal(config, imagined, other)
            imagined.rng[:] = kept
        return imagined

    # Words

    def thing(self, number: int) -> str:
        if number < self.num_players:
            return self.players[number]
        return OBJECTS[number - self.num_players]

    def goal_text(self, state: Any, seat: int) -> str:
        """'near(player_0, red ball) and not see(player_1, player_0), or on(blue cube, grey)'."""
        options = []
        for terms in state.goals[seat].tolist():
            written = [
                f"{'not ' * denied}{WORDS[kind]}({self.thing(one)}, "
                f"{COLOURS[other] if kind == ON else self.thing(other)})"
                for kind, one, other, denied in terms
                if kind != NONE
            ]
            if written:
                options.append(" and ".join(written))
        text = ", or ".join(options)
        return f"the opposite of: {text}" if state.opposite[seat] else text

    def rules_for(self, seat: int) -> str:
        ties = {
            "independent": "Players have goals of their own, which they do not tell.",
            "shared": "All players have the same goal.",
            "rival": "Every second player has the opposite of your goal; the others have yours.",
        }[self.relation]
        if self.game != "drawn":
            ties = f"The game is {self.game}; you are {self.seats[seat].role}."
        objects = ", ".join(OBJECTS[: self.num_objects])
        return "\n".join(
            [
                super().rules_for(seat),
                ties,
                f"There are {self.rows} rows, row 1 the northernmost, and {self.columns} columns, "
                f"column 1 the westernmost. There are {self.num_players} players and {objects}. "
                f"Floor is {', '.join(COLOURS)}. {self.sight_text()} "
                f"Time is up after {self.max_steps} steps.",
            ]
        )

    def describe(self, state: Any, player: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        view = self.observe(state, player)
        walls, floor, players, objects = view[WINDOW:].reshape(4, self.side, self.side)
        lines = [self.header(state, player), f"Your goal: {self.goal_text(state, player)}."]
        lines.append(f"It is {'true' if view[MET] else 'not true'} now.")
        if view[HELD]:
            lines.append(f"You hold the {OBJECTS[view[HELD] - 1]}.")
        kinds = dict(enumerate(" wgb#")) | {5 + seat: str(seat) for seat in range(MAX_SEATS)}
        marks = np.where(players > 0, 4 + players, floor + 4 * walls)
        lines.append("What you see, north on top; # is a wall, a digit the player of that number,")
        lines.append("w, g and b white, grey and brown floor:")
        lines += windowed(marks, kinds)
        row, column = self.place(state.cell[player])
        under = []
        for (i, j), value in np.ndenumerate(objects):
            where = f"row {row + i - self.sight + 1}, column {column + j - self.sight + 1}"
            if players[i, j]:
                name = self.players[players[i, j] - 1]
                under.append(f"- {name} in {where}, on {COLOURS[floor[i, j] - 1]} floor")
            names = [name for bit, name in enumerate(OBJECTS) if int(value) >> bit & 1]
            under += [f"- {name} in {where}" for name in names]
        return "\n".join([*lines, *under])

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    # Pictures

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        """The world; for a player what he sees of it. Objects are letters, players discs."""
        pieces = {
            cell: WALL if state.walls[cell] else FLOOR[kind]
            for cell, kind in enumerate(state.floor.tolist())
        }
        seen = None
        if seat is not None:
            seen = np.array(
                [in_view(self.config, state, seat, cell) for cell in range(len(pieces))]
            )
            window = self.visible(state, seat)
            pieces = {cell: piece for cell, piece in pieces.items() if window[cell]}
        things = range(self.num_players + self.num_objects)
        for thing in reversed(things):
            cell = int(cell_of(self.config, state, thing))
            if seen is not None and not seen[cell]:
                continue
            if thing < self.num_players:
                pieces[cell] = self.disc(thing)
            else:
                name = OBJECTS[thing - self.num_players]
                initials = "".join(word[0] for word in name.split())
                pieces[cell] = Piece(initials, OBJECT, label=name)
        seats = range(self.num_players) if seat is None else (seat,)
        lines = [f"{self.players[p]}: {self.goal_text(state, p)}" for p in seats]
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=self.grid(pieces, seen), lines=tuple(lines))


def knows(config: Any, state: Any, seat: int, kind: int, one: int, other: int) -> bool:
    """Whether a player sees the things that a term is about."""
    seen = in_view(config, state, seat, cell_of(config, state, one))
    if kind != ON:
        seen = seen and in_view(config, state, seat, cell_of(config, state, other))
    return seen


def step_by(config: Any, state: Any, seat: int, cell: int, sign: int) -> int:
    """A step towards a cell (sign 1) or away from it (-1); -1 where none is free."""
    own, columns = state.cell[seat], config.columns
    now, best = abs(cell // columns - own // columns) + abs(cell % columns - own % columns), -1
    for way in range(NORTH, EAST + 1):
        there = neighbour(config, own, way)
        if there != NOWHERE and state.walls[there] == 0 and holder(config, state, there) < 0:
            far = abs(cell // columns - there // columns) + abs(cell % columns - there % columns)
            if far * sign < now * sign:
                now, best = far, way
    return best


def to_floor(config: Any, state: Any, seat: int, colour: int) -> int:
    """A step towards the nearest floor of a colour in sight; -1 if there is none."""
    columns, own, best, near = config.columns, state.cell[seat], -1, 1 << 20
    for cell in range(config.rows * columns):
        if state.floor[cell] == colour and state.walls[cell] == 0:
            far = abs(cell // columns - own // columns) + abs(cell % columns - own % columns)
            if far < near and in_view(config, state, seat, cell):
                best, near = cell, far
    return -1 if best < 0 else step_by(config, state, seat, best, 1)
