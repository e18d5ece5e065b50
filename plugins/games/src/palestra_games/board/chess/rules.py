"""How chess men move, as plain functions that compile; see `palestra.kernel.array_game`.

The board has 128 cells, 16 a rank, of which the right half is empty: cell 16 * rank + file is off
the board exactly if `cell & OFF` is not zero. White's men are positive numbers there, Black's
negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from palestra_games.board.chess.state import ChessState

OFF = 0x88
NOWHERE = -1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)

# Eight directions, clockwise from straight ahead, even ones along ranks and files; first as White
# sees them, then as Black does, for whom ahead is down the board.
LINES = (16, 17, 1, -15, -16, -17, -1, 15, -16, -15, 1, 17, 16, 15, -1, -17)
LEAPS = (33, 18, -14, -31, -33, -18, 14, 31, -31, -14, 18, 33, 31, 14, -18, -33)

# An action is 73 * (its first cell) + plane. Planes: 7 * direction + distance - 1, then the
# leaps, then 64 + 3 * (knight, bishop, rook) + (left, ahead, right) for promotions to those.
PLANES = 73
LEAP_PLANE, PROMOTION_PLANE = 56, 64
CASTLE_RIGHT, CASTLE_LEFT = 15, 43

# The same directions in sets of cells: how many bits a step moves them, and the cells that a step
# upwards may start from or a step downwards may end on. Arrays: an index into a tuple is a jump.
STEPS = np.array((8, 9, 1, -7, -8, -9, -1, 7))
UP, DOWN = STEPS.clip(0), -STEPS.clip(None, 0)
BOARD, NOT_A, NOT_H, ANY = 2**56 - 1, 0xFEFEFEFEFEFEFE, 0x7F7F7F7F7F7F7F, -1
START = np.array((BOARD, NOT_H, 0x7F << 56 | NOT_H, ANY, ANY, ANY, ANY, NOT_A))
END = np.array((ANY, ANY, ANY, NOT_A, BOARD, NOT_H, 0x7F << 56 | NOT_H, ANY))
AHEAD, AHEAD_RIGHT, RIGHT, BACK_RIGHT, BACK_LEFT, LEFT, AHEAD_LEFT = 0, 1, 2, 3, 5, 6, 7
EVERYWHERE, THIRD_RANK, LAST_RANK = -1, 0xFF << 16, -1 << 56
C, G, B_TO_D, C_TO_D, F_TO_G = 1 << 2, 1 << 6, 0b1110, 0b1100, 0b1100000  # of the first rank
LIGHT = 0x55AA55AA55AA55AA  # the light cells
BITS = np.int64(1) << np.arange(64)

# The number of a bit is found by a product, whose six highest bits are different for each; bit 63,
# which makes a number negative, goes by itself
DE_BRUIJN, NOT_H8 = 0x03F79D71B4CB0A89, 2**63 - 1
BIT_NUMBERS = np.argsort([((DE_BRUIJN << bit) >> 58) & 63 for bit in range(64)])

# `ChessState.men`: a player's own men by kind, after them the other's; two sets of many kinds
ALL, OTHER, OWN = 0, 6, 13
MOST_MOVES = 320  # no sixteen men have more
DRAW_CLOCK = 100  # half moves
KEY_STRIDE = 2048

IN_PLAY, CHECKMATE, STALEMATE, FIFTY_MOVES, REPETITION, DEAD_POSITION, TIME_UP = range(7)


def forward(seat: int) -> int:
    """The step of a player's pawns."""
    return 16 - 32 * seat


def own_cell(seat: int, cell: int) -> int:
    """A cell of the board as 8 * rank + file, ranks counted from the player's own side."""
    rank = cell >> 4
    return 8 * (7 - rank if seat else rank) + (cell & 7)


def board_cell(seat: int, own: int) -> int:
    """What `own_cell` came from."""
    rank = own >> 3
    return 16 * (7 - rank if seat else rank) + (own & 7)


def origin_of(seat: int, action: int) -> int:
    """The cell an action moves from."""
    return board_cell(seat, int(action) // PLANES)


def target_of(seat: int, action: int) -> int:
    """The cell an action moves to."""
    origin, plane = origin_of(seat, action), int(action) % PLANES
    if plane < LEAP_PLANE:
        return origin + LINES[8 * seat + plane // 7] * (plane % 7 + 1)
    if plane < PROMOTION_PLANE:
        return origin + LEAPS[8 * seat + plane - LEAP_PLANE]
    return origin + forward(seat) + (plane - PROMOTION_PLANE) % 3 - 1


def promotion_of(action: int) -> int:
    """What an action promotes to if not to a queen, else 0."""
    plane = int(action) % PLANES
    return KNIGHT + (plane - PROMOTION_PLANE) // 3 if plane >= PROMOTION_PLANE else 0


# Sets of cells, each a number with bit 8 * rank + file for a cell, as `own_cell` counts them.
# Python's numbers are longer than 64 bits: a step drops what leaves the board before it is moved.


def step(cells: int, line: int) -> int:
    """The cells one step along a line from a set of cells."""
    moved = ((cells & int(START[line])) << int(UP[line])) >> int(DOWN[line])
    return moved & int(END[line])


def leap(cells: int, number: int) -> int:
    """The cells one of the eight leaps from a set: a step along a rank or file, then a diagonal."""
    return step(step(cells, (number + 1) & 6), number | 1)


def slide(cells: int, line: int, empty: int) -> int:
    """All cells along a line from a set, up to the first that is not empty, with that one."""
    reached, front = 0, cells
    for _ in range(7):  # always seven: a processor cannot guess where to stop
        front = step(front, line)
        reached |= front
        front &= empty
    return reached


# Attack


def is_attacked(state: ChessState, cell: int, by: int) -> bool:
    """Whether a player's men attack a cell."""
    board, sign = state.board, 1 - 2 * by
    for leap in range(8):
        source = cell + LEAPS[leap]
        if not source & OFF and board[source] * sign == KNIGHT:
            return True
    behind = cell - forward(by)
    for source in (behind - 1, behind + 1):
        if not source & OFF and board[source] * sign == PAWN:
            return True
    for line in range(8):
        step = LINES[line]
        source = cell + step
        if not source & OFF and board[source] * sign == KING:
            return True
        while not source & OFF and board[source] == 0:
            source += step
        if not source & OFF and slides(board[source] * sign, line):
            return True
    return False


def slides(kind: int, line: int) -> bool:
    """Whether a man moves any distance along a line; what is not the player's has kind < 0."""
    return kind == QUEEN or kind == (BISHOP if line & 1 else ROOK)


def sliders(state: ChessState, seat: int, first: int, line: int) -> int:
    """The men that slide along a line: a player's own (`first` is 0) or the OTHER's."""
    men = state.men[seat]
    return int(men[first + QUEEN]) | int(men[first + (BISHOP if line & 1 else ROOK)])


def attacks(state: ChessState, seat: int) -> tuple[int, int, int]:
    """The cells that a player's opponent attacks; those that answer a check; the pinned men.

    The player's king hides no cell behind it: it may not stay on the line of an attack. A man other
    than the king may go anywhere without a check, and nowhere if two men give it. Pinned are the
    men that stand alone between their king and a man that slides along the line.
    """
    men = state.men[seat]
    king, all_men, own = int(men[KING]), int(men[ALL]), int(men[OWN])
    pawns, knights = int(men[OTHER + PAWN]), int(men[OTHER + KNIGHT])
    danger, answers, pinned = step(pawns, BACK_LEFT) | step(pawns, BACK_RIGHT), EVERYWHERE, 0
    for line in range(8):
        rivals = sliders(state, seat, OTHER, line)
        reach, way = slide(rivals, line ^ 4, ~all_men | king), slide(king, line, ~all_men)
        danger |= reach | leap(knights, line) | step(int(men[OTHER + KING]), line)
        pinned |= reach & way & own
        if way & rivals:
            answers &= way
    if danger & king:
        for number in range(8):
            if leap(king, number) & knights:
                answers &= leap(king, number)
        for line in (AHEAD_LEFT, AHEAD_RIGHT):
            if step(king, line) & pawns:
                answers &= step(king, line)
    return danger, answers, pinned


def free_cells(state: ChessState, seat: int, line: int, pinned: int) -> int:
    """The cells from which no pin forbids a man to move along a line."""
    if pinned == 0:
        return EVERYWHERE
    king, empty = int(state.men[seat, KING]), ~int(state.men[seat, ALL])
    return ~pinned | slide(king, line, empty) | slide(king, line ^ 4, empty)


def exposes(state: ChessState, seat: int, origin: int, target: int) -> bool:
    """Whether taking en passant, which empties two cells, leaves the player's king attacked."""
    board, victim = state.board, target - forward(seat)
    pawn, taken = board[origin], board[victim]
    board[victim], board[origin], board[target] = 0, 0, pawn
    exposed = is_attacked(state, int(state.kings[seat]), 1 - seat)
    board[target], board[victim], board[origin] = 0, taken, pawn
    return exposed


# Moves


def list_moves(state: ChessState, seat: int) -> None:
    """Write a player's legal moves into `state.moves`, and whether their king is attacked.

    No move is tried out but en passant: `attacks` says where men may go, and the king goes where
    nothing attacks. All men move together, a set of cells for each plane: a processor cannot guess
    where men stand and how far they go, which is what going from man to man asks of it.
    """
    men = state.men[seat]
    king, others = int(men[KING]), ~int(men[OWN])
    listed = int(state.num_moves)
    state.num_moves = 0
    danger, answers, pinned = attacks(state, seat)
    checked = danger & king != 0
    state.checked = checked
    for line in range(8):
        free = free_cells(state, seat, line, pinned)
        front = step(sliders(state, seat, 0, line) & free, line)
        pawns = pawn_targets(state, seat, line, free) & answers
        targets = (front & answers) | (step(king, line) & ~danger)
        list_all(state, (targets & others) | pawns, line, 1, 7 * line)
        list_promotions(state, pawns & LAST_RANK, line)
        list_lines(state, seat, front, line, answers & others)
        leaps = leap(int(men[KNIGHT]) & ~pinned, line)
        list_leaps(state, leaps & answers & others, line)
    ahead = pawn_targets(state, seat, AHEAD, free_cells(state, seat, AHEAD, pinned)) & THIRD_RANK
    list_all(state, step(ahead, AHEAD) & ~int(men[ALL]) & answers, AHEAD, 2, 1)
    if state.en_passant != NOWHERE:
        list_en_passant(state, seat)
    if not checked:
        list_castling(state, seat, danger)
    for rest in range(state.num_moves, max(listed, state.num_moves + 1)):
        state.moves[rest] = 0


def list_all(state: ChessState, targets: int, line: int, distance: int, plane: int) -> None:
    """Write down a move in one plane to each cell of a set, from so many steps before it."""
    add_moves(state, targets, plane - PLANES * int(STEPS[line]) * distance)


def add_moves(state: ChessState, targets: int, offset: int) -> None:
    """Write down the move 73 * cell + offset for each cell of a set."""
    count, left = int(state.num_moves), targets & NOT_H8
    while left:
        lowest = left & -left
        cell = int(BIT_NUMBERS[((lowest * DE_BRUIJN) >> 58) & 63])
        state.moves[count] = PLANES * cell + offset
        count += 1
        left ^= lowest
    if targets & ~NOT_H8:
        state.moves[count] = PLANES * 63 + offset
        count += 1
    state.num_moves = count


def pawn_targets(state: ChessState, seat: int, line: int, free: int) -> int:
    """The cells to which pawns move by one step along a line, en passant aside."""
    men = state.men[seat]
    if line == AHEAD:
        return step(int(men[PAWN]) & free, line) & ~int(men[ALL])
    if line in (AHEAD_LEFT, AHEAD_RIGHT):
        return step(int(men[PAWN]) & free, line) & int(men[ALL]) & ~int(men[OWN])
    return 0


def list_promotions(state: ChessState, targets: int, line: int) -> None:
    """The moves of pawns to a set of cells on which they become a knight, bishop or rook."""
    if targets:
        for kind in range(3):
            list_all(state, targets, line, 1, PROMOTION_PLANE + 3 * kind + int(STEPS[line]) - 7)


def list_lines(state: ChessState, seat: int, front: int, line: int, reach: int) -> None:
    """The moves of two steps and more of the men that slide; `front` is where one step leads."""
    empty = ~int(state.men[seat, ALL])
    for distance in range(2, 8):
        front = step(front & empty, line)
        if front == 0:
            break
        list_all(state, front & reach, line, distance, 7 * line + distance - 1)


def list_leaps(state: ChessState, targets: int, number: int) -> None:
    """The leaps of knights to a set of cells."""
    way = int(STEPS[(number + 1) & 6]) + int(STEPS[number | 1])
    add_moves(state, targets, LEAP_PLANE + number - PLANES * way)


def list_en_passant(state: ChessState, seat: int) -> None:
    """The moves of pawns to the en passant cell."""
    target = 1 << own_cell(seat, int(state.en_passant))
    if takes_en_passant(state, seat, -1):
        list_all(state, target, AHEAD_RIGHT, 1, 7 * AHEAD_RIGHT)
    if takes_en_passant(state, seat, 1):
        list_all(state, target, AHEAD_LEFT, 1, 7 * AHEAD_LEFT)


def list_castling(state: ChessState, seat: int, danger: int) -> None:
    """Castling, for a king that is not in check: no man in between, no attack on its way."""
    rights, men = rights_of(state, seat), int(state.men[seat, ALL])
    if rights & 1 and men & F_TO_G == 0 and danger & F_TO_G == 0:
        list_all(state, G, RIGHT, 2, CASTLE_RIGHT)
    if rights & 2 and men & B_TO_D == 0 and danger & C_TO_D == 0:
        list_all(state, C, LEFT, 2, CASTLE_LEFT)


def rights_of(state: ChessState, seat: int) -> int:
    """A player's castling rights: 1 for the king's side, 2 for the queen's side."""
    return (int(state.castling) >> (2 * seat)) & 3


# Playing


def play(state: ChessState, seat: int, action: int) -> None:
    """Move the men, and bring castling rights, en passant square and clock in line."""
    board, sign = state.board, 1 - 2 * seat
    origin, target = origin_of(seat, action), target_of(seat, action)
    kind = int(board[origin]) * sign
    if kind == PAWN or board[target] != 0:
        restart_clock(state)
    else:
        state.clock += 1
    if kind == PAWN and target == state.en_passant:
        put(state, target - forward(seat), 0)
    put(state, origin, 0)
    put(state, target, man_after_move(seat, target, kind, action) * sign)
    if kind == KING:
        state.kings[seat] = target
        if abs(target - origin) == 2:
            corner = target + 1 if target > origin else target - 2
            put(state, corner, 0)
            put(state, (origin + target) // 2, ROOK * sign)
    state.castling = int(state.castling) & kept_rights(origin) & kept_rights(target)
    state.en_passant = NOWHERE
    if kind == PAWN and abs(target - origin) == 32:
        state.en_passant = (origin + target) // 2


def man_after_move(seat: int, target: int, kind: int, action: int) -> int:
    """What stands on the target after a move."""
    if kind != PAWN or target >> 4 != 7 - 7 * seat:
        return kind
    lesser = promotion_of(action)
    return lesser if lesser else QUEEN


def kept_rights(cell: int) -> int:
    """The castling rights that outlast a move from or to a cell."""
    rank, file = cell >> 4, cell & 7
    lost = 0
    if rank == 0 or rank == 7:
        if file == 4 or file == 7:
            lost |= 1
        if file == 4 or file == 0:
            lost |= 2
    return 15 ^ (lost << 2 if rank == 7 else lost)


def put(state: ChessState, cell: int, man: int) -> None:
    """Put a man (0: none) on a cell, and keep sets and key of the men in line."""
    there = int(state.board[cell])
    if there:
        toggle(state, cell, there)
    if man:
        toggle(state, cell, int(man))
    state.board[cell] = man


def toggle(state: ChessState, cell: int, man: int) -> None:
    """Put a man into the sets of cells and the key, or take it out."""
    state.men_key ^= stamp(128 * (man + 6) + cell)
    for seat in range(2):
        kind, bit = man * (1 - 2 * seat), BITS[own_cell(seat, cell)]
        state.men[seat, ALL] ^= bit
        if kind > 0:
            state.men[seat, OWN] ^= bit
            state.men[seat, kind] ^= bit
        else:
            state.men[seat, OTHER - kind] ^= bit


# What follows from a position


def examine(state: ChessState, seat: int) -> None:
    """Write everything derived from the position for the player to move."""
    if not (takes_en_passant(state, seat, -1) or takes_en_passant(state, seat, 1)):
        state.en_passant = NOWHERE
    list_moves(state, seat)
    clock = int(state.clock)
    state.keys[clock] = position_key(state, seat)
    state.earlier = 0
    for past in range(clock - 4, -1, -2):
        if state.keys[past] == state.keys[clock]:
            state.earlier += 1


def takes_en_passant(state: ChessState, seat: int, side: int) -> bool:
    """Whether a pawn on one side (-1: left, as White sees it) may move to the en passant cell."""
    target = int(state.en_passant)
    cell = target - forward(seat) + side
    if target == NOWHERE or cell & OFF or state.board[cell] * (1 - 2 * seat) != PAWN:
        return False
    return not exposes(state, seat, cell, target)


def restart_clock(state: ChessState) -> None:
    """Set the clock to zero: no earlier position can come back."""
    for past in range(state.clock + 1):
        state.keys[past] = 0
    state.clock = 0


def ending(state: ChessState) -> int:
    """How the game ends in a position that `examine` has seen; IN_PLAY if it goes on."""
    if state.num_moves == 0:
        return CHECKMATE if state.checked else STALEMATE
    if state.clock == 0 and is_dead(state):  # else nothing was taken since it was last looked at
        return DEAD_POSITION
    if state.earlier >= 2:
        return REPETITION
    return FIFTY_MOVES if state.clock >= DRAW_CLOCK else IN_PLAY


def is_dead(state: ChessState) -> bool:
    """Whether neither side has the men to mate: at most a knight, or bishops of one colour."""
    men = state.men[0]
    for kind in (PAWN, ROOK, QUEEN):
        if men[kind] or men[OTHER + kind]:
            return False
    knights = int(men[KNIGHT]) | int(men[OTHER + KNIGHT])
    bishops = int(men[BISHOP]) | int(men[OTHER + BISHOP])
    if knights:
        count = 0
        for number in range(64):
            count += (knights >> number) & 1
        return bishops == 0 and count == 1
    return bishops & LIGHT == 0 or bishops & ~LIGHT == 0


def position_key(state: ChessState, seat: int) -> int:
    """A number for men, player to move, castling rights and en passant square (Zobrist)."""
    rights = stamp(KEY_STRIDE + int(state.castling))
    target = stamp(KEY_STRIDE + 64 + int(state.en_passant))
    return int(state.men_key) ^ rights ^ target ^ stamp(KEY_STRIDE + 32 + seat)


def stamp(number: int) -> int:
    """A fixed number of 63 bits that looks random."""
    return (scramble(2 * number + 1) << 31) ^ scramble(2 * number + 2)


def scramble(number: int) -> int:
    """Mix the bits of a 32-bit number, invertibly."""
    mixed = ((number ^ (number >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x45D9F3B) & 0xFFFFFFFF
    return mixed ^ (mixed >> 16)
