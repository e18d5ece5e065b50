"""Particles: players as discs on a plane who push themselves about; four scenarios.

In each step of 0.1 time units everybody picks a direction to push in, or none. Positions change by
velocity, velocities lose a quarter and gain force; solid discs that touch push one another apart
(force 100 times a softened overlap). Things start at random in the square from -1 to 1.

    spread              n players (size 0.15) cover n landmarks without touching. All are paid minus
                        the distances from each landmark to its nearest player, and each minus 1 for
                        everybody who touches him; `local_ratio` is the weight of the second
    tag                 predators (size 0.075, slower) hunt `num_prey` (the last seats, size 0.05)
                        among solid landmarks. A contact pays every predator 10 and costs the prey
                        10; prey also pays for leaving the square
    adversary           seat 0 does not know which landmark is the goal and is paid minus his
                        distance from it; the others share his distance minus that of their nearest
    speaker-listener    seat 0 sees which of three landmarks is the goal, and says one of three
                        words; seat 1 hears it a step later and moves. Both are paid minus the
                        square of his distance from the goal

The scenarios are those of Lowe, Wu, Tamar, Harb, Abbeel and Mordatch, "Multi-Agent Actor-Critic for
Mixed Cooperative-Competitive Environments", NIPS 2017, with the numbers of MPE2 (`simple_spread`,
`simple_tag`, `simple_adversary`, `simple_speaker_listener`). The softened overlap has no end at a
distance there; here it is 0 below exp(-40). Numbers are rounded to 2**-30.

Checked against recorded episodes of MPE2 1.1.1: positions, payments and views.

The array view is MPE2's, float32, without the words of those who never speak, with zeros at the end
for seats that see less: own velocity and position (spread, tag), goal (adversary: those who know
it), landmarks, other players, all relative to oneself, then velocities of other prey (tag). A
speaker sees three numbers, 0.65 for the goal and 0.15 for the others; a listener his velocity,
the landmarks, and what he hears, 1 for the word.

`sight` is how far away, from middle to middle, landmarks and other players are seen; 0, the
default, is any distance. What is farther has zeros for its place and velocity. So that this is not
taken for something on one's own place, a limited view goes on with a 1 for every landmark and other
player in it that is seen and a 0 for every one that is not, in the same order. Who knows the goal
of `adversary` sees it from anywhere; a speaker sees no more than without a limit, and a listener
hears as far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from palestra import (
    ArrayGame,
    Event,
    Grid,
    InvalidOption,
    Outcome,
    Piece,
    Rng,
    Scene,
    check_choice,
    check_ranges,
    environment,
    only,
)
from palestra.kernel.game import Seat
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.particles.rules import (
    ADVERSARY,
    BOUNDS,
    SPEAKER,
    SPREAD,
    STILL,
    TAG,
    approach,
    drift,
    flee,
    gap,
    in_sight,
    nearest_of,
    pay,
    rounded,
)

SCENARIOS = ("spread", "tag", "adversary", "speaker-listener")
ACTIONS = ("stay", "west", "east", "south", "north")
WORDS = ("say red", "say green", "say blue")
COLOURS = ("red", "green", "blue")
MAX_SEATS, MAX_LANDMARKS = 10, 10
TRIES = 100  # to find a place out of sight
TILES, SPAN = 13, 1.25  # of a picture: cells a side, and how far it reaches from the middle


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
    players=(1, 10),
)
@dataclass(frozen=True)
class Particles(ArrayGame):
    """You are a disc on a plane, and so are the other players.

    All players choose one action at the same time: "west", "east", "south" or "north" to push
    yourself that way, or "stay". A push changes your velocity, which also falls by a quarter in
    each step; your position changes by your velocity, a tenth of it in a step.
    Places are written as (east, north), as seen from you where it says so, and rounded.
    """

    scenario: str = "spread"
    num_players: int = 3
    num_landmarks: int = 0
    num_prey: int = 1
    local_ratio: float = 0.5
    max_steps: int = 25
    sight: float = 0.0

    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    num_actions = len(ACTIONS)
    reward_terms = ("distance", "contacts", "bounds")
    observation_dtype = np.float32
    observation_bounds = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        check_choice("scenario", self.scenario, SCENARIOS)
        least = 2 if self.scenario in ("tag", "adversary") else 1
        check_ranges(
            self,
            (
                ("num_players", least, MAX_SEATS),
                ("num_landmarks", 0, MAX_LANDMARKS),
                ("num_prey", 1, max(1, self.num_players - 1)),
                ("local_ratio", 0, 1),
                ("max_steps", 1, None),
                ("sight", 0, None),
            ),
        )
        if self.scenario == "speaker-listener" and (self.num_players, self.landmarks) != (2, 3):
            raise InvalidOption(
                "speaker-listener has two players and three landmarks, not "
                f"{self.num_players} and {self.landmarks}; set num_players=2"
            )

    # What follows from the options

    @property
    def kind(self) -> int:
        return SCENARIOS.index(self.scenario)

    @property
    def landmarks(self) -> int:
        """How many landmarks there are; num_landmarks=0 leaves it to the scenario."""
        players = self.num_players
        return self.num_landmarks or {SPREAD: players, TAG: 2, ADVERSARY: players - 1}.get(
            self.kind, 3
        )

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = {
            "spread": ["agent"] * self.num_players,
            "tag": ["predator"] * (self.num_players - self.num_prey) + ["prey"] * self.num_prey,
            "adversary": ["adversary"] + ["agent"] * (self.num_players - 1),
            "speaker-listener": ["speaker", "listener"],
        }[self.scenario]
        teams = {"predator": 0, "prey": 1, "adversary": 1}
        return tuple(
            Seat(name, role, teams.get(role, 0))
            for name, role in zip(self.players, roles, strict=True)
        )

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """Of players who push themselves; what throws somebody far off could cost more."""
        far, steps, prey = 3 + 0.5 * self.max_steps, self.max_steps, self.num_prey
        low, high = {
            SPREAD: (-far * self.landmarks - self.num_players, 0.0),
            TAG: (-10.0 * (self.num_players - prey) - 20, 10.0 * self.num_players * prey),
            ADVERSARY: (-far, far),
            SPEAKER: (-far * far, 0.0),
        }[self.kind]
        return (low * steps, high * steps)

    @property
    def observation_shape(self) -> tuple[int]:
        others = self.num_players - 1
        prey = self.num_prey if self.kind == TAG else 0
        head = {SPREAD: 4, TAG: 4, ADVERSARY: 2, SPEAKER: 2 + 3}[self.kind]
        if self.kind == SPEAKER:
            others = 0
        marks = self.landmarks + others if self.sight else 0
        return (head + 2 * (self.landmarks + others + prey) + marks,)

    def constants(self) -> Mapping[str, Any]:
        """`solid`: how many push; `sizes` of all; by seat, forces and top speeds (0: any)."""
        size, mark = ((0.15, 0.05), (0.0, 0.2), (0.15, 0.08), (0.075, 0.04))[self.kind]
        roles = [seat.role for seat in self.seats]
        sizes = [{"predator": 0.075, "prey": 0.05}.get(role, size) for role in roles]
        return {
            **super().constants(),
            "kind": self.kind,
            "things": self.num_players + self.landmarks,
            "landmarks": self.landmarks,
            "speakers": roles.count("speaker"),
            "solid": {SPREAD: self.num_players, TAG: self.num_players + self.landmarks}.get(
                self.kind, 0
            ),
            "sizes": tuple(sizes + [mark] * self.landmarks),
            "pulls": tuple({"predator": 3.0, "prey": 4.0}.get(role, 5.0) for role in roles),
            "tops": tuple({"predator": 1.0, "prey": 1.3}.get(role, 0.0) for role in roles),
        }

    def fields(self) -> list[tuple[Any, ...]]:
        """Places of players, then landmarks; velocities; the last word (0: none); the goal."""
        seats = self.num_players
        return [
            ("place", np.float64, (seats + self.landmarks, 2)),
            ("speed", np.float64, (seats, 2)),
            ("force", np.float64, (seats, 2)),
            ("said", np.int32),
            ("goal", np.int32),
            ("earned", np.float64, seats),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for thing in range(config.things):
            wide = 0.9 if config.kind == TAG and thing >= config.num_players else 1.0
            for axis in range(2):
                state.place[thing, axis] = rounded(wide * (2 * uniform(state) - 1))
        state.goal = randint(state, config.landmarks)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        drift(config, state, actions)
        if config.kind == SPEAKER:
            state.said = 1 + actions[0]
        pay(config, state, out)
        for seat in range(config.num_players):
            for term in range(BOUNDS + 1):
                state.earned[seat] += out.rewards[seat, term]
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(len(ACTIONS)):
            mask[action] = seat >= config.speakers or action < len(WORDS)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        place, speed, at = state.place, state.speed, 0
        if seat < config.speakers:
            for landmark in range(config.landmarks):
                view[landmark] = 0.65 if state.goal == landmark else 0.15
            return
        if config.kind != ADVERSARY:
            view[0], view[1], at = speed[seat, 0], speed[seat, 1], 2
        if config.kind in (SPREAD, TAG):
            view[2], view[3], at = place[seat, 0], place[seat, 1], 4
        if config.kind == ADVERSARY and seat > 0:
            goal = config.num_players + state.goal
            view[0], view[1] = place[goal, 0] - place[seat, 0], place[goal, 1] - place[seat, 1]
            at = 2
        for turn in range(config.things):
            thing = (turn + config.num_players) % config.things  # landmarks first
            shown = thing >= config.num_players or config.kind != SPEAKER
            if thing != seat and shown:
                if in_sight(config, state, seat, thing):
                    view[at] = place[thing, 0] - place[seat, 0]
                    view[at + 1] = place[thing, 1] - place[seat, 1]
                at += 2
        if config.kind == TAG:
            for prey in range(config.num_players - config.num_prey, config.num_players):
                if prey != seat:
                    if in_sight(config, state, seat, prey):
                        view[at], view[at + 1] = speed[prey, 0], speed[prey, 1]
                    at += 2
        if config.kind == SPEAKER:
            if state.said > 0:
                view[at + state.said - 1] = 1
            at += 3
        if config.sight > 0:
            for turn in range(config.things):
                thing = (turn + config.num_players) % config.things
                shown = thing >= config.num_players or config.kind != SPEAKER
                if thing != seat and shown:
                    view[at] = in_sight(config, state, seat, thing)
                    at += 1

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """To a landmark of one's own; to the prey, or away; to the goal, or to all landmarks.

        Any move where it does not see what it would go to.
        """
        players = config.num_players
        if config.kind == SPREAD:
            return approach(config, state, seat, players + seat % config.landmarks)
        if config.kind == TAG:
            predators = players - config.num_prey
            if seat >= predators:
                return flee(config, state, seat)
            prey = nearest_of(config, state, seat, predators, players)
            return approach(config, state, seat, prey)
        if config.kind == SPEAKER:
            if seat == 0:
                word: int = state.goal
                return word
            return approach(config, state, 1, players + state.said - 1) if state.said else STILL
        if seat > 0:
            chosen = (state.goal + seat - 1) % config.landmarks
            return approach(config, state, seat, players + chosen)
        best, near = players, 1e9
        for landmark in range(players, config.things):
            for other in range(1, players):
                seen = in_sight(config, state, 0, landmark) and in_sight(config, state, 0, other)
                if seen and gap(state, other, landmark) < near:
                    best, near = landmark, gap(state, other, landmark)
        return approach(config, state, 0, best)

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        return ended and replace(ended, reason=f"time was up after {self.max_steps} steps")

    def scores(self, state: Any) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state["earned"].tolist())

    def noop(self, state: Any, seat: int) -> int | None:
        return None if self.seats[seat].role == "speaker" else STILL

    # States

    def arrange(self, places: Any, *, goal: int = 0) -> Any:
        """A state at rest with players, then landmarks, at these (east, north)."""
        state = self.clone(self.initial_state(0))
        for thing, place in enumerate(places):
            state.place[thing] = [rounded(float(number)) for number in place]
        state.speed[:], state.goal = 0, goal
        return state

    def knows_goal(self, seat: int) -> bool:
        role = self.seats[seat].role
        return role == "speaker" or (self.kind == ADVERSARY and role == "agent")

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw anew the goal, for who does not know it, and velocities that the player cannot see.

        For a speaker also where everything is; for others what is out of sight, in the square and
        out of sight, unless no such place is found.
        """
        imagined = self.clone(state)
        hidden = [
            thing
            for thing in range(len(state.place))
            if thing != seat and not in_sight(self.config, state, seat, thing)
        ]

        def draw() -> float:
            return rounded(2 * rng.random() - 1)

        if not self.knows_goal(seat):
            imagined.goal = rng.below(self.landmarks)
        for other in range(self.num_players):
            seen = self.kind == TAG and self.seats[other].role == "prey" and other not in hidden
            if other != seat and not seen and self.seats[other].role != "speaker":
                imagined.speed[other] = draw(), draw()
        if self.seats[seat].role == "speaker":
            for thing in range(len(imagined.place)):
                imagined.place[thing] = draw(), draw()
            return imagined
        for thing in hidden:
            for _ in range(TRIES):
                imagined.place[thing] = draw(), draw()
                if not in_sight(self.config, imagined, seat, thing):
                    break
            else:
                imagined.place[thing] = state.place[thing]
        return imagined

    # Words

    def rules_for(self, seat: int) -> str:
        role = self.seats[seat].role
        purpose = {
            "agent": "Cover all landmarks: everybody is paid minus the distances from each "
            "landmark to the player nearest to it, and minus 1 for every player who touches him."
            if self.kind == SPREAD
            else "You are paid how far the adversary is from the goal landmark, minus how far the "
            "nearest agent is from it. The adversary does not know which landmark is the goal.",
            "predator": "You are a predator. Whenever a predator touches prey, all predators are "
            "paid 10. The prey is faster. Landmarks cannot be crossed.",
            "prey": "You are prey. You pay 10 for every predator who touches you, and for being "
            "more than 0.9 from the middle, east-west or north-south. Landmarks cannot be crossed.",
            "adversary": "You are the adversary. One landmark is the goal, and you are not told "
            "which; the agents are. You are paid minus your distance from it.",
            "speaker": "You are the speaker and cannot move. One landmark, which you see by its "
            "colour, is the goal of the listener, who hears you a step later. You are both paid "
            "minus the square of his distance from it.",
            "listener": "You are the listener. One of three landmarks is your goal; the speaker, "
            "whom you hear a step later, knows which. You are both paid minus the square of your "
            "distance from it.",
        }[role]
        told = super().rules_for(seat)
        if role == "speaker":
            told = 'You and a listener play together. Your actions are "say red", "say green" and '
            told += '"say blue"; all players choose at the same time.'
        if self.kind == SPREAD:
            purpose += (
                f" The second counts {self.local_ratio:g}, the first {1 - self.local_ratio:g}."
            )
        if self.sight and role != "speaker":
            purpose += f"\nYou see what is at most {self.sight:g} away from you"
            knows = self.kind == ADVERSARY and role == "agent"
            purpose += ", and the goal from anywhere." if knows else "."
        return f"{told}\n{purpose}\nTime is up after {self.max_steps} steps."

    def describe(self, state: Any, player: int) -> str:
        """What the array view holds, rounded, and how much time has gone by."""
        view, role = self.observe(state, player).astype(float), self.seats[player].role
        lines = [
            f"You are {self.players[player]}, {role}. Steps played: {int(state.turn)} of "
            f"{self.max_steps}."
        ]
        if role == "speaker":
            return "\n".join([*lines, f"The goal is {COLOURS[int(view[:3].argmax())]}."])
        pairs = iter([f"({east:.3f}, {north:.3f})" for east, north in _pairs(view)])

        def where(thing: int) -> str:
            told = next(pairs)
            return told if in_sight(self.config, state, player, thing) else "is out of sight"

        if self.kind != ADVERSARY:
            lines.append(f"Your velocity is {next(pairs)}.")
        if self.kind in (SPREAD, TAG):
            lines.append(f"You are at {next(pairs)}.")
        lines.append("From you:")
        if self.kind == ADVERSARY and player > 0:
            lines.append(f"- the goal {next(pairs)}")
        lines += [
            f"- {self.mark(number)} {where(self.num_players + number)}"
            for number in range(self.landmarks)
        ]
        others = [seat for seat in range(self.num_players) if seat != player]
        if self.kind == SPEAKER:
            heard = view[2 + 2 * self.landmarks :][:3]
            lines.append(
                f"You heard: {COLOURS[int(heard.argmax())] if heard.any() else 'nothing'}."
            )
            return "\n".join(lines)
        lines += [f"- {self.players[o]}, {self.seats[o].role} {where(o)}" for o in others]
        if self.kind == TAG:
            prey = [(o, next(pairs)) for o in others if self.seats[o].role == "prey"]
            lines += [
                f"The velocity of {self.players[o]} is {velocity}."
                for o, velocity in prey
                if in_sight(self.config, state, player, o)
            ]
        return "\n".join(lines)

    def mark(self, number: int) -> str:
        """What a landmark is called."""
        if self.kind == SPEAKER:
            return f"the {COLOURS[number]} landmark"
        return f"landmark {number + 1}"

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return (WORDS if self.seats[seat].role == "speaker" else ACTIONS)[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        """To each player what he did and was paid; always a "reveal", for all keeps moving."""
        if before is None:
            return []
        events = []
        for seat, action in sorted(actions.items()):
            paid = float(after.earned[seat] - before.earned[seat])
            did = self.action_text(before, seat, int(action))
            if self.seats[seat].role != "speaker" and action != STILL:
                did = f"push {did}"
            data = {"player": seat, "action": int(action)}
            text = f"You {did}. You are paid {paid:.4g}."
            events.append(Event("reveal", text, data, only(seat)))
        return events

    # Pictures

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        """The plane in squares; who is off it stands at its edge. A speaker sees none of it."""
        blind = seat is not None and self.seats[seat].role == "speaker"
        lines = []
        if self.kind == SPEAKER and (blind or seat is None):
            lines.append(f"The goal is {COLOURS[int(state.goal)]}.")
        if self.kind == SPEAKER and state.said and not blind:
            lines.append(f"Heard: {COLOURS[int(state.said) - 1]}.")
        caption = f"{self.scenario}, step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, None if blind else self._plane(state, seat), lines=tuple(lines))

    def _plane(self, state: Any, seat: int | None) -> Grid:
        """Landmarks, the goal where it is known, and players but for a speaker, seats on top."""
        cells: list[list[Piece | None]] = [[None] * TILES for _ in range(TILES)]
        told = self.kind in (ADVERSARY, SPEAKER) and (seat is None or self.knows_goal(seat))
        for thing in reversed(range(len(state.place))):
            east, north = state.place[thing].tolist()
            number = thing - self.num_players
            if seat is not None and not in_sight(self.config, state, seat, thing):
                continue
            if number >= 0:
                piece = Piece(str(number + 1), label=self.mark(number))
                if told and number == int(state.goal):
                    piece = Piece("G", 2, label=f"{self.mark(number)}, the goal")
            elif self.seats[thing].role == "speaker":
                continue
            else:
                label = f"{self.players[thing]}, {self.seats[thing].role}"
                piece = Piece(str(thing), thing, "disc", label)
            cells[_tile(-north)][_tile(east)] = piece
        return Grid(tuple(map(tuple, cells)))


def _pairs(view: Any) -> list[tuple[float, float]]:
    numbers = view.tolist()
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def _tile(where: float) -> int:
    """The square of a coordinate; one beyond the plane is at its edge."""
    return min(TILES - 1, max(0, int((where + SPAN) / (2 * SPAN) * TILES)))
