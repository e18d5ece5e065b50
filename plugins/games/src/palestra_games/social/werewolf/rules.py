"""Parts of Werewolf: actions, the state, who may do what, and what a seat can know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import comb

from palestra import Grammar, OneOf, Option, Rng, Text, TextAction

from palestra_games.social.discussion import Pass, Say

VILLAGER, WEREWOLF, SEER, DOCTOR = range(4)

ROLES = ("villager", "werewolf", "seer", "doctor")
NOBODY = -1
NIGHT, TALK, VOTE, OVER = range(4)
PHASES = ("Night", "Talk", "Vote", "End")
ABSTAIN = "nobody"  # as the target of a vote
QUIET_DAYS = 3  # days on which nobody may be lynched, where votes can end so
REDRAWS = 1000  # deals tried until one fits a past in which roles stayed hidden
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


class Whisper(TextAction, frozen=True):
    """What a werewolf tells its pack at night, before the pack chooses."""

    text: str


class Vote(TextAction, frozen=True):
    """Vote to lynch a player; 'nobody' abstains, where that is allowed."""

    target: str


NIGHT_ACTIONS: dict[int, type[TextAction]] = {WEREWOLF: Kill, SEER: Inspect, DOCTOR: Protect}


@dataclass(slots=True)
class Night:
    """One night: what was chosen, and who died."""

    chosen: list[int]  # by seat, whom it chose; NOBODY if none
    target: int  # whom the werewolves chose
    victim: int  # who died; NOBODY if the doctor protected the target


@dataclass(slots=True)
class WerewolfState:
    """The state: roles, who is alive, and all that has happened."""

    rng: Rng
    roles: list[int]  # by seat
    alive: list[int]  # seats
    phase: int = NIGHT
    nights: list[Night] = field(default_factory=list)
    votes: list[list[int]] = field(default_factory=list)  # by day and seat, the seat voted for
    lynched: list[int] = field(default_factory=list)  # by day
    said: list[tuple[int, str]] = field(default_factory=list)  # today: seat, line ("" silence)
    speakers: list[int] = field(default_factory=list)  # seats that are still to speak today
    whispers: list[tuple[int, str]] = field(default_factory=list)  # tonight: wolf, line
    pack_rounds: int = 0  # rounds of the pack's talk still to come tonight
    shows_roles: bool = True  # whether the role of a lynched player is shown

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
        """Whether the werewolves are fewer than the others."""
        return 2 * len(self.having(WEREWOLF)) < len(self.alive)

    def winners(self) -> int:
        """WEREWOLF, or VILLAGER for everybody else; only once the game is over."""
        return WEREWOLF if self.having(WEREWOLF) else VILLAGER


# Menus and grammars


@lru_cache(maxsize=64)
def program_lines(players: tuple[str, ...]) -> tuple[Say, ...]:
    """What a program may say: suspicions, a seer's claims, and a villager's."""
    texts = [f"I think {name} is a werewolf." for name in players]
    texts += [f"I am the seer: {name} is a werewolf." for name in players]
    texts += [f"I am the seer: {name} is not a werewolf." for name in players]
    return tuple(Say(text) for text in (*texts, "I am a villager."))


@lru_cache(maxsize=64)
def full_menu(players: tuple[str, ...]) -> tuple[TextAction, ...]:
    """Every night action and vote by target, sleep, the lines, silence."""
    aimed = [kind(name) for kind, name in product((Kill, Inspect, Protect, Vote), players)]
    return (*aimed, Sleep(), *program_lines(players), Pass())


@lru_cache(maxsize=64)
def pack_lines(players: tuple[str, ...]) -> tuple[Whisper, ...]:
    """What a program may tell its pack."""
    return tuple(Whisper(f"Let us kill {name}.") for name in players)


@lru_cache(maxsize=64)
def pack_grammar(players: tuple[str, ...], limit: int) -> Grammar:
    """Tell the pack something, or nothing."""
    lines = tuple(line.text for line in pack_lines(players))
    return Grammar((Option(Whisper, {"text": Text(limit, lines)}), Option(Pass)))


@lru_cache(maxsize=4096)
def target_grammar(kind: type[TextAction], targets: tuple[str, ...]) -> Grammar:
    return Grammar((Option(kind, {"target": OneOf(targets)}),))


SLEEP = Grammar((Option(Sleep),))


def night_targets(state: WerewolfState, seat: int) -> list[int]:
    """Whom a seat may choose at night; empty for a villager."""
    role = state.roles[seat]
    if role == VILLAGER:
        return []
    if role == WEREWOLF:
        return [other for other in state.alive if state.roles[other] != WEREWOLF]
    return [other for other in state.alive if other != seat or role == DOCTOR]


def most_voted(votes: Sequence[int], rng: Rng, *, lot: bool = True) -> int:
    """The seat with most votes; a tie is settled by lot, or leaves NOBODY without `lot`.

    Abstentions (NOBODY) do not count; if there is nothing else, nobody is voted for.
    """
    counts = Counter(seat for seat in votes if seat != NOBODY)
    if not counts:
        return NOBODY
    most = max(counts.values())
    tied = sorted(seat for seat, count in counts.items() if count == most)
    if len(tied) == 1:
        return tied[0]
    return rng.choice(tied) if lot else NOBODY


# What a seat can know


def knowledge(state: WerewolfState, seat: int) -> list[int]:
    """What a seat has been told of every seat: UNKNOWN, 1 + role, or CLEARED."""
    roles = state.roles
    if state.phase == OVER:
        return [1 + role for role in roles]
    known = [UNKNOWN] * len(roles)
    for night in state.nights:
        if night.victim != NOBODY:
            known[night.victim] = CLEARED
        if roles[seat] == SEER and night.chosen[seat] != NOBODY:
            seen = night.chosen[seat]
            known[seen] = 1 + WEREWOLF if roles[seen] == WEREWOLF else CLEARED
    for other, role in enumerate(roles):
        fellow = roles[seat] == role == WEREWOLF
        if other == seat or fellow or (state.shows_roles and other in state.lynched):
            known[other] = 1 + role
    return known


def known_choices(state: WerewolfState, seat: int, night: Night) -> list[int]:
    """Whom each seat chose in a night, as far as `seat` knows: its own choice and its pack's."""
    pack = state.roles[seat] == WEREWOLF
    return [
        chosen if other == seat or (pack and state.roles[other] == WEREWOLF) else NOBODY
        for other, chosen in enumerate(night.chosen)
    ]


def possible_roles(state: WerewolfState, seat: int) -> list[set[int]]:
    """The roles each seat can have, from all that `seat` has seen."""
    possible = []
    for known in knowledge(state, seat):
        roles = {VILLAGER, SEER, DOCTOR} if known == CLEARED else set(range(4))
        possible.append(roles if known in (UNKNOWN, CLEARED) else {known - 1})
    if state.roles[seat] == WEREWOLF:  # whoever is not known to be a werewolf is not one
        for other, roles in enumerate(possible):
            if state.roles[other] != WEREWOLF:
                roles.discard(WEREWOLF)
    for number in state.quiet_nights():
        alive = state.alive_before(number)
        for other, roles in enumerate(possible):
            if other not in alive:
                roles.discard(DOCTOR)  # somebody who was alive saved the victim
        if state.roles[seat] == DOCTOR:
            possible[state.nights[number].chosen[seat]].discard(WEREWOLF)
    return possible


def redraw(state: WerewolfState, seat: int, talks: int, lines: Sequence[str], rng: Rng) -> None:
    """Redraw everything hidden from `seat`, in place: roles, then the matching nights.

    talks: rounds in which the pack has talked tonight. lines: what a wolf may have said in one.
    """
    own = state.roles[seat]
    roles = fitting_roles(state, possible_roles(state, seat), rng)
    if own != WEREWOLF:
        pack = [other for other in state.alive if roles[other] == WEREWOLF]
        said = [(wolf, rng.choice(("", *lines))) for wolf in talks * pack]
        state.whispers = [(wolf, line) for wolf, line in said if line]
    for number, night in enumerate(state.nights):
        alive = state.alive_before(number)
        if night.victim == NOBODY and own == DOCTOR:
            night.target = night.chosen[seat]
        elif night.victim == NOBODY and own != WEREWOLF:
            night.target = rng.choice([other for other in alive if roles[other] != WEREWOLF])
        choices = known_choices(state, seat, night)
        for other, role in enumerate(roles):
            known = other == seat or own == role == WEREWOLF
            if not known:
                drawn = draw_choice(night, role, [s for s in alive if s != other], rng)
                choices[other] = drawn if other in alive else NOBODY
        night.chosen = choices
    state.roles = roles


def fitting_roles(state: WerewolfState, possible: Sequence[set[int]], rng: Rng) -> list[int]:
    """A deal under which the game would not have ended before now."""
    for _ in range(REDRAWS):
        roles = draw_roles(state, possible, rng)
        if state.shows_roles or lasts(state, roles):
            return roles
    return state.roles


def lasts(state: WerewolfState, roles: Sequence[int]) -> bool:
    """Whether werewolves, fewer than the others, were alive after every night and every vote."""
    alive = set(range(len(roles)))
    for number, night in enumerate(state.nights):
        for dead in (night.victim, *state.lynched[number : number + 1]):
            alive.discard(dead)
            wolves = sum(roles[seat] == WEREWOLF for seat in alive)
            if not 0 < 2 * wolves < len(alive):
                return False
    return True


def draw_choice(night: Night, role: int, others: Sequence[int], rng: Rng) -> int:
    """Whom a seat may have chosen in a night that ended as it did; `others` lived then."""
    if role == VILLAGER:
        return NOBODY
    if role == WEREWOLF or (role == DOCTOR and night.victim == NOBODY):
        return night.target
    if role == DOCTOR:  # who did not protect the victim
        others = [seat for seat in others if seat != night.victim]
    return rng.choice(others)


def draw_roles(state: WerewolfState, possible: Sequence[set[int]], rng: Rng) -> list[int]:
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


def holders(state: WerewolfState, possible: Sequence[set[int]], role: int) -> list[int]:
    """Seats that can have a role of which there is one; [NOBODY] if there is none."""
    if role not in state.roles:
        return [NOBODY]
    return [seat for seat, roles in enumerate(possible) if role in roles]
