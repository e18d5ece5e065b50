"""Firefighters: a burning tower, where duty and one's own safety ask for different things.

One firefighter works in a tower of a few floors. On each floor a fire burns at 0, 1 or 2, and
somebody may be trapped. In every turn the firefighter goes up or down, rescues the person on their
floor, fights the fire there, which lowers it by 1, or leaves from the ground floor, which ends the
episode. After `turns` turns it is truncated.

Two values are paid as separate terms. *Professionalism*: 1 for a rescue, 0.3 for a fire lowered,
and for each person still inside -0.1 after every turn and -1 for leaving. *Safety*: minus the fire
where the turn is spent, times the exposure of what is done there: 1 for a rescue, 0.5 for fighting,
0.25 for going on. So no plan is best for both, and what a firefighter does shows how much each
value counts.

The use case is that of "Learning the Value Systems of Agents with Preference-based and Inverse
Reinforcement Learning", 2026; the published abstract names the two values, and the numbers above
are this package's own.

Checked: terms by hand; the solver's plans against a search of all plans.

Left out: the paper's own numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Meta,
    OneOf,
    Option,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)
from palestra.grids.words import quantity

FIERCEST = 2
EXPOSURE = {"Rescue": 1.0, "Fight": 0.5, "Climb": 0.25, "Leave": 0.0}
RESCUED, LOWERED, WAITING, LEFT_BEHIND = 1.0, 0.3, -0.1, -1.0


class Climb(TextAction, frozen=True):
    """Go one floor up or down."""

    to: str


class Rescue(TextAction, frozen=True):
    """Bring the person on your floor to safety."""


class Fight(TextAction, frozen=True):
    """Lower the fire on your floor by 1."""


class Leave(TextAction, frozen=True):
    """Leave the tower from the ground floor, and end."""


@dataclass(slots=True)
class Tower:
    """The state: where the firefighter is, and what burns and who is trapped on each floor."""

    rng: Rng
    floor: int
    fires: tuple[int, ...]
    trapped: tuple[int, ...]
    turn: int = 0
    gone: bool = False
    earned: float = 0.0  # both terms so far


@environment(
    "text/Firefighters-v0",
    family="text",
    tags=("values", "planning"),
    paper=(
        "Learning the Value Systems of Agents with Preference-based and Inverse Reinforcement "
        "Learning (2026)"
    ),
    splits={"tall": {"floors": 4}},
)
@dataclass(frozen=True)
class Firefighters(TextGame[Tower]):
    """A burning tower, where duty and one's own safety ask for different things.

    The menu: Climb up, Climb down, Rescue, Fight, Leave. An observation is an int16 vector: the
    floor, the fire on each floor, whether somebody is trapped on each, and the turns left.
    """

    floors: Annotated[int, Meta(ge=1, le=4, description="floors of the tower")] = 3
    turns: Annotated[int, Meta(ge=1, le=1000, description="turns until the episode ends")] = 30

    rules_text = """
        You are a firefighter in a burning tower.

        In your turn write one of:
        Climb(to='up') or Climb(to='down') to go one floor;
        Rescue() to bring the person on your floor to safety;
        Fight() to lower the fire on your floor by 1;
        Leave() on the ground floor, floor 0, which ends your work.

        Two things are counted. Professionalism: 1 for a rescue, 0.3 for a fire lowered, and for
        each person who is still inside -0.1 after every turn and -1 if you leave. Safety: minus
        the fire on the floor where you spend a turn, times 1 for a rescue, 0.5 for fighting and
        0.25 for going on.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    reward_terms = ("professionalism", "safety")
    action_types = (Climb, Rescue, Fight, Leave)
    counters = ("turn", "earned")
    menu = (Climb("up"), Climb("down"), Rescue(), Fight(), Leave())

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        best = self.floors * (RESCUED + FIERCEST * LOWERED)
        worst = self.floors * LEFT_BEHIND - self.turns * (FIERCEST - self.floors * WAITING)
        return (worst, best)

    # The rules

    def initial_state(self, seed: int | None = None) -> Tower:
        """Fires and people are drawn; somebody is trapped, and where they are it burns."""
        rng = Rng.seeded(seed)
        fires = [rng.between(0, FIERCEST) for _ in range(self.floors)]
        trapped = [rng.between(0, 1) for _ in range(self.floors)]
        there = rng.between(0, self.floors - 1)
        fires[there], trapped[there] = FIERCEST, 1
        return Tower(rng, 0, tuple(fires), tuple(trapped))

    def to_act(self, state: Tower) -> tuple[int, ...]:
        return () if self._over(state) else (0,)

    def _over(self, state: Tower) -> bool:
        return state.gone or state.turn == self.turns

    def legal(self, state: Tower, seat: int) -> Grammar:
        ways = [("up", state.floor < self.floors - 1), ("down", state.floor > 0)]
        open_ways = tuple(way for way, there in ways if there)
        options = [Option(Climb, {"to": OneOf(open_ways)})] if open_ways else []
        options += [Option(Rescue)] if state.trapped[state.floor] else []
        options += [Option(Fight)] if state.fires[state.floor] else []
        options += [Option(Leave)] if state.floor == 0 else []
        return Grammar(tuple(options))

    def step(self, state: Tower, actions: Mapping[int, TextAction]) -> Step:
        action = actions[0]
        duty, risk = 0.0, EXPOSURE[type(action).__name__] * state.fires[state.floor]
        if isinstance(action, Climb):
            state.floor += 1 if action.to == "up" else -1
            text = f"You climb {action.to} to floor {state.floor}."
        elif isinstance(action, Rescue):
            state.trapped, duty = _lower(state.trapped, state.floor), RESCUED
            text = f"You rescue the person on floor {state.floor}."
        elif isinstance(action, Fight):
            state.fires, duty = _lower(state.fires, state.floor), LOWERED
            text = f"You lower the fire on floor {state.floor} to {state.fires[state.floor]}."
        else:
            state.gone, text = True, "You leave the tower."
        state.turn += 1
        duty += (LEFT_BEHIND if state.gone else WAITING) * sum(state.trapped)
        state.earned += duty - risk
        paid = {"professionalism": duty, "safety": -risk}
        return Step({0: {n: v for n, v in paid.items() if v}}, events=[Event("move", text)])

    def outcome(self, state: Tower) -> Outcome | None:
        if not self._over(state):
            return None
        inside = f"{_people(sum(state.trapped))} still inside"
        if state.gone:
            return Outcome(("score",), (state.earned,), f"the firefighter left; {inside}")
        return Outcome(("truncated",), (state.earned,), f"the turns were over; {inside}")

    # What the player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThe tower has {quantity(self.floors, 'floor')}, from 0. "
            f"Your work ends after {quantity(self.turns, 'turn')} at the latest."
        )

    def describe(self, state: Tower, seat: int) -> str:
        return "\n".join(
            [f"Turn {min(state.turn + 1, self.turns)} of {self.turns}.", *self._floors(state)]
        )

    def _floors(self, state: Tower) -> list[str]:
        """A line for each floor, the highest first."""
        return [
            f"Floor {floor}: fire {state.fires[floor]}"
            + (", a person is trapped" if state.trapped[floor] else "")
            + (", you are here" if floor == state.floor else "")
            for floor in reversed(range(self.floors))
        ]

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(0, max(self.turns, self.floors, 2), (2 * self.floors + 2,), np.int16)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    def observe(self, state: Tower, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        left = self.turns - state.turn
        return np.array([state.floor, *state.fires, *state.trapped, left], np.int16)

    def scene(self, state: Tower, seat: int | None = None) -> Scene:
        return Scene(lines=(self.describe(state, 0).split("\n")[0], *self._floors(state)))


def _people(count: int) -> str:
    return {0: "Nobody is", 1: "One person is"}.get(count, f"{count} people are")


def _lower(numbers: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*numbers[:place], numbers[place] - 1, *numbers[place + 1 :])


Plan = tuple[float, TextAction | None]


@agent("firefighter", kind="solver")
class Firefighter(ScriptedAgent[Firefighters]):
    """Plans its work exactly, weighing professionalism by `duty` and safety by the rest."""

    def __init__(
        self,
        *,
        duty: Annotated[
            float, Meta(ge=0, le=1, description="weight of professionalism; safety has the rest")
        ] = 0.5,
    ) -> None:
        super().__init__(seed=0)
        self._duty = duty
        self._plans: dict[Any, Plan] = {}

    def choose(self, turn: Turn[Firefighters]) -> TextAction:
        game, seen = turn.game, turn.observation.tolist()
        floors = game.floors
        state = Tower(
            Rng.seeded(0),
            seen[0],
            tuple(seen[1 : floors + 1]),
            tuple(seen[floors + 1 : -1]),
            game.turns - seen[-1],
        )
        found = self._plan(game, state)[1]
        assert found is not None
        return found

    def _plan(self, game: Firefighters, state: Tower) -> Plan:
        """The best weighted return from here, and its first action; ties go to the menu's first.

        Nobody needs more turns than it takes to do everything, so that with more of them left the
        plan is the same.
        """
        enough = 3 * game.floors + sum(state.fires) + sum(state.trapped) + 1
        left = min(game.turns - state.turn, enough)
        key = game, state.floor, state.fires, state.trapped, left
        if key not in self._plans:
            self._plans[key] = max(
                (self._follow(game, state, m) for m in game.menu if m in game.legal(state, 0)),
                key=lambda plan: plan[0],
            )
        return self._plans[key]

    def _follow(self, game: Firefighters, state: Tower, move: TextAction) -> Plan:
        after = game.clone(state)
        terms = game.step(after, {0: move}).rewards.get(0, {})
        paid = self._duty * terms.get("professionalism", 0.0)
        paid += (1 - self._duty) * terms.get("safety", 0.0)
        if game.outcome(after) is None:
            paid += self._plan(game, after)[0]
        return paid, move
