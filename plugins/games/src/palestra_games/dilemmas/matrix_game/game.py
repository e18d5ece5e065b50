"""Iterated matrix games: two players choose a row and a column at once, again and again.

A table gives both payoffs for every pair of moves. The same table is played for `rounds` rounds;
with `continuation` below 1 the game may also end after any round, so that no round is known to be
the last. With `noise` a move comes out as another one, and both players see the moves as they came
out. The presets are 2x2: the prisoner's dilemma with Axelrod's payoffs 5, 3, 1, 0 (R. Axelrod, "The
Evolution of Cooperation", 1984), and stag hunt, chicken and the battle of the sexes with the
payoffs of OpenSpiel.

Known answers checked: one-shot payoffs and equilibria of the presets; tit-for-tat against itself
with any noise is paid (T + R + P + S) / 4 a round in the long run; the extortioner of W. Press and
F. Dyson ("Iterated Prisoner's Dilemma contains strategies that dominate any evolutionary opponent",
PNAS 2012) keeps s_X - P = chi (s_Y - P) against everybody.

The array view is a float32 vector of 4n + 5 numbers for n moves:

    own last move, the other's          one of n each, all zero before the first round
    how often each played each move     n for oneself, n for the other
    payoffs of the last round, totals   own and the other's, own and the other's
    rounds played
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from palestra import ArrayGame, Bar, Event, InvalidOption, Outcome, Piece, Scene, environment
from palestra.kernel.game import Result
from palestra.rules import all_act, finish, randint, uniform

MOST_MOVES = 10


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
    kwargs={"payoffs_table": (3, 3, 0, 5, 5, 0, 1, 1), "moves": ("cooperate", "defect")},
)
@environment(
    "games/StagHunt-v0",
    family="matrix",
    tags=("social-dilemma", "coordination", "iterated"),
    kwargs={"payoffs_table": (2, 2, 0, 1, 1, 0, 1, 1), "moves": ("stag", "hare")},
)
@environment(
    "games/Chicken-v0",
    family="matrix",
    tags=("social-dilemma", "iterated"),
    kwargs={"payoffs_table": (3, 3, 1, 4, 4, 1, 0, 0), "moves": ("swerve", "straight")},
)
@environment(
    "games/BattleOfTheSexes-v0",
    family="matrix",
    tags=("coordination", "iterated"),
    kwargs={"payoffs_table": (3, 2, 0, 0, 0, 0, 2, 3), "moves": ("bach", "stravinsky")},
)
@dataclass(frozen=True)
class MatrixGame(ArrayGame):
    """You play a matrix game against one other player, round after round.

    In every round you both choose a move at the same time, without knowing the other's. Then both
    moves are shown, and both of you are paid as the table below says. Write the name of your move.
    Your aim is a high total of your own; nothing is won by having more than the other.
    """

    payoffs_table: Sequence[float] = (3, 3, 0, 5, 5, 0, 1, 1)
    moves: Sequence[str] = ("cooperate", "defect")
    rounds: int = 10
    continuation: float = 1.0
    noise: float = 0.0

    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    observation_dtype = np.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "moves", checked_names(self.moves))
        object.__setattr__(self, "payoffs_table", checked_table(self.payoffs_table, self.moves))
        if self.rounds < 1:
            raise InvalidOption(f"rounds must be at least 1, not {self.rounds}")
        for name in ("continuation", "noise"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidOption(f"{name} must be from 0 to 1, not {getattr(self, name)}")

    # What follows from the options

    @property
    def num_actions(self) -> int:
        return len(self.moves)

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether moves come out as played and the number of rounds is fixed."""
        return self.noise == 0 and self.continuation == 1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        least, most = min(self.payoffs_table), max(self.payoffs_table)
        return (min(least, least * self.rounds), max(most, most * self.rounds))

    @property
    def observation_shape(self) -> tuple[int]:
        return (4 * self.num_actions + 5,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        low, high = self.payoff_bounds
        return (min(0.0, low), max(float(self.rounds), high))

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "table": self.payoffs_table}

    def fields(self) -> list[tuple[Any, ...]]:
        """Moves as they came out: of the last round (-1: none yet), and counted; and payoffs."""
        return [
            ("last", np.int32, 2),
            ("played", np.int32, (2, self.num_actions)),
            ("totals", np.float64, 2),
        ]

    def pay(self, row: int, column: int) -> tuple[float, float]:
        """What the row and the column player are paid for a pair of moves."""
        cell = 2 * (row * self.num_actions + column)
        return self.payoffs_table[cell], self.payoffs_table[cell + 1]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(2):
            state.last[seat] = -1
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(2):
            move = come_out(config, state, actions[seat])
            state.last[seat] = move
            state.played[seat, move] += 1
        for seat in range(2):
            paid = payoff(config, state, seat)
            out.rewards[seat, 0] = paid
            state.totals[seat] += paid
        if state.turn + 1 >= config.rounds or breaks_off(config, state):
            finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for move in range(config.num_actions):
            mask[move] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, player: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        n = config.num_actions
        for place in range(2):
            seat = player if place == 0 else 1 - player
            for move in range(n):
                view[(2 + place) * n + move] = state.played[seat, move]
            view[4 * n + 2 + place] = state.totals[seat]
            if state.last[0] >= 0:
                view[place * n + state.last[seat]] = 1
                view[4 * n + place] = payoff(config, state, seat)
        view[4 * n + 4] = state.turn

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        return replace(ended, results=(score, score), reason=f"{plural(state.turn)} played")

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(state["totals"].tolist())

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
                f"at most {plural(self.rounds)}."
            )
        else:
            lines.append(f"The game lasts {plural(self.rounds)}.")
        return "\n".join(lines)

    def describe(self, state: Any, seat: int) -> str:
        rounds = f"Rounds played: {int(state.turn)} of {self._horizon()}."
        lines = [f"You are {self.players[seat]}. {rounds}"]
        if state.last[0] < 0:
            return lines[0]
        paid = self.pay(*state.last.tolist())
        (own, other), totals = ordered(state.last.tolist(), seat), state.totals.tolist()
        counts = [self._counted(row) for row in state.played.tolist()]
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

    def _counted(self, counts: Sequence[int]) -> str:
        return ", ".join(f"{m} {n}" for m, n in zip(self.moves, counts, strict=True))

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return self.moves[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        played = after.last.tolist()
        paid = self.pay(*played)
        told = [
            f"{name} plays {self.moves[move]} and is paid {amount:g}"
            for name, move, amount in zip(self.players, played, paid, strict=True)
        ]
        data = {"moves": played, "payoffs": list(paid)}
        events = [Event("round", f"Round {int(after.turn)}: {'; '.join(told)}.", data)]
        if after.over:
            events.append(Event("end", f"The game is over after {plural(after.turn)}."))
        return events

    def scene(self, state: Any, player: int | None = None) -> Scene:
        hands = []
        for seat, name in enumerate(self.players):
            move = int(state.last[seat])
            played = "" if move < 0 else self.moves[move]
            pieces = (Piece(played[:2], seat, "card", played),) if played else ()
            hands.append((name, pieces))
        totals = state.totals.tolist()
        full = max(1.0, max(abs(cell) for cell in self.payoffs_table) * self.rounds)
        bars = [Bar(n, max(0.0, totals[s]), full, s) for s, n in enumerate(self.players)]
        line = f"Rounds played: {int(state.turn)} of {self._horizon()}; "
        line += f"totals: {totals[0]:g} and {totals[1]:g}"
        return Scene(hands=tuple(hands), bars=tuple(bars), lines=(line,))


def come_out(config: Any, state: Any, move: int) -> int:
    """The move as it comes out: with probability `noise` another one, each equally likely."""
    if config.noise > 0 and uniform(state) < config.noise:
        move = (move + 1 + randint(state, config.num_actions - 1)) % config.num_actions
    return move


def breaks_off(config: Any, state: Any) -> bool:
    """Draw whether the game ends although rounds are left."""
    return bool(config.continuation < 1 and uniform(state) >= config.continuation)


def payoff(config: Any, state: Any, seat: int) -> float:
    """What a player was paid for the last round."""
    cell = state.last[0] * config.num_actions + state.last[1]
    return float(config.table[2 * cell + seat])


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names of the moves, or `InvalidOption` where a reader could take one for another."""
    moves = tuple(names)
    good = all(isinstance(name, str) and name and name == name.strip() for name in moves)
    if isinstance(names, str) or not good or len({n.casefold() for n in moves}) < len(moves):
        raise InvalidOption(f"moves must be names that differ, not {names!r}")
    if not 2 <= len(moves) <= MOST_MOVES:
        raise InvalidOption(f"moves must be 2 to {MOST_MOVES} names, not {len(moves)}")
    return moves


def checked_table(table: Sequence[Any], moves: Sequence[str]) -> tuple[float, ...]:
    """A table as one row of numbers; rows of cells of pairs are laid out one after the other."""
    try:
        numbers = tuple(float(x) for x in np.asarray(table, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 2 * len(moves) ** 2 or not all(map(isfinite, numbers)):
        raise InvalidOption(
            f"payoffs_table must be {2 * len(moves) ** 2} numbers for {len(moves)} moves: row by "
            f"row, in every cell the row player's payoff and the column player's; not {table!r}"
        )
    return numbers


def ordered(pair: Sequence[int], seat: int) -> tuple[int, int]:
    """A pair by seat as own and the other's."""
    return pair[seat], pair[1 - seat]


def plural(rounds: int) -> str:
    return f"{int(rounds)} round{'s' if rounds != 1 else ''}"
