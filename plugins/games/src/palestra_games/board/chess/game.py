"""Chess, with the rules of the FIDE Laws of Chess (2023).

White and Black move in turn. The game ends by checkmate, and drawn by stalemate, when a position
has occurred three times, after fifty moves by each side without a capture or pawn move, and when
neither side has the men to mate: a lone king against a king with at most one bishop or knight, or
any number of bishops that all stand on cells of one colour. These draws come by themselves; nobody
has to claim them. Checkmate goes before the fifty moves. Resigning and agreeing on a draw are left
out, and so are dead positions of other kinds. Two positions are the same if the same player is to
move, the men stand on the same cells, and the same castling rights and en passant captures are
left; an en passant cell counts only where the capture is legal.

The rules are in `chess_rules`, start positions in `chess_fen`. Numbers of move sequences from six
positions are those published on the Chess Programming Wiki ("Perft Results"), from the start 20,
400, 8,902, 197,281, 4,865,609; whole random games agree with OpenSpiel's chess.

Actions are the 8 x 8 x 73 planes of AlphaZero (Silver et al., "A general reinforcement learning
algorithm that masters chess, shogi, and Go through self-play", Science 362, 2018): number
73 * cell + plane, see `chess_rules`. The array view is 8 x 8 cells of 20 numbers, int8:

    0-5      own pawns, knights, bishops, rooks, queens, king
    6-11     the other player's
    12-15    right to castle on the king's side and the queen's side: own, then the other's
    16       the cell on which a pawn can be taken en passant
    17       half moves without capture or pawn move
    18       how often this position has occurred before
    19       1 if it is one's own turn

Cells are seen from the player's own side, in the array view and in action numbers alike: row 0 is
his own first rank, and files go from a to h for both. Numbers 12-15 and 17-19 are the same in all
cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from palestra import ArrayGame, Grid, Outcome, Piece, Scene, environment
from palestra.kernel.errors import InvalidAction, InvalidOption
from palestra.rules import draw, mover, truncate, turn_to, win

from palestra_games.board.chess.fen import MEN, START, Position, read_fen, write_fen
from palestra_games.board.chess.rules import (
    CHECKMATE,
    DEAD_POSITION,
    DRAW_CLOCK,
    IN_PLAY,
    KING,
    MOST_MOVES,
    NOWHERE,
    PAWN,
    PLANES,
    TIME_UP,
    attacked,
    board_cell,
    ending,
    face,
    is_dead,
    origin_of,
    own_cell,
    play,
    promotion_of,
    put,
    rights_of,
    target_of,
)

COLOURS = ("White", "Black")
KINDS = ("", "pawn", "knight", "bishop", "rook", "queen", "king")
ENDINGS = (
    "",
    "Checkmate.",
    "Stalemate: no legal move, and the king is not in check.",
    "Fifty moves by each side without a capture or pawn move.",
    "The position has occurred three times.",
    "Neither side has the men to give mate.",
    "The limit of moves is reached.",
)
LETTERS = dict(zip(range(-6, 7), "kqrbnp.PNBRQK", strict=True))
AROUND_WORDS = " \t\r\n.,;:!?'\"()*`"
BRACKETED = re.compile(r"\[([^\[\]]*)\]")
MOVE = re.compile(r"([NBRQK]?)([a-h]?)([1-8]?)x?([a-h][1-8])=?([NBRQ]?)[+#]?")
CASTLING = re.compile(r"(O-O-O|O-O|0-0-0|0-0)[+#]?")


@environment(
    "games/Chess-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
)
@dataclass(frozen=True)
class Chess(ArrayGame):
    """You play chess by the usual rules, castling, en passant and promotion included.

    Checkmate wins. The game is drawn by stalemate, when a position occurs for the third time,
    after fifty moves by each side without a capture or pawn move, and when neither side has the
    men to give mate. These draws come by themselves; there are no draw offers and no resigning.
    White is player_0 and moves first, unless the start position says otherwise.

    Write a move as the cell it starts from and the cell it goes to, "e2e4"; a promotion ends with
    the new piece, q, r, b or n: "e7e8q"; castle by moving the king two cells: "e1g1". Standard
    algebraic notation, "Nf3", "exd5", "e8=Q" or "O-O", is understood too.

    The board is shown with White at the bottom, White's men in capital letters: P pawn, N knight,
    B bishop, R rook, Q queen, K king. Below it is the position in FEN: the men, whose turn it is,
    castling rights (K, Q: White on the king's, queen's side; k, q: Black), the cell on which a pawn
    can be taken en passant, half moves without capture or pawn move, and the move number.
    """

    fen: str = START
    max_moves: int | None = None  # half moves of both players together

    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 64 * PLANES
    observation_shape = (8, 8, 20)
    observation_bounds = (0, DRAW_CLOCK)

    def __post_init__(self) -> None:
        if self.max_moves is not None and self.max_moves < 1:
            raise InvalidOption(f"max_moves must be at least 1, not {self.max_moves}")
        if self.start == read_fen(START):
            return
        state = self.initial_state(0)
        other = 1 - self.start.seat
        if attacked(state, int(state.kings[other]), self.start.seat):
            raise InvalidOption(
                f"fen, field 2 (side to move): {COLOURS[other]} is in check, so it must be "
                f"{COLOURS[other]}'s turn"
            )
        over = DEAD_POSITION if is_dead(state) else ending(state)
        if over != IN_PLAY:
            raise InvalidOption(f"the game is over in fen {self.fen!r}: {ENDINGS[over]}")

    @cached_property
    def start(self) -> Position:
        """The start position."""
        return read_fen(self.fen)

    def constants(self) -> Mapping[str, Any]:
        return {
            "ranks": self.start.ranks,
            "first": self.start.seat,
            "castling": self.start.rights,
            "en_passant": self.start.target,
            "clock": self.start.clock,
            "max_moves": self.max_moves or 0,
        }

    def fields(self) -> list[tuple[Any, ...]]:
        """The board, and what follows from it: legal moves, and keys of the last positions."""
        return [
            ("board", np.int8, 128),
            ("kings", np.int16, 2),
            ("castling", np.uint8),
            ("en_passant", np.int16),
            ("clock", np.int16),
            ("men_key", np.int64),
            ("keys", np.int64, DRAW_CLOCK + 1),
            ("earlier", np.int8),
            ("checked", np.uint8),
            ("how_over", np.uint8),
            ("num_moves", np.int16),
            ("moves", np.int16, MOST_MOVES),
        ]

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for number in range(64):
            code = (config.ranks[number >> 3] >> (4 * (number & 7))) & 15
            kind, cell = code & 7, board_cell(0, number)
            put(state, cell, -kind if code & 8 else kind)
            if kind == KING:
                state.kings[code >> 3] = cell
        state.castling = config.castling
        state.en_passant = config.en_passant
        state.clock = config.clock
        face(state, config.first)
        turn_to(state, config.first)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        seat = mover(state)
        play(state, seat, actions[seat])
        face(state, 1 - seat)
        state.how_over = ending(state)
        if state.how_over == CHECKMATE:
            win(state, seat, out)
        elif state.how_over != IN_PLAY:
            draw(state)
        elif state.turn + 1 == config.max_moves:
            state.how_over = TIME_UP
            truncate(state)
        else:
            turn_to(state, 1 - seat)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        moves = state.moves
        for number in range(state.num_moves):
            mask[moves[number]] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        board, sign = state.board, 1 - 2 * seat
        own, other = rights_of(state, seat), rights_of(state, 1 - seat)
        clock, earlier, acting = state.clock, state.earlier, state.acting[seat]
        for number in range(64):
            row, column = number >> 3, number & 7
            kind = board[board_cell(seat, number)] * sign
            if kind > 0:
                view[row, column, kind - 1] = 1
            elif kind < 0:
                view[row, column, 5 - kind] = 1
            view[row, column, 12] = own & 1
            view[row, column, 13] = own >> 1
            view[row, column, 14] = other & 1
            view[row, column, 15] = other >> 1
            view[row, column, 17] = clock
            view[row, column, 18] = earlier
            view[row, column, 19] = acting
        if state.en_passant != NOWHERE:
            target = own_cell(seat, state.en_passant)
            view[target >> 3, target & 7, 16] = 1

    def outcome(self, state: Any) -> Outcome | None:
        outcome = super().outcome(state)
        return outcome and replace(outcome, reason=ENDINGS[state.how_over])

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat), f"You are {COLOURS[seat]}."]
        if self.max_moves is not None:
            lines.append(
                f"The game is stopped after {self.max_moves} half moves, counting both players'."
            )
        return "\n".join(lines)

    def describe(self, state: Any, seat: int) -> str:
        position = self.position(state)
        turn = f"{COLOURS[position.seat]} is to move{' and in check' if state.checked else ''}."
        if state.over:
            turn = f"The game is over. {ENDINGS[state.how_over]}"
        ranks = [" ".join(position.men[first : first + 8]) for first in range(0, 64, 8)]
        lines = [f"You are {COLOURS[seat]}. {turn}"]
        lines += [f"{rank + 1} {ranks[rank]}" for rank in reversed(range(8))]
        lines += ["  a b c d e f g h", f"FEN: {write_fen(position)}"]
        if state.earlier:
            lines.append(f"Times this position has occurred before: {state.earlier}.")
        return "\n".join(lines)

    def position(self, state: Any) -> Position:
        """What a FEN of this state says."""
        half_moves = self.start.seat + int(state["turn"])
        rights, target = int(state["castling"]), int(state["en_passant"])
        return Position(
            men="".join(LETTERS[man] for man in self.men(state)),
            seat=half_moves % 2,
            castling="".join(right for bit, right in enumerate("KQkq") if rights >> bit & 1),
            en_passant="" if target == NOWHERE else cell_name(target),
            clock=int(state["clock"]),
            number=self.start.number + half_moves // 2,
        )

    @staticmethod
    def men(state: Any) -> list[int]:
        """Kinds by cell, a1 to h8 rank by rank; Black's negative."""
        rows: list[list[int]] = state["board"].reshape(8, 16)[:, :8].tolist()
        return [man for row in rows for man in row]

    def action_text(self, state: Any, seat: int, action: int) -> str:
        text = coordinates(seat, action)
        if len(text) == 4 and text[3] in "18" and abs(man_at(state, seat, action)) == PAWN:
            return text + "q"
        return text

    def parse(self, state: Any, seat: int, text: str) -> int:
        """Read a move in coordinates, or else in standard algebraic notation."""
        try:
            return super().parse(state, seat, text)
        except InvalidAction as error:
            for phrase in (text, *reversed(BRACKETED.findall(text)), *text.split()[-1:]):
                word = phrase.strip(AROUND_WORDS)
                found = list(self.read_algebraic(state, seat, word))
                if len(found) == 1:
                    return found[0]
                if found:
                    names = ", ".join(self.action_text(state, seat, a) for a in found)
                    why = f"{word} can be any of {names}"
                    raise InvalidAction(text, error.legal, error.example, why) from error
            raise

    def read_algebraic(self, state: Any, seat: int, text: str) -> Iterator[int]:
        """The legal moves that standard algebraic notation such as Nbd7 may mean."""
        castling, move = CASTLING.fullmatch(text), MOVE.fullmatch(text)
        for action in self.legal(state, seat).nonzero()[0].tolist():
            kind = abs(man_at(state, seat, action))
            name = self.action_text(state, seat, action)
            files = ord(name[2]) - ord(name[0])
            if kind == KING and abs(files) == 2:
                long = castling is not None and len(castling[1]) == 5
                if castling is not None and long == (files < 0):
                    yield action
            elif move is not None:
                letter, file, rank, target, promoted = move.groups()
                fits = MEN[kind] == (letter or "P") and name[2:4] == target
                from_there = file in ("", name[0]) and rank in ("", name[1])
                if fits and from_there and (not promoted or name[4:] == promoted.lower()):
                    yield action

    # Pictures

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        pieces = [
            Piece(LETTERS[man], int(man < 0), "tile", f"{COLOURS[man < 0]} {KINDS[abs(man)]}")
            if man
            else None
            for man in self.men(state)
        ]
        side = (self.start.seat + int(state["turn"])) % 2
        checked: frozenset[tuple[int, int]] = frozenset()
        if state.checked:
            king = int(state.kings[side])
            checked = frozenset({(7 - (king >> 4), king & 7)})
        grid = Grid(
            tuple(tuple(pieces[first : first + 8]) for first in range(56, -1, -8)),
            row_labels=tuple("87654321"),
            column_labels=tuple("abcdefgh"),
            checkered=True,
            highlighted=checked,
        )
        caption = "" if state.over else f"{COLOURS[side]} is to move"
        return Scene(caption + (", in check" if caption and state.checked else ""), grid=grid)


def cell_name(cell: int) -> str:
    """A cell of the board as e4."""
    return f"{'abcdefgh'[cell & 7]}{(cell >> 4) + 1}"


@cache
def coordinates(seat: int, action: int) -> str:
    """An action as e2e4, with a letter where it promotes to less than a queen."""
    cells = cell_name(origin_of(seat, action)) + cell_name(target_of(seat, action))
    lesser = promotion_of(action)
    return cells + MEN[lesser].lower() if lesser else cells


def man_at(state: Any, seat: int, action: int) -> int:
    """What an action moves."""
    return int(state["board"][origin_of(seat, action)])
