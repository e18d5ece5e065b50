"""The simulator of a text game: what a seat may do is computed once per position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palestra.engine.menus import Menu
from palestra.engine.plain_calls import read_plain_call
from palestra.kernel.actions import Grammar, TextAction
from palestra.kernel.game import Mask
from palestra.kernel.rng import Rng
from palestra.kernel.simulator import GameSimulator, refuse_compiling, simulate_with
from palestra.kernel.text_game import TextGame


class TextSimulator(GameSimulator):
    """Keeps the grammars and masks of a text game until its next step.

    A turn needs them up to five times: for the prompt, to read the answer, to draw a move, to check
    it and to play it. Methods that a game overrides are called as they are, but its `parse` not for
    an answer that is one plain call of a legal action: in every text game it is that action.
    """

    game: TextGame[Any]

    def __init__(self, game: TextGame[Any]) -> None:
        super().__init__(game)
        kind = type(game)
        self._checks = kind.check is TextGame.check
        self._draws = kind.sample is TextGame.sample
        self._masks_by_grammar = kind.action_mask is TextGame.action_mask
        self._menu: Menu | None = None
        self._forget()

    def _forget(self) -> None:
        self._grammars: dict[int, Grammar] = {}
        self._texts: dict[int, str] = {}
        self._masks: dict[int, Mask] = {}
        self._read: dict[int, TextAction] = {}

    def load(self, state: Any) -> None:
        self._forget()
        super().load(state)

    def advance(self, actions: Mapping[int, Any]) -> bool:
        try:
            return super().advance(actions)
        finally:
            self._forget()

    def copy(self) -> TextSimulator:
        twin = object.__new__(TextSimulator)
        twin.__dict__.update(self.__dict__)
        twin._state, twin._returns = self.game.clone(self._state), self._returns.copy()
        return twin

    def legal(self, seat: int) -> Grammar:
        if seat not in self._grammars:
            self._grammars[seat] = self.game.legal(self._state, seat)
        return self._grammars[seat]

    def legal_text(self, seat: int) -> str:
        if seat not in self._texts:
            self._texts[seat] = str(self.legal(seat))
        return self._texts[seat]

    def mask(self, seat: int) -> Mask:
        if seat not in self._masks:
            if self._masks_by_grammar and seat in self.to_act:
                self._menu = self._menu or Menu(self.game.menu)
                mask = self._menu.mask(self.legal(seat))
            else:
                mask = self.game.action_mask(self._state, seat).view()
            mask.flags.writeable = False
            self._masks[seat] = mask
        return self._masks[seat]

    def parse(self, seat: int, text: str) -> TextAction:
        plain = read_plain_call(text, self.game.action_types)  # as nearly every answer
        if plain is not None and seat in self.to_act and self.legal(seat).problem(plain) is None:
            self._read[seat] = plain
            return plain
        return self.game.parse(self._state, seat, text)

    def _allows(self, seat: int, action: Any) -> bool:
        read = seat in self._read and self._read[seat] is action  # None was never read
        return read or super()._allows(seat, action)

    def check(self, seat: int, action: Any) -> None:
        if not self._checks or action not in self.legal(seat):
            self.game.check(self._state, seat, action)

    def sample(self, seat: int, rng: Rng) -> TextAction:
        if self._draws:
            return self.legal(seat).sample(rng)
        return self.game.sample(self._state, seat, rng)


def open_text_simulator(game: TextGame[Any], compiled: bool | None) -> TextSimulator:
    refuse_compiling(game, compiled)
    return TextSimulator(game)


def register() -> None:
    """Let episodes of text games run here."""
    simulate_with(TextGame, open_text_simulator)
