"""How chess men move, as plain functions that compile; see `palestra.kernel.array_game`.

The board has 128 cells, 16 a rank, of which the right half is empty: cell 16 * rank + file is off
the board exactly if `cell & OFF` is not zero. White's men are positive numbers there, Black's
negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
AHEAD_RIGHT, AHEAD_LEFT = 7, 49
CASTLE_RIGHT, CASTLE_LEFT = 15, 43

EVERYWHERE = -1  # all cells, as bits 8 * rank + file
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


def attacked_cells(state: ChessState, by: int) -> int:
    """All cells that a player's men attack, as bits 8 * rank + file.

    The other king hides no cell behind it: it may not stay on the line of an attack.
    """
    board, sign, cells = state.board, 1 - 2 * by, 0
    king = int(state.kings[1 - by])
    hidden = board[king]
    board[king] = 0
    for number in range(64):
        cell = board_cell(0, number)
        kind = board[cell] * sign
        if kind == PAWN:
            ahead = cell + forward(by)
            cells |= bit_on_board(ahead - 1) | bit_on_board(ahead + 1)
        elif kind == KNIGHT:
            for leap in range(8):
                cells |= bit_on_board(cell + LEAPS[leap])
        elif kind == KING:
            for line in range(8):
                cells |= bit_on_board(cell + LINES[line])
        elif kind > 0:
            for line in range(first_line(kind), 8, 1 if kind == QUEEN else 2):
                target = cell + LINES[line]
                while not target & OFF and board[target] == 0:
                    cells |= bit(target)
                    target += LINES[line]
                cells |= bit_on_board(target)
    board[king] = hidden
    return cells


def guard(state: ChessState, seat: int, checked: bool) -> tuple[int, int]:
    """Which cells answer a check, and which men are pinned, as bits 8 * rank + file.

    A man other than the king may go anywhere without a check, and nowhere if two men give it.
    Pinned are the men that stand alone between their king and a man that slides along the line.
    """
    board, sign, king = state.board, 1 - 2 * seat, int(state.kings[seat])
    answers, pinned = EVERYWHERE, 0
    if checked:
        for leap in range(8):
            source = king + LEAPS[leap]
            if not source & OFF and board[source] * sign == -KNIGHT:
                answers &= bit(source)
        for side in (-1, 1):
            source = king + forward(seat) + side
            if not source & OFF and board[source] * sign == -PAWN:
                answers &= bit(source)
    for line in range(8):
        shield = next_man(state, king, LINES[line])
        if shield & OFF:
            continue
        if slides(-board[shield] * sign, line):
            answers &= way_to(king, LINES[line], shield)
        elif board[shield] * sign > 0:
            source = next_man(state, shield, LINES[line])
            if not source & OFF and slides(-board[source] * sign, line):
                pinned |= bit(shield)
    return answers, pinned


def next_man(state: ChessState, cell: int, step: int) -> int:
    """The first cell with a man from a cell on in steps of one size; off the board if none."""
    cell += step
    while not cell & OFF and state.board[cell] == 0:
        cell += step
    return cell


def way_to(start: int, step: int, end: int) -> int:
    """The cells after `start` up to `end`, in steps of one size, as bits."""
    cells = 0
    while start != end:
        start += step
        cells |= bit(start)
    return cells


def bit(cell: int) -> int:
    """The bit 8 * rank + file of a cell."""
    return 1 << own_cell(0, cell)


def bit_on_board(cell: int) -> int:
    """The bit of a cell, 0 for one that is off the board."""
    return 0 if cell & OFF else bit(cell)


def first_line(kind: int) -> int:
    """The first of the lines along which a bishop, rook or queen slides."""
    return 1 if kind == BISHOP else 0


def pin_way(state: ChessState, king: int, cell: int) -> int:
    """The cells between a king and the man that pins one on `cell`, that man's included."""
    ways = 0
    for line in range(8):
        if next_man(state, king, LINES[line]) == cell:
            ways = way_to(king, LINES[line], next_man(state, cell, LINES[line]))
    return ways


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

    No move is tried out but en passant: `guard` says where each man may go, and the king goes where
    nothing attacks.
    """
    board, sign, king = state.board, 1 - 2 * seat, int(state.kings[seat])
    listed = int(state.num_moves)
    state.num_moves = 0
    danger = attacked_cells(state, 1 - seat)
    checked = danger & bit(king) != 0
    state.checked = checked
    answers, pinned = guard(state, seat, checked)
    for number in range(64):
        cell = board_cell(0, number)
        kind = board[cell] * sign
        if kind <= 0 or kind == KING:
            continue
        reach = answers
        if (pinned >> number) & 1:
            reach &= pin_way(state, king, cell)
        if kind == PAWN:
            list_pawn(state, seat, cell, reach)
        elif kind == KNIGHT:
            list_leaps(state, seat, cell, reach)
        else:
            list_lines(state, seat, cell, reach)
    list_king(state, seat, king, danger)
    if not checked:
        list_castling(state, seat, king, danger)
    for rest in range(state.num_moves, max(listed, state.num_moves + 1)):
        state.moves[rest] = 0


def list_pawn(state: ChessState, seat: int, cell: int, reach: int) -> None:
    """The moves of a pawn: ahead by one or two, captures, en passant."""
    board, sign, step = state.board, 1 - 2 * seat, forward(seat)
    ahead = cell + step
    if board[ahead] == 0:
        list_advance(state, seat, cell, ahead, 0, reach)
        if cell >> 4 == 1 + 5 * seat and board[ahead + step] == 0:
            list_move(state, seat, cell, ahead + step, 1, reach)
    for side in (-1, 1):
        target = ahead + side
        if target & OFF:
            continue
        plane = AHEAD_RIGHT if side == 1 else AHEAD_LEFT
        if board[target] * sign < 0:
            list_advance(state, seat, cell, target, plane, reach)
        elif target == state.en_passant and not exposes(state, seat, cell, target):
            list_move(state, seat, cell, target, plane, EVERYWHERE)


def list_advance(
    state: ChessState, seat: int, cell: int, target: int, plane: int, reach: int
) -> None:
    """A pawn's move by one rank, as four if it promotes."""
    list_move(state, seat, cell, target, plane, reach)
    if target >> 4 == 7 - 7 * seat:
        side = (target & 7) - (cell & 7)
        for kind in range(3):
            plane = PROMOTION_PLANE + 3 * kind + side + 1
            list_move(state, seat, cell, target, plane, reach)


def list_leaps(state: ChessState, seat: int, cell: int, reach: int) -> None:
    """The moves of a knight."""
    board, sign = state.board, 1 - 2 * seat
    for leap in range(8):
        target = cell + LEAPS[8 * seat + leap]
        if not target & OFF and board[target] * sign <= 0:
            list_move(state, seat, cell, target, LEAP_PLANE + leap, reach)


def list_lines(state: ChessState, seat: int, cell: int, reach: int) -> None:
    """The moves of a bishop, rook or queen."""
    board, sign = state.board, 1 - 2 * seat
    kind = board[cell] * sign
    for line in range(first_line(kind), 8, 1 if kind == QUEEN else 2):
        step = LINES[8 * seat + line]
        target, plane = cell + step, 7 * line
        while not target & OFF and board[target] == 0:
            list_move(state, seat, cell, target, plane, reach)
            target += step
            plane += 1
        if not target & OFF and board[target] * sign < 0:
            list_move(state, seat, cell, target, plane, reach)


def list_king(state: ChessState, seat: int, king: int, danger: int) -> None:
    """The moves of a king by one cell."""
    board, sign = state.board, 1 - 2 * seat
    for line in range(8):
        target = king + LINES[8 * seat + line]
        if not target & OFF and board[target] * sign <= 0:
            list_move(state, seat, king, target, 7 * line, ~danger)


def list_castling(state: ChessState, seat: int, king: int, danger: int) -> None:
    """Castling, for a king that is not in check."""
    rights = rights_of(state, seat)
    if rights & 1 and free_way(state, king, 1, 2, danger):
        list_move(state, seat, king, king + 2, CASTLE_RIGHT, ~danger)
    if rights & 2 and free_way(state, king, -1, 3, danger):
        list_move(state, seat, king, king - 2, CASTLE_LEFT, ~danger)


def free_way(state: ChessState, king: int, step: int, cells: int, danger: int) -> bool:
    """Whether nothing stands between king and rook, and the cell beside the king is safe."""
    for distance in range(1, cells + 1):
        if state.board[king + step * distance] != 0:
            return False
    return danger & bit(king + step) == 0


def rights_of(state: ChessState, seat: int) -> int:
    """A player's castling rights: 1 for the king's side, 2 for the queen's side."""
    return (int(state.castling) >> (2 * seat)) & 3


def list_move(state: ChessState, seat: int, cell: int, target: int, plane: int, reach: int) -> None:
    """Write a move down if its target is among the cells that the man may go to."""
    state.moves[state.num_moves] = PLANES * own_cell(seat, cell) + plane
    state.num_moves += (
        reach >> own_cell(0, target)
    ) & 1  # no jump: half of them were guessed wrong


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
    """Put a man (0: none) on a cell, and keep the key of the men in line."""
    there = int(state.board[cell])
    if there:
        state.men_key ^= stamp(128 * (there + 6) + cell)
    if man:
        state.men_key ^= stamp(128 * (int(man) + 6) + cell)
    state.board[cell] = man


# What follows from a position


def examine(state: ChessState, seat: int) -> None:
    """Write everything derived from the position for the player to move."""
    if state.en_passant != NOWHERE and not takes_en_passant(state, seat):
        state.en_passant = NOWHERE
    list_moves(state, seat)
    clock = int(state.clock)
    state.keys[clock] = position_key(state, seat)
    state.earlier = 0
    for past in range(clock - 4, -1, -2):
        if state.keys[past] == state.keys[clock]:
            state.earlier += 1


def takes_en_passant(state: ChessState, seat: int) -> bool:
    """Whether a pawn of the player may legally move to the en passant square."""
    sign, target = 1 - 2 * seat, int(state.en_passant)
    for side in (-1, 1):
        cell = target - forward(seat) + side
        beside = not cell & OFF and state.board[cell] * sign == PAWN
        if beside and not exposes(state, seat, cell, target):
            return True
    return False


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
    knights, dark, light = 0, 0, 0
    for number in range(64):
        cell = board_cell(0, number)
        kind = abs(int(state.board[cell]))
        if kind in (PAWN, ROOK, QUEEN):
            return False
        if kind == KNIGHT:
            knights += 1
        if kind == BISHOP and ((cell >> 4) + cell) & 1:
            light += 1
        elif kind == BISHOP:
            dark += 1
    if knights:
        return knights == 1 and light + dark == 0
    return light == 0 or dark == 0


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
