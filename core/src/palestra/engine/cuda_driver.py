"""Kernels over many lanes of one game, one thread a lane; a template, like
`palestra.engine.driver`.

Everything a lane does is in `palestra.engine.batch_driver`; here a thread only finds its lane.
"""

from __future__ import annotations

from typing import Any

cuda: Any
begin_lane: Any
flag_lane: Any
step_lane: Any
autoreset_lane: Any
observe_lane: Any
pick: Any

SAME_STEP = 1


def begin(lanes: Any, shareds: Any) -> None:
    """Reset every active lane."""
    i = cuda.grid(1)
    if i < lanes.shape[0]:
        lane = lanes[i]
        if lane.active:
            begin_lane(lane, shareds[0])


def step(lanes: Any, finals: Any, shareds: Any, mode: int) -> None:
    """Step every active lane."""
    i = cuda.grid(1)
    if i < lanes.shape[0]:
        lane = lanes[i]
        if step_lane(lane, shareds[0], mode) and mode == SAME_STEP:
            finals[i] = lane.timestep
            autoreset_lane(lane, shareds[0])


def observe(lanes: Any) -> None:
    """Bring active lanes in line with states that were written from outside."""
    i = cuda.grid(1)
    if i < lanes.shape[0]:
        lane = lanes[i]
        if lane.active:
            observe_lane(lane)
            flag_lane(lane)


def act_randomly(lanes: Any) -> None:
    """Write a random legal action for every seat that acts."""
    i = cuda.grid(1)
    if i < lanes.shape[0]:
        lane = lanes[i]
        for seat in range(len(lane.acting)):
            if lane.acting[seat]:
                lane.timestep.actions[seat] = pick(lane, lane.timestep, seat)


def take_actions(lanes: Any, actions: Any) -> None:
    """Copy an (N, P) array of action numbers into the lanes."""
    i = cuda.grid(1)
    if i < lanes.shape[0]:
        for seat in range(actions.shape[1]):
            lanes[i].timestep.actions[seat] = actions[i, seat]


def switch(lanes: Any, active: Any) -> None:
    """Say which lanes the next kernels touch."""
    i = cuda.grid(1)
    if i < lanes.shape[0]:
        lanes[i].active = active[i]
