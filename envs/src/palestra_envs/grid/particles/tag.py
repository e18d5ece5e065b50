"""Tag: slow predators hunt quick prey among solid landmarks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palestra import Channel, Rng, check_ranges, constant

from palestra_envs.grid.particles.game import Particles
from palestra_envs.grid.particles.options import MAX_SEATS, ParticlesState, Role, Scenario
from palestra_envs.grid.particles.rules import (
    BOUNDS,
    CONTACTS,
    STILL,
    approach,
    drift,
    end_step,
    gap,
    in_sight,
    steer,
    to_grain,
    touch,
    write_marks,
    write_motion,
    write_places,
)

PREDATOR = Role("predator", 0, 0.075, pull=3.0, top=1.0)
PREY = Role("prey", 1, 0.05, pull=4.0, top=1.3)


@dataclass(frozen=True)
class Tag(Particles):
    """Predators (size 0.075) hunt `num_prey`, the last seats (size 0.05), which are quicker.

    A contact pays every predator 10 and costs the prey 10; prey also pays for leaving the square.
    Observations end with the velocities of other prey.
    """

    scenario: Scenario = "tag"

    landmark_size = 0.2

    def validate(self) -> None:
        check_ranges(self, (("num_players", 2, MAX_SEATS),))
        super().validate()

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        return (PREDATOR,) * (self.num_players - self.num_prey) + (PREY,) * self.num_prey

    @property
    def usual_landmarks(self) -> int:
        return 2

    @property
    def more_numbers(self) -> int:
        return 2 * self.num_prey

    @constant
    def solid(self) -> int:
        return self.things

    @constant
    def landmark_reach(self) -> float:
        return 0.9

    @property
    def step_bounds(self) -> tuple[float, float]:
        predators = self.num_players - self.num_prey
        return (-10.0 * predators - 20, 10.0 * self.num_players * self.num_prey)

    # The rules

    @staticmethod
    def apply_actions(config: Particles, state: ParticlesState, actions: Any, out: Any) -> None:
        drift(config, state, actions)
        pay(config, state, out)
        end_step(config, state, out)

    def more_channels(self, seat: int) -> tuple[Channel, ...]:
        prey = self.num_prey - (self.roles[seat] is PREY)
        return (Channel("prey", 2 * prey, "velocity of each other prey: east, north"),)

    @staticmethod
    def write_observation(config: Particles, state: ParticlesState, seat: int, obs: Any) -> None:
        """Own velocity and place, landmarks, other players, velocities of other prey."""
        write_motion(state, seat, obs)
        at = write_places(config, state, seat, obs, 4)
        for prey in range(config.num_players - config.num_prey, config.num_players):
            if prey != seat:
                if in_sight(config, state, seat, prey):
                    obs[at], obs[at + 1] = state.speed[prey, 0], state.speed[prey, 1]
                at += 2
        write_marks(config, state, seat, obs, at)

    @staticmethod
    def scripted_action(config: Particles, state: ParticlesState, seat: int) -> int:
        """Go to the nearest prey, if it is in sight; flee from the nearest predator."""
        predators = config.num_players - config.num_prey
        if seat >= predators:
            return flee(config, state, seat)
        prey = nearest_of(state, seat, predators, config.num_players)
        return approach(config, state, seat, prey, 0.4)

    def redraw_pay(self, imagined: ParticlesState, seat: int, rng: Rng) -> None:
        """Draw the contacts of each prey, which predators are paid for, and its other costs."""
        own, steps = float(imagined.earned[seat]), int(imagined.turn)
        predators = self.num_players - self.num_prey
        contacts = [0] * self.num_prey
        if seat < predators:
            left = round(own / 10)
            for prey in range(self.num_prey - 1):
                contacts[prey] = rng.below(left + 1)
                left -= contacts[prey]
            contacts[-1] = left
        else:
            contacts = [rng.below(steps + 1) for _ in contacts]
            contacts[seat - predators] = rng.below(int(-own // 10) + 1)
        imagined.earned[:predators] = 10.0 * sum(contacts)
        for prey, touched in enumerate(contacts, predators):
            if prey != seat:
                imagined.earned[prey] = -10.0 * touched - to_grain(steps * rng.random())

    # What players see and read

    def sees_velocity(self, state: ParticlesState, seat: int, other: int) -> bool:
        return self.roles[other] is PREY and self.sees(state, seat, other)

    def purpose(self, seat: int) -> str:
        if self.roles[seat] is PREDATOR:
            return (
                "You are a predator. Whenever a predator touches prey, all predators are "
                "paid 10. The prey is faster. Landmarks cannot be crossed."
            )
        return (
            "You are prey. You pay 10 for every predator who touches you, and for being "
            "more than 0.9 from the middle, east-west or north-south. Landmarks cannot be crossed."
        )

    def describe_more(self, state: ParticlesState, seat: int, pairs: Iterator[str]) -> list[str]:
        prey = [o for o in range(self.num_players) if o != seat and self.roles[o] is PREY]
        velocities = [(other, next(pairs)) for other in prey]
        return [
            f"The velocity of {self.players[other]} is {velocity}."
            for other, velocity in velocities
            if self.sees(state, seat, other)
        ]


def pay(config: Particles, state: ParticlesState, out: Any) -> None:
    """Every contact pays all predators 10 and costs the prey 10; leaving the square costs prey."""
    predators = config.num_players - config.num_prey
    for prey in range(predators, config.num_players):
        for predator in range(predators):
            if touch(config, state, prey, predator):
                out.rewards[prey, CONTACTS] -= 10.0
                for paid in range(predators):
                    out.rewards[paid, CONTACTS] += 10.0
        for axis in range(2):
            off = abs(state.place[prey, axis])
            if off >= 1.0:
                out.rewards[prey, BOUNDS] -= to_grain(min(math.exp(2 * off - 2), 10.0))
            elif off >= 0.9:
                out.rewards[prey, BOUNDS] -= to_grain((off - 0.9) * 10)


def nearest_of(state: ParticlesState, seat: int, first: int, last: int) -> int:
    """The nearest of a range of things."""
    best, near = first, 1e9
    for thing in range(first, last):
        far = gap(state, seat, thing)
        if far < near:
            best, near = thing, far
    return best


def flee(config: Particles, state: ParticlesState, seat: int) -> int:
    """Back to the middle from its edge, else away from the nearest predator."""
    place = state.place
    if max(abs(place[seat, 0]), abs(place[seat, 1])) > 0.8:
        return steer(-place[seat, 0], -place[seat, 1])
    hunter = nearest_of(state, seat, 0, config.num_players - config.num_prey)
    if not in_sight(config, state, seat, hunter):
        return STILL
    return steer(place[seat, 0] - place[hunter, 0], place[seat, 1] - place[hunter, 1])
