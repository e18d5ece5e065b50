"""The ultimatum, dictator and trust games: a pie of whole units, one move each.

Ultimatum: the first player offers part of a pie, and the second accepts, and both are paid, or
rejects, and nobody is (W. Güth, R. Schmittberger and B. Schwarze, "An experimental analysis of
ultimatum bargaining", 1982). Dictator: the second player can only accept (D. Kahneman, J. Knetsch
and R. Thaler, "Fairness and the assumptions of economics", 1986); they keep their turn, so that
both seats are played. Trust: the first player sends part of what they have, it is tripled on the
way, and the second returns part of what arrived (J. Berg, J. Dickhaut and K. McCabe, "Trust,
reciprocity, and social history", 1995, who also paid the second player a fixed 10 that no move
touches).

Checked: backward induction gives offers of 0 or 1 in the ultimatum game, 0 in the
dictator game, and nothing sent or returned in the trust game; what is divided always adds up.

Left out: the fixed 10 that the second player of the trust game was paid besides.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    Meta,
    Outcome,
    Scene,
    Vocabulary,
    constant,
    environment,
)
from palestra.rules import finish, turn_to
from palestra.scene import Link, Person, RoundTable

from palestra_games.dilemmas.outcomes import number_of, score_outcome

MOST = 1000  # units in a pie
UNKNOWN = -1
REJECTED, ACCEPTED = 0, 1


class DivisionState(ArrayState):
    """The state: both moves."""

    first: Annotated[int, np.int32]  # units player_0 offered, gave or sent; -1 before
    second: Annotated[int, np.int32]  # ACCEPTED, REJECTED or units returned; -1 before


@dataclass(frozen=True)
class Division(ArrayGame[DivisionState]):
    """The common part of the three games: two moves, the state, and the outcome."""

    pie: Annotated[int, Meta(ge=1, le=MOST, description="units to divide")] = 10

    order = "sequential"
    payoffs = "general"
    deterministic = True
    num_players = 2
    observation_shape = (4,)
    observation_dtype = np.int32

    @property
    def most(self) -> int:
        """The highest payoff a player can get."""
        return self.pie

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.most))

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (float(UNKNOWN), float(self.most))

    @staticmethod
    def init_state(config: Division, state: DivisionState) -> None:
        state.first, state.second = UNKNOWN, UNKNOWN
        turn_to(state, 0)

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("seat", 2, "the player's own seat, one-hot"),
            Channel("first", 1, "the move of player_0, in units; -1 before it"),
            Channel("second", 1, "the move of player_1; -1 before it"),
        )

    @staticmethod
    def write_observation(config: Division, state: DivisionState, seat: int, obs: Any) -> None:
        """One's own seat as two flags, the first player's move, the second's (-1 before)."""
        obs[seat] = 1
        obs[2] = state.first
        obs[3] = state.second

    def outcome(self, state: DivisionState) -> Outcome | None:
        ended = super().outcome(state)
        return ended and score_outcome(ended, self.payoff_text(state))

    def payoff_text(self, state: DivisionState) -> str:
        """Both payoffs, in words."""
        paid = [f"{n} is paid {s:g}" for n, s in zip(self.players, self.scores(state), strict=True)]
        return ", ".join(paid)

    def narrate(
        self, before: DivisionState | None, actions: Mapping[int, int], after: DivisionState
    ) -> list[Event]:
        if before is None:
            return []
        ((seat, action),) = actions.items()
        move = int(after.first if seat == 0 else after.second)
        data = {"player": seat, "action": int(action)}
        events = [Event("move", self.move_sentence(seat, move), data)]
        if after.over:
            paid = {"payoffs": list(self.scores(after))}
            events.append(Event("end", f"{self.payoff_text(after)}.", paid))
        return events

    @abstractmethod
    def move_sentence(self, seat: int, move: int) -> str:
        """A move, as the state holds it, in a sentence."""

    def describe(self, state: DivisionState, seat: int) -> str:
        lines = [f"You are {self.players[seat]}."]
        for mover, move in enumerate((int(state.first), int(state.second))):
            if move != UNKNOWN:
                lines.append(self.move_sentence(mover, move))
        return "\n".join(lines)

    def scene(self, state: DivisionState, seat: int | None = None) -> Scene:
        """The units that are undivided, and before each player theirs; moves as arrows."""
        pot, *piles = self.piles(state)
        acting = self.to_act(state)
        people = tuple(
            Person(name, place, acting=place in acting, chips=piles[place])
            for place, name in enumerate(self.players)
        )
        moves = (int(state.first), int(state.second))
        links = tuple(
            Link(seat, 1 - seat, self.arrow_text(seat, move), seat, 1.5, directed=True)
            for seat, move in enumerate(moves)
            if move != UNKNOWN
        )
        table = RoundTable(people, words="undivided" if pot else "", links=links[-1:], pot=pot)
        said = self.describe(state, 0).splitlines()[1:]
        caption = f"{number_of(self.pie, 'unit')} to divide."
        return Scene(caption, parts=(table,), lines=tuple(said))

    @abstractmethod
    def piles(self, state: DivisionState) -> tuple[float, float, float]:
        """The units that are undivided, and those before each player."""

    def arrow_text(self, seat: int, move: int) -> str:
        """What a move gives, in two or three words."""
        return number_of(move, "unit")


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
    """The ultimatum game: one player offers part of a pie, the other accepts or rejects.

    Actions up to the pie are offers in units; then come accept and reject. An observation is the
    own seat as two flags, the offer and the answer (0 rejected, 1 accepted), -1 before they are
    made. An accepted offer is paid to player_1 and the rest to player_0; a rejected one pays 0.
    """

    vocabulary = Vocabulary(words=("pie", "offer", "unit"))
    rules_text = """
        You and another player divide a pie of whole units.

        First player_0 offers player_1 a part of the pie: they write the number of units that
        player_1 is to get, such as "4". Then player_1 writes "accept" or "reject". If they accept,
        they are paid the offer and player_0 the rest. If they reject, nobody is paid anything.
    """

    @constant
    def veto(self) -> bool:
        """Whether the second player may reject."""
        return True

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

    @staticmethod
    def apply_actions(config: Ultimatum, state: DivisionState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Ultimatum, state: DivisionState, seat: int, mask: Any) -> None:
        if seat == 0:
            for offer in range(config.pie + 1):
                mask[offer] = 1
        else:
            mask[config.pie + 1] = 1
            mask[config.pie + 2] = config.veto

    def piles(self, state: DivisionState) -> tuple[float, float, float]:
        if state.first == UNKNOWN or state.second == REJECTED:
            return float(self.pie), 0.0, 0.0
        return 0.0, float(self.pie - state.first), float(state.first)

    def scores(self, state: DivisionState) -> tuple[float, ...]:
        if state.second != ACCEPTED:
            return (0.0, 0.0)
        return (float(self.pie - state.first), float(state.first))

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\nThe pie has {number_of(self.pie, 'unit')}."

    def action_text(self, state: DivisionState, seat: int, action: int) -> str:
        if action <= self.pie:
            return str(action)
        return "accept" if action == self.accept else "reject"

    def move_sentence(self, seat: int, move: int) -> str:
        if seat == 0:
            return f"player_0 offers {move} of {number_of(self.pie, 'unit')}."
        return f"player_1 {'accepts' if move == ACCEPTED else 'rejects'} the offer."

    def arrow_text(self, seat: int, move: int) -> str:
        if seat == 0:
            return super().arrow_text(seat, move)
        return "accepts" if move == ACCEPTED else "rejects"


@environment(
    "games/Dictator-v0",
    family="matrix",
    tags=("bargaining", "perfect-information", "deterministic"),
    paper="Kahneman, Knetsch and Thaler (1986), Fairness and the assumptions of economics",
)
@dataclass(frozen=True)
class Dictator(Ultimatum):
    """The dictator game: one player divides a pie, and the other can only accept.

    Actions, observations and payoffs are those of the ultimatum game; reject is never legal.
    """

    vocabulary = Vocabulary(words=("pie", "unit"))
    rules_text = """
        A pie of whole units is divided between you and another player, and only one of you decides.

        First player_0 gives player_1 a part of the pie: they write the number of units that
        player_1 is to get, such as "4". Then player_1 can only write "accept". They are paid what
        they were given, and player_0 the rest.
    """

    @constant
    def veto(self) -> bool:
        return False

    def move_sentence(self, seat: int, move: int) -> str:
        if seat == 0:
            return f"player_0 gives {move} of {number_of(self.pie, 'unit')}."
        return "player_1 accepts."


@environment(
    "games/Trust-v0",
    family="matrix",
    tags=("social-dilemma", "perfect-information", "deterministic"),
    paper="Berg, Dickhaut and McCabe (1995), Trust, reciprocity, and social history",
)
@dataclass(frozen=True)
class Trust(Division):
    """The trust game: one player sends units, which grow, and the other may return some.

    Actions are units sent or returned. An observation is one's own seat as two flags, the units
    sent and the units returned (-1 before). player_0 is paid what they kept and what was returned,
    player_1 what they did not return.
    """

    vocabulary = Vocabulary(words=("entrust", "unit"))
    rules_text = """
        One of you may entrust units to the other, which grow on the way.

        First player_0 writes how many of their units they send to player_1, such as "4"; none is
        "0". What they send is multiplied before it arrives. Then player_1, who starts with nothing,
        writes how many of the units that arrived they return to player_0; these do not grow. At the
        end player_0 is paid what they kept and what was returned to them, and player_1 what they
        did not return.
    """

    multiplier: Annotated[
        int, Meta(ge=1, le=MOST, description="units that arrive for each unit player_0 sends")
    ] = 3

    @property
    def most(self) -> int:
        return self.pie * self.multiplier

    @property
    def num_actions(self) -> int:
        return self.most + 1

    @staticmethod
    def apply_actions(config: Trust, state: DivisionState, actions: Any, out: Any) -> None:
        if state.turn == 0:
            state.first = actions[0]
            turn_to(state, 1)
            return
        state.second = actions[1]
        out.rewards[0, 0] = config.pie - state.first + state.second
        out.rewards[1, 0] = config.multiplier * state.first - state.second
        finish(state)

    @staticmethod
    def write_legal_mask(config: Trust, state: DivisionState, seat: int, mask: Any) -> None:
        most = config.pie if seat == 0 else config.multiplier * state.first
        for units in range(most + 1):
            mask[units] = 1

    def piles(self, state: DivisionState) -> tuple[float, float, float]:
        first, second = self.scores(state)
        return 0.0, first, second

    def scores(self, state: DivisionState) -> tuple[float, ...]:
        sent, returned = max(0, int(state.first)), max(0, int(state.second))
        return (float(self.pie - sent + returned), float(self.multiplier * sent - returned))

    def rules_for(self, seat: int) -> str:
        start = f"At the start player_0 has {number_of(self.pie, 'unit')}."
        grows = f"What they send is multiplied by {self.multiplier}."
        return f"{super().rules_for(seat)}\n{start} {grows}"

    def action_text(self, state: DivisionState, seat: int, action: int) -> str:
        return str(action)

    def move_sentence(self, seat: int, move: int) -> str:
        if seat == 1:
            return f"player_1 returns {move}."
        units, arrived = number_of(self.pie, "unit"), self.multiplier * move
        return f"player_0 sends {move} of {units}, which become {arrived}."

    def arrow_text(self, seat: int, move: int) -> str:
        return str(move) if seat == 1 else f"{move}, become {self.multiplier * move}"
