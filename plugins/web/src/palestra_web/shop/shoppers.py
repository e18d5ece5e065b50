"""Shoppers: the paper's rule, and one who knows the whole catalogue."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Goto, Press
from palestra_web.reading import address_of, find, read_page, task_of
from palestra_web.shop.catalogue import Product
from palestra_web.shop.shelf import SELLER
from palestra_web.shop.shop import Shop

_TASK = re.compile(
    r"Find me (?P<query>.+?)(?: that is (?P<attributes>.+?))?"
    r"(?: with (?P<options>\w+: .+?))?(?P<profile>, as I always like them \(see my account\))?"
    r", and price lower than (?P<cap>[\d.]+) dollars\."
)


@agent(
    "rule-shopper",
    plays=("web/Shop-v0",),
    summary="searches for the whole instruction and buys the first hit",
)
class RuleShopper(Agent):
    """Searches for the whole instruction and buys the first hit, without picking options: the
    rule-based baseline of Yao et al. (2022)."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        address, seen = address_of(turn), read_page(turn.position)
        if address.startswith("/item/"):
            return Click(find(seen, "button", "Buy Now").number)
        if address.startswith("/search"):
            hits = [e for e in seen if e.role == "link" and e.name not in ("Next", "Previous")]
            if hits:
                return Click(hits[0].number)
        box = find(seen, "textbox", "Search")
        if box.value:
            return Press(box.number, "Enter")
        return Fill(box.number, task_of(turn))


@agent(
    "oracle-shopper",
    kind="solver",
    plays=("web/Shop-v0",),
    summary="knows the catalogue and buys what fits the instruction",
)
class OracleShopper(Agent):
    """Knows the catalogue: opens a product that is all the instruction asks for, and buys it.

    What an instruction leaves out it reads from the account: the attribute of all past orders.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = turn.game
        if not isinstance(game, Shop):
            raise InvalidOption(f"{self.name or 'oracle-shopper'} plays web/Shop-v0")
        address = address_of(turn)
        if address.startswith("/item/"):
            return self._pick(turn)
        if game.profile and address != "/account":
            return Goto("/account")
        return Goto(f"/item/{self._fitting(game, turn).number}")

    def _pick(self, turn: Turn) -> TextAction:
        seen = read_page(turn.position)
        for value in wanted(task_of(turn))[2].values():
            choice = find(seen, "radio", value)
            if not choice.chosen:
                return Click(choice.number)
        return Click(find(seen, "button", "Buy Now").number)

    def _fitting(self, game: Shop, turn: Turn) -> Product:
        query, attributes, options, cap = wanted(task_of(turn))
        wish = always(game, turn.position) if game.profile else frozenset()
        products = [game.catalogue.products[n] for n in game.catalogue.by_query[query]]
        fitting = [
            product
            for product in products
            if set(attributes) <= set(product.attributes)
            and product.price <= cap
            and all(value in product.options.get(name, ()) for name, value in options.items())
        ]
        return max(fitting, key=lambda product: len(wish & set(product.attributes)))


def wanted(task: str) -> tuple[str, tuple[str, ...], dict[str, str], int]:
    """Kind, attributes, options and price cap in cents, as an instruction says them."""
    match = _TASK.fullmatch(task)
    if match is None:
        raise InvalidOption(f"{task!r} is not an instruction of web/Shop-v0")
    attributes = tuple((match["attributes"] or "").split(", ")) if match["attributes"] else ()
    pairs = (match["options"] or "").split(" and ") if match["options"] else []
    options = dict(pair.split(": ", 1) for pair in pairs)
    return match["query"], attributes, options, round(100 * float(match["cap"]))


def always(game: Shop, page: str) -> frozenset[str]:
    """The attributes that all past orders have, by the numbers on the account page."""
    orders = [game.catalogue.products[int(n)] for n in re.findall(r"Order of article (\d+):", page)]
    return frozenset.intersection(*(frozenset(p.attributes) for p in orders))


@agent(
    "rational-buyer",
    kind="solver",
    plays=("web/Shelf-v0",),
    summary="buys what is asked for, the cheapest first; as a seller changes nothing",
)
class RationalBuyer(Agent):
    """Buys from a shelf what the request asks for: of what fits, the cheapest, then the best rated.

    As a seller it publishes its listing as it is.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        seen, request = read_page(turn.position), task_of(turn)
        if turn.seat == SELLER:
            return Click(find(seen, "button", "Publish").number)
        if address_of(turn) == "/door":
            return Click(find(seen, "link", "Enter").number)
        buttons = [element for element in seen if element.name == "Add to cart"]
        cards = turn.position.split("  listitem")[1:]
        worth = [_worth(card, request) for card in cards]
        return Click(buttons[max(range(len(worth)), key=worth.__getitem__)].number)


def _worth(card: str, request: str) -> tuple[bool, float, float]:
    """How good a card is: whether it is what is asked for, then price, then rating."""
    price = float(re.findall(r"paragraph '\$([\d.]+)'", card)[0])
    rating = float(re.findall(r"([\d.]+) of 5", card)[0])
    cap = re.search(r"at most \$([\d.]+)\.$", request)
    named = re.search(r" (?:by|in) ([\w ]+)\.$", request)
    fits = (not cap or price <= float(cap[1])) and (not named or named[1] in card)
    return fits, -price, rating
