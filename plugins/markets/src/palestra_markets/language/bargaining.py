"""Alternating offers: two players divide a sum that is worth less to them every round.

In each round one player proposes a division of the sum, with or without words, and the other
accepts or rejects it; after a rejection the other proposes. An agreement in round t (from 0) pays
each player their share times their own discount to the power of t; no agreement pays nothing. The
players know the last round; with `unbounded` they do not, and the talks still end after `rounds`.
With `complete` information both players know both discounts; otherwise each knows only their own.

The game is that of A. Rubinstein, "Perfect equilibrium in a bargaining model", Econometrica 50,
1982; its parameters are those of the bargaining family of E. Shapira et al., "GLEE: A Unified
Framework and Benchmark for Language-based Economic Environments", 2024.

Checked: the opener's share (1 - d1) / (1 - d0 d1) with infinitely many rounds, and backward
induction with finitely many.

Left out: the paper's records of people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

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
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Person, RoundTable

DISCOUNTS = (0.8, 0.9, 0.95, 1.0)  # what discounts are drawn from


class Propose(TextAction, frozen=True):
    """Propose what you get of the sum; the other gets the rest."""

    share: int
    text: str = ""


class Accept(TextAction, frozen=True):
    """Accept the proposal."""


class Reject(TextAction, frozen=True):
    """Reject the proposal; in the next round you propose."""


@dataclass(slots=True)
class Talks:
    """The state of the talks."""

    rng: Rng
    discounts: tuple[float, float]  # by seat
    round: int = 0
    asked: int | None = None  # the proposer's own share in the standing proposal
    ended: str = ""  # "deal" or "time"


@environment(
    "markets/Bargaining-v0",
    family="text",
    tags=("bargaining", "messages", "deterministic"),
    paper=(
        "Rubinstein (1982), Perfect equilibrium in a bargaining model; Shapira et al. (2024), "
        "GLEE: A Unified Framework and Benchmark for Language-based Economic Environments"
    ),
    splits={
        "one-shot": {"rounds": 1},
        "unbounded": {"unbounded": True, "rounds": 99},
        "incomplete": {"complete": False},
        "silent": {"messages": False},
    },
)
@dataclass(frozen=True)
class Bargaining(Talking, TextGame[Talks]):
    """Two players divide a sum of money by offers in turn, and lose by waiting.

    Action n proposes to keep n of the sum, 0 to `total`; the last two actions accept and reject. A
    player is paid their share of an agreement, discounted for every round that passed.

    An observation is a float32 vector of 7 numbers:

        own seat, round, last round (0: not known)
        own discount, the other's (0: not known)
        whether an offer to this player stands, and the own share in the standing proposal
    """

    total: Annotated[int, Meta(ge=1, le=1_000_000, description="the sum to divide")] = 100
    rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rounds until the talks end without a deal")
    ] = 12
    unbounded: Annotated[bool, Meta(description="whether the last round is kept secret")] = False
    discount_0: Annotated[
        float | None,
        Meta(gt=0, le=1, description="first player's discount per round; None to draw it"),
    ] = None
    discount_1: Annotated[
        float | None,
        Meta(gt=0, le=1, description="second player's discount per round; None to draw it"),
    ] = None
    complete: Annotated[bool, Meta(description="whether both players know both discounts")] = True
    messages: Annotated[bool, Meta(description="whether proposals may carry words")] = True
    message_limit: Annotated[
        int, Meta(ge=1, le=1_000_000, description="characters of the words of a proposal")
    ] = 300

    rules_text = """
        You and another player divide a sum of money by making offers in turn.

        In every round one of you proposes a division and the other accepts or rejects it; after a
        rejection the other proposes, in the next round. Waiting costs: with every round, your share
        is worth less to you by a factor of your own, your discount, and the other's by theirs. If
        you never agree, nobody is paid. In your turn write one of: Propose(share=60, text='I think
        this is fair.') to propose what YOU get, leaving the rest to the other; words are optional;
        Accept() to accept the proposal, which ends the game; Reject() to reject it.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 2
    deterministic = True
    reward_terms = ("deal",)
    action_types = (Propose, Accept, Reject)

    # Derived from the options

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return self.complete

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.total))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every share without words, then the two answers."""
        return (*(Propose(share) for share in range(self.total + 1)), Accept(), Reject())

    @cached_property
    def _proposals(self) -> Grammar:
        words = Text(self.message_limit if self.messages else 0, ("",))
        return Grammar((Option(Propose, {"share": Integer(0, self.total), "text": words}),))

    # The rules

    def initial_state(self, seed: int | None = None) -> Talks:
        rng = Rng.seeded(seed)
        drawn = rng.choice(DISCOUNTS), rng.choice(DISCOUNTS)
        first = drawn[0] if self.discount_0 is None else self.discount_0
        second = drawn[1] if self.discount_1 is None else self.discount_1
        return Talks(rng, (first, second))

    def to_act(self, state: Talks) -> tuple[int, ...]:
        if state.ended:
            return ()
        return (proposer(state) if state.asked is None else 1 - proposer(state),)

    def legal(self, state: Talks, seat: int) -> Grammar:
        return self._proposals if state.asked is None else ANSWERS

    def step(self, state: Talks, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        if isinstance(action, Propose):
            state.asked = action.share
            return Step(events=[self._proposal_event(seat, action)])
        name = self.players[seat]
        if isinstance(action, Accept):
            state.ended = "deal"
            paid = {n: {"deal": worth} for n, worth in enumerate(self.worths(state)) if worth}
            return Step(paid, events=[Event("answer", f"{name} accepts.", {"player": seat})])
        events = [Event("answer", f"{name} rejects.", {"player": seat})]
        state.asked = None
        state.round += 1
        if state.round >= self.rounds:
            state.ended = "time"
            events.append(Event("end", "The talks are over: no deal."))
        return Step(events=events)

    def _proposal_event(self, seat: int, action: Propose) -> Event:
        rest = self.total - action.share
        name, other = self.players[seat], self.players[1 - seat]
        text = f"{name} proposes {action.share} for themselves and {rest} for {other}."
        if action.text:
            text += f" They say: {self.quoted(action.text)}"
        data = {"player": seat, "share": action.share, "text": action.text}
        return Event("proposal", text, data)

    def shares(self, state: Talks) -> tuple[int, int]:
        """What the standing proposal gives each player, undiscounted."""
        asked = state.asked or 0
        both = (asked, self.total - asked)
        return both if proposer(state) == 0 else both[::-1]

    def worths(self, state: Talks) -> tuple[float, float]:
        """What the standing proposal is worth to each player in this round."""
        first, second = self.shares(state)
        d0, d1 = state.discounts
        return first * d0**state.round, second * d1**state.round

    def outcome(self, state: Talks) -> Outcome | None:
        if state.ended == "deal":
            return Outcome(("score", "score"), self.worths(state), "They agreed.")
        if state.ended:
            result = "truncated" if self.unbounded else "none"
            return Outcome((result, result), (0.0, 0.0), "They did not agree.")  # type: ignore[arg-type]
        return None

    def truncated(self, state: Talks) -> bool:
        return state.ended == "time" and self.unbounded

    def opening(self, state: Talks) -> Sequence[Event]:
        ends = "no last round" if self.unbounded else f"{self.rounds} rounds"
        table = Event("table", f"There is {self.total} to divide, and {ends}.")
        discounts = []
        for seat, discount in enumerate(state.discounts):
            name = self.players[seat]
            text = f"With every round, what {name} gets is worth {discount:g} times as much."
            audience = None if self.complete else only(seat)
            data = {"player": seat, "discount": discount}
            discounts.append(Event("discount", text, data, audience))
        return [table, *discounts]

    def determinize(self, state: Talks, seat: int, rng: Rng) -> Talks:
        """Redraw the other player's discount."""
        copy = self.clone(state)
        if not self.complete:
            drawn = rng.choice(DISCOUNTS)
            own = state.discounts[seat]
            copy.discounts = (own, drawn) if seat == 0 else (drawn, own)
        return copy

    # What a player reads and observes

    def describe(self, state: Talks, seat: int) -> str:
        own, other = state.discounts[seat], state.discounts[1 - seat]
        theirs = f"the other's {other:g}" if self.complete else "the other's is not known to you"
        of = "" if self.unbounded else f" of {self.rounds}"
        return "\n".join(
            [
                f"You are {self.players[seat]}. There is {self.total} to divide.",
                f"Round {state.round + 1}{of}. Your discount is {own:g}, {theirs}.",
                self._proposal_text(state, seat),
            ]
        )

    def _proposal_text(self, state: Talks, seat: int) -> str:
        if state.asked is None:
            return "There is no proposal yet in this round."
        share = self.shares(state)[seat]
        if proposer(state) == seat:
            return f"Your proposal stands: {share} for you, {self.total - share} for the other."
        return f"Proposal to you: {share} for you, {self.total - share} for the other."

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = np.array([1, self.rounds, self.rounds, 1, 1, 1, self.total], np.float32)
        return spaces.Box(np.zeros(7, np.float32), top, dtype=np.float32)

    def observe(self, state: Talks, seat: int) -> NDArray[np.float32]:
        own, other = state.discounts[seat], state.discounts[1 - seat]
        offered = state.asked is not None and proposer(state) != seat
        share = 0 if state.asked is None else self.shares(state)[seat]
        last = 0 if self.unbounded else self.rounds
        known = other if self.complete else 0.0
        return np.array([seat, state.round, last, own, known, offered, share], np.float32)

    def scene(self, state: Talks, seat: int | None = None) -> Scene:
        shares = (0, 0) if state.asked is None else self.shares(state)
        people = tuple(
            Person(
                name,
                one,
                detail=f"{share:g} of {self.total:g}",
                acting=one in self.to_act(state),
                share=share / self.total,
            )
            for one, (name, share) in enumerate(zip(self.players, shares, strict=True))
        )
        by = self.players[proposer(state)]
        line = "no proposal" if state.asked is None else f"proposed by {by}"
        words = f"Round {state.round + 1}: {line}."
        return Scene(parts=(RoundTable(tuple(people), words=words),))


ANSWERS = Grammar((Option(Accept), Option(Reject)))


def proposer(state: Talks) -> int:
    """The seat that proposes in this round."""
    return state.round % 2
