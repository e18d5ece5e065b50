"""Mining: gather and craft on a grid until a diamond can be dug, between pools of lava.

The technology is that of Crafter (Hafner, 2021) as far as the diamond: wood, a wooden pickaxe,
stone, a stone pickaxe, iron, an iron pickaxe, a diamond. Only the diamond pays, which is what dense
rewards such as those of Auto MC-Reward (Li et al., 2024) are designed for.

Checked: costs and orders of the tools by hand; every land can be solved.

Left out: hunger, thirst, sleep, night and enemies of Crafter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

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
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)

DIRECTIONS = ("north", "south", "west", "east")
GROUND, WOOD, STONE, IRON, DIAMOND, LAVA = range(6)
NAMES = ("ground", "tree", "stone", "iron", "diamond", "lava")
GATHERED = ("", "wood", "stone", "iron", "diamond")
GLYPHS = ".TSID~"
COLOURS = ("", "green", "silver", "orange", "blue", "red")
SPRITES = ("", "tree", "ore", "ore", "gem", "fire")
GROUNDS = ("grass", "grass", "mountains", "mountains", "mountains", "lava")
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
TOOLS = ("wooden pickaxe", "stone pickaxe", "iron pickaxe")
# What each tool is made of, and the tool without which a block cannot be dug
RECIPES = ({WOOD: 1}, {WOOD: 1, STONE: 1}, {WOOD: 1, IRON: 1})
NEEDS = {WOOD: 0, STONE: 1, IRON: 2, DIAMOND: 3}
MILESTONES = ("wood", TOOLS[0], "stone", TOOLS[1], "iron", TOOLS[2], "diamond")
LEAST = {WOOD: 3, STONE: 1, IRON: 1, DIAMOND: 1}


class Move(TextAction, frozen=True):
    """Take a step, or dig what stands in the way."""

    direction: str


class Craft(TextAction, frozen=True):
    """Make a tool of what you have."""

    tool: str


@dataclass(slots=True)
class Mine:
    """The state: the land, where the player stands, and what they have."""

    rng: Rng
    cells: tuple[int, ...]  # row by row
    place: int
    have: tuple[int, ...] = (0, 0, 0, 0, 0)  # of each block, by its number
    tools: int = 0  # made so far, in their order
    steps: int = 0
    burnt: bool = False


@environment(
    "games/Mining-v0",
    family="text",
    tags=("planning", "grid", "perfect-information", "deterministic"),
    paper=(
        "Hafner (2021), Benchmarking the Spectrum of Agent Capabilities; Li et al. (2024), "
        "Auto MC-Reward: Automated Dense Reward Design with Large Language Models for Minecraft"
    ),
)
@dataclass(frozen=True)
class Mining(TextGame[Mine]):
    """Mining: gather, craft three pickaxes and dig a diamond, without stepping into lava.

    The menu numbers Move in four directions, then Craft of each tool. An observation is an int16
    vector: the cells row by row (0 ground, 1 tree, 2 stone, 3 iron, 4 diamond, 5 lava), the
    player's cell, wood, stone, iron and diamonds in hand, tools made, steps taken. The diamond
    pays 1 and nothing else pays.
    """

    rows: Annotated[int, Meta(ge=4, le=12, description="rows of the land")] = 6
    columns: Annotated[int, Meta(ge=4, le=12, description="columns of the land")] = 6
    lava: Annotated[int, Meta(ge=0, le=20, description="cells of lava")] = 3
    spare: Annotated[
        int, Meta(ge=0, le=4, description="blocks of every kind beyond those that are needed")
    ] = 1
    max_steps: Annotated[int, Meta(ge=10, le=10_000, description="most steps in an episode")] = 80

    rules_text = """
        You look for a diamond on a grid of cells.

        In your turn write one of:
        Move(direction='north') to go north, south, west or east; if a tree, stone, iron or a
        diamond stands there, you dig it instead, and the cell is ground from then on;
        Craft(tool='wooden pickaxe') to make a tool of what you have.
        A wooden pickaxe takes 1 wood, a stone pickaxe 1 wood and 1 stone, an iron pickaxe 1 wood
        and 1 iron; they are made in this order. A tree gives wood without a tool. Stone needs a
        wooden pickaxe, iron a stone one, a diamond an iron one. Stepping into lava ends the game.
        The diamond pays 1, everything else 0.
    """
    counters = ("steps",)
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = True
    deterministic = True
    reward_terms = ("diamond",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Move, Craft)
    menu = (*map(Move, DIRECTIONS), *map(Craft, TOOLS))

    def validate(self) -> None:
        things = self.lava + sum(LEAST.values()) + 3 * self.spare + 1
        if things > self.rows * self.columns // 2:
            raise InvalidOption(
                f"lava and blocks would fill {things} of {self.rows * self.columns} cells; at most "
                "half may be filled, so make the land larger, or lava or spare smaller"
            )

    # The rules

    def initial_state(self, seed: int | None = None) -> Mine:
        """A land on which the diamond can be reached; lands are drawn until one is."""
        rng = Rng.seeded(seed)
        blocks = [LAVA] * self.lava + [DIAMOND]
        for kind in (WOOD, STONE, IRON):
            blocks += [kind] * (LEAST[kind] + self.spare)
        while True:
            places = list(range(self.rows * self.columns))
            rng.shuffle(places)
            cells = [GROUND] * len(places)
            for kind, place in zip(blocks, places, strict=False):
                cells[place] = kind
            state = Mine(rng, tuple(cells), places[-1])
            if self.solution(state):
                return state

    def beside(self, place: int) -> list[int]:
        """The cells to the north, south, west and east; -1 beyond the edge."""
        row, column = divmod(place, self.columns)
        found = []
        for down, right in STEPS:
            there = (row + down, column + right)
            inside = 0 <= there[0] < self.rows and 0 <= there[1] < self.columns
            found.append(there[0] * self.columns + there[1] if inside else -1)
        return found

    def to_act(self, state: Mine) -> tuple[int, ...]:
        over = state.burnt or state.have[DIAMOND] or state.steps == self.max_steps
        return () if over else (0,)

    def ways(self, state: Mine) -> tuple[str, ...]:
        """The directions in which there is ground, lava, or a block that can be dug now."""
        cells = [state.cells[to] if to >= 0 else -1 for to in self.beside(state.place)]
        open_now = [kind >= 0 and NEEDS.get(kind, 0) <= state.tools for kind in cells]
        return tuple(way for way, free in zip(DIRECTIONS, open_now, strict=True) if free)

    def affordable(self, state: Mine) -> bool:
        """Whether the next tool can be made."""
        if state.tools == len(TOOLS):
            return False
        return all(state.have[kind] >= count for kind, count in RECIPES[state.tools].items())

    def legal(self, state: Mine, seat: int) -> Grammar:
        options = []
        if ways := self.ways(state):
            options.append(Option(Move, {"direction": OneOf(ways)}))
        if self.affordable(state) or not ways:
            options.append(Option(Craft, {"tool": OneOf((TOOLS[min(state.tools, 2)],))}))
        return Grammar(tuple(options))

    def step(self, state: Mine, actions: Mapping[int, Any]) -> Step:
        action, state.steps = actions[0], state.steps + 1
        if isinstance(action, Craft):
            return self._craft(state, action)
        to = self.beside(state.place)[DIRECTIONS.index(action.direction)]
        kind = state.cells[to]
        if kind in NEEDS:
            return self._dig(state, to, kind)
        state.place, state.burnt = to, kind == LAVA
        text = f"You go {action.direction}" + (" into the lava." if state.burnt else ".")
        return Step(events=[Event("move", text, {"place": to, "burnt": state.burnt})])

    def _dig(self, state: Mine, to: int, kind: int) -> Step:
        state.cells = (*state.cells[:to], GROUND, *state.cells[to + 1 :])
        state.have = tuple(n + (k == kind) for k, n in enumerate(state.have))
        event = Event("dig", f"You dig {GATHERED[kind]}.", {"block": GATHERED[kind]})
        return Step({0: {"diamond": 1.0}} if kind == DIAMOND else {}, events=[event])

    def _craft(self, state: Mine, action: Craft) -> Step:
        if not self.affordable(state):
            return Step(events=[Event("craft", "You lack what it takes.", {"tool": ""})])
        cost = RECIPES[state.tools]
        state.have = tuple(n - cost.get(kind, 0) for kind, n in enumerate(state.have))
        state.tools += 1
        text = f"You make a {action.tool}." if state.tools < 3 else f"You make an {action.tool}."
        return Step(events=[Event("craft", text, {"tool": action.tool})])

    def outcome(self, state: Mine) -> Outcome | None:
        if self.to_act(state):
            return None
        if state.have[DIAMOND]:
            return Outcome(("win",), (1.0,), "The diamond was dug.")
        if state.burnt:
            return Outcome(("loss",), (0.0,), "The player stepped into lava.")
        return Outcome(("truncated",), (0.0,), "Time ran out.")

    def truncated(self, state: Mine) -> bool:
        return not self.to_act(state) and not state.burnt and not state.have[DIAMOND]

    def reached(self, state: Mine) -> tuple[str, ...]:
        """The milestones so far: a tool tells that what it is made of was gathered."""
        done = 2 * state.tools
        kind = (WOOD, STONE, IRON, DIAMOND)[state.tools]
        return MILESTONES[: done + (state.have[kind] > 0)]

    def record_facts(self, state: Mine) -> dict[str, Any]:
        """Facts for the record: milestones of the technology, and their share."""
        reached = self.reached(state)
        return {"progress": len(reached) / len(MILESTONES), "milestones": list(reached)}

    def solution(self, state: Mine) -> list[TextAction]:
        """Moves to the diamond that fetch the nearest block needed next; none without a way."""
        copy, moves = self.clone(state), []
        while not copy.have[DIAMOND]:
            plan: list[TextAction]
            if self.affordable(copy):
                plan = [Craft(TOOLS[copy.tools])]
            else:
                recipe = RECIPES[copy.tools] if copy.tools < 3 else {DIAMOND: 1}
                lacking = {kind for kind, count in recipe.items() if copy.have[kind] < count}
                plan = [Move(way) for way in self._path(copy, lacking)]
            if not plan:
                return []
            for action in plan:
                self.step(copy, {0: action})
            moves += plan
        return moves

    def _path(self, state: Mine, kinds: set[int]) -> list[str]:
        """The shortest way over ground to a block of these kinds that can be dug."""
        wanted = {kind for kind in kinds if NEEDS[kind] <= state.tools}
        came: dict[int, tuple[int, str]] = {state.place: (-1, "")}
        queue = deque([state.place])
        while queue:
            at = queue.popleft()
            for way, to in zip(DIRECTIONS, self.beside(at), strict=True):
                if to < 0 or to in came:
                    continue
                came[to] = (at, way)
                if state.cells[to] in wanted:
                    return self._way_back(came, to)
                if state.cells[to] == GROUND:
                    queue.append(to)
        return []

    @staticmethod
    def _way_back(came: Mapping[int, tuple[int, str]], place: int) -> list[str]:
        ways: list[str] = []
        while came[place][0] >= 0:
            place, way = came[place]
            ways.append(way)
        return ways[::-1]

    # What the player sees

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\nYou have {self.max_steps} steps."

    def describe(self, state: Mine, seat: int) -> str:
        rows = ["".join(line) for line in self._draw_mine(state)]
        return "\n".join(
            [
                f"Steps taken: {state.steps} of {self.max_steps}.",
                "Land, north above (@ you, . ground, T tree, S stone, I iron, D diamond, ~ lava):",
                *rows,
                f"You have: {self._belongings(state)}.",
            ]
        )

    def _belongings(self, state: Mine) -> str:
        have = [f"{state.have[kind]} {GATHERED[kind]}" for kind in NEEDS if state.have[kind]]
        return ", ".join([*have, *TOOLS[: state.tools]]) or "nothing"

    def _draw_mine(self, state: Mine) -> list[list[str]]:
        glyphs = [GLYPHS[kind] for kind in state.cells]
        glyphs[state.place] = "@"
        return [glyphs[n * self.columns : (n + 1) * self.columns] for n in range(self.rows)]

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = self.rows * self.columns + 7
        return spaces.Box(0, max(self.max_steps, self.rows * self.columns), (size,), np.int16)

    def observe(self, state: Mine, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        own = [state.place, *state.have[1:], state.tools, state.steps]
        return np.array([*state.cells, *own], np.int16)

    def scene(self, state: Mine, seat: int | None = None) -> Scene:
        pieces = [
            Piece(GLYPHS[kind], COLOURS[kind], "tile", NAMES[kind], SPRITES[kind]) if kind else None
            for kind in state.cells
        ]
        pieces[state.place] = Piece("@", 0, "disc", "you", "person")
        ground = [GROUNDS[kind] for kind in state.cells]
        rows = [slice(n * self.columns, (n + 1) * self.columns) for n in range(self.rows)]
        grid = Grid(
            tuple(tuple(pieces[row]) for row in rows),
            ground=tuple(tuple(ground[row]) for row in rows),
        )
        done = f"{len(self.reached(state))} of {len(MILESTONES)}"
        return Scene(grid=grid, lines=(f"Milestones: {done}", f"Has {self._belongings(state)}"))


@agent("miner")
class Miner(ScriptedAgent[Mining]):
    """Fetches the nearest block of those it needs next, and crafts as soon as it can."""

    def choose(self, turn: Turn[Mining]) -> TextAction:
        ahead = turn.game.solution(turn.fork(Rng(0)).state)
        return ahead[0] if ahead else turn.legal_actions[0]
