"""A population that plays a dilemma in pairs, and may choose, remember and punish.

In every round each player in turn starts an encounter: their partner is drawn or, with `selection`,
chosen by them; both play the prisoner's dilemma simultaneously; with `punishment` both may then
punish each other, and with `third_party` an onlooker drawn from the rest may punish either of them.
Whoever punishes pays a fee, whoever is punished a fine. With `reputation` all moves are public;
without it they are known to the two and to the onlooker. Each of the four mechanisms is an option,
as in N. Dasgupta and M. Musolesi, "Investigating the Impact of Direct Punishment on the Emergence
of Cooperation in Multi-Agent Reinforcement Learning Systems" (2023). A fee of 1 and a fine of 3 are
those of E. Fehr and S. Gächter, "Altruistic punishment in humans" (2002).

Checked: among k who punish every defection a defector is paid T - fine for every
encounter, twice the fine with an onlooker, and their partner S - fee, so that defection pays if and
only if T - R is above the fines due; those who choose by reputation never choose a defector again.
Learners with tables (`sanction-learner`) come to cooperate where fines are due, and to defect where
not. The paper's ranking of the mechanisms by what deep Q-learners reach is not asserted.

An observation is a float32 vector of 5n + 8 numbers for n players:

    own seat                               one of n
    phase                                  select, play, punish, look on
    chooser, partner, onlooker             one of n each, zeros for none
    their moves in this encounter          chooser's, partner's: 1 cooperated, -1 defected, 0 unseen
    what each player last did              as far as known: 1, -1, 0
    own total, rounds played

Left out: deep Q-learners and the paper's ranking of the mechanisms by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    Meta,
    Outcome,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import finish, randint
from palestra.scene import Card, Link, Person, RoundTable

from palestra_games.dilemmas.outcomes import number_of, score_outcome
from palestra_games.dilemmas.payoff_tables import (
    COOPERATE,
    COOPERATE_OR_DEFECT,
    DEFECT,
    check_finite,
)

SELECT, PLAY, PUNISH, WATCH = range(4)
PHASES = ("choose a partner", "play", "punish or let be", "look on")
PAYOFF, FEE, FINE = range(3)  # reward terms
NOBODY = NOTHING = -1
MOST_PLAYERS = 50
Counts = Annotated[NDArray[np.int32], Shape("num_players")]


class SanctionsState(ArrayState):
    """The current encounter, what players know of each other, and counts by seat."""

    phase: Annotated[int, np.uint8]  # SELECT, PLAY, PUNISH or WATCH
    chooser: Annotated[int, np.int16]  # the seat whose encounter it is
    partner: Annotated[int, np.int16]  # the other seat; -1 before one is chosen
    onlooker: Annotated[int, np.int16]  # the seat that looks on; -1 for none
    moves: Annotated[NDArray[np.int8], Shape("num_players")]  # each player's latest move
    saw_just: Annotated[NDArray[np.int16], Shape("num_players", "num_players")]  # by witness
    saw_unjust: Annotated[NDArray[np.int16], Shape("num_players", "num_players")]  # by witness
    known: Annotated[NDArray[np.int8], Shape("num_players", "num_players")]  # last seen; -1: none
    totals: Annotated[NDArray[np.float64], Shape("num_players")]  # payoffs less fees and fines
    played: Counts  # moves made
    cooperated: Counts  # of them to cooperate
    chosen: Counts  # encounters as a partner
    just: Counts  # punishments of a defector
    unjust: Counts  # other punishments
    rounds_played: Annotated[int, np.int32]


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
)
@dataclass(frozen=True)
class Sanctions(ArrayGame[SanctionsState]):
    """A population plays a dilemma in pairs, and may choose partners, remember and punish.

    Actions for n players are, in order: choosing one of n seats, cooperating, defecting, not
    punishing, and punishing one of n seats. The module's docstring has the layout of an
    observation. Payoffs are those of the table, less fees for punishing and fines for being
    punished.
    """

    vocabulary = Vocabulary(
        words=(
            "punishment",
            "defector",
            "cooperator",
            "encounter",
        ),
    )
    rules_text = """
        You live in a group. Again and again two of you meet; both cooperate or defect.

        In each round everybody has one encounter of their own, in order of seats, and may be the
        partner in those of others. The two write "cooperate" or "defect" at the same time and are
        paid by the table below. Your aim is a high total of your own.
    """

    num_players: Annotated[
        int,
        Meta(
            ge=3,
            le=MOST_PLAYERS,
            description="number of players; of three, one can be the onlooker",
        ),
    ] = 5
    rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rounds; in each everybody has one encounter")
    ] = 10
    payoffs_table: Annotated[
        Sequence[float],
        Meta(
            min_length=4,
            max_length=4,
            description="four numbers: a player's payoffs after CC, CD, DC and DD, own move first",
        ),
    ] = (3, 0, 5, 1)
    selection: Annotated[
        bool,
        Meta(
            description="whether players choose their partners, who are otherwise drawn at random"
        ),
    ] = True
    punishment: Annotated[
        bool,
        Meta(description="whether the two players of an encounter may punish each other after it"),
    ] = True
    third_party: Annotated[
        bool, Meta(description="whether an onlooker, drawn from the rest, may punish one of them")
    ] = True
    reputation: Annotated[
        bool, Meta(description="whether everybody sees what the two players of an encounter did")
    ] = True
    fee: Annotated[float, Meta(ge=0, le=1e6, description="cost of punishing")] = 1.0
    fine: Annotated[float, Meta(ge=0, le=1e6, description="cost of being punished")] = 3.0

    counters = ("totals",)
    order = "phased"
    payoffs = "general"
    reward_terms = ("payoff", "fees", "fines")
    observation_dtype = np.float32

    def validate(self) -> None:
        check_finite(self.payoffs_table)

    # Derived from the options

    @constant
    def table(self) -> tuple[float, ...]:
        """A player's payoffs after CC, CD, DC and DD, own move first."""
        return tuple(self.payoffs_table)

    @property
    def num_actions(self) -> int:
        """Choosing a seat, two moves, not punishing, and punishing a seat."""
        return 2 * self.num_players + 3

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return self.reputation

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return self.selection and not self.third_party

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        n, low, high = self.num_players, min(self.table), max(self.table)
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

    def measures(self, state: SanctionsState) -> dict[str, float]:
        """The paper's measures over all moves and punishments so far.

        `cooperation` is a share of moves, `just` the share of punishments that met a defector (1
        if nobody was punished), `concentration` the Herfindahl index of chosen partners: 1 /
        (number of players) if all were partners equally often, 1 if it was always the same one.
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
    def init_state(config: Sanctions, state: SanctionsState) -> None:
        for seat in range(config.num_players):
            for other in range(config.num_players):
                state.known[seat, other] = NOTHING
        meet(config, state)

    @staticmethod
    def apply_actions(config: Sanctions, state: SanctionsState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Sanctions, state: SanctionsState, seat: int, mask: Any) -> None:
        n = config.num_players
        for other in range(n):
            here = other == state.chooser or other == state.partner
            if state.phase == SELECT:
                mask[other] = other != seat
            elif state.phase != PLAY:
                mask[n + 3 + other] = here and other != seat
        mask[n + COOPERATE] = mask[n + DEFECT] = state.phase == PLAY
        mask[n + 2] = state.phase >= PUNISH

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        n = self.num_players
        return (
            Channel("seat", n, "the player's own seat, one-hot"),
            Channel("phase", 4, "one-hot: select, play, punish, look on"),
            Channel("chooser", n, "who starts the encounter, one-hot"),
            Channel("partner", n, "their partner, one-hot; zeros for none"),
            Channel("onlooker", n, "the onlooker, one-hot; zeros for none"),
            Channel("moves", 2, "moves of both: 1 cooperated, -1 defected, 0 unseen"),
            Channel("known", n, "what each seat last did, as far as known: 1, -1 or 0"),
            Channel("total", 1, "payoffs so far"),
            Channel("rounds", 1, "rounds played"),
        )

    @staticmethod
    def write_observation(config: Sanctions, state: SanctionsState, seat: int, obs: Any) -> None:
        """Write the observation; the module's docstring gives the layout."""
        n = config.num_players
        obs[seat] = 1
        obs[n + state.phase] = 1
        obs[n + 4 + state.chooser] = 1
        if state.partner != NOBODY:
            obs[2 * n + 4 + state.partner] = 1
        if state.onlooker != NOBODY:
            obs[3 * n + 4 + state.onlooker] = 1
        if state.phase >= PUNISH and sees(config, state, seat):
            obs[4 * n + 4] = 1 - 2 * state.moves[state.chooser]
            obs[4 * n + 5] = 1 - 2 * state.moves[state.partner]
        for other in range(n):
            if state.known[seat, other] != NOTHING:
                obs[4 * n + 6 + other] = 1 - 2 * state.known[seat, other]
        obs[5 * n + 6] = state.totals[seat]
        obs[5 * n + 7] = state.rounds_played

    def outcome(self, state: SanctionsState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        found = self.measures(state)
        reason = (
            f"{found['cooperation']:.0%} of all moves were to cooperate; "
            f"{found['just']:.0%} of all punishments met a defector"
        )
        return score_outcome(ended, reason)

    def scores(self, state: SanctionsState) -> tuple[float, ...]:
        totals: list[float] = state.totals.tolist()
        return tuple(totals)

    def determinize(self, state: SanctionsState, seat: int, rng: Rng) -> SanctionsState:
        """Without reputation, redraw what happened in encounters that the seat did not see."""
        self.refuse_the_end(state)
        copy: SanctionsState = self.clone(state)
        if self.reputation:
            return copy
        met = (int(state.chooser), int(state.partner)) if state.phase >= PUNISH else ()
        hidden = not sees(self.config, state, seat)
        for other in range(self.num_players):
            if other not in met:
                copy.moves[other] = 0
            elif hidden:
                copy.moves[other] = rng.below(2)
        mean = sum(self.table) / 4
        for other in range(self.num_players):
            if other == seat:
                continue
            played = int(state.played[other])
            copy.known[other] = [rng.below(3) - 1 if n else -1 for n in state.played]
            copy.cooperated[other] = rng.below(played + 1)
            just, unjust = int(state.saw_just[seat, other]), int(state.saw_unjust[seat, other])
            copy.saw_just[other], copy.saw_unjust[other] = 0, 0
            copy.just[other] = just + rng.below(max(played - just, 0) + 1)
            copy.unjust[other] = unjust + rng.below(max(played - unjust, 0) + 1)
            copy.totals[other] = mean * played
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        reward, sucker, temptation, mutual = self.payoffs_table
        lines = [
            super().rules_for(seat),
            f"- You cooperate: {reward:g} if the other cooperates, {sucker:g} if they defect.",
            f"- You defect: {temptation:g} if the other cooperates, {mutual:g} if they defect.",
        ]
        if self.selection:
            lines.append('Whose encounter it is chooses their partner: "player_1".')
        else:
            lines.append("The partner in an encounter is drawn.")
        lines += self._punishment_rules()
        audience = "everybody" if self.reputation else "nobody else"
        lines.append(f"What two did in an encounter is told to {audience}.")
        rounds = number_of(self.rounds, "round")
        lines.append(f"There are {self.num_players} players and {rounds}.")
        return "\n".join(lines)

    def _punishment_rules(self) -> list[str]:
        lines = []
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
        return lines

    def describe(self, state: SanctionsState, seat: int) -> str:
        names = self.players
        lines = [
            f"You are {names[seat]}. Rounds played: {int(state.rounds_played)} of {self.rounds}. "
            f"Your total: {float(state.totals[seat]):g}."
        ]
        if not state.over:
            lines.append(f"{self._encounter(state)} Now: {PHASES[state.phase]}.")
            if state.phase >= PUNISH and sees(self.config, state, seat):
                lines.append(self._moves_text(state))
        known = state.known[seat].tolist()
        for move, did in ((COOPERATE, "cooperated"), (DEFECT, "defected")):
            who = [names[other] for other, last in enumerate(known) if last == move]
            if who:
                lines.append(f"When last seen, {did}: {', '.join(who)}.")
        return "\n".join(lines)

    def _encounter(self, state: SanctionsState) -> str:
        names, partner = self.players, int(state.partner)
        text = f"It is {names[state.chooser]}'s encounter"
        if partner == NOBODY:
            return f"{text}."
        looks = f"; {names[state.onlooker]} looks on" if state.onlooker != NOBODY else ""
        return f"{text} with {names[partner]}{looks}."

    def _moves_text(self, state: SanctionsState) -> str:
        pair = (int(state.chooser), int(state.partner))
        one, other = (
            f"{self.players[seat]} {COOPERATE_OR_DEFECT[state.moves[seat]]}s" for seat in pair
        )
        return f"{one}, {other}."

    def action_text(self, state: SanctionsState, seat: int, action: int) -> str:
        n = self.num_players
        if action < n:
            return self.players[action]
        if action < n + 2:
            return COOPERATE_OR_DEFECT[action - n]
        return "let be" if action == n + 2 else f"punish {self.players[action - n - 3]}"

    def narrate(
        self, before: SanctionsState | None, actions: Mapping[int, int], after: SanctionsState
    ) -> list[Event]:
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
            moves = {seat: self.action_text(before, seat, actions[seat]) for seat in pair}
            text = f"{names[pair[0]]} {moves[pair[0]]}s, {names[pair[1]]} {moves[pair[1]]}s."
            events.append(self._event("play", text, {"moves": moves}, there))
        else:
            events += self._punishments(actions, there)
        if after.over:
            rounds = number_of(self.rounds, "round")
            events.append(Event("end", f"The game is over after {rounds}."))
        return events

    def _punishments(self, actions: Mapping[int, int], there: Sequence[int]) -> list[Event]:
        events = []
        for seat, action in sorted(actions.items()):
            if action > self.num_players + 2:
                target = int(action) - self.num_players - 3
                text = f"{self.players[seat]} punishes {self.players[target]}."
                data = {"player": seat, "target": target}
                events.append(self._event("punish", text, data, there))
        return events

    def _event(self, kind: str, text: str, data: dict[str, Any], there: Sequence[int]) -> Event:
        """An event for everybody, or without reputation for those who were there."""
        return Event(kind, text, data) if self.reputation else Event(kind, text, data, only(*there))

    def scene(self, state: SanctionsState, seat: int | None = None) -> Scene:
        totals = state.totals.tolist()
        shown = range(self.num_players) if seat is None or self.reputation else (seat,)
        chosen = self._chosen(state, seat)
        people = tuple(
            Person(
                name, s, detail=f"{totals[s]:g} points" if s in shown else "",
                cards=chosen.get(s, ()), acting=bool(state.acting[s]) and not state.over,
            )
            for s, name in enumerate(self.players)
        )  # fmt: skip
        lines = [f"Rounds played: {int(state.rounds_played)} of {self.rounds}"]
        if not state.over:
            lines.append(self._encounter(state))
            if chosen:
                lines.append(self._moves_text(state))
        chooser, partner = int(state.chooser), int(state.partner)
        meets = () if state.over or partner == NOBODY else (Link(chooser, partner, "", chooser),)
        table = RoundTable(people, words=lines[0], links=meets)
        return Scene(lines=tuple(lines[1:]), parts=(table,))

    def _chosen(self, state: SanctionsState, seat: int | None) -> dict[int, tuple[Card, ...]]:
        """The moves of the two who met, as cards, once the viewer may know them."""
        if state.over or state.phase < PUNISH:
            return {}
        if seat is not None and not sees(self.config, state, seat):
            return {}
        pair = (int(state.chooser), int(state.partner))
        moves = {one: COOPERATE_OR_DEFECT[state.moves[one]] for one in pair}
        return {one: (Card(move, colour=one),) for one, move in moves.items()}


def meet(config: Sanctions, state: SanctionsState) -> None:
    """Open the chooser's encounter."""
    state.partner, state.onlooker = NOBODY, NOBODY
    if config.selection:
        state.phase = SELECT
        for seat in range(config.num_players):
            state.acting[seat] = seat == state.chooser
        return
    drawn = randint(state, config.num_players - 1)
    pair(config, state, drawn + (drawn >= state.chooser))


def pair(config: Sanctions, state: SanctionsState, partner: int) -> None:
    """Set up the encounter of the two, and draw the onlooker."""
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


def play(config: Sanctions, state: SanctionsState, first: int, second: int, out: Any) -> None:
    """Pay both, and update the memory of those who see it."""
    one, other = state.chooser, state.partner
    state.moves[one], state.moves[other] = first, second
    reward(state, one, PAYOFF, config.table[2 * first + second], out)
    reward(state, other, PAYOFF, config.table[2 * second + first], out)
    for place in range(2):
        seat = one if place == 0 else other
        state.played[seat] += 1
        state.cooperated[seat] += state.moves[seat] == COOPERATE
        for witness in range(config.num_players):
            if sees(config, state, witness):
                state.known[witness, seat] = state.moves[seat]


def punish(config: Sanctions, state: SanctionsState, seat: int, target: int, out: Any) -> None:
    """Charge the fee and the fine, and count whether a defector was punished."""
    reward(state, seat, FEE, -config.fee, out)
    reward(state, target, FINE, -config.fine, out)
    just = state.moves[target] == DEFECT
    state.just[seat] += just
    state.unjust[seat] += not just
    for witness in range(config.num_players):
        if sees(config, state, witness):
            state.saw_just[witness, seat] += just
            state.saw_unjust[witness, seat] += not just


def reward(state: SanctionsState, seat: int, term: int, amount: float, out: Any) -> None:
    """Pay an amount, or take it if it is negative, under a reward term."""
    out.rewards[seat, term] += amount
    state.totals[seat] += amount


def sees(config: Sanctions, state: SanctionsState, seat: int) -> bool:
    """Whether a player knows what is done in this encounter."""
    there = seat == state.chooser or seat == state.partner or seat == state.onlooker
    return bool(config.reputation or there)


def close(config: Sanctions, state: SanctionsState) -> None:
    """Continue with the next encounter, or end the game."""
    state.chooser += 1
    if state.chooser == config.num_players:
        state.chooser = 0
        state.rounds_played += 1
    if state.rounds_played >= config.rounds:
        state.partner, state.onlooker, state.phase = NOBODY, NOBODY, SELECT
        finish(state)
    else:
        meet(config, state)
