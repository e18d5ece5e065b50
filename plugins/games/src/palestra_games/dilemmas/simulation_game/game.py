"""Simulation games: a player who must trust may first pay to learn what the other will do.

A table gives what a simulator and a simulatee are paid for a move and an answer. The simulatee
commits to an answer first, unseen; the simulator moves, or pays a cost, is shown the commitment,
and then moves. With `grain` 1 a commitment is one answer, so that simulation shows the very answer
(V. Kovařík, C. Oesterheld and V. Conitzer, "Game Theory with Simulation of Other Players", IJCAI
2023). With a larger grain it is a mixed strategy, in shares of 1 / grain, of which the answer is
drawn at the end: simulation shows the chances and not the draw, as in "Game Theory with Simulation
in the Presence of Unpredictable Randomisation" (2025). The default is a trust game; the splits are
that, trust that can be scaled, trust among two projects, and the ultimatum game, whose responder
commits to the least they accept.

Checked, for the trust game that pays a simulator `a` for justified trust and -`l`
for betrayal, and a trustee `b` and `t`, at cost c: up to c = al / (a + l) the trustee cooperates
with probability 1 - c / l and the trustor simulates with probability 1 - b / t and trusts blindly
otherwise, which is worth a (1 - c / l) - c and b to them; above it nobody trusts. Simulating mixed
strategies helps neither player in that game, and both if trust can be scaled.

An observation is a float32 vector of 2a + m + 4 numbers for a answers and m moves:

    own seat                              simulator, simulatee
    committed yet, simulated              flags
    shares of the commitment              one an answer, zeros while unknown to this player
    the move, the answer drawn            one of m and of a, zeros before

Left out: simulators that learn something private on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb
from typing import Annotated, Any

import numpy as np
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Outcome,
    Rng,
    Scene,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import finish, randint, turn_to

from palestra_games.dilemmas.outcomes import score_outcome
from palestra_games.dilemmas.payoff_tables import (
    FEWEST_MOVES,
    MOST_MOVES,
    Cells,
    PayoffTable,
    check_names,
)

SIMULATOR, SIMULATEE = 0, 1
PAYOFF, SIMULATION = 0, 1  # reward terms
NOTHING = -1  # not committed, moved or drawn yet
MOST_COMMITMENTS = 1000
SIMULATE = "simulate"


class SimulationState(ArrayState):
    """What has been committed to, shown and played."""

    commitment: Annotated[int, np.int32]  # its number in `commitments`; -1 before
    simulated: Annotated[int, np.uint8]  # 1 once the simulator has paid to see the commitment
    move: Annotated[int, np.int32]  # the simulator's move; -1 before
    answer: Annotated[int, np.int32]  # the answer, drawn by the commitment; -1 before


@environment(
    "games/SimulationGame-v0",
    family="matrix",
    tags=("social-dilemma", "hidden-information", "costs"),
    paper=(
        "Kovařík, Oesterheld and Conitzer (2023), Game Theory with Simulation of Other "
        "Players; Kovařík et al. (2025), Game Theory with Simulation in the Presence of "
        "Unpredictable Randomisation"
    ),
    splits={
        "trust": {},
        "mixed": {"grain": 10},
        "scaled": {
            "payoffs_table": (25, 25, -100, 100, 15, 10, -10, 12, 0, 0, 0, 0),
            "moves": ("trust", "trust partly", "walk out"),
            "cost": 1.0,
            "grain": 10,
        },
        "coordination": {
            "payoffs_table": (
                25,
                25,
                -20,
                0,
                -100,
                100,
                -20,
                0,
                25,
                25,
                -100,
                100,
                0,
                0,
                0,
                0,
                0,
                0,
            ),
            "moves": ("trust in the north", "trust in the south", "walk out"),
            "answers": ("north", "south", "defect"),
        },
        "ultimatum": {
            "payoffs_table": (
                0,
                0,
                0,
                0,
                0,
                0,
                3,
                1,
                0,
                0,
                0,
                0,
                2,
                2,
                2,
                2,
                0,
                0,
                1,
                3,
                1,
                3,
                1,
                3,
            ),
            "moves": ("offer 0", "offer 1", "offer 2", "offer 3"),
            "answers": ("accept from 1", "accept from 2", "accept from 3"),
            "cost": 0.5,
        },
    },
)
@dataclass(frozen=True)
class SimulationGame(PayoffTable, ArrayGame[SimulationState]):
    """A simulator may pay to see what a simulatee has committed to, and then moves.

    player_0 is the simulator: actions are moves by number, then "simulate". player_1 is the
    simulatee: an action is the number of a commitment in `commitments`. The module's docstring has
    the layout of an observation. Both are paid by the table, the simulator less the cost.
    """

    vocabulary = Vocabulary(
        words=(
            "commit",
            "simulation",
        ),
    )
    rules_text = """
        player_0 moves and player_1 answers; both are paid by the table below.

        player_1 goes first: they commit to their answer, and player_0 does not see it. Then
        player_0 writes their move, or "simulate": they pay for it, are shown what player_1 has
        committed themselves to, and then write their move. Then both are paid.
    """

    payoffs_table: Annotated[
        Cells,
        Meta(
            description="payoffs row by row of moves, for every answer what player_0 and player_1 "
            "are paid; flat, or nested in rows and cells"
        ),
    ] = (25, 25, -100, 100, 0, 0, 0, 0)
    moves: Annotated[
        Sequence[str],
        Meta(
            min_length=FEWEST_MOVES,
            max_length=MOST_MOVES,
            description="names of the simulator's moves",
        ),
    ] = ("trust", "walk out")
    answers: Annotated[
        Sequence[str],
        Meta(
            min_length=FEWEST_MOVES,
            max_length=MOST_MOVES,
            description="names of the simulatee's answers",
        ),
    ] = ("cooperate", "defect")
    cost: Annotated[
        float, Meta(ge=0, le=1e6, description="payoff the simulator gives up to simulate")
    ] = 5.0
    grain: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_COMMITMENTS - 1,
            description="number of equal shares of a commitment; 1 commits to a single answer",
        ),
    ] = 1

    order = "sequential"
    payoffs = "general"
    perfect_information = False
    num_players = 2
    reward_terms = ("payoff", "simulation")
    observation_dtype = np.float32

    def validate(self) -> None:
        super().validate()
        check_names("answers", self.answers)
        if SIMULATE in self.moves:
            raise InvalidOption(f'moves cannot be called "{SIMULATE}"; choose another name')
        ways = comb(self.grain + len(self.answers) - 1, self.grain)
        if ways > MOST_COMMITMENTS:
            raise InvalidOption(
                f"grain must give at most {MOST_COMMITMENTS} commitments, not {self.grain}, which "
                f"gives {ways} with {len(self.answers)} answers; choose a smaller one"
            )

    # Derived from the options

    @property
    def replies(self) -> Sequence[str]:
        return self.answers

    @constant
    def shares(self) -> tuple[int, ...]:
        """The commitments one after the other, the parts of every answer."""
        return tuple(part for share in self.commitments for part in share)

    @constant
    def num_moves(self) -> int:
        return len(self.moves)

    @constant
    def num_answers(self) -> int:
        return len(self.answers)

    @constant
    def num_commitments(self) -> int:
        return len(self.commitments)

    @cached_property
    def commitments(self) -> tuple[tuple[int, ...], ...]:
        """Every way to share `grain` among the answers, most of the first answer first."""
        shares = product(range(self.grain, -1, -1), repeat=len(self.answers))
        return tuple(share for share in shares if sum(share) == self.grain)

    @property
    def simulate(self) -> int:
        """The number of the action "simulate"."""
        return len(self.moves)

    @property
    def num_actions(self) -> int:
        return max(len(self.moves) + 1, len(self.commitments))

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return self.grain == 1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (min(self.table) - self.cost, max(self.table))

    @property
    def observation_shape(self) -> tuple[int]:
        return (4 + 2 * len(self.answers) + len(self.moves),)

    # The rules

    @staticmethod
    def init_state(config: SimulationGame, state: SimulationState) -> None:
        state.commitment, state.move, state.answer = NOTHING, NOTHING, NOTHING
        turn_to(state, SIMULATEE)

    @staticmethod
    def apply_actions(
        config: SimulationGame, state: SimulationState, actions: Any, out: Any
    ) -> None:
        if state.commitment == NOTHING:
            state.commitment = actions[SIMULATEE]
            turn_to(state, SIMULATOR)
        elif actions[SIMULATOR] == config.num_moves:
            state.simulated = 1
            out.rewards[SIMULATOR, SIMULATION] = -config.cost
        else:
            state.move = actions[SIMULATOR]
            state.answer = draw_answer(config, state)
            cell = 2 * (state.move * config.num_answers + state.answer)
            for seat in range(2):
                out.rewards[seat, PAYOFF] = config.table[cell + seat]
            finish(state)

    @staticmethod
    def write_legal_mask(
        config: SimulationGame, state: SimulationState, seat: int, mask: Any
    ) -> None:
        count = config.num_commitments if seat == SIMULATEE else config.num_moves + 1
        for action in range(count):
            mask[action] = 1
        if seat == SIMULATOR and state.simulated:
            mask[config.num_moves] = 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("seat", 2, "the player's own seat, one-hot: simulator, simulatee"),
            Channel("committed", 1, "1 once the simulatee has committed"),
            Channel("simulated", 1, "1 once the simulator has paid to see"),
            Channel(
                "commitment",
                self.num_answers,
                "share of each answer; zeros while this player does not know it",
            ),
            Channel("move", self.num_moves, "the simulator's move, one-hot; zeros before it"),
            Channel("answer", self.num_answers, "the answer drawn, one-hot; zeros before it"),
        )

    @staticmethod
    def write_observation(
        config: SimulationGame, state: SimulationState, seat: int, obs: Any
    ) -> None:
        """Write the observation; the module's docstring gives the layout."""
        obs[seat] = 1
        obs[2] = state.commitment != NOTHING
        obs[3] = state.simulated
        if state.commitment != NOTHING and (seat == SIMULATEE or state.simulated):
            for answer in range(config.num_answers):
                share = config.shares[state.commitment * config.num_answers + answer]
                obs[4 + answer] = share / config.grain
        if state.move != NOTHING:
            obs[4 + config.num_answers + state.move] = 1
            obs[4 + config.num_answers + config.num_moves + state.answer] = 1

    def outcome(self, state: SimulationState) -> Outcome | None:
        ended = super().outcome(state)
        return ended and score_outcome(ended, self._payoff_text(state))

    def scores(self, state: SimulationState) -> tuple[float, ...]:
        if state.move == NOTHING:
            return (-self.cost * float(state.simulated), 0.0)
        first, second = self.pay(int(state.move), int(state.answer))
        return (first - self.cost * float(state.simulated), second)

    def deals(self) -> list[tuple[float, SimulationState]] | None:
        return [(1.0, self.initial_state(0))] if self.deterministic else None

    def determinize(self, state: SimulationState, seat: int, rng: Rng) -> SimulationState:
        """Redraw the commitment for a simulator who has not seen it, consistent with the answer."""
        copy: SimulationState = self.clone(state)
        if seat == SIMULATEE or state.simulated or state.commitment == NOTHING:
            return copy
        drawn = int(state.answer)
        copy.commitment = rng.choice(
            [n for n, share in enumerate(self.commitments) if drawn == NOTHING or share[drawn]]
        )
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        for move, answer in product(range(len(self.moves)), range(len(self.answers))):
            first, second = self.pay(move, answer)
            lines.append(
                f"- player_0 plays {self.moves[move]}, player_1 {self.answers[answer]}: they are "
                f"paid {first:g} and {second:g}."
            )
        lines.append(f"To simulate costs player_0 {self.cost:g}.")
        if self.grain > 1:
            lines.append(
                f"player_1 commits to chances, in parts of {self.grain}; simulation shows the "
                "chances, and the answer is drawn after player_0's move."
            )
        return "\n".join(lines)

    def action_text(self, state: SimulationState, seat: int, action: int) -> str:
        if seat == SIMULATEE:
            return self._shares(action)
        return SIMULATE if action == self.simulate else self.moves[action]

    def _shares(self, commitment: int) -> str:
        share = self.commitments[commitment]
        if self.grain == 1:
            return self.answers[share.index(1)]
        parts = zip(self.answers, share, strict=True)
        return ", ".join(f"{name} {part}/{self.grain}" for name, part in parts)

    def describe(self, state: SimulationState, seat: int) -> str:
        lines = [f"You are {self.players[seat]}."]
        if state.commitment != NOTHING:
            shares = self._shares(int(state.commitment))
            if seat == SIMULATEE:
                lines.append(f"You have committed yourself to: {shares}.")
            else:
                seen = f" to: {shares}" if state.simulated else ", unseen by you"
                lines.append(f"player_1 has committed themselves{seen}.")
        if state.simulated:
            lines.append(f"player_0 has paid {self.cost:g} to simulate player_1.")
        if state.move != NOTHING:
            lines.append(self._payoff_text(state))
        return "\n".join(lines)

    def _payoff_text(self, state: SimulationState) -> str:
        move, answer = self.moves[int(state.move)], self.answers[int(state.answer)]
        first, second = self.scores(state)
        return f"{move} met {answer}: player_0 is paid {first:g}, player_1 {second:g}"

    def narrate(
        self, before: SimulationState | None, actions: Mapping[int, int], after: SimulationState
    ) -> list[Event]:
        if before is None:
            return []
        shown = self._shares(int(after.commitment))
        if before.commitment == NOTHING:
            own = f"You commit yourself to: {shown}."
            secret = Event("commit", own, {"shares": shown}, only(SIMULATEE))
            return [secret, Event("committed", "player_1 has committed themselves.")]
        if after.simulated and not before.simulated:
            text = f"player_0 pays {self.cost:g} to simulate player_1."
            seen = f"player_1 has committed themselves to: {shown}."
            data = {"shares": shown}
            return [Event("simulate", text), Event("shown", seen, data, only(SIMULATOR))]
        payoffs = list(self.scores(after))
        return [Event("end", f"{self._payoff_text(after)}.", {"payoffs": payoffs})]

    def scene(self, state: SimulationState, seat: int | None = None) -> Scene:
        """What each pair of moves pays, what player_1 has committed to as far as the viewer knows,
        and which moves met.
        """
        lines = []
        if state.commitment != NOTHING:
            known = seat != SIMULATOR or state.simulated
            shares = f": {self._shares(int(state.commitment))}" if known else ""
            lines.append(f"player_1 is committed{shares}")
        if state.simulated:
            lines.append(f"player_0 pays {self.cost:g} to simulate player_1")
        over = state.move != NOTHING
        grid = self.payoff_grid((int(state.move), int(state.answer)) if over else None)
        caption = self._payoff_text(state) if over else ""
        return Scene(caption, lines=tuple(lines), parts=(grid,))


def draw_answer(config: SimulationGame, state: SimulationState) -> int:
    """The answer, drawn by the shares committed to."""
    start = state.commitment * config.num_answers
    left = randint(state, config.grain) if config.grain > 1 else 0
    for answer in range(config.num_answers):
        left -= config.shares[start + answer]
        if left < 0:
            return answer
    return int(config.num_answers - 1)
