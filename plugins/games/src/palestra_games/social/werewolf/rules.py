"""What Werewolf is made of: actions, the state, who may do what, and what a seat can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import comb

from palestra import Grammar, OneOf, Option, Rng, Text, TextAction

VILLAGER, WEREWOLF, SEER, DOCTOR = range(4)
ROLES = ("villager", "werewolf", "seer", "doctor")
NOBODY = -1
NIGHT, TALK, VOTE, OVER = range(4)
PHASES = ("Night", "Talk", "Vote", "End")
# What one seat may know of another: nothing, a role (1 + its number), or that it is no werewolf
UNKNOWN, CLEARED = 0, 5
KNOWN = ("unknown", *ROLES, "not a werewolf")


class Kill(TextAction, frozen=True):
    """A werewolf's vote for the victim of the night."""

    target: str


class Inspect(TextAction, frozen=True):
    """Learn whether a player is a werewolf."""

    target: str


class Protect(TextAction, frozen=True):
    """Keep a player, or oneself, from being killed in this night."""

    target: str


class Sleep(TextAction, frozen=True):
    """What a villager does at night."""


class Say(TextAction, frozen=True):
    """Say something to everybody."""

    text: str


class Pass(TextAction, frozen=True):
    """Say nothing."""


class Vote(TextAction, frozen=True):
    """Vote to lynch a player."""

    target: str


NIGHT_ACTIONS: dict[int, type[TextAction]] = {WEREWOLF: Kill, SEER: Inspect, DOCTOR: Protect}


@dataclass(slots=True)
class Night:
    """One night: whom each seat chose, whom the werewolves went for and who died; NOBODY if none.

    `target` is the werewolves' choice, `victim` is NOBODY if the doctor protected it.
    """

    chosen: list[int]
    target: int
    victim: int


@dataclass(slots=True)
class Village:
    """The state: roles, who is alive, and all that has happened.

    `votes[day][seat]` is the seat voted for; `said` is today's talk in order, "" for silence;
    `speakers` are the seats still to speak today.
    """

    rng: Rng
    roles: list[int]
    alive: list[int]
    phase: int = NIGHT
    nights: list[Night] = field(default_factory=list)
    votes: list[list[int]] = field(default_factory=list)
    lynched: list[int] = field(default_factory=list)
    said: list[tuple[int, str]] = field(default_factory=list)
    speakers: list[int] = field(default_factory=list)

    def having(self, role: int) -> list[int]:
        """Living seats with a role."""
        return [seat for seat in self.alive if self.roles[seat] == role]

    def alive_before(self, night: int) -> list[int]:
        """Seats alive when a night began."""
        dead = {n.victim for n in self.nights[:night]} | set(self.lynched[:night])
        return [seat for seat in range(len(self.roles)) if seat not in dead]

    def quiet_nights(self) -> list[int]:
        """Nights in which the doctor saved the victim."""
        return [number for number, night in enumerate(self.nights) if night.victim == NOBODY]

    def wolves_outnumbered(self) -> bool:
        return 2 * len(self.having(WEREWOLF)) < len(self.alive)

    def winners(self) -> int:
        """WEREWOLF, or VILLAGER for everybody else; only once the game is over."""
        return WEREWOLF if self.having(WEREWOLF) else VILLAGER


# Menus and grammars


@lru_cache(maxsize=64)
def lines(players: tuple[str, ...]) -> tuple[Say, ...]:
    """What a program may say: suspicions, a seer's claims, and a villager's."""
    texts = [f"I think {name} is a werewolf." for name in players]
    texts += [f"I am the seer: {name} is a werewolf." for name in players]
    texts += [f"I am the seer: {name} is not a werewolf." for name in players]
    return tuple(Say(text) for text in (*texts, "I am a villager."))


@lru_cache(maxsize=64)
def full_menu(players: tuple[str, ...]) -> tuple[TextAction, ...]:
    """Every night action and vote by target, sleep, the lines, silence."""
    aimed = [kind(name) for kind, name in product((Kill, Inspect, Protect, Vote), players)]
    return (*aimed, Sleep(), *lines(players), Pass())


@lru_cache(maxsize=4096)
def aim(kind: type[TextAction], targets: tuple[str, ...]) -> Grammar:
    return Grammar((Option(kind, {"target": OneOf(targets)}),))


@lru_cache(maxsize=64)
def talk(players: tuple[str, ...], message_limit: int) -> Grammar:
    said = Text(message_limit, tuple(line.text for line in lines(players)))
    return Grammar((Option(Say, {"text": said}), Option(Pass)))


SLEEP = Grammar((Option(Sleep),))


def night_targets(state: Village, player: int) -> list[int]:
    """Whom a seat may choose at night; empty for a villager."""
    role = state.roles[player]
    if role == VILLAGER:
        return []
    if role == WEREWOLF:
        return [seat for seat in state.alive if state.roles[seat] != WEREWOLF]
    return [seat for seat in state.alive if seat != player or role == DOCTOR]


def most_voted(votes: Sequence[int], rng: Rng) -> int:
    """The seat with most votes; a tie is settled by lot."""
    counts = Counter(votes)
    most = max(counts.values())
    tied = sorted(seat for seat, count in counts.items() if count == most)
    return tied[0] if len(tied) == 1 else rng.choice(tied)


# What a seat can know


def knowledge(state: Village, player: int) -> list[int]:
    """What a seat has been told of every seat: UNKNOWN, 1 + role, or CLEARED."""
    roles = state.roles
    if state.phase == OVER:
        return [1 + role for role in roles]
    known = [UNKNOWN] * len(roles)
    for night in state.nights:
        if night.victim != NOBODY:
            known[night.victim] = CLEARED
        if roles[player] == SEER and night.chosen[player] != NOBODY:
            seen = night.chosen[player]
            known[seen] = 1 + WEREWOLF if roles[seen] == WEREWOLF else CLEARED
    for seat, role in enumerate(roles):
        fellow = roles[player] == role == WEREWOLF
        if seat == player or fellow or seat in state.lynched:
            known[seat] = 1 + role
    return known


def seen_choices(state: Village, player: int, night: Night) -> list[int]:
    """Whom each seat chose in a night, as far as `player` knows: himself, and his pack."""
    pack = state.roles[player] == WEREWOLF
    return [
        chosen if seat == player or (pack and state.roles[seat] == WEREWOLF) else NOBODY
        for seat, chosen in enumerate(night.chosen)
    ]


def possible_roles(state: Village, player: int) -> list[set[int]]:
    """The roles each seat can have, from all that `player` has seen."""
    possible = []
    for known in knowledge(state, player):
        roles = {VILLAGER, SEER, DOCTOR} if known == CLEARED else set(range(4))
        possible.append(roles if known in (UNKNOWN, CLEARED) else {known - 1})
    if state.roles[player] == WEREWOLF:  # who is not known to be one is none
        for seat, roles in enumerate(possible):
            if state.roles[seat] != WEREWOLF:
                roles.discard(WEREWOLF)
    for number in state.quiet_nights():
        alive = state.alive_before(number)
        for seat, roles in enumerate(possible):
            if seat not in alive:
                roles.discard(DOCTOR)  # somebody who was alive saved the victim
        if state.roles[player] == DOCTOR:
            possible[state.nights[number].chosen[player]].discard(WEREWOLF)
    return possible


def redraw(state: Village, player: int, rng: Rng) -> None:
    """Draw all that is hidden from `player` anew, in place: roles, then the nights behind them."""
    known_to = state.roles[player]
    roles = draw_roles(state, possible_roles(state, player), rng)
    for number, night in enumerate(state.nights):
        alive = state.alive_before(number)
        if night.victim == NOBODY and known_to == DOCTOR:
            night.target = night.chosen[player]
        elif night.victim == NOBODY and known_to != WEREWOLF:
            night.target = rng.choice([seat for seat in alive if roles[seat] != WEREWOLF])
        kept = seen_choices(state, player, night)
        for seat, role in enumerate(roles):
            told = seat == player or known_to == role == WEREWOLF
            if not told:
                drawn = draw_choice(night, role, [s for s in alive if s != seat], rng)
                kept[seat] = drawn if seat in alive else NOBODY
        night.chosen = kept
    state.roles = roles


def draw_choice(night: Night, role: int, others: Sequence[int], rng: Rng) -> int:
    """Whom a seat may have chosen in a night that ended as it did; `others` lived then."""
    if role == VILLAGER:
        return NOBODY
    if role == WEREWOLF or (role == DOCTOR and night.victim == NOBODY):
        return night.target
    if role == DOCTOR:  # he did not protect the victim
        others = [seat for seat in others if seat != night.victim]
    return rng.choice(others)


def draw_roles(state: Village, possible: Sequence[set[int]], rng: Rng) -> list[int]:
    """Draw evenly from all deals with the same numbers of roles that `possible` allows."""
    deals, weights = [], []
    for seer, doctor in product(holders(state, possible, SEER), holders(state, possible, DOCTOR)):
        rest = [seat for seat in range(len(possible)) if seat not in (seer, doctor)]
        sure = [seat for seat in rest if VILLAGER not in possible[seat]]
        maybe = [seat for seat in rest if {VILLAGER, WEREWOLF} <= possible[seat]]
        missing = state.roles.count(WEREWOLF) - len(sure)
        fits = seer != doctor or seer == NOBODY
        if fits and missing >= 0 and all(WEREWOLF in possible[seat] for seat in sure):
            deals.append((seer, doctor, sure, maybe, missing))
            weights.append(float(comb(len(maybe), missing)))
    seer, doctor, sure, maybe, missing = deals[rng.weighted(weights)]
    rng.shuffle(maybe)
    wolves = {*sure, *maybe[:missing]}
    roles = [WEREWOLF if seat in wolves else VILLAGER for seat in range(len(possible))]
    for seat, role in ((seer, SEER), (doctor, DOCTOR)):
        if seat != NOBODY:
            roles[seat] = role
    return roles


def holders(state: Village, possible: Sequence[set[int]], role: int) -> list[int]:
    """Seats that can have a role of which there is one; [NOBODY] if there is none."""
    if role not in state.roles:
        return [NOBODY]
    return [seat for seat, roles in enumerate(possible) if role in roles]
