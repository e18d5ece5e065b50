"""A population that plays a dilemma in pairs, and may choose, remember and punish.

In every round each player in turn is in an encounter: a partner for him is drawn or, with
`selection`, chosen by him; both play the prisoner's dilemma at once; with `punishment` both may
then punish the other, and with `third_party` an onlooker drawn from the rest may punish either of
them. Whoever punishes pays a fee, whoever is punished a fine. With `reputation` all moves are
public; without it they are known to the two and to the onlooker. Each of the four mechanisms is an
option, as in N. Dasgupta and M. Musolesi, "Investigating the Impact of Direct Punishment on the
Emergence of Cooperation in Multi-Agent Reinforcement Learning Systems" (2023). A fee of 1 and a
fine of 3 are those of E. Fehr and S. Gächter, "Altruistic punishment in humans" (2002).

Known answers checked: among k who punish every defection a defector is paid T - fine for every
encounter, twice the fine with an onlooker, and his partner S - fee, so that defection pays if and
only if T - R is above the fines due; those who choose by reputation never choose a defector again.
Learners with tables (`sanction-learner`) come to cooperate where fines are due, and to defect where
not. The paper's ranking of the mechanisms by what deep Q-learners reach is not asserted.

The array view is a float32 vector of 5n + 8 numbers for n players:

    own seat                               one of n
    phase                                  select, play, punish, look on
    chooser, partner, onlooker             one of n each, zeros for none
    their moves in this encounter          chooser's, partner's: 1 cooperated, -1 defected, 0 unseen
    what each player last did              as far as known: 1, -1, 0
    own total, rounds played
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from palestra import (
    ArrayGame,
    Bar,
    Event,
    InvalidOption,
    Outcome,
    Rng,
    Scene,
    check_ranges,
    environment,
    only,
)
from palestra.kernel.game import Result
from palestra.rules import finish, randint

from palestra_games.dilemmas.matrix_game.game import plural
from palestra_games.dilemmas.network_dilemma import COOPERATE, DEFECT, MOVES, four_payoffs

SELECT, PLAY, PUNISH, WATCH = range(4)
PHASES = ("choose a partner", "play", "punish or let be", "look on")
PAYOFF, FEE, FINE = range(3)  # reward terms
NOBODY = NOTHING = -1
MOST_PLAYERS = 50


@environment(
    "games/Sanctions-v0",
    family="social",
    tags=("social-dilemma", "iterated", "population", "chance"),
    paper=(
        "Dasgupta and Musolesi (2023), Investigating the Impact of Direct Punishment on the "
        "Emergence of Cooperation in Multi-Agent Reinforcement Learning Systems"
    ),
    splits={
        "none": {
            "selection": False,
            "punishment": False,
            "third_party": False,
            "reputation": False,
        },
        "selection": {
            "selection": True,
            "punishment": False,
            "third_party": False,
            "reputation": False,
        },
        "punishment": {
            "selection": False,
            "punishment": True,
            "third_party": False,
            "reputation": False,
        },
        "third_party": {
            "selection": False,
            "punishment": False,
            "third_party": True,
            "reputation": False,
        },
        "reputation": {
            "selection": False,
            "punishment": False,
            "third_party": False,
            "reputation": True,
        },
        "all": {"selection": True, "punishment": True, "third_party": True, "reputation": True},
    },
    players=(3, 50),
)
@dataclass(frozen=True)
class Sanctions(ArrayGame):
    """You live in a group. Again and again two of you meet; both cooperate or defect.

    In each round everybody has one encounter of his own, in order of seats, and may be the partner
    in those of others. The two write "cooperate" or "defect" at the same time and are paid by the
    table below. Your aim is a high total of your own.
    """

    num_players: int = 5
    rounds: int = 10
    payoffs_table: Sequence[float] = (3, 0, 5, 1)
    selection: bool = True
    punishment: bool = True
    third_party: bool = True
    reputation: bool = True
    fee: float = 1.0
    fine: float = 3.0

    order = "phased"
    payoffs = "general"
    reward_terms = ("payoff", "fees", "fines")
    observation_dtype = np.float32

    def __post_init__(self) -> None:
        if not 3 <= self.num_players <= MOST_PLAYERS:
            raise InvalidOption(
                f"num_players must be from 3, so that somebody can look on, to {MOST_PLAYERS}, not "
                f"{self.num_players}"
            )
        check_ranges(self, (("rounds", 1, None), ("fee", 0, 1e6), ("fine", 0, 1e6)))
        object.__setattr__(self, "payoffs_table", four_payoffs(self.payoffs_table))

    # What follows from the options

    @property
    def num_actions(self) -> int:
        """Seats to choose, two moves, to let be, and seats to punish."""
        return 2 * self.num_players + 3

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return self.reputation

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return self.selection and not self.third_party

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        n, low, high = self.num_players, min(self.payoffs_table), max(self.payoffs_table)
        fines = self.fine * (self.punishment + self.third_party)
        worst = min(0.0, low) - fines - self.fee * (self.punishment + self.third_party)
        most = n * self.rounds
        return (most * worst, most * max(0.0, high))

    @property
    def observation_shape(self) -> tuple[int]:
        return (5 * self.num_players + 8,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        low, high = self.payoff_bounds
        return (min(-1.0, low), max(float(self.rounds), high))

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "table": self.payoffs_table}

    def fields(self) -> list[tuple[Any, ...]]:
        """The encounter, what each knows of each (-1: nothing), and counts of what was done."""
        seats = self.num_players
        return [
            ("phase", np.uint8),
            ("chooser", np.int16),
            ("partner", np.int16),
            ("onlooker", np.int16),
            ("moves", np.int8, seats),
            ("known", np.int8, (seats, seats)),
            ("totals", np.float64, seats),
            ("played", np.int32, seats),
            ("cooperated", np.int32, seats),
            ("chosen", np.int32, seats),
            ("just", np.int32, seats),
            ("unjust", np.int32, seats),
            ("rounds_played", np.int32),
        ]

    def measures(self, state: Any) -> dict[str, float]:
        """Of all moves and punishments so far: what the paper reports.

        `cooperation` is a share of moves, `just` the share of punishments that met a defector (1
        if nobody was punished), `concentration` the Herfindahl index of who was whose partner: 1
        over the number of players if all were equally often, 1 if it was always the same.
        """
        punished = int(state.just.sum() + state.unjust.sum())
        chosen = state.chosen.astype(float)
        shares = chosen / max(1.0, chosen.sum())
        return {
            "cooperation": float(state.cooperated.sum() / max(1, int(state.played.sum()))),
            "just": float(state.just.sum() / punished) if punished else 1.0,
            "concentration": float((shares**2).sum()),
            "mean_payoff": float(state.totals.mean()),
        }

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(config.num_players):
            for other in range(config.num_players):
                state.known[seat, other] = NOTHING
        meet(config, state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        n = config.num_players
        first, second = state.chooser, state.partner
        if state.phase == SELECT:
            pair(config, state, actions[first])
            return
        if state.phase == PLAY:
            play(config, state, actions[first] - n, actions[second] - n, out)
        else:
            for seat in range(n):
                if state.acting[seat] and actions[seat] > n + 2:
                    punish(config, state, seat, actions[seat] - n - 3, out)
        if state.phase == PLAY and config.punishment:
            state.phase = PUNISH
        elif state.phase < WATCH and config.third_party:
            state.phase = WATCH
            for seat in range(n):
                state.acting[seat] = seat == state.onlooker
        else:
            close(config, state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        n = config.num_players
        for other in range(n):
            here = other == state.chooser or other == state.partner
            if state.phase == SELECT:
                mask[other] = other != seat
            elif state.phase != PLAY:
                mask[n + 3 + other] = here and other != seat
        mask[n + COOPERATE] = mask[n + DEFECT] = state.phase == PLAY
        mask[n + 2] = state.phase >= PUNISH

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        n = config.num_players
        view[seat] = 1
        view[n + state.phase] = 1
        view[n + 4 + state.chooser] = 1
        if state.partner != NOBODY:
            view[2 * n + 4 + state.partner] = 1
        if state.onlooker != NOBODY:
            view[3 * n + 4 + state.onlooker] = 1
        if state.phase >= PUNISH and sees(config, state, seat):
            view[4 * n + 4] = 1 - 2 * state.moves[state.chooser]
            view[4 * n + 5] = 1 - 2 * state.moves[state.partner]
        for other in range(n):
            if state.known[seat, other] != NOTHING:
                view[4 * n + 6 + other] = 1 - 2 * state.known[seat, other]
        view[5 * n + 6] = state.totals[seat]
        view[5 * n + 7] = state.rounds_played

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        found = self.measures(state)
        reason = (
            f"{found['cooperation']:.0%} of all moves were to cooperate; "
            f"{found['just']:.0%} of all punishments met a defector"
        )
        return replace(ended, results=(score,) * self.num_players, reason=reason)

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(state["totals"].tolist())

    def determinize(self, state: Any, player: int, rng: Rng) -> Any:
        """Without reputation: draw what others did and know of each other where one was absent."""
        copy = self.clone(state)
        if self.reputation or state.over:
            return copy
        if state.phase >= PUNISH and not sees(self.config, state, player):
            for seat in (int(state.chooser), int(state.partner)):
                copy.moves[seat] = rng.below(2)
        mean = sum(self.payoffs_table) / 4
        for other in range(self.num_players):
            if other == player:
                continue
            played = int(state.played[other])
            copy.known[other] = [rng.below(3) - 1 for _ in range(self.num_players)]
            copy.cooperated[other] = rng.below(played + 1)
            copy.just[other], copy.unjust[other] = rng.below(played + 1), rng.below(played + 1)
            copy.totals[other] = mean * played
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        reward, sucker, temptation, mutual = self.payoffs_table
        lines = [
            super().rules_for(seat),
            f"- You cooperate: {reward:g} if the other cooperates, {sucker:g} if he defects.",
            f"- You defect: {temptation:g} if the other cooperates, {mutual:g} if he defects.",
        ]
        if self.selection:
            lines.append('Whose encounter it is chooses his partner: "player_1".')
        else:
            lines.append("The partner in an encounter is drawn.")
        if self.punishment:
            lines.append(
                'After an encounter each of the two may "punish player_1", the other one, or "let '
                'be".'
            )
        if self.third_party:
            lines.append(
                'Then somebody who was not in it, drawn anew each time, may "punish" one of the '
                'two, or "let be".'
            )
        if self.punishment or self.third_party:
            lines.append(f"To punish costs {self.fee:g}; whoever is punished loses {self.fine:g}.")
        told = "everybody" if self.reputation else "nobody else"
        lines.append(f"What two did in an encounter is told to {told}.")
        lines.append(f"There are {self.num_players} players and {plural(self.rounds)}.")
        return "\n".join(lines)

    def describe(self, state: Any, player: int) -> str:
        names = self.players
        lines = [
            f"You are {names[player]}. Rounds played: {int(state.rounds_played)} of {self.rounds}. "
            f"Your total: {float(state.totals[player]):g}."
        ]
        if not state.over:
            lines.append(f"{self._encounter(state)} Now: {PHASES[state.phase]}.")
            if state.phase >= PUNISH and sees(self.config, state, player):
                lines.append(self._played(state))
        known = state.known[player].tolist()
        for move, did in ((COOPERATE, "cooperated"), (DEFECT, "defected")):
            who = [names[seat] for seat, last in enumerate(known) if last == move]
            if who:
                lines.append(f"When last seen, {did}: {', '.join(who)}.")
        return "\n".join(lines)

    def _encounter(self, state: Any) -> str:
        names, partner = self.players, int(state.partner)
        told = f"It is {names[state.chooser]}'s encounter"
        if partner == NOBODY:
            return f"{told}."
        looks = f"; {names[state.onlooker]} looks on" if state.onlooker != NOBODY else ""
        return f"{told} with {names[partner]}{looks}."

    def _played(self, state: Any) -> str:
        pair = (int(state.chooser), int(state.partner))
        told = [f"{self.players[seat]} {MOVES[state.moves[seat]]}s" for seat in pair]
        return f"{told[0]}, {told[1]}."

    def action_text(self, state: Any, seat: int, action: int) -> str:
        n = self.num_players
        if action < n:
            return self.players[action]
        if action < n + 2:
            return MOVES[action - n]
        return "let be" if action == n + 2 else f"punish {self.players[action - n - 3]}"

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        """Moves and punishments are told to all, or to those who were there."""
        if before is None:
            return []
        names, pair = self.players, (int(before.chooser), int(before.partner))
        there = [seat for seat in (*pair, int(before.onlooker)) if seat != NOBODY]
        events = []
        if before.phase == SELECT:
            ((chooser, partner),) = actions.items()
            text = f"{names[chooser]} chooses {names[partner]}."
            events.append(Event("choose", text, {"player": chooser, "partner": int(partner)}))
        elif before.phase == PLAY:
            moves = {seat: MOVES[actions[seat] - self.num_players] for seat in pair}
            text = f"{names[pair[0]]} {moves[pair[0]]}s, {names[pair[1]]} {moves[pair[1]]}s."
            events.append(self._told("play", text, {"moves": moves}, there))
        for player, action in sorted(actions.items()):
            if before.phase >= PUNISH and action > self.num_players + 2:
                target = int(action) - self.num_players - 3
                text = f"{names[player]} punishes {names[target]}."
                data = {"player": player, "target": target}
                events.append(self._told("punish", text, data, there))
        if after.over:
            events.append(Event("end", f"The game is over after {plural(self.rounds)}."))
        return events

    def _told(self, kind: str, text: str, data: dict[str, Any], there: Sequence[int]) -> Event:
        return Event(kind, text, data) if self.reputation else Event(kind, text, data, only(*there))

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        totals = state.totals.tolist()
        full = max(1.0, max(totals))
        shown = range(self.num_players) if seat is None or self.reputation else (seat,)
        bars = tuple(Bar(self.players[s], max(0.0, totals[s]), full, s) for s in shown)
        lines = [f"Rounds played: {int(state.rounds_played)} of {self.rounds}"]
        if not state.over:
            lines.append(self._encounter(state))
            if state.phase >= PUNISH and (seat is None or sees(self.config, state, seat)):
                lines.append(self._played(state))
        return Scene(bars=bars, lines=tuple(lines))


def meet(config: Any, state: Any) -> None:
    """Open the chooser's encounter."""
    state.partner, state.onlooker = NOBODY, NOBODY
    if config.selection:
        state.phase = SELECT
        for seat in range(config.num_players):
            state.acting[seat] = seat == state.chooser
        return
    drawn = randint(state, config.num_players - 1)
    pair(config, state, drawn + (drawn >= state.chooser))


def pair(config: Any, state: Any, partner: int) -> None:
    """Bring the two together, and draw who looks on."""
    state.partner = partner
    state.chosen[partner] += 1
    if config.third_party:
        low, high = min(state.chooser, partner), max(state.chooser, partner)
        drawn = randint(state, config.num_players - 2)
        drawn += drawn >= low
        state.onlooker = drawn + (drawn >= high)
    state.phase = PLAY
    for seat in range(config.num_players):
        state.acting[seat] = seat == state.chooser or seat == partner


def play(config: Any, state: Any, first: int, second: int, out: Any) -> None:
    """Pay both, and let those who see it remember."""
    one, other = state.chooser, state.partner
    state.moves[one], state.moves[other] = first, second
    reward(state, one, PAYOFF, config.table[2 * first + second], out)
    reward(state, other, PAYOFF, config.table[2 * second + first], out)
    for player in range(2):
        seat = one if player == 0 else other
        state.played[seat] += 1
        state.cooperated[seat] += state.moves[seat] == COOPERATE
        for witness in range(config.num_players):
            if sees(config, state, witness):
                state.known[witness, seat] = state.moves[seat]


def punish(config: Any, state: Any, seat: int, target: int, out: Any) -> None:
    """Take the fee and the fine, and count whether a defector was met."""
    reward(state, seat, FEE, -config.fee, out)
    reward(state, target, FINE, -config.fine, out)
    if state.moves[target] == DEFECT:
        state.just[seat] += 1
    else:
        state.unjust[seat] += 1


def reward(state: Any, seat: int, term: int, amount: float, out: Any) -> None:
    out.rewards[seat, term] += amount
    state.totals[seat] += amount


def sees(config: Any, state: Any, seat: int) -> bool:
    """Whether a player knows what is done in this encounter."""
    there = seat == state.chooser or seat == state.partner or seat == state.onlooker
    return bool(config.reputation or there)


def close(config: Any, state: Any) -> None:
    """Go on to the next encounter, or end."""
    state.chooser += 1
    if state.chooser == config.num_players:
        state.chooser = 0
        state.rounds_played += 1
    if state.rounds_played >= config.rounds:
        state.partner, state.onlooker, state.phase = NOBODY, NOBODY, SELECT
        finish(state)
    else:
        meet(config, state)
