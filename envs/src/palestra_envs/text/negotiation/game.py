"""Deal or No Deal: two players with private values divide a few items, and must agree.

There are books, hats and balls, five to seven in all and at least one of each. Each player has
private whole-number values for the three kinds under which all items together are worth 10; every
kind is worth something to a player, and at least one kind to both. Players take turns: they say
something, propose what to take (the rest is the other's), accept the standing proposal, or walk
away. A deal pays each player the value of what they get; walking away or running out of turns pays
nobody. Rules after Lewis, Yarats, Dauphin, Parikh and Batra, "Deal or No Deal? End-to-End Learning
of Negotiation Dialogues", EMNLP 2017. As there, `closing="split"` ends with a split that each
player submits in secret, and pays nobody if the two do not fit; by default a proposal is accepted.

Checked: the number of pairs of values by brute force; the published example pays what its shares
are worth; the expert aims at the split of the greatest product.

Left out: the authors' contexts; people who annotate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    FilePath,
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
from palestra.scene import Card, Person, RoundTable, Table

from palestra_envs.text.negotiation.contexts import Context, Items, read_contexts

KINDS = ("books", "hats", "balls")
WORTH = 10  # of all items together, to each player
MOST = 5  # items of one kind: there are at most seven, and one of each other kind


class Say(TextAction, frozen=True):
    """Say something to the other player."""

    text: str


class Propose(TextAction, frozen=True):
    """Propose what you take; the other gets the rest."""

    books: int
    hats: int
    balls: int

    @property
    def items(self) -> Items:
        return (self.books, self.hats, self.balls)


class Accept(TextAction, frozen=True):
    """Accept the other player's standing proposal."""


class Done(TextAction, frozen=True):
    """End the talk; then both submit what they take."""


class Claim(TextAction, frozen=True):
    """What you take, submitted in secret after the talk."""

    books: int
    hats: int
    balls: int

    @property
    def items(self) -> Items:
        return (self.books, self.hats, self.balls)


class Walk(TextAction, frozen=True):
    """Walk away without a deal."""


LINES = (
    Say(text="What do you value most?"),
    Say(text="I need more than that."),
    Say(text="That is close to fair."),
    Say(text="This is my last offer."),
)
ACTIONS: tuple[TextAction, ...] = (
    *(Propose(*items) for items in product(range(MOST + 1), repeat=3)),
    Accept(),
    Walk(),
    *LINES,
)
SPLIT_ACTIONS: tuple[TextAction, ...] = (
    *(Propose(*items) for items in product(range(MOST + 1), repeat=3)),
    Done(),
    Walk(),
    *LINES,
    *(Claim(*items) for items in product(range(MOST + 1), repeat=3)),
)
SPLIT_RULES = """
    You and another player divide books, hats and balls. You must agree, or nobody gets any.

    What the items are worth to you is private; all of them together are worth 10 to you, and 10 to
    the other player, who values them differently. In your turn write one of: Say(text='I mostly
    want the books.') to talk; Propose(books=1, hats=0, balls=2) to propose what YOU take, leaving
    the rest to the other; Done() when you have agreed, which ends the talk; Walk() to leave without
    a deal. When the talk is over, or time runs out, each of you submits in secret what you take:
    Claim(books=1, hats=0, balls=2). If both together take exactly what is on the table, you are
    paid what your share is worth to you; otherwise nobody is paid.
"""
ACCEPT, WALK = (MOST + 1) ** 3, (MOST + 1) ** 3 + 1


@dataclass(slots=True)
class NegotiationState:
    """The items, what they are worth to each player, and the standing proposal."""

    rng: Rng
    counts: Items  # books, hats and balls on the table
    values: tuple[Items, Items]  # by seat, what one item of each kind is worth
    turn: int = 0
    offer: Propose | None = None  # the standing proposal
    proposer: int = 0  # the seat that made it
    ended: str = ""  # "deal", "walk" or "time"; "misfit" if two claims do not fit
    claiming: bool = False  # whether the talk is over and splits are submitted
    claims: tuple[Items | None, Items | None] = (None, None)  # by seat; secret until both are in


@environment(
    "text/Negotiation-v0",
    family="text",
    tags=("negotiation", "hidden-information", "messages"),
    paper="Lewis et al. (2017), Deal or No Deal? End-to-End Learning of Negotiation Dialogues",
    splits={"both-submit": {"closing": "split"}},
)
@dataclass(frozen=True)
class Negotiation(Talking, TextGame[NegotiationState]):
    """Two players with private values divide books, hats and balls, and must agree.

    Numbered actions are all Propose(books, hats, balls) from 0 to 5 each, Accept(), Walk() and
    four lines to say. An observation is an int16 vector: the counts, the own values, whether an
    offer to the player stands, whether one by the player stands, what the offer takes, the turn,
    and `max_turns`. A deal pays each player the value of what they get, 0 to 10.
    """

    rules_text = """
        You and another player divide books, hats and balls. Both must agree, or nobody gets any.

        What the items are worth to you is private; all of them together are worth 10 to you, and 10
        to the other player, who values them differently. In your turn write one of: Say(text='I
        mostly want the books.') to talk; Propose(books=1, hats=0, balls=2) to propose what YOU
        take, leaving the rest to the other; Accept() to accept the other player's proposal, which
        ends the game; Walk() to leave without a deal. You are paid what your share is worth to you.
        If time runs out nobody is paid.
    """

    max_turns: Annotated[
        int, Meta(ge=1, le=30_000, description="most turns in an episode, of both players together")
    ] = 20
    closing: Annotated[
        Literal["accept", "split"],
        Meta(
            description="how it ends: accept, one player accepts the other's proposal; split, both "
            "submit in secret what they take, and are paid if it fits (the paper's rule)"
        ),
    ] = "accept"
    message_limit: Annotated[
        int,
        Meta(
            ge=max(len(line.text) for line in LINES), description="longest message, in characters"
        ),
    ] = 300
    contexts: Annotated[
        FilePath,
        Meta(
            description="a file of the paper's contexts (selfplay.txt, data.txt) to draw items and "
            "values from; empty: drawn at random"
        ),
    ] = ""

    order = "sequential"
    payoffs = "general"
    num_players = 2
    perfect_information = False
    deterministic = True
    reward_terms = ("deal",)
    payoff_bounds = (0.0, float(WORTH))
    action_types = (Say, Propose, Accept, Walk, Done, Claim)

    @property
    def menu(self) -> tuple[TextAction, ...]:
        return ACTIONS if self.closing == "accept" else SPLIT_ACTIONS

    def rules_for(self, seat: int) -> str:
        if self.closing == "accept":
            return super().rules_for(seat)
        return "\n".join(" ".join(part.split()) for part in SPLIT_RULES.strip().split("\n\n"))

    # The rules

    def validate(self) -> None:
        if self.contexts:
            self.situations()

    def situations(self) -> tuple[Context, ...]:
        """The contexts of the file, each as often as it is there."""
        return read_contexts(self.contexts, most=MOST, worth=WORTH)

    def initial_state(self, seed: int | None = None) -> NegotiationState:
        rng = Rng.seeded(seed)
        if self.contexts:
            return NegotiationState(rng, *rng.choice(self.situations()))
        while True:
            counts = (rng.between(1, MOST), rng.between(1, MOST), rng.between(1, MOST))
            if not 5 <= sum(counts) <= 7:
                continue
            pairs = value_pairs(counts)
            if pairs:
                return NegotiationState(rng, counts, rng.choice(pairs))

    counters = ("turn",)

    def without_counters(self, state: NegotiationState) -> NegotiationState:
        """A copy whose turn says only who is to move."""
        still = self.clone(state)
        still.turn %= 2
        return still

    def to_act(self, state: NegotiationState) -> tuple[int, ...]:
        return () if state.ended else (state.turn % 2,)

    def legal(self, state: NegotiationState, seat: int) -> Grammar:
        if state.claiming:
            return claim_grammar(state.counts)
        if self.closing == "split":
            return split_grammar(state.counts, self.message_limit)
        return grammar(state.counts, state.offer is not None, self.message_limit)

    def step(self, state: NegotiationState, actions: Mapping[int, Any]) -> Step:
        seat = state.turn % 2
        action = actions[seat]
        if isinstance(action, Claim):
            return self._claim(state, seat, action)
        state.turn += 1
        rewards: dict[int, dict[str, float]] = {}
        if isinstance(action, Accept):
            state.ended = "deal"
            rewards = {s: {"deal": float(w)} for s, w in enumerate(self.shares(state)) if w}
        elif isinstance(action, Walk):
            state.ended = "walk"
        elif isinstance(action, Propose):
            state.offer, state.proposer = action, seat
        elif isinstance(action, Done):
            state.claiming = True
        elif state.offer is not None and self.closing == "accept":
            state.offer = None  # any other answer lets the offer lapse
        events = [self._action_event(seat, action)]
        if self.closing == "split" and not state.ended and state.turn >= self.max_turns:
            state.claiming = True
            return Step(events=[*events, Event("end", "The talk is over: both submit a split.")])
        if not state.ended and state.turn >= self.max_turns:
            state.ended = "time"
            events.append(Event("end", "Time is up: no deal."))
        return Step(rewards=rewards, events=events)

    def _claim(self, state: NegotiationState, seat: int, action: Claim) -> Step:
        """Keep a claim secret until both are in, then pay if they fit."""
        first, second = state.claims
        state.claims = (action.items, second) if seat == 0 else (first, action.items)
        state.turn += 1
        text = f"You, {self.players[seat]}, claim {items_text(action.items)}."
        data = {"player": seat, "takes": list(action.items)}
        events = [Event("claim", text, data, only(seat))]
        if None in state.claims:
            return Step(events=events)
        worth = self.claimed(state)
        state.ended = "deal" if worth else "misfit"
        taken = " and ".join(
            f"{name} takes {items_text(claim or ())}"
            for name, claim in zip(self.players, state.claims, strict=True)
        )
        fits = "This fits." if worth else "This does not fit: no deal."
        rewards = {s: {"deal": float(w)} for s, w in enumerate(worth or ()) if w}
        return Step(rewards=rewards, events=[*events, Event("reveal", f"{taken}. {fits}")])

    def claimed(self, state: NegotiationState) -> tuple[int, int] | None:
        """What both claims are worth to player 0 and to player 1; None if they do not fit."""
        first, second = state.claims
        if first is None or second is None:
            return None
        if any(a + b != n for a, b, n in zip(first, second, state.counts, strict=True)):
            return None
        return value_of(first, state.values[0]), value_of(second, state.values[1])

    def _action_event(self, seat: int, action: TextAction) -> Event:
        name = self.players[seat]
        if isinstance(action, Say):
            data = {"player": seat, "text": action.text}
            return Event("message", f"{name} says: {self.quoted(action.text)}", data)
        if isinstance(action, Propose):
            text = f"{name} proposes to take {items_text(action.items)} and leave the rest."
            return Event("proposal", text, {"player": seat, "takes": list(action.items)})
        word = "accepts" if isinstance(action, Accept) else "walks away"
        word = "ends the talk" if isinstance(action, Done) else word
        return Event("answer", f"{name} {word}.", {"player": seat})

    def shares(self, state: NegotiationState) -> tuple[int, int]:
        """The values of the standing offer to player 0 and to player 1."""
        assert state.offer is not None
        taken, proposer = state.offer.items, state.proposer
        rest = tuple(c - t for c, t in zip(state.counts, taken, strict=True))
        worth = [0, 0]
        worth[proposer] = value_of(taken, state.values[proposer])
        worth[1 - proposer] = value_of(rest, state.values[1 - proposer])
        return worth[0], worth[1]

    def outcome(self, state: NegotiationState) -> Outcome | None:
        if not state.ended:
            return None
        if state.ended == "deal":
            first, second = self.claimed(state) or self.shares(state)
            return Outcome(("score", "score"), (float(first), float(second)), "They agreed.")
        if state.ended == "time":
            return Outcome(("truncated", "truncated"), (0.0, 0.0), "Time ran out.")
        if state.ended == "misfit":
            return Outcome(("none", "none"), (0.0, 0.0), "Their claims did not fit.")
        walker = self.players[(state.turn - 1) % 2]
        return Outcome(("none", "none"), (0.0, 0.0), f"{walker} walked away.")

    def truncated(self, state: NegotiationState) -> bool:
        return state.ended == "time"

    def opening(self, state: NegotiationState) -> Sequence[Event]:
        events = [
            Event("table", f"On the table: {items_text(state.counts)}.", {"counts": state.counts})
        ]
        for seat, values in enumerate(state.values):
            worth = ", ".join(f"a {k[:-1]} {v}" for k, v in zip(KINDS, values, strict=True))
            text = f"To you, {self.players[seat]}, {worth} each."
            events.append(Event("values", text, {"values": values}, only(seat)))
        return events

    def determinize(self, state: NegotiationState, seat: int, rng: Rng) -> NegotiationState:
        """Draw the other player's values from all that fit the counts and the own values."""
        pairs: Sequence[tuple[Items, Items]] = value_pairs(state.counts)
        if self.contexts:
            pairs = [values for counts, values in self.situations() if counts == state.counts]
        fitting = [pair for pair in pairs if pair[seat] == state.values[seat]]
        copy = self.clone(state)
        copy.values = rng.choice(fitting)
        if state.claims[1 - seat] is not None and not state.ended:
            books, hats, balls = (rng.below(count + 1) for count in state.counts)
            claim = (books, hats, balls)
            own = state.claims[seat]
            copy.claims = (own, claim) if seat == 0 else (claim, own)
        return copy

    # What a player sees

    def describe(self, state: NegotiationState, seat: int) -> str:
        own = state.values[seat]
        worth = ", ".join(f"{k} {v}" for k, v in zip(KINDS, own, strict=True))
        lines = [
            f"You are {self.players[seat]}. On the table: {items_text(state.counts)}.",
            f"Worth to you, each: {worth}.",
            f"Turn {state.turn} of {self.max_turns}.",
            self._claiming(state, seat) if state.claiming else self._standing(state, seat),
        ]
        return "\n".join(lines)

    def _claiming(self, state: NegotiationState, seat: int) -> str:
        own = state.claims[seat]
        if own is not None:
            return f"The talk is over. You claim {items_text(own)}."
        last = self._standing(state, seat) if state.offer is not None else "Nothing was proposed."
        return f"The talk is over. {last} Submit what you take."

    def _standing(self, state: NegotiationState, seat: int) -> str:
        if state.offer is None:
            return "There is no proposal to accept."
        taken = state.offer.items
        if state.proposer == seat:
            return f"Your proposal stands: you take {items_text(taken)}."
        rest = tuple(c - t for c, t in zip(state.counts, taken, strict=True))
        worth = value_of(rest, state.values[seat])
        return (
            f"Proposal to you: the other takes {items_text(taken)}, you get {items_text(rest)}, "
            f"worth {worth} to you."
        )

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        extra = [] if self.closing == "accept" else [1]
        last = self.max_turns + 2 * len(extra)  # two claims may follow the last turn
        top = [*[MOST] * 3, *[WORTH] * 3, 1, 1, *[MOST] * 3, last, self.max_turns, *extra]
        high = np.array(top, np.int16)
        return spaces.Box(np.zeros(len(top), np.int16), high, dtype=np.int16)

    def observe(self, state: NegotiationState, seat: int) -> NDArray[np.int16]:
        """Counts, own values, offer to me?, offer by me?, what the offer takes, turn, max_turns.

        With `closing="split"` follows whether the talk is over.
        """
        mine = state.offer is not None and state.proposer == seat
        theirs = state.offer is not None and not mine
        taken = state.offer.items if state.offer is not None else (0, 0, 0)
        values = state.values[seat]
        row = [*state.counts, *values, theirs, mine, *taken, state.turn, self.max_turns]
        if self.closing == "split":
            row.append(state.claiming)
        return np.array(row, np.int16)

    def action_mask(self, state: NegotiationState, seat: int) -> NDArray[np.int8]:
        if seat not in self.to_act(state):
            return np.ones(len(self.menu), np.int8)
        if self.closing == "split":
            return split_mask(state.counts, state.claiming).copy()
        return menu_mask(state.counts, state.offer is not None).copy()

    def scene(self, state: NegotiationState, seat: int | None = None) -> Scene:
        """The items: on the table, or in the hands of those who would get them."""
        known = (0, 1) if seat is None else (seat,)
        hands: tuple[Items, Items] = ((0, 0, 0), (0, 0, 0))
        if state.offer is not None:
            taken = state.offer.items
            books, hats, balls = (c - t for c, t in zip(state.counts, taken, strict=True))
            rest = (books, hats, balls)
            hands = (taken, rest) if state.proposer == 0 else (rest, taken)
        people = []
        for one, (name, items) in enumerate(zip(self.players, hands, strict=True)):
            worth = f"worth {value_of(items, state.values[one])}" if one in known else ""
            detail = worth if state.offer is not None else ""
            acting = one in self.to_act(state)
            people.append(Person(name, one, detail=detail, cards=item_cards(items), acting=acting))
        lying = item_cards(state.counts) if state.offer is None else ()
        words = "" if state.offer is None else f"{self.players[state.proposer]} proposes this."
        worths = Table(
            ("each", *KINDS),
            tuple((f"worth to {self.players[one]}", *map(str, state.values[one])) for one in known),
            colours=known,
        )
        caption = f"Turn {state.turn} of {self.max_turns}"
        return Scene(caption, parts=(RoundTable(tuple(people), lying, words), worths))


def items_text(items: Sequence[int]) -> str:
    """Items in words, such as '2 books, 1 hat, 0 balls'."""
    parts = zip(items, KINDS, strict=True)
    return ", ".join(f"{n} {kind[:-1] if n == 1 else kind}" for n, kind in parts)


def item_cards(items: Items) -> tuple[Card, ...]:
    """A card with a picture for every item."""
    kinds = (("book", "blue"), ("hat", "brown"), ("ball", "red"))
    return tuple(
        Card(colour=colour, label=sprite, sprite=sprite)
        for (sprite, colour), count in zip(kinds, items, strict=True)
        for _ in range(count)
    )


def value_of(items: Sequence[int], values: Sequence[int]) -> int:
    """The value of items, given the value of one item of each kind."""
    return sum(n * v for n, v in zip(items, values, strict=True))


@lru_cache(maxsize=256)
def value_vectors(counts: Items) -> tuple[Items, ...]:
    """All values under which the items together are worth 10."""
    top = range(WORTH + 1)
    vectors = ((book, hat, ball) for book in top for hat in top for ball in top)
    return tuple(v for v in vectors if value_of(counts, v) == WORTH)


@lru_cache(maxsize=256)
def value_pairs(counts: Items) -> tuple[tuple[Items, Items], ...]:
    """All pairs of values with no kind worthless to both and one kind worth something to both."""
    vectors = value_vectors(counts)
    return tuple(
        (a, b)
        for a in vectors
        for b in vectors
        if all(x + y > 0 for x, y in zip(a, b, strict=True))
        and any(x > 0 and y > 0 for x, y in zip(a, b, strict=True))
    )


@lru_cache(maxsize=512)
def grammar(counts: Items, offered: bool, message_limit: int) -> Grammar:
    """The legal actions with these items on the table, and with or without a proposal."""
    fields = {kind: Integer(0, n) for kind, n in zip(KINDS, counts, strict=True)}
    text = Text(message_limit, tuple(line.text for line in LINES))
    options = [Option(Say, {"text": text}), Option(Propose, fields)]
    options += [Option(Accept)] if offered else []
    return Grammar((*options, Option(Walk)))


@lru_cache(maxsize=512)
def split_grammar(counts: Items, message_limit: int) -> Grammar:
    """What may be done while the players talk and are to submit a split."""
    fields = {kind: Integer(0, n) for kind, n in zip(KINDS, counts, strict=True)}
    text = Text(message_limit, tuple(line.text for line in LINES))
    options = (Option(Say, {"text": text}), Option(Propose, fields), Option(Done), Option(Walk))
    return Grammar(options)


@lru_cache(maxsize=512)
def claim_grammar(counts: Items) -> Grammar:
    """What may be claimed."""
    fields = {kind: Integer(0, n) for kind, n in zip(KINDS, counts, strict=True)}
    return Grammar((Option(Claim, fields),))


@lru_cache(maxsize=512)
def split_mask(counts: Items, claiming: bool) -> NDArray[np.int8]:
    """Which actions of the menu for `closing="split"` are legal; copy the shared array."""
    items = product(range(MOST + 1), repeat=3)
    fits = np.array([all(t <= c for t, c in zip(i, counts, strict=True)) for i in items], np.int8)
    talk = np.full(2 + len(LINES), not claiming, np.int8)
    return np.concatenate([fits * (not claiming), talk, fits * claiming]).astype(np.int8)


@lru_cache(maxsize=512)
def menu_mask(counts: Items, offered: bool) -> NDArray[np.int8]:
    """Which actions of the menu are legal; the array is shared, so copy it."""
    legal = [all(t <= c for t, c in zip(a.items, counts, strict=True)) for a in ACTIONS[:ACCEPT]]  # type: ignore[attr-defined]
    return np.array([*legal, offered, True, *[True] * len(LINES)], np.int8)
