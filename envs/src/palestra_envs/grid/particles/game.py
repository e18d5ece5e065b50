"""Particles: players are discs that move on a plane, in four scenarios.

In each step of 0.1 time units every player accelerates in one of four directions, or not at all.
Positions change by velocity; velocities are damped by a quarter and changed by forces; solid discs
that touch push one another apart (force 100 times a softened overlap). Things start at random in
the square from -1 to 1.

This module holds what the scenarios share; each has a module of its own: `spread`, `tag`,
`adversary` and `speaker_listener`. They are those of Lowe, Wu, Tamar, Harb, Abbeel and Mordatch,
"Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", NIPS 2017, with the
numbers of MPE2 (`simple_spread`, `simple_tag`, `simple_adversary`, `simple_speaker_listener`). The
softened overlap never quite ends there; here it is 0 below exp(-40). Numbers are rounded to 2**-30.

Checked against recorded episodes of MPE2 1.1.1: positions, payments and observations.

Left out: the paper's other scenarios (covert communication, keep-away, reference, world
communication); continuous actions.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from palestra import (
    Channel,
    Event,
    InvalidOption,
    Outcome,
    Rng,
    Scene,
    Vocabulary,
    environment,
    only,
)
from palestra.kernel.errors import UnknownOption
from palestra.kernel.specs import load_entry_point
from palestra.rules import all_act, randint, uniform
from palestra.scene import Plane, Spot

from palestra_envs.grid.particles.options import ParticlesOptions, ParticlesState
from palestra_envs.grid.particles.rules import (
    STILL,
    drift,
    end_step,
    in_sight,
    to_grain,
    write_marks,
    write_motion,
    write_places,
)

SCENARIOS = {
    "spread": "palestra_envs.grid.particles.spread:Spread",
    "tag": "palestra_envs.grid.particles.tag:Tag",
    "adversary": "palestra_envs.grid.particles.adversary:Adversary",
    "speaker-listener": "palestra_envs.grid.particles.speaker_listener:SpeakerListener",
}
ACTIONS = ("stay", "west", "east", "south", "north")
TRIES = 100  # attempts to find a place out of sight
SPAN = 1.25  # how far a picture reaches from the middle of the plane
AHEAD = 0.1  # of a unit of time: how long an arrow is that shows a velocity


@environment(
    "grid/Particles-v0",
    family="grid",
    tags=("cooperation", "competition", "continuous", "messages", "hidden-information"),
    paper=(
        "Lowe et al. (2017), Multi-Agent Actor-Critic for Mixed Cooperative-Competitive "
        "Environments"
    ),
    splits={
        "spread": {"scenario": "spread", "num_players": 3},
        "tag": {"scenario": "tag", "num_players": 4},
        "adversary": {"scenario": "adversary", "num_players": 3},
        "speaker-listener": {"scenario": "speaker-listener", "num_players": 2},
        "near-sighted": {"scenario": "spread", "num_players": 3, "sight": 0.6},
        "near-sighted-tag": {"scenario": "tag", "num_players": 4, "sight": 0.6},
        "held-out-5-players": {"scenario": "spread", "num_players": 5},
        "held-out-two-prey": {"scenario": "tag", "num_players": 7, "num_prey": 2},
    },
)
@dataclass(frozen=True)
class Particles(ParticlesOptions):
    """Discs move on a plane, in one of four scenarios.

    `Particles(scenario="tag")` makes a game of the scenario's own class, such as `tag.Tag`.

    Actions are 0 stay, 1 west, 2 east, 3 south and 4 north; a speaker has three words instead. An
    observation is MPE2's, float32, without the words of those who never speak, with zeros at the
    end for seats that see less: own velocity and position (spread, tag) or the goal (adversary:
    those who know it), landmarks and other players relative to oneself, then velocities of other
    prey (tag). `speaker_listener` says what a speaker and a listener observe.

    With `sight`, distances are measured between centres. Things farther away have zeros for
    position and velocity. To tell them from a thing at one's own position, the observation then
    ends with a 1 for every landmark and other player that is seen and a 0 for every one that is
    not, in the same order. Players who know the goal of `adversary` see it from anywhere; a speaker
    observes the same as without a limit.
    """

    vocabulary = Vocabulary(
        words=(
            "disc",
            "plane",
            "push",
            "velocity",
            "landmark",
            "goal",
            "agent",
            "speaker",
            "listener",
            "adversary",
            "adversaries",
            "predator",
            "prey",
            "chaser",
        ),
    )
    rules_text = """
        You are a disc on a plane, and so are the other players.

        All players choose one action at the same time: "west", "east", "south" or "north" to push
        yourself that way, or "stay". A push changes your velocity, which also falls by a quarter in
        each step; your position changes by your velocity, a tenth of it in a step.
        Places are written as (east, north), as seen from you where it says so, and rounded.
    """
    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    num_actions = len(ACTIONS)
    reward_terms = ("distance", "contacts", "bounds")
    observation_dtype = np.float32
    observation_bounds = (-np.inf, np.inf)

    def __new__(cls, scenario: Any = "spread", *options: Any, **named: Any) -> Particles:
        """Create an instance of the scenario's class if `Particles` itself is called."""
        if cls is Particles:
            known = SCENARIOS.get(scenario) if isinstance(scenario, str) else None
            cls = load_entry_point(known or SCENARIOS["spread"])  # which refuses an unknown one
        accepted = list(inspect.signature(cls.__init__).parameters)[1:]
        for name in named:
            if name not in accepted:
                raise UnknownOption(cls.__name__, name, accepted)
        return super().__new__(cls)

    def validate(self) -> None:
        super().validate()
        if not isinstance(self, load_entry_point(SCENARIOS[self.scenario])):
            raise InvalidOption(
                f"{type(self).__name__} is not the scenario {self.scenario!r}; make one with "
                f"Particles(scenario={self.scenario!r})"
            )

    @property
    def farthest(self) -> float:
        """The largest distance that things can reach in an episode by their own pushes."""
        return 3 + 0.5 * self.max_steps

    @property
    def step_bounds(self) -> tuple[float, float]:
        """The least and most a step pays a player."""
        return (0.0, 0.0)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """Bounds without collisions; a collision that throws players far off could cost more."""
        low, high = self.step_bounds
        return (low * self.max_steps, high * self.max_steps)

    # The rules, without rewards

    @staticmethod
    def init_state(config: Particles, state: ParticlesState) -> None:
        for thing in range(config.things):
            wide = config.landmark_reach if thing >= config.num_players else 1.0
            for axis in range(2):
                state.place[thing, axis] = to_grain(wide * (2 * uniform(state) - 1))
        state.goal = randint(state, config.landmarks)
        all_act(state)

    @staticmethod
    def apply_actions(config: Particles, state: ParticlesState, actions: Any, out: Any) -> None:
        drift(config, state, actions)
        end_step(config, state, out)

    @staticmethod
    def write_legal_mask(config: Particles, state: ParticlesState, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        found = (*self.own_channels(seat), *self.place_channels(seat))
        unused = self.observation_shape[0] - sum(channel.size for channel in found)
        return (*found, Channel("unused", unused, "zeros")) if unused else found

    def own_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("velocity", 2, "own velocity: east, north"),
            Channel("place", 2, "own place: east, north"),
        )

    def place_channels(self, seat: int) -> tuple[Channel, ...]:
        """Where landmarks and players are, and which of them are in sight, if sight is limited."""
        others = self.num_players - 1 if self.sees_players else 0
        seen = (
            Channel("landmarks_seen", self.landmarks, "1 for each landmark in sight"),
            Channel("others_seen", others, "1 for each other player in sight"),
        )
        found = (
            Channel("landmarks", 2 * self.landmarks, "each landmark, relative to the player"),
            Channel("others", 2 * others, "each other player by seat, relative to the player"),
            *self.more_channels(seat),
            *(seen if self.sight else ()),
        )
        return tuple(channel for channel in found if channel.size)

    def more_channels(self, seat: int) -> tuple[Channel, ...]:
        """What a scenario shows after the places."""
        return ()

    @staticmethod
    def write_observation(config: Particles, state: ParticlesState, seat: int, obs: Any) -> None:
        """Own velocity and place, landmarks, other players."""
        write_motion(state, seat, obs)
        at = write_places(config, state, seat, obs, 4)
        write_marks(config, state, seat, obs, at)

    def outcome(self, state: ParticlesState) -> Outcome | None:
        ended = super().outcome(state)
        return ended and replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: ParticlesState) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state.earned.tolist())

    def noop(self, state: ParticlesState, seat: int) -> int | None:
        return STILL

    # States

    def arrange(self, places: Any, *, goal: int = 0) -> ParticlesState:
        """A state at rest with players, then landmarks, at these (east, north)."""
        state: ParticlesState = self.clone(self.initial_state(0))
        for thing, place in enumerate(places):
            state.place[thing] = [to_grain(float(number)) for number in place]
        state.speed[:], state.goal = 0, goal
        return state

    def sees(self, state: ParticlesState, seat: int, thing: int) -> bool:
        """Whether a player sees where a thing is."""
        return in_sight(self.config, state, seat, thing)

    def sees_velocity(self, state: ParticlesState, seat: int, other: int) -> bool:
        """Whether a player sees how another player moves."""
        return False

    def knows_goal(self, seat: int) -> bool:
        """Whether a player knows which landmark is the goal."""
        return False

    def determinize(self, state: ParticlesState, seat: int, rng: Rng) -> ParticlesState:
        """Redraw the goal, unless the player knows it, and everything they do not see.

        Things out of sight get places in the square and out of sight. Where no draw finds any, they
        lie towards the farthest corner, out of sight. What others were paid is drawn too, unless
        the player sees all that it depends on.
        """
        imagined: ParticlesState = self.clone(state)
        if not self.knows_goal(seat):
            imagined.goal = rng.below(self.landmarks)
        for other in range(self.speakers, self.num_players):
            if state.turn and other != seat and not self.sees_velocity(state, seat, other):
                imagined.speed[other] = random_coordinate(rng), random_coordinate(rng)
        for thing in range(self.things):
            if thing != seat and not self.sees(state, seat, thing):
                self._hide(imagined, seat, thing, rng)
        if state.turn and (self.sight or (self.has_goal and not self.knows_goal(seat))):
            self.redraw_pay(imagined, seat, rng)
        return imagined

    def redraw_pay(self, imagined: ParticlesState, seat: int, rng: Rng) -> None:
        """Draw what others were paid, which fits what the player was paid: here, the same."""
        imagined.earned[:] = imagined.earned[seat]

    def _hide(self, imagined: ParticlesState, seat: int, thing: int, rng: Rng) -> None:
        """Move a thing to a random place out of sight of a player."""
        for _ in range(TRIES):
            imagined.place[thing] = random_coordinate(rng), random_coordinate(rng)
            if not self.sees(imagined, seat, thing):
                return
        own = imagined.place[seat]
        away = np.where(own > 0, -1.0, 1.0) - own  # to the farthest corner
        far = float(np.hypot(*away))
        nearest = self.sight * 1.01 / far
        imagined.place[thing] = own + away * (nearest + max(0.0, 1 - nearest) * rng.random())

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat), self.purpose(seat)]
        if self.sight:
            goal = ", and the goal from anywhere" if self.knows_goal(seat) else ""
            lines.append(f"You see what is at most {self.sight:g} away from you{goal}.")
        return "\n".join([*lines, f"Time is up after {self.max_steps} steps."])

    def purpose(self, seat: int) -> str:
        """What a player is to do, and what for."""
        return ""

    def describe(self, state: ParticlesState, seat: int) -> str:
        """What the array observation holds, rounded, and how many steps were played."""
        numbers = self.seen(state, seat).astype(float).tolist()
        places = zip(numbers[::2], numbers[1::2], strict=False)
        pairs = iter([f"({east:.3f}, {north:.3f})" for east, north in places])
        names = {self.num_players + n: self.landmark_name(n) for n in range(self.landmarks)}
        if self.sees_players:
            others = (o for o in range(self.num_players) if o != seat)
            names |= {o: f"{self.players[o]}, {self.seats[o].role}" for o in others}
        lines = [
            self.heading(state, seat),
            *self.describe_self(pairs),
            "From you:",
            *self.describe_goal(seat, pairs),
        ]
        for thing, name in names.items():
            place = next(pairs)
            where = place if self.sees(state, seat, thing) else "is out of sight"
            lines.append(f"- {name} {where}")
        return "\n".join([*lines, *self.describe_more(state, seat, pairs)])

    def heading(self, state: ParticlesState, seat: int) -> str:
        """Who a player is, and how many steps were played."""
        return (
            f"You are {self.players[seat]}, {self.seats[seat].role}. "
            f"Steps played: {int(state.turn)} of {self.max_steps}."
        )

    def describe_self(self, pairs: Iterator[str]) -> list[str]:
        """Lines on the player, from the first pairs of numbers of the observation."""
        return [f"Your velocity is {next(pairs)}.", f"You are at {next(pairs)}."]

    def describe_goal(self, seat: int, pairs: Iterator[str]) -> list[str]:
        """A line on the goal, if the observation has its place next."""
        return []

    def describe_more(self, state: ParticlesState, seat: int, pairs: Iterator[str]) -> list[str]:
        """Lines on what the observation has after the places."""
        return []

    def landmark_name(self, number: int) -> str:
        """What a landmark is called, by its number from 0."""
        return f"landmark {number + 1}"

    def action_text(self, state: ParticlesState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def action_phrase(self, state: ParticlesState, seat: int, action: int) -> str:
        """What a player does by an action, as in 'You push west'."""
        text = self.action_text(state, seat, action)
        return text if action == STILL else f"push {text}"

    def narrate(
        self, before: ParticlesState | None, actions: Mapping[int, int], after: ParticlesState
    ) -> list[Event]:
        """Tell each player their action and reward; a "reveal", since everything keeps moving."""
        if before is None:
            return []
        events = []
        for seat, action in sorted(actions.items()):
            paid = float(after.earned[seat] - before.earned[seat])
            phrase = self.action_phrase(before, seat, int(action))
            data = {"player": seat, "action": int(action)}
            text = f"You {phrase}. You are paid {paid:.4g}."
            events.append(Event("reveal", text, data, only(seat)))
        return events

    # Pictures

    def scene(self, state: ParticlesState, seat: int | None = None) -> Scene:
        """The plane; things beyond it are drawn at its edge."""
        return Scene(self.caption(state), parts=(self.plane(state, seat),))

    def caption(self, state: ParticlesState) -> str:
        """The line above a picture."""
        return f"{self.scenario}, step {int(state.turn)} of {self.max_steps}"

    def plane(self, state: ParticlesState, seat: int | None) -> Plane:
        """Landmarks and players without speakers, lower seats on top, for a seat or a spectator."""
        seen = [
            thing
            for thing in reversed(range(self.speakers, self.things))
            if seat is None or self.sees(state, seat, thing)
        ]
        return Plane(tuple(self._spot(state, seat, thing) for thing in seen))

    def _spot(self, state: ParticlesState, seat: int | None, thing: int) -> Spot:
        """A player with the way they move, if the viewer may know it, or a landmark."""
        east, north = state.place[thing].tolist()
        spot = Spot(share_of(east), share_of(-north), self.config.sizes[thing] / (2 * SPAN))
        if thing < self.num_players:
            moving = tuple(state.speed[thing].tolist()) if seat in (None, thing) else (0.0, 0.0)
            role = self.seats[thing].role
            label = role if len({one.role for one in self.seats}) > 1 else ""
            heading = (moving[0] * AHEAD, -moving[1] * AHEAD)
            return replace(spot, name=str(thing), colour=thing, label=label, heading=heading)
        number = thing - self.num_players
        spot = replace(spot, landmark=True, label=self.landmark_name(number))
        is_goal = self.has_goal and number == int(state.goal)
        if is_goal and (seat is None or self.knows_goal(seat)):
            return replace(spot, colour="goal", label=f"{spot.label}, the goal")
        return replace(spot, colour="silver")


def random_coordinate(rng: Rng) -> float:
    """A random number from -1 to 1, on the grain of all places."""
    return to_grain(2 * rng.random() - 1)


def share_of(coordinate: float) -> float:
    """A coordinate as a share of the picture's side; one beyond the plane is at its edge."""
    return min(1.0, max(0.0, (coordinate + SPAN) / (2 * SPAN)))
