"""Chess against published move counts, another implementation, and its own laws one by one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra.kernel.simulator import Simulator, open_simulator
from palestra_games.board.chess.fen import START, read_fen, write_fen
from palestra_games.board.chess.game import Chess
from palestra_games.board.chess.rules import PLANES, stamp

GAME = Chess()
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
POSITION_3 = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
POSITION_4 = "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1"
POSITION_5 = "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8"
POSITION_6 = "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"


def at(fen: str) -> Episode:
    """An episode from a position, interpreted: a start position of its own compiles anew."""
    return Episode(Chess(fen=fen), 0, compiled=False)


def moves(episode: Episode, start: str = "") -> list[str]:
    """Legal moves as text, sorted; those that begin with `start`."""
    seat = episode.to_act[0]
    texts = [GAME.action_text(episode.state, seat, a) for a in episode.legal_actions()]
    return sorted(text for text in texts if text.startswith(start))


def push(episode: Episode, *texts: str) -> Episode:
    for text in texts:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, text)})
    return episode


def fen_of(episode: Episode) -> str:
    game: Any = episode.game
    return write_fen(game.position(episode.state))


def reason(episode: Episode) -> str:
    return episode.outcome.reason if episode.outcome is not None else ""


def flipped(fen: str) -> str:
    """The same position with colours changed."""
    men, side, castling, en_passant, clock, number = fen.split()
    men = "/".join(reversed(men.split("/"))).swapcase()
    castling = "".join(sorted(castling.swapcase()))
    if en_passant != "-":
        en_passant = en_passant[0] + "63"[en_passant[1] == "6"]
    return " ".join([men, "wb"[side == "w"], castling, en_passant, clock, number])


# Published counts


def open_at(fen: str) -> Simulator:
    """A position in the compiled rules of the game from the usual start."""
    simulator = open_simulator(GAME, True)
    simulator.load(Chess(fen=fen).initial_state(0))
    return simulator


def perft(simulator: Simulator, depth: int) -> int:
    """Move sequences of this length."""
    if not simulator.to_act:
        return 0
    (seat,) = simulator.to_act
    legal = simulator.mask(seat).view(np.bool_)
    if depth == 1:
        return int(np.count_nonzero(legal))
    total = 0
    for action in legal.nonzero()[0].tolist():
        following = simulator.copy()
        following.advance({seat: action})
        total += perft(following, depth - 1)
    return total


@pytest.mark.parametrize(
    ("fen", "published"),
    [
        (START, [20, 400, 8_902, 197_281, 4_865_609]),
        (KIWIPETE, [48, 2_039, 97_862, 4_085_603]),
        (POSITION_3, [14, 191, 2_812, 43_238, 674_624]),
        (POSITION_4, [6, 264, 9_467, 422_333]),
        (flipped(POSITION_4), [6, 264, 9_467]),
        (POSITION_5, [44, 1_486, 62_379, 2_103_487]),
        (POSITION_6, [46, 2_079, 89_890, 3_894_594]),
    ],
)
@pytest.mark.essential
def test_move_sequences_match_the_published_counts(fen: str, published: list[int]) -> None:
    simulator = open_at(fen)
    assert [perft(simulator, depth + 1) for depth in range(len(published))] == published


# Another implementation


def agree(episode: Episode, theirs: Any) -> None:
    """Men, castling rights, counters and number of legal moves; OpenSpiel's seat 0 is Black."""
    assert theirs.is_terminal() == episode.over, str(theirs)
    ours, other = fen_of(episode).split(), str(theirs).split()
    assert ours[:3] + ours[4:] == other[:3] + other[4:]
    if episode.over:
        assert list(episode.returns) == theirs.returns()[::-1]
    else:
        assert episode.to_act == (1 - theirs.current_player(),)
        assert len(episode.legal_actions()) == len(theirs.legal_actions())


def read_all(episode: Episode, theirs: Any) -> dict[int, int]:
    """Their action for each of ours, by their algebraic notation."""
    seat = episode.to_act[0]
    written = {a: theirs.action_to_string(a) for a in theirs.legal_actions()}
    matched = {episode.parse(seat, text): action for action, text in written.items()}
    assert sorted(matched) == episode.legal_actions()
    return matched


@pytest.mark.essential
def test_random_games_agree_with_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    rng, chess = random.Random(1), pyspiel.load_game("chess")
    episode, reasons = Episode(GAME, 0), set()
    for _ in range(14):
        episode.reset(0)
        theirs = chess.new_initial_state()
        while not episode.over:
            if episode.steps_played % 25 == 0:
                read_all(episode, theirs)
            action = rng.choice(theirs.legal_actions())
            push(episode, theirs.action_to_string(action))
            theirs.apply_action(action)
            agree(episode, theirs)
        reasons.add(reason(episode))
    assert len(reasons) >= 3


def test_games_that_repeat_positions_agree_with_openspiel() -> None:
    """Players mostly take their last move back, and else mostly move pawns."""
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    rng, chess = random.Random(2), pyspiel.load_game("chess")
    episode, repeated = Episode(GAME, 0), 0
    for _ in range(12):
        episode.reset(0)
        theirs, last = chess.new_initial_state(), ["", ""]
        while not episode.over:
            seat = episode.to_act[0]
            legal = moves(episode)
            back = last[seat][2:4] + last[seat][:2]
            text = back if back in legal and rng.random() < 0.7 else rng.choice(legal)
            action = read_all(episode, theirs)[episode.parse(seat, text)]
            theirs.apply_action(action)
            last[seat] = text
            push(episode, text)
            agree(episode, theirs)
        repeated += reason(episode).startswith("The position has occurred three times")
    assert repeated > 6


def test_interpreted_rules_agree_with_openspiel() -> None:
    """Python's numbers are longer than the 64 bits of a set of cells in machine code."""
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    rng, chess = random.Random(3), pyspiel.load_game("chess")
    targets: set[str] = set()
    for fen in (START, KIWIPETE, flipped(KIWIPETE), POSITION_4):
        episode, theirs = at(fen), chess.new_initial_state(fen)
        while not episode.over and episode.steps_played < 60:
            ours, other = rng.choice(sorted(read_all(episode, theirs).items()))
            targets |= {text[2:4] for text in moves(episode)}
            episode.act({episode.to_act[0]: ours})
            theirs.apply_action(other)
            agree(episode, theirs)
            assert_sets_hold_the_men(episode)
    assert len(targets) == 64


def assert_sets_hold_the_men(episode: Episode) -> None:
    """The sets of cells of both players say what the board does."""
    men = np.array(GAME.men(episode.state)).reshape(8, 8)
    for seat, board in enumerate((men, -men[::-1])):
        sets = episode.state.men[seat].view(np.uint64)
        found = [(sets[kind] >> np.arange(64, dtype=np.uint64)) & 1 for kind in range(14)]
        wanted = [board != 0, *(board == kind for kind in range(1, 7))]
        wanted += [*(board == -kind for kind in range(1, 7)), board > 0]
        assert np.array_equal(found, np.reshape(wanted, (14, 64)))


def test_a_check_by_two_knights_is_answered_by_the_king_alone() -> None:
    """No game leads there, but a start position may."""
    assert {move[:2] for move in moves(at("7k/8/8/8/8/3n1n2/R7/R3K3 w - - 0 1"))} == {"e1"}
    assert "a2e2" not in moves(at("7k/8/8/8/8/3n1n2/R3Q3/4K3 w - - 0 1"))


# Castling


@pytest.mark.parametrize(
    ("men", "rights", "allowed"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R", "KQkq", "both"),
        ("r3k2r/8/8/8/8/8/8/R3K2R", "Q", "queen"),
        ("r3k2r/8/8/8/8/8/8/R3K2R", "-", "none"),
        ("4k3/8/8/8/8/8/8/RN2K1NR", "KQ", "none"),
        ("4k3/8/8/8/4r3/8/8/R3K2R", "KQ", "none"),  # in check
        ("4k3/8/8/8/5r2/8/8/R3K2R", "KQ", "queen"),  # through f1
        ("4k3/8/8/8/6r1/8/8/R3K2R", "KQ", "queen"),  # to g1
        ("4k3/8/8/8/3r4/8/8/R3K2R", "KQ", "king"),  # through d1
        ("4k3/8/8/8/2r5/8/8/R3K2R", "KQ", "king"),  # to c1
        ("4k3/8/8/8/1r6/8/8/R3K2R", "KQ", "both"),  # the rook may pass over b1
        ("4k3/8/8/8/r6r/8/8/R3K2R", "KQ", "both"),  # and be attacked itself
        ("4k3/8/8/8/8/8/3p4/R3K2R", "KQ", "none"),  # in check by a pawn
        ("4k3/8/8/8/8/8/6p1/R3K2R", "KQ", "queen"),  # f1 and h1 attacked by a pawn
        ("8/8/8/8/8/8/1k6/R3K2R", "KQ", "king"),  # to c1, beside the king
    ],
)
@pytest.mark.parametrize("side", ["w", "b"])
def test_castling_asks_for_a_free_way_that_is_not_attacked(
    men: str, rights: str, allowed: str, side: str
) -> None:
    fen = f"{men} w {rights} - 0 1"
    rank = "1" if side == "w" else "8"
    episode = at(fen if side == "w" else flipped(fen))
    king = f"e{rank}g{rank}" in moves(episode)
    queen = f"e{rank}c{rank}" in moves(episode)
    assert (king, queen) == (allowed in ("both", "king"), allowed in ("both", "queen"))


def test_castling_moves_the_rook_too() -> None:
    episode = at("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    push(episode, "e1g1", "e8c8")
    assert fen_of(episode) == "2kr3r/8/8/8/8/8/8/R4RK1 w - - 2 2"


@pytest.mark.parametrize(
    ("played", "left"),
    [
        (["e1d1"], "kq"),
        (["a1b1"], "Kkq"),
        (["h1g1"], "Qkq"),
        (["a1a8"], "Kk"),  # one rook takes the other
        (["h1h8"], "Qq"),
        (["a1b1", "e8e7", "b1a1"], "K"),
    ],
)
def test_castling_rights_go_with_the_king_or_rook(played: list[str], left: str) -> None:
    episode = push(at("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"), *played)
    assert fen_of(episode).split()[2] == left


# Pawns


def test_a_pawn_is_taken_en_passant_at_once_or_never() -> None:
    episode = push(at("4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1"), "d7d5")
    assert fen_of(episode).split()[3] == "d6"
    assert moves(episode, "e5") == ["e5d6", "e5e6"]
    later = push(episode.fork(), "e1e2", "e8e7")
    assert moves(later, "e5") == ["e5e6"]
    push(episode, "e5d6")
    assert fen_of(episode) == "4k3/8/3P4/8/8/8/8/4K3 b - - 0 2"


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1",  # both pawns would leave the rank at once
        "3k4/8/8/3pP3/8/6b1/7K/8 w - d6 0 1",  # in check, and the capture does not help
        "4r1k1/8/8/3pP3/8/8/8/4K3 w - d6 0 1",  # the taking pawn is pinned
        "4k3/8/8/3p4/8/8/4P3/4K3 w - d6 0 1",  # no pawn beside it
    ],
)
def test_an_en_passant_cell_counts_only_where_the_capture_is_legal(fen: str) -> None:
    episode = at(fen)
    assert "e5d6" not in moves(episode)
    assert fen_of(episode) == fen.replace("d6", "-")
    assert not episode.observation(0)[:, :, 16].any()


def test_taking_en_passant_may_answer_a_check() -> None:
    episode = at("8/8/8/3pP3/2K5/8/8/7k w - d6 0 1")
    assert "e5d6" in moves(episode)


def test_pawns_promote_to_four_kinds_by_moving_and_by_taking() -> None:
    episode = at("1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1")
    by_moving, by_taking = ["a7a8b", "a7a8n", "a7a8q", "a7a8r"], ["a7b8b", "a7b8n"]
    assert moves(episode, "a7") == [*by_moving, *by_taking, "a7b8q", "a7b8r"]
    for kind in "qrbn":
        assert fen_of(push(episode.fork(), f"a7b8{kind}")).startswith(f"1{kind.upper()}2k3/8/")


def test_pawns_go_two_cells_from_their_first_rank_alone() -> None:
    episode = at("4k3/8/8/8/p7/7P/P5P1/4K3 w - - 0 1")
    assert moves(episode, "a2") == ["a2a3"]
    assert moves(episode, "g2") == ["g2g3", "g2g4"]
    assert moves(episode, "h3") == ["h3h4"]


# Ends


def test_checkmate_wins() -> None:
    episode = push(Episode(GAME, 0), "f2f3", "e7e5", "g2g4", "d8h4")
    assert episode.outcome is not None
    assert episode.outcome.winners == (1,)
    assert list(episode.returns) == [-1, 1]
    assert reason(episode) == "Checkmate."
    assert "The game is over. Checkmate." in episode.describe(0)


def test_stalemate_is_a_draw() -> None:
    episode = push(at("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1"), "f1f7")
    assert list(episode.returns) == [0, 0]
    assert reason(episode).startswith("Stalemate")


def test_fifty_moves_each_without_progress_are_a_draw() -> None:
    episode = at("4k3/8/8/8/8/8/R7/4K3 w - - 98 80")
    push(episode, "a2b2")
    assert not episode.over
    assert reason(push(episode.fork(), "e8d8")).startswith("Fifty moves")


@pytest.mark.parametrize("text", ["a2a3", "e1d2"])
def test_a_pawn_move_or_capture_starts_the_count_anew(text: str) -> None:
    episode = push(at("4k3/8/8/8/8/8/P2n4/4K3 w - - 99 80"), text)
    assert fen_of(episode).split()[4] == "0"
    assert not episode.over


def test_checkmate_goes_before_fifty_moves() -> None:
    episode = push(at("7k/8/6K1/8/8/8/8/R7 w - - 99 80"), "a1a8")
    assert reason(episode) == "Checkmate."
    assert list(episode.returns) == [1, -1]


def shuffle(episode: Episode, times: int) -> Episode:
    """White's and Black's knights go out and back."""
    for _ in range(times):
        push(episode, "g1f3", "g8f6", "f3g1", "f6g8")
    return episode


def test_a_position_that_occurs_three_times_is_a_draw() -> None:
    episode = shuffle(Episode(GAME, 0), 1)
    assert "occurred before: 1." in episode.describe(0)
    assert episode.observation(0)[0, 0, 18] == 1
    assert not episode.over
    shuffle(episode, 1)
    assert reason(episode) == "The position has occurred three times."
    assert list(episode.returns) == [0, 0]


def test_positions_with_other_castling_rights_are_not_the_same() -> None:
    episode = at("r3k2r/p6p/8/8/8/8/P6P/R3K2R w KQkq - 0 1")
    push(episode, *("h1g1", "h8g8", "g1h1", "g8h8") * 2)
    assert not episode.over  # the men stand as they did for the third time
    push(episode, "h1g1", "h8g8")
    assert reason(episode) == "The position has occurred three times."


@pytest.mark.parametrize(
    ("fen", "cell"),
    [
        ("6k1/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "d6"),
        ("4r1k1/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "-"),  # the pawn that would take is pinned
    ],
)
def test_positions_with_an_en_passant_capture_are_not_the_same(fen: str, cell: str) -> None:
    episode = push(at(fen), "d7d5")
    assert fen_of(episode).split()[3] == cell
    push(episode, *("e1d1", "g8h8", "d1e1", "h8g8") * 2)
    assert episode.over == (cell == "-")
    if not episode.over:
        push(episode, "e1d1")
    assert reason(episode) == "The position has occurred three times."


@pytest.mark.parametrize(
    ("men", "over"),
    [
        ("4k3/8/8/8/8/8/3r4/4K3", True),
        ("4k3/8/8/8/8/8/3r4/4KB2", True),
        ("4k3/8/8/8/8/8/3r4/4KN2", True),
        ("4kb2/8/8/8/8/8/3r4/2B1K3", True),  # c1 and f8 are dark
        ("2b1k3/8/8/8/8/8/3r4/2B1K3", False),  # c8 is light
        ("4kn2/8/8/8/8/8/3r4/4KB2", False),
        ("4k3/8/8/8/8/8/3r4/3NKN2", False),
        ("4k3/8/8/8/8/8/3r4/3NKB2", False),
        ("4k3/8/8/8/8/P7/3r4/4K3", False),
    ],
)
def test_the_game_is_drawn_where_neither_side_has_the_men_to_mate(men: str, over: bool) -> None:
    episode = push(at(f"{men} w - - 0 1"), "e1d2")
    assert episode.over == over
    assert reason(episode) == ("Neither side has the men to give mate." if over else "")


def test_a_limit_of_moves_stops_the_game_unless_the_rules_did() -> None:
    game = Chess(max_moves=4)
    assert "after 4 half moves" in game.rules_for(0)
    episode = push(Episode(game, 0, compiled=False), "e2e4", "e7e5", "f1c4", "b8c6")
    assert episode.over
    assert episode.truncated
    assert list(episode.returns) == [0, 0]
    mate = push(Episode(game, 0, compiled=False), "f2f3", "e7e5", "g2g4", "d8h4")
    assert not mate.truncated
    assert list(mate.returns) == [-1, 1]


# Start positions


@pytest.mark.parametrize("fen", [START, KIWIPETE, POSITION_3, POSITION_4, POSITION_5, POSITION_6])
def test_positions_are_written_as_they_were_read(fen: str) -> None:
    assert fen_of(at(fen)) == fen


def test_clock_and_number_of_a_fen_may_be_left_out() -> None:
    assert write_fen(read_fen("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -")) == POSITION_3


def test_black_may_be_first_to_move() -> None:
    episode = at("4k3/p7/8/8/8/8/P7/4K3 b - - 3 7")
    assert episode.to_act == (1,)
    push(episode, "a7a5")
    assert fen_of(episode) == "4k3/8/8/p7/8/8/P7/4K3 w - - 0 8"


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("", "0 fields"),
        (f"{START} extra", "7 fields"),
        ("8/8/8/8/8/8/8 w - - 0 1", r"field 1 \(men\).*8 ranks"),
        ("4k3/8/8/8/8/8/7/4K3 w - - 0 1", r"field 1 \(men, rank 2\).*8 cells, not 7"),
        ("4k3/8/8/8/9/8/8/4K3 w - - 0 1", r"field 1 \(men, rank 4\).*digits"),
        ("4k3/8/8/8/8/8/8/4X3 w - - 0 1", r"field 1 \(men, rank 1\).*letters"),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", r"field 1 \(men, rank 8\).*without pawns"),
        ("8/8/8/8/8/8/7P/4K3 w - - 0 1", "Black has 0 kings"),
        ("4k3/8/8/8/8/8/7P/3KK3 w - - 0 1", "White has 2 kings"),
        ("4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - - 0 1", "White has 9 pawns"),
        ("4k3/8/8/8/QQ6/8/PPPPPPPP/4K3 w - - 0 1", "8 pawns and 1 men beyond"),
        ("4k3/7p/8/8/8/8/8/4K3 x - - 0 1", r"field 2 \(side to move\) is 'x'"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", r"field 2 \(side to move\): Black is in check"),
        (START.replace("KQkq", "KX"), r"field 3 \(castling\) is 'KX'"),
        (START.replace("KQkq", "KK"), r"field 3 \(castling\) is 'KK'"),
        (START.replace("KBNR", "KBN1"), r"field 3 .*no king on e1, rook h1"),
        (START.replace("q - 0", "q e4 0"), r"field 4 \(en passant\) is 'e4'.*rank 6"),
        (START.replace("q - 0", "q e6 0"), r"field 4 .*no pawn can have moved from e7 to e5"),
        (START.replace("0 1", "100 1"), r"field 5 \(half moves.*from 0 to 99"),
        (START.replace("0 1", "-1 1"), r"field 5 \(half moves"),
        (START.replace("0 1", "0 0"), r"field 6 \(move number\) is '0'"),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "the game is over.*Checkmate"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "the game is over.*Stalemate"),
        ("4k3/8/8/8/8/8/8/4KB2 w - - 5 1", "the game is over.*men to give mate"),
    ],
)
def test_positions_that_cannot_be_played_are_refused(fen: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        palestra.game("games/Chess-v0", fen=fen)


def test_a_limit_of_no_moves_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"max_moves must be an integer .*from 1 to .*not 0"):
        Chess(max_moves=0)


# Numbers and views


@pytest.mark.parametrize(
    ("fen", "text", "cell", "plane"),
    [
        (START, "e2e4", 12, 1),
        (START, "g1f3", 6, 63),
        (flipped(START), "e7e5", 12, 1),
        ("4k3/8/8/8/8/8/8/Q3K2R w K - 0 1", "a1h8", 0, 13),
        ("4k3/8/8/8/8/8/8/Q3K2R w K - 0 1", "e1g1", 4, 15),
        ("1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7b8q", 48, 7),
        ("1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8n", 48, 65),
        ("1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7b8r", 48, 72),
    ],
)
def test_actions_are_numbered_by_cell_and_plane(fen: str, text: str, cell: int, plane: int) -> None:
    episode = at(fen)
    assert episode.parse(episode.to_act[0], text) == PLANES * cell + plane


@pytest.mark.parametrize("fen", [KIWIPETE, POSITION_3, POSITION_4, POSITION_5])
def test_black_sees_and_numbers_what_white_would_with_colours_changed(fen: str) -> None:
    episode, mirror = at(fen), at(flipped(fen))
    rng = random.Random(0)
    for _ in range(20):
        if episode.over:
            break
        (seat,) = episode.to_act
        assert mirror.to_act == (1 - seat,)
        assert episode.legal_actions() == mirror.legal_actions()
        for viewer in (0, 1):
            assert np.array_equal(episode.observation(viewer), mirror.observation(1 - viewer))
        action = rng.choice(episode.legal_actions())
        episode.act({seat: action})
        mirror.act({1 - seat: action})


def test_the_observation_holds_the_position() -> None:
    obs = at("r3k3/8/8/3pP3/8/8/8/4K2R w Kq d6 0 1").observation(0)
    cells = {(p, r, c) for r, c, p in np.argwhere(obs[:, :, [*range(12), 16]]).tolist()}
    own, other = {(5, 0, 4), (3, 0, 7), (0, 4, 4)}, {(11, 7, 4), (9, 7, 0), (6, 4, 3)}
    assert cells == own | other | {(12, 5, 3)}
    assert obs[0, 0, 12:16].tolist() == [1, 0, 0, 1]
    assert obs[5, 5, 17:].tolist() == [0, 0, 1]
    moved = push(at("r3k3/8/8/4P3/8/8/8/4K2R w Kq - 7 9"), "e1e2").observation(0)
    assert moved[2, 2, 12:].tolist() == [0, 0, 0, 1, 0, 8, 0, 0]


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("e1g1", "e1g1"),
        ("O-O", "e1g1"),
        ("0-0-0", "e1c1"),
        ("Bxa6", "e2a6"),
        ("dxe6", "d5e6"),
        ("d6", "d5d6"),
        ("Nxd7!", "e5d7"),
        ("I take the pawn.\nMove: [gxh3]", "g2h3"),
        ("Move: Qf5.", "f3f5"),
        ("I move Qa8.", None),
        ("After some thought.\nNb1", "c3b1"),
        ("1. Nxd7", "e5d7"),
        ("1.Nxd7", "e5d7"),
        ("Move: 1. Nxd7!", "e5d7"),
        ("My move is:\n\n1. dxe6", "d5e6"),
        ("d5-e6", "d5e6"),
        ("Ne5-d7", "e5d7"),
        ("\\boxed{Ne5xd7}", "e5d7"),
        ("<answer>1. Ne5-d7</answer>", "e5d7"),
        ("2. Nxd7", None),
        ("1... Nxd7", None),
        ("1. dxe6\n2. Nxd7", None),
        ("0. dxe6\n1. Nxd7", None),
        ("1. Nxd7 Nxd7", None),
        ("They played:\n1. Nxd7", None),
        ("d5-e6-e7", None),
        ("Nd8", None),
    ],
)
def test_algebraic_notation_is_read(text: str, move: str | None) -> None:
    episode = at(KIWIPETE)
    if move is None:
        with pytest.raises(InvalidAction, match="no legal move is stated"):
            episode.parse(0, text)
    else:
        assert GAME.action_text(episode.state, 0, episode.parse(0, text)) == move


def test_a_move_of_black_is_numbered_with_dots() -> None:
    episode = push(at("4k3/3p4/8/8/8/8/3P4/4K3 w - - 0 40"), "d2d4")
    for text in ("40... d5", "40…d5", "d7-d5"):
        assert GAME.action_text(episode.state, 1, episode.parse(1, text)) == "d7d5"
    with pytest.raises(InvalidAction, match="no legal move is stated"):
        episode.parse(1, "40. d5")


def test_ambiguous_notation_is_refused_and_says_what_it_could_be() -> None:
    episode = at("4k3/P7/8/8/8/8/8/N3K1N1 w - - 0 1")
    with pytest.raises(InvalidAction, match="a8 can be any of"):
        episode.parse(0, "a8")
    knights = at("4k3/8/8/8/8/7P/8/1N2KN2 w - - 0 1")
    with pytest.raises(InvalidAction, match="Nd2 can be any of b1d2, f1d2"):
        knights.parse(0, "Nd2")
    assert GAME.action_text(knights.state, 0, knights.parse(0, "Nfd2+")) == "f1d2"


def test_the_picture_shows_men_where_they_stand() -> None:
    scene = push(Episode(GAME, 0), "e2e4", "e7e5", "d1h5", "a7a6", "h5f7").scene()
    assert scene.caption == "Black is to move, in check"
    assert scene.grid is not None
    queen, king = scene.grid.cells[1][5], scene.grid.cells[0][4]
    assert queen is not None
    assert (queen.glyph, queen.colour, queen.label) == ("Q", "white", "White queen")
    assert king is not None
    assert (king.glyph, king.colour, king.sprite) == ("k", "black", "chess-king")
    assert scene.grid.marks == (("changed", (0, 4)),)


def test_position_keys_do_not_collide_in_pairs() -> None:
    stamps = np.array([stamp(number) for number in range(2_200)])
    assert stamps.min() >= 0
    ones, others = np.triu_indices(len(stamps), 1)
    pairs = np.sort(stamps[ones] ^ stamps[others])
    assert (np.diff(pairs) != 0).all()
    assert pairs[0] != 0
