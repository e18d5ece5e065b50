"""Chess positions in Forsyth-Edwards Notation (FEN), read and written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from palestra import InvalidOption

from palestra_games.board.chess.rules import DRAW_CLOCK, NOWHERE

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
MEN = ".PNBRQK"  # by the number of the kind
LETTERS = "prnbqkPRNBQK"
FULL_SET = {"P": 8, "N": 2, "B": 2, "R": 2, "Q": 1, "K": 1}
HOMES = {"K": ("e1", "h1"), "Q": ("e1", "a1"), "k": ("e8", "h8"), "q": ("e8", "a8")}
MOST_MOVES_PLAYED = 100_000


@dataclass(frozen=True, slots=True)
class Position:
    """What a FEN says: `men` has one letter or '.' a cell, from a1 to h8 rank by rank."""

    men: str
    seat: int
    castling: str
    en_passant: str
    clock: int
    number: int

    def at(self, name: str) -> str:
        """What stands on a cell such as e4."""
        return self.men[8 * (int(name[1]) - 1) + ord(name[0]) - ord("a")]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The board as one number a rank: four bits a cell, a-file lowest; 8 more for Black."""
        codes = [MEN.index(man.upper()) + 8 * man.islower() for man in self.men]
        return tuple(
            sum(code << 4 * file for file, code in enumerate(codes[first : first + 8]))
            for first in range(0, 64, 8)
        )

    @property
    def rights(self) -> int:
        """Castling rights as bits 1, 2, 4, 8 for K, Q, k, q."""
        return sum(1 << "KQkq".index(right) for right in self.castling)

    @property
    def target(self) -> int:
        """The en passant cell as 16 * rank + file, or NOWHERE."""
        if not self.en_passant:
            return NOWHERE
        return 16 * (int(self.en_passant[1]) - 1) + ord(self.en_passant[0]) - ord("a")


def read_fen(fen: str) -> Position:
    """Read a FEN of four to six fields; raises `InvalidOption`, which names the field."""
    words = fen.split()
    if not 4 <= len(words) <= 6:
        raise InvalidOption(
            f"fen {fen!r} has {len(words)} fields; it needs 4 to 6: men, side to move, castling, "
            "en passant, half moves without capture or pawn move, move number"
        )
    board, side, castling, en_passant, clock, number = *words, *("0", "1")[len(words) - 4 :]
    if side not in ("w", "b"):
        raise _wrong(2, "side to move", side, "'w' or 'b'")
    position = Position(
        _men(board),
        "wb".index(side),
        "" if castling == "-" else castling,
        "" if en_passant == "-" else en_passant,
        _number(5, "half moves without capture or pawn move", clock, 0, DRAW_CLOCK - 1),
        _number(6, "move number", number, 1, MOST_MOVES_PLAYED),
    )
    _check_castling(position)
    _check_en_passant(position)
    return position


def _wrong(field: int, name: str, read: str, accepted: str) -> InvalidOption:
    return InvalidOption(f"fen, field {field} ({name}) is {read!r}; it must be {accepted}")


def _number(field: int, name: str, word: str, low: int, high: int) -> int:
    """A field that holds a number."""
    if not (word.isascii() and word.isdigit() and len(word) <= 9 and low <= int(word) <= high):
        raise _wrong(field, name, word, f"a number from {low} to {high}")
    return int(word)


def _men(board: str) -> str:
    """One letter or '.' a cell, from a1 on."""
    ranks = board.split("/")
    if len(ranks) != 8:
        raise _wrong(1, "men", board, f"8 ranks with '/' between them, not {len(ranks)}")
    cells = [_rank(8 - row, rank) for row, rank in enumerate(ranks)]
    men = "".join(reversed(cells))
    _check_numbers(men)
    return men


def _rank(number: int, rank: str) -> str:
    """One letter or '.' a cell of a rank, from file a on."""
    name = f"men, rank {number}"
    for letter in rank:
        if letter not in LETTERS and letter not in "12345678":
            raise _wrong(1, name, rank, f"made of the letters {LETTERS} and digits 1 to 8")
    cells = "".join(c if c in LETTERS else "." * int(c) for c in rank)
    if len(cells) != 8:
        raise _wrong(1, name, rank, f"8 cells, not {len(cells)}")
    if number in (1, 8) and "P" in cells.upper():
        raise _wrong(1, name, rank, "without pawns")
    return cells


def _check_numbers(men: str) -> None:
    """One king a side, and no more men than a full set and promotions give."""
    for side, own in (("White", str.isupper), ("Black", str.islower)):
        count = Counter(man.upper() for man in men if own(man))
        if count["K"] != 1:
            raise InvalidOption(f"fen, field 1 (men): {side} has {count['K']} kings and needs one")
        promoted = sum(max(0, count[man] - FULL_SET[man]) for man in "NBRQ")
        if count["P"] + promoted > FULL_SET["P"]:
            raise InvalidOption(
                f"fen, field 1 (men): {side} has {count['P']} pawns and {promoted} men beyond a "
                "full set; together they may be 8"
            )


def _check_castling(position: Position) -> None:
    """Rights need king and rook on their home cells."""
    rights = position.castling
    if any(right not in HOMES for right in rights) or len(set(rights)) != len(rights):
        raise _wrong(3, "castling", rights, "'-' or some of the letters KQkq, each once")
    for right in rights:
        king, rook = HOMES[right]
        owner = str.upper if right.isupper() else str.lower
        if position.at(king) != owner("k") or position.at(rook) != owner("r"):
            raise _wrong(3, "castling", rights, f"without {right}: no king on {king}, rook {rook}")


def _check_en_passant(position: Position) -> None:
    """The cell must lie behind a pawn that may just have moved two."""
    cell = position.en_passant
    if not cell:
        return
    rank, behind, start, pawn = "342P" if position.seat else "657p"
    well_formed = len(cell) == 2 and cell[0] in "abcdefgh" and cell[1] == rank
    if not well_formed:
        raise _wrong(4, "en passant", cell, f"'-' or a cell of rank {rank}, such as e{rank}")
    file = cell[0]
    passed = [position.at(file + row) for row in (rank, start, behind)]
    if passed != [".", ".", pawn]:
        accepted = f"'-', as no pawn can have moved from {file}{start} to {file}{behind}"
        raise _wrong(4, "en passant", cell, accepted)


def write_fen(position: Position) -> str:
    """A position in FEN, all six fields."""
    rows = [position.men[first : first + 8] for first in range(56, -1, -8)]
    for run in range(8, 0, -1):
        rows = [row.replace("." * run, str(run)) for row in rows]
    fields = ["/".join(rows), "wb"[position.seat], position.castling or "-"]
    fields += [position.en_passant or "-", str(position.clock), str(position.number)]
    return " ".join(fields)
