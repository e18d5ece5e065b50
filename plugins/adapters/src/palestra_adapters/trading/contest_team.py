"""ContestTrade with models: a data team and a research team, whose members compete every day.

"ContestTrade: A Multi-Agent Trading System Based on Internal Contest Mechanism", 2025. Analysts
turn the morning's answers into short texts of factors; researchers read the texts of the best
analysts and each propose a portfolio. Every morning all proposals of the day before are scored by
what they have earned since, from known prices only; the score that is predicted for the next day is
a moving average, and the best members alone are followed, in proportion to it.

Left out: tools that analysts choose themselves: the team asks for the news of every share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter
from palestra_adapters.thinking import Thinking
from palestra_adapters.trading.reading import day_of, held, orders_for, prices_of

ANALYSTS = ("prices and trends", "news and reports", "risks and what could go wrong")
RESEARCHERS = (
    "You follow trends.",
    "You buy what has fallen without a reason.",
    "You follow news and reports.",
    "You avoid losses, and hold cash if in doubt.",
)
ANALYSE = (
    "Today's answers of the tools:\n{answers}\n\nYou are an analyst of {focus}. Write the factors "
    "that matter for the next days, share by share, in at most {words} words. On the last line "
    "write LONG: and the shares that your factors favour, separated by commas, or none."
)
PROPOSE = (
    "Factors from the analysts:\n{factors}\n\n{persona} Propose the portfolio until tomorrow, one "
    "line a share, as in\n{example}: 20%\nShares that you leave out get nothing, and what is left "
    "of 100% is cash."
)
WEIGHT = re.compile(r"^[^\w\n]*(\w+)[^\S\n]*:[^\S\n]*(\d{1,9}(?:\.\d+)?)[^\S\n]*%", re.MULTILINE)
LONG = re.compile(r"^[^\w\n]*LONG:(.*)$", re.MULTILINE)
Weights = dict[str, float]


@dataclass(slots=True)
class Book:
    """What the team remembers of one episode."""

    date: str = ""
    since: int = 0  # events before today's answers
    asked: int = 0
    orders: list[str] = field(default_factory=list)
    prices: dict[str, float] = field(default_factory=dict)
    longs: list[Weights] = field(default_factory=list)  # yesterday's, by analyst
    proposals: list[Weights] = field(default_factory=list)  # yesterday's, by researcher
    analysts: list[float] = field(default_factory=list)  # predicted scores
    researchers: list[float] = field(default_factory=list)


@agent(
    "contest-team",
    kind="llm",
    plays=("markets/Trading-v0",),
    summary="Analysts and researchers compete daily, and the portfolio follows the best.",
    paper="ContestTrade: A Multi-Agent Trading System Based on Internal Contest Mechanism (2025)",
)
class ContestTeam(Adapter):
    """Trades every day; members take turns over the models joined by `+`.

    With `contest=false` all members count alike, the paper's ablation. If no researcher's score is
    above 0, those followed count alike. Facts of a day's first order: `scores` of the researchers
    and `followed`, the part of the portfolio that follows each.
    """

    def __init__(
        self,
        *,
        analysts: Annotated[int, Meta(ge=1, le=3, description="members of the data team")] = 2,
        researchers: Annotated[
            int, Meta(ge=1, le=4, description="members who propose weights")
        ] = 4,
        keep: Annotated[int, Meta(ge=1, description="members of a team who are followed")] = 2,
        memory: Annotated[
            float, Meta(gt=0, le=1, description="weight of the last day in a predicted score")
        ] = 0.3,
        words: Annotated[int, Meta(ge=10, description="words of a text of factors")] = 120,
        contest: Annotated[bool, Meta(description="whether scores decide who is followed")] = True,
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._analysts, self._researchers, self._keep = analysts, researchers, keep
        self._memory, self._words, self._contest = memory, words, contest
        self._books = self.by_seat(Book)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        prices = prices_of(turn)
        book = self._books.setdefault((turn.episode_key, turn.seat), self._new())
        if book.date != day_of(turn):
            book.date, book.since, book.asked = day_of(turn), len(turn.transcript), 0
            book.orders = []
            self._score(book, prices)
        if book.orders:
            return Decision(text=book.orders.pop(0))
        symbols = list(prices)
        if book.asked < len(symbols) and "News(" in turn.legal_text:
            book.asked += 1
            return Decision(text=f"News(symbol='{symbols[book.asked - 1]}', days=5)")
        return (yield from self._trade(turn, book, prices, advice))

    def _new(self) -> Book:
        zeros = [0.0] * self._analysts, [0.0] * self._researchers
        return Book(analysts=zeros[0], researchers=zeros[1])

    def _score(self, book: Book, prices: Mapping[str, float]) -> None:
        """Score yesterday's proposals by the prices of today."""
        for scores, proposals in (
            (book.analysts, book.longs),
            (book.researchers, book.proposals),
        ):
            for number, weights in enumerate(proposals):
                earned = earnings(weights, book.prices, prices)
                scores[number] += self._memory * (earned - scores[number])

    def _trade(
        self, turn: Turn, book: Book, prices: Mapping[str, float], advice: str
    ) -> Thinking[Decision]:
        answers = "\n".join(event.text for event in turn.transcript[book.since :]) or "none"
        orders = [
            ANALYSE.format(answers=answers, focus=focus, words=self._words)
            for focus in ANALYSTS[: self._analysts]
        ]
        texts = yield from self._ask_all(turn, advice, orders)
        book.longs = [read_longs(text, prices) for text in texts]
        chosen = self._best(book.analysts)
        factors = "\n".join(quote(" ".join(texts[number].split())) for number in chosen)
        example = next(iter(prices))
        orders = [
            PROPOSE.format(factors=factors, persona=persona, example=example)
            for persona in RESEARCHERS[: self._researchers]
        ]
        texts = yield from self._ask_all(turn, advice, orders)
        book.proposals = [read_weights(text, prices) for text in texts]
        book.prices = dict(prices)
        followed = self.followed(book.researchers)
        weights = mix_portfolios(book.proposals, followed, prices)
        book.orders = orders_for(weights, held(turn))
        facts = {"scores": list(book.researchers), "followed": followed}
        return Decision(text=book.orders.pop(0), thought=factors, facts=facts)

    def _ask_all(self, turn: Turn, advice: str, orders: Sequence[str]) -> Thinking[list[str]]:
        """What the members of a team write, who take turns over the models."""
        asks = [
            self.about(turn, turn.position, one, advice=advice, member=n % len(self.models))
            for n, one in enumerate(orders)
        ]
        return (yield from self.hear(asks))

    def _best(self, scores: Sequence[float]) -> list[int]:
        """The members of the highest scores, in their order; all of them without a contest."""
        if not self._contest:
            return list(range(len(scores)))
        ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        return sorted(ranked[: self._keep])

    def followed(self, scores: Sequence[float]) -> list[float]:
        """The part of the portfolio that follows each researcher."""
        best = self._best(scores)
        weights = [max(0.0, score) if n in best else 0.0 for n, score in enumerate(scores)]
        if not self._contest or not sum(weights):
            weights = [float(number in best) for number in range(len(scores))]
        return [weight / sum(weights) for weight in weights]


def earnings(weights: Weights, before: Mapping[str, float], now: Mapping[str, float]) -> float:
    """What a portfolio has earned from one morning to another, as a part of wealth."""
    return sum(weight * (now[name] / before[name] - 1) for name, weight in weights.items())


def read_longs(text: str, prices: Mapping[str, float]) -> Weights:
    """The favoured shares of an analyst, evenly."""
    found = LONG.findall(text)
    names = [name.strip(" .") for name in (found[-1].split(",") if found else [])]
    known = [name for name in dict.fromkeys(names) if name in prices]
    return {name: 1 / len(known) for name in known}


def read_weights(text: str, prices: Mapping[str, float]) -> Weights:
    """A researcher's portfolio; weights above 100 % in all are scaled down."""
    found = {name: float(part) / 100 for name, part in WEIGHT.findall(text) if name in prices}
    total = max(1.0, sum(found.values()))
    return {name: part / total for name, part in found.items()}


def mix_portfolios(
    proposals: Sequence[Weights], followed: Sequence[float], prices: Mapping[str, float]
) -> Weights:
    """The portfolio that follows each proposal with a part of the wealth."""
    pairs = list(zip(proposals, followed, strict=True))
    return {name: sum(part * one.get(name, 0.0) for one, part in pairs) for name in prices}
