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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from palestra import (
    ArrayGame,
    Bar,
    Event,
    Grid,
    Out,
    Outcome,
    Piece,
    Scene,
    check_ranges,
)
from palestra.rules import all_act, truncate

from palestra_envs.grid.kitchen_rules import (
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
    see_cell,
    see_player,
)
from palestra_envs.grid.layouts import (
    COUNTER,
    FLOOR,
    POT,
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
CHORES = 9  # interactions a soup takes: three onions taken and put, a dish, the soup, the delivery


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

    order = "simultaneous"
    payoffs = "common"
    deterministic = True
    perfect_information = True
    num_actions = len(ACTIONS)
    reward_terms = ("soup", "onion", "dish", "plate")

    def __post_init__(self) -> None:
        check_ranges(
            self,
            (
                ("num_players", 1, MAX_SEATS),
                ("cook_time", 1, MAX_COOK_TIME),
                ("max_steps", 1, None),
            ),
        )
        check_solvable(self.plan, self.starts)

    # What follows from the options

    @cached_property
    def plan(self) -> Layout:
        return read_layout(self.layout)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The cell each player starts on."""
        return place_players(self.plan, self.num_players)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """Nothing, and what no kitchen can pay: nobody ever walking, no pot ever cold."""
        interactions = self.num_players * self.max_steps
        pots = len(self.plan.cells_of(POT))
        soups = min(interactions // CHORES, pots * (self.max_steps // self.cook_time))
        return (0.0, SOUP_PAYS * soups + self.shaped * 5.0 * interactions)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.plan.rows, self.plan.columns, 5 * self.num_players + 12)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, max(FULL, self.cook_time))

    def constants(self) -> Mapping[str, Any]:
        plan = self.plan
        packed = [0] * plan.rows
        for cell, tile in enumerate(plan.tiles):
            row, column = plan.place(cell)
            packed[row] |= tile << (TILE_BITS * column)
        sides = {"rows": plan.rows, "columns": plan.columns}
        return {**super().constants(), **sides, "tiles": tuple(packed), "starts": self.starts}

    def fields(self) -> list[tuple[Any, ...]]:
        """By player: cell, direction, thing held. By cell: tile, thing there, clock.

        A thing is NOTHING, ONION, DISH, or DISH + n for a soup of n onions; in a pot it is the
        number of onions. The clock is 0 while nothing cooks, else 1 + the steps it has cooked.
        """
        seats, cells = self.num_players, self.plan.rows * self.plan.columns
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
    def setup(config: Any, state: Any) -> None:
        for row in range(config.rows):
            packed = config.tiles[row]
            for column in range(config.columns):
                tile = packed >> (TILE_BITS * column) & TILE_MASK
                state.tiles[row * config.columns + column] = tile
        for player in range(config.num_players):
            state.cell[player] = config.starts[player]
            state.facing[player] = NORTH
        all_act(state)

    @staticmethod
    def advance(config: Any, state: Any, actions: Any, out: Any) -> None:
        filled = count_filled(config, state)
        for player in range(config.num_players):
            interact(config, state, player, actions[player], filled, out)
        move(config, state, actions)
        cook(config, state)
        for player in range(1, config.num_players):
            for term in range(out.rewards.shape[1]):
                out.rewards[player, term] = out.rewards[0, term]
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def allow(config: Any, state: Any, player: int, mask: Any) -> None:
        for action in range(config.num_actions):
            mask[action] = 1

    @staticmethod
    def sense(config: Any, state: Any, player: int, view: Any) -> None:
        """See the module's docstring for the planes."""
        for row in range(config.rows):
            for column in range(config.columns):
                see_cell(config, state, row, column, view)
        for other in range(config.num_players):
            see_player(config, state, player, other, view)

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        return replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: Any) -> tuple[float, ...]:
        """What the soups handed in have paid."""
        return (SOUP_PAYS * int(state["soups"]),) * self.num_players

    def noop(self, state: Any, player: int) -> int:
        return STAY

    # Words

    def rules(self, player: int) -> str:
        if self.auto_cook:
            start = "A soup starts cooking by itself when the third onion is in."
        else:
            start = (
                "A soup starts cooking when somebody with empty hands interacts with a pot that "
                "holds onions. A soup of fewer than three onions pays nothing."
            )
        lines = [
            super().rules(player),
            f"{start} It is ready {self.cook_time} steps later, that step included.",
        ]
        if self.shaped:
            lines.append(
                "Everybody is also paid 3 for an onion put into a pot, 5 for a soup taken out, and "
                "3 for a dish taken from a dispenser while no dish lies on a counter and fewer "
                "are held than there are pots that cook, are ready or hold one or two onions."
            )
        lines.append(
            f"There are {self.num_players} players. In the map X is a counter, P a pot, O an onion "
            "dispenser, D a dish dispenser, S a serving station, a dot is floor. Row 1 is the "
            f"northernmost, column 1 the westernmost. Time is up after {self.max_steps} steps."
        )
        return "\n".join(lines)

    def describe(self, state: Any, player: int) -> str:
        others = [seat for seat in range(self.num_players) if seat != player]
        lines = [
            f"You are {self.players[player]}, {self._posture(state, player)}. "
            f"Steps played: {int(state.turn)} of {self.max_steps}.",
            *(f"{self.players[seat]} is {self._posture(state, seat)}." for seat in others),
            *(self._pot(state, pot) for pot in self.plan.cells_of(POT)),
            *self._counters(state),
            "The map:",
            *self._map(),
        ]
        return "\n".join(lines)

    def _where(self, cell: int) -> str:
        row, column = self.plan.place(cell)
        return f"row {row + 1}, column {column + 1}"

    def _posture(self, state: Any, player: int) -> str:
        cell, facing = int(state.cell[player]), int(state.facing[player])
        front = ahead(self.config, cell, facing)
        faced = TILE_NAMES[self.plan.tiles[front]]
        for other, name in enumerate(self.players):
            faced = name if state.cell[other] == front else faced
        return (
            f"in {self._where(cell)}, facing {ACTIONS[facing]} ({faced}), "
            f"holding {thing(state.hand[player])}"
        )

    def _pot(self, state: Any, pot: int) -> str:
        onions, clock = int(state.there[pot]), int(state.clock[pot])
        name = f"The pot in {self._where(pot)}"
        if clock > self.cook_time:
            return f"{name} holds a soup{_short(onions)} that is ready."
        if clock:
            left = self.cook_time + 1 - clock
            return f"{name} cooks a soup{_short(onions)}, ready in {counted(left, 'step')}."
        return f"{name} holds {counted(onions, 'onion')}." if onions else f"{name} is empty."

    def _counters(self, state: Any) -> list[str]:
        """One line on what lies on the counters; none if nothing does."""
        lying = [
            f"{thing(state.there[cell])} in {self._where(cell)}"
            for cell in self.plan.cells_of(COUNTER)
            if state.there[cell]
        ]
        return [f"On the counters: {'; '.join(lying)}."] if lying else []

    def _map(self) -> list[str]:
        plan = self.plan
        drawn = "".join(SYMBOLS[tile] for tile in plan.tiles).replace(" ", ".")
        header = "   " + "".join(str((column + 1) % 10) for column in range(plan.columns))
        return [header] + [
            f"{row + 1:2} {drawn[row * plan.columns : (row + 1) * plan.columns]}"
            for row in range(plan.rows)
        ]

    def action_text(self, state: Any, player: int, action: int) -> str:
        return ACTIONS[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> Sequence[Event]:
        """What every player did, and every soup that was paid for."""
        if before is None:
            return []
        events = []
        played = self.clone(before)
        for player, action in sorted(actions.items()):
            if action == INTERACT:
                text = self._use(played, player)
            else:
                text = self._walk(before, after, player, action)
            data = {"player": player, "action": int(action)}
            events.append(Event("move", f"{self.players[player]} {text}.", data))
        soups = int(after.soups - before.soups)
        if soups:
            text = f"{counted(soups, 'soup').capitalize()} delivered: {SOUP_PAYS * soups:g} points."
            events.append(Event("delivery", text, {"soups": soups}))
        return events

    def _walk(self, before: Any, after: Any, player: int, action: int) -> str:
        if action == STAY:
            return "stays"
        if before.cell[player] != after.cell[player]:
            return f"moves {ACTIONS[action]}"
        front = ahead(self.config, int(before.cell[player]), action)
        if self.plan.tiles[front] == FLOOR:
            return f"turns {ACTIONS[action]} and is held up"
        return f"turns {ACTIONS[action]} to the {TILE_NAMES[self.plan.tiles[front]]}"

    def _use(self, state: Any, player: int) -> str:
        """Let a player interact in `state`, and say what came of it."""
        front = ahead(self.config, int(state.cell[player]), int(state.facing[player]))
        then = self.clone(state)
        interact(self.config, state, player, INTERACT, 0, self._unpaid)
        station = f"the {TILE_NAMES[self.plan.tiles[front]]} in {self._where(front)}"
        held, got = thing(then.hand[player]), thing(state.hand[player])
        if then.clock[front] < state.clock[front] and then.there[front] == state.there[front]:
            return f"starts {station}"
        if then.hand[player] == state.hand[player]:
            return f"interacts with {station} to no effect"
        if self.plan.tiles[front] == SERVING:
            return f"hands in {held}"
        if state.hand[player] == NOTHING:
            return f"puts {held} {'into' if self.plan.tiles[front] == POT else 'on'} {station}"
        return f"takes {got} from {station}"

    @cached_property
    def _unpaid(self) -> Out:
        """Where payments go that are none."""
        return Out(np.zeros((self.num_players, len(self.reward_terms))), np.zeros((1, 1)))

    # Pictures

    def scene(self, state: Any, player: int | None = None) -> Scene:
        plan = self.plan
        drawn = [self._piece(state, cell) for cell in range(len(plan.tiles))]
        for seat in range(self.num_players):
            name = f"{self.players[seat]}, holding {thing(state.hand[seat])}"
            glyph = f"{chr(65 + seat)}{ARROWS[state.facing[seat]]}"
            drawn[state.cell[seat]] = Piece(glyph, seat, label=name)
        rows = [drawn[row * plan.columns :][: plan.columns] for row in range(plan.rows)]
        grid = Grid(
            tuple(map(tuple, rows)),
            row_labels=tuple(str(row + 1) for row in range(plan.rows)),
            column_labels=tuple(str(column + 1) for column in range(plan.columns)),
        )
        hands = tuple(
            (name, (Piece(GLYPHS[hand], label=thing(hand)),) if hand else ())
            for name, hand in zip(self.players, state.hand.tolist(), strict=True)
        )
        bars = tuple(
            Bar(f"pot in {self._where(pot)}", float(max(0, state.clock[pot] - 1)), self.cook_time)
            for pot in plan.cells_of(POT)
        )
        caption = f"Step {int(state.turn)} of {self.max_steps}, {counted(int(state.soups), 'soup')}"
        return Scene(caption, grid=grid, hands=hands, bars=bars)

    def _piece(self, state: Any, cell: int) -> Piece | None:
        tile, there = self.plan.tiles[cell], int(state.there[cell])
        if tile == FLOOR:
            return None
        if tile == POT:
            clock = int(state.clock[cell])
            left = f"{self.cook_time + 1 - clock}" if clock else f"P{there}"
            return Piece("P!" if clock > self.cook_time else left, label=self._pot(state, cell))
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
