"""The best path near an original one: what an agent might have done instead.

Hong and Wang, "Personalized Path Recourse" (2023), which trains an agent to find such paths. Here
they are found exactly, by dynamic programming over states and edits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log
from pickle import dumps
from typing import Any

from palestra import Episode, EpisodeRecord, InvalidOption, retrace
from palestra.kernel.game import Game
from palestra.records.record import record_episode

MOST = 200_000  # states of one search


class Habits:
    """How often an agent plays each decision in each state, counted in records of its play.

    `chance(key, text, legal)` is the share of a decision among those of the state with that anchor,
    with `prior` added to the count of every legal decision, so that no chance is 0.
    """

    def __init__(
        self, records: Sequence[EpisodeRecord], *, seat: int = 0, prior: float = 1.0
    ) -> None:
        if prior <= 0:
            raise InvalidOption(f"prior must be above 0, not {prior}")
        self.prior = prior
        self._counts: dict[str, Counter[str]] = {}
        for record in records:
            for turn in record.turns:
                if turn.seat == seat:
                    key = turn.anchor or turn.state_key
                    self._counts.setdefault(key, Counter())[turn.text] += 1

    def chance(self, key: str, text: str, legal: int) -> float:
        """The probability of the decision `text` in a state with `legal` decisions."""
        known = self._counts.get(key, Counter())
        return (known[text] + self.prior) / (known.total() + self.prior * legal)

    def chance_at(self, episode: Episode, text: str, seat: int = 0) -> float:
        """The probability of a decision at the position of an episode."""
        key = episode.game.anchor(episode.state, seat).hex()
        return self.chance(key, text, len(episode.legal_texts(seat)))

    def fit_of(
        self, record: EpisodeRecord, *, seat: int = 0, game: Game[Any, Any] | None = None
    ) -> float:
        """Mean log-probability of a seat's decisions after the branch; 0 if there are none.

        game: the game, for a record without an environment id.
        """
        found = [
            log(self.chance_at(episode, turn.text, seat))
            for number, (episode, step) in enumerate(
                zip(retrace(record, game), record.steps, strict=False)
            )
            for turn in step.turns
            if turn.seat == seat and number >= record.branched_at
        ]
        return sum(found) / len(found) if found else 0.0


@dataclass(slots=True)
class Node:
    """A state after some turns, and the moves from it.

    A move is its text, the node it leads to, what it is paid, and the logarithm of its chance.
    """

    episode: Episode
    moves: list[tuple[str, int, float, float]] = field(
        default_factory=list
    )  # text, node, paid, log


@dataclass(frozen=True, slots=True)
class Path:
    """A path of recourse: its record, its score, and the parts of the score."""

    record: EpisodeRecord
    score: float
    paid: float
    alike: float
    habit: float


def recourse_path(
    start: Episode,
    original: Sequence[str],
    *,
    steps: int,
    goal: float = 1.0,
    near: float = 1.0,
    own: float = 0.0,
    habits: Habits | None = None,
) -> Path:
    """The path from `start` with the highest score, exactly.

    The score is `goal` times what the path is paid, plus `near` times its similarity to `original`
    (action texts; 1 minus the Levenshtein distance divided by the longer length), plus `own` times
    the mean log-probability of its decisions under `habits`. Paths end where the game does, or
    after `steps` decisions. The game must have one player, and no chance after `start`: chance is
    that of the episode's seed, and a path is what that seed would have led to.

    Raises `InvalidOption` for games of several players and for searches that grow too large.
    """
    if start.game.num_players != 1:
        raise InvalidOption("recourse_path needs a game of one player; the others would not reply")
    if steps < 1 or start.over:
        raise InvalidOption("recourse_path needs steps of at least 1, and an episode that goes on")
    if own and habits is None:
        raise InvalidOption("own weighs habits=…; pass Habits(records of the agent's play)")
    layers = _layers(start, steps, habits)
    best: tuple[float, list[str]] = (-inf, [])
    for length in range(1, len(layers)):
        edit = near / max(length, len(original))
        best = max(best, _longest(layers, original, length, goal, edit, own / length))
    return _play_path(start, best[1], original, goal, near, own, habits)


def _layers(start: Episode, steps: int, habits: Habits | None) -> list[list[Node]]:
    """The states that can be reached with each number of decisions, equal ones once."""
    layers, size = [[Node(start.fork())]], 1
    for _ in range(steps):
        place: dict[bytes, int] = {}
        found: list[Node] = []
        for node in layers[-1]:
            now = node.episode
            if now.over:
                continue
            for text in now.legal_texts(0):
                then = now.fork()
                then.act({0: then.parse(0, text)})
                state = _identity(then)
                if state not in place:
                    place[state] = len(found)
                    found.append(Node(then))
                    size += 1
                if size > MOST:
                    raise InvalidOption(f"more than {MOST} states; ask for fewer steps")
                paid = float(then.returns[0]) - float(now.returns[0])
                chance = 1.0 if habits is None else habits.chance_at(now, text)
                node.moves.append((text, place[state], paid, log(chance)))
        if not found:
            break
        layers.append(found)
    return layers


def _identity(episode: Episode) -> bytes:
    """Equal only for states with the same future, chance still to come included."""
    return episode.state_key() if episode.game.deterministic else dumps(episode.state)


def _longest(
    layers: list[list[Node]],
    original: Sequence[str],
    length: int,
    goal: float,
    edit: float,
    own: float,
) -> tuple[float, list[str]]:
    """The best path of this many decisions and its score, apart from the constant `near`.

    `worth[node][j]` is the best of what is still to come with j actions of the original used up.
    """
    left = len(original)
    cut = length == len(layers) - 1
    worth = [
        [-edit * (left - j) if cut or node.episode.over else -inf for j in range(left + 1)]
        for node in layers[length]
    ]
    plan: list[list[list[tuple[str, int, int]]]] = []
    for layer in reversed(layers[:length]):
        now: list[list[float]] = []
        steps: list[list[tuple[str, int, int]]] = []
        for node in layer:
            row, way = [-inf] * (left + 1), [("", -1, 0)] * (left + 1)
            for j in range(left, -1, -1):
                for text, after, paid, chance in node.moves:
                    gained, then = goal * paid + own * chance, worth[after]
                    options = [(gained - edit + then[j], (text, after, j))]
                    if j < left:
                        price = 0.0 if text == original[j] else edit
                        options.append((gained - price + then[j + 1], (text, after, j + 1)))
                    for value, move in options:
                        if value > row[j]:
                            row[j], way[j] = value, move
                if j < left and row[j + 1] - edit > row[j]:
                    row[j], way[j] = row[j + 1] - edit, way[j + 1]  # the original's action left out
            now.append(row)
            steps.append(way)
        worth = now
        plan.append(steps)
    texts, here, used = [], 0, 0
    for steps in reversed(plan):
        text, here, used = steps[here][used]
        texts.append(text)
    return worth[0][0], texts


def _play_path(
    start: Episode,
    texts: Sequence[str],
    original: Sequence[str],
    goal: float,
    near: float,
    own: float,
    habits: Habits | None,
) -> Path:
    """The path as a record, and its score."""
    from rapidfuzz.distance import Levenshtein

    episode, logs = start.fork(), []
    for text in texts:
        if habits is not None:
            logs.append(log(habits.chance_at(episode, text)))
        episode.act({0: episode.parse(0, text)})
    if not episode.over:
        episode.truncate("recourse")
    paid = float(episode.returns[0]) - float(start.returns[0])
    record = record_episode(episode, agents=("recourse",))
    record.branched_at = start.steps_played
    alike = Levenshtein.normalized_similarity(list(texts), list(original))
    habit = sum(logs) / len(logs) if logs else 0.0
    return Path(record, goal * paid + near * alike + own * habit, paid, alike, habit)
