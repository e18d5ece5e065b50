"""Fetch: find the one mug of several that a user means by asking, recalling and searching.

A user asks for a mug, and there are several, which differ in colour, size and material. They lie on
spots of a grid, at most one on each. A step is one of: `go` to a spot, which shows what is there;
`ask` the user, who names the next property of the mug they mean, in order; `recall` where each mug
was seen last, which is out of date for each with probability `stale`; `take` the mug at one's spot,
which ends the episode; or `wait`. Robots share what they find out, and those who ask in the same
step each pay the same price. Taking the right mug pays `bonus` to all; taking another, or running
out of time, pays nothing. The prices are:

    go        go_price for each cell of Manhattan distance
    ask       ask_price * (1 + fatigue * questions asked before)
    recall    recall_price

From ESearch-R1, "Learning Cost-Aware MLLM Agents for Interactive Embodied Search via Reinforcement
Learning", 2025: ambiguous requests with up to four distractors, a user whom questions tire, an
episodic memory, and go > ask >> recall in price. The return is success minus all costs, which are
also reported by kind. Here the numbers are options and the house is a grid.

For one robot `palestra_envs.grid.fetch.fetchers` has the best plan in small houses, as in the split
"small", by search over what can be known; no optimum is known for larger ones, where the search is
bounded. Checked against cases solved by hand and its value against the mean of many episodes.

Left out: the paper's robot, camera and rooms; speech is a choice of questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayState,
    Bar,
    Channel,
    InvalidOption,
    Meta,
    Out,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
)
from palestra.rules import all_act, finish, randint, shuffle, truncate, uniform

from palestra_envs.grid.walkers import Walkers

WAIT, ASK, RECALL, TAKE, GO = range(5)
SUCCESS, GOING, ASKING, RECALLING = range(4)  # reward terms
PROPERTIES = (("red", "green", "blue"), ("small", "medium", "large"), ("glass", "metal", "clay"))
ASPECTS, VALUES = 3, 3
NOWHERE = -1
MAX_SPOTS, MAX_SIDE = 8, 30
MAX_PRICE = 1e9


class FetchState(ArrayState):
    """A house with robots, spots and mugs, and what the robots have found out."""

    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each robot stands
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far
    spots: Annotated[NDArray[np.int32], Shape("num_spots")]  # the cell of each spot
    order: Annotated[NDArray[np.int32], Shape("num_spots")]  # scratch space to shuffle spots in
    lies: Annotated[NDArray[np.int32], Shape("num_mugs")]  # the spot of each mug
    remembered: Annotated[NDArray[np.int32], Shape("num_mugs")]  # the spot where memory has it
    looks: Annotated[NDArray[np.int8], Shape("num_mugs", ASPECTS)]  # colour, size, material
    wanted: Annotated[int, np.int32]  # the mug that the user means
    known: Annotated[NDArray[np.uint8], Shape("num_spots")]  # 1 for spots that were visited
    asked: Annotated[int, np.int32]  # questions so far
    recalled: Annotated[int, np.uint8]  # 1 once memory was recalled
    right: Annotated[int, np.uint8]  # 1 once the right mug was taken


@environment(
    "grid/Fetch-v0",
    family="grid",
    tags=("hidden-information", "costs"),
    paper=(
        "ESearch-R1: Learning Cost-Aware MLLM Agents for Interactive Embodied Search "
        "via Reinforcement Learning (2025)"
    ),
    splits={
        "small": {"num_spots": 4, "distractors": 1},
        "hard": {"num_spots": 8, "distractors": 4, "rows": 12, "columns": 12},
        "held-out-stale": {"stale": 0.6, "num_spots": 7, "distractors": 3},
    },
)
@dataclass(frozen=True)
class Fetch(Walkers[FetchState]):
    """Robots find the mug a user means by asking, recalling and searching, each at a price.

    Actions are 0 wait, 1 ask, 2 recall, 3 take, and 4 + n go to spot n.

    An observation is an int16 vector: the robot's row and column; for each spot its row, its column
    and what is known of it (0 nothing, 1 that it is empty, else one more than the mug's number,
    from 1); for each mug one more than its colour, size and material, and one more than the spot
    where it is remembered (0 before `recall`); what the user has named, one more than the value or
    0; the number of questions asked; and row and column of the other robots, by seat.

    Rewards by term are `success`, the bonus for all, and `go`, `ask` and `recall`, the prices paid,
    which also count as costs.
    """

    figure = "robot"

    rows: Annotated[int, Meta(ge=1, le=MAX_SIDE, description="rows of the house")] = 8
    columns: Annotated[int, Meta(ge=1, le=MAX_SIDE, description="columns of the house")] = 8
    num_players: Annotated[int, Meta(ge=1, le=4, description="number of robots")] = 1
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 20
    num_spots: Annotated[int, Meta(ge=1, le=MAX_SPOTS, description="places where a mug can be")] = 5
    distractors: Annotated[
        int, Meta(ge=0, le=4, description="mugs besides the one that is wanted")
    ] = 3
    stale: Annotated[
        float, Meta(ge=0, le=1, description="chance that a mug has moved since it was seen")
    ] = 0.2
    bonus: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="reward of every robot for the right mug")
    ] = 10.0
    go_price: Annotated[float, Meta(ge=0, le=MAX_PRICE, description="price of going, per cell")] = (
        0.2
    )
    ask_price: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="price of the first question")
    ] = 0.5
    fatigue: Annotated[
        float,
        Meta(
            ge=0,
            le=MAX_PRICE,
            description="share of ask_price by which each question raises the price of the next",
        ),
    ] = 0.5
    recall_price: Annotated[
        float, Meta(ge=0, le=MAX_PRICE, description="price of recalling where mugs were seen")
    ] = 0.05

    vocabulary = Vocabulary(
        words=("mug", "robot", "house", "user", "spot"),
    )
    rules_text = """
        You are a robot in a house. The user wants a mug, but there are several of them.

        All robots choose one action at the same time:
        - "go 1", "go 2", …: go to that spot; you see then whether a mug is there, and which.
        - "ask": ask the user, who names the next property of the mug they mean: first its colour,
        then its size, then its material. Every question makes the next one dearer.
        - "recall": recall where each mug was seen last. It may lie elsewhere by now.
        - "take": take the mug at your spot to the user. This ends the episode, right or wrong.
        - "wait": do nothing, which is free.

        Robots share all that they find out. If the right mug is brought, every robot is paid.
    """
    reward_terms = ("success", "go", "ask", "recall")
    cost_terms = ("go", "ask", "recall")

    def validate(self) -> None:
        if self.num_spots < self.num_mugs:
            raise InvalidOption(
                f"num_spots must be at least {self.num_mugs}, one for each mug, not "
                f"{self.num_spots}; make it larger, or distractors smaller"
            )
        if self.num_cells < self.num_spots:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns have no room for {self.num_spots} "
                "spots; make the grid larger"
            )

    # Derived from the options

    @constant
    def num_mugs(self) -> int:
        """The number of mugs, including the wanted one."""
        return self.distractors + 1

    @property
    def num_actions(self) -> int:  # type: ignore[override]
        return GO + self.num_spots

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        asking = sum(self.ask_price * (1 + self.fatigue * asked) for asked in range(ASPECTS))
        going = self.max_steps * self.go_price * (self.rows + self.columns - 2)
        return (0.0 - going - asking - self.recall_price, self.bonus)

    @property
    def observation_shape(self) -> tuple[int]:
        mugs = (ASPECTS + 1) * self.num_mugs
        return (2 + 3 * self.num_spots + mugs + ASPECTS + 1 + 2 * (self.num_players - 1),)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(max(MAX_SIDE, MAX_SPOTS + 1, ASPECTS * self.num_players)))

    # The rules

    @staticmethod
    def init_state(config: Fetch, state: FetchState) -> None:
        for spot in range(config.num_spots):
            state.spots[spot] = NOWHERE
            state.order[spot] = spot
        for spot in range(config.num_spots):
            cell = randint(state, config.rows * config.columns)
            while spot_on(config, state, cell) != NOWHERE:
                cell = randint(state, config.rows * config.columns)
            state.spots[spot] = cell
        for seat in range(config.num_players):
            state.cell[seat] = randint(state, config.rows * config.columns)
        shuffle(state, state.order)
        for mug in range(config.num_mugs):
            spot = state.order[mug]
            state.lies[mug] = spot
            old = (spot + 1 + randint(state, max(1, config.num_spots - 1))) % config.num_spots
            state.remembered[mug] = old if uniform(state) < config.stale else spot
            draw_looks(config, state, mug)
        state.order[:] = 0
        state.wanted = randint(state, config.num_mugs)
        for seat in range(config.num_players):
            look_here(config, state, seat)
        all_act(state)

    @staticmethod
    def apply_actions(config: Fetch, state: FetchState, actions: Any, out: Out) -> None:
        before, taken = state.asked, False
        for seat in range(config.num_players):
            action = actions[seat]
            if action >= GO:
                far = distance(config, state.cell[seat], state.spots[action - GO])
                charge(out, seat, GOING, config.go_price * far)
                state.cell[seat] = state.spots[action - GO]
                look_here(config, state, seat)
            elif action == ASK:
                charge(out, seat, ASKING, config.ask_price * (1 + config.fatigue * before))
                state.asked += 1
            elif action == RECALL:
                charge(out, seat, RECALLING, config.recall_price)
                state.recalled = 1
            elif action == TAKE:
                taken = True
                if mug_at(config, state, spot_on(config, state, state.cell[seat])) == state.wanted:
                    state.right = 1
        for seat in range(config.num_players):
            if state.right == 1:
                out.rewards[seat, SUCCESS] = config.bonus
            for term in range(RECALLING + 1):
                state.earned[seat] += out.rewards[seat, term]
        if taken:
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Fetch, state: FetchState, seat: int, mask: Any) -> None:
        here = spot_on(config, state, state.cell[seat])
        mask[WAIT] = 1
        mask[ASK] = state.asked < ASPECTS
        mask[RECALL] = state.recalled == 0
        mask[TAKE] = here != NOWHERE and mug_at(config, state, here) != NOWHERE
        for spot in range(config.num_spots):
            mask[GO + spot] = spot != here

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 2, "the robot's row and column"),
            Channel(
                "spots",
                3 * self.num_spots,
                "each spot: row, column, 0 unknown, 1 empty or the mug's number (from 1) plus 1",
            ),
            Channel(
                "mugs",
                (ASPECTS + 1) * self.num_mugs,
                "each mug: colour, size and material plus 1, the spot remembered plus 1 or 0",
            ),
            Channel("wanted", ASPECTS, "what the user has named: the value plus 1, or 0"),
            Channel("questions", 1, "questions asked"),
            Channel("others", 2 * (self.num_players - 1), "row and column of each other robot"),
        )

    @staticmethod
    def write_observation(config: Fetch, state: FetchState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        columns, at = config.columns, 2
        obs[0], obs[1] = state.cell[seat] // columns, state.cell[seat] % columns
        for spot in range(config.num_spots):
            obs[at], obs[at + 1] = state.spots[spot] // columns, state.spots[spot] % columns
            obs[at + 2] = 2 + mug_at(config, state, spot) if state.known[spot] == 1 else 0
            at += 3
        for mug in range(config.num_mugs):
            for aspect in range(ASPECTS):
                obs[at + aspect] = 1 + state.looks[mug, aspect]
            obs[at + ASPECTS] = 1 + state.remembered[mug] if state.recalled == 1 else 0
            at += ASPECTS + 1
        for aspect in range(ASPECTS):
            obs[at] = 1 + state.looks[state.wanted, aspect] if aspect < state.asked else 0
            at += 1
        obs[at] = state.asked
        for other in range(config.num_players):
            if other != seat:
                obs[at + 1], obs[at + 2] = (
                    state.cell[other] // columns,
                    state.cell[other] % columns,
                )
                at += 2

    @staticmethod
    def scripted_action(config: Fetch, state: FetchState, seat: int) -> int:
        """The first robot recalls, asks until one mug fits, and looks for it; others wait."""
        if seat > 0:
            return WAIT
        if state.recalled == 0:
            return RECALL
        mug, count = NOWHERE, 0
        for one in range(config.num_mugs):
            if fits(state, one):
                mug = one
                count += 1
        if count > 1 and state.asked < ASPECTS:
            return ASK
        cell, best, near = state.cell[seat], NOWHERE, 1 << 20
        for spot in range(config.num_spots):
            if state.known[spot] == 1 and state.lies[mug] == spot:
                return TAKE if state.spots[spot] == cell else GO + spot
            far = distance(config, cell, state.spots[spot])
            if state.remembered[mug] == spot:
                far = -1  # there first
            if state.known[spot] == 0 and far < near:
                best, near = spot, far
        return GO + best

    def ending(self, state: FetchState) -> str:
        return f"the {'right' if state.right else 'wrong'} mug was brought"

    # States

    def arrange(
        self,
        robots: Sequence[tuple[int, int]],
        spots: Sequence[tuple[int, int]],
        lies: Sequence[int],
        looks: Sequence[tuple[int, int, int]],
        *,
        wanted: int = 0,
        remembered: Sequence[int] = (),
    ) -> FetchState:
        """A state at the start: (row, column) of robots and spots; each mug's spot and looks."""
        sizes = len(robots), len(spots), len(lies), len(looks)
        if sizes != (self.num_players, self.num_spots, self.num_mugs, self.num_mugs):
            raise InvalidOption(
                f"got {sizes[0]} robots, {sizes[1]} spots, {sizes[2]} places and {sizes[3]} looks; "
                f"this game has {self.num_players}, {self.num_spots}, {self.num_mugs} and as many"
            )
        state: FetchState = self.clone(self.initial_state(0))
        state.spots[:] = [self.at(*place) for place in spots]
        state.cell[:] = [self.at(*place) for place in robots]
        state.lies[:], state.looks[:] = lies, looks
        state.remembered[:] = remembered or lies
        state.wanted, state.known[:] = wanted, 0
        for seat in range(self.num_players):
            look_here(self.config, state, seat)
        return state

    def placements(self, state: FetchState) -> list[tuple[float, tuple[int, ...]]]:
        """Where mugs may lie, given what is known: (weight, the spot of each mug)."""
        known = {
            s: int(mug_at(self.config, state, s)) for s in np.flatnonzero(state.known).tolist()
        }
        memory = state.remembered.tolist() if state.recalled else []
        found = []
        for spots in permutations(range(self.num_spots), self.num_mugs):
            lying = {spot: mug for mug, spot in enumerate(spots)}
            if all(lying.get(spot, NOWHERE) == mug for spot, mug in known.items()):
                weight = self.memory_chance(memory, spots)
                if weight:
                    found.append((weight, spots))
        return found

    def memory_chance(self, memory: Sequence[int], spots: Sequence[int]) -> float:
        """The likelihood of a memory if the mugs lie on these spots; 1 for no memory."""
        chance = 1.0
        for old, spot in zip(memory, spots, strict=False):
            others = self.num_spots - 1
            if old == spot:
                chance *= 1 - self.stale if others else 1.0
            else:
                chance *= self.stale / others
        return chance

    def determinize(self, state: FetchState, seat: int, rng: Rng) -> FetchState:
        """Redraw the wanted mug, the mugs' places and the memory where they are unknown."""
        imagined: FetchState = self.clone(state)
        imagined.wanted = rng.choice([m for m in range(self.num_mugs) if fits(state, m)])
        placements = self.placements(state)
        mark, spots = rng.random() * sum(weight for weight, _ in placements), placements[-1][1]
        for weight, placed in placements:
            mark -= weight
            if mark < 0:
                spots = placed
                break
        imagined.lies[:] = spots
        if not state.recalled:
            for mug, spot in enumerate(spots):
                if rng.random() < self.stale and self.num_spots > 1:
                    spot = (spot + 1 + rng.below(self.num_spots - 1)) % self.num_spots
                imagined.remembered[mug] = spot
        return imagined

    def record_facts(self, state: FetchState) -> dict[str, Any]:
        """Facts for the record: a listener's beliefs about the wanted mug.

        All mugs that fit what the user has named are equally likely.
        """
        fitting = [bool(fits(state, mug)) for mug in range(self.num_mugs)]
        return {
            "belief": [fit / sum(fitting) for fit in fitting],
            "type": int(state.wanted),
            "progress": float(state.right),
        }

    # Words

    def rules_for(self, seat: int) -> str:
        return "\n".join(
            [
                super().rules_for(seat),
                f"The right mug pays {self.bonus:g}. Going costs {self.go_price:g} for each cell, "
                f"rows and columns added up; a question {self.ask_price:g} times (1 + "
                f"{self.fatigue:g} times the questions asked before); recalling "
                f"{self.recall_price:g}. Each mug has moved since it was seen with a chance of "
                f"{self.stale:.0%}. There are {self.num_players} robots, {self.num_mugs} mugs and "
                f"{self.num_spots} spots, with one mug or none on each. Row 1 is the northernmost, "
                f"column 1 the westernmost. Time is up after {self.max_steps} steps.",
            ]
        )

    def describe(self, state: FetchState, seat: int) -> str:
        """The observation in words, and how much time has passed."""
        lines = [self.header(state, seat), "The user wants a mug. There are:"]
        lines += [self._mug_text(state, mug) for mug in range(self.num_mugs)]
        asked = int(state.asked)
        named = [
            PROPERTIES[a][int(state.looks[state.wanted, a])] for a in range(min(asked, ASPECTS))
        ]
        lines.append(
            f"The user has said: {', '.join(named) or 'nothing more'}. Questions: {asked}."
        )
        lines.append("Spots:")
        lines += self._spot_lines(state, int(state.cell[seat]))
        for other, name in enumerate(self.players):
            if other != seat:
                lines.append(f"{name} is in {self.place_text(state.cell[other])}.")
        return "\n".join(lines)

    def _mug_text(self, state: FetchState, mug: int) -> str:
        words = map(tuple.__getitem__, PROPERTIES, state.looks[mug].tolist())
        line = f"- mug {mug + 1}: {', '.join(words)}"
        if state.recalled:
            line += f"; remembered at spot {int(state.remembered[mug]) + 1}"
        return line

    def _spot_lines(self, state: FetchState, own: int) -> Iterator[str]:
        """A line for every spot: where it is, also from one's own cell, and what is known of it."""
        mugs = {spot: mug for mug, spot in enumerate(state.lies.tolist())}
        spots = zip(state.spots.tolist(), state.known.tolist(), strict=True)
        for spot, (cell, visited) in enumerate(spots):
            what = f"mug {mugs[spot] + 1}" if spot in mugs else "empty"
            way = "here" if cell == own else f"{self.direction(own, cell)} of you"
            known = what if visited else "not visited"
            yield f"- spot {spot + 1} in {self.place_text(cell)}, {way}: {known}"

    def action_text(self, state: FetchState, seat: int, action: int) -> str:
        return ("wait", "ask", "recall", "take")[action] if action < GO else f"go {action - GO + 1}"

    def result_text(self, before: FetchState, after: FetchState, seat: int, action: int) -> str:
        here = int(spot_on(self.config, after, after.cell[seat]))
        if action == TAKE:
            return f"You bring the {'right' if after.right else 'wrong'} mug."
        if action >= GO:
            mug = int(mug_at(self.config, after, here))
            return f"You go to spot {here + 1}: {'nothing' if mug < 0 else f'mug {mug + 1}'} there."
        return f"You {self.action_text(before, seat, action)}."

    # Pictures

    def scene(self, state: FetchState, seat: int | None = None) -> Scene:
        """The grid with its spots; a mug where one is known to be, or all for a spectator."""
        pieces = {}
        for spot, cell in enumerate(state.spots.tolist()):
            mug = int(mug_at(self.config, state, spot))
            label = f"spot {spot + 1}"
            if mug != NOWHERE and (seat is None or state.known[spot]):
                told = f"mug {mug + 1} at {label}"
                pieces[cell] = Piece("M", "gold", "tile", told, "mug", badge=str(mug + 1))
            elif state.known[spot] or seat is None:
                pieces[cell] = Piece(".", "silver", label=label, sprite="shelf")
            else:
                pieces[cell] = Piece("", "brown", label=label, sprite="shelf", badge="?")
        for robot in reversed(range(self.num_players)):
            self.stand(pieces, int(state.cell[robot]), robot)
        seats = self.watched_seats(seat)
        bars = [Bar(self.players[p], float(state.earned[p]), self.bonus, p) for p in seats]
        lines = [f"Wanted: mug {int(state.wanted) + 1}"] if seat is None else []
        grid = self.grid(pieces)
        return Scene(self.caption(state), grid=grid, bars=tuple(bars), lines=tuple(lines))


def spot_on(config: Fetch, state: FetchState, cell: int) -> int:
    """The spot on a cell; NOWHERE if there is none."""
    found = NOWHERE
    for spot in range(config.num_spots):
        if state.spots[spot] == cell:
            found = spot
    return found


def mug_at(config: Fetch, state: FetchState, spot: int) -> int:
    """The mug on a spot; NOWHERE if there is none."""
    found = NOWHERE
    for mug in range(config.num_mugs):
        if state.lies[mug] == spot:
            found = mug
    return found


def look_here(config: Fetch, state: FetchState, seat: int) -> None:
    """Record what is on the spot where a robot stands."""
    here = spot_on(config, state, state.cell[seat])
    if here != NOWHERE:
        state.known[here] = 1


def distance(config: Fetch, one: int, other: int) -> int:
    """Manhattan distance between two cells."""
    columns = config.columns
    return abs(one // columns - other // columns) + abs(one % columns - other % columns)


def charge(out: Out, seat: int, term: int, price: float) -> None:
    """Book a price as a negative reward and as a cost."""
    out.rewards[seat, term] -= price
    out.costs[seat, term - 1] += price


def fits(state: FetchState, mug: int) -> bool:
    """Whether a mug has all properties that the user has named."""
    for aspect in range(ASPECTS):
        if aspect < state.asked and state.looks[mug, aspect] != state.looks[state.wanted, aspect]:
            return False
    return True


def draw_looks(config: Fetch, state: FetchState, mug: int) -> None:
    """Draw a mug's colour, size and material until no earlier mug has the same."""
    new = False
    while not new:
        for aspect in range(ASPECTS):
            state.looks[mug, aspect] = randint(state, VALUES)
        new = True
        for other in range(mug):
            same = True
            for aspect in range(ASPECTS):
                same = same and state.looks[mug, aspect] == state.looks[other, aspect]
            new = new and not same
