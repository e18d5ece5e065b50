"""SALE: agents of different prices bid short plans for a task, and the best value plays it.

A bid is a plan. Its cost depends on the agent's price and the plan's length; its value on the
plan's entropy and on the marks of a jury of all agents. The bid with the least cost minus value
wins. Before that is final, agents cheaper than the winner may bid again after seeing successful and
unsuccessful plans from similar tasks. "Scaling Small Agents Through Strategy Auctions", 2026. The
paper fixes neither costs nor weights for general environments; here costs are relative to the most
expensive bid and the weights are options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Reply
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, question, said_in, story
from palestra_adapters.scoring import GRADES, read_grade
from palestra_adapters.search.spots import Worths
from palestra_adapters.similarity import similarity
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

PLAN = "Do not move yet. In two sentences: how will you play this?"
MARK = (
    "A player proposes this plan:\n{plan}\n"
    "How good is it, from 0 to 10? Answer with one whole number."
)
LOG = 1_000  # auctions that are remembered
SHOWN = 2  # plans of each kind that a second bid is shown


@dataclass(frozen=True, slots=True)
class Bid:
    """One agent's plan: what it would cost, and its value from 0 to 1."""

    member: int
    plan: str
    cost: float
    entropy: float | None = None
    marks: float = 0.0


@dataclass(slots=True)
class Sale:
    """A past auction: the task, all bids, the winner, and the worth of the episode."""

    task: str
    bids: tuple[Bid, ...]
    winner: int
    worth: float | None = None


@agent(
    "sale",
    kind="llm",
    summary="Models bid plans; the one with the best value for its cost plays.",
    paper="Scaling Small Agents Through Strategy Auctions (2025)",
)
class StrategyAuction(Adapter):
    """Models joined by `+` bid for every episode of a seat; the winner plays it.

    prices: the price of a token of each model, joined by `/` (1/2/… by default). jury and entropy
    weigh the marks of all models and the plan's entropy against the cost. rebid: cheaper losers bid
    again after reading past auctions; memory=false keeps no auctions.
    """

    def __init__(
        self,
        *,
        prices: Annotated[
            str | int | float | tuple[float, ...],
            Meta(description="price of a token of each model, joined by /"),
        ] = (),
        jury: Annotated[float, Meta(description="weight of the marks of all models")] = 1.0,
        entropy: Annotated[float, Meta(description="weight of the entropy of a plan")] = 0.1,
        rebid: Annotated[bool, Meta(description="let cheaper losers bid again")] = True,
        memory: Annotated[bool, Meta(description="keep past auctions")] = True,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.prices = read_prices(prices, len(self.models))
        self._jury, self._entropy = jury, entropy
        self._rebid, self._memory = rebid, memory
        self.sales: list[Sale] = []
        self.won = [0] * len(self.models)  # episodes each has played
        self._open = self.by_seat(tuple[Sale, Turn])
        self._worths = Worths()

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        if key not in self._open:
            sale = yield from self._auction(turn, advice)
            self._open[key] = sale, turn
            self.won[sale.bids[sale.winner].member] += 1
        sale, _ = self._open[key]
        self._open[key] = sale, turn
        bid = sale.bids[sale.winner]
        lines = [advice, f"Your plan: {quote(bid.plan)}" if bid.plan else ""]
        talk = self.talk(turn, join_lines(*lines))
        talk.ask(question(turn))
        (reply,) = yield [self.move(turn, talk.messages, member=bid.member, talk=talk)]
        decision = self.decide(turn, reply)
        decision.model = self.models[bid.member].name
        talk.answer(decision.text or "")
        return decision

    def _auction(self, turn: Turn, advice: str) -> Thinking[Sale]:
        everybody = range(len(self.models))
        bids = yield from self._bids(turn, list(everybody), advice)
        winner = self.cheapest(bids)
        losers = [b.member for b in bids if self.prices[b.member] < self.prices[winner.member]]
        if self._rebid and self._memory and losers and self.sales:
            lines = join_lines(advice, self._lessons(story(turn)))
            again = yield from self._bids(turn, losers, lines)
            better = {bid.member: bid for bid in again}
            bids = [better.get(bid.member, bid) for bid in bids]
            winner = self.cheapest(bids)
        return Sale(story(turn), tuple(bids), bids.index(winner))

    def _bids(self, turn: Turn, members: Sequence[int], advice: str) -> Thinking[list[Bid]]:
        asked = join_lines(story(turn), advice, PLAN)
        replies = yield [self.about(turn, asked, member=member) for member in members]
        bids = [self._bid(m, reply) for m, reply in zip(members, replies, strict=True)]
        if self._jury:
            marks = yield from self._marks(turn, bids)
            bids = [replace(b, marks=mark) for b, mark in zip(bids, marks, strict=True)]
        return bids

    def _bid(self, member: int, reply: Reply) -> Bid:
        plan = said_in(reply)
        tokens = reply.usage.tokens_out or len(plan.split())
        entropy = None if reply.logprob is None else -reply.logprob / max(1, tokens)
        return Bid(member, plan, self.prices[member] * tokens, entropy)

    def _marks(self, turn: Turn, bids: Sequence[Bid]) -> Thinking[list[float]]:
        """The mean mark of every plan from all models, from 0 to 1."""
        asks = []
        for bid in bids:
            text = f"{story(turn)}\n{MARK.format(plan=quote(bid.plan))}"
            for member in range(len(self.models)):
                held = self.held_to(GRADES, member)
                asks.append(self.about(turn, text, member=member, max_tokens=8, **held))
        replies = iter((yield asks))
        marks = [[read_grade(next(replies).text) for _ in self.models] for _ in bids]
        return [sum(m or 0.0 for m in own) / len(own) for own in marks]

    def cheapest(self, bids: Sequence[Bid]) -> Bid:
        """The bid with the least cost minus value; ties go to the agent with the lowest price."""
        return min(bids, key=lambda b: (self.score(b, bids), self.prices[b.member], b.member))

    def score(self, bid: Bid, bids: Sequence[Bid]) -> float:
        """Cost minus value, with the cost as a share of the most expensive bid's."""
        dearest = max(b.cost for b in bids) or 1.0
        value = self._jury * bid.marks + self._entropy * (bid.entropy or 0.0)
        return round(bid.cost / dearest - value, 9)

    def _lessons(self, task: str) -> str:
        """Successful and unsuccessful plans from the most similar tasks, as text."""
        done = [sale for sale in self.sales if sale.worth is not None]
        done.sort(key=lambda sale: -similarity(task, sale.task))
        paid = [s.bids[s.winner].plan for s in done if (s.worth or 0.0) > 0.5][:SHOWN]
        other = [
            bid.plan
            for s in done
            for i, bid in enumerate(s.bids)
            if i != s.winner or (s.worth or 0.0) <= 0.5
        ][:SHOWN]
        lines = [f"A plan that won and paid: {quote(plan)}" for plan in paid]
        return "\n".join([*lines, *(f"A plan that did not: {quote(plan)}" for plan in other)])

    def forget(self, episode_key: int) -> None:
        for sale, turn in self._open.end(episode_key):
            if self._memory:
                sale.worth = self._worths.of(turn)
                self.sales = [*self.sales[-LOG + 1 :], sale]
        super().forget(episode_key)


def read_prices(prices: str | Sequence[float] | float, count: int) -> list[float]:
    """Prices as numbers, one per member: 1, 2, … by default."""
    if isinstance(prices, int | float):
        prices = [float(prices)]
    try:
        parts = prices.split("/") if isinstance(prices, str) else prices
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    values = values or ([float(i + 1) for i in range(count)] if not prices else [])
    if len(values) != count or any(value < 0 for value in values):
        raise InvalidOption(
            f"prices={prices!r}: give {count} numbers of 0 or more, joined by /, one per member"
        )
    return values
