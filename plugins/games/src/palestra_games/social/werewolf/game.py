"""Werewolf (Mafia): an informed minority against an uninformed majority that talks and votes.

Every player has a secret role. At night each werewolf votes, sealed, for a victim; the seer learns
of one player whether he is a werewolf; the doctor protects one player. In the morning the village
hears who was killed, talks in turn and votes, sealed, whom to lynch; the role of a lynched player
is shown. The village wins when no werewolf is left, the werewolves when they are as many as the
others. All ties are settled by lot. Seven players are seated as in Xu, Yu, Fang, Wang and Wu,
"Language Agents with Reinforcement Learning for Strategic Play in the Werewolf Game", 2023.

Known answer: without seer and doctor, if everybody votes at random, the village lynches a player
drawn evenly each day, and the chance of the werewolves follows the recursion of Braverman, Etesami
and Mossel, "Mafia: A theoretical study of players and coalitions in a partial information
environment", Annals of Applied Probability 18, 2008. The tests compare it with played games.

The dead are never asked again, but stay to see the end and to be paid with their side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Outcome,
    Piece,
    Result,
    Rng,
    Scene,
    Seat,
    Step,
    TextAction,
    TextGame,
    environment,
    only,
)

from palestra_games.social.werewolf.rules import (
    CLEARED,
    DOCTOR,
    KNOWN,
    NIGHT,
    NIGHT_ACTIONS,
    NOBODY,
    OVER,
    PHASES,
    ROLES,
    SEER,
    SLEEP,
    TALK,
    UNKNOWN,
    VILLAGER,
    VOTE,
    WEREWOLF,
    Inspect,
    Kill,
    Night,
    Pass,
    Protect,
    Say,
    Sleep,
    Village,
    Vote,
    aim,
    full_menu,
    knowledge,
    lines,
    most_voted,
    night_targets,
    redraw,
    seen_choices,
    talk,
)

LONGEST_LINE = 60  # characters of a line a program may say


@environment(
    "games/Werewolf-v0",
    family="social",
    tags=("hidden-roles", "teams", "elimination", "hidden-information", "messages"),
    paper=(
        "Xu et al. (2023), Language Agents with Reinforcement Learning for Strategic Play in "
        "the Werewolf Game; Braverman, Etesami and Mossel (2008), Mafia: A theoretical study "
        "of players and coalitions in a partial information environment"
    ),
    players=(5, 12),
)
@dataclass(frozen=True)
class Werewolf(TextGame[Village]):
    """You play Werewolf. Some players are werewolves; only they know who they are.

    The werewolves win when they are as many as the other players, the village when no werewolf is
    left. Nights and days follow each other, beginning with a night.
    At night all act at once and in secret. A werewolf writes Kill(target='player_3') to vote for
    the victim, who is no werewolf; the player with most votes is killed. The seer writes
    Inspect(target='player_3') and learns whether that player is a werewolf. The doctor writes
    Protect(target='player_3'), himself allowed; if the werewolves chose that player, nobody dies.
    A villager writes Sleep().
    By day everybody hears who was killed, but not that player's role. Then the living talk in
    turn: write Say(text='I think player_3 is a werewolf.') or Pass() to say nothing. Then all vote
    at once: write Vote(target='player_3'). The player with most votes is lynched and his role is
    shown. Everybody hears who voted for whom. Werewolves hear how their pack voted at night.
    Ties are settled by lot. The dead are out of the game and win or lose with their side: every
    winner is paid 1, every loser -1.
    """

    num_players: int = 7
    werewolves: int = 2
    seer: bool = True
    doctor: bool = True
    talk_rounds: int = 1
    message_limit: int = 300
    shuffle: bool = True

    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("win",)
    action_types = (Kill, Inspect, Protect, Sleep, Say, Pass, Vote)

    def __post_init__(self) -> None:
        if not 5 <= self.num_players <= 12:
            raise InvalidOption(f"num_players must be from 5 to 12, not {self.num_players}")
        most = (self.num_players - 1) // 2
        if not 1 <= self.werewolves <= most:
            raise InvalidOption(
                f"werewolves must be from 1 to {most}, fewer than half of {self.num_players} "
                f"players, not {self.werewolves}"
            )
        if not 0 <= self.talk_rounds <= 5 or self.message_limit < LONGEST_LINE:
            raise InvalidOption(
                f"talk_rounds must be from 0 to 5 and message_limit at least {LONGEST_LINE}, not "
                f"{self.talk_rounds} and {self.message_limit}"
            )

    @cached_property
    def composition(self) -> tuple[int, ...]:
        """The roles that are dealt: werewolves, seer, doctor, then villagers."""
        special = [SEER] * self.seer + [DOCTOR] * self.doctor
        villagers = self.num_players - self.werewolves - len(special)
        return (*[WEREWOLF] * self.werewolves, *special, *[VILLAGER] * villagers)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """Team 0 is the village, team 1 the werewolves, where `shuffle` is off.

        Shuffled roles belong to a state and not to the seats, which then have no role and are a
        team each.
        """
        if self.shuffle:
            return tuple(Seat(player, team=i) for i, player in enumerate(self.players))
        return tuple(
            Seat(player, ROLES[role], int(role == WEREWOLF))
            for player, role in zip(self.players, self.composition, strict=True)
        )

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return full_menu(self.players)

    def rules_for(self, seat: int) -> str:
        counts = [(self.composition.count(role), name) for role, name in enumerate(ROLES)]
        told = ", ".join(f"{name} {n}" for n, name in counts)
        turns = f"Turns to speak for each player a day: {self.talk_rounds}."
        return f"{TextGame.rules_for(self, seat)}\nRoles in this game: {told}. {turns}"

    # The rules

    def initial_state(self, seed: int | None = None) -> Village:
        rng, roles = Rng.seeded(seed), list(self.composition)
        if self.shuffle:
            rng.shuffle(roles)
        return Village(rng, roles, list(range(self.num_players)))

    def to_act(self, state: Village) -> tuple[int, ...]:
        if state.phase == OVER:
            return ()
        return tuple(state.speakers[:1]) if state.phase == TALK else tuple(state.alive)

    def legal(self, state: Village, player: int) -> Grammar:
        if state.phase == TALK:
            return talk(self.players, self.message_limit)
        if state.phase == VOTE:
            return aim(Vote, self._names([seat for seat in state.alive if seat != player]))
        kind = NIGHT_ACTIONS.get(state.roles[player])
        return aim(kind, self._names(night_targets(state, player))) if kind else SLEEP

    def _names(self, seats: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.players[seat] for seat in seats)

    def step(self, state: Village, actions: Mapping[int, Any]) -> Step:
        if state.phase == TALK:
            return Step(events=self._speak(state, actions))
        chosen = [NOBODY] * self.num_players
        for seat, action in actions.items():
            if not isinstance(action, Sleep):
                chosen[seat] = self.players.index(action.target)
        events = self._night(state, chosen) if state.phase == NIGHT else self._lynch(state, chosen)
        if state.wolves_outnumbered() and state.having(WEREWOLF):
            self._go_on(state)
            return Step(events=events)
        state.phase = OVER
        winners = state.winners()
        paid = {
            seat: {"win": 1.0 if (role == WEREWOLF) == (winners == WEREWOLF) else -1.0}
            for seat, role in enumerate(state.roles)
        }
        return Step(rewards=paid, events=[*events, self._ending(state)])

    def _go_on(self, state: Village) -> None:
        """From night to talk or vote, from vote to night."""
        if state.phase == VOTE:
            state.phase = NIGHT
            return
        day = len(state.nights)
        order = sorted(state.alive, key=lambda seat: (seat - day) % self.num_players)
        state.said = []
        state.speakers = order * self.talk_rounds
        state.phase = TALK if state.speakers else VOTE

    def _night(self, state: Village, chosen: list[int]) -> list[Event]:
        target = most_voted([chosen[wolf] for wolf in state.having(WEREWOLF)], state.rng)
        saved = any(chosen[seat] == target for seat in state.having(DOCTOR))
        night = Night(chosen, target, NOBODY if saved else target)
        events = self._secrets(state, night)
        state.nights.append(night)
        if saved:
            text = f"Morning {len(state.nights)}: nobody died in the night."
        else:
            state.alive.remove(target)
            text = f"Morning {len(state.nights)}: {self.players[target]} was killed in the night."
        return [*events, Event("morning", text, {"victim": night.victim})]

    def _secrets(self, state: Village, night: Night) -> list[Event]:
        """What the pack, the seer and the doctor learn of a night."""
        number, events = len(state.nights) + 1, []
        pack = [seat for seat, role in enumerate(state.roles) if role == WEREWOLF]
        text = f"Night {number}: the pack chose {self.players[night.target]}"
        text += f" ({self._pairs(night.chosen, state.having(WEREWOLF))})."
        events.append(Event("pack", text, {"target": night.target}, only(*pack)))
        for seat in (*state.having(SEER), *state.having(DOCTOR)):
            other, role = night.chosen[seat], state.roles[seat]
            name = self.players[other]
            if role == DOCTOR:
                text = f"Night {number}: you protected {name}."
                events.append(Event("protection", text, {"target": other}, only(seat)))
                continue
            wolf = state.roles[other] == WEREWOLF
            text = f"Night {number}: you saw that {name} is {'' if wolf else 'not '}a werewolf."
            events.append(Event("reveal", text, {"target": other, "werewolf": wolf}, only(seat)))
        return events

    def _speak(self, state: Village, actions: Mapping[int, Any]) -> list[Event]:
        (seat, action), *_ = actions.items()
        state.speakers.pop(0)
        if not state.speakers:
            state.phase = VOTE
        said = action.text if isinstance(action, Say) else ""
        state.said.append((seat, said))
        if not isinstance(action, Say):
            return []
        data = {"player": seat, "text": said}
        return [Event("message", f"{self.players[seat]} says: {said}", data)]

    def _lynch(self, state: Village, chosen: list[int]) -> list[Event]:
        day, voters = len(state.nights), state.alive.copy()
        lynched = most_voted([chosen[seat] for seat in voters], state.rng)
        state.votes.append(chosen)
        state.lynched.append(lynched)
        state.alive.remove(lynched)
        name, role = self.players[lynched], ROLES[state.roles[lynched]]
        text = f"Votes of day {day}: {self._pairs(chosen, voters)}."
        shown = f"{name} is lynched and was a {role}."
        return [
            Event("vote", text, {"votes": chosen.copy()}),
            Event("reveal", shown, {"player": lynched, "role": role}),
        ]

    def _pairs(self, chosen: Sequence[int], seats: Sequence[int]) -> str:
        return ", ".join(f"{self.players[seat]} for {self.players[chosen[seat]]}" for seat in seats)

    def _ending(self, state: Village) -> Event:
        roles = ", ".join(
            f"{name} {ROLES[role]}" for name, role in zip(self.players, state.roles, strict=True)
        )
        return Event("reveal", f"{self._reason(state)} Roles: {roles}.", {"roles": state.roles[:]})

    def _reason(self, state: Village) -> str:
        if state.winners() == WEREWOLF:
            return "The werewolves win: they are as many as the others."
        return "The village wins: no werewolf is left."

    def outcome(self, state: Village) -> Outcome | None:
        if state.phase != OVER:
            return None
        wolves_won = state.winners() == WEREWOLF
        won = [(role == WEREWOLF) == wolves_won for role in state.roles]
        results: list[Result] = ["win" if w else "loss" for w in won]
        scores = tuple(1.0 if w else -1.0 for w in won)
        return Outcome(tuple(results), scores, self._reason(state))

    def opening(self, state: Village) -> Sequence[Event]:
        events = []
        for seat, role in enumerate(state.roles):
            text = f"{self.players[seat]}, you are a {ROLES[role]}."
            if role == WEREWOLF:
                pack = [s for s, r in enumerate(state.roles) if r == WEREWOLF and s != seat]
                text += f" Your fellows: {', '.join(self._names(pack)) or 'none'}."
            events.append(Event("role", text, {"role": ROLES[role]}, only(seat)))
        return events

    def noop(self, state: Village, seat: int) -> TextAction | None:
        if state.phase == TALK:
            return Pass()
        return Sleep() if state.phase == NIGHT and state.roles[seat] == VILLAGER else None

    def determinize(self, state: Village, seat: int, rng: Rng) -> Village:
        """Draw evenly from the deals that fit what the player saw, and nights that fit them."""
        copy = self.clone(state)
        if state.phase != OVER:
            redraw(copy, seat, rng)
        return copy

    # What a player sees

    def describe(self, state: Village, player: int) -> str:
        role = ROLES[state.roles[player]]
        number = len(state.nights) + (state.phase == NIGHT)
        dead = "" if player in state.alive else " You are dead."
        text = [
            f"You are {self.players[player]}, a {role}.{dead}",
            f"{PHASES[state.phase]} {number}. Alive: {', '.join(self._names(state.alive))}.",
        ]
        known = [
            f"{self.players[seat]} {KNOWN[code]}"
            for seat, code in enumerate(knowledge(state, player))
            if code != UNKNOWN and seat != player
        ]
        text.append(f"Known: {', '.join(known) or 'nothing'}.")
        for night, _ in enumerate(state.nights):
            text.append(self._told_night(state, player, night))
            if night < len(state.lynched):
                text.append(self._told_day(state, night))
        said = [f"{self.players[seat]}: {words or '(silence)'}" for seat, words in state.said]
        return "\n".join([*text, *(["Said last:", *said] if said else [])])

    def _told_night(self, state: Village, player: int, number: int) -> str:
        night = state.nights[number]
        died = "nobody died" if night.victim == NOBODY else f"{self.players[night.victim]} died"
        seen = seen_choices(state, player, night)
        choosers = [seat for seat, chosen in enumerate(seen) if chosen != NOBODY]
        told = f" Choices: {self._pairs(seen, choosers)}." if choosers else ""
        if state.roles[player] == WEREWOLF:
            told += f" The pack chose {self.players[night.target]}."
        return f"Night {number + 1}: {died}.{told}"

    def _told_day(self, state: Village, day: int) -> str:
        votes, lynched = state.votes[day], self.players[state.lynched[day]]
        voters = [seat for seat, vote in enumerate(votes) if vote != NOBODY]
        return f"Day {day + 1}: {lynched} was lynched. Votes: {self._pairs(votes, voters)}."

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        n, rounds = self.num_players, self.num_players - 2
        line = len(lines(self.players)) + 2
        top = [OVER, rounds, n - 1, *[1] * n, *[CLEARED] * n]
        top += [*[n + 1] * rounds, *[n] * rounds, *[n] * (n * rounds), *[n] * rounds]
        top += [*[n] * (n * rounds), *[line] * (n * self.talk_rounds)]
        return spaces.Box(np.zeros(len(top), np.int8), np.array(top, np.int8), dtype=np.int8)

    def observe(self, state: Village, player: int) -> NDArray[np.int8]:
        """What `describe` says, in n seats and r = n - 2 rounds; a seat is written as 1 + number.

        Phase, nights past, own seat; alive (n); known of each seat (n); victims by night (r, 1 for
        nobody, else 2 + seat); the pack's choices (r); night choices seen (r x n); lynched (r);
        votes (r x n); lines said last by round of talk and seat (1 silence, 2 + line, last: other
        words). 0 is nothing yet, or nothing known.
        """
        n, rounds = self.num_players, self.num_players - 2
        victims, pack, lynched = (np.zeros(rounds, np.int8) for _ in range(3))
        choices, votes = np.zeros((rounds, n), np.int8), np.zeros((rounds, n), np.int8)
        for number, night in enumerate(state.nights):
            victims[number] = 2 + night.victim
            choices[number] = np.array(seen_choices(state, player, night)) + 1
            pack[number] = (1 + night.target) * (state.roles[player] == WEREWOLF)
        for day, seat in enumerate(state.lynched):
            lynched[day] = 1 + seat
            votes[day] = np.array(state.votes[day]) + 1
        alive = [seat in state.alive for seat in range(n)]
        head = np.array([state.phase, len(state.nights), player, *alive], np.int8)
        known = np.array(knowledge(state, player), np.int8)
        past = (victims, pack, choices.ravel(), lynched, votes.ravel())
        return np.concatenate([head, known, *past, self._heard(state)])

    def _heard(self, state: Village) -> NDArray[np.int8]:
        canned = lines(self.players)
        heard = np.zeros((self.talk_rounds, self.num_players), np.int8)
        for seat, words in state.said:
            turn = int((heard[:, seat] != 0).sum())
            known = Say(words) in canned
            code = 2 + canned.index(Say(words)) if known else 2 + len(canned)
            heard[turn, seat] = code if words else 1
        return heard.ravel()

    def scene(self, state: Village, player: int | None = None) -> Scene:
        known = [1 + r for r in state.roles] if player is None else knowledge(state, player)
        hands = []
        for seat, (name, code) in enumerate(zip(self.players, known, strict=True)):
            alive = seat in state.alive
            glyph = "?" if code in (UNKNOWN, CLEARED) else KNOWN[code][0].upper()
            card = Piece(glyph, seat if alive else -1, "card", KNOWN[code])
            hands.append((name if alive else f"{name} (dead)", (card,)))
        number = len(state.nights) + (state.phase == NIGHT)
        said = [f"{self.players[seat]}: {words}" for seat, words in state.said if words]
        caption = f"{PHASES[state.phase]} {number}"
        return Scene(caption=caption, hands=tuple(hands), lines=tuple(said))
