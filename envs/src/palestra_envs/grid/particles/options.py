"""The options of particle games, values derived from them, and the state of an episode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Meta, Seat, Shape, check_ranges, constant

MAX_SEATS, MAX_LANDMARKS, MAX_STEPS = 10, 10, 1_000_000
Scenario = Annotated[
    Literal["spread", "tag", "adversary", "speaker-listener"],
    Meta(description="the scenario, which sets the players' tasks"),
]


class ParticlesState(ArrayState):
    """Where everything is on the plane: things are the players by seat, then the landmarks.

    A position is (east, north) of the centre; velocities are in length per unit of time.
    """

    place: Annotated[NDArray[np.float64], Shape("things", 2)]
    speed: Annotated[NDArray[np.float64], Shape("num_players", 2)]
    force: Annotated[NDArray[np.float64], Shape("num_players", 2)]  # 0 except within a step
    said: Annotated[int, np.int32]  # the last word, from 1; 0 for none
    goal: Annotated[int, np.int32]  # the landmark that is the goal, from 0
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # payments so far


class Role(NamedTuple):
    """A kind of player: `size` is a radius, `top` the top speed (0 for no limit)."""

    name: str
    team: int
    size: float
    pull: float = 5.0
    top: float = 0.0


@dataclass(frozen=True)
class ParticlesOptions(ArrayGame[ParticlesState]):
    """The options shared by all parts of a particle game; scenarios override the facts."""

    scenario: Scenario = "spread"
    num_players: Annotated[int, Meta(ge=1, le=MAX_SEATS, description="number of players")] = 3
    num_landmarks: Annotated[
        int,
        Meta(
            ge=0, le=MAX_LANDMARKS, description="number of landmarks; 0 for the scenario's default"
        ),
    ] = 0
    num_prey: Annotated[
        int,
        Meta(
            ge=1, le=MAX_SEATS - 1, description="number of prey, who take the last seats (tag only)"
        ),
    ] = 1
    local_ratio: Annotated[
        float,
        Meta(
            ge=0, le=1, description="weight of one's own contacts against distances (spread only)"
        ),
    ] = 0.5
    max_steps: Annotated[
        int, Meta(ge=1, le=MAX_STEPS, description="steps after which the episode is cut off")
    ] = 25
    sight: Annotated[
        float,
        Meta(
            ge=0, description="distance up to which landmarks and players are seen; 0 for no limit"
        ),
    ] = 0.0

    # The facts of a scenario

    landmark_size: ClassVar[float] = 0.05  # radius
    has_goal: ClassVar[bool] = False  # whether one landmark is the goal
    sees_players: ClassVar[bool] = True  # whether observations show other players
    own_numbers: ClassVar[int] = 4  # of an observation, before the places

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The role of each seat."""
        return (Role("agent", 0, 0.15),) * self.num_players

    @property
    def usual_landmarks(self) -> int:
        """How many landmarks there are where `num_landmarks` is 0."""
        return self.num_players

    @property
    def more_numbers(self) -> int:
        """How many numbers an observation has after the places."""
        return 0

    # Derived from the options

    def validate(self) -> None:
        check_ranges(self, (("num_prey", 1, max(1, self.num_players - 1)),))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        return tuple(
            Seat(name, role.name, role.team)
            for name, role in zip(self.players, self.roles, strict=True)
        )

    @property
    def observation_shape(self) -> tuple[int]:
        places = self.landmarks + (self.num_players - 1 if self.sees_players else 0)
        marks = places if self.sight else 0
        return (self.own_numbers + 2 * places + self.more_numbers + marks,)

    @constant
    def landmarks(self) -> int:
        """How many landmarks there are."""
        return self.num_landmarks or self.usual_landmarks

    @constant
    def things(self) -> int:
        """How many players and landmarks there are."""
        return self.num_players + self.landmarks

    @constant
    def shown(self) -> int:
        """How many things, landmarks first, observations show, the own player included."""
        return self.things if self.sees_players else self.landmarks

    @constant
    def speakers(self) -> int:
        """How many players, the first seats, speak and cannot move."""
        return 0

    @constant
    def solid(self) -> int:
        """How many things, in their order, push others away."""
        return 0

    @constant
    def goal_is_known(self) -> bool:
        """Whether all players but the first see the goal from anywhere."""
        return False

    @constant
    def landmark_reach(self) -> float:
        """How far from the middle landmarks lie at most, east-west and north-south."""
        return 1.0

    @constant
    def sizes(self) -> tuple[float, ...]:
        """The radius of each thing."""
        return (*(role.size for role in self.roles), *[self.landmark_size] * self.landmarks)

    @constant
    def pulls(self) -> tuple[float, ...]:
        """The force with which each player pushes itself."""
        return tuple(role.pull for role in self.roles)

    @constant
    def tops(self) -> tuple[float, ...]:
        """The top speed of each player; 0 for none."""
        return tuple(role.top for role in self.roles)
