"""Parts of Avalon: tables of the rulebook, actions, the state, and who knows what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from palestra import Grammar, OneOf, Option, Rng, TextAction

from palestra_games.social.discussion import Pass, Say

SERVANT, MERLIN, PERCIVAL, MINION, ASSASSIN, MORGANA, MORDRED, OBERON = range(8)

ROLES = ("servant", "Merlin", "Percival", "minion", "assassin", "Morgana", "Mordred", "Oberon")
DISCUSS, PROPOSE, VOTE, QUEST, ASSASSINATE, OVER = range(6)
PHASES = ("Discuss", "Propose", "Vote", "Quest", "Assassinate", "End")
NOBODY = -1
QUESTS, MAJORITY, MAX_PROPOSALS = 5, 3, 5

# The tables of the rulebook, by number of players.
EVIL = {5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4}
TEAM_SIZES = {
    5: (2, 3, 2, 3, 3),
    6: (2, 3, 4, 3, 4),
    7: (2, 3, 3, 4, 4),
    8: (3, 4, 4, 5, 5),
    9: (3, 4, 4, 5, 5),
    10: (3, 4, 4, 5, 5),
}
TWO_FAILS_FROM = 7  # players; then the fourth quest fails only with two fails

# What one seat may know of another: nothing, a role (1 + its number), or one of these
UNKNOWN, IS_EVIL, MERLIN_OR_MORGANA = 0, 9, 10
KNOWN = ("unknown", *ROLES, "evil", "Merlin or Morgana")


class Propose(TextAction, frozen=True):
    """As the leader, propose who goes on the quest."""

    team: str


class Approve(TextAction, frozen=True):
    """Vote for the proposed team."""


class Reject(TextAction, frozen=True):
    """Vote against the proposed team."""


class Succeed(TextAction, frozen=True):
    """Help the quest to succeed."""


class Fail(TextAction, frozen=True):
    """Make the quest fail; only evil players can."""


class Assassinate(TextAction, frozen=True):
    """As the assassin, name the player you take for Merlin."""

    target: str


@dataclass(frozen=True, slots=True)
class Team:
    """Names of `size` different players, with commas between them."""

    players: tuple[str, ...]
    size: int

    def problem(self, value: object) -> str | None:
        names = members(value) if isinstance(value, str) else ()
        if len(names) != self.size or len(set(names)) != self.size:
            return f"must name {self.size} different players, not {value!r}"
        unknown = [name for name in names if name not in self.players]
        return f"names {unknown[0]!r}, who does not play" if unknown else None

    def teams(self) -> tuple[str, ...]:
        return tuple(map(", ".join, combinations(self.players, self.size)))

    def sample(self, rng: Rng) -> str:
        return rng.choice(self.teams())

    def pattern(self, chars: int) -> str:
        return f"({'|'.join(map(repr, self.teams()))})"

    def longest(self, chars: int) -> int:
        return max(len(repr(team)) for team in self.teams())

    def __str__(self) -> str:
        return f"'{', '.join(self.players[: self.size])}' or any other {self.size} players"


@dataclass(slots=True)
class Proposal:
    """A team that was voted on; `votes` holds True for every seat that approved."""

    quest: int
    leader: int
    team: list[int]
    votes: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class Quest:
    """A quest: who went, who of them made it fail, and whether it failed."""

    team: list[int]
    failing: list[int]
    failed: bool


@dataclass(slots=True)
class AvalonState:
    """The state: roles, the leader, and all that has happened."""

    rng: Rng
    roles: list[int]  # by seat
    leader: int
    phase: int = DISCUSS
    proposals: list[Proposal] = field(default_factory=list)
    quests: list[Quest] = field(default_factory=list)
    said: list[tuple[int, str]] = field(default_factory=list)  # seat and line, "" for silence
    speakers: list[int] = field(default_factory=list)  # seats that are still to speak
    target: int = NOBODY  # whom the assassin named

    @property
    def open_proposals(self) -> list[Proposal]:
        """Proposals for the quest that comes next."""
        return [p for p in self.proposals if p.quest == len(self.quests)]

    @property
    def failures(self) -> int:
        """Quests that failed."""
        return sum(quest.failed for quest in self.quests)

    def evil_wins(self) -> bool:
        """Whether the evil have won; only once the game is over."""
        if self.target != NOBODY:
            return self.roles[self.target] == MERLIN
        return True  # by failed quests or rejected proposals


def is_evil(role: int) -> bool:
    """Whether a role is on the side of the evil."""
    return role >= MINION


def members(text: str) -> tuple[str, ...]:
    """The names in a team as it is written."""
    return tuple(name.strip() for name in text.split(","))


def fails_needed(players: int, quest: int) -> int:
    """How many fails make a quest fail; quests are counted from 0."""
    return 2 if players >= TWO_FAILS_FROM and quest == 3 else 1


# Menus and grammars


@lru_cache(maxsize=64)
def program_lines(players: tuple[str, ...]) -> tuple[Say, ...]:
    """What a program may say."""
    texts = [f"I think {name} is {side}." for side in ("evil", "good") for name in players]
    return tuple(map(Say, texts))


@lru_cache(maxsize=64)
def full_menu(players: tuple[str, ...]) -> tuple[TextAction, ...]:
    """Every team that can be proposed, votes, quest cards, targets, the lines, silence."""
    sizes = sorted(set(TEAM_SIZES[len(players)]))
    teams = [Propose(team) for size in sizes for team in Team(players, size).teams()]
    named = [Assassinate(name) for name in players]
    return (*teams, Approve(), Reject(), Succeed(), Fail(), *named, *program_lines(players), Pass())


@lru_cache(maxsize=64)
def proposal_grammar(players: tuple[str, ...], size: int) -> Grammar:
    return Grammar((Option(Propose, {"team": Team(players, size)}),))


@lru_cache(maxsize=1024)
def assassination_grammar(targets: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Assassinate, {"target": OneOf(targets)}),))


BALLOT = Grammar((Option(Approve), Option(Reject)))
GOOD_CARD = Grammar((Option(Succeed),))
EVIL_CARD = Grammar((Option(Succeed), Option(Fail)))


# What a seat knows


def initial_knowledge(roles: Sequence[int], seat: int) -> list[int]:
    """What a seat is told of every seat before the first quest: codes of KNOWN."""
    return [_known_of(roles[seat], role, other == seat, roles) for other, role in enumerate(roles)]


def _known_of(own: int, role: int, self: bool, roles: Sequence[int]) -> int:
    """What a player with the role `own` is told of one with `role`."""
    if self:
        return 1 + role
    if own == MERLIN:
        return IS_EVIL if is_evil(role) and role != MORDRED else UNKNOWN
    if own == PERCIVAL:
        if role not in (MERLIN, MORGANA):
            return UNKNOWN
        return MERLIN_OR_MORGANA if MORGANA in roles else 1 + MERLIN
    fellows = is_evil(own) and is_evil(role) and OBERON not in (own, role)
    return IS_EVIL if fellows else UNKNOWN


def knowledge(state: AvalonState, seat: int) -> list[int]:
    """What a seat knows of every seat by now: codes of KNOWN."""
    if state.phase == OVER:
        return [1 + role for role in state.roles]
    return initial_knowledge(state.roles, seat)


def redraw(state: AvalonState, seat: int, rng: Rng) -> None:
    """Draw evenly from the deals that fit what `seat` saw, and the cards behind the quests."""
    known, own = initial_knowledge(state.roles, seat), state.roles[seat]
    evil_roles = sorted(role for role in state.roles if is_evil(role))
    good_roles = sorted(role for role in state.roles if not is_evil(role))
    others = [other for other in range(len(state.roles)) if other != seat]
    missing = len(evil_roles) - is_evil(own)
    sets = [set(s) for s in combinations(others, missing) if _fits(state, seat, known, set(s))]
    (evil_roles if is_evil(own) else good_roles).remove(own)
    while True:
        evil = rng.choice(sets)
        rng.shuffle(evil_roles)
        rng.shuffle(good_roles)
        bad, good = iter(evil_roles), iter(good_roles)
        roles = [
            own if other == seat else next(bad) if other in evil else next(good)
            for other in range(len(state.roles))
        ]
        if initial_knowledge(roles, seat) == known:
            break
    for quest in state.quests:
        quest.failing = _failing(quest, seat, evil, rng)
    state.roles = roles


def _fits(state: AvalonState, seat: int, known: Sequence[int], evil: set[int]) -> bool:
    """Whether these other seats can be the evil ones, as far as `seat` knows."""
    if any(code == IS_EVIL and other not in evil for other, code in enumerate(known)):
        return False
    for quest in state.quests:
        own = seat in quest.failing
        if len(quest.failing) - own > len(evil.intersection(quest.team)):
            return False
    return True


def _failing(quest: Quest, seat: int, evil: set[int], rng: Rng) -> list[int]:
    """Seats that may have made a quest fail, as many as did."""
    own = [seat] if seat in quest.failing else []
    able = sorted(evil.intersection(quest.team))
    rng.shuffle(able)
    return sorted([*own, *able[: len(quest.failing) - len(own)]])
