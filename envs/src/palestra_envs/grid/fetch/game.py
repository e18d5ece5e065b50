"""Fetch: find the one mug that a user means among several, by asking, remembering and going there.

A user asks for a mug, and there are several, which differ in colour, size and material. They lie on
spots of a grid, at most one on each. A step is one of: `go` to a spot, which shows what is there;
`ask` the user, who names the next property of the mug he means, in order; `recall` where each mug
was seen last, which is out of date for each with probability `stale`; `take` the mug one stands at,
which ends the episode; or `wait`. Robots share what they find out, and those who ask at once pay
alike. Taking the right mug pays all `bonus`; taking another, or running out of time, nothing:

    go        go_price for each cell of Manhattan distance
    ask       ask_price * (1 + fatigue * questions asked before)
    recall    recall_price

From ESearch-R1, "Learning Cost-Aware MLLM Agents for Interactive Embodied Search via Reinforcement
Learning", 2025: ambiguous requests with up to four distractors, a user whom questions tire, an
episodic memory, and go > ask >> recall in price. Return is success minus all costs, and the costs
are also told by kind. Numbers are options; the house is a grid.

For one robot `palestra_envs.grid.fetch.fetchers` has the best plan by search over what can be known.
Checked against cases solved by hand and its value against the mean of many episodes.

The array view is an int16 vector: the robot's row and column; for each spot row, column and what is
known of it (0 nothing, 1 that it is empty, else one more than the mug's number, from 1); for each
mug one more than its colour, size and material, and one more than the spot it is remembered at (0
before `recall`); what the user has named, one more than the value or 0; the questions asked; and
row and column of the other robots, by seat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from palestra import Bar, InvalidOption, Piece, Rng, Scene, check_ranges, environment
from palestra.rules import all_act, finish, randint, shuffle, truncate, uniform

from palestra_envs.grid.walkers import Walkers

WAIT, ASK, RECALL, TAKE, GO = range(5)
SUCCESS, GOING, ASKING, RECALLING = range(4)  # reward terms
PROPERTIES = (("red", "green", "blue"), ("small", "medium", "large"), ("glass", "metal", "clay"))
ASPECTS, VALUES = 3, 3
NOWHERE = -1
MAX_SEATS, MAX_SPOTS, MAX_DISTRACTORS, MAX_SIDE = 4, 8, 4, 30


@environment(
    "grid/Fetch-v0",
    family="grid",
    tags=("hidden-information", "costs", "known-optimum"),
    paper=(
        "ESearch-R1 (2025), Learning Cost-Aware MLLM Agents for Interactive Embodied Search "
        "via Reinforcement Learning"
    ),
    splits={
        "small": {"num_spots": 4, "distractors": 1},
        "hard": {"num_spots": 8, "distractors": 4, "rows": 12, "columns": 12},
        "held-out-stale": {"stale": 0.6, "num_spots": 7, "distractors": 3},
    },
    players=(1, 4),
)
@dataclass(frozen=True)
class Fetch(Walkers):
    """You are a robot in a house. The user wants a mug, but there are several of them.

    All robots choose one action at the same time:
    - "go 1", "go 2", …: go to that spot; you see then whether a mug is there, and which.
    - "ask": ask the user, who names the next property of the mug he means: first its colour, then
      its size, then its material. Every question makes the next one dearer.
    - "recall": recall where each mug was seen last. It may lie elsewhere by now.
    - "take": take the mug at your spot to the user. This ends the episode, right or wrong.
    - "wait": do nothing, which is free.
    Robots share all that they find out. If the right mug is brought, every robot is paid.
    """

    rows: int = 8
    columns: int = 8
    num_players: int = 1
    max_steps: int = 20
    num_spots: int = 5
    distractors: int = 3
    stale: float = 0.2
    bonus: float = 10.0
    go_price: float = 0.2
    ask_price: float = 0.5
    fatigue: float = 0.5
    recall_price: float = 0.05

    reward_terms = ("success", "go", "ask", "recall")
    cost_terms = ("go", "ask", "recall")

    def __post_init__(self) -> None:
        check_ranges(
            self,
            (
                ("rows", 1, MAX_SIDE),
                ("columns", 1, MAX_SIDE),
                ("num_players", 1, MAX_SEATS),
                ("distractors", 0, MAX_DISTRACTORS),
                ("num_spots", self.distractors + 1, MAX_SPOTS),
                ("stale", 0, 1),
                ("bonus", 0, None),
                ("go_price", 0, None),
                ("ask_price", 0, None),
                ("fatigue", 0, None),
                ("recall_price", 0, None),
                ("max_steps", 1, None),
            ),
        )
        if self.rows * self.columns < self.num_spots:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns have no room for {self.num_spots} "
                "spots; make the grid larger"
            )

    # What follows from the options

    @property
    def num_mugs(self) -> int:
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

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "num_mugs": self.num_mugs}

    def fields(self) -> list[tuple[Any, ...]]:
        """Robots; spots; mugs: the spot each lies at, and is remembered at; what is known.

        `known` marks spots that were visited, `asked` counts questions.
        """
        seats, spots, mugs = self.num_players, self.num_spots, self.num_mugs
        return [
            ("cell", np.int32, seats),
            ("earned", np.float64, seats),
            ("spots", np.int32, spots),
            ("order", np.int32, spots),
            ("lies", np.int32, mugs),
            ("remembered", np.int32, mugs),
            ("looks", np.int8, (mugs, ASPECTS)),
            ("wanted", np.int32),
            ("known", np.uint8, spots),
            ("asked", np.int32),
            ("recalled", np.uint8),
            ("right", np.uint8),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
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
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        here = spot_on(config, state, state.cell[seat])
        mask[WAIT] = 1
        mask[ASK] = state.asked < ASPECTS
        mask[RECALL] = state.recalled == 0
        mask[TAKE] = here != NOWHERE and mug_at(config, state, here) != NOWHERE
        for spot in range(config.num_spots):
            mask[GO + spot] = spot != here

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        columns, at = config.columns, 2
        view[0], view[1] = state.cell[seat] // columns, state.cell[seat] % columns
        for spot in range(config.num_spots):
            view[at], view[at + 1] = state.spots[spot] // columns, state.spots[spot] % columns
            view[at + 2] = 2 + mug_at(config, state, spot) if state.known[spot] == 1 else 0
            at += 3
        for mug in range(config.num_mugs):
            for aspect in range(ASPECTS):
                view[at + aspect] = 1 + state.looks[mug, aspect]
            view[at + ASPECTS] = 1 + state.remembered[mug] if state.recalled == 1 else 0
            at += ASPECTS + 1
        for aspect in range(ASPECTS):
            view[at] = 1 + state.looks[state.wanted, aspect] if aspect < state.asked else 0
            at += 1
        view[at] = state.asked
        for other in range(config.num_players):
            if other != seat:
                view[at + 1], view[at + 2] = (
                    state.cell[other] // columns,
                    state.cell[other] % columns,
                )
                at += 2

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """The first robot recalls, asks until one mug is left, and looks for it; others wait."""
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

    def hindered(self, after: Any, seat: int) -> bool:
        return False

    def ending(self, state: Any) -> str:
        return f"the {'right' if state['right'] else 'wrong'} mug was brought"

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
    ) -> Any:
        """A state at the start: (row, column) of robots and spots; spots and looks of the mugs."""
        sizes = len(robots), len(spots), len(lies), len(looks)
        if sizes != (self.num_players, self.num_spots, self.num_mugs, self.num_mugs):
            raise InvalidOption(
                f"got {sizes[0]} robots, {sizes[1]} spots, {sizes[2]} places and {sizes[3]} looks; "
                f"this game has {self.num_players}, {self.num_spots}, {self.num_mugs} and as many"
            )
        state = self.clone(self.initial_state(0))
        state.spots[:] = [self.at(*place) for place in spots]
        state.cell[:] = [self.at(*place) for place in robots]
        state.lies[:], state.looks[:] = lies, looks
        state.remembered[:] = remembered or lies
        state.wanted, state.known[:] = wanted, 0
        for seat in range(self.num_players):
            look_here(self.config, state, seat)
        return state

    def placements(self, state: Any) -> list[tuple[float, tuple[int, ...]]]:
        """Where mugs may lie by all that is known: (weight, the spot of each mug)."""
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
        """How likely a memory is where the mugs lie on these spots; 1 for no memory."""
        chance = 1.0
        for old, spot in zip(memory, spots, strict=False):
            others = self.num_spots - 1
            if old == spot:
                chance *= 1 - self.stale if others else 1.0
            else:
                chance *= self.stale / others
        return chance

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw anew which mug is wanted, where mugs lie and what is remembered, if unknown."""
        imagined = self.clone(state)
        imagined.wanted = rng.choice([m for m in range(self.num_mugs) if fits(state, m)])
        worlds = self.placements(state)
        mark, spots = rng.random() * sum(weight for weight, _ in worlds), worlds[-1][1]
        for weight, placed in worlds:
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

    def describe(self, state: Any, seat: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        lines, own = [self.header(state, seat)], int(state.cell[seat])
        lines.append("The user wants a mug. There are:")
        for mug in range(self.num_mugs):
            words = [PROPERTIES[a][v] for a, v in enumerate(state.looks[mug].tolist())]
            line = f"- mug {mug + 1}: {', '.join(words)}"
            if state.recalled:
                line += f"; remembered at spot {int(state.remembered[mug]) + 1}"
            lines.append(line)
        asked = int(state.asked)
        said = [
            PROPERTIES[a][int(state.looks[state.wanted, a])] for a in range(min(asked, ASPECTS))
        ]
        lines.append(f"The user has said: {', '.join(said) or 'nothing more'}. Questions: {asked}.")
        lines.append("Spots:")
        for spot in range(self.num_spots):
            cell = int(state.spots[spot])
            mug = int(mug_at(self.config, state, spot))
            what = "empty" if mug == NOWHERE else f"mug {mug + 1}"
            known = what if state.known[spot] else "not visited"
            way = self.direction(own, cell)
            way = "here" if way == "here" else f"{way} of you"
            lines.append(f"- spot {spot + 1} in {self.written(cell)}, {way}: {known}")
        for other, name in enumerate(self.players):
            if other != seat:
                lines.append(f"{name} is in {self.written(state.cell[other])}.")
        return "\n".join(lines)

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ("wait", "ask", "recall", "take")[action] if action < GO else f"go {action - GO + 1}"

    def told(self, before: Any, after: Any, seat: int, action: int) -> str:
        here = int(spot_on(self.config, after, after.cell[seat]))
        if action == TAKE:
            return f"You bring the {'right' if after.right else 'wrong'} mug."
        if action >= GO:
            mug = int(mug_at(self.config, after, here))
            return f"You go to spot {here + 1}: {'nothing' if mug < 0 else f'mug {mug + 1}'} there."
        return f"You {self.action_text(before, seat, action)}."

    # Pictures

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """The grid with its spots; a mug where one is known to be, or all of them for nobody."""
        pieces = {}
        for spot, cell in enumerate(state.spots.tolist()):
            mug = int(mug_at(self.config, state, spot))
            label = f"spot {spot + 1}"
            if mug != NOWHERE and (player is None or state.known[spot]):
                pieces[cell] = Piece(f"M{mug + 1}", 3, label=f"mug {mug + 1} at {label}")
            else:
                glyph = "." if state.known[spot] or player is None else "?"
                pieces[cell] = Piece(glyph, label=label)
        for seat in reversed(range(self.num_players)):
            pieces[int(state.cell[seat])] = self.disc(seat)
        seats = range(self.num_players) if player is None else (player,)
        bars = [Bar(self.players[p], float(state.earned[p]), self.bonus, p) for p in seats]
        lines = [f"Wanted: mug {int(state.wanted) + 1}"] if player is None else []
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=self.grid(pieces), bars=tuple(bars), lines=tuple(lines))


def spot_on(config: Any, state: Any, cell: int) -> int:
    """The spot on a cell; NOWHERE if there is none."""
    found = NOWHERE
    for spot in range(config.num_spots):
        if state.spots[spot] == cell:
            found = spot
    return found


def mug_at(config: Any, state: Any, spot: int) -> int:
    """The mug on a spot; NOWHERE if there is none."""
    found = NOWHERE
    for mug in range(config.num_mugs):
        if state.lies[mug] == spot:
            found = mug
    return found


def look_here(config: Any, state: Any, seat: int) -> None:
    """Note what is on the spot that a robot is at."""
    here = spot_on(config, state, state.cell[seat])
    if here != NOWHERE:
        state.known[here] = 1


def distance(config: Any, one: int, other: int) -> int:
    """Rows and columns between two cells, added up."""
    columns = config.columns
    far: int = abs(one // columns - other // columns) + abs(one % columns - other % columns)
    return far


def charge(out: Any, seat: int, term: int, price: float) -> None:
    out.rewards[seat, term] -= price
    out.costs[seat, term - 1] += price


def fits(state: Any, mug: int) -> bool:
    """Whether a mug has all properties that the user has named."""
    for aspect in range(ASPECTS):
        if aspect < state.asked and state.looks[mug, aspect] != state.looks[state.wanted, aspect]:
            return False
    return True


def draw_looks(config: Any, state: Any, mug: int) -> None:
    """Draw colour, size and material until they are those of no earlier mug."""
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
