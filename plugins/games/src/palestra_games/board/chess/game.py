"""Chess, with the rules of the FIDE Laws of Chess (2023).

White and Black move in turn. The game ends by checkmate, and drawn by stalemate, when a position
has occurred three times, after fifty moves by each side without a capture or pawn move, and when
neither side has the men to mate: a lone king against a king with at most one bishop or knight, or
any number of bishops that all stand on cells of one colour. These draws are automatic; nobody has
to claim them. Checkmate takes precedence over the fifty-move rule. Resigning and agreeing on a draw
are not possible, and other kinds of dead position are not recognised. Two positions are the same if
the same player is to move, the men stand on the same cells, and the same castling rights and en
passant captures are left; an en passant cell counts only where the capture is legal.

The rules are in `palestra_games.board.chess.rules`, start positions in `fen` beside it. Numbers of
move sequences from six positions are those published on the Chess Programming Wiki ("Perft
Results"), from the start 20, 400, 8,902, 197,281, 4,865,609; whole random games agree with
OpenSpiel's chess.

Actions are the 8 x 8 x 73 planes of AlphaZero (Silver et al., "A general reinforcement learning
algorithm that masters chess, shogi, and Go through self-play", Science 362, 2018): number
73 * cell + plane, see the rules. An observation is 8 x 8 cells of 20 numbers, int8:

    0-5      own pawns, knights, bishops, rooks, queens, king
    6-11     the other player's
    12-15    right to castle on the king's side and the queen's side: own, then the other's
    16       the cell on which a pawn can be taken en passant
    17       half moves without capture or pawn move
    18       how often this position has occurred before
    19       1 if it is one's own turn

Cells are seen from the player's own side, in observations and in action numbers alike: row 0 is
their own first rank, and files go from a to h for both. Numbers 12-15 and 17-19 are the same in all
cells.

Checked: numbers of move sequences from six positions against the published ones, whole random games
against OpenSpiel's.

Left out: clocks, draws by agreement and resigning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any

from palestra import (
    ArrayGame,
    Channel,
    Grid,
    InvalidAction,
    InvalidOption,
    Meta,
    Outcome,
    Piece,
    Scene,
    Vocabulary,
    constant,
    environment,
)
from palestra.answers import stated_moves
from palestra.rules import draw, mover, truncate, turn_to, win
from palestra.scene import Cell, mark_cells, turned

from palestra_games.board.chess.fen import (
    MEN,
    MOST_MOVES_PLAYED,
    START,
    Position,
    read_fen,
    write_fen,
)
from palestra_games.board.chess.rules import (
    CHECKMATE,
    DEAD_POSITION,
    DRAW_CLOCK,
    IN_PLAY,
    KING,
    NOWHERE,
    PAWN,
    PLANES,
    TIME_UP,
    board_cell,
    ending,
    examine,
    is_attacked,
    is_dead,
    origin_of,
    own_cell,
    play,
    promotion_of,
    put,
    rights_of,
    target_of,
)
from palestra_games.board.chess.state import ChessState

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
MOVE = re.compile(r"([NBRQK]?)([a-h]?)([1-8]?)x?([a-h][1-8])=?([NBRQ]?)[+#]?")
NUMBERED = re.compile(r"\s*(\d{1,4})(\.{3}|…|\.)\s*")
HYPHEN = re.compile(r"([a-h][1-8])-([a-h][1-8])")
CASTLING = re.compile(r"(O-O-O|O-O|0-0-0|0-0)[+#]?")


# The rules for readers who do not know the game
IN_FULL = """
    You play chess on a board of 8 rows and 8 columns, which are labelled beside it. White is
    player_0 and moves first, unless the start position says otherwise. Below, "up" is away from
    the mover's own side of the board; White's side is at the bottom.

    On a turn move one man to a cell without a man of your own; a man of the other side on it is
    captured and leaves the board.
    - A king moves one cell in any direction.
    - A rook moves any number of cells along its row or column, a bishop along a diagonal, a queen
      either way; none of them jumps over a man.
    - A knight jumps two cells along a row or column and one across.
    - A pawn moves one cell up, from its first row also two, onto empty cells only; it captures one
      cell up on a diagonal. A pawn that moved two cells can be captured by a pawn in the next turn
      as if it had moved one: en passant. On the last row a pawn becomes a queen, rook, bishop or
      knight: its promotion.
    - Castling: a king and a rook that have not moved, with no man between them, move together: the
      king two cells towards the rook, the rook over it; not out of, through or into check.

    A king that could be captured next is in check, and you must leave no king of yours in check.
    Whoever is in check and has no such move has lost: checkmate. The game is drawn where a player
    not in check has no move (stalemate), when a position occurs for the third time, after fifty
    moves by each side without a capture or pawn move, and when neither side has the men to give
    mate. These draws come by themselves; there are no draw offers and no resigning.

    Write a move as the cell it starts from and the cell it goes to, "e2e4"; a promotion ends with
    the new man, q, r, b or n: "e7e8q"; castle by moving the king two cells: "e1g1". White's men are
    shown in capital letters: P pawn, N knight, B bishop, R rook, Q queen, K king. Below the board
    is the position in FEN: the men, whose turn it is, castling rights (K, Q: White on the king's,
    queen's side; k, q: Black), the cell on which a pawn can be taken en passant, half moves without
    capture or pawn move, and the move number.
"""


@environment(
    "games/Chess-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
)
@dataclass(frozen=True)
class Chess(ArrayGame[ChessState]):
    """Chess by the FIDE Laws of 2023, without draw offers and resigning.

    An action is 73 * cell + plane, as in AlphaZero; an observation is 8 x 8 cells of 20 numbers,
    int8. The module's docstring describes both. The winner is paid 1, the loser -1. A game
    that reaches `max_moves` is truncated.
    """

    fen: Annotated[
        str, Meta(description="start position in Forsyth-Edwards Notation, four to six fields")
    ] = START
    max_moves: Annotated[
        int | None,
        Meta(
            ge=1,
            le=MOST_MOVES_PLAYED,
            description="half moves of both players together after which the game is stopped; "
            "None for no limit",
        ),
    ] = None

    vocabulary = Vocabulary(
        words=(
            "pawn",
            "knight",
            "bishop",
            "rook",
            "queen",
            "king",
            "white",
            "black",
            "castle",
            "castling",
            "check",
            "checkmate",
            "mate",
            "resign",
            "man",
            "men",
            "stalemate",
            "capture",
            "promotion",
            "promote",
            "en passant",
            "fen",
        ),
        signs="PNBRQKpnbrqk",
        cells=True,
        lines=("FEN:",),
        rules=IN_FULL,
    )
    rules_text = """
        You play chess by the usual rules, castling, en passant and promotion included.

        Checkmate wins. The game is drawn by stalemate, when a position occurs for the third time,
        after fifty moves by each side without a capture or pawn move, and when neither side has the
        men to give mate. These draws come by themselves; there are no draw offers and no resigning.
        White is player_0 and moves first, unless the start position says otherwise.

        Write a move as the cell it starts from and the cell it goes to, "e2e4"; a promotion ends
        with the new piece, q, r, b or n: "e7e8q"; castle by moving the king two cells: "e1g1".
        Standard algebraic notation, "Nf3", "exd5", "e8=Q" or "O-O", is understood too.

        The board is shown with White at the bottom, White's men in capital letters: P pawn, N
        knight, B bishop, R rook, Q queen, K king. Below it is the position in FEN: the men, whose
        turn it is, castling rights (K, Q: White on the king's, queen's side; k, q: Black), the cell
        on which a pawn can be taken en passant, half moves without capture or pawn move, and the
        move number.
    """
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 64 * PLANES
    channel_axis = -1
    observation_shape = (8, 8, 20)
    observation_bounds = (0, DRAW_CLOCK)

    def validate(self) -> None:
        """Refuse start positions that no game reaches or that end it; see `read_fen` for others."""
        if self.start == read_fen(START):
            return
        state: ChessState = self.initial_state(0)
        other = 1 - self.start.seat
        if is_attacked(state, int(state.kings[other]), self.start.seat):
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

    @constant
    def ranks(self) -> tuple[int, ...]:
        """The board at the start as one number a rank; see `Position.ranks`."""
        return self.start.ranks

    @constant
    def first_seat(self) -> int:
        """The seat that moves first."""
        return self.start.seat

    @constant
    def castling(self) -> int:
        """Castling rights at the start as bits 1, 2, 4, 8 for K, Q, k, q."""
        return self.start.rights

    @constant
    def en_passant(self) -> int:
        """The en passant cell of the start as 16 * rank + file, or NOWHERE."""
        return self.start.target

    @constant
    def clock(self) -> int:
        """Half moves without capture or pawn move before the start."""
        return self.start.clock

    @constant
    def move_limit(self) -> int:
        """Half moves after which the game is stopped; 0 for no limit."""
        return self.max_moves or 0

    @staticmethod
    def init_state(config: Chess, state: ChessState) -> None:
        for number in range(64):
            code = (config.ranks[number >> 3] >> (4 * (number & 7))) & 15
            kind, cell = code & 7, board_cell(0, number)
            put(state, cell, -kind if code & 8 else kind)
            if kind == KING:
                state.kings[code >> 3] = cell
        state.castling = config.castling
        state.en_passant = config.en_passant
        state.clock = config.clock
        examine(state, config.first_seat)
        turn_to(state, config.first_seat)

    @staticmethod
    def apply_actions(config: Chess, state: ChessState, actions: Any, out: Any) -> None:
        seat = mover(state)
        play(state, seat, actions[seat])
        examine(state, 1 - seat)
        state.how_over = ending(state)
        if state.how_over == CHECKMATE:
            win(state, seat, out)
        elif state.how_over != IN_PLAY:
            draw(state)
        elif state.turn + 1 == config.move_limit:
            state.how_over = TIME_UP
            truncate(state)
        else:
            turn_to(state, 1 - seat)

    @staticmethod
    def write_legal_mask(config: Chess, state: ChessState, seat: int, mask: Any) -> None:
        moves = state.moves
        for number in range(state.num_moves):
            mask[moves[number]] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 6, "the player's pawns, knights, bishops, rooks, queens and king"),
            Channel("other", 6, "the same men of the opponent"),
            Channel("own_castling", 2, "the player may castle on the king's, the queen's side"),
            Channel("other_castling", 2, "the opponent may castle on the king's, the queen's side"),
            Channel("en_passant", 1, "1 on the cell where a pawn can be taken in passing"),
            Channel("clock", 1, "half moves without a capture or pawn move"),
            Channel("repetitions", 1, "how often this position has occurred before"),
            Channel("to_move", 1, "1 if it is the player's turn"),
        )

    @staticmethod
    def write_observation(config: Chess, state: ChessState, seat: int, obs: Any) -> None:
        board, sign = state.board, 1 - 2 * seat
        clock, turn = int(state.clock), int(state.acting[seat])
        for rank in range(8):
            row, first = obs[rank], board_cell(seat, 8 * rank)
            for file in range(8):
                kind = int(board[first + file]) * sign
                row[file, kind - 1 if kind > 0 else 5 - kind] = kind != 0
                row[file, 17], row[file, 19] = clock, turn  # seldom 0: cheaper than by `fill`
        own, other = rights_of(state, seat), rights_of(state, 1 - seat)
        fill(obs, 12, own & 1)
        fill(obs, 13, own >> 1)
        fill(obs, 14, other & 1)
        fill(obs, 15, other >> 1)
        fill(obs, 18, state.earlier)
        if state.en_passant != NOWHERE:
            target = own_cell(seat, state.en_passant)
            obs[target >> 3, target & 7, 16] = 1

    def outcome(self, state: ChessState) -> Outcome | None:
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

    def describe(self, state: ChessState, seat: int) -> str:
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

    def position(self, state: ChessState) -> Position:
        """What a FEN of this state says."""
        half_moves = self.start.seat + int(state.turn)
        rights, target = int(state.castling), int(state.en_passant)
        return Position(
            men="".join(LETTERS[man] for man in self.men(state)),
            seat=half_moves % 2,
            castling="".join(right for bit, right in enumerate("KQkq") if rights >> bit & 1),
            en_passant="" if target == NOWHERE else cell_name(target),
            clock=int(state.clock),
            number=self.start.number + half_moves // 2,
        )

    @staticmethod
    def men(state: ChessState) -> list[int]:
        """Kinds by cell, a1 to h8 rank by rank; Black's negative."""
        rows: list[list[int]] = state.board.reshape(8, 16)[:, :8].tolist()
        return [man for row in rows for man in row]

    def action_text(self, state: ChessState, seat: int, action: int) -> str:
        text = coordinates(seat, action)
        if len(text) == 4 and text[3] in "18" and abs(man_at(state, seat, action)) == PAWN:
            return text + "q"
        return text

    def parse(self, state: ChessState, seat: int, text: str) -> int:
        """Read a move in coordinates, or else in standard algebraic notation."""
        try:
            return super().parse(state, seat, text)
        except InvalidAction as error:
            for word in stated_moves(text):
                move = HYPHEN.sub(r"\1\2", self._unnumbered(state, text, word)).rstrip("!")
                found = list(self.read_algebraic(state, seat, move))
                if len(found) == 1:
                    return found[0]
                if found:
                    names = ", ".join(self.action_text(state, seat, a) for a in found)
                    why = f"{word} can be any of {names}"
                    raise InvalidAction(text, error.legal, error.example, why) from error
            raise

    def _unnumbered(self, state: ChessState, text: str, word: str) -> str:
        """A move without its number, as in "1. e4" or "1... e5"; an item of a list keeps it."""
        position = self.position(state)
        dots = ("...", "…") if position.seat else (".",)
        above = text.strip("` \n").rpartition("\n")[0].split("\n")[-1]
        start = NUMBERED.match(word)
        own = start and start[1] == str(position.number) and start[2] in dots
        return word[start.end() :] if start and own and not NUMBERED.match(above) else word

    def read_algebraic(self, state: ChessState, seat: int, text: str) -> Iterator[int]:
        """The legal moves that a text in standard algebraic notation, such as Nbd7, can mean."""
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
                letter, file, rank, target, promotion = move.groups()
                fits = MEN[kind] == (letter or "P") and name[2:4] == target
                from_there = file in ("", name[0]) and rank in ("", name[1])
                if fits and from_there and (not promotion or name[4:] == promotion.lower()):
                    yield action

    # Pictures

    def scene(self, state: ChessState, seat: int | None = None) -> Scene:
        pieces = [man_piece(man) if man else None for man in self.men(state)]
        side = (self.start.seat + int(state.turn)) % 2
        checked: list[Cell] = []
        if state.checked:
            king = int(state.kings[side])
            checked = [(7 - (king >> 4), king & 7)]
        grid = Grid(
            tuple(tuple(pieces[first : first + 8]) for first in range(56, -1, -8)),
            row_labels=tuple("87654321"),
            column_labels=tuple("abcdefgh"),
            style="checkered",
            marks=mark_cells("changed", checked),
        )
        if seat is not None and (self.start.seat + seat) % 2:
            grid = turned(grid)
        caption = "" if state.over else f"{COLOURS[side]} is to move"
        caption += ", in check" if caption and state.checked else ""
        sides = ("white", "black") if self.start.seat == 0 else ("black", "white")
        return Scene(caption, grid=grid, colours=sides)


def fill(obs: Any, channel: int, value: int) -> None:
    """Write one number into all cells of an observation; they hold 0 so far."""
    if value:
        for number in range(64):
            obs[number >> 3, number & 7, channel] = value


@cache
def man_piece(man: int) -> Piece:
    """A chess piece as a picture."""
    side, kind = COLOURS[man < 0], KINDS[abs(man)]
    return Piece(LETTERS[man], side.lower(), "tile", f"{side} {kind}", f"chess-{kind}")


def cell_name(cell: int) -> str:
    """A cell of the board in writing: e4."""
    return f"{'abcdefgh'[cell & 7]}{(cell >> 4) + 1}"


@cache
def coordinates(seat: int, action: int) -> str:
    """An action in writing: e2e4, with a letter where it promotes to less than a queen."""
    cells = cell_name(origin_of(seat, action)) + cell_name(target_of(seat, action))
    lesser = promotion_of(action)
    return cells + MEN[lesser].lower() if lesser else cells


def man_at(state: ChessState, seat: int, action: int) -> int:
    """The kind of man that an action moves; Black's negative."""
    return int(state.board[origin_of(seat, action)])
