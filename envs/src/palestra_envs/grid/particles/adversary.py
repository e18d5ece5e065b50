"""Adversary: agents keep near a goal that their adversary must guess from where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palestra import Channel, Rng, check_ranges, constant

from palestra_envs.grid.particles.game import Particles
from palestra_envs.grid.particles.options import MAX_SEATS, ParticlesState, Role, Scenario
from palestra_envs.grid.particles.rules import (
    DISTANCE,
    approach,
    drift,
    end_step,
    gap,
    in_sight,
    to_grain,
    write_marks,
    write_places,
)

RIVAL, AGENT = Role("adversary", 1, 0.15), Role("agent", 0, 0.15)


@dataclass(frozen=True)
class Adversary(Particles):
    """Seat 0, the adversary, does not know which landmark is the goal; the others do.

    The adversary is paid minus their distance from the goal. The others share that distance minus
    the distance of the agent nearest to the goal.
    """

    scenario: Scenario = "adversary"

    landmark_size = 0.08
    has_goal = True
    own_numbers = 2

    def validate(self) -> None:
        check_ranges(self, (("num_players", 2, MAX_SEATS),))
        super().validate()

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        return (RIVAL,) + (AGENT,) * (self.num_players - 1)

    @property
    def usual_landmarks(self) -> int:
        return self.num_players - 1

    @constant
    def goal_is_known(self) -> bool:
        return True

    @property
    def step_bounds(self) -> tuple[float, float]:
        return (-self.farthest, self.farthest)

    # The rules

    @staticmethod
    def apply_actions(config: Particles, state: ParticlesState, actions: Any, out: Any) -> None:
        drift(config, state, actions)
        pay(config, state, out)
        end_step(config, state, out)

    def own_channels(self, seat: int) -> tuple[Channel, ...]:
        return (Channel("goal", 2, "the goal, relative to the player"),) if seat > 0 else ()

    @staticmethod
    def write_observation(config: Particles, state: ParticlesState, seat: int, obs: Any) -> None:
        """The goal, for those who know it, landmarks and other players."""
        place, at = state.place, 0
        if seat > 0:
            goal = config.num_players + state.goal
            obs[0], obs[1] = place[goal, 0] - place[seat, 0], place[goal, 1] - place[seat, 1]
            at = 2
        at = write_places(config, state, seat, obs, at)
        write_marks(config, state, seat, obs, at)

    @staticmethod
    def scripted_action(config: Particles, state: ParticlesState, seat: int) -> int:
        """Agents go to the goal and to other landmarks, the adversary where an agent is nearest."""
        players = config.num_players
        if seat > 0:
            chosen = (state.goal + seat - 1) % config.landmarks
            return approach(config, state, seat, players + chosen, 0.0)
        best, near = players, 1e9
        for landmark in range(players, config.things):
            for other in range(1, players):
                seen = in_sight(config, state, 0, landmark) and in_sight(config, state, 0, other)
                if seen and gap(state, other, landmark) < near:
                    best, near = landmark, gap(state, other, landmark)
        return approach(config, state, 0, best, 0.0)

    def redraw_pay(self, imagined: ParticlesState, seat: int, rng: Rng) -> None:
        """Draw the distances of the agent nearest to the goal, which only its team is paid for."""
        own, steps = float(imagined.earned[seat]), int(imagined.turn)
        nearest = to_grain(steps * rng.random())
        if seat == 0:
            imagined.earned[1:] = -own - nearest
        else:
            imagined.earned[1:] = own
            imagined.earned[0] = min(0.0, -own - nearest)

    # What players see and read

    def knows_goal(self, seat: int) -> bool:
        return seat > 0

    def purpose(self, seat: int) -> str:
        if seat == 0:
            return (
                "You are the adversary. One landmark is the goal, and you are not told "
                "which; the agents are. You are paid minus your distance from it."
            )
        return (
            "You are paid how far the adversary is from the goal landmark, minus how far the "
            "nearest agent is from it. The adversary does not know which landmark is the goal."
        )

    def describe_self(self, pairs: Iterator[str]) -> list[str]:
        return []

    def describe_goal(self, seat: int, pairs: Iterator[str]) -> list[str]:
        return [f"- the goal {next(pairs)}"] if seat > 0 else []


def pay(config: Particles, state: ParticlesState, out: Any) -> None:
    """Pay the adversary for being near the goal, and agents for being nearer than it."""
    rival, nearest = gap(state, 0, config.num_players + state.goal), 1e9
    for seat in range(1, config.num_players):
        nearest = min(nearest, gap(state, seat, config.num_players + state.goal))
    out.rewards[0, DISTANCE] = -rival
    for seat in range(1, config.num_players):
        out.rewards[seat, DISTANCE] = rival - nearest
