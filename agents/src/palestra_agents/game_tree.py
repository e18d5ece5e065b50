"""The whole tree of a small game in arrays, for solvers that walk it thousands of times.

It works for sequential games that list their deals (`Game.deals`) and have no chance after the
deal. An information set is what the mover sees: `game.state_key(state, mover)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import Episode, Game, InvalidOption

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Policy = Mapping[bytes, Mapping[Any, float]]

LARGEST = 1_000_000  # most positions in a tree that can be walked exactly
FEW = 20_000  # positions up to which interpreted rules are faster than to compile them


@dataclass(frozen=True)
class GameTree:
    """Positions level by level, the deals first, and the moves of every information set.

    A slot is one action at one information set; the slots of a set follow one another.
    """

    game: Game[Any, Any]
    deals: Sequence[tuple[float, Any]]
    levels: tuple[slice, ...]  # of positions
    parent: Integers  # by position; -1 for a deal
    slot: Integers  # by position, of the move that led here; -1 for a deal
    paid: Floats  # by position and seat, for that move
    mover: Integers  # by position; -1 at an end
    keys: tuple[bytes, ...]  # by set
    actions: tuple[tuple[Any, ...], ...]  # by set
    first: Integers  # by set, its first slot, and the number of slots at the end
    set_mover: Integers  # by set, the seat that sees it

    @property
    def slots(self) -> int:
        return int(self.first[-1])

    @property
    def deal_chances(self) -> Floats:
        return np.array([weight for weight, _ in self.deals])

    def spread(self, by_set: NDArray[Any]) -> NDArray[Any]:
        """A value by set, for each of its slots."""
        return np.repeat(by_set, np.diff(self.first))

    def shares(self, weights: Floats) -> Floats:
        """Weights by slot, from 0 on, as probabilities; equal ones where a set has no weight."""
        totals = np.add.reduceat(weights, self.first[:-1])
        sizes = self.spread(np.diff(self.first))
        spread = self.spread(totals)
        return np.where(spread > 0, weights / np.where(spread > 0, spread, 1.0), 1 / sizes)

    def probabilities(self, policy: Policy) -> Floats:
        """A policy by slot; not a number at a set that the policy does not know."""
        found = np.full(self.slots, np.nan)
        for number, key in enumerate(self.keys):
            if key in policy:
                chances = policy[key]
                start, end = self.first[number], self.first[number + 1]
                found[start:end] = [chances.get(action, 0.0) for action in self.actions[number]]
        return found

    def policy(self, chances: Floats) -> dict[bytes, dict[Any, float]]:
        """Probabilities by slot, as a policy by information set."""
        values, first = chances.tolist(), self.first.tolist()
        return {
            key: dict(zip(actions, values[start : start + len(actions)], strict=True))
            for key, actions, start in zip(self.keys, self.actions, first, strict=False)
        }

    def reaches(self, chances: Floats, start: Floats) -> Floats:
        """The probability of every position, given that of the deals and of every move's slot."""
        reach = np.empty(len(self.parent))
        reach[self.levels[0]] = start
        for level in self.levels[1:]:
            reach[level] = reach[self.parent[level]] * chances[self.slot[level]]
        return reach

    def worths(self, chances: Floats, seat: int) -> tuple[Floats, Floats]:
        """What a seat is paid from a move on, and from a position on, where all play `chances`."""
        worth = self.paid[:, seat].copy()
        value = np.zeros(len(self.parent))
        for level in reversed(self.levels[1:]):
            worth[level] += value[level]
            up = self.parent[level]
            start = int(up[0])
            sums = np.bincount(up - start, weights=chances[self.slot[level]] * worth[level])
            value[start : start + len(sums)] += sums
        return worth, value

    def own_moves(self, seat: int) -> NDArray[np.bool_]:
        """By slot, whether it is a move of this seat."""
        return self.spread(self.set_mover == seat)


def check_solvable(game: Game[Any, Any]) -> Sequence[tuple[float, Any]]:
    """The deals of a game whose tree can be walked; raises `InvalidOption` for other games."""
    if game.order != "sequential":
        raise InvalidOption(f"{type(game).__name__} cannot be solved: its moves are {game.order}")
    if not game.deterministic:
        raise InvalidOption(f"{type(game).__name__} cannot be solved: it has chance after the deal")
    deals = game.deals()
    if deals is None:
        if not game.perfect_information:
            raise InvalidOption(
                f"{type(game).__name__} cannot be solved: it does not list its deals (Game.deals)"
            )
        deals = [(1.0, game.initial_state(0))]
    return deals


@lru_cache(maxsize=4)
def tree_of(game: Game[Any, Any]) -> GameTree:
    """The tree of a game, walked once per process.

    Raises `InvalidOption` for a game that cannot be solved, or has more than LARGEST positions.
    """
    deals = check_solvable(game)
    grown = _Growth(game).grow([_Interpreted(game, state) for _, state in deals], FEW)
    if grown is None:
        grown = _Growth(game).grow(list(_compiled_forks(game, deals)), LARGEST)
    if grown is None:
        raise InvalidOption(
            f"{type(game).__name__} cannot be solved: its tree has more than {LARGEST:,} "
            "positions; use a search agent such as mcts"
        )
    return grown.tree(deals)


class _Interpreted:
    """A position by the game's own methods."""

    def __init__(self, game: Game[Any, Any], state: Any) -> None:
        self.game, self.state = game, state

    @property
    def mover(self) -> int:
        seats = self.game.to_act(self.state)
        return seats[0] if seats else -1

    def moves(self, seat: int) -> list[Any]:
        return list(self.game.legal_actions(self.state, seat))

    def key(self, seat: int) -> bytes:
        return self.game.state_key(self.state, seat)

    def after(self, seat: int, action: Any) -> tuple[_Interpreted, list[float]]:
        after, paid = play(self.game, self.state, action)
        return _Interpreted(self.game, after), paid


class _Forked:
    """A position by compiled rules."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode

    @property
    def mover(self) -> int:
        seats = self.episode.to_act
        return seats[0] if seats else -1

    def moves(self, seat: int) -> list[Any]:
        return list(self.episode.legal_actions(seat))

    def key(self, seat: int) -> bytes:
        return self.episode.state_key(seat)

    def after(self, seat: int, action: Any) -> tuple[_Forked, list[float]]:
        episode = self.episode.fork()
        episode.act({seat: action})
        return _Forked(episode), list(episode.rewards)


def _compiled_forks(game: Game[Any, Any], deals: Sequence[tuple[float, Any]]) -> Iterator[_Forked]:
    for _, state in deals:
        episode = Episode(game, 0)
        episode.load(state)
        yield _Forked(episode)


class _Growth:
    """A tree that grows level by level."""

    def __init__(self, game: Game[Any, Any]) -> None:
        self.game = game
        self.levels: list[slice] = []
        self.parent: list[int] = []
        self.slot: list[int] = []
        self.paid: list[list[float]] = []
        self.mover: list[int] = []
        self.numbers: dict[bytes, int] = {}  # of sets, by key
        self.actions: list[tuple[Any, ...]] = []
        self.set_mover: list[int] = []
        self.first = [0]

    def grow(self, deals: Sequence[Any], most: int) -> _Growth | None:
        """Walk the whole tree; None if it has more than `most` positions."""
        seats = self.game.num_players
        waiting = [(-1, -1, [0.0] * seats, place) for place in deals]
        while waiting:
            start, following = len(self.parent), []
            for parent, slot, paid, place in waiting:
                number = len(self.parent)
                self.parent.append(parent)
                self.slot.append(slot)
                self.paid.append(paid)
                self.mover.append(seat := place.mover)
                if seat < 0:
                    continue
                moves = place.moves(seat)
                slot = self.first[self._set_of(place.key(seat), seat, moves)]
                for offset, action in enumerate(moves):
                    after, gained = place.after(seat, action)
                    following.append((number, slot + offset, gained, after))
            self.levels.append(slice(start, len(self.parent)))
            if len(self.parent) + len(following) > most:
                return None
            waiting = following
        return self

    def _set_of(self, key: bytes, seat: int, moves: Sequence[Any]) -> int:
        """The number of an information set, which is new if the seat never saw it."""
        number = self.numbers.setdefault(key, len(self.numbers))
        if number == len(self.actions):
            self.actions.append(tuple(moves))
            self.set_mover.append(seat)
            self.first.append(self.first[-1] + len(moves))
        elif self.actions[number] != tuple(moves):
            raise InvalidOption(
                f"{type(self.game).__name__} cannot be solved: player {seat} sees the same where "
                "different moves are legal"
            )
        return number

    def tree(self, deals: Sequence[tuple[float, Any]]) -> GameTree:
        return GameTree(
            self.game,
            deals,
            tuple(self.levels),
            np.array(self.parent),
            np.array(self.slot),
            np.array(self.paid),
            np.array(self.mover),
            tuple(self.numbers),
            tuple(self.actions),
            np.array(self.first),
            np.array(self.set_mover),
        )


def play(game: Game[Any, Any], state: Any, action: Any) -> tuple[Any, list[float]]:
    """The state after an action, and what every seat was paid."""
    after = game.clone(state)
    step = game.step(after, {game.to_act(state)[0]: action})
    paid = [sum(step.rewards.get(p, {}).values()) for p in range(game.num_players)]
    return after, paid
