"""Drives the compiled rules of one game.

This file is a template: `palestra.compiled` copies it into the user's cache folder once per game,
named by a hash of everything that ends up in the machine code, because numba's disk cache notices
neither closures over other compiled functions nor a changed callee. Before the copy runs, the
names CONFIG, Out, setup, advance, allow and sense are put into it: the game's own, compiled.
"""

from __future__ import annotations

from typing import Any

CONFIG: Any
Out: Any
setup: Any
advance: Any
allow: Any
sense: Any

SEVERAL = -1
ENDED = -2
ILLEGAL = -3


def refresh(frame: Any) -> int:
    """Rewrite every mask and sight; returns the only acting seat, SEVERAL or ENDED.

    Takes the frame and not its arrays: numba passes a record as one pointer, and code over arrays
    that came as arguments runs four times slower.
    """
    state = frame.state
    acting = ENDED
    for player in range(len(state.acting)):
        mask = frame.mask[player]
        if state.acting[player]:
            acting = player if acting == ENDED else SEVERAL
            mask[:] = 0
            allow(CONFIG, state, player, mask)
        else:
            mask[:] = 1
        sight = frame.sights[player]
        sight[:] = 0
        sense(CONFIG, state, player, sight)
    return acting


def begin(frames: Any, key0: int, key1: int) -> int:
    """Deal a zeroed frame, seeded with two 32-bit words."""
    frame = frames[0]
    state = frame.state
    state.rng[0], state.rng[1] = key0, key1
    state.present[:] = 1
    setup(CONFIG, state)
    return refresh(frame)


def derive(frames: Any) -> int:
    """Bring masks and views in line with a state that was written from outside."""
    return refresh(frames[0])


def move(frames: Any, action: int) -> int:
    """Play `action` for the one seat that acts; ILLEGAL, and nothing changed, if it may not."""
    frame = frames[0]
    acting = frame.state.acting
    for player in range(len(acting)):
        if acting[player]:
            frame.actions[player] = action
        else:
            frame.actions[player] = -1
    return play(frames)


def play(frames: Any) -> int:
    """Play frame.actions for all who act; ILLEGAL, and nothing changed, if one of them may not."""
    frame = frames[0]
    state = frame.state
    for player in range(len(state.acting)):
        if state.acting[player]:
            action = frame.actions[player]
            if action < 0 or action >= frame.mask.shape[1] or not frame.mask[player, action]:
                return ILLEGAL
    settle(frame)
    return refresh(frame)


def settle(frame: Any) -> None:
    """Advance the state and add up what it paid."""
    frame.rewards[:] = 0.0
    frame.costs[:] = 0.0
    advance(CONFIG, frame.state, frame.actions, Out(frame.rewards, frame.costs))
    frame.state.turn += 1
    for player in range(frame.rewards.shape[0]):
        for term in range(frame.rewards.shape[1]):
            frame.returns[player] += frame.rewards[player, term]


def playout(frames: Any, key: int, limit: int) -> int:
    """Play uniformly random legal moves to the end or for `limit` steps; returns steps played."""
    frame = frames[0]
    state = frame.state
    noise = key
    for steps in range(limit):
        anyone = False
        for player in range(len(state.acting)):
            if not state.acting[player]:
                continue
            anyone = True
            mask = frame.mask[player]
            mask[:] = 0
            allow(CONFIG, state, player, mask)
            legal = 0
            for action in range(len(mask)):
                legal += 1 if mask[action] else 0
            noise = (noise * 1103515245 + 12345) & 0x7FFFFFFF
            skip = ((noise >> 8) * legal) >> 23
            for action in range(len(mask)):
                if mask[action]:
                    if skip == 0:
                        frame.actions[player] = action
                        break
                    skip -= 1
        if not anyone:
            return steps
        settle(frame)
    return limit
