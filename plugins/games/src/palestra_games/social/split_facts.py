"""Split Facts: a question whose answer follows from facts that two players hold in halves.

Every person has one friend, so that going from friend to friend one comes round to everybody, and
lives in a town of his own. The question is where the friend of the friend … of somebody lives; each
friendship is known to one of the two players only. They talk in turn, and either may answer at any
time; the other then hears the answer and gives his own. If both answers are right both are paid 1;
characters said are costs. It is the information-split question answering that Optima trains on
(Chen et al., "Optima: Optimizing Effectiveness and Efficiency for LLM-Based Multi-Agent System",
2024), made so that nothing can be looked up: who is whose friend and lives where is drawn anew.

Facts are dealt at random, half to each. Those that the answer needs are dealt in turn if
`alternate`, so that no part of the chain can be followed alone.

Known answer checked: what one can know without hearing anything is what a count of all worlds
gives; two who tell each other the next link in turn need one message a link, and one more if the
second has to begin.

The array view is an int16 vector: own seat, whose turn it is, the first person, messages said,
answers by seat (1 + town); the towns there are; for every person the friend and the town by own
facts (1 + number, 0 unknown); and the same as last said in the words of facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Agent,
    Decision,
    Event,
    Grammar,
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
    Turn,
    UnknownName,
    agent,
    check_ranges,
    environment,
    only,
)

PEOPLE = (
    *("Ada", "Ben", "Cleo", "Dov", "Esra", "Finn", "Gita", "Hugo", "Ines", "Jan", "Kira", "Lars"),
    *("Mina", "Noor", "Otto", "Petra", "Quin", "Rosa", "Sami", "Tove"),
)
STARTS = ("Al", "Bor", "Cal", "Dun", "El", "Far", "Gor", "Hal", "Is", "Kel", "Lor", "Mar", "Nor")
ENDS = ("by", "dale", "field", "ford", "ham", "mouth", "stead", "ton", "wick")
TOWNS = tuple(start + end for start in STARTS for end in ENDS)
SEATS = 2
FRIEND, TOWN = range(2)  # kinds of facts
NOTHING = -1
Fact = tuple[int, int]  # a kind and a person


class Say(TextAction, frozen=True):
    """Say something to the other player."""

    text: str


class Answer(TextAction, frozen=True):
    """Answer the question; once for each player."""

    town: str


@dataclass(slots=True)
class World:
    """The state: each person's friend and town, who holds which facts, what was said."""

    rng: Rng
    friends: tuple[int, ...]
    towns: tuple[int, ...]  # numbers into TOWNS
    choices: tuple[int, ...]  # the towns there are, in order of the alphabet
    dealt: tuple[frozenset[Fact], frozenset[Fact]]
    first: int  # the person the question starts from
    turn: int = 0
    claims: tuple[tuple[int, int, int], ...] = ()  # kind, person, value: as said, true or not
    answers: tuple[int, int] = (NOTHING, NOTHING)
    messages: int = 0
    last: str = ""


@environment(
    "games/SplitFacts-v0",
    family="text",
    tags=(
        "cooperation",
        "communication",
        "messages",
        "costs",
        "hidden-information",
        "deterministic",
    ),
    paper=(
        "Chen et al. (2024), Optima: Optimizing Effectiveness and Efficiency for LLM-Based "
        "Multi-Agent System"
    ),
)
@dataclass(frozen=True)
class SplitFacts(TextGame[World]):
    """You and another player answer one question together. Each of you holds half of the facts.

    Everybody in the facts has one friend and lives in one town. No two have the same friend or the
    same town, and going from friend to friend one comes round to everybody. In your turn write
    Say(text='Ada is the friend of Ben.') to tell the other player something, or
    Answer(town='Calford'). Each of you answers once; after the first answer the other player must
    answer, too. If both answers are right, you are both paid 1. Say no more than you have to.
    """

    people: int = 8
    links: int = 4
    alternate: bool = True
    max_messages: int = 20
    message_limit: int = 300

    order = "sequential"
    payoffs = "common"
    num_players = SEATS
    perfect_information = False
    deterministic = True
    reward_terms = ("right",)
    cost_terms = ("characters",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Say, Answer)

    def __post_init__(self) -> None:
        ranges = (
            ("people", 3, len(PEOPLE)),
            ("links", 1, self.people - 1),
            ("max_messages", 0, 1000),
            ("message_limit", 60, 10_000),
        )
        check_ranges(self, ranges)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every friendship, every home and every answer there can be."""
        everybody = range(self.people)
        friends = [say_friend(a, b) for a in everybody for b in everybody if a != b]
        homes = [say_home(person, town) for person in everybody for town in range(len(TOWNS))]
        return (*map(Say, (*friends, *homes)), *map(Answer, TOWNS))

    @cached_property
    def _meanings(self) -> dict[str, tuple[int, int, int]]:
        """What sentences in the words of facts say: a kind, a person, a friend or town."""
        everybody = range(self.people)
        friends = {say_friend(a, b): (FRIEND, a, b) for a in everybody for b in everybody if a != b}
        homes = {
            say_home(person, town): (TOWN, person, town)
            for person in everybody
            for town in range(len(TOWNS))
        }
        return friends | homes

    # The world

    def initial_state(self, seed: int | None = None) -> World:
        rng = Rng.seeded(seed)
        everybody = list(range(self.people))
        rng.shuffle(everybody)
        cycle = zip(everybody, [*everybody[1:], everybody[0]], strict=True)
        friends = tuple(friend for _, friend in sorted(cycle))
        names = list(range(len(TOWNS)))
        rng.shuffle(names)
        towns = tuple(names[: self.people])
        chain = [everybody[n] for n in range(self.links + 1)]
        needed: list[Fact] = [*((FRIEND, person) for person in chain[:-1]), (TOWN, chain[-1])]
        others = [
            (kind, person)
            for kind in (FRIEND, TOWN)
            for person in range(self.people)
            if (kind, person) not in needed
        ]
        dealt = self._deal(rng, needed, others)
        return World(rng, friends, towns, tuple(sorted(towns)), dealt, chain[0])

    def _deal(
        self, rng: Rng, needed: list[Fact], others: list[Fact]
    ) -> tuple[frozenset[Fact], frozenset[Fact]]:
        """Half of the facts each; those needed in turn, or all at random."""
        rng.shuffle(others)
        if not self.alternate:
            others = needed + others
            rng.shuffle(others)
            needed = []
        lead = rng.below(SEATS)
        order = needed + others
        return (frozenset(order[lead::2]), frozenset(order[1 - lead :: 2]))

    def solution(self, state: World) -> int:
        """The town in question."""
        person = state.first
        for _ in range(self.links):
            person = state.friends[person]
        return state.towns[person]

    # The rules

    def to_act(self, state: World) -> tuple[int, ...]:
        return () if NOTHING not in state.answers else (state.turn,)

    def legal(self, state: World, seat: int) -> Grammar:
        answer = Option(Answer, {"town": OneOf(tuple(TOWNS[town] for town in state.choices))})
        if max(state.answers) != NOTHING or state.messages == self.max_messages:
            return Grammar((answer,))
        samples = tuple(self.sentence(state, fact) for fact in sorted(state.dealt[seat]))
        return Grammar((Option(Say, {"text": Text(self.message_limit, samples)}), answer))

    def sentence(self, state: World, fact: Fact) -> str:
        """A true fact in words."""
        kind, person = fact
        if kind == FRIEND:
            return say_friend(person, state.friends[person])
        return say_home(person, state.towns[person])

    def step(self, state: World, actions: Mapping[int, Any]) -> Step:
        ((player, action),) = actions.items()
        state.turn = 1 - player
        name = self.players[player]
        if isinstance(action, Say):
            state.messages, state.last = state.messages + 1, action.text
            meaning = self._meanings.get(action.text)
            if meaning is not None:
                kept = [claim for claim in state.claims if claim[:2] != meaning[:2]]
                state.claims = (*kept, meaning)
            event = Event("message", f"{name}: {action.text}", {"text": action.text})
            cost = {"characters": float(len(action.text))}
            return Step(costs=dict.fromkeys(range(SEATS), cost), events=[event])
        town = TOWNS.index(action.town)
        state.answers = (town, state.answers[1]) if player == 0 else (state.answers[0], town)
        events = [Event("answer", f"{name} answers: {action.town}.", {"town": action.town})]
        if NOTHING in state.answers:
            return Step(events=events)
        right = TOWNS[self.solution(state)]
        events.append(Event("reveal", f"The answer is {right}.", {"town": right}))
        paid = {"right": 1.0} if self._both_right(state) else {}
        return Step({seat: dict(paid) for seat in range(SEATS)} if paid else {}, events=events)

    def _both_right(self, state: World) -> bool:
        return set(state.answers) == {self.solution(state)}

    def outcome(self, state: World) -> Outcome | None:
        if NOTHING in state.answers:
            return None
        score, result = float(self._both_right(state)), "score"
        reason = "both were right" if score else "not both were right"
        results: tuple[Result, ...] = (result, result)  # type: ignore[assignment]
        return Outcome(results, (score, score), reason)

    def opening(self, state: World) -> Sequence[Event]:
        told = [Event("question", self._question(state), {"first": PEOPLE[state.first]})]
        for seat in range(SEATS):
            text = f"Your facts: {' '.join(self._facts(state, seat))}"
            told.append(Event("facts", text, {}, only(seat)))
        return told

    def determinize(self, state: World, seat: int, rng: Rng) -> World:
        """Draw the other's facts among all worlds that fit one's own and how facts are dealt."""
        if not self.to_act(state):
            return self.clone(state)
        while True:
            copy = self.clone(state)
            copy.friends = complete_circle(rng, self._own_friends(state, seat))
            held = [person for person in range(self.people) if (TOWN, person) in state.dealt[seat]]
            free = [town for town in state.choices if town not in {state.towns[p] for p in held}]
            rng.shuffle(free)
            copy.towns = tuple(
                state.towns[p] if p in held else free.pop() for p in range(self.people)
            )
            if not self.alternate or self._takes_turns(copy):
                return copy

    def _own_friends(self, state: World, seat: int) -> list[int]:
        """By person the friend, or NOTHING where this player was not dealt it."""
        return [
            friend if (FRIEND, person) in state.dealt[seat] else NOTHING
            for person, friend in enumerate(state.friends)
        ]

    def _takes_turns(self, state: World) -> bool:
        """Whether the facts that are needed are dealt in turn."""
        holders, person = [], state.first
        for link in range(self.links + 1):
            fact = (FRIEND if link < self.links else TOWN, person)
            holders.append(fact in state.dealt[0])
            person = state.friends[person]
        return all(a != b for a, b in pairwise(holders))

    # What a player sees

    def _question(self, state: World) -> str:
        asked = f"{PEOPLE[state.first]}'s friend" + "'s friend" * (self.links - 1)
        return f"Where does {asked} live?"

    def _facts(self, state: World, seat: int) -> list[str]:
        return [self.sentence(state, fact) for fact in sorted(state.dealt[seat])]

    def describe(self, state: World, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}. The question: {self._question(state)}",
            f"Your facts: {' '.join(self._facts(state, seat))}",
            f"The towns: {', '.join(TOWNS[town] for town in state.choices)}.",
            f"Messages so far: {state.messages} of {self.max_messages}.",
        ]
        if state.claims:
            said = " ".join(written(*claim) for claim in sorted(state.claims))
            lines.append(f"Said in the words of facts: {said}")
        if state.last:
            lines.append(f"Said last: {state.last}")
        for name, town in zip(self.players, state.answers, strict=True):
            if town != NOTHING:
                lines.append(f"{name} has answered: {TOWNS[town]}.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = max(len(TOWNS), self.max_messages)
        return spaces.Box(0, top, (6 + 5 * self.people,), np.int16)

    def observe(self, state: World, seat: int) -> NDArray[np.int16]:
        """See the module's docstring for the layout."""
        own, said = np.zeros((2, self.people), np.int16), np.zeros((2, self.people), np.int16)
        for kind, person in state.dealt[seat]:
            own[kind, person] = 1 + (state.friends if kind == FRIEND else state.towns)[person]
        for kind, person, value in state.claims:
            said[kind, person] = 1 + value
        head = [seat, state.turn, state.first, state.messages, *(1 + a for a in state.answers)]
        parts = [np.array([*head, *state.choices], np.int16), own.ravel(), said.ravel()]
        return np.concatenate(parts)

    def scene(self, state: World, player: int | None = None) -> Scene:
        lines = [self._question(state)]
        for seat in range(SEATS) if player is None else (player,):
            lines.append(f"{self.players[seat]}: {' '.join(self._facts(state, seat))}")
        lines += [f"Said: {written(*claim)}" for claim in state.claims]
        for name, town in zip(self.players, state.answers, strict=True):
            if town != NOTHING:
                lines.append(f"{name} answers {TOWNS[town]}")
        return Scene(lines=tuple(lines))


def say_friend(person: int, friend: int) -> str:
    return f"{PEOPLE[friend]} is the friend of {PEOPLE[person]}."


def say_home(person: int, town: int) -> str:
    return f"{PEOPLE[person]} lives in {TOWNS[town]}."


def written(kind: int, person: int, value: int) -> str:
    """A claim in words."""
    return say_friend(person, value) if kind == FRIEND else say_home(person, value)


def complete_circle(rng: Rng, friends: Sequence[int]) -> tuple[int, ...]:
    """One circle through everybody, drawn evenly from those with all the friendships given.

    Known friendships make chains; any order of the chains closes to a circle of its own.
    """
    followed = set(friends)
    chains = []
    for person in range(len(friends)):
        if person not in followed:
            chain = [person]
            while friends[chain[-1]] != NOTHING:
                chain.append(friends[chain[-1]])
            chains.append(chain)
    rng.shuffle(chains)
    circle = [person for chain in chains for person in chain] or around(friends)
    done = list(friends)
    for person, friend in zip(circle, [*circle[1:], circle[0]], strict=True):
        done[person] = friend
    return tuple(done)


def around(friends: Sequence[int]) -> list[int]:
    """The circle that is known in full."""
    circle = [0]
    while friends[circle[-1]] != circle[0]:
        circle.append(friends[circle[-1]])
    return circle


@agent(
    "fact-teller",
    plays=("games/SplitFacts-v0",),
    needs=("array",),
    summary="Tells the facts that answer a question, or all it has: style=relay|all.",
)
class FactTeller(Agent):
    """Tells facts and answers as soon as it can: style=relay|all.

    "relay" tells the next link of the chain that both know, "all" tells everything it holds.
    """

    STYLES = ("relay", "all")
    WAIT = "Go on."

    def __init__(self, *, style: str = "relay") -> None:
        if style not in self.STYLES:
            raise UnknownName("fact-teller style", style, self.STYLES)
        self._relays = style == "relay"

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = turn.game
        if not isinstance(game, SplitFacts):
            raise InvalidOption(f"the fact-teller plays games/SplitFacts-v0, not {turn.env}")
        seen = np.asarray(turn.observation)
        own = seen[6 + game.people : 6 + 3 * game.people].reshape(2, game.people)
        said = seen[6 + 3 * game.people :].reshape(2, game.people)
        first, silent = int(seen[2]), Say(self.WAIT) not in turn.legal
        kind, person = self._frontier(said, first, game.links)
        complete = bool(said[kind, person]) if kind == TOWN else False
        known = np.where(own > 0, own, said)
        reached, last = self._frontier(known, first, game.links)
        town = int(known[TOWN, last]) if reached == TOWN else 0
        heard = int(seen[4:6].max())
        if heard or silent or complete or (town and kind == TOWN):
            return Answer(TOWNS[(town or heard or int(seen[6]) + 1) - 1])
        fact = (kind, person) if self._relays else self._untold(own, said)
        if fact is None or not own[fact]:
            return Say(self.WAIT)
        return Say(written(*fact, int(own[fact]) - 1))

    @staticmethod
    def _frontier(known: NDArray[Any], first: int, links: int) -> Fact:
        """The first fact of the chain that is not known, or the town at its end."""
        person = first
        for _ in range(links):
            if not known[FRIEND, person]:
                return FRIEND, person
            person = int(known[FRIEND, person]) - 1
        return TOWN, person

    @staticmethod
    def _untold(own: NDArray[Any], said: NDArray[Any]) -> Fact | None:
        left = np.argwhere((own > 0) & (said == 0))
        return (int(left[0][0]), int(left[0][1])) if len(left) else None
