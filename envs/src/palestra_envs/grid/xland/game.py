"""XLand on a grid: random worlds, objects and goals, which are formulas over relations.

Players walk (moves that collide are cancelled, see `palestra.grids.moving`), pick objects up
and put them down. A goal is a disjunction of up to `max_options` conjunctions of up to `max_terms`
relations or negated relations:

    near(a, b)       players or objects are on one cell or on cells side by side
    hold(p, o)       a player holds an object
    see(p, a)        a is at most `sight` cells from a player each way, with no wall between
    on(a, floor)     the floor under a player or an object has a colour

Each step in which a player's goal is true pays them 1. Players have goals of their own, drawn so
that they are not true at the start; or, with relation="shared", all the same goal, which pays all
alike; or, with "rival", every second player the opposite goal, so that exactly one of two is paid.
Worlds have pillars (with probability `density` on every second cell of every second row, so that
all floor is connected), rooms with doors, or a maze (`terrain`), and floor of three colours in
squares of three by three cells.

Three named games are written as formulas and never drawn, for use as held-out tests: `tag` (the
first player is near another; the others are not near the first), `hide-and-seek` (the first half
see a hider; hiders are seen by no seeker) and `capture-the-flag` (two teams by turns; the others'
flag is on the own side and the own flag is not on theirs).

From Open Ended Learning Team et al., "Open-Ended Learning Leads to Generally Capable Agents", 2021,
whose worlds are 3D: relations, goals and the axis from shared to rival goals are theirs, the grid
is not. Checked against truth tables by hand and closed forms of the fewest steps to a goal.

Left out: three dimensions, levels and ramps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from palestra import Channel, InvalidOption, Piece, Rng, Scene, Vocabulary, environment
from palestra.grids.compass import EAST, MOVES, NORTH, STAY
from palestra.grids.moving import NOWHERE, holder, neighbour, random_place, resolve
from palestra.grids.sight import sees
from palestra.grids.windows import cells_in, on_map
from palestra.rules import all_act, truncate
from palestra.scene import on_top

from palestra_envs.grid.walkers import WALL, plane_lines
from palestra_envs.grid.xland.beliefs import Pieces, lay_unseen, pieces_of
from palestra_envs.grid.xland.options import (
    HOLD,
    INDEPENDENT,
    MAX_SEATS,
    MAX_SIDE,
    NONE,
    OBJECTS,
    ON,
    OPTIONS,
    PARTS,
    RIVAL,
    TERMS,
    Term,
    XLandOptions,
    XLandState,
    write_goal,
)
from palestra_envs.grid.xland.rules import (
    FREE,
    cell_of,
    draw_goal,
    goal_holds,
    handle,
    held_item,
    in_view,
    lay_world,
    relates,
)

IMAGINED = 1000  # draws of what is out of sight that are tried until one fits
LYING = 3  # how much likelier an unseen object lies than that one unseen player holds it
SIGNS = " wgb#" + "".join(map(str, range(MAX_SEATS)))  # unseen, floors, a wall, players
GRAB, DROP = len(MOVES), len(MOVES) + 1
ACTIONS = (*MOVES, "grab", "drop")
COLOURS = ("white", "grey", "brown")
WORDS = ("", "near", "hold", "see", "on")
OWN_ROW, OWN_COLUMN, HELD, MET, OPPOSITE, GOAL = range(6)  # of an observation
WINDOW = GOAL + OPTIONS * TERMS * PARTS


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
        "held-out-rooms": {"terrain": "rooms", "density": 1.0},
        "held-out-maze": {"terrain": "maze", "density": 1.0},
        "held-out-tag": {"game": "tag", "num_players": 3},
        "held-out-hide-and-seek": {"game": "hide-and-seek", "num_players": 4},
        "held-out-capture-the-flag": {"game": "capture-the-flag", "num_players": 4},
    },
)
@dataclass(frozen=True)
class XLand(XLandOptions):
    """Players walk among objects; their goals are formulas over relations, drawn for each episode.

    Actions are 0 stay, 1 north, 2 south, 3 west, 4 east, 5 grab and 6 drop. Each step in which a
    player's goal is true pays them 1.

    An observation is an int16 vector: the player's own row and column, one more than the object
    they hold, whether their goal is true, whether it is the opposite of what is written, the goal
    (for each option and term relation, thing, thing or floor, and whether it is denied), and four
    planes over the window around the player, north on top: walls and what lies beyond the map (1),
    one more than the colour of the floor, one more than the seat of a player, and objects, a bit
    each. Players and objects behind walls are not seen.
    """

    vocabulary = Vocabulary(
        words=(
            "goal",
            "object",
            "ball",
            "cube",
            "pyramid",
            "hold",
            "near",
            "tag",
            "seeker",
            "hider",
            "hide-and-seek",
            "capture-the-flag",
        ),
    )
    rules_text = """
        You walk on a grid among other players and objects, and have a goal: a state of things.

        All players choose one action at the same time: "north", "south", "west" or "east" to move
        one cell, "grab" to pick up an object that lies on your cell (you can hold one), "drop" to
        put it down, or "stay". Walls cannot be entered. If several players head for one cell, none
        of them moves. A cell whose player stays there cannot be entered, nor can two players swap.
        Every step in which your goal is true pays you 1. Relations: near(a, b): on one cell or side
        by side. hold(p, o): the player holds the object. see(p, a): the player sees it, at most so
        many cells away and with no wall in between. on(a, c): the floor under it has that colour.
        What is held is where its holder is.
    """

    num_actions = len(ACTIONS)
    reward_terms = ("goal",)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.max_steps))

    @property
    def observation_shape(self) -> tuple[int]:
        return (WINDOW + 4 * self.side**2,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(max(1 << len(OBJECTS), MAX_SIDE)))

    # The rules

    @staticmethod
    def init_state(config: XLand, state: XLandState) -> None:
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
    def apply_actions(config: XLand, state: XLandState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: XLand, state: XLandState, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            there = neighbour(config, state.cell[seat], action)
            mask[action] = there != NOWHERE and state.walls[there] == 0
        if held_item(config, state, seat) >= 0:
            mask[DROP] = 1
            return
        for item in range(config.num_objects):
            if state.lies[item] == state.cell[seat] and state.held_by[item] == FREE:
                mask[GRAB] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        cells = self.side**2
        return (
            Channel("own", 2, "the player's row and column"),
            Channel("held", 1, "the object held plus 1, or 0"),
            Channel("met", 1, "1 if the player's goal is true"),
            Channel("opposite", 1, "1 if the goal is the opposite of what is written"),
            Channel(
                "goal",
                OPTIONS * TERMS * PARTS,
                "for each option and term: relation, thing, thing or floor, denied",
            ),
            Channel("walls", cells, "window: 1 for walls and beyond the map"),
            Channel("floor", cells, "window: colour of the floor plus 1"),
            Channel("players", cells, "window: seat of a player plus 1"),
            Channel("objects", cells, "window: the objects on the cell, a bit each"),
        )

    @staticmethod
    def write_observation(config: XLand, state: XLandState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        columns, sight, walls, floor = config.columns, config.sight, state.walls, state.floor
        side = 2 * sight + 1
        row, column = state.cell[seat] // columns, state.cell[seat] % columns
        obs[OWN_ROW], obs[OWN_COLUMN] = row, column
        obs[HELD] = held_item(config, state, seat) + 1
        obs[MET] = goal_holds(config, state, seat)
        obs[OPPOSITE] = state.opposite[seat]
        for part in range(OPTIONS * TERMS * PARTS):
            option, term = part // (TERMS * PARTS), part // PARTS % TERMS
            obs[GOAL + part] = state.goals[seat, option, term, part % PARTS]
        for i in range(side):
            for j in range(side):
                r, c, at = row - sight + i, column - sight + j, WINDOW + i * side + j
                if not on_map(config, r, c) or walls[r * columns + c] == 1:
                    obs[at] = 1
                else:
                    obs[at + side * side] = floor[r * columns + c] + 1
        for thing in range(config.num_players + config.num_objects):
            cell = cell_of(config, state, thing)
            if in_view(config, state, seat, cell):
                i, j = cell // columns - row + sight, cell % columns - column + sight
                if thing < config.num_players:
                    obs[WINDOW + (2 * side + i) * side + j] = thing + 1
                else:
                    bit = 1 << (thing - config.num_players)
                    obs[WINDOW + (3 * side + i) * side + j] += bit

    @staticmethod
    def scripted_action(config: XLand, state: XLandState, seat: int) -> int:
        """Work on the first false term of the first option: go, fetch, carry, or leave.

        Move at random if the player does not see what the term is about.
        """
        first_object, item = config.num_players, held_item(config, state, seat)
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
    ) -> XLandState:
        """A state with everything where you say: (row, column), from 0.

        goals: by player, options of terms (relation, thing, thing or floor, denied). floor: rows of
        digits. Raises `InvalidOption` if the numbers of players or objects are not the game's.
        """
        if len(players) != self.num_players or len(objects) != self.num_objects:
            raise InvalidOption(
                f"got {len(players)} players and {len(objects)} objects; this game has "
                f"{self.num_players} and {self.num_objects}"
            )
        state: XLandState = self.clone(self.initial_state(0))
        state.walls[:], state.opposite[:] = 0, 0
        for seat, place in enumerate(players):
            state.cell[seat] = state.target[seat] = self.at(*place)
        for item, place in enumerate(objects):
            state.lies[item], state.held_by[item] = self.at(*place), FREE
        for seat, options in enumerate(goals):
            write_goal(state.goals[seat], options)
        for place in walls:
            state.walls[self.at(*place)] = 1
        if floor:
            state.floor[:] = [int(kind) for line in floor for kind in line]
        return state

    def determinize(self, state: XLandState, seat: int, rng: Rng) -> XLandState:
        """Move unseen things to other unseen cells, and give the other players other goals.

        An object on the cell of another player may be held or not, which does not show. Whether
        the player's own goal is true now stays the same, if a draw does that. Walls and floor
        outside the window are laid anew, if there is room for everything on what is laid.
        """
        met, drawn = goal_holds(self.config, state, seat), None
        for _ in range(IMAGINED):
            imagined = self._imagine(state, seat, rng)
            drawn = drawn if imagined is None else imagined
            if imagined is not None and goal_holds(self.config, imagined, seat) == met:
                return imagined
        if drawn is None:
            drawn = self._imagine(state, seat, rng, same_ground=True)
        assert drawn is not None  # there is room on the ground as it is
        return drawn

    def _imagine(
        self, state: XLandState, seat: int, rng: Rng, *, same_ground: bool = False
    ) -> XLandState | None:
        """Redraw what is out of sight, whether or not the player's goal stays as it is.

        None where the floor that was laid has no room for it.
        """
        config = self.config
        imagined: XLandState = self.clone(state)
        if not same_ground:
            self._imagine_ground(imagined, seat, rng)
        unseen = [
            thing
            for thing in range(self.num_players + self.num_objects)
            if not in_view(config, state, seat, cell_of(config, state, thing))
        ]
        if not self._imagine_places(imagined, seat, unseen, rng):
            return None
        if state.turn > 0:  # at the beginning nobody holds anything
            self._imagine_hands(imagined, seat, unseen, rng)
        for other in range(self.num_players):
            if other != seat:
                imagined.blocked[other] = 0
                imagined.earned[other] = rng.below(int(state.turn) + 1)
        if self.drawn and self.ties == INDEPENDENT:
            kept = imagined.rng.copy()
            self.reseed(imagined, rng.word())
            for other in range(self.num_players):
                if other != seat:
                    draw_goal(config, imagined, other)
            imagined.rng[:] = kept
        return imagined

    def _imagine_places(
        self, imagined: XLandState, seat: int, unseen: Sequence[int], rng: Rng
    ) -> bool:
        """Put unseen things on unseen floor, flags on that of their side at the beginning.

        Returns whether there is such floor.
        """
        floor = np.flatnonzero(imagined.walls == 0).tolist()
        hidden = [cell for cell in floor if not in_view(self.config, imagined, seat, cell)]
        free, at_home = list(hidden), self.config.homes and imagined.turn == 0
        for thing in unseen:
            item = thing - self.num_players
            places = free if item < 0 else hidden
            if at_home and item >= 0:
                places = [cell for cell in hidden if imagined.floor[cell] == item % 2]
            if not places:
                return False
            cell = rng.choice(places)
            if item < 0:
                free.remove(cell)
                imagined.cell[thing] = imagined.target[thing] = cell
            else:
                imagined.lies[item], imagined.held_by[item] = cell, FREE
        return True

    def _imagine_hands(
        self, imagined: XLandState, seat: int, unseen: Sequence[int], rng: Rng
    ) -> None:
        """Let other players hold an object: any that is unseen as they are, or on their cell."""
        config, items = self.config, range(self.num_objects)
        holders = [FREE] * LYING + [thing for thing in unseen if thing < self.num_players]
        for item in (thing - self.num_players for thing in unseen if thing >= self.num_players):
            imagined.held_by[item] = rng.choice(holders)
            if imagined.held_by[item] != FREE:
                imagined.lies[item] = 0
                holders.remove(imagined.held_by[item])
        for other in sorted({*range(self.num_players)} - {seat, *unseen}):
            cell = imagined.cell[other]
            here = [
                item for item in items if cell_of(config, imagined, self.num_players + item) == cell
            ]
            for item in here:
                imagined.held_by[item], imagined.lies[item] = FREE, cell
            if (held := rng.choice([FREE] * LYING + here)) != FREE:
                imagined.held_by[held], imagined.lies[held] = other, 0

    def _imagine_ground(self, imagined: XLandState, seat: int, rng: Rng) -> None:
        """Lay walls and floor out of sight as at the beginning."""
        config, laid = self.config, self.clone(imagined)

        def lay() -> XLandState:
            self.reseed(laid, rng.word())
            laid.walls[:] = 0
            lay_world(config, laid)
            return laid

        cells = range(len(laid.walls))
        seen = np.array([sees(config, imagined, seat, cell) for cell in cells], np.bool_)
        lay_unseen(imagined, seen, self._pieces, lay)

    @cached_property
    def _pieces(self) -> Pieces:
        return pieces_of(self.config)

    # Words

    def thing(self, number: int) -> str:
        """The name of a player or an object."""
        if number < self.num_players:
            return self.players[number]
        return OBJECTS[number - self.num_players]

    def goal_text(self, state: XLandState, seat: int) -> str:
        """A goal, such as 'near(player_0, red ball) and not see(player_1, player_0)'."""
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
        if not self.drawn:
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

    def describe(self, state: XLandState, seat: int) -> str:
        """The observation in words, and the number of steps played."""
        obs = self.seen(state, seat)
        walls, floor, players, objects = obs[WINDOW:].reshape(4, self.side, self.side)
        lines = [self.header(state, seat), f"Your goal: {self.goal_text(state, seat)}."]
        lines.append(f"It is {'true' if obs[MET] else 'not true'} now.")
        if obs[HELD]:
            lines.append(f"You hold the {OBJECTS[obs[HELD] - 1]}.")
        marks = np.where(players > 0, 4 + players, floor + 4 * walls)
        lines.append("What you see, north on top; # is a wall, a digit the player of that number,")
        lines.append("w, g and b white, grey and brown floor:")
        lines += plane_lines(marks, SIGNS)
        row, column = self.place(state.cell[seat])
        under, planes = [], np.stack((players, objects, floor), axis=-1)
        taken = (players != 0) | (objects != 0)
        for (i, j), (player, held, kind) in zip(
            cells_in(taken), planes[taken].tolist(), strict=True
        ):
            where = f"row {row + i - self.sight + 1}, column {column + j - self.sight + 1}"
            if player:
                under.append(
                    f"- {self.players[player - 1]} in {where}, on {COLOURS[kind - 1]} floor"
                )
            if held:
                names = [name for bit, name in enumerate(OBJECTS) if held >> bit & 1]
                under += [f"- {name} in {where}" for name in names]
        return "\n".join([*lines, *under])

    def action_text(self, state: XLandState, seat: int, action: int) -> str:
        return ACTIONS[action]

    # Pictures

    def scene(self, state: XLandState, seat: int | None = None) -> Scene:
        """The world, or what a player sees of it. Objects are letters, players discs."""
        pieces = {cell: WALL for cell, wall in enumerate(state.walls.tolist()) if wall}
        ground = {cell: COLOURS[kind] for cell, kind in enumerate(state.floor.tolist())}
        seen = None
        if seat is not None:
            seen = np.array(
                [in_view(self.config, state, seat, cell) for cell in range(len(ground))]
            )
            window = self.visible(state, seat)
            pieces = {cell: piece for cell, piece in pieces.items() if window[cell]}
            ground = {cell: colour for cell, colour in ground.items() if window[cell]}
        things = range(self.num_players + self.num_objects)
        for thing in reversed(things):
            cell = int(cell_of(self.config, state, thing))
            if seen is not None and not seen[cell]:
                continue
            if thing < self.num_players:
                self.stand(pieces, cell, thing)
            else:
                name = OBJECTS[thing - self.num_players]
                colour, shape = name.split()
                piece = Piece(f"{colour[0]}{shape[0]}", colour, label=name, sprite=shape)
                pieces[cell] = on_top(pieces.get(cell), piece)
        goals = [f"{self.players[p]}: {self.goal_text(state, p)}" for p in self.watched_seats(seat)]
        return Scene(self.caption(state), grid=self.grid(pieces, seen, ground), lines=tuple(goals))


def knows(config: XLand, state: XLandState, seat: int, kind: int, one: int, other: int) -> bool:
    """Whether a player sees the things that a term is about."""
    seen = in_view(config, state, seat, cell_of(config, state, one))
    if kind != ON:
        seen = seen and in_view(config, state, seat, cell_of(config, state, other))
    return seen


def step_by(config: XLand, state: XLandState, seat: int, cell: int, sign: int) -> int:
    """A step towards a cell (sign 1) or away from it (-1); -1 where no such step is free."""
    own, columns = state.cell[seat], config.columns
    now, best = abs(cell // columns - own // columns) + abs(cell % columns - own % columns), -1
    for way in range(NORTH, EAST + 1):
        there = neighbour(config, own, way)
        if there != NOWHERE and state.walls[there] == 0 and holder(config, state, there) < 0:
            far = abs(cell // columns - there // columns) + abs(cell % columns - there % columns)
            if far * sign < now * sign:
                now, best = far, way
    return best


def to_floor(config: XLand, state: XLandState, seat: int, colour: int) -> int:
    """A step towards the nearest floor of a colour in sight; -1 if there is none."""
    columns, own, best, near = config.columns, state.cell[seat], -1, 1 << 20
    for cell in range(config.rows * columns):
        if state.floor[cell] == colour and state.walls[cell] == 0:
            far = abs(cell // columns - own // columns) + abs(cell % columns - own % columns)
            if far < near and in_view(config, state, seat, cell):
                best, near = cell, far
    return -1 if best < 0 else step_by(config, state, seat, best, 1)
