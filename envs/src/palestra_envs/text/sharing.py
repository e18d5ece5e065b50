"""The common parts of shared-resource games: talk in turn, and amounts by player."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from palestra import Grammar, OneOf, Option, Text, TextAction

EVERYBODY = "everybody"


class Say(TextAction, frozen=True):
    """Say something to everybody, or to one player only."""

    text: str
    to: str = EVERYBODY


class Pass(TextAction, frozen=True):
    """Say nothing."""


@lru_cache(maxsize=256)
def talk_grammar(
    players: tuple[str, ...],
    seat: int,
    message_limit: int,
    lines: tuple[Say, ...],
    whispers: bool = True,
) -> Grammar:
    """Say something to everybody or to one other player, or say nothing.

    message_limit: the longest text, in characters. lines: texts that a program may choose.
    whispers: whether one other player may be talked to alone.
    """
    others = (
        () if not whispers else tuple(name for other, name in enumerate(players) if other != seat)
    )
    text = Text(message_limit, tuple(line.text for line in lines))
    return Grammar((Option(Say, {"text": text, "to": OneOf((EVERYBODY, *others))}), Option(Pass)))


def proportional_shares(wanted: Sequence[int], stock: int) -> list[int]:
    """Share a stock in proportion to what players want, in whole units, by largest remainder.

    If remainders are equal, the lower seat comes first.
    """
    total = sum(wanted)
    whole = [n * stock // total for n in wanted]
    order = sorted(range(len(wanted)), key=lambda seat: (-(wanted[seat] * stock % total), seat))
    for seat in order[: stock - sum(whole)]:
        whole[seat] += 1
    return whole


def amounts_text(players: Sequence[str], amounts: Sequence[int]) -> str:
    """The amount of each player, such as 'player_0 3, player_1 0'."""
    return ", ".join(f"{name} {n}" for name, n in zip(players, amounts, strict=True))
