"""Werewolf (Mafia): an informed minority against an uninformed majority that talks and votes.

Every player has a secret role. At night each werewolf votes, sealed, for a victim; the seer learns
whether one player is a werewolf; the doctor protects one player. In the morning the village hears
who was killed, talks in turn and votes, sealed, whom to lynch; the role of a lynched player is
shown. The village wins when no werewolf is left, the werewolves when they are as many as the
others. All ties are settled by lot. The roles of seven players are those of Xu, Yu, Fang, Wang and
Wu, "Language Agents with Reinforcement Learning for Strategic Play in the Werewolf Game", 2023.

Checked: without seer and doctor, if everybody votes at random, the village lynches a player
drawn evenly each day, and the chance of the werewolves follows the recursion of Braverman, Etesami
and Mossel, "Mafia: A theoretical study of players and coalitions in a partial information
environment", Annals of Applied Probability 18, 2008. The tests compare it with played games.

Left out: wolves who speak in turn: they speak at once, so that the order of speech does not give
them away.

The dead are never asked again, but stay to see the end and to be paid with their side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Meta,
    Outcome,
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
from palestra.scene import Person, RoundTable

from palestra_games.social.discussion import Discussion, Pass, Say, talk_grammar
from palestra_games.social.werewolf.rules import (
    ABSTAIN,
    CLEARED,
    DOCTOR,
    KNOWN,
    NIGHT,
    NIGHT_ACTIONS,
    NOBODY,
    OVER,
    PHASES,
    QUIET_DAYS,
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
    Protect,
    Sleep,
    Vote,
    WerewolfState,
    Whisper,
    full_menu,
    knowledge,
    known_choices,
    most_voted,
    night_targets,
    pack_grammar,
    pack_lines,
    program_lines,
    redraw,
    target_grammar,
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
)
@dataclass(frozen=True)
class Werewolf(Discussion, TextGame[WerewolfState]):
    """Werewolf, or Mafia: an informed minority against a majority that talks and votes.

    The menu numbers every night action and vote by target, Sleep(), the lines a program may say and
    silence. An observation is a vector of int8, see `observe`. Every winner is paid 1, every loser
    -1.
    """

    num_players: Annotated[int, Meta(ge=5, le=12, description="number of players")] = 7
    werewolves: Annotated[
        int, Meta(ge=1, le=5, description="werewolves, fewer than half of the players")
    ] = 2
    seer: Annotated[bool, Meta(description="whether one player is the seer")] = True
    doctor: Annotated[bool, Meta(description="whether one player is the doctor")] = True
    talk_rounds: Annotated[int, Meta(ge=0, le=5, description="rounds of talk before each vote")] = 1
    message_limit: Annotated[
        int, Meta(ge=LONGEST_LINE, le=100_000, description="most characters of a message")
    ] = 300
    pack_talk: Annotated[
        int,
        Meta(
            ge=0,
            le=5,
            description="rounds in which the werewolves talk among themselves each night, all at "
            "once, before they choose; in the paper they discuss, 1",
        ),
    ] = 0
    abstain: Annotated[
        bool, Meta(description="whether a player may vote for nobody (the paper's rule: true)")
    ] = False
    ties: Annotated[
        Literal["lot", "nobody"],
        Meta(description="who is lynched if several players have most votes"),
    ] = "lot"
    lynched_role: Annotated[
        bool, Meta(description="whether the role of a lynched player is shown")
    ] = True
    shuffle: Annotated[
        bool,
        Meta(description="whether roles are drawn at random; otherwise they are dealt by seat"),
    ] = True

    rules_text = """
        You play Werewolf. Some players are werewolves; only they know who they are.

        The werewolves win when they are as many as the other players, the village when no werewolf
        is left. Nights and days follow each other, beginning with a night.
        At night all act at once and in secret. A werewolf writes Kill(target='player_3') to vote
        for the victim, who is no werewolf; the player with most votes is killed. The seer writes
        Inspect(target='player_3') and learns whether that player is a werewolf. The doctor writes
        Protect(target='player_3'), themselves allowed; if the werewolves chose that player, nobody
        dies. A villager writes Sleep().
        By day everybody hears who was killed, but not that player's role. Then the living talk in
        turn: write Say(text='I think player_3 is a werewolf.') or Pass() to say nothing. Then all
        vote at once: write Vote(target='player_3'). The player with most votes is lynched and their
        role is shown. Everybody hears who voted for whom. Werewolves hear how their pack voted at
        night.
        Ties are settled by lot. The dead are out of the game and win or lose with their side: every
        winner is paid 1, every loser -1.
    """
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("win",)
    action_types = (Kill, Inspect, Protect, Sleep, Say, Pass, Vote, Whisper)

    def validate(self) -> None:
        most = (self.num_players - 1) // 2
        if self.werewolves > most:
            raise InvalidOption(
                f"werewolves must be from 1 to {most}, fewer than half of {self.num_players} "
                f"players, not {self.werewolves}"
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
    def lines(self) -> tuple[Say, ...]:
        return program_lines(self.players)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        more: list[TextAction] = [Vote(ABSTAIN)] * self.abstain
        if self.pack_talk:
            more += pack_lines(self.players)
        return (*full_menu(self.players), *more)

    @property
    def rounds(self) -> int:
        """The most nights of a game."""
        quiet = QUIET_DAYS if self.abstain or self.ties == "nobody" else 0
        return self.num_players - 2 + quiet

    def rules_for(self, seat: int) -> str:
        counts = [(self.composition.count(role), name) for role, name in enumerate(ROLES)]
        roles = ", ".join(f"{name} {n}" for n, name in counts)
        turns = f"Turns to speak for each player a day: {self.talk_rounds}."
        lines = [super().rules_for(seat), *self._vote_rules()]
        if not self.lynched_role:
            lines[0] = lines[0].replace("is lynched and their role is shown.", "is lynched.")
        if self.pack_talk:
            lines.append(
                "At night the werewolves first talk among themselves, all at once, and nobody else "
                "hears it: write Whisper(text='Let us kill player_3.') or Pass(). Everybody else "
                f"writes Sleep() then. Rounds of this talk a night: {self.pack_talk}."
            )
        return "\n".join([*lines, f"Roles in this game: {roles}. {turns}"])

    def _vote_rules(self) -> Sequence[str]:
        """What the options change about the vote."""
        lines = []
        if self.abstain:
            lines.append("To vote for nobody, write Vote(target='nobody').")
        if self.ties == "nobody":
            lines.append("If several players have most votes in the village, nobody is lynched.")
        if lines:
            lines.append(
                f"After {QUIET_DAYS} days on which nobody was lynched, everybody votes for a "
                "player, and ties are settled by lot."
            )
        return lines

    # The rules

    def initial_state(self, seed: int | None = None) -> WerewolfState:
        rng, roles = Rng.seeded(seed), list(self.composition)
        if self.shuffle:
            rng.shuffle(roles)
        return WerewolfState(
            rng,
            roles,
            list(range(self.num_players)),
            pack_rounds=self.pack_talk,
            shows_roles=self.lynched_role,
        )

    def to_act(self, state: WerewolfState) -> tuple[int, ...]:
        if state.phase == OVER:
            return ()
        return tuple(state.speakers[:1]) if state.phase == TALK else tuple(state.alive)

    def legal(self, state: WerewolfState, seat: int) -> Grammar:
        if state.phase == TALK:
            return talk_grammar(self.lines, self.message_limit)
        if state.phase == VOTE:
            names = self._names([s for s in state.alive if s != seat])
            may_abstain = self.abstain and not self._must_lynch(state)
            return target_grammar(Vote, (*names, ABSTAIN) if may_abstain else names)
        if state.pack_rounds:
            talks = state.roles[seat] == WEREWOLF
            return pack_grammar(self.players, self.message_limit) if talks else SLEEP
        kind = NIGHT_ACTIONS.get(state.roles[seat])
        return target_grammar(kind, self._names(night_targets(state, seat))) if kind else SLEEP

    def _must_lynch(self, state: WerewolfState) -> bool:
        """Whether there have been as many days without a lynching as there may be."""
        return state.lynched.count(NOBODY) >= QUIET_DAYS

    def _names(self, seats: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.players[seat] for seat in seats)

    def step(self, state: WerewolfState, actions: Mapping[int, Any]) -> Step:
        if state.phase == TALK:
            return Step(events=self._speak(state, actions))
        if state.phase == NIGHT and state.pack_rounds:
            return Step(events=self._whisper(state, actions))
        chosen = [NOBODY] * self.num_players
        for seat, action in actions.items():
            if not isinstance(action, Sleep) and action.target != ABSTAIN:
                chosen[seat] = self.players.index(action.target)
        events = self._night(state, chosen) if state.phase == NIGHT else self._lynch(state, chosen)
        if state.wolves_outnumbered() and state.having(WEREWOLF):
            self._next_phase(state)
            return Step(events=events)
        state.phase = OVER
        winners = state.winners()
        paid = {
            seat: {"win": 1.0 if (role == WEREWOLF) == (winners == WEREWOLF) else -1.0}
            for seat, role in enumerate(state.roles)
        }
        return Step(rewards=paid, events=[*events, self._ending(state)])

    def _next_phase(self, state: WerewolfState) -> None:
        """Go from night to talk or vote, from vote to night."""
        if state.phase == VOTE:
            state.phase, state.pack_rounds = NIGHT, self.pack_talk
            return
        day = len(state.nights)
        order = sorted(state.alive, key=lambda seat: (seat - day) % self.num_players)
        state.said = []
        state.speakers = order * self.talk_rounds
        state.phase = TALK if state.speakers else VOTE

    def _whisper(self, state: WerewolfState, actions: Mapping[int, Any]) -> list[Event]:
        """The living werewolves talk at once; their whole pack hears it."""
        pack = only(*(seat for seat, role in enumerate(state.roles) if role == WEREWOLF))
        state.pack_rounds -= 1
        events = []
        for seat, action in sorted(actions.items()):
            if isinstance(action, Whisper):
                state.whispers.append((seat, action.text))
                text = f"{self.players[seat]} tells the pack: {self.quoted(action.text)}"
                data = {"player": seat, "text": action.text}
                events.append(Event("whisper", text, data, pack))
        return events

    def _night(self, state: WerewolfState, chosen: list[int]) -> list[Event]:
        target = most_voted([chosen[wolf] for wolf in state.having(WEREWOLF)], state.rng)
        saved = any(chosen[seat] == target for seat in state.having(DOCTOR))
        night = Night(chosen, target, NOBODY if saved else target)
        events = self._secrets(state, night)
        state.nights.append(night)
        state.whispers = []
        if saved:
            text = f"Morning {len(state.nights)}: nobody died in the night."
        else:
            state.alive.remove(target)
            text = f"Morning {len(state.nights)}: {self.players[target]} was killed in the night."
        return [*events, Event("morning", text, {"victim": night.victim})]

    def _secrets(self, state: WerewolfState, night: Night) -> list[Event]:
        """The events with what the pack, the seer and the doctor learn in a night."""
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

    def _speak(self, state: WerewolfState, actions: Mapping[int, Any]) -> list[Event]:
        events = self.speak(state, actions)
        if not state.speakers:
            state.phase = VOTE
        return events

    def _lynch(self, state: WerewolfState, chosen: list[int]) -> list[Event]:
        day, voters = len(state.nights), state.alive.copy()
        lot = self.ties == "lot" or self._must_lynch(state)
        lynched = most_voted([chosen[seat] for seat in voters], state.rng, lot=lot)
        state.votes.append(chosen)
        state.lynched.append(lynched)
        text = f"Votes of day {day}: {self._pairs(chosen, voters)}."
        votes = Event("vote", text, {"votes": chosen.copy()})
        if lynched == NOBODY:
            return [votes, Event("lynching", "Nobody is lynched.", {"player": NOBODY})]
        state.alive.remove(lynched)
        name, role = self.players[lynched], ROLES[state.roles[lynched]]
        if not self.lynched_role:
            return [votes, Event("lynching", f"{name} is lynched.", {"player": lynched})]
        reveal = f"{name} is lynched and was a {role}."
        return [votes, Event("reveal", reveal, {"player": lynched, "role": role})]

    def _pairs(self, chosen: Sequence[int], seats: Sequence[int]) -> str:
        return ", ".join(f"{self.players[seat]} for {self._name(chosen[seat])}" for seat in seats)

    def _name(self, seat: int) -> str:
        return ABSTAIN if seat == NOBODY else self.players[seat]

    def _ending(self, state: WerewolfState) -> Event:
        roles = ", ".join(
            f"{name} {ROLES[role]}" for name, role in zip(self.players, state.roles, strict=True)
        )
        return Event("reveal", f"{self._reason(state)} Roles: {roles}.", {"roles": state.roles[:]})

    def _reason(self, state: WerewolfState) -> str:
        if state.winners() == WEREWOLF:
            return "The werewolves win: they are as many as the others."
        return "The village wins: no werewolf is left."

    def outcome(self, state: WerewolfState) -> Outcome | None:
        if state.phase != OVER:
            return None
        wolves_won = state.winners() == WEREWOLF
        won = [(role == WEREWOLF) == wolves_won for role in state.roles]
        results: list[Result] = ["win" if w else "loss" for w in won]
        scores = tuple(1.0 if w else -1.0 for w in won)
        return Outcome(tuple(results), scores, self._reason(state))

    def opening(self, state: WerewolfState) -> Sequence[Event]:
        events = []
        for seat, role in enumerate(state.roles):
            text = f"{self.players[seat]}, you are a {ROLES[role]}."
            if role == WEREWOLF:
                pack = [s for s, r in enumerate(state.roles) if r == WEREWOLF and s != seat]
                text += f" Your fellows: {', '.join(self._names(pack)) or 'none'}."
            events.append(Event("role", text, {"role": ROLES[role]}, only(seat)))
        return events

    def noop(self, state: WerewolfState, seat: int) -> TextAction | None:
        if state.phase == TALK:
            return Pass()
        if state.phase != NIGHT:
            return None
        if state.pack_rounds:
            return Pass() if state.roles[seat] == WEREWOLF else Sleep()
        return Sleep() if state.roles[seat] == VILLAGER else None

    def determinize(self, state: WerewolfState, seat: int, rng: Rng) -> WerewolfState:
        """Draw uniformly from the deals that fit what the player saw, with matching nights."""
        self.refuse_the_end(state)
        copy = self.clone(state)
        talks = self.pack_talk - state.pack_rounds if state.phase == NIGHT else 0
        redraw(copy, seat, talks, [line.text for line in self.lines], rng)
        return copy

    # What a player sees

    def describe(self, state: WerewolfState, seat: int) -> str:
        role = ROLES[state.roles[seat]]
        number = len(state.nights) + (state.phase == NIGHT)
        dead = "" if seat in state.alive else " You are dead."
        known = [
            f"{self.players[other]} {KNOWN[code]}"
            for other, code in enumerate(knowledge(state, seat))
            if code != UNKNOWN and other != seat
        ]
        lines = [
            f"You are {self.players[seat]}, a {role}.{dead}",
            f"{PHASES[state.phase]} {number}. Alive: {', '.join(self._names(state.alive))}.",
            f"Known: {', '.join(known) or 'nothing'}.",
        ]
        for night, _ in enumerate(state.nights):
            lines.append(self._night_text(state, seat, night))
            if night < len(state.lynched):
                lines.append(self._day_text(state, night))
        if state.phase == NIGHT and self.pack_talk:
            lines += self._pack_text(state, seat)
            return "\n".join(lines)
        return "\n".join([*lines, *self.said_last(state)])

    def _pack_text(self, state: WerewolfState, seat: int) -> list[str]:
        """How far the pack's talk is, and for the pack what was said."""
        if state.pack_rounds:
            past = self.pack_talk - state.pack_rounds
            head = [f"The werewolves talk among themselves: round {past + 1} of {self.pack_talk}."]
        else:
            head = ["The werewolves have talked; now everybody acts."]
        heard = state.whispers if state.roles[seat] == WEREWOLF else []
        return head + [f"{self.players[wolf]}: {self.quoted(text)}" for wolf, text in heard]

    def _night_text(self, state: WerewolfState, seat: int, number: int) -> str:
        night = state.nights[number]
        died = "nobody died" if night.victim == NOBODY else f"{self.players[night.victim]} died"
        choices = known_choices(state, seat, night)
        choosers = [other for other, chosen in enumerate(choices) if chosen != NOBODY]
        text = f"Night {number + 1}: {died}."
        if choosers:
            text += f" Choices: {self._pairs(choices, choosers)}."
        if state.roles[seat] == WEREWOLF:
            text += f" The pack chose {self.players[night.target]}."
        return text

    def _day_text(self, state: WerewolfState, day: int) -> str:
        votes, lynched = state.votes[day], self._name(state.lynched[day])
        voters = [seat for seat, vote in enumerate(votes) if vote != NOBODY]
        return f"Day {day + 1}: {lynched} was lynched. Votes: {self._pairs(votes, voters)}."

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        n, rounds = self.num_players, self.rounds
        line = len(program_lines(self.players)) + 2
        top = [OVER, rounds, n - 1, *[1] * n, *[CLEARED] * n]
        top += [*[n + 1] * rounds, *[n] * rounds, *[n] * (n * rounds), *[n] * rounds]
        top += [*[n] * (n * rounds), *[line] * (n * self.talk_rounds)]
        if self.pack_talk:
            top += [self.pack_talk, *[n + 1] * (n * self.pack_talk)]
        return spaces.Box(np.zeros(len(top), np.int8), np.array(top, np.int8), dtype=np.int8)

    def observe(self, state: WerewolfState, seat: int) -> NDArray[np.int8]:
        """What `describe` says, in n seats and r = n - 2 rounds; a seat is written as 1 + number.

        Phase, nights past, own seat; alive (n); known of each seat (n); victims by night (r, 1 for
        nobody, else 2 + seat); the pack's choices (r); night choices seen (r x n); lynched (r);
        votes (r x n); lines said last by round of talk and seat (1 silence, 2 + line, last: other
        words). 0 is nothing yet, or nothing known; of a vote or a lynching also nobody. There are
        3 more rounds where nobody may be lynched. With `pack_talk` follow the rounds of the pack's
        talk still to come tonight, and for its members, by round and seat, what they said (1 +
        line, last: other words).
        """
        n, rounds = self.num_players, self.rounds
        victims, pack, lynched = (np.zeros(rounds, np.int8) for _ in range(3))
        choices, votes = np.zeros((rounds, n), np.int8), np.zeros((rounds, n), np.int8)
        for number, night in enumerate(state.nights):
            victims[number] = 2 + night.victim
            choices[number] = np.array(known_choices(state, seat, night)) + 1
            pack[number] = (1 + night.target) * (state.roles[seat] == WEREWOLF)
        for day, victim in enumerate(state.lynched):
            lynched[day] = 1 + victim
            votes[day] = np.array(state.votes[day]) + 1
        alive = [other in state.alive for other in range(n)]
        head = np.array([state.phase, len(state.nights), seat, *alive], np.int8)
        known = np.array(knowledge(state, seat), np.int8)
        past = (victims, pack, choices.ravel(), lynched, votes.ravel())
        return np.concatenate(
            [head, known, *past, self.talk_codes(state), self._pack_codes(state, seat)]
        )

    def _pack_codes(self, state: WerewolfState, seat: int) -> NDArray[np.int8]:
        """The pack's talk in numbers, empty without such a talk."""
        if not self.pack_talk:
            return np.zeros(0, np.int8)
        lines = pack_lines(self.players)
        codes = np.zeros((self.pack_talk, self.num_players), np.int8)
        for wolf, text in state.whispers if state.roles[seat] == WEREWOLF else ():
            spoken = int((codes[:, wolf] != 0).sum())
            known = Whisper(text) in lines
            codes[spoken, wolf] = 1 + (lines.index(Whisper(text)) if known else len(lines))
        return np.concatenate([np.array([state.pack_rounds], np.int8), codes.ravel()])

    def scene(self, state: WerewolfState, seat: int | None = None) -> Scene:
        known = [1 + r for r in state.roles] if seat is None else knowledge(state, seat)
        people, acting = [], self.to_act(state)
        for place, (name, code) in enumerate(zip(self.players, known, strict=True)):
            role = "" if code in (UNKNOWN, CLEARED) else KNOWN[code]
            out = place not in state.alive
            turn = place in acting and (seat is None or state.phase != NIGHT)
            people.append(Person(name, place, role, "dead" if out else "", out=out, acting=turn))
        number = len(state.nights) + (state.phase == NIGHT)
        caption = f"{PHASES[state.phase]} {number}"
        table = RoundTable(tuple(people), words=caption)
        return Scene(lines=tuple(self.lines_spoken(state)), parts=(table,))
