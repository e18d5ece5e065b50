"""Split Facts: a question whose answer follows from facts that two players hold in halves.

Every person has one friend and lives in a different town; the friendships form one circle through
everybody. The question is where the friend of the friend … of somebody lives; each friendship is
known to one of the two players only. They talk in turn, and either may answer at any time; the
other then hears the answer and gives theirs. It is the information-split question answering that
Optima trains on (Chen et al., "Optima: Optimizing Effectiveness and Efficiency for LLM-Based
Multi-Agent System", 2024), made so that nothing can be looked up: who is whose friend and lives
where is drawn anew.

Facts are dealt at random, half to each. Those that the answer needs are dealt in turn if
`alternate`, so that no part of the chain can be followed alone.

Checked: what can be inferred without any message agrees with a count over all worlds;
two players who tell each other the next link in turn need one message per link, and one more if the
second has to begin.

Left out: the paper's question sets, which can be looked up, and its other tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    only,
)
from palestra.scene import Graph, Lines, Link, Node, Saying, Talk

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
class SplitFactsState:
    """The state: who is whose friend and lives where, who holds which facts, what was said."""

    rng: Rng
    friends: tuple[int, ...]  # by person
    towns: tuple[int, ...]  # by person, a number into TOWNS
    choices: tuple[int, ...]  # the towns there are, in alphabetical order
    dealt: tuple[frozenset[Fact], frozenset[Fact]]  # by seat
    first: int  # the person the question starts from
    turn: int = 0
    claims: tuple[tuple[int, int, int], ...] = ()  # kind, person, value: as said, true or not
    answers: tuple[int, int] = (NOTHING, NOTHING)  # by seat, a number into TOWNS
    messages: int = 0
    last: str = ""  # what was said last


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
class SplitFacts(Talking, TextGame[SplitFactsState]):
    """Split Facts: two players answer a question from facts of which each holds half.

    The menu numbers every friendship and every home as a Say, then every town as an Answer. An
    observation is an int16 vector: own seat, the seat to move, the first person, messages said,
    answers by seat (1 + town); the towns there are; for every person the friend and the town by own
    facts (1 + number, 0 unknown); and the same as last said in the words of facts. If both answers
    are right, both are paid 1; the characters said count in the cost signal.
    """

    people: Annotated[int, Meta(ge=3, le=len(PEOPLE), description="people in the facts")] = 8
    links: Annotated[
        int, Meta(ge=1, le=len(PEOPLE) - 1, description="friendships from the first to the last")
    ] = 4
    alternate: Annotated[
        bool, Meta(description="whether the facts needed are dealt in turn, or all at random")
    ] = True
    max_messages: Annotated[
        int, Meta(ge=0, le=1000, description="most messages in an episode, by both together")
    ] = 20
    message_limit: Annotated[
        int, Meta(ge=60, le=10_000, description="most characters of a message")
    ] = 300

    rules_text = """
        You and another player answer one question together. Each of you holds half of the facts.

        Everybody in the facts has one friend and lives in one town. No two have the same friend or
        the same town, and going from friend to friend one comes round to everybody. In your turn
        write Say(text='Ada is the friend of Ben.') to tell the other player something, or
        Answer(town='Calford'). Each of you answers once; after the first answer the other player
        must answer, too. If both answers are right, you are both paid 1. Say no more than you have
        to.
    """
    order = "sequential"
    payoffs = "common"
    num_players = SEATS
    perfect_information = False
    deterministic = True
    reward_terms = ("right",)
    cost_terms = ("characters",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Say, Answer)

    def validate(self) -> None:
        if self.links >= self.people:
            raise InvalidOption(
                f"links must be from 1 to {self.people - 1} with {self.people} people, not "
                f"{self.links}"
            )

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every friendship and home that can be said, and every answer."""
        everybody = range(self.people)
        friends = [say_friend(a, b) for a in everybody for b in everybody if a != b]
        homes = [say_home(person, town) for person in everybody for town in range(len(TOWNS))]
        return (*map(Say, (*friends, *homes)), *map(Answer, TOWNS))

    @cached_property
    def _meanings(self) -> dict[str, tuple[int, int, int]]:
        """The claims that sentences in the words of facts make: kind, person, friend or town."""
        everybody = range(self.people)
        friends = {say_friend(a, b): (FRIEND, a, b) for a in everybody for b in everybody if a != b}
        homes = {
            say_home(person, town): (TOWN, person, town)
            for person in everybody
            for town in range(len(TOWNS))
        }
        return friends | homes

    # The facts

    def initial_state(self, seed: int | None = None) -> SplitFactsState:
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
        return SplitFactsState(rng, friends, towns, tuple(sorted(towns)), dealt, chain[0])

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

    def solution(self, state: SplitFactsState) -> int:
        """The town in question."""
        person = state.first
        for _ in range(self.links):
            person = state.friends[person]
        return state.towns[person]

    # The rules

    def to_act(self, state: SplitFactsState) -> tuple[int, ...]:
        return () if NOTHING not in state.answers else (state.turn,)

    def legal(self, state: SplitFactsState, seat: int) -> Grammar:
        answer = Option(Answer, {"town": OneOf(tuple(TOWNS[town] for town in state.choices))})
        if max(state.answers) != NOTHING or state.messages == self.max_messages:
            return Grammar((answer,))
        samples = tuple(self.sentence(state, fact) for fact in sorted(state.dealt[seat]))
        return Grammar((Option(Say, {"text": Text(self.message_limit, samples)}), answer))

    def sentence(self, state: SplitFactsState, fact: Fact) -> str:
        """A true fact in words."""
        kind, person = fact
        if kind == FRIEND:
            return say_friend(person, state.friends[person])
        return say_home(person, state.towns[person])

    def step(self, state: SplitFactsState, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        state.turn = 1 - seat
        name = self.players[seat]
        if isinstance(action, Say):
            return self._say(state, name, action.text)
        town = TOWNS.index(action.town)
        state.answers = (town, state.answers[1]) if seat == 0 else (state.answers[0], town)
        events = [Event("answer", f"{name} answers: {action.town}.", {"town": action.town})]
        if NOTHING in state.answers:
            return Step(events=events)
        right = TOWNS[self.solution(state)]
        events.append(Event("reveal", f"The answer is {right}.", {"town": right}))
        paid = {"right": 1.0} if self._both_right(state) else {}
        return Step({seat: dict(paid) for seat in range(SEATS)} if paid else {}, events=events)

    def _say(self, state: SplitFactsState, name: str, text: str) -> Step:
        state.messages, state.last = state.messages + 1, text
        meaning = self._meanings.get(text)
        if meaning is not None:
            kept = [claim for claim in state.claims if claim[:2] != meaning[:2]]
            state.claims = (*kept, meaning)
        cost = {"characters": float(len(text))}
        event = Event("message", f"{name}: {self.quoted(text)}", {"text": text})
        return Step(costs=dict.fromkeys(range(SEATS), cost), events=[event])

    def _both_right(self, state: SplitFactsState) -> bool:
        return set(state.answers) == {self.solution(state)}

    def outcome(self, state: SplitFactsState) -> Outcome | None:
        if NOTHING in state.answers:
            return None
        score, result = float(self._both_right(state)), "score"
        reason = "both were right" if score else "not both were right"
        results: tuple[Result, ...] = (result, result)  # type: ignore[assignment]
        return Outcome(results, (score, score), reason)

    def opening(self, state: SplitFactsState) -> Sequence[Event]:
        events = [Event("question", self._question(state), {"first": PEOPLE[state.first]})]
        for seat in range(SEATS):
            text = f"Your facts: {' '.join(self._facts(state, seat))}"
            events.append(Event("facts", text, {}, only(seat)))
        return events

    def determinize(self, state: SplitFactsState, seat: int, rng: Rng) -> SplitFactsState:
        """Draw the other's facts from all that fit one's own and the way facts are dealt."""
        self.refuse_the_end(state)
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

    def _own_friends(self, state: SplitFactsState, seat: int) -> list[int]:
        """By person the friend, or NOTHING where this player was not dealt it."""
        return [
            friend if (FRIEND, person) in state.dealt[seat] else NOTHING
            for person, friend in enumerate(state.friends)
        ]

    def _takes_turns(self, state: SplitFactsState) -> bool:
        """Whether the facts that are needed are dealt in turn."""
        holders, person = [], state.first
        for link in range(self.links + 1):
            fact = (FRIEND if link < self.links else TOWN, person)
            holders.append(fact in state.dealt[0])
            person = state.friends[person]
        return all(a != b for a, b in pairwise(holders))

    # What a player sees

    def _question(self, state: SplitFactsState) -> str:
        person = f"{PEOPLE[state.first]}'s friend" + "'s friend" * (self.links - 1)
        return f"Where does {person} live?"

    def _facts(self, state: SplitFactsState, seat: int) -> list[str]:
        return [self.sentence(state, fact) for fact in sorted(state.dealt[seat])]

    def describe(self, state: SplitFactsState, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}. The question: {self._question(state)}",
            f"Your facts: {' '.join(self._facts(state, seat))}",
            f"The towns: {', '.join(TOWNS[town] for town in state.choices)}.",
            f"Messages so far: {state.messages} of {self.max_messages}.",
        ]
        if state.claims:
            said = " ".join(claim_text(*claim) for claim in sorted(state.claims))
            lines.append(f"Said in the words of facts: {said}")
        if state.last:
            lines.append(f"Said last: {self.quoted(state.last)}")
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

    def observe(self, state: SplitFactsState, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        own, said = np.zeros((2, self.people), np.int16), np.zeros((2, self.people), np.int16)
        for kind, person in state.dealt[seat]:
            own[kind, person] = 1 + (state.friends if kind == FRIEND else state.towns)[person]
        for kind, person, value in state.claims:
            said[kind, person] = 1 + value
        head = [seat, state.turn, state.first, state.messages, *(1 + a for a in state.answers)]
        parts = [np.array([*head, *state.choices], np.int16), own.ravel(), said.ravel()]
        return np.concatenate(parts)

    def scene(self, state: SplitFactsState, seat: int | None = None) -> Scene:
        """Who is known to be whose friend and to live where: by either hand, or as was said."""
        links, homes = {}, {}
        known = [(claim, -1) for claim in state.claims]
        for holder in range(SEATS) if seat is None else (seat,):
            for kind, person in state.dealt[holder]:
                value = (state.friends if kind == FRIEND else state.towns)[person]
                known.append(((kind, person, value), holder))
        for (kind, person, value), holder in known:
            if kind == FRIEND:
                colour = "grey" if holder < 0 else holder
                links[person, value] = Link(person, value, colour=colour, directed=True)
            else:
                homes[person] = TOWNS[value]
        nodes = tuple(
            Node(PEOPLE[person][:4], "gold" if person == state.first else "white",
                 homes.get(person, ""))
            for person in range(self.people)
        )  # fmt: skip
        said = tuple(
            Saying(name, f"My answer is {TOWNS[town]}.", one)
            for one, (name, town) in enumerate(zip(self.players, state.answers, strict=True))
            if town != NOTHING
        )
        lines = tuple(f"Said: {claim_text(*claim)}" for claim in state.claims)
        return Scene(
            parts=(
                Lines((self._question(state),)),
                Graph(nodes, tuple(links.values())),
                *((Talk(said),) if said else ()),
            ),
            lines=lines,
        )


def say_friend(person: int, friend: int) -> str:
    """The sentence for a friendship."""
    return f"{PEOPLE[friend]} is the friend of {PEOPLE[person]}."


def say_home(person: int, town: int) -> str:
    """The sentence for a home."""
    return f"{PEOPLE[person]} lives in {TOWNS[town]}."


def claim_text(kind: int, person: int, value: int) -> str:
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
    circle = [person for chain in chains for person in chain] or known_circle(friends)
    done = list(friends)
    for person, friend in zip(circle, [*circle[1:], circle[0]], strict=True):
        done[person] = friend
    return tuple(done)


def known_circle(friends: Sequence[int]) -> list[int]:
    """The circle that is known in full."""
    circle = [0]
    while friends[circle[-1]] != circle[0]:
        circle.append(friends[circle[-1]])
    return circle


@agent("fact-teller", needs=("array",))
class FactTeller(ScriptedAgent[SplitFacts]):
    """Tells the facts that answer a question, or all it has, and answers as soon as it can."""

    WAIT = "Go on."

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["relay", "all"],
            Meta(
                description="'relay' tells the next link of the chain that both know; 'all' tells "
                "everything it knows"
            ),
        ] = "relay",
    ) -> None:
        super().__init__(seed=0)
        self._relays = style == "relay"

    def choose(self, turn: Turn[SplitFacts]) -> TextAction:
        game = turn.game
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
        fact = (kind, person) if self._relays else self._first_untold(own, said)
        if fact is None or not own[fact]:
            return Say(self.WAIT)
        return Say(claim_text(*fact, int(own[fact]) - 1))

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
    def _first_untold(own: NDArray[Any], said: NDArray[Any]) -> Fact | None:
        """A fact of its own that nobody has said; None if there is none."""
        left = np.argwhere((own > 0) & (said == 0))
        return (int(left[0][0]), int(left[0][1])) if len(left) else None
