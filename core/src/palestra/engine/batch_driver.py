"""Drives many lanes of one game at once; a template, like `palestra.engine.driver`.

A lane is a timestep (observe `ArrayGame.timestep_dtype`) with its bookkeeping beside it, in one
block of memory: `palestra.engine.lanes.lane_dtype`. Functions on one lane are plain device
functions, so that the same lines run in a loop on CPU threads or as one GPU thread a lane. What all
lanes share is one record, `palestra.engine.lanes.shared_dtype`: records pass as one pointer, arrays
are counted at every call.
"""

from __future__ import annotations

from typing import Any

CONFIG: Any
init_state: Any
refresh: Any
settle: Any
pick: Any
scripted_action: Any
threefry: Any

NEXT_STEP, SAME_STEP, DISABLED = 0, 1, 2
NO_RESULT, WIN, FORFEIT = 0, 1, 4
SCRIPTED = 2
RESEED = 0x5EED


def init_lane(lane: Any, shared: Any) -> None:
    """Start a lane's next episode: the first from the lane's seed, later ones derived from it."""
    key0, key1 = lane.seed[0], lane.seed[1]
    if lane.episodes > 0:
        key0, key1 = threefry(key0, key1, lane.episodes, RESEED)
    lane.episodes += 1
    lane.timestep = shared.blank
    lane.key[0], lane.key[1] = key0, key1
    state = lane.timestep.state
    state.rng[0], state.rng[1] = key0, key1
    state.present[:] = 1
    init_state(CONFIG, state)
    lane.length = 0
    lane.over = 0
    lane.left[:] = 0
    observe_lane(lane)


def observe_lane(lane: Any) -> None:
    """Bring masks, observations and who acts in line with the state."""
    timestep = lane.timestep
    refresh(timestep)
    for seat in range(len(lane.acting)):
        lane.acting[seat] = timestep.state.acting[seat]


def choose_actions(lane: Any, shared: Any) -> None:
    """Give every seat that plays by itself an action."""
    for seat in range(len(lane.acting)):
        if shared.auto[seat] and lane.acting[seat]:
            action = -1
            if shared.auto[seat] == SCRIPTED:
                action = scripted_action(CONFIG, lane.timestep.state, seat)
            known = 0 <= action < lane.timestep.mask.shape[1]
            if not known or not lane.timestep.mask[seat, action]:
                action = pick(lane, lane.timestep, seat)
            lane.timestep.actions[seat] = action


def somebody_plays_illegally(lane: Any) -> bool:
    """Whether the action of any acting seat is not legal."""
    bad = False
    for seat in range(len(lane.acting)):
        bad |= plays_illegally(lane, seat)
    return bad


def plays_illegally(lane: Any, seat: int) -> bool:
    """Whether a seat is to act and its action is not legal."""
    timestep = lane.timestep
    action = timestep.actions[seat]
    known = 0 <= action < timestep.mask.shape[1]
    allowed = known & (timestep.mask[seat, action if known else 0] != 0)
    return (lane.acting[seat] != 0) & (not allowed)


def play_lane(lane: Any, shared: Any) -> None:
    """Play the lane's actions once and add up what they pay; an illegal one forfeits."""
    if somebody_plays_illegally(lane):
        forfeit_lane(lane, shared)
    else:
        timestep = lane.timestep
        settle(timestep)
        for seat in range(timestep.rewards.shape[0]):
            for term in range(timestep.rewards.shape[1]):
                lane.reward[seat] += timestep.rewards[seat, term]
        note_leavers(lane)
    lane.length += 1
    observe_lane(lane)


def note_leavers(lane: Any) -> None:
    """Remember which seats have left an episode that others go on with."""
    state = lane.timestep.state
    if not state.over:
        for seat in range(len(lane.left)):
            lane.left[seat] = state.present[seat] == 0


def forfeit_lane(lane: Any, shared: Any) -> None:
    """End a lane as lost by the seats that play illegally."""
    state = lane.timestep.state
    for seat in range(len(lane.reward)):
        lost = plays_illegally(lane, seat)
        lane.mistakes[seat] += lost
        state.result[seat] = FORFEIT if lost else NO_RESULT
    for seat in range(len(lane.reward)):
        paid = 0.0
        for other in range(len(lane.reward)):
            if state.result[other] == FORFEIT:
                paid += shared.forfeits[other, seat]
        lane.reward[seat] += paid
        lane.timestep.returns[seat] += paid
        state.acting[seat] = 0
        if state.result[seat] == NO_RESULT and paid > 0.0:
            state.result[seat] = WIN
    state.over = 1


def cut_lane(lane: Any) -> None:
    """Truncate a lane's episode from outside the rules."""
    state = lane.timestep.state
    state.truncated = 1
    state.over = 1
    for seat in range(len(lane.reward)):
        state.acting[seat] = 0
    observe_lane(lane)


def learner_acts(lane: Any, shared: Any) -> bool:
    """Whether a seat that is played from outside is to act."""
    for seat in range(len(lane.acting)):
        if lane.acting[seat] and not shared.auto[seat]:
            return True
    return False


def play_opponents(lane: Any, shared: Any) -> None:
    """Let the seats that play by themselves play until somebody else must, or it is over."""
    while not lane.timestep.state.over and not learner_acts(lane, shared):
        choose_actions(lane, shared)
        play_lane(lane, shared)


def flag_lane(lane: Any) -> None:
    """Say which seats have finished, and how; a time limit does not cut those that had left."""
    state = lane.timestep.state
    for seat in range(len(lane.reward)):
        gone = state.over | (state.present[seat] == 0)
        cut = (state.truncated != 0) & (lane.left[seat] == 0)
        lane.terminated[seat] = gone & (not cut)
        lane.truncated[seat] = gone & cut
    lane.over = state.over


def reset_lane(lane: Any, shared: Any) -> None:
    """Reset a lane and play to the first turn of an outside player, who is paid for it later.

    Where the episode is over before that turn, the lane stays open: its next step reports the end.
    """
    init_lane(lane, shared)
    lane.reward[:] = 0.0
    play_opponents(lane, shared)
    for seat in range(len(lane.reward)):
        lane.early_reward[seat] = lane.reward[seat]
    lane.reward[:] = 0.0


def begin_lane(lane: Any, shared: Any) -> None:
    """Reset a lane and forget how its last episode ended."""
    reset_lane(lane, shared)
    lane.terminated[:] = 0
    lane.truncated[:] = 0
    lane.finished = 0


def step_lane(lane: Any, shared: Any, mode: int) -> bool:
    """One step of a lane; lanes switched off stay as they are. Says whether its episode ended."""
    if not lane.active:
        return False
    lane.reward[:] = 0.0
    lane.finished = 0
    if lane.over:
        if mode == NEXT_STEP:
            begin_lane(lane, shared)
        return False
    if not shared.alone:
        for seat in range(len(lane.reward)):
            lane.reward[seat] = lane.early_reward[seat]
            lane.early_reward[seat] = 0.0
    if not lane.timestep.state.over:  # else it ended before the first turn from outside
        if shared.alone:
            play_lane(lane, shared)
        else:
            choose_actions(lane, shared)
            play_lane(lane, shared)
            play_opponents(lane, shared)
    if shared.limit and lane.length >= shared.limit and not lane.timestep.state.over:
        cut_lane(lane)
    flag_lane(lane)
    if lane.over:
        lane.finished = 1
        lane.final_length = lane.length
        for seat in range(len(lane.reward)):
            lane.final_returns[seat] = lane.timestep.returns[seat]
            lane.final_results[seat] = lane.timestep.state.result[seat]
        return True
    return False


def autoreset_lane(lane: Any, shared: Any) -> None:
    """Start the next episode in the step that ended the last one, and keep that step's rewards."""
    for seat in range(len(lane.reward)):
        lane.last_reward[seat] = lane.reward[seat]
    reset_lane(lane, shared)
    for seat in range(len(lane.reward)):
        lane.reward[seat] = lane.last_reward[seat]


def begin(lanes: Any, shareds: Any, first: int, last: int) -> int:
    """Reset every active lane of a range."""
    shared = shareds[0]
    for i in range(first, last):
        lane = lanes[i]
        if lane.active:
            begin_lane(lane, shared)
    return 0


def step(lanes: Any, finals: Any, shareds: Any, first: int, last: int, mode: int) -> int:
    """Step a range of lanes; `finals` takes last timesteps in SAME_STEP, else it may be one."""
    shared = shareds[0]
    for i in range(first, last):
        lane = lanes[i]
        if step_lane(lane, shared, mode) and mode == SAME_STEP:
            finals[i] = lane.timestep
            autoreset_lane(lane, shared)
    return 0


def observe(lanes: Any, first: int, last: int) -> int:
    """Bring a range of lanes in line with states that were written from outside."""
    for i in range(first, last):
        lane = lanes[i]
        if lane.active:
            observe_lane(lane)
            flag_lane(lane)
    return 0


def act_randomly(lanes: Any, first: int, last: int) -> int:
    """Write a random legal action for every seat that acts, in a range of lanes."""
    for i in range(first, last):
        lane = lanes[i]
        for seat in range(len(lane.acting)):
            if lane.acting[seat]:
                lane.timestep.actions[seat] = pick(lane, lane.timestep, seat)
    return 0
