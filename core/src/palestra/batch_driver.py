"""Drives many rows of one game at once; a template, like `palestra.driver`.

A row is a frame (see `ArrayGame.frame_dtype`) with its bookkeeping beside it, in one block of
memory: `palestra.rows.row_dtype`. Functions on one row are plain device functions, so that the
same lines run in a loop on CPU threads or as one GPU thread a row. What all rows share is one
record, `palestra.rows.table_dtype`: records pass as one pointer, arrays are counted at every call.
"""

from __future__ import annotations

from typing import Any

CONFIG: Any
setup: Any
refresh: Any
settle: Any
script: Any
threefry: Any

NEXT_STEP, SAME_STEP, DISABLED = 0, 1, 2
NO_RESULT, WIN, FORFEIT = 0, 1, 4
SCRIPTED = 2
RESEED = 0x5EED


def begin_row(row: Any, table: Any) -> None:
    """Deal the next episode of a row: its first from the row's seed, later ones derived from it."""
    key0, key1 = row.seed[0], row.seed[1]
    if row.episodes > 0:
        key0, key1 = threefry(key0, key1, row.episodes, RESEED)
    row.episodes += 1
    row.frame = table.blank
    row.key[0], row.key[1] = key0, key1
    state = row.frame.state
    state.rng[0], state.rng[1] = key0, key1
    state.present[:] = 1
    setup(CONFIG, state)
    row.length = 0
    row.over = 0
    see_row(row)


def see_row(row: Any) -> None:
    """Bring masks, sights and who acts in line with the state."""
    frame = row.frame
    refresh(frame)
    for player in range(len(row.acting)):
        row.acting[player] = frame.state.acting[player]


def choose_row(row: Any, table: Any) -> None:
    """Give every seat that plays by itself an action."""
    for player in range(len(row.acting)):
        if table.auto[player] and row.acting[player]:
            action = -1
            if table.auto[player] == SCRIPTED:
                action = script(CONFIG, row.frame.state, player)
            known = 0 <= action < row.frame.mask.shape[1]
            if not known or not row.frame.mask[player, action]:
                action = pick(row, row.frame.mask[player])
            row.frame.actions[player] = action


def pick(row: Any, mask: Any) -> int:
    """A uniformly random action of a mask, from the row's own noise."""
    legal = 0
    for action in range(len(mask)):
        legal += 1 if mask[action] else 0
    noise = (row.noise * 1103515245 + 12345) & 0x7FFFFFFF
    row.noise = noise
    skip = ((noise >> 8) * legal) >> 23
    chosen = 0
    for action in range(len(mask)):  # all of them: a processor cannot guess when to stop
        chosen = action if mask[action] and skip == 0 else chosen
        skip -= 1 if mask[action] else 0
    return chosen


def illegal_seat(row: Any) -> int:
    """The first acting seat whose action is not legal; -1 if all are."""
    frame = row.frame
    bad = -1
    for player in range(len(row.acting) - 1, -1, -1):
        action = frame.actions[player]
        known = 0 <= action < frame.mask.shape[1]
        allowed = known & (frame.mask[player, action if known else 0] != 0)
        bad = player if (row.acting[player] != 0) & (not allowed) else bad
    return bad


def move_row(row: Any, table: Any) -> None:
    """Play the row's actions once and add up what they pay; an illegal one forfeits."""
    bad = illegal_seat(row)
    if bad >= 0:
        forfeit_row(row, bad, table)
    else:
        frame = row.frame
        settle(frame)
        for player in range(frame.rewards.shape[0]):
            for term in range(frame.rewards.shape[1]):
                row.reward[player] += frame.rewards[player, term]
    row.length += 1
    see_row(row)


def forfeit_row(row: Any, bad: int, table: Any) -> None:
    """End a row as lost by one seat."""
    state = row.frame.state
    row.mistakes[bad] += 1
    for player in range(len(row.reward)):
        paid = table.forfeits[bad, player]
        row.reward[player] += paid
        row.frame.returns[player] += paid
        state.acting[player] = 0
        state.result[player] = WIN if paid > 0.0 else NO_RESULT
    state.result[bad] = FORFEIT
    state.over = 1


def learner_acts(row: Any, table: Any) -> bool:
    """Whether a seat that is played from outside is to act."""
    for player in range(len(row.acting)):
        if row.acting[player] and not table.auto[player]:
            return True
    return False


def wait_row(row: Any, table: Any) -> None:
    """Let the seats that play by themselves play until somebody else must, or it is over."""
    while not row.frame.state.over and not learner_acts(row, table):
        choose_row(row, table)
        move_row(row, table)


def flag_row(row: Any) -> None:
    """Say which seats have finished, and how."""
    state = row.frame.state
    for player in range(len(row.reward)):
        gone = state.over | (state.present[player] == 0)
        row.terminated[player] = gone & (state.truncated == 0)
        row.truncated[player] = gone & state.truncated
    row.over = state.over


def deal_row(row: Any, table: Any) -> None:
    """Deal a row and play on to the first turn of somebody outside."""
    begin_row(row, table)
    wait_row(row, table)
    row.reward[:] = 0.0


def step_row(row: Any, table: Any, mode: int) -> bool:
    """One step of a row; rows switched off stay as they are. Says whether its episode ended."""
    if not row.active:
        return False
    row.reward[:] = 0.0
    row.finished = 0
    if row.over:
        if mode == NEXT_STEP:
            deal_row(row, table)
            flag_row(row)
        return False
    if table.alone:
        move_row(row, table)
    else:
        choose_row(row, table)
        move_row(row, table)
        wait_row(row, table)
    flag_row(row)
    if row.over:
        row.finished = 1
        row.final_length = row.length
        for player in range(len(row.reward)):
            row.final_returns[player] = row.frame.returns[player]
            row.final_results[player] = row.frame.state.result[player]
        return True
    return False


def deal_again(row: Any, table: Any) -> None:
    """Deal the next episode in the step that ended the last one, whose rewards stay to be read."""
    for player in range(len(row.reward)):
        row.last_reward[player] = row.reward[player]
    deal_row(row, table)
    for player in range(len(row.reward)):
        row.reward[player] = row.last_reward[player]


def begin(rows: Any, tables: Any, first: int, last: int) -> int:
    """Deal every active row of a range."""
    table = tables[0]
    for i in range(first, last):
        row = rows[i]
        if row.active:
            deal_row(row, table)
            flag_row(row)
            row.finished = 0
    return 0


def step(rows: Any, finals: Any, tables: Any, first: int, last: int, mode: int) -> int:
    """Step a range of rows; `finals` takes last frames in SAME_STEP, else it may be one row."""
    table = tables[0]
    for i in range(first, last):
        row = rows[i]
        if step_row(row, table, mode) and mode == SAME_STEP:
            finals[i] = row.frame
            deal_again(row, table)
    return 0


def see(rows: Any, first: int, last: int) -> int:
    """Bring a range of rows in line with states that were written from outside."""
    for i in range(first, last):
        row = rows[i]
        if row.active:
            see_row(row)
            flag_row(row)
    return 0


def act_randomly(rows: Any, first: int, last: int) -> int:
    """Write a random legal action for every seat that acts, in a range of rows."""
    for i in range(first, last):
        row = rows[i]
        for player in range(len(row.acting)):
            if row.acting[player]:
                row.frame.actions[player] = pick(row, row.frame.mask[player])
    return 0
