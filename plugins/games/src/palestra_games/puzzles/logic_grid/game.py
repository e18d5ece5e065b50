"""Logic grid: who lives in which house and has what, from clues with one solution.

People who live in a row of houses differ in everything: name, colour of the house, pet, drink and
so on; every value is in exactly one house. Clues say that two values are in the same house or not,
side by side, one directly or somewhere left of the other, or say which house one is in. The player
notes values by house and may take a note back; the puzzle is over when all are noted. Every clue is
needed: without it there would be a second solution. These are the logic grid puzzles of Solo
Performance Prompting (Wang et al., "Unleashing Cognitive Synergy in Large Language Models", 2023),
of which the zebra's is the best known.

Checked: the solver finds the published solution of the zebra puzzle, the Norwegian
drinks water and the Japanese has the zebra; a count over all arrangements shows that puzzles have
one solution and need every clue.

Left out: the authors' puzzles, which come from a public collection; here they are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
    Result,
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

from palestra_games.puzzles.logic_grid.solver import (
    ACROSS,
    HERE,
    SYMMETRIC,
    Clue,
    holds,
    solutions,
)

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "name": ("Ada", "Ben", "Cleo", "Dov", "Esra", "Finn"),
    "colour": ("red", "green", "ivory", "yellow", "blue", "brown"),
    "pet": ("dog", "fox", "horse", "snail", "zebra", "parrot"),
    "drink": ("coffee", "tea", "milk", "juice", "water", "cocoa"),
    "hobby": ("chess", "dancing", "gardening", "painting", "reading", "singing"),
    "tree": ("ash", "birch", "cedar", "elm", "maple", "oak"),
}
CLUES = (
    "{} and {} are in the same house.",
    "{} is next to {}.",
    "{} is directly left of {}.",
    "{} is somewhere to the left of {}.",
    "{} and {} are in different houses.",
    "{} is in house {}.",
)
MAX_HOUSES = 6
MAX_CLUES = 60
NOWHERE = -1


class Put(TextAction, frozen=True):
    """Note that a value is in a house; what was noted there of its kind is taken back."""

    value: str
    house: int


class Clear(TextAction, frozen=True):
    """Take back where a value is noted."""

    value: str


@dataclass(slots=True)
class Notes:
    """The state: a puzzle, and what the player has noted."""

    rng: Rng
    solution: tuple[int, ...]  # by value, its house
    clues: tuple[Clue, ...]
    noted: list[int]  # by value, the house it is noted in; NOWHERE if in none
    moves: int = 0


@environment(
    "games/LogicGrid-v0",
    family="grid",
    tags=("puzzle", "perfect-information", "deterministic"),
    paper=(
        "Wang et al. (2023), Unleashing Cognitive Synergy in Large Language Models: A "
        "Task-Solving Agent through Multi-Persona Self-Collaboration"
    ),
)
@dataclass(frozen=True)
class LogicGrid(TextGame[Notes]):
    """Logic grid: find out from clues who lives in which house and has what.

    The menu numbers Put of every value in every house, then Clear of every value. An observation is
    an int16 vector: the house in which each value is noted (1 + house, 0 none), by attribute and
    value; then for each of 60 possible clues 1 + its kind, its first value and its second value or
    house, all counted from 0 over all attributes, with zeros where there are no more clues; moves
    made. At the end the player is paid the share of values noted in the right house, 1 for the
    solution.
    """

    houses: Annotated[
        int, Meta(ge=2, le=MAX_HOUSES, description="houses, and values of each attribute")
    ] = 4
    attributes: Annotated[
        int,
        Meta(
            ge=1, le=len(ATTRIBUTES), description="number of attributes in which the people differ"
        ),
    ] = 3
    max_moves: Annotated[
        int, Meta(ge=1, le=10_000, description="most moves in an episode, at least one per value")
    ] = 100

    rules_text = """
        You solve a puzzle about houses in a row, numbered from 1 on the left.

        Everybody lives in another house, and every value is in exactly one of them. Find out from
        the clues which is where. In your turn write Put(value='red', house=2) to note where a value
        is; what you had noted there of the same kind is taken back. Clear(value='red') takes a note
        back. It is over when every value is noted or time is up, and you are paid the share that is
        right.
    """
    counters = ("moves",)
    order = "sequential"
    payoffs = "general"
    num_players = 1
    deterministic = True
    reward_terms = ("right",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Put, Clear)

    def validate(self) -> None:
        least = self.houses * self.attributes
        if self.max_moves < least:
            raise InvalidOption(
                f"max_moves must be from {least} to 10000 with {self.houses} houses and "
                f"{self.attributes} attributes, not {self.max_moves}"
            )

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(ATTRIBUTES)[: self.attributes]

    @cached_property
    def values(self) -> tuple[str, ...]:
        """All values, attribute by attribute."""
        return tuple(value for kind in self.kinds for value in ATTRIBUTES[kind][: self.houses])

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        houses = range(1, self.houses + 1)
        puts = (Put(value, house) for value in self.values for house in houses)
        return (*puts, *map(Clear, self.values))

    # The rules

    def initial_state(self, seed: int | None = None) -> Notes:
        rng = Rng.seeded(seed)
        solution, clues = make_puzzle(rng.word(), self.houses, self.attributes)
        return Notes(rng, solution, clues, [NOWHERE] * len(self.values))

    def to_act(self, state: Notes) -> tuple[int, ...]:
        over = NOWHERE not in state.noted or state.moves == self.max_moves
        return () if over else (0,)

    def legal(self, state: Notes, seat: int) -> Grammar:
        houses = tuple(range(1, self.houses + 1))
        noted = [v for v, house in zip(self.values, state.noted, strict=True) if house != NOWHERE]
        put = Option(Put, {"value": OneOf(self.values), "house": OneOf(houses)})
        return Grammar((put, Option(Clear, {"value": OneOf(tuple(noted))})) if noted else (put,))

    def step(self, state: Notes, actions: Mapping[int, Any]) -> Step:
        action, state.moves = actions[0], state.moves + 1
        number = self.values.index(action.value)
        if isinstance(action, Clear):
            state.noted[number] = NOWHERE
            event = Event("clear", f"You take back where {action.value} is.")
            return Step(self._rewards(state), events=[event])
        first = number // self.houses * self.houses
        for other in range(first, first + self.houses):
            if state.noted[other] == action.house - 1:
                state.noted[other] = NOWHERE
        state.noted[number] = action.house - 1
        text = f"You note {action.value} in house {action.house}."
        events = [Event("note", text, {"value": action.value, "house": action.house})]
        return Step(self._rewards(state), events=events)

    def _rewards(self, state: Notes) -> dict[int, dict[str, float]]:
        share = 0.0 if self.to_act(state) else self.share(state)
        return {0: {"right": share}} if share else {}

    def share(self, state: Notes) -> float:
        """The share of values that are noted in their right houses."""
        right = sum(a == b for a, b in zip(state.noted, state.solution, strict=True))
        return right / len(state.noted)

    def outcome(self, state: Notes) -> Outcome | None:
        if self.to_act(state):
            return None
        share = self.share(state)
        result: Result = "win" if share == 1 else "truncated" if self.truncated(state) else "loss"
        return Outcome((result,), (share,), f"{share:.0%} of the values are right")

    def truncated(self, state: Notes) -> bool:
        return state.moves == self.max_moves and NOWHERE in state.noted

    # What the player sees

    def rules_for(self, seat: int) -> str:
        kinds = [f"{kind}: {', '.join(ATTRIBUTES[kind][: self.houses])}" for kind in self.kinds]
        lines = [super().rules_for(seat), f"There are {self.houses} houses. {'. '.join(kinds)}."]
        return "\n".join([*lines, f"You have {self.max_moves} moves."])

    def clue_text(self, clue: Clue) -> str:
        """A clue in words."""
        other = clue.other + 1 if clue.kind == HERE else self.values[clue.other]
        return CLUES[clue.kind].format(self.values[clue.one], other)

    def describe(self, state: Notes, seat: int) -> str:
        lines = [f"{n}. {self.clue_text(clue)}" for n, clue in enumerate(state.clues, 1)]
        for house in range(self.houses):
            there = [v for v, at in zip(self.values, state.noted, strict=True) if at == house]
            lines.append(f"House {house + 1}: {', '.join(there) or 'nothing noted'}.")
        return "\n".join([*lines, f"Moves: {state.moves} of {self.max_moves}."])

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = len(self.values) + 3 * MAX_CLUES + 1
        return spaces.Box(0, max(self.max_moves, 100), (size,), np.int16)

    def observe(self, state: Notes, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        obs = np.zeros(self._space.shape, np.int16)
        count = len(self.values)
        obs[:count] = [1 + house for house in state.noted]
        for n, clue in enumerate(state.clues):
            obs[count + 3 * n : count + 3 * n + 3] = [1 + clue.kind, clue.one, clue.other]
        obs[-1] = state.moves
        return obs

    def scene(self, state: Notes, seat: int | None = None) -> Scene:
        rows = []
        for first in range(0, len(self.values), self.houses):
            row: list[Piece | None] = [None] * self.houses
            for number in range(first, first + self.houses):
                if state.noted[number] != NOWHERE:
                    value = self.values[number]
                    row[state.noted[number]] = Piece(value[:2].title(), "white", "word", value)
            rows.append(tuple(row))
        columns = tuple(str(house + 1) for house in range(self.houses))
        grid = Grid(tuple(rows), row_labels=self.kinds, column_labels=columns)
        return Scene(grid=grid, lines=tuple(self.clue_text(clue) for clue in state.clues))


@lru_cache(maxsize=256)
def make_puzzle(
    seed: int, houses: int, attributes: int
) -> tuple[tuple[int, ...], tuple[Clue, ...]]:
    """An arrangement, and a minimal set of clues that no other arrangement fits."""
    rng = Rng(seed)
    solution: list[int] = []
    for _ in range(attributes):
        order = list(range(houses))
        rng.shuffle(order)
        solution += order
    pool = {kind: true_clues(kind, solution, houses) for kind in range(len(CLUES))}
    pool = {kind: clues for kind, clues in pool.items() if clues}
    clues: list[Clue] = []
    while len(solutions(clues, houses, attributes, limit=2)) > 1:
        kind = rng.choice(tuple(pool))
        clue = pool[kind].pop(rng.below(len(pool[kind])))
        if not pool[kind]:
            del pool[kind]
        clues.append(clue)
    for clue in tuple(clues):
        rest = [other for other in clues if other != clue]
        if len(solutions(rest, houses, attributes, limit=2)) == 1:
            clues = rest
    return tuple(solution), tuple(clues)


def true_clues(kind: int, solution: Sequence[int], houses: int) -> list[Clue]:
    """All clues of a kind that are true and do not follow from the rules."""
    values = range(len(solution))
    others = range(houses) if kind == HERE else values
    clues = [Clue(kind, one, other) for one in values for other in others]
    if kind != HERE:
        clues = [
            clue
            for clue in clues
            if clue.one != clue.other
            and (clue.one < clue.other or kind not in SYMMETRIC)
            and (clue.one // houses != clue.other // houses or kind not in ACROSS)
        ]
    return [clue for clue in clues if holds(clue, solution)]


@agent("logic-grid-solver", needs=("array",))
class LogicGridSolver(ScriptedAgent[LogicGrid]):
    """Works out the solution from the clues, and notes one value after the other."""

    def choose(self, turn: Turn[LogicGrid]) -> TextAction:
        game = turn.game
        seen = np.asarray(turn.observation).tolist()
        count = len(game.values)
        rows = [seen[at : at + 3] for at in range(count, len(seen) - 1, 3)]
        clues = [Clue(kind - 1, one, other) for kind, one, other in rows if kind]
        (solution,) = solutions(clues, game.houses, game.attributes, limit=1)
        wrong = [n for n, house in enumerate(solution) if seen[n] != 1 + house]
        return Put(game.values[wrong[0]], solution[wrong[0]] + 1)
