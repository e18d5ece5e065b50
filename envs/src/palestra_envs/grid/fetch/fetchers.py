"""The best plan for one robot in `grid/Fetch-v0`, by search over what can be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from numpy.typing import NDArray
from palestra import InvalidOption, ScriptedAgent, Turn, agent
from palestra.grids.words import quantity

from palestra_envs.grid.fetch.game import (
    ASK,
    ASPECTS,
    GO,
    NOWHERE,
    RECALL,
    TAKE,
    WAIT,
    Fetch,
    FetchState,
)

Knowledge = tuple[int, ...]  # by spot: what is there, or UNKNOWN
UNKNOWN = -2
MOST_SPOTS = 4


class Plan:
    """The value of everything a robot can know in one house, given its spots and its mugs' looks.

    Which mug is wanted and where mugs lie are independent, so a state of knowledge consists of the
    cell, what is known of each spot, the questions asked, the mugs that fit the answers, and what
    memory said. Each step adds to it or ends the episode, so the search is finite. It ignores the
    time limit. Raises `InvalidOption` for more than one robot or more than MOST_SPOTS spots.
    """

    def __init__(self, game: Fetch, spots: Sequence[int], looks: Sequence[Sequence[int]]) -> None:
        if game.num_spots > MOST_SPOTS or game.num_players > 1:
            raise InvalidOption(
                f"the fetch oracle plans for one robot and up to {MOST_SPOTS} spots, not for "
                f"{quantity(game.num_players, 'robot')} and {quantity(game.num_spots, 'spot')}; "
                "play split='small', set num_spots, or use the agent 'scripted'"
            )
        self._game, self._spots, self._looks = game, list(spots), list(looks)
        self.best = cache(self._best)
        self.placements = cache(self._placements)

    def _best(
        self, cell: int, known: Knowledge, asked: int, wanted: tuple[int, ...], memory: Knowledge
    ) -> tuple[float, int]:
        """The value of what is known, and the best action; `memory` is empty until recalled."""
        game = self._game
        ways = [(0.0, WAIT)]
        for spot, mug in enumerate(known):
            if mug in wanted:
                cost = game.go_price * self.distance(cell, self._spots[spot])
                action = TAKE if self._spots[spot] == cell else GO + spot
                ways.append((game.bonus / len(wanted) - cost, action))
            if mug == UNKNOWN:
                ways.append((self._look(cell, known, asked, wanted, memory, spot), GO + spot))
        if len(wanted) > 1 and asked < ASPECTS:
            value = -game.ask_price * (1 + game.fatigue * asked)
            answers: dict[int, list[int]] = {}
            for mug in wanted:
                answers.setdefault(self._looks[mug][asked], []).append(mug)
            for left in answers.values():
                then = self.best(cell, known, asked + 1, tuple(left), memory)[0]
                value += len(left) / len(wanted) * then
            ways.append((value, ASK))
        if not memory:
            ways.append((self._recall(cell, known, asked, wanted), RECALL))
        return max(ways)

    def _look(
        self,
        cell: int,
        known: Knowledge,
        asked: int,
        wanted: tuple[int, ...],
        memory: Knowledge,
        spot: int,
    ) -> float:
        """The value of going to a spot that is not known."""
        value = -self._game.go_price * self.distance(cell, self._spots[spot])
        chances: dict[int, float] = {}
        for weight, lying in self.placements(known, memory):
            found = lying.get(spot, NOWHERE)
            chances[found] = chances.get(found, 0.0) + weight
        for mug, chance in chances.items():
            now = (*known[:spot], mug, *known[spot + 1 :])
            value += chance * self.best(self._spots[spot], now, asked, wanted, memory)[0]
        return value

    def _recall(self, cell: int, known: Knowledge, asked: int, wanted: tuple[int, ...]) -> float:
        """The value of recalling where mugs were seen."""
        game, value = self._game, -self._game.recall_price
        for memory in product(range(game.num_spots), repeat=game.num_mugs):
            chance = 0.0
            for weight, lying in self.placements(known, ()):
                spots = sorted(lying, key=lambda spot: lying[spot])
                chance += weight * game.memory_chance(memory, spots)
            if chance:
                value += chance * self.best(cell, known, asked, wanted, memory)[0]
        return value

    def _placements(
        self, known: Knowledge, memory: Knowledge
    ) -> list[tuple[float, Mapping[int, int]]]:
        """The possible placements of mugs: (probability, the mug on each spot that has one)."""
        game = self._game
        state: FetchState = game.initial_state(0)
        placed = {mug: spot for spot, mug in enumerate(known) if mug >= 0}
        free = [spot for spot, mug in enumerate(known) if mug == UNKNOWN]
        state.known[:] = [mug != UNKNOWN for mug in known]
        state.lies[:] = [
            placed[mug] if mug in placed else free.pop() for mug in range(game.num_mugs)
        ]
        if memory:
            state.recalled, state.remembered[:] = 1, memory
        found = game.placements(state)
        total = sum(weight for weight, _ in found)
        return [
            (weight / total, {spot: mug for mug, spot in enumerate(spots)})
            for weight, spots in found
        ]

    def distance(self, one: int, other: int) -> int:
        """Manhattan distance between two cells."""
        (row, column), (r, c) = self._game.place(one), self._game.place(other)
        return abs(row - r) + abs(column - c)


def known_by(
    game: Fetch, observation: NDArray[Any]
) -> tuple[list[int], list[list[int]], tuple[Any, ...]]:
    """Decode an observation: spots, looks of mugs, and the arguments of `Plan.best`."""
    numbers, at = observation.tolist(), 2 + 3 * game.num_spots
    places = [numbers[start : start + 3] for start in range(2, at, 3)]
    end = at + (ASPECTS + 1) * game.num_mugs
    mugs = [numbers[start : start + ASPECTS + 1] for start in range(at, end, ASPECTS + 1)]
    said = [value for value in numbers[end : end + ASPECTS] if value]
    wanted = tuple(m for m, mug in enumerate(mugs) if mug[: len(said)] == said)
    known = tuple(what - 2 if what else UNKNOWN for *_, what in places)
    memory = tuple(mug[ASPECTS] - 1 for mug in mugs) if mugs[0][ASPECTS] else ()
    spots = [game.at(row, column) for row, column, _ in places]
    return spots, mugs, (game.at(numbers[0], numbers[1]), known, len(said), wanted, memory)


@agent("fetch-oracle", kind="solver", needs=("array",))
class FetchOracle(ScriptedAgent[Fetch]):
    """The best plan for one robot and up to four spots, by search over what can be known."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self._plans: dict[int, Plan] = {}

    def forget(self, episode_key: int) -> None:
        self._plans.pop(episode_key, None)

    def choose(self, turn: Turn[Fetch]) -> int:
        game = turn.game
        spots, looks, knowledge = known_by(game, turn.observation)
        if turn.episode_key not in self._plans:
            self._plans[turn.episode_key] = Plan(game, spots, looks)
        return int(self._plans[turn.episode_key].best(*knowledge)[1])
