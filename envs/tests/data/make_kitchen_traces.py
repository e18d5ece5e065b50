"""Record episodes of the public package `overcooked-ai`, for `test_kitchen.py` to play over.

Not a dependency of the tests, because it needs the discontinued `gym`, which does not support
NumPy 2. In an environment of its own:

    pip install overcooked-ai==1.1.0
    python make_kitchen_traces.py kitchen_traces.json

Version 1.1.0 starts the cooking by an interaction. Its rules of 2019 (which later versions of its
repository call `old_dynamics`) are had by the two changes in `StartsByItself`.

A step is written as three characters a player (cell, direction, thing held) and three for every
counter or pot that changed (cell, content, clock). After every tenth step of two players follow a
blank and the CRC-32 of both views, stacked as the game does it, without the planes for tomatoes.
Cells are numbered row by row, numbers written as in DIGITS, things and clocks as in
`Kitchen.fields`.
"""

from __future__ import annotations

import json
import random
import string
import sys
import zlib
from collections import deque
from importlib.metadata import version

import numpy as np
from overcooked_ai_py.mdp.actions import Action, Direction
from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

DIGITS = string.digits + string.ascii_letters + "-_"
STEPS, EPISODES = 400, 1
ORDERS = {"start_all_orders": [{"ingredients": ["onion", "onion", "onion"]}]}
TOMATO_PLANES = (13, 17, 19, 24)
CLASSIC = {
    "cramped_room": "cramped_room",
    "asymmetric_advantages": "asymmetric_advantages",
    "coordination_ring": "coordination_ring",
    "forced_coordination": "forced_coordination",
    "counter_circuit": "counter_circuit_o_1order",  # the one of 2019; the other has tomatoes
}
CROWDED = """
XXOPXXX
X1 2  D
O  X  P
X3   4X
XXDXSXX
"""
THREE = """
XXPXX
O1 2O
X  3X
XDXSX
"""


class StartsByItself(OvercookedGridworld):
    def soup_to_be_cooked_at_location(self, state, pos):
        return False

    def step_environment_effects(self, state):
        for thing in state.objects.values():
            if thing.name == "soup" and thing.is_idle and len(thing.ingredients) == 3:
                thing.begin_cooking()
        super().step_environment_effects(state)


class Errands:
    """A player who walks to things at random, mostly to such as make sense, and uses them."""

    def __init__(self, rng, kitchen, seat):
        self.rng, self.kitchen, self.seat, self.goal = rng, kitchen, seat, None

    def act(self, state):
        seat = state.players[self.seat]
        if self.rng.random() < 0.12:
            return self.rng.choice(Action.ALL_ACTIONS)
        if self.goal is None:
            self.goal = self.choose(state, seat)
        others = [other.position for other in state.players if other is not seat]
        step = self.step_towards(seat.position, self.goal, others)
        if step is None:
            self.goal = None
            return self.rng.choice(Action.ALL_ACTIONS)
        ahead = Action.move_in_direction(seat.position, step)
        if ahead != self.goal or seat.orientation != step:
            return step
        self.goal = None
        return Action.INTERACT

    def choose(self, state, seat):
        """Something that can be reached if nobody is in the way."""
        cells = self.kitchen.terrain_pos_dict
        held = seat.held_object.name if seat.held_object else "nothing"
        sensible = {"onion": "PPPX", "dish": "PPPX", "soup": "SSSX", "nothing": "OODP"}[held]
        kinds = sensible if self.rng.random() < 0.85 else "XPODSX"
        wanted = [self.rng.choice(cells[self.rng.choice(kinds)]) for _ in range(20)]
        lying = [cell for cell in cells["X"] if state.has_object(cell)]
        if held == "nothing" and lying and self.rng.random() < 0.6:
            wanted = self.rng.sample(lying, len(lying)) + wanted
        for goal in wanted:
            if self.step_towards(seat.position, goal, ()) is not None:
                return goal
        return wanted[-1]

    def step_towards(self, start, goal, taken):
        """The first step of a shortest way; None if there is none."""
        floor = set(self.kitchen.get_valid_player_positions()) - set(taken)
        first, queue = {start: None}, deque([start])
        while queue:
            at = queue.popleft()
            directions = list(Direction.ALL_DIRECTIONS)
            self.rng.shuffle(directions)
            for direction in directions:
                to = Action.move_in_direction(at, direction)
                if to == goal:
                    return first[at] or direction
                if to in floor and to not in first:
                    first[to] = first[at] or direction
                    queue.append(to)
        return None


def code_of(thing):
    if thing is None:
        return 0
    if thing.name == "soup":
        return 2 + len(thing.ingredients)
    return {"onion": 1, "dish": 2}[thing.name]


def contents(kitchen, state):
    """Content and clock of every cell with something in it."""
    found = {}
    for (x, y), thing in state.objects.items():
        cell = y * kitchen.width + x
        if kitchen.terrain_mtx[y][x] == "P":
            found[cell] = (len(thing.ingredients), thing._cooking_tick + 1)
        else:
            found[cell] = (code_of(thing), 0)
    return found


def written(*numbers):
    return "".join(DIGITS[number] for number in numbers)


def players_of(kitchen, state):
    return "".join(
        written(
            seat.position[1] * kitchen.width + seat.position[0],
            Direction.DIRECTION_TO_INDEX[seat.orientation],
            code_of(seat.held_object),
        )
        for seat in state.players
    )


def views(kitchen, state):
    if kitchen.num_players != 2 or state.timestep % 10:
        return ""
    stacked = np.array(kitchen.lossless_state_encoding(state, STEPS))  # player, x, y, plane
    kept = [plane for plane in range(stacked.shape[3]) if plane not in TOMATO_PLANES]
    planes = stacked[..., kept].transpose(0, 2, 1, 3).astype(np.int8)
    return f" {zlib.crc32(np.ascontiguousarray(planes).tobytes()):08x}"


def record(kitchen, seed):
    rng = random.Random(seed)
    cooks = [Errands(rng, kitchen, seat) for seat in range(kitchen.num_players)]
    state = kitchen.get_standard_start_state()
    actions, steps, paid, before = [], [], [], {}
    for number in range(STEPS):
        chosen = [cook.act(state) for cook in cooks]
        actions.append(written(*(Action.ACTION_TO_INDEX[action] for action in chosen)))
        state, told = kitchen.get_state_transition(state, chosen)
        now = contents(kitchen, state)
        changed = sorted(c for c in now.keys() | before.keys() if now.get(c) != before.get(c))
        news = "".join(written(cell, *now.get(cell, (0, 0))) for cell in changed)
        steps.append(players_of(kitchen, state) + news + views(kitchen, state))
        before = now
        soup = sum(told["sparse_reward_by_agent"])
        shaped = sum(told["shaped_reward_by_agent"])
        if soup or shaped:
            paid.append([number, soup, shaped])
    return {"actions": " ".join(actions), "steps": steps, "paid": paid}


def main(path):
    episodes = []
    for kind in (OvercookedGridworld, StartsByItself):
        auto_cook = kind is StartsByItself
        for name, theirs in CLASSIC.items():
            rows = OvercookedGridworld.from_layout_name(theirs)
            kitchen = kind(rows.terrain_mtx, rows.start_player_positions, **ORDERS)
            for seed in range(EPISODES):
                options = {"layout": name, "num_players": 2, "auto_cook": auto_cook}
                episodes.append({"options": options, **record(kitchen, f"{name} {seed}")})
        for text in (THREE, CROWDED):
            rows = OvercookedGridworld.from_grid(text.split("\n")[1:-1])
            kitchen = kind(rows.terrain_mtx, rows.start_player_positions, **ORDERS)
            options = {"layout": text, "num_players": kitchen.num_players, "auto_cook": auto_cook}
            episodes.append({"options": options, **record(kitchen, text)})
    made = {"package": f"overcooked-ai {version('overcooked-ai')}", "episodes": episodes}
    with open(path, "w") as file:
        json.dump(made, file, indent=0)
        file.write("\n")
    for episode in episodes:
        soups = sum(soup for _, soup, _ in episode["paid"])
        print(episode["options"]["layout"].split("\n")[0], soups, len(episode["paid"]))


if __name__ == "__main__":
    main(sys.argv[1])
