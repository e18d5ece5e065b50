"""What Harvest and Clean Up have in common: options, views, words and pictures.

The rules of moving and shining beams are in `social_dilemma_rules`. The array view is a block of
int8 planes over the player's window, turned so that he looks up: 2 * sight + 1 cells a side with
him in the middle. From the first:

    walls, and what lies beyond the map                                  1
    apples                                                               1
    cells that a fining beam has crossed in the last step                1
    other players who face ahead, right, back, left: four planes         seat + 1
    water without waste                                                  1
    waste                                                                1
    cells that a cleaning beam has crossed in the last step              1

The last three only where there is a river. All is 0 for a player who is out of the game.

Two kinds of `map`. One that is `fixed` is your own `level` or, without one, laid out on `rows` and
`columns`; it is printed in the rules. A `random` one is drawn from the seed for every episode, as
the game's module says. Of it players know its size, where they start on it, what the rules say of
all such maps, and what is in sight: cells on which apples may grow look like floor while bare.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

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
    only,
)
from palestra.grids.levels import MAX_SIDE, Level, read_level
from palestra.grids.windows import (
    COMPASS,
    FAR,
    MAX_SIGHT,
    TURNED,
    cells_in,
    cells_of,
    drawn,
    in_sight,
    places_of,
    unseen,
)
from palestra.grids.words import counted

from palestra_envs.grid.social_dilemmas.rules import (
    APPLE,
    APPLES,
    CLEAN,
    CLEANING,
    FINE,
    FINES,
    FINING,
    FORWARD,
    ORCHARD,
    PLAYERS,
    RIVER,
    STAY,
    STEP_LEFT,
    STEP_RIGHT,
    STREAM,
    WALL,
    WALLS,
    WASTE,
    player_at,
)

MAPS = ("fixed", "random")
MAX_SEATS, MAX_TIME_OUT = 10, 100
BEAM_IN_VAIN = {
    FINE: "Your fining beam hits nobody.",
    CLEAN: "Your cleaning beam clears no waste.",
}
PAIRS = ((APPLE, ORCHARD), (WASTE, RIVER))  # what is on a cell, and what is there without it
WATER = Piece("~", 4, label="water")
LOOKS = {
    WALL: Piece("@", label="wall"),
    APPLE: Piece("A", 2, label="apple"),
    WASTE: Piece("H", 5, label="waste"),
    RIVER: WATER,
    STREAM: WATER,
}
BY_GLYPH = {piece.glyph: piece for piece in LOOKS.values()} | {
    "*": Piece("*", shape="mark", label="beam")
}


@dataclass(frozen=True)
class SocialDilemma(ArrayGame):
    """Players who walk, turn and shine beams on a map on which apples grow.

    `level` is the map, one line a row, and replaces one laid out on `rows` and `columns`. Players
    start on random cells, those marked 'P' if there are any. With `map="random"` each episode has a
    map of its own.
    """

    rows: int = 12
    columns: int = 24
    level: str = ""
    map: str = "fixed"
    num_players: int = 4
    sight: int = 5
    fine: float = 50.0
    fine_cost: float = 1.0
    time_out: int = 0
    max_steps: int = 400

    order = "simultaneous"
    payoffs = "general"
    reward_terms = ("apples", "beams", "fines")
    observation_dtype = np.int8

    actions: ClassVar[tuple[str, ...]]
    planes: ClassVar[int]
    kinds: ClassVar[Mapping[str, str]]  # what the characters of a map mean
    least_rows: ClassVar[int]
    least_columns: ClassVar[int]

    def __post_init__(self) -> None:
        check_choice("map", self.map, MAPS)
        check_ranges(
            self,
            (
                ("rows", self.least_rows, MAX_SIDE),
                ("columns", self.least_columns, MAX_SIDE),
                ("num_players", 1, MAX_SEATS),
                ("sight", 1, MAX_SIGHT),
                ("fine", 0, None),
                ("fine_cost", 0, None),
                ("time_out", 0, MAX_TIME_OUT),
                ("max_steps", 1, None),
            ),
        )
        if self.random:
            if self.level:
                raise InvalidOption("level is a fixed map: give it without map='random'")
            self.check_random()
        elif self.layout.count("AB") == 0:
            raise InvalidOption("level: there is no cell on which an apple could grow")
        if self.room < self.num_players:
            raise InvalidOption(
                f"the map has {self.room} cells to start on, too few for {self.num_players} "
                "players; make it larger or mark more cells with 'P'"
            )

    @abstractmethod
    def build(self) -> list[str]:
        """The lines of the map that is laid out where no level is given."""

    def outline(self) -> list[str]:
        """The lines of a map with walls around and nothing in it."""
        inner = "@" + "." * (self.columns - 2) + "@"
        return ["@" * self.columns, *[inner] * (self.rows - 2), "@" * self.columns]

    @abstractmethod
    def check_random(self) -> None:
        """Raise `InvalidOption` for a random map that cannot be."""

    @abstractmethod
    def redraw(self, imagined: Any, hidden: NDArray[np.bool_], rng: Rng) -> None:
        """Lay out another random map that fits what is in sight, bare of anything out of sight."""

    @abstractmethod
    def told_of_map(self) -> str:
        """What the rules say of random maps beside their size."""

    # What follows from the options

    @property
    def random(self) -> bool:
        """Whether every episode has a map of its own, which its state holds."""
        return self.map == "random"

    @cached_property
    def layout(self) -> Level:
        """The map; where it is random, the walls around it."""
        lines = self.outline() if self.random else self.build()
        return read_level(self.level or "\n".join(lines), self.kinds)

    @property
    def start_kinds(self) -> str:
        """Players start on the cells marked for it or, where none are, on any floor."""
        return "P" if self.layout.count("P") else ". "

    @property
    def room(self) -> int:
        """How many cells there are at least to start on."""
        return self.layout.count(self.start_kinds)

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether everybody sees the whole map from every cell, and nobody is ever out.

        Never on a random map: nobody sees where apples may grow.
        """
        whole = self.sight >= max(self.layout.rows, self.layout.columns) - 1
        return whole and not self.time_out and not self.random

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        worst = (self.num_players - 1) * self.fine + self.fine_cost
        return (0.0 - self.max_steps * worst, float(self.max_steps))

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        side = 2 * self.sight + 1
        return (self.planes, side, side)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(self.num_players))

    def constants(self) -> Mapping[str, Any]:
        level = self.layout
        return {
            **super().constants(),
            "random": self.random,
            "rows": level.rows,
            "columns": level.columns,
            "walls": level.masks("@"),
            "apples": level.masks("A"),
            "orchard": level.masks("AB"),
            "waste": level.masks("H"),
            "river": level.masks("HR"),
            "stream": level.masks("S"),
            "starts": level.masks(self.start_kinds),
        }

    def fields(self) -> list[tuple[Any, ...]]:
        """Who stands where and looks where; what is on each cell; the beams of the last step.

        `absent` counts the steps somebody is still out; `ate`, `hit` (a bit a seat) and `cleaned`
        say what came of the last step.
        """
        seats, grid = self.num_players, (self.layout.rows, self.layout.columns)
        return [
            ("row", np.int32, seats),
            ("column", np.int32, seats),
            ("facing", np.int16, seats),
            ("absent", np.int16, seats),
            ("ate", np.uint8, seats),
            ("hit", np.int16, seats),
            ("cleaned", np.uint8, seats),
            ("earned", np.float64, seats),
            ("cells", np.uint8, grid),
            ("beams", np.uint8, grid),
        ]

    # The rules

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(config.num_actions):
            mask[action] = action == STAY or state.absent[seat] == 0

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        return replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: Any) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state["earned"].tolist())

    def noop(self, state: Any, seat: int) -> int:
        return STAY

    # States

    def arrange(self, rows: str, players: Mapping[int, tuple[int, int, int]]) -> Any:
        """A state with the map's cells as drawn and players at (row, column, facing), from 0.

        In the drawing 'A' is an apple and 'H' waste, and '.' is a cell of the map without either.
        Players who are not named start anywhere. Where maps are random it is that of seed 0.
        """
        state = self.clone(self.initial_state(0))
        for row, line in enumerate(rows.strip("\n").split("\n")):
            for column, kind in enumerate(line):
                bare = dict(PAIRS).get(int(state.cells[row, column]))
                if bare is not None:
                    state.cells[row, column] = bare
                if kind in "AH":
                    state.cells[row, column] = APPLE if kind == "A" else WASTE
        for seat, place in players.items():
            state.row[seat], state.column[seat], state.facing[seat] = place
        return state

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw anew what lies outside a player's window: apples, waste, beams and other players.

        Fits what he sees now and where he stands, as if he remembered nothing else. A site out of
        sight bears an apple (or waste) as likely as one in sight. Where time-outs are on, every
        second player whom he does not see is taken to be out. A random map is another that fits.
        """
        imagined, hidden = self.clone(state), unseen(self, state, seat)
        if self.random:
            self.redraw(imagined, hidden, rng)
        cells = imagined.cells
        for full, bare in PAIRS:
            seen, grown = cells[~hidden], (cells == full) | (cells == bare)
            share = (1 + (seen == full).sum()) / (2 + (seen == full).sum() + (seen == bare).sum())
            for cell in cells_in(hidden & grown):
                cells[cell] = full if rng.random() < share else bare
        imagined.beams[hidden] = 0
        free = cells_in(hidden & (cells != WALL))
        for other in self._hidden(state, seat):
            out = self.time_out > 0 and (not free or rng.below(2) == 0)
            imagined.absent[other] = rng.between(1, self.time_out) if out else 0
            place = (FAR, FAR) if out else free.pop(rng.below(len(free)))
            imagined.row[other], imagined.column[other] = place
            imagined.facing[other] = rng.below(4)
            if not out and cells[place] == APPLE:
                cells[place] = ORCHARD
        return imagined

    def _hidden(self, state: Any, seat: int) -> list[int]:
        """Other players whom a player does not see."""
        return [
            other
            for other in range(self.num_players)
            if other != seat
            and (
                state.absent[seat]
                or not in_sight(self.config, state, seat, state.row[other], state.column[other])
            )
        ]

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat), *self.numbers()]
        if self.random:
            size = f"{self.rows} rows and {self.columns} columns, the outermost of them walls"
            lines.append(
                f"The map is another in every episode. It has {size}. {self.told_of_map()}"
            )
            return "\n".join(lines)
        lines += ["The map, north on top:", *self.layout.text().replace(" ", ".").split("\n")]
        used = [k for k in self.kinds if k not in " ." and self.layout.count(k)]
        lines.append("On it " + ", ".join(f"{kind} is {self.kinds[kind]}" for kind in used) + ".")
        return "\n".join(lines)

    def numbers(self) -> Iterator[str]:
        """Sentences of the rules that hang on options."""
        yield (
            f"There are {self.num_players} players. Shining the fining beam costs you "
            f"{self.fine_cost:g}, and whoever it hits loses {self.fine:g}."
        )
        if self.time_out:
            yield (
                f"He is also out of the game for {self.time_out} steps: he sees nothing, can only "
                "stay, and comes back on a random start cell, facing a random way."
            )
        yield (
            f"You see {self.sight} cells in every direction, diagonally too. Time is up after "
            f"{self.max_steps} steps."
        )

    def describe(self, state: Any, seat: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        lines = [
            f"You are {self.players[seat]}. Steps played: {int(state.turn)} of {self.max_steps}."
        ]
        if state.absent[seat]:
            return "\n".join([*lines, "You are out of the game and see nothing."])
        view = self.observe(state, seat)
        lines += ["What you see; ^ is you, and up is ahead of you:"]
        lines += drawn(self._glyphs(view))
        listing = self.listing(view).items()
        lines += [f"- {thing}: {', '.join(places)}" for thing, places in listing if places]
        return "\n".join(lines)

    def _glyphs(self, view: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What to draw in a window: planes by character, later ones on top."""
        oneself = np.zeros(view.shape[1:], np.int8)
        oneself[self.sight, self.sight] = 1
        others = view[PLAYERS : PLAYERS + 4].max(axis=0)
        seats = {str(seat): others == seat + 1 for seat in range(self.num_players)}
        return {**self.scenery(view), **seats, "^": oneself}

    def scenery(self, view: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {"@": view[WALLS], "A": view[APPLES]}

    def listing(self, view: NDArray[Any]) -> dict[str, list[str]]:
        """Where what is in a view: (cells ahead, cells to the right) by thing, walls left out."""
        players = {
            f"{self.players[value - 1]}, facing {way}": [f"({ahead}, {right})"]
            for turned, way in enumerate(TURNED)
            for ahead, right, value in cells_of(view[PLAYERS + turned])
        }
        beams = {"fining beam": places_of(view[FINES])}
        return {"apple": places_of(view[APPLES])} | players | beams

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return self.actions[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        """To each player what came of his action.

        A step by which a player's view changes, or that goes otherwise than one alone on the map
        would, is a "reveal".
        """
        if before is None:
            return [
                Event("start", self._standing(after, seat), {"player": seat}, only(seat))
                for seat in range(self.num_players)
            ]
        events = []
        for player, action in sorted(actions.items()):
            told = self._result(before, after, player, action)
            same = np.array_equal(self.observe(before, player), self.observe(after, player))
            kind = "move" if same and told == self._routine(before, player, action) else "reveal"
            data = {"player": player, "action": int(action)}
            events.append(Event(kind, told, data, only(player)))
        return events

    def _standing(self, state: Any, seat: int) -> str:
        row, column = int(state.row[seat]) + 1, int(state.column[seat]) + 1
        way = COMPASS[int(state.facing[seat])]
        return f"You stand in row {row}, column {column} of the map and face {way}."

    def _routine(self, before: Any, seat: int, action: int) -> str:
        """What a player reads after a step that nothing came in the way of."""
        if before.absent[seat]:
            return "You are out."
        if action in (FINE, CLEAN):
            return BEAM_IN_VAIN[action]
        return f"You {self._act(action)}."

    def _act(self, action: int) -> str:
        """'step forward', 'turn left', 'stay'."""
        step = "step " if FORWARD <= action < STEP_LEFT else ""
        return f"{step}{self.actions[action].replace('-', ' ')}"

    def _result(self, before: Any, after: Any, seat: int, action: int) -> str:
        """What a player learns of a step beside his view."""
        if before.absent[seat]:
            back = not after.absent[seat]
            return f"You are back. {self._standing(after, seat)}" if back else "You are out."
        told = [self._done(before, after, seat, action)]
        if after.ate[seat]:
            told.append("You eat an apple.")
        told += [
            f"{self.players[other]} fines you."
            for other in range(self.num_players)
            if int(after.hit[other]) >> seat & 1
        ]
        if after.absent[seat]:
            told.append("You are out of the game.")
        return " ".join(told)

    def _done(self, before: Any, after: Any, player: int, action: int) -> str:
        struck = [name for seat, name in enumerate(self.players) if after.hit[player] >> seat & 1]
        if struck:
            return f"Your fining beam hits {' and '.join(struck)}."
        cleaned = int(after.cleaned[player])
        if cleaned:
            return f"Your cleaning beam clears {counted(cleaned, 'cell')} of waste."
        moved = after.absent[player] or any(
            old != new
            for old, new in (
                (before.row[player], after.row[player]),
                (before.column[player], after.column[player]),
            )
        )
        if FORWARD <= action <= STEP_RIGHT and not moved:
            return f"You try to {self._act(action)} and are blocked."
        return self._routine(before, player, action)

    # Pictures

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        """The whole map for a spectator; for a player his window as he sees it, himself in it."""
        cells = self._whole(state) if seat is None else self._window(state, seat)
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=Grid(tuple(map(tuple, cells))))

    def _whole(self, state: Any) -> list[list[Piece | None]]:
        cells: list[list[Piece | None]] = []
        for row in range(self.layout.rows):
            cells.append([])
            for column in range(self.layout.columns):
                seat = player_at(self.config, state, row, column)
                piece = LOOKS.get(int(state.cells[row, column]))
                beams = int(state.beams[row, column])
                if beams:
                    kind = " and ".join(
                        name
                        for bit, name in ((FINING, "fining"), (CLEANING, "cleaning"))
                        if beams & bit
                    )
                    piece = Piece("*", shape="mark", label=f"{kind} beam")
                if seat >= 0:
                    way = int(state.facing[seat])
                    label = f"{self.players[seat]}, facing {COMPASS[way]}"
                    piece = Piece(f"{seat}{'^>v<'[way]}", seat, "disc", label)
                cells[-1].append(piece)
        return cells

    def _window(self, state: Any, player: int) -> list[list[Piece | None]]:
        view = self.observe(state, player)
        glyphs = {**self._glyphs(view), "*": self.beams_in(view)}
        cells = [[BY_GLYPH.get(kind) for kind in line] for line in drawn(glyphs)]
        places = [(p, w) for w in range(4) for p in cells_of(view[PLAYERS + w])]
        for (ahead, right, value), way in [*places, ((0, 0, player + 1), 0)]:
            seat = value - 1
            label = f"{self.players[seat]}, facing {TURNED[way]}"
            cells[self.sight - ahead][self.sight + right] = Piece(
                f"{seat}{'^>v<'[way]}", seat, "disc", label
            )
        return cells

    def beams_in(self, view: NDArray[Any]) -> NDArray[Any]:
        """Cells of a window that any beam has crossed."""
        crossed: NDArray[Any] = view[FINES]
        return crossed
