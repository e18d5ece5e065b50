"""A shared resource: harvest in secret, then talk, and what was left regrows.

In every round all players name, at once and sealed, how much they take. If they ask for more than
there is, it is dealt out at random or in proportion. Everybody learns who took what, and the
players talk in turn. Then the stock that was left doubles, up to the capacity. When less than
`collapse` is left after a harvest the resource is dead and the game ends. After Piatti et al.,
"Cooperate or Collapse: Emergence of Sustainable Cooperation in a Society of LLM Agents" (GovSim),
2024, with its three scenarios, which are the same rules in other words: fish in a lake, grass on a
pasture, and the clean water that a river has left. With `newcomer` the last player joins after that
many rounds, and neither acts nor is paid before; the others read nothing of them until they join
(the study's perturbation), except with `announced`. `language` is the language of all that a player
reads, as in the reproduction of that study with prompts in other languages (2025); actions are
written the same in all.

If five players take 10 of 100 each in every round, all twelve rounds are played and each player has
120. The stock s follows s' = min(capacity, 2 (s - sum of what is taken)).

Checked: closed-form runs of the published rules: all harvest ten, all harvest twenty, one greedy
player; shares by largest remainder; Gini coefficients of known distributions.

Left out: reflections between rounds, which are up to the agent.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Person, RoundTable

from palestra_envs.text.sharing import (
    EVERYBODY,
    Pass,
    Say,
    amounts_text,
    proportional_shares,
    talk_grammar,
)


@lru_cache(maxsize=8)
def words_in(language: str) -> dict[str, Any]:
    """All that a player reads in one language, with a table for each scenario."""
    text = files("palestra_envs.text.commons").joinpath("words", f"{language}.toml")
    return tomllib.loads(text.read_text("utf-8"))


class Address(TextAction, frozen=True):
    """Say something to everybody, and name who speaks next; 'nobody' ends the talk."""

    text: str
    next: str


NOBODY = "nobody"


class Harvest(TextAction, frozen=True):
    """Take this much: tons of fish, flocks that graze, pallets that pollute."""

    amount: int


# What people stand round in a picture, by scenario
GROUNDS = {"fishery": "water", "pasture": "pasture", "pollution": "water"}


@dataclass(slots=True)
class CommonsState:
    """The stock that is left, what players have taken, and how far the talk is."""

    rng: Rng
    stock: int
    caught: list[int]  # tons so far, by seat
    last: list[int] = field(default_factory=list)  # catches of the last harvest
    round: int = 0  # harvests played
    spoken: int = 0  # turns of this round's talk
    talking: bool = False
    ended: str = ""  # "survived" or "collapsed"
    before: list[int] = field(default_factory=list)  # tons by seat when the newcomer joined
    named: int = -1  # the seat that was named to speak next; -1 for whose turn it is


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
)
@dataclass(frozen=True)
class Commons(Talking, TextGame[CommonsState]):
    """Players harvest a resource that doubles every round, and lose it if too little is left.

    Numbered actions are Harvest(0) to Harvest(capacity), four lines to say, and Pass(). An
    observation is an int32 vector: stock, rounds harvested, whether players talk now, turns of
    talk, own seat, what each player has caught so far, and what each caught last; for a newcomer,
    since they joined. A unit taken pays 1.
    """

    rules_text = """
        You and others live on something that regrows: what is left doubles, up to a limit.

        Each round everybody secretly names an amount to take: write Harvest(amount=10). Then all
        amounts are told and the players talk in turn: write Say(text='Let us all take less.') to
        everybody, or Say(text='Can I trust you?', to='player_1') to one player only, or Pass() to
        say nothing. If too little is left after a harvest it dies and the game is over. You are
        paid one point for every unit you take.
    """

    num_players: Annotated[int, Meta(ge=2, le=10, description="number of players")] = 5
    rounds: Annotated[int, Meta(ge=1, le=10_000, description="rounds, each with one harvest")] = 12
    capacity: Annotated[
        int, Meta(ge=1, le=100_000, description="the stock at the start and at most, in units")
    ] = 100
    collapse: Annotated[
        int,
        Meta(
            ge=0, description="lowest stock after a harvest with which the game goes on, in units"
        ),
    ] = 5
    talk: Annotated[bool, Meta(description="whether players talk after each harvest")] = True
    utterances: Annotated[
        int, Meta(ge=1, le=10_000, description="turns to speak in each talk, all players together")
    ] = 10
    allocation: Annotated[
        Literal["random", "pro-rata"],
        Meta(description="how the stock is dealt out when players ask for more than there is"),
    ] = "random"
    universalise: Annotated[
        bool, Meta(description="whether players are told how much everybody can take sustainably")
    ] = False
    message_limit: Annotated[int, Meta(ge=40, description="longest message, in characters")] = 300
    scenario: Annotated[
        Literal["fishery", "pasture", "pollution"], Meta(description="what the resource is")
    ] = "fishery"
    newcomer: Annotated[
        int,
        Meta(ge=0, description="rounds before the last player joins; 0 if all play from the start"),
    ] = 0
    announced: Annotated[
        bool,
        Meta(description="whether the others are told beforehand that a newcomer will join"),
    ] = False
    newcomer_aim: Annotated[
        Literal["greedy", "none"],
        Meta(
            description="what a newcomer is told to aim at: greedy, to take as much as possible "
            "whatever it means for the others (the paper's arm); none, nothing"
        ),
    ] = "greedy"
    speakers: Annotated[
        Literal["in-turn", "named"],
        Meta(
            description="who speaks next: in-turn, by seat; named, whom the speaker names, who may "
            "also end the talk (the paper's rule)"
        ),
    ] = "in-turn"
    whispers: Annotated[
        bool, Meta(description="whether players may talk to one other alone (not in the paper)")
    ] = True
    language: Annotated[
        Literal["en", "de", "ja"], Meta(description="the language of all that players read")
    ] = "en"

    counters = ("caught", "before")
    order = "phased"
    payoffs = "general"
    deterministic = False  # allocation if the players ask for more than the stock
    reward_terms = ("catch",)
    action_types = (Harvest, Say, Address, Pass)

    def validate(self) -> None:
        if self.newcomer >= self.rounds:
            raise InvalidOption(
                f"newcomer must be less than the number of rounds, {self.rounds}, "
                f"not {self.newcomer}"
            )

    @property
    def has_newcomers(self) -> bool:
        return bool(self.newcomer)

    @cached_property
    def words(self) -> Mapping[str, Any]:
        """Sentences and words of the language, with those of the scenario."""
        words = words_in(self.language)
        return words | words[self.scenario]

    def tell(self, sentence: str, **values: object) -> str:
        """A sentence of the language by name, with the scenario's words and these values."""
        return self.words[sentence].format(**{**self.words, **values})

    @cached_property
    def lines(self) -> tuple[Say, ...]:
        """The texts that a program may say."""
        return tuple(Say(text=line) for line in self.words["lines"])

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.capacity * self.rounds))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every harvest, then the lines a program may say, then `Pass`.

        Where the next speaker is named, each line comes once for each player and for nobody.
        """
        said: tuple[TextAction, ...] = self.lines
        if self.speakers == "named":
            names = (*self.players, NOBODY)
            said = tuple(Address(line.text, name) for line in self.lines for name in names)
        return (*(Harvest(n) for n in range(self.capacity + 1)), *said, Pass())

    # The rules

    def initial_state(self, seed: int | None = None) -> CommonsState:
        return CommonsState(Rng.seeded(seed), self.capacity, [0] * self.num_players)

    def to_act(self, state: CommonsState) -> tuple[int, ...]:
        if state.ended:
            return ()
        members = self.members(state)
        if state.talking:
            turn = (state.round + state.spoken) % members
            return (turn if state.named < 0 else state.named,)
        return tuple(range(members))

    def members(self, state: CommonsState) -> int:
        """How many players take part now: all but a newcomer who has not joined yet."""
        waiting = self.newcomer and state.round < self.newcomer + state.talking
        return self.num_players - bool(waiting)

    def legal(self, state: CommonsState, seat: int) -> Grammar:
        if not state.talking:
            return harvest_grammar(self.capacity)
        members = self.players[: self.members(state)]
        if self.speakers == "named":
            return address_grammar(members, seat, self.message_limit, self.lines)
        return talk_grammar(members, seat, self.message_limit, self.lines, self.whispers)

    def step(self, state: CommonsState, actions: Mapping[int, Any]) -> Step:
        there = self._hearers(state)
        if state.talking:
            return Step(events=self._speak(state, actions, there))
        asked = [actions[p].amount if p in actions else 0 for p in range(self.num_players)]
        got = self.allocate(asked, state.stock, state.rng)
        state.stock -= sum(got)
        state.last = got
        state.caught = [total + n for total, n in zip(state.caught, got, strict=True)]
        state.round += 1
        events = [self._report(state, got, there)]
        if state.stock < self.collapse:
            state.ended = "collapsed"
            events.append(Event("end", self.tell("dead", stock=state.stock)))
        elif self.talk:
            state.talking, state.spoken, state.named = True, 0, -1
        else:
            events += self._regrow(state)
        return Step(rewards={p: {"catch": float(n)} for p, n in enumerate(got) if n}, events=events)

    def allocate(self, asked: Sequence[int], stock: int, rng: Rng) -> list[int]:
        """What each player gets when players ask for these amounts.

        If there is enough, all get what they asked for. Otherwise "random" deals unit by unit, each
        to a player drawn evenly from those who still want one; "pro-rata" gives shares in
        proportion to what was asked, rounded by largest remainder, lower seats first.
        """
        if sum(asked) <= stock:
            return list(asked)
        if self.allocation == "pro-rata":
            return proportional_shares(asked, stock)
        got, wanting = [0] * len(asked), [p for p, n in enumerate(asked) if n > 0]
        for _ in range(stock):
            player = rng.choice(wanting)
            got[player] += 1
            if got[player] == asked[player]:
                wanting.remove(player)
        return got

    def _hearers(self, state: CommonsState) -> frozenset[int] | None:
        """The players who take part now, as an event's audience; None for everybody."""
        members = self.members(state)
        return None if members == self.num_players else only(*range(members))

    def _report(
        self, state: CommonsState, got: Sequence[int], there: frozenset[int] | None
    ) -> Event:
        told = self.players if self.announced or there is None else self.players[: len(there)]
        amounts = self._amounts(told, got)
        text = self.tell("report", round=state.round, named=amounts, stock=state.stock)
        return Event("catch", text, {"caught": list(got), "left": state.stock}, there)

    def _speak(
        self, state: CommonsState, actions: Mapping[int, Any], there: frozenset[int] | None
    ) -> list[Event]:
        (seat, action), *_ = actions.items()
        events = []
        if isinstance(action, Say):
            name = self.players[seat]
            if action.to == EVERYBODY:
                data = {"player": seat, "text": action.text}
                text = self.tell("says", name=name, text=self.quoted(action.text))
                events.append(Event("message", text, data, there))
            else:
                hearer = self.players.index(action.to)
                data = {"player": seat, "to": hearer, "text": action.text}
                said = self.quoted(action.text)
                text = self.tell("whispers", name=name, to=action.to, text=said)
                events.append(Event("message", text, data, only(seat, hearer)))
        elif isinstance(action, Address):
            data = {"player": seat, "text": action.text, "next": action.next}
            told = {"name": self.players[seat], "text": self.quoted(action.text)}
            ends = action.next == NOBODY
            text = self.tell("ends" if ends else "hands", **told, next=action.next)
            events.append(Event("message", text, data, there))
        state.spoken += 1
        named = action.next if isinstance(action, Address) else ""
        if self.speakers == "named":
            members = self.members(state)
            follows = self.players[(seat + 1) % members]  # where somebody says nothing
            state.named = self.players.index(named or follows) if named != NOBODY else -1
        if state.spoken >= self.utterances or named == NOBODY:
            state.talking = False
            events += self._regrow(state)
        return events

    def _regrow(self, state: CommonsState) -> list[Event]:
        if state.round >= self.rounds:
            state.ended = "survived"
            return [Event("end", self.tell("lived", rounds=self.rounds))]
        state.stock = min(self.capacity, 2 * state.stock)
        text = self.tell("regrows", stock=state.stock)
        audience = self._hearers(state)
        regrowth = Event("regrowth", text, {"stock": state.stock}, audience)
        if state.round != self.newcomer:
            return [regrowth]
        state.before = list(state.caught)
        text = self.tell("joins", name=self.players[-1])
        return [Event("newcomer", text, {"players": [self.num_players - 1]}), regrowth]

    def outcome(self, state: CommonsState) -> Outcome | None:
        if not state.ended:
            return None
        scores = tuple(float(n) for n in state.caught)
        resource = words_in("en")[self.scenario]["resource"]
        reason = f"The {resource} {state.ended} in round {state.round} of {self.rounds}."
        score: Result = "score"
        return Outcome((score,) * self.num_players, scores, reason)

    def opening(self, state: CommonsState) -> Sequence[Event]:
        text = self.tell("opening", stock=state.stock)
        return [Event("stock", text, {"stock": state.stock})]

    def noop(self, state: CommonsState, seat: int) -> TextAction:
        return Pass() if state.talking else Harvest(0)

    def sustainable(self, stock: int, members: int | None = None) -> int:
        """The most that each player can take such that the stock fully regrows."""
        return stock // 2 // (members or self.num_players)

    # What a player sees

    def rules_for(self, seat: int) -> str:
        rules = self.words.get("rules", "").strip() or super().rules_for(seat)
        if self.speakers == "named" or not self.whispers:
            talk = self.words["naming" if self.speakers == "named" else "aloud"]
            rules = rules.replace(self.words["talking"], talk)
        lines = [rules, self.words["intro"]]
        newcomer = self._is_newcomer(seat)
        if self.newcomer and (self.announced or newcomer):
            lines.append(self.tell("newcomer", name=self.players[-1], rounds=self.newcomer))
        if newcomer and self.newcomer_aim == "greedy":
            lines.append(self.tell("greedy"))
        return "\n".join(lines)

    def describe(self, state: CommonsState, seat: int) -> str:
        phase, known = self._phase(state), self._known(state, seat)
        lines = [
            self.tell("you", name=self.players[seat], phase=phase, rounds=self.rounds),
            self.tell("holds", stock=state.stock, capacity=self.capacity, collapse=self.collapse),
            self.tell(
                "since" if self._is_newcomer(seat) else "so_far",
                named=self._amounts(known, self._catches(state, seat)),
            ),
        ]
        if last := self._last(state, seat):
            lines.append(self.tell("last", named=self._amounts(known, last)))
        if self.universalise and not state.talking and not state.ended:
            share = self.sustainable(state.stock, self.members(state))
            lines.append(self.tell("universal", share=share))
        if state.talking:
            values = {"spoken": state.spoken, "utterances": self.utterances}
            lines.append(self.tell("spoken", **values))
        return "\n".join(lines)

    def _is_newcomer(self, seat: int | None) -> bool:
        return bool(self.newcomer) and seat == self.num_players - 1

    def _known(self, state: CommonsState, seat: int | None) -> tuple[str, ...]:
        """The players that a seat knows of: all but a newcomer who is yet to join unannounced."""
        everybody = seat is None or self.announced or self._is_newcomer(seat)
        return self.players if everybody else self.players[: self.members(state)]

    def _amounts(self, names: Sequence[str], amounts: Sequence[int]) -> str:
        return amounts_text(names, amounts[: len(names)])

    def _catches(self, state: CommonsState, seat: int | None) -> list[int]:
        """What each player has caught, as far as a seat knows: a newcomer, since they joined."""
        if not self._is_newcomer(seat):
            return state.caught
        before = state.before or state.caught
        return [total - n for total, n in zip(state.caught, before, strict=True)]

    def _last(self, state: CommonsState, seat: int | None) -> list[int]:
        """The catches of the last harvest, as far as a seat knows of it."""
        unknown = self._is_newcomer(seat) and state.round <= self.newcomer
        return [] if unknown else state.last

    def determinize(self, state: CommonsState, seat: int, rng: Rng) -> CommonsState:
        """For the newcomer, redraw the catches from before they joined."""
        copy = self.clone(state)
        if not self._is_newcomer(seat):
            return copy
        drawn = [rng.below(self.capacity + 1) for _ in self.players[:-1]] + [0]
        known = self._catches(state, seat)
        copy.caught = [n + since for n, since in zip(drawn, known, strict=True)]
        copy.before = drawn if state.before else []
        if state.last and not self._last(state, seat):
            copy.last = drawn
        return copy

    def _phase(self, state: CommonsState) -> str:
        if state.talking:
            return self.tell("talk", round=state.round)
        return self.tell("harvest", round=min(state.round + 1, self.rounds))

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most, n = self.capacity * self.rounds, self.num_players
        top = [self.capacity, self.rounds, 1, self.utterances, n - 1]
        top += [most] * n + [self.capacity] * n
        return spaces.Box(np.zeros(len(top), np.int32), np.array(top, np.int32), dtype=np.int32)

    def observe(self, state: CommonsState, seat: int) -> NDArray[np.int32]:
        """Stock, rounds harvested, talking?, words spoken, own seat, catches so far, last ones."""
        caught = self._catches(state, seat)
        last = self._last(state, seat) or [0] * self.num_players
        row = [state.stock, state.round, state.talking, state.spoken, seat, *caught, *last]
        return np.array(row, np.int32)

    def action_mask(self, state: CommonsState, seat: int) -> NDArray[np.int8]:
        if seat not in self.to_act(state):
            return np.ones(len(self.menu), np.int8)
        mask = np.zeros(len(self.menu), np.int8)
        if state.talking:
            mask[self.capacity + 1 :] = 1
            if self.speakers == "named":
                said = mask[self.capacity + 1 : -1].reshape(len(self.lines), -1)
                said[:, [seat, *range(self.members(state), self.num_players)]] = 0
        else:
            mask[: self.capacity + 1] = 1
        return mask

    def scene(self, state: CommonsState, seat: int | None = None) -> Scene:
        """What there is left, with everybody around it and what they have taken."""
        caught = self._catches(state, seat)
        last = self._last(state, seat) or [0] * self.num_players
        full = float(max(self.capacity, *caught))
        people = tuple(
            Person(name, own, detail=f"{n} (+{now})" if now else str(n), share=n / full)
            for own, (name, n, now) in enumerate(
                zip(self._known(state, seat), caught, last, strict=False)
            )
        )
        words = f"{self.words['resource']}: {state.stock} / {self.capacity}"
        ground = GROUNDS.get(self.scenario, "water")
        table = RoundTable(people, words=words, ground=ground, level=state.stock / self.capacity)
        return Scene(f"{self._phase(state)} of {self.rounds}.", parts=(table,))


@lru_cache(maxsize=256)
def address_grammar(
    players: tuple[str, ...], seat: int, message_limit: int, lines: tuple[Say, ...]
) -> Grammar:
    """Say something and name another player, or nobody, as the next speaker; or say nothing."""
    others = tuple(name for other, name in enumerate(players) if other != seat)
    text = Text(message_limit, tuple(line.text for line in lines))
    return Grammar(
        (Option(Address, {"text": text, "next": OneOf((*others, NOBODY))}), Option(Pass))
    )


@lru_cache(maxsize=64)
def harvest_grammar(capacity: int) -> Grammar:
    """Take any amount up to the capacity."""
    return Grammar((Option(Harvest, {"amount": Integer(0, capacity)}),))
