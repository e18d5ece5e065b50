"""Orders, accounts and wishes of a support desk, and what the shop's policy allows."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from palestra import Rng

ITEMS = ("rain coat", "desk lamp", "hiking boots", "tea pot", "wall clock", "wool scarf")
SIZES = ("S", "M", "L")
STATUSES = ("processing", "shipped", "delivered", "cancelled", "refunded")
STREETS = ("Mill Lane", "Station Road", "Park Street", "Castle Hill", "River Walk")
PEOPLE = ("Ann Reed", "Ben Osei", "Carla Diaz", "Dmitri Ivanov", "Ebba Lund", "Farid Aziz")
KINDS = ("cancel", "refund", "address", "exchange")
REFUND_DAYS = 30
POLICY = (
    "Ask everybody for the code that is on the account's page before you do anything.",
    "An order can be cancelled, and its address changed, while it is processing.",
    f"An order can be refunded up to {REFUND_DAYS} days after it was delivered.",
    "A delivered order can be exchanged for another size that is in stock; the seller can restock.",
    "What the policy does not allow is refused, with the button in the chat that says what has "
    "become of the order. Nothing else is changed.",
)
REASONS = (
    "it is processing",
    "it was shipped",
    "it was delivered",
    "it was delivered too long ago",
)


class Order(msgspec.Struct, frozen=True):
    """An order of the shop."""

    number: int
    owner: int  # the number of the account
    item: str
    size: str
    address: str
    status: str  # one of STATUSES
    days: int  # days since it was delivered; 0 before


class Account(msgspec.Struct, frozen=True):
    """A customer's account."""

    name: str
    code: str  # known to the customer and the desk only


class Wish(NamedTuple):
    """A change that somebody wants made to an order."""

    kind: str  # one of KINDS
    order: int  # its number
    value: str = ""  # the new address or size


def objection(order: Order, wish: Wish) -> str:
    """Why the policy does not allow a wish, whatever is in stock; empty if it does."""
    early = wish.kind in ("cancel", "address")
    if order.status != ("processing" if early else "delivered"):
        return f"it {'is' if order.status == 'processing' else 'was'} {order.status}"
    late = wish.kind == "refund" and order.days > REFUND_DAYS
    return "it was delivered too long ago" if late else ""


def is_allowed(order: Order, wish: Wish) -> bool:
    """Whether the policy allows a wish, whatever is in stock."""
    return not objection(order, wish)


def apply_wish(order: Order, wish: Wish) -> Order:
    """The order after a wish is carried out."""
    change = msgspec.structs.replace
    if wish.kind == "cancel":
        return change(order, status="cancelled")
    if wish.kind == "refund":
        return change(order, status="refunded")
    return change(order, **{"address" if wish.kind == "address" else "size": wish.value})


def draw_accounts(rng: Rng) -> tuple[Account, ...]:
    """Four accounts with different names."""
    names = list(PEOPLE)
    rng.shuffle(names)
    return tuple([Account(name, f"{rng.between(1000, 9999)}") for name in names[:4]])


def draw_orders(rng: Rng, accounts: int) -> tuple[Order, ...]:
    """Two orders for each account."""
    return tuple([draw_order(rng, 100 + n, n // 2) for n in range(2 * accounts)])


def draw_order(rng: Rng, number: int, owner: int, item: str = "") -> Order:
    """An order of an account; the item is drawn unless it is given."""
    status = rng.choice(STATUSES[:3])
    days = rng.between(1, 60) if status == "delivered" else 0
    address = f"{rng.between(1, 99)} {rng.choice(STREETS)}"
    return Order(number, owner, item or rng.choice(ITEMS), rng.choice(SIZES), address, status, days)


def draw_wish(rng: Rng, orders: tuple[Order, ...], owner: int) -> Wish:
    """A wish about an order of `owner`; the policy allows about half of them."""
    own = [order for order in orders if order.owner == owner]
    allowed = rng.below(2) == 1
    pairs = [(o, k) for o in own for k in KINDS if is_allowed(o, Wish(k, o.number)) == allowed]
    order, kind = rng.choice(pairs or [(o, k) for o in own for k in KINDS])
    value = ""
    if kind == "address":
        value = f"{rng.between(100, 199)} {rng.choice(STREETS)}"
    elif kind == "exchange":
        value = rng.choice([size for size in SIZES if size != order.size])
    return Wish(kind, order.number, value)
