"""Plans for one robot in `grid/Fetch-v0`: the best one in small houses, a bounded search in others.

`Plan` searches everything that can be known. `Lookahead` bounds the search: it looks at no more
than LOOKS new spots while several mugs fit, takes the places of mugs as independent of one another,
and averages a recall over MEMORIES samples. Where one mug fits and memory is read, it is exact but
for what memory says of the other mugs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from numpy.typing import NDArray
from palestra import InvalidOption, Rng, ScriptedAgent, Turn, agent
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
MOST_MEMORIES = 27  # that a recall may show, for a search over all that can be known
RULED_OUT = -3  # in `Lookahead`: a spot that has no mug that fits
LOOKS, MEMORIES = 2, 8


class Plan:
    """The value of everything a robot can know in one house, given its spots and its mugs' looks.

    Which mug is wanted and where mugs lie are independent, so a state of knowledge consists of the
    cell, what is known of each spot, the questions asked, the mugs that fit the answers, and what
    memory said. Each step adds to it or ends the episode, so the search is finite. It ignores the
    time limit. Raises `InvalidOption` for houses in which that takes too long.
    """

    def __init__(self, game: Fetch, spots: Sequence[int], looks: Sequence[Sequence[int]]) -> None:
        if not is_small(game):
            raise InvalidOption(
                f"Plan searches up to {MOST_SPOTS} spots and {MOST_MEMORIES} memories, "
                f"num_spots ** (distractors + 1), not {game.num_spots} and "
                f"{game.num_spots**game.num_mugs}; use Lookahead, or play split='small'"
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
            for left in answers_of(self._looks, wanted, asked):
                then = self.best(cell, known, asked + 1, left, memory)[0]
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


class Lookahead:
    """A plan by bounded search from what a robot knows now, for houses of every size."""

    def __init__(self, game: Fetch, spots: Sequence[int], looks: Sequence[Sequence[int]]) -> None:
        self._game, self._looks = game, list(looks)
        self._places = [game.place(cell) for cell in spots]
        self.search = cache(self._search)
        self.find = cache(self._find)

    def best(
        self, cell: int, known: Knowledge, asked: int, wanted: tuple[int, ...], memory: Knowledge
    ) -> tuple[float, int]:
        """The value of what is known, and the best action; `memory` is empty until recalled."""
        here = self._game.place(cell)
        known = tuple(ruled(mug, wanted) for mug in known)
        now = self.search(here, known, asked, wanted, memory, LOOKS)
        if not memory:
            rng, total = Rng(0), 0.0
            for _ in range(MEMORIES):
                seen = tuple(self._imagined(known, mug, rng) for mug in range(self._game.num_mugs))
                total += self.search(here, known, asked, wanted, seen, LOOKS)[0]
            now = max(now, (total / MEMORIES - self._game.recall_price, RECALL))
        return now

    def _imagined(self, known: Knowledge, mug: int, rng: Rng) -> int:
        """Where memory may have a mug."""
        spots = range(len(known))
        free = [known.index(mug)] if mug in known else [s for s in spots if known[s] == UNKNOWN]
        spot = rng.choice(free or list(spots))
        moved = rng.random() < self._game.stale and len(known) > 1
        return rng.choice([s for s in spots if s != spot]) if moved else int(spot)

    def _search(
        self,
        here: tuple[int, int],
        known: Knowledge,
        asked: int,
        wanted: tuple[int, ...],
        memory: Knowledge,
        looks: int,
    ) -> tuple[float, int]:
        """The value and the best action, with so many looks at new spots before one mug fits."""
        game = self._game
        if len(wanted) == 1:
            old = memory[wanted[0]] if memory else -1
            spot = known.index(wanted[0]) if wanted[0] in known else -1
            return self.find(here, tuple(k == UNKNOWN for k in known), old, spot)
        ways = [(0.0, WAIT)]
        for spot, mug in enumerate(known):
            going = game.go_price * self._distance(here, spot)
            if mug in wanted:
                action = TAKE if self._places[spot] == here else GO + spot
                ways.append((game.bonus / len(wanted) - going, action))
            if mug == UNKNOWN and looks:
                value = -going
                chances = {m: self._chance(known, m, memory, spot) for m in wanted}
                chances[RULED_OUT] = max(0.0, 1 - sum(chances.values()))
                total = sum(chances.values())
                for found, chance in chances.items():
                    if chance:
                        then = (*known[:spot], found, *known[spot + 1 :])
                        value += (
                            chance
                            / total
                            * self.search(
                                self._places[spot], then, asked, wanted, memory, looks - 1
                            )[0]
                        )
                ways.append((value, GO + spot))
        if asked < ASPECTS:
            value = -game.ask_price * (1 + game.fatigue * asked)
            for left in answers_of(self._looks, wanted, asked):
                then = tuple(ruled(mug, left) for mug in known)
                found_value = self.search(here, then, asked + 1, left, memory, looks)[0]
                value += len(left) / len(wanted) * found_value
            ways.append((value, ASK))
        return max(ways)

    def _find(
        self, here: tuple[int, int], open_spots: tuple[bool, ...], old: int, lies: int
    ) -> tuple[float, int]:
        """The value and the best action where one mug fits, remembered on `old`, seen on `lies`."""
        game = self._game
        if lies >= 0:
            action = TAKE if self._places[lies] == here else GO + lies
            going = game.go_price * self._distance(here, lies)
            return max((0.0, WAIT), (game.bonus - going, action))
        ways = [(0.0, WAIT)]
        weights = [free * self._weight(old, spot) for spot, free in enumerate(open_spots)]
        total = sum(weights)
        for spot, free in enumerate(open_spots):
            if free and total:
                left = (*open_spots[:spot], False, *open_spots[spot + 1 :])
                chance = weights[spot] / total
                after = self.find(self._places[spot], left, old, -1)[0] if chance < 1 else 0.0
                value = chance * game.bonus + (1 - chance) * after
                ways.append((value - game.go_price * self._distance(here, spot), GO + spot))
        return max(ways)

    def _chance(self, known: Knowledge, mug: int, memory: Knowledge, spot: int) -> float:
        """The chance that a mug lies on an unknown spot, regardless of where others lie."""
        if mug in known:
            return 0.0
        old = memory[mug] if memory else -1
        weights = [self._weight(old, s) for s, what in enumerate(known) if what == UNKNOWN]
        return self._weight(old, spot) / sum(weights) if sum(weights) else 0.0

    def _weight(self, old: int, spot: int) -> float:
        return float(self._game.memory_chance((old,), (spot,))) if old >= 0 else 1.0

    def _distance(self, here: tuple[int, int], spot: int) -> int:
        row, column = self._places[spot]
        return abs(here[0] - row) + abs(here[1] - column)


def is_small(game: Fetch) -> bool:
    """Whether all that can be known in a house can be searched in seconds."""
    few = game.num_spots**game.num_mugs <= MOST_MEMORIES
    return bool(few and game.num_spots <= MOST_SPOTS)


def ruled(mug: int, wanted: tuple[int, ...]) -> int:
    """What a spot has, as far as it matters for mugs that fit."""
    return mug if mug == UNKNOWN or mug in wanted else RULED_OUT


def answers_of(
    looks: Sequence[Sequence[int]], wanted: tuple[int, ...], asked: int
) -> list[tuple[int, ...]]:
    """The mugs that fit after each answer to the next question."""
    groups: dict[int, list[int]] = {}
    for mug in wanted:
        groups.setdefault(looks[mug][asked], []).append(mug)
    return [tuple(group) for group in groups.values()]


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
    """Plans for one robot: the best plan in small houses, a bounded search in larger ones."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self._plans: dict[int, Plan | Lookahead] = {}

    def forget(self, episode_key: int) -> None:
        self._plans.pop(episode_key, None)

    def choose(self, turn: Turn[Fetch]) -> int:
        game = turn.game
        if game.num_players > 1:
            raise InvalidOption(
                f"fetch-oracle plans for one robot, not for {quantity(game.num_players, 'robot')}; "
                "set num_players=1, or use the agent 'scripted'"
            )
        spots, looks, knowledge = known_by(game, turn.observation)
        if turn.episode_key not in self._plans:
            plan = Plan if is_small(game) else Lookahead
            self._plans[turn.episode_key] = plan(game, spots, looks)
        return int(self._plans[turn.episode_key].best(*knowledge)[1])
