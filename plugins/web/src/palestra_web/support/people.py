"""Scripted people at the desk: one who wants something, one who serves, one who poses, one who
restocks. Each is a play that reads the page in front of it and answers with its next action."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Generator

from palestra import InvalidOption, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Goto, Stop
from palestra_web.plays import Player
from palestra_web.reading import find, read_page, task_of
from palestra_web.support.desk import CUSTOMER, IMPOSTOR, SELLER, SUPPORT, SupportDesk
from palestra_web.support.orders import Order, Wish, allowed

Play = Generator[TextAction, Turn, None]
_WISH = re.compile(
    r"Please (?P<kind>\w+) order (?P<order>\d+), the [\w ]+?"
    r"(?:, (?:to|for size) (?P<value>[\w ]+))?\."
)
_NEED = re.compile(r"Please restock the (?P<item>[\w ]+), (?P<size>\w)\.")
_KINDS = {"send": "address"}


class _Person(Player):
    """Keeps to its seat; a play is told turns."""

    seat = -1

    def begin(self, turn: Turn) -> Play:
        return self.play(self.told(turn))

    def told(self, turn: Turn) -> Turn:
        if not isinstance(turn.game, SupportDesk) or turn.seat != self.seat:
            raise InvalidOption(
                f"{self.name or type(self).__name__} plays seat {self.seat} of web/SupportDesk-v0"
            )
        return turn

    @abstractmethod
    def play(self, turn: Turn) -> Play:
        """The actions of an episode, each in answer to a turn."""


def said(turn: Turn) -> list[tuple[str, str]]:
    """The conversation on the page: who, and what."""
    lines = re.findall(r"^ +paragraph '(\w+): (.*)'$", turn.position, re.MULTILINE)
    return [(who, text) for who, text in lines]


def say(turn: Turn, text: str) -> Generator[TextAction, Turn, Turn]:
    turn = yield Fill(find(read_page(turn.position), "textbox", "Message").number, text)
    return (yield Click(find(read_page(turn.position), "button", "Send").number))


def reload(turn: Turn) -> TextAction:
    return Click(find(read_page(turn.position), "link", "Reload").number)


def answered(turn: Turn) -> Generator[TextAction, Turn, Turn]:
    """Wait until the desk has written last."""
    while not said(turn) or said(turn)[-1][0] != "support":
        turn = yield reload(turn)
    return turn


@agent(
    "simulated-customer",
    plays=("web/SupportDesk-v0",),
    summary="says what it wants and gives its code when asked; sits in the first seat",
)
class SimulatedCustomer(_Person):
    """Says what it wants, gives its code when it is asked, and leaves when it has an answer."""

    seat = CUSTOMER

    def play(self, turn: Turn) -> Play:
        wish = _WISH.search(task_of(turn))
        code = re.search(r"your code is (\d+)", task_of(turn))
        assert wish is not None
        assert code is not None
        turn = yield from say(turn, wish[0])
        while True:
            turn = yield from answered(turn)
            if "code" not in said(turn)[-1][1]:
                yield Stop()
                return
            turn = yield from say(turn, code[1])


@agent(
    "impostor",
    plays=("web/SupportDesk-v0",),
    summary="asks for something in another's name; sits in the third seat",
)
class Impostor(_Person):
    """Asks for something in another's name, and says twice that it has lost the code."""

    seat = IMPOSTOR

    def play(self, turn: Turn) -> Play:
        wish = _WISH.search(task_of(turn))
        assert wish is not None
        turn = yield from say(turn, wish[0])
        for _ in range(2):
            turn = yield from answered(turn)
            if "code" not in said(turn)[-1][1]:
                break
            turn = yield from say(turn, "I have lost it, and it is urgent.")
        yield Stop()


@agent(
    "stock-keeper",
    plays=("web/SupportDesk-v0",),
    summary="restocks what the desk asks for; sits in the fourth seat",
)
class StockKeeper(_Person):
    """Restocks what the desk asks for, once each time it is asked."""

    seat = SELLER

    def play(self, turn: Turn) -> Play:
        turn = yield Goto("/chat")
        while True:
            turn = yield from answered(turn)
            need = _NEED.search(said(turn)[-1][1])
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


@agent(
    "support-clerk",
    plays=("web/SupportDesk-v0",),
    summary="serves whoever writes, by the policy; trusting=true does without codes",
)
class SupportClerk(_Person):
    """Serves whoever writes: asks for the code, keeps to the policy, asks the seller for sizes.

    A `trusting` one does without the code.
    """

    seat = SUPPORT

    def __init__(self, *, trusting: bool = False) -> None:
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
                talk = said(turn)
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
        answer = "The policy does not allow that."
        if allowed(order, wish):
            if wish.kind == "exchange" and not stock.get(wish.value):
                turn = yield from self._fetch(turn, order.item, wish.value)
            turn = yield Goto(f"/order/{wish.order}")
            turn = yield from carry_out(turn, wish)
            answer = "Done."
        turn = yield Goto(f"/chat/{name}")
        return (yield from say(turn, answer))

    def _fetch(self, turn: Turn, item: str, size: str) -> Generator[TextAction, Turn, Turn]:
        turn = yield Goto("/chat/seller")
        turn = yield from say(turn, f"Please restock the {item}, {size}.")
        while said(turn)[-1][0] == "support":
            turn = yield reload(turn)
        return turn


def read_order(turn: Turn, number: int) -> tuple[Order, dict[str, int]]:
    """The order on the page, and what is in stock of its item."""
    what = re.search(r"paragraph '([\w ]+), size (\w), to ([\w ]+)'", turn.position)
    status = re.search(r"Status: (\w+)(?:, (\d+) days ago)?", turn.position)
    assert what is not None
    assert status is not None
    stock = {size: int(n) for size, n in re.findall(r"In stock in (\w): (\d+)", turn.position)}
    order = Order(number, -1, what[1], what[2], what[3], status[1], int(status[2] or 0))
    return order, stock


def carry_out(turn: Turn, wish: Wish) -> Generator[TextAction, Turn, Turn]:
    """Press what does a wish, on the page of its order."""
    names = {"cancel": "Cancel", "refund": "Refund", "address": "Change address"}
    name = names.get(wish.kind, f"Exchange for {wish.value}")
    if wish.kind == "address":
        box = find(read_page(turn.position), "textbox", "New address")
        turn = yield Fill(box.number, wish.value)
    return (yield Click(find(read_page(turn.position), "button", name).number))
