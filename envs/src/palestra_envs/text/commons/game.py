"""A shared resource: harvest in secret, then talk, and what was left regrows.

In every round all players name, at once and sealed, how much they take. What they take is dealt
out (at random, or in proportion, if more was asked for than there is), everybody learns who took
what, and the players talk in turn. Then the stock that was left doubles, up to the capacity. When
less than `collapse` is left after a harvest the resource is dead and the game ends. After Piatti
et al., "Cooperate or Collapse: Emergence of Sustainable Cooperation in a Society of LLM Agents"
(GovSim), 2024, with its three scenarios, which are the same rules in other words: fish of a lake,
grass of a pasture, and the clean water that a river has left. With `newcomer` the last player joins
after so many rounds, and is neither asked nor paid before. `language` is that of all a player
reads, as in the reproduction of that study with prompts in another language (2025); actions are
written the same in all.

If five players take 10 of 100 each in every round, all twelve rounds are played and everybody has
120. Whatever is taken, the stock s follows s' = min(capacity, 2 (s - sum of what is taken)).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
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
    environment,
    only,
)

EVERYBODY = "everybody"
ALLOCATIONS = ("random", "pro-rata")


SCENARIOS = ("fishery", "pasture", "pollution")
LANGUAGES = ("en", "de", "ja")


@lru_cache(maxsize=len(LANGUAGES))
def words_in(language: str) -> dict[str, Any]:
    """All that a player reads in one language; a table a scenario among it."""
    text = files("palestra_envs.text.commons").joinpath("words", f"{language}.toml")
    return tomllib.loads(text.read_text("utf-8"))


class Harvest(TextAction, frozen=True):
    """Take this much: tons of fish, flocks that graze, pallets that pollute."""

    amount: int


class Say(TextAction, frozen=True):
    """Say something to everybody, or to one player only."""

    text: str
    to: str = EVERYBODY


class Pass(TextAction, frozen=True):
    """Say nothing."""


@dataclass(slots=True)
class Lake:
    """The state: what is left, who has taken what, and whose turn it is to speak."""

    rng: Rng
    stock: int
    caught: list[int]  # tons so far, by seat
    last: list[int] = field(default_factory=list)  # catches of the last harvest
    round: int = 0
    spoken: int = 0  # utterances of this round's talk
    talking: bool = False
    ended: str = ""  # "survived" or "collapsed"


@environment(
    "text/Commons-v0",
    family="social",
    tags=("commons", "social-dilemma", "messages"),
    paper=(
        "Piatti et al. (2024), Cooperate or Collapse: Emergence of Sustainable Cooperation in "
        "a Society of LLM Agents"
    ),
    splits={
        "pasture": {"scenario": "pasture"},
        "pollution": {"scenario": "pollution"},
        "newcomer": {"newcomer": 3},
        "german": {"language": "de"},
        "japanese": {"language": "ja"},
    },
    players=(2, 10),
)
@dataclass(frozen=True)
class Commons(TextGame[Lake]):
    """You and others live on something that regrows: what is left doubles, up to a limit.

    Each round everybody secretly names an amount to take: write Harvest(amount=10). Then all
    amounts are told and the players talk in turn: write Say(text='Let us all take less.') to
    everybody, or Say(text='Can I trust you?', to='player_2') to one player only, or Pass() to say
    nothing. If too little is left after a harvest it dies and the game is over. You are paid one
    point for every unit you take.
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
    scenario: str = "fishery"
    newcomer: int = 0
    language: str = "en"

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
        if self.scenario not in SCENARIOS:
            raise InvalidOption(
                f"scenario must be one of {', '.join(SCENARIOS)}, not {self.scenario!r}"
            )
        if self.language not in LANGUAGES:
            raise InvalidOption(
                f"language must be one of {', '.join(LANGUAGES)}, not {self.language!r}"
            )
        if not 0 <= self.newcomer < self.rounds:
            raise InvalidOption(
                f"newcomer must be 0, for none, or the number of rounds before the last player "
                f"joins, less than {self.rounds}; not {self.newcomer}"
            )

    @cached_property
    def words(self) -> Mapping[str, Any]:
        """What is said in this language of this scenario."""
        words = words_in(self.language)
        merged: Mapping[str, Any] = words | words[self.scenario]
        return merged

    def tell(self, sentence: str, **values: object) -> str:
        """A sentence of the language by name, with the scenario's words and these values."""
        told: str = self.words[sentence].format(**{**self.words, **values})
        return told

    @cached_property
    def lines(self) -> tuple[Say, ...]:
        """What a program may say."""
        return tuple(Say(text=line) for line in self.words["lines"])

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.capacity * self.rounds))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every catch, then the lines a program may say, then silence."""
        return (*(Harvest(n) for n in range(self.capacity + 1)), *self.lines, Pass())

    # The rules

    def initial_state(self, seed: int | None = None) -> Lake:
        return Lake(Rng.seeded(seed), self.capacity, [0] * self.num_players)

    def to_act(self, state: Lake) -> tuple[int, ...]:
        if state.ended:
            return ()
        members = self.members(state)
        if state.talking:
            return ((state.round + state.spoken) % members,)
        return tuple(range(members))

    def members(self, state: Lake) -> int:
        """How many take part now: all but a newcomer who is still to come."""
        waiting = self.newcomer and state.round < self.newcomer + state.talking
        return self.num_players - bool(waiting)

    def legal(self, state: Lake, seat: int) -> Grammar:
        if not state.talking:
            return harvest_grammar(self.capacity)
        return talk_grammar(self.players, seat, self.message_limit, self.lines)

    def step(self, state: Lake, actions: Mapping[int, Any]) -> Step:
        if state.talking:
            events = self._speak(state, actions)
            return Step(events=events)
        asked = [actions[p].amount if p in actions else 0 for p in range(self.num_players)]
        got = self.allocate(asked, state.stock, state.rng)
        state.stock -= sum(got)
        state.last = got
        state.caught = [total + n for total, n in zip(state.caught, got, strict=True)]
        state.round += 1
        events = [self._report(state, got)]
        if state.stock < self.collapse:
            state.ended = "collapsed"
            events.append(Event("end", self.tell("dead", stock=state.stock)))
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
        values = {"round": state.round, "named": self._named(got), "stock": state.stock}
        text = self.tell("report", **values)
        return Event("catch", text, {"caught": list(got), "left": state.stock})

    def _speak(self, state: Lake, actions: Mapping[int, Any]) -> list[Event]:
        (seat, action), *_ = actions.items()
        events = []
        if isinstance(action, Say):
            name = self.players[seat]
            if action.to == EVERYBODY:
                data = {"player": seat, "text": action.text}
                text = self.tell("says", name=name, text=action.text)
                events.append(Event("message", text, data))
            else:
                hearer = self.players.index(action.to)
                data = {"player": seat, "to": hearer, "text": action.text}
                text = self.tell("whispers", name=name, to=action.to, text=action.text)
                events.append(Event("message", text, data, only(seat, hearer)))
        state.spoken += 1
        if state.spoken >= self.utterances:
            state.talking = False
            events += self._regrow(state)
        return events

    def _regrow(self, state: Lake) -> list[Event]:
        if state.round >= self.rounds:
            state.ended = "survived"
            return [Event("end", self.tell("lived", rounds=self.rounds))]
        state.stock = min(self.capacity, 2 * state.stock)
        text = self.tell("regrows", stock=state.stock)
        events = [Event("regrowth", text, {"stock": state.stock})]
        if self.newcomer and state.round == self.newcomer:
            text = self.tell("joins", name=self.players[-1])
            events.append(Event("newcomer", text, {"player": self.num_players - 1}))
        return events

    def outcome(self, state: Lake) -> Outcome | None:
        if not state.ended:
            return None
        scores = tuple(float(n) for n in state.caught)
        resource = words_in("en")[self.scenario]["resource"]
        reason = f"The {resource} {state.ended} in round {state.round} of {self.rounds}."
        score: Result = "score"
        return Outcome((score,) * self.num_players, scores, reason)

    def opening(self, state: Lake) -> Sequence[Event]:
        text = self.tell("opening", stock=state.stock)
        return [Event("stock", text, {"stock": state.stock})]

    def noop(self, state: Lake, seat: int) -> TextAction:
        return Pass() if state.talking else Harvest(0)

    def sustainable(self, stock: int, members: int | None = None) -> int:
        """The most each of so many players, by default all, can take and all regrows."""
        return stock // 2 // (members or self.num_players)

    # What a player sees

    def rules_for(self, seat: int) -> str:
        rules = self.words.get("rules", "").strip() or super().rules_for(seat)
        lines = [rules, self.words["intro"]]
        if self.newcomer:
            lines.append(self.tell("newcomer", name=self.players[-1], rounds=self.newcomer))
        return "\n".join(lines)

    def describe(self, state: Lake, seat: int) -> str:
        phase = self._phase(state)
        lines = [
            self.tell("you", name=self.players[seat], phase=phase, rounds=self.rounds),
            self.tell("holds", stock=state.stock, capacity=self.capacity, collapse=self.collapse),
            self.tell("so_far", named=self._named(state.caught)),
        ]
        if state.last:
            lines.append(self.tell("last", named=self._named(state.last)))
        if self.universalise and not state.talking and not state.ended:
            share = self.sustainable(state.stock, self.members(state))
            lines.append(self.tell("universal", share=share))
        if state.talking:
            values = {"spoken": state.spoken, "utterances": self.utterances}
            lines.append(self.tell("spoken", **values))
        return "\n".join(lines)

    def _phase(self, state: Lake) -> str:
        if state.talking:
            return self.tell("talk", round=state.round)
        return self.tell("harvest", round=min(state.round + 1, self.rounds))

    def _named(self, amounts: Sequence[int]) -> str:
        return ", ".join(f"{name} {n}" for name, n in zip(self.players, amounts, strict=True))

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most, n = self.capacity * self.rounds, self.num_players
        top = [self.capacity, self.rounds, 1, self.utterances, n - 1]
        top += [most] * n + [self.capacity] * n
        return spaces.Box(np.zeros(len(top), np.int32), np.array(top, np.int32), dtype=np.int32)

    def observe(self, state: Lake, seat: int) -> NDArray[np.int32]:
        """Stock, rounds harvested, talking?, words spoken, own seat, catches so far, last ones."""
        last = state.last or [0] * self.num_players
        row = [state.stock, state.round, state.talking, state.spoken, seat, *state.caught, *last]
        return np.array(row, np.int32)

    def action_mask(self, state: Lake, seat: int) -> NDArray[np.int8]:
        if seat not in self.to_act(state):
            return np.ones(len(self.menu), np.int8)
        mask = np.zeros(len(self.menu), np.int8)
        if state.talking:
            mask[self.capacity + 1 :] = 1
        else:
            mask[: self.capacity + 1] = 1
        return mask

    def scene(self, state: Lake, seat: int | None = None) -> Scene:
        bars = [Bar(self.words["resource"], float(state.stock), float(self.capacity), 6)]
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
def talk_grammar(
    players: tuple[str, ...], player: int, message_limit: int, lines: tuple[Say, ...]
) -> Grammar:
    """A word to everybody or to one other player, or none."""
    others = tuple(name for seat, name in enumerate(players) if seat != player)
    said = Text(message_limit, tuple(line.text for line in lines))
    return Grammar((Option(Say, {"text": said, "to": OneOf((EVERYBODY, *others))}), Option(Pass)))


def shares(asked: Sequence[int], stock: int) -> list[int]:
    """`stock` in proportion to what was asked, in whole tons, by largest remainder."""
    total = sum(asked)
    whole = [n * stock // total for n in asked]
    order = sorted(range(len(asked)), key=lambda p: (-(asked[p] * stock % total), p))
    for seat in order[: stock - sum(whole)]:
        whole[seat] += 1
    return whole
