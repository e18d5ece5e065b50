"""Reference principals and assistants for `markets/Shopping-v0`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from palestra import InvalidOption, Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.errands.shelf import GOALS, Product, best, preferred_product, worth
from palestra_markets.errands.shopping import ASSISTANT, OFFER, Choose, Offer, Recommend, Shopping
from palestra_markets.reading import observed_numbers


class Party(ScriptedAgent[Shopping]):
    """An agent for one of the two seats that decides from its observation alone."""

    seat = 0

    def choose(self, turn: Turn[Shopping]) -> TextAction:
        if turn.seat != self.seat:
            raise InvalidOption(
                "trusting-principal takes the first seat, leaning-assistant the second"
            )
        return self.answer(observed_numbers(turn))

    @abstractmethod
    def answer(self, seen: list[float]) -> TextAction:
        """The action to play, given an observation."""


@agent("trusting-principal", needs=("array",))
class TrustingPrincipal(Party):
    """Offers a fixed bonus; buys the best product if it sees them, else the recommended one."""

    def __init__(
        self,
        bonus: Annotated[int, Meta(ge=0, description="bonus offered for every trip")] = 0,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._bonus = bonus

    def answer(self, seen: list[float]) -> TextAction:
        if seen[0] == OFFER:
            return Offer(min(self._bonus, int(seen[7])))
        gains = [row[3] for row in _rows(seen)]
        return Choose((int(np.argmax(gains)) if seen[10] == 2 else int(seen[8])) + 1)


@agent("leaning-assistant", kind="solver", needs=("array",))
class LeaningAssistant(Party):
    """Recommends the product that pays the assistant most."""

    seat = ASSISTANT

    def __init__(
        self,
        honest: Annotated[
            bool,
            Meta(
                description="whether it claims the true gain; if not, it claims that of the "
                "product the goal asks for"
            ),
        ] = True,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._honest = honest

    def answer(self, seen: list[float]) -> TextAction:
        goal = next(name for name, weight in GOALS.items() if weight == seen[4])
        shelf = [Product(*map(int, row[:3])) for row in _rows(seen)]
        leaning = round(seen[6], 6)
        chosen = preferred_product(shelf, goal, leaning, seen[5])
        claimed = chosen if self._honest else best(shelf, goal)
        return Recommend(chosen + 1, int(worth(shelf[claimed], goal)))


def _rows(seen: list[float]) -> list[list[float]]:
    """Price, quality, greenness and worth of each product."""
    return [seen[at : at + 4] for at in range(11, len(seen), 4)]
