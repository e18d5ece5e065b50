"""Discussion in turn before a vote, as in Avalon and Werewolf."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from palestra import Event, Grammar, Option, Talking, Text, TextAction


class Say(TextAction, frozen=True):
    """Say something to everybody."""

    text: str


class Pass(TextAction, frozen=True):
    """Say nothing."""


class Talk(Protocol):
    """A state in which seats speak in turn."""

    speakers: list[int]  # who has still to speak, in order
    said: list[tuple[int, str]]  # seat and line since the talk began, "" for silence


@lru_cache(maxsize=64)
def talk_grammar(lines: tuple[Say, ...], limit: int) -> Grammar:
    """Say up to `limit` characters, drawn from `lines` where they are drawn, or Pass()."""
    return Grammar(
        (Option(Say, {"text": Text(limit, tuple(line.text for line in lines))}), Option(Pass))
    )


class Discussion(Talking, ABC):
    """A mixin for games in which seats talk in turn."""

    players: Any  # tuple[str, ...]
    talk_rounds: int

    @property
    @abstractmethod
    def lines(self) -> tuple[Say, ...]:
        """The lines that have a number in the array view."""

    def speak(self, state: Talk, actions: Mapping[int, Any]) -> list[Event]:
        """Let the next seat speak, or stay silent."""
        (seat, action), *_ = actions.items()
        state.speakers.pop(0)
        text = action.text if isinstance(action, Say) else ""
        state.said.append((seat, text))
        if not isinstance(action, Say):
            return []
        data = {"player": seat, "text": text}
        return [Event("message", f"{self.players[seat]} says: {self.quoted(text)}", data)]

    def said_last(self, state: Talk) -> list[str]:
        """What was said since the talk began, for a description; empty if nobody spoke yet."""
        spoken = [
            f"{self.players[seat]}: {self.quoted(text) if text else '(silence)'}"
            for seat, text in state.said
        ]
        return ["Said last:", *spoken] if spoken else []

    def lines_spoken(self, state: Talk) -> list[str]:
        """What was said since the talk began, for a picture, without silence."""
        return [f"{self.players[seat]}: {self.quoted(text)}" for seat, text in state.said if text]

    def talk_codes(self, state: Talk) -> NDArray[np.int8]:
        """What was said by round of talk and seat, as numbers.

        0: not spoken yet, 1: silence, 2 + n: line n, the last number: other words.
        """
        numbers = {line.text: 2 + number for number, line in enumerate(self.lines)}
        codes = np.zeros((self.talk_rounds, len(self.players)), np.int8)
        for seat, text in state.said:
            spoken = int((codes[:, seat] != 0).sum())
            codes[spoken, seat] = numbers.get(text, 2 + len(numbers)) if text else 1
        return codes.ravel()
