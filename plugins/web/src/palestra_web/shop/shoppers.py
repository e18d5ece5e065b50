"""Shoppers: the rule of the WebShop paper, an oracle, and a rational buyer of the shelf."""

from __future__ import annotations

import re

from palestra import InvalidOption, ScriptedAgent, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Goto, Press
from palestra_web.reading import address_of, find, read_page, task_of
from palestra_web.shop.catalogue import Product
from palestra_web.shop.shelf import SELLER, ShelfChoice
from palestra_web.shop.shop import Shop

_TASK = re.compile(
    r"Find me (?P<query>.+?)(?: that (?:is|are) (?P<attributes>.+?))?"
    r"(?: with (?P<options>\w+: .+?))?(?P<profile>, as I always like them \(see my account\))?"
    r", and price lower than (?P<cap>[\d.]+) dollars\."
)


@agent("rule-shopper", paper="Yao et al. (2022), WebShop")
class RuleShopper(ScriptedAgent[Shop]):
    """Searches for the whole instruction and buys the first hit without picking options.

    The rule-based baseline of Yao et al. (2022).
    """

    def choose(self, turn: Turn[Shop]) -> TextAction:
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


@agent("oracle-shopper", kind="solver")
class OracleShopper(ScriptedAgent[Shop]):
    """Knows the whole catalogue and buys a product that fits the instruction.

    If the instruction leaves out an attribute, it reads it from the account's past orders.
    """

    def choose(self, turn: Turn[Shop]) -> TextAction:
        game = turn.game
        assert isinstance(game, Shop)  # as `plays` requires
        address = address_of(turn)
        if address.startswith("/item/"):
            return self._pick(turn)
        if game.profile and address != "/account":
            return Goto("/account")
        return Goto(f"/item/{self._fitting(game, turn).number}")

    def _pick(self, turn: Turn[Shop]) -> TextAction:
        seen = read_page(turn.position)
        for value in read_instruction(task_of(turn))[2].values():
            choice = find(seen, "radio", value)
            if not choice.chosen:
                return Click(choice.number)
        return Click(find(seen, "button", "Buy Now").number)

    def _fitting(self, game: Shop, turn: Turn[Shop]) -> Product:
        query, attributes, options, cap = read_instruction(task_of(turn))
        wish = common_attributes(game, turn.position) if game.profile else frozenset()
        products = [game.catalogue.products[n] for n in game.catalogue.by_query[query]]
        fitting = [
            product
            for product in products
            if set(attributes) <= set(product.attributes)
            and product.price <= cap
            and all(value in product.options.get(name, ()) for name, value in options.items())
        ]
        return max(fitting, key=lambda product: len(wish & set(product.attributes)))


def read_instruction(task: str) -> tuple[str, tuple[str, ...], dict[str, str], int]:
    """The kind, attributes, options and price cap (cents) that an instruction names."""
    match = _TASK.fullmatch(task)
    if match is None:
        raise InvalidOption(
            f"{task!r} is not an instruction of web/Shop-v0 in its fixed form; play with "
            "phrasing='template'"
        )
    attributes = tuple((match["attributes"] or "").split(", ")) if match["attributes"] else ()
    pairs = (match["options"] or "").split(" and ") if match["options"] else []
    options = dict(pair.split(": ", 1) for pair in pairs)
    return match["query"], attributes, options, round(100 * float(match["cap"]))


def common_attributes(game: Shop, page: str) -> frozenset[str]:
    """The attributes that all orders on the account page have."""
    orders = [game.catalogue.products[int(n)] for n in re.findall(r"Order of article (\d+):", page)]
    return frozenset.intersection(*(frozenset(p.attributes) for p in orders))


@agent("rational-buyer", kind="solver")
class RationalBuyer(ScriptedAgent[ShelfChoice]):
    """Buys the cheapest article that meets the request; the best rated wins ties.

    As a seller it publishes its listing unchanged.
    """

    def choose(self, turn: Turn[ShelfChoice]) -> TextAction:
        seen, request = read_page(turn.position), task_of(turn)
        if turn.seat == SELLER:
            return Click(find(seen, "button", "Publish").number)
        if address_of(turn) == "/door":
            return Click(find(seen, "link", "Enter").number)
        buttons = [element for element in seen if element.name == "Add to cart"]
        cards = turn.position.split("  listitem")[1:]
        best = max(range(len(cards)), key=lambda place: _card_value(cards[place], request))
        return Click(buttons[best].number)


def _card_value(card: str, request: str) -> tuple[bool, float, float]:
    """A card's sort key: whether it meets the request, then its price, then its rating."""
    price = float(re.findall(r"^ *paragraph '\$([\d.]+)'$", card, re.MULTILINE)[-1])
    rating = float(re.findall(r"^ *paragraph '([\d.]+) of 5", card, re.MULTILINE)[-1])
    cap = re.search(r"at most \$([\d.]+)\.$", request)
    named = re.search(r" (?:by|in) ([\w ]+)\.$", request)
    fits = (not cap or price <= float(cap[1])) and (not named or named[1] in card)
    return fits, -price, rating
