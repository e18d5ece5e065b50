"""Drives the compiled rules of one game.

This file is a template: `palestra.engine.compiled` copies it into the user's cache folder once per
game, named by a hash of everything that ends up in the machine code, because numba's disk cache
notices neither closures over other compiled functions nor a changed callee. Before the copy runs,
the names CONFIG, Out, init_state, apply_actions, write_legal_mask, write_observation and
scripted_action are put into it: the game's own, compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CONFIG: Any
Out: Any
init_state: Any
apply_actions: Any
write_legal_mask: Any
write_observation: Any
scripted_action: Any

SEVERAL = -1
ENDED = -2
ILLEGAL = -3

SCRIPTED = 2
BLOCK = 128


def refresh(timestep: Any) -> int:
    """Rewrite every mask and observation; returns the only acting seat, SEVERAL or ENDED.

    Takes the timestep and not its arrays: numba passes a record as one pointer, and code over
    arrays that came as arguments runs four times slower.
    """
    state = timestep.state
    acting = ENDED
    for seat in range(len(state.acting)):
        mask = timestep.mask[seat]
        if state.acting[seat]:
            acting = seat if acting == ENDED else SEVERAL
            mask[:] = 0
            write_legal_mask(CONFIG, state, seat, mask)
        else:
            mask[:] = 1
        obs = timestep.observations[seat]
        obs[:] = 0
        write_observation(CONFIG, state, seat, obs)
    return acting


def begin(timesteps: Any, key0: int, key1: int) -> int:
    """Start an episode in a zeroed timestep; the two 32-bit words are its seed."""
    timestep = timesteps[0]
    state = timestep.state
    state.rng[0], state.rng[1] = key0, key1
    state.present[:] = 1
    init_state(CONFIG, state)
    return refresh(timestep)


def derive(timesteps: Any) -> int:
    """Bring masks and views in line with a state that was written from outside."""
    return refresh(timesteps[0])


def move(timesteps: Any, action: int) -> int:
    """Play `action` for the one seat that acts; ILLEGAL, and nothing changed, if it may not."""
    timestep = timesteps[0]
    acting = timestep.state.acting
    for seat in range(len(acting)):
        if acting[seat]:
            timestep.actions[seat] = action
        else:
            timestep.actions[seat] = -1
    return step(timestep)


def play(timesteps: Any) -> int:
    """Play timestep.actions for all who act; ILLEGAL, and nothing changed, if one is not legal."""
    return step(timesteps[0])


def step(timestep: Any) -> int:
    """What `move` and `play` share: an entry that called an entry would be compiled with both."""
    state = timestep.state
    for seat in range(len(state.acting)):
        if state.acting[seat]:
            action = timestep.actions[seat]
            if action < 0 or action >= timestep.mask.shape[1] or not timestep.mask[seat, action]:
                return ILLEGAL
    settle(timestep)
    return refresh(timestep)


def settle(timestep: Any) -> None:
    """Advance the state and add up what it paid."""
    timestep.rewards[:] = 0.0
    timestep.costs[:] = 0.0
    apply_actions(CONFIG, timestep.state, timestep.actions, Out(timestep.rewards, timestep.costs))
    timestep.state.turn += 1
    for seat in range(timestep.rewards.shape[0]):
        for term in range(timestep.rewards.shape[1]):
            timestep.returns[seat] += timestep.rewards[seat, term]


def playout(timesteps: Any, key: int, limit: int) -> int:
    """Play uniformly random legal moves to the end or for `limit` steps; returns steps played."""
    return play_out(timesteps[0], key, limit)


def play_out(timestep: Any, key: int, limit: int) -> int:
    """What `playout` and loops of plugins share: an entry is not called by other functions."""
    state = timestep.state
    random_bits = key
    for steps in range(limit):
        anyone = False
        for seat in range(len(state.acting)):
            if not state.acting[seat]:
                continue
            anyone = True
            mask = timestep.mask[seat]
            mask[:] = 0
            write_legal_mask(CONFIG, state, seat, mask)
            legal = 0
            for action in range(len(mask)):
                legal += 1 if mask[action] else 0
            random_bits = (random_bits * 1103515245 + 12345) & 0x7FFFFFFF
            skip = ((random_bits >> 8) * legal) >> 23
            for action in range(len(mask)):
                if mask[action]:
                    if skip == 0:
                        timestep.actions[seat] = action
                        break
                    skip -= 1
        if not anyone:
            return steps
        settle(timestep)
    return limit


def pick(holder: Any, timestep: Any, seat: int) -> int:
    """A uniformly random action of a seat's mask, from the `random_bits` of a record."""
    mask = timestep.mask[seat]
    legal = 0
    for first in range(0, len(mask) - BLOCK + 1, BLOCK):
        found = np.uint8(0)  # most of these fit into a vector: a draw from 4,672 takes two thirds
        for action in range(BLOCK):
            found = np.uint8(found + np.uint8(1 if mask[first + action] else 0))
        legal += int(found)
    found = np.uint8(0)
    for action in range(len(mask) // BLOCK * BLOCK, len(mask)):
        found = np.uint8(found + np.uint8(1 if mask[action] else 0))
    legal += int(found)
    random_bits = (holder.random_bits * 1103515245 + 12345) & 0x7FFFFFFF
    holder.random_bits = random_bits
    skip = ((random_bits >> 8) * legal) >> 23
    first, skip = pass_blocks(mask, 0, skip, 64)
    first, skip = pass_blocks(mask, first, skip, 8)
    chosen = 0  # the last few are all looked at: a processor cannot guess when to stop
    for action in range(first, min(first + 8, len(mask))):
        chosen = action if mask[action] and skip == 0 else chosen
        skip -= 1 if mask[action] else 0
    return chosen


def pass_blocks(mask: Any, first: int, skip: int, size: int) -> tuple[int, int]:
    """Pass over whole blocks of a mask that hold no more than `skip` legal actions.

    Returns where to go on, and how many legal actions are still to be skipped: a block is counted
    in a few instructions, action by action it would take hundreds.
    """
    for _ in range((len(mask) - first) // size):
        found = np.uint16(0)  # as in `pick`
        for action in range(size):
            found = np.uint16(found + np.uint16(1 if mask[first + action] else 0))
        legal = int(found)
        if legal > skip:
            break
        first += size
        skip -= legal
    return first, skip


def against_random(timesteps: Any, rivals: Any, action: int) -> int:
    """Play a seat's action and random moves of all others, up to that seat's next turn.

    `rivals` is one record of `palestra.engine.lanes.rivals_dtype`, which names the seat and is
    left with the actions of every step; `action` -1 plays none of the seat's. Returns what `move`
    does. Stops early where the record is full of steps: then call again with -1.
    """
    timestep, rival = timesteps[0], rivals[0]
    acting = begin_against(timestep, rival, action)
    while goes_on(timestep, rival, acting, action):
        for seat in range(len(timestep.actions)):
            timestep.actions[seat] = -1
            if timestep.state.acting[seat] and seat != rival.seat:
                timestep.actions[seat] = pick(rival, timestep, seat)
        acting = step_against(timestep, rival, action)
        action = -1
    return acting


def against_scripts(timesteps: Any, rivals: Any, action: int) -> int:
    """Like `against_random`, with the game's own script where `rivals` says so."""
    timestep, rival = timesteps[0], rivals[0]
    acting = begin_against(timestep, rival, action)
    while goes_on(timestep, rival, acting, action):
        for seat in range(len(timestep.actions)):
            chosen = -1
            if timestep.state.acting[seat] and seat != rival.seat:
                if rival.auto[seat] == SCRIPTED:
                    chosen = scripted_action(CONFIG, timestep.state, seat)
                if not may_play(timestep, seat, chosen):
                    chosen = pick(rival, timestep, seat)
            timestep.actions[seat] = chosen
        acting = step_against(timestep, rival, action)
        action = -1
    return acting


def begin_against(timestep: Any, rival: Any, action: int) -> int:
    """Clear what the last call left; returns who acts as `refresh` does, or ILLEGAL."""
    rival.steps = 0
    rival.paid[:] = 0.0
    if action >= 0 and not may_play(timestep, rival.seat, action):
        return ILLEGAL
    acting = ENDED
    for seat in range(len(timestep.state.acting)):
        if timestep.state.acting[seat]:
            acting = seat if acting == ENDED else SEVERAL
    return acting


def may_play(timestep: Any, seat: int, action: int) -> bool:
    """Whether a seat is to act and may play `action`."""
    if not 0 <= action < timestep.mask.shape[1]:
        return False
    return bool(timestep.state.acting[seat]) and bool(timestep.mask[seat, action])


def goes_on(timestep: Any, rival: Any, acting: int, action: int) -> bool:
    """Whether there is a step to play before the seat of `rival` is asked again."""
    if acting in (ILLEGAL, ENDED) or rival.steps == len(rival.actions):
        return False
    state = timestep.state
    return action >= 0 or (state.present[rival.seat] and not state.acting[rival.seat])


def step_against(timestep: Any, rival: Any, action: int) -> int:
    """Play the actions written, and the seat's own if there is one; keep them and what was paid."""
    if action >= 0:
        timestep.actions[rival.seat] = action
    for seat in range(len(timestep.actions)):
        rival.actions[rival.steps, seat] = timestep.actions[seat]
    rival.steps += 1
    settle(timestep)
    for term in range(len(rival.paid)):
        rival.paid[term] += timestep.rewards[rival.seat, term]
    return refresh(timestep)
