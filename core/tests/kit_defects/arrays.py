"""Array games: indices, shapes, masks, spaces and scripts."""

from __future__ import annotations

from kit_defects import Defect

TIC_TAC_TOE = "games/TicTacToe-v0"
CONNECT_FOUR = "games/ConnectFour-v0"
MATRIX = "games/MatrixGame-v0"
OTHELLO = "games/Othello-v0"
FORAGING = "grid/Foraging-v0"
NETWORK = "games/NetworkDilemma-v0"
DOUBLE_AUCTION = "markets/DoubleAuction-v0"

DEFECTS = (
    Defect(
        TIC_TAC_TOE,
        "elif state.turn == 8:",
        "elif state.turn == 9:",
        "ends_are_told",
        "is to act and has no legal move",
    ),
    Defect(
        TIC_TAC_TOE,
        "turn_to(state, 0)",
        "turn_to(state, 2)",
        "rules_stay_in_arrays",
        "state.acting[seat] uses index 2 of 2 entries",
    ),
    Defect(
        TIC_TAC_TOE,
        "str(action + 1)",
        "str(action // 2)",
        "masks_agree",
        "0 is written '0' and read back as 1",
    ),
    Defect(
        TIC_TAC_TOE,
        '"".join(map(MARKS.__getitem__, state.board.tolist()))',
        '"".join(map(MARKS.__getitem__, state.board.tolist())) + str(state.board.sort() or "")',
        "looking_changes_nothing",
        "describe() changes the state that it is given",
    ),
    Defect(
        TIC_TAC_TOE,
        "centre = 4 if state.board[4] == 0 else -1",
        "centre = 4",
        "scripts_play_legal_moves",
        "scripted_action() gives 4, which is not legal",
    ),
    Defect(
        TIC_TAC_TOE,
        "obs[1, cell // 3, cell % 3] = state.board[cell] == 2 - seat",
        "obs[1, cell // 3, cell % 3] = state.board[cell]",
        "numbers_stay_in_space",
        "is not in Box(0, 1, (2, 3, 3), int8)",
    ),
    Defect(
        TIC_TAC_TOE,
        "pass_turn(state)",
        "turn_to(state, 0)",
        "seats_move_as_declared",
        "seats [1] had no move in 30 games",
    ),
    Defect(
        TIC_TAC_TOE,
        'Channel("other", 1,',
        'Channel("own", 1,',
        "facts_are_true",
        "observation_channels(0) has own more than once",
    ),
    Defect(
        TIC_TAC_TOE,
        "mask[cell] = state.board[cell] == 0",
        "mask[cell - 1] = state.board[cell] == 0",
        "rules_stay_in_arrays",
        "mask[cell - 1] uses index -1, which counts from the end of 9 entries",
    ),
    Defect(
        CONNECT_FOUR,
        "return str(action + 1)",
        "return str(action // 6)",
        "masks_agree",
        "is written '0' and read back as",
    ),
    Defect(
        CONNECT_FOUR,
        "obs[1, row, column] = state.board[row, column] == 2 - seat",
        "obs[1, row, column + 1] = state.board[row, column] == 2 - seat",
        "rules_stay_in_arrays",
        "obs[1, row, column + 1] uses index 7 of 7 entries",
    ),
    Defect(
        CONNECT_FOUR,
        "return (2, self.rows, self.columns)",
        "return (2, self.columns, self.rows)",
        "rules_stay_in_arrays",
        "obs[0, row, column] uses index 6 of 6 entries",
    ),
    Defect(
        MATRIX,
        "played: Annotated[NDArray[np.int32]",
        "played: Annotated[NDArray[np.int8]",
        "rules_stay_in_arrays",
        "overflow encountered in scalar add",
        {"rounds": 300},
    ),
    Defect(
        OTHELLO,
        "obs[1, row, column] = state.discs[1 - seat, row] >> column & 1",
        "obs[1, row, column] = state.discs[seat - 1, row] >> column & 1",
        "rules_stay_in_arrays",
        "state.discs[seat - 1, row] uses index -1",
    ),
    Defect(
        OTHELLO,
        "obs[1, row, column] = state.discs[1 - seat, row] >> column & 1",
        "obs[1, row, column] = state.discs[1 - seat, row] >> column",
        "rules_stay_in_arrays",
        "obs[1, row, column] is int8, which has no room for 128",
    ),
    Defect(
        OTHELLO,
        'return "pass" if row == self.size else f"{LETTERS[column]}{row + 1}"',
        'return "pass" if row == self.size else f"{LETTERS[row]}{row + 1}"',
        "masks_agree",
        "is written 'f6' and read back as",
    ),
    Defect(
        OTHELLO,
        "mask[config.size * config.size] = anywhere == 0",
        "mask[config.size * config.size] = 0",
        "seeds_decide",
        "is to act and has no legal move",
    ),
    Defect(
        OTHELLO,
        "return self.size * self.size + 1",
        "return self.size * self.size",
        "rules_stay_in_arrays",
        "uses index 64 of 64 entries",
    ),
    Defect(
        OTHELLO,
        "if row < 0 or column < 0 or row >= config.size or column >= config.size:",
        "if column < 0 or row >= config.size or column >= config.size:",
        "rules_stay_in_arrays",
        "state.discs[seat, row] uses index -1",
    ),
    Defect(
        FORAGING,
        "state.earned[seat] += out.rewards[seat, 0]",
        "state.earned[seat - 1] += out.rewards[seat, 0]",
        "rules_stay_in_arrays",
        "state.earned[seat - 1] uses index -1",
        {"num_players": 6},
    ),
    Defect(
        FORAGING,
        "return (3 * self.max_food + 3 * self.num_players,)",
        "return (3 * self.max_food + 6,)",
        "facts_are_true",
        "describes 27 entries of the 15",
        {"num_players": 6},
    ),
    Defect(
        FORAGING,
        "return (-1.0, float(max(*sides,",
        "return (0.0, float(max(*sides,",
        "numbers_stay_in_space",
        "is not in Box(0.0,",
    ),
    Defect(
        FORAGING,
        "mask[STAY] = 1\n",
        "mask[STAY] = 0\n",
        "scripts_play_legal_moves",
        "noop() gives 0, which is not legal",
        {"num_players": 6},
    ),
    Defect(
        NETWORK,
        "obs[5] = state.totals[seat]",
        "obs[5] = state.totals[seat - 1]",
        "rules_stay_in_arrays",
        "state.totals[seat - 1] uses index -1",
        {"num_players": 12},
    ),
    Defect(
        NETWORK,
        "obs[7 + place] = 1 - 2 * state.last[other]",
        "obs[7 + place] = 1 - 2 * state.last[place]",
        "secrets_stay_hidden",
        "observation of player 4 betrays a secret",
        {"num_players": 12},
    ),
    Defect(
        NETWORK,
        "return (min(low, low * most), max(high, high * most))",
        "return (low, high)",
        "numbers_stay_in_space",
        "is not in Box(",
        {"num_players": 12},
    ),
    Defect(
        DOUBLE_AUCTION,
        "return (10 + self.most_units + RECENT",
        "return (9 + self.most_units + RECENT",
        "facts_are_true",
        "describes 42 entries of the 41",
    ),
    Defect(
        DOUBLE_AUCTION,
        "    worth = state.worth[seat, state.traded[seat]]\n",
        "    worth = state.worth[seat, state.traded[seat] - 1]\n",
        "rules_stay_in_arrays",
        "state.worth[seat, state.traded[seat] - 1] uses index -1",
    ),
    Defect(
        DOUBLE_AUCTION,
        "earned: Annotated[NDArray[np.int64]",
        "earned: Annotated[NDArray[np.int8]",
        "rules_stay_in_arrays",
        "state.earned[seat] is int8, which has no room for",
        {"periods": 10},
    ),
)
