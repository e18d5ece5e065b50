"""The ultimatum, dictator and trust games: a pie of whole units, one move each.

Ultimatum: the first player offers part of a pie, and the second accepts, and both are paid, or
rejects, and nobody is (W. Güth, R. Schmittberger and B. Schwarze, "An experimental analysis of
ultimatum bargaining", 1982). Dictator: the second player can only accept (D. Kahneman, J. Knetsch
and R. Thaler, "Fairness and the assumptions of economics", 1986); he keeps his turn, so that both
seats are played. Trust: the first player sends part of what he has, it is tripled on the way, and
the second returns part of what arrived (J. Berg, J. Dickhaut and K. McCabe, "Trust, reciprocity,
and social history", 1995, who also paid the second player a fixed 10 that no move touches).

Known answers checked: backward induction gives offers of 0 or 1 in the ultimatum game, 0 in the
dictator game, and nothing sent or returned in the trust game; what is divided always adds up.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from palestra import ArrayGame, Bar, Event, InvalidOption, Outcome, Scene, environment
from palestra.kernel.game import Result
from palestra.rules import finish, turn_to

MOST = 1000  # units in a pie
UNKNOWN = -1
REJECTED, ACCEPTED = 0, 1


@dataclass(frozen=True)
class Division(ArrayGame):
    """What the three games share: two moves, the state, and how it ends."""

    pie: int = 10

    order = "sequential"
    payoffs = "general"
    deterministic = True
    num_players = 2
    observation_shape = (4,)
    observation_dtype = np.int32

    def __post_init__(self) -> None:
        if not 1 <= self.pie <= MOST:
            raise InvalidOption(f"pie must be from 1 to {MOST} units, not {self.pie}")

    @property
    def most(self) -> int:
        """The most one player can be paid."""
        return self.pie

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.most))

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (float(UNKNOWN), float(self.most))

    def fields(self) -> list[tuple[Any, ...]]:
        """`first` and `second`: what either player did, -1 before."""
        return [("first", np.int32), ("second", np.int32)]

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.first, state.second = UNKNOWN, UNKNOWN
        turn_to(state, 0)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """One's own seat as two flags, the first player's move, the second's (-1 before)."""
        view[seat] = 1
        view[2] = state.first
        view[3] = state.second

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        return replace(ended, results=(score, score), reason=self.result(state))

    def result(self, state: Any) -> str:
        paid = [f"{n} is paid {s:g}" for n, s in zip(self.players, self.scores(state), strict=True)]
        return ", ".join(paid)

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        ((seat, action),) = actions.items()
        made = int(after.first if seat == 0 else after.second)
        data = {"player": seat, "action": int(action)}
        events = [Event("move", self.told(after, seat, made), data)]
        if after.over:
            paid = {"payoffs": list(self.scores(after))}
            events.append(Event("end", f"{self.result(after)}.", paid))
        return events

    @abstractmethod
    def told(self, state: Any, seat: int, action: int) -> str:
        """A move as a sentence."""

    def describe(self, state: Any, player: int) -> str:
        lines = [f"You are {self.players[player]}."]
        moves = [state.first, state.second]
        lines += [self.told(state, seat, int(m)) for seat, m in enumerate(moves) if m != UNKNOWN]
        return "\n".join(lines)

    def scene(self, state: Any, player: int | None = None) -> Scene:
        moves = self.describe(state, 0).splitlines()[1:]
        full, scores = float(self.most), self.scores(state)
        bars = [Bar(name, scores[seat], full, seat) for seat, name in enumerate(self.players)]
        return Scene(bars=tuple(bars), lines=tuple(moves) or (f"{plural(self.pie)} to divide.",))


@environment(
    "games/Ultimatum-v0",
    family="matrix",
    tags=("bargaining", "perfect-information", "deterministic"),
    paper=(
        "Güth, Schmittberger and Schwarze (1982), An experimental analysis of ultimatum bargaining"
    ),
)
@dataclass(frozen=True)
class Ultimatum(Division):
    """You and another player divide a pie of whole units.

    First player_0 offers player_1 a part of the pie: he writes the number of units that player_1
    is to get, such as "4". Then player_1 writes "accept" or "reject". If he accepts, he is paid the
    offer and player_0 the rest. If he rejects, nobody is paid anything.
    """

    veto = True  # whether the second player may reject

    @property
    def accept(self) -> int:
        """The number of the answer "accept"; offers have the numbers up to the pie."""
        return self.pie + 1

    @property
    def reject(self) -> int:
        return self.pie + 2

    @property
    def num_actions(self) -> int:
        return self.pie + 3

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "veto": self.veto}

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        if state.turn == 0:
            state.first = actions[0]
            turn_to(state, 1)
            return
        state.second = ACCEPTED if actions[1] == config.pie + 1 else REJECTED
        if state.second == ACCEPTED:
            out.rewards[0, 0] = config.pie - state.first
            out.rewards[1, 0] = state.first
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        if seat == 0:
            for offer in range(config.pie + 1):
                mask[offer] = 1
        else:
            mask[config.pie + 1] = 1
            mask[config.pie + 2] = config.veto

    def scores(self, state: Any) -> tuple[float, ...]:
        if state.second != ACCEPTED:
            return (0.0, 0.0)
        return (float(self.pie - state.first), float(state.first))

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\nThe pie has {plural(self.pie)}."

    def action_text(self, state: Any, seat: int, action: int) -> str:
        if action <= self.pie:
            return str(action)
        return "accept" if action == self.accept else "reject"

    def told(self, state: Any, seat: int, move: int) -> str:
        if seat == 0:
            return f"player_0 offers {move} of {plural(self.pie)}."
        return f"player_1 {'accepts' if move == ACCEPTED else 'rejects'} the offer."


@environment(
    "games/Dictator-v0",
    family="matrix",
    tags=("bargaining", "perfect-information", "deterministic"),
    paper="Kahneman, Knetsch and Thaler (1986), Fairness and the assumptions of economics",
)
@dataclass(frozen=True)
class Dictator(Ultimatum):
    """A pie of whole units is divided between you and another player, and only one of you decides.

    First player_0 gives player_1 a part of the pie: he writes the number of units that player_1 is
    to get, such as "4". Then player_1 can only write "accept". He is paid what he was given, and
    player_0 the rest.
    """

    veto = False

    def told(self, state: Any, seat: int, move: int) -> str:
        if seat == 0:
            return f"player_0 gives {move} of {plural(self.pie)}."
        return "player_1 accepts."


@environment(
    "games/Trust-v0",
    family="matrix",
    tags=("social-dilemma", "perfect-information", "deterministic"),
    paper="Berg, Dickhaut and McCabe (1995), Trust, reciprocity, and social history",
)
@dataclass(frozen=True)
class Trust(Division):
    """One of you may entrust units to the other, which grow on the way.

    First player_0 writes how many of his units he sends to player_1, such as "4"; none is "0". What
    he sends is multiplied before it arrives. Then player_1, who starts with nothing, writes how
    many of the units that arrived he returns to player_0; these do not grow. At the end player_0
    is paid what he kept and what was returned to him, and player_1 what he did not return.
    """

    multiplier: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.multiplier <= MOST:
            raise InvalidOption(f"multiplier must be from 1 to {MOST}, not {self.multiplier}")

    @property
    def most(self) -> int:
        return self.pie * self.multiplier

    @property
    def num_actions(self) -> int:
        return self.most + 1

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        if state.turn == 0:
            state.first = actions[0]
            turn_to(state, 1)
            return
        state.second = actions[1]
        out.rewards[0, 0] = config.pie - state.first + state.second
        out.rewards[1, 0] = config.multiplier * state.first - state.second
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        most = config.pie if seat == 0 else config.multiplier * state.first
        for units in range(most + 1):
            mask[units] = 1

    def scores(self, state: Any) -> tuple[float, ...]:
        sent, returned = max(0, int(state.first)), max(0, int(state.second))
        return (float(self.pie - sent + returned), float(self.multiplier * sent - returned))

    def rules_for(self, seat: int) -> str:
        start = f"At the start player_0 has {plural(self.pie)}."
        return (
            f"{super().rules_for(seat)}\n{start} What he sends is multiplied by {self.multiplier}."
        )

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return str(action)

    def told(self, state: Any, seat: int, move: int) -> str:
        if seat == 1:
            return f"player_1 returns {move}."
        return (
            f"player_0 sends {move} of {plural(self.pie)}, which become {self.multiplier * move}."
        )


def plural(units: int) -> str:
    return f"{units} unit{'s' if units != 1 else ''}"
