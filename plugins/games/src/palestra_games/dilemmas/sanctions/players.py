"""Players of the game of sanctions: by rule, and a learner with a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from palestra import Agent, Decision, InvalidOption, Rng, Turn, UnknownName, agent

from palestra_games.dilemmas.network_dilemma import COOPERATE, DEFECT
from palestra_games.dilemmas.sanctions.game import PLAY, SELECT, Sanctions

STYLES = ("sanctioner", "reciprocator", "cooperator", "defector")
Key = tuple[int, int, int]  # phase, what is known of the other, kind of action


class Sight:
    """The array view of one turn, by name."""

    def __init__(self, turn: Turn) -> None:
        game = turn.game
        if not isinstance(game, Sanctions):
            raise InvalidOption(f"this agent plays games/Sanctions-v0, not {turn.env}")
        seen, n = np.asarray(turn.observation).tolist(), game.num_players
        self.seats, self.seat = n, turn.seat
        self.hope = max(game.payoffs_table)
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


@agent(
    "sanction-player",
    plays=("games/Sanctions-v0",),
    needs=("array",),
    summary="Lives under sanctions by rule: style=sanctioner|reciprocator|cooperator|defector.",
)
class SanctionPlayer(Agent):
    """Lives among others by rule: style=sanctioner|reciprocator|cooperator|defector.

    "sanctioner" cooperates and punishes whoever it sees defect; "reciprocator" does to a partner
    what he last did, cooperates with those it knows nothing of, and never punishes; "cooperator"
    and "defector" always do the same and never punish. All choose a partner who last cooperated,
    else one unknown, drawn evenly.
    """

    def __init__(self, *, style: str = "sanctioner", seed: int | None = None) -> None:
        if style not in STYLES:
            raise UnknownName("sanction-player style", style, STYLES)
        self._style = style
        self._rng = Rng.seeded(seed, stream=9)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=9)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(Sight(turn))) for turn in turns]

    def _choose(self, sight: Sight) -> int:
        if sight.phase == SELECT:
            best = max(sight.known[seat] for seat in sight.targets)
            good = [seat for seat in sight.targets if sight.known[seat] == best]
            return int(self._rng.choice(good))
        if sight.phase == PLAY:
            mirrors = self._style == "reciprocator" and sight.known[sight.other] < 0
            defects = self._style == "defector" or mirrors
            return sight.seats + (DEFECT if defects else COOPERATE)
        guilty = [seat for seat in sight.targets if sight.moves[seat] < 0]
        if self._style != "sanctioner" or not guilty:
            return sight.leave
        return sight.punishing + guilty[0]


@agent(
    "sanction-learner",
    kind="learned",
    plays=("games/Sanctions-v0",),
    needs=("array",),
    summary="Learns whom to choose, what to play and whom to punish, by a table, as it plays.",
)
class SanctionLearner(Agent):
    """Learns values of actions in a table while it plays, one table a seat and an episode.

    A state is the phase and what is known of the other's last move, or after an encounter of both
    moves; actions are of kinds, such as to choose somebody who cooperated or to punish a defector,
    one of a kind being drawn. The value of an action is what is paid from then to the end of the
    encounter, fees and fines included, and before it is tried the highest payoff: it learns to
    avoid fines, and not to punish.
    """

    def __init__(self, *, rate: float = 0.1, epsilon: float = 0.1, seed: int | None = None) -> None:
        for name, value in (("rate", rate), ("epsilon", epsilon)):
            if not 0 <= value <= 1:
                raise InvalidOption(f"sanction-learner: {name} must be from 0 to 1, not {value}")
        self._rate, self._epsilon = rate, epsilon
        self._rng = Rng.seeded(seed, stream=10)
        self._lives: dict[tuple[int, int], Life] = {}

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=10)

    def forget(self, episode_key: int) -> None:
        self._lives = {key: life for key, life in self._lives.items() if key[0] != episode_key}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        sight = Sight(turn)
        life = self._lives.setdefault((turn.episode_key, turn.seat), Life(sight.hope))
        if life.encounter != sight.encounter:
            life.learn(turn.returns, self._rate)
            life.encounter = sight.encounter
        options = kinds(sight)
        if self._rng.random() < self._epsilon:
            key = self._rng.choice(sorted(options))
        else:
            key = max(options, key=lambda key: (life.value(key), self._rng.random()))
        life.done.append((key, turn.returns))
        return int(self._rng.choice(options[key]))


@dataclass(slots=True)
class Life:
    """What a learner knows, and what it has done in this encounter at which returns."""

    hope: float  # the value of what has not been tried
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


def kinds(sight: Sight) -> dict[Key, list[int]]:
    """Legal actions by state and kind."""
    found: dict[Key, list[int]] = defaultdict(list)
    if sight.phase == PLAY:
        known = int(sight.known[sight.other])
        for move in (COOPERATE, DEFECT):
            found[PLAY, known, move].append(sight.seats + move)
    elif sight.phase == SELECT:
        for seat in sight.targets:
            found[SELECT, 0, int(sight.known[seat])].append(seat)
    else:
        both = [int(sight.moves[seat]) for seat in (sight.seat, *sight.targets)[-2:]]
        state = 3 * both[0] + both[1]
        found[sight.phase, state, 0].append(sight.leave)
        for seat in sight.targets:
            found[sight.phase, state, int(sight.moves[seat])].append(sight.punishing + seat)
    return found
