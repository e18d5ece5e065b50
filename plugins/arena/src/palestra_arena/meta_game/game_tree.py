"""Small games in sequence form (Koller, Megiddo and von Stengel 1996), for exact values.

A seat's sequence is the list of its actions on the way to a position. A plan gives every sequence
its realisation probability; to mix strategies is to mix plans. An expected return is then linear in
each seat's plan, and a best response one pass over the seat's information sets.

For games without chance after the deal whose deals can be listed (`Game.deals`), with moves in
turn or at once. Seats recall all they did: an information set is what the seat sees, and its own
sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from palestra import Game, InvalidOption
from palestra.kernel.game import total

from palestra_arena.meta_game.normal_form import Floats

LARGEST = 100_000  # positions of a tree that is walked whole


class InformationSet(NamedTuple):
    """What a seat sees (`Game.state_key`), its sequence so far, and the sequences it may choose."""

    key: bytes
    parent: int
    actions: tuple[Any, ...]
    children: range


@dataclass(eq=False)
class Seat:
    """A seat's information sets, parents first; sequence 0 is the empty sequence."""

    sets: list[InformationSet] = field(default_factory=list)
    known: dict[tuple[bytes, int], InformationSet] = field(default_factory=dict)
    size: int = 1

    def enter(self, key: bytes, parent: int, actions: Sequence[Any]) -> InformationSet:
        if (key, parent) not in self.known:
            children = range(self.size, self.size + len(actions))
            self.size += len(actions)
            found = InformationSet(key, parent, tuple(actions), children)
            self.known[key, parent] = found
            self.sets.append(found)
        return self.known[key, parent]


@dataclass(eq=False)
class SequenceForm:
    """The terminal positions of a game: the chance of each, and every seat's sequence and return.

    `sequences` is (ends, seats), `returns` is (ends, seats).
    """

    game: Game[Any, Any]
    seats: list[Seat]
    chances: Floats
    sequences: NDArray[np.int64]
    returns: Floats

    def uniform(self, seat: int) -> Floats:
        """The plan that plays every legal action with the same probability."""
        plan = np.zeros(self.seats[seat].size)
        plan[0] = 1.0
        for known in self.seats[seat].sets:
            plan[known.children] = plan[known.parent] / len(known.children)
        return plan

    def values(self, plans: Sequence[Floats]) -> Floats:
        """Every seat's expected return when each plays its plan."""
        reach = self.chances.copy()
        for seat, plan in enumerate(plans):
            reach *= plan[self.sequences[:, seat]]
        return reach @ self.returns

    def slope(self, seat: int, plans: Sequence[Floats]) -> Floats:
        """What each of a seat's sequences adds to its return; the seat's own plan is not used."""
        reach = self.chances * self.returns[:, seat]
        for other, plan in enumerate(plans):
            if other != seat:
                reach = reach * plan[self.sequences[:, other]]
        added = np.zeros(self.seats[seat].size)
        np.add.at(added, self.sequences[:, seat], reach)
        return added

    def best_plan(self, seat: int, slope: Floats) -> tuple[Floats, float]:
        """The pure plan of greatest value under a slope, and that value."""
        worth = slope.copy()
        choices = []
        for known in reversed(self.seats[seat].sets):
            options = worth[known.children]
            best = int(options.argmax())
            worth[known.parent] += options[best]
            choices.append(known.children[best])
        plan = np.zeros(len(slope))
        plan[0] = 1.0
        for known, choice in zip(self.seats[seat].sets, reversed(choices), strict=True):
            plan[choice] = plan[known.parent]
        return plan, float(worth[0])

    def nash_conv(self, plans: Sequence[Floats]) -> float:
        """The sum of what each seat would gain by a best response; 0 in equilibrium."""
        replies = (self.best_plan(seat, self.slope(seat, plans))[1] for seat in range(len(plans)))
        return float(sum(replies) - self.values(plans).sum())

    def policy(self, seat: int, plan: Floats) -> dict[bytes, dict[Any, float]]:
        """A plan as action probabilities by information set; uniform where the plan never leads.

        Raises `InvalidOption` where a game's keys do not tell a seat what it did.
        """
        chances: dict[bytes, dict[Any, float]] = {}
        for known in self.seats[seat].sets:
            if known.key in chances:
                raise InvalidOption(
                    f"{type(self.game).__name__} shows a seat the same after different moves of "
                    "its own, so that a plan is no policy by what is seen"
                )
            reach = plan[known.parent]
            shares = plan[known.children] / reach if reach > 0 else None
            even = 1 / len(known.actions)
            chances[known.key] = {
                action: float(shares[i]) if shares is not None else even
                for i, action in enumerate(known.actions)
            }
        return chances


def sequence_form(game: Game[Any, Any]) -> SequenceForm:
    """Walk a game's tree; refuses games with chance after the deal, and large ones."""
    name = type(game).__name__
    if not game.deterministic:
        raise InvalidOption(f"{name} has chance after the deal, and so no exact best response here")
    deals = game.deals()
    if deals is None:
        if not game.perfect_information:
            raise InvalidOption(f"{name} does not list its deals (Game.deals)")
        deals = [(1.0, game.initial_state(0))]
    walk = _Walk(game)
    for chance, state in deals:
        walk.visit(state, chance, (0,) * game.num_players, (0.0,) * game.num_players)
    chances, sequences, returns = zip(*walk.ends, strict=True)
    return SequenceForm(
        game, walk.seats, np.array(chances), np.array(sequences), np.array(returns, dtype=float)
    )


class _Walk:
    """Collects the ends of a tree, and the information sets on the way."""

    def __init__(self, game: Game[Any, Any]) -> None:
        self.game = game
        self.seats = [Seat() for _ in range(game.num_players)]
        self.ends: list[tuple[float, tuple[int, ...], tuple[float, ...]]] = []
        self.visited = 0

    def visit(
        self, state: Any, chance: float, done: tuple[int, ...], paid: tuple[float, ...]
    ) -> None:
        self.visited += 1
        if self.visited > LARGEST:
            raise InvalidOption(
                f"{type(self.game).__name__} has more than {LARGEST:,} positions; best responses "
                "are exact only in smaller games"
            )
        movers = self.game.to_act(state)
        if not movers:
            self.ends.append((chance, done, paid))
            return
        for actions, after in self._choices(state, movers, done):
            copy = self.game.clone(state)
            rewards = self.game.step(copy, actions).rewards
            got = tuple(p + total(rewards.get(s)) for s, p in enumerate(paid))
            self.visit(copy, chance, after, got)

    def _choices(
        self, state: Any, movers: Sequence[int], done: tuple[int, ...]
    ) -> list[tuple[dict[int, Any], tuple[int, ...]]]:
        """Every set of moves, and every seat's sequence after it."""
        choices: list[tuple[dict[int, Any], tuple[int, ...]]] = [({}, done)]
        for seat in movers:
            legal = self.game.legal_actions(state, seat)
            known = self.seats[seat].enter(self.game.state_key(state, seat), done[seat], legal)
            choices = [
                (actions | {seat: action}, (*after[:seat], child, *after[seat + 1 :]))
                for actions, after in choices
                for action, child in zip(known.actions, known.children, strict=True)
            ]
        return choices
