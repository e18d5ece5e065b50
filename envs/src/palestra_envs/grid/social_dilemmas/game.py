"""The code shared by Harvest and Clean Up: observations, words and pictures.

The rules of moving and shining beams are in `palestra_envs.grid.social_dilemmas.rules`. An
observation is a block of int8 planes over the player's window, turned so that the player faces up:
2 * sight + 1 cells a side with the player in the middle. From the first:

    walls, and what lies beyond the map                                  1
    apples                                                               1
    cells that a fining beam has crossed in the last step                1
    other players who face ahead, right, back, left: four planes         seat + 1
    water without waste                                                  1
    waste                                                                1
    cells that a cleaning beam has crossed in the last step              1

Only games with a river have the last three. All is 0 for a player who is out of the game.

There are two kinds of `map`. A `fixed` one is your own `level` or, without one, laid out on `rows`
and `columns`; it is printed in the rules. A `random` one is drawn from the seed for every episode,
as the game's module describes. Players know its size, their starting cell, what the rules say about
all such maps, and what is in sight; cells on which apples may grow look like floor while they are
bare.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from palestra import Channel, Event, Grid, Outcome, Piece, Rng, Scene, only
from palestra.grids.compass import FACINGS, RELATIVE_FACINGS
from palestra.grids.windows import (
    FAR,
    cells_in,
    cells_of,
    draw_window,
    in_sight,
    places_of,
    unseen_mask,
)
from palestra.grids.words import quantity
from palestra.scene import Facing

from palestra_envs.grid.social_dilemmas.options import (
    AnyDilemmaState,
    DilemmaOptions,
    DilemmaState,
)
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
    is_free,
    player_at,
)

BEAM_IN_VAIN = {
    FINE: "Your fining beam hits nobody.",
    CLEAN: "Your cleaning beam clears no waste.",
}
PAIRS = ((APPLE, ORCHARD), (WASTE, RIVER))  # what is on a cell, and the ground below it
COMPASS: tuple[Facing, ...] = ("north", "east", "south", "west")
WATER = Piece("~", 4, label="water", sprite="water")
LOOKS = {
    WALL: Piece("@", label="wall", sprite="wall"),
    APPLE: Piece("A", "red", label="apple", sprite="apple"),
    WASTE: Piece("H", "brown", label="waste", sprite="waste"),
    RIVER: WATER,
    STREAM: WATER,
}
BY_GLYPH = {piece.glyph: piece for piece in LOOKS.values()} | {
    "*": Piece("*", "yellow", "mark", "beam", "beam")
}


@dataclass(frozen=True)
class SocialDilemma(DilemmaOptions[AnyDilemmaState]):
    """Players who walk, turn and shine beams on a map on which apples grow."""

    order = "simultaneous"
    payoffs = "general"
    reward_terms = ("apples", "beams", "fines")
    observation_dtype = np.int8

    actions: ClassVar[tuple[str, ...]]
    planes: ClassVar[int]  # of an observation

    @abstractmethod
    def redraw(self, imagined: AnyDilemmaState, hidden: NDArray[np.bool_], rng: Rng) -> None:
        """Lay out another random map that fits what is in sight, with the rest left bare."""

    @abstractmethod
    def random_map_text(self) -> str:
        """The part of the rules about random maps, apart from their size."""

    # Derived from the options

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether players see the whole map from every cell and are never out of the game.

        It is never true for a random map: players do not see where apples may grow.
        """
        whole = self.sight >= max(self.layout.rows, self.layout.columns) - 1
        return whole and not self.time_out and not self.random

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        worst = (self.num_players - 1) * self.fine + self.fine_cost
        return (0.0 - self.max_steps * worst, float(self.max_steps))

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        river = (
            Channel("water", 1, "1 for water without waste"),
            Channel("waste", 1, "1 for waste"),
            Channel("cleaning", 1, "1 where a cleaning beam passed in the last step"),
        )
        return (
            Channel("walls", 1, "1 for walls and what lies beyond the map"),
            Channel("apples", 1, "1 where an apple hangs"),
            Channel("fining", 1, "1 where a fining beam passed in the last step"),
            Channel(
                "others",
                4,
                "seat + 1 of another player, by facing: ahead, right, back, left of the player",
            ),
            *(river if self.planes > 7 else ()),
        )

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        side = 2 * self.sight + 1
        return (self.planes, side, side)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(self.num_players))

    # The rules

    @staticmethod
    def write_legal_mask(
        config: DilemmaOptions[Any], state: DilemmaState, seat: int, mask: Any
    ) -> None:
        for action in range(config.num_actions):
            mask[action] = action == STAY or state.absent[seat] == 0

    def outcome(self, state: AnyDilemmaState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        return replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: AnyDilemmaState) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state.earned.tolist())

    def noop(self, state: AnyDilemmaState, seat: int) -> int:
        return STAY

    # States

    def arrange(self, rows: str, players: Mapping[int, tuple[int, int, int]]) -> AnyDilemmaState:
        """A state with the map's cells as drawn and players at (row, column, facing), from 0.

        In the drawing 'A' is an apple and 'H' waste, and '.' is a cell of the map without either.
        Players without a place start anywhere. A random map is that of seed 0.
        """
        state: AnyDilemmaState = self.clone(self.initial_state(0))
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

    def determinize(self, state: AnyDilemmaState, seat: int, rng: Rng) -> AnyDilemmaState:
        """Redraw what lies outside a player's window: apples, waste, beams and other players.

        The draw fits what the player sees now and where they stand, as if they remembered nothing
        else. A site out of sight bears an apple (or waste) as likely as one in sight. Where
        time-outs are on, a player out of sight is out of the game with probability one half. A
        random map is replaced by another that fits. What the others have earned is drawn too, up to
        an apple in every second step.
        """
        imagined: AnyDilemmaState = self.clone(state)
        hidden = unseen_mask(self, state, seat)
        if self.random:
            self.redraw(imagined, hidden, rng)
        cells = imagined.cells
        known = state.turn == 0 and not self.random  # the fixed map, on which nothing has grown
        for full, bare in () if known else PAIRS:
            seen, grown = cells[~hidden], (cells == full) | (cells == bare)
            share = (1 + (seen == full).sum()) / (2 + (seen == full).sum() + (seen == bare).sum())
            if state.turn == 0:
                share = self.first_share(full)
            for cell in cells_in(hidden & grown):
                cells[cell] = full if rng.random() < share else bare
        imagined.beams[hidden] = 0
        away = self._hidden(state, seat)
        for other in away:
            imagined.row[other], imagined.column[other] = FAR, FAR
        free = cells_in(hidden & (cells != WALL))
        if state.turn == 0:
            starts = [cell for cell in free if is_free(self.config, imagined, *cell)]
            free = starts if len(starts) >= len(away) else free
        for other in range(self.num_players):
            if other != seat:
                imagined.earned[other] = rng.below(int(state.turn) // 2 + 1)
                imagined.ate[other] = imagined.cleaned[other] = 0
                imagined.hit[other] &= 1 << seat
        for other in away:
            out = self.time_out > 0 and (not free or (state.turn > 0 and rng.below(2) == 0))
            imagined.absent[other] = rng.between(1, self.time_out) if out else 0
            place = (FAR, FAR) if out else free.pop(rng.below(len(free)))
            imagined.row[other], imagined.column[other] = place
            imagined.facing[other] = rng.below(4)
            if not out and cells[place] == APPLE:
                cells[place] = ORCHARD
        return imagined

    def first_share(self, full: int) -> float:
        """The share of the sites on a random map that bear apples, or waste, at the beginning."""
        return float(full == APPLE)

    def _hidden(self, state: AnyDilemmaState, seat: int) -> list[int]:
        """The other players whom a player does not see."""
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
        lines = [super().rules_for(seat), *self.option_sentences()]
        if self.random:
            size = f"{self.rows} rows and {self.columns} columns, the outermost of them walls"
            lines.append(
                f"The map is another in every episode. It has {size}. {self.random_map_text()}"
            )
            return "\n".join(lines)
        lines += ["The map, north on top:", *self.layout.text().replace(" ", ".").split("\n")]
        used = [k for k in self.kinds if k not in " ." and self.layout.count(k)]
        lines.append("On it " + ", ".join(f"{kind} is {self.kinds[kind]}" for kind in used) + ".")
        return "\n".join(lines)

    def option_sentences(self) -> Iterator[str]:
        """Sentences of the rules that depend on options."""
        yield (
            f"There are {self.num_players} players. Shining the fining beam costs you "
            f"{self.fine_cost:g}, and whoever it hits loses {self.fine:g}."
        )
        if self.time_out:
            yield (
                f"They are also out of the game for {self.time_out} steps: they see nothing, can "
                "only stay, and come back on a random start cell, facing a random way."
            )
        yield (
            f"You see {self.sight} cells in every direction, diagonally too. Time is up after "
            f"{self.max_steps} steps."
        )

    def describe(self, state: AnyDilemmaState, seat: int) -> str:
        """The observation in words, and the number of steps played."""
        lines = [
            f"You are {self.players[seat]}. Steps played: {int(state.turn)} of {self.max_steps}."
        ]
        if state.absent[seat]:
            return "\n".join([*lines, "You are out of the game and see nothing."])
        obs = self.seen(state, seat)
        lines += ["What you see; ^ is you, and up is ahead of you:"]
        lines += draw_window(self._glyphs(obs))
        listing = self.listing(obs).items()
        lines += [f"- {thing}: {', '.join(places)}" for thing, places in listing if places]
        return "\n".join(lines)

    def _glyphs(self, obs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What to draw in a window: planes by character, later ones on top."""
        oneself = np.zeros(obs.shape[1:], np.int8)
        oneself[self.sight, self.sight] = 1
        others = obs[PLAYERS : PLAYERS + 4].max(axis=0)
        seats = {str(seat): others == seat + 1 for seat in range(self.num_players)}
        return {**self.scenery(obs), **seats, "^": oneself}

    def scenery(self, obs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The planes other than players, by the character to draw."""
        return {"@": obs[WALLS], "A": obs[APPLES]}

    def listing(self, obs: NDArray[Any]) -> dict[str, list[str]]:
        """The places of things in sight except walls: (cells ahead, cells to the right)."""
        players = {
            f"{self.players[value - 1]}, facing {way}": [f"({ahead}, {right})"]
            for turned, way in enumerate(RELATIVE_FACINGS)
            for ahead, right, value in cells_of(obs[PLAYERS + turned])
        }
        beams = {"fining beam": places_of(obs[FINES])}
        return {"apple": places_of(obs[APPLES])} | players | beams

    def action_text(self, state: AnyDilemmaState, seat: int, action: int) -> str:
        return self.actions[action]

    def narrate(
        self,
        before: AnyDilemmaState | None,
        actions: Mapping[int, int],
        after: AnyDilemmaState,
    ) -> list[Event]:
        """Tell each player the result of their action.

        A step is a "reveal" if it changes what the player sees, or if its result differs from what
        it would be if they were alone on the map.
        """
        if before is None:
            return [
                Event("start", self._standing(after, seat), {"player": seat}, only(seat))
                for seat in range(self.num_players)
            ]
        events = []
        for seat, action in sorted(actions.items()):
            text = self._result(before, after, seat, action)
            same = np.array_equal(self.seen(before, seat), self.seen(after, seat))
            kind = "move" if same and text == self._routine(before, seat, action) else "reveal"
            data = {"player": seat, "action": int(action)}
            events.append(Event(kind, text, data, only(seat)))
        return events

    def _standing(self, state: AnyDilemmaState, seat: int) -> str:
        row, column = int(state.row[seat]) + 1, int(state.column[seat]) + 1
        way = FACINGS[int(state.facing[seat])]
        return f"You stand in row {row}, column {column} of the map and face {way}."

    def _routine(self, before: AnyDilemmaState, seat: int, action: int) -> str:
        """What a player reads after a step that nothing interferes with."""
        if before.absent[seat]:
            return "You are out."
        if action in (FINE, CLEAN):
            return BEAM_IN_VAIN[action]
        return f"You {self._act(action)}."

    def _act(self, action: int) -> str:
        """An action as a verb, such as 'step forward', 'turn left' or 'stay'."""
        step = "step " if FORWARD <= action < STEP_LEFT else ""
        return f"{step}{self.actions[action].replace('-', ' ')}"

    def _result(
        self, before: AnyDilemmaState, after: AnyDilemmaState, seat: int, action: int
    ) -> str:
        """What a player reads of a step."""
        if before.absent[seat]:
            back = not after.absent[seat]
            return f"You are back. {self._standing(after, seat)}" if back else "You are out."
        sentences = [self._own_result(before, after, seat, action)]
        if after.ate[seat]:
            sentences.append("You eat an apple.")
        sentences += [
            f"{self.players[other]} fines you."
            for other in range(self.num_players)
            if int(after.hit[other]) >> seat & 1
        ]
        if after.absent[seat]:
            sentences.append("You are out of the game.")
        return " ".join(sentences)

    def _own_result(
        self, before: AnyDilemmaState, after: AnyDilemmaState, seat: int, action: int
    ) -> str:
        """What a player reads of their own action."""
        struck = [name for other, name in enumerate(self.players) if after.hit[seat] >> other & 1]
        if struck:
            return f"Your fining beam hits {' and '.join(struck)}."
        cleaned = int(after.cleaned[seat])
        if cleaned:
            return f"Your cleaning beam clears {quantity(cleaned, 'cell')} of waste."
        moved = (
            after.absent[seat]
            or before.row[seat] != after.row[seat]
            or before.column[seat] != after.column[seat]
        )
        if FORWARD <= action <= STEP_RIGHT and not moved:
            return f"You try to {self._act(action)} and are blocked."
        return self._routine(before, seat, action)

    # Pictures

    def scene(self, state: AnyDilemmaState, seat: int | None = None) -> Scene:
        """The whole map for a spectator; for a player the window they see, themselves in it."""
        cells = self._whole(state) if seat is None else self._window(state, seat)
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=Grid(tuple(map(tuple, cells)), style="floor"))

    def _whole(self, state: AnyDilemmaState) -> list[list[Piece | None]]:
        cells: list[list[Piece | None]] = []
        for row in range(self.layout.rows):
            cells.append([])
            for column in range(self.layout.columns):
                cells[-1].append(self._piece(state, row, column))
        return cells

    def _piece(self, state: AnyDilemmaState, row: int, column: int) -> Piece | None:
        """What to draw on a cell of the map: a player, else a beam, else what is there."""
        seat = player_at(self.config, state, row, column)
        if seat >= 0:
            way = int(state.facing[seat])
            return self._disc(seat, way, FACINGS[way])
        beams = int(state.beams[row, column])
        if beams:
            kinds = ((FINING, "fining"), (CLEANING, "cleaning"))
            kind = " and ".join(name for bit, name in kinds if beams & bit)
            return Piece("*", "yellow", "mark", f"{kind} beam", "beam")
        return LOOKS.get(int(state.cells[row, column]))

    def _disc(self, seat: int, way: int, facing: str) -> Piece:
        label = f"{self.players[seat]}, facing {facing}"
        return Piece(f"{seat}{'^>v<'[way]}", seat, "disc", label, "person", COMPASS[way])

    def _window(self, state: AnyDilemmaState, seat: int) -> list[list[Piece | None]]:
        obs = self.seen(state, seat)
        glyphs = {**self._glyphs(obs), "*": self.beams_in(obs)}
        cells = [[BY_GLYPH.get(kind) for kind in line] for line in draw_window(glyphs)]
        places = [(p, w) for w in range(4) for p in cells_of(obs[PLAYERS + w])]
        for (ahead, right, value), way in [*places, ((0, 0, seat + 1), 0)]:
            piece = self._disc(value - 1, way, RELATIVE_FACINGS[way])
            cells[self.sight - ahead][self.sight + right] = piece
        return cells

    def beams_in(self, obs: NDArray[Any]) -> NDArray[Any]:
        """Cells of a window that any beam has crossed."""
        return obs[FINES]
