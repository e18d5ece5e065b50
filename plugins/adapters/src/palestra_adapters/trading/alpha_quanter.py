"""AlphaQuanter: one model asks the tools it needs, and then says BUY, SELL or HOLD.

"AlphaQuanter: An End-to-End Tool-Orchestrated Agentic Reinforcement Learning Framework for Stock
Trading", 2025. A day is a loop: the model reads the date, its queries and their answers, and writes
another query or its decision. `decision_rewards` gives the reward that trains it: the decision
should fit the return over the next days, where HOLD is right for small ones, and form and use of
tools count a little.

Left out: macro and sentiment tools; the training run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from palestra import Decision, EpisodeRecord, Meta, Turn, agent

from palestra_adapters.adapter import Adapter, legal_move, rules_of, said_in
from palestra_adapters.thinking import Thinking
from palestra_adapters.trading.reading import ASKING, day_of, mornings, prices_of

DECISIONS = ("BUY", "SELL", "HOLD")
LOOP = (
    "You decide about {symbol}. Your queries today and their answers:\n{history}\n\n"
    "You may make {left} more queries. Write a thought, and then on the last line either a query, "
    "one of Prices(symbol='{symbol}', days=10), Indicators(symbol='{symbol}'), "
    "Fundamentals(symbol='{symbol}') and News(symbol='{symbol}', days=5), or your decision: BUY "
    "(invest everything), SELL (sell everything) or HOLD (change nothing)."
)
DECIDE = (
    "You decide about {symbol}. Your queries today and their answers:\n{history}\n\n"
    "Write a thought, and then your decision alone on the last line: BUY, SELL or HOLD."
)
VERDICT = re.compile(r"^[^\w\n]*(BUY|SELL|HOLD)[^\w\n]*$", re.MULTILINE)


@dataclass(slots=True)
class Day:
    """Queries of a day, the event that each answer will be, and the orders still to be placed.

    What was refused is kept from day to day.
    """

    date: str = ""
    since: int = 0  # events that the seat had seen when the day began
    queries: list[str] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    placed: str = ""  # an order whose answer has not been read
    refused: str = ""  # by the market, with no order filled since

    def hear(self, turn: Turn) -> None:
        """Read the answer to the last order."""
        if self.placed:
            self.refused = self.placed if turn.transcript[-1].kind == "refused" else ""
            self.placed = ""


@agent(
    "alpha-quanter",
    kind="llm",
    plays=("markets/Trading-v0",),
    summary="Asks tools until it knows enough, then buys, sells or holds one share.",
    paper=(
        "AlphaQuanter: An End-to-End Tool-Orchestrated Agentic Reinforcement Learning Framework "
        "for Stock Trading (2025)"
    ),
)
class AlphaQuanter(Adapter):
    """Trades the first share of the market, or `symbol`; use the split `one-share`.

    An unreadable decision is HOLD, and costs in `decision_rewards`. An order that the market has
    refused is not placed again before another one is filled: the agent holds. Facts of a day's
    last decision: `decision`, `queries` and `formed`, whether it could be read.
    """

    def __init__(
        self,
        *,
        queries: Annotated[int, Meta(ge=0, le=20, description="most queries of a day")] = 4,
        symbol: Annotated[str, Meta(description="the share; by default the first")] = "",
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._queries, self._symbol = queries, symbol
        self._days = self.by_seat(Day)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key, prices = (turn.episode_key, turn.seat), prices_of(turn)
        day = self._days.get(key)
        if day is not None:
            day.hear(turn)
        if day is None or day.date != day_of(turn):
            refused = day.refused if day else ""
            day = self._days[key] = Day(day_of(turn), len(turn.transcript), refused=refused)
        if day.orders:
            return Decision(text=day.orders.pop(0))
        symbol = self._symbol or next(iter(prices))
        return (yield from self._loop(turn, day, symbol, advice))

    def _loop(self, turn: Turn, day: Day, symbol: str, advice: str) -> Thinking[Decision]:
        """The next query, or the decision as orders."""
        answers = [event.text for event in turn.transcript[day.since :]]
        pairs = zip(day.queries, [*answers, *[""] * len(day.queries)], strict=False)
        history = "\n".join(f"{query}\n{answer}" for query, answer in pairs) or "none"
        left = self._queries - len(day.queries)
        form = (LOOP if left > 0 else DECIDE).format(symbol=symbol, history=history, left=left)
        rules = rules_of(turn, advice)
        (reply,) = yield [self.ask(self.single(rules, f"{turn.position}\n\n{form}"))]
        said = said_in(reply)
        last = said.strip().splitlines()[-1] if said.strip() else ""
        query = legal_move(turn, last) if left > 0 else None
        if query is not None and query.startswith(ASKING):
            day.queries.append(query)
            return Decision(text=query, thought=said, model=reply.model)
        verdict, formed = read_verdict(said)
        day.orders = [one for one in orders_of(verdict, symbol) if one != day.refused]
        day.placed = day.orders[0] if len(day.orders) > 1 else ""
        facts = {"decision": verdict, "queries": len(day.queries), "formed": formed}
        facts |= {"symbol": symbol, "date": day.date}
        return Decision(text=day.orders.pop(0), thought=said, model=reply.model, facts=facts)


def read_verdict(text: str) -> tuple[str, bool]:
    """The last decision that stands alone on a line, and whether there was one; else HOLD."""
    found = VERDICT.findall(text)
    return (found[-1], True) if found else ("HOLD", False)


def orders_of(verdict: str, symbol: str) -> list[str]:
    """The moves of a decision."""
    percent = {"BUY": 100, "SELL": 0}.get(verdict)
    order = [] if percent is None else [f"Target(symbol='{symbol}', percent={percent})"]
    return [*order, "EndDay()"]


@dataclass(frozen=True)
class DecisionReward:
    """The parts of a day's reward."""

    date: str
    decision: str
    forward: float  # return of the share over the horizon
    outcome: float  # 1 right, -1 wrong way, 0 otherwise
    form: float
    tools: float

    @property
    def total(self) -> float:
        return self.outcome + self.form + self.tools


def decision_rewards(
    record: EpisodeRecord,
    *,
    horizon: int = 5,
    dead_zone: float = 0.01,
    form: float = 0.1,
    tool: float = 0.05,
    most: int = 3,
) -> list[DecisionReward]:
    """The rewards of an episode's decisions of `alpha-quanter`, without those too near its end.

    BUY is right if the share's return over `horizon` days is above `dead_zone`, SELL if it is below
    minus that, and HOLD in between; a wrong HOLD pays 0, a wrong BUY or SELL -1. A decision that
    could not be read costs `form`; each of up to `most` queries pays `tool`.
    """
    days = mornings(record)
    dates = list(days)
    rows = []
    for facts in (turn.facts for turn in record.turns if "formed" in turn.facts):
        place = dates.index(facts["date"]) if facts["date"] in days else len(dates)
        if place + horizon >= len(dates):
            continue
        now, later = (days[dates[at]][facts["symbol"]] for at in (place, place + horizon))
        forward = later / now - 1
        rows.append(
            DecisionReward(
                facts["date"],
                facts["decision"],
                forward,
                outcome_of(facts["decision"], forward, dead_zone),
                0.0 if facts["formed"] else -form,
                tool * min(most, facts["queries"]),
            )
        )
    return rows


def outcome_of(decision: str, forward: float, dead_zone: float) -> float:
    """1 for the decision that fits a return; 0 for HOLD where it does not; -1 for the others."""
    right = "BUY" if forward > dead_zone else "SELL" if forward < -dead_zone else "HOLD"
    if decision == right:
        return 1.0
    return 0.0 if decision == "HOLD" else -1.0


def accuracy(rows: Sequence[DecisionReward]) -> float:
    """The share of decisions that were right; nan without any."""
    return sum(row.outcome == 1.0 for row in rows) / len(rows) if rows else float("nan")
