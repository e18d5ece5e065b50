"""Record episodes of the public package `pogema`, for `test_path_finding.py` to play over.

Not a dependency of the tests, because it asks for an old NumPy and Gymnasium. In an environment of
its own:

    pip install pogema==1.4.0
    python make_pogema_traces.py pogema_traces.json

Of each step are kept the actions (by the public numbers: stay, up, down, left, right), the cells
everybody stands on and his goal afterwards, counted row by row, and who was paid. Of each eighth
step also what everybody sees of obstacles and players, in hexadecimal, where the window lies on the
map. Its "soft" rule lets the first of several who head for one cell enter it, which ours does not:
there such moves are not made. Nor are views kept there, in which players who follow others vanish.
"""

from __future__ import annotations

import json
import sys
from collections import deque

import numpy as np
from pogema import GridConfig
from pogema.envs import PogemaLifeLong

MOVES = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
OPEN = """
......
......
......
......
......
"""
TIGHT = """
.#....#
...##..
.#....#
.#.##..
......#
"""
LOOP = """
....
.##.
.##.
....
"""
STEPS, SIGHT = 60, 2


def far(level: list[str], goal: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Steps to a goal from every cell."""
    steps, queue = {goal: 0}, deque([goal])
    while queue:
        row, column = here = queue.popleft()
        for down, right in MOVES[1:]:
            there = row + down, column + right
            inside = 0 <= there[0] < len(level) and 0 <= there[1] < len(level[0])
            if inside and level[there[0]][there[1]] == "." and there not in steps:
                steps[there] = steps[here] + 1
                queue.append(there)
    return steps


def choose(level: list[str], places, goals, contests: bool, rng) -> list[int]:
    """Moves for all, mostly towards their goals; none into obstacles."""
    while True:
        chosen, heading = [], []
        for place, goal in zip(places, goals, strict=True):
            steps = far(level, goal)
            ways = [
                (way, (place[0] + down, place[1] + right))
                for way, (down, right) in enumerate(MOVES)
                if (place[0] + down, place[1] + right) in steps
            ]
            if rng.random() < 0.6:
                ways = [min(ways, key=lambda way: steps[way[1]])]
            way, there = ways[rng.integers(len(ways))]
            chosen.append(way)
            if way:
                heading.append(there)
        if contests or len(set(heading)) == len(heading):
            return chosen


def record(text: str, players: int, rule: str, seed: int) -> dict:
    level = text.split()
    config = GridConfig(
        map=text,
        num_agents=players,
        seed=seed,
        obs_radius=SIGHT,
        on_target="restart",
        collision_system=rule,
        max_episode_steps=STEPS + 1,
    )
    env = PogemaLifeLong(config)
    views, _ = env.reset()
    rng = np.random.default_rng(seed)

    def cells(places) -> list[int]:
        return [int(row * len(level[0]) + column) for row, column in places]

    places = env.get_agents_xy(ignore_borders=True)
    goals = env.get_targets_xy(ignore_borders=True)
    episode = {"level": level, "rule": rule, "start": cells(places), "goals": cells(goals)}
    steps = []
    for number in range(STEPS):
        actions = choose(
            level, [tuple(p) for p in places], [tuple(g) for g in goals], rule != "soft", rng
        )
        views, paid, *_ = env.step(list(actions))
        places = env.get_agents_xy(ignore_borders=True)
        goals = env.get_targets_xy(ignore_borders=True)
        step = [actions, cells(places), cells(goals), [int(p) for p in paid]]
        if number % 8 == 0 and rule != "soft":
            step.append(
                [seen(view, place, level) for view, place in zip(views, places, strict=True)]
            )
        steps.append(step)
    return {**episode, "steps": steps}


def seen(view: np.ndarray, place: tuple[int, int], level: list[str]) -> str:
    """Obstacles, then players, of the part of a window that lies on the map."""
    bits = [
        int(view[plane, i, j])
        for plane in (0, 1)
        for i in range(2 * SIGHT + 1)
        for j in range(2 * SIGHT + 1)
        if 0 <= place[0] + i - SIGHT < len(level) and 0 <= place[1] + j - SIGHT < len(level[0])
    ]
    return f"{int(''.join(map(str, bits)), 2):x}"


if __name__ == "__main__":
    episodes = [
        record(text, players, rule, seed)
        for rule in ("soft", "block_both")
        for seed, (text, players) in enumerate([(OPEN, 12), (TIGHT, 6), (LOOP, 6)])
    ]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(episodes, file, separators=(",", ":"))
