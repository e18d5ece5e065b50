"""Spread: players cover all landmarks and do not touch one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from palestra import Rng, constant

from palestra_envs.grid.particles.game import Particles
from palestra_envs.grid.particles.options import ParticlesState, Scenario
from palestra_envs.grid.particles.rules import (
    CONTACTS,
    DISTANCE,
    approach,
    drift,
    end_step,
    gap,
    to_grain,
    touch,
)


@dataclass(frozen=True)
class Spread(Particles):
    """Players (size 0.15) cover as many landmarks without touching one another.

    All are paid minus the distances from each landmark to its nearest player, and each player minus
    1 for every player who touches them; `local_ratio` is the weight of the second.
    """

    scenario: Scenario = "spread"

    @constant
    def solid(self) -> int:
        return self.num_players

    @property
    def step_bounds(self) -> tuple[float, float]:
        return (-self.farthest * self.landmarks - self.num_players, 0.0)

    @staticmethod
    def apply_actions(config: Particles, state: ParticlesState, actions: Any, out: Any) -> None:
        drift(config, state, actions)
        pay(config, state, out)
        end_step(config, state, out)

    @staticmethod
    def scripted_action(config: Particles, state: ParticlesState, seat: int) -> int:
        """Towards a landmark of one's own; any move where it is out of sight."""
        return approach(config, state, seat, config.num_players + seat % config.landmarks, 0.4)

    def redraw_pay(self, imagined: ParticlesState, seat: int, rng: Rng) -> None:
        """Others were paid the same for distances, and touched anybody more or less often."""
        own, steps = float(imagined.earned[seat]), int(imagined.turn)
        for other in range(self.num_players):
            if other != seat:
                more = self.local_ratio * rng.between(-steps, steps)
                imagined.earned[other] = min(0.0, own + more)

    def purpose(self, seat: int) -> str:
        return (
            "Cover all landmarks: everybody is paid minus the distances from each landmark to the "
            "player nearest to it, and minus 1 for every player who touches them. "
            f"The second counts {self.local_ratio:g}, the first {1 - self.local_ratio:g}."
        )


def pay(config: Particles, state: ParticlesState, out: Any) -> None:
    """Pay all for the distances of landmarks, and each player for their own contacts."""
    uncovered = 0.0
    for landmark in range(config.num_players, config.things):
        nearest = 1e9
        for seat in range(config.num_players):
            nearest = min(nearest, gap(state, seat, landmark))
        uncovered += nearest
    for seat in range(config.num_players):
        out.rewards[seat, DISTANCE] = -to_grain((1 - config.local_ratio) * uncovered)
        for other in range(config.num_players):
            if other != seat and touch(config, state, seat, other):
                out.rewards[seat, CONTACTS] -= config.local_ratio
