"""Scripted customers and businesses for `markets/Magentic-v0`.

Where a search shows only cards, the customer names items and amenities in its letter, and the
business, which is honest, either proposes the items or writes that it does not have them all. They
take notes on what the events tell them, and keep the notes for one episode.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from palestra import Event, Meta, ScriptedAgent, TextAction, Turn, agent

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
from palestra_markets.magentic.original import named_in

REFUSAL = "Sorry, we do not have all of that."
PATIENCE = 60  # ticks that an answer may take


@dataclass(slots=True)
class CustomerNotes:
    """What a customer knows."""

    read: int = 0  # events taken in
    wants: dict[str, int] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)
    page: int = 0  # pages of results seen
    results: int = -1  # in all; -1 before the first search
    to_write: list[str] = field(default_factory=list)  # matching businesses not asked yet
    waiting: int = 0  # answers that are to come
    proposals: list[dict[str, Any]] = field(default_factory=list)
    idle: int = 0  # ticks spent waiting
    paid: bool = False


@dataclass(slots=True)
class ShopNotes:
    """What a business knows."""

    read: int = 0  # events taken in
    menu: dict[str, int] = field(default_factory=dict)
    floor: int = 100  # the lowest percentage of list prices it would take
    amenities: list[str] = field(default_factory=list)
    requests: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # not answered yet
    refusals: list[str] = field(default_factory=list)  # to whom it has yet to write that it cannot
    awake: bool = False  # whether it has read its letters since it last waited


Notes = TypeVar("Notes", CustomerNotes, ShopNotes)


class NoteTaker(ScriptedAgent[Magentic]):
    """Keeps notes for every seat of every episode."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: dict[int, dict[int, Any]] = {}

    def notes_of(self, turn: Turn[Magentic], kind: type[Notes]) -> Notes:
        """The notes of a seat, after all events so far."""
        by_seat = self._notes.setdefault(turn.episode_key, {})
        notes: Notes = by_seat.setdefault(turn.seat, kind())
        events = turn.transcript
        for event in events[notes.read :]:
            self.take_in(notes, event, turn.game)
        notes.read = len(events)
        return notes

    def forget(self, episode_key: int) -> None:
        self._notes.pop(episode_key, None)

    @abstractmethod
    def take_in(self, notes: Any, event: Event, game: Magentic) -> None:
        """Update the notes from an event."""


@agent("market-customer")
class MarketCustomer(NoteTaker):
    """A customer: searches, asks every business that has everything, and pays if it gains."""

    def __init__(
        self,
        policy: Annotated[
            Literal["best", "first"],
            Meta(
                description=(
                    "best: read all pages, wait for all answers and pay the cheapest; first: read "
                    "the first page and pay the first proposal that arrives"
                )
            ),
        ] = "best",
    ) -> None:
        super().__init__()
        self._best = policy == "best"

    def choose(self, turn: Turn[Magentic]) -> TextAction:
        game, notes = turn.game, self.notes_of(turn, CustomerNotes)
        if notes.paid:
            return Leave()
        seen = notes.page * game.results
        if notes.results < 0 or (self._best and seen < notes.results):
            notes.page += 1
            return Search(", ".join([*notes.wants, *notes.needs]), notes.page)
        if notes.to_write:
            return self._ask(notes)
        return self._settle(notes, game.rounds - turn.steps_played)

    def take_in(self, notes: CustomerNotes, event: Event, game: Magentic) -> None:
        data = event.data
        if event.kind == "request":
            notes.wants, notes.needs = dict(data["wants"]), list(data["needs"])
        elif event.kind == "results":
            notes.results = data["count"]
            notes.to_write += [r["name"] for r in data["results"] if self._fits(notes, r)]
        elif event.kind == "letter":
            notes.waiting -= data["text"] == REFUSAL[: game.message_limit]
        elif event.kind == "proposal":
            notes.waiting -= 1
            if set(notes.wants) <= set(split_items(data["items"])):
                notes.proposals.append(dict(data))
        elif event.kind == "payment":
            notes.paid = True

    def _fits(self, notes: CustomerNotes, result: dict[str, Any]) -> bool:
        """Whether a business may serve the customer, as far as the listing says."""
        if "menu" not in result:
            return True
        has_items = set(notes.wants) <= set(result["menu"])
        return has_items and set(notes.needs) <= set(result["amenities"])

    def _ask(self, notes: CustomerNotes) -> TextAction:
        notes.waiting += 1
        needs = f" I need: {', '.join(notes.needs)}." if notes.needs else ""
        return Write(notes.to_write.pop(0), f"I would like: {', '.join(notes.wants)}.{needs}")

    def _settle(self, notes: CustomerNotes, left: int) -> TextAction:
        """Wait for expected answers while the `left` ticks allow, then pay or leave."""
        patient = notes.waiting > 0 and notes.idle < PATIENCE and left > 2
        if patient and (self._best or not notes.proposals):
            notes.idle = notes.idle + 1
            return Read()
        best = min(notes.proposals, key=lambda p: p["price"]) if notes.proposals else None
        chosen = best if self._best or best is None else notes.proposals[0]
        if chosen is None or chosen["price"] > 2 * sum(notes.wants.values()):
            return Leave()
        return Pay(chosen["proposal"])


@agent("market-business")
class MarketBusiness(NoteTaker):
    """A business that answers every request for items of its menu with a proposal."""

    def __init__(
        self,
        quote: Annotated[
            Literal["lowest", "list"],
            Meta(
                description="what it asks for: the lowest total it would accept, or the list prices"
            ),
        ] = "lowest",
    ) -> None:
        super().__init__()
        self._lowest = quote == "lowest"

    def choose(self, turn: Turn[Magentic]) -> TextAction:
        shop = self.notes_of(turn, ShopNotes)
        if shop.requests:
            to, items = shop.requests.pop(0)
            return Propose(to, ", ".join(items), shop.floor if self._lowest else 100)
        if shop.refusals:
            return Write(shop.refusals.pop(0), REFUSAL[: turn.game.message_limit])
        shop.awake = not shop.awake
        return Read() if shop.awake else Wait()

    def take_in(self, shop: ShopNotes, event: Event, game: Magentic) -> None:
        data = event.data
        if event.kind == "shop":
            shop.menu, shop.floor = dict(data["menu"]), data["floor"]
            shop.amenities = list(data["amenities"])
        elif event.kind == "letter":
            named = named_in(data["text"], game.items)
            needed = set(named_in(data["text"], game.amenities))
            if named and set(named) <= set(shop.menu) and needed <= set(shop.amenities):
                shop.requests.append((data["sender"], named))
            elif named:
                shop.refusals.append(data["sender"])
