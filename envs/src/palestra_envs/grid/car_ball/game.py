"""Car-ball: two teams of cars push a ball into each other's goal.

In a step all cars choose at once: each pushes to one side or rolls. A push changes a car's speed by
2 ticks a step (8 ticks are a cell), up to 10 along each axis; a car that does not push slows down.
Cars do not block one another, and walls stop them. Then the ball bounces off each car that touches
it and nears it, as off a body of infinite mass (its speed becomes twice the car's minus its own;
the mean, if several hit it at once). Then it rolls; walls reflect it, and every fourth step slows
it. The first half of the seats attacks the goal in the east, the others that in the west. The first
goal ends the episode; it pays 1 to the team that attacks there and -1 to the other. It is truncated
after `max_steps`.

Rewards on the way are 0 by default: `chase_reward` for each cell by which a car nears the ball,
`advance_reward` for each by which the ball nears the goal attacked, `hit_reward` for each hit. They
are terms of their own, to be combined as in Moschopoulos et al., "Lucy-SKG: Learning to Play Rocket
League Efficiently Using Deep Reinforcement Learning", 2023, whose game this is after, in two
dimensions and whole numbers; so the same episode is played on every machine.

Checked by hand: bounces keep the relative speed and turn it round; the pitch mirrored, with the
teams exchanged, plays the mirrored episode.

Left out: the third dimension, boost, jumps and collisions of cars of the video game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    Grid,
    InvalidOption,
    Meta,
    Out,
    Outcome,
    Piece,
    Scene,
    Shape,
    Vocabulary,
    environment,
    only,
)
from palestra.grids.compass import EAST, EASTWARD, MOVES, NORTH, SOUTH, SOUTHWARD, WEST
from palestra.grids.words import quantity
from palestra.kernel.game import Result
from palestra.rules import all_act, finish, randint, truncate
from palestra.scene import on_top

from palestra_envs.grid.car_ball.rules import (
    BALL_TOP,
    GOAL,
    HIT,
    NOBODY,
    TICKS,
    TOUCH,
    bounce,
    drive,
    far,
    in_goal,
    pay_progress,
    roll,
)

MAX_SIDE = 40


class CarBallState(ArrayState):
    """Where the cars and the ball are, and how fast."""

    place: Annotated[NDArray[np.int32], Shape("num_things", 2)]  # ticks south, east; ball last
    speed: Annotated[NDArray[np.int32], Shape("num_things", 2)]  # ticks a step
    hits: Annotated[NDArray[np.int8], Shape("num_players")]  # 1 for who hit the ball last step
    before: Annotated[NDArray[np.int32], Shape("num_players", 2)]  # scratch: of `pay_progress`
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far
    scorer: Annotated[int, np.int8]  # the team that scored; NOBODY before


@environment(
    "grid/CarBall-v0",
    family="grid",
    tags=("teams", "reward-terms"),
    paper=(
        "Moschopoulos et al. (2023), Lucy-SKG: Learning to Play Rocket League Efficiently"
        " Using Deep Reinforcement Learning"
    ),
    splits={
        "shaped": {"chase_reward": 0.05, "advance_reward": 0.05, "hit_reward": 0.1},
        "duel": {"num_players": 2},
    },
)
@dataclass(frozen=True)
class CarBall(ArrayGame[CarBallState]):
    """Two teams of cars push a ball into each other's goal.

    Actions are 0 roll, 1 north, 2 south, 3 west and 4 east.

    An observation is an int16 vector as the player attacks from west to east (mirrored for the
    second team): south and east, in ticks, then their speeds, of the player, of the ball, of the
    other members of the team and of the other team, each by seat.

    Rewards by term: `goal`, `chase`, `advance` and `hit`.
    """

    rows: Annotated[int, Meta(ge=3, le=MAX_SIDE, description="rows of the pitch")] = 9
    columns: Annotated[int, Meta(ge=5, le=MAX_SIDE, description="columns of the pitch")] = 15
    num_players: Annotated[int, Meta(ge=2, le=8, description="cars; an even number")] = 4
    goal_width: Annotated[int, Meta(ge=1, le=MAX_SIDE, description="rows of a goal")] = 3
    chase_reward: Annotated[
        float, Meta(ge=0, le=1000, description="reward for each cell nearer to the ball")
    ] = 0.0
    advance_reward: Annotated[
        float, Meta(ge=0, le=1000, description="reward for each cell by which the ball advances")
    ] = 0.0
    hit_reward: Annotated[float, Meta(ge=0, le=1000, description="reward for hitting the ball")] = (
        0.0
    )
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 200

    vocabulary = Vocabulary(words=("car", "ball", "goal", "pitch", "drive", "push"))
    rules_text = """
        You drive a car on a pitch. Two teams try to push a ball into each other's goal.

        All drivers choose one action at the same time: "north", "south", "west" or "east" to push
        the car that way, or "roll" to let it slow down. A push changes the car's speed by a quarter
        of a cell a step, up to ten eighths along each axis. Cars do not block one another; walls
        stop them. A car that meets the ball hits it, and the ball flies off the faster the faster
        the car drives towards it. Walls reflect the ball.

        The first goal ends the game. It pays 1 to the team that attacks there and -1 to the other.
    """
    order = "simultaneous"
    payoffs = "general"
    perfect_information = True
    num_actions = len(MOVES)
    reward_terms = ("goal", "chase", "advance", "hit")
    observation_dtype = np.int16
    fixed_moves = True

    def validate(self) -> None:
        if self.num_players % 2:
            raise InvalidOption(
                f"num_players must be even, for two teams of one size, not {self.num_players}"
            )
        if self.goal_width > self.rows:
            raise InvalidOption(
                f"goal_width must be at most the {self.rows} rows, not {self.goal_width}"
            )

    # Derived from the options

    @property
    def num_things(self) -> int:
        """How many cars and balls there are."""
        return self.num_players + 1

    @property
    def observation_shape(self) -> tuple[int]:
        return (4 * (self.num_players + 1),)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (-float(BALL_TOP), float(max(self.rows, self.columns) * TICKS))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        way = self.chase_reward * (self.columns + self.rows) + self.advance_reward * BALL_TOP
        most = self.max_steps * (way + self.hit_reward)
        return (-1.0 - most, 1.0 + most)

    # The rules

    @staticmethod
    def init_state(config: CarBall, state: CarBallState) -> None:
        half = config.num_players // 2
        state.scorer = NOBODY
        state.place[config.num_players, 0] = config.rows * TICKS // 2
        state.place[config.num_players, 1] = config.columns * TICKS // 2 - randint(state, 2)
        for seat in range(half):  # the teams start as mirror images
            south = randint(state, config.rows * TICKS)
            east = randint(state, config.columns * TICKS // 3)
            state.place[seat, 0] = state.place[seat + half, 0] = south
            state.place[seat, 1] = east
            state.place[seat + half, 1] = config.columns * TICKS - 1 - east
        all_act(state)

    @staticmethod
    def apply_actions(config: CarBall, state: CarBallState, actions: Any, out: Out) -> None:
        ball = config.num_players
        for seat in range(config.num_players):
            state.before[seat, 0] = far(state, seat, state.place[ball, 0], state.place[ball, 1])
            state.before[seat, 1] = state.place[ball, 1]
        for seat in range(config.num_players):
            drive(config, state, seat, SOUTHWARD[actions[seat]], EASTWARD[actions[seat]])
        bounce(config, state)
        for seat in range(config.num_players):
            out.rewards[seat, HIT] = config.hit_reward * state.hits[seat]
        state.scorer = roll(config, state)
        for seat in range(config.num_players):
            pay_progress(config, state, seat, state.before[seat], out)
            if state.scorer != NOBODY:
                won = state.scorer == (seat >= config.num_players // 2)
                out.rewards[seat, GOAL] = 1.0 if won else -1.0
            for term in range(HIT + 1):
                state.earned[seat] += out.rewards[seat, term]
        if state.scorer != NOBODY:
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: CarBall, state: CarBallState, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        mates = self.num_players // 2 - 1
        motion = "south and east in ticks, then speed south and east"
        return (
            Channel("own", 4, f"the player: {motion}, as they attack from west to east"),
            Channel("ball", 4, f"the ball: {motion}"),
            Channel("team", 4 * mates, f"each other member of the team by seat: {motion}"),
            Channel("opponents", 4 * (mates + 1), f"each opponent by seat: {motion}"),
        )

    @staticmethod
    def write_observation(config: CarBall, state: CarBallState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        half, at = config.num_players // 2, 8
        mirrored = seat >= half
        first = half if mirrored else 0
        for turn in range(config.num_players + 1):
            other = (first + turn) % config.num_players  # its own team, then the other
            place = at
            if turn == config.num_players:
                other, place = config.num_players, 4
            elif other == seat:
                place = 0
            else:
                at += 4
            obs[place] = state.place[other, 0]
            obs[place + 1] = state.place[other, 1]
            obs[place + 2] = state.speed[other, 0]
            obs[place + 3] = state.speed[other, 1]
            if mirrored:
                obs[place + 1] = config.columns * TICKS - 1 - state.place[other, 1]
                obs[place + 3] = -state.speed[other, 1]

    @staticmethod
    def scripted_action(config: CarBall, state: CarBallState, seat: int) -> int:
        """Get behind the ball, as seen from the goal attacked, and drive at it."""
        ball, ahead = config.num_players, 1
        if seat >= config.num_players // 2:
            ahead = -1
        south = state.place[ball, 0] - state.place[seat, 0]
        east = ahead * (state.place[ball, 1] - state.place[seat, 1])
        if east < 4 or abs(south) > TOUCH:  # a place behind the ball, on the line to the goal
            off = (2 * state.place[ball, 0] - config.rows * TICKS) // 8
            south += min(TOUCH, max(-TOUCH, off))
            east -= 2 * TOUCH
        south -= 2 * state.speed[seat, 0]
        east -= 2 * ahead * state.speed[seat, 1]
        if abs(south) > abs(east):
            return SOUTH if south > 0 else NORTH
        return EAST if (east > 0) == (ahead > 0) else WEST

    # Endings

    def outcome(self, state: CarBallState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None or ended.results[0] == "truncated":
            return ended
        half = self.num_players // 2
        sides = [state.scorer == (seat >= half) for seat in range(self.num_players)]
        results: tuple[Result, ...] = tuple("win" if won else "loss" for won in sides)
        goal = "eastern" if state.scorer == 0 else "western"
        return Outcome(results, ended.scores, f"the ball is in the {goal} goal")

    def scores(self, state: CarBallState) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state.earned.tolist())

    def noop(self, state: CarBallState, seat: int) -> int:
        return 0

    # Words

    def action_text(self, state: CarBallState, seat: int, action: int) -> str:
        return "roll" if action == 0 else MOVES[action]

    def rules_for(self, seat: int) -> str:
        half = self.num_players // 2
        own = [self.players[s] for s in range(self.num_players) if (s < half) == (seat < half)]
        lines = [
            super().rules_for(seat),
            f"The pitch has {self.rows} rows, from north to south, and {self.columns} columns, "
            f"from west to east. Goals are the middle {quantity(self.goal_width, 'row')} of the "
            f"western and eastern sides. Your team, {' and '.join(own)}, attacks the goal in the "
            f"{'east' if seat < half else 'west'}. Time is up after {self.max_steps} steps.",
        ]
        paid = (
            (self.chase_reward, "each cell by which you near the ball"),
            (self.advance_reward, "each cell by which the ball nears the goal you attack"),
            (self.hit_reward, "each hit of the ball"),
        )
        parts = [f"{amount:g} for {what}" for amount, what in paid if amount]
        return "\n".join([*lines, *([f"You are also paid {', '.join(parts)}."] if parts else [])])

    def describe(self, state: CarBallState, seat: int) -> str:
        """Places in cells, from the north-west corner, and speeds in cells a step."""
        names = [*self.players, "the ball"]
        names[seat] = f"{names[seat]} (you)"
        rows = (f"- {n}: {self._motion(state, thing)}" for thing, n in enumerate(names))
        return "\n".join([f"Steps played: {int(state.turn)} of {self.max_steps}.", *rows])

    def _motion(self, state: CarBallState, thing: int) -> str:
        south, east = (state.place[thing] / TICKS).tolist()
        down, right = (state.speed[thing] / TICKS).tolist()
        return f"{south:.2f} south, {east:.2f} east; speed {down:+.2f} south, {right:+.2f} east"

    def narrate(
        self, before: CarBallState | None, actions: Mapping[int, int], after: CarBallState
    ) -> list[Event]:
        if before is None:
            return []
        events = []
        for seat, action in sorted(actions.items()):
            paid = float(after.earned[seat] - before.earned[seat])
            text = "You let the car roll." if action == 0 else f"You push {MOVES[int(action)]}."
            text += f" You are paid {paid:.4g}." if paid else ""
            data = {"player": seat, "action": int(action)}
            events.append(Event("move", text, data, only(seat)))
        if after.scorer != NOBODY:
            events.append(Event("goal", "A goal!", {"team": int(after.scorer)}))
        return events

    # Pictures

    def scene(self, state: CarBallState, seat: int | None = None) -> Scene:
        """The pitch, cell by cell, with the goals at its sides."""
        cells: list[list[Piece | None]] = [[None] * self.columns for _ in range(self.rows)]
        things = [*range(self.num_players), self.num_players]
        teams = tuple(int(seat >= self.num_players // 2) for seat in range(self.num_players))
        for thing in things:
            row, column = (state.place[thing] // TICKS).tolist()
            piece = Piece("o", "white", "disc", "the ball")
            if thing < self.num_players:
                piece = Piece(
                    str(thing), teams[thing], "disc", self.players[thing], "car", badge=str(thing)
                )
            cells[row][column] = on_top(cells[row][column], piece)
        goal = [in_goal(self, row * TICKS + TICKS // 2) for row in range(self.rows)]
        ground = tuple(
            tuple(
                "goal" if held and column in (0, self.columns - 1) else "grass"
                for column in range(self.columns)
            )
            for held in goal
        )
        grid = Grid(tuple(map(tuple, cells)), ground=ground, style="floor")
        return Scene(f"Step {int(state.turn)} of {self.max_steps}", grid=grid, colours=teams)
