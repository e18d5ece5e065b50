"""What pages call the players of a match: the names of who sits there, each a different one."""

from __future__ import annotations

import re
from collections import Counter

from palestra_server.match import Match

NUMBERED = re.compile(r"player_\d+")  # a name of a player that says nothing but the seat
LONGEST = 24  # letters of a name in pictures and sentences


def callings(match: Match) -> dict[str, str]:
    """By player, what pages write instead.

    Players that the game names by a role keep that name, and so do seats that are free, guests
    without a name, and whoever calls themselves like a player. Of a name that several have, each
    gets the number of the seat.
    """
    names = {
        player: _name(match, seat)
        for seat, player in enumerate(match.game.players)
        if NUMBERED.fullmatch(player)
    }
    shared = _shared(names)
    for player, name in names.items():
        if name and name.casefold() in shared:
            names[player] = f"{name} {player.removeprefix('player_')}"
    shared = _shared(names)
    return {
        player: name
        for player, name in names.items()
        if name and name.casefold() not in shared and not NUMBERED.search(name.casefold())
    }


def _name(match: Match, seat: int) -> str:
    called = "" if seat in match.free else match.called(seat).strip()
    if called == str(seat):  # a guest
        return ""
    return called if len(called) <= LONGEST else f"{called[: LONGEST - 1]}…"


def _shared(names: dict[str, str]) -> set[str]:
    counted = Counter(name.casefold() for name in names.values())
    return {name for name, count in counted.items() if count > 1}
