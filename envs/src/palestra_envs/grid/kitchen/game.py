"""Kitchen: cooks share a kitchen too small for them and deliver as many onion soups as they can.

The rules of Overcooked-AI: Carroll, Shah, Ho, Griffiths, Seshia, Abbeel and Dragan, "On the Utility
of Learning about Humans for Human-AI Coordination", NeurIPS 2019. Three onions go into a pot, the
soup cooks for 20 steps, a dish takes it out, and a soup handed in pays 20 to everybody. Easily
missed are:

* Everybody first interacts, in order of seats and with what he faced before, and only then moves.
* Any direction turns a player, also where he cannot walk. If two players would stand on one cell or
  change places, nobody moves in that step, also not a third or fourth one who is far away.
* The step that puts in the third onion is the first of the cooking.
* With `auto_cook` off an empty-handed interact starts the cooking, of one or two onions as well,
  whose soup pays nothing. That is how version 1 of the public package `overcooked-ai` plays; the
  paper's game and most learning results start by themselves.
* `shaped` pays everybody for an onion put into a pot (3), for a dish from the dispenser (3) and for
  a soup taken out (5), as terms of their own. The dish pays only if no dish lies on a counter and
  fewer are held than there were pots, at the start of the step, that cook, are ready, or hold one
  or two onions.

Checked against that package, version 1.1.0, on episodes recorded from it (positions, directions,
things held and lying, pots, rewards and array views), under both ways to start the cooking.

With `layout="random"` every episode has a kitchen of its own, drawn from the seed: `rows` by
`columns` cells, counters all round, and within them counters on a share `density` of the cells, or
on as many as find room, for they leave no bottleneck (`palestra_envs.grid.kitchen.drawing`). One or
two pots, one or two onion dispensers, a dish dispenser and a serving station stand in random places
beside floor, and the players on random floor. That these kitchens can be played is checked with
networkx.

With `sight` nobody sees further than that many rows and columns. A held-up step then tells of
players out of sight, and what is paid of soups handed in there.

The array view is indexed by row (0 in the north), column and plane. The planes are those of the
package's lossless encoding without tomatoes. The own player comes first, the others by seat; for n
players:

    0 to n - 1        where each player is
    n to 5n - 1       the same by direction: north, south, east, west of the first, of the next, …
    5n + 0 to 4       pots, counters, onion dispensers, dish dispensers, serving stations
    5n + 5            onions in a pot whose soup does not cook yet
    5n + 6            onions in any other soup: cooking, ready, carried, or on a counter
    5n + 7            steps until a soup in a pot is ready
    5n + 8            soups that are ready
    5n + 9, 5n + 10   dishes; onions; held (where the holder is) or on a counter
    5n + 11           everywhere 1 in the last 39 steps

With `sight` it is the window around the player, north on top, 2 * sight + 1 rows and columns. What
lies beyond the kitchen looks like counters there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from palestra import (
    ArrayGame,
    Bar,
    Event,
    Grid,
    InvalidOption,
    Out,
    Outcome,
    Piece,
    Rng,
    Scene,
    check_ranges,
    environment,
    only,
)
from palestra.grids.words import counted as in_words
from palestra.grids.words import where
from palestra.rules import all_act, truncate

from palestra_envs.grid.kitchen.beliefs import imagine, without_unseen
from palestra_envs.grid.kitchen.drawing import MOST, draw_kitchen
from palestra_envs.grid.kitchen.rules import (
    DISH,
    FULL,
    INTERACT,
    NORTH,
    NOTHING,
    SOUP_PAYS,
    STAY,
    ahead,
    cook,
    count_filled,
    interact,
    move,
    see_around,
    see_cell,
    see_player,
)
from palestra_envs.grid.kitchen.views import Look, Pot, read_state, read_view
from palestra_envs.grid.layouts import (
    FLOOR,
    LONGEST,
    ONIONS,
    POT,
    RANDOM,
    SERVING,
    SYMBOLS,
    TILE_NAMES,
    Layout,
    check_solvable,
    place_players,
    read_layout,
)

ACTIONS = ("north", "south", "east", "west", "stay", "interact")
ARROWS = "^v><"
GLYPHS = " odsss"  # by thing held or lying
TILE_BITS, TILE_MASK = 3, 7  # how a row of tiles is packed into one integer
MAX_SEATS, MAX_COOK_TIME = 4, 100
NARROWEST = 4  # sides of a random kitchen: with less floor than two by two cells one is in the way
TRIES = 8  # to lay a counter, for every cell inside a random kitchen
CHORES = 9  # interactions a soup takes: three onions taken and put, a dish, the soup, the delivery


@environment(
    "grid/Kitchen-v0",
    family="grid",
    tags=("cooperation", "coordination", "partial-view", "generated-levels"),
    paper=(
        "Carroll et al. (2019), On the Utility of Learning about Humans for Human-AI Coordination"
    ),
    splits={
        "asymmetric-advantages": {"layout": "asymmetric_advantages"},
        "coordination-ring": {"layout": "coordination_ring"},
        "forced-coordination": {"layout": "forced_coordination"},
        "counter-circuit": {"layout": "counter_circuit"},
        "random": {"layout": "random"},
        "near-sighted": {"layout": "random", "sight": 2},
        "held-out-random": {"layout": "random", "rows": 8, "columns": 9, "density": 0.25},
        "held-out-near-sighted": {
            "layout": "random",
            "rows": 8,
            "columns": 9,
            "density": 0.25,
            "sight": 2,
        },
    },
    players=(1, 4),
)
@dataclass(frozen=True)
class Kitchen(ArrayGame):
    """You cook onion soup in a kitchen together with others; everybody is paid the same.

    A soup takes three onions in one pot. It then cooks for some steps, must be taken out with a
    dish, and pays 20 points to every player when it is handed in at a serving station.
    All players choose one action at the same time:
    - "north", "south", "east", "west": turn that way and walk one cell if there is floor. If two
      players would stand on the same cell or change places, nobody moves in that step.
    - "interact": use the one cell you face. What happens depends on it:
      - an onion or dish dispenser gives you one if your hands are empty
      - a pot takes an onion from you, unless it holds three or is cooking
      - a pot whose soup is ready puts the soup on the dish you hold
      - a counter takes what you hold if nothing lies on it, or gives you what lies there if your
        hands are empty
      - a serving station takes a soup from you
    - "stay": do nothing.
    You can hold one thing. Interactions happen before anybody moves, with what each player faced
    at the start of the step. You cannot walk through others.
    """

    layout: str = "cramped_room"
    num_players: int = 2
    cook_time: int = 20
    auto_cook: bool = True
    shaped: bool = False
    max_steps: int = 400
    sight: int | None = None
    rows: int = 5
    columns: int = 6
    density: float = 0.2

    order = "simultaneous"
    payoffs = "common"
    deterministic = True
    num_actions = len(ACTIONS)
    reward_terms = ("soup", "onion", "dish", "plate")

    def __post_init__(self) -> None:
        check_ranges(self, (r for r in self._limits() if getattr(self, r[0]) is not None))
        if self.plan:
            self._check_random_only()
            check_solvable(self.plan, self.starts)
        elif self._inside <= self.num_players:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns leave {self._inside} cells of floor, "
                f"too few for {self.num_players} players to walk: make the kitchen larger"
            )

    def _limits(self) -> tuple[tuple[str, int, int | None], ...]:
        return (
            ("num_players", 1, MAX_SEATS),
            ("cook_time", 1, MAX_COOK_TIME),
            ("max_steps", 1, None),
            ("sight", 1, LONGEST),
            ("rows", NARROWEST, LONGEST),
            ("columns", NARROWEST, LONGEST),
            ("density", 0, 1),
        )

    def _check_random_only(self) -> None:
        for option in fields(self):
            if option.name in ("rows", "columns", "density"):
                value = getattr(self, option.name)
                if value != option.default:
                    raise InvalidOption(
                        f"{option.name}={value} is for drawn kitchens: give it together with "
                        f"layout={RANDOM!r}"
                    )

    # What follows from the options

    @cached_property
    def plan(self) -> Layout | None:
        """The kitchen where it does not depend on the seed; states have `tiles` in any case."""
        return None if self.layout == RANDOM else read_layout(self.layout)

    @property
    def sides(self) -> tuple[int, int]:
        """Rows and columns of the kitchen."""
        return (self.plan.rows, self.plan.columns) if self.plan else (self.rows, self.columns)

    @property
    def _inside(self) -> int:
        """Cells of a random kitchen that are not on its edge."""
        return (self.rows - 2) * (self.columns - 2)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The cell each player starts on; empty where that is drawn."""
        return place_players(self.plan, self.num_players) if self.plan else ()

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether everybody sees the whole kitchen from every cell of floor, which has an edge."""
        return self.sight is None or self.sight >= max(self.sides) - 2

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """Nothing, and what no kitchen can pay: nobody ever walking, no pot ever cold."""
        interactions = self.num_players * self.max_steps
        pots = len(self.plan.cells_of(POT)) if self.plan else MOST[POT]
        soups = min(interactions // CHORES, pots * (self.max_steps // self.cook_time))
        return (0.0, SOUP_PAYS * soups + self.shaped * 5.0 * interactions)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        rows, columns = self.sides if self.sight is None else (2 * self.sight + 1,) * 2
        return (rows, columns, 5 * self.num_players + 12)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, max(FULL, self.cook_time))

    def constants(self) -> Mapping[str, Any]:
        """`sight` is 0 for all; a random kitchen has no `tiles` and `starts`."""
        rows, columns = self.sides
        sides = {"rows": rows, "columns": columns, "sight": self.sight or 0}
        packed = [0] * rows
        for cell, tile in enumerate(self.plan.tiles if self.plan else ()):
            packed[cell // columns] |= tile << (TILE_BITS * (cell % columns))
        fixed = {"tiles": tuple(packed), "starts": self.starts or (0,) * self.num_players}
        room = self._inside - self.num_players - 1
        drawing = {
            "drawn": self.plan is None,
            "inner_counters": min(round(self.density * self._inside), room),
            "tries": TRIES * self._inside,
        }
        return {**super().constants(), **sides, **fixed, **drawing}

    def fields(self) -> list[tuple[Any, ...]]:
        """By player: cell, direction, thing held. By cell: tile, thing there, clock.

        A thing is NOTHING, ONION, DISH, or DISH + n for a soup of n onions; in a pot it is the
        number of onions. The clock is 0 while nothing cooks, else 1 + the steps it has cooked.
        """
        seats, (rows, columns) = self.num_players, self.sides
        cells = rows * columns
        return [
            ("cell", "i2", seats),
            ("facing", "i1", seats),
            ("hand", "i1", seats),
            ("tiles", "i1", cells),
            ("there", "i1", cells),
            ("clock", "i1", cells),
            ("soups", "i4"),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        if config.drawn:
            draw_kitchen(config, state)
        else:
            for row in range(config.rows):
                packed = config.tiles[row]
                for column in range(config.columns):
                    tile = packed >> (TILE_BITS * column) & TILE_MASK
                    state.tiles[row * config.columns + column] = tile
            for seat in range(config.num_players):
                state.cell[seat] = config.starts[seat]
        for seat in range(config.num_players):
            state.facing[seat] = NORTH
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        filled = count_filled(config, state)
        for seat in range(config.num_players):
            interact(config, state, seat, actions[seat], filled, out)
        move(config, state, actions)
        cook(config, state)
        for seat in range(1, config.num_players):
            for term in range(out.rewards.shape[1]):
                out.rewards[seat, term] = out.rewards[0, term]
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(config.num_actions):
            mask[action] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the planes."""
        columns = config.columns
        if config.sight > 0:
            see_around(config, state, seat, view)
        else:
            for row in range(config.rows):
                for column in range(columns):
                    see_cell(config, state, row * columns + column, view, row, column)
            for other in range(config.num_players):
                row, column = state.cell[other] // columns, state.cell[other] % columns
                see_player(config, state, seat, other, view, row, column)

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        return replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: Any) -> tuple[float, ...]:
        """What the soups handed in have paid."""
        return (SOUP_PAYS * int(state["soups"]),) * self.num_players

    def noop(self, state: Any, seat: int) -> int:
        return STAY

    # What a player sees and what he does not

    def look(self, state: Any, seat: int | None = None) -> Look:
        """What a player sees, or all there is; with `sight` cells are those of his window."""
        if seat is None or self.sight is None:
            return read_state(state, self.sides[1], self.cook_time, seat or 0)
        return read_view(self.observe(state, seat), self.num_players, self.sight, seat)

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Deal what the player does not see anew; see `palestra_envs.grid.kitchen.beliefs`."""
        if self.perfect_information:
            return super().determinize(state, seat, rng)
        return imagine(self, state, seat, rng)

    # Words

    def rules_for(self, seat: int) -> str:
        if self.auto_cook:
            start = "A soup starts cooking by itself when the third onion is in."
        else:
            start = (
                "A soup starts cooking when somebody with empty hands interacts with a pot that "
                "holds onions. A soup of fewer than three onions pays nothing."
            )
        lines = [
            super().rules_for(seat),
            f"{start} It is ready {self.cook_time} steps later, that step included.",
        ]
        if self.shaped:
            lines.append(
                "Everybody is also paid 3 for an onion put into a pot, 5 for a soup taken out, and "
                "3 for a dish taken from a dispenser while no dish lies on a counter and fewer "
                "are held than there are pots that cook, are ready or hold one or two onions."
            )
        if self.plan is None:
            rows, columns = self.sides
            lines.append(
                f"Every episode has another kitchen, of {rows} rows and {columns} columns, with "
                f"1 to {MOST[POT]} pots, 1 to {MOST[ONIONS]} onion dispensers, a dish dispenser "
                "and a serving station."
            )
        if self.sight is not None:
            lines.append(
                f"You see up to {in_words(self.sight, 'cell')} away, diagonally too; what lies "
                "beyond the kitchen looks like counters. You learn what others do only from what "
                "you see and are paid."
            )
        lines.append(
            f"There are {self.num_players} players. In the map X is a counter, P a pot, O an onion "
            "dispenser, D a dish dispenser, S a serving station, a dot is floor. "
            + self._orientation
            + f" Time is up after {self.max_steps} steps."
        )
        return "\n".join(lines)

    @property
    def _orientation(self) -> str:
        if self.sight is None:
            return "Row 1 is the northernmost, column 1 the westernmost."
        return "North is on top, and @ is you."

    def describe(self, state: Any, seat: int) -> str:
        """With `sight` exactly what the array view holds, and how much time has gone by."""
        seen = self.look(state, seat)
        place = "" if self.sight else f"{self._where(seen, seen.hands[0].cell)}, "
        lines = [
            f"You are {self.players[seat]}, {place}{self._posture(seen, 0)}. "
            f"Steps played: {int(state.turn)} of {self.max_steps}.",
            *(self._other(seen, who) for who in range(1, len(seen.hands))),
            *(self._pot(seen, pot) for pot in seen.pots),
            *self._counters(seen),
        ]
        if self.sight is None:
            return "\n".join([*lines, "The map:", *self._map(seen.plan)])
        unknown = f"You cannot see what is more than {in_words(self.sight, 'cell')} away"
        missing = self.num_players - len(seen.hands)
        if missing:
            unknown += f", nor where {in_words(missing, 'other player')} may be"
        return "\n".join([*lines, "What you see:", *self._window(seen.plan), f"{unknown}."])

    @staticmethod
    def _where(seen: Look, cell: int) -> str:
        """'in row 1, column 2'; in a window 'one cell north of you'."""
        row, column = seen.plan.place(cell)
        if seen.sight is None:
            return f"in row {row + 1}, column {column + 1}"
        return where(row - seen.sight, column - seen.sight)

    def _other(self, seen: Look, who: int) -> str:
        place = self._where(seen, seen.hands[who].cell)
        return f"{self.players[seen.seats[who]]} is {place}, {self._posture(seen, who)}."

    def _posture(self, seen: Look, who: int) -> str:
        hand = seen.hands[who]
        front = seen.plan.ahead[hand.cell][hand.facing]
        faced = "" if front is None else f" ({TILE_NAMES[seen.plan.tiles[front]]})"
        for seat, other in zip(seen.seats, seen.hands, strict=True):
            faced = f" ({self.players[seat]})" if other.cell == front else faced
        return f"facing {ACTIONS[hand.facing]}{faced}, holding {thing(hand.held)}"

    def _pot(self, seen: Look, pot: Pot) -> str:
        name = f"The pot {self._where(seen, pot.cell)}"
        if pot.left == 0:
            return f"{name} holds a soup{_short(pot.onions)} that is ready."
        if pot.left:
            return f"{name} cooks a soup{_short(pot.onions)}, ready in {counted(pot.left, 'step')}."
        return (
            f"{name} holds {counted(pot.onions, 'onion')}." if pot.onions else f"{name} is empty."
        )

    def _counters(self, seen: Look) -> list[str]:
        """One line on what lies on the counters; none if nothing does."""
        lying = [f"{thing(code)} {self._where(seen, cell)}" for cell, code in seen.lying.items()]
        return [f"On the counters: {'; '.join(lying)}."] if lying else []

    @staticmethod
    def _map(plan: Layout) -> list[str]:
        header = "   " + "".join(str((column + 1) % 10) for column in range(plan.columns))
        return [header] + [f"{row + 1:2} {line}" for row, line in enumerate(plan.lines())]

    @staticmethod
    def _window(plan: Layout) -> list[str]:
        lines, own = plan.lines(), plan.rows // 2
        lines[own] = f"{lines[own][:own]}@{lines[own][own + 1 :]}"
        return lines

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> Sequence[Event]:
        """What every player did, and every soup that was paid for.

        With `sight` to each player what he did himself; and as an event of kind "reveal" whenever
        the step leads to anything else for him than with nothing out of his sight.
        """
        if before is None:
            return []
        told = self._told(before, actions, after)
        soups = int(after.soups - before.soups)
        paid = f"{counted(soups, 'soup').capitalize()} delivered: {SOUP_PAYS * soups:g} points."
        delivered = [paid] if soups else []
        if self.perfect_information:
            events = [Event("move", text, data) for text, data in told]
            return events + [Event("delivery", text, {"soups": soups}) for text in delivered]
        events = []
        for text, data in told:
            seat, to = data["player"], only(data["player"])
            events.append(Event("move", text, data, to))
            learned = self._learns(before, actions, after, seat)
            news = delivered or (["You see what you could not foresee."] if learned else [])
            kind = "reveal" if learned else "delivery"
            events += [Event(kind, text, {"player": seat, "soups": soups}, to) for text in news]
        return events

    def _told(
        self, before: Any, actions: Mapping[int, int], after: Any
    ) -> list[tuple[str, dict[str, int]]]:
        """A sentence on what each player did, and the numbers in it."""
        told, played = [], self.clone(before)
        for seat, action in sorted(actions.items()):
            if action == INTERACT:
                text = self._use(played, seat)
            else:
                text = self._walk(before, after, seat, action)
            data = {"player": seat, "action": int(action)}
            told.append((f"{self.players[seat]} {text}.", data))
        return told

    def _learns(self, before: Any, actions: Mapping[int, int], after: Any, player: int) -> bool:
        """Whether a player sees or is paid what he could not foresee from what he saw."""
        expected, hidden = without_unseen(self, before, player)
        seen = {seat: STAY if seat in hidden else action for seat, action in actions.items()}
        differs = self._play(self.clone(before), actions) != self._play(expected, seen)
        return differs or self.look(after, player) != self.look(expected, player)

    def _play(self, state: Any, actions: Mapping[int, int]) -> list[float]:
        """Play a step in `state`; returns what everybody is paid, by term."""
        out = Out(np.zeros((self.num_players, len(self.reward_terms))), np.zeros((1, 1)))
        self.apply_actions(self.config, state, [actions[seat] for seat in sorted(actions)], out)
        state.turn += 1
        paid: list[float] = out.rewards[0].tolist()
        return paid

    def _walk(self, before: Any, after: Any, seat: int, action: int) -> str:
        if action == STAY:
            return "stays"
        if before.cell[seat] != after.cell[seat]:
            return f"moves {ACTIONS[action]}"
        tile = before.tiles[ahead(self.config, int(before.cell[seat]), action)]
        if tile == FLOOR:
            return f"turns {ACTIONS[action]} and is held up"
        return f"turns {ACTIONS[action]} to the {TILE_NAMES[tile]}"

    def _use(self, state: Any, seat: int) -> str:
        """Let a player interact in `state`, and say what came of it."""
        front = ahead(self.config, int(state.cell[seat]), int(state.facing[seat]))
        then, tile = self.clone(state), int(state.tiles[front])
        interact(self.config, state, seat, INTERACT, 0, self._unpaid)
        station = f"the {TILE_NAMES[tile]}"
        if self.sight is None:
            row, column = divmod(front, self.sides[1])
            station += f" in row {row + 1}, column {column + 1}"
        held, got = thing(then.hand[seat]), thing(state.hand[seat])
        if then.clock[front] < state.clock[front] and then.there[front] == state.there[front]:
            return f"starts {station}"
        if then.hand[seat] == state.hand[seat]:
            return f"interacts with {station} to no effect"
        if tile == SERVING:
            return f"hands in {held}"
        if state.hand[seat] == NOTHING:
            return f"puts {held} {'into' if tile == POT else 'on'} {station}"
        return f"takes {got} from {station}"

    @cached_property
    def _unpaid(self) -> Out:
        """Where payments go that are none."""
        return Out(np.zeros((self.num_players, len(self.reward_terms))), np.zeros((1, 1)))

    # Pictures

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """The whole kitchen; with `sight`, for a player, his window of it."""
        seen = self.look(state, player)
        if self.sight is None:
            seen = self.look(state)  # everybody sees the same: draw it the same for everybody
        plan = seen.plan
        drawn = [self._piece(seen, cell) for cell in range(len(plan.tiles))]
        for pot in seen.pots:
            drawn[pot.cell] = self._pot_piece(seen, pot)
        hands = []
        for seat, hand in zip(seen.seats, seen.hands, strict=True):
            name = f"{self.players[seat]}, holding {thing(hand.held)}"
            glyph = f"{chr(65 + seat)}{ARROWS[hand.facing]}"
            drawn[hand.cell] = Piece(glyph, seat, label=name)
            held = (Piece(GLYPHS[hand.held], label=thing(hand.held)),) if hand.held else ()
            hands.append((self.players[seat], held))
        labels = seen.sight is None
        grid = Grid(
            tuple(tuple(drawn[row * plan.columns :][: plan.columns]) for row in range(plan.rows)),
            row_labels=tuple(str(row + 1) for row in range(plan.rows * labels)),
            column_labels=tuple(str(column + 1) for column in range(plan.columns * labels)),
        )
        bars = tuple(
            Bar(
                f"pot {self._where(seen, pot.cell)}",
                float(0 if pot.left is None else self.cook_time - pot.left),
                self.cook_time,
            )
            for pot in seen.pots
        )
        caption = f"Step {int(state.turn)} of {self.max_steps}, {counted(int(state.soups), 'soup')}"
        return Scene(caption, grid=grid, hands=tuple(hands), bars=bars)

    def _pot_piece(self, seen: Look, pot: Pot) -> Piece:
        glyph = f"P{pot.onions}" if pot.left is None else f"{pot.left}" if pot.left else "P!"
        return Piece(glyph, label=self._pot(seen, pot))

    def _piece(self, seen: Look, cell: int) -> Piece | None:
        tile, there = seen.plan.tiles[cell], seen.lying.get(cell, NOTHING)
        if tile == FLOOR:
            return None
        if there:
            return Piece(GLYPHS[there], label=f"counter with {thing(there)}")
        return Piece(SYMBOLS[tile], label=TILE_NAMES[tile])


def thing(code: int) -> str:
    """What a hand or a counter holds, in words."""
    names = ("nothing", "an onion", "a dish")
    return names[code] if code <= DISH else f"a soup{_short(int(code) - DISH)}"


def _short(onions: int) -> str:
    """Said of a soup that will not pay."""
    return "" if onions == FULL else f" of only {counted(onions, 'onion')}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
