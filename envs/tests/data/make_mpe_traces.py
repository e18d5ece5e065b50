"""Record episodes of the public package `mpe2`, for `test_particles.py` to play over.

Not a dependency of the tests, because it brings pygame-ce, which takes pygame's place. In an
environment of its own:

    pip install mpe2==1.1.1
    python make_mpe_traces.py mpe_traces.json

Everything starts nearer together than usual, and most pushes go inwards, so that discs touch. Of
each step are kept the actions, where all agents are, what each was paid, and, of every eighth, what
each sees.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from mpe2 import simple_adversary_v3, simple_speaker_listener_v4, simple_spread_v3, simple_tag_v3

CASES = [
    ("spread", simple_spread_v3, {"N": 3}, 0.35),
    ("spread", simple_spread_v3, {"N": 5, "local_ratio": 0.2}, 0.4),
    ("tag", simple_tag_v3, {}, 0.4),
    ("tag", simple_tag_v3, {"num_good": 2, "num_adversaries": 4, "num_obstacles": 3}, 1.0),
    ("adversary", simple_adversary_v3, {"N": 3}, 1.0),
    ("speaker-listener", simple_speaker_listener_v4, {}, 1.0),
]
STEPS = 40


def record(name: str, module, options: dict, shrink: float, seed: int) -> dict:
    env = module.parallel_env(max_cycles=STEPS, **options)
    env.reset(seed=seed)
    world, rng = env.unwrapped.world, np.random.default_rng(seed)
    for entity in world.entities:
        entity.state.p_pos = entity.state.p_pos * shrink
    goal = getattr(world.agents[0], "_goal_b", None) or getattr(world.agents[0], "_goal_a", None)
    episode = {
        "scenario": name,
        "options": options,
        "start": [entity.state.p_pos.tolist() for entity in world.entities],
        "goal": world.landmarks.index(goal) if goal in world.landmarks else 0,
    }
    steps, chosen = [], {}
    for number in range(STEPS):
        for agent, thing in zip(env.possible_agents, world.agents, strict=True):
            if number % 3 == 0 or rng.random() < 0.3:  # push the same way for a while
                chosen[agent] = int(rng.integers(env.action_space(agent).n))
                if rng.random() < 0.6 and thing.movable:
                    axis = int(abs(thing.state.p_pos).argmax())
                    chosen[agent] = 1 + 2 * axis + int(thing.state.p_pos[axis] < 0)
        views, paid, *_ = env.step(dict(chosen))
        step = [
            [chosen[agent] for agent in env.possible_agents],
            [[round(float(x), 8) for x in agent.state.p_pos] for agent in world.agents],
            [round(float(paid[agent]), 8) for agent in env.possible_agents],
        ]
        if number % 8 == 0:
            step.append([[round(float(x), 5) for x in views[a]] for a in env.possible_agents])
        steps.append(step)
    return {**episode, "steps": steps}


if __name__ == "__main__":
    episodes = [record(*case, 10 + seed) for seed, case in enumerate(CASES)]
    text = json.dumps(episodes, separators=(",", ":"))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(text)
