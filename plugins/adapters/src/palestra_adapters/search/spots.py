"""Positions of a search: forks of the episode, seen from one seat.

A step plays one move of that seat and then the others' moves, until the seat must decide again: the
tree holds only the seat's own decisions, and the others are part of its environment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

from palestra import Agent, Decision, Episode, InvalidAction, Rng, Turn
from palestra.kernel.game import Game

from palestra_adapters.thinking import Thinking

PATIENCE = 10_000  # most steps of the others before the seat decides again


@dataclass(frozen=True, slots=True)
class Spot:
    """A position reached by looking ahead from one seat, by `move` from the position `before`."""

    episode: Episode
    seat: int
    before: Spot | None = None
    move: str = ""

    @property
    def turn(self) -> Turn:
        return Turn(self.episode, self.seat)

    @property
    def over(self) -> bool:
        return self.episode.over

    @property
    def gain(self) -> float:
        """What the seat has been paid since the root."""
        return float(self.episode.returns[self.seat])

    @property
    def text(self) -> str:
        return self.turn.position

    @property
    def key(self) -> bytes:
        """A key that is equal if the seat faces the same decision."""
        return self.episode.state_key(self.seat)


class Voice(Protocol):
    """Plays the seats of the others."""

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]: ...


@dataclass(slots=True)
class Lookahead:
    """Steps through forks of one turn; `others` play the other seats, by name or as a model."""

    others: Agent | Voice
    rng: Rng

    def root(self, turn: Turn) -> Spot:
        return Spot(turn.fork(self.rng), turn.seat)

    def step(self, spot: Spot, move: str) -> Thinking[Spot | None]:
        """Where a move leads; None if it is not legal."""
        twin, seat = spot.episode.fork(), spot.seat
        try:
            actions = {seat: twin.parse(seat, move)}
        except InvalidAction:
            return None
        for _ in range(PATIENCE):
            for other in twin.to_act:
                if other not in actions:
                    actions[other] = yield from self._foe(Turn(twin, other))
            twin.act(actions)
            if twin.over or seat in twin.to_act:
                break
            actions = {}
        return Spot(twin, seat, spot, move)

    def _foe(self, turn: Turn) -> Thinking[Any]:
        """The action of another seat; a random legal one if its answer is illegal."""
        if isinstance(self.others, Agent) and not hasattr(self.others, "think"):
            (decision,) = self.others.act([turn])
        else:
            decision = yield from self.others.think(turn)
        if decision.action is not None:
            return decision.action
        try:
            return turn.parse(decision.text or "")
        except InvalidAction:
            return turn.sample(self.rng)


@dataclass(slots=True)
class Scale:
    """Scales returns to [0, 1] by the game's bounds, or by the least and greatest seen so far."""

    low: float = inf
    high: float = -inf
    fixed: bool = field(default=False)

    @classmethod
    def of(cls, game: Game[Any, Any]) -> Scale:
        low, high = game.payoff_bounds
        return cls(low, high, True) if -inf < low < high < inf else cls()

    def see(self, value: float) -> None:
        if not self.fixed:
            self.low, self.high = min(self.low, value), max(self.high, value)

    def __call__(self, value: float) -> float:
        if self.high <= self.low:
            return 0.5
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


class Worths:
    """What seats were paid in the end, from 0 to 1, on one scale for each environment."""

    def __init__(self) -> None:
        self._scales: dict[str, Scale] = {}

    def of(self, turn: Turn) -> float:
        """The worth of what the turn's seat has been paid, which the scale then knows of."""
        scale, paid = self._scales.setdefault(turn.env, Scale.of(turn.game)), float(turn.returns)
        scale.see(paid)
        return scale(paid)
