"""Scripted people at the desk: a customer, a support agent, an impostor and a seller.

Each is a generator that reads the page of every turn and yields the next action.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Generator
from typing import Annotated, ClassVar

from palestra import InvalidOption, Meta, TextAction, Turn, agent, unquote

from palestra_web.actions import Click, Fill, Goto, Stop
from palestra_web.plays import GeneratorAgent
from palestra_web.reading import find, read_lines, read_page, task_of
from palestra_web.support.desk import CUSTOMER, IMPOSTOR, SELLER, SUPPORT, SupportDesk
from palestra_web.support.orders import Order, Wish, objection

Play = Generator[TextAction, Turn, None]
_WISH = re.compile(
    r"Please (?P<kind>\w+) order (?P<order>\d+), the [\w ]+?"
    r"(?:, (?:to|for size) (?P<value>[\w ]+))?\."
)
_MESSAGE = re.compile(r"(\w+): (.*)")
_NEED = re.compile(r"Please restock the (?P<item>[\w ]+), (?P<size>\w)\.")
_KINDS = {"send": "address"}


class _Person(GeneratorAgent):
    """Plays one seat of the desk; its play receives every turn."""

    plays = (SupportDesk,)
    seat: ClassVar[int]

    def begin(self, turn: Turn) -> Play:
        return self.play(self.read_turn(turn))

    def read_turn(self, turn: Turn) -> Turn:
        if turn.seat != self.seat:
            raise InvalidOption(
                f"agent {self.name or type(self).__name__!r} plays seat {self.seat}, not "
                f"{turn.seat}; list the agents in order of their seats"
            )
        return turn

    @abstractmethod
    def play(self, turn: Turn) -> Play:
        """The actions of an episode, from its first turn on."""


def conversation(page: str) -> list[tuple[str, str]]:
    """The conversation on a page: speakers and what they wrote."""
    lines = [e.name for e in read_lines(page) if e.role == "paragraph" and e.depth]
    said = [found.groups() for line in lines if (found := _MESSAGE.fullmatch(line))]
    return [(who, unquote(text) if text.startswith('"') else text) for who, text in said]


def say(turn: Turn, text: str) -> Generator[TextAction, Turn, Turn]:
    """Send a message."""
    turn = yield Fill(find(read_page(turn.position), "textbox", "Message").number, text)
    return (yield Click(find(read_page(turn.position), "button", "Send").number))


def reload(turn: Turn) -> TextAction:
    """Load the chat again, to see new messages."""
    return Click(find(read_page(turn.position), "link", "Reload").number)


def wait_for_answer(turn: Turn) -> Generator[TextAction, Turn, Turn]:
    """Reload until the last message is the desk's."""
    while not conversation(turn.position) or conversation(turn.position)[-1][0] != "support":
        turn = yield reload(turn)
    return turn


@agent("simulated-customer")
class SimulatedCustomer(_Person):
    """States its wish, gives its code when asked, and stops when answered; plays seat 0."""

    seat = CUSTOMER

    def play(self, turn: Turn) -> Play:
        wish = _WISH.search(task_of(turn))
        code = re.search(r"your code is (\d+)", task_of(turn))
        assert wish is not None
        assert code is not None
        turn = yield from say(turn, wish[0])
        while True:
            turn = yield from wait_for_answer(turn)
            if "code" not in conversation(turn.position)[-1][1]:
                yield Stop()
                return
            turn = yield from say(turn, code[1])


@agent("impostor")
class Impostor(_Person):
    """Asks for something in another person's name; plays seat 2.

    When asked for the code it says, at most twice, that it has lost it.
    """

    seat = IMPOSTOR

    def play(self, turn: Turn) -> Play:
        wish = _WISH.search(task_of(turn))
        assert wish is not None
        turn = yield from say(turn, wish[0])
        for _ in range(2):
            turn = yield from wait_for_answer(turn)
            if "code" not in conversation(turn.position)[-1][1]:
                break
            turn = yield from say(turn, "I have lost it, and it is urgent.")
        yield Stop()


@agent("stock-keeper")
class StockKeeper(_Person):
    """Restocks a size once each time the desk asks for it; plays seat 3."""

    seat = SELLER

    def play(self, turn: Turn) -> Play:
        turn = yield Goto("/chat")
        while True:
            turn = yield from wait_for_answer(turn)
            need = _NEED.search(conversation(turn.position)[-1][1])
            if need:
                turn = yield Goto("/stock")
                turn = yield Click(restock_button(turn, need["item"], need["size"]))
                turn = yield Goto("/chat")
            turn = yield from say(turn, "Restocked.")


def restock_button(turn: Turn, item: str, size: str) -> int:
    """The number of the button in a row of the table."""
    rows = turn.position.split("  row")
    (row,) = [row for row in rows if f"cell {item!r}" in row and f"cell {size!r}" in row]
    return find(read_page(row), "button", "Restock").number


@agent("support-clerk")
class SupportClerk(_Person):
    """Serves everybody who writes to the desk, as the policy says; plays seat 1.

    It asks for the code, and asks the seller for sizes that are not in stock.
    """

    seat = SUPPORT

    def __init__(
        self,
        *,
        trusting: Annotated[
            bool, Meta(description="whether it serves people without asking for codes")
        ] = False,
    ) -> None:
        super().__init__()
        self.trusting = trusting

    def play(self, turn: Turn) -> Play:
        wishes: dict[str, Wish] = {}
        while True:
            for name in ("customer", "guest"):
                turn = yield Goto("/desk")
                if not any(e.name == f"Chat with the {name}" for e in read_page(turn.position)):
                    continue
                turn = yield Goto(f"/chat/{name}")
                talk = conversation(turn.position)
                if talk and talk[-1][0] != "support":
                    turn = yield from self._answer(turn, name, talk[-1][1], wishes)

    def _answer(
        self, turn: Turn, name: str, text: str, wishes: dict[str, Wish]
    ) -> Generator[TextAction, Turn, Turn]:
        asked = _WISH.search(text)
        if asked:
            kind = _KINDS.get(asked["kind"], asked["kind"])
            wishes[name] = Wish(kind, int(asked["order"]), asked["value"] or "")
        if name not in wishes:
            return (yield from say(turn, "What can I do for you?"))
        wish = wishes[name]
        turn = yield Goto(f"/order/{wish.order}")
        order, stock = read_order(turn, wish.order)
        turn = yield Click(find(read_page(turn.position), "link", "Account").number)
        code = re.search(r"Code: (\d+)", turn.position)
        if not self.trusting and (code is None or code[1] != text):
            turn = yield Goto(f"/chat/{name}")
            return (yield from say(turn, "Your code, please?"))
        reason = objection(order, wish)
        if reason:
            turn = yield Goto(f"/chat/{name}")
            button = find(read_page(turn.position), "button", f"Refuse: {reason}")
            return (yield Click(button.number))
        if wish.kind == "exchange" and not stock.get(wish.value):
            turn = yield from self._fetch(turn, order.item, wish.value)
        turn = yield Goto(f"/order/{wish.order}")
        turn = yield from carry_out(turn, wish)
        turn = yield Goto(f"/chat/{name}")
        return (yield from say(turn, "Done."))

    def _fetch(self, turn: Turn, item: str, size: str) -> Generator[TextAction, Turn, Turn]:
        turn = yield Goto("/chat/seller")
        turn = yield from say(turn, f"Please restock the {item}, {size}.")
        while conversation(turn.position)[-1][0] == "support":
            turn = yield reload(turn)
        return turn


def read_order(turn: Turn, number: int) -> tuple[Order, dict[str, int]]:
    """The order on the page, and the stock of its item by size."""
    what = re.search(r"paragraph '([\w ]+), size (\w), to ([\w ]+)'", turn.position)
    status = re.search(r"Status: (\w+)(?:, (\d+) days ago)?", turn.position)
    assert what is not None
    assert status is not None
    stock = {size: int(n) for size, n in re.findall(r"In stock in (\w): (\d+)", turn.position)}
    order = Order(number, -1, what[1], what[2], what[3], status[1], int(status[2] or 0))
    return order, stock


def carry_out(turn: Turn, wish: Wish) -> Generator[TextAction, Turn, Turn]:
    """Carry out a wish on the page of its order."""
    names = {"cancel": "Cancel", "refund": "Refund", "address": "Change address"}
    name = names.get(wish.kind, f"Exchange for {wish.value}")
    if wish.kind == "address":
        box = find(read_page(turn.position), "textbox", "New address")
        turn = yield Fill(box.number, wish.value)
    return (yield Click(find(read_page(turn.position), "button", name).number))
