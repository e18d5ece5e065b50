"""How a seeker with a chain of complaints feels, and what moves they may have felt.

`imagine_moves` draws what the seeker is not told, the kinds of the counsellor's moves, from what
they read: their own emotion after each move, and whether they could voice a complaint.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from palestra import Rng

EMOTIONS = ("hopeless", "angry", "anxious", "sad", "neutral", "relieved")
CALM = 3  # emotions from here on let a complaint be voiced
MOVES = ("ask", "reflect", "affirm", "summarise", "inform", "advise", "confront", "dismiss")
HARMFUL = ("dismiss", "confront")
# By move: what it adds to trust (0 to 100), and the chances in percent that the emotion rises and
# falls by one
EFFECTS: dict[str, tuple[int, int, int]] = {
    "ask": (3, 20, 15),
    "reflect": (9, 45, 5),
    "affirm": (6, 40, 5),
    "summarise": (7, 30, 5),
    "inform": (2, 20, 10),
    "advise": (-3, 10, 25),
    "confront": (-10, 5, 55),
    "dismiss": (-18, 2, 70),
}
# By emotion, the one kind of move that does good
SUITS = ("affirm", "reflect", "inform", "summarise", "ask", "affirm")
UNSUITED = -2  # the most that any other kind adds to trust
STAGES = 4
NEEDED = (10, 30, 50, 70)  # trust that each complaint asks for
FIRST_TRUST = (5, 25)  # the least and the most at the start
FIRST_EMOTION = (0, 3)  # places in EMOTIONS
FADES = 15  # trust lost between sessions
STIRS = 10  # percent of moves after which the emotion of a deep seeker is drawn anew


def effect(move: str, emotion: int) -> tuple[int, int, int]:
    """What a move adds to trust, and the chances in percent that the emotion rises and falls.

    A move that does not suit the emotion costs trust and raises nothing.
    """
    more, rises, falls = EFFECTS[move]
    return (more, rises, falls) if move == SUITS[emotion] else (min(more, UNSUITED), 0, falls)


def modulate(emotion: int, move: str, draw: int) -> int:
    """The emotion after a move; `draw` is uniform from 0 to 99."""
    _, rises, falls = effect(move, emotion)
    if draw < rises:
        return min(len(EMOTIONS) - 1, emotion + 1)
    return max(0, emotion - 1) if draw < rises + falls else emotion


def stir(emotion: int, percent: int, draw: int) -> int:
    """The emotion, or in `percent` of cases one drawn anew; `draw` is uniform from 0 to 599."""
    kinds = len(EMOTIONS)
    return draw % kinds if draw // kinds < percent else emotion


@lru_cache(maxsize=512)
def chances(emotion: int, move: str, percent: int, falls: bool) -> tuple[float, ...]:
    """By emotion, the chance that a move leads to it; `percent` stir, `falls` lowers it by one."""
    found = [0.0] * len(EMOTIONS)
    for draw in range(100):
        found[modulate(emotion, move, draw)] += 0.01
    found = [(1 - percent / 100) * one + percent / 100 / len(EMOTIONS) for one in found]
    return (found[0] + found[1], *found[2:], 0.0) if falls else tuple(found)


@dataclass(frozen=True, slots=True)
class Felt:
    """What a seeker reads of a move: the emotions around it, and complaints voiced so far."""

    session: int
    before: int
    after: int
    voiced: int


@dataclass(frozen=True, slots=True)
class Chain:
    """What a seeker knows of their chain of complaints; `topics` is empty for a plain seeker."""

    topics: tuple[str, ...]
    all_topics: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """What a move may have been: of a kind, or about a topic."""
        return MOVES + (self.all_topics if self.topics else ())

    def voices(self, voiced: int, trust: int, emotion: int, touched: frozenset[str]) -> bool:
        """Whether a seeker who has voiced so many complaints now voices the next one."""
        if voiced >= STAGES or trust < NEEDED[voiced] or emotion < CALM:
            return False
        return not self.topics or self.topics[voiced] in touched

    def likelihood(self, kind: str, felt: Felt, voiced: int) -> float:
        """The chance of the emotion after a move of a kind."""
        topic = kind not in MOVES
        falls = topic and kind in self.topics[voiced + 2 :]
        percent = STIRS if self.topics else 0
        return chances(felt.before, effective(kind), percent, falls)[felt.after]


def effective(kind: str) -> str:
    """The move whose effect a move of a kind, or about a topic, has."""
    return kind if kind in MOVES else "ask"


# Trust, and topics that were touched and wait to be voiced
Place = tuple[int, frozenset[str]]
Step = dict[Place, list[tuple[Place, str, float]]]  # by place, from where, by which kind, weight


def imagine_moves(
    chain: Chain, felt: tuple[Felt, ...], now: int, rng: Rng
) -> tuple[list[str], int]:
    """Kinds of moves drawn from their chances given what was felt, and the trust at `now`.

    All kinds are taken for equally likely before anything was felt. `now` is the session.
    """
    first, last = FIRST_TRUST
    if not felt:
        return [], max(0, rng.between(first, last) - FADES * now)
    steps = _filtered(chain, felt)
    places = list(steps[-1])
    place = places[rng.weighted([sum(w for *_, w in steps[-1][one]) for one in places])]
    trust = max(0, place[0] - FADES * (now - felt[-1].session))
    kinds: list[str] = []
    for step in reversed(steps):
        ways = step[place]
        place, kind, _ = ways[rng.weighted([weight for *_, weight in ways])]
        kinds.append(kind)
    return kinds[::-1], trust


@lru_cache(maxsize=64)
def _filtered(chain: Chain, felt: tuple[Felt, ...]) -> list[Step]:
    """After each move, where the seeker may be, and from where, by which kind, how likely."""
    first, last = FIRST_TRUST
    layer: dict[Place, float] = {(trust, frozenset()): 1.0 for trust in range(first, last + 1)}
    steps: list[Step] = []
    for n in range(len(felt)):
        step: Step = {}
        for before, kind, after, weight in _moves(chain, felt, n, layer):
            step.setdefault(after, []).append((before, kind, weight))
        sums = {place: sum(weight for *_, weight in ways) for place, ways in step.items()}
        layer = {place: weight / sum(sums.values()) for place, weight in sums.items()}
        steps.append(step)
    return steps


def _moves(
    chain: Chain, felt: Sequence[Felt], n: int, layer: dict[Place, float]
) -> Iterator[tuple[Place, str, Place, float]]:
    """From where, by a move of which kind, to where the seeker may have come, and how likely."""
    one, voiced = felt[n], felt[n - 1].voiced if n else 0
    passed = one.session - (felt[n - 1].session if n else 0)
    waiting = {*chain.topics[voiced:]}
    ways = [
        (kind, chance, effect(effective(kind), one.before)[0], frozenset({kind} & waiting))
        for kind in chain.kinds
        if (chance := chain.likelihood(kind, one, voiced))
    ]
    for place in layer:
        trust, before = max(0, place[0] - FADES * passed), frozenset() if passed else place[1]
        for kind, chance, more, topic in ways:
            touched = before | topic if topic else before
            after = max(0, min(100, trust + more))
            if chain.voices(voiced, after, one.after, touched) == (one.voiced > voiced):
                yield place, kind, (after, touched), layer[place] * chance


@dataclass(frozen=True, slots=True)
class Move:
    """What a counsellor knows of a move; emotions around it are -1 where they are unknown."""

    kind: str
    session: int
    voiced: int  # complaints so far
    touched: frozenset[str]  # topics of the session
    start: int
    after: int = -1


Mind = tuple[int, int]  # trust and emotion


def likelihood_of(chain: Chain, moves: tuple[Move, ...]) -> float:
    """The chance that a seeker says just what they did after each of these moves."""
    layers = _felt_layers(chain, moves)
    return math.prod(sum(weight for *_, weight in layer) for layer in layers)


def imagine_feelings(
    chain: Chain, moves: tuple[Move, ...], now: int, rng: Rng
) -> tuple[tuple[Felt, ...], int]:
    """What a seeker felt, drawn from its chances given the moves, and the trust at `now`."""
    if not moves:
        return (), max(0, rng.between(*FIRST_TRUST) - FADES * now)
    felt: list[Felt] = []
    ways, trust = _felt_layers(chain, moves)[-1], 0
    for n in range(len(moves) - 1, -1, -1):
        before, after, _ = ways[rng.weighted([weight for *_, weight in ways])]
        trust = trust if felt else after[0]
        felt.append(Felt(moves[n].session, before[1], after[1], moves[n].voiced))
        faded = FADES * _passed(moves, n)
        ways = [
            way
            for way in (_felt_layers(chain, moves)[n - 1] if n else ())
            if (before[0] == max(0, way[1][0] - faded) if faded else before == way[1])
        ]
    return tuple(felt[::-1]), max(0, trust - FADES * (now - moves[-1].session))


def _passed(moves: Sequence[Move], n: int) -> int:
    """The sessions that ended between a move and the one before it."""
    return moves[n].session - (moves[n - 1].session if n else 0)


@lru_cache(maxsize=64)
def _felt_layers(chain: Chain, moves: tuple[Move, ...]) -> list[list[tuple[Mind, Mind, float]]]:
    """For each move: trust and emotion before and after it, and how likely they are."""
    first, last = FIRST_TRUST
    minds: dict[Mind, float] = {(trust, -1): 1.0 for trust in range(first, last + 1)}
    layers = []
    for n, move in enumerate(moves):
        voiced = moves[n - 1].voiced if n else 0
        if n == 0 or _passed(moves, n):
            minds = _at_start(move, minds, FADES * _passed(moves, n))
        layer = []
        for (trust, before), weight in minds.items():
            more = effect(effective(move.kind), before)[0]
            now = max(0, min(100, trust + more))
            for end in range(len(EMOTIONS)) if move.after < 0 else (move.after,):
                felt = Felt(move.session, before, end, move.voiced)
                chance = chain.likelihood(move.kind, felt, voiced)
                said = chain.voices(voiced, now, end, move.touched)
                if chance and said == (move.voiced > voiced):
                    layer.append(((trust, before), (now, end), weight * chance))
        total = sum(weight for *_, weight in layer)
        minds = {}
        for _, after, weight in layer:
            minds[after] = minds.get(after, 0.0) + weight / total
        layers.append(layer)
    return layers


def _at_start(move: Move, minds: dict[Mind, float], faded: int) -> dict[Mind, float]:
    """Before the first move of a session, how likely trusts and emotions are."""
    emotions = (
        range(len(EMOTIONS)) if move.session else range(FIRST_EMOTION[0], FIRST_EMOTION[1] + 1)
    )
    weights: dict[int, float] = {}
    for (trust, _), weight in minds.items():
        left = max(0, trust - faded)
        weights[left] = weights.get(left, 0.0) + weight
    felt = [move.start] if move.start >= 0 else emotions
    return {(trust, one): weight for trust, weight in weights.items() for one in felt}
