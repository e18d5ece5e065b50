"""Scripted customers and businesses of `markets/Magentic-v0`.

They act on what they have been told, event by event, and keep it for the length of an episode.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palestra import Agent, Decision, Event, InvalidOption, TextAction, Turn, agent

from palestra_markets.magentic.basket import split_items
from palestra_markets.magentic.marketplace import (
    Leave,
    Magentic,
    Pay,
    Propose,
    Read,
    Search,
    Wait,
    Write,
)
from palestra_markets.magentic.scenario import ITEMS

POLICIES = ("best", "first")
QUOTES = ("lowest", "list")
PATIENCE = 60  # ticks that an answer may take


@dataclass(slots=True)
class Errand:
    """What a customer knows: his request, businesses to write to, and proposals."""

    read: int = 0  # events taken in
    wants: dict[str, int] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)
    page: int = 0
    results: int = -1  # in all; -1 before the first search
    to_write: list[str] = field(default_factory=list)
    waiting: int = 0  # answers that are to come
    proposals: list[dict[str, Any]] = field(default_factory=list)
    idle: int = 0
    paid: bool = False


@dataclass(slots=True)
class Counter:
    """What a business knows: its menu, and requests it has not answered."""

    read: int = 0
    menu: dict[str, int] = field(default_factory=dict)
    floor: int = 100
    requests: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    awake: bool = False  # has read its letters since it last rested


class Scripted(Agent):
    """Keeps a notebook for every seat of every episode."""

    def __init__(self) -> None:
        self._books: dict[int, dict[int, Any]] = {}

    def book(self, turn: Turn, kind: type[Any]) -> Any:
        """The notebook of a seat, with everything in it that has been told."""
        if not isinstance(turn.game, Magentic):
            raise InvalidOption(f"this agent is for markets/Magentic-v0, not {turn.env}")
        books = self._books.setdefault(turn.episode_key, {})
        book = books.setdefault(turn.seat, kind())
        events = turn.transcript
        for event in events[book.read :]:
            self.take_in(book, event, turn.game)
        book.read = len(events)
        return book

    def forget(self, episode_key: int) -> None:
        self._books.pop(episode_key, None)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self.choose(turn)) for turn in turns]

    @abstractmethod
    def choose(self, turn: Turn) -> TextAction:
        """What to play in one turn."""

    @abstractmethod
    def take_in(self, book: Any, event: Event, game: Magentic) -> None:
        """Write down what an event tells."""


@agent(
    "market-customer",
    plays=("markets/Magentic-v0",),
    summary="A customer; policy=best reads everything and pays the cheapest, first the first.",
)
class MarketCustomer(Scripted):
    """Searches, asks whoever has everything, and pays a proposal if it gains by it.

    policy `best` looks through every page, waits for all answers and pays the cheapest; `first`
    looks at the first page and pays the first proposal that arrives.
    """

    def __init__(self, policy: str = "best") -> None:
        super().__init__()
        if policy not in POLICIES:
            raise InvalidOption(f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
        self._best = policy == "best"

    def choose(self, turn: Turn) -> TextAction:
        errand: Errand = self.book(turn, Errand)
        if errand.paid:
            return Leave()
        seen = errand.page * turn.game.results  # type: ignore[attr-defined]
        if errand.results < 0 or (self._best and seen < errand.results):
            errand.page += 1
            return Search(", ".join([*errand.wants, *errand.needs]), errand.page)
        if errand.to_write:
            return self._ask(errand)
        return self._settle(errand, turn.game.rounds - turn.turn)  # type: ignore[attr-defined]

    def take_in(self, errand: Errand, event: Event, game: Magentic) -> None:
        data = event.data
        if event.kind == "request":
            errand.wants, errand.needs = dict(data["wants"]), list(data["needs"])
        elif event.kind == "results":
            errand.results = data["count"]
            errand.to_write += [r["name"] for r in data["results"] if self._fits(errand, r)]
        elif event.kind == "proposal":
            errand.waiting -= 1
            if set(errand.wants) <= set(split_items(data["items"])):
                errand.proposals.append(dict(data))
        elif event.kind == "payment":
            errand.paid = True

    def _fits(self, errand: Errand, result: dict[str, Any]) -> bool:
        has_items = set(errand.wants) <= set(result["menu"])
        return has_items and set(errand.needs) <= set(result["amenities"])

    def _ask(self, errand: Errand) -> TextAction:
        errand.waiting += 1
        return Write(errand.to_write.pop(0), f"I would like: {', '.join(errand.wants)}.")

    def _settle(self, errand: Errand, left: int) -> TextAction:
        """Wait for what is to come, then pay and go."""
        patient = errand.waiting > 0 and errand.idle < PATIENCE and left > 2
        if patient and (self._best or not errand.proposals):
            errand.idle = errand.idle + 1
            return Read()
        best = min(errand.proposals, key=lambda p: p["price"]) if errand.proposals else None
        chosen = best if self._best or best is None else errand.proposals[0]
        if chosen is None or chosen["price"] > 2 * sum(errand.wants.values()):
            return Leave()
        return Pay(chosen["proposal"])


@agent(
    "market-business",
    plays=("markets/Magentic-v0",),
    summary="A business that answers every request; quote=lowest or list.",
)
class MarketBusiness(Scripted):
    """Answers every request that names only items of its menu with a proposal.

    quote `lowest` asks for the lowest total it would take, `list` for the list prices.
    """

    def __init__(self, quote: str = "lowest") -> None:
        super().__init__()
        if quote not in QUOTES:
            raise InvalidOption(f"quote must be one of {', '.join(QUOTES)}, not {quote!r}")
        self._lowest = quote == "lowest"

    def choose(self, turn: Turn) -> TextAction:
        counter: Counter = self.book(turn, Counter)
        if counter.requests:
            to, items = counter.requests.pop(0)
            return Propose(to, ", ".join(items), counter.floor if self._lowest else 100)
        counter.awake = not counter.awake
        return Read() if counter.awake else Wait()

    def take_in(self, counter: Counter, event: Event, game: Magentic) -> None:
        data = event.data
        if event.kind == "shop":
            counter.menu, counter.floor = dict(data["menu"]), data["floor"]
        elif event.kind == "letter":
            named = tuple(item for item in ITEMS[game.trade] if item in data["text"])
            if named and set(named) <= set(counter.menu):
                counter.requests.append((data["sender"], named))
