"""Newcomers: people who join late, or take over a seat."""

from __future__ import annotations

from kit_defects import Defect

DONOR = "games/DonorGame-v0"
COMMONS = "text/Commons-v0"
PERSUASION = "markets/Persuasion-v0"

DEFECTS = (
    Defect(
        DONOR,
        "state.generation if seat in state.newcomers else born",
        "born",
        "newcomers_start_afresh",
        "in a world with another past they see something else",
    ),
    Defect(
        DONOR,
        'return [*events, Event("newcomer", f"Replaced by newcomers: {names}.", data)]',
        "return events",
        "newcomers_start_afresh",
        "nobody joined in 12 games",
    ),
    Defect(
        DONOR,
        'data = {"players": list(state.newcomers)}',
        'data = {"players": []}',
        "newcomers_start_afresh",
        "has_newcomers is true, and nobody joined in 12 games",
    ),
    Defect(
        DONOR,
        '"trace": only(donor)',
        '"trace": None',
        "transcripts_keep_secrets",
        "events of player 1 betrays a secret",
    ),
    Defect(
        DONOR,
        "most = self.num_players * self.endowment * GROWTH**self.rounds",
        "most = self.endowment",
        "ends_are_told",
        "leave the declared payoff_bounds (0.0, 100.0)",
    ),
    Defect(
        DONOR,
        "if other in known and generation >= state.born[seat]",
        "if generation >= state.born[seat]",
        "imagined_worlds_keep_secrets",
        "imagines betrays what is hidden from them",
    ),
    Defect(
        DONOR,
        "return self.generations > 1",
        "return self.generations > 100",
        "newcomers_start_afresh",
        "somebody joins; say so with has_newcomers",
    ),
    Defect(
        DONOR,
        "return LINES[-1] if state.newcomers else",
        "return LINES[-1] if not state.newcomers else",
        "scripts_play_legal_moves",
        "noop() gives Donate(percent=0), which is not legal",
    ),
    Defect(
        DONOR,
        'f"{self.players[seat]} writes: {self.quoted(written[seat])}"',
        'f"{self.players[seat]} writes: {written[seat]}"',
        "speech_stays_quoted",
        "use self.quoted()",
        {"strategies": "everybody"},
    ),
    Defect(
        DONOR,
        "text, data, told), self._receipt",
        'text, {**data, "resources": has}, told), self._receipt',
        "steps_tell_no_secret",
        "tells which it was, and what they imagine with determinize() does not",
    ),
    Defect(
        DONOR,
        "(result,) * self.num_players, totals, reason",
        "(result,) * self.num_players, totals[1:], reason",
        "ends_are_told",
        "not one result a seat",
    ),
    Defect(
        DONOR,
        "perfect_information = False",
        "perfect_information = True",
        "information_is_declared",
        "sees state.strategies",
    ),
    Defect(
        COMMONS,
        "members = self.players[: self.members(state)]",
        "members = self.players",
        "newcomers_start_afresh",
        "player 4 is new and could read what was before",
        {"newcomer": 2},
    ),
    Defect(
        COMMONS,
        'return [Event("newcomer", text, {"players": [self.num_players - 1]}), regrowth]',
        "return [regrowth]",
        "newcomers_start_afresh",
        "has_newcomers is true, and nobody joined in 12 games",
        {"newcomer": 2},
    ),
    Defect(
        PERSUASION,
        '{"quality": quality}, only(SELLER))',
        '{"quality": quality})',
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 1",
        {"myopic": True},
    ),
    Defect(
        PERSUASION,
        "return self.myopic\n",
        "return False\n",
        "newcomers_start_afresh",
        "somebody joins; say so with has_newcomers",
        {"myopic": True},
    ),
)
