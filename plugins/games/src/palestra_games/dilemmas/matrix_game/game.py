"""Iterated matrix games: two players choose a row and a column at once, again and again.

A table gives both payoffs for every pair of moves. The same table is played for `rounds` rounds;
with `continuation` below 1 the game may also end after any round, so that no round is known to be
the last. With `noise` a move may be replaced by another one, and both players see the resulting
moves. The presets are 2x2: the prisoner's dilemma with Axelrod's payoffs 5, 3, 1, 0 (R. Axelrod,
"The Evolution of Cooperation", 1984), and stag hunt, chicken and the battle of the sexes with the
payoffs of OpenSpiel.

Checked: one-shot payoffs and equilibria of the presets; tit-for-tat against itself
with any noise is paid (T + R + P + S) / 4 a round in the long run; the extortioner of W. Press and
F. Dyson ("Iterated Prisoner's Dilemma contains strategies that dominate any evolutionary opponent",
PNAS 2012) keeps s_X - P = chi (s_Y - P) against everybody.

Left out: games of more than two players.

An observation is a float32 vector of 4n + 5 numbers for n moves:

    own last move, the other's          one of n each, all zero before the first round
    how often each played each move     n for oneself, n for the other
    payoffs of the last round, totals   own and the other's, own and the other's
    rounds played
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Bar,
    Channel,
    Event,
    Meta,
    Outcome,
    Scene,
    Shape,
    environment,
)
from palestra.rules import all_act, finish, randint, uniform

from palestra_games.dilemmas.outcomes import number_of, score_outcome
from palestra_games.dilemmas.payoff_tables import (
    COOPERATE_OR_DEFECT,
    Cells,
    MoveNames,
    PayoffTable,
    latest_payoff,
)


class MatrixState(ArrayState):
    """Resulting moves, and payoffs, by seat."""

    last: Annotated[NDArray[np.int32], Shape(2)]  # moves of the last round; -1 before the first
    played: Annotated[NDArray[np.int32], Shape(2, "num_actions")]  # how often each played each move
    totals: Annotated[NDArray[np.float64], Shape(2)]  # payoffs so far


@environment(
    "games/MatrixGame-v0",
    family="matrix",
    tags=("social-dilemma", "iterated"),
)
@environment(
    "games/PrisonersDilemma-v0",
    family="matrix",
    tags=("social-dilemma", "iterated"),
    paper="Axelrod (1984), The Evolution of Cooperation",
    summary="The iterated prisoner's dilemma with Axelrod's payoffs 5, 3, 1 and 0.",
    kwargs={"payoffs_table": (3, 3, 0, 5, 5, 0, 1, 1), "moves": ("cooperate", "defect")},
)
@environment(
    "games/StagHunt-v0",
    family="matrix",
    tags=("social-dilemma", "coordination", "iterated"),
    summary="The iterated stag hunt: a stag together pays most, a hare alone pays surely.",
    kwargs={"payoffs_table": (2, 2, 0, 1, 1, 0, 1, 1), "moves": ("stag", "hare")},
)
@environment(
    "games/Chicken-v0",
    family="matrix",
    tags=("social-dilemma", "iterated"),
    summary="Iterated chicken: driving straight pays if the other swerves; if both do, nothing.",
    kwargs={"payoffs_table": (3, 3, 1, 4, 4, 1, 0, 0), "moves": ("swerve", "straight")},
)
@environment(
    "games/BattleOfTheSexes-v0",
    family="matrix",
    tags=("coordination", "iterated"),
    summary="The iterated battle of the sexes: only the same move pays, and each prefers another.",
    kwargs={"payoffs_table": (3, 2, 0, 0, 0, 0, 2, 3), "moves": ("bach", "stravinsky")},
)
@dataclass(frozen=True)
class MatrixGame(PayoffTable, ArrayGame[MatrixState]):
    """A game of two players with a table of payoffs, played again and again.

    An action is the number of a move in `moves`; both players choose at once. The module's
    docstring has the layout of an observation. In every round each is paid by the table for the
    resulting moves.
    """

    rules_text = """
        You play a matrix game against one other player, round after round.

        In every round you both choose a move at the same time, without knowing the other's. Then
        both moves are shown, and both of you are paid as the table below says. Write the name of
        your move. Your aim is a high total of your own; nothing is won by having more than the
        other.
    """

    payoffs_table: Annotated[
        Cells,
        MoveNames,
        PayoffTable,
        Meta(
            description="payoffs row by row, in every cell the row player's and the column "
            "player's; flat, or nested in rows and cells"
        ),
    ] = (3, 3, 0, 5, 5, 0, 1, 1)
    moves: MoveNames = COOPERATE_OR_DEFECT
    rounds: Annotated[int, Meta(ge=1, le=1_000_000, description="most rounds in an episode")] = 10
    continuation: Annotated[
        float, Meta(ge=0, le=1, description="chance that another round follows after each round")
    ] = 1.0
    noise: Annotated[
        float, Meta(ge=0, le=1, description="chance that a move is replaced by another one")
    ] = 0.0

    counters = ("played", "totals")
    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    observation_dtype = np.float32

    # Derived from the options

    @property
    def num_actions(self) -> int:
        return len(self.moves)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether there is no noise and the number of rounds is fixed."""
        return self.noise == 0 and self.continuation == 1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return self.payoffs_of(self.rounds)

    @property
    def observation_shape(self) -> tuple[int]:
        return (4 * self.num_actions + 5,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        low, high = self.payoff_bounds
        return (min(0.0, low), max(float(self.rounds), high))

    # The rules

    @staticmethod
    def init_state(config: MatrixGame, state: MatrixState) -> None:
        for seat in range(2):
            state.last[seat] = -1
        all_act(state)

    @staticmethod
    def apply_actions(config: MatrixGame, state: MatrixState, actions: Any, out: Any) -> None:
        for seat in range(2):
            move = noisy_move(config, state, actions[seat])
            state.last[seat] = move
            state.played[seat, move] += 1
        for seat in range(2):
            paid = latest_payoff(config, state, seat)
            out.rewards[seat, 0] = paid
            state.totals[seat] += paid
        if state.turn + 1 >= config.rounds or breaks_off(config, state):
            finish(state)

    @staticmethod
    def write_legal_mask(config: MatrixGame, state: MatrixState, seat: int, mask: Any) -> None:
        for move in range(config.num_actions):
            mask[move] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        n = self.num_actions
        return (
            Channel("own_move", n, "the player's last move, one-hot; zeros before the first round"),
            Channel("other_move", n, "the opponent's last move, one-hot"),
            Channel("own_counts", n, "how often the player has played each move"),
            Channel("other_counts", n, "how often the opponent has played each move"),
            Channel("payoffs", 2, "payoffs of the last round: own, the opponent's"),
            Channel("totals", 2, "payoffs so far: own, the opponent's"),
            Channel("rounds", 1, "rounds played"),
        )

    @staticmethod
    def write_observation(config: MatrixGame, state: MatrixState, seat: int, obs: Any) -> None:
        """Write the observation; the module's docstring gives the layout."""
        n = config.num_actions
        for place in range(2):
            whose = seat if place == 0 else 1 - seat
            for move in range(n):
                obs[(2 + place) * n + move] = state.played[whose, move]
            obs[4 * n + 2 + place] = state.totals[whose]
            if state.last[0] >= 0:
                obs[place * n + state.last[whose]] = 1
                obs[4 * n + place] = latest_payoff(config, state, whose)
        obs[4 * n + 4] = state.turn

    def outcome(self, state: MatrixState) -> Outcome | None:
        ended = super().outcome(state)
        return ended and score_outcome(ended, f"{number_of(state.turn, 'round')} played")

    def scores(self, state: MatrixState) -> tuple[float, ...]:
        totals: list[float] = state.totals.tolist()
        return tuple(totals)

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        for own, mine in enumerate(self.moves):
            for other, theirs in enumerate(self.moves):
                row, column = (own, other) if seat == 0 else (other, own)
                paid = self.pay(row, column)
                lines.append(
                    f"- You play {mine}, the other {theirs}: you are paid {paid[seat]:g}, "
                    f"the other {paid[1 - seat]:g}."
                )
        if self.noise:
            slip = "the other move" if self.num_actions == 2 else "one of the other moves"
            lines.append(
                f"With probability {self.noise:g} a move, yours or the other's, comes out as "
                f"{slip}. Both of you see, and are paid for, the moves as they came out."
            )
        if self.continuation < 1:
            lines.append(
                f"After every round the game goes on with probability {self.continuation:g}, for "
                f"at most {number_of(self.rounds, 'round')}."
            )
        else:
            lines.append(f"The game lasts {number_of(self.rounds, 'round')}.")
        return "\n".join(lines)

    def describe(self, state: MatrixState, seat: int) -> str:
        rounds = f"Rounds played: {int(state.turn)} of {self._horizon()}."
        lines = [f"You are {self.players[seat]}. {rounds}"]
        if state.last[0] < 0:
            return lines[0]
        paid = self.pay(*state.last.tolist())
        (own, other), totals = order_by_seat(state.last.tolist(), seat), state.totals.tolist()
        counts = [self._frequencies(row) for row in state.played.tolist()]
        return "\n".join(
            [
                *lines,
                f"Last round: you played {self.moves[own]} and were paid {paid[seat]:g}; the "
                f"other played {self.moves[other]} and was paid {paid[1 - seat]:g}.",
                f"So far you played {counts[seat]}; the other {counts[1 - seat]}.",
                f"Totals: you {totals[seat]:g}, the other {totals[1 - seat]:g}.",
            ]
        )

    def _horizon(self) -> str:
        return str(self.rounds) if self.continuation == 1 else f"at most {self.rounds}"

    def _frequencies(self, counts: Sequence[int]) -> str:
        return ", ".join(f"{m} {n}" for m, n in zip(self.moves, counts, strict=True))

    def action_text(self, state: MatrixState, seat: int, action: int) -> str:
        return self.moves[action]

    def narrate(
        self, before: MatrixState | None, actions: Mapping[int, int], after: MatrixState
    ) -> list[Event]:
        if before is None:
            return []
        played = after.last.tolist()
        paid = self.pay(*played)
        parts = [
            f"{name} plays {self.moves[move]} and is paid {amount:g}"
            for name, move, amount in zip(self.players, played, paid, strict=True)
        ]
        data = {"moves": played, "payoffs": list(paid)}
        events = [Event("round", f"Round {int(after.turn)}: {'; '.join(parts)}.", data)]
        if after.over:
            rounds = number_of(after.turn, "round")
            events.append(Event("end", f"The game is over after {rounds}."))
        return events

    def scene(self, state: MatrixState, seat: int | None = None) -> Scene:
        totals = state.totals.tolist()
        full = max(1.0, max(abs(cell) for cell in self.table) * self.rounds)
        bars = [Bar(n, max(0.0, totals[s]), full, s) for s, n in enumerate(self.players)]
        line = f"Rounds played: {int(state.turn)} of {self._horizon()}; "
        line += f"totals: {totals[0]:g} and {totals[1]:g}"
        first, second = state.last.tolist()
        grid = self.payoff_grid((first, second) if first >= 0 else None)
        return Scene(bars=tuple(bars), lines=(line,), parts=(grid,))


def noisy_move(config: MatrixGame, state: MatrixState, move: int) -> int:
    """The resulting move: with probability `noise` another one, each equally likely."""
    if config.noise > 0 and uniform(state) < config.noise:
        move = (move + 1 + randint(state, config.num_actions - 1)) % config.num_actions
    return move


def breaks_off(config: MatrixGame, state: MatrixState) -> bool:
    """Draw whether the game ends although rounds are left."""
    return bool(config.continuation < 1 and uniform(state) >= config.continuation)


def order_by_seat(pair: Sequence[int], seat: int) -> tuple[int, int]:
    """A pair by seat, reordered as one's own and the other's."""
    return pair[seat], pair[1 - seat]
