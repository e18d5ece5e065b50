"""What Avalon is made of: tables of the rulebook, actions, the state, and who knows what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from palestra import Grammar, OneOf, Option, Rng, Text, TextAction

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


class Say(TextAction, frozen=True):
    """Say something to everybody."""

    text: str


class Pass(TextAction, frozen=True):
    """Say nothing."""


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
class Table:
    """The state: roles, the leader, and all that has happened.

    `said` is the current discussion in order, "" for silence; `speakers` are still to speak.
    `target` is whom the assassin named.
    """

    rng: Rng
    roles: list[int]
    leader: int
    phase: int = DISCUSS
    proposals: list[Proposal] = field(default_factory=list)
    quests: list[Quest] = field(default_factory=list)
    said: list[tuple[int, str]] = field(default_factory=list)
    speakers: list[int] = field(default_factory=list)
    target: int = NOBODY

    @property
    def tried(self) -> list[Proposal]:
        """Proposals for the quest that comes next."""
        return [p for p in self.proposals if p.quest == len(self.quests)]

    @property
    def failures(self) -> int:
        return sum(quest.failed for quest in self.quests)

    def evil_wins(self) -> bool:
        """Who has won; only once the game is over."""
        if self.target != NOBODY:
            return self.roles[self.target] == MERLIN
        return True  # by failed quests or rejected proposals


def is_evil(role: int) -> bool:
    return role >= MINION


def members(text: str) -> tuple[str, ...]:
    """The names in a team as it is written."""
    return tuple(name.strip() for name in text.split(","))


def fails_needed(players: int, quest: int) -> int:
    """Fails that make a quest, counted from 0, fail."""
    return 2 if players >= TWO_FAILS_FROM and quest == 3 else 1


# Menus and grammars


@lru_cache(maxsize=64)
def lines(players: tuple[str, ...]) -> tuple[Say, ...]:
    """What a program may say."""
    texts = [f"I think {name} is {side}." for side in ("evil", "good") for name in players]
    return tuple(map(Say, texts))


@lru_cache(maxsize=64)
def full_menu(players: tuple[str, ...]) -> tuple[TextAction, ...]:
    """Every team that can be proposed, votes, quest cards, targets, the lines, silence."""
    sizes = sorted(set(TEAM_SIZES[len(players)]))
    teams = [Propose(team) for size in sizes for team in Team(players, size).teams()]
    named = [Assassinate(name) for name in players]
    return (*teams, Approve(), Reject(), Succeed(), Fail(), *named, *lines(players), Pass())


@lru_cache(maxsize=64)
def talk(players: tuple[str, ...], message_limit: int) -> Grammar:
    said = Text(message_limit, tuple(line.text for line in lines(players)))
    return Grammar((Option(Say, {"text": said}), Option(Pass)))


@lru_cache(maxsize=64)
def propose(players: tuple[str, ...], size: int) -> Grammar:
    return Grammar((Option(Propose, {"team": Team(players, size)}),))


@lru_cache(maxsize=1024)
def assassinate(targets: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Assassinate, {"target": OneOf(targets)}),))


BALLOT = Grammar((Option(Approve), Option(Reject)))
GOOD_CARD = Grammar((Option(Succeed),))
EVIL_CARD = Grammar((Option(Succeed), Option(Fail)))


# What a seat knows


def told_at_start(roles: Sequence[int], player: int) -> list[int]:
    """What a seat is told of every seat before the first quest."""
    return [_told(roles[player], role, seat == player, roles) for seat, role in enumerate(roles)]


def _told(own: int, role: int, self: bool, roles: Sequence[int]) -> int:
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


def knowledge(state: Table, seat: int) -> list[int]:
    """What a seat has been told of every seat: a code of KNOWN."""
    if state.phase == OVER:
        return [1 + role for role in state.roles]
    return told_at_start(state.roles, seat)


def redraw(state: Table, player: int, rng: Rng) -> None:
    """Draw evenly from the deals that fit what `player` saw, and the cards behind the quests."""
    known, own = told_at_start(state.roles, player), state.roles[player]
    evil_roles = [role for role in state.roles if is_evil(role)]
    good_roles = [role for role in state.roles if not is_evil(role)]
    others = [seat for seat in range(len(state.roles)) if seat != player]
    missing = len(evil_roles) - is_evil(own)
    sets = [set(s) for s in combinations(others, missing) if _fits(state, player, known, set(s))]
    (evil_roles if is_evil(own) else good_roles).remove(own)
    while True:
        evil = rng.choice(sets)
        rng.shuffle(evil_roles)
        rng.shuffle(good_roles)
        bad, good = iter(evil_roles), iter(good_roles)
        roles = [
            own if seat == player else next(bad) if seat in evil else next(good)
            for seat in range(len(state.roles))
        ]
        if told_at_start(roles, player) == known:
            break
    for quest in state.quests:
        quest.failing = _failing(quest, player, evil, rng)
    state.roles = roles


def _fits(state: Table, player: int, known: Sequence[int], evil: set[int]) -> bool:
    """Whether these other seats can be the evil ones."""
    if any(code == IS_EVIL and seat not in evil for seat, code in enumerate(known)):
        return False
    for quest in state.quests:
        own = player in quest.failing
        if len(quest.failing) - own > len(evil.intersection(quest.team)):
            return False
    return True


def _failing(quest: Quest, seat: int, evil: set[int], rng: Rng) -> list[int]:
    """Who may have made a quest fail, as often as it was."""
    own = [seat] if seat in quest.failing else []
    able = sorted(evil.intersection(quest.team))
    rng.shuffle(able)
    return sorted([*own, *able[: len(quest.failing) - len(own)]])
