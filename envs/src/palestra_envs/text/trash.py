"""Trash: the commons turned round; something harmful grows, and clearing it away is work.

Some people share a house. In every round all name, at once and sealed, how much trash they clear
away; a unit costs one point of effort. If more than `limit` is left the house is given up and the
game ends; otherwise everybody is paid `home`, and they talk in turn. Then what was left doubles,
and is `least` at the least. It is the inverse scenario of the "Reproducibility Study of Cooperate
or Collapse" (2025), where a society shares the removal of a harmful resource; the figures are
chosen here.

Whatever is cleared, trash follows t' = max(least, 2 (t - sum of what is cleared)). Keeping it just
at the limit costs 10 points each in every one of 12 rounds, and leaves 60; clearing nearly all at
once and little later costs 36, and leaves 144. Whoever does nothing while the others do enough is
paid best, so that it is a dilemma. The least effort there is, by dynamic programming, is checked
with shortest paths in networkx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Agent,
    Bar,
    Decision,
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    Turn,
    UnknownName,
    agent,
    check_ranges,
    environment,
    only,
)

from palestra_envs.text.commons.game import EVERYBODY, Pass, Say, shares, talk_grammar

LINES = (
    Say(text="Let us all clear more."),
    Say(text="I will do my fair share."),
    Say(text="Somebody did too little."),
    Say(text="I agree."),
)


class Clear(TextAction, frozen=True):
    """Clear this much trash away."""

    amount: int


@dataclass(slots=True)
class House:
    """The state: the trash there is, who has cleared how much, and whose turn it is to speak."""

    rng: Rng
    trash: int
    cleared: list[int]  # so far, by seat
    last: list[int] = field(default_factory=list)
    round: int = 0
    spoken: int = 0
    talking: bool = False
    ended: str = ""  # "kept" or "given up"


@environment(
    "text/Trash-v0",
    family="social",
    tags=("commons", "social-dilemma", "messages", "public-good", "deterministic"),
    paper=(
        "Reproducibility Study of Cooperate or Collapse: Emergence of Sustainable Cooperation "
        "in a Society of LLM Agents (2025)"
    ),
    players=(2, 10),
)
@dataclass(frozen=True)
class Trash(TextGame[House]):
    """You and others share a house in which trash piles up: what is left doubles every round.

    Each round everybody secretly names how much he clears away: write Clear(amount=10). A unit
    costs you one point. If too much is left the house is given up and the game is over; otherwise
    everybody is paid. Then all amounts are told and you talk in turn: write
    Say(text='Let us all clear more.') to everybody, Say(text='Can I trust you?', to='player_2') to
    one player only, or Pass() to say nothing.
    """

    num_players: int = 5
    rounds: int = 12
    start: int = 100
    limit: int = 50
    least: int = 20
    home: int = 15
    talk: bool = True
    utterances: int = 10
    message_limit: int = 300

    order = "phased"
    payoffs = "general"
    deterministic = True
    reward_terms = ("home", "effort")
    action_types = (Clear, Say, Pass)

    def __post_init__(self) -> None:
        check_ranges(
            self,
            (
                ("num_players", 2, 10),
                ("rounds", 1, 1000),
                ("limit", 0, 1000),
                ("start", 1, 2000),
                ("least", 0, 2 * self.limit),
                ("home", 0, 1000),
                ("utterances", 1, 1000),
                ("message_limit", 40, 10_000),
            ),
        )

    @property
    def most(self) -> int:
        """The most trash there can be."""
        return max(self.start, self.least, 2 * self.limit)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(self.most * self.rounds), float(self.home * self.rounds))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return (*(Clear(n) for n in range(self.most + 1)), *LINES, Pass())

    # The rules

    def initial_state(self, seed: int | None = None) -> House:
        return House(Rng.seeded(seed), self.start, [0] * self.num_players)

    def to_act(self, state: House) -> tuple[int, ...]:
        if state.ended:
            return ()
        if state.talking:
            return ((state.round + state.spoken) % self.num_players,)
        return tuple(range(self.num_players))

    def legal(self, state: House, seat: int) -> Grammar:
        if state.talking:
            return talk_grammar(self.players, seat, self.message_limit, LINES)
        return clearing(state.trash)

    def step(self, state: House, actions: Mapping[int, Any]) -> Step:
        if state.talking:
            return Step(events=self._speak(state, actions))
        done = [actions[seat].amount for seat in range(self.num_players)]
        if sum(done) > state.trash:
            done = shares(done, state.trash)
        state.trash -= sum(done)
        state.last, state.round = done, state.round + 1
        state.cleared = [total + n for total, n in zip(state.cleared, done, strict=True)]
        text = f"Round {state.round}: {self._named(done)}; {state.trash} left."
        events = [Event("clearing", text, {"cleared": list(done), "left": state.trash})]
        paid = {seat: {"effort": -float(n)} for seat, n in enumerate(done) if n}
        if state.trash > self.limit:
            state.ended = "given up"
            text = f"More than {self.limit} are left: the house is given up."
            return Step(paid, events=[*events, Event("end", text)])
        for seat in range(self.num_players):
            paid.setdefault(seat, {})["home"] = float(self.home)
        if self.talk:
            state.talking, state.spoken = True, 0
        else:
            events += self._grow(state)
        return Step(paid, events=events)

    def _speak(self, state: House, actions: Mapping[int, Any]) -> list[Event]:
        ((seat, action),) = actions.items()
        events = []
        if isinstance(action, Say):
            name, audience, verb = self.players[seat], None, "says"
            if action.to != EVERYBODY:
                hearer = self.players.index(action.to)
                audience, verb = only(seat, hearer), f"whispers to {action.to}"
            data = {"player": seat, "to": action.to, "text": action.text}
            events.append(Event("message", f"{name} {verb}: {action.text}", data, audience))
        state.spoken += 1
        if state.spoken == self.utterances:
            state.talking = False
            events += self._grow(state)
        return events

    def _grow(self, state: House) -> list[Event]:
        if state.round == self.rounds:
            state.ended = "kept"
            return [Event("end", f"The house was kept for all {self.rounds} rounds.")]
        state.trash = self.grown(state.trash)
        return [Event("growth", f"Trash grows to {state.trash}.", {"trash": state.trash})]

    def grown(self, left: int) -> int:
        """What trash that was left becomes."""
        return max(self.least, 2 * left)

    def plan(self, trash: int, rounds: int) -> tuple[int, int]:
        """The least that all together must clear to keep the house for so many rounds.

        Returns what to clear now and the whole effort.
        """

        @cache
        def effort(trash: int, rounds: int) -> tuple[int, int]:
            """The whole effort first, then what to clear now."""
            must = max(0, trash - self.limit)
            if rounds == 1:
                return must, must
            choices = range(must, trash + 1)
            return min((n + effort(self.grown(trash - n), rounds - 1)[0], n) for n in choices)

        whole, now = effort(trash, rounds)
        return now, whole

    def scores(self, state: House) -> tuple[float, ...]:
        kept = state.round - (state.ended == "given up")
        return tuple(float(self.home * kept - n) for n in state.cleared)

    def outcome(self, state: House) -> Outcome | None:
        if not state.ended:
            return None
        reason = f"The house was {state.ended} in round {state.round} of {self.rounds}."
        result: Result = "score"
        return Outcome((result,) * self.num_players, self.scores(state), reason)

    def noop(self, state: House, seat: int) -> TextAction:
        return Pass() if state.talking else Clear(0)

    # What a player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThere are {self.rounds} rounds. More than {self.limit} left "
            f"is too much; otherwise a round pays {self.home}. Trash grows to at least "
            f"{self.least}."
        )

    def describe(self, state: House, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}. {self._phase(state)} of {self.rounds}.",
            f"There is {state.trash} trash; at most {self.limit} may be left after clearing.",
            f"Cleared so far: {self._named(state.cleared)}.",
        ]
        if state.last:
            lines.append(f"Cleared last: {self._named(state.last)}.")
        if state.talking:
            lines.append(f"Words spoken in this talk: {state.spoken} of {self.utterances}.")
        return "\n".join(lines)

    def _phase(self, state: House) -> str:
        if state.talking:
            return f"Talk after round {state.round}"
        return f"Clearing of round {min(state.round + 1, self.rounds)}"

    def _named(self, amounts: Sequence[int]) -> str:
        return ", ".join(f"{name} {n}" for name, n in zip(self.players, amounts, strict=True))

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = max(self.most * self.rounds, self.utterances)
        return spaces.Box(0, top, (5 + 2 * self.num_players,), np.int32)

    def observe(self, state: House, seat: int) -> NDArray[np.int32]:
        """Trash, rounds cleared, talking?, words spoken, own seat, cleared so far, cleared last."""
        last = state.last or [0] * self.num_players
        row = [state.trash, state.round, state.talking, state.spoken, seat, *state.cleared, *last]
        return np.array(row, np.int32)

    def scene(self, state: House, player: int | None = None) -> Scene:
        bars = [Bar("trash", float(state.trash), float(self.most), 6)]
        full = float(max(self.most, *state.cleared))
        bars += [
            Bar(f"{name} cleared", float(n), full, seat)
            for seat, (name, n) in enumerate(zip(self.players, state.cleared, strict=True))
        ]
        return Scene(bars=tuple(bars), lines=(f"{self._phase(state)} of {self.rounds}.",))


@lru_cache(maxsize=256)
def clearing(most: int) -> Grammar:
    return Grammar((Option(Clear, {"amount": Integer(0, most)}),))


@agent(
    "tidier",
    plays=("text/Trash-v0",),
    summary="Clears its share of the trash by rule: policy=farsighted|needed|idle.",
)
class Tidier(Agent):
    """Clears an even share, rounded up, and says nothing: policy=farsighted|needed|idle.

    Of what costs least over all rounds, of what must be cleared now, or nothing.
    """

    POLICIES = ("farsighted", "needed", "idle")

    def __init__(self, *, policy: str = "farsighted") -> None:
        if policy not in self.POLICIES:
            raise UnknownName("tidier policy", policy, self.POLICIES)
        self._policy = policy

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = turn.game
        if not isinstance(game, Trash):
            raise InvalidOption(f"the tidier plays text/Trash-v0, not {turn.env}")
        trash, played, talking, *_ = np.asarray(turn.observation).tolist()
        if talking:
            return Pass()
        amount = max(0, trash - game.limit)
        if self._policy == "farsighted":
            amount, _ = game.plan(trash, game.rounds - played)
        return Clear(0 if self._policy == "idle" else -(-amount // game.num_players))
