"""A shared fishery: harvest in secret, then talk, and the lake regrows what was left.

In every round all players name, at once and sealed, how much they catch. Catches are dealt out
(at random, or in proportion, if more was asked for than there is), everybody learns who caught
what, and the players talk in turn. Then the stock that was left doubles, up to the lake's
capacity. When fewer than `collapse` tons are left after a harvest the lake is dead and the game
ends. After Piatti et al., "Cooperate or Collapse: Emergence of Sustainable Cooperation in a
Society of LLM Agents" (GovSim), 2024. If five players catch 10 of 100 each in every round, all
twelve rounds are played and everybody has 120.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Bar,
    Event,
    Grammar,
    Integer,
    InvalidOption,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    Text,
    TextAction,
    TextGame,
    only,
)

EVERYBODY = "everybody"
ALLOCATIONS = ("random", "pro-rata")


class Harvest(TextAction, frozen=True):
    """Catch this many tons."""

    amount: int


class Say(TextAction, frozen=True):
    """Say something to everybody, or to one player only."""

    text: str
    to: str = EVERYBODY


class Pass(TextAction, frozen=True):
    """Say nothing."""


LINES = (
    Say(text="Let us all take less."),
    Say(text="I will take my fair share."),
    Say(text="Somebody took too much."),
    Say(text="I agree."),
)


@dataclass(slots=True)
class Lake:
    """The state: what swims, who has caught what, and whose turn it is to speak."""

    rng: Rng
    stock: int
    caught: list[int]  # tons so far, by seat
    last: list[int] = field(default_factory=list)  # catches of the last harvest
    round: int = 0
    spoken: int = 0  # utterances of this round's talk
    talking: bool = False
    ended: str = ""  # "survived" or "collapsed"


@dataclass(frozen=True)
class Commons(TextGame[Lake]):
    """You fish a lake together with others. What is left after a harvest doubles, up to a limit.

    Each round everybody secretly names a catch: write Harvest(amount=10). Then all catches are
    told and the players talk in turn: write Say(text='Let us all take less.') to everybody, or
    Say(text='Can I trust you?', to='player_2') to one player only, or Pass() to say nothing.
    If too little is left after a harvest the lake dies and the game is over. You are paid one
    point for every ton you catch.
    """

    num_players: int = 5
    rounds: int = 12
    capacity: int = 100
    collapse: int = 5
    talk: bool = True
    utterances: int = 10
    allocation: str = "random"
    universalise: bool = False
    message_limit: int = 300

    order = "phased"
    payoffs = "general"
    deterministic = False  # who gets what when too much is asked for
    reward_terms = ("catch",)
    action_types = (Harvest, Say, Pass)

    def __post_init__(self) -> None:
        if not 2 <= self.num_players <= 10:
            raise InvalidOption(f"num_players must be from 2 to 10, not {self.num_players}")
        if self.allocation not in ALLOCATIONS:
            raise InvalidOption(
                f"allocation must be one of {', '.join(ALLOCATIONS)}, not {self.allocation!r}"
            )
        if min(self.rounds, self.capacity, self.utterances) < 1 or self.collapse < 0:
            raise InvalidOption("rounds, capacity and utterances must be positive, collapse >= 0")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.capacity * self.rounds))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every catch, then the lines a program may say, then silence."""
        return (*(Harvest(n) for n in range(self.capacity + 1)), *LINES, Pass())

    # The rules

    def initial_state(self, seed: int | None = None) -> Lake:
        return Lake(Rng.seeded(seed), self.capacity, [0] * self.num_players)

    def to_act(self, state: Lake) -> tuple[int, ...]:
        if state.ended:
            return ()
        if state.talking:
            return ((state.round + state.spoken) % self.num_players,)
        return tuple(range(self.num_players))

    def legal(self, state: Lake, player: int) -> Grammar:
        if not state.talking:
            return harvest_grammar(self.capacity)
        return talk_grammar(self.players, player, self.message_limit)

    def step(self, state: Lake, actions: Mapping[int, Any]) -> Step:
        if state.talking:
            events = self._speak(state, actions)
            return Step(events=events)
        asked = [actions[player].amount for player in range(self.num_players)]
        got = self.allocate(asked, state.stock, state.rng)
        state.stock -= sum(got)
        state.last = got
        state.caught = [total + n for total, n in zip(state.caught, got, strict=True)]
        state.round += 1
        events = [self._report(state, got)]
        if state.stock < self.collapse:
            state.ended = "collapsed"
            events.append(Event("end", f"Only {state.stock} tons are left: the lake is dead."))
        elif self.talk:
            state.talking, state.spoken = True, 0
        else:
            events += self._regrow(state)
        return Step(rewards={p: {"catch": float(n)} for p, n in enumerate(got) if n}, events=events)

    def allocate(self, asked: Sequence[int], stock: int, rng: Rng) -> list[int]:
        """Who gets what when the players ask for these amounts.

        If there is enough everybody gets what he asked for. Otherwise "random" deals ton by ton,
        each to a player drawn evenly from those who still want one; "pro-rata" gives shares in
        proportion to what was asked, rounded by largest remainder, lower seats first.
        """
        if sum(asked) <= stock:
            return list(asked)
        if self.allocation == "pro-rata":
            return shares(asked, stock)
        got = [0] * len(asked)
        for _ in range(stock):
            wanting = [p for p, n in enumerate(asked) if got[p] < n]
            got[rng.choice(wanting)] += 1
        return got

    def _report(self, state: Lake, got: Sequence[int]) -> Event:
        told = ", ".join(f"{name} {n}" for name, n in zip(self.players, got, strict=True))
        text = f"Round {state.round}: {told}; {state.stock} tons left."
        return Event("catch", text, {"caught": list(got), "left": state.stock})

    def _speak(self, state: Lake, actions: Mapping[int, Any]) -> list[Event]:
        (player, action), *_ = actions.items()
        events = []
        if isinstance(action, Say):
            name = self.players[player]
            if action.to == EVERYBODY:
                data = {"player": player, "text": action.text}
                events.append(Event("message", f"{name} says: {action.text}", data))
            else:
                hearer = self.players.index(action.to)
                data = {"player": player, "to": hearer, "text": action.text}
                text = f"{name} whispers to {action.to}: {action.text}"
                events.append(Event("message", text, data, only(player, hearer)))
        state.spoken += 1
        if state.spoken >= self.utterances:
            state.talking = False
            events += self._regrow(state)
        return events

    def _regrow(self, state: Lake) -> list[Event]:
        if state.round >= self.rounds:
            state.ended = "survived"
            return [Event("end", f"The lake lived through all {self.rounds} rounds.")]
        state.stock = min(self.capacity, 2 * state.stock)
        text = f"The lake regrows to {state.stock} tons."
        return [Event("regrowth", text, {"stock": state.stock})]

    def outcome(self, state: Lake) -> Outcome | None:
        if not state.ended:
            return None
        scores = tuple(float(n) for n in state.caught)
        reason = f"The lake {state.ended} in round {state.round} of {self.rounds}."
        score: Result = "score"
        return Outcome((score,) * self.num_players, scores, reason)

    def opening(self, state: Lake) -> Sequence[Event]:
        return [Event("stock", f"The lake holds {state.stock} tons.", {"stock": state.stock})]

    def noop(self, state: Lake, player: int) -> TextAction:
        return Pass() if state.talking else Harvest(0)

    def sustainable(self, stock: int) -> int:
        """The most each player can catch so that the lake regrows to what it was."""
        return stock // 2 // self.num_players

    # What a player sees

    def describe(self, state: Lake, player: int) -> str:
        lines = [
            f"You are {self.players[player]}. {self._phase(state)} of {self.rounds}.",
            f"The lake holds {state.stock} tons of at most {self.capacity}; below "
            f"{self.collapse} after a harvest it dies.",
            f"Caught so far: {self._named(state.caught)}.",
        ]
        if state.last:
            lines.append(f"Last harvest: {self._named(state.last)}.")
        if self.universalise and not state.talking and not state.ended:
            share = self.sustainable(state.stock)
            lines.append(
                f"If everybody catches more than {share} tons, the lake shrinks every round."
            )
        if state.talking:
            lines.append(f"Words spoken in this talk: {state.spoken} of {self.utterances}.")
        return "\n".join(lines)

    def _phase(self, state: Lake) -> str:
        if state.talking:
            return f"Talk after round {state.round}"
        return f"Harvest of round {min(state.round + 1, self.rounds)}"

    def _named(self, amounts: Sequence[int]) -> str:
        return ", ".join(f"{name} {n}" for name, n in zip(self.players, amounts, strict=True))

    def observation_space(self, player: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most, n = self.capacity * self.rounds, self.num_players
        top = [self.capacity, self.rounds, 1, self.utterances, n - 1]
        top += [most] * n + [self.capacity] * n
        return spaces.Box(np.zeros(len(top), np.int32), np.array(top, np.int32), dtype=np.int32)

    def observe(self, state: Lake, player: int) -> NDArray[np.int32]:
        """Stock, rounds harvested, talking?, words spoken, own seat, catches so far, last ones."""
        last = state.last or [0] * self.num_players
        row = [state.stock, state.round, state.talking, state.spoken, player, *state.caught, *last]
        return np.array(row, np.int32)

    def action_mask(self, state: Lake, player: int) -> NDArray[np.int8]:
        if player not in self.to_act(state):
            return np.ones(len(self.menu), np.int8)
        mask = np.zeros(len(self.menu), np.int8)
        if state.talking:
            mask[self.capacity + 1 :] = 1
        else:
            mask[: self.capacity + 1] = 1
        return mask

    def scene(self, state: Lake, player: int | None = None) -> Scene:
        bars = [Bar("lake", float(state.stock), float(self.capacity), 6)]
        full = float(max(self.capacity, *state.caught))
        bars += [
            Bar(n, float(c), full, s)
            for s, (n, c) in enumerate(zip(self.players, state.caught, strict=True))
        ]
        return Scene(bars=tuple(bars), lines=(f"{self._phase(state)} of {self.rounds}.",))


@lru_cache(maxsize=64)
def harvest_grammar(capacity: int) -> Grammar:
    return Grammar((Option(Harvest, {"amount": Integer(0, capacity)}),))


@lru_cache(maxsize=256)
def talk_grammar(players: tuple[str, ...], player: int, message_limit: int) -> Grammar:
    """A word to everybody or to one other player, or none."""
    others = tuple(name for seat, name in enumerate(players) if seat != player)
    said = Text(message_limit, tuple(line.text for line in LINES))
    return Grammar((Option(Say, {"text": said, "to": OneOf((EVERYBODY, *others))}), Option(Pass)))


def shares(asked: Sequence[int], stock: int) -> list[int]:
    """`stock` in proportion to what was asked, in whole tons, by largest remainder."""
    total = sum(asked)
    whole = [n * stock // total for n in asked]
    order = sorted(range(len(asked)), key=lambda p: (-(asked[p] * stock % total), p))
    for player in order[: stock - sum(whole)]:
        whole[player] += 1
    return whole
