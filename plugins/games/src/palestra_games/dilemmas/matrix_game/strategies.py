"""Scripted players of the economic games: strategies for 2x2 matrix games, and bargainers.

The first move of a matrix game counts as cooperation. A memory-one strategy is the probability of
cooperating after each pair of moves, own move first: CC, CD, DC, DD. Tit-for-tat is Rapoport's
(Axelrod 1984); win-stay, lose-shift and generous tit-for-tat are from Nowak and Sigmund (Nature
1992 and 1993); the extortioner is from Press and Dyson (PNAS 2012).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from palestra import InvalidOption, Meta, ScriptedAgent, Turn, agent

from palestra_games.dilemmas.matrix_game.game import MatrixGame
from palestra_games.dilemmas.payoff_tables import COOPERATE, DEFECT
from palestra_games.dilemmas.ultimatum import Dictator, Trust, Ultimatum

Responses = tuple[float, float, float, float]

MEMORY_ONE: dict[str, Responses] = {
    "tit-for-tat": (1, 0, 1, 0),
    "win-stay-lose-shift": (1, 0, 0, 1),
    "always-cooperate": (1, 1, 1, 1),
    "always-defect": (0, 0, 0, 0),
}
Rule = Literal[
    "tit-for-tat",
    "win-stay-lose-shift",
    "always-cooperate",
    "always-defect",
    "generous-tit-for-tat",
    "grim",
    "zero-determinant",
]


@agent("strategy", needs=("array",))
class Strategy(ScriptedAgent[MatrixGame]):
    """Plays any two-move matrix game by a rule over the moves so far.

    "grim" cooperates until the other has defected once. "generous-tit-for-tat" forgives a
    defection with probability `generosity`; 1/3 is Nowak and Sigmund's value for the payoffs 5, 3,
    1, 0. "zero-determinant" is the extortioner with factor `chi`. All but "always-defect" open
    with cooperation.
    """

    def __init__(
        self,
        *,
        name: Annotated[Rule, Meta(description="the rule it plays by")] = "tit-for-tat",
        chi: Annotated[float, Meta(ge=1, description="extortion factor of zero-determinant")] = 3.0,
        generosity: Annotated[
            float,
            Meta(ge=0, le=1, description="chance that generous-tit-for-tat forgives a defection"),
        ] = 1 / 3,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._rule, self._chi, self._generosity = name, chi, generosity

    def choose(self, turn: Turn[MatrixGame]) -> int:
        game = turn.game
        if game.num_actions != 2:
            raise InvalidOption(f"the agent strategy plays 2x2 matrix games, not {turn.env}")
        own_c, own_d, other_c, other_d, *counts = np.asarray(turn.observation).tolist()[:8]
        if not own_c + own_d:
            return DEFECT if self._rule == "always-defect" else COOPERATE
        if self._rule == "grim":
            return DEFECT if counts[2 + DEFECT] else COOPERATE
        after = int(2 * own_d + other_d)
        chance = self._responses(game, turn.seat)[after]
        return COOPERATE if self.rng.random() < chance else DEFECT

    def _responses(self, game: MatrixGame, seat: int) -> Responses:
        if self._rule == "zero-determinant":
            return extortion(*table_for(game, seat), self._chi)
        if self._rule == "generous-tit-for-tat":
            return (1, self._generosity, 1, self._generosity)
        return MEMORY_ONE[self._rule]


def table_for(game: MatrixGame, seat: int) -> tuple[Responses, Responses]:
    """A player's payoffs and the other's after CC, CD, DC and DD, own move first."""
    pairs = [(own, other) for own in (COOPERATE, DEFECT) for other in (COOPERATE, DEFECT)]
    paid = [game.pay(*(pair if seat == 0 else pair[::-1])) for pair in pairs]
    own, others = zip(*((p[seat], p[1 - seat]) for p in paid), strict=True)
    return own, others


@lru_cache(maxsize=256)
def extortion(own: Responses, other: Responses, chi: float) -> Responses:
    """Press and Dyson's strategy that enforces s_X - P = chi (s_Y - P).

    Its distance from repeating one's own move is phi ((S_X - P) - chi (S_Y - P)); phi is half the
    largest with which all four are probabilities. `InvalidOption` if there is none.
    """
    gains = zip(own, other, strict=True)
    pull = [(mine - own[3]) - chi * (theirs - other[3]) for mine, theirs in gains]
    largest = max(map(abs, pull))
    if pull[0] > 0 or pull[1] > 0 or pull[2] < 0 or not largest:
        raise InvalidOption(
            f"no strategy extorts with chi={chi:g} from payoffs {own} against {other}; the agent "
            "zero-determinant is for a prisoner's dilemma"
        )
    steps = [0.5 / largest * amount for amount in pull]
    return (1 + steps[0], 1 + steps[1], steps[2], steps[3])


@agent("bargainer", needs=("array",))
class Bargainer(ScriptedAgent[Ultimatum | Dictator | Trust]):
    """Plays the ultimatum, dictator and trust games from either seat.

    "fair" aims at equal pay: it offers half (rounded down) and accepts no less; it entrusts all
    it has, and returns what makes both equally rich. "subgame-perfect" plays the subgame-perfect
    equilibrium: it offers the least positive amount, accepts any positive amount, entrusts nothing
    and returns nothing.
    """

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["fair", "subgame-perfect"], Meta(description="how it bargains")
        ] = "fair",
    ) -> None:
        super().__init__()
        self._fair = style == "fair"

    def choose(self, turn: Turn[Ultimatum | Dictator | Trust]) -> int:
        game = turn.game
        moves = np.asarray(turn.observation).tolist()[2:]
        if isinstance(game, Ultimatum):
            return self._divide(game, turn.seat, offer=moves[0])
        return self._entrust(game, turn.seat, sent=moves[0])

    def _divide(self, game: Ultimatum, seat: int, *, offer: int) -> int:
        half = game.pie // 2
        if seat == 0:
            least = 1 if game.veto else 0
            return half if self._fair else least
        if not game.veto or offer >= (half if self._fair else 1):
            return game.accept
        return game.reject

    def _entrust(self, game: Trust, seat: int, *, sent: int) -> int:
        if not self._fair:
            return 0
        if seat == 0:
            return game.pie
        grown = game.multiplier * sent
        return max(0, (grown - (game.pie - sent)) // 2)
