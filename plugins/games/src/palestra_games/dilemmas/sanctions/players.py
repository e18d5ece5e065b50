"""Players of the sanctions game: rule-based ones, and a tabular learner."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from palestra import Meta, ScriptedAgent, Turn, agent

from palestra_games.dilemmas.payoff_tables import COOPERATE, DEFECT
from palestra_games.dilemmas.sanctions.game import PLAY, SELECT, Sanctions

Key = tuple[int, int, int]  # phase, what is known of the other, kind of action


class SeenEncounter:
    """The observation of one turn, by name."""

    def __init__(self, turn: Turn[Sanctions]) -> None:
        game = turn.game
        seen, n = np.asarray(turn.observation).tolist(), game.num_players
        self.seats, self.seat = n, turn.seat
        self.hope = max(game.table)
        self.phase = seen[n : n + 4].index(1)
        self.chooser = seen[n + 4 : 2 * n + 4].index(1)
        partner = seen[2 * n + 4 : 3 * n + 4]
        self.partner = partner.index(1) if 1 in partner else -1
        self.moves = {self.chooser: seen[4 * n + 4], self.partner: seen[4 * n + 5]}
        self.known = seen[4 * n + 6 : 5 * n + 6]
        self.other = self.partner if self.seat == self.chooser else self.chooser
        self.encounter = (seen[5 * n + 7], self.chooser)
        self.leave, self.punishing = n + 2, n + 3

    @property
    def targets(self) -> list[int]:
        """Whom one may choose, or punish."""
        if self.phase == SELECT:
            return [seat for seat in range(self.seats) if seat != self.seat]
        return [s for s in (self.chooser, self.partner) if s != self.seat]


@agent("sanction-player", needs=("array",))
class SanctionPlayer(ScriptedAgent[Sanctions]):
    """Plays by a fixed rule: punishes defectors, reciprocates, cooperates or defects.

    "sanctioner" cooperates and punishes whoever it sees defect; "reciprocator" does to a partner
    what they last did, cooperates with those it knows nothing of, and never punishes; "cooperator"
    and "defector" always do the same and never punish. All choose a partner who last cooperated,
    else one unknown, drawn evenly.
    """

    stream = 9

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["sanctioner", "reciprocator", "cooperator", "defector"],
            Meta(description="the rule it plays by"),
        ] = "sanctioner",
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._style = style

    def choose(self, turn: Turn[Sanctions]) -> int:
        seen = SeenEncounter(turn)
        if seen.phase == SELECT:
            best = max(seen.known[seat] for seat in seen.targets)
            good = [seat for seat in seen.targets if seen.known[seat] == best]
            return int(self.rng.choice(good))
        if seen.phase == PLAY:
            mirrors = self._style == "reciprocator" and seen.known[seen.other] < 0
            defects = self._style == "defector" or mirrors
            return seen.seats + (DEFECT if defects else COOPERATE)
        guilty = [seat for seat in seen.targets if seen.moves[seat] < 0]
        if self._style != "sanctioner" or not guilty:
            return seen.leave
        return seen.punishing + guilty[0]


@agent("sanction-learner", kind="learned", needs=("array",))
class SanctionLearner(ScriptedAgent[Sanctions]):
    """Learns action values in a table while it plays; every seat starts a new table each episode.

    A state is the phase and what is known of the other's last move, or after an encounter of both
    moves; actions are of kinds, such as to choose somebody who cooperated or to punish a defector,
    and an action of the chosen kind is drawn at random. The value of an action is the reward from
    then to the end of the encounter, fees and fines included; untried actions have the highest
    payoff as their value. It learns to avoid fines, and not to punish.
    """

    stream = 10

    def __init__(
        self,
        *,
        rate: Annotated[float, Meta(ge=0, le=1, description="learning rate")] = 0.1,
        epsilon: Annotated[
            float, Meta(ge=0, le=1, description="chance of a random kind of action")
        ] = 0.1,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._rate, self._epsilon = rate, epsilon
        self._learners: dict[tuple[int, int], LearnedValues] = {}

    def forget(self, episode_key: int) -> None:
        self._learners = {k: known for k, known in self._learners.items() if k[0] != episode_key}

    def choose(self, turn: Turn[Sanctions]) -> int:
        seen = SeenEncounter(turn)
        learned = self._learners.setdefault((turn.episode_key, turn.seat), LearnedValues(seen.hope))
        if learned.encounter != seen.encounter:
            learned.learn(turn.returns, self._rate)
            learned.encounter = seen.encounter
        options = kinds(seen)
        if self.rng.random() < self._epsilon:
            key = self.rng.choice(sorted(options))
        else:
            key = max(options, key=lambda key: (learned.value(key), self.rng.random()))
        learned.done.append((key, turn.returns))
        return int(self.rng.choice(options[key]))


@dataclass(slots=True)
class LearnedValues:
    """A learner's values, and its actions and rewards in the current encounter."""

    hope: float  # the value of untried actions
    values: dict[Key, float] = field(default_factory=dict)
    encounter: tuple[float, int] = (-1, -1)
    done: list[tuple[Key, float]] = field(default_factory=list)

    def learn(self, returns: float, rate: float) -> None:
        for key, before in self.done:
            value = self.value(key)
            self.values[key] = value + rate * (returns - before - value)
        self.done.clear()

    def value(self, key: Key) -> float:
        return self.values.get(key, self.hope)


def kinds(seen: SeenEncounter) -> dict[Key, list[int]]:
    """Legal actions by state and kind."""
    found: dict[Key, list[int]] = defaultdict(list)
    if seen.phase == PLAY:
        known = int(seen.known[seen.other])
        for move in (COOPERATE, DEFECT):
            found[PLAY, known, move].append(seen.seats + move)
    elif seen.phase == SELECT:
        for seat in seen.targets:
            found[SELECT, 0, int(seen.known[seat])].append(seat)
    else:
        both = [int(seen.moves[seat]) for seat in (seen.seat, *seen.targets)[-2:]]
        state = 3 * both[0] + both[1]
        found[seen.phase, state, 0].append(seen.leave)
        for seat in seen.targets:
            found[seen.phase, state, int(seen.moves[seat])].append(seen.punishing + seat)
    return found
