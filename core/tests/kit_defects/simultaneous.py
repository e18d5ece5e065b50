"""Simultaneous moves: sealed bids and matrices."""

from __future__ import annotations

from kit_defects import Defect

MATRIX = "games/MatrixGame-v0"
SEALED = "markets/SealedAuction-v0"

DEFECTS = (
    Defect(
        MATRIX,
        "return self.noise == 0 and self.continuation == 1",
        "return self.continuation == 1",
        "chance_is_declared",
        "`deterministic` is declared",
        {"noise": 0.3},
    ),
    Defect(
        MATRIX,
        "return (min(0.0, low), max(float(self.rounds), high))",
        "return (min(0.0, low), float(self.rounds))",
        "numbers_stay_in_space",
        "is not in Box(0.0, 10.0, (13,), float32)",
    ),
    Defect(
        MATRIX,
        "return self.payoffs_of(self.rounds)",
        "return self.payoffs_of(1)",
        "terms_are_declared",
        "leave the declared payoff_bounds (0.0, 5.0)",
    ),
    Defect(
        MATRIX,
        "if state.turn + 1 >= config.rounds or breaks_off(config, state):",
        "if breaks_off(config, state):",
        "ends_are_told",
        "not over after 2,000 random steps",
    ),
    Defect(
        MATRIX,
        "all_act(state)",
        "state.acting[0] = 1",
        "rules_stay_in_arrays",
        "state.played[seat, move] uses index -1",
    ),
    Defect(
        MATRIX,
        'Channel("payoffs", 2,',
        'Channel("payoffs", 1,',
        "facts_are_true",
        "describes 12 entries of the 13 along axis 0",
    ),
    Defect(
        MATRIX,
        'order = "simultaneous"',
        'order = "phased"',
        "facts_are_true",
        "moves: spec 'simultaneous', game 'phased'",
    ),
    Defect(
        MATRIX,
        'payoffs = "general"',
        'payoffs = "common"',
        "terms_are_declared",
        "declared common payoffs, but returns are [",
    ),
    Defect(
        SEALED,
        "                only(seat),\n",
        "                None,\n",
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 0",
    ),
    Defect(
        SEALED,
        'f"The thing is worth {state.worth[seat]} to you."',
        'f"The thing is worth {state.worth[0]} to you."',
        "secrets_stay_hidden",
        "in describe(): seed 0, step 0: describe of player 1",
    ),
    Defect(
        SEALED,
        "state.turn, config.rounds, state.earned[seat]",
        "state.turn, config.rounds, state.earned[0]",
        "secrets_stay_hidden",
        "in write_observation(): seed 0, step 1: observation of player 1",
    ),
    Defect(
        SEALED,
        'data = {"bids": after.bid.tolist(),',
        'data = {"bids": after.bid.tolist(), "worth": after.worth.tolist(),',
        "steps_tell_no_secret",
        "holds state.worth as 'worth', which determinize() draws anew",
    ),
    Defect(
        SEALED,
        "if other != seat:",
        "if other > seat:",
        "imagined_worlds_keep_secrets",
        "what player 1 imagines betrays what is hidden from them",
    ),
    Defect(
        SEALED,
        'reward_terms = ("won", "paid")',
        'reward_terms = ("won",)',
        "rules_stay_in_arrays",
        "= won, -paid — IndexError: index 1 is out of bounds for axis 1 with size 1",
    ),
    Defect(
        SEALED,
        "return tuple(map(float, state.earned.tolist()))",
        "return tuple(map(float, state.earned.tolist()[:2]))",
        "ends_are_told",
        "not one result a seat",
    ),
    Defect(
        SEALED,
        "return (self.num_players + 8,)",
        "return (11,)",
        "facts_are_true",
        "obs[8 + offset] = state.bid[(seat + offset) % n] — IndexError: index 11 is out of bounds",
    ),
    Defect(
        SEALED,
        "- state.paid[other]",
        "- state.earned[other]",
        "imagined_worlds_keep_secrets",
        "what player 2 imagines betrays what is hidden from them",
    ),
    Defect(
        SEALED,
        "le=MOST_PLAYERS",
        "le=MOST_PLAYERS + 5",
        "facts_are_true",
        "num_players=21 is outside 2 to 20 and is accepted",
    ),
)
