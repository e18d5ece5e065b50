"""Collaboration maze: each player sees a part of a map, and all must agree on every step.

A grid of open cells and walls has a start and a goal that all players know; every other cell is
shown to exactly one of them, drawn at random in equal shares, so that together they see everything.
One marker stands on the start. In turn players say something, propose a step for the marker, or
agree to the standing proposal; once all agree the step is made. Any other answer lets the proposal
lapse. The game ends on the goal, with a step into a wall, or when time is up. All players are paid
the same: the share of the shortest path that the marker has covered,

    (d(start) - d(marker)) / d(start), at least 0,

where d is the length of the shortest way to the goal. With one player, who sees everything, it is
the baseline condition. After Davidson, Fourney, Amershi, West, Horvitz and Kamar, "The
Collaboration Gap", 2025, where two language models talk about a maze of which each has another half
masked, and a third reads off the way they agreed on; here steps are typed and need no reader.

Start and goal are drawn with at least half of rows plus columns between them, counted along rows
and columns; each other cell is a wall with chance `wall_density`, drawn anew until there is a way.

Checked: distances against networkx; the distributions of mazes and of hidden cells against a count
of all mazes; two players who tell each other their maps always walk a shortest way.

Left out: the authors' mazes.

With `protocol="dialogue"` the players talk freely, as in the study. Steps are proposed and agreed
to by typed lines among the words, and the route they make is walked at the end (`routes.py`); a
language model may read a record's route from the words instead. `solo_maps` gives one player the
partial maps of several, and `starts` is the seat that opens. One player reads rules for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Grid,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Piece,
    Result,
    Rng,
    Scene,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
)
from palestra.grids.paths import routes
from palestra.scene import Saying, Talk, mark_cells

from palestra_envs.text.collaboration_maze.routes import (
    MOVES,
    Cell,
    beside,
    read_route,
    unread_proposal,
)

UNKNOWN, OPEN, WALL = range(3)
GLYPHS = "?.#"
SHORTEST, LONGEST, MAX_SEATS = 2, 20, 8
DENSEST = 0.4  # with more walls, large mazes with a path become rare
REDRAWS = 200


class Say(TextAction, frozen=True):
    """Say something to everybody."""

    text: str


class Propose(TextAction, frozen=True):
    """Propose a step for the marker."""

    move: str


class Agree(TextAction, frozen=True):
    """Agree to the standing proposal."""


class Finish(TextAction, frozen=True):
    """Say that all is agreed; once everybody says so in turn, the dialogue is over."""


LINES = (
    *(Say(text=f"The cell to the {move} is open.") for move in MOVES),
    *(Say(text=f"The cell to the {move} is a wall.") for move in MOVES),
    Say(text="What do you see around the marker?"),
    Say(text="I do not know."),
)
PROPOSALS = tuple(Propose(move=move) for move in MOVES)
MENU: tuple[TextAction, ...] = (*PROPOSALS, Agree(), *LINES)
DIALOGUE_LINES = (*LINES, *(Say(text=f"Propose: {move}") for move in MOVES), Say(text="Agree"))
TEAM_RULES = """
    You and the other players lead one marker through a maze. Each of you sees another part.

    Start and goal are known to all, and every other cell is shown to exactly one player;
"""
STEPS_RULES = """
    talk to find out what the others see. In your turn write one of: Say(text='Row 2, column 3 is a
    wall.') to say something to everybody; Propose(move='north') to propose one step for the
    marker: north, south, west or east; Agree() to agree to the standing proposal. The step is made
    as soon as all players are for it; if somebody says or proposes something else, the proposal
    lapses.
"""
DIALOGUE_RULES = """
    talk, in turn, about what you see, and agree on the whole route from the start to the goal:
    Say(text='Row 2, column 3 is a wall.\\nPropose: north, east'). Two lines have an effect, each
    alone on its line of the text: 'Propose: north, east' proposes steps (north, south, west or
    east), in place of any proposal that stands, and 'Agree' agrees to the proposal that stands. Its
    steps are agreed on once all of you are for it, and the next proposal goes on from there. No
    other words have an effect. Write Finish() when you have agreed on the whole route; the dialogue
    is over when everybody has done so one after the other, or when time is up. The marker then
    walks the route that you agreed on.
"""
SOLO_STEPS_RULES = """
    In your turn write one of: Propose(move='north') to move the marker one step: north, south, west
    or east; Say(text='Row 2, column 3 is a wall.') to write a note.
"""
SOLO_DIALOGUE_RULES = """
    Find the whole route from the start to the goal: Say(text='Row 2, column 3 is a wall.\\nPropose:
    north, east'). A line of the text that is 'Propose: north, east' alone adds steps (north, south,
    west or east) to the end of the route; no other words have an effect. Write Finish() when the
    route is whole; the marker then walks it, as it does when time is up.
"""


@dataclass(slots=True)
class MazeState:
    """The maze, which seat sees which cell, the marker, and what was said and proposed."""

    rng: Rng
    walls: tuple[Cell, ...]  # row by row
    shown: tuple[tuple[int, ...], ...]  # by cell, the seat that sees it; start and goal: any
    start: Cell
    goal: Cell
    marker: Cell
    trail: tuple[Cell, ...]  # where the marker has been, start first: known to all
    said: list[int] = field(default_factory=list)  # by seat, as the observation has it
    proposal: str = ""  # a move, or none
    votes: int = 0  # players who agree to it
    turn: int = 0
    ended: str = ""  # "goal", "wall", "time", or "agreed" where a dialogue ends off the goal
    bumped: tuple[Cell, ...] = ()  # walls that the marker was led into: known to all
    dialogue: tuple[tuple[int, str], ...] = ()  # with `protocol="dialogue"`, seats and words


@environment(
    "text/CollaborationMaze-v0",
    family="text",
    tags=("cooperation", "hidden-information", "messages"),
    paper="Davidson et al. (2025), The Collaboration Gap",
    splits={
        "solo": {"num_players": 1},
        "solo-two-maps": {"num_players": 1, "solo_maps": 2},
        "dialogue": {"protocol": "dialogue"},
        "3p-10x10": {"num_players": 3, "rows": 10, "columns": 10, "max_turns": 200},
        "held-out-8x8-dense": {"rows": 8, "columns": 8, "wall_density": 0.4, "max_turns": 150},
    },
)
@dataclass(frozen=True)
class CollaborationMaze(Talking, TextGame[MazeState]):
    """Players who each see a part of a maze agree step by step how to lead a marker to its goal.

    Numbered actions are Propose(move) north, south, west and east, Agree(), and ten lines to say.
    All are paid the share of the shortest path that the marker has covered at the end, 0 to 1.

    An observation is an int16 vector: every cell, row by row (0 unknown, 1 open, 2 wall); row and
    column of marker and goal, from 0; own seat; the standing proposal (0 none, then 1 + its place
    in `MOVES`) and how many are for it; by seat what was last said since the last step (0 nothing,
    then 1 + its place in `LINES`, or 1 + their number for other words); and the turn.
    """

    rules_text = f"{TEAM_RULES.rstrip()} {STEPS_RULES}"  # of the default; see `rules_for`

    num_players: Annotated[int, Meta(ge=1, le=MAX_SEATS, description="number of players")] = 2
    rows: Annotated[
        int, Meta(ge=SHORTEST, le=LONGEST, description="rows of the maze, in cells")
    ] = 6
    columns: Annotated[
        int, Meta(ge=SHORTEST, le=LONGEST, description="columns of the maze, in cells")
    ] = 6
    wall_density: Annotated[
        float, Meta(ge=0, le=DENSEST, description="chance that a cell is a wall")
    ] = 0.35
    max_turns: Annotated[
        int, Meta(ge=1, le=30_000, description="most turns in an episode, of all players together")
    ] = 100
    message_limit: Annotated[int, Meta(ge=60, description="longest message, in characters")] = 500
    protocol: Annotated[
        Literal["steps", "dialogue"],
        Meta(
            description="how players agree: steps, by proposing and agreeing to one step at a "
            "time; dialogue, in free words with typed lines for proposals and agreement, and the "
            "route is walked at the end (the paper's)"
        ),
    ] = "steps"
    starts: Annotated[
        int, Meta(ge=0, le=MAX_SEATS - 1, description="the seat that has the first turn")
    ] = 0
    solo_maps: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_SEATS,
            description="partial maps that one player alone is given; 1 for the whole map",
        ),
    ] = 1
    walls: Annotated[
        Literal["end", "stay"],
        Meta(
            description="what a step into a wall does: end the game, or leave the marker where it "
            "is, and show the wall to all"
        ),
    ] = "end"

    order = "sequential"
    payoffs = "common"
    deterministic = True
    reward_terms = ("progress",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Say, Propose, Agree, Finish)

    def validate(self) -> None:
        if self.starts >= self.num_players:
            raise InvalidOption(
                f"starts must be a seat from 0 to {self.num_players - 1}, not {self.starts}"
            )
        if self.solo_maps > 1 and self.num_players > 1:
            raise InvalidOption(
                f"solo_maps={self.solo_maps} is for one player alone, not for {self.num_players}; "
                "set num_players=1"
            )

    @cached_property
    def lines(self) -> tuple[Say, ...]:
        """The lines that a program may say."""
        return LINES if self.protocol == "steps" else DIALOGUE_LINES

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """The numbered actions: proposals, `Agree` and lines, or `Finish` and the dialogue's."""
        return MENU if self.protocol == "steps" else (Finish(), *DIALOGUE_LINES)

    @property
    def maps(self) -> int:
        """The number of partial maps that the cells are dealt to."""
        return int(max(self.num_players, self.solo_maps))

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return bool(self.num_players == 1)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, row by row."""
        return tuple((row, column) for row in range(self.rows) for column in range(self.columns))

    # The rules

    def initial_state(self, seed: int | None = None) -> MazeState:
        rng = Rng.seeded(seed)
        start, goal = self._ends(rng)
        inner = [cell for cell in self.cells if cell not in (start, goal)]
        walls = self._build(rng, start, goal, inner)
        while walls is None:
            walls = self._build(rng, start, goal, inner)
        rng.shuffle(inner)
        seats = {cell: number % self.maps for number, cell in enumerate(inner)}
        shown = self._by_row(seats)
        said = [0] * self.num_players
        return MazeState(rng, walls, shown, start, goal, start, (start,), said)

    def _ends(self, rng: Rng) -> tuple[Cell, Cell]:
        """A start and a goal that lie far enough apart."""
        while True:
            start, goal = rng.choice(self.cells), rng.choice(self.cells)
            if 2 * (abs(start[0] - goal[0]) + abs(start[1] - goal[1])) >= self.rows + self.columns:
                return start, goal

    def _build(
        self,
        rng: Rng,
        start: Cell,
        goal: Cell,
        free: Sequence[Cell],
        walls: Sequence[Cell] = (),
    ) -> tuple[Cell, ...] | None:
        """Add walls on the free cells at random; None if that leaves no way."""
        drawn = {*walls, *(cell for cell in free if rng.random() < self.wall_density)}
        return tuple(sorted(drawn)) if start in distances(self.cells, drawn, goal) else None

    def _by_row(self, seats: Mapping[Cell, int]) -> tuple[tuple[int, ...], ...]:
        """Seats by cell as rows of seats; 0 for cells that are not given."""
        columns = range(self.columns)
        return tuple(tuple(seats.get((row, c), 0) for c in columns) for row in range(self.rows))

    counters = ("turn",)

    def without_counters(self, state: MazeState) -> MazeState:
        """A copy whose turn says only who is to move."""
        still = self.clone(state)
        still.turn %= self.num_players
        return still

    def to_act(self, state: MazeState) -> tuple[int, ...]:
        return () if state.ended else ((self.starts + state.turn) % self.num_players,)

    def legal(self, state: MazeState, seat: int) -> Grammar:
        if self.protocol == "dialogue":
            return dialogue_grammar(self.message_limit)
        inside = tuple(move for move in MOVES if beside(state.marker, move) in self.cells)
        return grammar(inside, bool(state.proposal), self.message_limit)

    def step(self, state: MazeState, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        events = [self._action_event(seat, action)]
        state.turn += 1
        if isinstance(action, Agree):
            state.votes += 1
        elif isinstance(action, Propose):
            state.proposal, state.votes = action.move, 1
        elif isinstance(action, Finish):
            state.votes += 1
        else:
            state.proposal, state.votes = "", 0
            state.said[seat] = line_number(action, self.lines)
            if self.protocol == "dialogue":
                state.dialogue += ((seat, action.text),)
        if state.votes == self.num_players and self.protocol == "steps":
            events += self._move(state)
        late = state.turn >= self.max_turns
        if self.protocol == "dialogue" and (late or state.votes == self.num_players):
            events += self._walk(state)
        elif not state.ended and late:
            state.ended = "time"
            events.append(Event("end", "Time is up."))
        if not state.ended:
            return Step(events=events)
        paid = self.progress(state)
        rewards = {p: {"progress": paid} for p in range(self.num_players)} if paid else {}
        return Step(rewards=rewards, events=events)

    def _action_event(self, seat: int, action: TextAction) -> Event:
        name = self.players[seat]
        if isinstance(action, Say):
            data = {"player": seat, "text": action.text}
            return Event("message", f"{name} says: {self.quoted(action.text)}", data)
        if isinstance(action, Propose):
            data = {"player": seat, "move": action.move}
            return Event("proposal", f"{name} proposes to go {action.move}.", data)
        if isinstance(action, Finish):
            done = "finishes the route" if self.num_players == 1 else "says that all is agreed"
            return Event("finish", f"{name} {done}.", {"player": seat})
        return Event("answer", f"{name} agrees.", {"player": seat})

    def _move(self, state: MazeState) -> list[Event]:
        """Make the step that all have agreed to."""
        move, there = state.proposal, beside(state.marker, state.proposal)
        state.proposal, state.votes, state.said = "", 0, [0] * self.num_players
        if there in state.walls and self.walls == "stay":
            state.bumped = tuple(sorted({*state.bumped, there}))
            return [Event("reveal", f"{place_text(there)}, is a wall. The marker stays.")]
        if there in state.walls:
            state.ended = "wall"
            return [Event("reveal", f"{place_text(there)}, is a wall. The game is over.")]
        state.marker = there
        if there not in state.trail:
            state.trail += (there,)
        events = [Event("reveal", f"The marker goes {move} to {place_text(there).lower()}.")]
        if there == state.goal:
            state.ended = "goal"
            events.append(Event("end", "The marker has reached the goal."))
        return events

    def _walk(self, state: MazeState) -> list[Event]:
        """Lead the marker along the route that was agreed on in a dialogue, and end the game."""
        route = read_route(state.dialogue, state.start, self.num_players)
        done = self.walked(state, route)
        state.marker, state.trail, state.bumped = done.marker, done.trail, done.bumped
        state.ended = done.ended or ("agreed" if state.votes == self.num_players else "time")
        steps = ", ".join(route) or "none"
        agreed = "Steps" if self.num_players == 1 else "Agreed steps"
        text = f"{agreed}: {steps}. The marker ends in {place_text(state.marker).lower()}."
        return [Event("reveal", text, {"route": route})]

    def walked(self, state: MazeState, route: Sequence[str]) -> MazeState:
        """A copy in which the marker has walked a route, up to the goal or what stops it."""
        copy = self.clone(state)
        for move in route:
            there = beside(copy.marker, move)
            blocked = there in copy.walls or there not in self.cells
            if blocked and self.walls == "stay":
                copy.bumped = tuple(sorted({*copy.bumped, there} & set(copy.walls)))
            elif blocked:
                copy.ended = "wall"
                return copy
            else:
                copy.marker = there
                copy.trail = tuple(dict.fromkeys((*copy.trail, there)))
            if copy.marker == copy.goal:
                copy.ended = "goal"
                return copy
        return copy

    def progress(self, state: MazeState) -> float:
        """The share of the shortest path from start to goal that the marker has covered."""
        ways = distances(self.cells, state.walls, state.goal)
        return max(0.0, 1.0 - ways[state.marker] / ways[state.start])

    def outcome(self, state: MazeState) -> Outcome | None:
        if not state.ended:
            return None
        score = self.progress(state)
        result: Result = "truncated" if state.ended == "time" else "score"
        reason = {
            "goal": "The marker reached the goal.",
            "wall": "The marker was led into a wall.",
            "time": "Time ran out.",
            "agreed": "The route does not lead to the goal.",
        }[state.ended]
        return Outcome((result,) * self.num_players, (score,) * self.num_players, reason)

    def truncated(self, state: MazeState) -> bool:
        return state.ended == "time"

    def opening(self, state: MazeState) -> Sequence[Event]:
        text = f"Start: {place_text(state.start).lower()}. Goal: {place_text(state.goal).lower()}."
        return [Event("start", text, {"start": state.start, "goal": state.goal})]

    # What is hidden

    def knows(self, state: MazeState, seat: int, cell: Cell) -> bool:
        """Whether a player sees a cell, or knows it because the marker has been there."""
        row, column = cell
        shown: bool = self.num_players == 1 or state.shown[row][column] == seat
        return shown or cell == state.goal or cell in state.trail or cell in state.bumped

    def determinize(self, state: MazeState, seat: int, rng: Rng) -> MazeState:
        """Draw unknown cells as mazes are drawn, so that there is a way, and which seat sees them.

        What players said is ignored. If many draws find no path, all unknown cells are open.
        """
        copy = self.clone(state)
        unknown = [cell for cell in self.cells if not self.knows(state, seat, cell)]
        kept = tuple(cell for cell in state.walls if self.knows(state, seat, cell))
        copy.walls = kept
        for _ in range(REDRAWS):
            walls = self._build(rng, state.start, state.goal, unknown, kept)
            if walls is not None:
                copy.walls = walls
                break
        seats = {(row, column): state.shown[row][column] for row, column in self.cells}
        others = [c for c in self.cells if seats[c] != seat and c not in (state.start, state.goal)]
        drawn = sorted(seats[cell] for cell in others)
        rng.shuffle(drawn)
        copy.shown = self._by_row(seats | dict(zip(others, drawn, strict=True)))
        return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        alone, steps = self.num_players == 1, self.protocol == "steps"
        if alone:
            parts = [self._solo_head(), SOLO_STEPS_RULES if steps else SOLO_DIALOGUE_RULES]
        else:
            parts = [TEAM_RULES.rstrip(), STEPS_RULES if steps else DIALOGUE_RULES]
        maps = "every map" if self.solo_maps > 1 else "your map"
        unseen = "" if alone and self.solo_maps == 1 else ", ? a cell it does not show"
        parts.append(
            f"Rows are counted from 1 in the north, columns from 1 in the west. On {maps} . is "
            f"open, # a wall{unseen}, M the marker and G the goal."
        )
        if steps:
            wall = "" if self.walls == "stay" else ", when it is led into a wall,"
            parts.append(f"The game ends when the marker reaches the goal{wall} or time is up.")
        elif self.walls == "end":
            parts.append("A step into a wall ends its walk.")
        if self.walls == "stay":
            shown = "it" if alone else "the wall to all"
            parts.append(f"A step into a wall leaves the marker where it is and shows {shown}.")
        paid = "You are paid" if alone else "All are paid the same:"
        parts.append(
            f"{paid} 1 for the goal, otherwise the share of the shortest way from the start to the "
            "goal that lies behind the marker where it is then."
        )
        players = "" if alone else f" of all players together. There are {self.num_players} players"
        return (
            f"{paragraphs(' '.join(parts))}\nThe maze has {self.rows} rows and {self.columns} "
            f"columns; time is up after {self.max_turns} turns{players}."
        )

    def _solo_head(self) -> str:
        seen = (
            f"You have {self.solo_maps} maps, and every cell but start and goal is on one of them."
            if self.solo_maps > 1
            else "You see all of it."
        )
        return f"You lead one marker through a maze. {seen}\n\n"

    def codes(self, state: MazeState, seat: int) -> list[int]:
        """What a player knows of every cell, row by row."""
        walls = set(state.walls)
        return [
            (WALL if cell in walls else OPEN) if self.knows(state, seat, cell) else UNKNOWN
            for cell in self.cells
        ]

    def describe(self, state: MazeState, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}. Turn {state.turn} of {self.max_turns}.",
            f"The marker is in {place_text(state.marker).lower()}, the goal in "
            f"{place_text(state.goal).lower()}.{self._map_text(state, seat)}",
            *self._said(state),
        ]
        if self.protocol == "steps" and self.num_players > 1:
            lines.append(self._standing(state))
        return "\n".join(lines)

    def _map_text(self, state: MazeState, seat: int) -> str:
        """The player's map, or maps."""
        codes = self.codes(state, seat)
        if self.solo_maps == 1:
            return f" Your map:\n{self._draw_map(state, codes)}"
        texts = [f" You have {self.solo_maps} maps; each shows another part."]
        for part in range(self.solo_maps):
            seen = [
                code if self._is_on(state, part, cell) else UNKNOWN
                for cell, code in zip(self.cells, codes, strict=True)
            ]
            texts.append(f"Map {part + 1}:\n{self._draw_map(state, seen)}")
        return "\n".join(texts)

    def _is_on(self, state: MazeState, part: int, cell: Cell) -> bool:
        """Whether a partial map shows a cell."""
        return state.shown[cell[0]][cell[1]] == part or cell in (*state.trail, *state.bumped)

    def _draw_map(self, state: MazeState, codes: Sequence[int]) -> str:
        glyphs = [GLYPHS[code] for code in codes]
        for cell, glyph in ((state.goal, "G"), (state.marker, "M")):
            glyphs[cell[0] * self.columns + cell[1]] = glyph
        wide = len(str(self.rows))
        return "\n".join(
            f"row {row + 1:{wide}}  {''.join(glyphs[row * self.columns :][: self.columns])}"
            for row in range(self.rows)
        )

    def _said(self, state: MazeState) -> Iterator[str]:
        """What each player said last since the last step, as far as the observation has it."""
        for seat, index in enumerate(state.said):
            if index:
                known = index <= len(self.lines)
                words = self.quoted(self.lines[index - 1].text) if known else "something else"
                yield f"{self.players[seat]}: {words}"

    def _talk(self, state: MazeState) -> Talk:
        """The dialogue, or what each player said last."""
        said = [
            (seat, self.lines[index - 1].text if index <= len(self.lines) else "(something else)")
            for seat, index in enumerate(state.said)
            if index
        ]
        return Talk(
            tuple(
                Saying(self.players[s], self.quoted(text), s)
                for s, text in (*state.dialogue, *said)
            )
        )

    def _standing(self, state: MazeState) -> str:
        if not state.proposal:
            return "There is no proposal."
        backers = [
            self.players[(self.starts + state.turn - 1 - back) % self.num_players]
            for back in reversed(range(state.votes))
        ]
        return f"Proposed: go {state.proposal}. For it so far: {', '.join(backers)}."

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = [WALL] * len(self.cells) + [self.rows - 1, self.columns - 1] * 2
        top += [self.num_players - 1 or 1, len(MOVES), self.num_players]
        top += [len(self.lines) + 1] * self.num_players + [self.max_turns]
        return spaces.Box(np.zeros(len(top), np.int16), np.array(top, np.int16), dtype=np.int16)

    def observe(self, state: MazeState, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        proposal = MOVES.index(state.proposal) + 1 if state.proposal else 0
        row = [*self.codes(state, seat), *state.marker, *state.goal, seat]
        return np.array([*row, proposal, state.votes, *state.said, state.turn], np.int16)

    def scene(self, state: MazeState, seat: int | None = None) -> Scene:
        """The maze; for a player, the cells they do not know are shaded."""
        unknown = [c for c in self.cells if seat is not None and not self.knows(state, seat, c)]
        wall = Piece("#", label="wall", sprite="wall")
        pieces = {cell: wall for cell in state.walls if cell not in unknown}
        pieces[state.start] = Piece("S", "grey", "mark", "start", "door")
        pieces[state.goal] = Piece("G", "green", label="goal", sprite="flag")
        pieces[state.marker] = Piece("M", 0, "disc", "marker", "robot")
        grid = Grid(
            tuple(
                tuple(pieces.get((row, column)) for column in range(self.columns))
                for row in range(self.rows)
            ),
            row_labels=tuple(str(row + 1) for row in range(self.rows)),
            column_labels=tuple(str(column + 1) for column in range(self.columns)),
            marks=mark_cells("last", sorted(set(state.trail))),
            style="floor",
            shaded=frozenset(unknown),
        )
        caption = f"Turn {state.turn} of {self.max_turns}"
        standing = (self._standing(state),) if self.protocol == "steps" else ()
        talk = self._talk(state)
        return Scene(caption, lines=standing, parts=(grid, *((talk,) if talk.sayings else ())))


def paragraphs(text: str) -> str:
    """A text with one line per paragraph."""
    return "\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def place_text(cell: Cell) -> str:
    """A cell in words, such as 'Row 1, column 3'."""
    return f"Row {cell[0] + 1}, column {cell[1] + 1}"


def distances(cells: Sequence[Cell], walls: Iterable[Cell], goal: Cell) -> dict[Cell, int]:
    """The steps to the goal from every cell that has a way there."""
    open_cells = set(cells).difference(walls)

    def steps(cell: Cell) -> Iterator[tuple[int, Cell]]:
        for number, move in enumerate(MOVES):
            there = beside(cell, move)
            if there in open_cells:
                yield number, there

    return {cell: route.length for cell, route in routes(goal, steps).items()}


def line_number(action: TextAction, lines: Sequence[TextAction]) -> int:
    """The number of a line in the observation; one more than there are lines for other words."""
    return lines.index(action) + 1 if action in lines else len(lines) + 1


@dataclass(frozen=True, slots=True)
class Speech(Text):
    """Free text whose lines that begin as proposals must name steps."""

    def problem(self, value: object) -> str | None:
        if why := super(Speech, self).problem(value):
            return why
        line = unread_proposal(str(value))
        example = "'Propose: north, east'"
        return (
            f"has a line {line!r}; a proposal names {', '.join(MOVES)}, as in {example}"
            if line
            else None
        )


@lru_cache(maxsize=64)
def dialogue_grammar(message_limit: int) -> Grammar:
    """Say something, or say that all is agreed."""
    text = Speech(message_limit, tuple(line.text for line in DIALOGUE_LINES))
    return Grammar((Option(Say, {"text": text}), Option(Finish)))


@lru_cache(maxsize=256)
def grammar(moves: tuple[str, ...], proposed: bool, message_limit: int) -> Grammar:
    """The legal actions, with the moves that stay inside and with or without a proposal."""
    text = Text(message_limit, tuple(line.text for line in LINES))
    options = [Option(Say, {"text": text}), Option(Propose, {"move": OneOf(moves)})]
    return Grammar((*options, Option(Agree)) if proposed else tuple(options))
