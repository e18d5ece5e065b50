"""Kitchen: cooks share a cramped kitchen and deliver as many onion soups as they can.

The rules of Overcooked-AI: Carroll, Shah, Ho, Griffiths, Seshia, Abbeel and Dragan, "On the Utility
of Learning about Humans for Human-AI Coordination", NeurIPS 2019. Three onions go into a pot, the
soup cooks for 20 steps, a dish takes it out, and a soup handed in pays 20 to everybody. Some rules
are easily missed:

* All players first interact, in order of seats and with what they faced before, and only then move.
* Any direction turns a player, even where they cannot walk. If two players would stand on one cell
  or change places, nobody moves in that step, not even a third or fourth player far away.
* The step that puts in the third onion is the first step of the cooking.
* With `auto_cook` off an empty-handed interact starts the cooking, even of one or two onions; such
  a soup pays nothing. Version 1 of the public package `overcooked-ai` plays that way; the paper's
  game and most learning results start the cooking by themselves.
* `shaped` pays everybody for an onion put into a pot (3), for a dish from the dispenser (3) and for
  a soup taken out (5), as terms of their own. The dish pays only if no dish lies on a counter and
  fewer dishes are held than there were pots, at the start of the step, that cook, are ready, or
  hold one or two onions.

Checked against that package, version 1.1.0, on episodes recorded from it (positions, directions,
things held and lying, pots, rewards and array observations), with both ways to start the cooking.

With `layout="random"` every episode has its own kitchen, drawn from the seed: `rows` by `columns`
cells with counters all round. Inside, a share `density` of the cells become counters, or as many
as fit without a bottleneck (`palestra_envs.grid.kitchen.drawing`). One or two pots, one or two
onion dispensers, a dish dispenser and a serving station stand in random places beside floor, and
the players on random floor. The tests check with networkx that these kitchens can be played.

With `sight` players see no further than that many rows and columns. They may still learn of players
out of sight, when those hold up a step, and of soups handed in there, which pay them.

Left out: tomatoes and orders of several kinds, which the paper leaves out too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from palestra import (
    Channel,
    Event,
    Grid,
    Out,
    Outcome,
    Piece,
    Rng,
    Scene,
    Vocabulary,
    beside,
    environment,
    only,
)
from palestra.grids.words import quantity, where
from palestra.rules import all_act, truncate
from palestra.scene import Facing, on_top

from palestra_envs.grid.kitchen.beliefs import imagine, without_unseen
from palestra_envs.grid.kitchen.drawing import MOST, draw_kitchen
from palestra_envs.grid.kitchen.observations import Pot, SeenKitchen, read_observation, read_state
from palestra_envs.grid.kitchen.options import (
    TILE_BITS,
    TILE_MASK,
    KitchenOptions,
    KitchenState,
)
from palestra_envs.grid.kitchen.rules import (
    DISH,
    FULL,
    GO_NORTH,
    INTERACT,
    NOTHING,
    ONION,
    REST,
    SOUP_PAYS,
    ahead,
    cook,
    count_filled,
    interact,
    move,
    write_cell,
    write_player,
    write_window,
)
from palestra_envs.grid.layouts import (
    DISHES,
    FLOOR,
    ONIONS,
    POT,
    SERVING,
    SYMBOLS,
    TILE_NAMES,
    Layout,
)

ACTIONS = ("north", "south", "east", "west", "stay", "interact")
ARROWS = "^v><"
COMPASS: tuple[Facing, ...] = ("north", "south", "east", "west")
SPRITES = {ONION: "onion", DISH: "dish", DISH + 1: "soup"}  # of what is held or lies
STATIONS = {ONIONS: "onion", DISHES: "dish", SERVING: "serve"}  # pictures of what stands there
TINTS = {"onion": "gold", "dish": "white", "serve": "silver", "soup": "red"}
GLYPHS = " odsss"  # by thing held or lying
CHORES = 9  # interactions per soup: taking and putting three onions, a dish, the soup, the delivery


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
)
@dataclass(frozen=True)
class Kitchen(KitchenOptions):
    """Cooks share a small kitchen and deliver onion soups; everybody is paid the same.

    Actions are 0 north, 1 south, 2 east, 3 west, 4 stay and 5 interact with the cell faced. A soup
    of three onions pays every player 20 points.

    An observation is indexed by row (0 in the north), column and plane. The planes are those of the
    lossless encoding of `overcooked-ai` without tomatoes. The own player comes first, the others
    follow by seat; for n players:

        0 to n - 1        where each player is
        n to 5n - 1       the same by direction: north, south, east, west of the first, the next, …
        5n + 0 to 4       pots, counters, onion dispensers, dish dispensers, serving stations
        5n + 5            onions in a pot whose soup does not cook yet
        5n + 6            onions in any other soup: cooking, ready, carried, or on a counter
        5n + 7            steps until a soup in a pot is ready
        5n + 8            soups that are ready
        5n + 9, 5n + 10   dishes; onions; held (where the holder is) or on a counter
        5n + 11           everywhere 1 in the last 39 steps

    With `sight` it is the window around the player, north on top, of 2 * sight + 1 rows and
    columns. What lies beyond the kitchen looks like counters there.
    """

    vocabulary = Vocabulary(
        words=(
            *("kitchen", "onion", "soup", "pot", "dish", "counter", "dispenser"),
            *("serving station", "cook", "floor"),
        ),
        signs="XPODS",
    )
    rules_text = beside(__file__, "rules.txt")
    order = "simultaneous"
    payoffs = "common"
    deterministic = True
    num_actions = len(ACTIONS)
    reward_terms = ("soup", "onion", "dish", "plate")
    channel_axis = -1

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether players see the whole kitchen from every floor cell; the edge is never floor."""
        return self.sight is None or self.sight >= max(self.sides) - 2

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """From 0 to an upper bound for any kitchen: nobody ever walks and all pots always cook."""
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

    # The rules

    @staticmethod
    def init_state(config: Kitchen, state: KitchenState) -> None:
        if config.drawn:
            draw_kitchen(config, state)
        else:
            for row in range(config.rows):
                packed = config.packed_tiles[row]
                for column in range(config.columns):
                    tile = packed >> (TILE_BITS * column) & TILE_MASK
                    state.tiles[row * config.columns + column] = tile
            for seat in range(config.num_players):
                state.cell[seat] = config.starts[seat]
        for seat in range(config.num_players):
            state.facing[seat] = GO_NORTH
        all_act(state)

    @staticmethod
    def apply_actions(config: Kitchen, state: KitchenState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Kitchen, state: KitchenState, seat: int, mask: Any) -> None:
        for action in range(config.num_actions):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        n = self.num_players
        return (
            Channel("players", n, "1 where each player is, the own first"),
            Channel("facing", 4 * n, "the same by direction: north, south, east, west of each"),
            Channel("pots", 1, "1 for a pot"),
            Channel("counters", 1, "1 for a counter"),
            Channel("onion_dispensers", 1, "1 for an onion dispenser"),
            Channel("dish_dispensers", 1, "1 for a dish dispenser"),
            Channel("serving", 1, "1 for a serving station"),
            Channel("pot_onions", 1, "onions in a pot that does not cook yet"),
            Channel("soup_onions", 1, "onions in any other soup"),
            Channel("cooking", 1, "steps until the soup in a pot is ready"),
            Channel("ready", 1, "1 for a soup that is ready"),
            Channel("dishes", 1, "1 for a dish, held or on a counter"),
            Channel("onions", 1, "1 for an onion, held or on a counter"),
            Channel("urgent", 1, "1 everywhere in the last 39 steps"),
        )

    @staticmethod
    def write_observation(config: Kitchen, state: KitchenState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the planes."""
        columns = config.columns
        if config.reach > 0:
            write_window(config, state, seat, obs)
        else:
            for row in range(config.rows):
                for column in range(columns):
                    write_cell(config, state, row * columns + column, obs, row, column)
            for other in range(config.num_players):
                row, column = state.cell[other] // columns, state.cell[other] % columns
                write_player(config, state, seat, other, obs, row, column)

    def outcome(self, state: KitchenState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        return replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: KitchenState) -> tuple[float, ...]:
        """What the soups handed in have paid."""
        return (SOUP_PAYS * int(state.soups),) * self.num_players

    def noop(self, state: KitchenState, seat: int) -> int:
        return REST

    # What a player sees, and what they do not see

    def look(self, state: KitchenState, seat: int | None = None) -> SeenKitchen:
        """The player's view, or the whole kitchen if `seat` is None.

        With `sight` cells are those of the player's window.
        """
        if seat is None or self.sight is None:
            return read_state(state, self.sides[1], self.cook_time, seat or 0)
        return read_observation(self.seen(state, seat), self.num_players, self.sight, seat)

    def determinize(self, state: KitchenState, seat: int, rng: Rng) -> Any:
        """Redraw what the player does not see; see `palestra_envs.grid.kitchen.beliefs`."""
        if self.perfect_information:
            return super().determinize(state, seat, rng)
        return imagine(self, state, seat, rng)

    # Words

    def rules_for(self, seat: int) -> str:
        return "\n".join([super().rules_for(seat), *self._cooking_rules(), *self._map_rules()])

    def _cooking_rules(self) -> Iterator[str]:
        """When a soup cooks, and what else is paid."""
        if self.auto_cook:
            start = "A soup starts cooking by itself when the third onion is in."
        else:
            start = (
                "A soup starts cooking when somebody with empty hands interacts with a pot that "
                "holds onions. A soup of fewer than three onions pays nothing."
            )
        yield f"{start} It is ready {self.cook_time} steps later, that step included."
        if self.shaped:
            yield (
                "Everybody is also paid 3 for an onion put into a pot, 5 for a soup taken out, and "
                "3 for a dish taken from a dispenser while no dish lies on a counter and fewer "
                "are held than there are pots that cook, are ready or hold one or two onions."
            )

    def _map_rules(self) -> Iterator[str]:
        """What players know of the kitchen, and how they read the map."""
        if self.plan is None:
            rows, columns = self.sides
            yield (
                f"Every episode has another kitchen, of {rows} rows and {columns} columns, with "
                f"1 to {MOST[POT]} pots, 1 to {MOST[ONIONS]} onion dispensers, a dish dispenser "
                "and a serving station."
            )
        if self.sight is not None:
            yield (
                f"You see up to {quantity(self.sight, 'cell')} away, diagonally too; what lies "
                "beyond the kitchen looks like counters. You learn what others do only from what "
                "you see and are paid."
            )
        yield (
            f"There are {self.num_players} players. In the map X is a counter, P a pot, O an onion "
            "dispenser, D a dish dispenser, S a serving station, a dot is floor. "
            f"{self._orientation} Time is up after {self.max_steps} steps."
        )

    @property
    def _orientation(self) -> str:
        if self.sight is None:
            return "Row 1 is the northernmost, column 1 the westernmost."
        return "North is on top, and @ is you."

    def describe(self, state: KitchenState, seat: int) -> str:
        """With `sight` exactly what the array observation holds, and how many steps were played."""
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
        unknown = f"You cannot see what is more than {quantity(self.sight, 'cell')} away"
        missing = self.num_players - len(seen.hands)
        if missing:
            unknown += f", nor where {quantity(missing, 'other player')} may be"
        return "\n".join([*lines, "What you see:", *self._window(seen.plan), f"{unknown}."])

    @staticmethod
    def _where(seen: SeenKitchen, cell: int) -> str:
        """'in row 1, column 2'; in a window 'one cell north of you'."""
        row, column = seen.plan.place(cell)
        if seen.sight is None:
            return f"in row {row + 1}, column {column + 1}"
        return where(row - seen.sight, column - seen.sight)

    def _other(self, seen: SeenKitchen, who: int) -> str:
        place = self._where(seen, seen.hands[who].cell)
        return f"{self.players[seen.seats[who]]} is {place}, {self._posture(seen, who)}."

    def _posture(self, seen: SeenKitchen, who: int) -> str:
        hand = seen.hands[who]
        front = seen.plan.ahead[hand.cell][hand.facing]
        faced = "" if front is None else f" ({TILE_NAMES[seen.plan.tiles[front]]})"
        for seat, other in zip(seen.seats, seen.hands, strict=True):
            faced = f" ({self.players[seat]})" if other.cell == front else faced
        return f"facing {ACTIONS[hand.facing]}{faced}, holding {thing(hand.held)}"

    def _pot(self, seen: SeenKitchen, pot: Pot) -> str:
        name = f"The pot {self._where(seen, pot.cell)}"
        if pot.left == 0:
            return f"{name} holds a soup{_short(pot.onions)} that is ready."
        if pot.left:
            return f"{name} cooks a soup{_short(pot.onions)}, ready in {plural(pot.left, 'step')}."
        return f"{name} holds {plural(pot.onions, 'onion')}." if pot.onions else f"{name} is empty."

    def _counters(self, seen: SeenKitchen) -> list[str]:
        """One line on the things on counters; no line if there are none."""
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

    def action_text(self, state: KitchenState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def narrate(
        self, before: KitchenState | None, actions: Mapping[int, int], after: KitchenState
    ) -> Sequence[Event]:
        """What every player did, and every soup that was paid for.

        With `sight` players are told only of their own actions. They also get an event of kind
        "reveal" if the result of the step differs from what it would be if nothing were out of
        sight.
        """
        if before is None:
            return []
        moves = self._action_events(before, actions, after)
        soups = int(after.soups - before.soups)
        paid = f"{plural(soups, 'soup').capitalize()} delivered: {SOUP_PAYS * soups:g} points."
        delivered = [paid] if soups else []
        if self.perfect_information:
            events = [Event("move", text, data) for text, data in moves]
            return events + [Event("delivery", text, {"soups": soups}) for text in delivered]
        events = []
        for text, data in moves:
            seat, to = data["player"], only(data["player"])
            events.append(Event("move", text, data, to))
            learned = self._learns(before, actions, after, seat)
            news = delivered or (["You see what you could not foresee."] if learned else [])
            kind = "reveal" if learned else "delivery"
            events += [Event(kind, text, {"player": seat, "soups": soups}, to) for text in news]
        return events

    def _action_events(
        self, before: KitchenState, actions: Mapping[int, int], after: KitchenState
    ) -> list[tuple[str, dict[str, int]]]:
        """For each player a sentence on what they did, and the data of the event."""
        found, played = [], self.clone(before)
        for seat, action in sorted(actions.items()):
            if action == INTERACT:
                text = self._use(played, seat)
            else:
                text = self._walk(before, after, seat, action)
            data = {"player": seat, "action": int(action)}
            found.append((f"{self.players[seat]} {text}.", data))
        return found

    def _learns(
        self, before: KitchenState, actions: Mapping[int, int], after: KitchenState, seat: int
    ) -> bool:
        """Whether a player sees or is paid what they could not foresee from what they saw."""
        expected, hidden = without_unseen(self, before, seat)
        seen = {other: REST if other in hidden else action for other, action in actions.items()}
        differs = self._play(self.clone(before), actions) != self._play(expected, seen)
        return differs or self.look(after, seat) != self.look(expected, seat)

    def _play(self, state: KitchenState, actions: Mapping[int, int]) -> list[float]:
        """Play a step in `state`; returns every player's reward by term."""
        out = Out(np.zeros((self.num_players, len(self.reward_terms))), np.zeros((1, 1)))
        self.apply_actions(self.config, state, [actions[seat] for seat in sorted(actions)], out)
        state.turn += 1
        return out.rewards[0].tolist()

    def _walk(self, before: KitchenState, after: KitchenState, seat: int, action: int) -> str:
        if action == REST:
            return "stays"
        if before.cell[seat] != after.cell[seat]:
            return f"moves {ACTIONS[action]}"
        tile = before.tiles[ahead(self.config, int(before.cell[seat]), action)]
        if tile == FLOOR:
            return f"turns {ACTIONS[action]} and is held up"
        return f"turns {ACTIONS[action]} to the {TILE_NAMES[tile]}"

    def _use(self, state: KitchenState, seat: int) -> str:
        """Let a player interact in `state`, and say what the result is."""
        front = ahead(self.config, int(state.cell[seat]), int(state.facing[seat]))
        then, tile = self.clone(state), int(state.tiles[front])
        interact(self.config, state, seat, INTERACT, 0, self._payment_sink)
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
    def _payment_sink(self) -> Out:
        """Where interactions write payments that nobody reads."""
        return Out(np.zeros((self.num_players, len(self.reward_terms))), np.zeros((1, 1)))

    # Pictures

    def scene(self, state: KitchenState, seat: int | None = None) -> Scene:
        """The whole kitchen; with `sight`, the window of it that the player sees."""
        # with unlimited sight all players see the same, so the picture is the same for all
        seen = self.look(state, None if self.sight is None else seat)
        plan = seen.plan
        pieces = self._pieces(seen)
        labels = seen.sight is None
        grid = Grid(
            by_row(pieces, plan.columns),
            row_labels=tuple(str(row + 1) for row in range(plan.rows * labels)),
            column_labels=tuple(str(column + 1) for column in range(plan.columns * labels)),
            ground=by_row(["floor" if t == FLOOR else "counter" for t in plan.tiles], plan.columns),
        )
        caption = f"Step {int(state.turn)} of {self.max_steps}, {plural(int(state.soups), 'soup')}"
        return Scene(caption, grid=grid)

    def _pieces(self, seen: SeenKitchen) -> list[Piece | None]:
        """What to draw on each cell: stations, things, pots and players."""
        pieces = [self._piece(seen, cell) for cell in range(len(seen.plan.tiles))]
        for pot in seen.pots:
            pieces[pot.cell] = self._pot_piece(seen, pot)
        for seat, hand in zip(seen.seats, seen.hands, strict=True):
            name = f"{self.players[seat]}, holding {thing(hand.held)}"
            glyph, way = f"{chr(65 + seat)}{ARROWS[hand.facing]}", COMPASS[hand.facing]
            carried = SPRITES.get(min(hand.held, DISH + 1), "")
            cook = Piece(glyph, seat, "tile", name, "cook", way, carried)
            pieces[hand.cell] = on_top(pieces[hand.cell], cook)
        return pieces

    def _pot_piece(self, seen: SeenKitchen, pot: Pot) -> Piece:
        """A pot with dots for its onions, the steps it still cooks, or a tick when it is ready."""
        badge = f"{pot.onions}/{FULL}" if pot.left is None else str(pot.left)
        if pot.left == 0:
            return Piece("P", "red", "tile", self._pot(seen, pot), "soup", badge="check")
        return Piece("P", "grey", "tile", self._pot(seen, pot), "pot", badge=badge)

    def _piece(self, seen: SeenKitchen, cell: int) -> Piece | None:
        tile, there = seen.plan.tiles[cell], seen.lying.get(cell, NOTHING)
        if tile == FLOOR:
            return None
        if there:
            lies = SPRITES.get(min(there, DISH + 1), "")
            tint = TINTS.get(lies, "gold")
            return Piece(GLYPHS[there], tint, "tile", f"counter with {thing(there)}", lies)
        sprite = STATIONS.get(tile, "counter")
        return Piece(SYMBOLS[tile], TINTS.get(sprite, "gold"), "tile", TILE_NAMES[tile], sprite)


Thing = TypeVar("Thing")


def by_row(cells: Sequence[Thing], columns: int) -> tuple[tuple[Thing, ...], ...]:
    """Cells in row-major order, as rows."""
    return tuple(tuple(cells[i : i + columns]) for i in range(0, len(cells), columns))


def thing(code: int) -> str:
    """What a hand or a counter holds, in words."""
    names = ("nothing", "an onion", "a dish")
    return names[code] if code <= DISH else f"a soup{_short(int(code) - DISH)}"


def _short(onions: int) -> str:
    """What to add to the name of a soup that will not pay."""
    return "" if onions == FULL else f" of only {plural(onions, 'onion')}"


def plural(number: int, noun: str) -> str:
    """A number of things, such as '2 onions'."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
