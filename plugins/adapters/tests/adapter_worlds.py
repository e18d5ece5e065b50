"""For tests: a model that answers by a function, and a walk through any small graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from palestra import (
    Event,
    Grammar,
    OneOf,
    Option,
    Outcome,
    Rng,
    Step,
    TextAction,
    TextGame,
)
from palestra.agents.models import Request
from palestra.testing import ScriptedModel

Answer = Callable[[Request], str]


class Free(ScriptedModel):
    """Cannot be held to anything."""

    def __init__(self, answer: Answer | str, name: str = "scripted") -> None:
        super().__init__(answer, name, held=False)


def last(request: Request) -> str:
    """The question, without what came before it."""
    return request.messages[-1].content


class Go(TextAction, frozen=True):
    """Go along an edge."""

    to: str


@dataclass(slots=True)
class Walker:
    rng: Rng
    at: str
    steps: int = 0
    earned: float = 0.0


Edges = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Trail(TextGame[Walker]):
    """A walk from place to place."""

    rules_text = "You walk from place to place; each step pays. Write Go(to='place')."

    edges: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    start: str = "start"
    limit: int = 20
    top: float = 10.0

    order = "sequential"
    payoffs = "general"
    num_players = 1
    deterministic = True
    action_types = (Go,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, self.top)

    @cached_property
    def graph(self) -> dict[str, dict[str, float]]:
        return {place: dict(ways) for place, ways in self.edges}

    @cached_property
    def menu(self) -> tuple[Go, ...]:
        places = dict.fromkeys(to for _, ways in self.edges for to, _ in ways)
        return tuple(map(Go, places))

    def initial_state(self, seed: int | None = None) -> Walker:
        return Walker(Rng.seeded(seed), self.start)

    def to_act(self, state: Walker) -> tuple[int, ...]:
        return (0,) if self.graph.get(state.at) and state.steps < self.limit else ()

    def legal(self, state: Walker, seat: int) -> Grammar:
        return Grammar((Option(Go, {"to": OneOf(tuple(self.graph.get(state.at, {})))}),))

    def step(self, state: Walker, actions: Mapping[int, Any]) -> Step:
        to = actions[0].to
        paid = self.graph[state.at][to]
        state.at, state.steps, state.earned = to, state.steps + 1, state.earned + paid
        text = f"You go to {to} and are paid {paid:g}."
        return Step({0: {"payoff": paid}}, events=[Event("went", text)])

    def outcome(self, state: Walker) -> Outcome | None:
        return None if self.to_act(state) else Outcome(("score",), (state.earned,))

    def describe(self, state: Walker, seat: int) -> str:
        return f"You are at {state.at}, step {state.steps}."

    def observation_space(self, seat: int) -> spaces.Box:
        return spaces.Box(0, 1, (1,))

    def observe(self, state: Walker, seat: int) -> Any:
        return np.zeros(1, np.float32)


def trail(edges: Edges, **options: Any) -> Trail:
    return Trail(tuple((a, tuple(ways.items())) for a, ways in edges.items()), **options)
