"""Trust-and-Split: players tell each other their hands and claim coins worth more to the winner.

In every round two players are dealt different hands of rock, paper and scissors, each seen by its
owner only. Who holds the winning hand values a coin at 10, the other at 1. They talk, in turn and
for a few messages, the opener alternating from round to round; then both secretly claim coins from
a pot of 10. Claims of more than the pot together are met in proportion. The hands and claims are
shown before the next round. After Piche et al., "Learning Robust Social Strategies with Large
Language Models", 2025.

The average payoffs per round and player form a prisoner's dilemma: 50 if both tell the truth and
leave all coins to the winner, 27.5 if both claim everything, and 52.5 against 25 if one claims
everything and the other yields.

Checked: the published averages of pairs of styles; claims are met in proportion, by hand.

Left out: the variant without talk whose values are public; buffers of past opponents, which are up
to the learner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    Meta,
    Option,
    Outcome,
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
from palestra.scene import Card, Person, RoundTable

HANDS = ("rock", "paper", "scissors")  # each is beaten by the next
HIGH, LOW = 10, 1  # points a coin is worth to the winner and to the loser


class Say(TextAction, frozen=True):
    """Say something to the other player."""

    text: str


class Claim(TextAction, frozen=True):
    """Claim this many coins."""

    coins: int


LINES: tuple[Say, ...] = (*(Say(f"I have {hand}.") for hand in HANDS), Say("Hello."))


@dataclass(slots=True)
class SplitState:
    """This round's hands, what has been said in it, and the rounds before."""

    rng: Rng
    hands: tuple[int, int]  # by seat; places in HANDS
    round: int = 0
    said: tuple[int, ...] = ()  # the menu's numbers of this round's messages, -1 for other words
    last_hands: tuple[int, int] | None = None
    last_claims: tuple[int, int] = (0, 0)
    points: tuple[float, float] = (0.0, 0.0)


@environment(
    "games/TrustAndSplit-v0",
    family="social",
    tags=("social-dilemma", "messages", "hidden-information", "iterated", "chance"),
    paper="Learning Robust Social Strategies with Large Language Models (2025)",
)
@dataclass(frozen=True)
class TrustAndSplit(Talking, TextGame[SplitState]):
    """Two players tell each other their hidden hands, and claim coins worth more to the winner.

    Numbered actions are a few lines to say, then the claims from 0 to all coins. `observe`
    documents the layout of an observation. A coin pays 10 points to the holder of the winning hand,
    else 1.
    """

    rules_text = """
        You and another player split 10 coins in every round, which are worth more to one of you.

        Each of you holds rock, paper or scissors, never both the same, and sees only their own
        hand. Rock beats scissors, scissors beat paper, paper beats rock. To the holder of the
        winning hand a coin is worth 10 points, to the other 1. First you talk in turn: write
        Say(text='I have rock.'). Then both of you claim coins at the same time: write
        Claim(coins=10). If you claim more than 10 together, the coins are divided in proportion to
        the claims; coins that nobody claims are lost. Then hands and claims are shown and a new
        round is dealt. You are paid your points.
    """

    rounds: Annotated[int, Meta(ge=1, le=1000, description="rounds in an episode")] = 5
    messages: Annotated[
        int, Meta(ge=0, le=20, description="messages in a round, of both players together")
    ] = 2
    coins: Annotated[int, Meta(ge=1, le=100, description="coins in the pot of a round")] = 10
    message_limit: Annotated[
        int, Meta(ge=20, le=100_000, description="most characters of a message")
    ] = 300

    counters = ("points",)
    order = "phased"
    payoffs = "general"
    num_players = 2
    perfect_information = False
    deterministic = False
    reward_terms = ("points",)
    action_types = (Say, Claim)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(HIGH * self.coins * self.rounds))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """What a program may say, then every claim."""
        return (*LINES, *map(Claim, range(self.coins + 1)))

    # The rules

    def initial_state(self, seed: int | None = None) -> SplitState:
        rng = Rng.seeded(seed)
        return SplitState(rng, deal_hands(rng))

    def talking(self, state: SplitState) -> bool:
        return len(state.said) < self.messages

    def to_act(self, state: SplitState) -> tuple[int, ...]:
        if state.round >= self.rounds:
            return ()
        return ((state.round + len(state.said)) % 2,) if self.talking(state) else (0, 1)

    def legal(self, state: SplitState, seat: int) -> Grammar:
        if self.talking(state):
            return message_grammar(self.message_limit)
        return claim_grammar(self.coins)

    def step(self, state: SplitState, actions: Mapping[int, Any]) -> Step:
        if self.talking(state):
            ((seat, action),) = actions.items()
            number = self.index_of(action)
            state.said += (-1 if number is None else number,)
            text = f"{self.players[seat]} says: {self.quoted(action.text)}"
            data = {"player": seat, "text": action.text}
            return Step(events=[Event("message", text, data)])
        claims = (actions[0].coins, actions[1].coins)
        paid = self.split(state.hands, claims)
        rewards = {seat: {"points": points} for seat, points in enumerate(paid) if points}
        events = [self._reveal_event(state, claims, paid)]
        state.last_hands, state.last_claims = state.hands, claims
        state.points = (state.points[0] + paid[0], state.points[1] + paid[1])
        state.round, state.said = state.round + 1, ()
        if state.round < self.rounds:
            state.hands = deal_hands(state.rng)
            events += self._deal_events(state)
        return Step(rewards, events=events)

    def split(self, hands: tuple[int, int], claims: tuple[int, int]) -> tuple[float, float]:
        """The payoffs of both players for these claims."""
        share = self.coins / max(self.coins, sum(claims))
        worth = (HIGH, LOW) if winner(hands) == 0 else (LOW, HIGH)
        return (claims[0] * share * worth[0], claims[1] * share * worth[1])

    def _reveal_event(
        self, state: SplitState, claims: Sequence[int], paid: Sequence[float]
    ) -> Event:
        results = "; ".join(
            f"{name} had {HANDS[hand]}, claimed {coins} and gets {points:g} points"
            for name, hand, coins, points in zip(
                self.players, state.hands, claims, paid, strict=True
            )
        )
        data = {"hands": list(state.hands), "claims": list(claims)}
        return Event("reveal", f"Round {state.round + 1}: {results}.", data)

    def _deal_events(self, state: SplitState) -> list[Event]:
        return [
            Event(
                "deal",
                f"Round {state.round + 1}: you, {self.players[seat]}, have {HANDS[hand]}.",
                {"hand": hand},
                only(seat),
            )
            for seat, hand in enumerate(state.hands)
        ]

    def opening(self, state: SplitState) -> Sequence[Event]:
        return self._deal_events(state)

    def outcome(self, state: SplitState) -> Outcome | None:
        if state.round < self.rounds:
            return None
        return Outcome(("score", "score"), state.points, f"{self.rounds} rounds were played")

    def noop(self, state: SplitState, seat: int) -> TextAction:
        return LINES[-1] if self.talking(state) else Claim(0)

    def determinize(self, state: SplitState, seat: int, rng: Rng) -> SplitState:
        """Deal the other one of the two hands that this player does not hold."""
        copy = self.clone(state)
        if state.round < self.rounds:
            own = state.hands[seat]
            other = (own + 1 + rng.below(2)) % 3
            copy.hands = (own, other) if seat == 0 else (other, own)
        return copy

    # What a player sees

    def describe(self, state: SplitState, seat: int) -> str:
        name = self.players[seat]
        lines = [f"You are {name}. Round {min(state.round + 1, self.rounds)} of {self.rounds}."]
        if state.round < self.rounds:
            lines.append(f"Your hand: {HANDS[state.hands[seat]]}.")
            said = f"{len(state.said)} of {self.messages} messages of this round are said"
            lines.append(f"{said}." if self.talking(state) else f"{said}: claim coins.")
        if state.last_hands is not None:
            last = zip(self.players, state.last_hands, state.last_claims, strict=True)
            claims = (f"{who} {HANDS[hand]} and {n} claimed" for who, hand, n in last)
            lines.append(f"Last round: {', '.join(claims)}.")
        lines.append(
            f"Points so far: {state.points[seat]:g}, {state.points[1 - seat]:g} the other's."
        )
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most = max(self.rounds, self.coins, len(LINES) + 1, HIGH * self.coins * self.rounds)
        return spaces.Box(-1, most, (9 + self.messages,), np.float32)

    def observe(self, state: SplitState, seat: int) -> NDArray[np.float32]:
        """Seat, round, own hand, last hands and claims (own first, -1), points, messages.

        A message is the number of its menu line, one less than the number of lines for other
        words, -1 for one not said yet.
        """
        other = 1 - seat
        last = (-1, -1, -1, -1)
        if state.last_hands is not None:
            hands, claims = state.last_hands, state.last_claims
            last = (hands[seat], hands[other], claims[seat], claims[other])
        hand = state.hands[seat] if state.round < self.rounds else -1
        said = [len(LINES) if number < 0 else number for number in state.said]
        said += [-1] * (self.messages - len(said))
        points = (state.points[seat], state.points[other])
        return np.array([seat, state.round, hand, *last, *points, *said], np.float32)

    def action_mask(self, state: SplitState, seat: int) -> NDArray[np.int8]:
        mask = np.ones(len(self.menu), np.int8)
        if seat in self.to_act(state):
            mask[: len(LINES)] = self.talking(state)
            mask[len(LINES) :] = not self.talking(state)
        return mask

    def scene(self, state: SplitState, seat: int | None = None) -> Scene:
        people = []
        for place, name in enumerate(self.players):
            shown = seat in (None, place) and state.round < self.rounds
            hand = HANDS[state.hands[place]]
            card = Card(hand, label=hand) if shown else Card(hidden=True)
            points = f"{state.points[place]:g} points"
            people.append(Person(name, place, detail=points, cards=(card,)))
        words = f"Round {min(state.round + 1, self.rounds)} of {self.rounds}"
        coins = self.coins if state.round < self.rounds else 0
        stake = f"{words}: coins to claim" if coins else words
        return Scene(parts=(RoundTable(tuple(people), words=stake, pot=float(coins)),))


def deal_hands(rng: Rng) -> tuple[int, int]:
    """Two different hands."""
    first = rng.below(3)
    return first, (first + 1 + rng.below(2)) % 3


def winner(hands: tuple[int, int]) -> int:
    """The seat of the winning hand."""
    return 0 if (hands[0] - hands[1]) % 3 == 1 else 1


@lru_cache(maxsize=64)
def message_grammar(limit: int) -> Grammar:
    return Grammar((Option(Say, {"text": Text(limit, tuple(line.text for line in LINES))}),))


@lru_cache(maxsize=64)
def claim_grammar(coins: int) -> Grammar:
    return Grammar((Option(Claim, {"coins": Integer(0, coins)}),))


@agent("splitter", needs=("array",))
class Splitter(ScriptedAgent[TrustAndSplit]):
    """Tells its hand truthfully, and claims by it, or claims all coins.

    "truthful" leaves all coins to the winner, "greedy" never does. A truthful one that has not
    heard the other's hand claims half.
    """

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["truthful", "greedy"], Meta(description="how it claims coins")
        ] = "truthful",
    ) -> None:
        super().__init__()
        self._greedy = style == "greedy"

    def choose(self, turn: Turn[TrustAndSplit]) -> TextAction:
        game = turn.game
        numbers: list[int] = np.asarray(turn.observation).astype(int).tolist()
        seat, played, hand, said = *numbers[:3], numbers[9:]
        if -1 in said:
            return LINES[hand]
        if self._greedy:
            return Claim(game.coins)
        heard = [number for place, number in enumerate(said) if (played + place) % 2 != seat]
        if not heard or heard[-1] >= len(HANDS) or heard[-1] == hand:
            return Claim(game.coins // 2)
        wins = winner((hand, heard[-1])) == 0
        return Claim(game.coins) if wins else Claim(0)
