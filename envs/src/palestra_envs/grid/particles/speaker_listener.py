"""Speaker and listener: one player knows the goal but cannot move; the other moves and listens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palestra import Channel, InvalidOption, Rng, Scene, constant
from palestra.scene import Part, Saying, Talk

from palestra_envs.grid.particles.game import ACTIONS, Particles, random_coordinate
from palestra_envs.grid.particles.options import ParticlesState, Role, Scenario
from palestra_envs.grid.particles.rules import (
    DISTANCE,
    STILL,
    approach,
    drift,
    end_step,
    gap,
    to_grain,
    write_marks,
    write_places,
)

SPEAKER, LISTENER = range(2)  # seats
COLOURS = ("red", "green", "blue")
WORDS = ("say red", "say green", "say blue")


@dataclass(frozen=True)
class SpeakerListener(Particles):
    """The speaker, seat 0, sees which of three landmarks is the goal, and says one of three words.

    The listener, seat 1, hears it a step later and moves. Both are paid minus the square of the
    listener's distance from the goal. The speaker observes three numbers, 0.65 for the goal and
    0.15 for the others; the listener their velocity, the landmarks, and what they hear, 1 for the
    word. The listener hears from any distance.
    """

    scenario: Scenario = "speaker-listener"

    landmark_size = 0.04
    has_goal = True
    sees_players = False
    own_numbers = 2

    def validate(self) -> None:
        super().validate()
        if (self.num_players, self.landmarks) != (2, 3):
            raise InvalidOption(
                "speaker-listener has two players and three landmarks, not "
                f"{self.num_players} and {self.landmarks}; set num_players=2"
            )

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        return (Role("speaker", 0, 0.075), Role("listener", 0, 0.075))

    @property
    def usual_landmarks(self) -> int:
        return 3

    @property
    def more_numbers(self) -> int:
        return len(WORDS)

    @constant
    def speakers(self) -> int:
        return 1

    @property
    def step_bounds(self) -> tuple[float, float]:
        return (-self.farthest * self.farthest, 0.0)

    # The rules

    @staticmethod
    def apply_actions(config: Particles, state: ParticlesState, actions: Any, out: Any) -> None:
        drift(config, state, actions)
        state.said = 1 + actions[SPEAKER]
        far = gap(state, LISTENER, config.num_players + state.goal)
        for seat in range(config.num_players):
            out.rewards[seat, DISTANCE] = -to_grain(far * far)
        end_step(config, state, out)

    @staticmethod
    def write_legal_mask(config: Particles, state: ParticlesState, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            mask[action] = seat == LISTENER or action < len(WORDS)

    def own_channels(self, seat: int) -> tuple[Channel, ...]:
        if seat == SPEAKER:
            return (Channel("goal", self.landmarks, "0.65 for the goal, 0.15 for the others"),)
        return (Channel("velocity", 2, "own velocity: east, north"),)

    def place_channels(self, seat: int) -> tuple[Channel, ...]:
        return () if seat == SPEAKER else super().place_channels(seat)

    def more_channels(self, seat: int) -> tuple[Channel, ...]:
        return (Channel("heard", len(WORDS), "the word heard, one-hot; zeros before the first"),)

    @staticmethod
    def write_observation(config: Particles, state: ParticlesState, seat: int, obs: Any) -> None:
        """The goal for the speaker; own velocity, landmarks and the word for the listener."""
        if seat == SPEAKER:
            for landmark in range(config.landmarks):
                obs[landmark] = 0.65 if state.goal == landmark else 0.15
            return
        obs[0], obs[1] = state.speed[seat, 0], state.speed[seat, 1]
        at = write_places(config, state, seat, obs, 2)
        if state.said > 0:
            obs[at + state.said - 1] = 1
        write_marks(config, state, seat, obs, at + len(WORDS))

    @staticmethod
    def scripted_action(config: Particles, state: ParticlesState, seat: int) -> int:
        """Say the goal; go to the landmark that was said, if it is in sight."""
        if seat == SPEAKER:
            word: int = state.goal
            return word
        if state.said == 0:
            return STILL
        return approach(config, state, LISTENER, config.num_players + state.said - 1, 0.4)

    def noop(self, state: ParticlesState, seat: int) -> int | None:
        return None if seat == SPEAKER else STILL

    # What players see and read

    def knows_goal(self, seat: int) -> bool:
        return seat == SPEAKER

    def determinize(self, state: ParticlesState, seat: int, rng: Rng) -> ParticlesState:
        """Draw what the player does not see anew: for the speaker, everything but the goal."""
        if seat == LISTENER:
            return super().determinize(state, seat, rng)
        imagined: ParticlesState = self.clone(state)
        if state.turn:  # at the beginning the listener is at rest
            imagined.speed[LISTENER] = random_coordinate(rng), random_coordinate(rng)
        for thing in range(self.things):
            imagined.place[thing] = random_coordinate(rng), random_coordinate(rng)
        return imagined

    def rules_for(self, seat: int) -> str:
        if seat == LISTENER:
            return super().rules_for(seat)
        return (
            'You and a listener play together. Your actions are "say red", "say green" and '
            '"say blue"; all players choose at the same time.\n'
            "You are the speaker and cannot move. One landmark, which you see by its "
            "colour, is the goal of the listener, who hears you a step later. You are both paid "
            "minus the square of their distance from it.\n"
            f"Time is up after {self.max_steps} steps."
        )

    def purpose(self, seat: int) -> str:
        return (
            "You are the listener. One of three landmarks is your goal; the speaker, "
            "whom you hear a step later, knows which. You are both paid minus the square of your "
            "distance from it."
        )

    def describe(self, state: ParticlesState, seat: int) -> str:
        if seat == LISTENER:
            return super().describe(state, seat)
        return f"{self.heading(state, seat)}\nThe goal is {COLOURS[int(state.goal)]}."

    def describe_self(self, pairs: Iterator[str]) -> list[str]:
        return [f"Your velocity is {next(pairs)}."]

    def describe_more(self, state: ParticlesState, seat: int, pairs: Iterator[str]) -> list[str]:
        return [f"You heard: {COLOURS[int(state.said) - 1] if state.said else 'nothing'}."]

    def landmark_name(self, number: int) -> str:
        return f"the {COLOURS[number]} landmark"

    def action_text(self, state: ParticlesState, seat: int, action: int) -> str:
        return WORDS[action] if seat == SPEAKER else ACTIONS[action]

    def action_phrase(self, state: ParticlesState, seat: int, action: int) -> str:
        if seat == SPEAKER:
            return WORDS[action]
        return super().action_phrase(state, seat, action)

    def scene(self, state: ParticlesState, seat: int | None = None) -> Scene:
        """The plane for the listener, the goal for the speaker, both for a spectator."""
        sayings = []
        lines = []
        if seat != LISTENER:
            lines.append(f"The goal is {COLOURS[int(state.goal)]}.")
        if state.said and seat != SPEAKER:
            word = COLOURS[int(state.said) - 1]
            sayings.append(Saying(self.players[SPEAKER], word, SPEAKER))
        parts: tuple[Part, ...] = (Talk(tuple(sayings)),) if sayings else ()
        if seat != SPEAKER:
            parts = (self.plane(state, seat), *parts)
        return Scene(self.caption(state), lines=tuple(lines), parts=parts)
