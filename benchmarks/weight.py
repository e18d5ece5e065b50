"""What things weigh: clones, forks, imports, the second process."""

from __future__ import annotations

import statistics

import palestra
from timing import Row, cpu_seconds, fresh_process, limit, microseconds

SECOND_PROCESS = """
import gymnasium, palestra, time
started = time.perf_counter()
env = gymnasium.make("palestra:games/ConnectFour-v0")
env.reset(seed=0)
env.step(3)
print(time.perf_counter() - started)
"""


def array_clone() -> Row:
    game = palestra.game("games/ConnectFour-v0")
    state = game.initial_state(0)
    return limit(
        "clone, Connect Four", microseconds(lambda: game.clone(state)), at_most=2, unit="us"
    )


def array_fork() -> Row:
    episode = palestra.make("games/ConnectFour-v0", view="episode", seed=0)
    return limit("fork, Connect Four episode", microseconds(episode.fork), at_most=5, unit="us")


def text_clones() -> Row:
    worst = 0.0
    for env in ("text/Negotiation-v0", "text/Commons-v0"):
        game = palestra.game(env)
        state = game.initial_state(0)
        worst = max(worst, microseconds(lambda g=game, s=state: g.clone(s)))
    return limit("clone, slower of the two text games", worst, at_most=20, unit="us")


def import_time() -> Row:
    extra = cpu_seconds("import gymnasium, palestra") - cpu_seconds("import gymnasium")
    return limit("import palestra over gymnasium", extra, at_most=0.3, unit="CPU s")


def second_process() -> Row:
    """From `gym.make` to the first step of a compiled game, in a process that finds it compiled."""
    found = [float(fresh_process(SECOND_PROCESS)) for _ in range(6)]
    return limit("gym.make to first step", statistics.median(found[1:]), at_most=1, unit="s")


MEASURES = (array_clone, array_fork, text_clones, import_time, second_process)
