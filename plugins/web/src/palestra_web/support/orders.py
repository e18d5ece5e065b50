"""What a support desk works on: orders, stock, wishes, and what the policy of the shop allows."""

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
    "What the policy does not allow is refused. Nothing else is changed.",
)


class Order(msgspec.Struct, frozen=True):
    """An order; `days` are those since its delivery."""

    number: int
    owner: int
    item: str
    size: str
    address: str
    status: str
    days: int


class Account(msgspec.Struct, frozen=True):
    """A customer, and the code that only he and the desk know."""

    name: str
    code: str


class Wish(NamedTuple):
    """What somebody wants done to an order; `value` is the new address or size."""

    kind: str
    order: int
    value: str = ""


def allowed(order: Order, wish: Wish) -> bool:
    """What the policy says to a wish, whether or not the size is in stock."""
    if wish.kind in ("cancel", "address"):
        return order.status == "processing"
    recent = order.status == "delivered" and order.days <= REFUND_DAYS
    return recent if wish.kind == "refund" else order.status == "delivered"


def fulfilled(order: Order, wish: Wish) -> Order:
    """The order after a wish was done."""
    change = msgspec.structs.replace
    if wish.kind == "cancel":
        return change(order, status="cancelled")
    if wish.kind == "refund":
        return change(order, status="refunded")
    return change(order, **{"address" if wish.kind == "address" else "size": wish.value})


def draw_accounts(rng: Rng) -> tuple[Account, ...]:
    names = list(PEOPLE)
    rng.shuffle(names)
    return tuple([Account(name, f"{rng.between(1000, 9999)}") for name in names[:4]])


def draw_orders(rng: Rng, accounts: int) -> tuple[Order, ...]:
    """Two orders an account."""
    return tuple([_order(rng, 100 + n, n // 2) for n in range(2 * accounts)])


def _order(rng: Rng, number: int, owner: int) -> Order:
    status = rng.choice(STATUSES[:3])
    days = rng.between(1, 60) if status == "delivered" else 0
    address = f"{rng.between(1, 99)} {rng.choice(STREETS)}"
    return Order(number, owner, rng.choice(ITEMS), rng.choice(SIZES), address, status, days)


def draw_wish(rng: Rng, orders: tuple[Order, ...], owner: int) -> Wish:
    """Something that the owner of an order may come up with; the policy may not allow it."""
    order = rng.choice([order for order in orders if order.owner == owner])
    kind = rng.choice(KINDS)
    value = ""
    if kind == "address":
        value = f"{rng.between(100, 199)} {rng.choice(STREETS)}"
    elif kind == "exchange":
        value = rng.choice([size for size in SIZES if size != order.size])
    return Wish(kind, order.number, value)
