"""Buying components under a budget: an online knapsack over agents that can be tried first.

Components come one by one with a price and an unknown value. Each is tried; it is bought if its
value per price reaches a threshold that rises with the share z of the budget already spent,
(U e / L) ** z · L / e, where U and L bound value per price (Zhou, Chakrabarty and Lukose, "Budget
Constrained Bidding in Keyword Auctions and Online Knapsack Problems", WINE 2008). For items that
are small relative to the budget this earns at least 1 / (ln(U / L) + 1) of the optimum. "Automated
Composition of Agents: A Knapsack Approach for Agentic Component Selection", 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import e
from typing import Annotated, NamedTuple

from palestra import Agent, Decision, InvalidOption, Meta, Runner, Turn, agent, make_agent

from palestra_adapters.members import Composed, act_in_turn, split_members
from palestra_adapters.routers.sale import read_prices
from palestra_adapters.search.spots import Scale

FAR = 1 << 29  # trials start from seeds that no run of ordinary size reaches


class Offer(NamedTuple):
    """A component: its price, and its value in trials."""

    name: str
    price: float
    value: float


class Purchase(NamedTuple):
    """One decision of the buyer, with the share of the budget spent before and the threshold."""

    offer: Offer
    spent: float
    threshold: float
    taken: bool


def threshold(spent: float, low: float, high: float) -> float:
    """The least value per price at which to buy when that share of the budget is spent."""
    return float((high * e / low) ** spent * low / e)


def buy_online(offers: Sequence[Offer], budget: float, low: float, high: float) -> list[Purchase]:
    """The buyer's decisions on offers in order of arrival; they never exceed the budget."""
    if not 0 < low <= high:
        raise InvalidOption(f"value per price must be bounded by 0 < low ≤ high, not {low}, {high}")
    log: list[Purchase] = []
    paid = 0.0
    for offer in offers:
        log.append(consider(offer, paid, budget, low, high))
        paid += offer.price * log[-1].taken
    return log


def consider(offer: Offer, paid: float, budget: float, low: float, high: float) -> Purchase:
    """Whether to buy an offer when `paid` of the budget is already spent."""
    share = paid / budget if budget else 1.0
    bar = threshold(share, low, high)
    worth = offer.price == 0 or offer.value / offer.price >= bar
    return Purchase(offer, share, bar, worth and paid + offer.price <= budget)


def best_offline(offers: Sequence[Offer], budget: float) -> float:
    """The greatest total value within the budget, by trying every set."""
    best = 0.0
    for count in range(len(offers) + 1):
        for chosen in combinations(offers, count):
            if sum(offer.price for offer in chosen) <= budget:
                best = max(best, sum(offer.value for offer in chosen))
    return best


@agent(
    "knapsack",
    kind="llm",
    summary="Buys agents that are worth their price; the best one plays.",
    paper=(
        "Automated Composition of Agents: A Knapsack Approach for Agentic Component "
        "Selection (2025)"
    ),
)
class Knapsack(Composed):
    """Tries the agents of `target` on the game and buys some of them; the best one bought plays.

    Agents are joined by `+` and prices by `/`; at most `budget` is spent. A trial is `trials`
    episodes with the agent in its own seat and `rival` in the others; its value is the mean return,
    scaled to 0..1. `low` and `high` bound value per price. If nothing is bought, `rival` plays.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="agents joined by +")] = "",
        prices: Annotated[
            str, Meta(description="price of each agent, joined by / (1/2/… if none are given)")
        ] = "",
        budget: Annotated[float, Meta(ge=0, description="total that may be spent on agents")] = 3.0,
        trials: Annotated[int, Meta(ge=1, description="episodes per trial")] = 4,
        low: Annotated[float, Meta(gt=0, description="least value per price")] = 0.1,
        high: Annotated[float, Meta(gt=0, description="greatest value per price")] = 1.0,
        rival: Annotated[str, Meta(description="agent in the other seats of a trial")] = "random",
    ) -> None:
        names = split_members(target)
        if not names:
            raise InvalidOption("knapsack needs agents: knapsack:minimax+mcts,budget=3")
        buy_online((), budget, low, high)
        self.members = {name: make_agent(name) for name in names}
        self.prices = dict(zip(names, read_prices(prices, len(names)), strict=True))
        self._budget, self._trials = budget, trials
        self._low, self._high, self._rival = low, high, make_agent(rival)
        self.bought: dict[str, list[Purchase]] = {}  # by game and seat

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        agents = {**self.members, "": self._rival}
        return act_in_turn(turns, [self._chosen(turn) for turn in turns], agents)

    def parts(self) -> Sequence[Agent]:
        return [*self.members.values(), self._rival]

    def _chosen(self, turn: Turn) -> str:
        """The best component bought for this game and seat; "" if none was bought."""
        key = f"{turn.game!r} {turn.seat}"
        if key not in self.bought:
            offers = [
                Offer(name, self.prices[name], self._try(turn, member))
                for name, member in self.members.items()
            ]
            self.bought[key] = buy_online(offers, self._budget, self._low, self._high)
        taken = [bought.offer for bought in self.bought[key] if bought.taken]
        return max(taken, key=lambda offer: offer.value).name if taken else ""

    def _try(self, turn: Turn, member: Agent) -> float:
        seats: list[Agent] = [self._rival] * turn.game.num_players
        seats[turn.seat] = TrialAgent(member)
        runner = Runner(
            turn.game, [s if s is not self._rival else TrialAgent(s) for s in seats], seed=FAR
        )
        paid = [record.outcome for record in runner.run(range(self._trials))]
        scores = [outcome.scores[turn.seat] for outcome in paid if outcome is not None]
        scale = Scale.of(turn.game)
        for score in scores:
            scale.see(score)
        return sum(map(scale, scores)) / len(scores) if scores else 0.0


class TrialAgent(Agent):
    """An agent in a trial, which is not closed when the trial ends."""

    def __init__(self, member: Agent) -> None:
        self._member, self.name = member, member.name

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return self._member.act(turns)

    def forget(self, episode_key: int) -> None:
        self._member.forget(episode_key)
